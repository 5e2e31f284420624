from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from dprct.privacy.budget import Budget
from dprct.schema import Column, Schema

if TYPE_CHECKING:
    from collections.abc import Callable

BUDGET = Budget(2, 1e-6)
SCHEMA = Schema(
    (
        Column("earnings", bounds=(-1.0, 1.0), missing=()),
        Column("treat", "byte", levels=(0.0, 1.0), missing=()),
        Column("age", bounds=(-1.0, 1.0), missing=()),
        Column("educ", bounds=(-1.0, 1.0), missing=(".",)),
        Column("city", "str5", levels=("north", "south"), missing=()),
    )
)


@pytest.fixture
def schema() -> Schema:
    return SCHEMA


@pytest.fixture
def budget() -> Budget:
    return BUDGET


@pytest.fixture
def study() -> Callable[..., pd.DataFrame]:
    """n people; the log odds of treatment are .3 + age, its effect is .2."""

    def make(n: int = 4000, seed: int = 1) -> pd.DataFrame:
        rng = np.random.default_rng(seed)
        age = rng.uniform(-1, 1, n)
        t = rng.random(n) < 1 / (1 + np.exp(-0.3 - age))
        educ = np.where(rng.random(n) < 0.1, np.nan, rng.uniform(-1, 1, n))
        y = 0.2 * t + 0.4 * age + 0.2 + rng.uniform(-0.2, 0.2, n)
        return pd.DataFrame(
            {
                "earnings": y.clip(-1, 1),
                "treat": t.astype(float),
                "age": age,
                "educ": educ,
                "city": pd.Series(rng.choice(["north", "south"], n), dtype=object),
            }
        )

    return make


@pytest.fixture
def arrays() -> Callable[..., tuple[Any, ...]]:
    """X (n, 2), t and y of a study whose effect is .2; ``wrong`` breaks the logistic model."""

    def make(n: int, rng: np.random.Generator, wrong: bool = False) -> tuple[Any, ...]:
        X = rng.uniform(-1, 1, (n, 2))
        index = 0.3 + X[:, 0] + wrong * X[:, 0] * np.abs(X[:, 1])
        t = rng.random(n) < 1 / (1 + np.exp(-index))
        y = 0.2 * t + 0.4 * X[:, 0] + 0.2 + rng.uniform(-0.2, 0.2, n)
        return X, t, y.clip(-1, 1)

    return make
