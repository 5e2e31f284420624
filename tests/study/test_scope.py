from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from dprct.cli.main import main
from dprct.errors import ParameterError, StudyError
from dprct.io.stata import read_dta, write_dta
from dprct.schema import Column, Schema
from dprct.study.draft import draft
from dprct.study.scope import Scope, matching, named
from dprct.study.study import study_from

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = ("age", "hh_1", "hh_2", "hh_10", "note", "wage")
SCHEMA = Schema(tuple(Column(name) for name in NAMES))
MODELLED = {"fate": "modelled", "levels": [0, 1], "missing": "never"}


def study(**parts: Any) -> Any:
    document = {
        "version": 1, "data": "wide.dta", "dataset_id": "wide",
        "release": {"method": "mv_histogram", "epsilon": 4.0}, "header": {"confirm": True},
    }  # fmt: skip
    return study_from(document | parts, Path("study.toml"))


def fates(found: Any) -> dict[str, str | None]:
    return {column.name: column.fate for column in found.declared(SCHEMA).columns}


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("hh_*", ["hh_1", "hh_2", "hh_10"]), ("hh_?", ["hh_1", "hh_2"]), ("*age", ["age", "wage"]),
        ("age", ["age"]), ("h", []), ("HH_*", []), ("[a]*", []), ("*", list(NAMES)),
    ],
)  # fmt: skip
def test_a_pattern_stands_for_names(text: str, fits: list[str]) -> None:
    assert matching(text, NAMES) == fits
    assert named([text, text], NAMES) == fits


def test_a_name_with_a_star_stands_for_itself() -> None:
    assert matching("a*", ["ab", "a*"]) == ["a*"]


def test_a_columns_own_table_goes_before_patterns_and_later_patterns_before_earlier() -> None:
    columns = {"hh_1": {"levels": [1, 2]}, "hh_*": MODELLED, "hh_?": {"fate": "filler"}}
    found = Scope(rest="withheld").facts(columns, NAMES)
    assert found["hh_10"] == MODELLED
    assert found["hh_2"] == MODELLED | {"fate": "filler"}
    assert found["hh_1"] == MODELLED | {"fate": "filler", "levels": [1, 2]}
    assert {found[name]["fate"] for name in ("age", "note", "wage")} == {"withheld"}


def test_the_rest_has_one_fate() -> None:
    columns = {"hh_*": MODELLED, "age": {"label": "years"}}
    assert fates(study(columns=columns, study={"rest": "key"})) == {
        "age": None, "hh_1": "modelled", "hh_2": "modelled", "hh_10": "modelled",
        "note": "key", "wage": "key",
    }  # fmt: skip


def test_what_the_study_is_not_about_is_dropped_or_has_the_fate_of_the_rest() -> None:
    columns = {"hh_*": MODELLED}
    about = {"columns": ["hh_*", "wage"]}
    assert fates(study(columns=columns, study=about)) == {
        "age": "drop", "hh_1": "modelled", "hh_2": "modelled", "hh_10": "modelled",
        "note": "drop", "wage": None,
    }  # fmt: skip
    withheld = study(columns=columns, study=about | {"rest": "withheld"})
    assert fates(withheld)["note"] == "withheld"
    # what the study is about stays an open point until it is declared
    assert "column 'wage' has no fate" in withheld.problems(SCHEMA, 100)


def test_a_pattern_or_name_that_fits_nothing_is_an_open_point() -> None:
    found = study(
        columns={"xx_*": MODELLED}, study={"columns": ["wages"], "rest": "drop"},
        header={"columns": ["yy?"]},
    ).problems(SCHEMA, 100)  # fmt: skip
    assert any("[columns] 'xx_*': no column of the file" in line for line in found)
    assert any("[study] columns" in line and "wages" in line for line in found)
    assert any("[header] columns 'yy?'" in line for line in found)


def test_headers_are_confirmed_by_pattern() -> None:
    parts = {"columns": {"hh_*": MODELLED}, "study": {"rest": "drop"}}
    assert study(**parts, header={"columns": ["hh_*"]}).problems(SCHEMA, 100) == []
    found = study(**parts, header={"columns": ["hh_?"]}).problems(SCHEMA, 100)
    assert [line[:15] for line in found] == ["column 'hh_10':"]


@pytest.mark.parametrize("wrong", [{"rest": "modelled"}, {"rests": "key"}, {"columns": "age"}])
def test_what_a_scope_may_not_say_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(StudyError, match=r"\[study\]"):
        study(study=wrong)


def test_a_draft_has_the_columns_that_were_asked_for() -> None:
    text = draft(SCHEMA, Path("wide.dta"), Path("s.toml"), columns=["hh_?", "age"])
    document = tomllib.loads(text)
    assert list(document["columns"]) == ["age", "hh_1", "hh_2"]
    assert document["study"] == {"rest": "withheld"}
    assert set(fates(study_from(document, Path("s.toml"))).values()) == {None, "withheld"}
    with pytest.raises(ParameterError, match="no column of the file"):
        draft(SCHEMA, Path("wide.dta"), Path("s.toml"), columns=["x*"])


def test_a_wide_file_takes_a_short_study(tmp_path: Path, command_line: Callable[..., Any]) -> None:
    names = [f"hh_{i}" for i in range(120)]
    frame = pd.DataFrame({"works": [0.0, 1.0] * 100, **{name: [0.0] * 200 for name in names}})
    write_dta(frame, Schema.from_frame(frame), tmp_path / "wide.dta")
    (tmp_path / "study.toml").write_text(
        """\
version = 1
data = "wide.dta"
dataset_id = "wide"
[study]
rest = "withheld"
[release]
method = "mv_histogram"
epsilon = 8.0
[header]
confirm = true
[columns.works]
fate = "modelled"
levels = [0, 1]
missing = "never"
[columns."hh_1*"]
fate = "drop"
""",
        "utf-8",
    )
    run = command_line(main)
    assert run("check", tmp_path / "study.toml").code == 0
    assert run("protect", tmp_path / "study.toml", "--yes").code == 0
    protected, schema = read_dta(tmp_path / "wide_protected.dta")
    assert list(schema.names) == ["works", *[n for n in names if not n.startswith("hh_1")]]
    assert set(protected["works"]) == {0.0, 1.0}
    assert protected["hh_2"].isna().all()


def test_columns_are_chosen_for_a_draft(tmp_path: Path, command_line: Callable[..., Any]) -> None:
    frame = pd.DataFrame({name: [0.0, 1.0] for name in NAMES})
    write_dta(frame, Schema.from_frame(frame), tmp_path / "wide.dta")
    run = command_line(main)
    refused = run("describe", tmp_path / "wide.dta", "--columns", "hh_*")
    assert (refused.code, "give --draft too" in refused.err) == (2, True)
    made = run(
        "describe", tmp_path / "wide.dta", "--draft", tmp_path / "s.toml", "--columns", "hh_*"
    )
    assert made.code == 0
    assert len(tomllib.loads((tmp_path / "s.toml").read_text("utf-8"))["columns"]) == 3
