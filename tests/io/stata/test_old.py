from __future__ import annotations

import struct

import pytest

from dprct.errors import DprctWarning, StataFormatError
from dprct.io.stata import read_dta, read_header, write_dta
from dprct.missing import missing_numbers


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
def file(tmp_path):
    (tmp_path / "old.dta").write_bytes(release_105())
    return tmp_path / "old.dta"


def test_an_old_release_is_read_with_a_warning_of_what_is_lost(file, tmp_path):
    with pytest.warns(
        DprctWarning, match="release 105 .* does not keep notes, char.* as release 118"
    ):
        data, schema = read_dta(file)
    assert data["wage"].tolist()[::2] == [7.0, 9.0]
    assert missing_numbers(data["wage"]).tolist() == [-1, 0, -1]
    assert data["town"].tolist() == ["abc", "d", ""]
    assert [(c.name, c.type, c.format, c.label) for c in schema.columns] == [
        ("wage", "int", "%8.0g", "Hourly wage"),
        ("town", "str3", "%9s", ""),
    ]
    assert (schema.file.label, schema.file.rows, schema.file.release) == ("Wages of 1995", 3, 118)
    write_dta(data, schema, tmp_path / "new.dta")
    assert read_dta(tmp_path / "new.dta")[1].column("wage").label == "Hourly wage"


def test_its_header_alone_says_the_same(file):
    with pytest.warns(DprctWarning):
        schema = read_header(file)
    with pytest.warns(DprctWarning):
        assert read_dta(file)[1] == schema.as_opened()
    assert not schema.opened


@pytest.mark.parametrize("reader", [read_dta, read_header])
@pytest.mark.parametrize("release", [106, 107, 109, 112])
def test_what_no_package_reads_is_refused_with_advice(release, reader, file):
    content = bytearray(file.read_bytes())
    content[0] = release
    file.write_bytes(content)
    with pytest.raises(
        StataFormatError, match=f"no package here reads release {release}; in Stata"
    ):
        reader(file)


def test_the_header_of_102_needs_its_data(file):
    content = bytearray(file.read_bytes())
    content[0] = 102
    file.write_bytes(content)
    with pytest.raises(StataFormatError, match="cannot be read without its data"):
        read_header(file)


@pytest.mark.parametrize("length", [10, 60, 150])
def test_a_cut_file_is_refused(length, file):
    file.write_bytes(file.read_bytes()[:length])
    with pytest.raises(StataFormatError, match="release 105 could not be read"):
        read_dta(file)
