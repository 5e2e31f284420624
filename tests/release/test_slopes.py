from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dprct.model import BoundTable
from dprct.privacy.budget import Budget
from dprct.privacy.noise import source
from dprct.release.calibrated.covariates import Slopes, covariates_of
from dprct.schema import Column, Schema

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
    covariates = covariates_of(SCHEMA, frozenset({"x"}), N, filler=False)
    slopes = Slopes.of(covariates, [OUTCOME])
    bought = slopes.allocation(Budget(1, 1e-6))
    found = slopes.draw(BoundTable(data), bought, source())
    assert found.shape == (1, 1)
    assert found[0, 0] == pytest.approx(3, abs=0.15)
    columns = {"x": np.array([0.0, 1.0]), "unused": np.zeros(2)}
    index = slopes.indices(columns, found)
    assert index[1, 0] - index[0, 0] == pytest.approx(found[0, 0])


def test_a_budget_without_delta_buys_none() -> None:
    covariates = covariates_of(SCHEMA, frozenset({"x"}), 10, filler=False)
    with pytest.raises(ValueError, match="delta"):
        Slopes.of(covariates, [OUTCOME]).allocation(Budget(1))
