"""A method whose results are numbers, from its study file to the document that is written."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import dprct as package
from dprct.model import Model
from dprct.privacy.accountant import Accountant
from dprct.privacy.budget import Budget
from dprct.schema import Column, FileFacts, Schema

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Files = dict[str, bytes]
STUDY = """\
version = 1
data = "jobs.dta"
dataset_id = "jobs-1"

[release]
method = "ipw"
epsilon = 4.0
delta = 1e-6
formula = "treat ~ age + C(site)"

[ipw]
outcome = "pay"
trim = 0.1
balance = ["age"]
overlap = true
alphas = [0.05, 0.01]

[budget]
epsilon = 6.0
delta = 1e-5

[header]
columns = ["pay", "treat", "age", "site"]

[columns.pay]
bounds = [0, 40]
missing = "never"

[columns.treat]
levels = [0, 1]
missing = "never"

[columns.age]
bounds = [18, 65]
missing = "never"

[columns.site]
levels = [1, 2, 3]
missing = "never"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A confidential file whose other columns nothing is declared of, and a study of it."""
    rng, n = np.random.default_rng(5), 1500
    age, site = rng.integers(18, 66, n).astype(float), rng.integers(1, 4, n).astype(float)
    treat = (rng.random(n) < 1 / (1 + np.exp(-(age - 40) / 20))).astype(float)
    pay = (10 + 3 * treat + 0.1 * age + rng.normal(0, 3, n)).clip(0, 40)
    data = pd.DataFrame({"pay": pay, "treat": treat, "age": age, "site": site, "diary": pay * 7})
    columns = (
        Column("pay"),
        Column("treat", "byte", "%8.0g", "in the programme", "yesno"),
        Column("age", "byte"),
        Column("site", "byte"),
        Column("diary"),
    )
    labels = {"yesno": {0: "no", 1: "yes"}}
    package.write_dta(data, Schema(columns, FileFacts(value_labels=labels)), tmp_path / "jobs.dta")
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    return tmp_path


def document(folder: Path) -> Any:
    return json.loads((folder / "jobs_ipw.json").read_text("utf-8"))


def test_check_reads_the_header_alone(
    dprct: Callable[..., Any], study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import dprct.io.stata as stata

    monkeypatch.setattr(stata, "read_dta", lambda *_a, **_k: pytest.fail("the data were read"))
    ran = dprct("check", study)
    assert (ran.code, ran.out, ran.err) == (0, "complete: nothing is open; next: dprct plan\n", "")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("trim = 0.1", "trim = 0.7", "[ipw] trim = 0.7; give a number between 0 and 0.5"),
        ("trim = 0.1", "trim = 0.0", "[ipw] trim = 0.0; give a number between 0 and 0.5"),
        ("trim = 0.1", "lam = -1", "[ipw] lam = -1; give a number above 0"),
        ("trim = 0.1", "split = 0.999", "rows with split = 0.999 leave a part with fewer than 10"),
        ("trim = 0.1", 'neighbors = "replace-one-design-public"', "the ATE has neighbors = "),
        ("trim = 0.1", 'treated = "maybe"', "is not a level of 'treat'; allowed: no, yes"),
        ("trim = 0.1", "budget_shares = {effect = 0.5}", "[ipw] budget_shares names effect; give"),
        ("[0, 40]\n", "[0, 40]\nmissing_policy = 41\n", "41.0 lies outside the bounds or levels"),
        ('balance = ["age"]', 'balance = ["site"]', "[ipw] balance names 'site', which is no"),
        ("[0.05, 0.01]", "[]", "tests between"),
        ("[0.05, 0.01]", "[0.7]", "tests between"),
        ('outcome = "pay"', 'outcome = "age"', "must differ, and be no covariates"),
        ('outcome = "pay"', 'outcome = "wage"', "no column 'wage' in the file; "),
        ("treat ~ age", "treated ~ age", "no column 'treated' in the file; did you mean 'treat'?"),
        ("delta = 1e-6", "delta = 0.0", '[release] method = "ipw" needs a delta above 0'),
        ("bounds = [0, 40]\n", "", "outcome 'pay' needs bounds = [low, high] or levels"),
        ("bounds = [18, 65]\n", "", "'age'"),
        ("levels = [0, 1]\n", "", "declare levels = [0, 1], or its two codes"),
        ("levels = [0, 1]\nmissing", "levels = [0, 1]\n# missing", 'declare missing = "never"'),
        (
            '[0, 40]\nmissing = "never"',
            '[0, 40]\nmissing = ["."]',
            "declare missing_policy of it as a number",
        ),
        ("[0, 40]\nmissing", "[0, 40]\n# missing", "'pay' has no declared missing policy"),
        ('"pay", "treat"', '"treat"', "column 'pay': type double"),
        ("[columns.age]", "[columns.agee]", "no column 'agee'"),
        ("epsilon = 4.0", "epsilon = 7.0", "[budget] allows epsilon = 6"),
    ],
)
def test_check_says_in_toml_what_is_open_and_protect_refuses_it(
    old: str,
    new: str,
    words: str,
    dprct: Callable[..., Any],
    study: Path,
    edit: Callable[..., None],
    files: Callable[[], Files],
) -> None:
    edit((old, new))
    before = files()
    ran = dprct("check", study)
    assert ran.code == 1
    assert words in ran.out
    assert dprct("protect", study, "--yes").code == 2
    assert dprct("plan", study).code == 2
    assert files() == before


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("trim = 0.1", "trimm = 0.1", "unknown key 'trimm' in [ipw]; did you mean 'trim'?"),
        ("trim = 0.1", "weights = 1", "unknown key 'weights' in [ipw]; "),
        ("trim = 0.1", 'trim = "0.1"', '[ipw] trim = "0.1"; give a number'),
        ("trim = 0.1", "trim = true", "[ipw] trim = true; give a number"),
        ("trim = 0.1", "hajek = 1", "[ipw] hajek = 1; give true or false"),
        ("trim = 0.1", 'estimand = "atx"', '[ipw] estimand = "atx"; allowed: ate, att, atc'),
        ("trim = 0.1", 'noise = "uniform"', '[ipw] noise = "uniform"; allowed: laplace, gaussian'),
        ("trim = 0.1", "missing = 0", "missing_policy is a fact of a column: declare it with"),
        ("trim = 0.1", "sd = 1", "unknown key 'sd' in [ipw]; sd is a fact of a column"),
        ("trim = 0.1", 'treatment = "age"', "treatment follows from [release] formula; remove it"),
        ("trim = 0.1", 'assignment = "x"', "unknown key 'assignment' in [ipw]"),
        ("[0.05, 0.01]", "0.05", "[ipw] alphas = 0.05; give a list of numbers"),
        ('balance = ["age"]', 'balance = "age"', '[ipw] balance = "age"; give a list of texts'),
        ('outcome = "pay"', "", "[ipw] lacks outcome; write outcome = ..."),
        ('outcome = "pay"', 'outcome = ["pay"]', '[ipw] outcome = ["pay"]; give text in quotes'),
        ("formula = ", "# formula = ", '[release] formula is missing; write formula = "treat ~'),
        ("treat ~ age", "treat ~ log(age)", "[release] formula: 'log(age)' uses log()"),
        ("treat ~ age", "treat + pay ~ age", "has not one column on its left"),
        ("treat ~ age", "treat ~ 0 + age", "has no intercept"),
        ("delta = 1e-6", "delta = 1e-6\nzeta = 0.5", "[release] zeta belongs to a protected file"),
        ("delta = 1e-6", 'delta = 1e-6\nkeep = ["n"]', "[release] keep belongs to a protected"),
        ("delta = 1e-6", 'delta = 1e-6\noutput = "a.dta"', "let its name end in .json"),
        ('method = "ipw"', 'method = "ipww"', "allowed: calibrated, mv_histogram, marginals"),
        ('method = "ipw"', 'method = "marginals"', "formula is for method = 'calibrated'"),
        ('formula = "treat ~ age + C(site)"\n\n[ipw]', "\n[calibrated]", "[calibrated] is for"),
        ("[budget]", '[design]\nkind = "simple"\narms = ["treat"]\n[budget]', "[design] is for"),
        ("[budget]", '[[table]]\nname = "a"\n[budget]', "[[table]] is made of a protected file"),
    ],
)
def test_a_study_that_cannot_be_meant_is_refused_at_once(
    old: str,
    new: str,
    words: str,
    dprct: Callable[..., Any],
    study: Path,
    edit: Callable[..., None],
    files: Callable[[], Files],
) -> None:
    edit((old, new))
    before = files()
    for command in (("check",), ("plan",), ("protect", "--yes"), ("table",)):
        ran = dprct(command[0], study, *command[1:])
        assert ran.code == 2
        assert words in ran.err
        assert len(ran.err.strip().splitlines()) == 1
    assert files() == before


def test_a_section_of_an_estimate_belongs_to_it(
    dprct: Callable[..., Any], study: Path, edit: Callable[..., None]
) -> None:
    edit(('method = "ipw"', 'method = "marginals"'), ("formula =", "# formula ="))
    assert "[ipw] is for method = 'ipw'; remove it" in dprct("check", study).err


def test_plan_prints_what_the_method_plans_and_a_page_to_sign(
    dprct: Callable[..., Any], study: Path, folder: Path, files: Callable[[], Files]
) -> None:
    before = files()
    ran = dprct("plan", study, "--html", folder / "plan.html")
    assert (ran.code, ran.err) == (0, "")
    for part in (
        "Plan: IPW",
        "of pay clipped to [0, 40]; treated are those with treat",
        "epsilon=4",
    ):
        assert part in " ".join(ran.out.split())
    page = (folder / "plan.html").read_text("utf-8")
    for part in ("jobs_ipw.json", "bounds: 0, 40", "trim: 0.1", "no row"):
        assert part in page
    assert "diary" not in page
    assert set(files()) - set(before) == {"plan.html"}


def test_protect_writes_a_document_a_text_and_the_ledger(
    dprct: Callable[..., Any], study: Path, folder: Path
) -> None:
    ran = dprct("protect", study, "--yes")
    assert (ran.code, ran.err) == (0, "")
    assert "This charges epsilon=4, delta=1e-06 to the ledger of 'jobs-1'" in ran.out
    names = {path.name for path in folder.iterdir()}
    assert names >= {"jobs_ipw.json", "jobs_ipw.txt", "jobs-1.ledger.json"}
    assert not [name for name in names if name.startswith((".", "README", "expected"))]
    assert Accountant.load(folder / "jobs-1.ledger.json").spent == Budget(4, 1e-6)
    found = document(folder)
    (row,) = found["table"]
    assert row["term"] == "ATE"
    assert row["conf.low"] < row["estimate"] < row["conf.high"]
    assert 0 < row["std.error.noise"] < row["std.error"]
    assert (found["results"], found["section"], found["dataset_id"]) == (1, "ipw", "jobs-1")
    assert found["guarantee"]["relation"] == "replace-one"
    assert (found["plan"]["epsilon"], found["plan"]["delta"]) == ("4.0", "1e-06")
    assert list(found["public_facts"]) == ["pay", "treat", "age", "site"]
    assert found["glance"][0]["nobs"] == 1500
    assert [part["name"] for part in found["released"]["balance_table"]] == ["age"]
    assert len(found["released"]["overlap_table"]) == 10
    assert "before the data were read" in found["schema"]["sealed"]
    assert "entry 1-" in found["ledger"]
    text = (folder / "jobs_ipw.txt").read_text("utf-8")
    for part in (f"{row['estimate']:.4f}", "balance_table", found["ledger"], "Plan: IPW"):
        assert part in text
    assert "diary" not in text + json.dumps(found)


def test_check_holds_the_estimate_against_the_ledger(
    dprct: Callable[..., Any], study: Path
) -> None:
    dprct("protect", study, "--yes")
    ran = dprct("check", study)
    assert ran.code == 1
    assert "ledger of 'jobs-1': asked for epsilon=4" in ran.out


def test_without_a_yes_nothing_is_spent(
    dprct: Callable[..., Any], study: Path, files: Callable[[], Files]
) -> None:
    before = files()
    ran = dprct("protect", study)
    assert ran.code == 3
    assert "terminal to ask" in ran.err
    assert files() == before


def test_a_second_estimate_that_does_not_fit_leaves_the_first(
    dprct: Callable[..., Any], study: Path, files: Callable[[], Files]
) -> None:
    dprct("protect", study, "--yes")
    before = files()
    assert dprct("protect", study, "--yes").code == 3
    assert files() == before


def test_a_second_estimate_that_fits_replaces_its_own_document(
    dprct: Callable[..., Any], study: Path, folder: Path, edit: Callable[..., None]
) -> None:
    dprct("protect", study, "--yes")
    first = document(folder)
    edit(("epsilon = 4.0", "epsilon = 2.0"))
    assert dprct("protect", study, "--yes").code == 0
    assert document(folder)["table"] != first["table"]
    assert document(folder)["plan"]["epsilon"] == "2.0"


@pytest.mark.parametrize("name", ["jobs_ipw.json", "jobs_ipw.txt"])
@pytest.mark.parametrize("kind", ["file", "link", "dangling", "folder", "changed"])
def test_what_is_not_its_own_is_never_replaced(
    kind: str,
    name: str,
    dprct: Callable[..., Any],
    study: Path,
    folder: Path,
    edit: Callable[..., None],
) -> None:
    place, other = folder / name, folder / "mine"
    other.write_text("mine", "utf-8")
    if kind == "file":
        place.write_text("{}", "utf-8")
    elif kind == "folder":
        place.mkdir()
    elif kind == "changed":
        assert dprct("protect", study, "--yes").code == 0
        place.write_text(place.read_text("utf-8").replace("ATE", "ATT"), "utf-8")
        edit(("epsilon = 4.0", "epsilon = 1.0"))
    else:
        place.symlink_to(other if kind == "link" else folder / "nowhere")
    before = sorted(path.name for path in folder.iterdir())
    ledger = [p.read_bytes() for p in folder.glob("*.ledger.json")]
    ran = dprct("protect", study, "--yes")
    assert ran.code == 2
    assert "exists and is not what this study wrote" in ran.err
    assert sorted(path.name for path in folder.iterdir()) == before
    assert [p.read_bytes() for p in folder.glob("*.ledger.json")] == ledger
    assert other.read_text("utf-8") == "mine"


def test_another_study_does_not_replace_the_document(
    dprct: Callable[..., Any], study: Path, edit: Callable[..., None], files: Callable[[], Files]
) -> None:
    dprct("protect", study, "--yes")
    edit(('dataset_id = "jobs-1"', 'dataset_id = "jobs-2"'))
    before = files()
    assert dprct("protect", study, "--yes").code == 2
    assert "holds results of data set 'jobs-1'" in dprct("table", study).err
    assert files() == before


@pytest.mark.parametrize("output", ["jobs.json", "none/a.json", "study.json"])
def test_another_place_is_held_against_what_is_there(
    output: str, dprct: Callable[..., Any], study: Path, folder: Path, edit: Callable[..., None]
) -> None:
    (folder / "study.json").write_text("[]", "utf-8")
    edit(("delta = 1e-6", f'delta = 1e-6\noutput = "{output}"'))
    ran = dprct("protect", study, "--yes")
    assert ran.code == (0 if output == "jobs.json" else 2)
    assert (folder / "jobs.txt").exists() == (output == "jobs.json")
    assert (folder / "jobs-1.ledger.json").exists() == (output == "jobs.json")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_charges_nothing(
    dprct: Callable[..., Any], study: Path, folder: Path, edit: Callable[..., None]
) -> None:
    (folder / "closed").mkdir(mode=0o500)
    edit(("delta = 1e-6", 'delta = 1e-6\noutput = "closed/a.json"'))
    assert dprct("protect", study, "--yes").code == 2
    assert not (folder / "jobs-1.ledger.json").exists()


def failing_at(place: Path) -> Callable[[Any, Any], None]:
    real = os.replace

    def move(source: Any, target: Any) -> None:
        if target == place:
            raise OSError(28, "No space left on device")
        real(source, target)

    return move


def test_a_document_that_cannot_be_written_is_resumed(
    dprct: Callable[..., Any], study: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", failing_at(folder / "jobs_ipw.json"))
        ran = dprct("protect", study, "--yes")
    assert ran.code == 2
    for words in ("does not fit on the disk", "the budget is charged", "protect --resume ENTRY"):
        assert words in ran.err
    assert not list(folder.glob("jobs_ipw.*"))
    ledger = (folder / "jobs-1.ledger.json").read_bytes()
    (entry,) = Accountant.load(folder / "jobs-1.ledger.json").ledger
    assert f"saved, free to resume: dprct protect --resume {entry.id}" in dprct("ledger", study).out
    ran = dprct("protect", study, "--resume", entry.id)
    assert (ran.code, ran.err) == (0, "")
    assert "nothing was charged" in ran.out
    assert "fresh draw" not in ran.out + document(folder)["ledger"]
    assert (folder / "jobs-1.ledger.json").read_bytes() == ledger
    assert "written to jobs_ipw.json" in dprct("ledger", study).out


def test_resume_writes_the_same_numbers_and_reads_no_row(
    dprct: Callable[..., Any],
    study: Path,
    folder: Path,
    edit: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dprct("protect", study, "--yes")
    first = document(folder)
    edit(("epsilon = 4.0", "epsilon = 1.0"))  # the entry knows what was charged
    monkeypatch.setattr(Model, "fit", lambda *_a, **_k: pytest.fail("drawn again"))
    assert dprct("protect", study, "--resume", "1").code == 0
    again = document(folder)
    for part in ("table", "glance", "released", "guarantee", "plan", "public_facts", "notes"):
        assert again[part] == first[part]
    assert "nothing now: resumed from its saved state" in again["ledger"]


def test_resume_of_another_question_is_refused(
    dprct: Callable[..., Any], study: Path, edit: Callable[..., None], files: Callable[[], Files]
) -> None:
    dprct("protect", study, "--yes")
    edit(("trim = 0.1", "trim = 0.2"))
    before = files()
    ran = dprct("protect", study, "--resume", "1")
    assert ran.code == 3
    assert "is not what it was when entry" in ran.err
    assert files() == before


def test_an_approved_study_is_estimated_and_a_changed_one_refused(
    dprct: Callable[..., Any], study: Path, edit: Callable[..., None], files: Callable[[], Files]
) -> None:
    (line,) = [x for x in dprct("plan", study).out.splitlines() if x.startswith("Approval hash: ")]
    approved = line.removeprefix("Approval hash: ")
    edit(("trim = 0.1", "trim = 0.11"))
    before = files()
    ran = dprct("protect", study, "--yes", "--approved", approved)
    assert ran.code == 3
    assert "is not the one that was approved" in ran.err
    assert files() == before
    edit(("trim = 0.11", "trim = 0.1"))
    assert dprct("protect", study, "--yes", "--approved", approved).code == 0


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (None, "of which noise"),
        ("--latex", r"\begin{tabular}"),
        ("--html", "<table"),
        ("--csv", "term,estimate,std.error"),
    ],
)
def test_table_prints_the_results(
    option: str | None, words: str, dprct: Callable[..., Any], study: Path, folder: Path
) -> None:
    assert "there are no results 'jobs_ipw.json' yet" in dprct("table", study).err
    dprct("protect", study, "--yes")
    ran = dprct("table", study, *([option] if option else []))
    assert (ran.code, ran.err) == (0, "")
    assert words in ran.out
    assert option == "--csv" or ("Observations" in ran.out and "1,500" in ran.out)
    assert "nobs" not in ran.out
    value = document(folder)["table"][0]["estimate"]
    assert (str(value) if option == "--csv" else f"{value:.4f}") in ran.out
    assert option == "--csv" or "Approximate differential privacy" in ran.out


def test_table_refuses_a_document_that_was_changed(
    dprct: Callable[..., Any], study: Path, folder: Path
) -> None:
    dprct("protect", study, "--yes")
    place = folder / "jobs_ipw.json"
    place.write_text(place.read_text("utf-8").replace('"nobs": 1500', '"nobs": 1501'), "utf-8")
    assert "it was changed or replaced" in dprct("table", study).err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--on", "confidential"], "makes no protected file"),
        (["--expect", "expected.csv"], "compares tables"),
    ],
)
def test_table_of_an_estimate_has_no_other_file(
    options: list[str], words: str, dprct: Callable[..., Any], study: Path
) -> None:
    dprct("protect", study, "--yes")
    ran = dprct("table", study, *options)
    assert ran.code == 2
    assert words in ran.err


def test_illegal_data_are_refused_before_anything_is_charged(
    dprct: Callable[..., Any], study: Path, edit: Callable[..., None], files: Callable[[], Files]
) -> None:
    edit(("bounds = [18, 65]", "bounds = [18, 40]"))
    assert dprct("check", study).code == 0
    before = files()
    ran = dprct("protect", study, "--yes")
    assert ran.code == 2
    assert "age: a value outside the bounds" in ran.err
    assert files() == before
