"""Stata and R habits are answered with how it is written here."""

from __future__ import annotations

import re

import pytest

from dprct.errors import FormulaError
from dprct.formula import parse
from dprct.formula.syntax import function_hint, stata_or_r


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("reg y x", "Stata command"),
        ("regress y x z", "Stata command"),
        ("areg y x, absorb(v)", "Stata command"),
        ("y ~ i.village", "write C(village) here"),
        ("y ~ ib2.arm", "write C(arm) here"),
        ("y ~ c.age + x", "write age alone"),
        ("y ~ a#b", "a:b"),
        ("y ~ c.x##i.z", "a*b"),
        ("y ~ x, robust", "cov_type="),
        ("y ~ x if age > 3", "select the rows"),
        ("y ~ .", "name each column"),
        ("y ~ as.factor(x)", "write C"),
        ("y ~ factor(x)", "write C(x)"),
        ("y ~ np.log(x)", "write log(x)"),
        ("y ~ ln(x)", "write log(x)"),
    ],
)
def test_the_hint_is_in_the_refusal(text, hint):
    with pytest.raises(FormulaError, match=re.escape(hint)):
        parse(text, functions=True)


@pytest.mark.parametrize(
    "text", ["y ~ x", "reg ~ by + xi", "`i.x` ~ `c.z`", "i ~ c", "y ~ I(x ** 2) + C(i)"]
)
def test_no_false_alarm(text):
    assert parse(text)


def test_unknown_text_gets_no_hint():
    assert stata_or_r("y ~ x + z") is None
    assert function_hint("mystery", "x") == ""
