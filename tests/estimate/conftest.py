from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import dp_accounting
import numpy as np
import pandas as pd
import pytest
from dp_accounting import pld, rdp

from dprct.schema import Column, Schema

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dprct.privacy.mechanisms import AnalyticGaussian

ORDERS = [1 + 0.1 * k for k in range(1, 1000)]
"""Renyi orders that an accountant of dp_accounting tries."""

SCHEMA = Schema(
    (
        Column("y", bounds=(-15.0, 30.0), missing=()),
        Column("got", "byte", levels=(0.0, 1.0), missing=(".",)),
        Column("t", "byte", levels=(0.0, 1.0), missing=(), exclusive="arm"),
        Column("t2", "byte", levels=(0.0, 1.0), missing=(), exclusive="arm"),
        Column("village", "int", missing=()),
    )
)


@pytest.fixture
def schema() -> Schema:
    return SCHEMA


@pytest.fixture
def trial() -> Callable[..., pd.DataFrame]:
    """n people, a third in each of t, t2 and control; effects 5 and 2; 20 villages."""

    def make(n: int = 900, seed: int = 1) -> pd.DataFrame:
        rng = np.random.default_rng(seed)
        arm = rng.permutation(np.arange(n) % 3)
        y = np.clip(rng.normal(0, 3, n) + 5 * (arm == 1) + 2 * (arm == 2), -15, 30)
        got: np.ndarray[Any, Any] = (rng.random(n) < 0.4).astype(float)
        got[rng.random(n) < 0.1] = np.nan
        return pd.DataFrame(
            {
                "y": y,
                "got": got,
                "t": (arm == 1).astype(float),
                "t2": (arm == 2).astype(float),
                "village": (np.arange(n) % 20).astype(float),
            }
        )

    return make


@pytest.fixture
def independent() -> Callable[..., float]:
    """Return epsilon of several Gaussian mechanisms by an accountant of dp_accounting."""

    def composed(accountant: str, mechanisms: Sequence[AnalyticGaussian], delta: float) -> float:
        events = [
            dp_accounting.GaussianDpEvent(m.noise.sigma / math.sqrt(m.l2_squared))
            for m in mechanisms
        ]
        book = pld.PLDAccountant() if accountant == "gdp" else rdp.RdpAccountant(ORDERS)
        for event in events:
            book.compose(event)
        return float(book.get_epsilon(delta))

    return composed
