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
        Column("y", bounds=(-4.0, 4.0), missing=()),
        Column("gap", bounds=(-4.0, 4.0), missing=(".",)),
        Column("t", "byte", levels=(0.0, 1.0), missing=()),
        Column("arm", "byte", levels=(0.0, 1.0, 2.0), missing=()),
        Column("x1", bounds=(-1.0, 1.0), missing=()),
        Column("x2", bounds=(-1.0, 1.0), missing=()),
        Column("town", "str5", levels=("north", "south"), missing=()),
    )
)


@pytest.fixture
def schema() -> Schema:
    return SCHEMA


@pytest.fixture
def trial() -> Callable[..., pd.DataFrame]:
    """n people, half of them treated; the effect is 0.5 + x1, of north 0.5 more."""

    def make(n: int = 8000, seed: int = 1) -> pd.DataFrame:
        rng = np.random.default_rng(seed)
        x1, x2, t = rng.uniform(-1, 1, n), rng.uniform(-1, 1, n), rng.permutation(np.arange(n) % 2)
        town = rng.choice(["north", "south"], n)
        y = x2 + t * (0.5 + x1 + 0.5 * (town == "north")) + rng.normal(0, 0.5, n)
        return pd.DataFrame(
            {
                "y": np.clip(y, -4, 4),
                "gap": np.clip(y, -4, 4),
                "t": t.astype(float),
                "arm": t.astype(float),
                "x1": x1,
                "x2": x2,
                "town": pd.Series(town, dtype=object),
            }
        )

    return make
