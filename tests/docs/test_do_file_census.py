"""The census of docs/do_files.md, where the do-files are at hand, and its rules on small ones."""

from __future__ import annotations

import csv
import importlib
import re
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from dprct.dofile import Regression

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

KINDS = ("calibrated", "calibrated, these rows alone", "moments", "declared")


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return importlib.import_module("scripts.do_file_census")


def test_the_page_has_the_counts(script: ModuleType, do_files: Path, checkout: Path) -> None:
    found = script.census(do_files)
    text = (checkout / "docs" / "do_files.md").read_text("utf-8")
    part = text.partition("### Which regressions a release could return")[2]
    rows = re.findall(r"^\| ([^|]+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$", part, re.MULTILINE)
    stated = {reason: tuple(map(int, numbers)) for reason, *numbers in rows}
    assert stated.pop("all") == (966, 966, 966, 966)
    reasons = {reason for kind in KINDS for reason in found[kind]}
    assert stated == {reason: tuple(found[kind][reason] for kind in KINDS) for reason in reasons}
    own = text.partition("| an index |")[2].partition("### One study")[0]
    of_index = {w: int(n) for w, n in re.findall(r"^\| ([^|]+) \| (\d+) \|$", own, re.MULTILINE)}
    assert of_index.pop("all of an index") == sum(of_index.values()) == 61
    assert of_index == found["an index"]
    as_they_are = found["as they stand"]
    rows_changed = sum(n for what, n in as_they_are.items() if what.startswith("rows: "))
    for number in (
        f"{as_they_are['nothing']} use the file as it is",
        f"{as_they_are['a column that the do-file makes']} use a column that they make",
        f"{rows_changed} come after",
        f"{as_they_are['a command that is not known']} after a command",
    ):
        assert number in " ".join(part.split())


@pytest.mark.long
def test_one_study_for_each_paper_serves_what_the_page_says_and_none_judged_not_valid(
    script: ModuleType, do_files: Path, checkout: Path
) -> None:
    text = (checkout / "docs" / "do_files.md").read_text("utf-8")
    part = text.partition("| one study for each paper |")[2].partition("### Judged by hand")[0]
    rows = re.findall(r"^\| ([^|]+) \| (\d+) \|$", part, re.MULTILINE)
    stated = {why: int(number) for why, number in rows}
    assert stated.pop("all of one study") == sum(stated.values()) == 966
    said = script.one_study_each(do_files)
    assert stated == Counter(said)
    assert f"The answer is {said.count('valid')} of 966" in text
    listed = (checkout / "tests" / "reference" / "judged_regressions.csv").read_text("utf-8")
    for one in csv.DictReader(listed.splitlines()):
        if one["judgement"] == "not valid":
            assert said[int(one["number"])] != "valid", (one["file"], one["number"])


@pytest.mark.parametrize(
    ("changes", "calibrated", "moments"),
    [
        ({}, "valid", "valid"),
        ({"vce": "classical"}, "effects only: other errors", "valid"),
        ({"vce": "cluster", "cluster": ("v",)}, "valid", "valid"),
        ({"command": "probit"}, "another estimator", "another estimator"),
        ({"weights": "pweight=w"}, "weights", "weights"),
        ({"sample": "girl==1"}, "some rows: a == 1", "effects only: other errors"),
        ({"sample": "girl==1", "vce": "classical"}, "some rows: a == 1", "valid"),
        (
            {"sample": "age>9", "vce": "classical"},
            "some rows: another condition, or by groups",
            "valid once the condition is a 0/1 column that makes groups",
        ),
        (
            {"sample": "girl==1", "vce": "cluster", "cluster": ("v",)},
            "some rows: a == 1",
            "a subgroup, with clusters",
        ),
    ],
)
def test_each_reason(
    script: ModuleType, changes: dict[str, object], calibrated: str, moments: str
) -> None:
    plain = {"file": "a.do", "line": 1, "command": "regress", "outcome": "y", "vce": "robust",
             "regressors": ("t", "x"), "treatments": ("t",)}  # fmt: skip
    row = script.prepared(Regression(**{**plain, **changes}))
    reason = script.reason_of(row, script.on_calibrated(row))
    assert (reason, script.on_moments(row, reason)) == (calibrated, moments)


@pytest.mark.parametrize(
    ("changes", "declared"),
    [
        ({}, "valid"),
        ({"vce": "cluster", "cluster": ("v",)}, "valid"),
        ({"vce": "classical"}, "valid"),
        ({"weights": "pweight=w"}, "weights"),
        ({"derived": {"t": "girl*aid"}}, "interaction with treatment"),
        ({"sample": "age>9 & girl==1"}, "valid, and who meets the condition may be private"),
        ({"groups": "girl"}, "valid, and who meets the condition may be private"),
        ({"sample": 'age!=. & town=="a"'}, "valid, and who meets the condition may be private"),
        ({"sample": "age>schooling"}, "valid, and who meets the condition may be private"),
        ({"sample": "later==1"}, "valid if it is public who meets the condition"),
        ({"sample": "t!=2"}, "valid if it is public who meets the condition"),
        ({"sample": "y!=. & !missing(x)"}, "valid"),
        (
            {"sample": "age>X[1,1]"},
            "some rows: a condition on the outcome, or one that is not read",
        ),
    ],
)
def test_each_reason_of_a_declared_regression(
    script: ModuleType, changes: dict[str, object], declared: str
) -> None:
    plain = {"file": "a.do", "line": 1, "command": "regress", "outcome": "y", "vce": "robust",
             "regressors": ("t", "x"), "treatments": ("t",)}  # fmt: skip
    row = Regression(**{**plain, **changes})
    ready = script.prepared(row)
    reason = script.reason_of(ready, script.on_calibrated(ready))
    assert script.on_declared(row, reason, ["y", "later"]) == declared
