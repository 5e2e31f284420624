"""A package whose release is moments: its files, its numbers, and nothing confidential."""

from __future__ import annotations

import csv
import json
import re
import runpy
import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from dprct.certificate.certificate import Certificate
from dprct.cli import main
from dprct.errors import FileError
from dprct.estimate.moments.model import MomentsSpec
from dprct.estimate.moments.results import Moments
from dprct.io.stata import read_dta, write_dta
from dprct.privacy.accountant import find_ledger
from dprct.schema import Schema
from dprct.study.added_do_files import read_off_py
from dprct.study.declared_tables import tables_from
from dprct.study.headers import read_header
from dprct.study.offer import offered
from dprct.study.package import check_package, is_made, sides_of, write_package
from dprct.study.package_page import OnMoments, cells_of, on_confidential, released
from dprct.study.protect import released_file
from dprct.study.ready import confidential, study_of
from dprct.study.tables_of_moments import problems_of_moments, table_of_moments

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

STUDY = """\
version = 1
data = "rep/data/wells.dta"
dataset_id = "wells"
[study]
rest = "withheld"
[derived]
depth2 = "depth ** 2"
[release]
method = "moments"
epsilon = 50.0
delta = 1e-3
[design]
kind = "cluster"
arms = ["pump"]
cluster = "village"
largest = 10
[moments]
neighbors = "replace-one-design-public"
cov_type = "CR1"
[[regression]]
formula = "litres ~ pump + depth + depth2"
cluster = "village"
[[regression]]
formula = "litres ~ pump + depth"
where = "dry == 1"
cluster = "village"
[[regression]]
name = "weighted"
formula = "litres ~ pump + depth"
weights = "w"
cluster = "village"
[[regression]]
formula = "clean ~ C(pump) + depth"
cluster = "village"
[header]
confirm = true
[package]
folder = "rep"
[columns.village]
fate = "public"
missing = "never"
[columns.pump]
fate = "public"
levels = [0, 1]
missing = "never"
[columns.dry]
fate = "modelled"
levels = [0, 1]
missing = "never"
[columns.depth]
fate = "modelled"
bounds = [0, 9]
missing = "never"
[columns.w]
fate = "public"
levels = [1, 2]
missing = "never"
[columns.litres]
fate = "modelled"
bounds = [0, 40]
sd = 6
missing = "never"
[columns.clean]
fate = "modelled"
levels = [0, 1]
missing = "never"
"""
DO = """\
version 13
ssc install outreg2
use "data/wells.dta", clear
* Table 1
gen depth2 = depth^2
regress litres pump depth depth2, cluster(village)
regress litres pump depth if dry == 1, cluster(village)
* Table 2
regress litres pump depth [pw=w], cluster(village)
logit clean i.pump depth, cluster(village)
regress litres pump depth if dry == 1, robust
regress litres pump, cluster(village)
"""
KINDS = ["valid", "valid", "valid", "valid: average marginal effect", "effects only", "artefact"]


def laid_out(home: Path) -> Path:
    rng = np.random.default_rng(11)
    village = np.repeat(np.arange(60), 10)
    data = pd.DataFrame({"village": village + 1.0, "pump": village % 2.0})
    data["dry"], data["w"] = rng.integers(0, 2, 600) * 1.0, rng.integers(1, 3, 600) * 1.0
    data["depth"] = rng.integers(0, 10, 600) * 1.0
    noise = rng.normal(size=60)[village] + 5 * rng.normal(size=600)
    data["litres"] = (20 + 3 * data["pump"] + 0.5 * data["depth"] + noise).clip(0, 40)
    data["clean"] = (rng.random(600) < 0.5 + 0.2 * data["pump"]) * 1.0
    data["owner"] = np.arange(600) + 0.123456789
    (home / "rep" / "data").mkdir(parents=True)
    write_dta(data, Schema.from_frame(data), home / "rep" / "data" / "wells.dta")
    (home / "rep" / "tables.do").write_text(DO)
    (home / "study.toml").write_text(STUDY)
    return home


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study whose package is made, once."""
    home = laid_out(tmp_path_factory.mktemp("wells"))
    study = study_of(home / "study.toml")
    contents = check_package(study)
    assert not is_made(study)
    offered(study).taken()
    write_package(study, contents)
    return home


@pytest.fixture
def run(command_line: Callable[..., Any]) -> Callable[..., Any]:
    return command_line(main)


def test_a_package_holds_moments_and_the_do_file_as_it_is(packed: Path) -> None:
    package = packed / "wells_package"
    names = {str(path.relative_to(package)) for path in package.rglob("*") if path.is_file()}
    assert names == {
        "README-data.md", "data/wells.moments.certificate.html",
        "data/wells.moments.certificate.json", "data/wells.moments.certificate.txt",
        "data/wells.moments.json", "estimates.do", "expected.csv", "package.json", "report.html",
        "run.py", "study.toml", "tables.do",
    }  # fmt: skip
    assert (package / "tables.do").read_bytes() == (packed / "rep" / "tables.do").read_bytes()
    made = released_file(study_of(packed / "study.toml"))
    assert (package / "data" / "wells.moments.json").read_bytes() == made.read_bytes()
    told = json.loads((package / "data" / "wells.moments.certificate.json").read_text("utf-8"))
    certificate = Certificate.from_dict(told)
    assert [one.verdict for one in certificate.regressions] == KINDS
    assert certificate.file["name"] == "wells.moments.json"
    for name in names:
        assert "123456789" not in (package / name).read_text("utf-8")


def test_its_numbers_are_those_that_are_read_off(packed: Path, run: Callable[..., Any]) -> None:
    package = packed / "wells_package"
    with (package / "expected.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["statistic"] == "estimate"]
    moments = Moments.load(package / "data" / "wells.moments.json")
    asked = ["litres ~ pump + depth + depth2, cluster village",
             "litres ~ pump + depth, where dry == 1, cluster village", "weighted",
             "clean ~ C(pump) + depth, cluster village"]  # fmt: skip
    effects = [moments.ols(one).params.iloc[0] for one in asked]
    assert [float(row["value"]) for row in rows] == effects
    assert [row["table"] for row in rows] == [
        "tables.do:6 regress cluster village",
        "tables.do:7 regress if dry == 1 cluster village",
        "tables.do:9 regress [pweight=w] cluster village",
        "tables.do:10 logit cluster village",
    ]
    again = run("verify", package / "data" / "wells.moments.json", "--do", package / "tables.do",
                "--expect", package / "expected.csv")  # fmt: skip
    assert again.code == 0
    assert "all 16 numbers" in again.err
    changed = (package / "expected.csv").read_text("utf-8").replace(str(effects[1]), "1.5")
    (packed / "changed.csv").write_text(changed, "utf-8")
    again = run("verify", package / "data" / "wells.moments.json", "--do", package / "tables.do",
                "--expect", packed / "changed.csv")  # fmt: skip
    assert again.code == 1
    assert "expected 1.5" in again.err


def test_a_whole_package_is_verified(
    packed: Path, tmp_path: Path, run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    package = packed / "wells_package"
    whole = run("verify", package)
    assert whole.code == 0
    assert "byte for byte" in whole.out
    assert "all 16 numbers" in whole.err
    assert json.loads(run("verify", package, "--json").out)["releases"][0]["verified"]
    other = tmp_path / "other"
    shutil.copytree(package, other)
    (other / "tables.do").write_text(DO + "* more\n")
    changed = run("verify", other)
    assert changed.code == 1
    assert "'tables.do' was changed" in changed.err
    (other / "note.txt").write_text("more")
    assert "'note.txt' was added" in run("verify", other).err
    monkeypatch.chdir(other)
    assert "'other' is not the package as it was written" in run("verify", ".").err
    monkeypatch.undo()
    (other / "run.py").unlink()
    assert "'run.py' is not in it" in run("verify", other).err
    (other / "package.json").unlink()
    assert "without the package.json of a package" in run("verify", other).err
    assert run("verify", package, "--do", package / "tables.do").code == 2


def test_the_program_prints_every_valid_regression(
    packed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    package = packed / "wells_package"
    runpy.run_path(str(package / "run.py"))
    said = capsys.readouterr().out
    study = study_of(packed / "study.toml")
    found, sides = sides_of(study, check_package(study))
    assert (
        said.count(str(sides[0].certificate.guarantee.sentence())[:40]) == 1
    )  # one guarantee for all
    assert read_off_py(found, check_package(study).held, sides) == (package / "run.py").read_text()
    for cell in cells_of(found[:4], sides[0].on, 0.05)[0].values():
        assert f"{cell.estimate:.4f}" in said or f"{cell.estimate:.3f}" in said
    do = (package / "estimates.do").read_text()
    assert 'insheet using "expected.csv"' in do
    assert "destring value, replace force" in do  # nan makes a column of text


def test_the_readme_says_what_an_editor_asks(packed: Path) -> None:
    text = (packed / "wells_package" / "README-data.md").read_text("utf-8")
    for said in (
        "epsilon=50, delta=0.001 for this release, by PrivateMoments",
        "the do-files say version 13; packages of other authors: `outreg2`",
        "`wells.dta`: made before the do-files of this package run",
        "`tables.do:5  depth2 = depth ** 2`",
        "`dprct verify .` compares every file of this folder",
        "| `tables.do:12` | Table 2 | `regress litres` | artefact",
        "do not run here",
    ):
        assert re.sub(r"\s+", " ", said) in re.sub(r"\s+", " ", text)


def test_published_numbers_stand_beside_the_released(
    packed: Path, tmp_path: Path, run: Callable[..., Any]
) -> None:
    home = tmp_path / "home"
    shutil.copytree(packed, home)
    text = STUDY.replace('folder = "rep"\n', 'folder = "rep"\npublished = "paper.csv"\n')
    (home / "study.toml").write_text(text)
    head = "file,line,outcome,term,estimate,error\n"
    for row, said in (("", "not a list of"), ("tables.do,6,litres,pump,x,1\n", "not a number")):
        (home / "paper.csv").write_text((head if row else "a,b\n") + row)
        ran = run("package", home / "study.toml", "--yes")
        assert ran.code == 2
        assert said in ran.err
    data, _ = read_dta(home / "rep" / "data" / "wells.dta")
    columns = ["owner", "litres", "depth", "village", "w", "pump"]
    copied = "\n".join(
        ",".join(map(repr, row)) for row in data[columns].head(40).to_numpy().tolist()
    )
    (home / "paper.csv").write_text(head + copied + "\n")
    ran = run("package", home / "study.toml", "--yes")
    assert ran.code == 2
    assert "cells of rows of the confidential data are in 'paper.csv'" in ran.err
    (home / "paper.csv").write_text(
        head + "tables.do,6,litres,pump,3.01,0.55\ntables.do,12,litres,pump,2.9,\n"
    )
    ran = run("package", home / "study.toml", "--yes")
    assert ran.code == 0, ran.err
    about = (home / "wells_package" / "README-data.md").read_text("utf-8")
    assert re.search(r"\| `tables.do:6` \| `pump on litres` \| 3.01 \(0.55\) \| [\d.]+ \(", about)
    assert "| 2.9 | not released (artefact) |  |" in about


def test_a_second_package_charges_nothing(packed: Path, run: Callable[..., Any]) -> None:
    before = (packed / "rep" / "data" / "wells.ledger.json").read_bytes()
    again = run("package", packed / "study.toml", "--yes", "--custodian", packed / "page.html")
    assert again.code == 0, again.err
    assert (packed / "rep" / "data" / "wells.ledger.json").read_bytes() == before
    page = (packed / "page.html").read_text("utf-8")
    assert "CONFIDENTIAL" in page
    study = study_of(packed / "study.toml")
    found, sides = sides_of(study, check_package(study))
    assert isinstance(sides[0].on, OnMoments)
    raw = on_confidential(sides[0].on, *confidential(study))
    mine, true = cells_of(found, sides[0].on, 0.05)[0], cells_of(found, raw, 0.05)[0]
    both = [key for key in mine if key in true]
    assert {at for at, _ in both} == {0, 1, 2, 4}
    gaps = [abs(mine[key].estimate - true[key].estimate) / true[key].error for key in both]
    assert max(gaps) < 3  # at epsilon 50 the noise is a tenth of an error


def test_another_version_of_the_study_is_another_release(packed: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(packed, home)
    text = STUDY.replace("epsilon = 50.0", "epsilon = 49.0")
    (home / "study.toml").write_text(text)
    with pytest.raises(FileError, match="another version of the study"):
        is_made(study_of(home / "study.toml"))
    assert isinstance(released(home / "wells.moments.json"), OnMoments)


@pytest.mark.parametrize("method", ["moments", "calibrated"])
def test_an_interrupted_package_goes_on_and_charges_nothing_again(
    tmp_path: Path, run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    home = laid_out(tmp_path)
    # a total that would pay for a second release
    text = STUDY.replace("[header]", "[budget]\nepsilon = 200.0\ndelta = 0.009\n[header]", 1)
    if method == "calibrated":
        text = re.sub(r"\[moments\].*?(?=\[budget\])", "", text, flags=re.DOTALL)
        text = text.replace('kind = "cluster"', 'kind = "simple"')
        text = text.replace('cluster = "village"\nlargest = 10\n', "")
        text = text.replace('"moments"', '"calibrated"\nformula = "litres ~ pump + depth"')
        text = text.replace("[budget]", '[calibrated]\ncovariate_release = "filler"\n[budget]')
        text += '[columns.depth2]\nfate = "filler"\nbounds = [0, 81]\n'
    (home / "study.toml").write_text(text)

    def entries() -> int:
        ledger = find_ledger(home / "rep" / "data" / "wells.dta", "wells")
        return 0 if ledger is None else len(ledger.ledger)

    def fail(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    for module, name, made in (
        ("dprct.study.offer", "written_files", False),  # charged, and not written
        ("dprct.study.package", "_write", True),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(f"{module}.{name}", fail)
            stopped = run("package", home / "study.toml", "--yes")
            assert stopped.code == 130, stopped.err
        assert entries() == 1
        assert not (home / "wells_package").exists()
        assert is_made(study_of(home / "study.toml")) is made
    again = run("package", home / "study.toml", "--yes")
    assert again.code == 0, again.err
    assert entries() == 1
    assert (home / "wells_package" / "package.json").exists()


def test_moments_know_their_made_columns_without_a_package(
    packed: Path, tmp_path: Path, run: Callable[..., Any]
) -> None:
    place = released_file(study_of(packed / "study.toml"))
    for path in packed.glob("wells.moments.*"):
        shutil.copy(path, tmp_path)
    do = packed / "rep" / "tables.do"
    ran = run("verify", tmp_path / place.name, "--do", do, "--json")
    assert ran.code == 0, ran.err
    assert [one["verdict"] for one in json.loads(ran.out)["regressions"]] == KINDS


TABLES = """\
[[table]]
name = "t1"
outcomes = ["litres", "clean"]
arms = ["pump"]
cluster = "village"
errors = "cluster"
adjust = "holm"
[table.covariates]
plain = ["depth"]
squared = ["depth2", "depth"]
[[table]]
name = "t2"
title = "Weighted"
outcomes = ["litres"]
arms = ["pump"]
covariates = ["depth"]
cluster = "village"
errors = "cluster"
weights = "w"
weights_type = "pweight"
[header]"""


def test_declared_tables_are_read_off_the_moments(
    packed: Path, tmp_path: Path, run: Callable[..., Any]
) -> None:
    home = tmp_path / "home"
    shutil.copytree(packed, home)
    (home / "study.toml").write_text(STUDY.replace("[header]", TABLES))
    lacking = json.loads(run("check", home / "study.toml", "--json").out)["tables"]
    ran = run("package", home / "study.toml", "--yes")
    assert ran.code == 0, ran.err
    package = home / "wells_package"
    about = (package / "README-data.md").read_text("utf-8")
    assert "| Table | Reproduces on the released moments |" in about
    assert re.search(r"\| t1 \| in part.*litres \(plain\): it is not declared", about)
    assert "| t2: Weighted | yes: its numbers, with the noise of the release in estimates" in about
    with (package / "expected.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["table"] in ("t1", "t2")]
    found = {tuple(row[key] for key in ("table", "covariates", "outcome", "statistic")):
             float(row["value"]) for row in rows}  # fmt: skip
    moments = Moments.load(package / "data" / "wells.moments.json")
    for place, asked in (
        (("t1", "squared", "litres"), "litres ~ pump + depth + depth2, cluster village"),
        (("t1", "plain", "clean"), "clean ~ C(pump) + depth, cluster village"),
        (("t2", "", "litres"), "weighted"),
    ):
        fit = moments.ols(asked)
        numbers = fit.params.iloc[0], fit.bse.iloc[0], fit.pvalues.iloc[0]
        keys = ("estimate", "std.error", "p.value")
        assert tuple(found[*place, key] for key in keys) == numbers
    empty = {
        (table, "control means" if what == "control_mean" else outcome + f" ({of})" * bool(of))
        for (table, of, outcome, what), number in found.items()
        if np.isnan(number) and what in ("estimate", "control_mean")
    }
    told = (re.match(r"\[\[table\]\] '(\w+)' will lack (.*?): ", one) for one in lacking)
    assert {(one[1], one[2]) for one in told if one} == empty
    assert ("t1", "litres (plain)") in empty
    expected = package / "expected.csv"
    again = run("table", package / "study.toml", "--expect", expected)
    assert again.code == 0, again.err
    assert "n.r." in again.out
    assert "all 16 numbers" in run("verify", package).err
    assert "all 16 numbers" in run(
        "verify", package / "data" / "wells.moments.json", "--do", package / "tables.do",
        "--expect", expected,
    ).err  # fmt: skip
    raw = run("table", home / "study.toml", "--on", "confidential")
    assert raw.code == 0
    assert "CONFIDENTIAL" in raw.out
    estimate = found["t2", "", "litres", "estimate"]
    expected.write_text(expected.read_text("utf-8").replace(repr(estimate), "9.5"), "utf-8")
    assert run("table", package / "study.toml", "--expect", expected).code == 1


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('weights = "w"\nweights_type = "pweight"', "", "it is not declared"),
        ('["depth"]\ncluster', '["age"]\ncluster', "age"),
        ('"pweight"', '"pweight"\nalternative = "one-sided"', "alternative needs rows"),
        ('"holm"', '"romano-wolf"', "resamples rows"),
    ],
)
def test_a_table_that_no_moments_give_is_refused_before_the_charge(
    tmp_path: Path, run: Callable[..., Any], old: str, new: str, words: str
) -> None:
    home = laid_out(tmp_path)
    text = STUDY.replace("[header]", TABLES)
    assert old in text
    (home / "study.toml").write_text(text.replace(old, new))
    ran = run("check", home / "study.toml")
    assert ran.code != 0
    assert words in ran.out + ran.err


AMONG = {"name": "t3", "outcomes": ["litres"], "arms": ["pump"], "covariates": ["depth"],
         "errors": "cluster", "cluster": "village", "where": "dry==1"}  # fmt: skip


def test_a_table_of_some_rows_is_read_off_the_regression_with_that_condition(packed: Path) -> None:
    study = study_of(packed / "study.toml")
    spec, schema = study.asked.spec, study.declared(read_header(study))
    assert isinstance(spec, MomentsSpec)
    (table,) = tables_from([AMONG])
    assert problems_of_moments(table, spec, schema) == []
    moments = Moments.load(released_file(study))
    made = table_of_moments(table, moments)
    asked = "litres ~ pump + depth, where dry == 1, cluster village"
    (row,) = made.tidy().to_dict("records")
    assert (row["estimate"], row["std.error"]) == (
        moments.ols(asked).params["pump"], moments.ols(asked).bse["pump"],
    )  # fmt: skip
    assert "Rows with dry == 1." in made.notes


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"where": "dry == 0"}, '", where = "dry == 0", cluster = "village")'),
        ({"where": "dry == 0"}, 'declare it: [[regression]] formula = "litres ~ pump'),
        ({"where": "dry == 1 or depth > 3"}, "no such group is released"),
        ({"where": "dryy == 1"}, "no column 'dryy' in the file"),
        (
            {"covariates": ["w"], "errors": "HC1", "cluster": None},
            'formula = "clean ~ pump + w"',
        ),
        ({"covariates": ["w"]}, 'formula = "clean ~ pump + w", cluster = "village"'),
    ],
)
def test_a_refused_table_says_what_to_declare(
    packed: Path, keys: dict[str, Any], words: str
) -> None:
    study = study_of(packed / "study.toml")
    spec, schema = study.asked.spec, study.declared(read_header(study))
    assert isinstance(spec, MomentsSpec)
    asked = AMONG | ({} if "where" in keys else {"outcomes": ["clean"], "where": None}) | keys
    found = {key: value for key, value in asked.items() if value is not None}
    (problem,) = problems_of_moments(tables_from([found])[0], spec, schema)
    assert words in problem
