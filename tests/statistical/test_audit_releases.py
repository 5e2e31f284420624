"""Releases end to end on worst-case neighbours: what is certified, below what is claimed.

Everything from the budget's division to the last draw is the code that ``fit`` runs; the queries,
which have no randomness, compute their sealed aggregate once per table.  The score is the log
likelihood ratio of the released numbers, so that the likeliest event of the neighbours is tested.
An audit alarms falsely once in 1e9; it must reach four fifths of the claim.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from dprct import Calibrated, Marginals, MVHistogram
from dprct.privacy.budget import Budget
from dprct.privacy.noise import source
from dprct.schema import Column, Schema
from tests.statistical.auditing import lower_bound

if TYPE_CHECKING:
    from collections.abc import Callable

    from dprct.estimate.ate.release import Released
    from dprct.privacy.histograms import HistogramRelease

ALPHA = 1e-9
EPSILON = Fraction(2)
SCHEMA = Schema(
    (
        Column("y", "double", bounds=(0.0, 1.0), missing=(), fate="modelled"),
        Column("t", "byte", levels=(0.0, 1.0), missing=(), fate="modelled"),
        Column("a", "byte", levels=(0.0, 1.0, 2.0), missing=(), fate="modelled"),
        Column("b", "byte", levels=(0.0, 1.0), missing=(), fate="modelled"),
    )
)
HALF = 20


def table(*, moved: bool) -> pd.DataFrame:
    """40 people, outcomes at the lower bound; the first moves as far as the schema allows."""
    t = np.tile([0.0, 1.0], HALF)
    a, b = np.repeat([0.0, 1.0], HALF), np.tile([0.0, 0.0, 1.0, 1.0], HALF // 2)
    y = np.zeros(2 * HALF)
    if moved:
        y[0], a[0], b[0] = 1.0, 1.0, 1.0
    return pd.DataFrame({"y": y, "t": t, "a": a, "b": b})


def only(*names: str) -> tuple[Any, ...]:
    """The two tables with some columns, and their schema."""
    schema = SCHEMA.select(list(names))
    return table(moved=False)[list(names)], table(moved=True)[list(names)], schema


def laplace_ratio(values: Any, first: float, second: float, scale: float) -> Any:
    """Log likelihood ratio of (discrete) Laplace noise about the second or the first centre."""
    x = np.asarray(values, dtype=np.float64)
    return (np.abs(x - first) - np.abs(x - second)) / scale


def drawn(model: Any, budget: Budget, draws: int) -> list[Any]:
    """What a model would save, and nothing else of it would leave, many times."""
    noise, allocation = source(), model._allocated(budget)
    return [model._draw(allocation, noise) for _ in range(draws)]


def count_of(found: HistogramRelease, cell: list[int]) -> int:
    """The released count of a cell; what is below the threshold counts as just below it."""
    known = dict(zip(map(tuple, found.codes.tolist()), found.counts.tolist(), strict=True))
    return int(known.get(tuple(cell), found.threshold - 1))


def cells_ratio(states: list[HistogramRelease], epsilon: float) -> Any:
    """For 20 and 20 people in the cells 0 and 1 of one column, of whom one moves."""
    zero = [count_of(state, [0]) for state in states]
    one = [count_of(state, [1]) for state in states]
    scale = 2 / epsilon
    return laplace_ratio(zero, HALF, HALF - 1, scale) + laplace_ratio(one, HALF, HALF + 1, scale)


def effect_ratio(found: list[Released], shares: tuple[float, float, float], n: int) -> Any:
    """For n people per arm at 0, of whom one control person moves to 1."""
    effect = np.array([one.effects[0].value for one in found])
    variance = np.array([one.effects[0].variances[0].value for one in found])
    control = np.array([one.control for one in found])
    of_effect, of_variance, of_control = shares
    ratio = (
        laplace_ratio(effect, 0, -1 / n, 1 / (n * of_effect))
        + laplace_ratio(variance, 0, 1 / n**2, 1 / (n**2 * of_variance))
        + laplace_ratio(control, 0, 1 / n, 1 / (n * of_control))
    )
    return np.round(ratio, 6)  # the largest ratio is one event, which doubles would take apart


def audited(
    score: Callable[[Any], Any], models: tuple[Any, Any], budget: Budget, draws: int
) -> Any:
    """Certify a bound at the budget's delta; the score is of the states of one model."""
    first, second = (score(drawn(model, budget, draws)) for model in models)
    return lower_bound(first, second, delta=float(budget.delta), alpha=ALPHA)


@pytest.fixture(
    params=[
        pytest.param(100, id="short"),
        pytest.param(1, id="whole", marks=pytest.mark.audit),
    ]
)
def audit(request: pytest.FixtureRequest, certified: Any) -> Callable[..., None]:
    """An audit, and a hundredth of it, which certifies little and shows that the audit runs."""
    part: int = request.param

    def run(
        score: Callable[[Any], Any], models: tuple[Any, Any], budget: Budget, draws: int,
        claim: float, **words: Any,
    ) -> None:  # fmt: skip
        found = audited(score, models, budget, draws // part)
        if part == 1:
            certified(found, claim, **words)
        assert not found.refutes(claim)

    return run


def test_mv_histogram(computed_once: Any, audit: Any) -> None:
    computed_once("dprct.release.histogram.cell_counts")
    *tables, schema = only("a")
    models = tuple(MVHistogram(data, schema) for data in tables)
    audit(
        lambda s: cells_ratio(s, float(EPSILON)), models, Budget(EPSILON), 30_000,
        float(EPSILON), method="MVHistogram",
        neighbours="a row moves from one occupied cell to another",
        event="likelihood ratio of the two counts",
    )  # fmt: skip


def test_mv_histogram_with_delta(computed_once: Any, audit: Any) -> None:
    computed_once("dprct.release.histogram.cell_counts")
    *tables, schema = only("a")
    budget = Budget(EPSILON, Fraction(1, 1000))
    models = tuple(MVHistogram(data, schema) for data in tables)
    audit(
        lambda s: cells_ratio(s, float(EPSILON)), models, budget, 30_000,
        float(EPSILON), method="MVHistogram, delta > 0",
        neighbours="a row moves from one occupied cell to another",
        event="likelihood ratio of the two counts",
    )  # fmt: skip


def test_mv_histogram_shows_a_lone_person_with_probability_delta(
    computed_once: Any, audit: Any
) -> None:
    """The last cell is empty, or somebody is alone in it: no event of any epsilon, up to delta."""
    computed_once("dprct.release.histogram.cell_counts")
    *_, schema = only("a")
    alone = np.repeat([0.0, 1.0], HALF)
    there = alone.copy()
    there[0] = 2.0
    models = tuple(MVHistogram(pd.DataFrame({"a": a}), schema) for a in (there, alone))
    budget = Budget(1, Fraction(1, 20))

    def seen(states: list[Any]) -> Any:
        return np.array([float([2] in state.codes.tolist()) for state in states])

    audit(
        seen, models, budget, 20_000, 1.0, method="MVHistogram, delta > 0",
        neighbours="somebody is alone in a cell that is otherwise empty",
        event="the cell is released", tight=False,
    )  # fmt: skip
    without = (seen(drawn(model, budget, 20_000)) for model in models)
    assert lower_bound(*without, delta=0, alpha=ALPHA).refutes(1.0)  # so that delta is needed


def test_marginals(computed_once: Any, audit: Any) -> None:
    computed_once("dprct.release.histogram.one_way_counts")
    *tables, schema = only("a", "b")
    models = tuple(Marginals(data, schema) for data in tables)
    scale = 4 / float(EPSILON)

    def score(states: list[Any]) -> Any:
        total, released = 0, [state.counts for state in states]
        for column in (0, 1):
            for level, step in ((0, -1), (1, 1)):
                counts = [one[column][level] for one in released]
                total = total + laplace_ratio(counts, HALF, HALF + step, scale)
        return total

    audit(
        score, models, Budget(EPSILON), 80_000, float(EPSILON), method="Marginals",
        neighbours="a row changes its level in both columns",
        event="likelihood ratio of the four counts",
    )  # fmt: skip


def test_calibrated(computed_once: Any, audit: Any) -> None:
    """A person moves in outcome and covariate: both parts of the budget are needed."""
    computed_once("dprct.estimate.ate.release.difference_aggregates")
    computed_once("dprct.release.histogram.cell_counts")
    *tables, schema = only("y", "t", "a")
    schema = schema.declare(t={"fate": "public"})
    models = tuple(
        Calibrated.from_formula(
            "y ~ t + a",
            data,
            schema,
            treatment="t",
            covariate_release="histogram",
            budget_shares={"covariates": 0.5, "y": 0.5},
        )
        for data in tables
    )
    half = EPSILON / 2
    shares = tuple(map(float, models[0].facts.effects.outcomes[0].split(half)))

    def score(states: list[Any]) -> Any:
        effects = [state.effects[0] for state in states]
        covariates = [state.covariates for state in states]
        ratio = effect_ratio(effects, shares, HALF) + cells_ratio(covariates, float(half))
        return np.round(ratio, 5)

    audit(
        score, models, Budget(EPSILON), 120_000, float(EPSILON), method="Calibrated",
        neighbours="a control person moves from bound to bound, and to another cell",
        event="likelihood ratio of effect, variance, control mean and two counts",
    )  # fmt: skip
