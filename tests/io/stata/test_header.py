from __future__ import annotations

import io

import numpy as np
import pytest

from dprct.errors import StataFormatError
from dprct.io.stata import read_dta, write_dta
from dprct.io.stata.layout import RELEASES, Cursor, parsed_header

CASES = [(release, order) for release in RELEASES for order in "<>"]


def parsed(content):
    return parsed_header(Cursor(io.BytesIO(content), len(content)))


@pytest.mark.parametrize(("release", "order"), CASES)
def test_it_says_where_the_data_are_and_what_a_row_is(release, order, everything, tmp_path):
    data, schema = everything(release, order)
    write_dta(data, schema, tmp_path / "a.dta")
    content = (tmp_path / "a.dta").read_bytes()
    found = parsed(content)
    assert found.columns == schema.columns
    assert found.dtype.fields["c0"][0] == np.int8
    rows = np.frombuffer(content, found.dtype, found.rows, found.data_at)
    codes = [101, 102, 127] if release >= 113 else [127, 127, 127]
    assert rows["c0"].tolist() == [-127, 100, *codes]
    assert (found.rows, found.byteorder) == (5, order)


def test_an_empty_format_is_the_default_one(everything, tmp_path):
    data, schema = everything(115)
    write_dta(data, schema, tmp_path / "a.dta")
    content = (tmp_path / "a.dta").read_bytes()
    (tmp_path / "a.dta").write_bytes(content.replace(b"%td\0", b"\0\0\0\0"))
    assert read_dta(tmp_path / "a.dta")[1].column("a_int").format == "%8.0g"


def test_other_kinds_of_expansion_field_are_stepped_over(everything, tmp_path):
    data, schema = everything(114)
    write_dta(data, schema, tmp_path / "a.dta")
    content = (tmp_path / "a.dta").read_bytes()
    first = content.index(b"_dta\0") - 5
    assert content[first] == 1
    longer = content[:first] + b"\x09\3\0\0\0abc" + content[first:]
    assert parsed(longer).characteristics == schema.file.characteristics


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"a,b\n1,2\n", "not a .dta file"),
        (b"r", "not a .dta file"),
        (b"PK\3\4rest of a zip file", "set of frames"),
        (b"<stata_dta><header><release>120</release>", "alias variables"),
        (b"<stata_dta><header><release>121</release>", "alias variables"),
        (b"<stata_dta><header><release>116</release>", "release 116 is not one"),
        (b"<stata_dta><header><release>abc</release>", "not one that is read"),
        (b"<stata_dta><head", "shorter than it says"),
        (b"\x72\2\1\0" + bytes(5), "shorter than it says"),
    ],
)
def test_what_is_no_file_of_ours_is_refused_with_advice(content, why):
    with pytest.raises(StataFormatError, match=why):
        parsed(content)
