"""The words of the report, from tables whose numbers are known."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from dprct.published import SignRisk
from papers.ippw.figures import by_epsilon, by_size, figure_1, figure_2, write_figures
from papers.ippw.report import epsilon_of, measured, promise, report, summarised


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
    risks = pd.DataFrame(
        {"n": [2000], "epsilon": 1.0, "effect": 0.25, "event": "full", "bound": 0.5, "share": 0.125}
    )
    found = summarised({("ihdp", "printed"): draws, ("ihdp", "hajek"): empty})
    text = report(found, baselines, risks)
    assert "| 2,000 | 1 | 0.250 | wrong after it | 0.5 | 0.125 |" in text
    assert "derived anew" in text
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
                "setup": "once" if title == "as printed" else "strict",
                "median_error": 1 / epsilon, "wrong_sign": 0.1,
                "wrong_sign_partial": 0.2 / epsilon, "differs": 0.3 / epsilon, "own": 6.0,
                "mean": 7.0, "mean_error": 1.0, "mean_partial": 6.5, "mean_partial_error": 0.25,
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
    papers = ["figure_1.png", "figure_2.png"]
    assert names == ["synthetic.png", "ihdp.png", "synthetic_n1.png", *papers]
    assert plt.get_fignums() == open_before
    strict = more[more["title"] == "strict"]  # the paper's figures are of its own set-up
    assert [path.name for path in write_figures(tmp_path, strict)] == [names[0], names[2]]


def test_the_paper_s_figures_show_lemma_3_shares_of_signs_and_means_with_bars(summary) -> None:
    part = summary[summary["setup"] == "once"]
    factor, simulated = figure_1(part)
    risk = SignRisk(
        n1=500, n2=1000, covariates=10, lam=0.01, epsilon=2, delta=1e-5, radius=1, trim=0.1
    )
    assert factor.lines[1].get_ydata()[0] == pytest.approx(risk.bias(1.0))
    assert simulated.containers[0].lines[0].get_ydata().tolist() == [0.5, 0.5]
    main = part[part["study"] == "synthetic n1=1000"]
    effects = pd.concat([main, main.assign(study="synthetic effect=0.5", wrong_sign_partial=0.4)])
    partial, full, mean_partial, mean = figure_2(effects, part)
    assert [ax.get_xlabel() for ax in (partial, full, mean_partial, mean)] == [
        "effect", "effect", "n1", "n1",
    ]  # fmt: skip
    assert partial.lines[1].get_xdata().tolist() == [0.5, 1.0]
    assert partial.lines[1].get_ydata().tolist() == [0.4, 0.1]
    assert full.lines[0].get_ydata().tolist() == [0.3, 0.3]
    for ax, centre, half in ((mean_partial, 6.5, 0.25), (mean, 7.0, 1.0)):
        data, _, (bars,) = ax.containers[0].lines
        assert data.get_ydata().tolist() == [centre, centre]
        low, high = bars.get_segments()[0][:, 1]
        assert (low, high) == pytest.approx((centre - 1.96 * half, centre + 1.96 * half))
    for ax in (factor, partial):
        plt.close(ax.figure)
