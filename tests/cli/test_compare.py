from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from dprct.io.stata import read_dta, write_dta

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def pair(dprct: Callable[..., Any], study: Path, folder: Path) -> tuple[Path, Path]:
    """A confidential file and its protected version."""
    assert dprct("protect", study, "--yes").code == 0
    return folder / "survey.dta", folder / "survey_protected.dta"


def test_identical_files(dprct: Callable[..., Any], folder: Path) -> None:
    ran = dprct("compare", folder / "survey.dta", folder / "survey.dta")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == "survey.dta and survey.dta are identical\n"


def test_a_protected_file_differs_as_permitted(
    dprct: Callable[..., Any], pair: tuple[Path, Path]
) -> None:
    ran = dprct("compare", *pair)
    assert (ran.code, ran.err) == (0, "")
    assert "that the certificate permits" in ran.out
    assert "no certificate permits" not in ran.out


def test_labels_and_formats_that_a_study_declares_are_those_of_its_file(
    dprct: Callable[..., Any], study: Path, folder: Path, edit: Callable[..., None]
) -> None:
    said = '[columns.age]\nlabel = "âge | <b>"\nformat = "%9.2f"'
    edit(("[columns.age]", said))
    assert dprct("check", study).code == 0
    assert dprct("protect", study, "--yes").code == 0
    column = read_dta(folder / "survey_protected.dta")[1].column("age")
    assert (column.label, column.format) == ("âge | <b>", "%9.2f")
    ran = dprct("compare", folder / "survey.dta", folder / "survey_protected.dta")
    assert (ran.code, ran.out.count("[permitted: declared by the study]")) == (0, 2)


def test_permitted_values_are_not_counted(
    dprct: Callable[..., Any], pair: tuple[Path, Path]
) -> None:
    for options in ([], ["--json"]):
        ran = dprct("compare", *pair, *options)
        assert "values" in ran.out
        assert "rows differ" not in ran.out
        assert " 500" not in ran.out
    without = dprct("compare", *pair, "--certificate", _permitting_nothing(pair[1].parent))
    assert "of 500 rows differ" in without.out
    assert without.code == 1


def _permitting_nothing(folder: Path) -> Path:
    path = folder / "nothing.json"
    path.write_text('{"differences": []}')
    return path


def test_an_edited_label_is_unexpected(dprct: Callable[..., Any], pair: tuple[Path, Path]) -> None:
    table, schema = read_dta(pair[1])
    edited = schema.with_columns([replace(schema.column("age"), label="edited")])
    write_dta(table, edited, pair[1])
    ran = dprct("compare", *pair)
    assert ran.code == 1
    assert "label of age: 'age' in the first, 'edited' in the second" in ran.out
    found = dprct("compare", *pair, "--json")
    assert found.code == 1
    assert [d["facet"] for d in json.loads(found.out)["unexpected"]] == ["label"]


def test_json_parses_whatever_labels_say(
    dprct: Callable[..., Any], pair: tuple[Path, Path]
) -> None:
    table, schema = read_dta(pair[1])
    label = '[bold]:100: "é"\\[/]'
    write_dta(table, replace(schema, file=replace(schema.file, label=label)), pair[1])
    ran = dprct("compare", *pair, "--json")
    content = json.loads(ran.out)
    assert content["files"] == ["survey.dta", "survey_protected.dta"]
    assert not content["identical"]
    (difference,) = content["unexpected"]
    assert ":100:" in difference["detail"]
    assert len(content["permitted"]) >= 4


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["survey.dta", "none.dta"], "check the path"),
        (["survey.dta", "study.toml"], "error: "),
        (["survey.dta", "survey.dta", "--certificate", "none.json"], "cannot be read"),
        (["survey.dta", "survey.dta", "--certificate", "study.toml"], "not JSON"),
    ],
)
def test_what_cannot_be_compared_is_2(
    arguments: list[str], words: str, dprct: Callable[..., Any], folder: Path
) -> None:
    paths = [a if a.startswith("--") else folder / a for a in arguments]
    ran = dprct("compare", *paths)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
