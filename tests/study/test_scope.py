from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from dprct.cli.main import main
from dprct.errors import ParameterError, SchemaError, StudyError
from dprct.io.stata import read_dta, write_dta
from dprct.privacy.budget import Budget
from dprct.release.histogram import MVHistogram
from dprct.release.release import check_sample
from dprct.schema import Column, Schema
from dprct.study.draft import draft
from dprct.study.protect import declared_tables
from dprct.study.ready import bound_model, open_points
from dprct.study.sections import Scope, matching, named
from dprct.study.study import load_study, study_from
from dprct.study.verdicts import of_study

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


# A condition on rows.

PANEL = """\
version = 1
data = "panel.dta"
dataset_id = "panel"
[study]
rest = "withheld"
sample = "gone == 0 & (wave == 2 | wave == 3)"
[release]
method = "calibrated"
formula = "earns ~ treat"
epsilon = 50.0
[design]
kind = "complete"
arms = ["treat"]
[header]
confirm = true
[columns.earns]
bounds = [0, 10]
fate = "modelled"
missing = ["."]
missing_policy = "public"
[columns.treat]
levels = [0, 1]
missing = "never"
fate = "public"
[columns.gone]
levels = [0, 1]
missing = ["."]
fate = "public"
[columns.wave]
fate = "public"
[[table]]
name = "earnings"
outcomes = ["earns"]
arms = ["treat"]
"""


@pytest.fixture
def panel(tmp_path: Path) -> Path:
    """A study of 300 rows, of which 160 are in its sample."""
    row = np.arange(300)
    frame = pd.DataFrame(
        {
            "earns": 1.0 + row % 7,
            "treat": (row % 2).astype(float),
            "gone": np.where(row < 20, np.nan, (row >= 280).astype(float)),
            "wave": 1.0 + row // 100,
            "home": row.astype(float),
        }
    )
    # what nobody reads may be anything
    frame.loc[(row < 100) | (row >= 280), "earns"] = 1e9
    frame.loc[row >= 260, "gone"] = 1.0
    write_dta(frame, Schema.from_frame(frame), tmp_path / "panel.dta")
    path = tmp_path / "study.toml"
    path.write_text(PANEL, "utf-8")
    return path


def test_a_sample_is_what_is_read_planned_released_and_compared(
    panel: Path, command_line: Callable[..., Any]
) -> None:
    run = command_line(main)
    assert run("check", panel).code == 0
    plan = " ".join(run("plan", panel).out.split())
    assert "160 rows (those with gone == 0 and (wave == 2 or wave == 3))" in plan
    assert "Stata counts it as the largest number" in plan
    assert run("protect", panel, "--yes").code == 0
    protected, schema = read_dta(panel.parent / "panel_protected.dta")
    assert len(protected) == 160
    assert set(protected["gone"]) == {0.0}
    assert set(protected["wave"]) == {2.0, 3.0}
    assert schema.sample == ""
    certificate = (panel.parent / "panel_protected.certificate.txt").read_text("utf-8")
    words = " ".join(certificate.split())
    assert "which rows are in the sample (gone == 0 and (wave == 2 or wave == 3))" in words
    assert "column gone (declared public)" in words
    paper = (panel.parent / "panel_protected.README-data.md").read_text("utf-8")
    assert "Rows of the confidential file: those of the sample alone (gone == 0 and" in paper
    assert run("verify", panel.parent / "panel_protected.dta").code == 0
    compared = run("compare", panel.parent / "panel.dta", panel.parent / "panel_protected.dta")
    assert "unexpected" not in compared.out or "0 unexpected" in compared.out
    assert "those of the sample alone" in " ".join(compared.out.split())
    for place in ("protected", "confidential"):
        made = declared_tables(load_study(panel), place).made["earnings"]  # type: ignore[arg-type]
        assert "160" in made.to_text()


def test_a_sample_on_which_a_do_file_runs_is_no_subgroup(panel: Path) -> None:
    do = panel.parent / "main.do"
    do.write_text(
        "use panel.dta, clear\nregress earns treat if gone == 0, robust\n"
        "regress earns treat if wave == 2, robust\nregress earns treat if wave > 1, robust\n",
        "utf-8",
    )
    study = load_study(panel)
    assert [found.kind for found in of_study([do], study)] == ["valid", "artefact", "artefact"]
    levels = panel.read_text("utf-8").replace(
        "[columns.wave]", "[columns.wave]\nlevels = [1, 2, 3]"
    )
    panel.write_text(levels.replace("(wave == 2 | wave == 3)", "wave > 1"), "utf-8")
    found = of_study([do], load_study(panel))
    assert [one.kind for one in found] == ["valid", "artefact", "valid"]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("gone == 0 &", "gones == 0 &", "did you mean 'gone'"),
        (
            "gone == 0 &",
            "home > 9 &",
            "'home', which has fate = 'withheld'.*subgroups = .\"home\".",
        ),
        ("gone == 0 & (wave == 2 | wave == 3)", "earns > 1", "fate = 'modelled'"),
    ],
)
def test_a_sample_that_is_not_public_is_an_open_point(
    old: str, new: str, words: str, panel: Path
) -> None:
    panel.write_text(panel.read_text("utf-8").replace(old, new), "utf-8")
    study = load_study(panel)
    assert any(re.search(words, point) for point in open_points(study))
    with pytest.raises(StudyError, match="not complete"):
        bound_model(study)


@pytest.mark.parametrize(
    ("sample", "words"),
    [
        ("gone = 0", "is not an expression"), ("open('x')", "is not allowed"),
        ("wave > 1e999", "is not allowed"), ("1 == 1", "names no column"),
    ],
)  # fmt: skip
def test_what_is_no_condition_is_refused_where_it_is_read(sample: str, words: str) -> None:
    with pytest.raises(StudyError, match=words) as caught:
        study(study={"sample": sample})
    assert str(caught.value).startswith("[study] sample = ")


def test_a_sample_is_written_as_in_stata() -> None:
    assert study(study={"sample": "!gone & inlist(wave, 2, 3)"}).scope.condition == (
        "not gone and (wave == 2 or wave == 3)"
    )


def test_estimates_and_merges_are_refused_with_what_to_do() -> None:
    release = {"method": "private_ate", "epsilon": 1.0, "formula": "y ~ t"}
    with pytest.raises(StudyError, match="file of these"):
        study(study={"sample": "a == 1"}, release=release, design={"kind": "simple", "arms": ["t"]})
    with pytest.raises(StudyError, match=r"merge m:1 id using .*data = .merged.dta"):
        study(study={"merge": {"with": "other.dta"}})


def test_a_sample_without_rows_or_of_text_is_refused() -> None:
    table = pd.DataFrame({"a": [0.0, 1.0], "s": ["x", "y"]})
    assert Scope(sample="a").sampled(table)["s"].tolist() == ["y"]
    assert Scope().sampled(table) is table
    with pytest.raises(StudyError, match="keeps no row"):
        Scope(sample="a > 1").sampled(table)
    with pytest.raises(StudyError, match="holds text"):
        Scope(sample="s").sampled(table)


@pytest.mark.parametrize(
    ("sample", "rows"),
    [("a == 1", [0]), ("!(a == 1)", [1]), ("a == 1 | a == .", [0, 2]), ("a != 1 | b == 2", [1, 2])],
)
def test_what_is_missing_is_in_a_sample_that_asks_for_it(sample: str, rows: list[int]) -> None:
    table = pd.DataFrame({"a": [1.0, 0.0, np.nan], "b": [0.0, 2.0, 2.0], "row": [0.0, 1.0, 2.0]})
    scope = Scope(sample=sample)
    assert scope.sampled(table)["row"].tolist() == rows
    facts = {name: {"fate": "public", "levels": [0, 1, 2]} for name in table}
    schema = Schema(tuple(map(Column, table))).declare(**facts)
    said = replace(schema, sample=scope.condition)
    check_sample(said, {name: table[name].to_numpy()[rows] for name in "ab"})
    with pytest.raises(SchemaError, match="rows that are not in the sample"):
        check_sample(said, {name: table[name].to_numpy() for name in "ab"})


def test_a_model_refuses_rows_that_are_not_in_the_sample_of_its_schema() -> None:
    schema = Schema((Column("a", "byte"), Column("b", "byte"))).declare(
        a={"fate": "public"}, b={"fate": "modelled", "levels": [0, 1], "missing": "never"}
    )
    said = replace(schema, sample="a == 1")
    assert said.digest() != schema.digest() == replace(said, sample="").digest()
    table = pd.DataFrame({"a": [1.0] * 3, "b": [0.0, 1.0, 1.0]})
    found = MVHistogram(table, said).guarantee(Budget(1.0))
    assert any("in the sample (a == 1)" in fact for fact in found.public_facts)
    with pytest.raises(SchemaError, match="rows that are not in the sample"):
        MVHistogram(table.assign(a=[1.0, 0.0, np.nan]), said)
    with pytest.raises(SchemaError, match="whose fate is not 'public'"):
        MVHistogram(table, replace(said, sample="b == 1"))
    assert MVHistogram(table, replace(said, sample="1 == 1")).n == 3  # it names no column
