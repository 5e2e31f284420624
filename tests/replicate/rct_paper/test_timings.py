from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dprct.replicate.rct_paper.sources import find_sources
from dprct.replicate.rct_paper.timings import compared_timings

if TYPE_CHECKING:
    from pathlib import Path


def test_times_are_ratios_to_the_histogram(shared: Path) -> None:
    page = compared_timings(find_sources(shared / "data", 1)["liberia"], repeats=1)
    assert len(page) == 15
    assert (page["seconds"] > 0).all()
    base = page[page["method"] == "MV Histogram"]
    assert base["ours"].tolist() == base["printed_ratio"].tolist() == [1.0] * 3
    by = page.set_index(["row", "method"])
    ratio = by.loc[("Full Baseline", "GenM-9"), "printed_ratio"]
    assert ratio == pytest.approx(578.14 / 0.16)
