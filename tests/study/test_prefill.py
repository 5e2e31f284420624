"""A study file that do-files fill in: what they say, and nothing that only a person can say."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

import dprct
from dprct.assignment import BlockCluster
from dprct.cli import main
from dprct.dofile import Regression
from dprct.estimate.moments.model import MomentsSpec
from dprct.io.stata import write_dta
from dprct.schema import Column, Schema
from dprct.schema.made import made_columns
from dprct.study.do_files import read_do
from dprct.study.draft import draft, regression_lines
from dprct.study.prefill import Prefill, prefilled
from dprct.study.study import load_study
from dprct.study.verdicts import terms_of

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = ["crop", "wet", "seed", "hoe", "rain", "soil", "village", "women", "diary", "phone"]
DO = """\
use farms, clear
gen logcrop = log(crop)
* Table 1
foreach y in crop wet {
    reg `y' seed hoe rain i.soil, cluster(village)
    reg `y' seed hoe, cluster(village)
    reg `y' seed hoe rain i.soil if women == 1, cluster(village)
}
* Table 2 - logs
reg logcrop seed hoe, cluster(village)
probit wet seed hoe
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    frame = pd.DataFrame({name: [0.0, 1.0, 1.0] for name in NAMES})
    write_dta(frame, Schema.from_frame(frame), tmp_path / "farms.dta")
    (tmp_path / "tables.do").write_text(DO)
    return tmp_path


def test_a_draft_says_what_the_do_files_say(folder: Path, command_line: Callable[..., Any]) -> None:
    run, study = command_line(main), folder / "study.toml"
    ran = run(
        "describe", folder / "farms.dta", "--draft", study, "--do", folder / "tables.do",
        "--treatment", "seed", "--treatment", "hoe",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    text = study.read_text("utf-8")
    document = tomllib.loads(text)
    assert document["release"]["method"] == "calibrated"
    assert document["release"]["formula"] == "crop + wet + logcrop ~ seed + hoe + rain + C(soil)"
    assert document["derived"] == {"logcrop": "log(crop)"}
    assert "# tables.do, line 2\nlogcrop = " in text
    assert {name: facts.get("fate") for name, facts in document["columns"].items()} == {
        "crop": "modelled", "wet": "modelled", "seed": "public", "hoe": "public",
        "rain": "modelled", "soil": "modelled", "village": None, "women": None,
        "logcrop": "modelled",
    }  # fmt: skip
    assert document["study"] == {"rest": "withheld"}
    assert document["table"] == [
        {
            "name": "table_1", "outcomes": ["crop", "wet"], "arms": ["seed", "hoe"],
            "covariates": ["rain", "C(soil)"], "errors": "cluster", "cluster": "village",
        },
        {
            "name": "table_1_2", "outcomes": ["crop", "wet"], "arms": ["seed", "hoe"],
            "covariates": ["rain", "C(soil)"], "errors": "cluster", "cluster": "village",
            "where": "women == 1",
        },
        {
            "name": "table_2", "outcomes": ["logcrop"], "arms": ["seed", "hoe"],
            "errors": "cluster", "cluster": "village",
        },
    ]  # fmt: skip
    for part in ('# arms = ["seed", "hoe"]', '# cluster = "village"', "women == 1"):
        assert part in text
    assert "bounds" not in str(document["columns"])
    assert load_study(study).tables[0].cluster == "village"
    problems = run("check", study).out
    assert "[design]" in problems
    assert "column 'village' has no fate" in problems


def test_the_regressions_of_do_files_are_offered_as_one_step_serves_them(
    folder: Path, command_line: Callable[..., Any]
) -> None:
    (folder / "more.do").write_text(
        "use farms, clear\ngen both = seed*rain\n"
        "xtreg crop rain seed, fe i(village) cluster(village)\n"
        "areg crop seed rain, absorb(soil) vce(robust)\nreg crop seed rain, cluster(soil)\n"
        "reg crop seed both rain\nreg crop seed [pw=phone]\nxtreg crop seed, fe i(soil)\n"
        "reg wet hoe if women == 1\nreg wet hoe rain\nreg wet rain\nreg crop seed hoe\n"
        "reghdfe wet seed, absorb(soil) cluster(village phone)\n"
        "ivregress 2sls crop rain (wet = seed), vce(cluster village)\n"
        "ivreg2 crop (wet = seed) if women == 1, robust\nivreg2 crop (wet = seed hoe), robust\n"
        "ivreg2 crop (wet = diary), robust\n"
    )
    study = folder / "study.toml"
    ran = command_line(main)(
        "describe", folder / "farms.dta", "--draft", study, "--do", folder / "tables.do",
        "--do", folder / "more.do", "--treatment", "seed", "--treatment", "hoe",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    text = study.read_text("utf-8")
    assert "regression" not in tomllib.loads(text)
    block = text[text.index("# [moments]\n# neighbors") : text.index("\n# The tables of the paper")]
    assert "# tables.do, line 6; more.do, line 12\n# [[regression]]\n" in block
    lines = [line.removeprefix("# ") for line in block.splitlines()]
    document = tomllib.loads(
        "\n".join("#" + x if ", line " in x or x.startswith("only if") else x for x in lines)
    )
    village = {"cluster": "village"}
    assert document["regression"] == [
        {"formula": "crop ~ seed + hoe + rain + C(soil)", **village},
        {"formula": "crop ~ seed + hoe", **village},
        {"formula": "crop ~ seed + hoe + rain + C(soil)", "where": "women == 1", **village},
        {"formula": "wet ~ seed + hoe + rain + C(soil)", **village},
        {"formula": "wet ~ seed + hoe", **village},
        {"formula": "wet ~ seed + hoe + rain + C(soil)", "where": "women == 1", **village},
        {"formula": "logcrop ~ seed + hoe", **village},
        {"formula": "crop ~ seed + rain | village", **village},
        {"formula": "crop ~ seed + rain + C(soil)", "cov_type": "HC1"},
        {"formula": "crop ~ seed + rain", "cluster": "soil"},
        {"formula": "crop ~ seed + rain + seed:rain", "cov_type": "HC1"},
        {"formula": "crop ~ seed", "weights": "phone", "cov_type": "HC1"},
        {"formula": "crop ~ seed + C(soil)", "cov_type": "nonrobust"},
        {"formula": "wet ~ hoe", "where": "women == 1", "cov_type": "nonrobust"},
        {"formula": "wet ~ hoe + rain", "cov_type": "nonrobust"},
        {"formula": "wet ~ seed + C(soil)", "cluster": ["village", "phone"]},
        {"formula": "crop ~ rain + [wet ~ seed]", **village},
        {"formula": "crop ~ [wet ~ seed]", "where": "women == 1", "cov_type": "HC1"},
        {"formula": "wet ~ seed + hoe", "family": "probit", "cov_type": "nonrobust"},
    ]
    design = BlockCluster(["seed", "hoe"], block="soil", cluster="village", shares=[0.3, 0.3])
    spec = MomentsSpec(
        formulas=tuple(
            dprct.Regression(**one) for one in document["regression"] if "family" not in one
        ),
        assignment=design,
        **document["moments"],
    )
    dummy = {"type": "byte", "levels": (0.0, 1.0), "missing": (), "fate": "public"}
    schema = Schema(tuple(
        Column(name, bounds=(0, 1), missing=()) if name in ("crop", "wet", "rain")
        else Column(name, **dummy)
        for name in NAMES
    ))  # fmt: skip
    made = made_columns({"logcrop": "log(crop + 1)"}, schema.columns)
    schema = replace(schema, columns=(*schema.columns, *made))
    assert all(not isinstance(steps, str) for steps in spec.served(schema).values())
    assert {step.cov_type for step in spec.steps(schema)} == {"CR1", "HC1", "nonrobust"}


def test_a_condition_that_all_regressions_share_is_offered_as_the_sample(folder: Path) -> None:
    schema = Schema(tuple(Column(name) for name in NAMES))
    reading = [
        Regression("a.do", k, "regress", y, ("seed",), ("seed",), sample='rain==1 & soil!="x"')
        for k, y in enumerate(("crop", "wet"))
    ]
    text = draft(schema, folder / "f.dta", folder / "s.toml", prefilled(reading, NAMES))
    (line,) = [line for line in text.splitlines() if "sample = " in line]
    uncommented = tomllib.loads(line.removeprefix("# "))
    assert uncommented == {"sample": 'rain==1 & soil!="x"'}
    other = Regression("a.do", 9, "regress", "wet", ("seed",), ("seed",))
    assert prefilled([*reading, other], NAMES).sample == ""


def test_do_files_without_a_treatment_fill_in_what_is_used() -> None:
    row = Regression("a.do", 1, "regress", "crop", ("rain",), sample="women==1")
    found = prefilled([row], NAMES)
    assert (found.formula, found.used) == ("", frozenset({"crop", "rain", "women"}))
    schema = Schema(tuple(Column(name) for name in NAMES))
    document = tomllib.loads(draft(schema, Path("farms.dta"), Path("s.toml"), found))
    assert document["release"]["method"] == "mv_histogram"
    assert "fate" not in document["columns"]["rain"]
    assert "diary" not in document["columns"]
    assert document["study"] == {"rest": "withheld"}


def test_what_the_file_does_not_have_fills_in_nothing() -> None:
    row = Regression("a.do", 1, "regress", "other", ("seed",), ("seed",))
    assert prefilled([row], NAMES) == Prefill(used=frozenset({"seed"}))


def test_a_draft_is_what_do_files_are_for(folder: Path, command_line: Callable[..., Any]) -> None:
    ran = command_line(main)("describe", folder / "farms.dta", "--do", folder / "tables.do")
    assert ran.code == 2
    assert "give --draft and --treatment too" in ran.err


def test_products_and_logits_with_factors_are_offered_and_conditions_on_outcomes_are_not() -> None:
    run = {"outcome": "kids", "status": "read", "dataset": "a.dta", "vce": "robust"}
    rows = [
        Regression("a.do", 1, "regress", regressors=("aid", "age"), treatments=("aid",), **run),
        Regression(
            "a.do", 2, "regress", regressors=("i.aid##c.age",), treatments=("i.aid##c.age",), **run
        ),
        Regression(
            "a.do", 3, "logit", regressors=("i.aid", "age"), treatments=("i.aid",),
            **{**run, "outcome": "work"},
        ),
        Regression(
            "a.do", 4, "logit", regressors=("aid", "age"), treatments=("aid",),
            **{**run, "outcome": "late"},
        ),
        *(
            Regression(
                "a.do", 5, "regress", regressors=("aid", "age"), treatments=("aid",), sample=said,
                **run,
            )
            for said in ("work == 1", "aid == 1 | girl == 1", "girl == 1")
        ),
    ]  # fmt: skip
    found = prefilled(rows, ["kids", "work", "late", "aid", "age", "girl"])
    assert {(one.formula, one.where) for one in found.regressions} == {
        ("kids ~ aid + age", ""),
        ("kids ~ aid + age + aid:age", ""),
        ("work ~ C(aid) + age", ""),
        ("late ~ aid + age", ""),
        ("kids ~ aid + age", "girl == 1"),
    }
    assert [one.formula for one in found.regressions if one.family] == ["late ~ aid + age"]


def test_products_of_factors_are_covariates() -> None:
    run = {"outcome": "kids", "status": "read", "dataset": "a.dta", "treatments": ("aid",)}
    words = ("i.town##i.wave", "i.town#c.age", "i.a##i.b##i.c")
    rows = [Regression("a.do", 1, "regress", regressors=("aid", word), **run) for word in words]  # type: ignore[arg-type]
    found = prefilled(rows, ["kids", "aid", "age", "town", "wave", "a", "b", "c"])
    formulas = [one.formula for one in found.regressions]
    assert formulas == [
        "kids ~ aid + C(town) + C(wave) + C(town):C(wave)",
        "kids ~ aid + C(town):age",
        "kids ~ aid + C(a) + C(b) + C(c) + C(a):C(b) + C(a):C(c) + C(b):C(c) + C(a):C(b):C(c)",
    ]
    assert not any(one.crossed for one in found.regressions)
    for row, formula in zip(rows, formulas, strict=True):
        assert formula == f"kids ~ {' + '.join(terms_of(row))}"


def test_logits_and_their_like_are_drafted_with_their_family() -> None:
    """But where treatment is a factor, whose average effect a linear regression has."""

    def ran(command: str, *words: str, **more: Any) -> Regression:
        return Regression("a.do", 3, command, "y", (*words, "age"), (words[0],), **more)

    rows = [
        ran("logit", "t", vce="robust", sample="girl==1"),
        ran("probit", "t", vce="cluster", cluster=("v",), weights="pweight=w"),
        ran("cloglog", "t", vce="classical"),
        ran("logit", "i.t", vce="robust"),
        ran("probit", "t", vce="cluster", cluster=("v", "g")),
    ]
    found = prefilled(rows, ["y", "t", "age", "v", "g", "w", "girl"])
    assert [regression_lines(one)[1:] for one in found.regressions] == [
        ['formula = "y ~ C(t) + age"'],
        ['formula = "y ~ t + age"', 'family = "logit"', 'where = "girl == 1"'],
        ['formula = "y ~ t + age"', 'family = "probit"', 'weights = "w"', 'cluster = "v"'],
        ['formula = "y ~ t + age"', 'family = "cloglog"', 'cov_type = "nonrobust"'],
        ['formula = "y ~ t + age"', 'family = "probit"', 'cluster = ["v", "g"]'],
    ]


def test_a_regression_is_drafted_once_for_each_of_its_clusters() -> None:
    """Errors that are not clustered are those of the first; the order of clusters is none."""

    def ran(line: int, *cluster: str) -> Regression:
        kind = "cluster" if cluster else "robust"
        return Regression("a.do", line, "reghdfe", "y", ("t", "age"), ("t",), vce=kind,
                          cluster=cluster)  # fmt: skip

    rows = [ran(1), ran(2, "v"), ran(3, "v", "g"), ran(4, "g", "v"), ran(5, "v")]
    found = prefilled(rows, ["y", "t", "age", "v", "g"])
    assert [(one.cluster, [line for _, line in one.places]) for one in found.regressions] == [
        (("v",), [1, 2, 5]),
        (("v", "g"), [3, 4]),
    ]
    some = prefilled(rows, ["y", "t", "age", "v", "g"], places={("a.do", 3)})
    assert [one.cluster for one in some.regressions] == [("v", "g")]
    assert some.cluster == "v"


def test_amounts_that_do_files_make_of_treatment_are_treatment(tmp_path: Path) -> None:
    (tmp_path / "a.do").write_text(
        "use a, clear\ngen cents = 100*price\ngen off = 10 - price\ngen both = price*girl\n"
        "reg y cents age, robust\nreg y off age if price > 0 & girl == 1, robust\n"
        "reg y price c.price#c.price age, robust\nreg y price girl both, robust\n"
        "replace price = price/10\nreg y price, robust\nreg y off if price > 0 | girl == 1\n"
    )
    names = ["y", "price", "age", "girl"]
    schema = Schema(tuple(map(Column, names)), dataset_id="a")
    reading = read_do([tmp_path / "a.do"], schema, treatments=["price"], dataset="a.dta")
    found = prefilled(reading, names, ["price"])
    assert found.arms == ("price",)
    assert found.of_arms == ("cents", "off", "price_2")
    assert [(one.formula, one.where) for one in found.regressions] == [
        ("y ~ cents + age", ""),
        ("y ~ off + age", "girl == 1 and (price > 0 or missing(price))"),
        ("y ~ price + age + I(price**2)", ""),
        ("y ~ price + girl + price:girl", ""),
        ("y ~ price_2", ""),
    ]
    text = draft(schema, tmp_path / "a.dta", tmp_path / "s.toml", found)
    assert text.count('fate = "public"                    # made of arms alone') == 3


def test_a_drafted_table_has_the_covariates_of_its_regressions_without_weights() -> None:
    rows = [
        Regression("a.do", 1, "regress", "y", ("t", "age"), ("t",), sample="age>3", table="T1"),
        Regression(
            "a.do", 2, "regress", "y", ("t", "age"), ("t",), weights="pweight=w", table="T1"
        ),
        Regression("a.do", 3, "regress", "y", ("t",), ("t",), table="T1"),
    ]
    some, whole = prefilled(rows, ["y", "t", "age", "w"]).tables
    assert (some.name, some.where, some.covariates) == ("t1", "age > 3", ("age",))
    assert (whole.name, whole.where, whole.covariates) == ("t1_2", "", ())


def test_a_drafted_table_has_the_errors_of_its_regressions(tmp_path: Path) -> None:
    (tmp_path / "a.do").write_text("use a\n* Table 1\nreg y t\n* Table 2\nreg y t, r\n")
    schema = Schema((Column("y"), Column("t")))
    found = prefilled(read_do(tmp_path / "a.do", schema, treatments=["t"]), ["y", "t"], ["t"])
    assert [one.errors for one in found.tables] == ["nonrobust", ""]
    tables = tomllib.loads(draft(schema, Path("a.dta"), Path("s.toml"), found))["table"]
    assert [one.get("errors") for one in tables] == ["nonrobust", None]


def test_a_drafted_table_has_the_conditions_that_a_table_can_have() -> None:
    samples = ["age>3 & y<.", "age > 3", "age < other", "old == 1", "in 1/9", ""]
    rows = [
        Regression("a.do", k, "regress", "y", ("t",), ("t",), sample=sample, table="T1")
        for k, sample in enumerate(samples)
    ]
    tables = prefilled(rows, ["y", "t", "age", "other"]).tables
    assert [one.where for one in tables] == ["age > 3 or missing(age)", ""]
    assert tables[0].samples == ("age < other", "old == 1", "in 1/9")
    text = draft(
        Schema((Column("y"), Column("t"))), Path("a.dta"), Path("s.toml"), Prefill(tables=tables)
    )
    (first, _) = tomllib.loads(text)["table"]
    assert first["where"] == "age > 3 or missing(age)"


def test_tables_and_instruments_have_the_columns_that_do_files_make_of_arms(tmp_path: Path) -> None:
    (tmp_path / "a.do").write_text(
        "use a, clear\ngen T1 = arm == 1\ngen T2 = arm == 2\ngen any = arm > 0\n"
        "* Table 1\nareg y T1 T2, absorb(area) cluster(v)\n"
        "* Table 2\nreg took any, cluster(v)\nivregress 2sls y (took = any), vce(cluster v)\n"
    )
    names = ["y", "took", "arm", "area", "v"]
    schema = Schema(tuple(map(Column, names)), dataset_id="a")
    reading = read_do([tmp_path / "a.do"], schema, treatments=["arm"], dataset="a.dta")
    found = prefilled(reading, names, ["arm"])
    assert [table.arms for table in found.tables] == [("T1", "T2"), ("any",)]
    assert [one.formula for one in found.regressions] == [
        "y ~ T1 + T2 + C(area)",
        "took ~ any",
        "y ~ [took ~ any]",
    ]
    assert 'arms = ["T1", "T2"]' in draft(schema, tmp_path / "a.dta", tmp_path / "s.toml", found)


def test_conditions_on_what_is_made_of_an_outcome_are_not_offered(tmp_path: Path) -> None:
    (tmp_path / "a.do").write_text(
        "use a, clear\ngen some = gave > 0\ngen lgift = log(gift)\ngen old = age > 50\n"
        "gen treated_girl = aid * girl\n"
        "reg gave aid, robust\nreg lgift aid, robust\n"
        + "".join(
            f"reg lgift aid if {said}, robust\n"
            for said in ("some == 1", "gift == 3", "treated_girl == 0", "old == 1")
        )
    )
    names = ["gave", "gift", "aid", "age", "girl"]
    schema = Schema(tuple(map(Column, names)), dataset_id="a")
    reading = read_do([tmp_path / "a.do"], schema, treatments=["aid"], dataset="a.dta")
    found = prefilled(reading, names, ["aid"])
    assert [(one.formula, one.where) for one in found.regressions] == [
        ("gave ~ aid", ""),
        ("lgift ~ aid", ""),
        ("lgift ~ aid", "old == 1"),
    ]
