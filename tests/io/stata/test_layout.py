from __future__ import annotations

import pytest

from dprct.io.stata.layout import (
    LAYOUTS,
    MISSING_START,
    RELEASES,
    default_format,
    storage_type,
    type_code,
)


@pytest.mark.parametrize("release", RELEASES)
def test_every_type_code_has_one_type(release):
    layout = LAYOUTS[release]
    types = {code: storage_type(code, layout) for code in range(2**16)}
    known = {code: storage for code, storage in types.items() if storage}
    assert len(known) == layout.widest + 5 + layout.tagged
    assert len(set(known.values())) == len(known)
    assert all(type_code(storage, layout) == code for code, storage in known.items())
    assert types[0] is None


def test_the_codes_of_the_specification():
    assert storage_type(255, LAYOUTS[115]) == "double"
    assert storage_type(251, LAYOUTS[115]) == "byte"
    assert storage_type(244, LAYOUTS[113]) == "str244"
    assert storage_type(65526, LAYOUTS[118]) == "double"
    assert storage_type(65530, LAYOUTS[117]) == "byte"
    assert storage_type(32768, LAYOUTS[119]) == "strL"
    assert storage_type(255, LAYOUTS[117]) == "str255"


def test_missing_codes_begin_where_the_specification_says():
    import numpy as np

    start, step = MISSING_START["float"]
    assert np.float32(start).view(np.uint32) == 0x7F000000
    assert np.float32(start + 26 * step).view(np.uint32) == 0x7F000000 + 26 * 0x800
    start, step = MISSING_START["double"]
    assert np.float64(start).view(np.uint64) == 0x7FE0000000000000
    assert np.float64(start + 26 * step).view(np.uint64) == 0x7FE0000000000000 + 26 * 2**40
    assert [MISSING_START[t][0] for t in ("byte", "int", "long")] == [101, 32741, 2147483621]


def test_default_formats_are_those_of_a_new_variable():
    assert [default_format(t) for t in ("byte", "long", "float", "double")] == [
        "%8.0g", "%12.0g", "%9.0g", "%10.0g",
    ]  # fmt: skip
    assert [default_format(t) for t in ("str3", "str20", "strL")] == ["%9s", "%20s", "%9s"]


def test_old_text_keeps_bytes_that_cp1252_does_not_know():
    everything = bytes(range(1, 256))
    assert LAYOUTS[117].encode(LAYOUTS[117].decode(everything)) == everything
    assert LAYOUTS[118].encode(LAYOUTS[118].decode(everything)) == everything
    assert LAYOUTS[117].decode(b"ab\0rubbish") == "ab"
