"""From a long table to arrays, and every way in which it may not be a panel."""

from __future__ import annotations

import math
import traceback

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dprct.errors import ColumnError, ParameterError, SchemaError
from dprct.estimate.synthetic_control.panel import panel_of, panel_of_arrays
from dprct.schema import Column, FileFacts, Schema
from dprct.schema.tables import eager


@pytest.mark.parametrize("engine", [pd.DataFrame, pl.from_pandas])
def test_a_shuffled_table_is_arranged(panel, schema, asked, engine) -> None:
    frame = panel()
    found, rows = panel_of(engine(frame), schema, **asked), eager(engine(frame))
    assert found.donors(rows).shape == (11, 8)
    assert (found.T0, found.treated) == (4, "Łódź")
    assert found.times.tolist() == [2000.0 + t for t in range(8)]
    wide = frame.pivot(index="region", columns="year", values="output")
    assert found.target(rows).tolist() == wide.loc["Łódź"].tolist()
    for name, row in zip(found.names, found.donors(rows), strict=True):
        assert row.tolist() == wide.loc[name].tolist()


def test_some_donors_only(panel, schema, asked) -> None:
    found = panel_of(panel(), schema, donors=["région 3", "région 1"], **asked)
    assert found.names == ("région 3", "région 1")


def coded(characteristics=(("_dta", "iis", "region"), ("_dta", "tis", "year"))) -> Schema:
    return Schema(
        (
            Column("region", "byte", value_label="names"),
            Column("year", "int"),
            Column("output", bounds=(0.0, 100.0)),
        ),
        FileFacts(
            value_labels={"names": {1: "A", 2: "B", 3: "Łódź"}}, characteristics=characteristics
        ),
    )


@pytest.fixture
def small() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "region": np.repeat([1.0, 2.0, 3.0], 4),
            "year": np.tile([1.0, 2.0, 3.0, 4.0], 3),
            "output": np.arange(12.0),
        }
    )


@pytest.mark.parametrize("treated", [3, 3.0, "Łódź"])
def test_codes_have_labels_and_xtset_is_the_default(small, treated) -> None:
    found = panel_of(small, coded(), outcome="output", treated=treated, treatment_time=3)
    assert (found.names, found.treated, found.T0) == (("A", "B"), "Łódź", 2)
    newer = coded((("_dta", "_TSpanel", "region"), ("_dta", "_TStvar", "year")))
    again = panel_of(small, newer, outcome="output", treated=treated, treatment_time=3)
    assert again.rows.tolist() == found.rows.tolist()


def test_an_xtset_that_is_out_of_date_is_named(small) -> None:
    stale = coded((("_dta", "iis", "index"), ("_dta", "tis", "year")))
    with pytest.raises(ColumnError, match=r"xtset names 'index', .*; give unit="):
        panel_of(small, stale, outcome="output", treated=3, treatment_time=3)


def test_without_xtset_the_columns_are_asked_for(small) -> None:
    with pytest.raises(ParameterError, match=r"notes no xtset; give unit="):
        panel_of(small, coded(()), outcome="output", treated=3, treatment_time=3)


MISTAKES = {
    "unbalanced": (lambda f: f.iloc[1:], {}, SchemaError, "unbalanced: a 'region' lacks a 'year'"),
    "missing": (
        lambda f: f.assign(output=f["output"].mask(f.index == 5)),
        {},
        SchemaError,
        "outcome 'output' is missing for some unit and period",
    ),
    "twice": (
        lambda f: pd.concat([f, f.iloc[:1]]),
        {},
        SchemaError,
        "a 'region' has a 'year' twice; give one row per unit and period",
    ),
    "outside": (
        lambda f: f.assign(output=f["output"] + 1000),
        {},
        SchemaError,
        "output: a value outside the bounds",
    ),
    "no time": (
        lambda f: f.assign(year=f["year"].mask(f.index == 2)),
        {},
        SchemaError,
        "time 'year' is missing in some row",
    ),
    "no unit": (
        lambda f: f.assign(region=f["region"].mask(f.index == 2, "")),
        {},
        SchemaError,
        "unit 'region' is missing in some row",
    ),
    "treated": (lambda f: f, {"treated": "Lodz"}, ParameterError, "Lodz' is not a 'region'"),
    "donor": (lambda f: f, {"donors": ["Łódź", "région 1"]}, ParameterError, "names the treated"),
    "donors": (lambda f: f, {"donors": ["région 1"] * 2}, ParameterError, "or a unit twice"),
    "unknown": (lambda f: f, {"donors": ["x"]}, ParameterError, "'region'"),
    "one": (lambda f: f, {"donors": ["région 1"]}, ParameterError, "donors is 1; .* at least 2"),
    "early": (lambda f: f, {"treatment_time": 2001}, ParameterError, "T0=1 periods before"),
    "late": (lambda f: f, {"treatment_time": 2050}, ParameterError, "no period after treatment"),
    "when": (lambda f: f, {"treatment_time": "2004"}, ParameterError, "give a number of 'year'"),
    "nan": (lambda f: f, {"treatment_time": math.nan}, ParameterError, "treatment_time=nan; give"),
    "one name": (lambda f: f, {"donors": "x"}, ParameterError, "donors='x' is one name; give a"),
    "column": (lambda f: f, {"outcome": "ouput"}, ColumnError, "did you mean 'output'"),
    "text": (lambda f: f, {"outcome": "region"}, SchemaError, "'region' is text, the unit"),
    "text time": (lambda f: f, {"time": "region"}, SchemaError, "time 'region' is text"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_each_mistake_has_its_sentence(panel, schema, asked, mistake: str) -> None:
    spoil, options, error, words = MISTAKES[mistake]
    loose = schema.with_columns([Column("output", bounds=(0.0, 100.0))])
    with pytest.raises(error, match=words) as caught:
        panel_of(spoil(panel()), loose, **(asked | options))
    assert "\n" not in str(caught.value)


def test_arrays_are_named_and_dated() -> None:
    table, found = panel_of_arrays(np.ones((3, 5)), np.zeros(5), 2)
    assert found.donors(eager(table)).tolist() == np.ones((3, 5)).tolist()
    assert found.target(eager(table)).tolist() == [0] * 5
    assert found.names == ("donor 1", "donor 2", "donor 3")
    assert found.times.tolist() == [1, 2, 3, 4, 5]


X = np.ones((3, 5))
ARRAYS = {
    "shape": ((X, np.ones(4), 2), {}, r"X has shape \(3, 5\) and y \(4,\)"),
    "nan": ((X * np.nan, np.ones(5), 2), {}, "give complete series"),
    "names": ((X, np.ones(5), 2), {"names": ["a", "b"]}, "one name per donor"),
    "times": ((X, np.ones(5), 2), {"times": [1, 2, 3, 3, 4]}, "increasing order"),
    "treated": ((X, np.ones(5), 2), {"names": ["a", "b", "treated"]}, "names has the treated unit"),
    "T0": ((X, np.ones(5), 2.5), {}, "T0=2.5; give the number of pre-periods"),
    "T0 low": ((X, np.ones(5), 1), {}, "T0=1 periods before treatment; give at least 2"),
    "no post": ((X, np.ones(5), 5), {}, "no period after treatment"),
    "text": (
        ([["secret"] * 5] * 3, np.ones(5), 2),
        {},
        "X is not an array of numbers; give",
    ),
    "ragged": (([[1.0, 2.0], [1.0]], np.ones(2), 2), {}, "X is not an array of numbers"),
    "dates": ((X, np.ones(5), 2), {"times": list("abcde")}, "times is not an array of numbers"),
    "one donor": (
        (X[:1], np.ones(5), 2),
        {},
        "the number of donors is 1; a synthetic control needs at least 2",
    ),
}


@pytest.mark.parametrize("mistake", ARRAYS)
def test_each_mistake_in_arrays_has_its_sentence(mistake: str) -> None:
    arguments, options, words = ARRAYS[mistake]
    with pytest.raises(ParameterError, match=words) as caught:
        panel_of_arrays(*arguments, **options)
    assert "secret" not in "".join(traceback.format_exception(caught.value)[-1:])
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_numbers_of_numpy_are_numbers(panel, schema, asked) -> None:
    options = asked | {"treatment_time": np.int64(2004)}
    assert panel_of(panel(), schema, **options).T0 == 4
    _, found = panel_of_arrays(X, np.ones(5), np.int16(2), names=[1, 2, 3])
    assert found.names == ("1", "2", "3")
