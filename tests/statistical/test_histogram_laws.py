"""Histograms: their guarantee by enumeration, and their draws against the dense mechanism's law.

False alarms: 1e-9 per test.  Power: a joint law with noise 10 % too small is rejected by the same
number of draws.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from dprct.privacy.aggregates import CellCounts
from dprct.privacy.histograms import (
    OneWayHistograms,
    SparseHistogram,
    StabilityHistogram,
    draw_rows,
)
from dprct.privacy.noise import Secure, Simulated, source

DRAWS = 15_000


def upper_tail(m: int, alpha: float) -> float:
    """P(Z >= m) for discrete Laplace Z."""
    return alpha**m / (1 + alpha) if m >= 1 else 1 - alpha ** (1 - m) / (1 + alpha)


def cell_law(count: int, alpha: float, t: int, reach: int) -> dict[int | None, float]:
    """Law of what is released of one noisy cell: None below t; from ``reach`` up pooled."""
    base = (1 - alpha) / (1 + alpha)
    law: dict[int | None, float] = {v: base * alpha ** abs(v - count) for v in range(t, reach)}
    law[reach] = upper_tail(reach - count, alpha)
    law[None] = 1 - upper_tail(t - count, alpha)
    return law


def joint_law(laws: list[dict]) -> dict[tuple, float]:
    return {
        outcome: math.prod(law[v] for law, v in zip(laws, outcome, strict=True))
        for outcome in itertools.product(*laws)
    }


def sealed(counts: list[int], relation: str = "replace-one") -> CellCounts:
    cells = [[i] for i, count in enumerate(counts) if count]
    kept = [count for count in counts if count]
    return CellCounts(np.reshape(cells, (-1, 1)), kept, radices=[len(counts)], relation=relation)


def outcomes(mechanism, counts, reach, noise):
    """Draw joint outcomes in the form of ``joint_law``."""
    secret = sealed(counts, mechanism.relation)
    for _ in range(DRAWS):
        release = mechanism.release(secret, noise)
        cells = dict(zip(release.codes[:, 0].tolist(), release.counts.tolist(), strict=True))
        yield tuple(min(cells[i], reach) if i in cells else None for i in range(len(counts)))


@pytest.mark.parametrize(
    ("epsilon", "relation", "n", "t"),
    [(1, "replace-one", 200, 1), (0.5, "add-remove", 40, 4), (1, "replace-one", 20, 6)],
)
def test_sparse_release_has_the_joint_law_of_the_dense_mechanism(epsilon, relation, n, t, fits):
    counts = [6, 0, 3, 0]
    mechanism = SparseHistogram(epsilon, len(counts), n, relation)
    assert mechanism.threshold == t
    laws = [cell_law(c, math.exp(-0.5), t, t + 3) for c in counts]
    draws = list(outcomes(mechanism, counts, t + 3, Secure()))
    assert fits(draws, joint_law(laws))
    less = [cell_law(c, math.exp(-0.5 / 0.9), t, t + 3) for c in counts]
    assert not fits(draws, joint_law(less))


def test_simulated_release_has_the_same_law(fits):
    mechanism = SparseHistogram(1, 4, 30)
    t, counts = mechanism.threshold, [4, 0, 0, 1]
    laws = [cell_law(c, math.exp(-0.5), t, t + 3) for c in counts]
    noise = Simulated(np.random.default_rng(12))
    assert fits(outcomes(mechanism, counts, t + 3, noise), joint_law(laws))


def test_stability_release_adds_noise_to_occupied_cells_only(fits):
    mechanism = StabilityHistogram(1, 0.2, 3)
    t, counts = mechanism.threshold, [5, 0, 2]
    laws = [
        cell_law(5, math.exp(-0.5), t, t + 3),
        {None: 1.0},
        cell_law(2, math.exp(-0.5), t, t + 3),
    ]
    draws = list(outcomes(mechanism, counts, t + 3, Secure()))
    assert fits(draws, joint_law(laws))
    less = [cell_law(c, math.exp(-0.5 / 0.9), t, t + 3) if c else {None: 1.0} for c in counts]
    assert not fits(draws, joint_law(less))


def neighbours(relation: str, most: int):
    """Pairs of two-cell tables that differ by one row (further cells are alike)."""
    for a, b in itertools.product(range(most + 1), repeat=2):
        if relation == "replace-one":
            yield (a + 1, b), (a, b + 1)
        else:
            yield (a + 1, b), (a, b)


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize(("epsilon", "n"), [(1, 100), (1, 4), (0.3, 9), (2.5, 2)])
def test_pure_guarantee_is_attained_and_never_exceeded(relation, epsilon, n):
    mechanism = SparseHistogram(epsilon, 2, n, relation)
    alpha, t = math.exp(-float(mechanism.tail.exponent)), mechanism.threshold
    worst = 0.0
    for one, other in neighbours(relation, most=t + 1):
        p, q = ([cell_law(c, alpha, t, t + 9) for c in table] for table in (one, other))
        ratios = [[math.log(u[v] / w[v]) for v in u] for u, w in zip(p, q, strict=True)]
        worst = max(worst, *(abs(x + y) for x, y in itertools.product(*ratios)))
    assert worst == pytest.approx(epsilon, abs=1e-9)


def hockey_stick(p: list[dict], q: list[dict], epsilon: float) -> float:
    total = 0.0
    for outcome in itertools.product(*(set(u) | set(w) for u, w in zip(p, q, strict=True))):
        mass = [
            math.prod(law.get(v, 0.0) for law, v in zip(laws, outcome, strict=True))
            for laws in (p, q)
        ]
        total += max(mass[0] - math.exp(epsilon) * mass[1], 0.0)
    return total


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize(
    ("epsilon", "delta"), [(1, 0.15), (1, 0.4), (0.3, 0.3), (0.3, 0.46), (2, 0.3), (1, 0.7)]
)
def test_stability_guarantee_is_exactly_the_delta_that_is_stated(relation, epsilon, delta):
    mechanism = StabilityHistogram(epsilon, delta, 2, relation)
    t, alpha = mechanism.threshold, math.exp(-1 / mechanism.scale)

    def law(count):
        return cell_law(count, alpha, t, t + 60) if count else {None: 1.0}

    worst = 0.0
    for one, other in neighbours(relation, most=3):
        p, q = ([law(c) for c in table] for table in (one, other))
        worst = max(worst, hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon))
    assert worst == pytest.approx(mechanism.delta_attained, abs=1e-9)
    assert worst <= delta


@pytest.mark.parametrize(("cells", "share"), [(10**4, 0.965), (10**6, 0.963), (10**9, 0.970)])
def test_share_of_rows_in_true_cells(cells, share):
    """20 cells of 50 rows, epsilon 1: the shares of ALGORITHMS.md, section 1, to .005."""
    side = round(cells ** (1 / 2)) if cells < 10**9 else 1000
    radices = [side] * (2 if cells < 10**9 else 3)
    assert math.prod(radices) == cells
    codes = [[i] * len(radices) for i in range(20)]
    secret = CellCounts(codes, [50] * 20, radices=radices, relation="replace-one")
    mechanism = SparseHistogram(1, cells, 1000)
    rng = Secure().post_processing_rng()
    shares = []
    for _ in range(300):
        rows = draw_rows(mechanism.release(secret, Secure()), 1000, rng)
        same = (rows == rows[:, :1]).all(axis=1) & (rows[:, 0] < 20)
        shares.append(same.mean())
    noise = 6.2 * np.std(shares) / math.sqrt(len(shares))  # 1e-9, two-sided
    assert abs(np.mean(shares) - share) < 0.005 + noise
    assert noise < 0.015


def test_one_way_histograms_have_the_stated_noise(fits, discrete_laplace_law):
    radices = (5_000, 5_000)
    mechanism = OneWayHistograms(2, radices)
    zeros = mechanism.aggregate([np.zeros(5_000, int)] * 2)
    draws = np.concatenate(
        [np.concatenate(mechanism.release(zeros, source()).counts) for _ in range(3)]
    )
    assert fits(draws.tolist(), discrete_laplace_law(2.0))
    assert not fits(draws.tolist(), discrete_laplace_law(2.0 * 0.9))
    assert Counter(draws.tolist())[0] > 0
