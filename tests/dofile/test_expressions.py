"""Values of expressions without data."""

from __future__ import annotations

import pytest

from dprct.dofile.expressions import UNKNOWN, truth, value_of, written


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2*3^2", 19.0),
        ("-2^2", -4.0),
        ("2^3^2 + 2^-1", 64.5),
        ("!2^0", 1.0),
        ("(1 + 2)*3 - 4/2", 7.0),
        ("3 > 2 & 1 == 1", 1.0),
        ("!(3 > 2) | 0", 0.0),
        ('"a" + "b"', "ab"),
        ('"a" == "b" | "x" != "y"', 1.0),
        ('`"say"\' == "say"', 1.0),
        ('inlist("b", "a", "b")', 1.0),
        ("inrange(3, 1, 2)", 0.0),
        ('substr("abcdef", 2, 3)', "bcd"),
        ('substr("abcdef", -2, .)', "ef"),
        ('subinstr("a b a", "a", "c", 1)', "c b a"),
        ('word("x y z", -1)', "z"),
        ('wordcount("x y z")', 3.0),
        ('upper("x") + lower("Y")', "Xy"),
        ('strpos("hello", "l")', 3.0),
        ("round(2.567, .01)", 2.57),
        ("mod(7, 3) + int(-2.5) + floor(2.9)", 1.0),
        ("cond(1 > 2, 10, 20)", 20.0),
        ('string(4) + "a"', "4a"),
        (". > 5", 1.0),
        ("missing(.)", 1.0),
        ("x > 0 & 0", 0.0),
        ("x > 0 | 1", 1.0),
        ("x + 1", UNKNOWN),
        ("r(mean)", UNKNOWN),
        ("e(b)[1, 2]", UNKNOWN),
        ("upper(3)", UNKNOWN),
        ("1 +", UNKNOWN),
        ("10^1000000", UNKNOWN),
        ("(" * 500 + "1" + ")" * 500, UNKNOWN),
    ],
)
def test_values(text: str, value: object) -> None:
    found = value_of(text)
    assert found == (pytest.approx(value) if isinstance(value, float) else value)


@pytest.mark.parametrize(
    ("number", "text"), [(3.0, "3"), (0.5, ".5"), (-0.25, "-.25"), (1e20, "1e+20")]
)
def test_numbers_are_written_as_stata_does(number: float, text: str) -> None:
    assert written(number) == text


def test_what_is_unknown_has_no_truth() -> None:
    assert truth(value_of("x")) is None
    assert truth(value_of("1 == 1")) is True
