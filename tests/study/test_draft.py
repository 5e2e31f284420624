from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dprct.io.stata import read_dta, write_dta
from dprct.privacy.ledger import checked_id
from dprct.schema import Column, FileFacts, Schema
from dprct.schema.facts import Fate
from dprct.study.draft import draft
from dprct.study.methods import METHODS, UNPROMISED
from dprct.study.sections import ReleaseSection
from dprct.study.study import asked_from, load_study, study_from

if TYPE_CHECKING:
    import pandas as pd

texts = st.text(max_size=30)
names = st.from_regex(r"[A-Za-zéß_][A-Za-z0-9é_]{0,8}", fullmatch=True)
columns = st.builds(
    Column,
    names,
    st.sampled_from(["byte", "int", "long", "float", "double", "str5", "strL"]),
    label=texts,
    value_label=st.sampled_from(["", "yesno"]),
)
LABELS = {"yesno": {0: "no", 1: "yes", ".a": "refused"}}


@given(
    st.lists(columns, max_size=5, unique_by=lambda c: c.name),
    st.text(st.characters(exclude_characters="/"), max_size=120).filter(str.isprintable),
)
def test_every_draft_is_toml_that_lacks_only_what_a_person_must_say(
    found: list[Column], stem: str
) -> None:
    schema = Schema(tuple(found), FileFacts(value_labels=LABELS))
    data = Path(f"x{stem}.dta")
    document = tomllib.loads(draft(schema, data, Path("study.toml")))
    assert list(document.get("columns", {})) == schema.names
    study = study_from(document, Path("study.toml"))
    assert study.data.name == data.name
    assert checked_id(study.dataset_id)
    assert not study.header.confirm
    open_ones = [c.name for c in found if c.type != "strL" and not c.locates]
    problems = study.problems(schema)
    for name in open_ones:
        assert f"column {name!r} has no fate" in problems
    assert all(facts.get("fate", "withheld") == "withheld" for facts in study.columns.values())
    assert not any("bounds" in facts for facts in study.columns.values())


@pytest.mark.parametrize(
    ("stem", "expected"),
    [("survey", "survey"), ("my data!", "my-data"), ("_x_", "x"), ("数据", "data"),
     ("con", "data-con"), ("a" * 150, "a" * 80), ("données 2", "donn-es-2")],
)  # fmt: skip
def test_the_dataset_id_comes_from_the_name_of_the_file(stem: str, expected: str) -> None:
    document = tomllib.loads(draft(Schema(()), Path(f"{stem}.dta"), Path("s.toml")))
    assert document["dataset_id"] == expected


def test_the_path_to_the_data_is_relative_to_the_study(tmp_path: Path) -> None:
    text = draft(Schema(()), tmp_path / "a" / "x.dta", tmp_path / "b c" / "s.toml")
    assert tomllib.loads(text)["data"] == "../a/x.dta"


def test_coordinates_and_long_text_are_withheld_from_the_start() -> None:
    schema = Schema((Column("lat"), Column("diary", "strL"), Column("x", label="gps of home")))
    document = tomllib.loads(draft(schema, Path("x.dta"), Path("s.toml")))
    assert [c["fate"] for c in document["columns"].values()] == ["withheld"] * 3


def test_a_column_that_looks_constructed_is_asked_about() -> None:
    text = draft(Schema((Column("score_z"), Column("age"))), Path("x.dta"), Path("s.toml"))
    assert text.count("# built_from = ") == 1


def filled(text: str) -> str:
    """Fill in the blanks as a person would: every comment that is a fact becomes one."""
    text = text.replace("confirm = false", "confirm = true")
    text = text.replace("bounds = [ , ]", "bounds = [0, 5000]")
    text = text.replace('fate = ""', 'fate = "modelled"').replace('= "" ', '= "own" ')
    fact = re.compile(r"^# ((?:fate|levels|bounds|bins|missing|built_from) = .*)$", re.MULTILINE)
    head, *tables = text.split("\n[columns.")
    return "\n[columns.".join([head, *(fact.sub(r"\1", table) for table in tables)])


def test_a_draft_with_its_blanks_filled_is_complete(folder: Path) -> None:
    header = Schema.from_dta(folder / "survey.dta")
    text = draft(header, folder / "survey.dta", folder / "new.toml")
    (folder / "new.toml").write_text(text, encoding="utf-8")
    assert load_study(folder / "new.toml").problems(header)
    finished = filled(text).replace("levels = []", 'levels = ["Aurelia-Quint"]')
    (folder / "new.toml").write_text(finished, encoding="utf-8")
    study = load_study(folder / "new.toml")
    assert study.problems(header) == []
    assert study.columns["got"] == {
        "fate": "modelled", "levels": [0, 1], "missing": [".", ".a"],
    }  # fmt: skip


def _with_other_data(path: Path, data: pd.DataFrame, schema: Schema) -> None:
    other = data.copy()
    other["age"], other["unit"], other["name"] = 47.0, 123_456.0, "Zenobia"
    write_dta(other, replace(schema, file=replace(schema.file, sorted_by=())), path)


def test_a_draft_says_nothing_that_the_data_say(folder: Path) -> None:
    data, schema = read_dta(folder / "survey.dta")
    unsorted = replace(schema, file=replace(schema.file, sorted_by=()))
    write_dta(data, unsorted, folder / "survey.dta")
    study = folder / "new.toml"
    first = draft(Schema.from_dta(folder / "survey.dta"), folder / "survey.dta", study)
    _with_other_data(folder / "survey.dta", data, schema)
    assert draft(Schema.from_dta(folder / "survey.dta"), folder / "survey.dta", study) == first
    numbers = set(re.findall(r"(?<![\w.])\d+(?:\.\d+)?", re.sub(r"%\S+", "", first)))
    assert numbers <= {"0", "1", "1.0", "0.0", "0.05", "5", "20", "30", "40"}


def test_a_draft_says_what_every_fate_means() -> None:
    text = draft(Schema((Column("age", "byte"),)), Path("a.dta"), Path("study.toml"))
    explained = [line.split()[1] for line in text.splitlines() if line.startswith("#   ")]
    assert set(get_args(Fate)) <= set(explained)
    assert "or levels = [0, 1]" in text


def test_a_draft_offers_the_calibrated_release_as_blanks() -> None:
    text = draft(Schema((Column("age", "byte"),)), Path("a.dta"), Path("study.toml"))
    blanks = [line.removeprefix("# ") for line in text.splitlines()]
    assert '"calibrated"' in text
    begin = blanks.index("[design]")
    end = next(k for k in range(begin, len(blanks)) if blanks[k] == "")
    document = tomllib.loads("\n".join(blanks[begin:end]))
    document["design"] = {"kind": document["design"]["kind"], "arms": ["treat"]}
    release = ReleaseSection(1.0, "calibrated", formula="y ~ treat")
    assert asked_from(document, release).spec.covariate_release == "auto"


def test_a_study_of_effects_does_not_begin_with_a_histogram() -> None:
    columns = (
        Column("earn", "double", role="outcome"),
        Column("treat", "byte", role="treatment"),
        Column("age", "byte"),
    )
    written = draft(Schema(columns), Path("a.dta"), Path("study.toml"))
    asked = tomllib.loads(written)["release"]
    assert (asked["method"], asked["formula"]) == ("calibrated", "earn ~ treat")
    plain = tomllib.loads(draft(Schema(columns[1:]), Path("a.dta"), Path("study.toml")))
    assert plain["release"]["method"] == "mv_histogram"


def test_a_draft_offers_every_method_of_the_registry() -> None:
    text = draft(Schema((Column("age", "byte"),)), Path("a.dta"), Path("study.toml"))
    assert all(f'"{key}"' in text for key in {*METHODS} - UNPROMISED)
    assert not any(key in text for key in UNPROMISED)


def test_a_draft_says_which_facts_were_read_from_the_rows() -> None:
    """A .csv has no header: that numbers are whole is a fact of the data until somebody says no."""
    schema = Schema((Column("age"), Column("income")))
    text = draft(schema, Path("x.csv"), Path("s.toml"), whole=["age"])
    for said in ("were read\n# from the rows of a confidential file", "whoever had answered"):
        assert said in text
    assert "come from the header" not in text
    columns = tomllib.loads(text)["columns"]
    assert columns["age"] == {"integer": True}
    assert columns["income"] == {}
    assert "keep it only if they must be" in text
    assert "come from the header" in draft(schema, Path("x.dta"), Path("s.toml"))
