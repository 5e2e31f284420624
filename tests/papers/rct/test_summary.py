from __future__ import annotations

import numpy as np
import pytest

from papers.rct import reasons
from papers.rct.printed import IMPLEMENTED, printed
from papers.rct.summary import notes_of, summary


def test_averages_inside_our_runs_are_counted() -> None:
    page = printed(1)
    exact = page.assign(ours=page["value"], low=page["value"], high=page["value"], runs=2)
    moved = exact["method"] == "GenModel"
    exact.loc[moved, ["low", "high"]] += 1
    words = "printed values among our 2 runs, where 33% of those of another run can be expected"
    assert summary(1, exact) == (
        f"MV Histogram: 15 of 15 {words}; Hybrid: 15 of 15 {words}; GenModel: 0 of 15 {words}."
    )
    assert "67% of those of another run" in summary(1, exact.assign(runs=5))


@pytest.mark.parametrize("runs", [0, 1])
def test_few_releases_are_no_runs_to_be_among(runs: int) -> None:
    page = printed(1)
    said = summary(1, page.assign(ours=1.0, low=1.0, high=1.0, runs=runs))
    assert said.count("fewer than two whole runs of 20") == 3
    assert " of 15 " not in said


def test_effects_inside_our_distribution_are_counted() -> None:
    page = printed(13)
    page = page.assign(ours=page["value"], low=page["value"] - 1, high=page["value"] + 1)
    page.loc[0, "high"] = page.loc[0, "value"] - 0.5
    assert "71 of 72 printed ITT within" in summary(13, page)


def test_confidential_numbers_are_the_same_or_not() -> None:
    page = printed(3).assign(ours=np.nan, low=np.nan, high=np.nan, runs=2)
    own = page["method"] == "Confidential"
    page.loc[own, "ours"] = page.loc[own, "value"]
    page.loc[0, "ours"] += 1
    assert "Confidential: 9 of 10 the same" in summary(3, page)


@pytest.mark.parametrize("table", IMPLEMENTED)
def test_every_reason_that_applies_is_below_the_table(table: int) -> None:
    notes = notes_of(table, generated=False, draws=40)
    methods = " ".join(set(printed(table)["method"])) if table not in (7, 8) else ""
    assert (reasons.GENMODEL in notes) == ("GenM" in methods)
    assert (reasons.HYBRID in notes) == ("Hybrid" in methods)
    assert (reasons.NO_GUARANTEE in notes) == (table not in (11, 12))
    assert reasons.GENERATED not in notes


def test_generated_data_are_said_to_be() -> None:
    notes = notes_of(1, generated=True, draws=300)
    assert reasons.GENERATED in notes
    assert "15 such runs" in notes[0]
    assert notes_of(1, generated=True, draws=39)[0].startswith(reasons.ONE_RUN[:70])
    assert "12%" in notes[0]  # 2 in 16: as likely as any other run to be an extreme


def test_times_are_compared_as_ratios() -> None:
    page = printed(7).assign(printed_ratio=1.0, ours=1.0)
    page.loc[page["method"] == "GenM-9", ["printed_ratio", "ours"]] = [2311.0, 12.3]
    assert summary(7, page).endswith("GenM-9 2,311 printed, 12.3 ours.")


def test_steps_are_compared_as_parts_of_the_total() -> None:
    page = printed(8).assign(our_part=0.25)
    page["printed_part"] = page["arm"].map({"proxies": 0.7}).fillna(0.1)
    said = summary(8, page)
    assert "generate and fit proxy 70% printed, 25% ours;" in said
    assert "total" not in said
