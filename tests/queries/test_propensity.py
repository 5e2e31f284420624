from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest

from dprct.errors import FormulaError, SchemaError
from dprct.formula import parse
from dprct.privacy.aggregates import _open
from dprct.queries.propensity import (
    Coordinates,
    Covariates,
    PropensityGrid,
    Treated,
    covariates_of,
    propensity_weights,
)
from dprct.queries.sums import compact
from dprct.schema import Column
from dprct.schema.tables import eager

COLUMNS = {
    "age": Column("age", bounds=(20.0, 60.0), missing=()),
    "income": Column("income", bounds=(0.0, 10.0), missing=(".",)),
    "educ": Column("educ", "byte", levels=(1.0, 2.0, 3.0), missing=(".",)),
    "city": Column("city", "str5", levels=("north", "south", "west"), missing=()),
    "loose": Column("loose", missing=()),
    "unsaid": Column("unsaid", bounds=(0.0, 1.0)),
}


def made(right: str, **fills: float) -> Covariates:
    return covariates_of(parse(f"t ~ {right}").terms, COLUMNS, fills)


def rows_of(design: Covariates, data: Any) -> np.ndarray:
    """All rows z of a table, as a fit makes them of its columns."""
    return design.of_table(eager(data))


def wild(n: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    odd = np.array([np.nan, np.inf, -np.inf, 1e300, -1e300, 0.0])
    return pd.DataFrame(
        {
            "age": rng.choice([20.0, 40, 60, *odd], n),
            "income": rng.choice([0.0, 5, 10, *odd], n),
            "educ": rng.choice([1.0, 2, 3, *odd], n),
            "city": pd.Series(rng.choice(["north", "south", "west", "elsewhere"], n), dtype=object),
        }
    )


@pytest.mark.parametrize(
    "right", ["age", "age + income + C(educ) + city", "age*city + income:C(educ)", "C(educ):city"]
)
def test_rows_are_in_the_unit_ball_whatever_they_hold(right: str) -> None:
    Z = rows_of(made(right), wild())
    norms = np.linalg.norm(Z, axis=1)
    assert np.isfinite(Z).all()
    assert (norms <= 1).all()


def test_a_corner_reaches_the_ball() -> None:
    corner = pd.DataFrame({"age": [60.0], "income": [10.0], "city": ["west"]})
    assert np.linalg.norm(rows_of(made("age + income + city"), corner)) == pytest.approx(1)


def test_numbers_levels_and_missing_values() -> None:
    design = made("age + income + C(educ)")
    assert design.names == (
        "age", "income", "missing(income)", "C(educ)[T.2]", "C(educ)[T.3]", "missing(educ)",
        "Intercept",
    )  # fmt: skip
    frame = pd.DataFrame({"age": [50.0], "income": [np.nan], "educ": [3.0]})
    expected = np.array([0.5, 0, 1, 0, 1, 0, np.sqrt(3)]) / np.sqrt(6)
    np.testing.assert_allclose(rows_of(design, frame)[0], expected, rtol=1e-8)


def test_a_declared_number_stands_for_a_missing_value() -> None:
    design = made("income", income=10.0)
    assert design.names == ("income", "Intercept")
    found = rows_of(design, pd.DataFrame({"income": [np.nan, 10.0]}))
    assert np.array_equal(found[0], found[1])


def test_polars_rows_are_those_of_pandas() -> None:
    data = wild()
    design = made("age*city + income + C(educ)")
    assert np.array_equal(rows_of(design, data), rows_of(design, pl.from_pandas(data)))


def test_null_and_nan_are_the_same_missing_value() -> None:
    design = made("income + C(educ)")
    nan = pl.DataFrame({"income": [float("nan"), 5.0], "educ": [2.0, float("nan")]})
    null = nan.with_columns(pl.all().fill_nan(None))
    assert null["educ"].null_count() == 1
    found = rows_of(design, nan)
    assert np.array_equal(found, rows_of(design, null))
    assert (found[:, design.names.index("missing(income)")] > 0).tolist() == [True, False]
    assert (found[:, design.names.index("missing(educ)")] > 0).tolist() == [False, True]


def test_a_declared_number_stands_for_a_missing_level() -> None:
    design = made("C(educ)", educ=3.0)
    assert "missing(educ)" not in design.names
    found = rows_of(design, pd.DataFrame({"educ": [np.nan, 3.0, 1.0]}))
    assert np.array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[2])
    base = rows_of(made("C(educ)", educ=1.0), pd.DataFrame({"educ": [np.nan, 1.0]}))
    assert np.array_equal(base[0], base[1])


def test_texts_of_a_categorical_and_empty_texts() -> None:
    data = pl.DataFrame({"city": ["north", "west", None, "elsewhere"]})
    design = made("city")
    plain = rows_of(design, data)
    assert np.array_equal(
        plain, rows_of(design, data.with_columns(pl.col("city").cast(pl.Categorical)))
    )
    assert (plain[:, :2] > 0).tolist() == [[False, False], [False, True], [False] * 2, [False] * 2]
    column = Column("city", "str5", levels=("north", ""), missing=())
    empty = Covariates(((Coordinates(column, ("",)),),))
    assert (rows_of(empty, data)[:, 0] > 0).tolist() == [False, False, True, False]


def test_a_column_of_levels_takes_a_byte_of_each_row() -> None:
    design = made("age + C(educ) + city")
    assert [block.dtype for block in design.blocks] == [nw.Float64, nw.Int8, nw.Int8]
    many = Column("k", levels=tuple(map(float, range(128))), missing=())
    assert Coordinates(many, many.levels[1:]).dtype is nw.Int16


@pytest.mark.parametrize(
    ("right", "error", "words"),
    [
        ("I(age ** 2)", FormulaError, "derived column"),
        ("loose", SchemaError, "no bounds"),
        ("unsaid", SchemaError, "missing policy"),
        ("C(age)", SchemaError, "no levels"),
    ],
)
def test_what_has_no_public_bound_is_refused(right: str, error: type, words: str) -> None:
    with pytest.raises(error, match=words):
        made(right)


def test_weights_are_sealed_on_their_grid() -> None:
    rng = np.random.default_rng(2)
    Z = rows_of(made("age + income"), wild(60))
    grid = PropensityGrid(60, Z.shape[1], 0.1)
    sealed = propensity_weights(Z, rng.random(60) < 0.5, grid)
    assert sealed.l2_squared == grid.l2**2
    assert sealed.size == Z.shape[1]
    assert float(grid.grid) <= grid.solver.l2 / 2**20
    assert "confidential" in repr(sealed._sealed)


@pytest.mark.parametrize(("n", "d", "lam"), [(60, 3, 0.1), (10**6, 21, 1e-3), (500, 200, 1.0)])
def test_the_steps_cover_the_move_of_the_weights_and_their_rounding(
    n: int, d: int, lam: float
) -> None:
    grid = PropensityGrid(n, d, lam)
    least = 2 / (n * lam) + 2 * grid.solver.tolerance / lam
    assert grid.l2 >= least / float(grid.grid) + np.sqrt(d)
    assert grid.l2 <= (1 + 1e-4) * least / float(grid.grid)


def test_the_rounded_weights_of_neighbours_stay_within_the_sensitivity() -> None:
    rng = np.random.default_rng(3)
    grid = PropensityGrid(12, 2, 0.2)
    for _ in range(10):
        Z = np.column_stack([rng.choice([-1.0, 1.0], 12), np.ones(12)]) / np.sqrt(2)
        t = rng.random(12) < 0.5
        other, labels = Z.copy(), t.copy()
        other[3, 0], labels[3] = -other[3, 0], not labels[3]
        pair = [_open(propensity_weights(*x, grid)) for x in ((Z, t), (other, labels))]
        move = np.linalg.norm((pair[0] - pair[1]).astype(float))
        assert 0 < move <= grid.l2


def test_who_is_treated_is_total() -> None:
    def treated(data: pd.DataFrame, column: Column, code: Any) -> list[int]:
        frame = eager(data)
        found = compact(frame, {"t": Treated(column, code).coded(frame)}, {"t": nw.Int8})
        return found["t"].tolist()

    column = Column("t", levels=(0.0, 1.0), missing=())
    assert treated(pd.DataFrame({"t": [1.0, 0.0, np.nan, np.inf]}), column, 1.0) == [1, 0, 0, 0]
    assert treated(pd.DataFrame({"t": [1, 0]}), column, 0.0) == [0, 1]
    text = Column("t", "str3", levels=("no", "yes"), missing=())
    words = pd.DataFrame({"t": pd.Series(["yes", "no", None], dtype=object)})
    assert treated(words, text, "yes") == [1, 0, 0]
