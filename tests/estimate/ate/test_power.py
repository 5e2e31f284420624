from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from dprct import Calibrated, Complete, PrivateATE, read_dta
from dprct.estimate.ate.plan import COLUMNS
from dprct.schema import Column, Schema

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pandas as pd

ARMS = ["cashassonly", "tpassonly", "tpcashass"]


def test_the_table_is_that_of_the_plan(trial: Callable[..., pd.DataFrame], schema: Schema) -> None:
    model = PrivateATE(trial(), schema, outcome="y", treatment=["t", "t2"], sd={"y": 3.0})
    table = model.power(1)
    assert list(table.columns) == list(COLUMNS)
    row = table.loc[("y", "t")]
    words = model.plan(1).facts["y: t"]
    for name in ("std_err", "noise", "sampling", "detectable", "std_err_half"):
        assert f"{row[name]:.4g}" in words
    assert f"{row['equal_epsilon']:.3g}" in words
    other = model.power(row["equal_epsilon"]).loc[("y", "t")]
    assert other["noise"] == pytest.approx(other["sampling"], rel=1e-6)
    assert model.power(2).loc[("y", "t"), "std_err"] == row["std_err_double"]
    assert model.power(0.5).loc[("y", "t"), "detectable"] == row["detectable_half"]


def test_an_effect_above_one_standard_deviation_is_not_usable(
    trial: Callable[..., pd.DataFrame], schema: Schema
) -> None:
    model = PrivateATE(trial(), schema, outcome="y", treatment=["t", "t2"], sd={"y": 3.0})
    assert model.power(8)["usable"].all()
    poor = model.power(0.1)
    assert not poor["usable"].any()
    assert (poor["detectable"] > poor["sd"]).all()


def liberia(outcomes: int, folder: Path, **how: Any) -> Calibrated:
    """The design of Liberia with ``outcomes`` outcomes of width 8, spread .08 sqrt(n / 2)."""
    data, _ = read_dta(folder / "data/liberia/liberia_round5.dta")
    names = [f"y{j}" for j in range(outcomes)]
    covariate: dict[str, Any] = {"levels": (0.0, 1.0), "missing": (), "fate": "modelled"}
    columns = [Column(n, bounds=(-2.0, 6.0), missing=(), fate="modelled") for n in names]
    columns += [Column(a, "byte", levels=(0.0, 1.0), missing=(), fate="public") for a in ARMS]
    columns += [Column("muslim_b", "byte", **covariate)]
    frame = data[[*ARMS, "muslim_b"]].assign(**{n: np.zeros(len(data)) for n in names})
    formula = " + ".join(names) + " ~ " + " + ".join([*ARMS, "muslim_b"])
    return Calibrated.from_formula(
        formula, frame, Schema(tuple(columns)), treatment=ARMS,
        assignment=Complete(ARMS), attrition=True, sd=dict.fromkeys(names, 0.87), **how,
    )  # fmt: skip


def test_one_outcome_and_all_of_epsilon_on_effects_is_sixteen_times_as_precise(
    shared: Path,
) -> None:
    one = liberia(1, shared, covariates="filler").power(1).xs("tpassonly", level="effect")
    eight = (
        liberia(8, shared, covariates="marginals", share=0.5)
        .power(1)
        .xs("cashassonly", level="effect")
    )
    assert one["sampling"].tolist() == pytest.approx([0.08], abs=0.003)
    assert one["noise"].tolist() == pytest.approx([0.105], abs=0.01)  # the document: .11
    assert eight["noise"].tolist() == pytest.approx([1.74] * 8, rel=0.06)
    assert one["usable"].all()
    assert not eight["usable"].any()
    assert eight["equal_epsilon"].iloc[0] == pytest.approx(1.74 / 0.08, rel=0.1)
