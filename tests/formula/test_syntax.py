"""The grammar: what is read, how it is named and ordered, and what is refused."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dprct.errors import FormulaError
from dprct.formula import names, parse


def terms(text, **options):
    return [":".join(f.label for f in term) for term in parse(text, **options).terms]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("y ~ a + b", ["a", "b"]),
        ("y ~ a*b", ["a", "b", "a:b"]),
        ("y ~ a*b*c", ["a", "b", "c", "a:b", "a:c", "b:c", "a:b:c"]),
        ("y ~ a:b + a", ["a", "a:b"]),
        ("y ~ (a + b):c", ["a:c", "b:c"]),
        ("y ~ (a + b)*c", ["a", "b", "c", "a:c", "b:c"]),
        ("y ~ a + b + a + b:a + a:b", ["a", "b", "b:a"]),
        ("y ~ a*a", ["a"]),
        ("y ~ C(a) + C( b )", ["C(a)", "C(b)"]),
        ("y ~ I(a**2) + I( - a/ (b+1.5))", ["I(a ** 2)", "I(-a / (b + 1.5))"]),
        ("y ~ I(2*`a b`) + `a b` + C(`a b`)", ["I(2 * `a b`)", "a b", "C(a b)"]),
        ("y ~ `class` + `1st`", ["class", "1st"]),
        ("y ~ café + Größe", ["café", "Größe"]),
        ("y ~ 1", []),
        ("y~a\n  + b", ["a", "b"]),
    ],
)
def test_terms_are_ordered_by_degree_and_named_like_statsmodels(text, expected):
    assert terms(text) == expected


@pytest.mark.parametrize(
    ("text", "intercept"),
    [
        ("y ~ a", True),
        ("y ~ a - 1", False),
        ("y ~ -1 + a", False),
        ("y ~ a + 0", False),
        ("y ~ 0 + a", False),
        ("y ~ 1 + a", True),
        ("y ~ 0 + a + 1", True),
    ],
)
def test_intercept(text, intercept):
    assert parse(text).intercept is intercept


def test_outcomes_and_one_sided_formulas():
    assert names("y1 + y2 + y1 ~ a") == (("y1", "y2"), ("a",))
    assert names("~ a + C(b) + I(c*a)") == ((), ("a", "b", "c"))
    assert parse("log(y) ~ a", functions=True).outcomes[0].label == "log(y)"


@pytest.mark.parametrize("text", ["y ~ log(a)", "y ~ I(log(a))", "y ~ I(a > 3)", "log(y) ~ a"])
def test_functions_only_where_no_guarantee_is_claimed(text):
    assert parse(text, functions=True)
    with pytest.raises(FormulaError, match="bounds"):
        parse(text)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("y ~ {__import__('os').system('true')}", "'{'"),
        ('y ~ Q("a")', "'\"'"),
        ("y ~ a; import os", "';'"),
        ("y ~ a.b", "backquotes"),
        ("y ~ a[0]", r"'\['"),
        ("y ~ I(a[0])", r"'\['"),
        ("y ~ I(a.b)", "'.'"),
        ("y ~ eval(a)", "eval"),
        ("y ~ I(open(a))", "not allowed"),
        ("y ~ I(lambda: a)", "not an arithmetic"),
        ("y ~ I(a and b)", "not an arithmetic"),
        ("y ~ I(not a)", "not an arithmetic"),
        ("y ~ I(a < b < c)", "not allowed"),
        ("y ~ I(log())", "no column"),
        ("y ~ log(a)(b)", "not"),
        ("y ~ I(a in b)", "not an arithmetic"),
        ("y ~ I(1e999 * a)", "finite"),
        ("y ~ I()", "no column"),
        ("y ~ I(3)", "no column"),
        ("y ~ C(a + b)", "not C"),
        ("y ~ C()", "not C"),
        ("y ~ a ** 2", "outside I"),
        ("y ~ a / b", "outside I"),
        ("y ~ 2 * a", "number 2"),
        ("y ~ a:1", "number 1"),
        ("y ~ a + 2", "number 2"),
        ("y ~ a - b", "removes a term"),
        ("y ~ a b", "'b'"),
        ("y ~ a +", "ends"),
        ("y ~", "ends"),
        ("y ~ (a", "ends"),
        ("y ~ a)", "not expected"),
        ("y ~ I((a)", "not closed"),
        ("y ~ a ~ b", "has 2"),
        ("a + b", "has 0"),
        ("", "has 0"),
        ("C(y) ~ a", "categorical"),
        ("y1 y2 ~ a", "between outcomes"),
        ("y ~ `1` + a", "rename"),
        ("y ~ Intercept", "rename"),
        ("y ~ `C(a)` + C(a)", "rename"),
        ("y ~ `a:b` + a:b", "rename"),
        ("y ~ " + "(" * 80 + "a" + ")" * 80, "deep"),
        ("y ~ I(" + "(" * 200 + "a" + ")" * 200 + ")", "not an arithmetic|at most"),
        ("y ~ I(" + "a+" * 300 + "a)", "at most 500"),
        ("y ~ " + "*".join(f"(a{i} + b{i} + c{i})" for i in range(20)), "more than 5000"),
    ],
)
def test_refused_with_the_part_and_what_is_allowed(text, match):
    with pytest.raises(FormulaError, match=match) as refusal:
        parse(text, functions=True)
    assert len(str(refusal.value)) < 500


@pytest.mark.parametrize("given", [None, 3, ["y ~ a"], b"y ~ a"])
def test_a_formula_is_text(given):
    with pytest.raises(FormulaError, match="give text"):
        parse(given)


@given(st.text(alphabet=string.printable + "é`~:()+*C I", max_size=60))
def test_any_text_is_parsed_or_refused(text):
    try:
        parsed = parse(text, functions=True)
    except FormulaError:
        return
    assert text.count("~") - sum(part.count("~") for part in text.split("`")[1::2]) == 1
    assert all(name in text for name in parsed.names)


@given(
    st.lists(
        st.sampled_from(["a", "b:c", "a*b", "C(d)", "I(a ** 2)", "(a + b):C(d)", "0", "1"]),
        min_size=1,
        max_size=6,
    )
)
def test_a_sum_has_the_terms_of_its_parts(parts):
    together = {frozenset(t) for t in parse("y ~ " + " + ".join(parts)).terms}
    apart = {frozenset(t) for part in parts for t in parse("y ~ " + part).terms}
    assert together == apart
