"""Conditions on rows: read as Stata's, kept in one spelling, and true for the rows Stata takes."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from dprct.dofile.expressions import truth, value_of
from dprct.errors import FormulaError
from dprct.schema.conditions import (
    Values,
    as_in_stata,
    columns_asked,
    condition,
    in_signs,
    meets,
    named,
    reduced,
    texts,
)

ROWS = [(x, y, s) for x in (0.0, 1.0, 2.0, math.inf) for y in (0.0, 1.0, math.inf)
        for s in ("", "a", "b c")]  # fmt: skip
COLUMNS = {
    "x": np.array([np.nan if x == math.inf else x for x, _, _ in ROWS]),
    "y": np.array([np.nan if y == math.inf else y for _, y, _ in ROWS]),
    "s": np.array([s for _, _, s in ROWS], dtype=object),
}


@pytest.mark.parametrize(
    ("text", "spelling"),
    [
        ("inc.total > .5 & late", "inc.total > 0.5 and late"),
        ("inc.t < . | a.b.c==1.5e3", "not missing(inc.t) or a.b.c == 1500.0"),
        ('d.name == "a.b"', "d.name == 'a.b'"),
    ],
)
def test_names_may_have_dots_as_in_r(text: str, spelling: str) -> None:
    assert condition(text) == condition(spelling) == spelling
    assert all("." in name or name == "late" for name in named(spelling))


@pytest.mark.parametrize("text", ["x.__class__ == 1", "missing(x).real", "x.y()"])
def test_a_dot_reaches_into_nothing(text: str) -> None:
    with pytest.raises(FormulaError):
        condition(text)


def written(rng: random.Random, depth: int = 0) -> str:
    """A condition as a do-file might have it."""
    kind = rng.randrange(9 if depth < 3 else 6)
    name = rng.choice(("x", "y"))
    if kind <= 1:
        return f"{name}{rng.choice(('==', '!=', '~=', '<', '<=', '>', '>='))}{rng.randrange(3)}"
    if kind == 2:
        return rng.choice((f"{name}!=.", f"{name}<.", f"{name}==.", f"{name}>=."))
    if kind == 3:
        return rng.choice((f"missing({name})", "missing(x, y)", f"!mi({name})", name))
    if kind == 4:
        return rng.choice(('s=="a"', 's~="b c"', 's==""', 's!=""'))
    if kind == 5:
        ranges = f"inrange({name}, 1, 2)", f"inrange({name}, 1, .)", f"inrange({name}, ., 1)"
        return rng.choice((f"inlist({name}, 0, 2)", *ranges))
    if kind == 6:
        return f"!({written(rng, depth + 1)})"
    return f"({written(rng, depth + 1)} {'&|'[kind - 7]} {written(rng, depth + 1)})"


def by_stata(text: str, row: tuple[float, float, str]) -> bool:
    """Whether Stata takes a row: what is missing is above every number."""
    text = text.replace("mi(", "missing(").replace("missing(x, y)", "(missing(x)|missing(y))")
    for name in "xy":
        text = text.replace(f"inlist({name}, 0, 2)", f"({name}==0|{name}==2)")
        text = text.replace(f"inrange({name}, 1, 2)", f"({name}>=1&{name}<=2)")
        text = text.replace(f"inrange({name}, 1, .)", f"({name}>=1&{name}<.)")
        text = text.replace(f"inrange({name}, ., 1)", f"({name}<=1)")
    found = truth(value_of(text, dict(zip("xys", row, strict=True))))
    assert found is not None, text
    return found


def test_the_rows_are_those_that_stata_takes() -> None:
    rng = random.Random(7)
    texts_of = {written(rng) for _ in range(600)}
    for text in sorted(texts_of):
        wanted = [by_stata(text, row) for row in ROWS]
        exact = as_in_stata(condition(text), ())
        assert exact is not None
        assert meets(exact, COLUMNS, len(ROWS)).tolist() == wanted, text
        assert condition(exact) == exact
        left = reduced(exact, ())
        for spelled in () if left is None else (left or "x == x or missing(x)",):
            assert meets(spelled, COLUMNS, len(ROWS)).tolist() == wanted, text
        # of rows that have values it asks less, and takes the same ones
        there = reduced(exact, {"x"})
        has = ~np.isnan(COLUMNS["x"])
        held = np.full(len(ROWS), there is not None)
        held = meets(there, COLUMNS, len(ROWS)) if there else held
        assert (held[has] == np.array(wanted)[has]).all(), text


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("x > 1", "x > 1"),
        ("x > 1 & y != 2", "x > 1 and y != 2"),
        ("!(x > 1)", "not x > 1"),
    ],
)
def test_a_comparison_with_what_is_missing_is_unknown(text: str, found: str) -> None:
    assert condition(text) == found
    gone = np.isnan(COLUMNS["x"])
    assert not meets(found, COLUMNS, len(ROWS))[gone].any()


def test_signs_may_be_doubled() -> None:
    assert condition("x == 1 && (y == 2 || late)") == "x == 1 and (y == 2 or late)"


def test_what_a_condition_asks_of_columns() -> None:
    text = condition('!missing(wage) & wave == 2 & (town == "A" | town == "")')
    assert columns_asked(text) == ({"wave", "town"}, {"wage"})
    assert named(text) == {"wave", "town", "wage"}
    assert texts(text) == {"town"}
    assert reduced("b == 1 and a == 1 and b == 1", ()) == "a == 1 and b == 1"
    assert as_in_stata("x > y", ()) is None
    assert as_in_stata("x > y", {"x", "y"}) == "x > y"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("e(sample)", r"e\(sample\) is the rows of the last estimation"),
        ("x == .a", r".a, are not told apart; write missing\(x\)"),
        ("x > .", "is compared as in x == ."),
        ("perbush >= X[1, 1]", "is not allowed"),
        ('s > "a"', "is not allowed"),
        ('"a"', "is not allowed"),
        (". == 1", "is compared as in"),
        ("inlist(x)", "is not allowed"),
        ("2 > 1", "names no column"),
    ],
)
def test_what_no_release_reads_is_refused_by_name(text: str, words: str) -> None:
    with pytest.raises(FormulaError, match=words):
        condition(text)


@pytest.mark.parametrize("name", ["class", "from", "with", "pass", "return", "global", "def"])
def test_a_column_may_be_called_as_a_word_of_python(name: str) -> None:
    """Schools have classes: ``reg score treat if class == 8`` is a condition as any other."""
    assert condition(f"{name}==8 & x < .") == f"{name} == 8 and (not missing(x))"
    assert condition(condition(f'{name} == 8 | town == "{name}"')) == (
        f"{name} == 8 or town == '{name}'"
    )
    assert columns_asked(condition(f"!({name}>=1)"))[0] == {name}
    with pytest.raises(FormulaError, match=rf"'{name} @ 3' is not"):
        condition(f"{name} @ 3 == 1")


@pytest.mark.parametrize(
    ("text", "said"),
    [("x = 1", True), ('x == 1 & s = "a"', True), ('s == "a = b" &', False), ("x >= 1 &", False)],
)
def test_a_single_equals_sign_is_told(text: str, said: bool) -> None:
    with pytest.raises(FormulaError, match="is not an expression") as caught:
        condition(text)
    assert ("compares nothing" in str(caught.value)) is said


@pytest.mark.parametrize("name", ["years at school", "a-b", "age (years)", "x.1", "größe in m"])
def test_a_name_with_blanks_or_signs_stands_in_backquotes(name: str) -> None:
    """R's data frames have such names; a condition is read again as it is written."""
    text = condition(f'!is.na(`{name}`) & `{name}` > 9 & town != "`no`"')
    assert condition(text) == text
    assert text == f"not missing(`{name}`) and `{name}` > 9 and (town != '`no`')"
    assert named(text) == {name, "town"}
    assert reduced(text, [name]) == f"`{name}` > 9 and town != '`no`'"
    assert in_signs(text, "is.na") == f'(!(is.na(`{name}`)) & `{name}` > 9 & town != "`no`")'
    columns = {name: np.array([9.0, 10, np.nan]), "town": np.array(["a", "b", "a"], object)}
    assert meets(text, columns, 3).tolist() == [False, True, False]
    with pytest.raises(FormulaError, match=r"'open\(`x y`\)' is not allowed"):
        condition("`x y` > open(`x y`)")


def test_what_r_writes_otherwise_is_named() -> None:
    assert condition("`plain` == 1 & is.na(y)") == "plain == 1 and missing(y)"
    with pytest.raises(FormulaError, match=r"write inlist\(x, 1, 3\)"):
        condition("x %in% c(1, 3)")


@pytest.mark.parametrize("text", ["x >= 1e17", "x < 1e17", "x == -1e17", "x != 1e300"])
def test_no_comparison_with_a_large_number_holds_for_everybody(text: str) -> None:
    """Of such a number, one more is the same double."""
    assert reduced(text, (), {"x": Values()}) not in ("", None)
