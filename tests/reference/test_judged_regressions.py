"""Verdicts on published regressions, against 60 that were judged by hand before."""

from __future__ import annotations

import csv
import importlib
import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

if TYPE_CHECKING:
    from types import ModuleType

HERE = Path(__file__).parent
TOP = HERE.parent.parent
SEED, DRAWN = 33, 60
JUDGED = list(csv.DictReader((HERE / "judged_regressions.csv").read_text("utf-8").splitlines()))


@cache
def the_census() -> ModuleType:
    return importlib.import_module("scripts.do_file_census")


@pytest.fixture(scope="module")
def key(do_files: Path) -> list[dict[str, Any]]:
    return list(json.loads((do_files / "regressions.json").read_text("utf-8")))


def test_every_judgement_has_its_reason() -> None:
    for one in JUDGED:
        assert one["judgement"] in ("valid", "not valid", "depends"), one
        assert 0 < len(one["reason"].split()) <= 15, one


def test_they_are_those_that_the_seed_draws(do_files: Path, key: list[dict[str, Any]]) -> None:
    drawn = np.random.default_rng(SEED).choice(len(key), DRAWN, replace=False)
    assert [int(one["number"]) for one in JUDGED] == sorted(drawn.tolist())
    for one in JUDGED:
        told = key[int(one["number"])]
        assert one["file"] == f"Replication{told['paper']}.do"
        assert one["outcome"] == told["outcome"]
        lines = (do_files / "experiments" / one["file"]).read_bytes().splitlines()
        assert lines[int(one["line"]) - 1].strip()


def test_none_that_is_judged_not_valid_is_called_valid(
    do_files: Path, key: list[dict[str, Any]]
) -> None:
    census = the_census()
    readings = {
        name: census.read_files([(do_files / "experiments" / name, do_files / "experiments")])
        for name in {one["file"] for one in JUDGED}
    }
    said = {
        one["number"]: census.declared_verdict(key[int(one["number"])], readings[one["file"]])
        for one in JUDGED
    }
    table = Counter((one["judgement"], said[one["number"]]) for one in JUDGED)
    print(f"\nseed {SEED}\n| judged | the tool says | |\n|---|---|---|")
    for (judgement, verdict), number in sorted(table.items()):
        print(f"| {judgement} | {verdict} | {number} |")
    wrong = [
        f"{one['file']} {one['line']}: {one['reason']}"
        for one in JUDGED
        if one["judgement"] == "not valid" and said[one["number"]].startswith("valid")
    ]
    assert not wrong, "\n".join(wrong)


def test_a_regression_of_the_key_is_that_with_its_condition(do_files: Path) -> None:
    """Not the first one of its outcome, which may be of all rows."""
    census = the_census()
    home = do_files / "experiments"
    reading = census.read_files([(home / "ReplicationD.do", home)])
    row = census.row_of(
        {
            "command": "reg",
            "outcome": "multiplepartner",
            "treatment": ["sampleSD", "HIVtreat"],
            "text": "reg multiplepartner sampleSD HIVtreat if form==1 & girl==1, cluster(cluster)",
        },
        reading,
    )
    assert (row.sample, row.cluster) == ("form==1&girl==1", ("cluster",))


@pytest.mark.parametrize(
    ("word", "others", "made"),
    [
        ("treatpost", ("treat", "post"), True),
        ("treat_post", ("treat", "post"), True),
        ("abcyoungpost", ("abc", "young", "youngpost"), True),
        ("cashtraining", ("cash",), False),
        ("treat", ("treat", "post"), False),
        ("sfsp", ("sfp", "ssp"), False),
    ],
)
def test_a_column_named_after_two_others_is_no_arm(
    word: str, others: tuple[str, ...], made: bool
) -> None:
    assert (the_census().put_together(word, others) is not None) is made
