"""What is said of draws, on draws whose answers are known."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from papers.ippw.summary import epsilon_of, measured, promise, summarised


def draws() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "epsilon": 1.0,
            "estimate": [3.0, -1.0, math.nan, 1e200],
            "truth": [1.0, 1.0, 1.0, 1.0],
            "own": [2.0, 2.0, 2.0, -2.0],
            "partial": [1.0, -1.0, 1.0, -1.0],
            "copies": [1, 3, 1, 3],
        }
    )


def test_measures_of_known_draws() -> None:
    found = measured(draws().iloc[:3])
    assert (found["mean"], found["bias"], found["rmse"]) == (1.0, 0.0, 2.0)
    assert (found["wrong_sign"], found["differs"], found["wrong_sign_partial"]) == (0.5, 0.5, 0.5)
    assert (found["none"], found["copies"]) == (pytest.approx(1 / 3), pytest.approx(5 / 3))
    assert math.isfinite(measured(draws())["rmse"])
    assert measured(draws())["differs"] == pytest.approx(2 / 3)


def test_nothing_released_is_nothing_said() -> None:
    found = measured(draws().iloc[2:3])
    assert found["none"] == 1
    assert math.isnan(found["wrong_sign"])


def test_only_mended_and_strict_keep_a_promise() -> None:
    assert promise("mended") == promise("strict") == promise("hajek") == "(epsilon, delta)"
    assert promise("printed").count(",") == 2
    assert promise("once").startswith("none")
    table = summarised({("ihdp", "mended"): draws()})
    assert table["guarantee"].tolist() == ["(epsilon, delta)"]


def test_the_epsilon_of_a_share() -> None:
    assert epsilon_of(0.25, [1, 2, 4], [0.5, 0.25, 0.1]) == pytest.approx(2)
    assert math.isnan(epsilon_of(0.6, [1, 2, 4], [0.5, 0.25, 0.1]))
    assert math.isnan(epsilon_of(0.05, [1, 2, 4], [0.5, 0.25, 0.1]))
