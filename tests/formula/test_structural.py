"""Instruments and fixed effects in a formula: read where a fit knows them, refused elsewhere."""

from __future__ import annotations

import pytest

from dprct.errors import FormulaError
from dprct.formula import names, parse


def labels(terms):
    return [":".join(factor.label for factor in term) for term in terms]


def test_instruments_are_read():
    found = parse("y ~ age + [d ~ z1*C(arm) + `z 2`] + C(region)", structural=True)
    assert labels(found.terms) == ["age", "C(region)"]
    assert [factor.label for factor in found.endogenous] == ["d"]
    assert labels(found.instruments) == ["z1", "C(arm)", "z 2", "z1:C(arm)"]
    assert found.intercept
    assert names(found) == (("y",), ("age", "region", "d", "z1", "arm", "z 2"))


def test_effects_are_read():
    found = parse("y ~ [d ~ z] - 1 | village + `the year`", structural=True)
    assert found.terms == ()
    assert not found.intercept
    assert found.effects == ("village", "the year")
    assert parse("y ~ x | v + v", structural=True).effects == ("v",)
    assert parse("y ~ x", structural=True) == parse("y ~ x")


@pytest.mark.parametrize("text", ["y ~ [d ~ z]", "y ~ x | village", "y ~ x[0]"])
def test_fits_that_do_not_know_them_refuse_their_signs(text):
    with pytest.raises(FormulaError, match="is not allowed"):
        parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "y ~ [d]",
        "y ~ [d ~ z",
        "y ~ [d ~ ]",
        "y ~ [~ z]",
        "y ~ [d + e ~ z]",
        "y ~ [C(d) ~ z]",
        "y ~ [d ~ z] + [e ~ w]",
        "y ~ [d ~ [e ~ z]]",
        "y ~ x:[d ~ z]",
        "y ~ - [d ~ z]",
        "[y ~ x]",
        "y ~ x |",
        "y ~ x | C(village)",
        "y ~ x | a:b",
        "y ~ x | a | b",
        "y ~ x | a + 1",
        "y ~ x | a b",
        "y ~ | village",
        "y | a ~ x",
        "y ~ x ] | a",
        "y ~ __import__('os') | a",
    ],
)
def test_what_is_not_of_the_grammar_is_refused(text):
    with pytest.raises(FormulaError):
        parse(text, structural=True)
