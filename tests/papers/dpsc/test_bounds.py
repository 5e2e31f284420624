from __future__ import annotations

import math

import numpy as np
import pytest

from papers.dpsc.bounds import (
    Terms,
    objective_bound,
    output_bound,
    strict_bound,
    terms,
)
from papers.dpsc.design import simulated

FOUND = Terms(signal=2.0, distance=0.5, psi=0.25, n=8)


def test_theorem_3_2_by_hand() -> None:
    # n = 8, T0 = lam = 10, eps1 = eps2 = 1: a = 16
    chance = math.sqrt(0.8) / 66
    by_hand = 2 * (0.5 + 16) + (chance + math.sqrt(2)) * (math.sqrt(8) / 4 + 16)
    assert output_bound(FOUND, 66.0, 10, 10.0, 2.0, printed=True) == pytest.approx(by_hand)
    mended = 2 * (0.5 + 128) + (chance + 48) * (math.sqrt(8) / 4 + 128)
    assert output_bound(FOUND, 66.0, 10, 10.0, 2.0, printed=False) == pytest.approx(mended)


def test_theorem_3_5_where_nothing_is_added_to_the_penalty() -> None:
    # c = (1 + sqrt(113)) 10 and lam = 1e6 leave eps0 near 50
    spent = 2 * math.log1p((1 + math.sqrt(113)) * 10 / 1e6)
    moved = 2 * 160 / (50 - spent) / 1e6
    chance = math.sqrt(0.8) / 66
    by_hand = 2 * (0.5 + moved) + (chance + math.sqrt(2) / 50) * (math.sqrt(8) / 4 + moved)
    assert objective_bound(FOUND, 66.0, 10, 1e6, 100.0, printed=True) == pytest.approx(by_hand)


def test_the_strict_bound_holds_for_any_weights_on_the_simplex() -> None:
    rng = np.random.default_rng(3)
    panel = simulated(6, 10, rng)
    least = strict_bound(panel, 1e9, 0.5)
    for weights in rng.dirichlet(np.ones(6) * 0.2, 200):
        gap = panel.signals[:, 10:].T @ weights - panel.signal[10:]
        assert math.sqrt(np.mean(gap**2)) <= least


def test_terms_are_norms() -> None:
    panel = simulated(6, 10, np.random.default_rng(4))
    found = terms(panel, panel.true_weights)
    assert found.distance == 0
    assert found.psi == panel.true_weights.max()
