"""Groups are named by what is public of them, and counted only where that is public."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct import Column, PrivateMoments, Schema
from dprct.errors import ParameterError
from dprct.estimate.moments.groups import names_of
from dprct.schema.columns import FileFacts

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


def named(model: PrivateMoments) -> list[tuple[str, int | None]]:
    groups = model.facts.grouping.groups
    return [*zip(names_of(groups, model.facts.schema), [one.rows for one in groups], strict=True)]


def names(**options: Any) -> list[tuple[str, int | None]]:
    model = PrivateMoments(rows(), SCHEMA, columns=["score"], **options)
    return named(model)


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
    found = named(missing)
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


LABELLED = Schema(
    (
        Column("score", bounds=(0.0, 1.0), **NEVER),
        Column("drug", "byte", levels=(0.0, 1.0), **NEVER),
        Column("stage", "byte", levels=(1.0, 2.0), value_label="stages", confirmed=True, **NEVER),
    ),
    FileFacts(value_labels={"stages": {1: "early  or\nmild", 2: "late"}}),
)


def labelled(schema: Schema = LABELLED, **options: Any) -> Any:
    data = rows(4000).assign(stage=1.0 + np.arange(4000) // 2 % 2)
    design: Any = {"assignment": dprct.Complete("drug", shares=0.5)}
    design |= {"neighbors": "replace-one-design-public", "subgroups": ["stage"]}
    return PrivateMoments(data, schema, **design, **options)


def test_levels_have_their_public_value_labels_as_names() -> None:
    late = dprct.Regression("score ~ drug", where="stage > 1 & stage == 2", name="old")
    model = labelled(formulas=["score ~ drug", late])
    groups = names_of(model.facts.grouping.groups, LABELLED)
    assert groups[:2] == ["control, stage=early or mild", "control, stage=late"]
    released = model.fit(epsilon=4, delta=1e-6)
    by = released.effects(where="stage")
    early = "score if stage=early or mild: drug"
    assert list(by.params.index) == [early, "score if stage=late: drug"]
    assert by.lincom(f"{early} - score if stage=late: drug").params.notna().all()
    among = released.effects(where={"stage": "late"})
    assert among.params["drug"] == by.params.iloc[1]
    assert among.params["drug"] == released.effects(where={"stage": 2}).params["drug"]
    assert "Among those with stage=late." in among.notes
    with pytest.raises(ParameterError, match=r"levels are 1 \(early or mild\), 2 \(late\)"):
        released.effects(where={"stage": "none"})
    assert "Value labels: of stage, 1 is early or mild, 2 is late." in released.ols("old").notes
    with pytest.raises(ParameterError, match="1 is early or mild, 2 is late"):
        labelled(formulas=[dprct.Regression("score ~ drug", where="stage == 'late'")])


@pytest.mark.parametrize(
    "labels", [{1: "same", 2: "same"}, {1: "2"}, {1: ""}, None], ids=["one", "code", "none", "open"]
)
def test_labels_that_are_not_public_or_tell_nothing_apart_are_no_names(labels: Any) -> None:
    schema = LABELLED
    if labels is None:
        schema = schema.with_columns([replace(schema.column("stage"), confirmed=False)])
    else:
        schema = Schema(schema.columns, FileFacts(value_labels={"stages": labels}))
    released = labelled(schema, columns=["score"]).fit(epsilon=4, delta=1e-6)
    named = ["score if stage=1: drug", "score if stage=2: drug"]
    assert list(released.effects(where="stage").params.index) == named
