"""Predictors: ridge weights match them too, at a price that is known before any row is read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct.errors import ColumnError, DprctError, ParameterError, SchemaError
from dprct.estimate.synthetic_control.predictors import asked_of

N, T, T0 = 9, 8, 5
YEARS = np.arange(1990.0, 1990 + T)
SCHEMA = dprct.Schema(
    (
        dprct.Column("town", "byte", missing=()),
        dprct.Column("year", "int", missing=()),
        dprct.Column("sales", bounds=(-2.0, 2.0), missing=()),
        dprct.Column("age", bounds=(20.0, 60.0), missing=()),
        dprct.Column("beer", bounds=(0.0, 4.0), missing=(".",)),
        dprct.Column("coast", "byte", levels=(0.0, 1.0), missing=()),
        dprct.Column("mayor", "str9", levels=("a", "b"), missing=()),
        dprct.Column("free", missing=()),
        dprct.Column("silent", bounds=(0.0, 1.0)),
    )
)
ASKED: dict[str, Any] = {
    "unit": "town", "time": "year", "outcome": "sales", "treated": 9, "treatment_time": 1995,
}  # fmt: skip
PREDICTORS = {"age": 1.0, "beer(1991(2)1993)": 4.0, "sales(1990&1994)": 0.25, "coast": 1.0}


@pytest.fixture(scope="module")
def panel() -> pd.DataFrame:
    rng, cells = np.random.default_rng(4), (N + 1) * T
    table = pd.DataFrame({"town": np.repeat(np.arange(N + 1.0), T), "year": np.tile(YEARS, N + 1)})
    table["sales"] = rng.uniform(-2, 2, cells)
    table["age"] = rng.uniform(20, 60, cells)
    table["beer"] = np.where(rng.random(cells) < 0.4, np.nan, rng.uniform(0, 4, cells))
    table["coast"] = np.repeat(np.arange(N + 1.0) % 2, T)
    table["mayor"], table["free"], table["silent"] = "a", 0.5, 0.5
    return table.sample(frac=1, random_state=1).reset_index(drop=True)


def matched(panel: pd.DataFrame) -> Any:
    """Return what the weights of PREDICTORS match, one row per town, without the package."""

    def wide(name: str) -> Any:
        return panel.pivot(index="town", columns="year", values=name)

    def mean(name: str, years: list[int], low: float, high: float) -> Any:
        found = wide(name)[years].mean(axis=1).fillna((low + high) / 2)
        return (found - (low + high) / 2) / ((high - low) / 2)

    before = list(range(1990, 1995))
    return np.column_stack(
        [
            wide("sales")[before] / 2,
            mean("age", before, 20, 60),
            2 * mean("beer", [1991, 1993], 0, 4),
            0.5 * mean("sales", [1990, 1994], -2, 2),
            mean("coast", before, 0, 1),
        ]
    )


def ridge(rows: Any, target: Any, lam: float) -> Any:
    return np.linalg.solve(rows @ rows.T + lam / 2 * np.eye(len(rows)), rows @ target)


def test_weights_without_noise_are_ridge_on_the_longer_rows(panel: pd.DataFrame) -> None:
    rows = matched(panel)
    model = dprct.SyntheticControl(
        panel, SCHEMA, predictors=PREDICTORS, lam=3.0, placebos=["2"], **ASKED
    )
    found = model.fit(epsilon=1e10, rng=1)
    assert found.noisy_weights.to_numpy() == pytest.approx(ridge(rows[:9], rows[9], 3.0), abs=1e-5)
    others = np.delete(rows[:9], 2, axis=0)
    pretended = found.placebos[0].noisy_weights
    assert pretended == pytest.approx(ridge(others, rows[2], 3.0), abs=1e-5)
    # the path is of the outcome alone
    after = panel.pivot(index="town", columns="year", values="sales").loc[:8, 1995:]
    path = found.donor_weights.to_numpy() @ after.to_numpy()
    assert found.counterfactual.to_numpy() == pytest.approx(path, abs=1e-5)
    assert "age, beer(1991(2)1993), sales(1990&1994), coast" in found.summary()


def test_a_protected_unit_has_protected_predictors(panel: pd.DataFrame) -> None:
    rows = matched(panel)
    model = dprct.SyntheticControl(
        panel, SCHEMA, predictors=PREDICTORS, lam=3.0, protect_treated=True, **ASKED
    )
    assert model.facts.target_extra is None
    weights = model.fit(epsilon=1e10, rng=1).noisy_weights
    assert weights.to_numpy() == pytest.approx(ridge(rows[:9], rows[9], 3.0), abs=1e-5)


def test_the_plan_and_the_guarantee_name_them(panel: pd.DataFrame) -> None:
    model = dprct.SyntheticControl(panel, SCHEMA, predictors={"age": 2}, **ASKED)
    plan, guarantee = str(model.plan(epsilon=4)), str(model.guarantee(dprct.Budget(4)))
    assert "age (20 to 60, weight 2)" in plan
    assert "lambda 140" in plan  # 20 (T0 + 2)
    assert "the predictors, with their bounds and weights: age (20 to 60, weight 2)" in guarantee
    assert "the series and predictors of the treated unit '9'" in guarantee
    plain = dprct.SyntheticControl(panel, SCHEMA, lam=140, **ASKED)
    assert "predictors" not in str(plain.guarantee(dprct.Budget(4)))
    auto = dprct.SyntheticControl(panel, SCHEMA, predictors=["age"], donor_weights="auto", **ASKED)
    assert "not used: equal weights match nothing" in str(auto.plan(epsilon=0.01))
    assert auto.fit(epsilon=0.01, rng=1).predictors == ()


def test_another_weight_is_another_study(panel: pd.DataFrame) -> None:
    """Else a ledger would hand out what was drawn for other predictors."""
    said = []
    for predictors in (None, ["age"], {"age": 2}, ["age(1990)"]):
        model = dprct.SyntheticControl(panel, SCHEMA, predictors=predictors, **ASKED)
        said.append(model._study(model._allocated(dprct.Budget(1)))["panel"])
    assert len(set(said)) == 4


@pytest.mark.parametrize(
    ("name", "times"),
    [
        ("age", None),
        ("age(1984(2)1988)", (1984, 1986, 1988)),
        ("age(1984/1986)", (1984, 1985, 1986)),
        ("age(1980&1985 1990/1991)", (1980, 1985, 1990, 1991)),
        ("age(1990.5)", (1990.5,)),
    ],
)
def test_periods_are_written_as_in_stata(name: str, times: Any) -> None:
    [one] = asked_of((name,))
    assert (one.name, one.column, one.times, one.weight) == (name, "age", times, 1)


@pytest.mark.parametrize(
    ("predictors", "error", "words"),
    [
        ({"free": 1}, SchemaError, "predictor 'free' has no bounds; declare bounds"),
        (["silent"], SchemaError, "predictor 'silent' has no declared missing policy"),
        (["mayor"], SchemaError, "predictor 'mayor' is text, the unit or the time"),
        (["year"], SchemaError, "predictor 'year' is text, the unit or the time"),
        (["rain"], ColumnError, "rain"),
        ({"age": 0}, ParameterError, "'age' has weight 0; give a number from 1e-06 to 1000"),
        ({"age": "1"}, ParameterError, "of 'age' is '1'; give a number"),
        (["age(1995)"], ParameterError, "has period 1995, and treatment starts at 1995"),
        (["age(1980)"], ParameterError, "has period 1980, which is not one before treatment"),
        (["age(1994(1)1990)"], ParameterError, "'age.*' has no periods"),
        (["age", "age"], ParameterError, "names a predictor twice"),
        ([3], DprctError, "predictors"),
        (7, DprctError, "predictors"),
    ],
)
def test_what_is_no_predictor_is_refused(
    panel: pd.DataFrame, predictors: Any, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        dprct.SyntheticControl(panel, SCHEMA, predictors=predictors, **ASKED)


def test_equal_weights_match_nothing(panel: pd.DataFrame) -> None:
    with pytest.raises(ParameterError, match="donor_weights='uniform' has none"):
        dprct.SyntheticControl(panel, SCHEMA, predictors=["age"], donor_weights="uniform", **ASKED)


def test_arrays_have_no_predictors() -> None:
    with pytest.raises(ParameterError, match="no option predictors"):
        dprct.SyntheticControl.from_arrays(
            np.zeros((3, 4)), np.zeros(4), 2, bound=1, predictors=["age"]
        )
