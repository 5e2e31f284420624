from __future__ import annotations

import pandas as pd
import pytest

from dprct.estimate.synthetic_control import results
from dprct.plots import panels

YEARS = [1990.0, 1991.0, 1992.0]


pytestmark = pytest.mark.usefixtures("figures")


def series(*values: float) -> pd.Series[float]:
    return pd.Series(list(values), index=YEARS[-len(values) :])


def test_paths_have_a_band_around_the_synthetic_one() -> None:
    ax = results.draw_paths(series(1, 2, 3), series(5, 6), series(0.5, 1), panels(1)[0])
    observed, synthetic = ax.lines
    assert observed.get_ydata().tolist() == [1, 2, 3]
    assert synthetic.get_ydata().tolist() == [5, 6]
    corners = ax.collections[0].get_paths()[0].vertices
    assert {tuple(v) for v in corners} >= {(1991, 4.5), (1992, 7)}
    assert ax.get_legend_handles_labels()[1] == ["observed", "synthetic", "privacy noise alone"]


def test_the_gap_has_its_band() -> None:
    band = pd.DataFrame({"low": [0.0, 1.0], "high": [2.0, 4.0]}, index=YEARS[1:])
    ax = results.draw_gap(series(1, 2.5), band, panels(1)[0])
    assert ax.lines[0].get_ydata().tolist() == [1, 2.5]


def test_placebos_lie_under_the_treated_unit() -> None:
    others = pd.DataFrame({"a": [0.0, 1.0], "b": [2.0, 3.0]}, index=YEARS[1:])
    ax = results.draw_placebos(series(5, 6), others, "Łódź", panels(1)[0])
    assert [line.get_ydata().tolist() for line in ax.lines[:3]] == [[0, 1], [2, 3], [5, 6]]
    assert ax.get_legend_handles_labels()[1] == ["placebos", "Łódź"]


def test_the_largest_weights_are_bars_from_the_top() -> None:
    values = pd.Series([0.1, 0.7, 0.2], index=["a", "b", "ç"])
    ax = results.draw_weights(values, panels(1)[0])
    assert [bar.get_width() for bar in ax.patches] == [0.7, 0.2, 0.1]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["b", "ç", "a"]
    values = pd.Series(range(50), index=[str(k) for k in range(50)])
    assert len(results.draw_weights(values, panels(1)[0]).patches) == 30
