"""The noise has the law that its docstring states; 10 % less noise is caught.

False alarms: 1e-9 per test.  Power: the tests named ``..._too_small_...`` show that the same
number of draws rejects a scale that is 10 % off.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dprct.privacy.aggregates import IntegerTable, IntegerVector, distinct_empty_cells
from dprct.privacy.budget import Budget
from dprct.privacy.mechanisms import (
    AnalyticGaussian,
    CubeNoise,
    DiscreteGaussian,
    DiscreteLaplace,
)
from dprct.privacy.noise import Secure, Simulated, Tail, _invert, in_cubes, unsaturated

SEED = 20_250_101
DRAWS = 40_000


@pytest.fixture(params=["secure", "simulated"])
def noise(request):
    return Secure() if request.param == "secure" else Simulated(np.random.default_rng(SEED))


def gaussian_law(scale: float) -> dict[int, float]:
    k = np.arange(-int(12 * scale) - 2, int(12 * scale) + 3)
    weights = np.exp(-((k / scale) ** 2) / 2)
    return dict(zip(k.tolist(), (weights / weights.sum()).tolist(), strict=True))


def geometric_law(scale: float) -> dict[int, float]:
    alpha = math.exp(-1 / scale)
    return {k: (1 - alpha) * alpha ** (k - 1) for k in range(1, int(40 * scale) + 3)}


@pytest.mark.parametrize("scale", [0.4, 2.0, 20.0])
def test_discrete_laplace(noise, scale, fits, discrete_laplace_law):
    assert fits(noise.discrete_laplace(scale, DRAWS).tolist(), discrete_laplace_law(scale))


@pytest.mark.parametrize("scale", [2.0, 20.0])
def test_discrete_laplace_too_small_is_caught(scale, fits, discrete_laplace_law):
    rng = Simulated(np.random.default_rng(SEED))
    draws = rng.discrete_laplace(0.9 * scale, DRAWS).tolist()
    assert not fits(draws, discrete_laplace_law(scale))


CUBES = 6_000


def cube_law(scale: float, size: int) -> dict[tuple[int, ...], float]:
    """P(x) of every point as it stands in the definition, for points of up to 25 scales."""
    far = math.ceil(25 * scale)
    shells = np.arange(far + 1)
    points = (2.0 * shells + 1) ** size - np.where(shells > 0, (2.0 * shells - 1) ** size, 0)
    total = float((points * np.exp(-shells / scale)).sum())
    inside = itertools.product(range(-far, far + 1), repeat=size)
    return {x: math.exp(-max(map(abs, x)) / scale) / total for x in inside}


@pytest.mark.parametrize("scale", [0.4, 1.0])
@pytest.mark.parametrize("size", [1, 2])
def test_noise_in_cubes(noise, scale, size, fits):
    draws = noise.cubes(scale, size, CUBES)
    assert draws.shape == (CUBES, size)
    assert fits(map(tuple, draws.tolist()), cube_law(scale, size))


@pytest.mark.parametrize("size", [3, 8, 20])
def test_the_largest_coordinate_of_a_cube(size, fits):
    scale = 5.0  # far smaller ones are drawn by rejecting nearly all
    m = np.arange(60 * size)
    shells = (2.0 * m + 1) ** size - np.where(m > 0, np.abs(2.0 * m - 1) ** size, 0)
    law = shells * np.exp(-m / scale)
    law = dict(zip(m.tolist(), (law / law.sum()).tolist(), strict=True))
    rng = Simulated(np.random.default_rng(SEED))
    assert fits(np.abs(in_cubes(scale, size, CUBES, rng)).max(axis=1).tolist(), law)
    # the weights (2t + 1)^J are not those of shells, and a tenth less noise is not this noise
    wrong = np.abs(in_cubes(0.9 * scale, size, CUBES, rng)).max(axis=1).tolist()
    assert not fits(wrong, law)


def test_a_coordinate_of_a_cube_has_the_stated_spread():
    for size in (1, 2, 8):
        mechanism = CubeNoise(Fraction(1, 50), reach=4, size=size)
        draws = Simulated(np.random.default_rng(SEED)).cubes(mechanism.scale, size, CUBES)
        spread = float(draws[:, 0].astype(float).std())
        assert spread == pytest.approx(mechanism.noise_sd, rel=0.1)
        assert mechanism.noise_sd == pytest.approx(
            mechanism.scale * math.sqrt((size + 1) * (size + 2) / 3), rel=1e-3
        )
    assert CubeNoise(1, 3, 1).noise_sd == pytest.approx(DiscreteLaplace(1, 3).noise_sd, rel=1e-12)
    near, far = CubeNoise(Fraction(1, 2000), 1, 5), CubeNoise(Fraction(1, 2001), 1, 5)
    assert far.noise_sd / near.noise_sd == pytest.approx(2001 / 2000, rel=1e-7)


@pytest.mark.parametrize("scale", [0.7, 3.0, 25.0])
def test_discrete_gaussian(noise, scale, fits):
    assert fits(noise.discrete_gaussian(scale, DRAWS).tolist(), gaussian_law(scale))


@pytest.mark.parametrize("scale", [0.7, 3.0, 25.0])
def test_discrete_gaussian_too_small_is_caught(scale, fits):
    rng = Simulated(np.random.default_rng(SEED))
    assert not fits(rng.discrete_gaussian(0.9 * scale, DRAWS).tolist(), gaussian_law(scale))


@pytest.mark.parametrize("scale", [0.15, 0.4, 1.0, 6.0])
def test_geometric_is_the_conditioned_tail(noise, scale, fits):
    assert fits(noise.geometric(scale, DRAWS).tolist(), geometric_law(scale))


@pytest.mark.parametrize("scale", [0.4, 6.0])
def test_geometric_too_small_is_caught(scale, fits):
    rng = Simulated(np.random.default_rng(SEED))
    assert not fits(rng.geometric(0.9 * scale, DRAWS).tolist(), geometric_law(scale))


def test_draws_that_were_cut_off_are_continued_with_their_own_law(fits, discrete_laplace_law):
    noise = Simulated(np.random.default_rng(SEED))
    cut = np.clip(noise.discrete_laplace(3.0, DRAWS), -4, 2)
    whole = unsaturated(cut, lambda m: noise.geometric(3.0, m), low=-4, high=2)
    assert fits([int(z) for z in whole], discrete_laplace_law(3.0))
    assert not fits(cut.tolist(), discrete_laplace_law(3.0))


@pytest.mark.parametrize("bound", [7, 3 * 2**63])
def test_uniform_integers(noise, bound, fits):
    thirds = [noise.uniform_below(bound) * 7 // bound for _ in range(14_000)]
    assert fits(thirds, dict.fromkeys(range(7), 1 / 7))


def binomial_law(trials: int, tail: Tail) -> dict[int, float]:
    p = tail.probability
    mean, spread = trials * p, math.sqrt(trials * p) + 1
    k = np.arange(max(0, int(mean - 12 * spread)), int(mean + 12 * spread) + 1)
    mass = stats.binom.pmf(k, trials, p)
    return dict(zip(k.tolist(), mass.tolist(), strict=True))


def grouped(law: dict[int, float], groups: int) -> tuple[list[int], dict[int, float]]:
    """Cut the support into groups of about equal probability; return the edges and the law."""
    k = np.array(sorted(law))
    below = np.cumsum([law[i] for i in k])
    edges = sorted({int(k[np.searchsorted(below, q)]) for q in np.arange(1, groups) / groups})
    label = np.searchsorted(edges, k, side="left")
    mass = np.bincount(label, [law[i] for i in k])
    return edges, dict(enumerate(mass.tolist()))


@pytest.mark.parametrize(
    ("mean", "draws"), [(0.01, 20_000), (2.0, 20_000), (50.0, 20_000), (1e4, 5_000), (1e6, 200)]
)
def test_exact_binomial_from_tiny_to_large_means(mean, draws, fits):
    tail = Tail(Fraction(1, 2), 30)
    trials = round(mean / tail.probability)
    edges, law = grouped(binomial_law(trials, tail), min(20, draws // 30))
    noise = Secure()
    labels = [int(np.searchsorted(edges, noise.binomial(trials, tail))) for _ in range(draws)]
    assert fits(labels, law)
    fewer = np.random.default_rng(SEED).binomial(trials, 0.9 * tail.probability, draws)
    if mean >= 1:
        assert not fits(np.searchsorted(edges, fewer).tolist(), law)


def test_exact_binomial_that_must_refine_its_first_bit(fits):
    tail = Tail(Fraction(1, 2), 2)
    below = Secure().uniform_below
    draws = [_invert(5, tail, below, bits=1) for _ in range(3000)]
    assert fits(draws, binomial_law(5, tail))


def test_distinct_empty_cells_are_uniform_over_ordered_pairs(noise, fits):
    pairs = [(a, b) for a in (1, 2, 4, 5, 7) for b in (1, 2, 4, 5, 7) if a != b]
    law = dict.fromkeys(pairs, 1 / 20)
    listed = [tuple(distinct_empty_cells(8, 2, [0, 3, 6], noise)) for _ in range(10_000)]
    assert fits(listed, law)
    occupied = set(range(40)) - {9, 17, 30}
    sparse = [
        tuple(distinct_empty_cells(90, 1, list(occupied), noise)) for _ in range(10_000)
    ]  # 37 occupied of 90: by rejection
    empty = sorted(set(range(90)) - occupied)
    assert fits(sparse, dict.fromkeys([(i,) for i in empty], 1 / len(empty)))


SUMS = IntegerVector([7] * DRAWS, l1=3, l2_squared=4, l_inf=2, relation="replace-one")


def test_laplace_mechanism_centres_the_stated_law_on_the_aggregate(fits, discrete_laplace_law):
    mechanism = DiscreteLaplace(0.9, l1=3)
    released = mechanism.release(SUMS, Secure())
    assert fits((released.units - 7).tolist(), discrete_laplace_law(3 / 0.9))
    assert released.units.std() == pytest.approx(mechanism.noise_sd, rel=7 / math.sqrt(DRAWS) * 1.2)


def test_cubes_centre_the_stated_law_on_the_aggregate(fits):
    rows = [IntegerVector([7] * CUBES, l1=3, relation="replace-one", grid=g) for g in (1, 5)]
    mechanism = CubeNoise(2, reach=3, size=2)
    one, other = mechanism.release(IntegerTable(rows, reach=3), Secure())
    draws = zip((one.units - 7).tolist(), (other.units - 7).tolist(), strict=True)
    assert fits(draws, cube_law(1.5, 2))
    assert (other.values == 5 * other.units).all()
    assert other.noise_sd == 5 * one.noise_sd


def test_gaussian_mechanisms_have_the_stated_law(fits):
    concentrated = DiscreteGaussian(Budget(1, 1e-5), l2_squared=4)
    released = concentrated.release(SUMS, Secure())
    assert fits((released.units - 7).tolist(), gaussian_law(concentrated.scale))
    analytic = AnalyticGaussian(Budget(1, 1e-5), l2_squared=4, size=DRAWS)
    sigma = analytic.noise.sigma
    k = np.arange(-int(12 * sigma), int(12 * sigma))
    rounded = stats.norm.cdf(k + 0.5, scale=sigma) - stats.norm.cdf(k - 0.5, scale=sigma)
    tally = Counter((analytic.release(SUMS, Secure()).units - 7).tolist())
    assert fits(tally.elements(), dict(zip(k.tolist(), rounded.tolist(), strict=True)))
