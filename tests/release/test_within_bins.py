"""Binned outcomes: drawn with the mean of their bin, at a price that is planned."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dprct import Marginals, MVHistogram, itt_table, ols
from dprct.encoding import encoding
from dprct.errors import ParameterError
from dprct.privacy.budget import Budget
from dprct.privacy.histograms import HistogramRelease
from dprct.release.columns import _drawn, is_binned_outcome
from dprct.release.histogram import COUNTS, OFFSETS, WithOffsets
from dprct.schema import Column, Schema

SCORE = Column("score", "byte", bounds=(0, 52), bins=(7.0, 13.0, 22.0), role="outcome", missing=())
RATE = Column("rate", "double", bounds=(0.0, 1.0), bins=4, role="outcome", missing=("."))
ARM = Column("arm", "byte", levels=(0.0, 1.0), role="treatment", missing=())


def study(n: int = 3000, seed: int = 1) -> pd.DataFrame:
    """A skewed score: in every bin most people are near its lower end."""
    rng = np.random.default_rng(seed)
    arm = np.arange(n) % 2.0
    score = np.clip(np.floor(rng.exponential(9 - 3 * arm)), 0, 52)
    return pd.DataFrame({"score": score, "arm": arm})


def effect(data: pd.DataFrame) -> float:
    return float(data["score"][data["arm"] == 1].mean() - data["score"][data["arm"] == 0].mean())


def fitted(share: float | None, **columns: Column) -> MVHistogram:
    schema = Schema((columns.get("score", SCORE), ARM))
    return MVHistogram(study(), schema, columns=["score", "arm"], outcome_share=share)


@pytest.mark.parametrize("column", [SCORE, RATE], ids=["whole numbers", "continuous"])
@pytest.mark.parametrize("offset", [-0.5, -0.4, -0.1, 0.0, 0.3, 0.5])
def test_draws_have_the_mean_that_is_asked_and_are_legal(column: Column, offset: float) -> None:
    coded = encoding(column)
    low, high = (float(x) for x in coded.cells[1])
    found = _drawn(coded, 1, offset, 40_000, np.random.default_rng(3))
    middle = (low + high) / 2 + offset * (high - low)
    # a law on an interval has an sd of at most half of it; false alarm 1e-9
    assert abs(found.mean() - middle) <= 6.2 * (high - low) / 2 / 200
    assert low <= found.min()
    assert found.max() <= high
    if column is SCORE:
        assert (found == np.rint(found)).all()


def test_an_effect_on_a_skewed_outcome_is_no_longer_off() -> None:
    """At a large epsilon only the bins are left: uniform ones miss by far, and that is seen."""
    truth = effect(study())
    halves = replace(SCORE, bins=2)  # nearly everybody is in the lower one, in both arms
    errors = {
        share: abs(effect(fitted(share, score=halves).fit(60, rng=1).protected) - truth)
        for share in (0, 0.25)
    }
    # values within a bin are drawn: their difference in means has an sd of about .25
    assert errors[0.25] < 1.2 < 2.0 < errors[0]


def test_one_way_marginals_keep_the_mean() -> None:
    data, schema = study(), Schema((SCORE, ARM))
    means = {
        share: Marginals(data, schema, columns=["score", "arm"], outcome_share=share)
        .fit(60, rng=1)
        .protected["score"]
        .mean()
        for share in (0, 0.25)
    }
    assert (
        abs(means[0.25] - data["score"].mean()) < 0.4 < 1.0 < abs(means[0] - data["score"].mean())
    )


def test_a_plan_states_the_share_and_bounds_the_bias() -> None:
    plan = fitted(None).plan(1)
    assert plan.value("means within bins", "of each arm") == 0.25
    assert plan.value("mean of score", "noise sd") < 14.5
    assert plan.value("mean of score", "off by") == 14.5  # 23 to 52
    off = fitted(0).plan(1)
    assert off.value("mean of score", "whatever n") == 14.5
    assert off.value("mean of score", "an effect") == 29
    assert "means within bins" not in off.facts


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_shares_and_budgets_add_up(delta: float) -> None:
    model = fitted(0.5)
    allocation = model._allocated(Budget(2, delta))
    assert allocation[OFFSETS].budget == Budget(1)
    assert allocation[COUNTS].budget.epsilon == 1
    assert allocation.cost().budget == Budget(2, delta)
    assert fitted(None)._allocated(Budget(2))[OFFSETS].budget == Budget(0.5)
    assert OFFSETS not in fitted(0)._allocated(Budget(2)).parts


@pytest.mark.parametrize("share", [-0.1, 1, "half"])
def test_a_share_that_is_none_is_refused(share: Any) -> None:
    with pytest.raises(ParameterError, match="outcome_share"):
        fitted(share)


def test_only_binned_outcomes_take_a_share() -> None:
    plain = Column("score", "byte", bounds=(0, 52), bins=3, missing=())
    listed = Column("score", "byte", levels=tuple(float(k) for k in range(53)), role="outcome",
                    missing=())  # fmt: skip
    for column in (plain, listed):
        assert not is_binned_outcome(encoding(column))
    same = [fitted(share, score=plain).fit(1, rng=1, confirm=True).protected for share in (0, 0.5)]
    pd.testing.assert_frame_equal(*same)


def test_a_saved_state_comes_back() -> None:
    model = fitted(None)
    counts = HistogramRelease(np.array([[0, 1], [2, 0]]), np.array([5, 9]), (4, 2), 3, False)
    for drawn in (WithOffsets(counts, np.full(8, 0.5)), counts):
        state = model._state(drawn)
        found = model._revived(state)
        assert isinstance(found, type(drawn))
        assert model._state(found) == state


def test_fits_on_a_release_mark_means_of_binned_columns() -> None:
    release = fitted(None).fit(4, rng=1)
    assert any("score: released in bins" in note for note in ols("score ~ arm", release).notes)
    table = itt_table(release, outcomes=["score"], arms=["arm"])
    assert any("score: released in bins" in note for note in table.notes)
    assert not any("released in bins" in note for note in ols("arm ~ score", release).notes)
    ordinary = ols("score ~ arm", study(), Schema((SCORE, ARM)))
    assert not any("released in bins" in note for note in ordinary.notes)
