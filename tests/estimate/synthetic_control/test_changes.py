"""Synthetic controls of changes from each unit's own mean before treatment."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct.errors import ParameterError
from dprct.queries.donors import UNIT, ChangeScale, Scale

LEVELS = Scale(0.0, 100.0)


def test_steps_are_those_of_exact_changes() -> None:
    rng = np.random.default_rng(3)
    scale, values = ChangeScale(-12.0, 12.0, LEVELS, 5), rng.uniform(-3, 104, (7, 9))
    steps = scale.steps(values)
    for row, found in zip(LEVELS.steps(values).tolist(), steps.tolist(), strict=True):
        mean = Fraction(sum(row[:5]), 5)
        for k, step in zip(row, found, strict=True):
            change = min(max((k - mean) * LEVELS.step, Fraction(-12)), Fraction(12))
            assert abs(step - change / 12 * UNIT) <= Fraction(51, 100)
    assert np.abs(steps).max() <= UNIT


def test_steps_of_a_unit_do_not_depend_on_the_others() -> None:
    rng = np.random.default_rng(4)
    scale, values = ChangeScale(-12.0, 12.0, LEVELS, 11), rng.uniform(0, 100, (50, 16))
    together = scale.steps(values)
    assert all((scale.steps(one) == own).all() for one, own in zip(values, together, strict=True))
    assert (scale.steps(np.asfortranarray(values)) == together).all()


def panel(seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    level = np.append(rng.uniform(10, 60, 300), 75)
    sales = level[:, None] + 0.3 * np.arange(16) + rng.normal(0, 1, (301, 16))
    sales[-1, 12:] -= 8
    frame = {"shop": np.repeat(np.arange(301.0), 16), "month": np.tile(np.arange(16.0), 301)}
    return pd.DataFrame({**frame, "sales": sales.ravel().clip(0, 100)})


def control(frame: pd.DataFrame, **how: object) -> dprct.SyntheticControl:
    schema = dprct.Schema.from_frame(frame).declare(sales={"bounds": (0, 100), "missing": "never"})
    return dprct.SyntheticControl(
        frame, schema, outcome="sales", unit="shop", time="month", treated=300, treatment_time=12,
        donor_weights="uniform", **how,
    )  # fmt: skip


def test_levels_leave_their_distance_in_the_effect_and_changes_do_not() -> None:
    frame = panel()
    levels, changes = control(frame), control(frame, changes=(-12, 12))
    assert levels.fit(epsilon=10, rng=1).att > 20
    assert changes.fit(epsilon=10, rng=1).att == pytest.approx(-8, abs=1.5)
    assert changes.fit(epsilon=10, rng=1).observed.iloc[:12].mean() == pytest.approx(0, abs=1e-9)
    assert "changes=" in str(levels.plan(epsilon=10))
    assert "difference" not in str(levels.plan(epsilon=10))
    assert "-12 to 12" in str(changes.fit(epsilon=10, rng=1).guarantee)
    assert "0 to 100" in str(changes.fit(epsilon=10, rng=1).guarantee)


def test_a_common_shift_of_levels_changes_nothing() -> None:
    frame = panel()
    moved = frame.assign(sales=frame["sales"] + np.where(frame["shop"] < 300, 10.0, 0.0))
    found = [control(one, changes=(-12, 12)).fit(epsilon=10, rng=1).att for one in (frame, moved)]
    assert found[0] == pytest.approx(found[1], abs=1e-3)


def test_bounds_of_changes_are_checked() -> None:
    for wrong in ((3, -3), "wide", (1,), float("nan"), 0, (0, float("inf"))):
        with pytest.raises(ParameterError, match="changes="):
            control(panel(), changes=wrong)
