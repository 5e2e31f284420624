"""The theorems of DPSC on its error, by hand and against simulated panels."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dprct.errors import ParameterError
from dprct.published import ControlError
from dprct.published.synthetic_control import minimiser, objective_of

PANEL = {"n": 8, "T0": 10, "K": 3, "lam": 10.0, "eps1": 1.0, "eps2": 1.0, "sigma": 0.01}
CHANCE = math.sqrt(8) * 0.01


def test_theorem_3_2_by_hand() -> None:
    # a = 4 T0 sqrt(8 + n) / (lam eps1) = 16
    printed = ControlError(**PANEL, psi=0.25, printed=True)
    by_hand = 2 * (0.5 + 16) + (CHANCE + math.sqrt(2)) * (math.sqrt(8) / 4 + 16)
    assert printed.theorem(2.0, 0.5) == pytest.approx(by_hand)
    mended = ControlError(**PANEL, psi=0.25)
    by_hand = 2 * (0.5 + 128) + (CHANCE + 48) * (math.sqrt(8) / 4 + 128)
    assert mended.theorem(2.0, 0.5) == pytest.approx(by_hand)


@pytest.mark.parametrize("printed", [True, False])
def test_theorem_3_5_with_gaussian_noise_by_hand(printed: bool) -> None:
    one = PANEL | {"lam": 1e6, "eps1": 50.0, "eps2": 50.0}
    found = ControlError(**one, perturb="objective", delta=1e-6, psi=0.25, printed=printed)
    spent = 2 * math.log1p((1 + math.sqrt(113)) * 10 / 1e6)
    beta = 4 * 10 * 4 * math.sqrt(2 * math.log(2e6) + 50 - spent) / (50 - spent)
    length = math.sqrt(8 * beta) if printed else math.sqrt(8) * beta
    donors = math.sqrt(2) / 50 if printed else 2 * 8 * 3 / 50
    moved = 2 * length / 1e6
    by_hand = 2 * (0.5 + moved) + (CHANCE + donors) * (math.sqrt(8) / 4 + moved)
    assert found.theorem(2.0, 0.5) == pytest.approx(by_hand)


def test_the_mended_length_of_gaussian_noise_is_one_and_the_printed_is_not() -> None:
    found = objective_of(100, 10, 10.0, 25.0, 1e-6)
    b = np.random.default_rng(1).normal(0, found.scale, (2000, 100))
    mean = float(np.linalg.norm(b, axis=1).mean())
    one = PANEL | {"n": 100, "eps1": 25.0}
    for printed in (True, False):
        error = ControlError(**one, perturb="objective", delta=1e-6, printed=printed)
        assert (error._length(found.scale) > mean) is not printed


def test_what_is_added_to_the_penalty_moves_the_weights() -> None:
    found = objective_of(8, 10, 10.0, 1.0)
    assert found.extra > 0
    moved = ControlError(**PANEL, perturb="objective").weight_noise
    both = (1 / 10 + 1 / (10 + found.extra)) * 2 * 10**2 * math.sqrt(8)
    assert moved == pytest.approx(2 * 8 * found.scale / (10 + found.extra) + both)


def test_equation_12_and_18_are_what_privacy_adds() -> None:
    for perturb in ("output", "objective"):
        one = ControlError(**PANEL, perturb=perturb, printed=True)
        # equation (11) is the bound without privacy
        without = 2 * 0.5 + math.sqrt(8) * one.largest_weight * CHANCE
        assert one.cost(2.0) == pytest.approx(one.theorem(2.0, 0.5) - without)
    w, psi = 16.0, math.sqrt(10 / 20)
    by_hand = math.sqrt(8) * w + w * CHANCE + math.sqrt(16) * psi + w * math.sqrt(2)
    assert ControlError(**PANEL, printed=True).cost() == pytest.approx(by_hand)


def test_corollary_5_5_by_hand() -> None:
    one = ControlError(**PANEL, printed=True)
    spread = math.sqrt(2 * 8 * 0.01**2) + math.sqrt(2 * 8 * 0.01**2 * 0.03**2)
    distance = (spread * 10 + 0.5) / (0.5 * 10 + 0.5)
    assert one.closed_form(0.03) == pytest.approx(one.theorem(math.sqrt(8), distance))
    mended = ControlError(**PANEL)
    distance = (spread * 10 + 5) / (0.5 * 10 + 5)
    for outside, default in ((0.25, 0.25), (None, 1.0)):
        found = mended.closed_form(0.03, outside=outside)
        assert found == pytest.approx(mended.theorem(math.sqrt(8), distance + default))


def test_lemma_5_6_fails_outside_the_space_of_the_donors_and_the_mended_one_holds() -> None:
    """Donors in 2 of 8 dimensions, isotropic there; half of the true weights' square is outside."""
    n, k, T0, lam = 8, 2, 400, 400.0
    rng = np.random.default_rng(3)
    space, _ = np.linalg.qr(rng.normal(size=(n, n)))
    f = (space[:, 0] + space[:, -1]) / math.sqrt(2)
    X = space[:, :k] @ rng.choice([-1.0, 1.0], (k, T0))
    assert np.abs(X).max() <= 1
    y = space[:, 0] @ X / math.sqrt(2) + rng.uniform(-1, 1, T0) * 0.01
    facts = PANEL | {"n": n, "T0": T0, "lam": lam, "sigma": 0.01 / math.sqrt(3)}
    distance = float(np.linalg.norm(minimiser(X, y, lam) - f))
    printed = ControlError(**facts, printed=True).weight_distance(0.01)
    assert printed < 0.3 < 0.7 < distance
    own = ControlError(**facts).weight_distance(0.01, outside=math.sqrt(0.5))
    assert distance < own < ControlError(**facts).weight_distance(0.01)
    # what is inside is learnt
    inside = float(np.linalg.norm(minimiser(X, y, lam) - space[:, 0] / math.sqrt(2)))
    assert inside < ControlError(**facts).weight_distance(0.01, outside=0.0)


def test_no_ridge_weight_is_above_the_public_bound() -> None:
    rng = np.random.default_rng(2)
    largest = 0.0
    for _ in range(300):
        X, y = rng.uniform(-1, 1, (4, 6)), np.sign(rng.normal(size=6))
        if rng.random() < 0.5:
            X *= rng.random() ** 2
        largest = max(largest, float(np.abs(minimiser(X, y, 3.0)).max()))
    # one donor alone, as long as the worst one is, meets it
    worst = np.sign(rng.normal(size=6))
    X = np.zeros((4, 6))
    X[0] = worst * math.sqrt(1.5 / 6)
    bound = ControlError(**PANEL | {"T0": 6, "lam": 3.0}).largest_weight
    assert largest <= bound
    assert minimiser(X, worst, 3.0)[0] == pytest.approx(bound)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"n": 0}, "n=0; give a number above 0"),
        ({"sigma": math.nan}, "sigma=nan; give a number above 0"),
        ({"lam": True}, "lam= is True; give a number"),
        ({"delta": 1e-6}, "leave it out with perturb='output'"),
        ({"perturb": "both"}, "perturb="),
    ],
)
def test_mistakes_are_refused(wrong: dict[str, object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        ControlError(**PANEL | wrong)
    with pytest.raises(ParameterError, match="xi=2"):
        ControlError(**PANEL).closed_form(0.1, xi=2)
    with pytest.raises(ParameterError, match="outside=2; give a number from 0 to 1"):
        ControlError(**PANEL).closed_form(0.1, outside=2)
    with pytest.raises(ParameterError, match="leave it out with printed=True"):
        ControlError(**PANEL, printed=True).closed_form(0.1, outside=0.1)
