from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import pytest

from dprct.errors import (
    BudgetError,
    ConfirmationError,
    DprctWarning,
    FileError,
    LedgerError,
    StataFormatError,
    StudyError,
)
from dprct.io import read
from dprct.io.compare import compare
from dprct.io.stata import read_dta, write_dta
from dprct.privacy.accountant import Accountant
from dprct.privacy.ledger import ledger_path
from dprct.release import histogram
from dprct.release.histogram import Marginals, MVHistogram
from dprct.schema import Column, Schema
from dprct.study.headers import read_header
from dprct.study.protect import protected
from dprct.study.ready import all_open_points, bound_model, ledger, open_points, planned, study_of
from dprct.study.study import Study, load_study

if TYPE_CHECKING:
    from pathlib import Path


def edited(folder: Path, *changes: tuple[str, str]) -> Study:
    path = folder / "study.toml"
    text = path.read_text("utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")
    return load_study(path)


def test_a_study_becomes_a_protected_file(folder: Path) -> None:
    study = load_study(folder / "study.toml")
    release = protected(study)
    release.write_dta(study.output)
    found = compare(study.data, study.output)
    assert found.unexpected == ()
    assert found
    table, written = read_dta(study.output)
    assert list(table.columns) == ["unit", "got", "age"]
    assert ("_dta", "note1", "by hand") in written.file.characteristics
    certificate = release.certificate()
    assert "before the data were read" in certificate.seal
    assert "confirmed as public" in certificate.header
    assert "of data set 'survey-1'" in certificate.ledger


def test_a_plan_costs_nothing(folder: Path) -> None:
    study = load_study(folder / "study.toml")
    assert "K" in planned(study).facts
    assert not ledger_path(study.data, study.dataset_id).exists()


def test_the_data_section_of_an_incomplete_study_is_not_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import dprct.io.stata as stata

    monkeypatch.setattr(stata, "read_dta", lambda *_a, **_k: pytest.fail("the data were read"))
    study = edited(folder, ('missing = "never"', ""))
    with pytest.raises(StudyError, match=r"not complete: .*missing policy.*dprct check"):
        bound_model(study)


@pytest.mark.parametrize("method", ["mv_histogram", "marginals"])
def test_the_method_is_the_one_named(method: str, folder: Path) -> None:
    model = bound_model(edited(folder, ("mv_histogram", method)))
    assert type(model) is {"mv_histogram": MVHistogram, "marginals": Marginals}[method]


def test_zeta_reaches_the_histogram(folder: Path) -> None:
    changes = (("epsilon = 1.0\n", "epsilon = 1.0\nzeta = 0.25\n"), ("bins = [30, 50]\n", ""))
    model = bound_model(edited(folder, *changes))
    assert next(e.size for e in model.facts.encodings if e.name == "age") == 5  # ceil(500^(1/4))


def test_the_budget_of_the_data_set_is_kept_over_releases(folder: Path) -> None:
    study = load_study(folder / "study.toml")
    protected(study)
    with pytest.raises(BudgetError, match=r"0.5"):
        protected(study)
    protected(edited(folder, ("epsilon = 1.0", "epsilon = 0.5\nconfirm = true")))
    assert ledger(study).remaining.epsilon == 0


def test_without_a_total_the_first_release_is_the_last(folder: Path) -> None:
    study = edited(folder, ("[budget]\nepsilon = 1.5\n", ""))
    protected(study)
    assert ledger(study).total.epsilon == 1
    with pytest.raises(BudgetError):
        protected(study)


def test_a_ledger_on_other_terms_is_refused(folder: Path) -> None:
    study = load_study(folder / "study.toml")
    protected(study)
    with pytest.raises(LedgerError, match=r"not what was asked for.*the same \[budget\]"):
        protected(edited(folder, ("epsilon = 1.5", "epsilon = 9.0")))


def test_another_data_set_has_another_ledger(folder: Path) -> None:
    protected(load_study(folder / "study.toml"))
    with pytest.raises(LedgerError, match=r"are those of data set 'survey-1' \(epsilon=1 spent\)"):
        protected(edited(folder, ("survey-1", "survey-2")))
    (point,) = all_open_points(load_study(folder / "study.toml"))
    assert 'separate = "...", or Accountant.declare_separate)' in point
    why = 'separate = "a reason"'
    made = protected(edited(folder, ("epsilon = 1.5", f"epsilon = 1.5\n{why}")))
    said = "the same data were charged to data set 'survey-1' (epsilon=1 spent), which is not in"
    assert said in made.certificate().ledger
    assert "because: a reason" in made.certificate().ledger
    names = {path.name for path in folder.glob("*.ledger.json")}
    assert names == {"survey-1.ledger.json", "survey-2.ledger.json"}


@pytest.mark.parametrize(
    ("output", "match"),
    [("survey.dta", "may be a confidential file"), ("none/out.dta", "does not exist")],
)
def test_nothing_is_charged_for_a_file_that_cannot_be_written(
    output: str, match: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(histogram, "cell_counts", lambda *_: pytest.fail("drawn"))
    study = edited(folder, ("epsilon = 1.0\n", f'epsilon = 1.0\noutput = "{output}"\n'))
    before = (folder / "survey.dta").read_bytes()
    with pytest.raises(FileError, match=match):
        protected(study)
    assert not list(folder.glob("*.ledger*"))
    assert (folder / "survey.dta").read_bytes() == before


def test_nothing_is_charged_for_a_plan_that_is_refused(folder: Path) -> None:
    study = edited(folder, ("epsilon = 1.0", "epsilon = 0.01"))
    with pytest.raises(ConfirmationError, match="confirm = true"):
        protected(study)
    assert not list(folder.glob("*.ledger*"))
    confirmed = edited(folder, ("epsilon = 0.01", "epsilon = 0.01\nconfirm = true"))
    with pytest.warns(DprctWarning, match="below t"):
        protected(confirmed)


def test_an_accountant_that_others_share_is_found(folder: Path) -> None:
    study = edited(folder, ("[budget]\nepsilon = 1.5\n", ""))
    path = ledger_path(study.data, study.dataset_id)
    Accountant.open(path, dataset_id="survey-1", epsilon=7)
    protected(study)
    assert Accountant.load(path).remaining.epsilon == 6


def test_what_is_no_data_file_is_refused(folder: Path) -> None:
    with pytest.raises(FileError, match="does not exist"):
        read_header(edited(folder, ("survey.dta", "none.dta")))
    (folder / "none.dta").write_bytes(b"not a Stata file at all")
    with pytest.raises(StataFormatError):
        read_header(load_study(folder / "study.toml"))


def test_other_formats_are_protected_too(folder: Path) -> None:
    data, _ = read_dta(folder / "survey.dta")
    data[["got", "age"]].to_csv(folder / "survey.csv", index=False)
    study = edited(
        folder,
        ("survey.dta", "survey.csv"),
        ('id = "unit"\n', ""),
        ('keep = ["note1"]\n', ""),
        ('[columns.unit]\nfate = "key"\n', ""),
        ('[columns.name]\nfate = "drop"\n', ""),
    )
    release = protected(study)
    release.write_dta(study.output)
    assert study.output.name == "survey_protected.dta"
    assert "sealed after opening" in release.certificate().seal
    table, _ = read(study.output)
    release.schema.validate(table)
    assert compare(study.data, study.output).unexpected == ()


CSV_STUDY = """\
version = 1
data = "trial.csv"
dataset_id = "trial"
[release]
method = "mv_histogram"
epsilon = 1.0
[header]
confirm = true
[columns.t]
fate = "modelled"
levels = [0, 1]
missing = "never"
[columns.g]
fate = "modelled"
levels = {levels}
missing = {missing}
"""


@pytest.mark.parametrize(
    ("others", "cells", "levels", "missing"),
    [
        ("", ("", "A"), '["", "A", "B"]', '"never"'),
        ("3", ("3", "3a"), '["3", "3a"]', '"never"'),
        ("", ("", "2021-03-05"), "[2021-03-05, 2021-03-06]", '["."]'),
    ],
)
def test_no_cell_decides_the_type_of_a_declared_column(
    tmp_path: Path, others: str, cells: tuple[str, str], levels: str, missing: str
) -> None:
    """Two rows of one person, each admissible: the study asks, plans and refuses alike."""
    (tmp_path / "study.toml").write_text(CSV_STUDY.format(levels=levels, missing=missing))
    rows = [f"{i % 2},{others}" for i in range(199)]
    found = []
    for cell in cells:
        (tmp_path / "trial.csv").write_text("\n".join(["t,g", *rows, f"1,{cell}"]) + "\n")
        study = study_of(tmp_path / "study.toml")
        types = [column.type for column in read_header(study).columns]
        found.append((types, open_points(study), str(bound_model(study).plan(1))))
    assert found[0] == found[1]
    assert found[0][1] == []


def test_of_many_open_points_five_are_told(folder: Path) -> None:
    schema = Schema(tuple(Column(f"x{k}", "byte") for k in range(40)))
    write_dta(pd.DataFrame({name: [1.0] for name in schema.names}), schema, folder / "wide.dta")
    (folder / "wide.toml").write_text(
        'version = 1\ndata = "wide.dta"\ndataset_id = "wide"\n[release]\nepsilon = 1.0\n'
    )
    with pytest.raises(StudyError, match=r"and \d+ more; fill it in \(dprct check") as caught:
        bound_model(load_study(folder / "wide.toml"))
    assert str(caught.value).count(";") <= 6
