from __future__ import annotations

import os
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dprct.errors import (
    ColumnError,
    DprctWarning,
    FileError,
    ParameterError,
    SchemaError,
    StataFormatError,
)
from dprct.io.stata import read_dta, read_header, write_dta
from dprct.io.stata.layout import RELEASES, Cursor, parsed_header
from dprct.missing import missing_numbers, tagged
from dprct.schema import Column, FileFacts, Schema

CASES = [(release, order) for release in RELEASES for order in "<>"]


@pytest.fixture
def file(everything, tmp_path):
    write_dta(*everything(118), tmp_path / "study.dta")
    return tmp_path / "study.dta"


@pytest.mark.parametrize(("release", "order"), CASES)
def test_everything_a_release_holds_is_read_as_it_was_written(
    release, order, everything, tmp_path, same
):
    data, schema = everything(release, order)
    write_dta(data, schema, tmp_path / "a.dta")
    same((data, schema.as_opened()), read_dta(tmp_path / "a.dta"))


@pytest.mark.parametrize(("release", "order"), CASES)
def test_the_header_does_not_read_the_data(release, order, everything, tmp_path):
    """Data and strLs are overwritten with rubbish: the same output."""
    path = tmp_path / "a.dta"
    write_dta(*everything(release, order), path)
    before = read_header(path)
    content = bytearray(path.read_bytes())
    with path.open("rb") as file:
        found = parsed_header(Cursor(file, len(content)))
    spared = len(b"</data>") if release >= 117 else 0
    rows = slice(found.data_at, found.data_at + found.rows * found.dtype.itemsize)
    content[rows] = os.urandom(rows.stop - rows.start)
    if release >= 117:
        strls = slice(rows.stop + spared, found.labels_at)
        content[strls] = b"\xff" * (strls.stop - strls.start)
    path.write_bytes(content)
    assert read_header(path) == before
    assert not before.opened
    assert before.file.rows == 5


def test_the_schema_knows_its_source_and_that_it_was_opened(file):
    assert read_dta(str(file))[1].source == Path(file)
    assert read_dta(file)[1].opened
    assert read_header(file).source == Path(file)


def test_a_sealed_schema_keeps_its_seal(file):
    sealed = read_header(file).declare(a_byte=(-127, 100)).seal()
    _, schema = read_dta(file, sealed)
    assert schema.seal_of == sealed.seal_of
    assert schema.seal_of.before_opening
    assert schema.opened
    assert schema.column("a_byte").bounds == (-127.0, 100.0)


def test_a_schema_need_not_know_the_number_of_rows(file):
    schema = read_header(file)
    loose = replace(schema, file=replace(schema.file, rows=None, timestamp=""))
    assert read_dta(file, loose)[1].file.rows is None


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"type": "int"}, "the type of a_byte"),
        ({"label": "other"}, "the label of a_byte"),
        ({"value_label": ""}, "the value label of a_byte"),
        ({"format": "%9.0g"}, "the format of a_byte"),
        ({"name": "b_byte"}, r"the columns \(a_byte, b_byte\)"),
    ],
)
def test_a_column_that_differs_from_the_schema_is_named(file, change, named):
    schema = read_header(file)
    first = replace(schema.columns[0], **change)
    other = replace(schema, columns=(first, *schema.columns[1:]))
    with pytest.raises(SchemaError, match=f"differs from the schema in {named}"):
        read_dta(file, other)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"rows": 4}, "the rows of the file"),
        ({"value_labels": {}}, "the value labels of the file"),
        ({"sorted_by": ()}, "the sorted by of the file"),
        ({"release": 117}, "the release of the file"),
    ],
)
def test_a_fact_of_the_file_that_differs_is_named(file, change, named):
    schema = read_header(file)
    with pytest.raises(SchemaError, match=named):
        read_dta(file, replace(schema, file=replace(schema.file, **change)))


def test_an_order_that_differs_is_named(file):
    schema = read_header(file)
    with pytest.raises(SchemaError, match="the order of the columns"):
        read_dta(file, replace(schema, columns=schema.columns[::-1]))


@pytest.mark.parametrize("reader", [read_dta, read_header])
def test_files_that_cannot_be_read_get_one_sentence(reader, tmp_path):
    with pytest.raises(FileError, match=r"absent.dta' does not exist; check the path"):
        reader(tmp_path / "absent.dta")
    with pytest.raises(FileError, match=r"is a folder|may not be read"):
        reader(tmp_path)
    (tmp_path / "empty.dta").touch()
    with pytest.raises(StataFormatError, match=r"empty.dta': the file is empty"):
        reader(tmp_path / "empty.dta")
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    with pytest.raises(StataFormatError, match=r"a.csv': this is not a .dta file"):
        reader(tmp_path / "a.csv")


@pytest.mark.skipif(
    os.name != "posix" or os.geteuid() == 0, reason="permissions are POSIX, and not for root"
)
def test_a_file_without_permission_is_refused(file):
    file.chmod(0)
    with pytest.raises(FileError, match="may not be read by you"):
        read_dta(file)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes on this platform")
def test_a_pipe_is_refused_before_it_blocks(tmp_path):
    os.mkfifo(tmp_path / "pipe.dta")
    with pytest.raises(FileError, match="not an ordinary file"):
        read_dta(tmp_path / "pipe.dta")


@pytest.mark.parametrize(
    ("rows", "taken"),
    [
        (None, range(5)), (2, range(2)), (0, range(0)), (99, range(5)),
        ((1, 3), range(1, 3)), ([1, 3], range(1, 3)), (range(1, 3), range(1, 3)),
        (range(2), range(2)), ((3, 99), range(3, 5)), ((5, 5), range(0)),
        (np.int64(2), range(2)), ((np.int64(1), np.uint8(3)), range(1, 3)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("names", [None, ["long_text", "a_byte"], ["a_int"], ["name"]])
def test_a_part_of_a_file_is_that_part(rows, taken, names, everything, same, tmp_path):
    whole, schema = everything(118)
    write_dta(whole, schema, tmp_path / "a.dta")
    data, found = read_dta(tmp_path / "a.dta", columns=names, rows=rows)
    kept = [n for n in schema.names if names is None or n in names]
    assert (found.names, found.file.rows) == (kept, len(taken))
    part = whole[kept].iloc[list(taken)].reset_index(drop=True)
    same((data, found), (part, found))


def test_columns_may_come_from_a_generator_in_any_order(file):
    names = read_header(file).names
    data, _ = read_dta(file, columns=(name for name in reversed(names[:3])))
    assert list(data.columns) == names[:3]


@pytest.mark.parametrize(
    ("part", "error", "words"),
    [
        ({"rows": -1}, ParameterError, r"rows=-1; allowed: a number of rows, \(first, stop\)"),
        ({"rows": (-2, 3)}, ParameterError, "allowed"),
        ({"rows": (3, 1)}, ParameterError, "allowed"),
        ({"rows": (1, 2, 3)}, ParameterError, "allowed"),
        ({"rows": ()}, ParameterError, "allowed"),
        ({"rows": 1.5}, ParameterError, "allowed"),
        ({"rows": True}, ParameterError, "allowed"),
        ({"rows": "12"}, ParameterError, "allowed"),
        ({"rows": {1, 2}}, ParameterError, "allowed"),
        ({"rows": slice(1, 2)}, ParameterError, "allowed"),
        ({"rows": range(0, 4, 2)}, ParameterError, "a range of step 1"),
        ({"rows": range(3, 1, -1)}, ParameterError, "a range of step 1"),
        ({"rows": (6, 9)}, ParameterError, "begins at 6 and the file has 5 rows"),
        ({"columns": ["nothing"]}, ColumnError, "nothing"),
        ({"columns": [1]}, ParameterError, "columns= is list, holding int; give a list of text"),
        ({"columns": "a_byte"}, ParameterError, r"such as \['a_byte'\]"),
        ({"columns": ["a_int", "a_byte", "a_int"]}, ParameterError, "'a_int' twice"),
        ({"columns": []}, ParameterError, "is empty"),
    ],
)
def test_a_part_that_is_not_there_is_refused(part, error, words, everything, tmp_path):
    write_dta(*everything(118), tmp_path / "a.dta")
    with pytest.raises(error, match=words):
        read_dta(tmp_path / "a.dta", **part)


def release_105(label=b"Wages of 1995"):
    """Return a file of release 105 with an int, a str3 and a value label."""
    head = bytes([105, 2, 1, 0]) + struct.pack("<HI", 2, 3)
    head += label.ljust(32, b"\0") + b"21 Nov 1995 07:36\0"
    head += b"i" + bytes([0x7F + 3])
    head += b"wage".ljust(9, b"\0") + b"town".ljust(9, b"\0")
    head += struct.pack("<3H", 1, 0, 0)
    head += b"%8.0g".ljust(12, b"\0") + b"%9s".ljust(12, b"\0") + bytes(9) + bytes(9)
    head += b"Hourly wage".ljust(32, b"\0") + bytes(32) + bytes(3)
    rows = [struct.pack("<h", x) + t for x, t in ((7, b"abc"), (32767, b"d\0\0"), (9, bytes(3)))]
    return head + b"".join(rows)


@pytest.fixture
def old_file(tmp_path):
    (tmp_path / "old.dta").write_bytes(release_105())
    return tmp_path / "old.dta"


def test_an_old_release_is_read_with_everything_it_says(old_file, tmp_path, same):
    data, schema = read_dta(old_file)
    assert data["wage"].tolist()[::2] == [7.0, 9.0]
    assert missing_numbers(data["wage"]).tolist() == [-1, 0, -1]
    assert data["town"].tolist() == ["abc", "d", ""]
    assert [(c.name, c.type, c.format, c.label) for c in schema.columns] == [
        ("wage", "int", "%8.0g", "Hourly wage"),
        ("town", "str3", "%9s", ""),
    ]
    assert (schema.file.label, schema.file.rows, schema.file.release) == ("Wages of 1995", 3, 105)
    assert schema.file.sorted_by == ("wage",)
    write_dta(data, schema, tmp_path / "new.dta")
    assert (tmp_path / "new.dta").read_bytes() == old_file.read_bytes()
    assert read_header(old_file).as_opened() == schema
    write_dta(data, schema, tmp_path / "newer.dta", version=118)
    again, read = read_dta(tmp_path / "newer.dta")
    same((data, schema), (again, replace(read, file=replace(read.file, release=105))))


@pytest.mark.parametrize("reader", [read_dta, read_header])
@pytest.mark.parametrize("release", [106, 107, 109, 112])
def test_an_unknown_release_is_refused_with_advice(release, reader, old_file):
    content = bytearray(old_file.read_bytes())
    content[0] = release
    old_file.write_bytes(content)
    with pytest.raises(StataFormatError, match=f"release {release} is not one .*; in Stata"):
        reader(old_file)


def test_the_first_release_may_name_no_byte_order(tmp_path):
    head = bytes([102, 0, 0, 0]) + struct.pack("<HH", 1, 1) + b"Votes".ljust(32, b"\0")
    head += b"b" + b"vote".ljust(9, b"\0") + bytes(4) + b"%8.0g\0\0" + bytes(9) + bytes(32)
    (tmp_path / "a.dta").write_bytes(head + b"\x05")
    data, schema = read_dta(tmp_path / "a.dta")
    assert (schema.file.label, data["vote"].tolist()) == ("Votes", [5.0])


def test_numbers_that_only_old_releases_hold_are_kept_and_said(tmp_path, same):
    """A byte of 101 to 126 is a number before 113; the type is a fact of the header and stays."""
    columns = [Column(f"a_{t}", t) for t in ("byte", "int", "long")]
    data = pd.DataFrame(
        {"a_byte": [-128.0, 126], "a_int": [-(2.0**15), 32_766], "a_long": [0, 2.0**31 - 2]}
    )
    schema = Schema(tuple(columns), FileFacts(release=110, rows=2))
    write_dta(data, schema, tmp_path / "a.dta")
    with pytest.warns(DprctWarning, match="a_byte .byte., a_int .int., a_long .long.: holds"):
        read = read_dta(tmp_path / "a.dta")
    assert (read[0].to_numpy() == data.to_numpy()).all()
    with pytest.raises(SchemaError, match="not among -127 to 100"):
        write_dta(*read, tmp_path / "b.dta", version=118)
    with pytest.raises(SchemaError, match="not among"):
        write_dta(data + 1, schema, tmp_path / "b.dta")


def test_the_oldest_missing_code_of_a_double_is_read_and_never_a_number(tmp_path):
    schema = Schema((Column("x"),), FileFacts(release=104, rows=2))
    write_dta(pd.DataFrame({"x": [1.0, float("nan")]}), schema, tmp_path / "a.dta")
    assert (tmp_path / "a.dta").read_bytes()[-8:] == struct.pack("<d", 2.0**333)
    assert missing_numbers(read_dta(tmp_path / "a.dta")[0]["x"]).tolist() == [-1, 0]
    with pytest.raises(SchemaError, match="missing code of release 104"):
        write_dta(pd.DataFrame({"x": [1.0, 2.0**333]}), schema, tmp_path / "a.dta")


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"timestamp": "21 Nov 2026 07:36"}, "no timestamp"),
        ({"characteristics": (("_dta", "note0", "1"),)}, "no notes and characteristics"),
        ({"value_labels": {"a": {".": "gone"}}}, "other than a whole"),
        ({"value_labels": {"a": {1: "much too long"}}}, "allows 8"),
    ],
)
def test_what_an_old_release_does_not_hold_is_refused(facts, words, tmp_path):
    schema = Schema((Column("x"),), FileFacts(release=104, **facts))
    with pytest.raises(SchemaError, match=words):
        write_dta(pd.DataFrame({"x": [1.0]}), schema, tmp_path / "a.dta")
    with pytest.raises(SchemaError, match=r"release 111 has '\.' alone"):
        write_dta(
            pd.DataFrame({"x": tagged([1])}), Schema((Column("x"),)), tmp_path / "a", version=111
        )


@pytest.mark.parametrize("length", [10, 60, 150])
def test_a_cut_file_is_refused(length, old_file):
    old_file.write_bytes(old_file.read_bytes()[:length])
    with pytest.raises(StataFormatError, match="shorter than it says"):
        read_dta(old_file)
