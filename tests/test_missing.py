from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dprct.errors import ParameterError
from dprct.missing import MISSING_CODES, code_number, missing_numbers, tagged


def test_there_are_stata_s_27_codes_in_order() -> None:
    assert len(MISSING_CODES) == 27
    assert MISSING_CODES[:3] == (".", ".a", ".b")
    assert MISSING_CODES[26] == ".z"
    assert [code_number(code) for code in MISSING_CODES] == list(range(27))


@pytest.mark.parametrize("code", ["", "a", "..", ".A", ".aa", "NaN"])
def test_other_codes_are_refused(code: str) -> None:
    with pytest.raises(ParameterError, match=r"allowed: '\.' and '.a' to '.z'"):
        code_number(code)


def test_every_code_is_a_nan_and_comes_back() -> None:
    nans = tagged(np.arange(27))
    assert nans.dtype == np.float64
    assert np.isnan(nans).all()
    assert missing_numbers(nans).tolist() == list(range(27))


def test_the_letter_is_where_haven_looks_for_it() -> None:
    bits = tagged([0, 1, 26]).view(np.uint64)
    assert [hex(b) for b in bits] == [
        "0x7ff80000000007a2", "0x7ff80061000007a2", "0x7ff8007a000007a2",
    ]  # fmt: skip


def test_numbers_are_not_missing_and_other_nans_are_a_dot() -> None:
    odd = np.array([0x7FF8_0000_0000_0000, 0xFFF8_0000_0000_0000, 0x7FF8_00FF_0000_0000], np.uint64)
    values = np.concatenate([[0.0, -0.0, 1.5, -np.inf, np.inf], odd.view(np.float64)])
    assert missing_numbers(values).tolist() == [-1] * 5 + [0] * 3


def test_the_letters_of_a_large_number_are_not_read() -> None:
    # bits 32 to 39 of this number say "a"
    number = np.array([0x4008_0061_0000_0000], np.uint64).view(np.float64)
    assert missing_numbers(number).tolist() == [-1]


def test_a_column_of_pandas_keeps_them_and_slices_need_not_be_contiguous() -> None:
    column = pd.DataFrame({"x": tagged([3, 0, 5, 0])})["x"]
    assert missing_numbers(column).tolist() == [3, 0, 5, 0]
    assert missing_numbers(column.to_numpy()[::2]).tolist() == [3, 5]


def test_what_is_empty_stays_empty() -> None:
    assert missing_numbers([]).tolist() == []
    assert tagged(np.array([], int)).tolist() == []
