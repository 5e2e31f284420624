"""What is released is the regression as it is written, on columns clipped at declared bounds.

A coefficient of a release and that of least squares on the same clipped rows differ by noise of a
known standard deviation alone, so that one release tells of each law and each wrong scale.  Of six
standard deviations 2e-9 of true ones fail, 1e-7 in all; a ball that holds outcomes as well moves
these coefficients by 12 to 90 of them.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct import Calibrated, Column, Complete, PrivateATE, PrivateMoments, Schema, Simple
from dprct.estimate.moments.layout import GATE, laid_out
from dprct.estimate.moments.plan import errors_of, narrowed, parts_kept
from dprct.estimate.moments.release import gaussian_of
from dprct.privacy.budget import Budget

N, FALSE = 20_000, 6.0
T = np.arange(N) % 2 * 1.0
NEVER: Any = {"missing": ()}


def _rng() -> np.random.Generator:
    return np.random.default_rng(7)


def _spread(width: Any) -> Any:
    return np.exp(width * _rng().normal(size=N) - width**2 / 2)


LAWS: dict[str, tuple[Any, tuple[float, float]]] = {
    "normal": (0.4 * T + _rng().normal(size=N), (-5, 5)),
    "lognormal": (np.exp(0.2 * T + _rng().normal(size=N)), (0, 50)),
    "zero-inflated": (
        np.exp(0.2 * T + 1.2 * _rng().normal(size=N)) * (np.arange(N) % 10 >= 3), (0, 100)
    ),
    "equal means, unequal spread": (_spread(0.5 + 0.7 * T), (0, 60)),
    "rare": ((_rng().random(N) < 0.02 + 0.01 * T) * 1.0, (0, 1)),
}  # fmt: skip


def table(law: str) -> tuple[pd.DataFrame, Schema]:
    values, bounds = LAWS[law]
    x = np.random.default_rng(8).normal(size=N)
    data = pd.DataFrame({"y": values.clip(*bounds), "t": T, "x": x.clip(-4, 4)})
    y = (
        Column("y", "byte", levels=(0.0, 1.0), **NEVER)
        if law == "rare"
        else Column("y", bounds=bounds, **NEVER)
    )
    t = Column("t", "byte", levels=(0.0, 1.0), **NEVER)
    return data, Schema((y, t, Column("x", bounds=(-4, 4), **NEVER)))


def of_noise(released: Any, raw: float, name: str = "t") -> float:
    return float((released.params[name] - raw) / released.bse_noise[name])


@pytest.mark.parametrize("scale", [1.0, 1 / 3, 3.0])
@pytest.mark.parametrize("law", LAWS)
def test_an_effect_is_that_of_the_regression_as_written(law: str, scale: float) -> None:
    """With right and wrong scales, and centres off by a standard deviation."""
    data, schema = table(law)
    sd = {"y": scale * float(data["y"].std())}
    raw = dprct.ols("y ~ t + x", data, schema)
    facts = {"y": {"sd": sd["y"]}, "x": {"sd": scale, "centre": 1.0}}
    model = PrivateMoments(data, schema.declare(**facts), formulas=["y ~ t + x"])
    found = model.fit(epsilon=4, delta=1e-6).ols("y ~ t + x")
    # x is projected: where arms differ in it by chance, that moves the effect by less than this
    assert (
        abs(of_noise(found, raw.params["t"])) < FALSE + 0.05 * raw.bse["t"] / found.bse_noise["t"]
    )
    assert 0.9 < found.bse["t"] / math.hypot(raw.bse["t"], found.bse_noise["t"]) < 1.5


@pytest.mark.parametrize("law", LAWS)
def test_effects_of_arms_are_differences_of_clipped_means(law: str) -> None:
    data, schema = table(law)
    raw = float(data.groupby("t")["y"].mean().diff().iloc[1])
    two = data[["y", "t"]], schema.select(("y", "t"))
    sd = float(data["y"].std()) / 3
    scaled = two[1].declare(y={"sd": sd})
    moments = PrivateMoments(two[0], scaled, formulas=["y ~ t"], assignment=Simple("t", shares=0.5))
    assert abs(of_noise(moments.fit(4, 1e-6).effects(), raw)) < FALSE
    bounded = two[1].declare(y=LAWS[law][1]) if law == "rare" else two[1]
    known = bounded.declare(y={"sd": sd})
    design: dict[str, Any] = {"outcome": ["y"], "assignment": Complete("t", shares=0.5)}
    result = PrivateATE(two[0], known, **design).fit(4, 1e-6)
    assert abs(of_noise(result, raw, str(result.params.index[0]))) < FALSE
    release = Calibrated(two[0], known, **design, covariate_release="filler").fit(4, 1e-6)
    assert abs(of_noise(release.estimates, raw, str(release.estimates.params.index[0]))) < FALSE
    if law != "rare":
        low, high = LAWS[law][1]
        for summary in (result.summary(), release.estimates.summary(), release.summary()):
            assert f"y clipped to [{low:g}, {high:g}]" in summary


def many() -> tuple[pd.DataFrame, Schema, str]:
    """Ten covariates and more outcomes than a note names."""
    rng, names = np.random.default_rng(3), [f"x{j}" for j in range(10)]
    data = pd.DataFrame(rng.normal(size=(N, 10)).clip(-4, 4), columns=names).assign(t=T)
    outcomes = [f"y{j}" for j in range(10)]
    for name in outcomes:
        data[name] = (0.2 * T + rng.normal(size=N)).clip(-5, 5)
    columns = [*(Column(name, bounds=(-4, 4), **NEVER) for name in names),
               *(Column(name, bounds=(-5, 5), **NEVER) for name in outcomes),
               Column("t", "byte", levels=(0.0, 1.0), **NEVER)]  # fmt: skip
    return data, Schema(tuple(columns)), "y9 ~ t + " + " + ".join(names)


def test_a_treatment_without_a_scale_sends_nothing_to_the_box() -> None:
    data, schema, formula = many()
    sd = {name: {"sd": 1.0} for name in [*(f"x{j}" for j in range(10)), "y9"]}
    model = PrivateMoments(data, schema.declare(**sd), formulas=[formula])
    raw, found = dprct.ols(formula, data, schema), model.fit(1, 1e-6).ols(formula)
    assert found.bse["t"] / raw.bse["t"] < 2.2  # 11 in the box
    assert model.plan(1, 1e-6).value("scales", "of t: half its range") == 0.5


def test_a_fit_names_its_own_estimand_among_many() -> None:
    data, schema, formula = many()
    outcomes = [f"y{j}" for j in range(10)]
    moments = PrivateMoments(
        data, schema, columns=outcomes, formulas=[formula], assignment=Simple("t", shares=0.5)
    ).fit(4, 1e-6)
    said = " ".join(str(moments.ols("y9 ~ t + x0")).split())
    assert "those of y9 clipped to [-5, 5], x0 clipped to [-4, 4]." in said
    assert "y0 clipped" not in said
    assert "projected" in said
    assert "projected" not in " ".join(str(moments.effects("y9")).split())


WIDE = Schema((
    Column("y", bounds=(0, 50), sd=2.3, **NEVER), Column("t", "byte", levels=(0.0, 1.0), **NEVER),
    Column("x", bounds=(-4, 4), sd=1.0, **NEVER),
))  # fmt: skip


def wide(schema: Schema = WIDE) -> PrivateMoments:
    data = pd.DataFrame({"y": T + 1.0, "t": T, "x": np.linspace(-1, 1, N)})
    return PrivateMoments(data, schema, formulas=["y ~ t + x"])


def test_a_plan_proposes_narrower_bounds_with_the_error_that_they_have() -> None:
    plan = wide().plan(1, 1e-6)
    quantities = "better_bounds", "error_at_better_bounds", "error_at_these"
    width, error, now = (plan.value(one, outcome="y") for one in quantities)
    assert now == plan.value("error_ratio", term="t")
    kept = ", ".join(f"{part:.3f}" for part in parts_kept(0.0, width, 2.3))
    assert plan.value("better_bounds", f"they would keep {kept}") == width
    narrow = wide(WIDE.declare(y=(0, width)))
    facts = narrow.spec.at(narrow.facts, Budget(1, 1e-6))
    sigma = gaussian_of(narrow.spec.allocation(narrow.facts, Budget(1, 1e-6))).noise_sd
    errors, _ = errors_of("y ~ t + x", facts, sigma)
    assert errors["t"] == pytest.approx(error, rel=5e-3)
    assert "apart" not in str(narrow.plan(1, 1e-6))
    assert "apart" not in str(wide().plan(20, 1e-6))  # noise is small, and bounds cost nothing


def test_parts_that_bounds_keep_are_those_of_the_laws() -> None:
    """Against 1e6 draws: derivatives of clipped means, whose errors are below 2e-3."""
    rng, width = np.random.default_rng(2), 3.0
    z = rng.normal(size=10**6)
    normal = (np.abs(z) < width / 2).mean()
    exponential = rng.exponential(size=10**6)
    log = np.exp(z) / math.sqrt(math.e**2 - math.e)
    kept = [float((x * (x < width)).mean() / x.mean()) for x in (exponential, log)]
    assert parts_kept(0.0, width, 1.0) == pytest.approx((normal, *kept), abs=4e-3)


def test_a_narrowed_place_keeps_its_middle_and_scale() -> None:
    (place,) = [one for one in wide().facts.layout.places if one.name == "y"]
    found = narrowed(place, 10.0)
    assert found.variable.bounds == (20.0, 30.0)
    assert (found.centre, found.scale, found.exempt) == (place.centre, place.scale, True)


def test_a_plan_says_how_noisy_means_far_from_the_middle_are() -> None:
    """Where numbers of people are noisy too; everybody is at an end of the bounds."""
    data = pd.DataFrame({"y": np.zeros(N), "t": T})
    model = PrivateMoments(
        data, WIDE.select(("y", "t")), columns=["y"], assignment=Simple("t", shares=0.5)
    )
    plan = model.plan(1, 1e-6)
    times = plan.value("rows of a cell", "at an end")
    planned = plan.value("noise_sd", outcome="y", term="t")
    found = float(model.fit(1, 1e-6).effects("y").bse_noise["t"])
    assert found == pytest.approx(times * planned, rel=0.1)
    assert times == pytest.approx(3.0, rel=0.01)  # h = R / 2: root (1 + 8)


def test_regressions_are_laid_out_so_that_they_are_estimated() -> None:
    """At n = 3,000 the least error alone would leave eta^2 above the gate's half."""
    data, schema, formula = many()
    sd = {name: {"sd": 1.0} for name in [*(f"x{j}" for j in range(10)), "y9"]}
    model = PrivateMoments(data[:3000], schema.declare(**sd), formulas=[formula])
    facts = model.spec.at(model.facts, Budget(1, 1e-6))
    sigma = gaussian_of(model.spec.allocation(model.facts, Budget(1, 1e-6))).noise_sd
    _, eta = errors_of(formula, facts, sigma)
    assert eta < GATE / 2 * 1.05
    places = [replace(one, weight=1.0) for one in facts.layout.places]
    without, _ = laid_out(
        places, None, "regressions", outcomes=("y9",), treatments=("t",), grouped=False, n=3000,
        mu=1e3,
    )  # fmt: skip
    assert without != facts.layout.places
