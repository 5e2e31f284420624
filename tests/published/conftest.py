"""An experiment whose truth is known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dprct.schema import Column, FileFacts, Schema


@pytest.fixture
def experiment():
    """400 people in four sites, half of each treated; outcomes of three families."""
    rng = np.random.default_rng(3)
    n = 400
    site = np.repeat([1.0, 2, 3, 4], 100)
    treat = np.tile([0.0, 1.0], 200)
    age = rng.integers(18, 60, n).astype(float)
    score = np.round(rng.normal(0, 1, n), 3)
    y = 1 + 2 * treat + 0.1 * age + score + 0.5 * site + rng.normal(0, 1.5, n)
    log_odds = -0.5 + treat + 0.5 * score
    return pd.DataFrame(
        {
            "y": y,
            "arrested": (rng.random(n) < 1 / (1 + np.exp(-log_odds))).astype(float),
            "visits": rng.poisson(np.exp(0.3 + 0.4 * treat + 0.2 * score)).astype(float),
            "treat": treat,
            "age": age,
            "score": score,
            "site": site,
        }
    )


@pytest.fixture
def schema():
    columns = (
        Column("y", "double", "%9.0g", label="an index"),
        Column("arrested", "byte"),
        Column("visits", "byte"),
        Column("treat", "byte"),
        Column("age", "byte"),
        Column("score", "double"),
        Column("site", "byte"),
    )
    return Schema(columns, FileFacts(label="a confidential survey", rows=400))


@pytest.fixture
def strict_schema(schema):
    """The same, with all that a strict histogram asks for."""
    return schema.declare(
        treat={"levels": [0, 1], "missing": "never"},
        age={"bounds": (15, 65), "bins": 3, "missing": "never"},
        score={"bounds": (-6, 6), "bins": 3, "missing": "never"},
        site={"levels": [1, 2, 3, 4], "missing": "never"},
    )


@pytest.fixture(scope="session")
def simulation(shared):
    """The data set of Table 1, as its authors generated it, and its schema."""
    frame = pd.read_csv(shared / "data" / "simulated" / "sim1_confidential.csv")
    frame = frame[["y", "t1", *(f"x{k}" for k in range(1, 9))]]
    text = {name: tuple(sorted(frame[name].unique())) for name in ("x5", "x6", "x7", "x8")}
    frame = frame.astype(dict.fromkeys(text, object))
    columns = tuple(
        Column(name, "str2", levels=text[name]) if name in text else Column(name)
        for name in frame.columns
    )
    return frame, Schema(columns)
