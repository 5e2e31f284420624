from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from dprct.io.stata import read_header, write_dta
from dprct.schema import Column, Schema
from dprct.study.data_sets import planned_verdicts
from dprct.study.study import load_study

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_a_codebook(dprct: Callable[..., Any], folder: Path) -> None:
    ran = dprct("describe", folder / "survey.dta")
    assert ran.code == 0
    assert ran.err == ""
    for part in (
        "survey.dta: 500 rows, 4 columns, release 118", "label: a survey", "sorted by: unit",
        "got the résultat", "0 no; 1 yes; .a refused", "str20",
    ):  # fmt: skip
        assert part in ran.out
    assert "Aurelia" not in ran.out


def test_a_long_name_stays_in_one_piece_and_no_line_ends_in_blanks(
    dprct: Callable[..., Any], folder: Path
) -> None:
    name = "a_name_of_thirty_two_characters_"
    column = Column(name, "double", label="a label that says very much " * 3)
    write_dta(pd.DataFrame({name: [1.0]}), Schema((column,)), folder / "long.dta")
    lines = dprct("describe", folder / "long.dta").out.splitlines()
    assert sum(line.startswith(name + "  ") for line in lines) == 1
    assert all(line == line.rstrip() and len(line) <= 80 for line in lines)


def _data_bytes(path: Path) -> tuple[int, int]:
    """Return where the rows of a .dta file of release 118 begin and end."""
    content = path.read_bytes()
    return content.index(b"<data>") + len(b"<data>"), content.index(b"</data>")


@pytest.mark.parametrize("byte", [b"\x00", b"\xff", b"A"])
def test_the_data_section_is_never_read(
    byte: bytes, dprct: Callable[..., Any], folder: Path
) -> None:
    path = folder / "survey.dta"
    first = dprct("describe", path, "--draft", folder / "one.toml")
    start, end = _data_bytes(path)
    assert end - start > 10_000
    content = path.read_bytes()
    path.write_bytes(content[:start] + byte * (end - start) + content[end:])
    second = dprct("describe", path, "--draft", folder / "two.toml")
    assert second.code == first.code == 0
    assert second.out.replace("two", "one") == first.out
    one, two = ((folder / name).read_text("utf-8") for name in ("one.toml", "two.toml"))
    assert two.replace("two.toml", "one.toml") == one


def test_a_draft_is_a_study_file_that_check_finds_incomplete(
    dprct: Callable[..., Any], folder: Path
) -> None:
    draft = folder / "new study.toml"
    ran = dprct("describe", folder / "survey.dta", "--draft", draft)
    assert ran.code == 0
    assert f"wrote {draft}" in ran.out
    assert list(tomllib.loads(draft.read_text("utf-8"))["columns"]) == [
        "unit", "got", "age", "name",
    ]  # fmt: skip
    checked = dprct("check", draft)
    assert checked.code == 1
    assert "column 'got' has no fate" in checked.out
    assert "open points" in checked.out


def test_an_existing_draft_is_kept(dprct: Callable[..., Any], study: Path, folder: Path) -> None:
    before = study.read_bytes()
    ran = dprct("describe", folder / "survey.dta", "--draft", study)
    assert ran.code == 2
    assert "'study.toml' exists" in ran.err
    assert study.read_bytes() == before


def test_a_draft_in_a_folder_that_is_missing(dprct: Callable[..., Any], folder: Path) -> None:
    ran = dprct("describe", folder / "survey.dta", "--draft", folder / "none" / "s.toml")
    assert ran.code == 2
    assert "does not exist" in ran.err


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("none.dta", None, "does not exist; check the path"),
        ("", None, "is a folder"),
        ("text.dta", b"this is no Stata file", "error: "),
        ("empty.dta", b"", "error: "),
    ],
)
def test_what_is_no_stata_file_is_one_sentence(
    name: str, content: bytes | None, words: str, dprct: Callable[..., Any], folder: Path
) -> None:
    if content is not None:
        (folder / name).write_bytes(content)
    ran = dprct("describe", folder / name)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
    assert len(ran.err.strip().splitlines()) == 1


def test_many_labels_are_cut(dprct: Callable[..., Any], folder: Path) -> None:
    from dataclasses import replace

    from dprct.io.stata import read_dta, write_dta

    data, schema = read_dta(folder / "survey.dta")
    labels = {"yesno": {k: f"code {k}" for k in range(40)}}
    write_dta(data, replace(schema, file=replace(schema.file, value_labels=labels)),
              folder / "many.dta")  # fmt: skip
    assert len(read_header(folder / "many.dta").labels_of("got")) == 40
    ran = dprct("describe", folder / "many.dta")
    text = " ".join(ran.out.split())
    assert "40 in all" in text
    assert "code 11" in text
    assert "code 12" not in text


def test_a_file_without_a_header_has_a_codebook_and_no_value(
    dprct: Callable[..., Any], tmp_path: Path
) -> None:
    data, study = tmp_path / "mail.csv", tmp_path / "mail.toml"
    data.write_text("letter,born\nneighbours,1941\nnone,1958\n", "utf-8")
    ran = dprct("describe", data, "--draft", study)
    assert ran.code == 0
    assert "mail.csv: 2 rows, 2 columns\n" in ran.out  # and no release of a .dta file
    marked = dprct("describe", data, "--draft", tmp_path / "m.toml", "--treatment", "letter")
    assert (marked.code, (tmp_path / "m.toml").exists()) == (2, False)
    assert "give --do too" in marked.err
    text = study.read_text("utf-8")
    for value in ("neighbours", "1941", "1958"):
        assert value not in ran.out + text
    assert "every possible text" in text
    assert "\ninteger = true" in text  # proposed where all numbers are whole
    filled = text.replace("confirm = false", "confirm = true").replace(
        'fate = "withheld"', 'fate = "modelled"\nlevels = ["neighbours", "none"]\nmissing = "never"'
    )
    study.write_text(filled + "\n", "utf-8")
    assert "column 'letter'" not in dprct("check", study).out


def test_do_files_name_columns_as_the_draft_does(dprct: Callable[..., Any], folder: Path) -> None:
    (folder / "odd.csv").write_text("inc.total,village id,treat\n1.5,1,0\n2.5,2,1\n")
    do = folder / "odd.do"
    do.write_text("regress inc_total treat, vce(cluster village_id)\n")
    given = ("describe", folder / "odd.csv", "--do", do, "--treatment", "treat", "--draft")
    ran = dprct(*given, folder / "odd.toml")
    assert "no regression" not in ran.out
    assert tomllib.loads((folder / "odd.toml").read_text())["release"]["formula"] == (
        "inc_total ~ treat"
    )
    do.write_text("regress inctotal treat, vce(cluster villageid)\n")
    ran = dprct(*given, folder / "other.toml")
    assert "no regression on treat with columns of odd.csv was read" in ran.out
    checked = dprct("check", folder / "odd.toml", "--do", do)
    assert "no verdict on a regression" in checked.out
    assert planned_verdicts(load_study(folder / "odd.toml"), [do]) == []
