"""Logits, probits and Poisson regressions by private scoring, against maximum likelihood."""

from __future__ import annotations

import dataclasses
import math
import re
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
import statsmodels.api as sm
from scipy import special, stats

import dprct
from dprct import Regression
from dprct.errors import ParameterError
from dprct.estimate.moments.index_models import FAMILIES, regressors_among
from dprct.estimate.moments.index_results import AverageEffect
from dprct.queries.index_scores import Link

N = 4000
VILLAGES = 100
NEVER: Any = {"missing": ()}
SCHEMA = dprct.Schema((
    dprct.Column("y", "byte", levels=(0.0, 1.0), **NEVER),
    dprct.Column("visits", "byte", bounds=(0, 12), **NEVER),
    dprct.Column("treat", "byte", levels=(0.0, 1.0), **NEVER),
    dprct.Column("x", bounds=(-3, 3), sd=1, centre=0, **NEVER),
    dprct.Column("f", "byte", levels=(0.0, 1.0), **NEVER),
    dprct.Column("village", "int", fate="public", **NEVER),
    dprct.Column("income", bounds=(0, 10), sd=2, **NEVER),
))  # fmt: skip
DESIGN = dprct.Complete("treat", shares=0.5)
PUBLIC: Any = {"assignment": DESIGN, "neighbors": "replace-one-design-public"}
LARGE = (40, 1e-6)


def people() -> pd.DataFrame:
    rng = np.random.default_rng(11)
    x = rng.normal(size=N).clip(-3, 3)
    f, treat = rng.integers(0, 2, N), rng.permutation(N) % 2
    village = np.arange(N) % VILLAGES
    index = -0.5 + 0.5 * treat + 0.6 * x - 0.3 * f + 0.4 * rng.normal(size=VILLAGES)[village]
    return pd.DataFrame({
        "y": (rng.random(N) < 1 / (1 + np.exp(-index))).astype(float),
        "visits": rng.poisson(np.exp(0.3 + 0.3 * treat + 0.2 * x)).clip(0, 12),
        "treat": treat, "x": x, "f": f, "village": village,
        "income": (5 + treat + 2 * rng.normal(size=N)).clip(0, 10),
    })  # fmt: skip


ROWS = people()


def model(*asked: Regression, data: Any = ROWS, **options: Any) -> Any:
    # rows of normal covariates are hardly ever outside a ball of this radius
    return dprct.PrivateMoments(
        data, SCHEMA, formulas=list(asked), **{"radius": "box", **PUBLIC, **options}
    )


@pytest.mark.parametrize(
    ("family", "right"),
    [("logit", "treat + x + f"), ("logit", "treat * x"), ("probit", "treat + x"),
     ("poisson", "treat + x")],
)  # fmt: skip
def test_with_hardly_any_noise_it_is_maximum_likelihood(family: Any, right: str) -> None:
    """Coefficients and robust errors as of rows, where three steps are enough."""
    outcome = "visits" if family == "poisson" else "y"
    asked = Regression(f"{outcome} ~ {right}", family=family)
    found = model(asked).fit(*LARGE, rng=1).glm(asked)
    raw = getattr(dprct, family)(asked.formula, ROWS, cov_type="HC1")
    assert list(found.params.index) == list(raw.params.index)
    assert (abs(found.params - raw.params) < 4 * found.bse_noise + 0.1 * raw.bse).all()
    np.testing.assert_allclose(np.sqrt(found.bse**2 - found.bse_noise**2), raw.bse, rtol=0.12)
    assert found.estimated.all()


def test_a_cloglog_is_maximum_likelihood_too() -> None:
    """Coefficients, errors and average effects, of statsmodels' own link."""
    data = ROWS.assign(y=np.random.default_rng(4).random(N) < 1 - np.exp(
        -np.exp(-0.8 + 0.4 * ROWS["treat"] + 0.4 * ROWS["x"]))) * 1.0  # fmt: skip
    asked = Regression("y ~ treat + x", family="cloglog")
    m = model(asked, data=data).fit(*LARGE, rng=1)
    found = m.glm(asked)
    X = sm.add_constant(data[["treat", "x"]])
    link = sm.families.links.CLogLog()
    raw = sm.GLM(data["y"], X, family=sm.families.Binomial(link)).fit(cov_type="HC1")
    gap = np.abs(found.params.to_numpy() - raw.params.to_numpy())
    assert (gap < 4 * found.bse_noise.to_numpy() + 0.1 * raw.bse.to_numpy()).all()
    sampling = np.sqrt(found.bse**2 - found.bse_noise**2)
    np.testing.assert_allclose(sampling, raw.bse, rtol=0.12)
    both = [raw.predict(X.assign(treat=t)).mean() for t in (0.0, 1.0)]
    assert abs(found.margins("treat").params.iloc[0] - (both[1] - both[0])) < 0.01
    cells = m.glm("y ~ treat", family="cloglog")
    means = data.groupby("treat")["y"].mean()
    assert abs(cells.params["Intercept"] - np.log(-np.log(1 - means[0]))) < 0.05


def test_results_have_what_those_of_rows_have() -> None:
    asked = Regression("y ~ treat + x + f", family="logit", name="take up")
    m = model(asked).fit(*LARGE, rng=1)
    found, raw = m.glm("take up"), dprct.logit("y ~ treat + x + f", ROWS, cov_type="HC1")
    np.testing.assert_allclose(found.odds_ratios(), raw.odds_ratios(), rtol=0.1)
    for name in ("treat", "x"):
        one, other = found.margins(name), raw.margins(name, ROWS)
        assert abs(float(one.params.iloc[0]) / float(other.params.iloc[0]) - 1) < 0.08
        assert abs(float(one.bse.iloc[0]) / float(other.bse.iloc[0]) - 1) < 0.08
    assert found.wald_test("treat = x = 0").pvalue < 1e-6
    assert abs(float(found.lincom("treat - x").params.iloc[0]) + 0.1) < 0.2
    assert "private scoring" in str(found.summary())
    with pytest.raises(ParameterError, match="no rate ratios"):
        found.rate_ratios()
    with pytest.raises(ParameterError, match="is not a regressor"):
        found.margins("z")
    with pytest.raises(ParameterError, match="was not declared"):
        m.glm("y ~ treat")


def test_a_model_is_found_in_any_order_of_terms_and_only_as_what_it_is() -> None:
    m = model(Regression("y ~ treat + x + f", family="logit")).fit(*LARGE, rng=1)
    pd.testing.assert_series_equal(
        m.glm("y ~ f + x + treat").params, m.glm("y ~ treat + x + f").params
    )
    with pytest.raises(ParameterError, match=r"with family=.*glm\(\)"):
        m.margins("y ~ f + x + treat")
    rows = ROWS.assign(treat=ROWS["village"] % 2)
    villages = {"assignment": dprct.Cluster("treat", cluster="village", icc=0.1)}
    m = model(Regression("y ~ treat + x", family="logit"), data=rows, **villages).fit(*LARGE, rng=1)
    with pytest.raises(ParameterError, match=r"with family=.*glm\(\)"):
        m.ols("y ~ x + treat")
    with pytest.raises(ParameterError, match="declared are y ~ treat \\+ x, family logit"):
        m.effects()


def test_the_estimand_of_a_plan_names_no_covariate_of_declared_regressions() -> None:
    asked = Regression("income ~ treat + x", cluster="village")
    assert model(asked).plan(*LARGE).facts["estimand"] == "regressions of income clipped to [0, 10]"


def test_errors_of_clusters_are_those_of_rows() -> None:
    asked = Regression("y ~ treat + x", family="logit", cluster="village")
    found = model(asked).fit(*LARGE, rng=1).glm(asked)
    raw = dprct.logit("y ~ treat + x", ROWS, cluster="village")
    assert found.cov_type == "CR1"
    np.testing.assert_allclose(found.bse, raw.bse, rtol=0.15)


def test_errors_of_clusters_in_two_ways_are_those_of_rows(tmp_path: Any) -> None:
    data = ROWS.assign(team=(np.arange(N) // VILLAGES) % 20)
    data["x"] = (
        data["x"] * 0.8 + np.random.default_rng(3).normal(size=20)[data["team"]] * 0.6
    ).clip(-3, 3)
    schema = dprct.Schema((*SCHEMA.columns, dprct.Column("team", "int", fate="public", **NEVER)))
    asked = Regression("y ~ treat + x", family="logit", cluster=("village", "team"))
    model = dprct.PrivateMoments(data, schema, formulas=[asked], radius="box", **PUBLIC)
    found = model.fit(*LARGE, rng=1).glm(asked)
    raw = sm.Logit(data["y"], sm.add_constant(data[["treat", "x"]]))
    both, single = (
        raw.fit(disp=0, cov_type="cluster", cov_kwds={"groups": data[ways].to_numpy()})
        for ways in (["village", "team"], "village")
    )
    sampling = np.sqrt(found.bse**2 - found.bse_noise**2)
    np.testing.assert_allclose(sampling, both.bse, rtol=0.2)
    assert (abs(np.log(both.bse / single.bse)) > 0.3).any()  # one way is not enough here
    assert "at least 20 clusters of team and village" in str(found.summary())
    real = model.fit(4, 1e-6)
    again = dprct.Moments.load(real.save(tmp_path / "a.moments.json"))
    assert again.to_dict() == real.to_dict()
    assert again.models[0].ways == model.facts.models[0].ways
    with pytest.raises(ParameterError, match="5 clusters are too few"):
        dprct.PrivateMoments(data.assign(team=data["team"] % 5), schema, formulas=[asked], **PUBLIC)


def weighted_errors(data: Any, outcome: str, family: str, beta: Any) -> Any:
    """Robust errors of a regression on treat and x with the weights w, by their definition."""
    X = sm.add_constant(data[["treat", "x"]]).to_numpy(float)
    index, y, w = X @ beta.to_numpy(), data[outcome].to_numpy(), data["w"].to_numpy()
    mean = {"logit": special.expit, "probit": special.ndtr, "poisson": np.exp}[family](index)
    e, at = y - mean, mean if family == "poisson" else mean * (1 - mean)
    if family == "probit":
        d = np.exp(-(index**2) / 2) / np.sqrt(2 * np.pi)
        e, at = e * d / at, d * d / at
    A = np.linalg.inv((X.T * (w * at)) @ X)
    return np.sqrt(np.diag(A @ (X.T * (w * e) ** 2) @ X @ A))


@pytest.mark.parametrize("family", ["logit", "probit", "poisson"])
def test_conditions_and_weights_are_those_of_rows(family: Any, tmp_path: Any) -> None:
    """Of some rows, with weights, against maximum likelihood of these rows."""
    outcome = "visits" if family == "poisson" else "y"
    rng = np.random.default_rng(2)
    data = ROWS.assign(w=rng.uniform(1, 4, N))
    # three times the variance of a Poisson law: errors that are not robust are too small
    mean = np.exp(0.3 + 0.3 * data["treat"] + 0.2 * data["x"])
    data["visits"] = (3 * rng.poisson(mean / 3)).clip(0, 12)
    schema = dprct.Schema((*SCHEMA.columns, dprct.Column("w", bounds=(0, 4), **NEVER)))
    asked = [
        Regression(f"{outcome} ~ treat + x", family=family, **more)
        for more in ({"where": "f == 1"}, {"weights": "w"}, {"where": "f == 1", "weights": "w"})
    ]
    m = dprct.PrivateMoments(data, schema, formulas=asked, radius="box", **PUBLIC).fit(
        *LARGE, rng=1)  # fmt: skip
    for one in asked:
        found, rows = m.glm(one), data[data["f"] == 1] if one.where else data
        if one.weights:  # the score of rows as often as their weights in quarters
            rows = rows.loc[rows.index.repeat(np.rint(4 * rows["w"]).astype(int))]
        raw = getattr(dprct, family)(one.formula, rows, cov_type="HC1")
        assert (abs(found.params - raw.params) < 4 * found.bse_noise + 0.1 * raw.bse).all()
        if one.where:
            assert abs(found.nobs / (data["f"] == 1).sum() - 1) < 0.02
        own = data[data["f"] == 1] if one.where else data
        wanted = raw.bse if not one.weights else weighted_errors(own, outcome, family, raw.params)
        sampling = np.sqrt(found.bse**2 - found.bse_noise**2)
        np.testing.assert_allclose(sampling / wanted, 1.1, rtol=0.15)
        for name in ("treat", "x"):  # over these rows
            effect, other = found.margins(name), raw.margins(name, rows)
            assert abs(effect.params[name] - other.params[name]) < 4 * effect.bse[name]
            assert effect.bse[name] > 0.9 * other.bse[name]
    # a seeded release is no document; that of a real one comes back with its conditions
    real = dprct.PrivateMoments(data, schema, formulas=asked, radius="box", **PUBLIC).fit(4, 1e-6)
    again = dprct.Moments.load(real.save(tmp_path / "a.moments.json"))
    assert again.to_dict() == real.to_dict()
    assert [one.where for one in again.models] == ["f == 1", None, "f == 1"]


@pytest.mark.parametrize("family", FAMILIES)
def test_information_says_who_counts(family: Any) -> None:
    """Means and covariances with weights w are undone, at any level; planted: those left as is."""
    link, rng = Link(family, 12.0 if family == "poisson" else 1.0), np.random.default_rng(7)
    x = rng.normal(size=(40_000, 2)) @ np.array([[1.0, 0.4], [0.0, 0.8]]) + [0.5, -1.0]
    X = np.column_stack([np.ones(len(x)), x])
    beta = np.array([-2.0, 0.5, -0.4])
    information = (X * link.weights(X @ beta)[:, None]).T @ X
    mean, cov = regressors_among(link, information, beta)
    np.testing.assert_allclose(mean, X.mean(axis=0), atol=0.03)
    np.testing.assert_allclose(cov[1:, 1:], np.cov(x.T), rtol=0.04, atol=0.02)
    assert abs(information[0, 1:] / information[0, 0] - x.mean(axis=0)).max() > 0.05
    # released numbers may be anything: below 0, or an index so far out that no row has weight there
    noise = np.array([[-10.0, -7.7, 0.4], [-7.7, 0.6, 0.1], [0.4, 0.1, 0.5]])
    for told, at in ((-information, beta), (noise, [0.8, 2.8, 0.1]), (noise, [0.8, -2.8, 0.1])):
        flat, none = regressors_among(link, told, np.array(at))
        assert np.isfinite([*flat, *none.ravel()]).all()


def test_errors_have_what_another_step_may_do() -> None:
    """Up to half of an error left out, up to an error in the error, and beyond not estimated."""
    asked = Regression("y ~ treat + x", family="logit")
    release = model(asked).fit(*LARGE, rng=1)
    drawn, before = release.drawn.models[0], release.glm(asked)
    least = float((before.bse * drawn.range).min())
    for times, widened, read in ((0.4, False, True), (0.9, True, True), (1.1, True, False)):
        left = dataclasses.replace(drawn, remainder=times * least)
        own = dataclasses.replace(release.drawn, models=(left,))
        found = dataclasses.replace(release, drawn=own).glm(asked)
        assert found.estimated.all() == read
        at = int((before.bse * drawn.range).argmin())
        assert ("another step of the fit" in str(found.summary())) == widened
        if read:
            ratio = found.bse.iloc[at] / before.bse.iloc[at]
            assert ratio == pytest.approx((1 + times**2) ** 0.5 if widened else 1)
    error = np.sqrt(np.diag(drawn.sampling))
    loud = dataclasses.replace(drawn, noise=3 * drawn.sampling)  # an error is twice that of rows
    loud = dataclasses.replace(loud, remainder=1.5 * float((error * drawn.range).min()))
    assert loud.estimated.all()
    assert loud.moved.any()
    moved = dataclasses.replace(before, moved=np.full(len(before.params), 0.04))
    for one, more in (("treat", 0.0), ("treat + x", 0.08), ("treat - 3*x", 0.4)):
        own = before.lincom(one).bse.iloc[0] ** 2 + more  # |b| + |b'| at most: bb' <= 2 diag(b^2)
        assert moved.lincom(one).bse.iloc[0] ** 2 == pytest.approx(own)
    assert moved.margins("treat").bse.iloc[0] > before.margins("treat").bse.iloc[0]
    asked_of_both = "treat = x = 0"
    assert moved.wald_test(asked_of_both).statistic < before.wald_test(asked_of_both).statistic
    bias = np.linspace(0, 1, 101)  # the interval covers at every bias of up to an error
    end = 1.959964 * np.sqrt(1 + bias**2)
    assert (special.ndtr(end - bias) - special.ndtr(-end - bias) > 0.9499).all()


def test_what_another_step_may_do_follows_from_the_last_one() -> None:
    """Half the mean squared change of the index, in three steps of Newton's method by hand."""
    rng = np.random.default_rng(4)
    index = -2.5 + 0.8 * ROWS["treat"] + 1.2 * ROWS["x"]
    data = ROWS.assign(y=(rng.random(N) < special.expit(index)).astype(float))
    data = pd.concat([data] * 8, ignore_index=True)
    asked = Regression("y ~ treat + x", family="logit")
    drawn = model(asked, data=data).fit(*LARGE, rng=1).drawn.models[0]
    X, y = sm.add_constant(data[["treat", "x"]]).to_numpy(float), data["y"].to_numpy()
    q = y.mean()
    beta = np.linalg.lstsq(X, y - q, rcond=None)[0] / (q * (1 - q))
    beta[0] += special.logit(q)
    for _ in range(2):
        p = special.expit(X @ beta)
        step = np.linalg.solve((X.T * p * (1 - p)) @ X, X.T @ (y - p))
        beta = beta + step
    left = np.square(X @ step).mean() / 2
    assert drawn.remainder == pytest.approx(left, rel=0.25)
    end = sm.Logit(y, X).fit(disp=0).params
    assert (abs(beta - end) < drawn.left).all()


def test_treatment_may_be_private_and_there_need_be_none() -> None:
    asked = Regression("y ~ treat + x", family="logit")
    raw = dprct.logit("y ~ treat + x", ROWS)
    hidden = model(asked, assignment=dprct.Simple("treat"), neighbors="replace-one")
    chosen = model(asked, assignment=None, neighbors="replace-one")
    for one in (hidden, chosen):
        found = one.fit(*LARGE, rng=2).glm(asked)
        assert (abs(found.params - raw.params) < 0.4 * raw.bse).all()


def test_documents_hold_models_of_an_index(tmp_path: Any) -> None:
    asked = Regression("y ~ treat + x", family="logit")
    linear = Regression("income ~ treat + x")
    m = model(asked, linear).fit(4, 1e-6)
    again = dprct.Moments.load(m.save(tmp_path / "a.moments.json"))
    assert again.to_dict() == m.to_dict()
    assert str(again.glm(asked).summary()) == str(m.glm(asked).summary())
    assert [one.title for one in again.declared] == ["income ~ treat + x"]
    few = model(asked).fit(0.05, 1e-6)
    again = dprct.Moments.load(few.save(tmp_path / "b.moments.json"))
    assert not again.glm(asked).estimated.any()
    assert "Not estimated" in str(again.glm(asked).summary())
    with pytest.raises(ParameterError, match="not estimated"):
        again.glm(asked).margins("treat")


@pytest.mark.parametrize("engine", ["Polars", "lazy", "DuckDB"])
def test_engines_draw_the_same_bits(engine: str) -> None:
    data: Any = pl.DataFrame(ROWS.head(500))
    wanted = model(Regression("y ~ treat + x", family="logit"), data=ROWS.head(500),
                   attrition=True).fit(8, 1e-6, rng=5)  # fmt: skip
    if engine == "lazy":
        data = data.lazy()
    if engine == "DuckDB":
        connection = duckdb.connect()
        connection.register("people", data.to_arrow())
        data = connection.sql("select * from people order by hash(columns(*))")
    found = model(Regression("y ~ treat + x", family="logit"), data=data, attrition=True).fit(
        8, 1e-6, rng=5)  # fmt: skip
    one, other = wanted.drawn.models[0], found.drawn.models[0]
    assert one.params.tobytes() == other.params.tobytes()
    assert one.sampling.tobytes() == other.sampling.tobytes()


REFUSED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"where": "x > f"}, {}, "computes with columns"),
    ({"where": "treat == 1"}, {}, "treat has not all of its levels"),
    ({"where": "f == 2"}, {}, "holds for nobody"),
    ({"weights": "village"}, {}, "needs bounds, 0 or above"),
    ({"weights": "y"}, {}, "in its formula"),
    ({"joint": "a"}, {}, "tests across regressions"),
    ({"formula": "income ~ treat"}, {}, "a logit is of an outcome of 0 and 1"),
    ({"formula": "y ~ treat + x | village"}, {}, r"write C\(village\)"),
    ({"formula": "y ~ 0 + treat"}, {}, "has no constant"),
    ({"formula": "y ~ x + [f ~ treat]"}, {}, "has instruments"),
    ({"formula": "y ~ treat:x + x"}, {}, "needs both of its factors"),
    ({"cluster": "f"}, {}, "must be public"),
]


@pytest.mark.parametrize(("facts", "options", "words"), REFUSED)
def test_what_is_not_served_is_refused_by_name(
    facts: dict[str, Any], options: dict[str, Any], words: str
) -> None:
    one = Regression(**{"formula": "y ~ treat + x", "family": "logit", **facts})
    with pytest.raises(ParameterError, match=words):
        model(one, **options)


def test_the_plan_names_shares_and_errors() -> None:
    asked = Regression("y ~ treat + x", family="logit")
    plan = model(asked).plan(4, 1e-6)
    table = plan.to_frame()
    errors = table[(table["regression"] == asked.title) & (table["term"] == "treat")]
    assert {"std_error", "noise_sd"} <= {*errors["quantity"]}
    parts = {part.part: part for part in plan.draws} if hasattr(plan, "draws") else {}
    assert plan.budget.epsilon == 4
    assert all(" of model 1" in name or name == "moments" for name in parts)


def test_errors_of_rare_outcomes_are_planned_from_their_mean() -> None:
    """Raw errors in the plan are those of rows where 4 % have the outcome."""
    rare = ROWS.assign(y=(np.random.default_rng(3).random(N) < 0.04).astype(float))
    raw = dprct.logit("y ~ treat + x", rare).bse["treat"]
    for facts, right in (({"centre": 0.04}, True), ({"sd": 0.196}, True), ({}, False)):
        asked = Regression("y ~ treat + x", family="logit")
        plan = dprct.PrivateMoments(
            rare, SCHEMA.declare(y=facts), formulas=[asked], **PUBLIC
        ).plan(4, 1e-6)  # fmt: skip
        planned = plan.value("std_error_without_privacy", regression=asked.title, term="treat")
        assert (abs(planned / raw - 1) < 0.2) == right


@pytest.mark.parametrize("name", ["treat", "x"])
@pytest.mark.parametrize("family", FAMILIES)
def test_average_effects_have_the_noise_of_moments(family: Any, name: str) -> None:
    """The variance that they have for it is that over draws of the noise of moments.

    Of D draws the ratio has an sd of (2 / D)^.5: 5.4 of these are passed in 1e-6 of runs, of all
    families and regressors together.  Without the noise of the mean it would be 3 or more.
    """
    outcome = "visits" if family == "poisson" else "y"
    asked = Regression(f"{outcome} ~ treat + x", family=family)
    found = model(asked).fit(8, 1e-6, rng=3).glm(asked)
    names, known = list(found.params.index), found.averages
    beta = found.params.to_numpy()
    effect = AverageEffect(family, beta, names.index(name), known.two_valued.get(name), known)
    planned, moments = effect.slopes()[2], known.moments
    rng, draws = np.random.default_rng(17), []
    G, d = moments.rows.shape[0], moments.rows.shape[2]
    for _ in range(2000):
        noise = rng.normal(size=(G, d, d)) * moments.s2[:, None, None]
        noise = (noise + noise.swapaxes(1, 2)) / 2
        noise[:, 0, 0] = 0  # numbers of rows are public
        Q = (
            moments.matrix
            + np.einsum("gid,gde,gje->ij", moments.rows, noise, moments.rows) / moments.n
        )
        mean = Q[1, 1:]
        own = dataclasses.replace(
            known, mean=mean, cov=Q[1:, 1:] - np.outer(mean, mean),
            moments=dataclasses.replace(moments, matrix=Q),
        )  # fmt: skip
        draws.append(dataclasses.replace(effect, averages=own).here)
    assert abs(np.var(draws) / planned - 1) < 5.4 * math.sqrt(2 / len(draws))


@pytest.mark.parametrize(("mean", "family"), [(-0.01, "logit"), (1.0, "probit"), (0.0, "poisson")])
def test_average_effects_need_a_mean_that_an_outcome_can_have(mean: float, family: Any) -> None:
    """Noise may leave the released mean below 0 or above 1."""
    asked = Regression(f"{'visits' if family == 'poisson' else 'y'} ~ treat + x", family=family)
    found = model(asked).fit(8, 1e-6, rng=3).glm(asked)
    known = found.averages
    matrix = known.moments.matrix.copy()
    matrix[0, 1] = matrix[1, 0] = mean
    moments = dataclasses.replace(known.moments, matrix=matrix)
    own = dataclasses.replace(found, averages=dataclasses.replace(known, moments=moments))
    with pytest.raises(ParameterError, match="average effects are not estimated"):
        own.margins("x")


def test_average_effects_are_as_noisy_as_they_say() -> None:
    """Over fits to the same rows; chi-square bounds that a right law passes but for 1e-6."""
    asked, effects, said = Regression("y ~ treat + x", family="logit"), [], []
    steep = special.expit(2 * ROWS["x"] + ROWS["treat"]) > np.random.default_rng(8).random(N)
    own = model(asked, data=ROWS.assign(y=steep * 1.0))
    for seed in range(80):
        one = own.fit(6, 1e-6, rng=seed).glm(asked).margins("x")
        effects.append(one.params.iloc[0])
        said.append(one.bse_noise.iloc[0])
    ratio = np.var(effects) * 80 / np.mean(np.square(said))
    assert stats.chi2.ppf(5e-7, 79) < ratio < stats.chi2.ppf(1 - 5e-7, 79)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_plan_says_what_it_guessed_of_a_mean(family: Any) -> None:
    """Errors that it says for other means are those of fits to such rows, whose mean is secret."""
    outcome, largest = ("visits", 12) if family == "poisson" else ("y", 1)
    asked = Regression(f"{outcome} ~ treat + x", family=family)
    for share in (0.2, 0.1):
        rng = np.random.default_rng(5)
        rare = ROWS.assign(y=(rng.random(N) < share) * 1.0, visits=rng.poisson(share * 12, N))
        rare = rare.assign(visits=rare["visits"].clip(0, 12))
        own = model(asked, data=rare)
        said = " ".join(own.plan(8, 1e-6).to_text().split())
        assert said == " ".join(model(asked).plan(8, 1e-6).to_text().split())
        assert f"no mean of {outcome} is declared" in said
        errors = {
            at: float(error) for error, at in re.findall(r"([0-9.]+) at ([0-9.]+[0-9])", said)
        }
        found = own.fit(8, 1e-6, rng=3).glm(asked).bse["treat"]
        assert errors[f"{share * largest:g}"] == pytest.approx(found, rel=0.3)
    known = SCHEMA.declare(**{outcome: {"centre": 0.1 * largest}})
    plan = dprct.PrivateMoments(ROWS, known, formulas=[asked], **PUBLIC).plan(8, 1e-6)
    assert "is a guess" not in plan.to_text()


def test_the_plan_says_from_which_mean_on_a_model_is_lost() -> None:
    asked = Regression("y ~ treat + x", family="logit")
    said = " ".join(model(asked).plan(1, 1e-6).to_text().split())
    assert "and at 0.05 or less it is too noisy to be estimated" in said
    rare = ROWS.assign(y=(np.random.default_rng(5).random(N) < 0.02) * 1.0)
    found = [model(asked, data=rare).fit(1, 1e-6, rng=seed).glm(asked) for seed in range(8)]
    assert sum(bool(one.estimated["treat"]) for one in found) <= 2


@pytest.mark.parametrize("family", ["logit", "probit", "poisson"])
def test_saturated_models_follow_from_released_means(family: Any) -> None:
    """Arms, and arms within subgroups: coefficients and robust errors as of rows."""
    outcome = "visits" if family == "poisson" else "y"
    m = dprct.PrivateMoments(
        ROWS, SCHEMA, columns=["y", "visits"], subgroups=["f"], **PUBLIC
    ).fit(20, 1e-6, rng=3)  # fmt: skip
    for right in ("treat", "treat * f"):
        found = getattr(dprct, family)(f"{outcome} ~ {right}", m)
        raw = getattr(dprct, family)(f"{outcome} ~ {right}", ROWS, cov_type="HC1")
        assert list(found.params.index) == list(raw.params.index)
        assert (abs(found.params - raw.params) < 4 * found.bse_noise + 0.05 * raw.bse).all()
        np.testing.assert_allclose(np.sqrt(found.bse**2 - found.bse_noise**2), raw.bse, rtol=0.1)
    if family == "logit":
        raw = dprct.logit("y ~ treat", ROWS).margins("treat", ROWS)
        one = m.glm("y ~ treat", family="logit").margins("treat")
        assert abs(one.params["treat"] - raw.params["treat"]) < 0.01
    with pytest.raises(ParameterError, match="was not declared"):
        m.glm("y ~ treat")


def test_a_mean_near_an_end_has_no_link() -> None:
    rare = ROWS.assign(y=(np.arange(N) % 400 == 0).astype(float))
    m = dprct.PrivateMoments(rare, SCHEMA, columns=["y"], **PUBLIC).fit(1, 1e-6, rng=1)
    found = m.glm("y ~ treat", family="logit")
    assert not found.estimated.any()
    assert "within three of its errors" in str(found.summary())


def test_a_released_number_of_rows_may_be_anything() -> None:
    """Who has a value is private, and at a tiny budget hardly anybody is released to have one."""
    facts = {"missing": (".",), "missing_policy": "private"}
    schema = SCHEMA.declare(x=facts)
    asked = Regression("y ~ treat + x", family="logit")
    m = dprct.PrivateMoments(ROWS.head(200), schema, formulas=[asked])
    for seed in range(4):
        assert not m.fit(0.01, 1e-6, rng=seed).glm(asked).estimated.any()
    with pytest.raises(ParameterError, match="2 clusters are too few"):
        model(Regression("y ~ treat", family="logit", cluster="village"),
              data=ROWS.assign(village=ROWS["village"] % 2))  # fmt: skip


@pytest.mark.parametrize("name", ["arm", "treat"])
def test_a_treatment_may_have_any_name(name: str) -> None:
    """A column of the name by which arms were kept was taken for them, after the charge."""
    rng = np.random.default_rng(5)
    treated = rng.random(3000) < 0.5
    works = (rng.random(3000) < np.where(treated, 0.6, 0.4)) * 1.0
    data = pd.DataFrame({name: treated * 1.0, "works": works, "age": rng.uniform(20, 60, 3000)})
    schema = dprct.Schema((
        dprct.Column("works", "byte", levels=(0.0, 1.0), missing=()),
        dprct.Column(name, "byte", levels=(0.0, 1.0), missing=()),
        dprct.Column("age", bounds=(20.0, 60.0), missing=()),
    ))  # fmt: skip
    formula = f"works ~ {name} + age"
    model = dprct.PrivateMoments(
        data, schema, assignment=dprct.Simple(name, shares=0.5),
        formulas=[Regression(formula, family="logit")],
    )  # fmt: skip
    found = model.fit(8, 1e-6, rng=np.random.default_rng(1))
    assert abs(found.ols(formula).params[name] - 0.2) < 0.1
    assert abs(found.glm(formula, family="logit").params[name] - 0.81) < 0.4


@pytest.mark.parametrize("family", ["logit", "probit", "poisson"])
def test_the_plan_warns_of_models_that_noise_will_hide(family: Any) -> None:
    """The noise of the information has the inverse square of mu, and of n."""
    asked = Regression(f"{'visits' if family == 'poisson' else 'y'} ~ treat + x", family=family)
    words = "is likely not estimated at this n and budget: the noise of its information"
    assert words in " ".join(model(asked).plan(0.02, 1e-6).to_text().split())
    assert "is likely not estimated" not in model(asked).plan(*LARGE).to_text()
    few = pd.concat([ROWS[ROWS["treat"] == arm].head(100) for arm in (0, 1)], ignore_index=True)
    plan = model(asked, data=few).plan(0.3, 1e-6)
    assert words in " ".join(plan.to_text().split())


def beside(*more: Any, **options: Any) -> Any:
    """Two logits and a count beside linear regressions."""
    schema = SCHEMA.declare(y={"centre": 0.4}, visits={"centre": 1.5})
    asked = [
        Regression("y ~ treat + x", family="logit", name="one"),
        Regression("y ~ treat + x + f", family="logit", name="other"),
        Regression("visits ~ treat + x", family="poisson", name="count"),
    ]
    linear = [f"{name} ~ treat + {right}" for name in ("y", "income") for right in ("x", "x + f")]
    formulas = [*linear, *asked, *more]
    return dprct.PrivateMoments(ROWS, schema, formulas=formulas, **PUBLIC, **options)


def test_the_budget_is_divided_by_need_from_public_facts() -> None:
    """Moments have no more than first steps need, and what is noisier has more."""
    shares: Any = beside()._allocated(dprct.Budget(4, 1e-6)).shares
    assert sum(shares.values()) == 1
    of = [sum(v for k, v in shares.items() if k.endswith(f" of model {at}")) for at in (1, 2, 3)]
    assert shares["moments"] <= 0.1
    assert of[2] > of[0]
    assert 0.3 < sum(of) < 0.9
    # a header has the same shares as rows: nothing of the data is in them
    plan = beside().plan(4, 1e-6)
    assert plan.value("shares of mu squared", "models of an index") == pytest.approx(sum(of))
    other = beside()
    other._table = None  # the split asks no rows
    assert other._allocated(dprct.Budget(4, 1e-6)).shares == shares
    read = beside(columns=["income"])._allocated(dprct.Budget(4, 1e-6)).shares
    assert read["moments"] > shares["moments"]


@pytest.mark.parametrize("epsilon", [0.05, 8])
def test_many_models_leave_something_for_one_regression(epsilon: float) -> None:
    """Planted: moments as large as first steps want them, which left nothing."""
    kinds = [{"where": f"x > {at}"} for at in range(-2, 3)] + [{"cov_type": "nonrobust"}]
    asked = [Regression("y ~ treat + x", family="logit", name=str(at), **kind)  # type: ignore[arg-type]
             for at, kind in enumerate(kinds * 3)]  # fmt: skip
    own = model(Regression("income ~ treat + x"), *asked)
    shares: Any = own._allocated(dprct.Budget(epsilon, 1e-6)).shares
    assert sum(shares.values()) == 1
    assert shares["effects"] > 0.01
    assert min(shares.values()) > 0


@pytest.mark.parametrize("family", ["logit", "probit", "poisson"])
@pytest.mark.parametrize("clusters", [None, "village"])
def test_the_plan_says_the_errors_of_models(family: Any, clusters: str | None) -> None:
    """Printed errors, clustered or not, are the planned ones within three tenths."""
    outcome = "visits" if family == "poisson" else "y"
    asked = Regression(f"{outcome} ~ treat + x", family=family, cluster=clusters)
    facts = {"centre": float(ROWS[outcome].mean().round(1))}
    one = dprct.PrivateMoments(ROWS, SCHEMA.declare(**{outcome: facts}), formulas=[asked], **PUBLIC)
    plan, found = one.plan(8, 1e-6), one.fit(8, 1e-6, rng=3).glm(asked)
    for name in ("treat", "x"):
        planned = plan.value("std_error", regression=asked.title, term=name)
        assert planned == pytest.approx(found.bse[name], rel=0.3)
        noise = plan.value("noise_sd", regression=asked.title, term=name)
        assert noise == pytest.approx(found.bse_noise[name], rel=0.3)


def test_a_long_last_step_is_planned() -> None:
    """With little to spend another step may move a coefficient by more than its error."""
    asked = Regression("y ~ treat + x + f", family="logit")
    text = " ".join(model(asked).plan(0.25, 1e-6).to_text().split())
    assert "family logit: x likely not estimated at this n and budget: the last step" in text
    assert "likely not estimated" not in model(asked).plan(2, 1e-6).to_text()
