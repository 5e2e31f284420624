"""The law of an effect with its noise, and the correction of a noisy variance."""

from __future__ import annotations

import itertools

import mpmath
import numpy as np
import pytest
from scipy import integrate, stats

from dprct.errors import ParameterError
from dprct.estimate import noise_law
from dprct.estimate.noise_law import (
    _ratios,
    _shortfall,
    cdf,
    correction,
    correction_bounds,
    coverage,
    density,
    quantile,
    quantile_of_sum,
    tail,
    tail_of_sum,
    widening,
)


def worst_coverage(rho: float, c: float, alpha: float, size: int = 1) -> float:
    """The smallest coverage of the interval over all V / b^2."""
    return 1 - alpha - _shortfall(c, rho, alpha, _ratios(rho), size)


SCALES = [
    (1.0, 0.7, 0.4),
    (1.0, 1.0001, 0.9999, 1.00005),
    (1.0, 0.01, 0.011, 3.0),
    tuple(1 + k * 1e-7 for k in range(8)),
]


def by_partial_fractions(x: float, variance: float, scales: tuple[float, ...]) -> float:
    """The tail of distinct scales; digits enough for whatever cancels."""
    with mpmath.workdps(150):
        at, s = mpmath.mpf(x), mpmath.sqrt(mpmath.mpf(variance))
        total = mpmath.mpf(0)
        for j, b in enumerate(map(mpmath.mpf, scales)):
            weight = mpmath.mpf(1)
            for c in (mpmath.mpf(c) for i, c in enumerate(scales) if i != j):
                weight *= b * b / (b * b - c * c)
            if variance == 0:
                total += weight * mpmath.exp(-at / b) / 2
                continue
            t, z = s / b, at / s
            near = mpmath.exp(t * t / 2 - at / b) * mpmath.ncdf(z - t)
            far = mpmath.exp(t * t / 2 + at / b) * mpmath.ncdf(-z - t)
            total += weight * (mpmath.ncdf(-z) + (near - far) / 2)
        return float(total)


@pytest.mark.parametrize("variance", [0.0, 1e-6, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("scales", SCALES)
def test_distinct_scales_are_partial_fractions(variance: float, scales: tuple[float, ...]) -> None:
    sd = np.sqrt(variance + 2 * sum(b * b for b in scales))
    for z in (0.0, 0.1, 1.0, 3.0, 8.0, 20.0):
        exact = by_partial_fractions(z * sd, variance, scales)
        if exact > 1e-200:
            assert tail_of_sum(z * sd, variance, scales) == pytest.approx(exact, rel=1e-10)


@pytest.mark.parametrize("m", [3, 4, 8, 16])
@pytest.mark.parametrize("x", [0.5, 4.0, 30.0, 60.0])
def test_equal_scales_are_a_difference_of_gammas(m: int, x: float) -> None:
    exact, _ = integrate.quad(
        lambda g: stats.gamma.pdf(g, m) * stats.gamma.sf(g + x, m), 0, 80, epsabs=0, epsrel=1e-11
    )
    assert tail_of_sum(x, 0.0, (1.0,) * m) == pytest.approx(exact, rel=1e-8)


def test_one_more_laplace_is_a_convolution() -> None:
    def inner(u: float) -> float:
        return np.exp(-abs(u)) / 2 * float(cdf(2.0 - u, 1.5, (1.0, 1.7)))

    whole, _ = integrate.quad(inner, -40, 40, points=[0.0, 2.0], limit=300, epsabs=1e-11)
    assert cdf(2.0, 1.5, (1.0, 1.7, 1.0)) == pytest.approx(whole, abs=1e-8)


@pytest.mark.parametrize("variance", [0.0, 0.3, 50.0, 1e8])
@pytest.mark.parametrize("alpha", [0.9, 0.05, 1e-10])
def test_the_quantile_inverts_the_law_of_several(variance: float, alpha: float) -> None:
    for scales in ((1.0,) * 4, (0.2, 1.0, 3.0), (1.0,) * 16):
        q = quantile(alpha, variance, scales)
        assert 2 * cdf(-q, variance, scales) == pytest.approx(alpha, rel=1e-9)


def test_many_at_once_and_in_any_order_and_unit() -> None:
    found = quantile_of_sum(0.05, np.array([0.0, 1.0, 4.0]), (1.0, 1.0, 2.0))
    assert found.shape == (3,)
    assert (np.diff(found) > 0).all()
    for scales in itertools.permutations((1.0, 1.0, 2.0)):
        assert quantile_of_sum(0.05, 4.0, scales) == pytest.approx(found[2])
    huge = tuple(b * 1e150 for b in (1.0, 1.0, 2.0))
    assert quantile_of_sum(0.05, 4e300, huge) == pytest.approx(found[2] * 1e150)


def test_simulated_draws_follow_it() -> None:
    rng = np.random.default_rng(3)
    n, scales = 400_000, (0.5, 0.5, 0.5, 1.0)
    draws = rng.normal(0, 0.8, n) + sum(rng.laplace(0, b, n) for b in scales)
    q = quantile(0.05, 0.64, scales)
    count = int((np.abs(draws) > q).sum())
    low, high = stats.binom.ppf([5e-10, 1 - 5e-10], n, 0.05)
    assert low <= count <= high
    # noise a tenth off would be noticed
    assert not low <= int((np.abs(1.1 * draws) > q).sum()) <= high


@pytest.mark.parametrize("size", [2, 3, 8, 20, 128, 300])
@pytest.mark.parametrize("variance", [0.01, 1.0, 50.0])
def test_noise_in_cubes_is_a_mixture_of_gammas(size: int, variance: float) -> None:
    def inner(u: float) -> float:  # plus or minus a gamma variate of 1 to J degrees
        of = stats.gamma.pdf(abs(u), np.arange(1, size + 1)).mean() / 2
        return float(of * stats.norm.sf((x - u) / np.sqrt(variance)))

    for x in (0.5, 3.0, 12.0):
        far = 60.0 + 2 * size
        ends = sorted((-far, 0.0, x, far + x))
        exact = sum(
            integrate.quad(inner, low, high, epsabs=1e-12, limit=400)[0]
            for low, high in itertools.pairwise(ends)
        )
        assert tail_of_sum(x, variance, (1.0,), size) == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize(("size", "draws"), [(48, 6), (48, 20), (8, 12)])
def test_many_draws_of_noise_in_cubes_follow_it(size: int, draws: int) -> None:
    rng, scales = np.random.default_rng(5), tuple(1 + 0.05 * k for k in range(draws))
    noise = sum(b * rng.gamma(size + 1, size=100_000) * rng.uniform(-1, 1, 100_000) for b in scales)
    for alpha in (0.5, 0.05):
        q = float(quantile_of_sum(alpha, 0.0, scales, size))
        assert (np.abs(noise) > q).mean() == pytest.approx(alpha, abs=0.006)


def test_noise_in_cubes_of_one_is_laplace_noise() -> None:
    for alpha in (0.5, 0.05, 1e-8):
        of_one = quantile_of_sum(alpha, 0.7, (1.3,), 1)
        assert of_one == pytest.approx(quantile(alpha, 0.7, (1.3,)), rel=1e-9)


@pytest.mark.parametrize("size", [2, 8])
@pytest.mark.parametrize("rho", [0.05, 1.6, 12.8, 3000.0])
def test_the_correction_of_cubes_reaches_the_level_and_no_less_does(size: int, rho: float) -> None:
    for alpha in (0.05, 0.01):
        c = correction(rho, alpha, size)
        assert 1 - alpha - 1e-6 <= worst_coverage(rho, c, alpha, size) <= 1 - alpha + 1e-4
        assert worst_coverage(rho, 0.8 * c, alpha, size) < 1 - alpha


@pytest.mark.parametrize("size", [2, 8])
def test_simulated_intervals_of_cubes_have_the_coverage_that_is_computed(size: int) -> None:
    rng, n, rho = np.random.default_rng(7), 400_000, 12.8
    effect, variance = (
        rng.gamma(size + 1, 1, n) * rng.uniform(-1, 1, n) for _ in range(2)
    )  # one coordinate each
    c = correction(rho, 0.05, size)
    for ratio, used in ((0.1, c), (4.0, c), (40.0, c), (4.0, 0.5 * c)):
        error = np.sqrt(ratio) * rng.standard_normal(n) + effect
        raised = np.maximum(0, ratio + rho * variance + used * rho)
        inside = np.abs(error) <= np.interp(raised, GRID_V, quantile(0.05, GRID_V, (1.0,), size))
        exact = float(coverage(np.array([ratio]), rho, used, 0.05, size)[0])
        low, high = stats.binom.ppf([5e-10, 1 - 5e-10], n, exact)
        assert low - 20 <= inside.sum() <= high + 20  # 20: interpolated quantiles


GRID_V = np.concatenate([[0.0], np.geomspace(1e-4, 1e4, 4000)])
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


@pytest.mark.parametrize("scales", [(1.0,), (1.0, 0.3), (2.0, 2.0)])
@pytest.mark.parametrize("alpha", [0.9, 0.05, 1e-12])
def test_quantiles_are_made_for_many_at_once_or_for_one(
    alpha: float, scales: tuple[float, ...]
) -> None:
    variances = np.array([0.0, 1e-9, 1e-4, 0.3, 1.0, 4.0, 500.0, 1e7])
    found = quantile(alpha, variances, scales)
    ones = [float(quantile(alpha, v, scales)) for v in variances]
    assert found == pytest.approx(ones, rel=1e-12)


def test_quantiles_refuse_what_is_no_level() -> None:
    found = quantile(0.05, np.array([0.0, 1.0, 4.0]), (1.0,))
    assert (np.diff(found) > 0).all()
    with pytest.raises(ParameterError, match="alpha"):
        quantile(1.0, 0.0, (1.0,))


TABLES = {
    0.05: "0.1:.06 .25:.13 .5:.22 1:.37 1.6:.49 2:.54 4:.73 8:.93 16:1.13 32:1.33 64:1.51",
    0.01: ".25:.13 .5:.17 1:.46 1.6:.62 2:.72 4:1.10 8:1.53 16:1.97 32:2.37 64:2.69",
}
CELLS = [
    (alpha, *map(float, cell.split(":"))) for alpha, row in TABLES.items() for cell in row.split()
]
Z_NINE = 6.11  # two-sided false alarms of 1e-9


@pytest.mark.parametrize(("alpha", "rho", "tabulated"), CELLS)
def test_the_tabulated_values_are_reached_within_their_tolerance(
    alpha: float, rho: float, tabulated: float
) -> None:
    # they allow 2e-4 of coverage and are rounded to .01, which is worth up to 3e-4 more
    assert worst_coverage(rho, tabulated, alpha) == pytest.approx(1 - alpha, abs=5e-4)
    exact = correction(rho, alpha)
    assert worst_coverage(rho, exact, alpha) >= 1 - alpha - 1e-9
    assert worst_coverage(rho, max(exact - 0.01, 0.0), alpha) < 1 - alpha - 1e-6
    assert exact > tabulated - 0.0075


@pytest.mark.long
@pytest.mark.parametrize("alpha", [0.5, 0.1, 0.05, 1e-4])
@pytest.mark.parametrize("rho", [0.01, 3.0, 1e4])
def test_no_ratio_of_a_fine_grid_has_less_coverage(rho: float, alpha: float) -> None:
    c = correction(rho, alpha)
    grid = np.concatenate([[0.0], np.geomspace(1e-6, 3000 * max(rho, 1.0), 700)])
    found = coverage(grid, rho, c, alpha)
    assert found.min() >= 1 - alpha - 1e-6
    assert found.min() <= 1 - alpha + 2e-3 * alpha


@pytest.mark.long
@pytest.mark.parametrize(("ratio", "rho", "c"), [(0.2, 1.6, 0.49), (20.0, 32.0, 0.4)])
def test_the_coverage_is_that_of_simulated_intervals(ratio: float, rho: float, c: float) -> None:
    draws = 200_000
    rng = np.random.default_rng(11)
    error = rng.normal(0, np.sqrt(ratio), draws) + rng.laplace(0, 1, draws)
    noisy = np.maximum(ratio + rng.laplace(0, rho, draws) + c * rho, 0)
    share = float(np.mean(np.abs(error) <= quantile(0.05, noisy, (1.0,))))
    expected = float(coverage(np.array([ratio]), rho, c)[0])
    # power: half a percentage point is 10 standard errors
    assert abs(share - expected) < Z_NINE * np.sqrt(expected * (1 - expected) / draws)


@pytest.mark.parametrize("rho", [0.01, *np.geomspace(0.011, 9e3, 23), 34.9, 37.7, 40.2, 1e4])
def test_the_polynomial_is_above_the_correction_by_next_to_nothing(rho: float) -> None:
    searched = noise_law._searched(rho, 0.05, 1)
    assert searched < correction(rho, 0.05) < searched + 1e-4
    assert correction(rho, 0.05) == correction_bounds(rho, 0.05)[0]
    assert correction(rho, 1 - 0.95) == correction(rho, 0.05)
    assert correction(rho, 0.051) == noise_law._searched(rho, 0.051, 1)


def test_what_is_outside_its_range_is_refused() -> None:
    with pytest.raises(ParameterError, match="rho"):
        correction(2e4)
    with pytest.raises(ParameterError, match="alpha"):
        correction(1.0, 1.0)
