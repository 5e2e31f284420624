from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from dprct.schema import Column, Schema

if TYPE_CHECKING:
    from collections.abc import Callable

SCHEMA = Schema(
    (
        Column("y", bounds=(-5.0, 15.0), missing=()),
        Column("gap", bounds=(-5.0, 15.0), missing=(".",)),
        Column("x", bounds=(-1.0, 1.0), missing=()),
        Column("age", bounds=(0.0, 10.0), missing=(".",)),
        Column("year", "int", bounds=(2001, 2004), missing=()),
        Column("town", "str8", levels=("Łódź", "Praha", "Wien"), missing=()),
        Column("free", "double"),
    )
)


@pytest.fixture
def schema() -> Schema:
    return SCHEMA


@pytest.fixture
def people() -> Callable[..., pd.DataFrame]:
    """n people: y is 5 + 4x + (2 in Praha) + noise; z and year do nothing."""

    def make(n: int = 4000, seed: int = 1) -> pd.DataFrame:
        rng = np.random.default_rng(seed)
        x, town = rng.uniform(-1, 1, n), rng.choice(["Łódź", "Praha", "Wien"], n)
        y = 5 + 4 * x + 2 * (town == "Praha") + rng.normal(0, 1, n)
        z = rng.uniform(0, 10, n)
        z[rng.random(n) < 0.1] = np.nan
        return pd.DataFrame(
            {
                "y": np.clip(y, -5, 15),
                "gap": np.where(rng.random(n) < 0.1, np.nan, 5.0),
                "x": x,
                "age": z,
                "year": rng.integers(2001, 2005, n).astype(float),
                "town": pd.Series(town, dtype=object),
                "free": x,
            }
        )

    return make
