from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from papers.rct import timings
from papers.rct.sources import Source, find_sources

if TYPE_CHECKING:
    from pathlib import Path

    from papers.rct.contents import Asked


def test_times_are_ratios_to_the_histogram(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = {"MV Histogram": 0.5, "Hybrid": 2.0, "GenModel": 4.0}

    def seconds(wanted: Asked, source: Source, repeat: int) -> float:
        return taken[wanted.method] + (repeat != 1)  # the fastest counts

    monkeypatch.setattr(timings, "_seconds", seconds)
    page = timings.compared_timings(Source("liberia", None)).set_index(["row", "method"])
    assert len(page) == 15
    one = page.loc[("Full Baseline", "GenM-9")]
    assert (one["seconds"], one["ours"]) == (4.0, 8.0)
    assert one["printed_ratio"] == pytest.approx(578.14 / 0.16)
    base = page.xs("MV Histogram", level="method")
    assert base["ours"].tolist() == base["printed_ratio"].tolist() == [1.0] * 3


def test_a_release_is_timed(shared: Path) -> None:
    wanted = timings.asked(7, "Reduced Subset", "", "MV Histogram")
    assert wanted is not None
    assert wanted.model == "Reduced Subset"
    assert timings._seconds(wanted, find_sources(shared / "data", 1)["liberia"], 0) > 0
