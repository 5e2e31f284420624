"""What a file that is to be published holds: its text and the names of its columns, or why neither.

Files of data are read by :func:`dprct.io.read`, packed ones are looked into, documents made of XML
are read as text.  What a file is follows from its content, and the extension decides only where the
content does not.  The work is bounded: what would be more than that counts as not read.
"""

from __future__ import annotations

import bz2
import contextlib
import html
import io
import lzma
import re
import tarfile
import tempfile
import unicodedata
import warnings
import zipfile
import zlib
from dataclasses import field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from dprct.custodian.rows_in_texts import Text
from dprct.dofile.reader import decoded
from dprct.errors import DprctError, DprctWarning
from dprct.io import read
from dprct.io.formats import READABLE
from dprct.records import dataclass
from dprct.schema.columns import shown
from dprct.study.typed_data import encoded

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    import pandas as pd

    from dprct.schema.schema import Schema

LONGEST = 256 * 2**20
"""Bytes of a file, unpacked, that are looked at."""

_MOST_MEMBERS, _DEEPEST, _MOST_CELLS = 2_000, 4, 5_000_000
_PART = 1 << 20
_MOST_CONTROLS = 0.01

_MAGIC = (
    (b"<stata_dta>", ".dta"),
    (b"$FL2", ".sav"),
    (b"$FL3", ".zsav"),
    (b"PAR1", ".parquet"),
    (b"HEADER RECORD*******", ".xpt"),
    (b"\0" * 12 + b"\xc2\xea\x81\x60", ".sas7bdat"),
    ((b"RDX2", b"RDX3", b"RDA2", b"RDA3"), ".rda"),
    ((b"X\n\0\0\0", b"A\n2\n", b"A\n3\n", b"B\n"), ".rds"),
)
_OTHERS = (
    (b"%PDF", "a PDF"),
    ((b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"II*\0", b"MM\0*"), "a picture"),
    (b"RIFF", "a picture or a sound"),
    (b"StataFileTM", "a graph or a result of Stata"),
    (b"7z\xbc\xaf\x27\x1c", "an archive of 7-Zip"),
    (b"Rar!", "an archive of RAR"),
    (b"\x28\xb5\x2f\xfd", "a file packed by Zstandard"),
    (b"\xd0\xcf\x11\xe0", "a document of an old format of Office"),
    (b"SQLite format 3", "a database"),
    (b"\x89HDF", "an HDF5 file"),
    (b"ARROW1", "an Arrow file"),
    (b"FEA1", "a Feather file"),
    ((b"\x80\x03", b"\x80\x04", b"\x80\x05"), "a pickle"),
    (b"\x93NUMPY", "an array of NumPy"),
)
_OLD_DTA = frozenset({0x66, 0x67, 0x68, 0x69, 0x6C, 0x6E, 0x6F, 0x71, 0x72, 0x73})

_END_OF_DTA = b"</stata_dta>"
_PRINTABLE = re.compile(rb"[\x20-\x7e\t]{12,}")
_LINE_END = re.compile(rb"[\r\n]")
_KEYS = re.compile(r"[\"']([^\"'\\\n]{1,80})[\"']\s*:")
_TAG = re.compile(r"<[^<>]{0,5000}>")
_ROWS = re.compile(r"</?(?:\w+:)?(?:tr|row|table-row|tbl|table|br|li|h\d)\b[^<>]{0,5000}>", re.I)
_DRAWING = re.compile(r"<(?:\w+:)?svg\b|\A\s*%!PS")
_PARAGRAPHS = re.compile(r"</?(?:\w+:)?p\b[^<>]{0,5000}>", re.I)
_MARKUP = frozenset({".html", ".htm", ".xml", ".svg", ".xhtml", ".kml", ".gpx", ".rels", ".rdf"})
_SPLITS = (",", ";", "\t", "|")
_AROUND, _RULE = " \t\"'`*#{}[]()", " \t*#/%!;\"'`-=+|:>,\\"
_LONGEST_LINE = 1_000_000
_LETTER, _DIGIT = re.compile(r"[A-Za-z]"), re.compile(r"[0-9]")
_IS_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?L?|\.[a-z]?|NA|NaN|")
_NAME = re.compile(r"[A-Za-z_][\w.]{0,79}")


@dataclass(frozen=True)
class Header:
    """Names of columns, in small letters."""

    names: frozenset[str]
    loose: bool = False  # whether they are words with blanks between them, maybe a sentence

    def shared(self, columns: Collection[str]) -> int:
        """How many columns it has."""
        mine = {name.casefold() for name in columns}
        found = len(self.names & mine)
        return found if not self.loose or self.names <= mine else 0


@dataclass
class Contents:
    """What was found in a file."""

    # The columns of each table in it, and of each line that may be the header of one.
    headers: list[Header] = field(default_factory=list)
    # What it says, in parts, each with the number of its first line.
    texts: list[tuple[int, str]] = field(default_factory=list)
    unread: str = ""  # why not all of it could be read; empty if it could
    left: int = LONGEST

    def parts(
        self, name: str, public: frozenset[str], *, single: bool, program: bool
    ) -> Iterator[Text]:
        """Yield the text in parts to be searched."""
        for line, text in self.texts:
            yield Text(name, text, line, public, single, program)


def contents(name: str, raw: bytes) -> Contents:
    r"""Content of a file that has a name and bytes.

    Examples
    --------
    >>> found = contents("a.csv", b"Wage,union\n3,1\n")
    >>> sorted(found.headers[0].names), found.unread
    (['union', 'wage'], '')
    >>> contents("plan.pdf", b"%PDF-1.7 ...").unread
    'it is a PDF'
    """
    found = Contents()
    _look(name, raw, found, 0)
    return found


def _look(name: str, raw: bytes, found: Contents, depth: int) -> None:
    found.left -= len(raw)
    if found.left < 0:
        found.unread = f"it holds more than {LONGEST // 2**20} MB"
    elif depth > _DEEPEST:
        found.unread = f"it holds files packed more than {_DEEPEST} deep"
    elif found.unread or not raw:
        return
    else:
        suffix = PurePosixPath(name).suffix.lower()
        inner = _unpacked(raw, found.left) if suffix not in (".rds", ".rda", ".rdata") else None
        if isinstance(inner, str):
            found.unread = inner
        elif inner is not None:
            _look(name.rpartition(".")[0] or name, inner, found, depth + 1)
        elif raw.startswith(b"PK"):
            _look_into_zip(raw, found, depth)
        elif zipfile.is_zipfile(io.BytesIO(raw)):
            found.unread = "it is an archive with something before it"
        elif len(raw) > 512 and raw[257:262] == b"ustar":
            _look_into_tar(raw, found, depth)
        else:
            _look_at(suffix, raw, found)


_PACKED: tuple[tuple[tuple[bytes, ...], Callable[[], Any]], ...] = (
    ((b"\x1f\x8b",), lambda: zlib.decompressobj(31)),
    ((b"BZh",), bz2.BZ2Decompressor),
    ((b"\xfd7zXZ\0", b"]\0\0"), lzma.LZMADecompressor),
)
_GZIP, _NOTED = b"\x1f\x8b", 0b10100
"""Flags of a gzip header that has room for more than a name."""


def _unpacked(raw: bytes, most: int) -> bytes | str | None:
    """Content of a packed file, why it cannot be unpacked, or None if it is not packed.

    What stands behind or beside the packed content is not passed over.
    """
    known = next((row for row in _PACKED if raw.startswith(row[0])), None)
    if known is None:
        return None
    marks, opened = known
    inner: bytes = b""
    rest = raw
    try:
        while rest.startswith(marks):
            if rest.startswith(_GZIP) and rest[3] & _NOTED:
                return "it is packed, with more in its header than a name"
            unpacker = opened()
            inner += unpacker.decompress(rest, most + 1 - len(inner))
            if len(inner) > most:
                return inner
            if not unpacker.eof:
                return "it is packed, and cut off"
            rest = unpacker.unused_data
    except (OSError, EOFError, ValueError, IndexError, zlib.error, lzma.LZMAError):
        return "it is packed, and cannot be unpacked"
    return "it is packed, with more behind it" if rest.strip(b"\0") else inner


def _look_into_tar(raw: bytes, found: Contents, depth: int) -> None:
    try:
        with tarfile.open(fileobj=io.BytesIO(raw), mode="r:") as archive:
            for count, member in enumerate(archive):
                if count >= _MOST_MEMBERS:
                    found.unread = f"it holds more than {_MOST_MEMBERS:,} files"
                elif member.isdir():
                    continue
                elif not member.isfile():
                    found.unread = "it holds a link, or something that is not a file"
                elif (file := archive.extractfile(member)) is not None:
                    facts = [member.name, *map(str, member.pax_headers.items())]
                    found.texts.append((1, "\n".join(facts)))
                    _look(member.name, file.read(found.left + 1), found, depth + 1)
                if found.unread:
                    return
            if raw[archive.offset :].strip(b"\0"):
                found.unread = "it is an archive with more behind its files"
    except (tarfile.TarError, OSError, EOFError, ValueError):
        found.unread = "it is an archive that cannot be unpacked"


def _look_into_zip(raw: bytes, found: Contents, depth: int) -> None:
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            members = archive.infolist()
            names = {one.filename for one in members}
            if len(members) > _MOST_MEMBERS:
                found.unread = f"it holds more than {_MOST_MEMBERS:,} files"
                return
            told = sum(one.compress_size + 2 * len(one.filename.encode()) + 2 * len(one.extra)
                       + len(one.comment) + _ZIP_ENTRY for one in members)  # fmt: skip
            if len(raw) - told - len(archive.comment) > _ZIP_END:
                found.unread = "it is an archive with more in it than its files"
                return
            shared = _shared_words(archive, names, found)
            note = archive.comment.decode("utf-8", "replace")
            found.texts.append((1, "\n".join([note, *(one.filename for one in members)])))
            for member in members:
                if found.unread:
                    return
                found.texts.append((1, member.comment.decode("utf-8", "replace")))
                with archive.open(member) as file:
                    inner = file.read(found.left + 1)
                if shared is not None and re.search(r"worksheets/[^/]*\.xml$", member.filename):
                    found.left -= len(inner)
                    _add_text(_sheet(decoded(inner), shared), found)
                else:
                    _look(member.filename, inner, found, depth + 1)
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, OSError, EOFError, ValueError,
            zlib.error, lzma.LZMAError):  # fmt: skip
        found.unread = "it is an archive that cannot be unpacked (or has a password)"


_ZIP_ENTRY, _ZIP_END = 30 + 46 + 24 + 64, 1024
"""Bytes of a member besides its content and names, and of the end of an archive, at most."""

_SHARED = "xl/sharedStrings.xml"
_STRING = re.compile(r"<(?:\w+:)?si\b[^>]*>(.*?)</(?:\w+:)?si>|<(?:\w+:)?si\b[^>]*/>", re.DOTALL)
_ROW = re.compile(r"<(?:\w+:)?row\b[^>]*>(.*?)</(?:\w+:)?row>", re.DOTALL)
_CELL = re.compile(r"<(?:\w+:)?c\b([^>]*?)(?:/>|>(.*?)</(?:\w+:)?c>)", re.DOTALL)
_VALUE = re.compile(r"<(?:\w+:)?v\b[^>]*>(.*?)</(?:\w+:)?v>", re.DOTALL)


def _shared_words(archive: zipfile.ZipFile, names: set[str], found: Contents) -> list[str] | None:
    """Return the texts that cells of an Excel file refer to; None if it is no such file."""
    if "xl/workbook.xml" not in names:
        return None
    if _SHARED not in names:
        return []
    with archive.open(_SHARED) as file:
        text = decoded(file.read(found.left))
    return [html.unescape(_TAG.sub("", match[1] or "")) for match in _STRING.finditer(text)]


def _sheet(text: str, shared: list[str]) -> str:
    lines = []
    for row in _ROW.finditer(text):
        cells = []
        for given, inner in _CELL.findall(row[1]):
            value = _VALUE.search(inner)
            cell = html.unescape(_TAG.sub("", value[1] if value else inner))
            if re.search(r"\bt=[\"']s[\"']", given) and cell.isdigit():
                cell = shared[int(cell)] if int(cell) < len(shared) else ""
            cells.append(" ".join(cell.split()))
        lines.append("\t".join(cells))
    return "\n".join(lines)


def _look_at(suffix: str, raw: bytes, found: Contents) -> None:
    """Look at one file that is not packed."""
    told = next((kind for magic, kind in _MAGIC if raw.startswith(magic)), None)
    if told is None and suffix == ".dta" and raw[0] in _OLD_DTA:
        told = suffix
    if told is None and suffix in READABLE and suffix != ".csv":
        told = suffix
    other = next((kind for magic, kind in _OTHERS if raw.startswith(magic)), None)
    if told is not None:
        _look_at_data(told, raw, found)
    elif other is not None:
        found.unread = f"it is {other}"
    elif (text := text_of(raw)) is None:
        if raw[0] in _OLD_DTA:
            _look_at_data(".dta", raw, found)
        else:
            found.unread = "it is not text, nor of any format that is read"
    else:
        if suffix in _MARKUP or text.lstrip()[:1] == "<" or "&#" in text:
            text += "\n" + _without_markup(text)
        _add_text(text, found)


def _without_markup(text: str) -> str:
    """Return a text without its tags: a row of a table in a line, and a paragraph where none is."""
    flat = _ROWS.sub("\n", " ".join(text.split()))
    if "\n" not in flat:
        flat = _PARAGRAPHS.sub("\n", flat)
    return html.unescape(_TAG.sub("\t", flat))


def _look_at_data(suffix: str, raw: bytes, found: Contents) -> None:
    with tempfile.TemporaryDirectory() as place, warnings.catch_warnings():
        warnings.simplefilter("ignore", DprctWarning)
        path = Path(place) / f"file{suffix}"
        path.write_bytes(raw)
        try:
            data, schema = read(path)
        except DprctError:
            found.unread = f"it seems to be a {suffix} file, and cannot be read as one"
            return
    found.headers.append(Header(frozenset(name.casefold() for name in data.columns)))
    if data.size > _MOST_CELLS:
        found.unread = f"it holds more than {_MOST_CELLS:,} cells"
        return
    if suffix == ".dta" and raw.startswith(b"<stata_dta>") and not raw.endswith(_END_OF_DTA):
        found.unread = "it is a .dta file with more behind it"
        return
    found.texts.append((1, _facts(schema)))
    found.texts += _lines_of(data)
    whole = raw
    with contextlib.suppress(zlib.error):  # R packs its files
        if raw.startswith(_GZIP):
            whole = zlib.decompressobj(31).decompress(raw, LONGEST)
    # what the reader passes over: metadata, attributes, documents
    words = b"\n".join(_PRINTABLE.findall(whole)).decode("latin-1")
    found.texts += _parts_of(words)


def _facts(schema: Schema) -> str:
    file = schema.file
    lines = [file.label, *(f"{column.name} {column.label}" for column in schema.columns)]
    for labels in file.value_labels.values():
        lines += [f"{value} {label}" for value, label in labels.items()]
    lines += [text for _, _, text in file.characteristics]
    return shown("\n".join(lines))


def _lines_of(data: pd.DataFrame) -> Iterator[tuple[int, str]]:
    """Yield rows as lines of cells, in parts."""
    step = max(1, 100_000 // max(1, len(data.columns)))
    for begin in range(0, len(data), step):
        part = data.iloc[begin : begin + step]
        buffer = io.StringIO()
        part.to_csv(buffer, sep="\t", header=False, index=False, errors="replace")
        yield begin + 1, shown(buffer.getvalue())


def text_of(raw: bytes) -> str | None:
    """Return the text of a file in whatever encoding it came; None if it is none."""
    if b"\0" in raw[:LONGEST]:
        for encoding, mark in (
            ("utf-32", (b"\xff\xfe\0\0", b"\0\0\xfe\xff")),
            ("utf-16", (b"\xff\xfe", b"\xfe\xff")),
        ):
            if raw.startswith(mark):
                with contextlib.suppress(UnicodeDecodeError):
                    return _plain(raw.decode(encoding))
        even, odd = raw[0::2].count(0), raw[1::2].count(0)
        half = len(raw) / 2
        for encoding, many in (("utf-16-le", odd), ("utf-16-be", even)):
            if many > 0.8 * half:
                with contextlib.suppress(UnicodeDecodeError):
                    return _plain(raw.decode(encoding))
        return None
    text = _plain(decoded(raw))
    if text is not None and _is_foreign(raw):
        return None
    return text


def _is_foreign(raw: bytes) -> bool:
    """Whether bytes are letters and figures of no code that contains ASCII, such as EBCDIC."""
    with contextlib.suppress(UnicodeDecodeError):
        raw.decode("utf-8")
        return False
    return 2 * len(raw.translate(None, bytes(range(128)))) > len(raw) and not _LINE_END.search(raw)


def _plain(text: str) -> str | None:
    """Return a text with digits and blanks as they are typed; None if it is none."""
    start = text[:200_000]
    controls = sum(c < " " and c not in "\t\n\r\f\v\x1a\x1b" for c in start)
    if controls > _MOST_CONTROLS * len(start):
        return None
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        text = "".join(str(unicodedata.digit(c)) if c.isdigit() and not c.isascii() else
                       "" if unicodedata.category(c) == "Cf" else c for c in text)  # fmt: skip
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _add_text(text: str, found: Contents) -> None:
    """Take the lines of a text, and the names in those that may be headers."""
    if said := encoded(text):
        found.unread = f"it holds {said}"
    elif _DRAWING.search(text):
        found.unread = "it is a picture, or has one in it"
    found.headers += headers_of(text)
    keys = frozenset(key.casefold() for key in _KEYS.findall(text))
    if keys:
        found.headers.append(Header(keys))
    found.texts += _parts_of(text)


def _parts_of(text: str) -> Iterator[tuple[int, str]]:
    """Yield a text in parts, cut at ends of lines where these are near."""
    begin, line = 0, 1
    while begin < len(text):
        end = text.find("\n", begin + _PART, begin + 2 * _PART) + 1
        end = end or min(len(text), begin + 2 * _PART)
        part = text[begin:end]
        yield line, part
        line += part.count("\n")
        begin = end


def headers_of(text: str) -> list[Header]:
    """Return the names in lines that hold names alone, and in the first line."""
    found = []
    for number, line in enumerate(text.split("\n")):
        if len(line) > _LONGEST_LINE or not _LETTER.search(line):
            continue
        for mark in (*_SPLITS, None):
            cells = [bare for cell in line.split(mark) if (bare := cell.strip(_AROUND).casefold())]
            names = [cell for cell in cells if _NAME.fullmatch(cell)]
            alone = len(cells) > 1 and 5 * len(names) >= 4 * len(cells)
            if names and (alone or (number == 0 and (mark is not None or len(cells) == 1))):
                found.append(Header(frozenset(names), mark is None and len(cells) > 1))
    return found


def table_line(text: str, columns: Collection[str]) -> int:
    """Return the line of a header of columns with a line of cells below it; 0 if there is none.

    A program names columns, and that is none: what stands below has as many cells, and most of
    them are numbers.

    Examples
    --------
    >>> table_line("reg wage union", ["wage", "union"])
    0
    >>> table_line("# Wage, UNION" + chr(10) + "# 3.5, 1", ["wage", "union"])
    1
    """
    known = {name.casefold() for name in columns}
    lines = [line if len(line) <= _LONGEST_LINE else "" for line in text.split("\n")]
    for number, line in enumerate(lines):
        below = next((one for one in lines[number + 1 : number + 4] if one.strip(_RULE)), "")
        if not (_LETTER.search(line) and _DIGIT.search(below)):
            continue
        for mark in (*_SPLITS, None):
            cells = _bare(line, mark)
            named = sum(cell.casefold() in known for cell in cells)
            under = _bare(below, mark)
            numbers = sum(_IS_NUMBER.fullmatch(cell) is not None for cell in under)
            few = min(2, len(known))
            if named >= few and 2 * named >= len(cells) == len(under) and 2 * numbers >= len(under):
                return number + 1
    return 0


def _bare(line: str, mark: str | None) -> list[str]:
    return [cell.strip(_AROUND) for cell in line.strip(_RULE).split(mark)]
