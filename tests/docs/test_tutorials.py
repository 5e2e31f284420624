"""The tutorial on a paper is walked through as it is written; how-to pages keep what they show."""

from __future__ import annotations

import re
import shlex
import shutil
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct.cli import main
from dprct.release.verify import verify

DOCS = Path(__file__).resolve().parents[2] / "docs"


def blocks(page: str, kind: str) -> list[str]:
    text = (DOCS / page).read_text("utf-8")
    return re.findall(rf"^```{kind}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def matches(printed: str, said: str) -> bool:
    """Whether output is as said, where three dots stand for anything."""
    parts = [re.escape(part) for part in said.split("...")]
    return re.fullmatch(".*".join(parts), printed, re.DOTALL) is not None


def ran(block: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Run the command of a block, which prints what the block says; return the command."""
    command, _, printed = block.partition("\n")
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main(shlex.split(command.removeprefix("$ dprct ")))
    wrote = capsys.readouterr()
    assert not ended.value.code, command
    assert matches((wrote.out + wrote.err).rstrip("\n"), printed.rstrip("\n")), command
    return command


def test_a_paper_goes_from_do_file_to_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("rich.console.Console.is_terminal", False)
    page = "paper_to_package.md"
    (tmp_path / "replication").mkdir()
    shutil.copy(DOCS.parent / "data" / "nsw_mixtape.dta", tmp_path / "replication")
    (program,) = blocks(page, "stata")
    (tmp_path / "replication" / "tables.do").write_text(program)
    (study,) = blocks(page, "toml")
    said = blocks(page, "console")
    assert len(said) == 6
    for block in said:
        command = ran(block, capsys)
        if "--draft" in command:  # the reader fills in the blanks
            (tmp_path / "study.toml").write_text(study)
    package = tmp_path / "nsw_mixtape_package"
    text = (DOCS / page).read_text("utf-8")
    named = re.findall(r"^\| `([\w.-]+)`", text[text.index("| in `nsw_mixtape_package/`") :], re.M)
    assert len(named) == 8
    assert all((package / name).exists() for name in named)
    assert (package / "tables.do").read_text() == program
    data, schema = dprct.read_dta(package / "nsw_mixtape.dta")
    assert dprct.ols("re78 ~ treat", data, schema).nobs == 445
    assert verify(package / "nsw_mixtape.dta")


def test_an_observational_study_goes_from_study_file_to_regressions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("rich.console.Console.is_terminal", False)
    page = "observational_study.md"
    shutil.copy(DOCS.parent / "data" / "thornton_hiv.dta", tmp_path)
    (study,) = blocks(page, "toml")
    (tmp_path / "study.toml").write_text(study)
    said = blocks(page, "console")
    assert len(said) == 5
    for block in said:
        ran(block, capsys)
    text = (DOCS / page).read_text("utf-8")
    data, schema = dprct.read_dta("thornton_hiv.dta")
    plain = dprct.ols("got ~ distvct + age", data, schema)
    moments = dprct.Moments.load("thornton_hiv.moments.json")
    private = moments.ols("got ~ distvct + age")
    said_of_it = f"it is {plain.params['distvct']:.4f} with {plain.bse['distvct']:.4f}"
    assert said_of_it in text
    # noise of sd .0051, of which 8 fail once in 1e15 releases; clipping moves it by less than .003
    assert abs(private.params["distvct"] - plain.params["distvct"]) < 8 * 0.0051 + 0.003
    assert (tmp_path / "thornton_hiv.moments.certificate.html").exists()
    assert verify(Path("thornton_hiv.moments.json"))


def test_the_trial_of_clusters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (block,) = blocks("clusters.md", "python")
    rng = np.random.default_rng(7)
    school = np.repeat(np.arange(1.0, 61.0), 20)
    treat = (school % 2 == 0) * 1.0
    score = np.clip(50 + 8 * treat + 4 * rng.normal(size=61)[school.astype(int)], 0, 100)
    rows = pd.DataFrame({"score": score + rng.normal(0, 9, 1200), "treat": treat, "school": school})
    dprct.write_dta(rows.clip(0, 100), dprct.Schema.from_frame(rows), tmp_path / "schools.dta")
    exec(compile(block, "clusters.md", "exec"), names := {})
    low, high = names["effect"].conf_int().loc["treat"]
    assert low < 8 < high  # wider than 4 standard errors of the confidential difference
    assert high - low < 25
    assert "correlation of score, 0.2" in " ".join(capsys.readouterr().out.split())


def test_the_shared_budget_is_a_study_file() -> None:
    (block,) = blocks("several_releases.md", "toml")
    said = tomllib.loads(block)
    assert said["release"]["epsilon"] < said["budget"]["epsilon"]
    assert set(said) == {"dataset_id", "release", "budget"}


@pytest.mark.parametrize(
    ("words", "command"),
    [
        ("--approved", "protect"),
        ("--resume", "protect"),
        ("--html", "plan"),
        ("--expect", "table"),
        ("--do", "verify"),
    ],
)
def test_the_options_that_how_to_pages_name_exist(
    words: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pages = ("answering_a_data_editor.md", "several_releases.md")
    text = " ".join((DOCS / page).read_text("utf-8") for page in pages)
    assert words in text
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert words in capsys.readouterr().out
