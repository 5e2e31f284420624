from __future__ import annotations

import numpy as np
import pytest

from dprct.queries.weighting import canonical_order


def _rows(n: int, seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    x[::7] = np.nan
    return [x, rng.integers(0, 3, n).astype(np.int8), rng.random(n) < 0.5]


def test_rows_stand_the_same_however_they_came() -> None:
    columns = _rows(5_000, 1)
    shuffle = np.random.default_rng(2).permutation(5_000)
    there = canonical_order(columns)
    back = canonical_order([column[shuffle] for column in columns])
    for column in columns:
        np.testing.assert_array_equal(column[there], column[shuffle][back])


def test_every_row_has_one_place() -> None:
    order = canonical_order(_rows(1_000, 3))
    assert sorted(order.tolist()) == list(range(1_000))


def test_minus_zero_is_zero_and_every_nan_is_one() -> None:
    odd = np.array([np.uint64(0x7FF8000000000001)]).view(np.float64)
    plain = np.array([0.0, np.nan, 1.0])
    strange = np.array([-0.0, odd[0], 1.0])
    np.testing.assert_array_equal(canonical_order([plain]), canonical_order([strange]))


def test_the_order_of_columns_counts() -> None:
    a, b, _ = _rows(200, 4)
    assert (canonical_order([a, b]) != canonical_order([b, a])).any()


def test_the_order_is_not_that_of_a_value() -> None:
    x = np.arange(1_000.0)
    ranks = canonical_order([x]).astype(float)
    assert abs(np.corrcoef(x, ranks)[0, 1]) < 0.2


def test_without_columns_there_is_no_order() -> None:
    with pytest.raises(ValueError, match="no columns"):
        canonical_order([])
