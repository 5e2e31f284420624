"""Roots of functions of one number, and cubic pieces, against SciPy's."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline
from scipy.optimize import brentq

from dprct.estimate.noise_law import _through
from dprct.estimate.roots import root


@pytest.mark.parametrize("tolerance", [2e-12, 1e-7, 0.01])
@pytest.mark.parametrize(
    "of",
    [
        lambda x: x**3 - 2 * x - 5,
        lambda x: math.tanh(30 * (x - 2.9)),
        lambda x: math.exp(-x) - 0.05,
        lambda x: round(x - math.e, 1),  # steps
        lambda x: math.copysign(abs(x - 0.1) ** 0.3, x - 0.1),
        lambda x: math.inf if x > 3 else x - 1,
    ],
)
def test_a_root_is_that_of_scipy_to_the_last_bit(of, tolerance):
    assert root(of, 0.0, 4.0, tolerance) == brentq(of, 0.0, 4.0, xtol=tolerance)


def test_ends_that_are_roots_and_ends_of_one_sign():
    assert root(lambda x: x, 0.0, 1.0) == 0.0
    assert root(lambda x: x - 1, 0.0, 1.0) == 1.0
    for of in (lambda x: x + 1, lambda _: math.nan):
        with pytest.raises(ValueError, match="same sign"):
            root(of, 0.0, 1.0)


def test_cubic_pieces_are_those_of_scipy_to_the_last_bit():
    x = np.cumsum(np.geomspace(0.1, 3, 40))
    y, slope = np.sqrt(x), 1 / np.sqrt(x)
    at = np.concatenate([x, np.linspace(x[0] - 1, x[-1] + 1, 999)])[:, None]
    expected = CubicHermiteSpline(x, y, slope)(at)
    np.testing.assert_array_equal(_through(x, y, slope)(at), expected)
