"""Declared regressions by one step: the regression as written, and what is refused by name."""

from __future__ import annotations

import json
import pickle
from importlib.resources import files
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import polars as pl
import pytest

import dprct
from dprct import Column, Moments, PrivateMoments, Regression, Schema
from dprct.errors import ColumnError, FormulaError, ParameterError
from dprct.estimate.moments.one_step import EFFECTS, SQUARES, TOTALS

NEVER: Any = {"missing": ()}
BINARY: Any = {"type": "byte", "levels": (0.0, 1.0), **NEVER}
SCHEMA = Schema(
    (
        Column("y", bounds=(-4, 6), sd=1.3, **NEVER),
        Column("late", bounds=(-4, 6), sd=1.3, missing=(".",)),
        Column("works", **BINARY),
        Column("t1", **BINARY), Column("t2", **BINARY), Column("treat", **BINARY),
        Column("x", bounds=(-3, 3), sd=1.0, **NEVER),
        Column("block", "byte", levels=tuple(range(6)), **NEVER),
        Column("village", "int", **NEVER), Column("town", "int", **NEVER),
        Column("female", **BINARY, fate="public"),
        Column("region", "byte", levels=(1.0, 2.0, 3.0), missing=(".",), fate="public"),
        Column("name", "str4", missing=(), fate="public"),
        Column("share", "float", bounds=(0, 8), missing=(".",), fate="public"),
        Column("own", "float", bounds=(0, 8), **NEVER),
    ),
    dataset_id="study",
)  # fmt: skip
PUBLIC = "replace-one-design-public"


def table(seed: int = 1) -> pd.DataFrame:
    """Three arms within six blocks of unequal shares; 200 villages, half of them treated."""
    rng = np.random.default_rng(seed)
    n = 6000
    block = np.repeat(np.arange(6.0), 1000)
    arm = np.concatenate([
        rng.permutation(np.repeat([0, 1, 2], (200, 300, 500) if b < 3 else (400, 400, 200)))
        for b in range(6)
    ])  # fmt: skip
    village = rng.permutation(np.repeat(np.arange(200.0), 30))
    treat = rng.permutation(np.arange(200) % 2.0)[village.astype(int)]
    x = rng.normal(size=n).clip(-3, 3)
    y = 0.6 * x + 0.2 * block + 0.3 * (arm == 1) + 0.6 * (arm == 2) + 0.2 * treat
    y = y + 0.4 * rng.normal(size=200)[village.astype(int)] + rng.normal(size=n)
    return pd.DataFrame({
        "y": y.clip(-4, 6), "late": np.where(rng.random(n) < 0.2, np.nan, y.clip(-4, 6)),
        "works": (y > 1) * 1.0, "t1": (arm == 1) * 1.0, "t2": (arm == 2) * 1.0, "treat": treat,
        "x": x, "block": block, "village": village, "town": village // 4,
        "female": np.arange(n) % 2.0, "region": np.tile([1.0, 2.0, 3.0, np.nan], n // 4),
        "name": "abcd",
        "share": np.where(np.arange(n) % 11 == 0, np.nan, np.arange(n) % 10) * 0.75,
        "own": np.arange(n) % 7 + 1.0,
    })  # fmt: skip


ROWS = table()
BLOCKS = dprct.Block(
    ["t1", "t2"], block="block",
    shares={float(b): [0.3, 0.5] if b < 3 else [0.4, 0.2] for b in range(6)},
)  # fmt: skip
VILLAGES = dprct.Cluster("treat", cluster="village", shares=0.5)


def model(data: Any = ROWS, schema: Schema = SCHEMA, **options: Any) -> PrivateMoments:
    given: dict[str, Any] = {"assignment": BLOCKS, "neighbors": PUBLIC, **options}
    return PrivateMoments(data, schema, **given)


def within(found: Any, plain: Any, terms: list[str], most: float = 5.0) -> None:
    """The coefficients differ by noise, and by what the fit leaves of covariates, and no more."""
    gap = np.abs(found.params[terms] - plain.params[terms].to_numpy())
    assert (gap < most * np.hypot(found.bse_noise[terms], 0.15 * plain.bse[terms])).all()


@pytest.mark.parametrize(
    ("formula", "terms"),
    [
        ("y ~ t1 + t2 + C(block)", ["t1", "t2"]),
        ("y ~ t1 + t2 | block", ["t1", "t2"]),
        ("works ~ t1 + t2 + x | block", ["t1", "t2"]),
        ("y ~ t1 + C(block)", ["t1"]),
        ("y ~ t1*t2 + C(block)", None),
    ],
)
def test_the_coefficients_are_those_of_the_regression(formula: str, terms: Any) -> None:
    asked = lambda: model(formulas=[formula])  # noqa: E731
    if terms is None:  # no arm has both
        with pytest.raises(ParameterError, match="collinear with each other"):
            asked()
        return
    m = asked().fit(epsilon=20, delta=1e-6)
    found, plain = m.ols(formula), dprct.ols(formula.replace("| block", "+ C(block)"), ROWS)
    assert list(found.params.index) == terms
    within(found, plain, terms)
    np.testing.assert_allclose(found.bse, plain.bse[terms], rtol=0.15)
    assert found.df_inference == plain.df_resid
    assert found.cov_type == "HC1"
    ends = found.conf_int()
    assert ((ends[0] < found.params) & (found.params < ends[1])).all()
    if len(terms) > 1:
        wanted = plain.cov.loc["t1", "t2"]
        assert found.cov.loc["t1", "t2"] == pytest.approx(wanted, rel=0.25)
        other = found.lincom("t2 - t1")
        assert other.params.iloc[0] == pytest.approx(found.params["t2"] - found.params["t1"])
        assert other.bse.iloc[0] == pytest.approx(plain.lincom("t2 - t1").bse.iloc[0], rel=0.25)
        assert found.wald_test("t1 = t2 = 0").pvalue < 0.01


def test_without_noise_public_weights_give_least_squares_to_the_grid() -> None:
    formula = "y ~ t1 + t2 | block"
    bound = model(formulas=[formula]).facts.steps.bound[0]
    cells = model(formulas=[formula]).facts.steps.cells
    plain = dprct.ols("y ~ t1 + t2 + C(block)", ROWS)
    weights = bound.weights[:, cells.codes]
    np.testing.assert_allclose(weights @ ROWS["y"] / len(ROWS), plain.params[["t1", "t2"]],
                               atol=1e-12)  # fmt: skip
    for block in range(6):
        assert np.abs(weights[:, ROWS["block"] == block].sum(axis=1)).max() < 1e-6
    assert bound.coefficients == len(plain.params)


def test_clusters_have_the_errors_of_clusters() -> None:
    formulas = ["y ~ treat + x", "y ~ treat"]
    m = model(assignment=VILLAGES, formulas=formulas, cov_type="CR1").fit(16, 1e-6)
    for formula in formulas:
        found, plain = m.ols(formula), dprct.ols(formula, ROWS, cluster="village")
        within(found, plain, ["treat"])
        np.testing.assert_allclose(found.bse, plain.bse[["treat"]], rtol=0.2)
        assert found.df_inference == 199
        assert found.cov_type == "CR1"
        # errors of people alone are far too small
        assert found.bse.iloc[0] > 1.5 * dprct.ols(formula, ROWS).bse["treat"]
    with pytest.raises(ParameterError, match="clusters of village were assigned"):
        m.effects()
    with pytest.raises(ParameterError, match="clusters of village were assigned"):
        m.ols("y ~ x")


def test_treatment_that_varies_within_clusters_of_errors_has_no_joint_test() -> None:
    design = dprct.BlockCluster("treat", block="town", cluster="village", shares=0.5)
    rows = ROWS.assign(treat=(ROWS["village"] % 2).astype(float))
    one = Regression("y ~ treat + x | town", name="town", cluster="town")
    m = model(rows, assignment=design, formulas=[one]).fit(16, 1e-6)
    found = m.ols("town")
    plain = dprct.ols("y ~ treat + x + C(town)", rows, cluster="town")
    within(found, plain, ["treat"])
    np.testing.assert_allclose(found.bse, plain.bse[["treat"]], rtol=0.35)
    assert found.of.groups == 50


def test_errors_of_public_clusters_that_were_not_assigned() -> None:
    known = SCHEMA.declare(town={"fate": "public"})
    one = Regression("y ~ t1 + t2 + x | block", cluster="town", name="towns")
    m = model(schema=known, formulas=[one]).fit(30, 1e-6, rng=3)
    found = m.ols("towns")
    plain = dprct.ols("y ~ t1 + t2 + x + C(block)", ROWS, cluster="town")
    within(found, plain, ["t1", "t2"])
    np.testing.assert_allclose(found.bse, plain.bse[["t1", "t2"]], rtol=0.35)
    assert found.of.groups == 50
    assert found.df_inference == 49
    said = " ".join(str(m.guarantee).split())
    assert "columns town of every row, which are in conditions of regressions" in said
    assert "or clusters" in said


def test_each_regression_has_the_clusters_of_its_own_column() -> None:
    schema = SCHEMA.declare(town={"fate": "public"}, block={"fate": "public"})
    one, formula = "y ~ treat + x", "y ~ treat + x"
    asked = [one, Regression(formula, cluster="town", name="towns")]
    m = model(ROWS, schema, formulas=asked, assignment=VILLAGES)
    clusters = m.facts.steps.cells.clusters
    assert clusters is not None
    assert [len(set(of.tolist())) for of in clusters] == [200, 50]
    found = m.fit(30, 1e-6, rng=1)
    for name, column, groups in ((one, "village", 200), ("towns", "town", 50)):
        raw, here = dprct.ols(formula, ROWS, cluster=column), found.ols(name)
        assert here.of.groups == groups
        assert here.df_inference == groups - 1
        assert here.bse["treat"] == pytest.approx(raw.bse["treat"], rel=0.12)
    apart = model(ROWS, schema, formulas=asked[1:], assignment=VILLAGES).facts.steps.bound[0]
    np.testing.assert_array_equal(apart.spread, m.facts.steps.bound[1].spread)


def test_who_has_no_value_is_left_out_where_that_is_public() -> None:
    formula = "late ~ t1 + t2 + x | block"
    public = SCHEMA.declare(late={"missing_policy": "public"})
    m = model(ROWS, public, formulas=[formula]).fit(16, 1e-6)
    found = m.ols(formula)
    plain = dprct.ols("late ~ t1 + t2 + x + C(block)", ROWS)
    assert found.nobs == plain.nobs < len(ROWS)
    within(found, plain, ["t1", "t2"])
    number = SCHEMA.declare(late={"missing_policy": 1.0})
    filled = model(ROWS, number, formulas=[formula]).fit(16, 1e-6).ols(formula)
    assert filled.nobs == len(ROWS)
    assert any("counts as 1" in note for note in filled.notes)


def test_a_covariate_makes_the_interval_shorter_and_a_fit_moves_nothing() -> None:
    formulas = [Regression("y ~ t1 + t2 | block", name="raw"), "y ~ t1 + t2 + x | block"]
    m = model(formulas=formulas).fit(16, 1e-6, rng=1)
    assert (m.ols("raw").bse > 1.05 * m.ols(formulas[1]).bse).all()


def test_regressions_are_found_by_formula_value_and_name() -> None:
    named = Regression("y ~ t1 + t2 + x | block", name="main")
    m = model(formulas=[named, "works ~ t1 + t2 | block"]).fit(4, 1e-6)
    for ask in ("main", named, "y ~ t1+t2+x | block", "y ~ x + t2 + t1 | block"):
        pd.testing.assert_series_equal(m.ols(ask).params, m.regressions[0].params)
    with pytest.raises(ParameterError, match=r"'y ~ t1' was not declared.*main; works"):
        m.ols(Regression("y ~ t1"))
    with pytest.raises(ColumnError, match=r"declared regressions: .*main; works"):
        m.ols("y ~ nothing")
    twice = model(formulas=[named, Regression(named.formula, name="again")]).fit(4, 1e-6)
    with pytest.raises(ParameterError, match="by its name: 'main', 'again'"):
        twice.ols(named.formula)
    with pytest.raises(ParameterError, match="two regressions are named 'main'"):
        model(formulas=[named, Regression("y ~ t1 | block", name="main")])
    assert list(m.tidy()["regression"]) == ["main"] * 2 + ["works ~ t1 + t2 | block"] * 2
    assert "y clipped to [-4, 6]" in str(m.ols("main"))
    assert m.ols("main").estimand == "y clipped to [-4, 6]"


def test_margins_after_a_logit_are_the_effect_on_the_share() -> None:
    """The model is wrong, and its mean difference is near least squares all the same."""
    alike = ROWS[ROWS["block"] < 3].reset_index(drop=True)
    m = model(
        alike, formulas=["works ~ t1 + t2 + x | block", "y ~ t1 + t2 | block"],
        assignment=dprct.Block(("t1", "t2"), block="block", shares=[0.3, 0.5]),
    ).fit(32, 1e-6)  # fmt: skip
    found = m.margins("works ~ t1 + t2 + x | block")
    rows = alike.assign(arm=np.where(alike["t1"] == 1, "1", np.where(alike["t2"] == 1, "2", "0")))
    raw = dprct.logit("works ~ arm + x + C(block)", rows).margins("arm", rows)
    gap = np.abs(found.params.to_numpy() - raw.params.to_numpy())
    assert (gap < 5 * np.hypot(found.bse_noise.to_numpy(), 0.25 * raw.bse.to_numpy())).all()
    ordinary = m.ols("works ~ t1 + t2 + x | block")
    pd.testing.assert_frame_equal(found.conf_int(), ordinary.conf_int())
    assert "as after logit" in str(found)
    for asked, family, words in (
        ("works ~ t1 + t2 + x | block", "probit", "allowed: logit, poisson"),
        ("y ~ t1 + t2 | block", "logit", "a logit is of an outcome of 0 and 1"),
        ("y ~ t1 + t2 | block", "poisson", "at least 0, and y may be -4"),
        ("works ~ t1", "logit", "those of a regression declared with"),
    ):
        with pytest.raises(ParameterError, match=words):
            m.margins(asked, family=family)
    # weights p (1 - p) of blocks with other shares are no average over people
    apart = model(formulas=["works ~ t1 + t2 + x | block"]).fit(32, 1e-6)
    with pytest.raises(ParameterError, match="not average effects over all people"):
        apart.margins("works ~ t1 + t2 + x | block")
    assert m.margins("works ~ t1 + t2 + x | block", family="poisson").title.startswith("Margins (p")


def test_several_outcomes_of_a_formula_are_regressions_each() -> None:
    m = model(formulas=["y + works ~ t1 + t2 | block"]).fit(4, 1e-6)
    assert [one.outcome for one in m.regressions] == ["y", "works"]
    assert m.ols("works ~ t1 + t2 | block").outcome == "works"


def test_a_release_comes_back_as_it_was(tmp_path: Any) -> None:
    m = model(formulas=["y ~ t1 + t2 + x | block"], columns=["works"]).fit(4, 1e-6)
    back = Moments.load(m.save(tmp_path / "study.moments.json"))
    assert back.to_dict() == m.to_dict()
    assert back.summary() == m.summary()
    assert str(back.ols("y ~ t1 + t2 + x | block")) == str(m.ols("y ~ t1 + t2 + x | block"))
    content = json.loads(json.dumps(m.to_dict()))
    rules = files("dprct.estimate.moments").joinpath("moments.schema.json").read_text("utf-8")
    jsonschema.validate(content, json.loads(rules))
    assert content["moments"] == 7
    assert str(pickle.loads(pickle.dumps(m)).ols(m.declared[0].title)) == str(m.regressions[0])


def test_rows_in_an_engine_give_the_same_numbers() -> None:
    formulas = ["y ~ t1 + t2 + x | block"]
    one = model(formulas=formulas).fit(4, 1e-6, rng=3)
    other = model(pl.from_pandas(ROWS).lazy(), formulas=formulas).fit(4, 1e-6, rng=3)
    pd.testing.assert_series_equal(one.regressions[0].params, other.regressions[0].params)
    pd.testing.assert_series_equal(one.regressions[0].bse, other.regressions[0].bse)


def test_the_budget_is_divided_by_public_facts_and_whole() -> None:
    asked = model(formulas=["y ~ t1 + t2 + x | block"])
    allocation: Any = asked._allocated(dprct.Budget(2, 1e-6))
    assert sum(allocation.shares.values()) == 1
    assert {EFFECTS, TOTALS, SQUARES} <= set(allocation.shares)
    more = model(formulas=["y ~ t1 + t2 + x | block"], columns=["works"])
    assert more._allocated(dprct.Budget(2, 1e-6)).shares["moments"] == 0.5  # type: ignore[attr-defined]
    plan = asked.plan(2, 1e-6)
    said = "by one step, y clipped to [-4, 6], HC1"
    assert np.isnan(plan.value("served", said))
    shares = [one.value for one in plan.numbers if one.quantity == "shares of mu squared"]
    assert sum(shares) == pytest.approx(1)


def test_a_plan_keeps_its_word() -> None:
    asked = model(formulas=["y ~ t1 + t2 + x | block"])
    planned = asked._allocated(dprct.Budget(4, 1e-6)).planned[0]  # type: ignore[attr-defined]
    found = asked.fit(4, 1e-6).regressions[0]
    np.testing.assert_allclose(found.bse_noise, planned.noise, rtol=0.02)
    np.testing.assert_allclose(found.bse, planned.error, rtol=0.3)
    plan = asked.plan(4, 1e-6)
    quantities = {
        "std_error": planned.error, "std_error_without_privacy": planned.alone,
        "noise_sd": planned.noise, "difference_in_means": planned.unadjusted,
    }  # fmt: skip
    for quantity, values in quantities.items():
        told = [plan.value(quantity, term=term) for term in ("t1", "t2")]
        assert told == list(values)


def test_an_outcome_that_is_declared_a_covariate_may_choose_rows() -> None:
    formulas = [Regression("y ~ t1 | block", where="own > 3"), "own ~ t1 | block"]
    declared = SCHEMA.declare(own={"role": "covariate"})
    titles = [one.step.title for one in model(formulas=formulas, schema=declared).facts.steps.bound]
    assert titles == ["y ~ t1 | block, where own > 3", "own ~ t1 | block"]


REFUSED: list[tuple[dict[str, Any], str]] = [
    (
        {"formulas": [Regression("y ~ t1 + t2 | block", where="x > own")]},
        r"computes with private columns \(x > own\); compare each with numbers or texts",
    ),
    (
        {"formulas": [Regression("y ~ t1 + t2 | block", where="x > 0 | t1 == 1")]},
        r"joins treatment \('t1'\) and private columns",
    ),
    (
        {"formulas": [Regression("y ~ t1 | block", where="share < own"), "own ~ t1 + x | block"]},
        "computes with private columns",
    ),
    (
        {"formulas": [Regression("y ~ t1 | block", where="own > 3"), "own ~ t1 + x | block"]},
        "names 'own', which treatment may have changed, because another regression has",
    ),
    *(
        (
            {"formulas": [Regression("y ~ t1 | block", where="own > 3")], "schema": made},
            "names 'own', which treatment may have changed",
        )
        for made in (
            SCHEMA.declare(own={"made_of": ("y",)}),
            SCHEMA.declare(y={"made_of": ("own",)}),
        )
    ),
    (
        {"formulas": [Regression("y ~ t1 | block", where="own > 3")],
         "schema": SCHEMA.declare(own={"role": "outcome"})},
        "names 'own', which treatment may have changed",
    ),
    (
        {"formulas": [Regression("y ~ t1 | block", where="own > 3")],
         "schema": SCHEMA.declare(own={"made_of": ["t1"]})},
        "names 'own', which treatment may have changed",
    ),
    (
        {"formulas": [Regression("y ~ x + [works ~ treat]", where="own > 3")],
         "assignment": dprct.Simple("treat")},
        "it has an instrument, among people of a private condition",
    ),
    (
        {"formulas": [Regression("y ~ t1 | block", where="x > 1 & x < 1")]},
        "holds for nobody, whatever a row has",
    ),
    (
        {"formulas": [Regression("y ~ t1 + t2 | block", where="name == 1")]},
        "treats 'name' as a number, but it is text; write name == \"a\"",
    ),
    (
        {"formulas": [Regression("y ~ t1 + t2 | block", where='female == "a"')]},
        "compares 'female' with text, but its values are numbers; write the number, not its label, "
        "without quotes",
    ),
    (
        {"formulas": [Regression("y ~ t1 + t2 | block", where="missing(y)")]},
        "holds for no row that has a value of its columns",
    ),
    ({"formulas": [Regression("y ~ t1 | block", where="y > 1")]}, "where= names its outcome"),
    ({"formulas": [Regression("y ~ t1 | block", where="female > 1")]}, "no row counts"),
    ({"formulas": [Regression("y ~ t1 | block", where="t1 == 1")]}, "collinear with each"),
    (
        {"formulas": [Regression("y ~ t1 + x", name="all", where="female == 1")],
         "neighbors": "replace-one", "assignment": dprct.Complete("t1")},
        "treatment is private, and was not drawn for each person by itself",
    ),
    (
        {"formulas": [Regression("y ~ x", name="none", where="female == 1")],
         "assignment": None, "neighbors": "replace-one"},
        r"not served by one step \(no assignment=",
    ),
    (
        {"formulas": [Regression("y ~ t1 + t2 | block", weights="own")],
         "schema": SCHEMA.declare(own={"bounds": (-1, 8)})},
        "weights= names 'own', which is private and needs bounds, 0 or above",
    ),
    ({"formulas": [Regression("y ~ t1 | block", weights="name")]}, "weights='name' is text"),
    (
        {"formulas": [Regression("y ~ t1 | block", weights="share")],
         "data": ROWS.assign(share=-1.0), "schema": SCHEMA.declare(share={"bounds": (-1, 8)})},
        "the weights in 'share' are below 0",
    ),
    ({"formulas": [Regression("y ~ t1 | block", cluster="town")]}, "is not a column of the design"),
    ({"formulas": ["y ~ t1 + t2 + x"]}, "shares differ between blocks"),
    ({"formulas": [3.0]}, "formulas= is list, holding float; give a list of texts or a regression"),
    (
        {"formulas": ["y ~ treat + x"], "assignment": VILLAGES, "cov_type": "HC1"},
        "errors are clustered; use 'CR1'",
    ),
    (
        {"formulas": ["y ~ x"], "assignment": VILLAGES},
        "is not served by one step: it does not name the treatment",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("options", "words"), REFUSED)
def test_what_is_not_offered_is_refused_by_name(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        model(**options)


@pytest.mark.parametrize("family", ["mlogit", "ologit", "oprobit", "tobit"])
def test_other_families_are_refused_by_name(family: Any) -> None:
    with pytest.raises(ParameterError, match="logit, probit, cloglog, poisson"):
        Regression("works ~ t1", family=family)


def test_differences_in_means_alone_are_read_off_the_moments() -> None:
    rows = dprct.Complete("treat", shares=0.5)
    asked = model(ROWS, assignment=rows, formulas=["y ~ treat"], attrition=True)
    assert not asked.facts.steps
    private = model(ROWS, assignment=dprct.Simple("treat"), formulas=["y ~ treat"],
                    neighbors="replace-one")  # fmt: skip
    assert not private.facts.steps


CONDITIONS = [
    ("y ~ t1 + t2 + x | block", "female == 1 & region <= 3", ["t1", "t2"]),
    ("y ~ t1 + t2 | block", "block < 3 | region==2", ["t1", "t2"]),
    ("y ~ t1 | block", "!t2", ["t1"]),
    ("works ~ t1 + t2 | block", "not (female == 1 or block == 2)", ["t1", "t2"]),
    ("y ~ t1 + t2 | block", 'inlist(region, 1, .) & town != "b"', ["t1", "t2"]),
    ("y ~ t1 + t2 | block", "inrange(region, 2, .) | female == 0", ["t1", "t2"]),
]
WRITTEN = {
    'inlist(region, 1, .) & town != "b"': "(region == 1 | region != region) & town == 'a'",
    "inrange(region, 2, .) | female == 0": "region >= 2 | female == 0",
}


def inside(where: str, rows: Any = ROWS) -> Any:
    """The rows of a condition; a comparison with a missing value holds for nobody."""
    return rows.query(WRITTEN.get(where, where).replace("!t2", "t2 == 0"))


TEXTS = Schema((*[c for c in SCHEMA.columns if c.name != "town"],
                Column("town", "str1", fate="public")), dataset_id="study")  # fmt: skip
OF_TEXTS = ROWS.assign(town=np.resize(["a", "b", "", "a"], len(ROWS)))


@pytest.mark.parametrize(("formula", "where", "terms"), CONDITIONS)
def test_a_condition_gives_the_regression_of_its_rows(
    formula: str, where: str, terms: list[str]
) -> None:
    one = Regression(formula, where=where)
    known = (OF_TEXTS, TEXTS) if "town" in where else (ROWS, SCHEMA)
    asked = model(*known, formulas=[one])
    rows, bound = inside(where, known[0]), asked.facts.steps.bound[0]
    plain = dprct.ols(formula.replace("| block", "+ C(block)"), rows)
    codes = asked.facts.steps.cells.codes
    if "x" not in formula:  # public weights are those of least squares, and 0 outside
        weights = bound.weights[:, codes]
        found = weights @ ROWS[one.parsed.outcome_names[0]] / len(rows)
        np.testing.assert_allclose(found, plain.params[terms], atol=1e-10)
        outside = ~ROWS.index.isin(rows.index)
        assert outside.any()
        assert not weights[:, outside].any()
    drawn = asked.fit(40, 1e-6, rng=1).ols(one)
    within(drawn, plain, terms)
    np.testing.assert_allclose(drawn.bse, plain.bse[terms], rtol=0.25)
    assert (drawn.nobs, drawn.df_inference) == (plain.nobs, plain.df_resid)
    assert drawn.nobs == len(rows) < len(ROWS)


def test_who_has_a_value_is_asked_of_columns_of_the_regression_and_of_public_gaps() -> None:
    public = SCHEMA.declare(late={"missing_policy": "public"})
    formula, where = "y ~ t1 + t2 + x | block", "y < . & !missing(x) & treat != ."
    same = model(formulas=[Regression(formula, where=where, name="it"), formula]).facts
    assert [bound.n for bound in same.steps.bound] == [6000, 6000]
    for rows in (ROWS, pl.from_pandas(ROWS, nan_to_null=True).lazy()):
        late = Regression(formula, where="late != . & female == 1", name="late")
        m = model(rows, public, formulas=[late]).fit(20, 1e-6, rng=5)
        there = ROWS[ROWS["late"].notna() & (ROWS["female"] == 1)]
        plain = dprct.ols("y ~ t1 + t2 + x + C(block)", there)
        assert m.ols("late").nobs == plain.nobs < 3000
        within(m.ols("late"), plain, ["t1", "t2"])
        said = " ".join([*m.guarantee.public_facts, *m.guarantee.not_covered])
        assert "who has a value of late" in said
        assert "columns female of every row, which are in conditions" in said
        assert "columns late" not in said


def test_a_condition_counts_the_clusters_inside_it() -> None:
    one = Regression("y ~ treat + x", where="village >= 40 & female == 0", name="far")
    found = model(assignment=VILLAGES, formulas=[one], cov_type="CR1").fit(20, 1e-6).ols("far")
    rows = ROWS[(ROWS["village"] >= 40) & (ROWS["female"] == 0)]
    plain = dprct.ols("y ~ treat + x", rows, cluster="village")
    within(found, plain, ["treat"])
    np.testing.assert_allclose(found.bse, plain.bse[["treat"]], rtol=0.2)
    assert (found.of.groups, found.df_inference, found.nobs) == (160, 159, len(rows))


WEIGHTED = ROWS[ROWS["share"] > 0]


@pytest.mark.parametrize("formula", ["y ~ t1 + t2 | block", "works ~ t1 + t2 + x | block"])
def test_public_weights_give_weighted_least_squares(formula: str) -> None:
    one = Regression(formula, weights="share")
    asked = model(formulas=[one])
    plain = dprct.ols(formula.replace("| block", "+ C(block)"), WEIGHTED, weights="share",
                      weights_type="pweight")  # fmt: skip
    bound, codes = asked.facts.steps.bound[0], asked.facts.steps.cells.codes
    weights = bound.weights[:, codes]
    if "x" not in formula:
        found = weights @ ROWS["y"] / len(WEIGHTED)
        np.testing.assert_allclose(found, plain.params[["t1", "t2"]], atol=1e-10)
    assert not weights[:, ~ROWS.index.isin(WEIGHTED.index)].any()
    drawn = asked.fit(20, 1e-6, rng=2).ols(one)
    within(drawn, plain, ["t1", "t2"])
    np.testing.assert_allclose(drawn.bse, plain.bse[["t1", "t2"]], rtol=0.15)
    assert (drawn.nobs, drawn.df_inference) == (plain.nobs, plain.df_resid)
    assert drawn.estimand.endswith(", weighted by share")
    # the weights matter: unweighted errors are smaller by an eighth
    assert (drawn.bse > 1.03 * dprct.ols(formula.replace("| block", "+ C(block)"), WEIGHTED)
            .bse[["t1", "t2"]]).all()  # fmt: skip


def test_weights_of_people_in_clusters_and_in_an_engine() -> None:
    one = Regression("y ~ treat + x", weights="share", where="female == 1", name="weighted")
    asked: dict[str, Any] = {"assignment": VILLAGES, "formulas": [one], "cov_type": "CR1"}
    m = model(**asked).fit(20, 1e-6, rng=1)
    rows = WEIGHTED[WEIGHTED["female"] == 1]
    plain = dprct.ols("y ~ treat + x", rows, cluster="village", weights="share",
                      weights_type="pweight")  # fmt: skip
    found = m.ols("weighted")
    within(found, plain, ["treat"])
    np.testing.assert_allclose(found.bse, plain.bse[["treat"]], rtol=0.25)
    lazy = pl.from_pandas(ROWS, nan_to_null=True).lazy()
    other = model(lazy, **asked).fit(20, 1e-6, rng=1)
    pd.testing.assert_series_equal(other.ols(one).params, found.params)
    assert "share" in " ".join(m.guarantee.public_facts)


def test_levels_of_a_partition_cost_as_one() -> None:
    def noise(*levels: int) -> Any:
        formulas = [Regression("y ~ t1 + t2 | block", where=f"female == {g}") for g in levels]
        return model(formulas=formulas)._allocated(dprct.Budget(4, 1e-6)).planned[0].noise  # type: ignore[attr-defined]

    one, both = noise(0), noise(0, 1)
    np.testing.assert_allclose(both, one, rtol=0.02)
    twice = [Regression("y ~ t1 + t2 | block", where=w) for w in ("female == 0", "female < 1")]
    apart = model(formulas=twice)._allocated(dprct.Budget(4, 1e-6)).planned[0].noise  # type: ignore[attr-defined]
    assert (apart > 1.2 * one).all()
    formulas = [Regression("y ~ t1 + t2 | block", where=f"female == {g}") for g in (0, 1)]
    drawn = model(formulas=formulas).fit(4, 1e-6).regressions
    np.testing.assert_allclose(drawn[0].bse_noise, one, rtol=0.02)


@pytest.mark.long
def test_intervals_of_a_condition_cover_its_own_effect() -> None:
    rng = np.random.default_rng(5)
    rows, hits, times = ROWS.assign(block=0.0), 0, 120
    one = Regression("y ~ treat + x", where="female == 1", name="women")
    for _ in range(times):
        treat = rng.permutation(np.repeat([0.0, 1.0], 1500))
        part = rows.iloc[:3000]
        y = 0.5 * part["x"] + 0.3 * treat + 0.9 * treat * (part["female"] == 0)
        data = part.assign(treat=treat, y=(y + rng.normal(size=3000)).clip(-4, 6))
        m = model(data, assignment=dprct.Complete("treat", shares=0.5), formulas=[one])
        low, high = m.fit(2, 1e-6, rng=int(rng.integers(1 << 30))).ols("women").conf_int().iloc[0]
        hits += low < 0.3 < high
    assert 0.88 * times <= hits


def test_a_condition_is_named_wherever_its_regression_is(tmp_path: Any) -> None:
    where, formula = "female==1&region<3", "y ~ t1 + t2 + x | block"
    one = Regression(formula, where=where)
    named = Regression("works ~ t1 + t2 | block", where="female == 0", name="men")
    asked = model(formulas=[one, named])
    assert one.title == f"{formula}, where female == 1 and region < 3"
    assert "where female == 1 and region < 3, HC1" in " ".join(str(asked.plan(4, 1e-6)).split())
    m = asked.fit(4, 1e-6)
    assert m.ols(one).estimand == "y clipped to [-4, 6] where female == 1 and region < 3"
    assert "where female == 0" in str(m.ols("men"))
    # spelled otherwise it is the same one; a formula alone asks for everybody
    respelled = Regression(formula, where="female == 1 and region < 3")
    pd.testing.assert_series_equal(m.ols(respelled).params, m.ols(one.title).params)
    with pytest.raises(ParameterError, match=r"under a condition alone; ask for .* region < 3"):
        m.ols(formula)
    with pytest.raises(ParameterError, match=r"declared: .* region < 3; men \(where female == 0\)"):
        m.ols(Regression(formula, where="female == 0"))
    facts = " ".join(m.guarantee.public_facts)
    assert "columns female, region of every row, which are in conditions of regressions" in facts
    back = Moments.load(m.save(tmp_path / "study.moments.json"))
    assert back.to_dict() == m.to_dict()
    assert str(back.ols(one)) == str(m.ols(one))
    rules = files("dprct.estimate.moments").joinpath("moments.schema.json").read_text("utf-8")
    jsonschema.validate(json.loads(json.dumps(m.to_dict())), json.loads(rules))
    assert back.declared[1].where == "female == 0"


def test_conditions_on_rows_in_an_engine_give_the_same_numbers() -> None:
    formulas = [Regression("y ~ t1 + t2 + x | block", where="female == 1 & region <= 3")]
    one = model(formulas=formulas).fit(4, 1e-6, rng=3)
    lazy = pl.from_pandas(ROWS, nan_to_null=True).lazy()
    other = model(lazy, formulas=formulas).fit(4, 1e-6, rng=3)
    pd.testing.assert_series_equal(one.regressions[0].params, other.regressions[0].params)
    assert one.regressions[0].nobs == other.regressions[0].nobs


@pytest.mark.parametrize("where", ["", "1 == 1", "x = 1", "open('x')", "1 < x < 3", "x.y() == 1"])
def test_what_is_no_condition_is_refused(where: str) -> None:
    with pytest.raises(FormulaError, match="where="):
        Regression("y ~ t1", where=where)
