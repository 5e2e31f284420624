"""All outcomes in one release: its laws against simulated fits, its plan, and what it refuses."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

import dprct
from dprct import Accountant, Budget, Column, PrivateATE, PrivateMoments, Schema
from dprct.errors import ParameterError
from dprct.estimate.ate import joint
from dprct.estimate.moments.effects import EffectResults
from dprct.model import Paid
from dprct.privacy.noise import source
from dprct.queries.sums import Arms, observed_together

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

DELTA = 1e-6
PLAN: Any = None
"""Results are read without one."""
FALSE_ALARM = 1e-9
NEVER: dict[str, Any] = {"missing": ()}
OUTCOMES = ["y", "wage"]
SCALES: dict[str, Any] = {"y": {"sd": 1.0}, "wage": {"sd": 2.0}}
THIRDS = dprct.Simple(["t", "t2"], shares=[1 / 3, 1 / 3])


def schema(missing: Any = None) -> Schema:
    """Two outcomes of any size, two arms and a control group, two sites."""
    policy: dict[str, Any] = {"missing": (".",), "missing_policy": missing} if missing else NEVER
    return Schema(
        (
            Column("y", bounds=(-8.0, 8.0), **policy),
            Column("wage", bounds=(-15.0, 17.0), **policy),
            Column("t", "byte", levels=(0.0, 1.0), exclusive="arm", **NEVER),
            Column("t2", "byte", levels=(0.0, 1.0), exclusive="arm", **NEVER),
            Column("site", "byte", levels=(1.0, 2.0), **NEVER),
        )
    )


def trial(n: int = 600, seed: int = 1, effect: float = 0.5) -> pd.DataFrame:
    """Correlated outcomes; the first arm moves both."""
    rng = np.random.default_rng(seed)
    arm = rng.permutation(n) % 3
    y = rng.normal(size=n) + effect * (arm == 1)
    return pd.DataFrame(
        {
            "y": y,
            "wage": 1 + 2 * (0.6 * y + 0.8 * rng.normal(size=n)),
            "t": (arm == 1) * 1.0,
            "t2": (arm == 2) * 1.0,
            "site": 1.0 + (np.arange(n) % 3 == 0),
        }
    )


def with_holes(data: pd.DataFrame) -> pd.DataFrame:
    """Every fourth value of one outcome and every fifth of the other are missing."""
    made, row = data.copy(), np.arange(len(data))
    made.loc[row % 4 == 0, "y"] = np.nan
    made.loc[row % 5 == 0, "wage"] = np.nan
    return made


def model(
    data: Any, *, missing: Any = None, facts: Mapping[str, Any] = MappingProxyType({}),
    **options: Any
) -> PrivateATE:  # fmt: skip
    given = {"outcome": OUTCOMES, "treatment": ["t", "t2"], **options}
    return PrivateATE(data, schema(missing).declare(**facts), **given)


def private(data: Any, **options: Any) -> PrivateATE:
    return model(data, **{"treatment": None, "assignment": THIRDS,
                          "neighbors": "replace-one", **options})  # fmt: skip


def fits(made: PrivateATE, epsilon: float, seeds: Iterable[int]) -> Iterator[Any]:
    """Yield results of seeded fits, without the plan that each fit makes."""
    budget = Budget(epsilon, DELTA)
    allocation = made._allocated(budget)
    promise = made.guarantee(budget)
    for seed in seeds:
        noise = source(seed)
        drawn = made._draw(allocation, noise)
        yield made._read(drawn, Paid(PLAN, allocation, promise, "", noise))


KINDS: dict[str, Callable[[pd.DataFrame], PrivateATE]] = {
    "treatment public": lambda data: model(data, facts=SCALES),
    "no scales": lambda data: model(data),
    "treatment private": lambda data: private(data, facts=SCALES),
    "missing public": lambda data: model(with_holes(data), missing="public", facts=SCALES),
    "sites weigh": lambda data: model(
        data, treatment=None, facts=SCALES,
        assignment=dprct.Block(["t", "t2"], block="site", shares=[1 / 3, 1 / 3]), attrition=True,
    ),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_the_plan_tells_the_noise_that_fits_have(kind: str) -> None:
    """Fits of the same rows differ by their noise alone; its variance is within five errors."""
    made, runs = KINDS[kind](trial()), 60
    found = np.array([result.params for result in fits(made, 1, range(runs))])
    noise = np.array([errors["noise_sd"] for errors in made.plan(1, DELTA).errors().values()])
    ratio = found.var(axis=0, ddof=1).mean() / (noise**2).mean()
    # four effects of which pairs share a control group: at least two independent variances
    assert abs(ratio - 1) < 5 * np.sqrt(2 / (2 * runs))


def difference(data: pd.DataFrame, name: str, arm: str) -> float:
    control = (data["t"] == 0) & (data["t2"] == 0)
    return float(data.loc[data[arm] == 1, name].mean() - data.loc[control, name].mean())


@pytest.mark.parametrize("kind", ["treatment public", "treatment private", "missing public"])
def test_with_little_noise_the_effects_are_differences_in_means(kind: str) -> None:
    data = trial(60_000)
    options: dict[str, Any] = {}
    if kind == "missing public":
        data, options = with_holes(data), {"missing": "public"}
    made = private(data, **options) if kind == "treatment private" else model(data, **options)
    result = made.fit(8, DELTA, rng=1)
    for name in OUTCOMES:
        for arm in ("t", "t2"):
            at = f"{name}: {arm}"
            gap = result.params[at] - difference(data, name, arm)
            assert abs(gap) < 6 * result.bse_noise[at] < 0.06
    assert result.control.loc["wage", "sd"] == pytest.approx(2.0, rel=0.05)


def test_the_covariance_of_outcomes_is_that_of_their_sampling_errors() -> None:
    data = with_holes(trial(60_000))
    result = model(data, missing="public").fit(8, DELTA, rng=1)
    control = data[(data["t"] == 0) & (data["t2"] == 0)]
    both = control.dropna()
    n = [control[name].notna().sum() for name in OUTCOMES]
    wanted = len(both) * both["y"].cov(both["wage"]) / (n[0] * n[1])
    assert result.cov_params().loc["y: t", "wage: t2"] == pytest.approx(wanted, rel=0.15)
    assert result.wald_test("`y: t` = `wage: t` = 0").pvalue < 1e-6


def test_how_many_have_two_values_is_counted_in_every_engine() -> None:
    data = with_holes(trial(90))
    in_memory, lazy = (
        model(frame, missing="public") for frame in (data, pl.from_pandas(data).lazy())
    )
    for made in (in_memory, lazy):
        made.plan(1, DELTA)
    assert in_memory.facts.together is not None
    assert np.array_equal(in_memory.facts.together, lazy.facts.together)
    assert in_memory.facts.together[:, 0, 1].sum() == data[OUTCOMES].notna().all(axis=1).sum()
    arms = Arms(np.array([0, 1, -1, 1]), ((1, 2),))
    frame = dprct.schema.tables.table(pd.DataFrame({"y": [1.0, np.nan, 1.0, 2.0]}))
    found = observed_together(frame, [None, Column("y", bounds=(0.0, 9.0))], arms, 2)
    assert found.tolist() == [[[1, 1], [1, 1]], [[2, 1], [1, 1]]]


@pytest.mark.parametrize("missing", [None, "public"])
def test_an_engine_releases_what_memory_does(missing: str | None) -> None:
    data = with_holes(trial(300)) if missing else trial(300)
    here, there = (
        model(frame, missing=missing, facts=SCALES).fit(1, DELTA, rng=7)
        for frame in (data, pl.from_pandas(data, nan_to_null=True).lazy())
    )
    assert here.params.equals(there.params)
    assert here.cov.equals(there.cov)


COVERAGE: dict[str, tuple[Callable[[pd.DataFrame], PrivateATE], float]] = {
    "treatment public": (lambda data: model(data, facts=SCALES), 1.0),
    "treatment private": (lambda data: private(data, facts=SCALES), 2.0),
    "missing public": (lambda data: model(with_holes(data), missing="public", facts=SCALES), 4.0),
    "little noise": (lambda data: private(data), 16.0),
}


def covered(kind: str, runs: int, level: float = 0.05) -> tuple[int, int]:
    """Return how many of all intervals hold the effect, and how many there are."""
    make, epsilon = COVERAGE[kind]
    hits = total = 0
    for seed in range(runs):
        (result,) = fits(make(trial(600, seed=1000 + seed)), epsilon, [seed])
        ends = result.conf_int(level)
        truth = np.array([0.5, 0.0, 0.6, 0.0])
        hits += int(((ends[0] <= truth) & (truth <= ends[1])).sum())
        total += len(truth)
    return hits, total


@pytest.mark.long
@pytest.mark.parametrize("kind", COVERAGE)
def test_intervals_cover(kind: str) -> None:
    """Of 240 intervals, half counted as independent; .70 is rejected with probability .97."""
    hits, total = covered(kind, 60)
    independent = total // 2
    assert hits / 2 >= stats.binom.ppf(FALSE_ALARM, independent, 0.945)


def test_eight_outcomes_and_three_arms_have_the_noise_that_is_promised() -> None:
    rng, n = np.random.default_rng(1), 999
    names = [f"y{j}" for j in range(8)]
    arm = np.repeat([0, 1, 2, 3], [255, 249, 249, 246])
    data = pd.DataFrame(rng.normal(size=(n, 8)), columns=names)
    for k in (1, 2, 3):
        data[f"t{k}"] = (arm == k) * 1.0
    facts = Schema(
        (
            *(Column(name, bounds=(-6.0, 6.0), sd=1.0, **NEVER) for name in names),
            *(
                Column(f"t{k}", "byte", levels=(0.0, 1.0), exclusive="a", **NEVER)
                for k in (1, 2, 3)
            ),
        )
    )
    design = dprct.Simple(["t1", "t2", "t3"], shares=[0.25] * 3)
    for epsilon, most in ((1, 0.82), (2, 0.43), (4, 0.24)):
        public = PrivateATE(data, facts, outcome=names, treatment=["t1", "t2", "t3"])
        hidden = PrivateATE(data, facts, outcome=names, assignment=design, neighbors="replace-one")
        noise = [
            max(errors["noise_sd"] for errors in one.plan(epsilon, DELTA).errors().values())
            for one in (public, hidden)
        ]
        assert noise[0] < most
        assert noise[1] == pytest.approx(noise[0], rel=0.02)  # at no price


def test_the_plan_says_where_laplace_noise_is_better() -> None:
    one = PrivateATE(trial(), schema(), outcome="y", treatment=["t", "t2"])
    assert "leave delta out" in one.plan(1, DELTA).facts["better"]
    here, pure = one.plan(1, DELTA), one.plan(1)
    assert here.value("std_error", term="t2") > pure.value("std_error", term="t2")
    assert here.value("std_error_without_delta", term="t2") == pure.value("std_error", term="t2")


def test_the_release_is_the_one_of_private_moments() -> None:
    """The same layout and the same draw: one machinery, one proof."""
    data = trial(300)
    made = PrivateMoments(
        data[data["site"] > 0], schema(), formulas=["y + wage ~ 1"], assignment=THIRDS,
        neighbors="replace-one-design-public", attrition=True,
    )  # fmt: skip
    moments = made.fit(1, DELTA, rng=3).effects(["y", "wage"])
    effects = model(data).fit(1, DELTA, rng=3)
    assert np.allclose(moments.params, effects.params, rtol=1e-12)
    assert np.allclose(moments.bse, effects.bse, rtol=1e-9)


def test_contrasts_and_factorial_effects_are_free() -> None:
    data = trial()
    result = model(data).fit(1, DELTA, rng=1)
    assert isinstance(result, EffectResults)
    contrast = result.contrast("t - t2")
    for name in OUTCOMES:
        wanted = result.params[f"{name}: t"] - result.params[f"{name}: t2"]
        assert contrast.params[f"{name}: t - t2"] == pytest.approx(wanted)
    with pytest.raises(ParameterError, match="sum to zero"):
        result.contrast("t + t2")
    data["t2"] = np.arange(len(data)) // 2 % 2 * 1.0
    data["t"] = np.arange(len(data)) % 2 * 1.0
    crossed = Schema(
        tuple(
            Column(c.name, c.type, bounds=c.bounds, levels=c.levels, missing=c.missing)
            for c in schema().columns
        )
    )
    design = dprct.Factorial([dprct.Simple("t"), dprct.Simple("t2")])
    factors = PrivateATE(data, crossed, outcome="y", assignment=design, effects="main")
    result = factors.fit(8, DELTA, rng=1)
    halves = [
        data[(data["t"] == a) & (data["t2"] == b)]["y"].mean() for a in (0, 1) for b in (0, 1)
    ]
    wanted = (halves[2] + halves[3] - halves[0] - halves[1]) / 2
    assert abs(result.params["t"] - wanted) < 6 * result.bse_noise["t"]


def test_errors_are_valid_at_every_declared_level() -> None:
    result = model(trial(), alphas=(0.05, 0.01)).fit(1, DELTA, rng=1)
    for alpha in (0.05, 0.01):
        half = (result.conf_int(alpha)[1] - result.params).to_numpy()
        assert (half <= -stats.norm.ppf(alpha / 2) * result.bse.to_numpy() * (1 + 1e-12)).all()
    assert "valid at 95%, 99%" in result.summary()
    assert result.simultaneous().to_numpy().shape == (4, 2)
    assert result.tidy().shape[0] == 4


def test_an_arm_of_nobody_is_not_estimated() -> None:
    data = trial()
    data["t2"] = 0.0
    result = private(data).fit(1, DELTA, rng=1)
    assert np.isfinite(result.params["y: t"])
    assert np.isnan(result.params["y: t2"])
    assert np.isnan(result.bse["y: t2"])
    assert "Not estimated" in result.summary()


def test_what_was_paid_for_is_resumed() -> None:
    purse = Accountant(2, 1e-5, relation="replace-one-design-public")
    result = model(trial(), facts=SCALES).fit(1, DELTA, accountant=purse)
    (entry,) = purse.ledger
    assert entry.method == joint.METHOD
    again = model(trial(), facts=SCALES).resume(entry.id, accountant=purse)
    assert again.params.equals(result.params)
    assert again.cov.equals(result.cov)
    assert purse.remaining == Budget(1, 9e-6)
    assert result.guarantee.relation == "replace-one-design-public"
    assert "functions of these and of sd" in str(result.guarantee)


def test_a_fit_with_and_one_without_delta_are_told_apart_in_one_ledger() -> None:
    purse = Accountant(3, 1e-5, relation="replace-one-design-public")
    made = model(trial())
    first = made.fit(1, DELTA, accountant=purse)
    second = made.fit(1, accountant=purse)
    methods = [entry.method for entry in purse.ledger]
    assert methods == [joint.METHOD, made.spec.method]
    for entry, result in zip(list(purse.ledger), (first, second), strict=True):
        again = model(trial()).resume(entry.id, accountant=purse)
        assert again.params.equals(result.params)


CLUSTERS = dprct.Cluster(["t", "t2"], cluster="site")
REFUSED: dict[str, tuple[Callable[[], PrivateATE], tuple[float, float], str]] = {
    "shares": (
        lambda: model(trial(), budget_shares={"y": 0.6, "wage": 0.4}), (1, DELTA),
        "leave budget_shares= out, or delta",
    ),
    "missing private": (
        lambda: model(with_holes(trial()), missing="private"), (1, DELTA),
        "missing_policy='private' of 'y' is not offered with delta above 0; give a number",
    ),
    "missing public, treatment private": (
        lambda: private(with_holes(trial()), missing="public"), (1, DELTA), "with several outcomes",
    ),
}  # fmt: skip


@pytest.mark.parametrize("words", REFUSED)
def test_what_has_no_joint_release_is_refused_before_a_charge(words: str) -> None:
    make, budget, message = REFUSED[words]
    made, purse = make(), Accountant(9, 0.1, relation="replace-one-design-public")
    for attempt in (lambda: made.fit(*budget, accountant=purse), lambda: made.plan(*budget)):
        with pytest.raises(ParameterError, match=re.escape(message)):
            attempt()
    assert not list(purse.ledger)


def test_clusters_are_refused() -> None:
    data = trial()
    data["site"] = 1.0 + np.arange(len(data)) % 2
    data["t"] = (data["site"] == 1) * 1.0
    facts = schema()
    data["group"] = np.arange(len(data)) % 20.0
    data["t"] = data["group"] % 2
    facts = Schema((*facts.columns, Column("group", "byte", levels=tuple(map(float, range(20))))))
    made = PrivateATE(data, facts, outcome="y", assignment=dprct.Cluster("t", cluster="group"))
    with pytest.raises(ParameterError, match="clusters were assigned"):
        made.plan(1, DELTA)


@pytest.mark.parametrize("option", ["radius", "centre"])
def test_outcomes_have_no_ball(option: str) -> None:
    with pytest.raises(ParameterError, match=f"no option {option}="):
        PrivateATE(trial(), schema(), outcome="y", treatment="t", **{option: 2.0})


@pytest.mark.long
@pytest.mark.parametrize("law", ["normal", "exponential", "lognormal", "sd three times too small"])
def test_an_effect_is_kept_whatever_the_law(law: str) -> None:
    """Its estimand is the effect on the outcome clipped at its bounds, and nothing else of it.

    False alarm 1e-9: the mean of 20 fits, 6.1 of their errors wide.  A ball of twice a typical row
    keeps .93, .83 and .72 of the effect, and .50 with the scale too small, which are at least 15
    errors away.
    """
    rng, n, gaps, errors = np.random.default_rng(5), 20_000, [], []
    facts = Schema((Column("y", bounds=(-4.0, 12.0), **NEVER), schema().column("t")))
    for seed in range(20):
        t = rng.permutation(n) % 2
        y = {"normal": 1 + 0.4 * t + rng.normal(size=n),
             "exponential": rng.exponential(1.0, n) * (1 + 0.4 * t),
             "lognormal": np.exp(rng.normal(size=n) + 0.3 * t),
             "sd three times too small": 1 + 0.4 * t + rng.normal(size=n)}[law]  # fmt: skip
        y = np.clip(y, -4, 12)
        sd = float(y.std()) / (3 if law.startswith("sd") else 1)
        table = pd.DataFrame({"y": y, "t": t * 1.0})
        scaled = facts.declare(y={"sd": round(sd, 2)})
        made = PrivateATE(table, scaled, outcome="y", treatment="t")
        result = made.fit(4, DELTA, rng=seed)
        gaps.append(result.params["t"] - (y[t == 1].mean() - y[t == 0].mean()))
        errors.append(result.bse_noise["t"])
    assert abs(np.mean(gaps)) < 6.1 * np.mean(errors) / np.sqrt(20) < 0.02
