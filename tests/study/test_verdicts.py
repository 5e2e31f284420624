"""What regressions of do-files are worth on a protected file: each rule, and what the file says."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from dprct.certificate.valid_groups import ValidGroups
from dprct.certificate.valid_regressions import Validity
from dprct.cli import main
from dprct.dofile import Regression
from dprct.io.stata import read_dta, write_dta
from dprct.results.ols import ols
from dprct.schema import Column, Schema
from dprct.schema.conditions import Values
from dprct.study.added_do_files import stata_line
from dprct.study.do_files import read_do
from dprct.study.package_page import OnFile, cells_of
from dprct.study.study import load_study
from dprct.study.verdicts import Released, of_file, of_study, summary, verdicts

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FATES = {
    "yield": "modelled", "wet": "modelled", "seed": "public", "rain": "modelled",
    "slope": "modelled", "soil": "public", "owner": "drop", "diary": "withheld",
}  # fmt: skip
VALID = Validity(
    outcomes=("yield", "wet"),
    arms=("seed",),
    covariates=(("rain",), (), ("rain", "C(soil)")),
)
HEADER = Schema(tuple(Column(name) for name, fate in FATES.items() if fate != "drop"))


@pytest.fixture
def worth(tmp_path: Path) -> Callable[..., list[tuple[str, str]]]:
    """Return verdict and reason of each regression of a do-file on the file above."""

    def run(text: str, valid: Validity | None = VALID) -> list[tuple[str, str]]:
        (tmp_path / "a.do").write_text(text)
        rows = read_do(tmp_path / "a.do", HEADER, dataset="farms.dta")
        both = (frozenset({"yield", "wet"}),)
        found = verdicts(rows, Released("farms.dta", FATES, valid, together=both))
        return [(one.kind, one.reason) for one in found]

    return run


SOILS = ValidGroups(
    column="soil", levels=(1.0, 2.0, 3.0), rows=((40, 40),) * 3, control_errors=((0.1, 0.2),) * 3
)


def test_a_valid_regression_keeps_its_rows(tmp_path: Path) -> None:
    (tmp_path / "a.do").write_text(
        "use farms\nreg yield seed if (soil==2), r\nbysort soil: reg wet seed, r\nreg wet seed, r\n"
    )
    rows = read_do(tmp_path / "a.do", HEADER, treatments=["seed"], dataset="farms.dta")
    grouped = replace(VALID, covariates=((),), groups=SOILS)
    found = verdicts(
        rows, Released("farms.dta", FATES, grouped, values={"soil": Values((1.0, 2.0, 3.0))})
    )
    rng = np.random.default_rng(2)
    data = pd.DataFrame({
        "yield": rng.normal(size=60), "wet": rng.normal(size=60), "seed": np.arange(60) % 2 * 1.0,
        "soil": np.arange(60) // 20 + 1.0,
    })  # fmt: skip
    cells, failed = cells_of(found, OnFile(data, HEADER), 0.05)
    part = ols("yield ~ seed", data[data["soil"] == 2], HEADER)
    assert cells[0, "seed"].estimate == pytest.approx(part.params["seed"])
    assert cells[0, "seed"].error == pytest.approx(part.bse["seed"])
    assert failed == {1: "a regression for every level of soil"}
    assert [stata_line(one) for one in found] == [
        "regress yield seed if soil == 2, vce(robust)",
        "by soil, sort: regress wet seed, vce(robust)",
        "regress wet seed, vce(robust)",
    ]


@pytest.mark.parametrize(
    ("sample", "level"),
    [
        ('town=="A"', "A"), ('(town=="A & B" & round==2)', "A & B"), ("(round<3 & soil==2)", 2.0),
        ("soil==-1.5", -1.5), ("soil!=2", None), ("soil==2 & rain>1", None), ("soil==x", None),
        ('town=="A" | town=="B"', None), ("!(round==1) & soil==2", 2.0), ("soil==.", None),
    ],
)  # fmt: skip
def test_a_level_is_read_beside_what_holds_in_every_row(
    sample: str, level: str | float | None
) -> None:
    row = Regression("a.do", 1, "regress", outcome="yield", regressors=("seed",), sample=sample)
    column = "town" if "town" in sample else "soil"
    valid = replace(VALID, covariates=((),), groups=replace(SOILS, column=column))
    released = Released("farms.dta", FATES, valid, values={"round": Values((2.0,))})
    assert released.level_of(row) == level


def test_blocks_that_were_left_out_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.do").write_text(
        "use farms\nreg yield seed, r\nareg yield seed rain, absorb(soil) r\n"
        "reg yield i.soil rain seed, r\n"
    )
    rows = read_do(tmp_path / "a.do", HEADER, treatments=["seed"], dataset="farms.dta")
    for pooled in (frozenset[str](), frozenset({"soil"})):
        found = verdicts(rows, Released("farms.dta", FATES, VALID, pooled=pooled))
        assert [one.kind for one in found] == ["valid"] * 3
        assert ["on the original soil" in str(one.worth()) for one in found] == [
            False,
            *[bool(pooled)] * 2,
        ]


@pytest.mark.parametrize(
    ("text", "kind", "reason"),
    [
        ("reg yield seed if soil==2, r", "valid", ""),
        ("reg yield seed if (soil == 2), r", "valid", ""),
        ("bysort soil: reg yield seed, r", "valid", ""),
        ("keep if soil==1\nreg yield seed, r", "valid", ""),
        ("reg yield c.seed##i.soil, r", "valid", ""),
        ("reg yield i.seed##i.soil, r", "valid", ""),
        ("reg yield seed##soil, r", "valid", ""),
        ("reg yield seed if soil==2", "effects only", "those of vce(robust) are calibrated"),
        ("ivreg yield (wet = seed) if soil==3, r", "effects only", "the ratio"),
        ("reg yield seed if soil==7, r", "artefact", "soil = 7 is not a released level"),
        ("reg yield seed if soil>1, r", "artefact", "uses the rows with soil"),
        ("reg yield seed if soil==2 & rain>1, r", "artefact", "subgroups were not released"),
        ("by rain: reg yield seed, r", "artefact", "by rain"),
        ("reg yield c.seed#i.soil, r", "artefact", "lacks the treatment"),
        ("reg yield c.seed##c.soil, r", "artefact", "interaction"),
        ("reg yield seed rain if soil==2, r", "artefact", "rain was not declared"),
    ],
)
def test_rows_of_a_released_group_are_valid(
    text: str, kind: str, reason: str, worth: Callable[..., list[tuple[str, str]]]
) -> None:
    grouped = replace(VALID, covariates=((), ("C(soil)",)), groups=SOILS)
    ((found, said),) = worth(f"use farms\n{text}", grouped)
    assert (found, reason in said) == (kind, True)
    ((without, _),) = worth(f"use farms\n{text}", replace(grouped, groups=None))
    assert without == "artefact"  # unless groups were released


@pytest.mark.parametrize(
    ("text", "kind", "reason"),
    [
        ("reg yield seed, r", "valid", ""),
        ("reg wet seed rain, vce(robust)", "valid", ""),
        ("reg yield rain i.soil seed, robust", "valid", ""),
        ("reg yield i.seed, r", "valid", ""),
        ("reg yield ib0.seed rain i.soil, r", "valid", ""),
        ("reg yield ib1.seed, r", "artefact", "lacks the treatment seed"),
        ("areg yield seed rain, absorb(soil) robust", "valid", ""),
        ("xi: reg yield seed rain i.soil, r", "valid", ""),
        ("reg yield seed, r level(95)", "valid", ""),
        ("set level 90\nreg yield seed, r l(95)", "valid", ""),
        ("set level 90\nreg yield seed, r", "effects only", "level(90) is asked for"),
        ("reg yield seed, r level(90)", "effects only", "they hold at 95 % only"),
        ("reg yield seed", "effects only", "those of vce(robust) are calibrated"),
        ("reg yield seed, cluster(soil)", "effects only", "not clusters soil"),
        ("reg yield seed, vce(hc3)", "effects only", "not HC3"),
        ("bootstrap: reg yield seed", "effects only", "not BOOTSTRAP"),
        ("reghdfe yield seed rain, absorb(soil) vce(robust)", "effects only", "reghdfe counts"),
        ("xtreg yield seed rain, fe i(soil)", "effects only", "errors are not"),
        ("xtreg yield seed rain, i(soil)", "artefact", "random effects"),
        ("reg yield seed, r noconstant", "artefact", "no intercept"),
        ("reg yield seed [aw=rain], r", "artefact", "weighted"),
        ("reg yield rain, r", "artefact", "lacks the treatment seed"),
        ("reg rain seed, r", "artefact", "'rain' were not released"),
        ("reg yield seed slope, r", "artefact", "slope was not declared"),
        ("reg yield c.seed##c.rain, r", "artefact", "interaction"),
        ("reg yield seed if rain > 2, r", "artefact", "subgroups were not released"),
        ("reg yield seed in 1/50, r", "artefact", "subgroups were not released"),
        ("bysort soil: reg yield seed, r", "artefact", "by soil"),
        ("keep if rain > 2\nreg yield seed, r", "artefact", "subgroups were not released"),
        ("drop if missing(wet)\nreg yield seed, r", "artefact", "subgroups were not released"),
        ("probit wet seed", "artefact", "probit is not ordinary least squares"),
        ("ttest yield, by(seed)", "artefact", "ttest is not"),
        ("ivreg yield (rain = seed), r", "artefact", "'rain' were not released"),
        ("ivreg yield (wet = seed), r", "effects only", "wet is the ratio of two released effects"),
        ("ivregress 2sls yield rain (wet = seed)", "effects only", "its error is not right"),
        ("ivreg2 wet (yield = seed) rain i.soil, cluster(soil)", "effects only", "the ratio"),
        ("ivreghdfe yield rain (wet = seed), absorb(soil)", "effects only", "the ratio"),
        ("ivreg yield slope (wet = seed), r", "artefact", "slope was not declared"),
        ("ivreg yield (wet = rain), r", "artefact", "other than the one treatment (seed)"),
        ("ivreg yield seed (wet = rain), r", "artefact", "other than the one treatment"),
        ("ivreg yield (wet = seed rain), r", "artefact", "instrumental"),
        ("ivreg yield (wet rain = seed soil), r", "artefact", "instrumental"),
        ("xtivreg yield (wet = seed), i(soil)", "artefact", "instrumental"),
        ("ivreg yield (wet = seed) [aw=rain], r", "artefact", "weighted"),
        ("ivreg yield (wet = seed) if rain > 2, r", "artefact", "subgroups were not released"),
        ("gen ly = log(yield)\nreg ly seed, r", "artefact", "makes ly (log(yield))"),
        ("gen sr = seed*rain\nreg yield seed rain sr, r", "artefact", "makes sr"),
        ("replace yield = 0 if yield < 0\nreg yield seed, r", "artefact", "makes yield"),
        ("recode rain (1=2)\nreg yield seed rain, r", "artefact", "makes rain"),
        ("mvdecode yield, mv(9)\nreg yield seed, r", "artefact", "makes yield"),
        ("mvdecode _all, mv(9)\nreg yield seed, r", "artefact", "makes yield"),
        ("recode _all (9=.)\nreg yield seed, r", "artefact", "makes yield"),
        (
            "ds\nforeach v in `r(varlist)' {\nreplace `v' = 0 if `v' == 9\n}\nreg yield seed, r",
            "artefact",
            "replace of a column that is not known comes before it",
        ),
        ("rename yield y\nreg y seed, r", "artefact", "makes y"),
        ("for var yield: replace X = 2*X\nreg yield seed, r", "artefact", "makes yield"),
        ("collapse yield seed, by(soil)\nreg yield seed, r", "artefact", "after collapse"),
        ("merge 1:1 id using other\nreg yield seed, r", "artefact", "after merge: rows of files"),
        ("append using other\nreg yield seed, r", "artefact", "after append"),
        ("set obs 900\nreg yield seed, r", "artefact", "after expand"),
        ("frame change other\nreg yield seed, r", "artefact", "frame comes before it"),
        ("set more off\nreg yield seed, r", "valid", ""),
        ("bsample\nreg yield seed, r", "artefact", "random sample"),
        ("mystery yield\nreg yield seed, r", "artefact", "mystery comes before it"),
        ("do nowhere\nreg yield seed, r", "artefact", "do nowhere comes before it"),
        ("mata\nst_store(1, 1, 0)\nend\nreg yield seed, r", "artefact", "mata comes before"),
        ('mata: st_store(1, "yield", 0)\nreg yield seed, r', "artefact", "mata comes before"),
        ("reg yield seed nothere*, r", "artefact", "not wholly read"),
        ("if r(N) > 3 {\nreg yield seed, r\n}", "artefact", "not wholly read"),
        ("mixed yield seed || soil:", "artefact", "not wholly read"),
        ("reg yield seed diary, r", "cannot run", "diary is withheld"),
        ("reg yield seed, cluster(owner)", "cannot run", "owner is not in the file"),
        ("reg yield seed typo, r", "cannot run", "typo is not a column of farms.dta"),
        ("use villages, clear\nreg yield seed, r", "cannot run", "it uses villages.dta"),
    ],
)
def test_each_rule(
    worth: Callable[..., list[tuple[str, str]]], text: str, kind: str, reason: str
) -> None:
    ((found, why),) = worth("use farms, clear\n" + text)
    assert found == kind
    assert reason in why
    if kind == "valid":  # with covariates it is said of which estimand
        words = "for the difference in means, n.r. for the adjusted one ("
        assert why == "" if "rain" not in text else why.startswith(words)
        return
    assert why


def test_a_do_file_may_use_the_protected_file_by_its_own_name(
    worth: Callable[..., list[tuple[str, str]]],
) -> None:
    same = [worth(f"use {name}, clear\nreg yield seed, r") for name in ("farms", "farms_protected")]
    assert same[0] == same[1]
    assert same[0][0][0] != "cannot run"


def test_a_file_that_is_not_calibrated_has_no_valid_regression(
    worth: Callable[..., list[tuple[str, str]]],
) -> None:
    ((kind, reason),) = worth("use farms\nreg yield seed, r", None)
    assert kind == "artefact"
    assert "no coefficient" in reason


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('[design]\nkind = "simple"\narms = ["seed"]\n', "", "or [design] or a formula is missing"),
        ('kind = "simple"', 'kind = "cluster"\ncluster = "rain"', "- Table 1: 2 effects only"),
        ("[calibrated]", '[calibrated]\nlegal = "strict"', "rounded to admissible values"),
    ],
)
def test_a_study_that_is_open_or_planned_otherwise(
    farm: Path, command_line: Callable[..., Any], old: str, new: str, said: str
) -> None:
    assert old in STUDY
    (farm / "study.toml").write_text(STUDY.replace(old, new))
    ran = command_line(main)("check", farm / "study.toml", "--do", farm / "tables.do")
    assert said in ran.out


def test_a_summary_by_table(tmp_path: Path) -> None:
    (tmp_path / "a.do").write_text(
        "use farms\n*Table 1\nreg yield seed, r\nreg wet seed\n*Table 2\nprobit wet seed\n"
    )
    rows = read_do(tmp_path / "a.do", HEADER)
    found = verdicts(rows, Released("farms.dta", FATES, VALID))
    assert summary(found) == ["Table 1: 1 valid, 1 effects only", "Table 2: 1 artefact"]
    assert str(found[1]) == (
        "a.do:4 regress wet: effects only: the effects are the released ones, but their errors are "
        "not: those of vce(robust) are calibrated, not nonrobust; run it with vce(robust)"
    )


STUDY = """\
version = 1
data = "farms.dta"
dataset_id = "farms"
[release]
method = "calibrated"
epsilon = 4.0
formula = "crop ~ seed + rain"
[design]
kind = "simple"
arms = ["seed"]
[calibrated]
covariate_release = "filler"
[header]
confirm = true
[columns.crop]
fate = "modelled"
bounds = [-5, 5]
sd = 1
missing = "never"
[columns.seed]
fate = "public"
levels = [0, 1]
missing = "never"
[columns.rain]
fate = "modelled"
bounds = [-4, 4]
missing = "never"
[columns.diary]
fate = "withheld"
"""
DO = """\
use "C:\\Users\\me\\farms.dta", clear
* Table 1
reg crop seed rain, robust
reg crop seed rain, vce(hc3)
reg crop seed rain if rain > 0, robust
reg diary seed, robust
"""
KINDS = ["valid", "effects only", "artefact", "cannot run"]


@pytest.fixture
def farm(tmp_path: Path) -> Path:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "crop": rng.normal(size=400).clip(-5, 5),
            "seed": rng.integers(0, 2, 400).astype(float),
            "rain": rng.normal(size=400).clip(-4, 4),
            "diary": rng.normal(size=400),
        }
    )
    write_dta(frame, Schema.from_frame(frame), tmp_path / "farms.dta")
    (tmp_path / "study.toml").write_text(STUDY)
    (tmp_path / "tables.do").write_text(DO)
    return tmp_path


def test_a_plan_and_its_file_give_the_same_verdicts(
    farm: Path, command_line: Callable[..., Any]
) -> None:
    run = command_line(main)
    planned = of_study([farm / "tables.do"], load_study(farm / "study.toml"))
    assert [one.kind for one in planned] == KINDS
    ran = run("check", farm / "study.toml", "--do", farm / "tables.do")
    assert "- Table 1: 1 valid, 1 effects only, 1 artefact, 1 cannot run" in ran.out
    assert run("protect", farm / "study.toml", "--yes").code == 0
    released = farm / "farms_protected.dta"
    found = of_file([farm / "tables.do"], released)
    assert [one.kind for one in found] == KINDS
    assert found[0].regression.treatments == ("seed",)
    ran = run("verify", released, "--do", farm / "tables.do", "--json")
    assert [row["verdict"] for row in json.loads(ran.out)["regressions"]] == KINDS
    assert (
        "tables.do:3 regress crop: valid" in run("verify", released, "--do", farm / "tables.do").out
    )
    # the file says the same of itself when somebody runs them
    data, schema = read_dta(released)
    for cov_type, says in (("HC1", "Calibrated:"), ("HC3", "Not calibrated: artefact.")):
        fit = ols("crop ~ seed + rain", data, schema, cov_type=cov_type)
        assert says in fit.summary()


def test_a_study_that_leaves_its_blocks_out_says_so_in_its_verdicts(farm: Path) -> None:
    text = STUDY.replace('kind = "simple"', 'kind = "block"\nblock = "rain"', 1)
    text = text.replace("[calibrated]", '[calibrated]\nblocks = "ignore"', 1)
    text = text.replace('fate = "modelled"\nbounds = [-4, 4]', 'fate = "public"\nlevels = [0, 1]')
    (farm / "study.toml").write_text(text)
    first, *_ = of_study([farm / "tables.do"], load_study(farm / "study.toml"))
    assert str(first).endswith(
        "valid: for the difference in means, n.r. for the adjusted one (rain); "
        "the release compares whole arms; on the original rain may move it"
    )


def test_indicators_of_rows_with_a_value_are_factors_where_it_is_never_missing() -> None:
    row = Regression("a.do", 1, "regress", "y", ("t",), ("t",), dataset="a.dta", numbered=("x",))
    known = {"y": "modelled", "t": "public"}
    strict, declared = (
        verdicts([row], Released("a.dta", known, never=never))[0].reason
        for never in (frozenset[str](), frozenset({"x"}))
    )
    assert "a value of x, which may be missing" in strict
    assert "a value of x" not in declared


EVERYBODY = [
    "rain < .", "rain != .", "!missing(rain)", "rain >= -4", "inrange(rain, -4, 4)", "crop < .",
    "rain < . & !(rain > 4)", "rain < 1 | rain >= 1", "inlist(seed, 0, 1)", "seed <= 1 & crop < .",
]  # fmt: skip
SOME = [
    "rain > -4", "crop >= -5", "!(rain < . & rain > 3)", "seed == 1", "rain < crop", "diary < .",
    "rain[_n-1] < .", "rain < . & age < .",
]  # fmt: skip


@pytest.mark.parametrize("condition", EVERYBODY)
def test_a_condition_that_public_facts_make_true_of_everybody_selects_nothing(
    farm: Path, condition: str
) -> None:
    (farm / "tables.do").write_text(f"use farms\nreg crop seed rain if {condition}, r\n")
    (found,) = of_study([farm / "tables.do"], load_study(farm / "study.toml"))
    assert found.kind == "valid", str(found)


@pytest.mark.parametrize("condition", SOME)
def test_a_condition_that_may_select_rows_is_a_subgroup(farm: Path, condition: str) -> None:
    (farm / "tables.do").write_text(f"use farms\nreg crop seed rain if {condition}, r\n")
    (found,) = of_study([farm / "tables.do"], load_study(farm / "study.toml"))
    assert found.kind != "valid"


def test_what_is_not_declared_is_not_known_of_everybody(farm: Path) -> None:
    """Clipped values lie beyond the bounds in the rows, and those that may be missing are above."""
    (farm / "tables.do").write_text(
        "use farms\nreg crop seed if rain >= -4, r\nreg crop seed if rain < ., r\n"
        "reg crop seed if rain <= 4, r\n"
    )
    text = STUDY.replace('[-4, 4]\nmissing = "never"', '[-4, 4]\nmissing = ["."]')
    found = of_study([farm / "tables.do"], _study(farm, text))
    # what is missing is above all numbers in Stata
    assert ["it uses the rows" in one.reason for one in found] == [False, True, True]
    text = STUDY.replace("[-4, 4]", "[-4, 4]\nclip = true")
    found = of_study([farm / "tables.do"], _study(farm, text))
    assert ["it uses the rows" in one.reason for one in found] == [True, False, True]


def _study(folder: Path, text: str) -> Any:
    (folder / "study.toml").write_text(text)
    return load_study(folder / "study.toml")


def test_a_certificate_says_what_holds_for_everybody(
    farm: Path, command_line: Callable[..., Any]
) -> None:
    run = command_line(main)
    (farm / "tables.do").write_text(
        "use farms\nreg crop seed rain if rain < . & rain >= -4, r\n"
        "reg crop seed rain if crop <= 5, r\n"
    )
    study = (farm / "study.toml", "--do", farm / "tables.do")
    assert run("protect", *study, "--yes").code == 0
    released = farm / "farms_protected.dta"
    ran = run("verify", released, "--do", farm / "tables.do", "--json")
    assert [row["verdict"] for row in json.loads(ran.out)["regressions"]] == ["valid", "artefact"]
    facts = json.loads((farm / "farms_protected.certificate.json").read_text())["facts"]
    assert facts["columns with a value in every row"] == "crop rain"
    assert facts["declared values of columns in conditions"] == "crop -5 to 5; rain -4 to 4"


TABLES = """
[[table]]
name = "t1"
outcomes = ["crop"]
arms = ["seed"]
[table.covariates]
declared = ["rain"]
none = []
levels = ["C(rain)"]
[[table]]
name = "t2"
outcomes = ["crop"]
arms = ["seed"]
where = "rain > 0"
[[table]]
name = "t3"
outcomes = ["diary"]
arms = ["seed"]
"""


def test_a_check_names_cells_of_tables_that_a_file_will_not_answer(
    farm: Path, command_line: Callable[..., Any]
) -> None:
    (farm / "study.toml").write_text(STUDY + TABLES)
    run = command_line(main)
    found = json.loads(run("check", farm / "study.toml", "--json").out)["tables"]
    some, one, two, three = found
    assert some.startswith("[[table]] 't1' will have a number for crop (none) that has no")
    assert one.startswith("[[table]] 't1' will have a number for crop (levels) that is not")
    assert "its rows are those with rain > 0" in two
    assert "nothing is released of diary" in three
    ran = run("protect", farm / "study.toml", "--yes")
    assert all(one in " ".join(ran.err.split()) for one in (two, three))
    ran = run("table", farm / "study.toml")
    assert "t2: it needs the confidential file" in ran.out + ran.err
    assert "t3: it needs the confidential file" in ran.out + ran.err
