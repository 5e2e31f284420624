from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dprct.privacy.budget import Budget
from dprct.privacy.noise import source
from dprct.release.covariates import covariates_of
from dprct.release.slopes import Slopes
from dprct.schema import Column, Schema
from dprct.schema.tables import eager

SCHEMA = Schema(
    (
        Column("x", bounds=(-1.0, 1.0), missing=()),
        Column("unused", bounds=(-1.0, 1.0), missing=()),
    )
)
OUTCOME = Column("y", bounds=(-10.0, 10.0), missing=())
N = 20_000


def test_slopes_are_those_of_the_covariates_in_the_regression() -> None:
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"x": rng.uniform(-1, 1, N), "unused": 0.0})
    data["y"] = 3 * data["x"] + rng.uniform(-1, 1, N)
    covariates = covariates_of(data, SCHEMA, frozenset({"x"}), N, filler=False)
    slopes = Slopes.of(covariates, [OUTCOME])
    state, found = slopes.draw(eager(data), Budget(1, 1e-6), source())
    assert found.shape == (1, 1)
    assert found[0, 0] == pytest.approx(3, abs=0.15)
    assert len(state["moments"]) == 4  # x, x^2, y, xy
    columns = {"x": np.array([0.0, 1.0]), "unused": np.zeros(2)}
    index = slopes.indices(columns, found)
    assert index[1, 0] - index[0, 0] == pytest.approx(found[0, 0])


def test_a_budget_without_delta_buys_none() -> None:
    data = pd.DataFrame({"x": np.zeros(10), "unused": np.zeros(10)})
    covariates = covariates_of(data, SCHEMA, frozenset({"x"}), 10, filler=False)
    with pytest.raises(ValueError, match="delta"):
        Slopes.of(covariates, [OUTCOME]).draw(eager(data.assign(y=0.0)), Budget(1), source())
