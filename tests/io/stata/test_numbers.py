from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dprct.errors import SchemaError, StataFormatError
from dprct.io.stata.layout import MISSING_START, NUMPY_TYPE
from dprct.io.stata.numbers import mark_missing, packed_numbers
from dprct.missing import missing_numbers, tagged
from dprct.schema import Column

TYPES = list(NUMPY_TYPE)


@pytest.mark.parametrize("storage", TYPES)
def test_all_27_codes_become_their_numbers_and_return(storage):
    start, step = MISSING_START[storage]
    raw = (start + step * np.arange(27)).astype(NUMPY_TYPE[storage])
    x = np.append(raw.astype(float), [7.0])
    mark_missing(x, Column("x", storage))
    assert missing_numbers(x).tolist() == [*range(27), -1]
    assert np.array_equal(
        packed_numbers(x, Column("x", storage)), np.append(raw, 7).astype(raw.dtype)
    )


@pytest.mark.parametrize("storage", ["float", "double"])
def test_what_lies_between_two_codes_is_refused(storage):
    start, step = MISSING_START[storage]
    for wrong in (start + step / 2, start + 27 * step):
        with pytest.raises(StataFormatError, match=r"'x' has a .* between two missing codes"):
            mark_missing(np.array([wrong]), Column("x", storage), 5)


def test_a_nan_of_another_program_is_the_plain_code_and_infinity_stays():
    alien = np.array([0x7FF8006100000001, 0xFFF8000000000000], np.uint64).view(float)
    x = np.concatenate([alien, [np.inf, -np.inf, 1.0]])
    mark_missing(x, Column("x"))
    assert missing_numbers(x).tolist() == [0, 0, -1, -1, -1]
    assert np.array_equal(x[:2].view(np.uint64), tagged([0, 0]).view(np.uint64))
    assert x[2:].tolist() == [np.inf, -np.inf, 1.0]


@pytest.mark.parametrize(
    ("storage", "value", "rule"),
    [
        ("byte", 101, "not among -127 to 100"),
        ("byte", -128, "not among -127 to 100"),
        ("int", 32741, "not among -32,767 to 32,740"),
        ("long", 2147483621, "not among"),
        ("byte", 1.5, "not whole"),
        ("float", 0.1, "32 bits"),
        ("float", 2.0**127, "not among numbers up to 1.70141e[+]38"),
        ("float", -1e39, "32 bits"),
        ("double", np.inf, "not among numbers up to 8.98847e[+]307"),
        ("double", 2.0**1023, "not among numbers up to"),
    ],
)
@pytest.mark.parametrize("with_missing", [False, True])
def test_what_does_not_fit_is_refused_without_its_value(storage, value, rule, with_missing):
    x = np.array([1.0, value, np.nan if with_missing else 2.0])
    with pytest.raises(SchemaError, match=rule) as refusal:
        packed_numbers(x, Column("income", storage))
    assert "'income'" in str(refusal.value)
    assert storage in str(refusal.value)
    if value == 0.1:
        assert "0.1" not in str(refusal.value)


def test_whole_numbers_beyond_2_to_53_are_refused_not_rounded():
    with pytest.raises(SchemaError, match=r"2\^53"):
        packed_numbers(np.array([2**53 + 1]), Column("x"))
    assert packed_numbers(np.array([-(2**53)]), Column("x"))[0] == -(2.0**53)


@pytest.mark.parametrize("storage", ["float", "double"])
def test_minus_infinity_is_kept_as_stata_keeps_it(storage):
    x = packed_numbers(np.array([-np.inf, -(2.0**127), 1.0]), Column("x", storage))
    mark_missing(back := x.astype(float), Column("x", storage))
    assert back.tolist() == [-np.inf, -(2.0**127), 1.0]


def test_other_numeric_arrays_are_taken_as_they_are():
    assert packed_numbers(np.array([True, False]), Column("x", "byte")).tolist() == [1, 0]
    assert packed_numbers(np.array([3], np.uint8), Column("x", "int")).tolist() == [3]
    assert packed_numbers(np.array([], float), Column("x", "int")).tolist() == []
    assert packed_numbers(pd.Series([1.5]).to_numpy(), Column("x", "float")).tolist() == [1.5]
