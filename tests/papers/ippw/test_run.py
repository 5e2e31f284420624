"""The whole run with few draws: resumed, in processes, with its report and figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import pytest

from dprct.errors import ParameterError
from papers.ippw import rerun, run

if TYPE_CHECKING:
    from pathlib import Path


def test_the_synthetic_designs_are_run_resumed_and_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = dict(list(run.studies(None).items())[:2])
    monkeypatch.setattr(run, "studies", lambda data: two)
    done: list[tuple[str, int, int]] = []
    made = rerun(tmp_path, draws=1, progress=lambda *now: done.append(now))
    assert done[0] == ("kept from before", 0, 8)
    assert len(made.summary) == 8 * 5
    assert pd.read_csv(tmp_path / "summary.csv")["epsilon"].nunique() == 5
    assert set(pd.read_csv(tmp_path / "baselines.csv")["estimator"]) >= {"ipw", "aipw"}
    report = (tmp_path / "report.md").read_text("utf-8")
    assert report == made.report
    for words in ("## synthetic n1=1000", "published, corrected", "Lost settings", "nobody twice"):
        assert words in report
    next(iter((tmp_path / "cells").iterdir())).unlink()
    done.clear()
    again = rerun(tmp_path, draws=1, progress=lambda *now: done.append(now))
    assert done[0] == ("kept from before", 7, 8)
    pd.testing.assert_frame_equal(again.summary, made.summary)
    pytest.importorskip("matplotlib.pyplot").switch_backend("Agg")
    names = [path.name for path in made.draw_figures(tmp_path)]
    assert names == ["synthetic.png", "synthetic_n1.png", "figure_1.png", "figure_2.png"]
    assert all((tmp_path / name).stat().st_size > 5000 for name in names)


@pytest.mark.audit
def test_ihdp_and_lalonde_stand_beside_the_printed(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the report says of copies, explosions and wrong signs; shares of 30 draws."""
    there = run.studies(shared / "data")
    monkeypatch.setattr(run, "studies", lambda data: {k: there[k] for k in ("ihdp", "lalonde")})
    made = rerun(tmp_path, data=shared / "data", draws=30)
    assert made.report.count("The paper's table") == 2
    table = made.summary.set_index(["study", "setup", "epsilon"])
    assert table.loc[("ihdp", "printed", 1.0), "copies"] > 8
    assert table.loc[("ihdp", "once", 1.0), "copies"] == 1
    assert table.loc[("ihdp", "printed", 0.2), "rmse"] > 1000
    assert table.loc[("ihdp", "mended", 0.2), "rmse"] < 200
    # about one half and about .07 in many draws
    assert table.loc[("ihdp", "printed", 0.2), "wrong_sign_partial"] > 0.1
    assert table.loc[("ihdp", "printed", 5.0), "wrong_sign_partial"] < 0.5


@pytest.mark.parametrize("option", [{"draws": 0}, {"jobs": 0}, {"seed": -1}])
def test_bad_options_are_refused(tmp_path: Path, option: dict[str, int]) -> None:
    with pytest.raises(ParameterError, match=next(iter(option))):
        rerun(tmp_path / "out", **option)  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists()
