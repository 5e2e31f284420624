"""A column of the data in the place of an argument is refused, and nothing of it is printed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dprct import IPW, Calibrated, MVHistogram, PrivateATE, SyntheticControl
from dprct.arguments import check_choice, listed_names, one_name
from dprct.errors import DprctError, ParameterError, SchemaError
from dprct.schema import Column, Schema
from dprct.schema.schema import check_schema

SECRET, SPOKEN = 7.253617, "SECRETVILLAGE"
FACTS: dict[str, Any] = {"missing": (), "fate": "modelled"}
SCHEMA = Schema(
    (
        Column("y", bounds=(0.0, 12.0), bins=4, missing=("."), missing_policy=0.0, fate="modelled"),
        Column("t", "byte", levels=(0.0, 1.0), **FACTS),
        Column("home", "str16", levels=(SPOKEN, "b"), fate="modelled"),
    )
)
DATA = pd.DataFrame({"y": [SECRET] * 40, "t": [0.0, 1.0] * 20, "home": [SPOKEN] * 40})
SLIPS: dict[str, Any] = {
    "a column": DATA["y"],
    "a column of text": DATA["home"],
    "an array": DATA["y"].to_numpy(),
    "an array of text": DATA["home"].to_numpy(),
    "of Polars": pl.Series("y", DATA["y"].tolist()),
    "the table": DATA,
    "a list of numbers": DATA["y"].tolist(),
    "nothing like it": object(),
}
EFFECT = {"outcome": "y", "treatment": "t"}
OF_EFFECT = (
    "outcome", "treatment", "budget_shares", "alphas", "effects", "neighbors",
    "index_columns", "index_bounds", "control", "blocks", "privacy_unit",
)  # fmt: skip
OF_RELEASE = ("columns", "keep", "zeta", "schema")
OF_FILE = ("covariates", "covariate_release", "legal", "gamma", "keep", "specifications")


def refused(call: Any, parameter: str) -> None:
    with pytest.raises(DprctError) as found:
        call()
    said = str(found.value)
    assert SPOKEN not in said
    assert "7.25" not in said
    assert parameter in said or "missing" in said


@pytest.mark.parametrize("slip", SLIPS)
@pytest.mark.parametrize("parameter", OF_EFFECT)
def test_an_effect_prints_nothing_of_a_column(parameter: str, slip: str) -> None:
    index = {"index": "0.1*y", "index_columns": ["t"], "index_bounds": (-9, 9)}
    options = EFFECT | (index if "index" in parameter else {}) | {parameter: SLIPS[slip]}
    refused(lambda: PrivateATE(DATA, SCHEMA, **options), parameter)


@pytest.mark.parametrize("slip", SLIPS)
@pytest.mark.parametrize("parameter", OF_RELEASE)
def test_a_release_prints_nothing_of_a_column(parameter: str, slip: str) -> None:
    options = {"schema": SCHEMA} | {parameter: SLIPS[slip]}
    refused(lambda: MVHistogram(DATA, options.pop("schema"), **options), parameter)


@pytest.mark.parametrize("slip", SLIPS)
@pytest.mark.parametrize("parameter", OF_FILE)
def test_a_calibrated_file_prints_nothing_of_a_column(parameter: str, slip: str) -> None:
    options = EFFECT | {parameter: SLIPS[slip]}
    refused(lambda: Calibrated(DATA, SCHEMA.declare(t={"fate": "public"}), **options), parameter)


def test_names_are_text_once_or_in_any_list() -> None:
    assert listed_names("earn", "outcome") == ("earn",)
    for names in (["a", "b"], ("a", "b"), (n for n in "ab"), pd.Index(["a", "b"]), {"a": 1}.keys()):
        found = listed_names(names, "outcome")
        assert found == (("a",) if len(found) == 1 else ("a", "b"))
    assert listed_names([], "keep") == ()
    for wrong in (None, 5, ["a", 5], {"a": "b"}, b"a", pd.Series(["a"]), np.array(["a"])):
        with pytest.raises(ParameterError, match=r"outcome= is .*; give names, as text"):
            listed_names(wrong, "outcome")


def test_one_set_of_covariates_is_a_set() -> None:
    model = Calibrated(
        DATA,
        SCHEMA.declare(t={"fate": "public"}),
        **EFFECT,
        specifications="C(home)",
    )
    assert model.facts.regressions.covariates == ((), ("C(home)",))


def test_a_choice_and_a_schema_are_what_they_are_called() -> None:
    for wrong in ("strikt", None, ["strict"], np.array(["strict"])):
        with pytest.raises(ParameterError, match=r"legal=.*; allowed: calibrated, strict"):
            check_choice("legal", wrong, ("calibrated", "strict"))
    with pytest.raises(SchemaError, match=r"schema is NoneType; give a dprct\.Schema"):
        check_schema(None)


HIDDEN = 0.7071234
PANEL = pd.DataFrame(
    {"unit": np.repeat(range(6), 5), "year": np.tile(range(5), 6), "y": np.full(30, HIDDEN)}
)
PANEL_SCHEMA = Schema((Column("unit"), Column("year"), Column("y", bounds=(0, 1), missing=())))
PEOPLE = pd.DataFrame({"y": [HIDDEN] * 40, "t": [0.0, 1.0] * 20, "x": [HIDDEN] * 40})
PEOPLE_SCHEMA = Schema(
    (
        Column("y", bounds=(0, 1), missing=()),
        Column("t", "byte", levels=(0.0, 1.0), missing=()),
        Column("x", bounds=(0, 1), missing=()),
    )
)


@pytest.mark.parametrize(
    "wrong",
    [
        {"outcome": PEOPLE["y"]},
        {"treatment": PEOPLE["t"]},
        {"covariates": PEOPLE["x"]},
        {"balance": PEOPLE["x"]},
        {"schema": PEOPLE},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_private_weighting_takes_names_and_shows_no_column(wrong: dict[str, Any]) -> None:
    asked = {"outcome": "y", "treatment": "t", "covariates": ["x"], "schema": PEOPLE_SCHEMA}
    with pytest.raises((ParameterError, SchemaError), match=next(iter(wrong))) as refused:
        IPW(PEOPLE, **{**asked, **wrong})
    assert "0.7" not in str(refused.value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"outcome": PANEL["y"]},
        {"unit": PANEL["unit"]},
        {"time": PANEL["year"]},
        {"donors": PANEL["y"]},
        {"placebos": PANEL["y"]},
        {"treated": PANEL["y"]},
        {"schema": PANEL},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_synthetic_control_takes_names_and_shows_no_column(wrong: dict[str, Any]) -> None:
    asked = {
        "schema": PANEL_SCHEMA, "outcome": "y", "unit": "unit", "time": "year", "treated": 0,
        "treatment_time": 3,
    }  # fmt: skip
    with pytest.raises((ParameterError, SchemaError), match=next(iter(wrong))) as refused:
        SyntheticControl(PANEL, **{**asked, **wrong})
    assert "0.7" not in str(refused.value)


def test_donors_may_be_an_array_of_their_names() -> None:
    model = SyntheticControl(
        PANEL, PANEL_SCHEMA, outcome="y", unit="unit", time="year", treated=0, treatment_time=3,
        donors=np.array([1, 2, 3]),
    )  # fmt: skip
    assert list(model.fit(1, rng=1).donor_weights.index) == ["1", "2", "3"]


def test_one_name_is_a_text() -> None:
    for wrong in (None, 5, ["y"], PEOPLE["y"]):
        with pytest.raises(ParameterError, match="give the name of one column"):
            one_name(wrong, "outcome")
