from __future__ import annotations

import pickle
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from dprct.custodian import RiskReport, risk
from dprct.errors import DisclosureError
from dprct.plots import WATERMARK_ID
from dprct.results.base import WATERMARK

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    import dprct


@pytest.fixture
def report(
    confidential: pd.DataFrame,
    released: list[pd.DataFrame],
    make: Callable[[int, int], pd.DataFrame],
    compare: Any,
) -> RiskReport:
    found: RiskReport = compare(
        risk,
        confidential,
        {"copy": confidential, "new": released},
        keys=["age", "village"],
        holdout=make(150, 9),
    )
    return found


def test_the_distribution_over_draws(report: RiskReport) -> None:
    frame, summary = report.to_frame(), report.summary((0.5,)).set_index("method")
    assert summary["draws"].to_dict() == {"copy": 1, "new": 3}
    new = frame[frame["method"] == "new"]
    for name in ("equal", "keys.equal", "distance.q05", "closer"):
        assert summary.loc["new", f"{name}.mean"] == pytest.approx(new[name].mean())
        assert summary.loc["new", f"{name}.q50"] == pytest.approx(new[name].median())


def test_the_text_sets_releases_beside_the_baseline(report: RiskReport) -> None:
    text = report.to_text()
    lines = {line[:38].strip(): line.split()[-3:] for line in text.splitlines()}
    assert lines["rows equal to a confidential row"] == ["1.000", "0.000", "0.000"]
    closer = lines["nearer to confidential than to holdout"]
    assert (closer[0], closer[2]) == ("1.000", "0.667")
    assert "new (3)" in text
    assert "Keys: age, village." in text
    assert "Compared in: earn, work, cash, therapy, age, village." in text
    assert "that they are low proves" in text


def test_without_a_holdout_the_text_asks_for_one(confidential: pd.DataFrame, compare: Any) -> None:
    text = compare(risk, confidential, confidential).to_text()
    assert "No holdout was given" in text
    assert "nearer to" not in text
    assert "keys" not in text.lower()


def test_every_form_carries_the_watermark(report: RiskReport, figures: Any) -> None:
    for text in (report.to_text(), str(report)):
        assert text.startswith(WATERMARK)
        assert text.endswith(f"{WATERMARK}.")
    assert WATERMARK in repr(report)
    for frame in (report.to_frame(), report.summary()):
        assert frame.attrs["dprct"] == WATERMARK
    ax = report.plot()
    (mark,) = [text for text in ax.texts if text.get_gid() == WATERMARK_ID]
    assert " ".join(mark.get_text().split()) == WATERMARK


def test_the_figure_shows_the_distances(report: RiskReport, figures: Any) -> None:
    ax = report.plot()
    ax.figure.canvas.draw()
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["released (copy)", "released (new)", "holdout"]
    assert len(ax.lines) == 1 + 3 + 1
    assert ax.lines[0].get_xdata().tolist() == [0.0] * 300
    assert report.holdout_distances is not None
    assert ax.lines[-1].get_xdata() == pytest.approx(np.sort(report.holdout_distances))


def test_the_report_is_not_attached_to_a_release(
    report: RiskReport, release: dprct.Release
) -> None:
    for thing in (report, report.to_frame(), report.summary()):
        with pytest.raises(DisclosureError, match="estimates is a report"):
            replace(release, estimates=thing)
    with pytest.raises(DisclosureError, match="a RiskReport is confidential"):
        pickle.dumps(report)
