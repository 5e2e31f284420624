"""Columns that do-files make, carried out by the study, and the regressions on them."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct.cli import main
from dprct.errors import StudyError
from dprct.io.stata import read_dta, write_dta
from dprct.schema import Column, Schema
from dprct.study.do_columns import all_on_derived, written_out
from dprct.study.do_files import read_do
from dprct.study.ready import bound_model, confidential, open_points, study_of
from dprct.study.study import study_from
from dprct.study.verdicts import of_file, of_study

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

STUDY = """\
version = 1
data = "shops.dta"
dataset_id = "shops"
[derived]
lsales = "log(sales + 1)"
adult = "where(missing(age), 1, age > 30)"
sales_2 = "where(where(missing(sales), 0, sales == 99), sales)"
[release]
method = "moments"
epsilon = 4.0
delta = 1e-6
[design]
kind = "simple"
arms = ["grant"]
[moments]
neighbors = "replace-one-design-public"
[[regression]]
formula = "lsales ~ grant + age"
[[regression]]
formula = "lsales ~ grant + adult"
where = "adult == 1"
[[regression]]
formula = "lsales ~ grant + woman + grant:woman"
[header]
confirm = true
[columns.grant]
fate = "public"
levels = [0, 1]
missing = "never"
[columns.sales]
bounds = [0, 99]
missing = "never"
[columns.age]
bounds = [18, 80]
missing = "never"
[columns.woman]
levels = [0, 1]
missing = "never"
"""
DO = """\
use shops, clear
gen lsales = ln(sales + 1)
rename age years
gen adult = years > 30
gen gw = grant*woman
egen mean_sales = mean(sales)
gen above = sales > mean_sales
replace sales = . if sales != 99
"""
RUN = [
    ("reg lsales grant years, robust", "valid", ""),
    ("reg lsales grant adult if adult == 1, robust", "valid", ""),
    ("reg lsales grant woman gw, robust", "valid", ""),
    ("reg lsales grant above, robust", "artefact", "the do-file makes above"),
    ("reg sales grant, robust", "artefact", "the do-file makes sales"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng, n = np.random.default_rng(2), 400
    frame = pd.DataFrame({
        "grant": rng.integers(0, 2, n).astype(float),
        "sales": rng.integers(0, 100, n).astype(float),
        "age": rng.integers(18, 81, n).astype(float),
        "woman": rng.integers(0, 2, n).astype(float),
    })  # fmt: skip
    write_dta(frame, Schema.from_frame(frame), tmp_path / "shops.dta")
    (tmp_path / "study.toml").write_text(STUDY)
    (tmp_path / "tables.do").write_text(DO + "".join(f"{text}\n" for text, _, _ in RUN))
    return tmp_path


def test_regressions_on_columns_of_the_do_file_are_judged_by_their_merits(folder: Path) -> None:
    study = study_of(folder / "study.toml")
    assert open_points(study) == []
    found = of_study([folder / "tables.do"], study)
    for (text, kind, reason), one in zip(RUN, found, strict=True):
        assert (text, one.kind) == (text, kind), str(one)
        assert reason in one.reason
    assert "[derived] sales_2 = " in found[4].remedy
    assert found[3].remedy.startswith("above is not carried out: mean_sales: egen mean()")


def test_a_study_computes_its_columns_and_knows_their_bounds(folder: Path) -> None:
    study = study_of(folder / "study.toml")
    data, _ = confidential(study)
    assert np.array_equal(data["lsales"], np.log(data["sales"] + 1))
    assert data["sales_2"].notna().sum() == (data["sales"] == 99).sum()
    model: Any = bound_model(study)
    facts = {column.name: column for column in model.schema.columns}
    assert facts["lsales"].bounds == pytest.approx((0, np.log(100)))
    assert (facts["adult"].levels, facts["adult"].missing) == ((0, 1), ())
    assert facts["lsales"].made_of == ("sales",)
    assert facts["lsales"].label == "log(sales + 1)"


def test_a_draft_says_what_is_made_and_what_is_not(
    folder: Path, command_line: Callable[..., Any]
) -> None:
    study = folder / "draft.toml"
    ran = command_line(main)(
        "describe", folder / "shops.dta", "--draft", study, "--do", folder / "tables.do",
        "--treatment", "grant",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    text = study.read_text("utf-8")
    assert tomllib.loads(text)["derived"] == {
        "lsales": "log(sales + 1)",
        "adult": "where(missing(age), 1, age > 30)",
        "sales_2": "where(not where(missing(sales), 1, sales != 99), sales)",
    }
    assert "# above: mean_sales: egen mean() is made of other people's rows" in text


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ({"a b": "age"}, "is not a valid column name"),
        ({"x": 3}, "is not text"),
        ({"x": "age +"}, "is not an expression"),
        ({"x": "open('f')"}, "is not allowed"),
    ],
)
def test_what_is_no_column_is_refused_where_the_file_is_read(
    folder: Path, made: dict[str, Any], said: str
) -> None:
    document = tomllib.loads(STUDY) | {"derived": made}
    with pytest.raises(StudyError, match=said):
        study_from(document, folder / "study.toml")


def test_what_a_file_lacks_is_an_open_point(folder: Path) -> None:
    document = tomllib.loads(STUDY) | {"derived": {"lsales": "log(nowhere)"}}
    problems = open_points(study_from(document, folder / "study.toml"))
    assert any("[derived] lsales" in one and "nowhere" in one for one in problems)


def test_later_columns_are_written_out() -> None:
    assert written_out({"a": "x + 1", "b": "where(a > 2, a)"}) == {
        "x + 1": "a",
        "where(x + 1 > 2, x + 1)": "b",
    }


CALIBRATED = """\
[release]
method = "calibrated"
epsilon = 8.0
formula = "lsales ~ grant + adult"
[design]
kind = "simple"
arms = ["grant"]
[package]
folder = "replication"
"""


def test_a_package_has_the_do_file_as_it_is_and_one_that_runs(
    folder: Path, command_line: Callable[..., Any]
) -> None:
    run, home = command_line(main), folder / "replication"
    home.mkdir()
    with (folder / "tables.do").open("a") as file:
        file.write("reg lsales grant adult, robust\nreg lsales grant, robust\n")
    for name in ("shops.dta", "tables.do"):
        (folder / name).rename(home / name)
    begin, rest = STUDY.partition("[release]")[0], STUDY.partition("[header]")[2]
    columns = rest.replace("bounds", 'fate = "withheld"\nbounds')
    study = begin.replace("shops.dta", "replication/shops.dta") + CALIBRATED + "[header]" + columns
    study += '[columns.lsales]\nfate = "modelled"\n[columns.adult]\nfate = "modelled"\n'
    study = study.replace(
        'levels = [0, 1]\nmissing = "never"\n[columns.lsales]',
        'fate = "withheld"\nlevels = [0, 1]\nmissing = "never"\n[columns.lsales]',
    )
    study = study.replace('sales_2 = "where(where(missing(sales), 0, sales == 99), sales)"\n', "")
    (folder / "study.toml").write_text(study)
    made = run("package", folder / "study.toml", "--yes")
    assert made.code == 0, made.err
    package = folder / "shops_package"
    assert (package / "tables.do").read_text() == (home / "tables.do").read_text()
    text = (package / "run.do").read_text()
    assert "tables.do:2  lsales = log(sales + 1)" in text
    assert "* not run: regress lsales grant above, vce(robust)" in text
    assert "They do not run on it as they are" in (package / "README-data.md").read_text()
    # what the do-file that runs prints, by a reading of it, is what the package expects
    valid = [
        one for one in of_file([package / "run.do"], package / "shops.dta") if one.kind == "valid"
    ]
    rows = pd.read_csv(package / "expected.csv")
    expected = rows[rows["statistic"] == "estimate"]["value"].tolist()
    data, schema = read_dta(package / "shops.dta")
    found = [
        dprct.ols(f"lsales ~ {' + '.join(one.regression.regressors)}", data, schema, cov_type="HC1")
        for one in valid
    ]
    assert [fit.params["grant"] for fit in found] == pytest.approx(expected, abs=1e-12)
    checked = run("verify", package / "shops.dta", "--do", package / "tables.do",
                  "--expect", package / "expected.csv")  # fmt: skip
    assert f"all {len(rows)} numbers equal those of expected.csv" in checked.out + checked.err
    again = run("package", folder / "study.toml", "--yes")
    assert (again.code, "charged, epsilon" in again.out) == (0, False)


def test_check_ends_with_what_could_be_declared(
    folder: Path, command_line: Callable[..., Any]
) -> None:
    (folder / "more.do").write_text(
        "use shops, clear\ngen lsales = ln(sales + 1)\ngen old = age > 60\n"
        "reg lsales grant age, robust\nreg woman grant old, robust\nprobit woman grant\n"
    )
    ran = command_line(main)("check", folder / "study.toml", "--do", folder / "more.do")
    assert ran.code == 0, ran.err
    end = ran.out[ran.out.index("declare these 2 regressions: epsilon 4 gives errors ") :]
    first, _, block = end.partition("\n")
    assert first.endswith("times those without privacy, of all that is declared then")
    assert tomllib.loads(block) == {
        "derived": {"old": "where(missing(age), 1, age > 60)"},
        "regression": [
            {"formula": "woman ~ grant + old"},
            {"formula": "woman ~ grant", "family": "probit", "cov_type": "nonrobust"},
        ],
    }
    (folder / "more.do").write_text("use shops, clear\nreg y grant, robust\n")
    ran = command_line(main)("check", folder / "study.toml", "--do", folder / "more.do")
    assert "declare th" not in ran.out


def test_a_balance_table_silences_no_other_offer(
    folder: Path, command_line: Callable[..., Any]
) -> None:
    """Its outcome is a covariate where the study has it as one, or says so by its role."""
    (folder / "more.do").write_text(
        "use shops, clear\ngen lsales = ln(sales + 1)\nreg age grant, robust\n"
        "reg woman grant, robust\nreg woman grant age, robust\nreg sales grant woman, robust\n"
    )
    check = ("check", folder / "study.toml", "--do", folder / "more.do")
    ran = command_line(main)(*check)
    assert ran.code == 0, ran.err
    offered = {"age ~ grant", "woman ~ grant", "woman ~ grant + age"}
    more = {"sales ~ grant + woman"}
    lacks = (
        "could be declared, but for this: sales ~ grant + woman: woman is an outcome of another "
        'regression; if it was fixed before treatment, write role = "covariate" in [columns.woman]'
    )
    study = (folder / "study.toml").read_text()
    for text, wanted in ((study.replace("+ woman + grant:woman", "+ age"), offered),
                         (study, offered | more)):  # fmt: skip
        (folder / "study.toml").write_text(text)
        ran = command_line(main)(*check)
        end = ran.out[ran.out.index("declare these ") :].partition("\n")[2]
        assert {one["formula"] for one in tomllib.loads(end)["regression"]} == wanted
        assert (lacks in ran.out.replace("\n", " ")) == (wanted == offered)


def test_check_says_which_fact_a_product_with_a_private_missing_outcome_lacks(
    folder: Path, command_line: Callable[..., Any]
) -> None:
    (folder / "more.do").write_text(
        "use shops, clear\nreg woman grant age, vce(cluster town)\n"
        "reg woman c.grant##c.age, vce(cluster town)\n"
    )
    data, _ = read_dta(folder / "shops.dta")
    frame = data.assign(town=np.arange(len(data)) % 20.0)
    write_dta(frame, Schema.from_frame(frame), folder / "shops.dta")
    text = (folder / "study.toml").read_text()
    text += '[columns.town]\nfate = "public"\nmissing = "never"\n'
    head, _, tail = text.partition("[columns.woman]")
    tail = tail.replace('missing = "never"', 'missing = ["."]\nmissing_policy = "private"', 1)
    kept = head.replace('[[regression]]\nformula = "lsales ~ grant + woman + grant:woman"\n', "")
    (folder / "study.toml").write_text(f"{kept}[columns.woman]{tail}")
    ran = command_line(main)("check", folder / "study.toml", "--do", folder / "more.do")
    assert ran.code == 0, ran.err
    assert "could be declared, but for this: woman ~ grant + age + grant:age: " in ran.out
    assert "(it is private who has a value of woman, and grant:age is a product" in ran.out
    assert "declare this regression" in ran.out


def test_check_offers_no_regression_that_is_declared(
    folder: Path, command_line: Callable[..., Any]
) -> None:
    """Two lines that differ in errors: one is declared, and the other is offered with its own."""
    (folder / "more.do").write_text(
        "use shops, clear\ngen lsales = ln(sales + 1)\n"
        "reg lsales grant age, robust\nreg lsales grant age\n"
    )
    ran = command_line(main)("check", folder / "study.toml", "--do", folder / "more.do")
    assert ran.code == 0, ran.err
    assert tomllib.loads(ran.out[ran.out.index("[[regression]]") :]) == {
        "regression": [{"formula": "lsales ~ grant + age", "cov_type": "nonrobust"}]
    }
    (folder / "more.do").write_text(
        "use shops, clear\ngen lsales = ln(sales + 1)\nreg lsales grant age, vce(bootstrap)\n"
    )
    ran = command_line(main)("check", folder / "study.toml", "--do", folder / "more.do")
    assert "effects only" in ran.out
    assert "declare th" not in ran.out


def test_check_with_open_points_says_them_once(
    folder: Path, command_line: Callable[..., Any]
) -> None:
    (folder / "more.do").write_text("use shops, clear\nreg sales grant age, robust\n")
    text = (folder / "study.toml").read_text()
    (folder / "study.toml").write_text(text.replace('"lsales ~ grant + age"', '"lsale ~ grant"'))
    run = command_line(main)
    ran = run("check", folder / "study.toml", "--do", folder / "more.do")
    assert (ran.code, ran.err) == (1, "")
    assert "did you mean 'lsales'?" in ran.out
    assert "1 open point\nthe regressions of the do-files are judged once that is" in ran.out
    ran = run("check", folder / "study.toml", "--do", folder / "gone.do")
    assert (ran.code, "gone.do" in ran.err) == (2, True)


def test_what_a_declared_column_was_made_of_on_the_way_is_none_of_the_regression(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.do").write_text(
        "use a\ngen late = 1 if wave < 3\nreplace late = 0 if late == .\ngen lw = late*warm\n"
        "reg y t lw, r\nreg y t lw late if late == 1, r\n"
    )
    schema = Schema(tuple(map(Column, ("y", "t", "warm", "wave"))))
    rows = read_do(tmp_path / "a.do", schema, treatments=["t"], dataset="a.dta")
    expression = rows[0].made["lw"].expression
    first, second = all_on_derived(rows, {"lw_2": expression}, ["t"])
    assert first.regressors == ("t", "lw_2")
    assert not first.derived
    assert {*second.derived} == {"late"}
