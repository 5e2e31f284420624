"""The exact binomial: every certain answer is right, and the uncertain ones are refined."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest

from dprct.errors import ParameterError
from dprct.privacy import noise
from dprct.privacy.noise import Tail, exact_binomial

TAILS = [Tail(Fraction(1, 2), 1), Tail(Fraction(7, 3), 2), Tail(Fraction(1, 100), 300)]


def reference_cdf(trials: int, tail: Tail, upto: int) -> list[mpmath.mpf]:
    """Return F(0), ..., F(upto) from binomial coefficients, at 80 digits."""
    with mpmath.workdps(80):
        alpha = mpmath.exp(-mpmath.mpf(tail.exponent.numerator) / tail.exponent.denominator)
        p = alpha**tail.threshold / (1 + alpha)
        terms = [
            mpmath.mpf(math.comb(trials, k)) * p**k * (1 - p) ** (trials - k)
            for k in range(upto + 1)
        ]
        return [mpmath.fsum(terms[: k + 1]) for k in range(upto + 1)]


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("trials", [1, 7, 60])
def test_every_certain_answer_inverts_the_distribution_function(tail, trials):
    bits = 10
    cdf = [0, *reference_cdf(trials, tail, trials)]
    enclosure = noise._distribution(trials, tail, bits)
    certain = 0
    for u in range(2**bits):
        k = enclosure.locate(u, bits)
        if k is None:
            assert any(u < 2**bits * f < u + 1 for f in cdf)
        else:
            assert cdf[k] * 2**bits <= u + 1e-60
            assert u + 1 <= cdf[k + 1] * 2**bits + 1e-60
            certain += 1
    assert certain >= 2**bits - trials - 1


def test_enclosure_is_narrow_and_contains_the_truth():
    tail = TAILS[0]
    enclosure = noise._distribution(100, tail, 128)
    with mpmath.workdps(80):
        for low, high, truth in zip(
            enclosure.lower, enclosure.upper, reference_cdf(100, tail, 100), strict=False
        ):
            scaled = truth * mpmath.mpf(2) ** enclosure.width
            slack = mpmath.mpf(2) ** (enclosure.width - 250)  # the reference has 80 digits
            assert low - slack <= scaled <= high + slack
            assert high - low <= 2 ** (enclosure.width - 128)


def test_an_uncertain_draw_keeps_its_bits_and_draws_more():
    tail = Tail(Fraction(1, 2), 1)
    asked = []

    def scripted(bound: int) -> int:
        asked.append(bound)
        return bound // 2

    # Each new chunk of bits is 100..0, so U = 0.1 1 10 1000 10000000 ... in binary.
    k = noise._invert(3, tail, scripted, bits=1)
    assert asked[:2] == [2, 2]
    cdf = reference_cdf(3, tail, 3)
    u = sum(Fraction(1, 2) ** i for i in (1, 2, 3, 5, 9, 17, 33, 65))
    assert k == next(i for i, f in enumerate(cdf) if f > mpmath.mpf(u.numerator) / u.denominator)


def test_blocks_add_up(monkeypatch):
    tail = Tail(Fraction(1, 2), 4)
    block = noise._block_size(tail)
    sizes = []
    monkeypatch.setattr(noise, "_invert", lambda n, *_: sizes.append(n) or 1)
    assert exact_binomial(3 * block + 5, tail, lambda m: 0) == 4
    assert sizes == [block, block, block, 5]


@pytest.mark.parametrize("tail", TAILS)
def test_a_block_has_a_mean_of_256_at_most(tail):
    assert 0.4 * 256 <= noise._block_size(tail) * tail.probability <= 256.0001


def test_all_or_nothing():
    lowest, highest = (lambda m: 0), (lambda m: m - 1)
    tail = Tail(Fraction(1, 2), 3)
    assert exact_binomial(0, tail, highest) == 0
    assert exact_binomial(40, tail, lowest) == 0
    assert exact_binomial(2, tail, lowest) == 0


def test_a_hopeless_tail_on_a_huge_domain_draws_nothing():
    tail = Tail(Fraction(5000), 3)
    assert tail.probability == 0.0
    assert exact_binomial(10**60, tail, lambda m: m // 3) == 0


@pytest.mark.parametrize(("exponent", "threshold"), [(0, 1), (-1, 1), (1, 0)])
def test_a_tail_that_is_none_is_refused(exponent, threshold):
    with pytest.raises(ParameterError, match="threshold >= 1"):
        Tail(Fraction(exponent), threshold)


def test_negative_trials_are_refused():
    with pytest.raises(ParameterError, match="trials=-1"):
        exact_binomial(-1, TAILS[0], lambda m: 0)


def test_a_tail_beyond_reason_needs_no_memory():
    assert exact_binomial(10**18, Tail(Fraction(10**12), 1), lambda bound: bound // 2) == 0
