"""The last bits of a released number reveal nothing: the attack on floating-point noise fails.

Mironov (2012): a double near 0 has finer steps than one near 1, so that ``value + laplace()`` can
only be some of the doubles near a given point, and other ones for a neighbouring value.  Our noise
is an integer number of public grid units, so the doubles that can be released are the same for
every table.  The naive mechanism fails the same test, by far.  Audits alarm falsely once in 1e9.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dprct import PrivateATE
from dprct.privacy.aggregates import IntegerVector
from dprct.privacy.budget import Budget
from dprct.privacy.mechanisms import AnalyticGaussian, DiscreteGaussian, DiscreteLaplace
from dprct.privacy.noise import source
from dprct.queries.sums import GRID, Clipped
from dprct.schema import Column, Schema
from tests.statistical.auditing import lower_bound

ALPHA = 1e-9
DRAWS = 50_000
CLAIM = 1.0


def fine_near_zero(values: Any) -> Any:
    """The attack's event: in (0, 1/4) and finer than 2^-54, which 1 + noise is never."""
    x = np.asarray(values, dtype=np.float64)
    return ((x > 0) & (x < 0.25) & (np.mod(x * 2.0**54, 1.0) != 0)).astype(float)


def trailing_zeros(values: Any) -> Any:
    """How many of the last bits of the mantissa are zero."""
    bits = np.asarray(values, dtype=np.float64).view(np.int64) | np.int64(1 << 52)
    return np.log2((bits & -bits).astype(np.float64))


def steps_of_two_to_minus_fifty(values: Any) -> Any:
    """Whether a number is a multiple of 2^-50."""
    return (np.mod(np.asarray(values, dtype=np.float64) * 2.0**50, 1.0) == 0).astype(float)


ATTACKS = (fine_near_zero, trailing_zeros, steps_of_two_to_minus_fifty)


def most_certified(pair: list[Any], delta: float = 0.0) -> float:
    return max(
        lower_bound(*(attack(values) for values in pair), alpha=ALPHA, delta=delta).epsilon
        for attack in ATTACKS
    )


def test_naive_noise_is_broken_by_its_last_bits() -> None:
    rng = np.random.default_rng(1)
    pair = [value + rng.laplace(0, 1, 4 * DRAWS) for value in (0.0, 1.0)]
    assert most_certified(pair) > 3 * CLAIM


@pytest.mark.parametrize(
    ("mechanism", "delta"),
    [
        (DiscreteLaplace(CLAIM, l1=GRID), 0.0),
        (DiscreteGaussian(Budget(CLAIM, 0.01), l2_squared=GRID**2), 0.01),
        (AnalyticGaussian(Budget(CLAIM, 0.01), l2_squared=GRID**2, size=DRAWS), 0.01),
    ],
    ids=lambda value: type(value).__name__,
)
def test_released_numbers_are_not(mechanism: Any, delta: float) -> None:
    grid = Fraction(1, GRID)
    pair = []
    for value in (0, GRID):
        sealed = IntegerVector(
            np.full(DRAWS, value), l1=GRID, l2_squared=GRID**2, relation="replace-one", grid=grid
        )
        pair.append(mechanism.release(sealed, source()).values)
    assert most_certified(pair, delta) <= CLAIM
    for values in pair:  # every one is a whole number of public units, whatever the table
        assert (values * GRID == np.rint(values * GRID)).all()


def test_effects_lie_on_one_public_grid_whatever_the_table() -> None:
    """Bounds whose width is no power of two: the doubles still are those of the public grid."""
    column = Column("y", "double", bounds=(-0.3, 1.0), missing=())
    schema = Schema((column, Column("t", "byte", levels=(0.0, 1.0), missing=())))
    t = np.tile([0.0, 1.0], 10)
    unit = Fraction(Clipped(column).step) * Fraction(1, 10)
    for y in (np.full(20, -0.3), np.full(20, 1.0), np.where(t == 1, 1.0, -0.3), 0.1 * t + 1 / 3):
        model = PrivateATE(pd.DataFrame({"y": y, "t": t}), schema, outcome="y", treatment="t")
        for _ in range(20):
            effect = float(model.fit(epsilon=2).params["t"])
            steps = round(Fraction(effect) / unit)
            assert effect == float(steps * unit)
