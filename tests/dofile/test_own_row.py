"""Columns that do-files make, against what Stata gives for the same rows, worked out by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from dprct.dofile import read_files
from dprct.schema.expressions import MADE, evaluate

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from dprct.dofile import Reading

M = np.nan
X = np.array([0.0, 1.0, 5.0, -2.5, M])
Y = np.array([1.0, 1.0, M, 2.0, M])
S = np.array(["F", "M", "", "F", "M"], dtype=object)
D = np.array([0.0, 60.0, -1.0, 18399.0, M])  # 1 Jan 1960, 1 Mar 1960, 31 Dec 1959, 17 May 2010

# In Stata a missing value is above all numbers, so that x > 1 is 1 of it and x < 1 is 0.
BY_HAND = [
    ("gen z = x > 1", [0, 0, 1, 0, 1]),
    ("gen z = x >= 1", [0, 1, 1, 0, 1]),
    ("gen z = x < 1", [1, 0, 0, 1, 0]),
    ("gen z = x <= 1", [1, 1, 0, 1, 0]),
    ("gen z = x == 1", [0, 1, 0, 0, 0]),
    ("gen z = x != 1", [1, 0, 1, 1, 1]),
    ("gen z = x ~= 1 & x < .", [1, 0, 1, 1, 0]),
    ("gen z = x > y", [0, 0, 0, 0, 0]),
    ("gen z = y > x", [1, 0, 1, 1, 0]),
    ("gen z = x == y", [0, 1, 0, 0, 1]),
    ("gen z = x >= y", [0, 1, 0, 0, 1]),
    ("gen z = x <= y", [1, 1, 1, 1, 1]),
    ("gen z = x == .", [0, 0, 0, 0, 1]),
    ("gen z = !missing(x, y)", [1, 1, 0, 1, 0]),
    ("gen z = !x", [1, 0, 0, 0, 0]),
    ("gen z = 3 if x", [M, 3, 3, 3, 3]),
    ("gen z = 3 if !x", [3, M, M, M, M]),
    ("gen z = x + y", [1, 2, M, -0.5, M]),
    ("gen z = x | y", [1, 1, 1, 1, 1]),
    ("gen z = x & y", [0, 1, 1, 1, 1]),
    ("gen z = -x^2", [0, -1, -25, -6.25, M]),
    ("gen z = 2^3^2 if x == 0", [64, M, M, M, M]),
    ("gen z = ln(x)", [M, 0, np.log(5), M, M]),
    ("gen z = x/y", [0, 1, M, -1.25, M]),
    ("gen z = 1/x", [M, 1, 0.2, -0.4, M]),
    ("gen z = int(x)", [0, 1, 5, -2, M]),
    ("gen byte z = x", [0, 1, 5, -2, M]),
    ("gen z = floor(x)", [0, 1, 5, -3, M]),
    ("gen z = round(x)", [0, 1, 5, -2, M]),
    ("gen z = mod(x, 2)", [0, 1, 1, 1.5, M]),
    ("gen z = max(x, y)", [1, 1, 5, 2, M]),
    ("gen z = min(x, 0)", [0, 0, 0, -2.5, 0]),
    ("gen z = cond(x > 1, 10, 20)", [20, 20, 10, 20, 10]),
    ("gen z = cond(x, 1, 0, 9)", [0, 1, 1, 1, 9]),
    ("gen z = inlist(x, 1, 5)", [0, 1, 1, 0, 0]),
    ("gen z = inlist(x, 1, .)", [0, 1, 0, 0, 1]),
    ("gen z = inrange(x, 0, 1)", [1, 1, 0, 0, 0]),
    ("gen z = inrange(x, ., 1)", [1, 1, 0, 1, 0]),
    ("gen z = inrange(x, 1, .)", [0, 1, 1, 0, 0]),
    ("gen z = x\nreplace z = 0 if z > 1", [0, 1, 0, -2.5, 0]),
    ("gen z = x\nreplace z = 9 if z > 1 & z < .", [0, 1, 9, -2.5, M]),
    ("gen z = .\nreplace z = 1 if x == 1\nreplace z = 0 if x == 0", [0, 1, M, M, M]),
    ("gen z = y\nreplace y = 0\nreplace z = z + y", [1, 1, M, 2, M]),
    ("replace x = x + 1\ngen z = x", [1, 2, 6, -1.5, M]),
    ("rename x w\ngen x = 7\ngen z = w + x", [7, 8, 12, 4.5, M]),
    ("clonevar z = x", [0, 1, 5, -2.5, M]),
    ("egen z = rowmean(x y)", [0.5, 1, 5, -0.25, M]),
    ("egen z = rowtotal(x y)", [1, 2, 5, -0.5, 0]),
    ("egen z = rowtotal(x y), missing", [1, 2, 5, -0.5, M]),
    ("egen z = rowmax(x y)", [1, 1, 5, 2, M]),
    ("egen z = rowmin(x y)", [0, 1, 5, -2.5, M]),
    ("egen z = rowmiss(x y)", [0, 0, 1, 0, 2]),
    ("egen z = rownonmiss(x y)", [2, 2, 1, 2, 0]),
    ("egen z = anymatch(x y), values(1 5)", [1, 1, 1, 0, 0]),
    ("egen z = anycount(x y), values(0/1)", [2, 2, 0, 0, 0]),
    ("egen z = cut(x), at(0, 1, 6)", [0, 1, 1, M, M]),
    ("egen z = cut(x), at(0, 1, 6) icodes", [0, 1, 1, M, M]),
    ("recode x (0 = 9) (1/max = 1), gen(z)", [9, 1, 1, -2.5, M]),
    ("recode x 0=9 .=7, gen(z)", [9, 1, 5, -2.5, 7]),
    ("recode x (min/0 = 0) (else = 1), gen(z)", [0, 1, 1, 0, 1]),
    ("recode x (nonmissing = 1) if y == 1, gen(z)", [1, 1, M, M, M]),
    ("recode x (1=2) if y == 1\ngen z = x", [0, 2, 5, -2.5, M]),
    ("mvdecode x, mv(5)\ngen z = x", [0, 1, M, -2.5, M]),
    ("mvencode x, mv(-9)\ngen z = x", [0, 1, 5, -2.5, -9]),
    ('gen z = s == "F"', [1, 0, 0, 1, 0]),
    ('gen z = s != "F"', [0, 1, 1, 0, 1]),
    ('gen z = s == ""', [0, 0, 1, 0, 0]),
    ("gen z = year(d)", [1960, 1960, 1959, 2010, M]),
    ("gen z = month(d)", [1, 3, 12, 5, M]),
    ("gen z = day(d)", [1, 1, 31, 17, M]),
    ("gen z = d >= td(17may2010)", [0, 0, 0, 1, 1]),
    ("scalar k = 3\ngen z = x*k", [0, 3, 15, -7.5, M]),
    ("local k 2\ngen z = x*`k'", [0, 2, 10, -5, M]),
    ("gen z = 0\nforvalues k = 1/3 {\nreplace z = z + (x == `k')\n}", [0, 1, 0, 0, 0]),
    ("foreach v in x y {\ngen `v'1 = `v' > 1\n}\ngen z = x1 + y1", [0, 0, 2, 1, 2]),
]  # fmt: skip

REFUSED = [
    ("egen z = mean(x)", r"egen mean\(\) is made of other people's rows"),
    ("bysort y: egen z = max(x)", r"egen max\(\) is made of other people's rows"),
    ("egen z = std(x)", r"egen std\(\)"),
    ("egen z = group(x y)", r"egen group\(\)"),
    ("xtile z = x, nq(4)", "declare the cut points from public knowledge"),
    ("gen z = x[_n-1]", "takes the value of another row"),
    ("gen z = _n", "_n counts rows"),
    ("gen z = x/_N", "_N counts rows"),
    ("gen z = sum(x)", r"sum\(\) runs over other rows"),
    ("sum x\ngen z = x - r(mean)", r"r\(\) comes from the data"),
    ("sum x, d\nlocal c = r(p99)\ngen z = min(x, `c')", "a number comes from the data"),
    ("gen z = runiform()", "draws at random"),
    ("reg y x\npredict z", "predict comes from an estimation"),
    ("gen z = x in 1/10", "counts rows"),
    ("recode x (1 = 2) in 1/10, gen(z)", "counts rows"),
    ("encode s, gen(z)", "encode numbers the texts that the data hold"),
    ("gen z = x == .a", "codes of missing values, such as .a, are not told apart"),
    ("egen m = mean(x)\ngen z = x - m", "m: egen mean"),
    ("mycommand\ngen z = x", "after mycommand, which is not known"),
    ('gen z = substr(s, 1, 1) == "F"', "is about text"),
    ("gen z = x\nkeep if z > 0\nreplace z = z + 1", "changed after rows were chosen by it"),
    ("gen z = x\nmerge 1:1 id using other", "made before the merge of another file"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), BY_HAND, ids=[text for text, _ in BY_HAND])
def test_a_made_column_is_what_stata_makes(
    read: Callable[..., Reading], text: str, expected: list[float]
) -> None:
    (row,) = read(f"{text}\nreg outcome z")
    made = row.made["z"]
    assert not made.refused
    columns = {"x": X, "y": Y, "s": S, "d": D}
    found = evaluate(made.expression, columns, MADE)
    assert np.array_equal(found, np.array(expected, float), equal_nan=True), made.expression


@pytest.mark.parametrize(("text", "why"), REFUSED, ids=[text for text, _ in REFUSED])
def test_what_others_move_is_refused_by_name(
    read: Callable[..., Reading], text: str, why: str
) -> None:
    row = read(f"{text}\nreg outcome z")[-1]
    made = row.made["z"]
    assert not made.expression
    with pytest.raises(AssertionError, match=why):
        raise AssertionError(made.refused)


def test_lines_that_make_a_column_are_kept(read: Callable[..., Reading]) -> None:
    (row,) = read("gen z = x\nreplace z = 0 if y == 1\nreg outcome z")
    assert [line for _, line in row.made["z"].places] == [1, 2]


def test_copies_and_renamed_columns_are_columns_of_the_file(read: Callable[..., Reading]) -> None:
    (row,) = read("rename x w\ngen z = w\nreg outcome z w")
    assert (row.made["z"].copied, row.made["w"].copied) == ("x", "x")


def test_indicators_of_tabulate_are_those_of_the_column(read: Callable[..., Reading]) -> None:
    found = read(
        "tab town if s == 1, gen(T)\ntab wave, gen(W)\nreg y t T2-T4 W1 W2 if s == 1\n"
        "reg y t T2-T4 W3\nreg y t W1"
    )
    assert [row.regressors for row in found] == [
        ("t", "i.town", "i.wave"), ("t", "T2-T4", "W3"), ("t", "W1"),
    ]  # fmt: skip
    assert [row.categories for row in found] == [{"town": 4, "wave": 2}, {}, {}]
    assert "W1" in found[2].derived


def test_of_prepared_data_what_came_before_a_merge_is_done(tmp_path: Path) -> None:
    (tmp_path / "a.do").write_text(
        "use a\ngen x = z*2\ndrop if z > 3\nmerge 1:1 id using b\ngen w = x + 1\nreg y w x\n"
    )
    (row,) = read_files([(tmp_path / "a.do", tmp_path)], prepared=True)
    assert (row.made["w"].expression, row.sample) == ("x + 1", "")
    assert "x" not in row.derived
