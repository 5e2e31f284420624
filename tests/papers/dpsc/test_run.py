from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import pytest

from dprct.errors import ParameterError
from papers.dpsc import rerun

if TYPE_CHECKING:
    from pathlib import Path


def test_a_quick_run_writes_table_and_report(tmp_path: Path) -> None:
    done: list[tuple[str, int, int]] = []
    made = rerun(tmp_path, draws=3, quick=True, progress=lambda *now: done.append(now))
    assert [now[1:] for now in done] == [(k, 4) for k in range(1, 5)]
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "rmse.csv"), made.table)
    assert (tmp_path / "report.md").read_text("utf-8") == made.report
    again = rerun(tmp_path, draws=3, quick=True)
    pd.testing.assert_frame_equal(again.table, made.table)


def test_mistakes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="draws=1; give a whole number of 2 or more"):
        rerun(tmp_path, draws=1)
