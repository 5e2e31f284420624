"""The words of the report, from tables whose numbers are known."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from papers.ippw.report import (
    by_epsilon,
    by_size,
    epsilon_of,
    measured,
    promise,
    report,
    summarised,
    write_figures,
)


def test_printed_tables_stand_below_ours_with_the_epsilon_of_as_many_wrong_signs() -> None:
    shares = {0.5: 0.6, 2.0: 0.2}
    draws = pd.concat(
        pd.DataFrame(
            {
                "epsilon": epsilon,
                "estimate": 1.0,
                "truth": 1.0,
                "own": 1.0,
                "partial": [-1.0] * int(10 * share) + [1.0] * (10 - int(10 * share)),
                "copies": 2,
            }
        )
        for epsilon, share in shares.items()
    )
    empty = draws.assign(estimate=float("nan"), own=float("nan"), partial=float("nan"))
    baselines = pd.DataFrame(
        {"study": ["ihdp"], "estimator": ["ipw"], "mean": [4.0], "rmse": [0.25]}
    )
    text = report(summarised({("ihdp", "printed"): draws, ("ihdp", "hajek"): empty}), baselines)
    assert "Without privacy, on all rows: ipw 4 (rmse 0.25)." in text
    assert "| mean | -237477 |" in text
    assert "0.600, 0.200, at epsilon 0.5, 2" in text
    assert "our epsilon with as many | 0.67 |" in text
    assert "nan" not in text


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


plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture
def summary():
    plt.switch_backend("Agg")
    return pd.DataFrame(
        [
            {
                "study": f"synthetic n1={n1}", "title": title, "epsilon": epsilon,
                "median_error": 1 / epsilon, "wrong_sign": 0.1,
            }
            for n1 in (500, 1000)
            for title in ("as printed", "strict")
            for epsilon in (1.0, 2.0)
        ]
    )  # fmt: skip


def test_errors_and_signs_are_drawn_as_given(summary) -> None:
    error, sign = by_epsilon(summary[summary["study"] == "synthetic n1=1000"], "synthetic")
    assert [line.get_label() for line in error.lines] == ["as printed", "strict"]
    assert error.lines[0].get_ydata().tolist() == [1.0, 0.5]
    assert sign.lines[1].get_xdata().tolist() == [1.0, 2.0]
    plt.close(error.figure)
    error, _ = by_size(summary)
    assert error.lines[0].get_xdata().tolist() == [500, 1000]
    plt.close(error.figure)


def test_a_figure_per_study_that_is_there(summary, tmp_path) -> None:
    open_before = plt.get_fignums()
    more = pd.concat([summary, summary.iloc[:2].assign(study="ihdp")])
    names = [path.name for path in write_figures(tmp_path, more)]
    assert names == ["synthetic.png", "ihdp.png", "synthetic_n1.png"]
    assert plt.get_fignums() == open_before
