"""Which file, which rows and which columns an estimation means."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dprct.dofile import read_files
from dprct.dofile.memory import file_name

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from dprct.dofile import Reading

HEADER = ["id", "treat", "age", "zone1", "zone2", "zone3", "y1", "y2", "female"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("survey", "survey.dta"),
        ('"my survey.dta", clear', "my survey.dta"),
        (r'"C:\\Users\\maria\\Data.dta"', "Data.dta"),
        ("~/mine/a", "a.dta"),
        ("../data/a.dta", "a.dta"),
        (r"Temp\a", "Temp/a.dta"),
        ("./a", "a.dta"),
    ],
)
def test_names_of_files(text: str, name: str) -> None:
    assert file_name(text) == name


@pytest.mark.parametrize(
    ("text", "sample"),
    [
        ("keep if a==1\nreg y t if b==2", "a==1 & b==2"),
        ("drop if a==1\nreg y t", "a!=1"),
        ("drop if a>1 | b\nreg y t if c|d", "!(a>1 | b) & (c|d)"),
        ("use s if a==1\nreg y t", "a==1"),
        ("keep if a==1\nuse s, clear\nreg y t", ""),
        ("preserve\nkeep if a==1\nrestore\nreg y t", ""),
        ("preserve\nkeep if a==1\nrestore, not\nreg y t", "a==1"),
        ("keep a b\ndrop c\nreg y t", ""),
        ("keep if a==1\nkeep if a==1\nreg y t if a==1", "a==1"),
    ],
)
def test_samples(read: Callable[..., Reading], text: str, sample: str) -> None:
    assert read(text)[-1].sample == sample


@pytest.mark.parametrize(
    ("text", "regressors"),
    [
        ("reg y1 zone1-zone3", "zone1 zone2 zone3"),
        ("reg y1 zone*", "zone1 zone2 zone3"),
        ("reg y1 fem", "female"),
        ("drop zone2\nreg y1 zone*", "zone1 zone3"),
        ("keep y1 zone1 zone3\nreg y1 zone*", "zone1 zone3"),
        ("gen zone4 = 1\nreg y1 zone*", "zone1 zone2 zone3 zone4"),
        ("rename zone2 area\nreg y1 zone* area", "zone1 zone3 area"),
        ("rename (zone1 zone2) (p q)\nreg y1 p q zone*", "p q zone3"),
        ("clonevar zone9 = zone1\nreg y1 zone*", "zone1 zone2 zone3 zone9"),
        ("egen m = mean(age), by(id)\nreg y1 m", "m"),
        ("predict fit\nreg y1 fit", "fit"),
        ("recode age (1=2), gen(a2)\nreg y1 a2", "a2"),
        ("reshape long y, i(id) j(year)\nreg y year treat", "year treat"),
        ("collapse (mean) y1 age, by(id)\nreg y1 age id", "age id"),
    ],
)
def test_a_header_is_followed(read: Callable[..., Reading], text: str, regressors: str) -> None:
    (row,) = read("use s\n" + text, HEADER)
    assert " ".join(row.regressors) == regressors
    assert row.status == "read"


@pytest.mark.parametrize(
    ("text", "absent"),
    [
        ("reg y1 height", "height"),
        ("drop age\nreg y1 age", "age"),
        ("collapse y1, by(id)\nreg y1 treat", "treat"),
        ("rename treat arm\nreg y1 treat", "treat"),
    ],
)
def test_names_that_the_header_lacks_are_said(
    read: Callable[..., Reading], text: str, absent: str
) -> None:
    (row,) = read("use s\n" + text, HEADER)
    assert row.status == "partly"
    assert row.note.endswith(f"not in the header: {absent}")


def test_a_merge_with_a_file_that_is_not_known_opens_the_header(
    read: Callable[..., Reading],
) -> None:
    (row,) = read("use s\nmerge 1:1 id using more\ntab zone1, gen(d)\nreg y1 height d2", HEADER)
    assert (row.status, row.sources, row.steps) == ("read", ("s.dta", "more.dta"), ("merge",))


def test_saved_files_are_what_they_were_made_of(read: Callable[..., Reading]) -> None:
    text = (
        "use a\nkeep if x==1\ngen z = t*f\nsave made, replace\nuse b, clear\n"
        "tempfile tmp\nsave `tmp'\nuse made, clear\nmerge 1:1 id using `tmp'\nreg y z"
    )
    (row,) = read(text)
    assert (row.dataset, row.sources) == ("made.dta", ("a.dta", "b.dta"))
    assert (row.sample, row.derived) == ("x==1", {"z": "t*f"})


def test_what_a_generated_variable_is(read: Callable[..., Reading]) -> None:
    text = (
        "gen byte TxF = treat*female if age > 3\negen m = mean(y) if treat==0\n"
        "gen z = (y - m)\nreplace z = 0 if z == .\nreg z TxF m"
    )
    (row,) = read(text)
    assert row.derived == {
        "TxF": "treat*female if age > 3",
        "m": "egen mean(y) if treat==0",
        "z": "(y - m); replaced: 0 if z == .",
    }
    assert "TxF = treat*female if age > 3" in row.note


def test_who_matched_in_a_merge_was_chosen_before_data_are_prepared(tmp_path: Path) -> None:
    file = tmp_path / "a.do"
    file.write_text("use a\nmerge id using b\ndrop if _m==2\nkeep if x==1\nreg y t\n", "utf-8")
    plain, prepared = (
        read_files([(file, tmp_path)], prepared=known)[0].sample for known in (False, True)
    )
    assert (plain, prepared) == ("_m!=2 & x==1", "x==1")
    file.write_text("use a\ncollapse y t, by(school)\nreg y t\n", "utf-8")
    made = [read_files([(file, tmp_path)], prepared=known)[0].derived for known in (False, True)]
    assert (bool(made[0]), bool(made[1])) == (True, False)
