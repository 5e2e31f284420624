"""CATE: effects, what they promise and cost, and what is refused."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dprct
from dprct.errors import DprctError, FormulaError, LedgerError, ParameterError, SchemaError
from dprct.estimate.cate.model import known_propensity
from dprct.privacy.budget import Budget
from dprct.privacy.mechanisms import AnalyticGaussian, DiscreteLaplace

FEATURES = ["x1", "town"]
GRID = pd.DataFrame({"x1": [-0.75, 0.75], "x2": [0.0, 0.0], "town": ["south", "north"]})


def model_of(trial, schema, n=8000, **options):
    asked = {"outcome": "y", "features": FEATURES, "treatment": "t", **options}
    return dprct.CATE(trial(n), schema, **asked)


def test_an_effect_that_varies_is_found_and_an_interval_covers_it(trial, schema):
    result = model_of(trial, schema, assignment=dprct.Complete("t")).fit(5, 1e-6)
    low, high = result.effect(GRID)
    assert low == pytest.approx(-0.25, abs=0.35)
    assert high == pytest.approx(1.75, abs=0.35)
    ends = result.average_interval(1e-5)
    assert ends[0] < 0.75 < ends[1]
    table = result.subgroup_effects("town", 1e-5).set_index("level")
    assert table["low"]["north"] < 1 < table["high"]["north"]
    slope = result.projection(["x1"]).set_index("term")
    assert slope["low"]["x1"] - 0.2 < 1 < slope["high"]["x1"] + 0.2


def test_setup_b_of_the_paper_beats_a_constant_effect():
    """n = 16,000, epsilon = 1, R = 8: error about .11, of a constant 1.28."""
    rng = np.random.default_rng(4)

    def draw(n):
        X = rng.normal(size=(n, 6))
        base = np.maximum(0, np.maximum(X[:, 0] + X[:, 1], X[:, 2]))
        base += np.maximum(X[:, 3] + X[:, 4], 0)
        tau = X[:, 0] + np.log1p(np.exp(X[:, 1]))
        t = (rng.random(n) < 0.5).astype(float)
        frame = pd.DataFrame(np.clip(X, -3, 3), columns=names)
        return frame.assign(t=t, y=np.clip(base + t * tau + rng.normal(size=n), -5, 10)), tau

    names = [f"x{j}" for j in range(6)]
    schema = dprct.Schema(
        (
            dprct.Column("y", bounds=(-5, 10), missing=()),
            dprct.Column("t", "byte", levels=(0.0, 1.0), missing=()),
            *(dprct.Column(name, bounds=(-3, 3), missing=()) for name in names),
        )
    )
    data, _ = draw(16_000)
    model = dprct.CATE(
        data, schema, outcome="y", features=names, treatment="t", propensity=0.5, clip=8
    )
    rows, truth = draw(20_000)
    errors = [np.mean((model.fit(1, 1e-5, rng=k).effect(rows) - truth) ** 2) for k in range(2)]
    assert np.mean(errors) < 0.25
    assert np.var(truth) > 1.1


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_the_guarantee_says_what_holds(trial, schema, delta):
    model = model_of(trial, schema, n=400)
    promise = model.guarantee(dprct.Budget(1, delta))
    assert promise.measure == ("gdp" if delta else "pure")
    assert promise.relation == "replace-one"
    assert "the sizes of the parts: 100, 100, 200" in promise.public_facts
    accountant = dprct.Accountant(1, delta)
    result = model.fit(1, delta, accountant=accountant)
    assert accountant.spent == promise.budget == result.guarantee.budget


def test_intervals_that_are_not_proved_are_refused_with_the_reason(trial, schema):
    observed = model_of(trial, schema, n=400).fit(1, 1e-6)
    with pytest.raises(ParameterError, match="the propensity is estimated"):
        observed.average_interval()
    with pytest.raises(ParameterError, match="the propensity is estimated"):
        observed.shape("x1")
    low, high = observed.average_interval(part="noise")
    assert low < observed.average < high
    residual = model_of(trial, schema, n=400, learner="r", propensity=0.5).fit(1, 1e-6)
    with pytest.raises(ParameterError, match="R-learner"):
        residual.projection(["x1"])
    assert "No interval contains sampling" in observed.summary()


def test_an_s_learner_says_that_its_effect_is_constant(trial, schema):
    model = model_of(trial, schema, learner="s", propensity=0.5)
    result = model.fit(5)
    assert "same for everybody" in str(model.plan(5))
    assert np.ptp(result.effect(GRID)) == 0
    assert len(result.tidy()) == 1
    with pytest.raises(ParameterError, match="same effect for everybody"):
        result.shape("x1")


def test_a_feature_that_is_constant_is_an_ordinary_case(trial, schema):
    data = trial(600).assign(x1=0.5, town="north")
    model = dprct.CATE(data, schema, outcome="y", features=FEATURES, treatment="t")
    assert np.isfinite(model.fit(1).effect(GRID)).all()


def test_formula_and_columns_are_the_same_model(trial, schema):
    data = trial(400)
    one = dprct.CATE.from_formula("y ~ x1 + C(town)", data, schema, treatment="t")
    two = dprct.CATE(data, schema, outcome="y", features=FEATURES, treatment="t")
    assert one.fit(1, rng=1).effect(GRID).tolist() == two.fit(1, rng=1).effect(GRID).tolist()
    with pytest.raises(FormulaError):
        dprct.CATE.from_formula("y ~ I(x1 ** 2)", data, schema, treatment="t")


def test_parts_together_cost_what_the_dearest_costs(trial, schema):
    """One person is in one part: three releases of mu each are one of mu, not of 3 mu."""
    model, budget = model_of(trial, schema, n=400), Budget.asked(1, 1e-6)
    allocation = model.spec.allocation(model.facts, budget)
    costs = [mechanism.cost() for mechanism in allocation.parts.values()]
    assert len(costs) == 3
    assert model.guarantee(budget).parameter == max(cost.parameter for cost in costs)
    assert model.guarantee(budget).budget == budget


SPENT = ((0.5, 1e-6), (0.3, 1e-6), (0.4, 1e-7), (0.3, 1e-6))
"""What several fits are asked for."""


@pytest.mark.parametrize("composition", ["gdp", "zcdp"])
def test_several_fits_cost_the_largest_of_their_parts(trial, schema, composition, independent):
    """What dp_accounting says of one part of each fit; all parts of each cost far more."""
    book, model = dprct.Accountant(5, 1e-5, composition=composition), model_of(trial, schema, 400)
    bought = [model.spec.allocation(model.facts, Budget(*asked)) for asked in SPENT]
    for asked, allocation in zip(SPENT, bought, strict=True):
        assert model.fit(*asked, accountant=book).guarantee.measure == "gdp"
        assert book.ledger[-1].charge == allocation.cost()
    largest = [max(one.parts.values(), key=lambda m: m.rho) for one in bought]
    theirs = independent(composition, largest, 1e-5)
    assert theirs * 0.999 <= float(book.spent.epsilon) <= theirs * 1.02
    every = [mechanism for one in bought for mechanism in one.parts.values()]
    assert len(every) == 3 * len(bought)
    assert independent(composition, every, 1e-5) > 1.5 * theirs


def test_a_fit_in_one_part_and_one_in_parts_add_up(trial, schema, independent):
    """Pure and Gaussian fits share an accountant; a pure one counts epsilon^2 / 2."""
    book = dprct.Accountant(3, 1e-5, composition="zcdp")
    known, parts = model_of(trial, schema, 400, propensity=0.5), model_of(trial, schema, 400)
    known.fit(0.5, 1e-6, accountant=book)
    parts.fit(0.5, accountant=book)
    rhos = [entry.charge.concentrated() for entry in book.ledger]
    bought = known.spec.allocation(known.facts, Budget(0.5, 1e-6))
    assert rhos == [bought["effect"].rho, Fraction(1, 8)]


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("learner", ["dr", "r"])
def test_each_part_is_drawn_once_by_the_mechanism_that_was_charged(
    trial, schema, monkeypatch, learner, delta
):
    kind = AnalyticGaussian if delta else DiscreteLaplace
    real, drawn = kind.release, []

    def watched(mechanism, aggregate, noise):
        drawn.append((mechanism, aggregate))
        return real(mechanism, aggregate, noise)

    monkeypatch.setattr(kind, "release", watched)
    model = model_of(trial, schema, n=400, learner=learner)
    model.fit(1, delta)
    allocation = model.spec.allocation(model.facts, Budget.asked(1, delta))
    assert [mechanism for mechanism, _ in drawn] == list(allocation.parts.values())
    for mechanism, aggregate in drawn:
        own = (mechanism.l2_squared, aggregate.l2_squared) if delta else (
            mechanism.l1, aggregate.l1
        )  # fmt: skip
        assert own[0] == own[1]


@pytest.mark.parametrize(
    "options",
    [{}, {"learner": "r"}, {"learner": "s", "propensity": 0.5}, {"propensity": 0.5}],
    ids=str,
)
def test_a_fit_is_resumed_from_what_was_saved_and_costs_nothing(trial, schema, tmp_path, options):
    book = dprct.Accountant.open(tmp_path / "t.json", dataset_id="t", epsilon=2, delta=1e-5)
    found = model_of(trial, schema, n=400, **options).fit(1, 1e-6, accountant=book)
    (entry,), spent = book.ledger, book.spent
    other = dprct.CATE(
        trial(400, seed=2),
        schema,
        outcome="y",
        features=FEATURES,
        treatment="t",
        **options,
    )
    again = other.resume(entry.id, accountant=book)
    assert book.spent == spent
    assert again.tidy().equals(found.tidy())
    assert list(again.models) == list(found.models)
    assert [fit.average for fit in again.models.values()] == [
        fit.average for fit in found.models.values()
    ]
    assert again.effect(GRID).tolist() == found.effect(GRID).tolist()
    for changed in ({"learner": "r" if options.get("learner") != "r" else "dr"}, {"clip": 3}):
        with pytest.raises(LedgerError, match="what the study declares"):
            model_of(trial, schema, n=400, **{**options, **changed}).resume(
                entry.id, accountant=book
            )


def test_all_problems_are_named_from_public_facts(trial, schema):
    model = model_of(trial, schema, n=400)
    wrong = replace(
        model.spec, learner="x", treatment="arm", propensity=2, clip=0, trim=1, features=("arm",)
    )
    problems = [str(problem).split("=")[0] for problem in wrong.problems(model.facts)]
    assert problems == [
        "learner", "treatment 'arm' must have the declared levels 0 and 1 and missing",
        "'arm' is the treatment and a feature; name it once", "propensity", "clip", "trim",
    ]  # fmt: skip


def test_every_intermediate_model_is_there(trial, schema):
    result = model_of(trial, schema, n=400).fit(1)
    names = ["propensity", "outcome of the untreated", "outcome of the treated", "effect"]
    assert list(result.models) == names


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"learner": "x"}, ParameterError, "allowed: dr, r, s, t"),
        ({"propensity_model": "probit"}, ParameterError, "allowed: additive, logit"),
        ({"learner": "s"}, ParameterError, "give assignment= or propensity="),
        ({"treatment": "arm"}, SchemaError, "levels 0 and 1"),
        ({"features": ["x1", "t"]}, ParameterError, "the treatment and a feature"),
        ({"features": ["x1", "y"]}, ParameterError, "the outcome and a feature"),
        ({"subgroups": ["t"]}, ParameterError, "the treatment and a feature"),
        ({"outcome": "t"}, ParameterError, "the treatment and the outcome"),
        ({"outcome": "gap"}, SchemaError, "missing="),
        ({"clip": 0}, ParameterError, "above 0"),
        ({"neighbors": "add-remove"}, ParameterError, "allowed: 'replace-one'"),
        ({"parts": {"propensity": 0.001, "effect": 0.999}}, ParameterError, "fewer than 2"),
    ],
)
def test_what_the_constructor_refuses(trial, schema, options, error, words):
    with pytest.raises(error, match=words):
        model_of(trial, schema, n=400, **options)


def test_a_treatment_is_no_feature_of_an_exclusive_group(trial, schema):
    """The columns of such a group are one feature, which has the name of the first."""
    bit = {"levels": (0.0, 1.0), "missing": (), "exclusive": "kind"}
    columns = [column for column in schema.columns if column.name != "t"]
    kinds = (dprct.Column("other", "byte", **bit), dprct.Column("t", "byte", **bit))
    data = trial(400).assign(other=0.0)
    with pytest.raises(ParameterError, match="'t' is the treatment and a feature"):
        dprct.CATE(
            data, dprct.Schema((*columns, *kinds)), outcome="y", features=["other", "t"],
            treatment="t", propensity=0.5,
        )  # fmt: skip


SLIPS = ("outcome", "features", "treatment", "propensity", "assignment", "learner", "clip",
         "parts", "trim", "bins", "categorical", "pairs", "subgroups", "projection",
         "neighbors")  # fmt: skip


@pytest.mark.parametrize("library", [pd.Series, pl.Series, list])
@pytest.mark.parametrize("slip", SLIPS)
def test_a_column_in_the_place_of_an_argument_is_named_and_not_shown(trial, schema, slip, library):
    """A level and a number that only this column has are in no message."""
    for secret in (library(["Hemmelig"] * 3), library([71.25] * 3)):
        if library is list and slip not in {"clip", "bins", "parts", "pairs", "outcome", "learner"}:
            continue  # a list of texts names columns
        with pytest.raises(DprctError, match=f"{slip}=") as refused:
            model_of(trial, schema, n=400, **{slip: secret})
        assert not {"Hemmelig", "71"} & set(re.findall(r"\w+", str(refused.value)))


@pytest.mark.parametrize("nothing", [None, 3])
@pytest.mark.parametrize("slip", ["features", "subgroups", "categorical", "pairs", "projection"])
def test_what_lists_no_names_is_refused_by_the_name_of_its_argument(trial, schema, slip, nothing):
    with pytest.raises(ParameterError, match=f"{slip}="):
        model_of(trial, schema, n=400, **{slip: nothing})


def test_what_is_no_schema_is_refused(trial):
    with pytest.raises(SchemaError, match=r"give a dprct\.Schema"):
        model_of(trial, None, n=400)


def test_results_show_nothing_of_a_column_in_the_place_of_a_name(trial, schema):
    """Neither do those of an S-learner, which has no shapes."""
    for learner in ("dr", "s"):
        result = model_of(trial, schema, n=400, learner=learner, propensity=0.5).fit(1)
        for ask in (result.shape, result.subgroup_effects, result.projection):
            with pytest.raises(ParameterError) as refused:
                ask(pl.Series(["Hemmelig"]))
            assert "Hemmelig" not in str(refused.value)


def test_the_plan_says_how_noisy_it_will_be(trial, schema):
    plan = model_of(trial, schema, n=400, propensity=0.5).plan(0.1, 1e-6)
    assert "noise of a level" in plan.facts
    assert plan.warnings
    assert not model_of(trial, schema, propensity=0.5).plan(5, 1e-6).warnings


def test_a_design_or_a_number_makes_it_known(schema):
    assert known_propensity(schema, 100, "t", dprct.Simple("t", shares=0.3), None) == Fraction(
        3, 10
    )
    assert known_propensity(schema, 100, "t", dprct.Complete("t"), None) == Fraction(1, 2)
    assert known_propensity(schema, 100, "t", dprct.Complete("t", counts=20), None) == Fraction(
        1, 5
    )
    assert known_propensity(schema, 100, "t", None, 0.3) == Fraction(3, 10)
    assert known_propensity(schema, 100, "t", None, None) is None


@pytest.mark.parametrize("value", [0, 1, -0.2, 1.5, float("nan"), float("inf"), "half", True])
def test_what_is_no_probability_is_refused(schema, value):
    with pytest.raises(ParameterError, match="between 0 and 1"):
        known_propensity(schema, 100, "t", None, value)


def test_contradictions_are_refused(schema):
    with pytest.raises(ParameterError, match="give one of them"):
        known_propensity(schema, 100, "t", dprct.Simple("t"), 0.5)
    with pytest.raises(ParameterError, match="it must assign 't'"):
        known_propensity(schema, 100, "t", dprct.Simple("arm"), None)
    with pytest.raises(ParameterError, match="give a design"):
        known_propensity(schema, 100, "t", 0.5, None)
    with pytest.raises(ParameterError, match="clusters"):
        known_propensity(schema, 100, "t", dprct.Cluster("t", cluster="town"), None)
