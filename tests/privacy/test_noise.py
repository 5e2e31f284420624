"""Sources of noise: which one is given, what it accepts, what it returns (laws: statistical/)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from randomgen import ChaCha

from dprct.errors import ParameterError
from dprct.privacy import source
from dprct.privacy.noise import Secure, Simulated, Tail, _laplace, laplace_loss, unsaturated

SOURCES = [Secure(), Simulated(np.random.default_rng(3))]


@pytest.mark.parametrize("rng", [0, 7, np.int64(7), np.random.default_rng(1), np.random.PCG64(2)])
def test_any_seed_makes_a_simulation(rng):
    assert source(rng).simulation


def test_no_seed_makes_exact_draws():
    assert source() == Secure()
    assert not source().simulation


@pytest.mark.parametrize("rng", ["seed", -1, 1.5, object()])
def test_what_is_no_seed_is_refused(rng):
    with pytest.raises(ParameterError, match="integer seed"):
        source(rng)


def test_a_seed_repeats_itself():
    draws = [source(11).discrete_gaussian(3.0, 50).tolist() for _ in range(2)]
    assert draws[0] == draws[1]


def test_post_processing_runs_on_chacha_and_never_repeats():
    first, second = (source().post_processing_rng() for _ in range(2))
    assert isinstance(first.bit_generator, ChaCha)
    assert first.random() != second.random()


def test_a_simulation_post_processes_with_the_callers_generator():
    rng = np.random.default_rng(4)
    assert source(rng).post_processing_rng() is rng


@pytest.mark.parametrize("noise", SOURCES, ids=["secure", "simulated"])
@pytest.mark.parametrize("size", [0, 1, 5])
def test_draws_are_integers_of_the_size_asked_for(noise, size):
    for draw in (noise.discrete_laplace, noise.discrete_gaussian, noise.geometric):
        values = draw(2.5, size)
        assert values.shape == (size,)
        assert values.dtype == np.int64


@pytest.mark.parametrize("noise", SOURCES, ids=["secure", "simulated"])
@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), float("inf"), 2.0**54, 2.0**-41])
def test_scales_that_no_sampler_carries_are_refused(noise, scale):
    for draw in (noise.discrete_laplace, noise.discrete_gaussian, noise.geometric):
        with pytest.raises(ParameterError, match="noise scale"):
            draw(scale, 1)


@pytest.mark.parametrize("noise", SOURCES, ids=["secure", "simulated"])
def test_geometric_starts_at_one_even_where_noise_is_nearly_always_zero(noise):
    assert noise.geometric(0.01, 100).tolist() == [1] * 100


@pytest.mark.parametrize("noise", SOURCES, ids=["secure", "simulated"])
@pytest.mark.parametrize("bound", [1, 2, 10**6, 2**63, 10**30, 2**256 - 189])
def test_uniform_integers_stay_below_their_bound(noise, bound):
    draws = [noise.uniform_below(bound) for _ in range(200)]
    assert min(draws) >= 0
    assert max(draws) < bound
    # 200 draws all in the lower nine tenths: 7e-10
    assert bound < 10 or max(draws) > bound * Fraction(9, 10)


@pytest.mark.parametrize("noise", SOURCES, ids=["secure", "simulated"])
def test_nothing_lies_below_zero(noise):
    with pytest.raises(ValueError):  # noqa: PT011 - the standard library's own refusal
        noise.uniform_below(0)


@pytest.mark.parametrize("noise", SOURCES, ids=["secure", "simulated"])
def test_binomial_of_nothing_is_nothing(noise):
    assert noise.binomial(0, Tail(Fraction(1), 1)) == 0


def test_a_simulated_binomial_reaches_beyond_int64():
    noise = Simulated(np.random.default_rng(0))
    tail = Tail(Fraction(1, 2), 270)
    assert 0 < noise.binomial(10**60, tail) < 100


def test_draws_within_int64_are_left_alone():
    draws = np.array([-3, 0, 4])
    assert unsaturated(draws, lambda m: pytest.fail("no tail is needed")) is draws


def test_draws_at_the_ends_of_int64_are_continued():
    ends = np.iinfo(np.int64)
    draws = np.array([ends.max, 5, ends.min])
    continued = unsaturated(draws, lambda m: np.full(m, 4))
    assert continued.tolist() == [ends.max + 3, 5, ends.min - 3]


def test_the_loss_is_what_opendp_certifies():
    rng = np.random.default_rng(5)
    for sensitivity, power in zip(
        rng.integers(1, 1 << 53, 300), rng.uniform(-39, 52, 300), strict=True
    ):
        for scale in (2.0**power, float(sensitivity) / 0.7):
            scale, found = min(scale, 2.0**53), int(sensitivity)
            assert laplace_loss(scale, found) == Fraction(_laplace(scale).map(found))


def test_a_loss_is_not_below_the_exact_one():
    scale = 2 / 0.7
    assert laplace_loss(scale, 2) >= 2 / Fraction(scale)
    assert laplace_loss(scale, 2) > Fraction(7, 10)  # why scales are raised by ulps
