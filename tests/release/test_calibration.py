from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dprct.release.calibrated.covariates import Target
from dprct.release.calibrated.layout import Layout, regressions_of
from dprct.release.calibrated.outcomes import Calibration, PublicRows
from dprct.schema import Column, FileFacts, Schema

N = 400
SCHEMA = Schema(
    (
        Column("y", "byte", levels=(0.0, 1.0, 2.0), missing=(), fate="modelled"),
        Column("t", "byte", levels=(0.0, 1.0), missing=(), fate="public"),
        Column("x", "int", bounds=(0.0, 9.0), missing=(), fate="modelled"),
        Column("twice", derived="2 * y", missing=(".",)),
    ),
    FileFacts(sorted_by=("t", "y")),
)


def made(*sets: Any, strict: bool = False, arms: int = 1, se: float = 0.1) -> Calibration:
    rng = np.random.default_rng(1)
    regressions = regressions_of(["y"], ("t",), sets[0], sets[1:], ["t"])
    layout = Layout(SCHEMA, regressions, strict)
    arm = rng.permutation(np.arange(N) % 2)
    rows = PublicRows({"t": arm * 1.0}, arm, (np.ones(N, bool),), None)
    columns = {"x": rng.integers(0, 10, N).astype(float)}
    target = Target(np.array([0.3]), np.array([[se**2]]), 0.8)
    return Calibration.of(layout, columns, rows, [target], None, rng)


def test_rows_are_sorted_and_derived_columns_recomputed_from_new_outcomes() -> None:
    table = made(("x",)).table
    order = np.lexsort([table["y"], table["t"]])
    assert order.tolist() == list(range(N))
    assert (table["twice"] == 2 * table["y"]).all()
    means = table.groupby("t")["y"].mean()
    assert means[0.0] == pytest.approx(0.8, abs=1e-10)


def test_what_it_says_of_itself() -> None:
    exact = made(("x",))
    assert exact.exact
    assert exact.words().endswith("HC1 errors exactly")
    valid = exact.valid((0.05, 0.01), subsets=True)
    assert valid.classical
    assert (valid.rows, valid.levels, valid.rounded) == ((N,), (0.05, 0.01), False)
    assert not exact.valid((0.05,), subsets=False).subsets_valid


def test_legal_values_are_legal_and_the_gap_is_measured() -> None:
    rounded = made(("x",), strict=True)
    assert set(rounded.table["y"]) <= {0.0, 1.0, 2.0}
    ((gap, ratio),) = rounded.errors
    effect = rounded.table.groupby("t")["y"].mean().diff().iloc[1]
    # the regression on x too, so that means are near, not equal
    assert gap == pytest.approx(abs(effect - 0.3) / 0.1, abs=0.3)
    assert 0 < ratio < 1  # clipping takes spread away
    assert not rounded.exact
    assert "not valid" in rounded.words()
    assert rounded.valid((0.05,), subsets=True).rounded


def test_an_outcome_that_rounds_to_a_constant_says_so_without_an_error() -> None:
    constant = made(("x",), strict=True, se=1e-6)
    assert constant.errors[0][1] != 1
    assert "rounded and clipped" in constant.words()
