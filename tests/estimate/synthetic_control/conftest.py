from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from dprct.schema import Column, Schema

if TYPE_CHECKING:
    from collections.abc import Callable

SCHEMA = Schema(
    (
        Column("region", "str40"),
        Column("year", "int"),
        Column("output", bounds=(0.0, 100.0), missing=()),
    )
)


@pytest.fixture
def schema() -> Schema:
    return SCHEMA


@pytest.fixture
def panel() -> Callable[..., pd.DataFrame]:
    """12 regions and 8 years, shuffled; the treated one, Łódź, gains 20 from 2004 on."""

    def make(seed: int = 1, regions: int = 12, years: int = 8) -> pd.DataFrame:
        rng = np.random.default_rng(seed)
        names = [f"région {i}" for i in range(regions - 1)] + ["Łódź"]
        level = rng.uniform(20, 60, regions)
        rows = [
            {"region": name, "year": 2000.0 + t, "output": level[i] + t}
            for i, name in enumerate(names)
            for t in range(years)
        ]
        frame = pd.DataFrame(rows)
        frame.loc[(frame["region"] == "Łódź") & (frame["year"] >= 2004), "output"] += 20
        return frame.sample(frac=1, random_state=3).reset_index(drop=True)

    return make


@pytest.fixture
def asked() -> dict[str, Any]:
    return {
        "unit": "region",
        "time": "year",
        "outcome": "output",
        "treated": "Łódź",
        "treatment_time": 2004,
    }
