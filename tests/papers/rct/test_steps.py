from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from papers.rct import steps
from papers.rct.contents import asked
from papers.rct.liberia import OUTCOMES
from papers.rct.sources import Source, find_sources

if TYPE_CHECKING:
    from pathlib import Path

    from papers.rct.contents import Asked

TAKEN = {"total": 4.0, "proxies": 3.0, "parameters": 0.75, "outcome": 0.25}


def test_steps_are_over_the_histogram_and_parts_of_their_total(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fastest(wanted: Asked, source: Source, repeats: int) -> float:
        return {"Reduced Subset": 0.5, "Full Baseline": 2.0}[wanted.model]

    def seconds(wanted: Asked, source: Source, repeats: int) -> dict[str, dict[str, float]]:
        return dict.fromkeys(OUTCOMES, TAKEN)

    monkeypatch.setattr(steps, "fastest", fastest)
    monkeypatch.setattr(steps, "_seconds", seconds)
    page = steps.compared_steps(Source("liberia", None))
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
    found = steps._seconds(wanted, source, 1)
    assert tuple(found) == OUTCOMES
    for taken in found.values():
        parts = [taken[step] for step in ("proxies", "parameters", "outcome")]
        assert min(parts) > 0
        assert taken["total"] == pytest.approx(sum(parts))
