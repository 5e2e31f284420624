"""Effects within subgroups of the joint release: laws against simulated fits, plans, refusals."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

import dprct
from dprct import Budget, Column, PrivateATE, Schema
from dprct.errors import ColumnError, DprctError, ParameterError
from dprct.model import Paid
from dprct.privacy.noise import source
from dprct.schema.columns import FileFacts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dprct.results.plan import Plan

DELTA = 1e-6
FALSE_ALARM = 1e-9
PLAN: Any = None
"""Results are read without one."""
NEVER: dict[str, Any] = {"missing": ()}
HALF = dprct.Simple("t", shares=0.5)
EFFECTS = {"1": 0.2, "2": 0.8, "3": 0.0}


def schema(**facts: Any) -> Schema:
    made = Schema(
        (
            Column("y", bounds=(-8.0, 8.0), sd=1.0, **NEVER),
            Column("wage", bounds=(-15.0, 17.0), sd=2.0, **NEVER),
            Column("t", "byte", levels=(0.0, 1.0), **NEVER),
            Column("g", "byte", levels=(1.0, 2.0, 3.0), **NEVER),
            Column("f", "str1", levels=("m", "w"), **NEVER),
            Column("site", "byte", levels=(1.0, 2.0), **NEVER),
        )
    )
    return made.declare(**facts)


def trial(n: int = 3000, seed: int = 1) -> pd.DataFrame:
    """The effect differs between the levels of g, and on one outcome alone."""
    rng = np.random.default_rng(seed)
    t = rng.permutation(n) % 2
    g = rng.integers(1, 4, n)
    y = rng.normal(size=n) + t * np.array([EFFECTS[str(level)] for level in g])
    return pd.DataFrame(
        {
            "y": np.clip(y, -8, 8),
            "wage": np.clip(1 + 2 * rng.normal(size=n), -15, 17),
            "t": t * 1.0,
            "g": g * 1.0,
            "f": np.where(rng.random(n) < 0.4, "w", "m"),
            "site": 1.0 + (np.arange(n) % 3 == 0),
        }
    )


def model(data: Any, *, private: bool = False, **options: Any) -> PrivateATE:
    given: dict[str, Any] = {"outcome": ["y", "wage"], "subgroups": ["g"]}
    given |= (
        {"assignment": HALF, "neighbors": "replace-one"} if private else {"treatment": "t"}
    )  # fmt: skip
    given |= options
    facts = given.pop("facts", {})
    return PrivateATE(data, schema(**facts), **given)


def fits(made: PrivateATE, epsilon: float, seeds: Iterable[int]) -> Iterator[Any]:
    """Yield results of seeded fits, without the plan that each fit makes."""
    budget = Budget(epsilon, DELTA)
    allocation, promise = made._allocated(budget), made.guarantee(budget)
    for seed in seeds:
        noise = source(seed)
        yield made._read(made._draw(allocation, noise), Paid(PLAN, allocation, promise, "", noise))


def within(data: pd.DataFrame, name: str, level: Any, outcome: str = "y") -> float:
    some = data[data[name] == level]
    means = some.groupby("t")[outcome].mean()
    return float(means[1.0] - means[0.0])


def noise_of(plan: Plan) -> pd.Series:
    """Planned noise of each effect."""
    return pd.Series({name: errors["noise_sd"] for name, errors in plan.errors().items()})


@pytest.mark.long
@pytest.mark.parametrize("private", [False, True])
def test_effects_within_levels_are_found_with_the_noise_that_the_plan_tells(private: bool) -> None:
    """Fits of the same rows differ by their noise alone."""
    data, runs = trial(), 80
    made = model(data, private=private)
    results = list(fits(made, 2, range(runs)))
    found = pd.DataFrame([result.effects(where="g").params for result in results])
    assert list(found.columns[:3]) == ["y if g=1: t", "wage if g=1: t", "y if g=2: t"]
    noise = results[0].effects(where="g").bse_noise
    for level in (1.0, 2.0, 3.0):
        name = f"y if g={level:g}: t"
        # shrinking moves an effect by a few hundredths of itself
        off = found[name].mean() - within(data, "g", level)
        assert abs(off) < 6 * noise[name] / np.sqrt(runs) + 0.02, name
    ratio = (found.var(ddof=1) / noise**2).mean()
    assert abs(ratio - 1) < 6 * np.sqrt(2 / (6 * runs))
    # a level has a third of the people here, as the plan guesses; the noise of the counts adds to
    # that of sums where means are off the centres
    planned = noise_of(made.plan(2, DELTA))
    for name in found.columns:
        assert noise[name] == pytest.approx(planned[name], rel=0.25)
    everybody = pd.DataFrame([result.params for result in results])
    whole = results[0].bse_noise
    assert abs((everybody.var(ddof=1) / whole**2).mean() - 1) < 6 * np.sqrt(2 / (2 * runs))
    alone_noise = noise_of(model(data, private=private, subgroups=[]).plan(2, DELTA))["y: t"]
    assert planned["y: t"] == pytest.approx(np.sqrt(3) * alone_noise, rel=1e-9)


@pytest.mark.long
@pytest.mark.parametrize("private", [False, True])
def test_intervals_within_levels_cover(private: bool) -> None:
    """Rows are drawn again in every run: at most four binomial errors off 95 %."""
    hits, runs = 0, 150
    for seed in range(runs):
        made = model(trial(1500, seed + 100), private=private, outcome="y")
        (result,) = fits(made, 3, [seed])
        intervals = result.effects(where="g").conf_int().to_numpy()
        truth = np.array(list(EFFECTS.values()))
        hits += int(((intervals[:, 0] <= truth) & (truth <= intervals[:, 1])).sum())
    low, high = stats.binom.ppf([FALSE_ALARM, 1 - FALSE_ALARM], 3 * runs, 0.95)
    assert low <= hits <= high


def test_levels_are_compared_and_nothing_is_shown_twice() -> None:
    data = trial(20_000)
    (result,) = fits(model(data, subgroups=["g", "f"], outcome="y"), 4, [3])
    by = result.effects(where="g")
    more = by.lincom({"y if g=2: t": 1, "y if g=1: t": -1})
    assert abs(float(more.params.iloc[0]) - 0.6) < 5 * float(more.bse.iloc[0])
    assert float(more.bse.iloc[0]) == pytest.approx(
        np.hypot(by.bse["y if g=2: t"], by.bse["y if g=1: t"]), rel=0.05
    )
    assert by.wald_test(["y if g=2: t = y if g=1: t"]).pvalue < 1e-4
    assert list(result.effects(where="f").params.index) == ["y if f=m: t", "y if f=w: t"]
    assert list(result.tables) == ["control", "effects by g", "effects by f"]
    assert by.control.index.tolist() == ["y if g=1", "y if g=2", "y if g=3"]
    again = by.contrast("t - control")
    assert again.params.tolist() == by.params.tolist()
    among = result.effects(where={"g": 2})
    assert among.params["t"] == by.params["y if g=2: t"]
    assert among.conf_int().loc["t"].tolist() == by.conf_int().loc["y if g=2: t"].tolist()
    assert among.nobs == pytest.approx((data["g"] == 2).sum(), rel=0.02)
    with pytest.raises(
        ColumnError, match="'h', which makes no groups of this release; groups: g, f"
    ):
        result.effects(where="h")
    with pytest.raises(ParameterError, match=r"g=4.*levels are 1, 2, 3$"):
        result.effects(where={"g": 4})


def test_blocks_are_public_groups() -> None:
    """They cost no noise: the groups are there already, and their sizes are known."""
    data = trial()
    design = dprct.Block("t", block="site", shares=0.5)
    given: dict[str, Any] = {"treatment": None, "assignment": design, "attrition": True}
    made = model(data, subgroups=["site"], **given)
    plan = made.plan(4, DELTA)
    assert "cells" not in plan.facts
    assert made._allocated(Budget(4, DELTA)) == model(data, subgroups=[], **given)._allocated(
        Budget(4, DELTA)
    )
    found = pd.DataFrame([one.effects(where="site").params for one in fits(made, 4, range(40))])
    planned = noise_of(plan)
    for level in (1.0, 2.0):
        name = f"y if site={level:g}: t"
        off = found[name].mean() - within(data, "site", level)
        assert abs(off) < 6 * planned[name] / np.sqrt(40) + 0.02
    assert abs((found.var(ddof=1) / planned[found.columns] ** 2).mean() - 1) < 1


@pytest.mark.parametrize("private", [False, True])
def test_an_engine_gives_the_same_numbers(private: bool) -> None:
    data = trial(400)
    made = [model(rows, private=private) for rows in (data, pl.from_pandas(data).lazy())]
    one, other = (next(iter(fits(each, 3, [5]))) for each in made)
    assert one.params.tolist() == other.params.tolist()
    assert one.effects(where="g").params.tolist() == other.effects(where="g").params.tolist()


def test_people_without_a_level_count_for_everybody_alone() -> None:
    data = trial(2000)
    data.loc[::4, "g"] = np.nan
    made = model(data, facts={"g": {"missing": ["."]}})
    assert made.facts.inner == 4
    (result,) = fits(made, 8, [1])
    assert len(result.effects(where="g").params) == 6
    assert abs(result.params["y: t"] - within(data.assign(a=1), "a", 1)) < (
        5 * result.bse_noise["y: t"] + 0.03
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"subgroups": ["t"]}, "'t' is the treatment"),
        ({"subgroups": ["wage"]}, "subgroup 'wage' has no declared levels"),
        ({"subgroups": ["h"]}, "'h'"),
        ({"subgroups": "g", "outcome": "g"}, "an outcome and a sub"),
        (
            {"treatment": None, "attrition": True, "subgroups": ["site"], "blocks": "ignore",
             "assignment": dprct.Block("t", block="site", shares=0.5)},
            "use blocks='weight'",
        ),
        (
            {"treatment": None, "attrition": True,
             "assignment": dprct.Block("t", block="site", shares=0.5)},
            "use blocks='ignore'",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(DprctError, match=words):
        model(trial(100), **options)


def test_subgroups_need_the_joint_release() -> None:
    with pytest.raises(ParameterError, match="needs delta above 0"):
        model(trial(100)).plan(1)
    holes = trial(100)
    holes.loc[::5, "y"] = np.nan
    public = {"y": {"missing": ["."], "missing_policy": "public"}}
    with pytest.raises(ParameterError, match="private subgroup 'g', because the number"):
        model(holes, facts=public).plan(1, DELTA)
    many = Schema(
        (
            *schema().columns,
            *(Column(f"c{j}", "byte", levels=tuple(range(60)), **NEVER) for j in range(3)),
        )
    )
    rows = trial(100).assign(c0=1.0, c1=1.0, c2=1.0)
    given: dict[str, Any] = {"outcome": "y", "treatment": "t", "subgroups": ["c0", "c1", "c2"]}
    with pytest.raises(ParameterError, match="fewer groups"):
        PrivateATE(rows, many, **given).plan(1, DELTA)


def test_the_guarantee_says_what_is_public_of_subgroups() -> None:
    for private in (False, True):
        facts = model(trial(200), private=private).guarantee(Budget(1, DELTA)).public_facts
        assert "the declared levels of g" in facts
    plan = model(trial(200)).plan(1, DELTA)
    assert plan.value("cells", "of each arm, by g") == 3
    assert plan.value("cells", "noise") == pytest.approx(np.sqrt(3))
    assert "within subgroups there are with delta alone" in plan.facts["better"]
    assert plan.value("std_error", "if all levels are as frequent", outcome="y if g=1") > 0


def test_levels_have_their_public_value_labels_as_names_in_plan_and_result() -> None:
    facts = schema()
    columns = [replace(facts.column("g"), value_label="groups", confirmed=True)]
    named = FileFacts(value_labels={"groups": {1: "north", 2: "south"}})
    made = PrivateATE(
        trial(), replace(facts, file=named).with_columns(columns), outcome="y", treatment="t",
        subgroups=["g"],
    )  # fmt: skip
    assert "y if g=south" in str(made.plan(2, DELTA))
    by = made.fit(2, DELTA).effects(where="g")
    assert list(by.params.index) == ["y if g=north: t", "y if g=south: t", "y if g=3: t"]
    assert by.effects(where={"g": "south"}).params["t"] == by.params["y if g=south: t"]
