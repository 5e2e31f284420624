"""Which files of a replication folder may be published, and what its do-files ask of the reader.

The rule is an allow-list: programs without data in them, and a README, licence or citation, by
their exact names.  Anything else may hold rows of the confidential data or numbers computed from
them (logs, tables, figures, notebooks), and is copied only if the study file names it.  What is
named is read, and checked against the confidential file; what cannot be read is copied only if the
study file vouches for it.  Links are not followed.

What is copied by name and by kind follows from public facts.  Then each text is searched for rows
of the confidential data; one that is found ends the whole, so that the files of a package say
nothing of the data.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from dataclasses import field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from dprct import disk
from dprct.custodian.rows_in_texts import Text, places_of_rows
from dprct.disk import file_error
from dprct.errors import FileError
from dprct.records import dataclass
from dprct.study.public_files import LONGEST, contents, table_line, text_of
from dprct.study.typed_data import typed_in

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from dprct.custodian.rows_in_texts import Table
    from dprct.study.public_files import Contents, Header

_PROGRAMS = frozenset(
    {".do", ".ado", ".mata", ".hlp", ".sthlp", ".scheme", ".style"}
    | {".r", ".py", ".jl", ".m", ".sas", ".sps"}
)
_ABOUT = frozenset(
    {f"{name}{end}" for name in ("readme", "license", "licence", "citation")
     for end in ("", ".md", ".txt")} | {"citation.cff"}
)  # fmt: skip
_MOST_FILES, _LONGEST_PROGRAM, _MOST_BYTES = 10_000, 2 * 2**20, 2**30
_MOST_NAMED = 10


@dataclass(frozen=True)
class Folder:
    """A replication folder, file by file."""

    root: Path
    copied: Mapping[str, str]  # what is published, by its path in the folder, with its SHA-256
    left_out: Mapping[str, str]  # what is not, with the reason
    named: frozenset[str] = frozenset()  # what of it is copied because the study file names it
    # What of it could not be read, and is copied because the study file vouches for it, with the
    # reason.
    unread: Mapping[str, str] = field(default_factory=dict)


def folder_of(
    root: Path,
    public: Sequence[str],
    confidential: Mapping[Path, Sequence[str]],
    key: str | None,
    unread: Sequence[str] = (),
) -> Folder:
    """What of a replication folder may be published.

    The study file names files as ``public``, those that cannot be read as ``unread``;
    ``confidential`` ones come with their columns; ``key`` is the column that identifies a person.
    """
    if root.is_symlink() or not root.is_dir():
        raise FileError(
            f"[package] folder {root.name!r} is not a folder; name the replication folder, next to "
            "the study file"
        )
    vouched = {*unread}
    named = {*public} | vouched
    secrets = {disk.sha256(path) for path in confidential}
    every = {column for columns in confidential.values() for column in columns}
    copied: dict[str, str] = {}
    left_out: dict[str, str] = {}
    without: dict[str, str] = {}
    missing, size = {*named}, 0
    for path in _walked(root):
        name = path.relative_to(root).as_posix()
        why = _not_named(path, name) if name not in named else None
        if why is None:
            raw = content(path, LONGEST)
            sha256 = hashlib.sha256(raw).hexdigest()
            if name not in named:
                why = "it is the confidential file" if sha256 in secrets else (
                    _no_program(path, raw, every)
                )  # fmt: skip
            else:
                found = contents(name, raw)
                said = _like_any(found, confidential, key)
                said = said or ("is the confidential file" if sha256 in secrets else "")
                if said:
                    raise FileError(
                        f"[package] public names {name!r}, which {said}; leave it out: rows of "
                        "people are released by dprct protect alone"
                    )
                if found.unread and name not in vouched:
                    raise FileError(
                        f"[package] public names {name!r}, which cannot be checked: "
                        f"{found.unread}; look at it yourself, and if it holds no rows of people, "
                        "vouch for it by naming it in [package] unread"
                    )
                if found.unread:
                    without[name] = found.unread
            size += len(raw) if why is None else 0
            if size > _MOST_BYTES:
                raise FileError(
                    f"the files of {root.name!r} that would be copied have more than "
                    f"{_MOST_BYTES // 2**30} GB; publish large files by themselves"
                )
        if why is None:
            copied[name] = sha256
        else:
            left_out[name] = why
        missing.discard(name)
    if missing:
        raise FileError(
            f"[package] public names {min(missing)!r}, which is not a file of the folder "
            f"{root.name!r}; name files, one by one, by their path from the study file"
        )
    _check_case([*copied])
    return Folder(root, copied, left_out, frozenset(named), without)


def check_no_rows(folder: Folder, tables: Sequence[Table], others: Mapping[str, str]) -> None:
    """Refuse to publish texts, of the folder and others, in which rows of confidential data are."""
    found = places_of_rows(_texts(folder, tables, others), tables)
    if found:
        places = " and ".join(f"{name!r} (line {line})" for name, line in found[:_MOST_NAMED])
        more = f" and {len(found) - _MOST_NAMED} more files" if len(found) > _MOST_NAMED else ""
        raise FileError(
            f"cells of rows of the confidential data are in {places}{more}: more of them than "
            "would be there by chance once in a million; take these lines out, or the file out of "
            f"the folder {folder.root.name!r}"
        )


def _texts(folder: Folder, tables: Sequence[Table], others: Mapping[str, str]) -> Iterator[Text]:
    """Yield every text that is published; of what is named, public columns may be in it."""
    fates = [column for table in tables for column in table.columns.values()]
    public = frozenset(one.name for one in fates if one.fate == "public") - {
        one.name for one in fates if one.fate != "public"
    }
    yield Text("the names of the files", "\n".join(folder.copied))
    for name, text in others.items():
        yield Text(name, text)
    for name, sha256 in folder.copied.items():
        raw = content(folder.root / name, LONGEST)
        if hashlib.sha256(raw).hexdigest() != sha256:
            raise FileError(f"{name!r} was changed while the package was made; try again")
        program = PurePosixPath(name).suffix.lower() in _PROGRAMS
        own = name in folder.named and not program
        known = public if own else frozenset[str]()
        yield from contents(name, raw).parts(name, known, single=own, program=program)


def _walked(root: Path) -> Iterator[Path]:
    """Yield every file and link below a folder, in order; nothing whose name begins with a dot."""
    count = 0
    for place, folders, files in os.walk(root, followlinks=False):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        links = [name for name in folders if (Path(place) / name).is_symlink()]
        for name in sorted([*files, *links]):
            if name.startswith("."):
                continue
            count += 1
            if count > _MOST_FILES:
                raise FileError(
                    f"the folder {root.name!r} holds more than {_MOST_FILES:,} files; give the "
                    "one of the replication package alone"
                )
            yield Path(place) / name


def _not_named(path: Path, name: str) -> str | None:
    """Reason why a file that nobody named is left out by its name or kind, None if it is not."""
    if not name.isprintable():
        return "its name has characters that cannot be seen"
    try:
        kind = path.lstat()
    except OSError:
        return "it cannot be read"
    if not stat.S_ISREG(kind.st_mode):
        return "it is a link or no ordinary file"
    if path.suffix.lower() not in _PROGRAMS and path.name.lower() not in _ABOUT:
        return "it is not a program; it may hold data or results"
    if kind.st_size > _LONGEST_PROGRAM:
        return "it is longer than a program"
    return None


def _no_program(path: Path, raw: bytes, columns: Collection[str]) -> str | None:
    """Reason why a file with the name of a program is left out by its content."""
    text = text_of(raw)
    if b"\0" in raw or text is None or raw.startswith((b"<stata_dta>", b"PK\x03\x04", b"%PDF")):
        return "its name is that of a program, and its content is not text"
    if said := typed_in(text, path.suffix):
        return f"values are typed into it ({said})"
    if line := table_line(text, columns):
        return f"values are typed into it (below names of confidential columns, line {line})"
    return None


def _like_any(found: Contents, confidential: Mapping[Path, Sequence[str]], key: str | None) -> str:
    """Likeness of a file that is named as public to a confidential one, in words."""
    said = (
        _like(header, columns, key) for columns in confidential.values() for header in found.headers
    )
    return next((words for words in said if words), "")


def _like(header: Header, columns: Sequence[str], key: str | None) -> str:
    if key is not None and key.casefold() in header.names and header.shared(columns):
        return f"has the column {key!r}, which identifies people"
    shared = header.shared(columns)
    if len(columns) > 1 and 2 * shared > len(columns):
        return f"has {shared} of the {len(columns)} columns of the confidential file"
    return ""


def content(path: Path, most: int | None = None) -> bytes:
    """The bytes of an ordinary file, at most ``most``; a link is refused, not followed."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            raise FileError(
                f"{path.name!r} is a link or no ordinary file; leave it out, or put a copy in its "
                "place"
            )
        handle = os.open(
            path,
            os.O_RDONLY
            | getattr(os, "O_BINARY", 0)
            | getattr(os, "O_NOFOLLOW", 0)
            | getattr(os, "O_NONBLOCK", 0),
        )
        with os.fdopen(handle, "rb") as file:
            raw = file.read(-1 if most is None else most + 1)
    except FileError:
        raise
    except OSError as error:
        raise file_error(error, path, "read") from None
    if most is not None and len(raw) > most:
        raise FileError(
            f"{path.name!r} has more than {most // 2**20} MB; leave it out, and publish "
            "it by itself"
        )
    return raw


def _check_case(names: Sequence[str]) -> None:
    """Refuse two files that are one on some disks."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.casefold(), name)
        if other != name:
            raise FileError(
                f"{name!r} and {other!r} are one file on some disks; give one another name"
            )


@dataclass(frozen=True)
class Elsewhere:
    """A path of another machine in a do-file."""

    file: str
    line: int
    path: str
    here: str = ""  # the file of that base name in the package; empty if there is none


_ABSOLUTE = re.compile(
    r'"(?P<a>(?:[A-Za-z]:[\\/]|\\\\|~[\\/]|/(?=[\w.-]+/))[^"`$\n]*)'
    r"|(?<![\w\"/])(?P<b>[A-Za-z]:[\\/](?!/)[^\s\",`$]+)"
)
_COMMENT = re.compile(r"\s*(?:\*|//)")
_PATH_OF = re.compile(r"\$\{?(\w{1,32})\}?[\\/]")
_MOST_PLACES = 500
_MOMENTS = ".moments.json"
"""How released moments end, which stand where the confidential file stood."""


def elsewhere(texts: Mapping[str, str], there: Sequence[str]) -> list[Elsewhere]:
    r"""Return the paths of other machines that do-files name, with what is here of that name.

    Examples
    --------
    >>> text = 'use "C:\\Users\\me\\farms.dta", clear'
    >>> elsewhere({"main.do": text}, ["data/farms.dta"])
    [Elsewhere(file='main.do', line=1, path='C:\\Users\\me\\farms.dta', here='data/farms.dta')]
    >>> elsewhere({"main.do": text}, ["farms.moments.json"])[0].here
    'farms.moments.json'
    """
    by_base = {name.rpartition("/")[2].casefold(): name for name in there}
    by_stem = {
        name.removesuffix(".dta").removesuffix(_MOMENTS): full for name, full in by_base.items()
    }
    found: list[Elsewhere] = []
    for file, text in texts.items():
        for number, line in enumerate(text.split("\n"), 1):
            if _COMMENT.match(line) or len(line) > 5_000:
                continue
            for match in _ABSOLUTE.finditer(line):
                path = (match["a"] or match["b"]).strip()
                base = re.sub(r"\\+", "/", path).rpartition("/")[2].casefold()
                here = by_base.get(base, "") or by_stem.get(base.removesuffix(".dta"), "")
                found.append(Elsewhere(file, number, path, here))
                if len(found) >= _MOST_PLACES:
                    return found
    return found


_VERSION = re.compile(r"^\s*vers(?:ion|io|i)?\s+(\d+(?:\.\d+)?)", re.MULTILINE)
_INSTALLED = re.compile(
    r"^\s*(?:cap\w*\s+|qui\w*\s+)*(?:ssc\s+inst\w*|net\s+inst\w*|adoupdate)\s+(\w+)", re.MULTILINE
)
_OTHERS = re.compile(
    r"^\s*(?:(?:by\b.*|cap\w*|qui\w*|noi\w*|xi|eststo\w*)\s*:?\s*)*"
    r"(reghdfe|ivreg2|ivreghdfe|xtivreg2|outreg2?|estout|esttab|xml_tab|rwolf2?|lassopack|pdslasso)\b",
    re.MULTILINE,
)
"""Commands that Stata does not have of itself, where a do-file installs none."""


def software(texts: Mapping[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Versions of Stata and packages of other authors that do-files name.

    Examples
    --------
    >>> software({"a.do": "version 13" + chr(10) + "ssc install estout" + chr(10) + "ivreg2 y x"})
    (('13',), ('estout', 'ivreg2'))
    """
    every = "\n".join(texts.values())
    versions = dict.fromkeys(_VERSION.findall(every))
    packages = dict.fromkeys([*_INSTALLED.findall(every), *_OTHERS.findall(every)])
    return tuple(versions), tuple(packages)


def makers(texts: Mapping[str, str], data: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the do-files that save each data file, by its name; none where no do-file does.

    Examples
    --------
    >>> makers({"clean.do": 'save "$out/farms.dta", replace'}, ["farms.dta", "towns.dta"])
    {'farms.dta': ('clean.do',), 'towns.dta': ()}
    """
    saved = {name: _SAVED.findall(text) for name, text in texts.items()}
    stems = {name: PurePosixPath(name).stem.casefold() for name in data}
    return {
        one: tuple(
            name
            for name, places in saved.items()
            if any(re.split(r"[\\/]", place)[-1].casefold().removesuffix(".dta") == stem
                   for place in places)
        )
        for one, stem in stems.items()
    }  # fmt: skip


_SAVED = re.compile(r'^\s*(?:qui\w*\s+)?save(?:old)?\s+"?([^",\n]+?)"?\s*(?:,|$)', re.MULTILINE)


def roots(texts: Mapping[str, str], undefined: Sequence[str]) -> tuple[str, ...]:
    """Return the globals that no do-file defines and that stand where a folder does.

    Examples
    --------
    >>> roots({"main.do": 'use "$data/farms.dta"' + chr(10) + "reg y $controls"}, ["data"])
    ('data',)
    """
    used = {name for text in texts.values() for name in _PATH_OF.findall(text)}
    return tuple(name for name in undefined if name in used)
