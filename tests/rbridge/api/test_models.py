from __future__ import annotations

import re
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct.errors import FormulaError, ParameterError, SimulationError
from dprct.rbridge.api.models import method_named
from dprct.rbridge.api.results import plan_record
from dprct.rbridge.convert import Table
from dprct.rbridge.registry import exported
from dprct.schema import Schema
from dprct.study import methods
from dprct.study.methods import BY_NAME, r_name

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", BY_NAME)
def test_every_method_is_there_or_says_that_it_is_not(name: str) -> None:
    room, short = (dprct.published, name[10:]) if "." in name else (dprct, name)
    if hasattr(room, short):
        assert callable(method_named(name).fit)
    else:
        with pytest.raises(ParameterError, match=f"has no {name}; update"):
            method_named(name)


def test_another_method_is_refused() -> None:
    with pytest.raises(ParameterError, match="no method 'Magic'"):
        method_named("Magic")


def test_a_fit_from_r_is_the_fit_from_python(nsw: Table, effect: Any) -> None:
    direct = dprct.PrivateATE.from_formula(
        "re78 ~ treat", nsw.data, nsw.schema, assignment=dprct.Complete("treat", shares=185 / 445)
    )
    through = exported("fit")(effect, 1.0, rng=4.0).fields["coefficients"]
    pd.testing.assert_series_equal(through, direct.fit(1, rng=4).params)
    assert (
        exported("plan")(effect, 1.0).fields["text"] == plan_record(direct.plan(1)).fields["text"]
    )


def test_a_delta_buys_the_release_of_all_outcomes(nsw: Table, design: Any, effect: Any) -> None:
    direct = dprct.PrivateATE.from_formula(
        "re78 ~ treat", nsw.data, nsw.schema, assignment=dprct.Complete("treat", shares=185 / 445)
    )
    through = exported("fit")(effect, 1.0, 1e-6, rng=4.0).fields["coefficients"]
    pd.testing.assert_series_equal(through, direct.fit(1, 1e-6, rng=4).params)
    assert (
        exported("plan")(effect, 1.0, 1e-6).fields["text"]
        == plan_record(direct.plan(1, 1e-6)).fields["text"]
    )
    options = {"assignment": design, "subgroups": ["black"]}
    black = {"levels": [0, 1], "missing": "never", "fate": "modelled"}
    table = replace(nsw, schema=nsw.schema.declare(black=black))
    moved = exported("model")("PrivateATE", table, options, "re78 ~ treat").live
    with pytest.raises(ParameterError, match="leave subgroups= out"):
        exported("plan")(moved, 1.0)


def test_what_a_method_does_not_take_is_refused(effect: Any) -> None:
    with pytest.raises(ParameterError, match="rng="):
        exported("fit")(effect, 1.0, rng=1.5)
    with pytest.raises(ParameterError, match="confirm is str; give True"):
        exported("fit")(effect, 1.0, confirm="no")
    with pytest.raises(TypeError, match="acountant"):
        exported("fit")(effect, 1.0, acountant=None)


def test_options_of_a_calibrated_release_reach_its_estimate(nsw: Table, design: Any) -> None:
    options = {"assignment": design, "covariate_release": "filler"}
    assert exported("model")("Calibrated", nsw, options, "re78 ~ treat").live is not None
    with pytest.raises(ParameterError, match="did you mean gamma"):
        exported("model")("Calibrated", nsw, {"gama": 1.0}, "re78 ~ treat")


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("sd", "sd is a fact of a column: declare it with the column"),
        ("missing", "missing_policy is a fact of a column"),
        ("largest_cluster", "largest is a fact of the design: declare it with Cluster"),
    ],
)
def test_facts_are_declared_where_they_belong(nsw: Table, option: str, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        exported("model")("PrivateATE", nsw, {option: 1.0}, "re78 ~ treat")


def test_intervals_are_those_of_the_law(effect: Any) -> None:
    result = effect.method.fit(1.0, rng=1)
    ends = exported("estimate_interval")(result, 0.1)
    np.testing.assert_array_equal(ends.values, result.conf_int(0.1).to_numpy())


def test_a_release_is_written_and_a_simulation_is_not(
    release: Any, nsw: Table, design: Any, tmp_path: Path
) -> None:
    path = str(tmp_path / "out.dta")
    exported("release_write")(release.live, path)
    assert dprct.verify(path).identical
    model = exported("model")("Calibrated", nsw, {"assignment": design}, "re78 ~ treat").live
    simulated = exported("fit")(model, 1.0, rng=1).live
    with pytest.raises(SimulationError):
        exported("release_write")(simulated, str(tmp_path / "simulated.dta"))


def test_functions_of_covariates_are_evaluated() -> None:
    rows = pd.DataFrame({"x": np.linspace(0, 1, 400), "y": np.linspace(0, 1, 400)})
    facts = {name: {"bounds": (0, 1), "missing": "never"} for name in rows}
    schema = Schema.from_frame(rows).declare(**facts)
    model = exported("model")("PrivateAdditive", Table(rows, schema), {}, "y ~ x").live
    result = exported("fit")(model, 20.0, rng=1)
    few = Table(rows.iloc[[10, 390]], schema)
    low, high = exported("result_predict")(result.live, few)
    assert high - low > 0.5
    ends = exported("result_band")(result.live, 0.05)
    assert ends.values.shape == (len(result.live.tidy()), 2)
    with pytest.raises(ParameterError, match="predicts nothing"):
        exported("result_predict")(object(), few)
    with pytest.raises(ParameterError, match="no interval"):
        exported("result_band")(object(), 0.05)


def test_a_formula_names_the_columns_of_a_class_that_takes_columns(nsw: Table) -> None:
    with pytest.raises(FormulaError, match="2 columns on the left"):
        exported("model")("published.CATE", nsw, {"treatment": "treat"}, "re78 + age ~ educ")


ESTIMATES = {r_name(model): model for model in methods.ESTIMATES.values()}


def keys_by_field(spec: Any) -> dict[str, str]:
    """The options of a specification by field: what Python, R and a study file call them."""
    return {f.name: f.metadata.get("key", f.name) for f in fields(spec)}


@pytest.mark.parametrize("name", ESTIMATES)
def test_an_r_function_has_the_options_of_its_specification(name: str, checkout: Path) -> None:
    file, page = ("moments",) * 2 if name == "private_moments" else ("models", "estimates")
    text = (checkout / "r-wrapper" / "R" / f"{file}.R").read_text("utf-8")
    named = re.search(rf"^{name} <- function\((.*?)\) \{{\n(.*?)^\}}$", text, re.M | re.S)
    assert named is not None
    arguments = {part.split("=")[0].strip() for part in named[1].split(",")}
    options = set(keys_by_field(ESTIMATES[name].specification()).values())
    if name == "ipw":
        options -= {"weights"}  # which is there to be refused
    assert arguments - {"formula", "data", "schema", "..."} == options
    passed_on = dict(
        re.findall(r"(?<![\w.])(\w+) = (?:(?:formula|column)_texts\()?(\w+)", named[2])
    )
    assert passed_on == {option: option for option in options}
    text = (checkout / "r-wrapper" / "man" / f"{page}.Rd").read_text("utf-8")
    documented = {
        one.strip() for item in re.findall(r"\\item\{([^}]*)\}", text) for one in item.split(",")
    }
    assert options <= documented


def rows() -> Table:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "y": rng.random(400), "v": rng.random(400), "t": np.tile([0.0, 1.0], 200),
            "x": rng.random(400), "g": np.repeat([1.0, 2.0], 200), "u": np.repeat(range(40), 10),
            "w": np.tile(range(10), 40),
        }
    ).astype(float)  # fmt: skip
    facts: dict[str, Any] = {c: {"bounds": (0, 1), "missing": "never"} for c in ("y", "v", "x")}
    facts |= {c: {"levels": [0, 1], "missing": "never"} for c in ("t",)}
    facts |= {"g": {"levels": [1, 2], "missing": "never"}}
    facts |= {c: {"bounds": (0, 40), "missing": "never"} for c in ("u", "w")}
    return Table(table, Schema.from_frame(table).declare(**facts))


@pytest.mark.parametrize(
    ("method", "formula", "from_r", "options"),
    [
        (
            "PrivateATE", None,
            {"outcome": "y", "treatment": "t", "alphas": 0.01,
             "budget_shares": {"y": 1.0}, "attrition": True, "index": "0.1 * x",
             "index_bounds": np.array([-1.0, 1.0]), "effects": "arms", "blocks": "ignore"},
            {"outcome": "y", "treatment": "t", "alphas": [0.01],
             "budget_shares": {"y": 1}, "attrition": True, "index": "0.1 * x",
             "index_bounds": [-1, 1], "effects": "arms", "blocks": "ignore"},
        ),
        (
            "PrivateATE", "y + v ~ t",
            {"control": "control", "privacy_unit": "person", "neighbors":
             "replace-one-design-public"},
            {"outcome": ["y", "v"], "treatment": ["t"], "control": "control"},
        ),
        (
            "IPW", None,
            {"outcome": "y", "treatment": "t", "covariates": np.array(["x", "g"]), "trim": 0.1,
             "estimand": "att", "alphas": np.array([0.05, 0.01]), "balance": "x", "hajek": True,
             "treated": 1.0, "lam": 0.01, "overlap": True, "errors": "total", "split": 0.5},
            {"outcome": "y", "treatment": "t", "covariates": ["x", "g"], "trim": 0.1,
             "estimand": "att", "alphas": [0.05, 0.01], "balance": ["x"], "hajek": True,
             "treated": 1, "lam": 0.01, "overlap": True, "errors": "total", "split": 0.5},
        ),
        (
            "CATE", "y ~ x",
            {"treatment": "t", "propensity": 0.5, "learner": "dr", "bins": 4.0, "subgroups": "g",
             "parts": {"outcome": 0.25, "effect": 0.75}, "clip": 1.0, "trim": 0.2},
            {"outcome": "y", "features": ["x"], "treatment": "t", "propensity": 0.5, "bins": 4,
             "subgroups": ["g"], "parts": {"outcome": 0.25, "effect": 0.75}, "clip": 1,
             "trim": 0.2},
        ),
        (
            "PrivateAdditive", None,
            {"outcome": "y", "features": np.array(["x", "v"]), "pairs": [np.array(["x", "v"])],
             "bins": 3.0, "projection": np.array(["x", "v"]), "categorical": []},
            {"outcome": "y", "features": ["x", "v"], "pairs": [("x", "v")], "bins": 3,
             "projection": ["x", "v"]},
        ),
        (
            "SyntheticControl", None,
            {"outcome": "y", "unit": "u", "time": "w", "treated": 3.0, "treatment_time": 8.0,
             "donors": np.array([1.0, 2.0, 4.0, 5.0]), "donor_weights": "uniform",
             "placebos": np.array(["1", "2"]), "mean_effect": True,
             "bound": np.array([0.0, 1.0]), "budget_shares":
             {"prediction": 0.5, "mean": 0.25, "placebos": 0.25}},
            {"outcome": "y", "unit": "u", "time": "w", "treated": 3, "treatment_time": 8,
             "donors": [1, 2, 4, 5], "donor_weights": "uniform", "placebos": ("1", "2"),
             "mean_effect": True, "bound": (0, 1), "budget_shares":
             {"prediction": 0.5, "mean": 0.25, "placebos": 0.25}},
        ),
    ],
)  # fmt: skip
def test_options_from_r_are_the_options_of_the_class(
    method: str, formula: str | None, from_r: dict[str, Any], options: dict[str, Any]
) -> None:
    data = rows()
    model = exported("model")(method, data, from_r, formula).live.method
    made = getattr(dprct, method)(data.data, data.schema, **options)
    for name, value in made.spec.options().items():
        found = getattr(model.spec, name)
        listed = isinstance(value, (list, tuple)) and not isinstance(found, str)
        assert (list(found) == list(value)) if listed else (found == value), name
    budget = (4, 1e-6) if method == "IPW" else (4,)
    assert str(model.plan(*budget)) == str(made.plan(*budget))


def test_what_a_call_from_r_lacks_is_named() -> None:
    with pytest.raises(ParameterError, match=r"^PrivateATE needs outcome=; give it"):
        exported("model")("PrivateATE", rows(), {"treatment": "t"})
    with pytest.raises(ParameterError, match="treatment= follows from the formula; leave it out"):
        exported("model")("IPW", rows(), {"outcome": "y", "treatment": "t"}, "t ~ x")
