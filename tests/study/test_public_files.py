"""What a file named as public holds, whatever its format, its container or its name say."""

from __future__ import annotations

import base64
import bz2
import gzip
import io
import json
import lzma
import re
import struct
import tarfile
import zipfile
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest

from dprct.custodian.rows_in_texts import Table
from dprct.errors import FileError
from dprct.io import write
from dprct.schema import Column, Schema
from dprct.study.package_allowed import check_no_rows, folder_of
from dprct.study.public_files import contents, headers_of, table_line, text_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

COLUMNS = ("wage", "union", "pid", "treat")


def rows(n: int = 80) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "wage": rng.lognormal(6, 1, n).round(2),
            "union": rng.integers(0, 2, n).astype(float),
            "pid": rng.permutation(np.arange(10_000, 10_000 + 7 * n, 7)).astype(float),
            "treat": rng.integers(0, 2, n).astype(float),
        }
    )


def schema_of(frame: pd.DataFrame) -> Schema:
    return Schema.from_frame(frame)


def as_dta(frame: pd.DataFrame, path: Path) -> None:
    write(frame, schema_of(frame), path.with_suffix(".dta"))
    path.with_suffix(".dta").rename(path)


def as_xlsx(frame: pd.DataFrame, path: Path) -> None:
    """Write what Excel writes: words in one part, cells that refer to them in another."""
    words = "".join(f"<si><t>{name}</t></si>" for name in frame.columns)
    head = "".join(f'<c r="A1" t="s"><v>{at}</v></c>' for at in range(len(frame.columns)))
    body = "".join(
        "<row>" + "".join(f"<c><v>{value}</v></c>" for value in row) + "</row>"
        for row in frame.to_numpy().tolist()
    )
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("xl/workbook.xml", "<workbook/>")
        file.writestr("xl/sharedStrings.xml", f"<sst>{words}</sst>")
        file.writestr("xl/worksheets/sheet1.xml", f"<sheetData><row>{head}</row>{body}</sheetData>")


def as_zip(frame: pd.DataFrame, path: Path) -> None:
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as file:
        file.writestr("deep/in/table.csv", frame.to_csv(index=False))
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("inner.zip", inner.getvalue())


def as_tar(frame: pd.DataFrame, path: Path) -> None:
    raw = frame.to_csv(index=False).encode()
    with tarfile.open(path, "w:gz") as file:
        info = tarfile.TarInfo("table.csv")
        info.size = len(raw)
        file.addfile(info, io.BytesIO(raw))


def as_docx(frame: pd.DataFrame, path: Path) -> None:
    lines = [[*frame.columns], *frame.to_numpy().tolist()]
    cells = "".join(
        "<w:tr>" + "".join(f"<w:tc><w:p><w:t>{cell}</w:t></w:p></w:tc>" for cell in line)
        + "</w:tr>" for line in lines
    )  # fmt: skip
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("word/document.xml", f"<w:document>{cells}</w:document>")


def as_columns(frame: pd.DataFrame, path: Path) -> None:
    path.write_text(json.dumps(frame.to_dict("list"), indent=1))


def with_text(separator: str, encoding: str = "utf-8") -> Callable[[pd.DataFrame, Path], None]:
    def written(frame: pd.DataFrame, path: Path) -> None:
        path.write_bytes(frame.to_csv(index=False, sep=separator).encode(encoding))

    return written


def packed(pack: Callable[[bytes], bytes]) -> Callable[[pd.DataFrame, Path], None]:
    return lambda frame, path: (path.write_bytes(pack(frame.to_csv(index=False).encode())), None)[1]


WRITERS: dict[str, Callable[[pd.DataFrame, Path], None]] = {
    "t.dta": as_dta,
    "renamed.txt": as_dta,
    "t.sav": lambda frame, path: pyreadstat.write_sav(frame, path),
    "t.zsav": lambda frame, path: pyreadstat.write_sav(frame, path, compress=True),
    "t.por": lambda frame, path: pyreadstat.write_por(frame, path),
    "t.xpt": lambda frame, path: pyreadstat.write_xport(frame, path),
    "t.parquet": lambda frame, path: frame.to_parquet(path),
    "t.csv": with_text(","),
    "t.txt": with_text(";"),
    "t.dat": with_text(" "),
    "t.raw": with_text("\t"),
    "wide.csv": with_text(",", "utf-16"),
    "noted.csv": with_text("|", "utf-16-le"),
    "t.json": lambda frame, path: frame.to_json(path, orient="records"),
    "columns.json": as_columns,
    "t.html": lambda frame, path: frame.to_html(path),
    "t.xlsx": as_xlsx,
    "t.docx": as_docx,
    "t.zip": as_zip,
    "t.tar.gz": as_tar,
    "t.csv.gz": packed(gzip.compress),
    "t.csv.bz2": packed(bz2.compress),
    "t.csv.xz": packed(lzma.compress),
    "gzip.csv": packed(gzip.compress),
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "rep"
    folder.mkdir()
    frame = rows()
    write(frame, schema_of(frame), tmp_path / "firms.dta")
    return folder


def copied(root: Path, *public: str, unread: tuple[str, ...] = ()) -> list[str]:
    frame = rows()
    folder = folder_of(root, public, {root.parent / "firms.dta": COLUMNS}, "pid", unread)
    columns = {name: Column(name, fate="public") for name in ("union", "treat")}
    check_no_rows(folder, [Table(frame, columns)], {})
    return [*folder.copied]


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("capital", [False, True])
def test_the_table_is_never_public_in_whatever_format(root: Path, name: str, capital: bool) -> None:
    frame = rows()
    WRITERS[name](frame.rename(columns=str.upper) if capital else frame, root / name)
    with pytest.raises(FileError, match="'pid', which identifies people"):
        copied(root, name)
    with pytest.raises(FileError, match="'pid', which identifies people"):
        copied(root, unread=(name,))  # who vouches for what can be read is not believed


@pytest.mark.parametrize("name", WRITERS)
def test_rows_are_found_without_the_names_of_the_columns(root: Path, name: str) -> None:
    frame = rows().rename(columns=dict(zip(COLUMNS, ("a1", "b1", "c1", "d1"), strict=True)))
    WRITERS[name](frame, root / name)
    with pytest.raises(FileError, match=r"confidential data are in '.*' \(line \d+\)") as caught:
        copied(root, name)
    shown = {f"{value:g}" for value in frame["a1"]} | {f"{value:.0f}" for value in frame["c1"]}
    assert not shown & {*str(caught.value).replace("'", " ").split()}


@pytest.mark.parametrize("name", WRITERS)
def test_other_tables_are_public(root: Path, name: str) -> None:
    other = pd.DataFrame({"region": [1.0, 2.0, 3.0], "people": [34_511.0, 120.5, 77.25]})
    WRITERS[name](other, root / name)
    assert copied(root, name) == [name]


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("plan.pdf", b"%PDF-1.7 abc"),
        ("map.png", b"\x89PNG\r\n\x1a\n..."),
        ("old.doc", b"\xd0\xcf\x11\xe0....\0\0"),
        ("t.pkl", b"\x80\x04\x95..."),
        ("t.feather", b"ARROW1\0\0..."),
        ("t.7z", b"7z\xbc\xaf\x27\x1c\0"),
        ("broken.gz", b"\x1f\x8b\x08junk"),
        ("broken.dta", b"<stata_dta>junk"),
        ("broken.parquet", b"PAR1junk"),
        ("bytes.bin", bytes(range(256)) * 4),
        ("plot.svg", b"<svg><circle cx='3' cy='4'/></svg>"),
        ("plot.html", b"<html><body><svg width='3'></svg></body></html>"),
        ("plot.eps", b"%!PS-Adobe-3.0 EPSF-3.0\n3 4 moveto\n"),
        ("plot.gph", b"StataFileTM:00001:01100:GPH:\n"),
        ("host.txt", b"%".join(str(at).encode("cp037") for at in range(90))),
        ("fixed.dat", b"\n".join(b"2000%d43112345" % at for at in range(10, 40))),
        ("note.txt", base64.b64encode(bytes(range(256)) * 2)),
    ],
)
def test_what_cannot_be_read_is_refused_until_somebody_vouches_for_it(
    root: Path, name: str, raw: bytes
) -> None:
    (root / name).write_bytes(raw)
    with pytest.raises(
        FileError, match=rf"'{name}', which cannot be checked.*in \[package\] unread"
    ):
        copied(root, name)
    assert copied(root, unread=(name,)) == [name]
    with pytest.raises(FileError, match="not a file of the folder"):
        copied(root, unread=("other.pdf",))


def test_the_confidential_file_is_refused_even_where_it_cannot_be_read(root: Path) -> None:
    (root / "copy.bin").write_bytes((root.parent / "firms.dta").read_bytes())
    with pytest.raises(FileError, match=r"identifies people|is the confidential file"):
        copied(root, unread=("copy.bin",))


def test_an_archive_that_unpacks_without_end_is_not_read() -> None:
    bomb = gzip.compress(b"0" * (300 * 2**20), 1)
    assert "more than 256 MB" in contents("a.gz", bomb).unread
    many = io.BytesIO()
    with zipfile.ZipFile(many, "w") as file:
        for number in range(2_001):
            file.writestr(f"{number}.txt", "")
    assert "more than 2,000 files" in contents("a.zip", many.getvalue()).unread
    deep = b"x"
    for _ in range(6):
        deep = gzip.compress(deep)
    assert "deep" in contents("a.gz", deep).unread


def with_files(**files: bytes) -> bytes:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as file:
        for name, inner in files.items():
            file.writestr(f"{name}.txt", inner)
    return raw.getvalue()


def without_the_first(archive: bytes) -> bytes:
    """Return an archive whose list of files does not have the first one."""
    first = archive.index(b"PK\x01\x02")
    second, end = archive.index(b"PK\x01\x02", first + 4), archive.index(b"PK\x05\x06")
    sizes = struct.pack("<HHII", 1, 1, end - second, first)
    return archive[:first] + archive[second:end] + archive[end : end + 8] + sizes + archive[-2:]


SECRET = rows().rename(columns=str.swapcase).to_csv(index=False).encode()


@pytest.mark.parametrize(
    ("name", "raw", "why"),
    [
        ("a.csv", SECRET + with_files(a=b"fine"), "something before it"),
        ("a.png", b"\x89PNG\r\n" + SECRET + with_files(a=b"fine"), "something before it"),
        ("a.zip", with_files(a=b"fine") + SECRET, "more in it than its files|cannot be unpacked"),
        ("a.zip", without_the_first(with_files(a=SECRET, b=b"fine")), "more in it than its files"),
        ("a.gz", gzip.compress(b"fine") + SECRET, "more behind it"),
        ("a.bz2", bz2.compress(b"fine") + SECRET, "more behind it"),
        ("a.xz", lzma.compress(b"fine") + SECRET, "more behind it"),
        ("a.gz", b"\x1f\x8b\x08\x10" + bytes(6) + SECRET + b"\0" + gzip.compress(b"fine")[10:],
         "more in its header"),
        ("a.gz", gzip.compress(b"fine", mtime=0)[:-9], "cut off"),
        ("a.txt", base64.b85encode(SECRET), "encoded data"),
        ("a.txt", SECRET.hex().encode(), "encoded data"),
        ("a.txt", "\n".join(line.hex() for line in SECRET.splitlines()).encode(), "encoded data"),
        ("a.txt", "".join(f"%{byte:02X}" for byte in SECRET).encode(), "encoded data"),
    ],
)  # fmt: skip
def test_what_hides_beside_or_behind_is_not_passed_over(name: str, raw: bytes, why: str) -> None:
    assert re.search(why, contents(name, raw).unread)


def test_what_a_format_has_besides_its_rows_is_searched(root: Path) -> None:
    table = pa.table({"a": [1.0, 2.0]}).replace_schema_metadata({"note": SECRET.decode()})
    pq.write_table(table, root / "meta.parquet")
    with pytest.raises(FileError, match=r"'meta.parquet' \(line"):
        copied(root, "meta.parquet")
    frame = pd.DataFrame({"a": [1.0, 2.0]})
    schema = schema_of(frame).with_columns([Column("a", label="x")])
    notes = tuple(("_dta", f"note{k}", line) for k, line in enumerate(SECRET.decode().split()[1:]))
    file = replace(schema.file, characteristics=notes)
    write(frame, replace(schema, file=file), root / "notes.dta")
    with pytest.raises(FileError, match=r"'notes.dta' \(line"):
        copied(root, "notes.dta")


def test_two_coarse_columns_are_found_in_the_order_of_the_rows(root: Path) -> None:
    text = rows()[["treat", "union"]].astype(int).to_csv(index=False, header=False)
    (root / "x.csv").write_text(text)
    assert copied(root, "x.csv") == ["x.csv"]  # both are public
    with pytest.raises(FileError, match=r"'x.csv'"):
        check_no_rows(folder_of(root, ["x.csv"], {}, None), [Table(rows(), {})], {})


def test_a_link_in_an_archive_is_not_followed() -> None:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as file:
        info = tarfile.TarInfo("secret.csv")
        info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
        file.addfile(info)
    assert "a link" in contents("a.tar", raw.getvalue()).unread


@pytest.mark.parametrize(
    "text",
    [
        "wage,union,treat\n",
        "# the data\n\nWAGE;Union;TREAT\n",
        "wage union treat\n",
        "| Wage | Union | Treat |\n",
        '{"wage": 1, "union": 2, "treat": 3}',
    ],
)
def test_a_header_is_found_in_any_line_and_any_case(text: str) -> None:
    found = contents("notes.txt", text.encode()).headers
    assert any(header.shared(COLUMNS) == 3 for header in found)


@pytest.mark.parametrize(
    "text",
    [
        "The wage and the union were asked, and treat is the arm.\n",
        "wage: what a person earns\nunion: 1 if a member\ntreat: the arm\n",
        "reg wage union treat, robust\n",
    ],
)
def test_a_codebook_and_a_command_are_no_headers(text: str) -> None:
    whole = "Codebook\n\n" + text
    assert not any(header.shared(COLUMNS) > 1 for header in headers_of(whole))
    assert table_line(whole, COLUMNS) == 0


def test_text_comes_in_any_encoding() -> None:
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"):
        assert text_of("wage 3,5\n".encode(encoding)).lstrip("\ufeff") == "wage 3,5\n"
    assert text_of("１２ ٣\u200b4\r\n".encode()) == "12 34\n"
    assert text_of(b"\0\1\2\3" * 50) is None


def test_rows_are_found_in_what_somebody_vouches_for_as_far_as_it_can_be_read(root: Path) -> None:
    cells = rows().to_csv(index=False, header=False)
    (root / "plot.svg").write_text(f"<svg><desc>{cells}</desc></svg>")
    with pytest.raises(FileError, match=r"confidential data are in 'plot.svg'"):
        copied(root, unread=("plot.svg",))
