"""A package: its files, its refusals, its numbers; nothing confidential is in it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from dprct.certificate.certificate import Certificate
from dprct.cli import main
from dprct.dofile import Regression
from dprct.errors import DprctError, FileError, StudyError
from dprct.io.stata import read_dta, write_dta
from dprct.privacy.budget import Budget, Guarantee
from dprct.results.ols import ols
from dprct.schema import Schema
from dprct.study import package as packaging
from dprct.study.added_do_files import stata_line, valid_do
from dprct.study.package import (
    check_package,
    is_made,
    profile_do,
    write_package,
)
from dprct.study.package_page import OnFile, Side
from dprct.study.protect import protected, written_files
from dprct.study.ready import bound_model, study_of
from dprct.study.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

STUDY = """\
# a remark that stays at home
version = 1
data = "rep/data/shops.dta"
dataset_id = "shops"
[release]
method = "calibrated"
epsilon = 4.0
formula = "sales ~ flyer"
[design]
kind = "simple"
arms = ["flyer"]
[calibrated]
covariate_release = "filler"
specifications = ["C(town)"]
[header]
confirm = true
[package]
folder = "rep"
do = ["rep/main.do"]
[columns.sales]
fate = "modelled"
bounds = [-5, 5]
missing = "never"
[columns.flyer]
fate = "public"
levels = [0, 1]
missing = "never"
[columns.town]
fate = "public"
levels = [1, 2, 3]
missing = "never"
[columns.wave]
fate = "public"
levels = [2]
missing = "never"
[columns.owner]
fate = "withheld"
[[table]]
name = "t1"
outcomes = ["sales"]
arms = ["flyer"]
"""
DO = """\
use "D:\\old pc\\shops.dta", clear
* Table 1
reg sales flyer if wave == 2, robust
areg sales flyer, absorb(town) robust
* Table 2
reg sales flyer, cluster(town)
reg sales flyer if town == 1, robust
reg owner flyer, robust
do "$code/more.do"
"""
KINDS = ["valid", "valid", "effects only", "artefact", "cannot run", "valid"]


CERTIFICATE = Certificate(
    guarantee=Guarantee.of(Budget(1), "replace-one", unit="person"),
    method="Calibrated", facts={}, dataset_id="shops", seal="", seal_sha256="", header="",
    ledger="", fates={}, differences=(),
)  # fmt: skip


def laid_out(home: Path) -> Path:
    rng = np.random.default_rng(8)
    frame = pd.DataFrame(
        {
            "sales": rng.normal(size=300).clip(-5, 5),
            "flyer": rng.integers(0, 2, 300).astype(float),
            "town": rng.integers(1, 4, 300).astype(float),
            "wave": np.full(300, 2.0),
            "owner": np.arange(300) + 0.123456789,
        }
    )
    (home / "rep" / "data").mkdir(parents=True)
    write_dta(frame, Schema.from_frame(frame), home / "rep" / "data" / "shops.dta")
    (home / "study.toml").write_text(STUDY)
    (home / "rep" / "main.do").write_text(DO)
    (home / "rep" / "more.do").write_text("reg sales flyer, r\n")
    (home / "rep" / "main.log").write_text("owner 7.123456789\n")
    return home


@pytest.fixture
def shops(tmp_path: Path) -> Path:
    """A study that nothing was made of."""
    return laid_out(tmp_path)


@pytest.fixture
def run(command_line: Callable[..., Any]) -> Callable[..., Any]:
    return command_line(main)


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study whose package is made, once."""
    home = laid_out(tmp_path_factory.mktemp("packed"))
    study = study_of(home / "study.toml")
    contents = check_package(study)
    model = bound_model(study)
    written_files(study, model, protected(study, model), study.do_files)
    write_package(study, contents)
    return home


@pytest.fixture
def made(packed: Path, tmp_path: Path) -> Path:
    """A copy of that study."""
    return shutil.copytree(packed, tmp_path / "made")


@pytest.fixture
def package(made: Path) -> Path:
    """The package in that copy."""
    return made / "shops_package"


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_the_package_holds_what_a_reader_needs_and_nothing_confidential(
    package: Path, made: Path
) -> None:
    held = files(package)
    assert set(held) == {
        "data/shops.dta", "data/shops.certificate.txt", "data/shops.certificate.json",
        "data/shops.certificate.html", "main.do", "more.do", "README-data.md", "expected.csv",
        "study.toml", "valid.do", "profile.do", "report.html", "package.json",
    }  # fmt: skip
    for name in ("main.do", "more.do"):
        assert held[name] == (made / "rep" / name).read_bytes()
    confidential = (made / "rep" / "data" / "shops.dta").read_bytes()
    assert held["data/shops.dta"] not in (confidential, b"")
    for raw in held.values():
        assert b"7.123456789" not in raw
        assert np.float64(7.123456789).tobytes() not in raw
        assert b"main.log" not in raw
        assert b"stays at home" not in raw
    stated = json.loads(held["package.json"])["files"]
    assert stated == {
        name: hashlib.sha256(raw).hexdigest()
        for name, raw in held.items()
        if name != "package.json"
    }


def test_certificate_readme_and_report_give_the_verdicts(package: Path) -> None:
    told = Certificate.from_dict(json.loads((package / "data/shops.certificate.json").read_text()))
    assert [one.verdict for one in told.regressions] == KINDS
    assert told.file["name"] == "shops.dta"
    assert told.regressions[0].table == "Table 1"
    assert Certificate.from_dict(told.to_dict()) == told
    assert "Table 1: 2 valid" in told.to_text()
    text = (package / "README-data.md").read_text("utf-8")
    assert "| `main.do:3` | Table 1 | `regress sales` | valid |" in text
    assert "| `main.do:1` | `D:\\old pc\\shops.dta` | `data/shops.dta` |" in text
    assert "2 files of the authors' folder are not in the package" in text
    page = (package / "report.html").read_text("utf-8")
    data, schema = read_dta(package / "data" / "shops.dta")
    fit = ols("sales ~ flyer", data, schema)
    assert f"{fit.params['flyer']:.4g} ({fit.bse['flyer']:.4g})" in page
    assert page.count("<td>valid") == 3
    assert "owner is withheld" in page


def test_a_reader_of_the_package_can_check_it(package: Path, run: Callable[..., Any]) -> None:
    again = run("verify", package / "data" / "shops.dta", "--do", package / "main.do", "--json")
    assert [row["verdict"] for row in json.loads(again.out)["regressions"]] == KINDS
    assert run("verify", package).code == 0
    numbers = run("table", package / "study.toml", "--expect", package / "expected.csv")
    assert numbers.code == 0, numbers.err
    assert "every number equals that of expected.csv" in numbers.out


def test_a_package_without_a_valid_regression_is_verified_too(
    made: Path, package: Path, run: Callable[..., Any]
) -> None:
    for name in ("main.do", "more.do"):
        (made / "rep" / name).write_text("use data/shops, clear\nreg sales flyer, vce(hc3)\n")
    assert run("package", made / "study.toml", "--yes").code == 0
    ran = run("verify", package)
    assert ran.code == 0, ran.err


def test_the_do_files_of_the_package(package: Path) -> None:
    valid = (package / "valid.do").read_text()
    assert 'use "data/shops.dta", clear' in valid
    assert "areg sales flyer, absorb(town) vce(robust)" in valid
    assert "cluster" not in valid
    profile = (package / "profile.do").read_text()
    assert 'global code "."' in profile
    assert "main.do:1" in profile


def test_a_second_package_costs_nothing_and_replaces_the_first(
    package: Path, made: Path, run: Callable[..., Any]
) -> None:
    ledger = (made / "rep" / "data" / "shops.ledger.json").read_bytes()
    before = files(package)
    (made / "rep" / "main.do").write_text(DO + "reg sales flyer, vce(hc3)\n")
    assert run("package", made / "study.toml", "--yes").code == 0
    assert (made / "rep" / "data" / "shops.ledger.json").read_bytes() == ledger
    after = files(package)
    assert after["data/shops.dta"] == before["data/shops.dta"]
    assert after["main.do"] != before["main.do"]
    assert not [path for path in made.iterdir() if path.name.startswith(".dprct")]


@pytest.mark.parametrize("deed", ["add", "change", "remove", "link", "folder link"])
def test_a_package_that_somebody_changed_is_not_replaced(
    package: Path, made: Path, run: Callable[..., Any], deed: str
) -> None:
    if deed == "add":
        (package / "mine.txt").write_text("x")
    elif deed == "change":
        (package / "main.do").write_text("x")
    elif deed == "remove":
        (package / "valid.do").unlink()
    elif deed == "link":
        (package / "main.do").unlink()
        os.symlink(made / "rep" / "main.do", package / "main.do")
    else:
        os.symlink(made / "rep", package / "more")
    before = files(package)
    ran = run("package", made / "study.toml", "--yes")
    assert ran.code == 2
    assert "shops_package" in ran.err or "link" in ran.err
    assert files(package) == before


def test_what_the_command_says(shops: Path, run: Callable[..., Any]) -> None:
    ran = run("package", shops / "study.toml", "--yes")
    assert ran.code == 0, ran.err
    assert "- Table 1: 2 valid" in ran.out
    assert "1 effects only, 1 artefact, 1 cannot run" in ran.out
    assert "left out: main.log: it is not a program" in ran.err
    assert "copied: main.do" in ran.out.splitlines()
    assert "<li>main.do</li>" in (shops / "shops_package" / "report.html").read_text("utf-8")
    assert "path of another machine: main.do:1: D:\\old pc\\shops.dta (data/shops.dta)" in ran.err
    assert set(files(shops / "shops_package")) >= {"data/shops.dta", "main.do", "valid.do"}


def test_a_folder_that_is_no_package_is_not_replaced_and_nothing_is_charged(
    shops: Path, run: Callable[..., Any]
) -> None:
    (shops / "shops_package").mkdir()
    (shops / "shops_package" / "thesis.txt").write_text("years of work")
    ran = run("package", shops / "study.toml", "--yes")
    assert ran.code == 2
    assert "is not this study's package" in ran.err
    assert not (shops / "rep" / "data" / "shops.ledger.json").exists()
    assert files(shops / "shops_package") == {"thesis.txt": b"years of work"}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('[package]\nfolder = "rep"\ndo = ["rep/main.do"]\n', "", "names no replication folder"),
        ('folder = "rep"\n', 'folder = "rep"\npublic = ["main.txt"]\n', "not a file of the folder"),
        ('folder = "rep"', 'folder = "rap"', "is not a folder"),
        ('do = ["rep/main.do"]', 'do = ["rep/none.do"]', "is not a file or folder"),
        ('do = ["rep/main.do"]', 'do = ["other.do"]', "not in the folder 'rep'"),
        ('do = ["rep/main.do"]', 'do = ["rep/typed.do"]', "values are typed into it"),
        ('do = ["rep/main.do"]', 'output = "study.toml"', "exists and is not a folder"),
        ('do = ["rep/main.do"]', 'output = "a/b"', "does not exist"),
        ('do = ["rep/main.do"]', 'public = ["data/shops.dta"]', "of the confidential file"),
    ],
)
def test_what_is_refused_before_anything_is_charged(
    shops: Path, run: Callable[..., Any], old: str, new: str, said: str
) -> None:
    assert old in STUDY
    (shops / "study.toml").write_text(STUDY.replace(old, new))
    (shops / "other.do").write_text("reg sales flyer\n")
    (shops / "rep" / "typed.do").write_text("input a b\n1 2\nend\n")
    ran = run("package", shops / "study.toml", "--yes")
    assert ran.code == 2
    assert said in ran.err
    assert not (shops / "rep" / "data" / "shops.ledger.json").exists()


def test_rows_in_what_would_be_copied_are_refused_before_anything_is_charged(
    shops: Path, run: Callable[..., Any]
) -> None:
    data, _ = read_dta(shops / "rep" / "data" / "shops.dta")
    row = data.iloc[[3]].to_csv(index=False, header=False)
    (shops / "rep" / "main.do").write_text(DO + "* shop 4: " + row)
    ran = run("package", shops / "study.toml", "--yes")
    assert ran.code == 2
    assert f"confidential data are in 'main.do' (line {DO.count(chr(10)) + 1})" in ran.err
    assert not any(cell in ran.err for cell in row.strip().split(",") if len(cell) > 3)
    assert not (shops / "rep" / "data" / "shops.ledger.json").exists()
    assert not (shops / "shops_package").exists()


def test_what_cannot_be_read_is_published_if_somebody_vouches_for_it(
    shops: Path, run: Callable[..., Any]
) -> None:
    (shops / "rep" / "plan.pdf").write_bytes(b"%PDF-1.7")
    named = STUDY.replace('folder = "rep"\n', 'folder = "rep"\npublic = ["plan.pdf"]\n')
    (shops / "study.toml").write_text(named)
    assert "cannot be checked: it is a PDF" in run("package", shops / "study.toml", "--yes").err
    vouched = named.replace("public =", "unread =").replace('"plan', '"rep/plan')  # as in do
    (shops / "study.toml").write_text(vouched)
    ran = run("package", shops / "study.toml", "--yes")
    assert ran.code == 0, ran.err
    assert "copied: plan.pdf (not checked: it is a PDF)" in ran.out
    text = (shops / "shops_package" / "README-data.md").read_text("utf-8")
    assert "not checked by dprct (it is a PDF)" in text


def test_a_name_that_the_package_needs_is_refused(shops: Path) -> None:
    (shops / "rep" / "valid.do").write_text("* mine\n")
    with pytest.raises(FileError, match=r"'valid.do' of the folder 'rep'"):
        check_package(study_of(shops / "study.toml"))


def test_an_authors_profile_is_kept(shops: Path) -> None:
    (shops / "rep" / "profile.do").write_text("set more off\n")
    contents = check_package(study_of(shops / "study.toml"))
    assert "profile.do" in contents.folder.copied
    assert contents.profile == "dprct_profile.do"


@pytest.mark.parametrize(
    ("method", "said"),
    [("published_mv_histogram", "has no privacy guarantee"), ("private_ate", "makes neither")],
)
def test_methods_without_a_protected_file_have_no_package(
    shops: Path, method: str, said: str
) -> None:
    text = STUDY.split("[[table]]")[0].replace('"calibrated"', f'"{method}"')
    head, _, tail = text.partition("[calibrated]")
    text = head + "[header]" + tail.partition("[header]")[2]
    if method.startswith("published"):
        text = text.replace('formula = "sales ~ flyer"\n', "")
        text = text.replace('[design]\nkind = "simple"\narms = ["flyer"]\n', "")
    (shops / "study.toml").write_text(text)
    with pytest.raises(StudyError, match=said):
        check_package(study_of(shops / "study.toml"))
    (shops / "study.toml").write_text(text.replace('folder = "rep"\n', ""))
    with pytest.raises(StudyError, match=said):  # whether or not a folder is named
        check_package(study_of(shops / "study.toml"))


def test_a_file_of_another_version_of_the_study_is_not_packed(package: Path, made: Path) -> None:
    study = study_of(made / "study.toml")
    assert is_made(study)
    text = STUDY.replace('[columns.owner]\nfate = "withheld"', '[columns.owner]\nfate = "drop"')
    (made / "study.toml").write_text(text)
    with pytest.raises(FileError, match="another version of the study"):
        is_made(study_of(made / "study.toml"))
    (made / "shops_protected.dta").write_bytes(b"else")
    with pytest.raises(FileError, match="certificate describes"):
        is_made(study)


def test_a_covariate_that_becomes_filler_is_no_other_version(shops: Path) -> None:
    text = STUDY.replace("sales ~ flyer", "sales ~ flyer + owner")
    text = text.replace('specifications = ["C(town)"]\n', "").partition("[[table]]")[0]
    text = text.replace('fate = "withheld"', 'fate = "modelled"\nbounds = [0, 300]\nclip = true')
    path = shops / "study.toml"
    path.write_text(text + 'missing = "never"\n')
    study = study_of(path)
    model = bound_model(study)
    written_files(study, model, protected(study, model))
    assert is_made(study)
    path.write_text(path.read_text().replace("[0, 300]", "[0.0, 300]   # spelled otherwise"))
    assert is_made(study_of(path))
    for old, new in (("epsilon = 4.0", "epsilon = 4.5"), ("[0.0, 300]", "[0.0, 299]")):
        path.write_text(path.read_text().replace(old, new))
        with pytest.raises(FileError, match="another version of the study"):
            is_made(study_of(path))
        path.write_text(path.read_text().replace(new, old))


def test_a_do_file_that_changes_meanwhile_stops_the_package(package: Path, made: Path) -> None:
    study = study_of(made / "study.toml")
    contents = check_package(study)
    before = files(package)
    (made / "rep" / "more.do").write_text("reg sales owner\n")
    with pytest.raises(FileError, match=r"'more.do' was changed while"):
        write_package(study, contents)
    assert files(package) == before


def test_a_failure_leaves_the_old_package(
    package: Path, made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = study_of(made / "study.toml")
    contents = check_package(study)
    before = files(package)
    rename = os.rename

    def failing(source: Any, target: Any) -> None:
        if str(source).endswith("new"):
            raise OSError(28, "No space left on device")
        rename(source, target)

    monkeypatch.setattr(packaging.os, "rename", failing)
    with pytest.raises(DprctError):
        write_package(study, contents)
    monkeypatch.undo()
    assert files(package) == before
    assert not [path for path in made.iterdir() if path.name.startswith(".dprct")]


def test_the_custodians_page_has_the_raw_numbers_and_stays_outside(
    package: Path, made: Path, run: Callable[..., Any]
) -> None:
    study = made / "study.toml"
    for place, said in (
        (package / "raw.html", "which is published"),
        (made / "rep" / "raw.html", "which is published"),
        (made / "raw.txt", "end in .html"),
        (made / "none" / "raw.html", "does not exist"),
        (package / "report.html", "which is published"),
    ):
        ran = run("package", study, "--yes", "--custodian", place)
        assert ran.code == 2
        assert said in ran.err
    (made / "mine.html").write_text("<title>mine</title>")
    assert "not such a page" in run("package", study, "--custodian", made / "mine.html").err
    assert run("package", study, "--yes", "--custodian", made / "raw.html").code == 0
    page = (made / "raw.html").read_text("utf-8")
    raw, schema = read_dta(made / "rep" / "data" / "shops.dta")
    fit = ols("sales ~ flyer", raw, schema)
    cell = f"{fit.params['flyer']:.4g} ({fit.bse['flyer']:.4g})"
    assert cell in page
    assert "stays with the custodian" in page
    if os.name != "nt":
        assert (made / "raw.html").stat().st_mode & 0o777 == 0o600
        ledger = made / "rep" / "data" / "shops.ledger.json"
        assert ledger.stat().st_mode & 0o777 == 0o600
    assert cell not in (package / "report.html").read_text("utf-8")
    assert run("package", study, "--yes", "--custodian", made / "raw.html").code == 0


@pytest.mark.parametrize(
    ("row", "line"),
    [
        (Regression("a", 1, "regress", "y", ("t",), vce="classical"), "regress y t"),
        (
            Regression("a", 1, "regress", "y", ("t", "i.v"), vce="cluster", cluster=("v",)),
            "regress y t i.v, vce(cluster v)",
        ),
    ],
)
def test_a_regression_as_a_command(row: Regression, line: str) -> None:
    assert stata_line(Verdict(row, "valid")) == line


def test_text_of_a_do_file_ends_no_comment(shops: Path) -> None:
    row = Regression("a.do", 1, "regress", "y", ("t",), table="T */ ///\nshell rm `x' $y")
    contents = check_package(study_of(shops / "study.toml"))
    side = Side(OnFile(pd.DataFrame(), Schema(())), CERTIFICATE, frozenset({0}))
    text = valid_do([Verdict(row, "valid")], contents.held, [side])
    comment = next(line for line in text.splitlines() if line.startswith("* a.do"))
    assert not {"/", "`", "$"} & set(comment.removeprefix("* a.do").replace(" /", ""))
    (shops / "rep" / "main.do").write_text(DO + 'use "C:\\a\\///"\n')
    assert "///" not in profile_do(check_package(study_of(shops / "study.toml")), "d")
