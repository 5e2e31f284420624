"""An experiment, and what every test of the custodian's reports needs."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct.results.base import CAUTION
from dprct.schema import Column, Schema

if TYPE_CHECKING:
    from collections.abc import Callable


def experiment(rows: int, seed: int) -> pd.DataFrame:
    """Two outcomes, two arms of 0 and 1, a covariate, a village."""
    rng = np.random.default_rng(seed)
    arm = rng.permutation(np.arange(rows) % 3)
    age = rng.integers(18, 60, rows).astype(float)
    return pd.DataFrame(
        {
            "earn": 1.0 + 0.5 * (arm == 1) + age / 50 + rng.normal(size=rows),
            "work": rng.binomial(1, 0.4 + 0.1 * (arm == 2)).astype(float),
            "cash": (arm == 1).astype(float),
            "therapy": (arm == 2).astype(float),
            "age": age,
            "village": rng.choice(["north", "south", "west"], rows),
        }
    )


@pytest.fixture
def make() -> Callable[[int, int], pd.DataFrame]:
    """Tables from the population, by number of rows and seed."""
    return experiment


@pytest.fixture
def confidential() -> pd.DataFrame:
    return experiment(300, 1)


@pytest.fixture
def released() -> list[pd.DataFrame]:
    return [experiment(300, seed) for seed in (2, 3, 4)]


@pytest.fixture
def compare() -> Callable[..., Any]:
    """The function without its warning, which has tests of its own."""

    def quietly(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", CAUTION, dprct.errors.DprctWarning)
            return function(*args, **options)

    return quietly


@pytest.fixture(scope="session")
def release() -> dprct.Release:
    """A release of two columns, a third being withheld, with a seed."""
    schema = Schema(
        (Column("got", "byte"), Column("arm", "byte"), Column("diary", "strL"))
    ).declare(
        got={"levels": [0, 1], "missing": ".a"},
        arm={"levels": [0, 1], "missing": "never"},
        diary={"fate": "withheld"},
    )
    rows = pd.DataFrame({"got": [0.0, 1.0] * 200, "arm": [0.0] * 200 + [1.0] * 200, "diary": "x"})
    model = dprct.MVHistogram(rows, schema, columns=["got", "arm"])
    return model.fit(epsilon=5.0, rng=np.random.default_rng(7))
