"""Figures show every set-up, against epsilon and against n1."""

from __future__ import annotations

import pandas as pd
import pytest

from papers.ippw.figures import by_epsilon, by_size, write_figures

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
    more = pd.concat([summary, summary.iloc[:2].assign(study="ihdp")])
    names = [path.name for path in write_figures(tmp_path, more)]
    assert names == ["synthetic.png", "ihdp.png", "synthetic_n1.png"]
    assert plt.get_fignums() == []
