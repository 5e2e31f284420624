from __future__ import annotations

import csv
import io
import json
import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import dprct as package
from dprct.cli.table import WATERMARK
from dprct.study.declared_tables import HEADER

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Run = Any
STUDY = """\
version = 1
data = "trial.dta"
dataset_id = "trial-1"

[release]
method = "mv_histogram"
epsilon = 4.0

[budget]
epsilon = 8.0

[header]
confirm = true

[columns.id]
fate = "key"

[columns.got]
levels = [0, 1]
missing = ["."]
fate = "modelled"

[columns.arm]
levels = [0, 1]
missing = "never"
fate = "modelled"

[columns.age]
bounds = [20, 60]
bins = 2
missing = "never"
fate = "modelled"

[columns.village]
bounds = [1, 40]
missing = "never"
fate = "filler"

[columns.w]
fate = "withheld"

[availability]
title = "A trial"

[[table]]
name = "main"
title = "Main effects"
outcomes = ["got"]
arms = ["arm"]
covariates = { "No controls" = [], "Age" = ["age"] }
adjust = "holm"
"""
CLUSTERED = """
[[table]]
name = "clustered"
outcomes = ["got"]
arms = ["arm"]
cluster = "village"
weights = "w"
"""
EXPECTED, README = "trial_protected.expected.csv", "trial_protected.README-data.md"
SECRET = "417.23"


@pytest.fixture
def trial(tmp_path: Path) -> Path:
    """A study file with tables beside a confidential trial of 800 people."""
    place = tmp_path / "my trial"
    place.mkdir()
    rng = np.random.default_rng(1)
    n = 800
    arm = rng.integers(0, 2, n).astype(float)
    data = pd.DataFrame(
        {
            "id": 9000.0 + rng.permutation(n),
            "got": (rng.random(n) < 0.3 + 0.4 * arm) * 1.0,
            "arm": arm,
            "age": rng.integers(20, 60, n) * 1.0,
            "village": rng.integers(1, 41, n) * 1.0,
            "w": rng.uniform(1, 2, n),
        }
    )
    types = {"id": "long", "got": "byte", "arm": "byte", "age": "byte", "village": "byte"}
    columns = tuple(package.Column(name, types.get(name, "double")) for name in data.columns)
    package.write_dta(data, package.Schema(columns), place / "trial.dta")
    path = place / "study.toml"
    path.write_text(STUDY + CLUSTERED, encoding="utf-8")
    return path


@pytest.fixture
def made(trial: Path, dprct: Callable[..., Run]) -> Path:
    """The same study, protected."""
    ran = dprct("protect", trial, "--yes")
    assert ran.code == 0, ran.err
    return trial


def change_data(study: Path, **columns: Any) -> None:
    path = study.parent / "trial.dta"
    data, schema = package.read_dta(path)
    package.write_dta(data.assign(**columns), schema, path)


def append(study: Path, text: str) -> None:
    study.write_text(study.read_text("utf-8") + text, encoding="utf-8")


def one_sentence(text: str) -> bool:
    return len(text.strip().splitlines()) == 1


def test_protect_writes_the_papers_beside_the_file(made: Path) -> None:
    folder = made.parent
    rows = list(csv.reader(io.StringIO((folder / EXPECTED).read_text("utf-8"))))
    assert tuple(rows[0]) == HEADER
    assert {row[0] for row in rows[1:]} == {"trial-1"}
    assert {row[1] for row in rows[1:]} == {"main"}
    text = (folder / README).read_text("utf-8")
    assert "# Data of A trial" in text
    assert "| main: Main effects | yes: its numbers, with the noise of the release" in text
    assert (
        "| clustered | no, it needs the confidential file: nothing is released of village" in text
    )
    assert "to be filled in by the authors" in text


def test_protect_says_what_it_wrote_and_what_again_would_do(
    trial: Path, dprct: Callable[..., Run]
) -> None:
    ran = dprct("protect", trial, "--yes")
    for name in (
        "trial_protected.dta",
        README,
        EXPECTED,
    ):
        assert f"wrote {trial.parent / name}" in ran.out
    assert "Running protect again makes another file and charges the ledger again." in ran.out


def test_tables_in_text(made: Path, dprct: Callable[..., Run]) -> None:
    ran = dprct("table", made)
    assert (ran.code, ran.err) == (0, "")
    for part in ("Main effects", "No controls", "Age", "Adj. p-value", "epsilon=4",
                 "clustered: it needs the confidential file", "of village, w"):  # fmt: skip
        assert part in ran.out
    assert "CONFIDENTIAL" not in ran.out


def test_tables_in_latex(made: Path, dprct: Callable[..., Run]) -> None:
    out = dprct("table", made, "--latex").out
    assert out.count(r"\begin{tabular}") == out.count(r"\end{tabular}") == 1
    assert r"\toprule" in out
    lines = out.splitlines()
    assert lines[0] == "% main"
    assert lines[-1].startswith("% clustered: it needs the confidential file")


def test_tables_in_html(made: Path, dprct: Callable[..., Run]) -> None:
    out = dprct("table", made, "--html").out
    assert out.count("<table") == out.count("</table>") == 1
    assert "<!-- clustered: it needs the confidential file" in out


def test_tables_in_csv_have_all_digits(made: Path, dprct: Callable[..., Run]) -> None:
    out = dprct("table", made, "--csv").out
    frame = pd.read_csv(io.StringIO(out), comment="#")
    assert frame["section"].tolist() == ["No controls", "Age"]
    expected = pd.read_csv(made.parent / EXPECTED)
    wanted = expected[(expected.statistic == "estimate")]["value"].tolist()
    assert frame["arm:estimate"].tolist() == wanted


@pytest.mark.parametrize("two", [("--latex", "--html"), ("--html", "--csv"), ("--csv", "--latex")])
def test_formats_exclude_each_other(
    two: tuple[str, str], made: Path, dprct: Callable[..., Run]
) -> None:
    ran = dprct("table", made, *two)
    assert (ran.code, ran.out) == (2, "")
    assert "exclude each other" in ran.err


@pytest.mark.parametrize("form", ["", "--latex", "--html", "--csv"])
def test_confidential_tables_bear_a_watermark_in_every_format(
    form: str, trial: Path, dprct: Callable[..., Run]
) -> None:
    ran = dprct("table", trial, "--on", "confidential", *([form] if form else []))
    assert ran.code == 0
    assert WATERMARK in ran.out.splitlines()[0]
    tables = 2
    seen = " ".join(ran.out.split()).count("CONFIDENTIAL: computed from the confidential file")
    # in text, LaTeX and HTML every table has it among its notes, so that a copied one keeps it
    assert seen == (1 if form == "--csv" else 1 + tables)
    marks = {"": "", "--latex": "% ", "--html": "<!-- ", "--csv": "# "}
    assert ran.out.startswith(marks[form] + "CONFIDENTIAL")


def test_confidential_tables_are_those_of_the_confidential_file(
    trial: Path, dprct: Callable[..., Run]
) -> None:
    out = dprct("table", trial, "--on", "confidential", "--csv").out
    block = out.split("# main\n")[1].split("# clustered")[0]
    frame = pd.read_csv(io.StringIO(block))
    data, _ = package.read_dta(trial.parent / "trial.dta")
    effect = data.got[data.arm == 1].mean() - data.got[data.arm == 0].mean()
    assert frame["arm:estimate"][0] == pytest.approx(effect, rel=1e-12)
    assert "# clustered" in out


def test_what_is_expected_is_found(made: Path, dprct: Callable[..., Run]) -> None:
    ran = dprct("table", made, "--expect", made.parent / EXPECTED)
    assert ran.code == 0
    assert ran.out.splitlines()[-1] == "every number equals that of trial_protected.expected.csv"


def test_the_numbers_of_tables_are_not_those_of_do_files(
    made: Path, dprct: Callable[..., Run]
) -> None:
    (made.parent / "main.do").write_text("regress got arm\n", "utf-8")
    file = made.parent / "trial_protected.dta"
    expected = ("--expect", made.parent / EXPECTED)
    ran = dprct("verify", file, "--do", made.parent / "main.do", *expected)
    assert ran.code == 2
    assert "STUDY --expect" in ran.err


def test_a_mismatch_is_shown_and_is_1(made: Path, dprct: Callable[..., Run]) -> None:
    path = made.parent / EXPECTED
    lines = path.read_text("utf-8").splitlines()
    (row,) = [k for k, line in enumerate(lines) if ",No controls,got,arm,estimate," in line]
    lines[row] = lines[row].rsplit(",", 1)[0] + ",0.123456"
    path.write_text("\n".join([*lines[:-1], ""]), encoding="utf-8")
    ran = dprct("table", made, "--expect", path)
    assert ran.code == 1
    assert "differs: main / No controls / got / arm / estimate: expected 0.123456, found" in ran.out
    assert "differs: main / Age / got / arm / rank: expected nothing, found 3" in ran.out
    assert "2 numbers differ from trial_protected.expected.csv" in ran.out


def test_a_latex_file_stays_one_with_what_was_expected(
    made: Path, dprct: Callable[..., Run]
) -> None:
    path = made.parent / EXPECTED
    out = dprct("table", made, "--latex", "--expect", path).out
    assert "% every number equals that of trial_protected.expected.csv" in out.splitlines()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("trial-1,", "trial-2,", "is of study 'trial-2', this study is 'trial-1'"),
        ("study,table", "studie,table", "is not an expected.csv"),
        (",estimate,0.", ",estimate,zero.", "was edited"),
    ],
)
def test_an_expected_csv_that_is_not_ours(
    old: str, new: str, words: str, made: Path, dprct: Callable[..., Run]
) -> None:
    path = made.parent / EXPECTED
    path.write_text(path.read_text("utf-8").replace(old, new), encoding="utf-8")
    ran = dprct("table", made, "--expect", path)
    assert ran.code == 2
    assert words in ran.err
    assert one_sentence(ran.err)


def test_an_expected_csv_that_is_not_there(made: Path, dprct: Callable[..., Run]) -> None:
    ran = dprct("table", made, "--expect", made.parent / "none.csv")
    assert ran.code == 2
    assert "cannot read 'none.csv'" in ran.err


def test_the_confidential_file_is_not_what_is_expected(
    made: Path, dprct: Callable[..., Run]
) -> None:
    ran = dprct(
        "table",
        made,
        "--on",
        "confidential",
        "--expect",
        made.parent / EXPECTED,
    )
    assert (ran.code, ran.out) == (2, "")
    assert "leave out --on confidential" in ran.err


def test_another_protected_file_gives_other_numbers(
    made: Path, dprct: Callable[..., Run], tmp_path: Path
) -> None:
    before = shutil.copy(made.parent / EXPECTED, tmp_path / "before.csv")
    assert dprct("protect", made, "--yes").code == 0
    ran = dprct("table", made, "--expect", before)
    assert ran.code == 1
    assert "numbers differ" in ran.out


def test_a_folder_without_the_confidential_data_still_makes_its_tables(
    made: Path, dprct: Callable[..., Run], tmp_path: Path
) -> None:
    moved = tmp_path / "elsewhere"
    shutil.move(made.parent, moved)
    for path in (moved / "trial.dta", *moved.glob("*.ledger*")):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    ran = dprct("table", moved / "study.toml", "--expect", moved / EXPECTED)
    assert (ran.code, ran.err) == (0, "")
    lost = dprct("table", moved / "study.toml", "--on", "confidential")
    assert lost.code == 2
    assert "trial.dta' cannot be read" in lost.err


def test_before_protect_there_is_no_table(trial: Path, dprct: Callable[..., Run]) -> None:
    ran = dprct("table", trial)
    assert (ran.code, ran.out) == (2, "")
    assert "no protected file 'trial_protected.dta' yet; make it with dprct protect" in ran.err


@pytest.mark.parametrize("content", [None, "{}", "not JSON", "[]", '{"certificate": 1}'])
def test_a_protected_file_without_a_certificate(
    content: str | None, made: Path, dprct: Callable[..., Run]
) -> None:
    path = made.parent / "trial_protected.certificate.json"
    path.unlink()
    if content is not None:
        path.write_text(content, encoding="utf-8")
    ran = dprct("table", made)
    assert (ran.code, ran.out) == (2, "")
    assert "there is no certificate 'trial_protected.certificate.json'" in ran.err
    assert one_sentence(ran.err)


def test_a_file_that_its_certificate_does_not_describe(
    made: Path, dprct: Callable[..., Run]
) -> None:
    shutil.copy(made.parent / "trial.dta", made.parent / "trial_protected.dta")
    ran = dprct("table", made)
    assert (ran.code, ran.out) == (2, "")
    assert "certificate describes" in ran.err


def test_a_study_without_tables(trial: Path, dprct: Callable[..., Run]) -> None:
    trial.write_text(STUDY.split("[[table]]")[0], encoding="utf-8")
    assert "The study file declares no table" not in dprct("check", trial).out
    ran = dprct("table", trial)
    assert ran.code == 2
    assert "declares no table" in ran.err
    assert dprct("protect", trial, "--yes").code == 0
    assert not (trial.parent / EXPECTED).exists()
    text = (trial.parent / README).read_text("utf-8")
    assert "The study file declares no table." in text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("outcome = ['got']", "unknown key 'outcome'"),
        ("adjust = 'none'", 'adjust = "none"; allowed: bonferroni'),
        ("digits = 'two'", 'digits = "two"; give a whole number'),
        ("name = 'again'", "is not TOML"),
    ],
)
def test_a_table_that_is_misspelt(
    text: str, words: str, trial: Path, dprct: Callable[..., Run]
) -> None:
    append(trial, f"{text}\n")
    for command in (("table", trial), ("check", trial), ("protect", trial, "--yes")):
        ran = dprct(*command)
        assert (ran.code, ran.out) == (2, "")
        assert words in ran.err
        assert one_sentence(ran.err)


def test_a_column_that_is_not_there_is_an_open_point(
    trial: Path, dprct: Callable[..., Run]
) -> None:
    append(trial, 'blocks = ["vilage"]\n')
    ran = dprct("check", trial)
    assert ran.code == 1
    assert (
        "[[table]] 'clustered': no column 'vilage' in the file; did you mean 'village'?" in ran.out
    )
    assert dprct("protect", trial, "--yes").code == 2
    assert not list(trial.parent.glob("*.ledger*"))


@pytest.mark.parametrize(
    ("columns", "keys", "words"),
    [
        ({"got": 1.0, "arm": 1.0}, "", "control group is empty"),
        ({"arm": 0.0}, "", "arm 'arm' is empty"),
        ({"village": np.nan}, "", "'got'"),
        ({"village": 7.0}, "", "one cluster"),
        ({"w": -417.23}, "", "'w' are negative"),
        ({"w": np.nan}, "", "'w' are missing"),
    ],
)
def test_what_the_confidential_file_cannot_give_is_one_sentence_without_a_value(
    columns: dict[str, float], keys: str, words: str, trial: Path, dprct: Callable[..., Run]
) -> None:
    trial.write_text(STUDY.split("[[table]]")[0] + CLUSTERED + keys, encoding="utf-8")
    change_data(trial, **columns)
    ran = dprct("table", trial, "--on", "confidential")
    assert ran.code == 2
    assert ran.err.startswith("error: table 'clustered' cannot be made: ")
    assert words in ran.err
    assert one_sentence(ran.err)
    assert SECRET not in ran.out + ran.err


def test_arms_that_overlap(trial: Path, dprct: Callable[..., Run]) -> None:
    text = trial.read_text("utf-8").replace('arms = ["arm"]', 'arms = ["arm", "other"]', 1)
    trial.write_text(text + '[columns.other]\nfate = "withheld"\n', encoding="utf-8")
    path = trial.parent / "trial.dta"
    data, schema = package.read_dta(path)
    columns = (*schema.columns, package.Column("other", "byte"))
    package.write_dta(data.assign(other=data["arm"]), package.Schema(columns), path)
    ran = dprct("table", trial, "--on", "confidential")
    assert ran.code == 2
    assert "arms 'arm' and 'other' overlap" in ran.err
    assert one_sentence(ran.err)
    assert "clustered by village" in ran.out  # the other table is made


def test_collinear_columns_are_named(trial: Path, dprct: Callable[..., Run]) -> None:
    append(trial, 'covariates = ["age", "I(age * 2)"]\n')
    ran = dprct("table", trial, "--on", "confidential")
    assert ran.code == 0
    text = " ".join(ran.out.split())
    assert "Omitted as linear combinations of columns before them: I(age * 2)." in text


def test_rows_without_a_cluster_are_counted(trial: Path, dprct: Callable[..., Run]) -> None:
    data, _ = package.read_dta(trial.parent / "trial.dta")
    change_data(trial, village=data["village"].where(np.arange(800) >= 10))
    ran = dprct("table", trial, "--on", "confidential")
    assert "Left out for want of a cluster: 10 rows." in " ".join(ran.out.split())


def test_a_table_that_the_protected_file_cannot_give_spoils_no_other(
    trial: Path, dprct: Callable[..., Run]
) -> None:
    append(trial, '[[table]]\nname = "nobody"\noutcomes = ["got"]\narms = ["age"]\n')
    assert dprct("protect", trial, "--yes").code == 0
    readme = (trial.parent / README).read_text("utf-8")
    assert "| nobody | no: arm 'age' holds numbers other than 0 and 1" in readme
    plain = dprct("table", trial)
    assert plain.code == 2
    assert "table 'nobody' cannot be made" in plain.err
    assert "Main effects" in plain.out
    assert dprct("table", trial, "--expect", trial.parent / EXPECTED).code == 0


@pytest.mark.parametrize("name", ["README-data.md", "expected.csv"])
def test_papers_under_plain_names_are_nobodys_and_stay(
    name: str, trial: Path, dprct: Callable[..., Run]
) -> None:
    own = trial.parent / name
    own.write_text("mine\n", encoding="utf-8")
    assert dprct("protect", trial, "--yes").code == 0
    assert own.read_text("utf-8") == "mine\n"


@pytest.mark.parametrize("kind", ["file", "link", "capitals"])
@pytest.mark.parametrize("name", ["README-data.md", "expected.csv", "certificate.txt",
                                  "certificate.html", "certificate.json"])  # fmt: skip
def test_what_is_not_of_the_release_is_not_replaced_and_nothing_spent(
    name: str, kind: str, trial: Path, dprct: Callable[..., Run], tmp_path: Path
) -> None:
    own = trial.parent / f"trial_protected.{name}"
    if kind == "capitals":
        own = own.with_name(own.name.upper())
    if kind == "link":
        (tmp_path / "far").write_text("mine\n", encoding="utf-8")
        own.symlink_to(tmp_path / "far")
    else:
        own.write_text("mine\n", encoding="utf-8")
    before = sorted(path.name for path in trial.parent.iterdir())
    ran = dprct("protect", trial, "--yes")
    assert ran.code == 2
    assert ("are one file on some disks" if kind == "capitals" else "is not of this release") in (
        ran.err
    )
    assert own.read_text("utf-8") == "mine\n"
    assert sorted(path.name for path in trial.parent.iterdir()) == before


def test_papers_are_not_touched_when_nothing_is_written(
    made: Path, dprct: Callable[..., Run]
) -> None:
    assert dprct("protect", made, "--yes").code == 0
    papers = [made.parent / name for name in (README, EXPECTED)]
    before = [(path.read_bytes(), path.stat().st_mtime_ns) for path in papers]
    assert dprct("protect", made, "--yes").code == 3  # the budget is spent
    assert [(path.read_bytes(), path.stat().st_mtime_ns) for path in papers] == before


def test_two_studies_in_one_folder_keep_their_papers_apart(
    made: Path, dprct: Callable[..., Run]
) -> None:
    other = made.parent / "second.toml"
    text = made.read_text("utf-8").replace("trial-1", "trial-2")
    text = text.replace("epsilon = 4.0", 'epsilon = 4.0\noutput = "second.dta"')
    text = text.replace("[budget]", '[budget]\nseparate = "a test of two studies"')
    other.write_text(text, encoding="utf-8")
    assert dprct("protect", other, "--yes").code == 0
    for study, expected in ((made, EXPECTED), (other, "second.expected.csv")):
        assert dprct("table", study, "--expect", study.parent / expected).code == 0


def test_the_papers_hold_nothing_of_a_withheld_column(
    trial: Path, dprct: Callable[..., Run]
) -> None:
    change_data(trial, w=float(SECRET))
    assert dprct("protect", trial, "--yes").code == 0
    papers = (
        README,
        EXPECTED,
        "trial_protected.certificate.json",
    )
    texts = {name: (trial.parent / name).read_text("utf-8") for name in papers}
    assert not any(SECRET in text for text in texts.values())
    certificate = json.loads(texts["trial_protected.certificate.json"])
    assert certificate["file"]["sha256"] in texts[README]


@pytest.mark.parametrize("form", [[], ["--latex"], ["--html"]])
def test_the_lines_of_the_guarantee_can_be_left_out(
    made: Path, dprct: Callable[..., Run], form: list[str]
) -> None:
    whole, short = (dprct("table", made, *form, *more) for more in ([], ["--no-guarantee"]))
    assert "differential privacy" in whole.out
    assert short.code == 0
    assert "differential privacy" not in short.out
    assert "Observations" in short.out
    assert len(short.out) < len(whole.out)


def test_a_table_is_as_wide_as_the_terminal(
    made: Path, dprct: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    def widest() -> int:
        lines = dprct("table", made).out.splitlines()
        return max(len(line) for line in lines if "withheld" not in line and "needs" not in line)

    assert widest() > 60  # into a file or a pipe
    monkeypatch.setattr("dprct.results.typeset.terminal_width", lambda: 60)
    assert widest() <= 60
