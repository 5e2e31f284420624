"""A file of every storage type, to be converted in pieces."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from dprct.io.stata import write_dta
from dprct.missing import tagged
from dprct.schema import Column, Schema
from dprct.schema.columns import FileFacts

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TRIAL = Schema(
    (
        Column("id", "long", missing=()),
        Column("age", "byte", label="Age", value_label="ages"),
        Column("x", "float"),
        Column("y", "double"),
        Column("g", "str6"),
    ),
    FileFacts(
        label="a trial",
        value_labels=MappingProxyType({"ages": MappingProxyType({1: "one", ".a": "unknown"})}),
        characteristics=(("_dta", "note1", "kept"),),
    ),
)
LONG = (Column("said", "strL", "%9s", "What was said"), Column("more", "strL"))


@pytest.fixture
def trial(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes a .dta file of ``n`` rows, with strLs if asked for."""

    def write(n: int = 1_000, *, long: bool = False, **file: object) -> Path:
        rng = np.random.default_rng(2)
        age = rng.integers(0, 90, n).astype(float)
        age[::9], age[::10] = tagged(np.ones(len(age[::9]))), tagged(np.zeros(len(age[::10])))
        y = rng.normal(size=n)
        y[::11] = tagged(np.full(len(y[::11]), 26))
        cells = {
            "id": np.arange(n, dtype=float), "age": age,
            "x": rng.normal(size=n).astype(np.float32).astype(float), "y": y,
            "g": np.array(["", "north", "süd"], object)[rng.integers(0, 3, n)],
        }  # fmt: skip
        if long:
            said = [f"{i} " + "é" * int(k) for i, k in enumerate(rng.integers(0, 90, n))]
            cells["said"] = np.array(said, object)[rng.integers(0, n, n)]
            cells["more"] = np.array(["", "the same", said[0], *said], object)[:n]
        schema = replace(
            TRIAL,
            columns=TRIAL.columns + (LONG if long else ()),
            file=replace(TRIAL.file, rows=n, **file),
        )
        data = pd.DataFrame({name: pd.Series(x, dtype=x.dtype) for name, x in cells.items()})
        write_dta(data, schema, tmp_path / "big.dta")
        return tmp_path / "big.dta"

    return write
