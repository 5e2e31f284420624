"""Robust errors: those of the rows where there is no noise, and refusals in words."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.resources import files
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import polars as pl
import pytest
import statsmodels.formula.api as smf

import dprct
from dprct import Column, Moments, PrivateMoments, Schema, Unit
from dprct.errors import DprctError, FileError, ParameterError
from dprct.estimate.moments.release import DrawnMoments, matrices
from dprct.estimate.moments.results import scores_by
from dprct.estimate.moments.robust_errors import SHARE, DrawnScores
from dprct.privacy.aggregates import _open
from dprct.privacy.budget import Budget
from dprct.privacy.composition import SLACK_SHARE, gdp_mu
from dprct.queries.group_moments import moment_sums
from dprct.queries.scores import score_sums

NEVER: Any = {"missing": ()}
SCHEMA = Schema(
    (
        Column("score", bounds=(-6.0, 6.0), **NEVER),
        Column("hours", bounds=(-6.0, 6.0), **NEVER),
        Column("age", bounds=(-2.0, 2.0), **NEVER),
        Column("tutor", "byte", levels=(0.0, 1.0), **NEVER),
        Column("pupil", "int", **NEVER),
    )
)
PANEL = SCHEMA.declare(unit=Unit("pupil", id="pupil", max_rows=3))
HALF = dprct.Simple("tutor", shares=0.5)
FORMULA = "score ~ tutor + age"


def pupils(units: int, rows: int) -> pd.DataFrame:
    """Errors that vary with age and are alike within a pupil; none so large that it is moved."""
    rng = np.random.default_rng(8)
    who = np.repeat(np.arange(units), rows)
    tutor = rng.integers(0, 2, units).astype(float)[who]
    age = np.repeat(rng.uniform(-1.5, 1.5, units), rows)
    sign = np.repeat(rng.choice([-1.0, 1.0], units), rows)
    error = (0.4 + 0.3 * np.abs(age)) * (sign + rng.uniform(-0.5, 0.5, len(who)))
    return pd.DataFrame(
        {
            "score": 0.5 * tutor + 0.2 * age + error,
            "hours": age - 0.5 * error,
            "age": age,
            "tutor": tutor,
            "pupil": who.astype(float),
        }
    )


ONE, MANY = pupils(3000, 1), pupils(1000, 3)


def model(data: Any = ONE, schema: Schema = SCHEMA, **options: Any) -> PrivateMoments:
    given = {"formulas": [FORMULA], "cov_type": "HC1" if schema is SCHEMA else "CR1"}
    return PrivateMoments(data, schema, **{**given, **options})


def weighted(data: pd.DataFrame) -> tuple[pd.DataFrame, Schema]:
    """Return rows with weights that go with a regressor and the error, and their schema."""
    rng = np.random.default_rng(11)
    w = np.exp(0.5 * data["age"].clip(-2, 2) + 0.5 * rng.normal(size=len(data))).clip(0, 5)
    column = Column("w", bounds=(0, 8), missing=())
    return data.assign(w=w), replace(SCHEMA, columns=(*SCHEMA.columns, column))


NEXT_TO_NONE = 1e6
"""In steps squared, of which sums have millions of millions; of noise 0 no constant is told."""


def without_noise(asked: PrivateMoments) -> Moments:
    """Return what a fit would release if it drew no noise: nothing that the package offers."""
    facts, relation = asked.facts, asked.spec.neighbors
    layout, grouping, frame = facts.layout, facts.grouping, asked._table.frame
    unit = "pupil" if layout.grid.rows > 1 else None
    sums = moment_sums(frame, layout.grid, grouping.cells, relation, unit)
    drawn = DrawnMoments(matrices(layout, grouping, _open(sums)), NEXT_TO_NONE)
    guarantee = asked.guarantee(Budget(1, 1e-6))
    first = Moments.of(facts, drawn, guarantee, "", "exact", asked.spec.outcomes)
    scores = []
    for one, formula in asked.spec.scored(facts.schema):
        of = scores_by(first, formula, NEXT_TO_NONE)
        found = _open(score_sums(frame, layout.grid, grouping.cells, of, relation, unit))
        matrix = np.array(found, dtype=object).reshape((len(one.regressors),) * 2)
        scores.append(DrawnScores(one.outcome, one.regressors, matrix + matrix.T, NEXT_TO_NONE))
    return replace(first, drawn=replace(drawn, scores=tuple(scores)))


@pytest.mark.parametrize("options", [{}, {"assignment": HALF}])
def test_without_noise_weights_are_those_of_stata(options: dict[str, Any]) -> None:
    """Weighted least squares with HC1, as of pweights: neither depends on the size of weights."""
    data, schema = weighted(ONE)
    m = without_noise(model(data, schema, weights="w", cov_type="HC1", radius="box", **options))
    found = m.ols(FORMULA)
    other = smf.wls(FORMULA, data, weights=data["w"]).fit(cov_type="HC1")
    names = list(other.params.index)
    np.testing.assert_allclose(found.params[names], other.params, atol=2e-3)
    np.testing.assert_allclose(found.bse[names], other.bse, rtol=0.03)
    plain = smf.ols(FORMULA, data).fit(cov_type="HC1")
    assert np.abs(plain.params - other.params).max() > 0.02
    assert (found.nobs, found.df_resid) == (len(data), other.df_resid)
    weighted_mean = data["w"] @ other.resid**2 / data["w"].sum()
    assert found.rmse == pytest.approx(
        (weighted_mean * len(data) / other.df_resid) ** 0.5, rel=0.01
    )
    assert found.rsquared == pytest.approx(other.rsquared, abs=0.01)
    half = without_noise(
        model(data.assign(w=data["w"] / 2), schema, weights="w", radius="box", cov_type="HC1")
    )
    np.testing.assert_allclose(half.ols(FORMULA).params[names], other.params, atol=4e-3)
    np.testing.assert_allclose(half.ols(FORMULA).bse[names], other.bse, rtol=0.03)


def test_weighted_rows_of_one_unit_have_errors_of_clusters() -> None:
    data, schema = weighted(MANY)
    schema = replace(schema, unit=PANEL.unit)
    m = without_noise(model(data, schema, weights="w", cov_type="CR1", radius="box"))
    found = m.ols(FORMULA)
    other = smf.wls(FORMULA, data, weights=data["w"]).fit(
        cov_type="cluster", cov_kwds={"groups": data["pupil"], "use_correction": True}
    )
    names = list(other.params.index)
    np.testing.assert_allclose(found.params[names], other.params, atol=4e-3)
    np.testing.assert_allclose(found.bse[names], other.bse, rtol=0.05)


def test_what_weights_do_not_serve_is_refused(tmp_path: Any) -> None:
    data, schema = weighted(ONE)
    asked = model(data, schema, weights="w", cov_type="HC1", assignment=HALF)
    m = asked.fit(epsilon=30, delta=1e-6)
    for wrong in (
        lambda: m.effects(),
        lambda: m.ols("score ~ age"),
        lambda: m.ols(FORMULA, cov_type="by group"),
        lambda: m.ols(FORMULA, where={"tutor": 1.0}),
    ):
        with pytest.raises(ParameterError, match=r"equal weights|scores of .* were not"):
            wrong()
    back = Moments.load(m.save(tmp_path / "weighted.moments.json"))
    assert back.weights == "w"
    assert back.to_dict() == m.to_dict()
    content = json.loads(json.dumps(m.to_dict()))
    rules = files("dprct.estimate.moments").joinpath("moments.schema.json").read_text("utf-8")
    jsonschema.validate(content, json.loads(rules))
    pd.testing.assert_series_equal(back.ols(FORMULA).bse, m.ols(FORMULA).bse)
    assert "weighted by w, 8 at most" in back.summary()
    said = " ".join(str(asked.plan(8, 1e-6)).split())
    assert "weigh so much" in said
    assert "no others are estimated" in said


GROUPED: list[dict[str, Any]] = [
    {},
    {"assignment": HALF},
    {"assignment": HALF, "neighbors": "replace-one-design-public", "attrition": True},
]


@pytest.mark.parametrize("options", GROUPED)
@pytest.mark.parametrize("formula", [FORMULA, "score + hours ~ tutor*age + I(age ** 2)"])
def test_without_noise_errors_are_hc1(options: dict[str, Any], formula: str) -> None:
    released = model(formulas=[formula], radius="box", **options)
    if released.facts.steps:  # its errors are no scores: test_one_step has them
        return
    m = without_noise(released)
    for outcome in formula.partition("~")[0].split("+"):
        asked = f"{outcome.strip()} ~ {formula.partition('~')[2]}"
        found = m.ols(asked)
        plain = dprct.ols(asked, ONE, SCHEMA, cov_type="HC1")
        other = dprct.ols(asked, ONE, SCHEMA, cov_type="nonrobust")
        np.testing.assert_allclose(found.params, plain.params, atol=1e-3)
        np.testing.assert_allclose(found.bse, plain.bse, rtol=0.01)
        assert np.abs(other.bse / plain.bse - 1).max() > 0.05
        assert found.cov_type == "scores"


@pytest.mark.parametrize("options", [GROUPED[0], GROUPED[1]])
def test_without_noise_errors_are_those_of_units(options: dict[str, Any]) -> None:
    m = without_noise(model(MANY, PANEL, radius="box", **options))
    found = m.ols(FORMULA)
    clustered = smf.ols(FORMULA, MANY).fit(
        cov_type="cluster", cov_kwds={"groups": MANY["pupil"], "use_correction": True}
    )
    np.testing.assert_allclose(found.params, clustered.params, atol=1e-3)
    np.testing.assert_allclose(found.bse, clustered.bse, rtol=0.01)
    assert (clustered.bse > 1.3 * smf.ols(FORMULA, MANY).fit().bse).all()


def test_villages_that_were_assigned_have_errors_of_villages() -> None:
    village = SCHEMA.declare(unit=Unit("village", id="pupil", max_rows=3))
    asked = PrivateMoments(
        MANY, village, formulas=[FORMULA], cov_type="CR1", attrition=True, radius="box",
        assignment=dprct.Cluster("tutor", cluster="pupil"),
        neighbors="replace-one-design-public",
    )  # fmt: skip
    clustered = smf.ols(FORMULA, MANY).fit(cov_type="cluster", cov_kwds={"groups": MANY["pupil"]})
    found = asked.fit(30, 1e-6, rng=1).ols(FORMULA)  # by one step, all rows of a village protected
    assert found.bse["tutor"] == pytest.approx(clustered.bse["tutor"], rel=0.2)
    with pytest.raises(ParameterError, match="declare the cluster"):
        PrivateMoments(
            MANY, PANEL, formulas=[FORMULA], cov_type="CR1",
            assignment=dprct.Cluster("tutor", cluster="pupil"),
        )  # fmt: skip


def test_the_budget_is_divided_before_the_first_draw() -> None:
    budget = Budget(2, 1e-6)
    asked = model(formulas=[FORMULA, "hours ~ age"])
    parts = asked.spec.allocation(asked.facts, budget)
    squares = [part.noise.mu**2 for part in parts.parts.values()]
    whole = gdp_mu(budget.epsilon, budget.delta * (1 - SLACK_SHARE)) ** 2
    shares = [float(square / whole) for square in squares]
    np.testing.assert_allclose(shares, [0.9, 0.05, 0.05], rtol=1e-6)
    assert sum(squares) <= whole
    assert float(SHARE) == 0.1
    assert parts.cost().budget == budget
    plan = asked.plan(2, 1e-6)
    assert plan.value("scores", "for HC1 errors") == 2
    assert plan.value("scores", "share of mu squared") == 0.1


@pytest.fixture(scope="module")
def released() -> Moments:
    return model().fit(epsilon=8, delta=1e-6)


def test_released_errors_are_near_those_of_the_rows_and_are_saved(
    released: Moments, tmp_path: Any
) -> None:
    plain = dprct.ols(FORMULA, ONE, SCHEMA, cov_type="HC1")
    found = released.ols(FORMULA)
    sampling = np.sqrt(found.bse**2 - found.bse_noise**2)
    assert ((sampling / plain.bse > 0.7) & (sampling / plain.bse < 1.8)).all()
    assert released.ols(FORMULA, cov_type="nonrobust").cov_type == "nonrobust"
    assert released.ols("score ~ age").cov_type == "nonrobust"
    assert "score on Intercept, tutor, age" in released.summary()
    back = Moments.load(released.save(tmp_path / "m.json"))
    pd.testing.assert_frame_equal(back.ols(FORMULA).cov_params(), found.cov_params())
    with pytest.raises(ParameterError, match="the scores of 'score ~ age' were not released"):
        released.ols("score ~ age", cov_type="scores")


def test_a_document_whose_scores_have_too_little_noise_is_refused(
    released: Moments, tmp_path: Any
) -> None:
    from dprct.estimate.moments.document import digest_of

    content = json.loads(json.dumps(released.to_dict()))
    content["scores"][0]["sigma"] /= 2
    content["digest"] = digest_of(content)
    path = tmp_path / "edited.json"
    path.write_text(json.dumps(content))
    with pytest.raises(FileError, match="noise is smaller"):
        Moments.load(path)


def test_what_takes_rows_to_be_independent_is_refused() -> None:
    m = model(MANY, PANEL, assignment=HALF).fit(epsilon=8, delta=1e-6)
    assert m.ols(FORMULA).cov_type == "scores"
    for asked in (
        lambda: m.effects("score"),
        lambda: m.ols("score ~ age"),
        lambda: m.ols(FORMULA, cov_type="nonrobust"),
        lambda: m.ols(FORMULA, where={"tutor": 1.0}),
        lambda: m.iv("score ~ [age ~ tutor]"),
        lambda: m.outcome_index(["score", "hours"]),
    ):
        with pytest.raises(DprctError, match=r"scores .*released|were released"):
            asked()


BAD: list[tuple[Any, Schema, dict[str, Any], str]] = [
    (ONE, SCHEMA, {"weights": "tutor", "assignment": HALF}, "makes groups"),
    (ONE, SCHEMA, {"weights": "hours", "cov_type": "nonrobust"}, "needs the scores"),
    (ONE, SCHEMA, {"cov_type": "HC3"}, "HC3"),
    (ONE, SCHEMA, {"cov_type": "CR1"}, "max_rows is 1"),
    (MANY, PANEL, {"cov_type": "HC1"}, "give cov_type='CR1'"),
    (MANY, PANEL, {"cov_type": "nonrobust"}, "may have 3 rows"),
    (ONE, SCHEMA, {"formulas": [], "columns": ["score"]}, "name these in formulas="),
    (ONE, SCHEMA, {"formulas": ["score ~ [age ~ tutor]"]}, "has instruments"),
    (pl.from_pandas(ONE).lazy(), SCHEMA, {}, "in an engine"),
]


@pytest.mark.parametrize(("data", "schema", "options", "words"), BAD)
def test_what_is_asked_wrongly_is_said(
    data: Any, schema: Schema, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(ParameterError, match=words):
        model(data, schema, **options)


def test_a_regression_that_is_not_estimated_still_draws_its_scores() -> None:
    m = model(ONE.head(60), formulas=[FORMULA]).fit(epsilon=0.05, delta=1e-9)
    found = m.ols(FORMULA)
    assert not found.estimated.any()
    assert len(m.drawn.scores) == 1
