"""California with the predictors of its paper; and what a wrong predictor is told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

import dprct
from dprct.errors import ParameterError, SchemaError
from dprct.results.base import is_confidential
from papers.baselines import SyntheticControl

SPECIFICATION = [
    "lnincome(1980(1)1988)", "retprice(1980(1)1988)", "age15to24(1980(1)1988)",
    "beer(1984(1)1988)", "cigsale(1988)", "cigsale(1980)", "cigsale(1975)",
]  # fmt: skip
"""Of Abadie, Diamond and Hainmueller (2010), as a do-file writes it for ``synth``."""


def test_the_weights_of_abadie_diamond_and_hainmueller_are_found(shared: Any) -> None:
    data, schema = dprct.read_dta(shared / "data" / "synthetic_control" / "synth_smoking.dta")
    found = SyntheticControl(
        data, schema, outcome="cigsale", treated="California", treatment_time=1989, unit="state",
        time="year", donor_weights="simplex", predictors=SPECIFICATION, importance="fitted",
    ).fit()  # fmt: skip
    printed = {"Utah": 0.334, "Nevada": 0.234, "Montana": 0.199, "Colorado": 0.164}
    weights = found.donor_weights
    for state, weight in {**printed, "Connecticut": 0.069}.items():
        assert weights[state] == pytest.approx(weight, abs=0.01)
    assert weights.sum() == pytest.approx(1)
    assert found.att == pytest.approx(-18.97, abs=0.2)  # that of the printed weights
    # their table 1: income, price, young people, beer, and the lags of the outcome
    table = found.balance()
    real = table["treated"].to_numpy()
    synthetic = table["synthetic"].to_numpy()
    assert real == pytest.approx([10.08, 89.42, 0.1735, 24.28, 90.10, 120.20, 127.10], abs=0.005)
    assert synthetic == pytest.approx([9.86, 89.41, 0.1735, 24.2, 91.6, 120.3, 126.9], abs=0.4)
    assert table["importance"].sum() == pytest.approx(1)
    assert is_confidential(table)


@pytest.fixture(scope="module")
def towns() -> pd.DataFrame:
    rng = np.random.default_rng(6)
    table = pd.DataFrame({"town": np.repeat(np.arange(7.0), 6), "year": np.tile(np.arange(6.0), 7)})
    table["sales"] = rng.uniform(0, 1, 42)
    table["age"] = np.where(table["year"] == 2, np.nan, rng.uniform(20, 60, 42))
    table["rain"] = np.where(table["year"] < 4, np.nan, rng.uniform(0, 9, 42))
    return table.assign(flat=1.0)


SCHEMA = dprct.Schema(
    (
        dprct.Column("town", missing=()),
        dprct.Column("year", missing=()),
        dprct.Column("sales", bounds=(0.0, 1.0), missing=()),
        dprct.Column("age", bounds=(20.0, 60.0), missing=(".",)),
        dprct.Column("rain", missing=(".",)),
        dprct.Column("flat", missing=()),
    )
)
ASKED: dict[str, Any] = {
    "outcome": "sales", "unit": "town", "time": "year", "treated": 6, "treatment_time": 4,
}  # fmt: skip


def test_given_importance_solves_the_quadratic_programme(towns: pd.DataFrame) -> None:
    given = {"age": 3.0, "sales(0&3)": 1.0, "sales(1/2)": 0.5}
    fit = SyntheticControl(towns, SCHEMA, donor_weights="simplex", predictors=given, **ASKED).fit()
    wide = towns.pivot(index="town", columns="year")
    P = np.column_stack(
        [
            wide["age"][[0, 1, 3]].mean(axis=1),
            wide["sales"][[0, 3]].mean(axis=1),
            wide["sales"][[1, 2]].mean(axis=1),
        ]
    )
    apart = (P[:6] - P[6]) / P.std(axis=0, ddof=1) * np.sqrt([3.0, 1.0, 0.5])
    solved = minimize(
        lambda w: float(np.sum((apart.T @ w) ** 2)), np.full(6, 1 / 6), bounds=[(0, 1)] * 6,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1}, tol=1e-14,
    )  # fmt: skip
    gap = float(np.sum((apart.T @ fit.donor_weights.to_numpy()) ** 2))
    assert gap == pytest.approx(float(solved.fun), abs=1e-7)
    assert fit.donor_weights.sum() == pytest.approx(1)
    plain = SyntheticControl(towns, SCHEMA, donor_weights="simplex", **ASKED).fit()
    assert gap < np.sum((apart.T @ plain.donor_weights.to_numpy()) ** 2) - 1e-3


def test_ridge_is_the_private_method_without_noise(towns: pd.DataFrame) -> None:
    asked = {**ASKED, "predictors": {"age": 2.0, "sales(1)": 1.0}, "lam": 1.5, "bound": (0, 1)}
    exact = SyntheticControl(towns, SCHEMA, donor_weights="ridge", **asked).fit()
    private = dprct.SyntheticControl(towns, SCHEMA, **asked).fit(epsilon=1e10, rng=1)
    assert private.noisy_weights is not None
    weights = exact.donor_weights.to_numpy()
    assert private.noisy_weights.to_numpy() == pytest.approx(weights, abs=1e-5)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"predictors": ["rain"]}, ParameterError, "'rain' is missing for some unit in all"),
        ({"predictors": ["flat"]}, ParameterError, "'flat' is the same for all units"),
        (
            {"predictors": ["age"], "donor_weights": "did"},
            ParameterError,
            "donor_weights='did' takes no predictors",
        ),
        (
            {"predictors": {"age": 1}, "importance": "fitted"},
            ParameterError,
            "give predictors as a list of names",
        ),
        ({"importance": "fitted"}, ParameterError, "importance='fitted' chooses"),
        ({"importance": "V"}, ParameterError, "allowed: given, fitted"),
        (
            {"predictors": ["flat"], "donor_weights": "ridge"},
            SchemaError,
            "predictor 'flat' has no bounds, by which ridge scales it",
        ),
    ],
)
def test_each_mistake_has_its_sentence(
    towns: pd.DataFrame, options: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        SyntheticControl(towns, SCHEMA, **{**ASKED, "donor_weights": "simplex", **options}).fit()


def test_a_fit_without_predictors_has_no_balance(towns: pd.DataFrame) -> None:
    fit = SyntheticControl(towns, SCHEMA, donor_weights="uniform", **ASKED).fit()
    with pytest.raises(ParameterError, match=r"balance\(\) is of predictors"):
        fit.balance()
