"""The published estimator, set-up by set-up."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from dprct.published.ipw import weighted_difference
from papers.ippw.samples import Sample, studies, synthetic
from papers.ippw.setups import (
    EPSILONS,
    SETUPS,
    STRICT,
    TRIM,
    Cell,
    estimated,
    setups_of,
    strict,
    title_of,
    weighted_effect,
    without_privacy,
)

SYNTHETIC = studies(None)["synthetic n1=500"]
LARGE = [Fraction(20)]


def sample(n: int = 800, seed: int = 1) -> Sample:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    t = rng.random(n) < 1 / (1 + np.exp(-X[:, 0]))
    return Sample(X, t, t + X[:, 0], 1.0)


def test_the_effect_from_log_odds_is_that_of_the_published_estimator() -> None:
    rng = np.random.default_rng(2)
    u, t, y = 3 * rng.normal(size=50), rng.random(50) < 0.5, rng.normal(size=50)
    e = 1 / (1 + np.exp(-u))
    assert weighted_effect(u, t, y, None) == pytest.approx(weighted_difference("ate", t, y, e)[0])
    trimmed = weighted_difference("ate", t, y, e.clip(TRIM, 1 - TRIM))[0]
    assert weighted_effect(u, t, y, TRIM) == pytest.approx(trimmed)
    assert weighted_effect(u, t, y, TRIM) != pytest.approx(weighted_effect(u, t, y, None))
    assert np.isfinite(weighted_effect(1000 * u, t, y, None))


@pytest.mark.parametrize("name", list(SETUPS))
def test_noise_falls_with_epsilon_and_vanishes(name: str) -> None:
    study = replace(SYNTHETIC, name="lalonde", n1=400)
    rng = np.random.default_rng(3)
    epsilons = [Fraction(1, 5), Fraction(5), *LARGE]
    found = [estimated(study, sample(), SETUPS[name], epsilons, rng) for _ in range(20)]
    off = np.array([np.abs(np.array(one.full) - one.own) for one in found])
    assert off[:, 0].mean() > off[:, 1].mean() > off[:, 2].mean()
    assert off[:, 2].mean() < 0.3
    partly = np.array([np.abs(np.array(one.partial) - one.own) for one in found])
    assert partly[:, 1].mean() < off[:, 1].mean()


def test_copies_are_there_where_the_paper_makes_them() -> None:
    study = replace(SYNTHETIC, name="ihdp", n1=400)
    rng = np.random.default_rng(4)
    copies = {
        name: estimated(study, sample(747), setup, LARGE, rng).copies
        for name, setup in SETUPS.items()
    }
    assert copies["printed"] > 3
    assert copies["public"] > 3
    assert (copies["once"], copies["mended"]) == (1, 1)


def test_nothing_of_the_data_scales_the_mended_one() -> None:
    """One far row moves its estimate by the sensitivity at most, the printed one without end."""
    study = replace(SYNTHETIC, name="synthetic", bounds=(-4.0, 5.0))
    base = sample(1500)
    X, y = base.X.copy(), base.y.copy()
    y[0], X[0] = 1e9, 1e9
    far = Sample(X, base.t, y, 1.0)
    moved = {}
    for name in ("once", "mended"):
        own = [
            estimated(study, one, SETUPS[name], LARGE, np.random.default_rng(5)).own
            for one in (base, far)
        ]
        moved[name] = abs(own[0] - own[1])
    assert moved["mended"] < 0.2
    assert moved["once"] > 0.2


STUDY = studies(None)["synthetic n1=1000"]


def test_much_budget_finds_what_is_there() -> None:
    sample = synthetic(2000, np.random.default_rng(1))
    epsilons = [Fraction(1), Fraction(20)]
    rng = np.random.default_rng(2)
    for one in STRICT.values():
        found = strict(STUDY, sample, epsilons, rng, **one.options)
        # penalty and trimming leave some of the confounding, which is 0.9
        assert 0.7 < found.full[1] < 1.8
        assert np.isnan(found.own)
        assert np.isnan(found.partial).all()
        assert found.copies == 1


def test_estimators_without_privacy_find_the_effect() -> None:
    sample = synthetic(4000, np.random.default_rng(3))
    found = without_privacy(sample)
    assert abs(found["ipw"] - 1) < 0.25
    assert abs(found["aipw"] - 1) < 0.15
    assert found["difference in means"] > 1.5


SMALL = studies(None)["synthetic n1=500"]


@pytest.mark.parametrize("setup", setups_of(SMALL))
def test_a_cell_is_a_function_of_its_settings(setup: str) -> None:
    cell = Cell(SMALL.label, setup, 2, 1, "")
    found = cell.compute(SMALL)
    assert len(found) == 2 * len(EPSILONS)
    pd.testing.assert_frame_equal(found, cell.compute(SMALL))
    other = Cell(SMALL.label, setup, 2, 2, "")
    assert other.key != cell.key
    assert not found["estimate"].equals(other.compute(SMALL)["estimate"])
    assert cell.name.startswith("synthetic-n1-500-")
    assert title_of(setup)


def test_no_set_up_makes_copies_where_the_paper_does_not() -> None:
    assert "printed" not in setups_of(SMALL)
