from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import pytest

from dprct.errors import ParameterError
from papers.cate import rerun, run
from papers.cate.designs import designs
from papers.cate.run import Cell

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def one_setup(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the run short."""
    few = {"B": designs(None)["B"]}
    monkeypatch.setattr(run, "designs", lambda data: few)
    monkeypatch.setattr(run, "QUICK", ((200, 400), (1.0, 4.0), 400))


@pytest.mark.usefixtures("one_setup")
def test_a_quick_run_writes_report_table_and_figures(tmp_path: Path) -> None:
    done: list[tuple[str, int, int]] = []
    made = rerun(tmp_path, draws=2, quick=True, progress=lambda *now: done.append(now))
    assert [now[1:] for now in done] == [(k, 4) for k in range(5)]
    kept = pd.read_csv(tmp_path / "summary.csv")
    pd.testing.assert_frame_equal(kept, made.summary)
    assert (tmp_path / "report.md").read_text("utf-8") == made.report
    for words in ("## Setup B", "## Where the one-step learner loses", "voting design is left out"):
        assert words in made.report
    drawn = {path.name for path in made.draw_figures(tmp_path)}
    assert drawn == {"mse_by_n.png", "mse_by_epsilon.png", "bias_and_variance.png"}
    # what was drawn is kept
    again: list[tuple[str, int, int]] = []
    more = rerun(tmp_path, draws=2, quick=True, progress=lambda *now: again.append(now))
    assert again == [("kept from before", 4, 4)]
    assert more.report == made.report


@pytest.mark.parametrize("options", [{"draws": 1}, {"jobs": 0}, {"seed": -1}])
def test_mistakes_are_refused(tmp_path: Path, options: dict[str, int]) -> None:
    with pytest.raises(ParameterError, match=r"give a whole number of [012] or more"):
        rerun(tmp_path, **options)


def test_a_cell_has_every_form_and_epsilon_and_can_be_repeated() -> None:
    cell = Cell("A", "strict", 300, "1 2", 2, 1, "")
    design = designs(None)["A"]
    found = cell.compute(design)
    assert found.groupby(["form", "epsilon"]).size().tolist() == [2] * 14
    # the mean of several fits is no worse than they are on average
    means = found.groupby(["form", "epsilon"])[["mse", "mse_mean"]].mean()
    assert (means["mse_mean"] <= means["mse"]).all()
    pd.testing.assert_frame_equal(cell.compute(design), found)


def test_everything_is_the_papers_grid_with_its_test_sets() -> None:
    every = "1 2 4 8 16"
    assert run.settings("published", full=True) == [(n, every) for n in run.SIZES]
    design = designs(None)["A"]
    assert run._test_rows(design, full=True) == 250_000
    assert len(design.test(1, 10).tau) == 10
    assert len(design.test(1).tau) == run._test_rows(design, full=False) == 4000


def test_keys_depend_on_every_setting() -> None:
    one = Cell("A", "strict", 300, "1 2", 2, 1, "")
    others = [Cell("A", "strict", 300, "1 2", 2, 1, "x"), Cell("B", "strict", 300, "1 2", 2, 1, "")]
    assert len({cell.key for cell in (one, *others)}) == 3
    assert one.name.startswith("A-strict-300-")
