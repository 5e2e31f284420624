from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import pytest

from papers.dpsc import rerun
from papers.dpsc.forms import FORMS
from papers.dpsc.report import write_figures

if TYPE_CHECKING:
    from pathlib import Path


def test_the_report_says_which_form_has_no_guarantee(tmp_path: Path) -> None:
    report = rerun(tmp_path, draws=20, quick=True).report
    assert "objective perturbation: no guarantee holds" in report
    assert "| strict, ridge weights |" in report
    assert "radius of equation (10) (not private)" in report
    # the printed bounds hold for the printed mean length, and not for the printed density
    exceeded = "exceeded with the radius of equation (10), by more than three Monte Carlo errors, "
    assert exceeded + "in 0 of 8" in report


def test_what_varies_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib.pyplot").switch_backend("Agg")
    table = pd.DataFrame(
        [
            {"n": 10, "T0": 10, "epsilon": e, "lambda": 200.0, "form": form, "rmse": 5.0 / e,
             "se": 0.1, "bound.ours": 9.0, "bound.printed": 3.0}
            for e in (2.0, 4.0) for form in FORMS
        ]
    )  # fmt: skip
    written = write_figures(tmp_path, table)
    assert [path.name for path in written] == ["rmse_by_epsilon.png", "figure_2.png"]
    assert all(path.stat().st_size > 5000 for path in written)


def test_the_papers_figures_are_drawn_at_its_penalty(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib.pyplot").switch_backend("Agg")
    table = pd.DataFrame(
        [
            {"n": n, "T0": T0, "epsilon": e, "lambda": m * float(T0), "form": form,
             "rmse": 5.0 / e, "se": 0.1, "bound.ours": 9.0, "bound.printed": 3.0}
            for e in (2.0, 4.0, 8.0) for form in FORMS for m in (1, 20)
            for n, T0 in ((10, 10), (100, 100))
        ]
    )  # fmt: skip
    names = {path.stem for path in write_figures(tmp_path, table)}
    assert {"figure_2", "figure_5", "figure_6", "figure_8"} <= names
