from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dprct.privacy.aggregates import _open
from dprct.queries.covariates import covariates, with_residual
from dprct.queries.sums import GRID, Arms, difference_aggregates
from dprct.schema import Column, Schema
from dprct.schema.tables import eager

SCHEMA = Schema((Column("y"), Column("age"), Column("town", "str8")))
RESIDUAL = Column("y", bounds=(-1.0, 2.0))
ARMS = Arms(np.array([0, 0, 1, 1]), ((2, 2),), (Fraction(1),))


@pytest.mark.parametrize("as_frame", [pd.DataFrame, pl.DataFrame])
def test_an_outcome_becomes_what_its_index_leaves(as_frame: Any) -> None:
    frame = eager(as_frame({"y": [1.0, float("nan"), 3.0, np.inf], "age": [1.0, 2.0, 3.0, 4.0]}))
    index = np.array([0.5, 1.0, np.nan, 1.0])
    found = with_residual(frame, "y", index)["y"].to_numpy()
    assert found[[0, 2, 3]].tolist() == [0.5, 0.0, 0.0]
    assert np.isnan(found[1])
    filled = with_residual(frame, "y", index, fill=4.0)["y"].to_numpy()
    assert filled.tolist() == [0.5, 3.0, 0.0, 0.0]
    assert with_residual(frame, "y", index)["age"].to_list() == [1.0, 2.0, 3.0, 4.0]


def test_rows_keep_their_places_whatever_the_index_of_the_frame() -> None:
    data = pd.DataFrame({"y": [1.0, 2.0, 3.0]}, index=[7, 5, 5])
    found = with_residual(eager(data), "y", np.array([1.0, 1.0, 1.0]))
    assert found["y"].to_list() == [0.0, 1.0, 2.0]


def test_covariates_are_numbers_or_text() -> None:
    frame = eager(pd.DataFrame({"age": [1, 2], "town": ["a", "b"], "y": [0.0, 0.0]}))
    found = covariates(frame, ["town", "age"], SCHEMA)
    assert found["town"].tolist() == ["a", "b"]
    assert found["age"].dtype == np.float64


@pytest.mark.long
def test_a_record_with_its_covariates_moves_no_more_than_the_bounds_of_the_residual() -> None:
    """Outcome and covariate of one record take all corners, and values far outside."""
    values = (-1.0, 0.5, 2.0, 1e300, np.nan, -np.inf)
    most = np.zeros(3, dtype=object)
    for start in ((2.0,) * 4, (-1.0,) * 4, (2.0, -1.0, -1.0, 2.0)):
        here = released(start, (0.0,) * 4)
        for row, y, x in itertools.product(range(4), values, values):
            ys, xs = list(start), [0.0] * 4
            ys[row], xs[row] = y, x
            most = np.maximum(most, np.abs(released(ys, xs) - here))
    assert (most == GRID).all()


def released(ys: Any, xs: Any) -> Any:
    frame = with_residual(eager(pl.DataFrame({"y": ys})), "y", 3 * np.array(xs))
    found = difference_aggregates(frame, RESIDUAL, ARMS)
    parts = (found.difference, found.variance, found.control)
    return np.concatenate([_open(part).astype(object) for part in parts])
