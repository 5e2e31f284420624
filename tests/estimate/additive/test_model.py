from __future__ import annotations

import itertools
import math
import pickle
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest

import dprct
from dprct.errors import FormulaError, LedgerError, ParameterError, SchemaError
from dprct.estimate.additive.model import features_of_formula
from dprct.schema import Column, Schema
from dprct.schema.columns import FileFacts

NEW = pd.DataFrame({"x": [-0.9, 0.9], "town": ["Wien", "Praha"]})


def model_of(people, schema, n=4000, **options):
    asked = {"outcome": "y", "features": ["x", "town"], **options}
    return dprct.PrivateAdditive(people(n), schema, **asked)


def test_shapes_are_found(people, schema):
    result = model_of(people, schema).fit(5, 1e-6)
    low, high = result.predict(NEW)
    assert low == pytest.approx(1.4, abs=1)
    assert high == pytest.approx(10.6, abs=1)
    ends = result.average_interval(1e-5)
    assert ends[0] < 5 + 2 / 3 < ends[1]
    assert result.shape("x")["estimate"].is_monotonic_increasing
    assert result.subgroup_means("town").set_index("level")["raw"]["Praha"] > 6.5


def test_what_is_printed_says_what_it_covers(people, schema):
    result = model_of(people, schema, n=400).fit(5, 1e-6)
    for text in (result.summary(), result.to_html(), str(result)):
        assert "not smoothing" in " ".join(text.split())
    assert set(result.tidy()["term"]) == {"average", "x", "town"}
    assert result.glance()["nobs"].tolist() == [400]
    assert str(pickle.loads(pickle.dumps(result))) == str(result)


def test_plots_are_drawn(people, schema):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    result = model_of(people, schema, n=400).fit(5, 1e-6)
    assert result.plot().get_title() == "x"
    assert len(result.plot_subgroups("town").lines) == 5
    pyplot.close("all")


def test_a_missing_outcome_needs_a_constant(people, schema):
    with pytest.raises(SchemaError, match="declare missing_policy="):
        model_of(people, schema, outcome="gap")
    five = schema.declare(gap={"missing_policy": 5})
    assert model_of(people, five, outcome="gap").fit(1, 1e-6).nobs == 4000


def test_formulas_name_features_levels_and_pairs():
    assert features_of_formula("y ~ x*C(g)") == ("y", ("x", "g"), ("g",), (("x", "g"),))
    for wrong in ("y ~ I(x + 1)", "y ~ x:g", "~ x", "y ~ x - 1"):
        with pytest.raises(FormulaError):
            features_of_formula(wrong)


@pytest.mark.parametrize("clip", [0, -1, float("inf"), "1", True])
def test_a_clip_is_a_positive_number(people, schema, clip):
    with pytest.raises(ParameterError, match=r"above 0|give a number"):
        model_of(people, schema, n=40, clip=clip)


def test_a_size_of_an_interval_is_a_probability(people, schema):
    result = model_of(people, schema, n=400).fit(5, 1e-6)
    for ask in (lambda a: result.shape("x", a), result.average_interval, result.summary,
                lambda a: result.projection(["x"], a)):  # fmt: skip
        for alpha in (0, 1, 5.0, pd.Series(["Geheim"])):
            with pytest.raises(ParameterError, match="alpha=") as refused:
                ask(alpha)
            assert "Geheim" not in str(refused.value)


SPENT = ((0.5, 1e-6), (0.3, 1e-6), (0.4, 1e-7), (0.3, 1e-6))
"""What several fits are asked for."""


@pytest.mark.parametrize("composition", ["gdp", "zcdp"])
def test_several_fits_cost_what_dp_accounting_says(people, schema, composition, independent):
    """Never less, and at most 2 % more: far below 1.5, the sum of what they claim."""
    book, model = dprct.Accountant(3, 1e-5, composition=composition), model_of(people, schema, 400)
    bought = [model.spec.allocation(model.facts, dprct.Budget(*asked)) for asked in SPENT]
    for asked, allocation in zip(SPENT, bought, strict=True):
        assert model.fit(*asked, accountant=book).guarantee.measure == "gdp"
        assert book.ledger[-1].charge == allocation.cost() == allocation["sums"].cost()
    theirs = independent(composition, [allocation["sums"] for allocation in bought], 1e-5)
    assert theirs * 0.999 <= float(book.spent.epsilon) <= theirs * 1.02
    assert book.spent.epsilon < 1.4


def test_fits_without_delta_are_concentrated_too(people, schema):
    """Laplace noise of epsilon has rho = epsilon^2 / 2: eight fits of .25 have a quarter."""
    book, model = dprct.Accountant(4, 1e-6, composition="zcdp"), model_of(people, schema, 400)
    for _ in range(8):
        model.fit(0.25, accountant=book)
    assert sum(entry.charge.concentrated() for entry in book.ledger) == Fraction(1, 4)


def test_a_fit_is_resumed_from_what_was_saved_and_costs_nothing(people, schema, tmp_path):
    book = dprct.Accountant.open(tmp_path / "p.json", dataset_id="p", epsilon=2, delta=1e-5)
    options = {"n": 400, "pairs": [("x", "town")], "subgroups": ["year"]}
    found = model_of(people, schema, **options).fit(1, 1e-6, accountant=book)
    (entry,), spent = book.ledger, book.spent
    others = dprct.PrivateAdditive(
        people(400, seed=2), schema, outcome="y", features=["x", "town"], pairs=[("x", "town")],
        subgroups=["year"],
    )  # fmt: skip
    again = others.resume(entry.id, accountant=book)
    assert book.spent == spent
    assert again.tidy().equals(found.tidy())
    assert again.predict(NEW).tolist() == found.predict(NEW).tolist()


@pytest.mark.parametrize(
    ("policy", "other"),
    [
        (4, {}),
        (5, {"pairs": [("age", "year")]}),
        (5, {"features": ["x", "age"], "subgroups": ["year"]}),
    ],
)
def test_a_fit_is_resumed_as_nothing_else(people, schema, tmp_path, policy, other):
    """Bins and bounds are the same, so that noise and sizes are."""
    book = dprct.Accountant.open(tmp_path / "p.json", dataset_id="p", epsilon=2, delta=1e-5)
    asked = {"n": 400, "bins": 4, "features": ["x", "age", "year"], "outcome": "gap",
             "pairs": [("x", "age")]}  # fmt: skip
    one, two = (schema.declare(gap={"missing_policy": value}) for value in (5, policy))
    model_of(people, one, **asked).fit(1, 1e-6, accountant=book)
    with pytest.raises(LedgerError, match="what the study declares"):
        model_of(people, two, **{**asked, **other}).resume(book.ledger[0].id, accountant=book)


def test_all_problems_are_named_from_public_facts(people, schema):
    model = model_of(people, schema, n=40)
    wrong = replace(model.spec, neighbors="add-remove", clip=0, bins=1, outcome="gap")
    problems = [str(problem).split("=")[0] for problem in wrong.problems(model.facts)]
    assert problems == [
        "neighbors",
        "bins",
        "outcome 'gap' may be missing; declare missing_policy",
        "clip",
    ]


WHY = Path(__file__).parents[3] / "docs" / "why_believe_it.md"


def printed_sensitivity(text, **numbers):
    """Evaluate the one formula of a sensitivity that a text prints."""
    (formula,) = re.findall(r"2R sqrt\(d[^)]*\)", text)
    return eval(formula.replace("2R ", "2 * R * "), {"sqrt": math.sqrt, **numbers})


@pytest.mark.parametrize("subgroups", [[], ["town"], ["town", "year"]])
@pytest.mark.parametrize("pairs", [[], [("x", "free")], [("x", "age"), ("age", "free")]])
@pytest.mark.parametrize("projection", [[], ["x", "age"], ["x", "age", "free"]])
def test_the_printed_sensitivity_is_the_one_of_the_noise(
    people, schema, subgroups, pairs, projection
):
    schema = schema.declare(free={"bounds": (-1, 1), "missing": "never"})
    features = ["x", "age", "free"] if subgroups else ["x", "age", "free", "town"]
    model = dprct.PrivateAdditive(
        people(40), schema, outcome="y", features=features, subgroups=subgroups, pairs=pairs,
        projection=projection,
    )  # fmt: skip
    layout, _ = model.spec.allocation(model.facts, dprct.Budget(1, 1e-6)).last
    apart = {frozenset(pair) for pair in itertools.combinations(projection, 2)}
    numbers = {
        "R": layout.clip, "d": len(features), "subgroups": len(subgroups), "pairs": len(pairs),
        "joint": len(apart - {frozenset(pair) for pair in pairs}),
    }  # fmt: skip
    used = math.sqrt(layout.l2_squared) * float(layout.step)
    (row,) = (line for line in WHY.read_text("utf-8").splitlines() if "| CATE | counts" in line)
    for text in (row, dprct.PrivateAdditive.__doc__):
        assert printed_sensitivity(text, **numbers) == pytest.approx(used, rel=1e-12)
    assert (
        f"L2 sensitivity {math.sqrt(layout.l2_squared):.6g} " in model.plan(1, 1e-6).facts["noise"]
    )


def test_plots_say_what_a_band_holds_in_the_words_and_bounds_of_the_schema(people, schema):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    named = schema.with_columns(
        [replace(schema.column("y"), label="Score"), replace(schema.column("x"), label="Age")]
    )
    result = model_of(people, schema, n=400).fit(0.05, 1e-6, rng=1)
    ax = result.plot(schema=named)
    assert (ax.get_title(), ax.get_ylabel()) == ("Age", "mean of Score")
    assert ax.get_xlim() == (-1, 1)
    low, high = ax.get_ylim()
    assert -5 <= low < high <= 15  # at this budget, intervals are wider than that
    said = [text.get_text() for text in ax.get_legend().get_texts()]
    assert said[0] == "95% interval: sampling and privacy noise"
    assert any("simulation" in text.get_text() for text in ax.texts)
    forest = result.plot_subgroups("town", alpha=0.1, schema=named)
    assert forest.get_title() == "town"
    assert "90% interval" in forest.get_legend().get_texts()[0].get_text()
    assert any("simulation" in text.get_text() for text in forest.texts)
    pyplot.close("all")


def test_two_levels_are_two_points(people, schema):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    data = people(400).assign(late=lambda rows: (rows["year"] > 2002) * 1.0)
    file = FileFacts(value_labels={"when": {0: "early", 1: "late"}})
    late = Column("late", "byte", levels=(0.0, 1.0), missing=(), value_label="when")
    more = Schema((*schema.columns, late), file)
    result = dprct.PrivateAdditive(data, more, outcome="y", features=["late", "town"]).fit(5, 1e-6)
    ax = result.plot("late", schema=more)
    points = next(line for line in ax.lines if line.get_marker() == "o")
    assert points.get_xdata().tolist() == [0, 1]
    assert points.get_ydata() == pytest.approx(result.shape("late")["raw"])
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["early", "late"]
    assert not ax.collections  # no band between what has nothing between
    assert len(result.plot("town").get_xticklabels()) == 3
    pyplot.close("all")
