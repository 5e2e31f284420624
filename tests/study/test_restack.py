"""What a study does to its rows: rounds, waves and means of groups."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from dprct.disk import sha256
from dprct.dofile.memory import Restacked
from dprct.errors import DprctError
from dprct.io.stata import write_dta
from dprct.schema import Schema
from dprct.study.approval import approval_of, approval_page
from dprct.study.data_sets import others_beside, planned_verdicts
from dprct.study.do_files import read_do
from dprct.study.do_rows import from_do_files
from dprct.study.draft import _step, draft, regression_lines
from dprct.study.headers import header_and_rows
from dprct.study.offer import offered
from dprct.study.package import check_package, write_package
from dprct.study.prepare import ROWS_BY, merges_in
from dprct.study.protect import _noting_merged
from dprct.study.ready import (
    all_open_points,
    bound_model,
    confidential,
    ledger,
    open_points,
    planned,
    study_of,
)
from dprct.study.restack import Collapse
from dprct.study.verdicts import of_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dprct.study.prefill import Prefill

HEAD = """\
version = 1
data = "rep/people.dta"
dataset_id = "people"
[unit]
name = "person"
id = "pid"
max_rows = 2
[study]
rest = "withheld"
"""
REST = """\
[release]
method = "moments"
epsilon = 50.0
delta = 1e-3
[design]
kind = "complete"
arms = ["treat"]
[moments]
cov_type = "CR1"
[[regression]]
formula = "y ~ treat + age"
[header]
confirm = true
[package]
folder = "rep"
[columns]
treat = {levels = [0, 1], missing = "never"}
age = {bounds = [18, 80], missing = "never"}
y = {bounds = [0, 20], sd = 3, missing = ["."], missing_policy = "private"}
"""
APPEND = '[[prepare]]\nappend = "rep/round2.dta"\ngenerate = "second"\n'
LONG = """\
[[prepare]]
reshape = "long"
columns = ["y"]
id = "pid"
wave = "year"
waves = [1, 2]
"""
WIDE = LONG.replace("long", "wide")


def people(n: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    age, treat = rng.integers(18, 80, n) * 1.0, rng.permutation(np.arange(n) % 2.0)
    y = (8 + 2 * treat + 0.05 * age + 2 * rng.normal(size=n)).clip(0, 20)
    return pd.DataFrame({"pid": np.arange(float(n)), "treat": treat, "age": age, "y": y})


def waves(n: int = 400) -> pd.DataFrame:
    data = people(n)
    second = (data["y"] + np.random.default_rng(6).normal(size=n)).clip(0, 20)
    return data.rename(columns={"y": "y1"}).assign(y2=second)


def home_of(tmp_path: Path, study: str, do: str = "", **files: pd.DataFrame) -> Path:
    (tmp_path / "rep").mkdir(exist_ok=True)
    for name, data in files.items():
        write_dta(data, Schema.from_frame(data), tmp_path / "rep" / f"{name}.dta")
    (tmp_path / "rep" / "main.do").write_text(do)
    (tmp_path / "study.toml").write_text(study)
    return tmp_path / "study.toml"


def test_rounds_are_put_below_each_other(tmp_path: Path) -> None:
    first, second = people(), people().iloc[:300].drop(columns="age").assign(extra=1.0)
    text = HEAD + APPEND + REST.replace('age = {bounds = [18, 80], missing = "never"}',
                                        'age = {bounds = [18, 80], missing = ["."], '
                                        'missing_policy = "private"}')  # fmt: skip
    do = "use people\nappend using round2\nregress y treat age, cluster(pid)\n"
    study = study_of(home_of(tmp_path, text, do, people=first, round2=second))
    header, rows = header_and_rows(study)
    assert rows == 700
    assert open_points(study) == []
    data, _ = confidential(study)
    assert [*data.columns] == ["pid", "treat", "age", "y", "extra", "second"] == header.names
    both = pd.concat([first, second], ignore_index=True)
    for name in both.columns:
        assert data[name].equals(both[name])
    assert data["second"].tolist() == [0.0] * 400 + [1.0] * 300
    said = " ".join(str(planned(study, bound_model(study))).split())
    assert "append using round2.dta; a person is known by pid and has up to 2 rows" in said
    (found,) = planned_verdicts(study, study.do_files)
    assert found.kind == "valid", found


def test_a_column_that_a_round_lacks_is_missing_by_public_facts(tmp_path: Path) -> None:
    second = people().drop(columns="age")
    study = study_of(home_of(tmp_path, HEAD + APPEND + REST, people=people(), round2=second))
    (point,) = open_points(study)
    assert "column 'age' is missing in the rows of a file or wave that lacks it" in point


def test_waves_become_rows(tmp_path: Path) -> None:
    do = """\
use people
gen old = age > 40
reshape long y, i(pid) j(year)
regress y treat age, cluster(pid)
regress y treat age
"""
    study = study_of(home_of(tmp_path, HEAD + LONG + REST, do, people=waves()))
    data, _ = confidential(study)
    expected = pd.wide_to_long(waves(), "y", "pid", "year").reset_index()
    expected = expected.sort_values(["pid", "year"], ignore_index=True)
    for name in ("pid", "treat", "age", "y", "year"):
        assert data[name].tolist() == expected[name].tolist()
    header, rows = header_and_rows(study)
    assert (rows, open_points(study)) == (800, [])
    assert header.column("year").levels == (1.0, 2.0)
    kinds = [one.kind for one in planned_verdicts(study, study.do_files)]
    assert kinds == ["valid", "effects only"]
    page = approval_page(approval_of(study, bound_model(study)))
    assert "confidential file people.dta, output" in page
    assert "each row becomes 2 of the same person, of waves 1 2; up to 2 rows" in page


def test_regressions_before_a_step_are_of_other_rows(tmp_path: Path) -> None:
    do = "use people\nregress y1 treat age\nregress treat age\n"
    study = study_of(home_of(tmp_path, HEAD + LONG + REST, do, people=waves()))
    found = planned_verdicts(study, study.do_files)
    assert all("before reshape long: the study does that" in one.reason for one in found), found


def test_an_id_may_number_the_rows(tmp_path: Path) -> None:
    do = "use people\ngen pid = _n\nreshape long y, i(pid) j(year)\n"
    do += "regress y treat age, cluster(pid)\n"
    data = waves().drop(columns="pid")
    study = study_of(home_of(tmp_path, HEAD + LONG + REST, do, people=data))
    assert open_points(study) == []
    assert confidential(study)[0]["pid"].tolist() == np.repeat(np.arange(1.0, 401), 2).tolist()
    assert [one.kind for one in planned_verdicts(study, study.do_files)] == ["valid"]


def long_rows() -> pd.DataFrame:
    """Persons with no wave, both, one twice, and one that is not declared."""
    return pd.DataFrame({
        "pid": [3.0, 1.0, 1.0, 2.0, 2.0, 2.0, 4.0], "year": [1.0, 2.0, 1.0, 1.0, 1.0, 3.0, 3.0],
        "age": [30.0, 20.0, 20.0, 40.0, 41.0, 40.0, 50.0],
        "y": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0],
    })  # fmt: skip


def test_rows_become_waves_by_the_first_of_each(tmp_path: Path) -> None:
    text = HEAD.replace("max_rows = 2\n", "") + WIDE + REST
    study = study_of(home_of(tmp_path, text, people=long_rows()))
    data, _ = confidential(study)
    assert data["pid"].tolist() == [3.0, 1.0, 2.0, 4.0]
    assert data["age"].tolist() == [30.0, 20.0, 40.0, 50.0]
    np.testing.assert_array_equal(data["y1"], [1.0, 3.0, 4.0, np.nan])
    np.testing.assert_array_equal(data["y2"], [np.nan, 2.0, np.nan, np.nan])
    assert header_and_rows(study)[1] is None


COLLAPSE = """\
[[prepare]]
collapse = {y = "mean", most = "max y", n = "count y"}
by = "village"
"""
VILLAGE = HEAD.replace(
    'name = "person"\nid = "pid"\nmax_rows = 2', 'name = "village"\nid = "village"'
)


def test_groups_become_rows_and_are_protected(tmp_path: Path) -> None:
    rows = people().assign(village=lambda x: x["pid"] % 80)
    do = "use people\ncollapse (mean) treat age y (max) most=y (count) n=y, by(village)\n"
    do += "regress y treat age, robust\n"
    more = '{treat = "mean", age = "mean", y'
    text = (
        VILLAGE
        + COLLAPSE.replace("{y", more)
        + REST.replace('cov_type = "CR1"', 'cov_type = "HC1"')
    )
    text += 'village = {fate = "public"}\nmost = {bounds = [0, 20]}\n'
    text = text.replace("treat = {levels = [0, 1]", "treat = {levels = [0, 1]")
    rows["treat"] = rows["village"] % 2
    study = study_of(home_of(tmp_path, text, do, people=rows))
    data, _ = confidential(study)
    groups = rows.groupby("village")
    np.testing.assert_allclose(data["y"], groups["y"].mean(), rtol=1e-14)
    assert data["most"].tolist() == groups["y"].max().tolist()
    assert data["n"].tolist() == [5.0] * 80
    assert open_points(study) == []
    model = bound_model(study)
    assert model.n == 80
    said = " ".join(str(planned(study, model)).split())
    assert "village is protected as a whole, with all of its people" in said
    assert [one.kind for one in planned_verdicts(study, study.do_files)] == ["valid"]
    private = text.replace('village = {fate = "public"}\n', "")
    points = open_points(study_of(home_of(tmp_path, private)))
    assert any("'village' makes the groups" in point for point in points)


def neighbours(data: pd.DataFrame, unit: str) -> Iterator[tuple[float, pd.DataFrame]]:
    """Yield tables in which all rows of one unit have other values, or are fewer."""
    for one in dict.fromkeys(data[unit]):
        mine = data[unit] == one
        yield one, data.assign(y=data["y"].where(~mine, 19.0), age=data["age"].where(~mine, 99.0))
        last = data.index[mine][-1:]
        if mine.sum() > 1:
            yield one, data.drop(last).reset_index(drop=True)


@pytest.mark.parametrize("step", [WIDE, COLLAPSE.replace("village", "pid")])
def test_a_unit_moves_its_own_row_alone(tmp_path: Path, step: str) -> None:
    """Every pair of neighbours of a table: the rows of others stay, bit for bit."""
    head = HEAD.replace("max_rows = 2\n", "")
    if "collapse" in step:
        head = head.replace('name = "person"', 'name = "village"')
    study = study_of(home_of(tmp_path, head + step + REST, people=long_rows()))
    before = study.with_prepared(long_rows()).set_index("pid")
    moved = 0
    for one, other in neighbours(long_rows(), "pid"):
        after = study.with_prepared(other).set_index("pid")
        pd.testing.assert_frame_equal(before.drop(index=one), after.drop(index=one))
        assert [*after.index] == [*before.index]
        moved += not before.equals(after)
    assert moved >= 4


def test_a_person_has_as_many_rows_as_waves_and_files(tmp_path: Path) -> None:
    """The worst neighbour moves max_rows rows, no fewer and no more."""
    study = study_of(home_of(tmp_path, HEAD + LONG + REST, people=waves()))
    data = waves(20)
    before = study.with_prepared(data)
    for row in range(len(data)):
        after = study.with_prepared(data.assign(age=data["age"].where(data.index != row, 99.0)))
        moved = (before != after).any(axis=1)
        assert set(before["pid"][moved]) == {float(row)}
        assert moved.sum() == 2


@pytest.mark.parametrize(
    ("step", "old", "new", "words"),
    [
        (APPEND, 'id = "pid"\nmax_rows = 2\n', "", "write \\[unit\\] id, and max_rows"),
        (APPEND, '"rep/round2.dta"', '"round2.dta"', "another folder than the data"),
        (APPEND, '"rep/round2.dta"', '"rep/people.dta"', "the file of the data itself"),
        (APPEND, '"rep/round2.dta"', '"rep/round2.csv"', "convert it first"),
        (APPEND, "second", "age", "'age' already; give another name"),
        (LONG, "max_rows = 2", "max_rows = 1", "write max_rows = 2"),
        (LONG, 'id = "pid"\nwave', 'id = "other"\nwave', "write \\[unit\\] id = \"other\""),
        (LONG, "waves = [1, 2]", "waves = [1]", "the data have 'y2', too"),
        (LONG, "waves = [1, 2]", "waves = [1, 1]", "each wave once"),
        (LONG, '["y"]', '["z"]', "no column of 'z' and a wave"),
        (LONG, '"year"', '"age"', "makes 'age', which the data have"),
        (WIDE, '"year"', '"yaer"', "no column 'yaer'"),
        (COLLAPSE, "village", "village", "the group is protected as a whole"),
        (COLLAPSE, '"mean"', '"sd y"', "give one of mean sum count"),
    ],
)  # fmt: skip
def test_refusals_name_what_to_do(
    tmp_path: Path, step: str, old: str, new: str, words: str
) -> None:
    text = HEAD + step + REST
    assert old in text
    data = people().assign(year=1.0) if step == WIDE else waves()
    path = home_of(tmp_path, text.replace(old, new, 1), people=data, round2=people())
    with pytest.raises(DprctError, match=words):
        open_points(study_of(path))


def test_somebody_who_is_in_two_files_has_no_two_numbers(tmp_path: Path) -> None:
    """Where no file says who is who, rows of both would be numbered, and one person be two."""
    data = waves().drop(columns="pid")
    for steps in (APPEND + LONG, LONG + APPEND):
        path = home_of(tmp_path, HEAD + steps + REST, people=data, round2=data)
        with pytest.raises(DprctError, match="somebody who is in two files would be protected"):
            open_points(study_of(path))


def test_an_appended_file_is_known_before_the_draw(tmp_path: Path) -> None:
    """A process that is killed during the draw leaves nobody a second budget."""
    study = study_of(home_of(tmp_path, HEAD + APPEND + REST, people=people(), round2=people()))
    accountant = ledger(study)
    with _noting_merged(study, accountant):
        assert sha256(study.appended_files[0]) in accountant.contents


def test_no_value_stops_a_sum() -> None:
    rows = pd.DataFrame({"g": [1.0] * 3, "y": [1.7e308, 1.7e308, 1.0]})
    for how, sign in product(("sum", "mean"), (1, -1)):
        found = Collapse({"y": how}, "g").rows(rows.assign(y=sign * rows["y"]), Path())
        assert np.isfinite(found["y"]).all()
        assert sign * found["y"][0] > 1e307


STEPS = (
    ("append using round2\n", APPEND),
    ("reshape long y, i(pid) j(year)\n", LONG),
    ("reshape wide y, i(pid) j(year)\n", WIDE),
)


@pytest.mark.parametrize(("place", "other"), [*product(range(3), range(3))])
def test_other_changes_of_rows_stay_steps(tmp_path: Path, place: int, other: int) -> None:
    """A study that does one thing serves no regression after another."""
    line, (_, step) = STEPS[place][0], STEPS[other]
    data = people().assign(year=1.0) if step == WIDE else waves()
    head = HEAD.replace("max_rows = 2\n", "") if step == WIDE else HEAD
    rest = REST.replace("y ~", "y1 ~").replace("y = {", "y1 = {") if step == WIDE else REST
    rest = rest.replace("CR1", "HC1") if step == WIDE else rest
    do = f"use people\n{line}regress {'y1' if step == WIDE else 'y'} treat age, cluster(pid)\n"
    study = study_of(home_of(tmp_path, head + step + rest, do, people=data, round2=people()))
    (found,) = planned_verdicts(study, study.do_files)
    assert (found.kind in ("valid", "effects only")) == (place == other), found


@pytest.mark.parametrize("do", [
    "use people\nkeep if age > 30\nappend using round2\nregress y treat age, cluster(pid)\n",
    "use people\nappend using round2, keep(y)\nregress y treat age, cluster(pid)\n",
    "use people\ngen z = 1\nsave round2, replace\nuse people\nappend using round2\n"
    "regress y treat age, cluster(pid)\n",
    "use people\nappend using round3\nregress y treat age, cluster(pid)\n",
    "use people\ngen y2 = y\nappend using round2\nregress y2 treat age, cluster(pid)\n",
])  # fmt: skip
def test_an_append_of_other_rows_is_not_the_studys(tmp_path: Path, do: str) -> None:
    study = study_of(home_of(tmp_path, HEAD + APPEND + REST, do, people=people(), round2=people()))
    (found,) = planned_verdicts(study, study.do_files)
    assert found.kind in ("artefact", "cannot run"), found


def test_what_a_certificate_says_is_read_again(tmp_path: Path) -> None:
    for head, step, one in (
        (HEAD, APPEND, Restacked("append", "round2.dta")),
        (HEAD, LONG, Restacked("reshape long", "pid", ("y",), "year", (1.0, 2.0))),
        (VILLAGE, COLLAPSE, Restacked("collapse", "village",
            ("mean treat=treat", "mean age=age", "mean y=y", "max most=y", "count n=y"))),
    ):  # fmt: skip
        step = step.replace("{y", '{treat = "mean", age = "mean", y')
        data = people().assign(village=1.0) if "collapse" in step else waves()
        study = study_of(home_of(tmp_path, head + step + REST, people=data, round2=people()))
        facts: dict[str, Any] = study.merged_facts(header_and_rows(study)[0])
        assert [*facts] == [f"{ROWS_BY}1"]
        assert [*merges_in(facts).values()] == [one]


@pytest.mark.long
def test_a_package_reads_steps_and_conditions_from_its_certificate(tmp_path: Path) -> None:
    do = """\
use people
keep if sex ~= . & age ~= .
gen old = age > 40
reshape long y, i(pid) j(year)
regress y treat age if old, cluster(pid)
"""
    data = waves().assign(sex=lambda x: x["pid"] % 2)
    data.loc[:40, "y2"] = np.nan
    where = 'formula = "y ~ treat + age"\nwhere = "old"'
    text = HEAD + LONG + '[derived]\nold = "where(missing(age), 1, age > 40)"\n' + REST
    text = text.replace('formula = "y ~ treat + age"', where)
    text = text.replace(
        'cov_type = "CR1"\n', 'cov_type = "CR1"\nneighbors = "replace-one-design-public"\n'
    )
    text = text.replace('missing_policy = "private"', 'missing_policy = "public"')
    text += 'sex = {levels = [0, 1], missing = "never"}\nold = {fate = "public"}\n'
    text = text.replace("age = {", 'age = {fate = "public", ')
    study = study_of(home_of(tmp_path, text, do, people=data))
    (planned_as,) = planned_verdicts(study, study.do_files)
    assert planned_as.kind == "valid", planned_as.reason + planned_as.remedy
    contents = check_package(study)
    offered(study).taken()
    _, package = write_package(study, contents)
    file = package / "people.moments.json"
    (found,) = of_file([package / "main.do"], file, None, others_beside(file))
    assert found.kind == "valid", found.reason + found.remedy
    assert not (package / "people.dta").exists()


@pytest.mark.long
def test_the_ledger_knows_an_appended_file(tmp_path: Path) -> None:
    text = HEAD + APPEND + REST
    do = "use people\nappend using round2\nregress y treat age, cluster(pid)\n"
    study = study_of(home_of(tmp_path, text, do, people=people(), round2=people(300)))
    contents = check_package(study)
    assert "round2.dta" not in contents.folder.copied
    offered(study).taken()
    alone = text.replace(APPEND, "").replace("people", "other").replace("rep/other", "rep/round2")
    (tmp_path / "other.toml").write_text(alone)
    (point,) = all_open_points(study_of(tmp_path / "other.toml"))
    assert "people" in point, point
    _, package = write_package(study, contents)
    file = package / "people.moments.json"
    (found,) = of_file([package / "main.do"], file, None, others_beside(file))
    assert found.kind == "valid", found.reason
    assert "confidential/round2.dta" in (package / "study.toml").read_text("utf-8")
    readme = (package / "README-data.md").read_text("utf-8")
    for name in ("people.dta", "round2.dta"):
        assert f"| `{name}`, confidential | see above | no |" in readme
        assert f"`{name}`: made before the do-files of this package run" in readme


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("append using round2", 'append = "round2.dta"'),
        (
            "reshape long y, i(pid) j(year)",
            'reshape = "long"\n# columns = ["y"]\n# id = "pid"\n# wave = "year"\n# waves = [1, 2]',
        ),
        (
            "reshape wide y1, i(pid) j(age)",
            'reshape = "wide"\n# columns = ["y1"]\n# id = "pid"',
        ),
        (
            "collapse (mean) m=y1 (max) y2, by(treat)",
            'collapse = {m = "mean y1", y2 = "max"}\n# by = ["treat"]',
        ),
    ],
)
def test_a_draft_has_the_steps_of_do_files(line: str, step: str, tmp_path: Path) -> None:
    do = f"use people\n{line}\nregress y2 treat\n"
    home_of(tmp_path, "", do, people=waves())
    ((found,),) = [one.steps for one in drafted(tmp_path).prepared]
    assert found.place == ("main.do", 2)
    text = "\n".join(f"# {one}" for one in _step(found))
    assert text.startswith(f"# {step}")


def drafted(tmp_path: Path) -> Prefill:
    file = tmp_path / "rep" / "people.dta"
    return from_do_files([tmp_path / "rep" / "main.do"], Schema.from_dta(file), file, ["treat"])


VILLAGES = pd.DataFrame({"village": np.arange(4.0), "rain": [1.0, 2.0, 2.5, 4.0]})
FIRST = people().assign(village=np.arange(400) % 4.0)


def test_a_draft_lists_all_steps_in_order_with_the_regressions_after_them(tmp_path: Path) -> None:
    do = """use people
gen ly = log(y)
regress ly treat age, robust
append using round2
merge m:1 village using villages
keep if _merge == 3
gen old = age > 50
regress y treat rain mood, cluster(village)
regress y treat old ly, cluster(village)
use people
merge m:1 village using villages
regress y treat rain, robust
joinby village using villages
append using round2
use round2
gen ly = 3
reshape wide y, i(pid) j(age)
regress ly treat
"""
    second = FIRST.assign(mood=1.0)
    study = home_of(tmp_path, "", do, people=FIRST, round2=second, villages=VILLAGES)
    found = drafted(tmp_path)
    assert [one.formula for one in found.regressions] == ["ly ~ treat + age"]
    alone, both = found.prepared
    assert [one.by for one in alone.steps] == ["villages.dta"]
    assert [(one.how, one.by) for one in both.steps] == [
        ("append", "round2.dta"), ("merge", "villages.dta"),
    ]  # fmt: skip
    assert [one.formula for one in alone.regressions] == ["y ~ treat + rain"]
    assert [one.formula for one in both.regressions] == ["y ~ treat + rain + mood"]
    assert [one.name for one in both.derived] == ["old"]
    assert found.refused == {"ly": "it is made before rows are changed"}
    text = draft(Schema.from_frame(FIRST), tmp_path / "rep" / "people.dta", study, found)
    where = [text.index(f"# {one}\n") for one in (
        "List 1:", "List 2:", 'append = "round2.dta"', "With list 1 of [[prepare]] above:",
        'formula = "y ~ treat + rain"', "With list 2 of [[prepare]] above:",
        'formula = "y ~ treat + rain + mood"',
    )]  # fmt: skip
    assert where == sorted(where)


def test_a_draft_declares_public_what_conditions_need_and_is_made_of_waves(tmp_path: Path) -> None:
    do = """use people
reshape long y, i(pid) j(year)
gen late = year > 1
gen old = age > 50
regress y treat age if late == 1, cluster(pid)
regress y treat if old == 1, cluster(pid)
gen after = year == 2
regress y c.treat#c.after, cluster(pid)
"""
    path = home_of(tmp_path, "", do, people=waves())
    text = draft(
        Schema.from_frame(waves()), tmp_path / "rep" / "people.dta", path, drafted(tmp_path)
    )
    lines = text.splitlines()
    fate = {one.removeprefix("# [columns."): lines[k + 1] for k, one in enumerate(lines)
            if one.startswith("# [columns.")}  # fmt: skip
    assert {*fate} == {"late]", "after]"}
    for name, line in (("late]", 5), ("after]", 8)):
        assert fate[name].startswith('# fate = "public" ')
        assert fate[name].endswith(f"made of the wave; needed by main.do, line {line}")
    long = waves().assign(year=1.0)
    do = "use people\ngen late = year > 1\nregress y1 treat if late == 1, cluster(pid)\n"
    path = home_of(tmp_path, "", do, people=long)
    text = draft(Schema.from_frame(long), tmp_path / "rep" / "people.dta", path, drafted(tmp_path))
    assert "# if year is; needed by main.do, line 3" in text.partition("[columns.late]")[2]


def test_drafted_regressions_after_steps_are_valid(tmp_path: Path) -> None:
    do = """use people
append using round2
merge m:1 village using villages
regress y treat age rain, cluster(pid)
"""
    home_of(tmp_path, "", do, people=FIRST, round2=FIRST, villages=VILLAGES)
    ((one,),) = [part.regressions for part in drafted(tmp_path).prepared]
    merge = '[[prepare]]\nmerge = "rep/villages.dta"\non = "village"\ncomplete = true\n'
    told = REST.replace('formula = "y ~ treat + age"', "\n".join(regression_lines(one)[1:]))
    told = told.replace('cov_type = "CR1"', 'neighbors = "replace-one-design-public"')
    told = told.replace("levels = [0, 1]", 'fate = "public", levels = [0, 1]')
    told = told.replace('missing = ["."], missing_policy = "private"', 'missing = "never"')
    rain = 'rain = {fate = "modelled"}\nvillage = {levels = [0, 1, 2, 3], missing = "never"}\n'
    text = HEAD + APPEND + merge + told + rain
    home_of(tmp_path, text)
    (tmp_path / "rep" / "main.do").write_text(do)
    study = study_of(tmp_path / "study.toml")
    found = planned_verdicts(study, study.do_files)
    assert [x.kind for x in found] == ["valid"], found


def test_rows_appended_after_a_merge_have_none_of_its_columns(tmp_path: Path) -> None:
    """A do-file that merges and appends in another order than the study has other rows."""
    append, merge = "append using round2\n", "merge m:1 village using villages\n"
    steps = {
        append: APPEND,
        merge: '[[prepare]]\nmerge = "rep/villages.dta"\non = "village"\ncomplete = true\n',
    }
    for own, other in ((append, merge), (merge, append)):
        facts = 'rain = {fate = "modelled"}\nvillage = {levels = [0, 1, 2, 3], missing = "never"}\n'
        text = (
            HEAD + steps[own] + steps[other] + REST.replace("treat + age", "treat + rain") + facts
        )
        study = study_of(home_of(tmp_path, text, people=FIRST, round2=FIRST, villages=VILLAGES))
        header = header_and_rows(study)[0]
        schema = study.declared(header)
        said = merges_in(study.merged_facts(header))
        for merges in (study.merges(schema), said):
            done = []
            for first, second in ((own, other), (other, own)):
                do = f"use people\n{first}{second}regress y treat rain, cluster(pid)\n"
                home_of(tmp_path, text, do)
                (row,) = read_do(
                    study.do_files[0], study.of_file(header), treatments=["treat"], merges=merges
                )
                done.append(row.steps)
            assert [bool(one) for one in done] == [False, True], done


def test_rows_appended_to_another_file_are_of_that_file(tmp_path: Path) -> None:
    """A release of the second round alone has none of the first, whatever its study does to it."""
    do = "use people\nappend using round2\nregress y treat age, cluster(pid)\n"
    text = HEAD.replace("people.dta", "round2.dta") + LONG + REST
    home = home_of(tmp_path, text, do, people=people(), round2=waves())
    study = study_of(home)
    (found,) = planned_verdicts(study, study.do_files)
    assert (found.kind, found.reason) == ("cannot run", "it uses people.dta")


def test_a_plan_lists_merges_as_it_lists_other_steps(tmp_path: Path) -> None:
    merge = '[[prepare]]\nmerge = "rep/villages.dta"\non = "village"\n'
    facts = 'rain = {fate = "modelled"}\nvillage = {levels = [0, 1, 2, 3], missing = "never"}\n'
    text = HEAD + APPEND + merge + REST + facts
    study = study_of(home_of(tmp_path, text, people=FIRST, round2=FIRST, villages=VILLAGES))
    said = {one.name.strip(): one.why for one in planned(study).numbers}
    merged = said["file merged by the study: villages.dta"]
    assert "for rain; all of it is taken as public" in merged, [*said]
    assert "append using round2.dta" in said[f"{ROWS_BY}1"]
