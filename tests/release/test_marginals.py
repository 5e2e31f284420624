from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dprct.errors import DprctWarning
from dprct.privacy.accountant import Accountant
from dprct.privacy.histograms import OneWayHistograms
from dprct.privacy.noise import source
from dprct.queries.counts import one_way_counts
from dprct.release.histogram import Marginals
from dprct.schema import Column, Schema
from dprct.schema.tables import eager
from tests.statistical.auditing import lower_bound

ALPHA = 1e-9
NAMES = ["a", "b"]


def schema() -> Schema:
    fact = {"levels": [0, 1], "missing": "never", "fate": "modelled"}
    return Schema(tuple(Column(n, "byte") for n in NAMES)).declare(**dict.fromkeys(NAMES, fact))


def table(ones: int, n: int = 100) -> pd.DataFrame:
    """Return n rows of which the last ``ones`` have both columns 1."""
    return pd.DataFrame(dict.fromkeys(NAMES, np.repeat([0.0, 1.0], [n - ones, ones])))


def test_the_plan_is_a_function_of_public_facts() -> None:
    plan = Marginals(table(50, 1000), schema()).plan(1)
    assert plan == Marginals(table(1, 1000), schema()).plan(1)
    assert "scale 4" in plan.facts["noise"]  # two columns, 2p / epsilon
    a = math.exp(-1 / 4)
    sd = math.sqrt(2 * a) / (1 - a)
    assert plan.value("noise of a count") == pytest.approx(sd)
    error, without = (plan.value(f"std_error{of}", term="a") for of in ("", "_without_privacy"))
    assert error == pytest.approx(np.hypot(without, sd / 1000))
    assert "no effect or correlation survives" in str(plan)
    assert plan.warnings == ()


def test_noise_that_drowns_a_column_is_named() -> None:
    plan = Marginals(table(5, 20), schema()).plan(0.2)
    assert plan.warnings[0].startswith("noise is large against n / levels for: a, b;")
    with pytest.warns(DprctWarning, match="noise is large"):
        Marginals(table(5, 20), schema()).fit(0.2)


def test_columns_keep_their_distribution_and_lose_their_relation() -> None:
    data = table(3000, 10_000)
    released = Marginals(data, schema()).fit(1).protected
    for name in NAMES:
        assert abs(released[name].mean() - 0.3) < 0.05  # 9 standard deviations of the draw
    counts = pd.crosstab(released["a"], released["b"]).to_numpy()
    assert stats.chi2_contingency(counts).pvalue > ALPHA
    original = pd.crosstab(data["a"], data["b"]).to_numpy()
    assert stats.chi2_contingency(original).pvalue < ALPHA


def test_the_state_is_the_noisy_counts_and_nothing_else() -> None:
    accountant = Accountant(3)
    Marginals(table(50), schema()).fit(3, accountant=accountant)
    state: Any = accountant.recover(accountant.ledger[0].id)
    assert set(state) == {"drawn", "study"}
    drawn = state["drawn"]["fields"]
    assert set(drawn) == {"counts", "noise_sd", "simulation"}
    assert [column["shape"] for column in drawn["counts"]["tuple"]] == [[2], [2]]


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_delta_chooses_the_noise(delta: float) -> None:
    model = Marginals(table(500, 1000), schema())
    mechanism = model._allocated(model.plan(1, delta).budget)["counts"]
    assert mechanism == OneWayHistograms(1, [2, 2], delta)
    release = model.fit(1, delta)
    assert release.guarantee.measure == ("approximate" if delta else "pure")


def noisy(data: pd.DataFrame, epsilon: float, size: int) -> np.ndarray:
    """Return ``size`` releases (size, 4) through the fit's own query and mechanism."""
    model = Marginals(data, schema())
    counts = one_way_counts(eager(data), model.facts.encodings)
    mechanism = model._allocated(model.plan(epsilon).budget)["counts"]
    noise = source()
    return np.array([np.concatenate(mechanism.release(counts, noise).counts) for _ in range(size)])


def score(counts: np.ndarray) -> np.ndarray:
    """All four counts on the side of the first table: likelihood ratio exp(epsilon) at 0."""
    sides = [50 - counts[:, 1], 50 - counts[:, 3], counts[:, 0] - 50, counts[:, 2] - 50]
    return np.minimum.reduce(sides)


def bound(epsilon: float, size: int = 12_000) -> float:
    draws = [score(noisy(table(ones), epsilon, size)) for ones in (50, 51)]
    return lower_bound(*draws, alpha=ALPHA).epsilon


@pytest.mark.long
def test_a_fit_keeps_its_claim_and_needs_most_of_it() -> None:
    assert 2.0 < bound(4.0) <= 4.0


@pytest.mark.long
def test_noise_for_one_column_only_would_be_caught() -> None:
    assert bound(8.0) > 4.0


def test_every_count_has_the_law_of_the_mechanism() -> None:
    size = 4000
    draws = noisy(table(30), 2.0, size) - np.array([70, 30, 70, 30])
    for column in draws.T:
        observed = [int((column == k).sum()) for k in range(-6, 7)]
        observed.append(size - sum(observed))
        for scale, fits in ((2.0, True), (1.0, False)):
            a = math.exp(-1 / scale)
            expected = [(1 - a) / (1 + a) * a ** abs(k) for k in range(-6, 7)]
            expected.append(1 - sum(expected))
            pvalue = stats.chisquare(observed, np.array(expected) * size).pvalue
            assert bool(pvalue > ALPHA) is fits


@pytest.mark.audit
def test_the_fit_reaches_four_fifths_of_its_claim() -> None:
    assert 0.8 * 4.0 <= bound(4.0, 60_000) <= 4.0
