"""Loops, branches, programs, prefixes."""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest

from dprct.dofile import loops
from dprct.dofile.loops import numlist

if TYPE_CHECKING:
    from collections.abc import Callable

    from dprct.dofile import Reading


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("1/4", "1 2 3 4"),
        ("1 3 5/6", "1 3 5 6"),
        ("2(3)9", "2 5 8"),
        ("0(.5)1", "0 .5 1"),
        ("10(-5)0", "10 5 0"),
        ("3/1", "3 2 1"),
        (".1 .25", ".1 .25"),
        ("1 2 to 4", "1 2 3 4"),
        ("1/2/3", None),
        ("a", None),
        ("1(0)5", ""),
    ],
)
def test_lists_of_numbers(text: str, numbers: str | None) -> None:
    assert numlist(text) == (None if numbers is None else numbers.split())


def test_no_number_is_written_of_a_list_that_is_not_understood() -> None:
    """600 bytes in nested loops took 60 s of processor: each pass wrote 10,000 numbers in vain."""
    with patch.object(loops, "_between", side_effect=AssertionError):
        assert numlist("1/9999 got") is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("foreach v in a b {\nreg `v' t\n}", ["a: t", "b: t"]),
        ('foreach s in "" "x z" {\nreg y t `s\'\n}', ["y: t", "y: t x z"]),
        ("local l a b\nforeach v of local l {\nreg `v' t\n}", ["a: t", "b: t"]),
        ("gl l a b\nforeach v of global l {\nreg `v' t\n}", ["a: t", "b: t"]),
        ("foreach v of varlist a b {\nreg `v' t\n}", ["a: t", "b: t"]),
        ("foreach v of newlist a b {\nreg `v' t\n}", ["a: t", "b: t"]),
        ("foreach n of numlist 1/2 5 {\nreg y t`n'\n}", ["y: t1", "y: t2", "y: t5"]),
        ("forvalues i = 1/2 {\nreg y`i' t\n}", ["y1: t", "y2: t"]),
        ("forv i=1(2)4 {\nreg y`i' t\n}", ["y1: t", "y3: t"]),
        ("local k 2\nforval i=1/`k' {\nreg y`i' t\n}", ["y1: t", "y2: t"]),
        (
            "foreach a in x z {\nforv i=1/2 {\nreg `a'`i' t\n}\n}",
            ["x1: t", "x2: t", "z1: t", "z2: t"],
        ),
        ("local i 1\nwhile `i' <= 2 {\nreg y`i' t\nlocal i = `i' + 1\n}", ["y1: t", "y2: t"]),
        (
            "forv i=1/5 {\nif `i'==2 continue\nif `i' == 4 continue, break\nreg y`i' t\n}",
            ["y1: t", "y3: t"],
        ),
        ("foreach v in a b {\nlocal all `all' `v'\n}\nreg y `all'", ["y: a b"]),
        ("qui foreach v in a b {\nreg `v' t\n}", ["a: t", "b: t"]),
        ("for var a b: reg X t", ["a: t", "b: t"]),
        ("for num 1/2: reg yX t", ["y1: t", "y2: t"]),
        ("for Z in num 1/2 \\ W in any p q: reg yZ W", ["y1: p", "y2: q"]),
        ('if "a" == "a" {\nreg y a\n}\nelse {\nreg y b\n}', ["y: a"]),
        ('if "a" != "a" {\nreg y a\n}\nelse if 1 {\nreg y b\n}\nelse {\nreg y c\n}', ["y: b"]),
        ("if 0 reg y a\nelse reg y b", ["y: b"]),
        ('local m a\nif ("`m\'" == "a" | 0) reg y a', ["y: a"]),
        ("reg y a\nexit\nreg y b", ["y: a"]),
        ("program mine\nargs one two\nreg `one' `two' `3'\nend\nmine y t x", ["y: t x"]),
        ("prog def mine\nreg `1' `*'\nend\nqui mine y t", ["y: y t"]),
        (
            "program mine\nsyntax varlist [if] [in], Treat(varname) [Other(string) Big]\n"
            'if "`big\'" != "" local other `other\' x\n'
            "gettoken y : varlist\nreg `y' `treat' `other' `if'\nend\n"
            'mine y, t(z) other("a b") big',
            ["y: z a b x"],
        ),
        ("program mine\nsyntax anything, *\nreg `anything', `options'\nend\nmine y t, r", ["y: t"]),
        ("program drop _all\nprogram reg2\nreg `0'\nend\nreg2 y t if x", ["y: t"]),
    ],
)
def test_what_loops_and_programs_run(
    outcomes: Callable[..., list[str]], text: str, found: list[str]
) -> None:
    assert outcomes(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "levelsof g, local(L)\nforeach x of local L {\nreg y t if g == `x'\n}",
        "if `r(N)' > 3 {\nreg y t\n}",
        "sum y\nif r(mean) > 3 reg y t",
        "forv i=1/`r(max)' {\nreg y`i' t\n}",
        "local m = r(mean)\nreg y t if y > `m'",
        "while r(N) > 3 {\nreg y t\n}",
    ],
)
def test_what_data_decide_is_read_once_and_said(read: Callable[..., Reading], text: str) -> None:
    (row,) = read(text)
    assert row.status == "partly"
    assert "data" in row.note


def test_both_branches_of_what_data_decide_are_read(read: Callable[..., Reading]) -> None:
    text = "if x > 3 {\nreg a t\n}\nelse if x > 2 {\nreg b t\n}\nelse {\nreg c t\n}\nreg d t"
    rows = read(text)
    assert [row.outcome for row in rows] == ["a", "b", "c", "d"]
    assert [row.status for row in rows] == ["partly", "partly", "partly", "read"]


def test_the_line_is_where_the_estimation_stands(read: Callable[..., Reading]) -> None:
    text = "program mine\nreg `1' t\nend\n\nmine y\nmine z\n"
    assert [(row.file, row.line, row.outcome) for row in read(text)] == [
        ("main.do", 2, "y"),
        ("main.do", 2, "z"),
    ]


def test_passes_that_read_the_same_are_listed_once(read: Callable[..., Reading]) -> None:
    found = read("forvalues b = 1/500 {\nuse a, clear\nbsample\nreg y t\nreg z t\n}")
    assert [row.outcome for row in found] == ["y", "z"]
    assert found.notes == ("main.do, line 1: 500 passes read the same; one is listed",)


def test_passes_that_count_are_not_the_same(read: Callable[..., Reading]) -> None:
    found = read("local j 0\nforvalues b = 1/4 {\nlocal ++j\nreg y`j' t\n}")
    assert [row.outcome for row in found] == ["y1", "y2", "y3", "y4"]
