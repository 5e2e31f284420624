"""A study file with a published method: asked for by name, accepted by hand, never by mistake."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct.cli import main
from dprct.errors import StudyError
from dprct.schema import Column, Schema
from dprct.study.study import load_study

STUDY = """
version = 1
data = "survey.dta"
dataset_id = "survey"
[release]
method = "published_mv_histogram"
epsilon = 1.0
{more}
[header]
confirm = true
[columns.arm]
fate = "modelled"
[columns.income]
fate = "modelled"
"""


@pytest.fixture
def study(tmp_path):
    def write(more=""):
        rng = np.random.default_rng(1)
        data = pd.DataFrame({"arm": np.arange(60.0) % 2, "income": rng.normal(0, 1, 60)})
        schema = Schema((Column("arm", "byte"), Column("income")))
        dprct.write_dta(data, schema, tmp_path / "survey.dta")
        path = tmp_path / "study.toml"
        path.write_text(STUDY.format(more=more), encoding="utf-8")
        return path

    return write


def ran(*arguments):
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return ended.value.code


def test_it_needs_no_bounds(study):
    assert ran("check", study()) == 0


def test_the_command_line_refuses_until_it_is_accepted(study, tmp_path, capsys):
    assert ran("protect", study(), "--yes") == 3
    assert "--accept-no-guarantee" in " ".join(capsys.readouterr().err.split())
    assert sorted(p.name for p in tmp_path.iterdir()) == ["study.toml", "survey.dta"]


def test_then_it_writes_a_file_that_says_so_and_no_ledger(study, tmp_path, capsys):
    assert ran("protect", study(), "--yes", "--accept-no-guarantee") == 0
    written = {file.name for file in tmp_path.iterdir()}
    assert written == {
        "survey_no_dp_guarantee.README-data.md",
        "study.toml",
        "survey.dta",
        "survey.openings.jsonl",
        "survey_no_dp_guarantee.certificate.html",
        "survey_no_dp_guarantee.certificate.json",
        "survey_no_dp_guarantee.certificate.txt",
        "survey_no_dp_guarantee.dta",
    }
    readme = " ".join(
        (tmp_path / "survey_no_dp_guarantee.README-data.md").read_text("utf-8").split()
    )
    assert "synthetic and NOT a protected file" in readme
    assert "No differential-privacy guarantee, because" in readme
    assert "charges the ledger" not in readme
    said = " ".join(capsys.readouterr().out.split())
    assert "NO DP GUARANTEE: nothing is promised" in said
    assert "to the ledger of" not in said


def test_a_strict_method_needs_no_such_word(study):
    assert load_study(study()).promises is False
    text = study().read_text("utf-8").replace("published_mv_histogram", "marginals")
    other = study()
    other.write_text(text, encoding="utf-8")
    assert load_study(other).promises
    assert load_study(other).output.name == "survey_protected.dta"


def test_an_output_that_hides_it_is_refused(study):
    with pytest.raises(StudyError, match=r"name it 'mine_no_dp_guarantee\.dta'"):
        load_study(study('output = "mine.dta"'))
    named = load_study(study('output = "mine_no_dp_guarantee.dta"'))
    assert named.output.name == "mine_no_dp_guarantee.dta"


def test_zeta_is_passed_on(study, capsys):
    assert ran("plan", study("zeta = 0.5")) == 0
    assert "8 bins (for columns with more than 7.7 values)" in " ".join(
        capsys.readouterr().out.split()
    )
