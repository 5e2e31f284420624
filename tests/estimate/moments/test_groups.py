"""Groups are named by what is public of them, and counted only where that is public."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct import Column, PrivateMoments, Schema
from dprct.errors import ParameterError

NEVER: Any = {"missing": ()}
SCHEMA = Schema(
    (
        Column("score", bounds=(0.0, 1.0), **NEVER),
        Column("later", bounds=(0.0, 1.0), missing=(".",)),
        Column("drug", "byte", levels=(0.0, 1.0), **NEVER),
        Column("ward", "str5", levels=("north", "south"), **NEVER),
        Column("stage", "byte", levels=(1.0, 2.0), missing=(".",)),
    )
)


def rows(n: int = 40) -> pd.DataFrame:
    i = np.arange(n)
    return pd.DataFrame(
        {
            "score": 0.5,
            "later": np.where(i % 8 == 0, np.nan, 0.5),
            "drug": (i % 2).astype(float),
            "ward": np.array(["north", "south"], object)[i // 20 % 2],
            "stage": np.where(i % 10 == 0, np.nan, 1.0 + i % 2),
        }
    )


def names(**options: Any) -> list[tuple[str, int | None]]:
    model = PrivateMoments(rows(), SCHEMA, columns=["score"], **options)
    return [(group.name, group.rows) for group in model.facts.grouping.groups]


def test_private_cells_are_those_of_the_schema_and_have_no_rows() -> None:
    assert names() == [("everybody", 40)]
    assert names(assignment=dprct.Simple("drug")) == [("control", None), ("drug", None)]
    assert names(subgroups=["stage"]) == [("stage=1", None), ("stage=2", None), ("stage=.", None)]


def test_public_groups_are_those_that_occur() -> None:
    public = {"neighbors": "replace-one-design-public"}
    block = dprct.Block("drug", block="ward")
    assert names(assignment=block, **public) == [("control", 20), ("drug", 20)]
    assert names(assignment=block, subgroups=["ward"], **public) == [
        ("control, ward=north", 10),
        ("control, ward=south", 10),
        ("drug, ward=north", 10),
        ("drug, ward=south", 10),
    ]
    known = SCHEMA.declare(later={"missing_policy": "public"})
    missing = PrivateMoments(rows(), known, columns=["score", "later"])
    found = [(group.name, group.rows) for group in missing.facts.grouping.groups]
    assert found == [("everybody", 35), ("without later", 5)]


def test_blocks_of_other_shares_must_be_groups() -> None:
    block = dprct.Block("drug", block="ward", shares={"north": 0.5, "south": 0.25})
    data = rows().assign(drug=[*[0.0, 1.0] * 10, *[0.0, 0.0, 0.0, 1.0] * 5])
    options: dict[str, Any] = {
        "columns": ["score"], "assignment": block, "neighbors": "replace-one-design-public",
    }  # fmt: skip
    with pytest.raises(ParameterError, match="shares differ between blocks"):
        PrivateMoments(data, SCHEMA, **options)
    model = PrivateMoments(data, SCHEMA, subgroups=["ward"], **options)
    assert [group.rows for group in model.facts.grouping.groups] == [10, 15, 10, 5]


def test_rows_that_break_a_public_design_are_refused() -> None:
    data = rows().assign(drug=1.0)
    with pytest.raises(ParameterError, match="not one of the design"):
        PrivateMoments(
            data, SCHEMA, columns=["score"], assignment=dprct.Complete("drug", counts=20),
            neighbors="replace-one-design-public",
        )  # fmt: skip
    few = rows().assign(drug=[1.0, *[0.0] * 39])
    with pytest.raises(ParameterError, match="fewer than two people"):
        PrivateMoments(
            few, SCHEMA, columns=["score"], assignment=dprct.Simple("drug"), attrition=True,
            neighbors="replace-one-design-public",
        )  # fmt: skip
