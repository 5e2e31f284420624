"""Several data sets of one package: one ledger, one merge, and nothing charged that was refused."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from dprct.certificate.certificate import Certificate
from dprct.certificate.valid_regressions import Validity
from dprct.cli import main
from dprct.dofile import Regression
from dprct.errors import DprctError
from dprct.io.stata import read_dta, write_dta
from dprct.privacy.accountant import Accountant
from dprct.results.ols import ols
from dprct.schema import Schema
from dprct.study.data_sets import packed_others, planned_verdicts, studies_of
from dprct.study.do_files import MergedFile, Others
from dprct.study.ready import bound_model, study_of
from dprct.study.verdicts import Released, verdicts

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

COMMON = """\
version = 1
data = "rep/data/{data}.dta"
dataset_id = "orchard"
[unit]
name = "grower"
id = "gid"
[budget]
epsilon = 9.0
[release]
method = "calibrated"
epsilon = 4.0
formula = "{outcomes} ~ graft"
[design]
kind = "simple"
arms = ["graft"]
[calibrated]
covariate_release = "filler"
[header]
confirm = true
[columns.gid]
fate = "key"
missing = "never"
[columns.graft]
fate = "public"
levels = [0, 1]
missing = "never"
"""
TREES = """\
[columns.fruit]
fate = "modelled"
bounds = [-4, 4]
missing = "never"
[columns.valley]
fate = "withheld"
"""
SALES = """\
[columns.price]
fate = "modelled"
bounds = [0, 5]
missing = "never"
"""
APART = TREES + '[package]\nfolder = "rep"\nstudies = ["sales.toml"]\n'
TOGETHER = (
    TREES + SALES + '[columns._merge]\nfate = "withheld"\n[package]\nfolder = "rep"\n'
    'merge = ["trees.dta", "sales.dta"]\n'
)
DO = """\
* Table 1
use data/trees, clear
reg fruit graft, robust
* Table 2
use data/sales, clear
reg price graft, robust
* Table 3
use data/trees, clear
merge 1:1 gid using data/sales
keep if _merge == 3
drop _merge
reg price graft, robust
reg price graft fruit, robust
"""
PEOPLE = 250


def frames(rng: np.random.Generator) -> dict[str, pd.DataFrame]:
    """Trees and sales of the same growers, in other orders, and both merged."""
    gid = rng.permutation(np.arange(5000.0, 5000 + PEOPLE))
    graft = rng.integers(0, 2, PEOPLE).astype(float)
    trees = pd.DataFrame({"gid": gid, "graft": graft})
    trees["fruit"] = rng.normal(size=PEOPLE).clip(-4, 4)
    trees["valley"] = np.arange(PEOPLE) + 0.123456789
    sales = pd.DataFrame({"gid": gid, "graft": graft})
    sales["price"] = rng.uniform(0, 5, PEOPLE)
    sales = sales.iloc[rng.permutation(PEOPLE)].reset_index(drop=True)
    both = trees.merge(sales[["gid", "price"]], on="gid").assign(_merge=3.0)
    return {"trees": trees, "sales": sales, "both": both}


def put(frame: pd.DataFrame, path: Path) -> None:
    write_dta(frame, Schema.from_frame(frame), path)


def laid_out(home: Path) -> Path:
    (home / "rep" / "data").mkdir(parents=True)
    for name, frame in frames(np.random.default_rng(12)).items():
        put(frame, home / "rep" / "data" / f"{name}.dta")
    (home / "rep" / "main.do").write_text(DO)
    (home / "study.toml").write_text(COMMON.format(data="trees", outcomes="fruit") + APART)
    (home / "sales.toml").write_text(COMMON.format(data="sales", outcomes="price") + SALES)
    both = COMMON.format(data="both", outcomes="fruit + price") + TOGETHER
    (home / "both.toml").write_text(both)
    return home


@pytest.fixture
def orchard(tmp_path: Path) -> Path:
    """Two data sets of the same people, and their merge; nothing was released."""
    return laid_out(tmp_path)


@pytest.fixture
def run(command_line: Callable[..., Any]) -> Callable[..., Any]:
    return command_line(main)


def changed(home: Path, name: str, old: str, new: str) -> None:
    text = (home / name).read_text()
    assert old in text
    (home / name).write_text(text.replace(old, new))


def ledger(home: Path) -> Path:
    return home / "rep" / "data" / "orchard.ledger.json"


def test_two_data_sets_charge_one_ledger_which_has_both_hashes(
    orchard: Path, run: Callable[..., Any]
) -> None:
    ran = run("package", orchard / "study.toml", "--yes", "--custodian", orchard / "raw.html")
    assert ran.code == 0, ran.err
    kept = Accountant.load(ledger(orchard))
    assert (kept.charges, float(kept.spent.epsilon)) == (2, 8.0)
    assert len(set(kept.contents)) == 2
    made = orchard / "trees_package"
    told = {
        name: Certificate.from_dict(
            json.loads((made / "data" / f"{name}.certificate.json").read_text())
        )
        for name in ("trees", "sales")
    }
    assert [one.verdict for one in told["sales"].regressions] == ["valid"]
    assert [one.verdict for one in told["trees"].regressions] == ["valid", "artefact", "artefact"]
    assert "All 2 charges together hold with epsilon=8" in told["sales"].ledger
    about = (made / "README-data.md").read_text("utf-8")
    assert "epsilon=8 in all" in about
    assert "`data/sales.dta`: see `sales.README-data.md`" in about
    assert "do not match by person" in about
    assert "| `main.do:6` | Table 2 | `regress price` | valid |" in about
    page = (made / "report.html").read_text("utf-8")
    raw = (orchard / "raw.html").read_text("utf-8")
    for name, formula in (("trees", "fruit ~ graft"), ("sales", "price ~ graft")):
        fit = ols(formula, *read_dta(made / "data" / f"{name}.dta"))
        cell = f"{fit.params['graft']:.4g} ({fit.bse['graft']:.4g})"
        assert cell in page
        assert cell in raw
        fit = ols(formula, *read_dta(orchard / "rep" / "data" / f"{name}.dta"))
        cell = f"{fit.params['graft']:.4g} ({fit.bse['graft']:.4g})"
        assert cell in raw
        assert cell not in page
    valid = (made / "valid.do").read_text()
    assert valid.index('use "data/trees.dta"') < valid.index('use "data/sales.dta"')
    for path in made.rglob("*"):
        if path.is_file():
            assert np.float64(7.123456789).tobytes() not in path.read_bytes()
            assert b"7.123456789" not in path.read_bytes()


@pytest.fixture
def states(orchard: Path) -> Path:
    """Two data sets of different people, one released as a file and one as moments."""
    changed(orchard, "study.toml", "[package]\n", '[package]\ndisjoint = "two states, by law"\n')
    for old, new in (
        ('"orchard"', '"market"'),
        ('"grower"\nid = "gid"\n[budget]\nepsilon = 9.0\n', '"sale"\n'),
        ('"calibrated"\nepsilon = 4.0\nformula = "price ~ graft"',
         '"moments"\nepsilon = 2.0\ndelta = 1e-3'),
        ('[calibrated]\ncovariate_release = "filler"', '[moments]\nformulas = ["price ~ graft"]\n'
         'cov_type = "HC1"\nneighbors = "replace-one-design-public"'),
    ):  # fmt: skip
        changed(orchard, "sales.toml", old, new)
    return orchard


def test_budgets_of_different_people_do_not_add(states: Path, run: Callable[..., Any]) -> None:
    ran = run("package", states / "study.toml", "--yes")
    assert ran.code == 0, ran.err
    data = states / "rep" / "data"
    spent = [Accountant.load(data / f"{x}.ledger.json").spent for x in ("orchard", "market")]
    assert [float(one.epsilon) for one in spent] == [4.0, 2.0]
    made = states / "trees_package"
    about = (made / "README-data.md").read_text("utf-8")
    for said in (
        "Nobody is in two of them, as the authors declare: two states, by law.",
        "One grower of data/trees.dta: epsilon=4, and nothing more.",
        "One sale of data/sales.moments.json: epsilon=2, delta=0.001, and nothing more.",
    ):
        assert said in about
    assert "in all" not in about
    told = json.loads((made / "data" / "trees.certificate.json").read_text("utf-8"))
    assert "two states, by law" in Certificate.from_dict(told).to_text()
    told = json.loads((made / "data" / "sales.moments.certificate.json").read_text("utf-8"))
    assert (
        Certificate.from_dict(told)
        .facts["3 rows of a person"]
        .startswith("epsilon=6, delta=0.063; ")
    )
    assert [one["verdict"] for one in told["regressions"]] == ["valid"]
    again = run("verify", made / "data" / "sales.moments.json", "--do", made / "main.do",
                "--expect", made / "sales.expected.csv")  # fmt: skip
    assert again.code == 0, again.err + again.out


def test_what_was_spent_before_on_these_people_is_said(
    states: Path, run: Callable[..., Any]
) -> None:
    """A release before is in the ledger of its data set, and the package is not all there is."""
    text = (states / "sales.toml").read_text("utf-8")
    before = text.replace("epsilon = 2.0", 'epsilon = 1.0\noutput = "before.json"')
    budget = "[budget]\nepsilon = 9.0\ndelta = 0.01\n"
    for name, said in (("sales.toml", text), ("before.toml", before)):
        (states / name).write_text(said + budget, "utf-8")
    for file in ("before.toml", "study.toml"):
        ran = run("protect" if file == "before.toml" else "package", states / file, "--yes")
        assert ran.code == 0, ran.err
    about = (states / "trees_package" / "README-data.md").read_text("utf-8")
    assert "One grower of data/trees.dta: epsilon=4, and nothing more." in about
    assert "One sale of data/sales.moments.json: epsilon=2, delta=0.001 for this release." in about
    assert "The 2 charges to the ledger of market: epsilon=3, delta=0.002 in all." in about
    of_sales = (states / "trees_package" / "sales.README-data.md").read_text("utf-8")
    assert "All 2 charges together hold with epsilon=3, delta=0.002" in of_sales


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"market"', '"orchard"', "have dataset_id = 'orchard'"),
        ("sales.dta", "trees.dta", "have one name for the data"),
        ("sales.dta", "copy.dta", "so that these are the same people"),
    ],
)
def test_different_people_are_different_data(
    states: Path, run: Callable[..., Any], old: str, new: str, said: str
) -> None:
    shutil.copy(states / "rep" / "data" / "trees.dta", states / "rep" / "data" / "copy.dta")
    changed(states, "sales.toml", old, new)
    ran = run("package", states / "study.toml", "--yes")
    assert ran.code == 2
    assert said in ran.err


def test_a_second_package_of_both_costs_nothing(orchard: Path, run: Callable[..., Any]) -> None:
    assert run("package", orchard / "study.toml", "--yes").code == 0
    before = ledger(orchard).read_bytes()
    data = (orchard / "trees_package" / "data" / "sales.dta").read_bytes()
    ran = run("package", orchard / "study.toml", "--yes")
    assert ran.code == 0, ran.err
    assert ledger(orchard).read_bytes() == before
    assert (orchard / "trees_package" / "data" / "sales.dta").read_bytes() == data


def test_files_merged_before_the_release_can_be_merged_again(
    orchard: Path, run: Callable[..., Any]
) -> None:
    ran = run("package", orchard / "both.toml", "--yes")
    assert ran.code == 0, ran.err
    made = orchard / "both_package" / "data"
    trees, sales, both = (read_dta(made / f"{n}.dta")[0] for n in ("trees", "sales", "both"))
    again = trees.merge(sales[["gid", "price"]], on="gid", validate="1:1")
    pd.testing.assert_frame_equal(again, both[[*again.columns]])
    assert [*sales.columns] == ["gid", "graft", "price"]
    assert not set(sales["gid"]) & set(np.arange(5000.0, 5000 + PEOPLE))
    about = (orchard / "both_package" / "README-data.md").read_text("utf-8")
    for line, verdict in ((3, "valid"), (6, "valid"), (12, "valid"), (13, "artefact")):
        assert f"`main.do:{line}` " in about
        row = next(text for text in about.splitlines() if f"`main.do:{line}` " in text)
        assert row.split("| ")[4].startswith(verdict)
    assert "merged by `gid` they give `data/both.dta` again" in about
    released = Validity.of(read_dta(made / "both.dta")[1])
    assert released is not None
    assert Validity.of(read_dta(made / "sales.dta")[1]) is None  # it speaks of all columns
    for name in ("trees", "sales", "both"):
        assert "byte for byte" in run("verify", made / f"{name}.dta").out
    kept = Accountant.load(ledger(orchard))
    assert kept.charges == 1
    assert len(set(kept.contents)) == 3


def test_the_files_that_were_merged_have_no_second_budget(
    orchard: Path, run: Callable[..., Any]
) -> None:
    assert run("protect", orchard / "both.toml", "--yes").code == 0
    changed(orchard, "sales.toml", '"orchard"', '"meadow"')
    ran = run("protect", orchard / "sales.toml", "--yes")
    assert ran.code == 3
    assert "the data of 'meadow' are those of data set 'orchard'" in ran.err
    assert not (orchard / "rep" / "data" / "meadow.ledger.json").exists()


def test_a_merge_is_refused_a_second_budget_by_its_files(
    orchard: Path, run: Callable[..., Any]
) -> None:
    assert run("protect", orchard / "sales.toml", "--yes").code == 0
    changed(orchard, "both.toml", '"orchard"', '"meadow"')
    ran = run("protect", orchard / "both.toml", "--yes")
    assert ran.code == 3
    assert "the data of 'meadow' are those of data set 'orchard'" in ran.err


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("sales.toml", '"orchard"', '"meadow"', "has dataset_id = 'meadow'"),
        ("sales.toml", "epsilon = 9.0", "epsilon = 8.0", "the same [budget]"),
        ("sales.toml", "[budget]\nepsilon = 9.0\n", "", "the same [budget]"),
        ("sales.toml", 'name = "grower"', 'name = "person"', "the same unit"),
        ("sales.toml", 'id = "gid"\n', "", "the same unit"),
        ("sales.toml", "rep/data/sales.dta", "sales.dta", "in another folder"),
        ("sales.toml", "rep/data/sales.dta", "rep/data/none.dta", "none.dta"),
        ("sales.toml", "rep/data/sales.dta", "rep/data/trees.dta", "one name for the data"),
        ("sales.toml", "[header]", '[package]\nfolder="rep"\n[header]', "[package] of its own"),
        ("sales.toml", "[header]", '[package]\nfolder="rep"\nstudies=["study.toml"]\n[header]',
         "[package] of its own"),
        ("sales.toml", "epsilon = 4.0", 'epsilon = 4.0\noutput = "trees_protected.dta"',
         "one name for the output"),
        ("sales.toml", "epsilon = 4.0", "epsilon = 6.0", "the releases of the package cost"),
        ("sales.toml", "[header]", "[[[", "sales.toml"),
        ("sales.toml", '[columns.price]\nfate = "modelled"\nbounds = [0, 5]',
         '[columns.price]\nfate = "modelled"', "sales.toml: "),
        ("sales.toml", "bounds = [0, 5]", "bounds = [0, 1]", "sales.toml: "),
        ("study.toml", '["sales.toml"]', '["sales.toml", "sales.toml"]', "named twice"),
        ("study.toml", '["sales.toml"]', '["study.toml"]', "is this study file"),
        ("study.toml", '["sales.toml"]', '["more.toml"]', "more.toml"),
        ("study.toml", '["sales.toml"]', '["../sales.toml"]', "outside the folder"),
        ("study.toml", '["sales.toml"]', '["/etc/passwd"]', "outside the folder"),
        ("study.toml", '["sales.toml"]', '["link.toml"]', "is a link"),
        ("study.toml", '["sales.toml"]', '["rep"]', "rep"),
        ("study.toml", 'folder = "rep"\n', "", "has studies and no folder"),
        ("both.toml", '["trees.dta", "sales.dta"]', '["trees.dta"]', "names one file"),
        ("both.toml", '"trees.dta", ', '"trees.dta", "TREES.dta", ', "twice"),
        ("both.toml", '"trees.dta", ', '"both.dta", ', "or it is data itself"),
        ("both.toml", '"trees.dta", ', '"data/trees.dta", ', "without its folder"),
        ("both.toml", '"trees.dta", ', '"..\\\\trees.dta", ', "outside the folder"),
        ("both.toml", '"trees.dta", ', '"trees.csv", ', "without its folder"),
        ("both.toml", '"trees.dta", ', '"more.dta", ', "more.dta"),
        ("both.toml", '"trees.dta", ', '"link.dta", ', "is a link"),
        ("both.toml", '"trees.dta", ', '"odd.dta", ', "lacks the column 'weight' of 'odd.dta'"),
        ("both.toml", '"trees.dta", ', '"keyless.dta", ', "has no column 'gid'"),
        ("both.toml", '"trees.dta", ', '"part.dta", ', "is in none of the files"),
        ("both.toml", 'id = "gid"\n', "", "write [unit] id"),
        ("both.toml", "[header]", '[study]\nsample = "graft == 1"\n[header]', "does not go with"),
        ("both.toml", 'fate = "key"', 'fate = "withheld"', "make it a key"),
    ],
)  # fmt: skip
def test_what_is_refused_before_anything_is_charged(
    orchard: Path, run: Callable[..., Any], file: str, old: str, new: str, said: str
) -> None:
    changed(orchard, file, old, new)
    os.symlink(orchard / "sales.toml", orchard / "link.toml")
    data = orchard / "rep" / "data"
    os.symlink(data / "trees.dta", data / "link.dta")
    trees = read_dta(data / "trees.dta")[0]
    put(trees.assign(weight=1.0), data / "odd.dta")
    put(trees.drop(columns="gid"), data / "keyless.dta")
    put(trees[["gid", "graft"]], data / "part.dta")
    (orchard / "sales.dta").write_bytes((data / "sales.dta").read_bytes())
    main_file = "both.toml" if file == "both.toml" else "study.toml"
    ran = run("package", orchard / main_file, "--yes")
    assert ran.code == (3 if "cost" in said else 2)
    assert said in ran.err
    assert "Traceback" not in ran.err
    assert not ledger(orchard).exists()
    assert not [*orchard.glob("*_protected*"), *orchard.glob("*_package")]


@pytest.mark.parametrize(
    ("deed", "said"),
    [
        ("value", "column 'price' differs"),
        ("missing code", "column 'price' differs"),
        ("person", "the file lacks people"),
        ("twice", "the key repeats"),
    ],
)
def test_data_that_are_no_merge_of_the_files_are_refused(
    orchard: Path, run: Callable[..., Any], deed: str, said: str
) -> None:
    path = orchard / "rep" / "data" / "sales.dta"
    sales = read_dta(path)[0]
    if deed == "value":
        sales.loc[7, "price"] = 0.25
    elif deed == "missing code":
        sales.loc[7, "price"] = np.nan
    elif deed == "person":
        sales = sales.iloc[1:]
    else:
        sales.loc[7, "gid"] = sales.loc[8, "gid"]
    put(sales.reset_index(drop=True), path)
    ran = run("package", orchard / "both.toml", "--yes")
    assert ran.code == 2
    assert "'both.dta' is not 'sales.dta' merged one to one by 'gid'" in ran.err
    assert said in ran.err
    assert not ledger(orchard).exists()


def test_a_file_with_more_people_serves_those_who_match(orchard: Path) -> None:
    path = orchard / "rep" / "data" / "sales.dta"
    sales = read_dta(path)[0]
    more = sales.iloc[:3].assign(gid=[1.0, 2.0, 3.0])
    put(pd.concat([sales, more], ignore_index=True), path)
    found = planned_verdicts(study_of(orchard / "both.toml"), [orchard / "rep" / "main.do"])
    kinds = {one.regression.line: one.kind for one in found}
    assert kinds == {3: "valid", 6: "artefact", 12: "valid", 13: "artefact"}
    assert "people whom the release does not hold" in found[1].reason


def test_what_was_charged_before_a_failure_is_said_and_taken_again(
    orchard: Path, run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = type(bound_model(study_of(orchard / "sales.toml")))
    own = kind.fit

    def failing(self: Any, *given: Any, **named: Any) -> Any:
        if "price" in self.schema.names:
            raise DprctError("the disk burns")
        return own(self, *given, **named)

    monkeypatch.setattr(kind, "fit", failing)
    ran = run("package", orchard / "study.toml", "--yes")
    assert ran.code == 2
    assert "the disk burns; trees_protected.dta was made and charged before" in ran.err
    assert not (orchard / "trees_package").exists()
    assert Accountant.load(ledger(orchard)).charges == 1
    monkeypatch.undo()
    assert run("package", orchard / "study.toml", "--yes").code == 0
    assert Accountant.load(ledger(orchard)).charges == 2


def test_each_data_set_is_approved_by_its_own_hash(orchard: Path, run: Callable[..., Any]) -> None:
    hashes = [
        run("plan", orchard / name).out.partition("Approval hash: ")[2].split()[0]
        for name in ("study.toml", "sales.toml")
    ]
    ran = run("package", orchard / "study.toml", "--yes", "--approved", hashes[0])
    assert ran.code == 3
    assert "sales.toml: the study is not one that was approved" in ran.err
    assert not ledger(orchard).exists()
    given = [word for one in reversed(hashes) for word in ("--approved", one)]
    ran = run("package", orchard / "study.toml", "--yes", *given)
    assert ran.code == 0, ran.err


def test_check_lists_what_each_data_set_lacks(orchard: Path, run: Callable[..., Any]) -> None:
    changed(orchard, "sales.toml", "bounds = [0, 5]\n", "")
    ran = run("check", orchard / "study.toml")
    assert ran.code == 1
    assert "- sales.toml: " in ran.out
    assert "main.do:6 regress price: valid" in ran.out


@pytest.mark.parametrize(
    ("steps", "kind"),
    [
        ("use trees\nmerge 1:1 gid using sales", "valid"),
        ("use sales\nmerge gid using trees, unique sort", "valid"),
        ("use trees\nmerge 1:1 gid using sales, keep(match) nogenerate", "valid"),
        ("use sales\nkeep gid price\ntempfile t\nsave `t'\nuse trees\nmerge 1:1 gid using `t'",
         "valid"),
        ("use trees\nmerge 1:1 gid using sales\ndrop if _merge == 2", "valid"),
        ("use trees\nmerge 1:1 gid using sales\nkeep if _merge == 1", "artefact"),
        ("use trees\nmerge 1:1 _n using sales", "artefact"),
        ("use trees\nmerge 1:1 valley using sales", "artefact"),
        ("use trees\nmerge 1:1 gid graft using sales", "artefact"),
        ("use trees\ngen x = 1\nreplace gid = x\nmerge 1:1 gid using sales", "artefact"),
        ("use sales\nkeep if graft == 1\ntempfile t\nsave `t'\nuse trees\nmerge 1:1 gid using `t'",
         "artefact"),
        ("use sales\ncollapse (mean) price, by(gid)\ntempfile t\nsave `t'\nuse trees\n"
         "merge 1:1 gid using `t'", "artefact"),
        ("use trees\nmerge 1:1 gid using sales, update", "artefact"),
        ("use trees\nmerge 1:1 gid using sales\nmerge 1:1 gid using weather", "artefact"),
        ("use trees\njoinby gid using sales", "artefact"),
        ("use trees\nappend using sales", "artefact"),
        ("use trees\nmerge 1:1 gid using sales\nreplace price = 0", "artefact"),
        ("use trees", "cannot run"),
    ],
)  # fmt: skip
def test_which_merges_give_the_released_rows(orchard: Path, steps: str, kind: str) -> None:
    (orchard / "rep" / "main.do").write_text(f"{steps}\nreg price graft, robust\n")
    found = planned_verdicts(study_of(orchard / "both.toml"), [orchard / "rep" / "main.do"])
    assert [one.kind for one in found] == [kind], found[0].reason


def test_without_parts_a_merge_is_an_artefact() -> None:
    valid = Validity(outcomes=("y",), arms=("t",))
    row = Regression(
        "a.do", 1, "regress", "y", ("t",), vce="robust", dataset="a.dta",
        sources=("a.dta", "b.dta"), steps=("merge",), merges=("id",),
    )  # fmt: skip
    alone = Released("c.dta", {"y": "modelled", "t": "public", "id": "key"}, valid)
    parts = {
        "a.dta": MergedFile(frozenset({"id", "t"})),
        "b.dta": MergedFile(frozenset({"id", "y"})),
    }
    whole = replace(alone, parts=parts, key="id")
    assert [verdicts([row], one)[0].kind for one in (alone, whole)] == ["cannot run", "valid"]
    assert verdicts([replace(row, merges=("",))], whole)[0].kind == "artefact"
    assert verdicts([row], replace(alone, name="a.dta"))[0].kind == "artefact"


def test_a_study_without_others_is_alone(orchard: Path) -> None:
    (study,) = studies_of(study_of(orchard / "sales.toml"))
    assert study.path == orchard / "sales.toml"
    assert [one.path.name for one in studies_of(study_of(orchard / "study.toml"))] == [
        "study.toml", "sales.toml",
    ]  # fmt: skip


def test_numbers_of_valid_regressions_are_expected_where_no_table_is_declared(
    orchard: Path, run: Callable[..., Any]
) -> None:
    for name, place, count in (("study.toml", "sales", 2), ("both.toml", "both", 6)):
        changed(orchard, name, "epsilon = 9.0", "epsilon = 20.0")
        if name == "study.toml":
            changed(orchard, "sales.toml", "epsilon = 9.0", "epsilon = 20.0")
        assert run("package", orchard / name, "--yes").code == 0
        made = orchard / ("trees_package" if name == "study.toml" else "both_package")
        numbers = made / ("sales.expected.csv" if name == "study.toml" else "expected.csv")
        assert "`dprct verify .` compares" in (made / "README-data.md").read_text("utf-8")
        words = ("verify", made / "data" / f"{place}.dta", "--do", made, "--expect", numbers)
        ran = run(*words)
        assert ran.code == 0, ran.err
        assert f"all {count} numbers equal those of {numbers.name}" in ran.err
        whole = run("verify", made)
        assert (whole.code, f"all {count} numbers equal" in whole.err) == (0, True)
        fit = ols("price ~ graft", *read_dta(made / "data" / f"{place}.dta"))
        told = f"main.do:6 regress robust,,price,graft,estimate,{float(fit.params['graft'])!r}"
        text = numbers.read_text()
        assert told in text
        numbers.write_text(text.replace(told, told.rpartition(",")[0] + ",7.5"))
        ran = run(*words)
        assert ran.code == 1
        assert "main.do:6 regress robust / price / graft / estimate: expected 7.5" in ran.err


def test_expected_numbers_need_do_files(orchard: Path, run: Callable[..., Any]) -> None:
    assert run("protect", orchard / "sales.toml", "--yes").code == 0
    file = orchard / "sales_protected.dta"
    ran = run("verify", file, "--expect", orchard / "main.csv")
    assert ran.code == 2
    assert "--expect needs --do" in ran.err
    ran = run("verify", file, "--do", orchard / "rep", "--expect", orchard / "none.csv")
    assert ran.code == 2
    assert "cannot read 'none.csv'" in ran.err


@pytest.mark.parametrize(
    "manifest",
    [
        "{", "[]", "{}", '{"data_sets": 3}', '{"data_sets": [{"place": "both.dta"}]}',
        '{"data_sets": [{"place": "both.dta", "key": 3, "parts": {"../x.dta": true}}]}',
        '{"data_sets": [{"place": "both.dta", "key": "gid", "parts": {"/etc/x.dta": true}}]}',
        '{"data_sets": [{"place": "both.dta", "key": "gid", "parts": {"link.dta": true}}]}',
    ],
)  # fmt: skip
def test_a_hostile_manifest_opens_nothing(orchard: Path, manifest: str) -> None:
    inside = orchard / "rep" / "data"
    os.symlink(orchard / "x.dta", inside / "link.dta")
    (orchard / "x.dta").write_bytes((inside / "trees.dta").read_bytes())
    (inside / "package.json").write_text(manifest)
    assert packed_others(inside / "both.dta").parts == {}


def test_a_package_without_a_manifest_of_parts_is_read(orchard: Path) -> None:
    assert packed_others(orchard / "rep" / "data" / "both.dta") == Others()
