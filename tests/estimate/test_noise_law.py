"""The closed-form law against integrals of its parts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from dprct.errors import ParameterError
from dprct.estimate.noise_law import cdf, density, quantile, tail, widening

RATIOS = [1e-6, 0.1, 1.0, 3.0, 30.0, 1e5]


def by_integral(x: float, sd: float, scales: tuple[float, ...]) -> float:
    """P(N + L1 [+ L2] <= x) by adding the last Laplace under the integral."""

    def rest(at: float) -> float:
        return float(cdf(at, sd**2, scales[:-1]) if scales[1:] else stats.norm.cdf(at / sd))

    b = scales[-1]
    found = [
        integrate.quad(
            lambda u, sign=sign: np.exp(-u) / 2 * rest(x + sign * b * u),
            0,
            45,
            points=[abs(x) / b] if abs(x) / b < 45 else None,
            limit=400,
            epsabs=1e-12,
        )[0]
        for sign in (-1, 1)
    ]
    return float(sum(found))


@pytest.mark.parametrize("ratio", [0.1, 1.0, 3.0, 30.0])
@pytest.mark.parametrize("x", [-2.0, 0.0, 0.3, 2.0, 40.0])
def test_one_laplace_is_the_integral(ratio: float, x: float) -> None:
    assert cdf(x, ratio**2, (1.0,)) == pytest.approx(by_integral(x, ratio, (1.0,)), abs=1e-9)


@pytest.mark.parametrize("scales", [(1.0, 2.5), (1.0, 1.0), (1.0, 1.0005)])
@pytest.mark.parametrize("x", [0.5, 4.0])
def test_two_laplaces_are_the_integral(scales: tuple[float, float], x: float) -> None:
    assert cdf(x, 1.44, scales) == pytest.approx(by_integral(x, 1.2, scales), abs=1e-6)


@pytest.mark.parametrize("ratio", [0.0, *RATIOS])
@pytest.mark.parametrize("alpha", [0.5, 0.05, 1e-3, 1e-12])
@pytest.mark.parametrize("scales", [(1.0,), (1.0, 0.2), (3.0, 3.0)])
def test_the_quantile_inverts_the_law(
    ratio: float, alpha: float, scales: tuple[float, ...]
) -> None:
    q = quantile(alpha, ratio**2, scales)
    two_sided = 2 * cdf(-q, ratio**2, scales)
    assert two_sided == pytest.approx(alpha, rel=1e-7)


def test_without_noise_it_is_the_normal_and_without_sampling_the_laplace_law() -> None:
    assert quantile(0.05, 1.0, (1e-9,)) == pytest.approx(1.959963985, abs=1e-8)
    assert quantile(0.05, 0.0, (2.0,)) == pytest.approx(-2 * np.log(0.05))
    assert quantile(0.05, 1e-20, (2.0,)) == pytest.approx(-2 * np.log(0.05))


@pytest.mark.parametrize("ratio", RATIOS)
def test_density_and_widening_are_the_derivatives_of_the_tail(ratio: float) -> None:
    variance, x = ratio**2, 0.8 * ratio + 1.0
    h = 1e-5 * x
    slope = (tail(x - h, variance, 1.0) - tail(x + h, variance, 1.0)) / (2 * h)
    assert density(x, variance, 1.0) == pytest.approx(slope, rel=1e-6)
    k = 1e-4 * max(variance, 0.01)
    low, high = (quantile(0.05, variance + step, (1.0,)) for step in (0.0, k))
    middle = quantile(0.05, variance + k / 2, (1.0,))
    assert widening(middle, variance + k / 2, 1.0) == pytest.approx((high - low) / k, rel=1e-4)


def test_quantiles_are_made_for_many_at_once_and_refuse_what_is_no_level() -> None:
    found = quantile(0.05, np.array([0.0, 1.0, 4.0]), (1.0,))
    assert found.shape == (3,)
    assert (np.diff(found) > 0).all()
    with pytest.raises(ParameterError, match="alpha"):
        quantile(1.0, 0.0, (1.0,))
