from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from dprct.errors import ParameterError
from dprct.results.base import checked_alpha, interval_frame


@pytest.mark.parametrize("alpha", [0, 1, -0.05, 5, True, "0.05", None, float("nan")])
def test_what_is_no_size_of_a_test_is_refused(alpha: object) -> None:
    with pytest.raises(ParameterError, match=r"alpha=.*such as 0\.05"):
        checked_alpha(alpha)


def test_values_given_by_mistake_are_not_printed() -> None:
    with pytest.raises(ParameterError, match="alpha=Series") as refused:
        checked_alpha(pd.Series([12345.0]))
    assert "12345" not in str(refused.value)


def test_numbers_of_numpy_are_numbers() -> None:
    assert checked_alpha(np.float64(0.1)) == 0.1
    assert checked_alpha(np.float32(0.5)) == checked_alpha(Fraction(1, 2)) == 0.5


@pytest.mark.parametrize("alpha", [1e-17, 5e-324, 1 - 1e-16])
def test_a_size_next_to_0_or_1_is_refused(alpha: float) -> None:
    with pytest.raises(ParameterError, match="from both"):
        checked_alpha(alpha)


def test_ends_are_a_half_width_away() -> None:
    found = interval_frame(pd.Series({"a": 1.0, "b": -1.0}), [0.5, 2.0])
    assert found.to_numpy().tolist() == [[0.5, 1.5], [-3.0, 1.0]]
    assert list(found.index) == ["a", "b"]
    assert list(found.columns) == [0, 1]
