"""27 published experiments, against the 966 regressions that they are known to run."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from dprct.dofile import read_files
from dprct.dofile.syntax import full_name

if TYPE_CHECKING:
    from pathlib import Path

    from dprct.dofile import Reading

BOTH_ABSORB = {"xtreg": "areg"}
"""The within estimator by its two names; the key has the second for all of them."""


@pytest.fixture(scope="module")
def key(do_files: Path) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in json.loads((do_files / "regressions.json").read_text("utf-8")):
        found.setdefault(row["paper"], []).append(row)
    return found


@pytest.fixture(scope="module")
def readings(do_files: Path, key: dict[str, list[dict[str, Any]]]) -> dict[str, Reading]:
    home = do_files / "experiments"
    return {paper: read_files([(home / f"Replication{paper}.do", home)]) for paper in key}


def columns(words: tuple[str, ...] | list[str]) -> set[str]:
    """The columns of a list, numbered ranges written out: z2-z4 is z2, z3 and z4."""
    found: set[str] = set()
    for word in words:
        ends = re.fullmatch(r"([A-Za-z_]+)(\d+)(\w*)-\1(\d+)\3", word)
        numbers = range(int(ends[2]), int(ends[4]) + 1) if ends else ()
        found |= {f"{ends[1]}{n}{ends[3]}" for n in numbers} if ends else {word}
    return found


def is_found(wanted: dict[str, Any], reading: Reading) -> bool:
    name = full_name(wanted["command"])
    treatments = columns(wanted["treatment"])
    return any(
        name in (row.command, BOTH_ABSORB.get(row.command) if row.absorb else "")
        and row.outcome == wanted["outcome"]
        and treatments <= columns(row.regressors)
        for row in reading
    )


def test_all_but_what_the_do_files_do_not_hold_is_read(
    key: dict[str, list[dict[str, Any]]], readings: dict[str, Reading]
) -> None:
    missed = {
        paper: sum(not is_found(row, readings[paper]) for row in rows)
        for paper, rows in key.items()
    }
    assert sum(map(len, key.values())) == 966
    # docs/do_files.md says why: 48 of these 49 do not stand in the do-files
    assert {paper: n for paper, n in missed.items() if n} == {
        "ABS": 4, "FG": 1, "FL": 28, "MSV": 16,
    }  # fmt: skip


def test_most_of_it_is_sure(readings: dict[str, Reading]) -> None:
    rows = [row for reading in readings.values() for row in reading]
    sure = sum(row.status == "read" for row in rows)
    assert sure / len(rows) > 0.99
    assert not any(reading.passed_over for reading in readings.values())


def test_no_paper_is_near_the_bound(readings: dict[str, Reading]) -> None:
    for reading in readings.values():
        assert not any("bound" in note for note in reading.notes)


def test_samples_and_clusters_are_those_of_the_key(
    key: dict[str, list[dict[str, Any]]], readings: dict[str, Reading]
) -> None:
    """Where the key says a cluster, a row for that outcome and treatments has it."""
    wrong = []
    for paper, rows in key.items():
        for wanted in rows:
            cluster = re.search(r"cluster\s*\(\s*(\w+)", wanted["text"])
            if cluster is None or not is_found(wanted, readings[paper]):
                continue
            found = {
                name
                for row in readings[paper]
                if row.outcome == wanted["outcome"]
                and columns(wanted["treatment"]) <= columns(row.regressors)
                for name in row.cluster
            }
            if cluster[1] not in found:
                wrong.append((paper, wanted["text"]))
    assert len(wrong) <= 2, wrong


def test_the_programme_for_the_poor(do_files: Path) -> None:
    home = do_files / "microcredit"
    rows = read_files([(home / "Regression.do", home)], treatments=["treatment"])
    assert [row.command for row in rows] == ["regress"] * 5 + ["areg"] * 5
    for row in rows:
        assert (row.regressors, row.treatments) == (("treatment",), ("treatment",))
        assert (row.sample, row.dataset, row.status) == ("el1==1", "Data.dta", "read")
    assert {(row.absorb, row.vce) for row in rows[5:]} == {(("vil_ham",), "robust")}
    assert rows[5].outcome == "asset_ind_tot_el1"
    assert {row.table for row in rows[5:]} == {"tab_Table1_g.tex"}
