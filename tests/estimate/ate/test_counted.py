"""Missing values that are private: the ratio, its law, what happens below the floor, coverage."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

from dprct.assignment import Block, Cluster
from dprct.errors import ParameterError
from dprct.estimate.ate.model import PrivateATE
from dprct.estimate.ate.release import CountedOutcome
from dprct.estimate.contrasts import arm_contrasts
from dprct.privacy.noise import source
from dprct.queries.sums import Arms
from dprct.schema import Column
from dprct.schema.tables import eager
from tests.estimate.ate.of_outcome import drawn

if TYPE_CHECKING:
    from collections.abc import Callable

    from dprct.schema import Schema

    Draw = Callable[[np.random.Generator, int], np.ndarray[Any, Any]]

FALSE_ALARM = 1e-9
Y = Column("y", bounds=(0.0, 4.0), missing=(".",))


def outcome_of(sizes: tuple[int, ...], column: Column = Y) -> CountedOutcome:
    codes = np.repeat(np.arange(len(sizes)), sizes)
    return CountedOutcome(column, Arms(codes, (sizes,)), Fraction(1))


def test_the_effect_is_a_difference_of_means_of_who_has_a_value() -> None:
    rng = np.random.default_rng(1)
    y = rng.uniform(0, 4, 20_000)
    y[:10_000] /= 2
    y[rng.random(20_000) < np.repeat([0.4, 0.1], 10_000)] = np.nan
    outcome, epsilon = outcome_of((10_000, 10_000)), Fraction(4)
    found = drawn(outcome, eager(pd.DataFrame({"y": y})), epsilon, source(2))
    control, treated = y[:10_000], y[10_000:]
    for mean, own in zip(found.means, (control, treated), strict=True):
        has = own[~np.isnan(own)]
        b = 4 / (0.7 * 4 * len(has))
        assert mean.scale == pytest.approx(b, rel=0.01)
        assert mean.value == pytest.approx(has.mean(), abs=25 * 2 * b)
        level = abs(mean.value - 2) + mean.scale
        assert mean.others == (pytest.approx(level * 2 / 4 * mean.scale, rel=1e-6),)
        spread = mean.variance
        assert spread.value == pytest.approx(has.var() / len(has), abs=25 * spread.scale)
    effect = found.effects[0]
    assert effect.value == pytest.approx(found.means[1].value - found.means[0].value)
    assert len(effect.scales) == 4


def test_the_squares_are_about_the_own_mean_and_their_noise_is_the_smaller_for_it() -> None:
    rows = np.full(4_000, 2.0)
    outcome, epsilon = outcome_of((2_000, 2_000)), Fraction(4)
    middle, bound = (
        drawn(outcome, eager(pd.DataFrame({"y": y})), epsilon, source(2)).means[0].variance
        for y in (rows, rows + 2)
    )
    assert bound.scale == pytest.approx(4 * middle.scale, rel=0.02)
    assert bound.rho == middle.rho == pytest.approx(0.49 * 4 / 0.3 * 10 / 9)
    assert abs(bound.value) < 25 * bound.scale
    assert middle.scale / (4 / 2_000 / 0.7 / 4) ** 2 < middle.rho


@pytest.mark.parametrize("values", [0, 3])
def test_an_arm_with_too_few_values_is_anything_and_never_an_error(values: int) -> None:
    y = np.full(400, np.nan)
    y[:200], y[200 : 200 + values] = 1.0, 4.0
    outcome = outcome_of((200, 200))
    found = drawn(outcome, eager(pd.DataFrame({"y": y})), Fraction(1), source(3))
    effect = found.effects[0]
    assert found.means[1].value == 2.0
    half = effect.half_width(0.05)
    assert effect.value - half < -4 < 4 < effect.value + half
    assert "may be anything" in " ".join(outcome.remarks(found))
    both = drawn(outcome, eager(pd.DataFrame({"y": np.full(400, np.nan)})), Fraction(1), source(4))
    assert both.effects[0].value == 0
    assert both.effects[0].p_value((0.05,)) > 0.9


def test_an_error_is_infinite_nowhere_whatever_the_rows_hold() -> None:
    for value in (np.inf, -np.inf, 1e300, -1e300):
        y = np.full(200, value)
        found = drawn(outcome_of((100, 100)), eager(pl.DataFrame({"y": y})), Fraction(8), source(5))
        assert np.isfinite(found.effects[0].half_width(0.05))
        assert 0 <= found.control <= 4


def test_the_estimand_and_what_is_private_are_said(
    trial: Callable[..., pd.DataFrame], schema: Schema
) -> None:
    data = trial(3_000).drop(columns="village")
    facts = schema.declare(got={"missing_policy": "private", "sd": 0.5})
    model = PrivateATE(data, facts, outcome="got", treatment=["t", "t2"])
    result = model.fit(epsilon=2)
    text = result.summary().replace("\n", " ")
    assert "among those with a value" in text
    assert "only if having a value is not affected by it" in text
    assert "who has a value" not in " ".join(result.guarantee.public_facts)
    assert "missing" not in " ".join(result.guarantee.not_covered)
    assert "if all have a value" in str(model.plan(2)).replace("\n", " ")
    compared = result.contrast("t2 - t")
    assert np.isfinite(compared.bse).all()
    cov = result.cov_params()
    shared = result.means[0][0]
    assert cov.loc["t", "t2"] == pytest.approx(
        shared.variance.at(0.05) + 2 * (shared.scale**2 + shared.others[0] ** 2)
    )


def test_blocks_and_clusters_are_refused(
    trial: Callable[..., pd.DataFrame], schema: Schema
) -> None:
    data = trial(3_000)
    arms = ["t", "t2"]
    for design in (Block(arms, block="village"), Cluster(arms, cluster="village")):
        clustered = isinstance(design, Cluster)
        frame = data.assign(**{a: (data["village"] % 3 == i) * 1.0 for i, a in enumerate(arms)})
        with pytest.raises(ParameterError, match="weighted blocks"):
            PrivateATE(
                frame if clustered else data, schema.declare(got={"missing_policy": "private"}),
                outcome="got", assignment=design, attrition=True,
            )  # fmt: skip


def test_what_is_expected_is_what_is_released_without_attrition() -> None:
    rng = np.random.default_rng(6)
    frame = eager(pl.DataFrame({"y": np.where(rng.random(4_000) < 0.5, 0.0, 4.0)}))
    outcome = outcome_of((2_000, 2_000))
    (now,) = outcome.expected(Fraction(2), 4.0, arm_contrasts(("control", "t")))
    found = drawn(outcome, frame, Fraction(2), source(1)).effects[0]
    assert now.standard_error((0.05,)) == pytest.approx(found.standard_error((0.05,)), rel=0.1)
    (none,) = outcome_of((20, 20)).expected(Fraction(1), 4.0, arm_contrasts(("control", "t")))
    assert none.half_width(0.05) > 4


@dataclass(frozen=True)
class Scenario:
    """Outcomes and shares of missing values (control, treated), independent of each other."""

    draw: Draw
    bounds: tuple[float, float]
    sizes: tuple[int, ...]
    attrition: tuple[float, ...]
    epsilon: float


def normal(rng: np.random.Generator, n: int) -> np.ndarray[Any, Any]:
    return rng.normal(0, 3.5, n)


def binary(p: float) -> Draw:
    return lambda rng, n: (rng.random(n) < p).astype(float)


EQUAL = (500, 500)
FAST = {
    "normal, 10 and 40% missing": Scenario(normal, (-15, 30), EQUAL, (0.4, 0.1), 1),
    "binary 2%, 10 and 40% missing": Scenario(binary(0.02), (0, 1), EQUAL, (0.1, 0.4), 2),
}
FULL = FAST | {
    "normal, none missing": Scenario(normal, (-15, 30), EQUAL, (0, 0), 1),
    "normal, n = 200, eps 4": Scenario(normal, (-15, 30), (100, 100), (0.1, 0.4), 4),
    "normal, n = 200, eps .5": Scenario(normal, (-15, 30), (100, 100), (0.1, 0.4), 0.5),
    "binary 50%, n = 200, eps 1": Scenario(binary(0.5), (0, 1), (100, 100), (0.4, 0.4), 1),
    "binary 2%, n = 20,000, eps 4": Scenario(binary(0.02), (0, 1), (10_000, 10_000), (0.1, 0.4), 4),
    "normal, n = 20,000, eps .5": Scenario(normal, (-15, 30), (10_000, 10_000), (0.4, 0), 0.5),
    "all at a bound, 10 and 40% missing": Scenario(binary(0), (0, 1), EQUAL, (0.1, 0.4), 1),
    "100 treated of 1,000, eps 4": Scenario(normal, (-15, 30), (900, 100), (0.4, 0.4), 4),
    "three arms, eps 2": Scenario(normal, (-15, 30), (400, 300, 300), (0.1, 0.4, 0), 2),
    "near the floor": Scenario(normal, (-15, 30), (100, 100), (0.4, 0.4), 0.97),
}


def covered(scenario: Scenario, runs: int, seed: int) -> tuple[int, int]:
    """Return how many intervals contain zero, and how many have an arm that is not estimated."""
    rng = np.random.default_rng(seed)
    noise, epsilon = source(rng), Fraction(scenario.epsilon)
    outcome = outcome_of(scenario.sizes, Column("y", bounds=scenario.bounds, missing=(".",)))
    lost = np.array(scenario.attrition)[outcome.arms.codes]
    hits = unknown = 0
    for _ in range(runs):
        y = scenario.draw(rng, len(lost))
        y[rng.random(len(lost)) < lost] = np.nan
        effect = drawn(outcome, eager(pl.DataFrame({"y": y})), epsilon, noise).effects[0]
        hits += abs(effect.value) <= effect.half_width(0.05)
        unknown += any(part.scale == 0 for part in effect.variances)
    return hits, unknown


def check(name: str, runs: int, seed: int) -> None:
    hits, unknown = covered(FULL[name], runs, seed)
    print(f"coverage of {name}: {hits / runs:.4f}, not estimated {unknown / runs:.3f}")
    assert hits >= int(stats.binom.ppf(FALSE_ALARM, runs, 0.95))


@pytest.mark.long
@pytest.mark.parametrize("name", FAST)
def test_intervals_cover_in_three_hundred_experiments(name: str) -> None:
    check(name, 300, 40)


@pytest.mark.audit
@pytest.mark.parametrize("name", FULL)
def test_intervals_cover_in_four_thousand_experiments(name: str) -> None:
    check(name, 4_000, 41)
