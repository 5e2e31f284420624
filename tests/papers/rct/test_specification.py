from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct import Complete
from papers.rct.specification import Specification, intervals


@pytest.fixture
def rows() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    n = 120
    frame = pd.DataFrame({"a": rng.integers(0, 3, n), "x": rng.normal(size=n)}, dtype=float)
    frame["b1"], frame["b2"] = frame["a"] == 1, frame["a"] == 2
    frame["block"] = rng.integers(0, 5, n)
    frame["twice"] = 2 * frame["x"]
    frame["y"] = frame["b1"] + frame["x"] + rng.normal(size=n)
    frame["z"] = rng.normal(size=n)
    frame.loc[frame.index[:9], "z"] = np.nan
    return frame.astype(float)


def test_effects_are_those_of_ols(rows: pd.DataFrame) -> None:
    spec = Specification(("y", "z"), ("b1", "b2"), ("x", "twice"), ("block",), Complete("b1"))
    assert spec.formula == "y + z ~ b1 + b2 + x + twice + C(block)"
    found = spec.effects(rows).set_index(["outcome", "arm"])
    for outcome, n in (("y", 120), ("z", 111)):
        fit = dprct.ols(f"{outcome} ~ b1 + b2 + x + twice + C(block)", rows)
        for arm in ("b1", "b2"):
            mine = found.loc[(outcome, arm)]
            assert mine["estimate"] == pytest.approx(fit.params[arm], rel=1e-10)
            assert mine["se"] == pytest.approx(fit.bse[arm], rel=1e-10)
            assert mine["df"] == n - 8
    low, high = intervals(spec.effects(rows).iloc[:1])
    fit = dprct.ols("y ~ b1 + b2 + x + C(block)", rows)
    np.testing.assert_allclose([low[0], high[0]], fit.conf_int().loc["b1"], rtol=1e-9)


def test_an_arm_without_an_effect_is_nan(rows: pd.DataFrame) -> None:
    nobody = rows.assign(b2=0.0)
    found = Specification(("y",), ("b1", "b2"), (), (), Complete("b1")).effects(nobody)
    assert found["estimate"].isna().tolist() == [False, True]
    few = Specification(("y",), ("b1",), ("x",), (), Complete("b1")).effects(rows[:3])
    assert few["estimate"].isna().all()
