"""A calibrated file of three arms: regressions on the rows of the control group and one of them."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct.certificate.valid_regressions import Validity
from dprct.io.stata import write_dta
from dprct.schema import Column, Schema
from dprct.study.added_do_files import stata_line
from dprct.study.do_files import read_do
from dprct.study.expected_regressions import entries
from dprct.study.package_page import OnFile
from dprct.study.valid_files import STATA, R, valid_texts
from dprct.study.verdicts import Verdict, of_table

if TYPE_CHECKING:
    from dprct import Release

EITHER = {"levels": (0.0, 1.0), "exclusive": "arm", "missing": (), "fate": "public"}
SCHEMA = Schema((
    Column("meals", bounds=(0, 3), sd=0.3, missing=(), fate="modelled"),
    Column("cash", "byte", **EITHER), Column("food", "byte", **EITHER),
    Column("village", "int", missing=(), fate="public"),
))  # fmt: skip
DELTA = {"pure": 0, "joint": 1e-6, "clusters": 0}

pytestmark = pytest.mark.filterwarnings("ignore::dprct.errors.DprctWarning")


def fitted(delta: float, sizes: tuple[int, int, int], *, clustered: bool = False) -> Release:
    rng = np.random.default_rng(11)
    arm = np.repeat([0, 1, 2], sizes)
    data = pd.DataFrame({
        "meals": np.clip(1 + 0.3 * arm + 0.3 * rng.normal(size=len(arm)), 0, 3),
        "cash": (arm == 1) * 1.0, "food": (arm == 2) * 1.0, "village": np.arange(len(arm)) // 6,
    })  # fmt: skip
    design = dprct.Cluster(["cash", "food"], cluster="village") if clustered else None
    model = dprct.Calibrated(
        data, SCHEMA, outcome="meals", treatment=["cash", "food"], assignment=design,
    )  # fmt: skip
    return model.fit(6, delta)


@pytest.fixture(scope="module")
def releases() -> dict[str, Release]:
    return {
        name: fitted(delta, (240, 240, 240), clustered=name == "clusters")
        for name, delta in DELTA.items()
    }


@pytest.mark.parametrize("name", [*DELTA])
def test_control_and_one_arm_return_the_released_effect_and_error(
    name: str, releases: dict[str, Release]
) -> None:
    release = releases[name]
    rows, valid = release.protected, Validity.of(release.schema)
    assert valid is not None
    assert valid.sizes is not None
    kind = {"cov_type": "CR1", "cluster": "village"} if name == "clusters" else {}
    every = dprct.ols("meals ~ cash + food", rows, release.schema, **kind)
    for place, (arm, other) in enumerate((("cash", "food"), ("food", "cash")), 1):
        fit = dprct.ols(f"meals ~ {arm}", rows[rows[other] == 0], release.schema, **kind)
        assert fit.params[arm] == pytest.approx(release.estimates.params[arm], abs=1e-9)
        factor = valid.sizes.factor((0, place), 0)
        # of arms of one size it is 1; 80 clusters instead of 120 make it more
        assert factor == pytest.approx(1, abs=1e-12) if name != "clusters" else factor > 1
        assert fit.bse[arm] == pytest.approx(factor * every.bse[arm], rel=1e-9)
        assert fit.bse[arm] >= release.estimates.bse[arm] * (1 - 1e-9)
        assert fit.notes[0].startswith(f"Calibrated: the errors of {arm} contain")


def test_larger_arms_have_smaller_errors_which_is_said() -> None:
    release = fitted(1e-6, (400, 160, 160))
    rows = release.protected
    fit = dprct.ols("meals ~ cash", rows[rows["food"] == 0], release.schema)
    assert fit.params["cash"] == pytest.approx(release.estimates.params["cash"], abs=1e-9)
    assert "vce(robust) finds 0.99970 times those on all rows" in fit.notes[0]
    found = verdicts_of(release, "regress meals cash if food == 0, vce(robust)")
    assert [one.kind for one in found] == ["effects only"]
    assert found[0].remedy == "run it on all rows and arms with vce(robust)"
    assert "if food" not in valid_texts(rows, release.schema, "aid", "aid.dta")[STATA]


def verdicts_of(release: Release, *lines: str) -> list[Verdict]:
    with tempfile.TemporaryDirectory() as folder:
        do = Path(folder) / "a.do"
        do.write_text("use aid.dta\n" + "\n".join(lines) + "\n")
        fates = {column.name: str(column.fate) for column in SCHEMA.columns}
        return of_table([do], "aid.dta", release.protected, release.schema, fates)


@pytest.mark.parametrize(
    ("condition", "kind"),
    [
        ("food == 0", "valid"), ("food != 1", "valid"), ("(food==0 & cash<2)", "valid"),
        ("cash == 1 | (food == 0)", "valid"), ("cash==1 | food==1", "effects only"),
        ("food == 1", "artefact"), ("food == 0 & village < 9", "artefact"),
        ("(cash==1 | cash==0) & food==0", "valid"), ("food == 0 in 1/90", "artefact"),
    ],
)  # fmt: skip
def test_verdicts_read_conditions_on_arms(
    condition: str, kind: str, releases: dict[str, Release]
) -> None:
    (found,) = verdicts_of(releases["joint"], f"regress meals cash if {condition}, vce(robust)")
    assert found.kind == kind, found.reason


def test_a_condition_on_an_arm_that_the_do_file_changes_is_not_read(
    releases: dict[str, Release],
) -> None:
    (found,) = verdicts_of(
        releases["joint"], "replace food = 0 if village < 9",
        "regress meals cash if food == 0, vce(robust)",
    )  # fmt: skip
    assert found.kind == "artefact"


def test_numbers_of_a_verdict_are_those_of_its_rows(releases: dict[str, Release]) -> None:
    release = releases["joint"]
    found = verdicts_of(release, "reg meals cash if food == 0, vce(robust)")
    assert stata_line(found[0]) == "regress meals cash if food == 0, vce(robust)"
    listed = {
        e["statistic"]: e["value"]
        for e in entries(found, OnFile(release.protected, release.schema))
    }
    told = release.estimates
    assert listed["estimate"] == pytest.approx(told.params["cash"], abs=1e-9)
    assert listed["std.error"] == pytest.approx(told.bse["cash"], rel=1e-3)


def test_valid_files_run_them(releases: dict[str, Release], tmp_path: Path, rscript: str) -> None:
    release = releases["clusters"]
    texts = valid_texts(release.protected, release.schema, "aid", "aid.dta")
    (tmp_path / STATA).write_text(texts[STATA])
    rows = read_do([tmp_path / STATA])
    assert [one.sample for one in rows] == ["", "food == 0", "cash == 0"]
    assert "subset = food == 0)" in texts[R]
    command = [rscript, "-e", "quit(status = !requireNamespace('haven', quietly = TRUE))"]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("needs the R package haven")
    write_dta(release.protected, release.schema, tmp_path / "aid.dta")
    (tmp_path / R).write_text(texts[R])
    ran = subprocess.run([rscript, R], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
