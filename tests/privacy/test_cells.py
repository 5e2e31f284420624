"""Mixed-radix cells: the inverse law, exactness beyond int64, distinct empty cells."""

from __future__ import annotations

import math
import secrets

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dprct.errors import ParameterError
from dprct.privacy.aggregates import (
    cell_count,
    cell_digits,
    cell_indices,
    checked_radices,
    distinct_empty_cells,
)
from dprct.privacy.noise import Secure, Simulated

radices_lists = st.lists(st.integers(1, 10**4), min_size=1, max_size=20)


@given(radices_lists, st.randoms())
def test_digits_invert_indices(radices, random):
    cells = math.prod(radices)
    indices = [0, cells - 1, random.randrange(cells)]
    digits = cell_digits(indices, radices)
    assert digits.dtype == np.int64
    assert cell_indices(digits, radices).tolist() == indices


def test_index_is_the_number_that_the_digits_spell_beyond_int64():
    radices = [1000] * 10
    assert cell_count(radices) == 10**30
    assert cell_indices(np.full((1, 10), 999), radices).tolist() == [10**30 - 1]


def test_order_of_indices_is_the_order_of_the_digits():
    radices = (3, 2, 4)
    digits = cell_digits(range(24), radices).tolist()
    assert digits == sorted(digits)


@pytest.mark.parametrize("radices", [[], [0], [3, -1], [2**31]])
def test_impossible_level_counts_are_refused(radices):
    with pytest.raises(ParameterError, match="levels"):
        checked_radices(radices)


@pytest.mark.parametrize("cells", [12, 1000, 10**30])
def test_drawn_cells_are_distinct_and_empty(cells):
    occupied = {0, 3, 5, cells - 1}
    drawn = distinct_empty_cells(cells, 8, occupied, Secure())
    assert len(set(drawn)) == 8
    assert not occupied & set(drawn)
    assert all(0 <= index < cells for index in drawn)


def test_drawing_every_empty_cell_gives_each_once():
    assert sorted(distinct_empty_cells(10, 7, [1, 4, 9], Secure())) == [0, 2, 3, 5, 6, 7, 8]


def test_more_cells_than_are_empty_are_refused():
    with pytest.raises(ParameterError, match="empty cells"):
        distinct_empty_cells(5, 4, [0, 1], Secure())


def test_the_listing_way_shuffles_and_the_rejecting_way_does_not_list():
    rng = np.random.default_rng(5)
    drawn = [tuple(distinct_empty_cells(6, 2, [0], Simulated(rng))) for _ in range(2000)]
    assert len(set(drawn)) == 5 * 4
    huge = distinct_empty_cells(10**60, 3, [secrets.randbelow(10**60)], Secure())
    assert len(huge) == 3
