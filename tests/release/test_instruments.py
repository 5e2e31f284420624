"""Two-stage least squares on a calibrated file: the ratio of two released effects, no more."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct.certificate.valid_regressions import Specification, Validity
from dprct.dofile import Regression
from dprct.schema import Column, Schema
from dprct.study.added_do_files import stata_line
from dprct.study.expected_regressions import entries
from dprct.study.package_page import OnFile, cells_of
from dprct.study.study import load_study
from dprct.study.verdicts import Released, of_file, of_study, of_table, verdicts

if TYPE_CHECKING:
    from pathlib import Path

    from dprct import Release

N = 1200
COLUMNS = (
    Column("score", bounds=(-6, 8), missing=(), fate="modelled"),
    Column("joined", "byte", levels=(0, 1), bounds=(0, 1), missing=(), fate="modelled"),
    Column("offer", "byte", levels=(0, 1), missing=(), fate="public"),
    Column("urban", "byte", levels=(0, 1), missing=(), fate="modelled"),
)


@pytest.fixture(scope="module", params=[0, 1e-6], ids=["pure", "joint"])
def release(request: pytest.FixtureRequest) -> Release:
    rng = np.random.default_rng(8)
    offer = rng.permutation(np.repeat([0.0, 1.0], N // 2))
    keen = rng.normal(size=N)
    joined = ((keen > 0.5) | ((offer == 1) & (keen > -0.6))).astype(float)
    score = (1.5 * joined + keen + rng.normal(size=N)).clip(-6, 8)
    urban = rng.integers(0, 2, N).astype(float)
    data = pd.DataFrame({"score": score, "joined": joined, "offer": offer, "urban": urban})
    model = dprct.Calibrated.from_formula(
        "score + joined ~ offer + urban", data, Schema(COLUMNS), treatment="offer",
        covariate_release="filler",
    )  # fmt: skip
    return model.fit(epsilon=8, delta=request.param)


def effects_of(release: Release) -> tuple[float, float]:
    score, joined = release.estimates.params.to_numpy(float)
    return float(score), float(joined)


@pytest.mark.parametrize(
    "formula", ["score ~ [joined ~ offer]", "score ~ urban + [joined ~ offer]"]
)
def test_the_coefficient_is_the_ratio_of_the_released_effects(
    release: Release, formula: str
) -> None:
    found = dprct.iv(formula, release)
    score, joined = effects_of(release)
    assert found.params["joined"] == pytest.approx(score / joined, rel=1e-9)
    (note,) = found.notes[-1:]
    if release.guarantee.budget.delta and "urban" in formula:
        assert note.startswith("Calibrated: the error of joined contains sampling and privacy")
        return
    assert note.startswith("Effects only: the coefficient of joined is the ratio")
    assert "their 95 % intervals are an interval at 90 %" in note


def delta_method(release: Release) -> float:
    """The error of the ratio of two released effects, from their released covariance."""
    (y, d), cov = effects_of(release), release.estimates.cov.to_numpy(float)
    direction = np.array([1, -y / d]) / d
    return float(np.sqrt(direction @ cov @ direction))


def test_the_error_is_that_of_the_ratio_where_both_were_released_together(
    release: Release,
) -> None:
    if not release.guarantee.budget.delta:
        # the residuals of the two outcomes are drawn apart: the error is that of a ratio of effects
        # without covariance, where the confidential ones have some, of either sign
        _is_apart(release)
        return
    table, schema = release.protected, release.schema
    found = dprct.iv("score ~ urban + [joined ~ offer]", release)
    assert found.not_carried == ("Intercept", "urban")
    assert found.bse["joined"] == pytest.approx(delta_method(release), rel=1e-9)
    y, d, z, x = (table[name].to_numpy(float) for name in ("score", "joined", "offer", "urban"))
    X, Z = (np.column_stack([one, np.ones(N), x]) for one in (d, z))
    inverse = np.linalg.inv(Z.T @ X)
    scores = Z * (y - X @ inverse @ Z.T @ y)[:, None]
    robust = N / (N - 3) * inverse @ scores.T @ scores @ inverse.T
    assert np.sqrt(robust[0, 0]) == pytest.approx(delta_method(release), rel=1e-9)
    # each outcome by itself is as it was
    for name, effect, error in zip(
        ("score", "joined"), effects_of(release), release.estimates.bse, strict=True
    ):
        alone = dprct.ols(f"{name} ~ offer + urban", table, schema)
        assert alone.params["offer"] == pytest.approx(effect, rel=1e-9)
        assert alone.bse["offer"] == pytest.approx(error, rel=1e-9)
    # only take-up is far enough from 0 to divide by, and only errors of its kind are right
    assert Validity.of(schema).ratios == ((0, 1),)
    for formula, options, words in (
        ("score ~ [joined ~ offer]", {}, "they are calibrated for all declared covariates"),
        (
            "score ~ urban + [joined ~ offer]",
            {"cov_type": "nonrobust"},
            "are calibrated, not nonrobust",
        ),
        ("joined ~ urban + [score ~ offer]", {}, "too near to 0 for its error"),
    ):
        (note,) = dprct.iv(formula, release, **options).notes[-1:]
        assert note.startswith("Effects only: ")
        assert words in note


def _is_apart(release: Release) -> None:
    found = dprct.iv("score ~ [joined ~ offer]", release)
    score, joined = effects_of(release)
    ratio, (of_score, of_joined) = score / joined, release.estimates.bse.to_numpy(float)
    apart = np.hypot(of_score, ratio * of_joined) / abs(joined)
    assert found.bse["joined"] == pytest.approx(apart, rel=0.15)
    together = (of_score + abs(ratio) * of_joined) / abs(joined)
    assert together > 1.05 * found.bse["joined"]


@pytest.mark.parametrize(
    ("taken", "terms", "instrument", "said"),
    [
        ("urban", ("offer",), "offer", "the effects on 'urban' were not released"),
        ("joined", ("urban",), "urban", "other than the one treatment (offer) were not released"),
        ("joined", ("urban", "offer"), "urban", "other than the one treatment"),
        ("joined", ("offer", "age"), "offer", "age was not declared"),
    ],
)
def test_other_instruments_are_artefacts(
    release: Release, taken: str, terms: tuple[str, ...], instrument: str, said: str
) -> None:
    # such a fit need not exist: outcomes of the file are orthogonal to its covariates
    valid = Validity.of(release.schema)
    assert valid is not None
    note = valid.ratio_note(
        Specification(outcome="score", terms=terms, rows=N), taken, [instrument]
    )
    assert note.startswith("Not calibrated: artefact.")
    assert said in note


def test_rows_of_a_subgroup_are_artefacts(release: Release) -> None:
    some = release.protected[release.protected["urban"] == 1]
    (note,) = dprct.iv("score ~ [joined ~ offer]", some, release.schema).notes[-1:]
    assert note.startswith("Not calibrated: artefact.")
    assert "subgroups were not released" in note


def test_a_do_file_and_the_report_on_it(release: Release, tmp_path: Path) -> None:
    (tmp_path / "late.do").write_text(
        "use trial\nivregress 2sls score urban (joined = offer), robust\n"
    )
    fates = {column.name: column.fate or "" for column in COLUMNS}
    found = of_table([tmp_path / "late.do"], "trial.dta", release.protected, release.schema, fates)
    (one,) = found
    assert one.kind == "effects only"
    if release.guarantee.budget.delta:
        assert one.remedy == "run it with the option small"
        (tmp_path / "late.do").write_text(
            "use trial\nivregress 2sls score urban (joined = offer), vce(robust) small\n"
            "ivreg score urban (joined = offer), robust\n"
            "ivreg score urban (joined = offer)\n"
        )
        place = [tmp_path / "late.do"]
        found = of_table(place, "trial.dta", release.protected, release.schema, fates)
        assert [one.kind for one in found] == ["valid", "valid", "effects only"]
        line = "ivregress 2sls score urban (joined = offer), vce(robust) small"
        assert stata_line(found[0]) == line
        listed = entries(found, OnFile(release.protected, release.schema))
        errors = [one["value"] for one in listed if one["statistic"] == "std.error"]
        assert errors == pytest.approx([delta_method(release)] * 2, rel=1e-9)
    else:
        assert "regress score and joined on offer with vce(robust)" in one.remedy
    cells, failed = cells_of(found, OnFile(release.protected, release.schema), 0.05)
    score, joined = effects_of(release)
    assert not failed
    assert cells[0, "joined"].estimate == pytest.approx(score / joined, rel=1e-9)


def test_outcomes_with_other_rows_are_not_divided(release: Release, tmp_path: Path) -> None:
    table = release.protected.copy()
    table.loc[table.index[:3], "joined"] = np.nan
    (tmp_path / "late.do").write_text("use trial\nivreg score (joined = offer), robust\n")
    fates = {column.name: column.fate or "" for column in COLUMNS}
    (one,) = of_table([tmp_path / "late.do"], "trial.dta", table, release.schema, fates)
    assert one.kind == "artefact"
    assert "not known that score and joined have values in the same ones" in one.reason
    # a file that lost the column still says that it was calibrated for it
    less = table.drop(columns="joined")
    (one,) = of_table([tmp_path / "late.do"], "trial.dta", less, release.schema, fates)
    assert one.kind != "effects only"


def test_two_arms_are_no_ratio() -> None:
    valid = Validity(outcomes=("y", "d"), arms=("z", "w"))
    both = frozenset({"y", "d"})
    row = Regression("a.do", 1, "ivreg", "y", ("d",), endogenous=("d",), instruments=("z",),
                     dataset="a.dta")  # fmt: skip
    file = Released("a.dta", dict.fromkeys("ydzw", "modelled"), valid, together=(both,))
    assert verdicts([row], file)[0].kind == "artefact"
    single = replace(file, valid=replace(valid, arms=("z",)))
    assert verdicts([row], single)[0].kind == "effects only"
    factor = replace(file, valid=replace(valid, arms=("C(z)",)))
    assert verdicts([replace(row, instruments=("i.z",))], factor)[0].kind == "artefact"


STUDY = """\
version = 1
data = "clinic.dta"
dataset_id = "clinic"
[release]
method = "calibrated"
epsilon = 6.0
formula = "weight + visits ~ letter"
[design]
kind = "simple"
arms = ["letter"]
[header]
confirm = true
[columns.weight]
fate = "modelled"
bounds = [-5, 5]
missing = "never"
[columns.visits]
fate = "modelled"
bounds = [0, 3]
levels = [0, 1, 2, 3]
missing = "never"
[columns.letter]
fate = "public"
levels = [0, 1]
missing = "never"
"""


def test_a_plan_and_its_file_say_the_same(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    letter = rng.permutation(np.repeat([0.0, 1.0], 150))
    visits = rng.integers(0, 3, 300) + letter
    weight = rng.normal(-0.3 * visits, 1).clip(-5, 5)
    frame = pd.DataFrame({"weight": weight, "visits": visits, "letter": letter})
    dprct.write_dta(frame, Schema.from_frame(frame), tmp_path / "clinic.dta")
    (tmp_path / "study.toml").write_text(STUDY)
    do = tmp_path / "late.do"
    do.write_text("use clinic\nivreg2 weight (visits = letter), robust\n")
    study = load_study(tmp_path / "study.toml")
    planned = of_study([do], study)
    schema = study.declared(Schema.from_dta(study.data))
    model = dprct.Calibrated.from_formula(
        "weight + visits ~ letter", frame, schema, treatment="letter"
    )
    model.fit(epsilon=6).write_dta(tmp_path / "clinic_protected.dta")
    found = of_file([do], tmp_path / "clinic_protected.dta")
    assert [str(one) for one in planned] == [str(one) for one in found]
    assert found[0].kind == "effects only"
