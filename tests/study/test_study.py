from __future__ import annotations

import copy
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from dprct.errors import ColumnError, DprctError, FileError, SchemaError, StudyError
from dprct.release.histogram import HistogramSpec, MarginalsSpec
from dprct.schema import Column, Schema, Unit
from dprct.study.calibrated_section import CalibratedAsked
from dprct.study.headers import read_header
from dprct.study.informed_section import InformedAsked
from dprct.study.sections import ReleaseSection
from dprct.study.study import Study, asked_from, load_study, study_from


@pytest.fixture
def document(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "study.toml").read_text("utf-8"))


def changed(document: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Return a copy with ``a.b`` set, or removed where ``value`` is None."""
    out = copy.deepcopy(document)
    *sections, key = path.split(".")
    table = out
    for section in sections:
        table = table.setdefault(section, {})
    if value is None:
        table.pop(key)
    else:
        table[key] = value
    return out


def problems(document: dict[str, Any], folder: Path) -> list[str]:
    study = study_from(document, folder / "study.toml")
    return study.problems(read_header(study))


def test_a_complete_study_has_no_problem(folder: Path) -> None:
    study = load_study(folder / "study.toml")
    assert study.problems(read_header(study)) == []
    assert study.data == folder / "survey.dta"
    assert study.output == folder / "survey_protected.dta"
    assert study.unit == Unit("person", "unit")
    assert study.promises
    schema = study.declared(read_header(study))
    assert (schema.dataset_id, schema.unit) == ("survey-1", study.unit)
    assert [c.fate for c in schema.columns] == ["key", "modelled", "modelled", "drop"]
    assert all(c.confirmed for c in schema.columns)
    assert schema.seal().seal_of.before_opening  # type: ignore[union-attr]


def test_the_demo_study_is_complete(checkout: Path) -> None:
    study = load_study(checkout / "data" / "thornton.toml")
    assert study.problems(read_header(study)) == []


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("dataset", "did you mean 'dataset_id'"),
        ("colums", "did you mean 'columns'"),
        ("release.epsilom", "did you mean 'epsilon'"),
        ("release.confirmed", "did you mean 'confirm'"),
        ("budget.epsilons", "did you mean 'epsilon'"),
        ("header.column", "did you mean 'columns'"),
        ("unit.max_row", "did you mean 'max_rows'"),
        ("release.zzz", "allowed: "),
        ("release.neighbors", "which data sets are neighbours follows from"),
        ("budget.neighbors", r"and of a ledger from \[budget\] relation; remove it"),
    ],
)
def test_an_unknown_key_is_refused_anywhere(
    path: str, hint: str, document: dict[str, Any], folder: Path
) -> None:
    with pytest.raises(StudyError, match=rf"unknown key '{path.split('.')[-1]}' in .*{hint}"):
        study_from(changed(document, path, 1), folder / "study.toml")


@pytest.mark.parametrize(
    ("path", "value", "match"),
    [
        ("version", None, "the line version = 1 is missing"),
        ("version", 2, "version = 2; .* reads version = 1"),
        ("version", True, "reads version = 1"),
        ("version", 1.0, "reads version = 1"),
        ("data", None, "data is missing or not text"),
        ("data", 3, "data is missing or not text"),
        ("data", "", "data is missing or not text"),
        ("dataset_id", None, "dataset_id is missing"),
        ("dataset_id", "a/b", "not usable as a file name"),
        ("dataset_id", "con", "not usable as a file name"),
        ("columns", [1], "must be tables"),
        ("columns.got", 3, "must be tables"),
        ("release", None, r"\[release\] lacks epsilon"),
        ("release", [], r"\[release\] must be a table"),
        ("release.epsilon", None, r"\[release\] lacks epsilon"),
        ("release.epsilon", "1", "epsilon = '1'; give a number"),
        ("release.epsilon", True, "give a number"),
        ("release.epsilon", 0, r"\[release\] epsilon=0"),
        ("release.epsilon", -1.0, r"\[release\] epsilon=-1 is negative"),
        ("release.epsilon", float("nan"), r"\[release\] epsilon=nan is not finite"),
        ("release.epsilon", float("inf"), r"\[release\] epsilon=inf is not finite"),
        ("release.delta", 1, r"\[release\] delta=1 is outside \[0, 1\)"),
        ("release.delta", -0.1, "delta=-0.1 is outside"),
        ("release.method", "laplace", "allowed: calibrated, mv_histogram, marginals"),
        ("release.zeta", 1.5, "zeta = 1.5; give a number between 0 and 1"),
        ("release.zeta", float("nan"), "give a number between 0 and 1"),
        ("release.confirm", "yes", "give true or false"),
        ("release.confirm", 1, "give true or false"),
        ("release.accept_large_delta", 1, "give true or false"),
        ("release.output", 3, "give text in quotes"),
        ("release.output", "out.csv", "let its name end in .dta"),
        ("release.keep", "note1", "give a list of texts"),
        ("release.keep", [1], "give a list of texts"),
        ("header.confirm", "yes", "give true or false"),
        ("header.columns", "got", "give a list of texts"),
        ("unit.max_rows", 0, r"\[unit\] max_rows=0"),
        ("unit.max_rows", 1.5, "give a whole number"),
        ("unit.id", 4, "give text in quotes"),
        ("unit", {"max_rows": 3}, r"\[unit\] max_rows=3 needs the column"),
        ("budget", {}, r"\[budget\] lacks epsilon"),
        ("budget.epsilon", 0, r"\[budget\] epsilon=0"),
        ("budget.delta", 2, r"\[budget\] delta=2"),
    ],
)
def test_what_is_malformed_is_one_sentence(
    path: str, value: Any, match: str, document: dict[str, Any], folder: Path
) -> None:
    with pytest.raises(StudyError, match=match):
        study_from(changed(document, path, value), folder / "study.toml")


def test_zeta_belongs_to_histograms(document: dict[str, Any], folder: Path) -> None:
    one = changed(document, "release.zeta", 0.5)
    assert study_from(one, folder / "study.toml").release.zeta == 0.5
    with pytest.raises(StudyError, match="zeta belongs"):
        study_from(changed(one, "release.method", "marginals"), folder / "study.toml")


def test_a_file_that_is_no_study_is_refused(folder: Path) -> None:
    with pytest.raises(FileError, match="give a TOML file"):
        load_study(folder / "none.toml")
    with pytest.raises(FileError):
        load_study(folder)
    for content in (b"version = ", b"\xff\xfe", b"a = 1\na = 2\n"):
        (folder / "bad.toml").write_bytes(content)
        with pytest.raises(StudyError, match=r"is not TOML.*(correct that line|as UTF-8)"):
            load_study(folder / "bad.toml")
    (folder / "empty.toml").write_bytes(b"")
    with pytest.raises(StudyError, match="the line version = 1 is missing"):
        load_study(folder / "empty.toml")


@pytest.mark.parametrize(
    ("path", "value", "match"),
    [
        ("columns.gott", {"fate": "drop"}, "no column 'gott'.*did you mean 'got'"),
        ("columns.got.level", [0, 1], "unknown fact 'level'; did you mean 'levels'"),
        ("columns.got", None, "column 'got' has no fate"),
        ("columns.got.missing", None, "no declared missing policy"),
        ("columns.got.levels", None, "neither bounds nor levels"),
        ("columns.got.levels", [0, float("nan")], "must be finite"),
        ("columns.age.bounds", [80, 15], "reversed or empty"),
        ("columns.age.bounds", [15, float("nan")], "must be finite"),
        ("columns.age.bounds", ["a", "b"], "must be numbers"),
        ("columns.age.fate", "model", 'fate = "model"; allowed'),
        ("columns.name.fate", "modelled", "free text and cannot be 'modelled'"),
        ("columns.age", {"derived": "__import__('os').system('id')"}, "is not allowed"),
        ("columns.age", {"derived": "got.__class__"}, "is not allowed"),
        ("columns.age", {"derived": "gott + 1"}, "no column 'gott'"),
        ("unit.id", "units", r"\[unit\] id: no column 'units'.*did you mean 'unit'"),
        ("header.columns", ["gott"], r"\[header\] columns: no column 'gott'"),
        ("release.keep", ["note7"], r"\[release\] keep names 'note7'"),
        (
            "release.delta",
            0.9,
            r"\[release\] delta=0.9 is above 1/n.* or accept_large_delta = true in \[release\]$",
        ),
    ],
)
def test_what_is_open_is_listed(
    path: str, value: Any, match: str, document: dict[str, Any], folder: Path
) -> None:
    found = problems(changed(document, path, value), folder)
    assert found
    assert any(re.search(match, problem) for problem in found), found


def test_a_large_delta_is_open_until_it_is_accepted(document: dict[str, Any], folder: Path) -> None:
    large = changed(changed(document, "release.delta", 0.9), "budget.delta", 0.9)
    assert problems(large, folder)
    assert not problems(changed(large, "release.accept_large_delta", True), folder)


def test_several_problems_are_listed_together(document: dict[str, Any], folder: Path) -> None:
    document = changed(document, "columns.got.levels", None)
    document = changed(document, "columns.age.bounds", [3, 2])
    assert len(problems(changed(document, "columns.name", None), folder)) >= 3


def test_the_facts_of_the_header_are_confirmed_together_or_one_by_one(
    document: dict[str, Any], folder: Path
) -> None:
    closed = changed(document, "header.confirm", False)
    found = problems(closed, folder)
    assert [problem.split(":")[0] for problem in found] == [
        "column 'unit'", "column 'got'", "column 'age'", "the file ('_dta')",
    ]  # fmt: skip
    assert all(
        problem.endswith("from file: confirm it by its name in [header] columns")
        for problem in found
    )
    for part in ("type byte", "format %8.0g", "variable label", "label set 'yesno' of 3 codes",
                 "labelled missing codes .a"):  # fmt: skip
        assert part in found[1]
    for part in ("'a survey'", "sort order unit", "label sets of no column free", "_dta[note1]"):
        assert part in found[3]
    one_by_one = changed(closed, "header.columns", ["unit", "got", "age", "_dta"])
    assert problems(one_by_one, folder) == []
    assert len(problems(changed(closed, "header.columns", ["unit", "got"]), folder)) == 2
    study = study_from(one_by_one, folder / "study.toml")
    schema = study.declared(read_header(study))
    assert [c.name for c in schema.columns if not c.confirmed] == ["name"]


@pytest.mark.parametrize("name", ["unit", "dataset_id", "confirm_header", "self"])
def test_a_column_may_be_called_like_an_argument(
    name: str, document: dict[str, Any], folder: Path
) -> None:
    study = study_from(document, folder / "study.toml")
    header = read_header(study)
    from dataclasses import replace

    renamed = replace(
        header,
        columns=tuple(replace(c, name=name) if c.name == "age" else c for c in header.columns
                      if name != "unit" or c.name != "unit"),
        file=replace(header.file, sorted_by=()),
    )  # fmt: skip
    columns = {k: v for k, v in document["columns"].items() if k not in ("age", "unit")}
    columns[name] = {"fate": "withheld"}
    schema = replace(study, columns=columns).declared(renamed)
    assert schema.column(name).fate == "withheld"


def test_declaring_an_unknown_column_is_refused(document: dict[str, Any], folder: Path) -> None:
    study = study_from(changed(document, "columns.gott", {"fate": "drop"}), folder / "study.toml")
    with pytest.raises(ColumnError, match="did you mean 'got'"):
        study.declared(read_header(study))


def test_the_output_lies_beside_the_study_file(document: dict[str, Any], folder: Path) -> None:
    study = study_from(changed(document, "release.output", "out/é.dta"), folder / "study.toml")
    assert study.output == folder / "out" / "é.dta"


def test_no_code_of_a_study_file_runs(document: dict[str, Any], folder: Path) -> None:
    bomb = f"open({str(folder / 'pwned')!r}, 'w')"
    for path in ("columns.age.derived", "columns.age.levels", "dataset_id", "columns.age.fate"):
        try:
            study: Study = study_from(changed(document, path, bomb), folder / "study.toml")
            assert study.problems(read_header(study))
        except (StudyError, SchemaError, DprctError):
            pass
    assert not (folder / "pwned").exists()


def test_a_study_that_models_nothing_is_not_complete(document: dict[str, Any]) -> None:
    for facts in document["columns"].values():
        facts.pop("derived", None)
        facts["fate"] = "withheld"
    nothing = study_from(document, Path("study.toml"))
    header = Schema(tuple(Column(name) for name in document["columns"]))
    assert any("no column is modelled" in problem for problem in nothing.problems(header))


DESIGN = {"kind": "complete", "arms": ["t"]}


def experiment(method, formula="y ~ t", **sections):
    return asked_from(sections, ReleaseSection(1.0, method, formula=formula))


def test_each_method_has_its_experiment():
    assert isinstance(experiment("calibrated", design=DESIGN), CalibratedAsked)
    assert isinstance(experiment("published_hybrid", design=DESIGN), InformedAsked)
    assert experiment("mv_histogram", formula=None).spec == HistogramSpec()
    marginals = experiment("marginals", formula=None, marginals={"default_bins": 4})
    assert marginals.spec == MarginalsSpec(default_bins=4)


@pytest.mark.parametrize(
    ("method", "formula", "sections", "words"),
    [
        ("mv_histogram", "y ~ t", {}, "formula is for method = 'calibrated' or 'published_"),
        ("marginals", None, {"design": DESIGN}, r"\[design\] is for method = 'calibrated' or"),
        ("mv_histogram", None, {"calibrated": {}}, r"\[calibrated\] is for method = 'calibrated';"),
        ("published_hybrid", "y ~ t", {"calibrated": {}}, r"as method = 'published_hybrid'"),
        ("calibrated", "y ~ t", {"informed": {}}, r"\[informed\] is for method = 'published_gen"),
    ],
)
def test_a_section_of_another_method_is_refused(method, formula, sections, words):
    with pytest.raises(StudyError, match=words):
        experiment(method, formula=formula, **sections)


def test_more_columns_than_a_file_can_have_are_one_sentence(tmp_path: Path) -> None:
    document = {"version": 1, "data": "a.dta", "dataset_id": "a", "release": {}}
    many = {f"c{k}": {} for k in range(120_001)}
    with pytest.raises(StudyError, match="120,001 tables; a file of Stata holds 120,000"):
        study_from(document | {"columns": many}, tmp_path / "study.toml")
