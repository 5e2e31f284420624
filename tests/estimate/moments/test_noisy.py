"""Released moments as values: units, pooling, and what they refuse."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dprct.errors import ParameterError
from dprct.estimate.moments.noisy import NoisyMoments


def moments(n: float = 10, **facts: Any) -> NoisyMoments:
    given: dict[str, Any] = {
        "names": ("wage", "age"),
        "n": n,
        "n_is_public": True,
        "totals": np.array([1.0, 2.0]),
        "cross": np.array([[5.0, 1.0], [1.0, 7.0]]),
        "s1": 3.0,
        "s2": 4.0,
        "centre": np.array([10.0, 40.0]),
        "scale": np.array([2.0, 12.0]),
        "weight": np.array([1.5, 1.0]),
    }
    return NoisyMoments(**(given | facts))


def test_a_total_times_the_constant_is_as_noisy_as_a_product() -> None:
    found = moments()
    assert found.h * found.s1 == pytest.approx(found.s2 / math.sqrt(2))
    np.testing.assert_allclose(found.matrix[0, 1:], found.h * found.totals)
    assert found.matrix[0, 0] == pytest.approx(10 * found.h**2)


def test_rows_of_columns_give_back_their_units() -> None:
    found = moments()
    x = np.array([13.0, 31.0])
    z = found.weight * (x - found.centre) / found.scale
    r = np.concatenate([[found.h], z])
    assert found.row("wage") @ r == pytest.approx(13)
    assert found.row("age") @ r == pytest.approx(31)
    assert found.row(None) @ r == pytest.approx(1)


def test_pooled_groups_add_and_their_noise_adds_in_squares() -> None:
    first, second = moments(10), moments(30, s1=6.0, s2=8.0)
    both = first.pooled(second)
    assert (both.n, both.n_is_public) == (40, True)
    np.testing.assert_array_equal(both.cross, 2 * first.cross)
    assert both.s1 == pytest.approx(math.sqrt(45))
    assert both.s2 == pytest.approx(math.sqrt(80))


def test_the_count_of_pooled_private_cells_has_the_noise_of_their_sum() -> None:
    cell = moments(9.7, n_is_public=False)
    assert cell.n_noise == pytest.approx(cell.s2 / cell.h**2)
    both = cell.pooled(cell, cell, cell)
    assert both.n_noise == pytest.approx(2 * cell.n_noise)
    known = cell.pooled(cell, rows=20)
    assert (known.n, known.n_is_public, known.n_noise) == (20, True, 0)


@pytest.mark.parametrize("facts", [{"totals": np.array([np.nan, 1.0])}, {"s2": math.inf}])
def test_numbers_that_are_not_finite_are_refused(facts: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="finite"):
        moments(**facts)
