from __future__ import annotations

import math

import pytest

from dprct.defaults import (
    FEWEST_SURVIVORS,
    SPURIOUS_SHARE,
    bins_by_zeta,
)
from dprct.privacy import histograms


@pytest.mark.parametrize("root", range(2, 200))
def test_two_thirds_of_a_cube_is_its_square(root: int) -> None:
    # ceil must not make 26 of 25.000000000000004
    assert bins_by_zeta(root**3, 2 / 3) == root**2


@pytest.mark.parametrize(("n", "bins"), [(947, 97), (1_000, 100), (1_001, 101), (4_820, 286)])
def test_the_bins_of_the_paper(n: int, bins: int) -> None:
    assert bins_by_zeta(n, 2 / 3) == bins


def test_more_people_never_have_fewer_bins() -> None:
    bins = [bins_by_zeta(n, 0.4) for n in range(1, 3_000)]
    assert bins == sorted(bins)
    assert isinstance(bins[0], int)
    assert bins[99] == math.ceil(100**0.4) == 7


def test_the_constants_of_the_histogram_are_those_of_its_law() -> None:
    # ALGORITHMS.md, section 1: n/20 expected rows in empty cells; refuse below n/t = 5
    assert SPURIOUS_SHARE * 20 == 1
    assert histograms.SPURIOUS_SHARE == SPURIOUS_SHARE
    assert FEWEST_SURVIVORS == 5
