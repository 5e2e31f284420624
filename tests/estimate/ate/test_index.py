"""A public index: of a formula, a function or a pilot file, each row from itself alone."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from dprct.assignment import Complete
from dprct.errors import FormulaError, ParameterError, SchemaError
from dprct.estimate.ate.facts import Linear, indexes_of, pilot_index
from dprct.estimate.ate.model import PrivateATE
from dprct.io.formats import is_file
from dprct.schema import Column, Schema

if TYPE_CHECKING:
    from collections.abc import Callable


COVARIATES = Schema((Column("y"), Column("age"), Column("years of school")))


@pytest.fixture
def written(tmp_path: Path) -> Path:
    rng = np.random.default_rng(2)
    age, school = rng.uniform(18, 60, 200), rng.integers(0, 12, 200)
    y = 12 - 0.5 * age + 2 * school
    data = pd.DataFrame({"y": y, "age": age, "years of school": school})
    data.loc[3, "age"] = np.nan
    path = tmp_path / "pilot.csv"
    data.to_csv(path, index=False)
    return path


def test_the_index_is_least_squares_on_complete_rows(written: Path) -> None:
    found = pilot_index(written, "y", ("age", "years of school"), COVARIATES)
    assert str(found) == "12 - 0.5*age + 2*`years of school`"
    rows = pd.DataFrame({"age": [20.0, np.nan], "years of school": [1.0, 1.0]})
    assert found(rows)[0] == pytest.approx(4.0)
    assert np.isnan(found(rows)[1])


def test_what_is_shown_is_what_is_computed(written: Path) -> None:
    found = pilot_index(written, "y", ("age",), COVARIATES)
    constant, slope = found.constant, found.slopes[0][1]
    assert str(found) == f"{constant:.10g} - {-slope:.10g}*age" or slope > 0
    assert float(f"{slope:.10g}") == slope
    assert found(pd.DataFrame({"age": [2.0]}))[0] == constant + slope * 2


def test_the_confidential_file_and_small_files_are_no_pilots(written: Path) -> None:
    with pytest.raises(ParameterError, match="confidential file itself"):
        pilot_index(written, "y", ("age",), replace(COVARIATES, source=written))
    pd.DataFrame({"y": [1.0, 2.0], "age": [1.0, 2.0]}).to_csv(written, index=False)
    with pytest.raises(ParameterError, match="2 complete rows for 2 coefficients"):
        pilot_index(written, "y", ("age",), COVARIATES)


def test_paths_are_told_from_formulas() -> None:
    assert is_file("a folder/pilot.DTA")
    assert is_file(Path("anything"))
    assert not is_file("0.5*age + 2.5")
    assert str(Linear(1.0, (("a", -2.0),))) == "1 - 2*a"


SCHEMA = Schema(
    (
        Column("y", bounds=(0.0, 100.0), missing=(".",), missing_policy="public"),
        Column("t", "byte", levels=(0.0, 1.0), missing=()),
        Column("age", missing=(".",)),
        Column("town", "str8", missing=()),
    )
)
OPTIONS: dict[str, Any] = {"outcome": "y", "treatment": "t"}
BOUNDS = {"index_bounds": (-10.0, 15.0)}


def people(n: int = 20_000) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    age = rng.integers(18, 60, n).astype(float)
    t = rng.permutation(np.arange(n) % 2).astype(float)
    y = 12 + 0.5 * age + 3 * t + rng.uniform(-4, 4, n)
    y[rng.random(n) < 0.1] = np.nan
    return pd.DataFrame({"y": y, "t": t, "age": age, "town": np.where(age > 30, "a", "b")})


def by_function(rows: pd.DataFrame) -> Any:
    return 12 + 0.5 * rows["age"] + 0.0 * (rows["town"] == "a")


@pytest.fixture
def pilot(tmp_path: Path) -> Path:
    path = tmp_path / "pilot.csv"
    data = pd.DataFrame({"age": [20.0, 30.0, 50.0, 60.0]})
    data.assign(y=12 + 0.5 * data["age"]).to_csv(path, index=False)
    return path


@pytest.mark.parametrize("kind", ["formula", "function", "pilot"])
def test_an_index_narrows_the_noise_and_keeps_the_effect(kind: str, pilot: Path) -> None:
    rules = {
        "formula": {"index": "12 + 0.5*age"},
        "function": {"index": by_function, "index_columns": ["age", "town"]},
        "pilot": {"index": pilot, "index_columns": ["age"]},
    }
    plain = PrivateATE(people(), SCHEMA, **OPTIONS).fit(epsilon=4, rng=1)
    model = PrivateATE(people(), SCHEMA, **OPTIONS, **BOUNDS, **rules[kind])
    result = model.fit(epsilon=4, rng=1)
    assert result.effects[0].scales[0] == pytest.approx(plain.effects[0].scales[0] / 4)
    # uniform errors of sd 2.3: a sampling error of .035, and 25 noise scales
    assert result.params["t"] == pytest.approx(3, abs=0.25 + 25 * result.effects[0].scales[0])
    assert result.bse["t"] < 0.5 * plain.bse["t"]
    assert "y less its index clipped to [-10, 15]" in result.notes[0]
    assert "same effect as y where nothing is clipped" in " ".join(result.notes)
    said = {"formula": "12 + 0.5 * age", "function": "by_function", "pilot": "12 + 0.5*age"}
    assert said[kind] in str(model.plan(epsilon=4))
    assert any(said[kind] in fact for fact in result.guarantee.public_facts)


def test_a_covariate_that_is_missing_counts_as_a_residual_of_zero() -> None:
    data = people(2_000).assign(age=np.nan, y=50.0)
    model = PrivateATE(data, SCHEMA, **OPTIONS, index="age", **BOUNDS)
    found = model.fit(epsilon=200)
    assert found.control.loc["y", "mean"] == pytest.approx(0, abs=0.1)


def test_a_declared_value_for_the_missing_is_adjusted_too() -> None:
    data = people(20_000).assign(y=np.nan, age=40.0)
    schema = SCHEMA.declare(y={"missing_policy": 35})
    model = PrivateATE(data, schema, **OPTIONS, index="30 + 0*age", **BOUNDS)
    assert model.fit(epsilon=200).control.loc["y", "mean"] == pytest.approx(5, abs=0.05)


LOOKING: dict[str, Callable[[pd.DataFrame], Any]] = {
    "mean": lambda rows: rows["age"] - rows["age"].mean(),
    "rank": lambda rows: rows["age"].rank(),
    "lag": lambda rows: rows["age"].shift(1).fillna(0),
    "maximum": lambda rows: rows["age"] / rows["age"].max(),
    "first": lambda rows: np.full(len(rows), rows["age"].iloc[0]),
    "count": lambda rows: np.full(len(rows), float(len(rows))),
}


@pytest.mark.parametrize("name", LOOKING)
@pytest.mark.parametrize("constant", [False, True])
def test_a_function_that_looks_at_other_rows_is_refused(name: str, constant: bool) -> None:
    data = people(500)
    if constant:
        data["age"] = 30.0
    with pytest.raises(ParameterError, match="from that row alone"):
        PrivateATE(
            data,
            SCHEMA,
            **OPTIONS,
            **BOUNDS,
            index=LOOKING[name],
            index_columns=["age"],
        )


def test_a_function_that_fails_on_some_row_is_no_refusal_and_moves_no_other_row() -> None:
    """What whoever knows all rows but one could read the last one from."""

    def fails(rows: pd.DataFrame) -> Any:
        if (rows["age"] == 43.125).any():  # no made-up row has it
            raise KeyError(f"{rows['age'].max()}")
        return rows["age"]

    rows = pd.DataFrame({"age": [20.0, 30.0, 40.0]})
    index = indexes_of(fails, (0, 1), ["age"], ["y"], Complete("t"), SCHEMA)["y"]
    index.check(SCHEMA)
    assert index.values(rows).tolist() == [20.0, 30.0, 40.0]
    found = index.values(rows.replace(30.0, 43.125))
    assert found[[0, 2]].tolist() == [20.0, 40.0]
    assert np.isnan(found[1])


def test_a_function_that_warns_of_some_row_is_not_heard() -> None:
    """Its warning says what the rows hold, and that there is one says it, too."""

    def warns(rows: pd.DataFrame) -> Any:
        warnings.warn(f"the oldest is {rows['age'].max()}", stacklevel=1)
        return rows["age"]

    index = indexes_of(warns, (0, 1), ["age"], ["y"], Complete("t"), SCHEMA)["y"]
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        index.check(SCHEMA)
        assert index.values(pd.DataFrame({"age": [20.0, 30.0]})).tolist() == [20.0, 30.0]
    assert heard == []


def test_one_number_of_one_row_may_come_without_its_vector() -> None:
    """R has no other form of it; of several rows one number is refused all the same."""

    def squeezed(rows: pd.DataFrame) -> Any:
        return rows["age"].to_numpy().squeeze()

    index = indexes_of(squeezed, (0, 1), ["age"], ["y"], Complete("t"), SCHEMA)["y"]
    index.check(SCHEMA)
    assert index.values(pd.DataFrame({"age": [20.0]})).tolist() == [20.0]
    one = indexes_of(lambda _: 1.0, (0, 1), ["age"], ["y"], Complete("t"), SCHEMA)["y"]
    with pytest.raises(ParameterError, match="one number per row"):
        one.check(SCHEMA)


def test_a_function_that_looks_at_other_rows_of_many_is_given_each_alone() -> None:
    def looks(rows: pd.DataFrame) -> Any:
        return rows["age"] - (rows["age"].mean() if len(rows) > 64 else 0)

    rows = people(400)[["age"]]
    index = indexes_of(looks, (0, 1), ["age"], ["y"], Complete("t"), SCHEMA)["y"]
    index.check(SCHEMA)
    assert index.values(rows).tolist() == rows["age"].tolist()


def secret(rows: pd.DataFrame) -> Any:
    raise ValueError(f"age is {rows['age'].iloc[0]}")


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"index": "age"}, ParameterError, "declare .low, high."),
        ({"index": "age", "index_bounds": (3, 1)}, ParameterError, "declare .low, high."),
        ({"index_bounds": (0, 1)}, ParameterError, "need index="),
        ({"index": secret, **BOUNDS}, ParameterError, "index_columns="),
        ({"index": secret, "index_columns": ["age"], **BOUNDS}, ParameterError, "with ValueError"),
        ({"index": len, "index_columns": ["age"], **BOUNDS}, ParameterError, "one number per row"),
        ({"index": 3, "index_columns": ["age"], **BOUNDS}, ParameterError, "allowed: a function"),
        ({"index": "age + t", **BOUNDS}, ParameterError, "would change the effect"),
        ({"index": "y - age", **BOUNDS}, ParameterError, "would change the effect"),
        ({"index": "age) + I(age", **BOUNDS}, FormulaError, "not one expression"),
        ({"index": "exp(age)", **BOUNDS}, FormulaError, "exp"),
        ({"index": "__import__('os')", **BOUNDS}, FormulaError, "__import__"),
        ({"index": "age", "index_columns": ["town"], **BOUNDS}, ParameterError, "leave index_col"),
        ({"index": {"z": "age"}, **BOUNDS}, ParameterError, "which is not an outcome of this fit"),
        ({"index": "height", **BOUNDS}, SchemaError, "height"),
    ],
)
def test_what_is_no_index_is_refused(
    options: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(Exception, match=words) as caught:
        PrivateATE(people(50), SCHEMA, **OPTIONS, **options)
    assert isinstance(caught.value, error) or "height" in words
    assert "age is" not in str(caught.value)


def test_nothing_of_what_a_function_raises_stays() -> None:
    def ours(rows: pd.DataFrame) -> Any:
        raise SchemaError(f"age is {rows['age'].iloc[0]}")

    for rule in (secret, ours):
        with pytest.raises(ParameterError, match=r"ended with \w+Error; give a") as caught:
            PrivateATE(
                people(50),
                SCHEMA,
                **OPTIONS,
                **BOUNDS,
                index=rule,
                index_columns=["age"],
            )
        assert "age is" not in str(caught.value)
        assert caught.value.__context__ is caught.value.__cause__ is None


@pytest.mark.parametrize("bounds", [["Zebediah", 1.0], 3.0, (1.0, 0.0)])
def test_bounds_that_are_none_leave_nothing_of_themselves(bounds: Any) -> None:
    with pytest.raises(ParameterError, match=r"index_bounds.* give|declare \(low") as caught:
        PrivateATE(people(50), SCHEMA, **OPTIONS, index="age", index_bounds=bounds)
    assert "Zebediah" not in str(caught.value)
    assert caught.value.__context__ is None


def test_several_outcomes_name_theirs() -> None:
    schema = Schema((*SCHEMA.columns, Column("glad", bounds=(0.0, 1.0), missing=())))
    data = people(4_000).assign(glad=1.0)
    options = OPTIONS | {"outcome": ["y", "glad"]}
    with pytest.raises(ParameterError, match="mapping from outcome"):
        PrivateATE(data, schema, **options, index="age", **BOUNDS)
    model = PrivateATE(data, schema, **options, index={"y": "age"}, index_bounds={"y": (0, 10)})
    assert [outcome.column.bounds for outcome in model.facts.outcomes] == [(0, 10), (0, 1)]
