"""A seed gives the same fit to the last bit, wherever the rows are and however they stand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from dprct import PrivateAdditive
from dprct.errors import ColumnError, SchemaError
from dprct.model import saved
from dprct.schema import Column, Schema
from dprct.schema.tables import COMPANION
from tests.estimate.in_engines import ENGINES, in_duckdb

SCHEMA = Schema(
    (
        Column("y", bounds=(-2.0, 2.1), missing=(".", ".a"), missing_policy=0.5),
        Column("x", "float", bounds=(0.0, 0.7), missing=(), bins=35),
        Column("age", bounds=(-1.0, 1.0), missing=(".", ".a")),
        Column("year", "int", bounds=(2001, 2004), missing=()),
        Column("g", "str3", levels=("", "a", "bc"), missing=()),
        Column("cash", "byte", levels=(0.0, 1.0), missing=(), exclusive="arm"),
        Column("talk", "byte", levels=(0.0, 1.0), missing=(), exclusive="arm"),
        Column("town", "str8", levels=("Łódź", "Praha"), missing=()),
    )
)
ASKED: dict[str, Any] = {
    "outcome": "y", "features": ["x", "age", "year", "g", "cash", "talk"],
    "pairs": [("x", "age"), ("g", "year")], "subgroups": ["town"],
    "projection": ["x", "age", "year"],
}  # fmt: skip


def rows(n: int = 900) -> pl.DataFrame:
    rng = np.random.default_rng(4)
    y, age = rng.normal(size=n).clip(-2, 2.1), rng.uniform(-1, 1, n)
    gone, unknown, arm = (rng.choice([-1, -1, 0, 1], n) for _ in range(3))
    return pl.DataFrame(
        {
            "y": [None if code >= 0 else value for code, value in zip(gone, y, strict=True)],
            "y" + COMPANION: gone.astype(np.int8),
            "x": rng.integers(0, 8, n).astype(np.float32) / np.float32(10),
            "age": [None if c >= 0 else value for c, value in zip(unknown, age, strict=True)],
            "age" + COMPANION: unknown.astype(np.int8),
            "year": rng.integers(2001, 2005, n),
            "g": [[None, "a", "bc"][k] for k in rng.integers(0, 3, n)],
            "cash": (arm == 0).astype(np.int8),
            "talk": (arm == 1).astype(np.int8),
            "town": rng.choice(["Łódź", "Praha"], n),
        }
    )


def fitted(data: Any, delta: float, **options: Any) -> dict[str, Any]:
    model = PrivateAdditive(data, SCHEMA, **{**ASKED, **options})
    assert model.n == 900
    found = saved(model.fit(1, delta, rng=3).fit.sums)
    assert isinstance(found, dict)
    return found


@pytest.mark.long
@pytest.mark.parametrize("engine", ENGINES)
def test_a_seed_gives_the_same_fit_in_every_engine(engine: str) -> None:
    for delta in (0, 1e-6):
        assert fitted(ENGINES[engine](rows()), delta) == fitted(rows(), delta)


def test_the_fit_can_tell_data_apart() -> None:
    other = rows().with_columns(x=pl.lit(0.0, pl.Float32))
    assert fitted(in_duckdb(other), 0) != fitted(rows(), 0)


def test_levels_without_order_and_a_clip_in_an_engine() -> None:
    options = {"categorical": ["year"], "projection": (), "clip": 0.3}
    assert fitted(in_duckdb(rows()), 0, **options) == fitted(rows(), 0, **options)


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_not_legal_is_refused_by_the_constructor(engine: str) -> None:
    far = rows().with_columns(age=pl.lit(3.0), **{"age" + COMPANION: pl.lit(-1, pl.Int8)})
    with pytest.raises(SchemaError, match="age: a value outside the bounds"):
        PrivateAdditive(ENGINES[engine](far), SCHEMA, **ASKED)
    with pytest.raises(ColumnError, match="'town'"):
        PrivateAdditive(ENGINES[engine](rows().drop("town")), SCHEMA, **ASKED)
    schema = SCHEMA.with_columns([replace(SCHEMA.column("y"), missing_policy=None)])
    with pytest.raises(SchemaError, match="declare missing_policy="):
        PrivateAdditive(ENGINES[engine](rows()), schema, **ASKED)
