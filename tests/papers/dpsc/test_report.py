from __future__ import annotations

from typing import TYPE_CHECKING

from papers.dpsc import rerun

if TYPE_CHECKING:
    from pathlib import Path


def test_the_report_says_which_form_has_no_guarantee(tmp_path: Path) -> None:
    report = rerun(tmp_path, draws=2, quick=True).report
    assert "objective perturbation: no guarantee holds" in report
    assert "| strict, ridge weights |" in report
    assert report.count("of 8 cases") == 1
