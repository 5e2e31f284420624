"""valid.do and valid.R: every regression that is valid on a calibrated file, with its numbers."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct.certificate.valid_regressions import Specification, Validity, terms_of
from dprct.cli import main
from dprct.formula import parse
from dprct.study import read_do
from dprct.study.valid_files import STATA, R, valid_texts
from dprct.study.verdicts import of_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

STUDY = """
version = 1
data = "farms.dta"
dataset_id = "farms"
[release]
method = "calibrated"
epsilon = 6.0
formula = "harvest + loans ~ seed + tools + age + C(soil) + I(age ** 2)"
[design]
kind = "simple"
arms = ["seed", "tools"]
shares = [0.3, 0.3]
[calibrated]
covariate_release = "filler"
specifications = ["", "age + age:land"]
[header]
confirm = true
[columns]
harvest = {fate = "modelled", bounds = [0, 40], missing = "never"}
loans = {fate = "modelled", bounds = [0, 10], missing = "never"}
seed = {fate = "public", levels = [0, 1], missing = "never"}
tools = {fate = "public", levels = [0, 1], missing = "never"}
age = {fate = "modelled", bounds = [18, 65], missing = "never"}
land = {fate = "modelled", bounds = [0, 9], missing = "never"}
soil = {fate = "modelled", levels = ["clay", "loam", "sand"], missing = "never"}
"""
SETS = [("age", "C(soil)", "I(age ** 2)"), (), ("age", "age:land")]


def farms() -> tuple[pd.DataFrame, dprct.Schema]:
    rng, n = np.random.default_rng(8), 900
    arm = rng.integers(0, 3, n)
    data = pd.DataFrame({
        "harvest": rng.uniform(0, 40, n), "loans": rng.uniform(0, 10, n),
        "seed": (arm == 1).astype(float), "tools": (arm == 2).astype(float),
        "age": rng.integers(18, 66, n).astype(float), "land": rng.uniform(0, 9, n),
        "soil": rng.choice(["clay", "loam", "sand"], n),
    })  # fmt: skip
    types = {"seed": "byte", "tools": "byte", "age": "byte", "soil": "str4"}
    return data, dprct.Schema(
        tuple(dprct.Column(name, types.get(name, "double")) for name in data.columns)
    )


@pytest.fixture
def study(tmp_path: Path) -> Path:
    dprct.write_dta(*farms(), tmp_path / "farms.dta")
    (tmp_path / "farms.toml").write_text(STUDY, "utf-8")
    return tmp_path / "farms.toml"


@pytest.fixture
def protected(study: Path, command_line: Callable[..., Any]) -> Path:
    ran = command_line(main)("protect", study, "--yes")
    assert ran.code == 0, ran.err
    for name in (STATA, R):
        assert re.search(rf"^wrote \S*farms_protected\.{name}$", ran.out, re.MULTILINE)
    return study.with_name("farms_protected.dta")


def has_haven(rscript: str) -> bool:
    command = [rscript, "-e", "quit(status = !requireNamespace('haven', quietly = TRUE))"]
    return not subprocess.run(command, capture_output=True, check=False).returncode


def run(rscript: str, script: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [rscript, script.name], cwd=script.parent, capture_output=True, text=True, check=False
    )


def text(protected: Path, name: str) -> str:
    return protected.with_suffix(f".{name}").read_text("utf-8")


def test_the_do_file_runs_every_declared_regression(protected: Path) -> None:
    """As our own reader of do-files reads it."""
    found = read_do([protected.with_suffix(f".{STATA}")])
    assert [one.outcome for one in found] == ["harvest"] * 5 + ["loans"] * 5
    assert [one.sample for one in found] == ["", "", "", "tools == 0", "seed == 0"] * 2
    assert {one.vce for one in found} == {"robust"}
    assert [len(one.regressors) for one in found] == [5, 2, 4, 1, 1] * 2
    lines = text(protected, STATA).splitlines()
    assert lines.count("generate double _valid2 = age ^ 2 if !missing(age)") == 1
    assert lines.count("egen _valid1 = group(soil)") == 1
    assert "regress loans seed tools age c.age#c.land, vce(robust)" in lines


def test_its_numbers_are_those_of_the_regressions(protected: Path) -> None:
    told = [float(x) for x in re.findall(r"reldif\(\S+, (\S+)\)", text(protected, STATA))]
    expected, (rows, schema) = [], dprct.read_dta(protected)
    for outcome in ("harvest", "loans"):
        for part in SETS:
            fit = dprct.ols(f"{outcome} ~ {' + '.join(('seed', 'tools', *part))}", protected)
            for arm in ("seed", "tools"):
                expected += [fit.params[arm], fit.bse[arm]]
        for arm, other in (("seed", "tools"), ("tools", "seed")):
            fit = dprct.ols(f"{outcome} ~ {arm}", rows[rows[other] == 0], schema)
            expected += [fit.params[arm], fit.bse[arm]]
    assert told == pytest.approx(expected, rel=1e-10)
    assert len(told) == 32


def test_what_it_calls_valid_the_file_calls_valid(protected: Path) -> None:
    valid = Validity.of(dprct.read_dta(protected)[1])
    assert valid is not None
    for line in text(protected, R).splitlines():
        if given := re.match(r"fit <- lm\((.*) ~ (.*), data = d\)", line):
            right = given[2].replace("factor(", "C(").replace("^", "**")
            spec = Specification(
                outcome=given[1], terms=terms_of(parse(f"~ {right}", functions=True))
            )
            assert valid.reason(spec) is None


def test_r_finds_the_numbers_and_stops_at_others(protected: Path, rscript: str) -> None:
    script = protected.with_suffix(f".{R}")
    if not has_haven(rscript):
        pytest.skip("needs the R package haven")
    ran = run(rscript, script)
    assert ran.returncode == 0, ran.stderr
    whole = script.read_text("utf-8")
    for number in re.findall(r"agrees\(errors\(fit\).*?, c\((\S+), ", whole)[:1]:
        script.write_text(whole.replace(number, f"{float(number) * 1.001:.12g}", 1), "utf-8")
        ran = run(rscript, script)
        assert ran.returncode != 0
        assert "agrees" in ran.stderr


def test_clusters_and_levels_of_text(rscript: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    village = np.repeat(np.arange(40), 12)
    data = pd.DataFrame({
        "y": rng.uniform(0, 1, 480), "t": (village % 2).astype(float),
        "village": village.astype(float), "region": np.where(rng.random(480) < 0.5, "n", "s"),
    })  # fmt: skip
    never: Any = {"missing": ()}
    schema = dprct.Schema((
        dprct.Column("y", bounds=(0, 1), fate="modelled", **never),
        dprct.Column("t", "byte", levels=(0, 1), fate="public", **never),
        dprct.Column("village", "int", bounds=(0, 39), fate="public", **never),
        dprct.Column("region", "str1", levels=("n", "s"), fate="modelled", **never),
    ))  # fmt: skip
    release = dprct.Calibrated.from_formula(
        "y ~ t + C(region)", data, schema, assignment=dprct.Cluster("t", cluster="village"),
        covariate_release="filler",
    ).fit(6, confirm=True)  # fmt: skip
    release.write_dta(tmp_path / "v.dta")
    made = valid_texts(*dprct.read_dta(tmp_path / "v.dta"), "v", "v.dta")
    assert "regress y t i._valid1, vce(cluster village)" in made[STATA].splitlines()
    (tmp_path / "v.R").write_text(made[R], "utf-8")
    if has_haven(rscript):
        ran = run(rscript, tmp_path / "v.R")
        assert ran.returncode == 0, ran.stderr


def test_levels_of_a_text_have_regressions_of_their_own(rscript: str, tmp_path: Path) -> None:
    rng, n = np.random.default_rng(4), 240
    soil = np.repeat(["loam, wet", "sand"], [80, 160])
    data = pd.DataFrame({
        "y": rng.uniform(0, 1, n), "w": rng.uniform(0, 1, n), "t": np.arange(n) % 2 * 1.0,
        "soil": soil, "age": rng.uniform(18, 65, n),
    })  # fmt: skip
    never: Any = {"missing": ()}
    schema = dprct.Schema((
        dprct.Column("y", bounds=(0, 1), **never), dprct.Column("w", bounds=(0, 1), **never),
        dprct.Column("t", "byte", levels=(0, 1), **never),
        dprct.Column("soil", "str9", levels=("loam, wet", "sand"), **never),
        dprct.Column("age", bounds=(18, 65), **never),
    ))  # fmt: skip
    release = dprct.Calibrated(
        data, schema, outcome=["y", "w"], treatment="t", covariates=["age"], subgroups="soil",
        assignment=dprct.Block("t", block="soil"), covariate_release="filler",
    ).fit(6, 1e-6)  # fmt: skip
    file = tmp_path / "v.dta"
    release.write_dta(file)
    made = valid_texts(*dprct.read_dta(file), "v", "v.dta")
    lines = made[STATA].splitlines()
    commands = [line for line in lines if line.startswith("regress")]
    assert len(commands) == 6
    assert 'regress w t if soil == "loam, wet", vce(robust)' in commands
    (tmp_path / "v.do").write_text("\n".join(['use "v.dta"', *commands]), "utf-8")
    assert [one.kind for one in of_file([tmp_path / "v.do"], file)] == ["valid"] * 6
    told = [float(x) for x in re.findall(r"reldif\(_b\S+ (\S+)\)", made[STATA])]
    by, effects = release.estimates.effects(where="soil").params, release.estimates.params
    expected = []
    for y in ("y", "w"):
        expected += [
            effects[f"{y}: t"],
            by[f"{y} if soil=loam, wet: t"],
            by[f"{y} if soil=sand: t"],
        ]
    assert told == pytest.approx(expected, rel=1e-9)
    (tmp_path / "v.R").write_text(made[R], "utf-8")
    if has_haven(rscript):
        ran = run(rscript, tmp_path / "v.R")
        assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("name", [STATA, R])
def test_a_file_of_somebody_else_is_kept_and_nothing_is_charged(
    study: Path, command_line: Callable[..., Any], name: str
) -> None:
    place = study.with_name(f"farms_protected.{name}")
    place.write_text("mine", "utf-8")
    ran = command_line(main)("protect", study, "--yes")
    assert ran.code == 2
    assert place.name in ran.err
    assert place.read_text("utf-8") == "mine"
    assert not list(study.parent.glob("*.ledger*"))


def test_those_of_an_earlier_release_do_not_outlive_it(
    protected: Path, study: Path, command_line: Callable[..., Any]
) -> None:
    """A histogram in the place of a calibrated file has no valid regressions."""
    changed = re.sub(r"\[design\].*?\[header\]", "[header]", STUDY, flags=re.DOTALL)
    changed = re.sub(r"\nformula = .*", "", changed).replace('"calibrated"', '"marginals"')
    for name in ("harvest", "loans", "age", "land"):
        changed = changed.replace(
            f'{name} = {{fate = "modelled",', f'{name} = {{fate = "modelled", bins = 4,'
        )
    study.write_text(changed, "utf-8")
    for found in study.parent.glob("farms.ledger*"):  # as if it were the first release
        shutil.rmtree(found) if found.is_dir() else found.unlink()
    ran = command_line(main)("protect", study, "--yes", "--output", protected)
    assert ran.code == 0, ran.err
    assert not protected.with_suffix(f".{STATA}").exists()
    assert not protected.with_suffix(f".{R}").exists()


def test_rounded_outcomes_have_none() -> None:
    valid = Validity(outcomes=("y",), arms=("t",), rounded=True)
    schema = valid.stamped(dprct.Schema((dprct.Column("y"), dprct.Column("t", "byte"))))
    assert valid_texts(pd.DataFrame({"y": [0.0, 1], "t": [0.0, 1]}), schema, "d", "d.dta") == {}


@pytest.mark.parametrize("clustered", [False, True], ids=["people", "villages"])
def test_the_ratio_of_two_effects_is_two_stage_least_squares(
    clustered: bool, rscript: str, tmp_path: Path
) -> None:
    rng = np.random.default_rng(7)
    village = np.repeat(np.arange(60), 20)
    offer = village % 2 if clustered else rng.permutation(village % 2)
    keen = rng.normal(size=1200)
    loan = (keen > 1) | ((offer == 1) & (keen > -0.8))
    profit = (2 * loan + keen + rng.normal(size=1200)).clip(-5, 7)
    columns = {"profit": profit, "loan": loan, "offer": offer, "village": village}
    never: Any = {"missing": ()}
    schema = dprct.Schema((
        dprct.Column("profit", bounds=(-5, 7), sd=1.6, fate="modelled", **never),
        dprct.Column("loan", "byte", levels=(0, 1), sd=0.5, fate="modelled", **never),
        dprct.Column("offer", "byte", levels=(0, 1), fate="public", **never),
        dprct.Column("village", "int", bounds=(0, 59), fate="public", **never),
    ))  # fmt: skip
    complete, drawn = dprct.Complete("offer"), dprct.Cluster("offer", cluster="village", icc=0.05)
    release = dprct.Calibrated.from_formula(
        "profit + loan ~ offer", pd.DataFrame(columns).astype(float), schema,
        assignment=drawn if clustered else complete,
    ).fit(8, 1e-6)  # fmt: skip
    release.write_dta(tmp_path / "v.dta")
    made = valid_texts(*dprct.read_dta(tmp_path / "v.dta"), "v", "v.dta")
    errors = "vce(cluster village)" if clustered else "vce(robust)"
    lines = made[STATA].splitlines()
    place = lines.index(f"ivregress 2sls profit (loan = offer), {errors} small")
    (y, d), cov = release.estimates.params.to_numpy(), release.estimates.cov.to_numpy()
    direction = np.array([1, -y / d]) / d
    told = [float(one) for one in re.findall(r"\], (\S+)\)", "".join(lines[place + 1 : place + 3]))]
    assert told == pytest.approx([y / d, np.sqrt(direction @ cov @ direction)], rel=1e-9)
    (tmp_path / "v.R").write_text(made[R], "utf-8")
    if has_haven(rscript):
        ran = run(rscript, tmp_path / "v.R")
        assert ran.returncode == 0, ran.stderr
        (tmp_path / "v.R").write_text(made[R].replace(f"{told[1]:.12g}", f"{1.001 * told[1]:.12g}"))
        assert "agrees" in run(rscript, tmp_path / "v.R").stderr
