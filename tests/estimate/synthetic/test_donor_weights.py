from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from dprct.estimate.synthetic.donor_weights import shrunk, simplex_projection, uniform, usable

VECTORS = arrays(np.float64, st.integers(1, 8), elements=st.floats(-50, 50))


@given(VECTORS)
def test_the_projection_is_on_the_simplex_and_closest(v) -> None:
    g = simplex_projection(v)
    assert g.sum() == pytest.approx(1)
    assert (g >= 0).all()
    # the closest point makes no acute angle with any corner
    for corner in np.eye(len(v)):
        assert (v - g) @ (corner - g) <= 1e-9 * (1 + np.abs(v).max())


def test_the_projection_agrees_with_an_optimiser() -> None:
    v = np.array([0.7, -0.1, 0.9, 0.2])
    found = minimize(
        lambda g: ((g - v) ** 2).sum(),
        uniform(4),
        bounds=[(0, 1)] * 4,
        constraints={"type": "eq", "fun": lambda g: g.sum() - 1},
        tol=1e-14,
    )
    assert simplex_projection(v) == pytest.approx(found.x, abs=1e-6)


def test_shrinking_takes_off_what_noise_adds() -> None:
    f = uniform(4) + np.array([0.3, -0.3, 0.3, -0.3])
    assert shrunk(f, 0.0) == pytest.approx(f)
    assert shrunk(f, 0.3) == pytest.approx(uniform(4))  # n sd^2 = ||f - f0||^2
    half = shrunk(f, 0.3 / np.sqrt(2))
    assert half - uniform(4) == pytest.approx((f - uniform(4)) / 2)


@given(VECTORS, st.floats(0, 10))
def test_any_released_weights_become_usable(v, sd) -> None:
    g = usable(v, sd)
    assert g.sum() == pytest.approx(1)
    assert (g >= 0).all()


def test_equal_weights_stay_equal() -> None:
    assert usable(uniform(5), 0.1).tolist() == uniform(5).tolist()
