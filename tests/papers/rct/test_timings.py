from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from papers.rct import timings
from papers.rct.liberia import OUTCOMES
from papers.rct.printed import asked
from papers.rct.sources import Source, find_sources

if TYPE_CHECKING:
    from pathlib import Path

    from papers.rct.printed import Asked


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


TAKEN = {"total": 4.0, "proxies": 3.0, "parameters": 0.75, "outcome": 0.25}


def test_steps_are_over_the_histogram_and_parts_of_their_total(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fastest(wanted: Asked, source: Source, repeats: int) -> float:
        return {"Reduced Subset": 0.5, "Full Baseline": 2.0}[wanted.model]

    def seconds(wanted: Asked, source: Source, repeats: int) -> dict[str, dict[str, float]]:
        return dict.fromkeys(OUTCOMES, TAKEN)

    monkeypatch.setattr(timings, "fastest", fastest)
    monkeypatch.setattr(timings, "_step_seconds", seconds)
    page = timings.compared_steps(Source("liberia", None))
    assert len(page) == 192
    page = page.set_index(["panel", "row", "method", "arm"])
    one = page.loc[("Full Baseline", "arrested_ltav", "GenM-9", "proxies")]
    assert (one["seconds"], one["ours"], one["our_part"]) == (3.0, 1.5, 0.75)
    assert one["printed_ratio"] == pytest.approx(82.739 / 0.16)
    assert one["printed_part"] == pytest.approx(82.739 / 218.693)
    totals = page.xs("total", level="arm")
    assert (totals[["our_part", "printed_part"]] == 1.0).all(axis=None)
    assert totals.loc[("Reduced Subset", "fam_asb_lt", "GenM-1"), "ours"] == 8.0


def test_every_step_of_every_outcome_is_timed(shared: Path) -> None:
    source = find_sources(shared / "data", 1)["liberia"]
    wanted = asked(8, "Reduced Subset", "", "GenM-9")
    assert wanted is not None
    found = timings._step_seconds(wanted, source, 1)
    assert tuple(found) == OUTCOMES
    for taken in found.values():
        parts = [taken[step] for step in ("proxies", "parameters", "outcome")]
        assert min(parts) > 0
        assert taken["total"] == pytest.approx(sum(parts))
