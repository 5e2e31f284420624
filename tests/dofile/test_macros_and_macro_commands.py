"""Locals, globals, and what extended functions say of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dprct.dofile.lines import CLOSE, OPEN
from dprct.dofile.macros import BoundReached, Macros

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def macros() -> Macros:
    made = Macros(100_000)
    made.locals.update(a="x y z", b="a", i="3", x1="one", nested="`b'", n="2", empty="")
    made.globals.update(controls="age sex", g1="first", name="controls")
    return made


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("reg y `a' $controls", "reg y x y z age sex"),
        ("``b''", "x y z"),
        ("`x`=1''", "one"),
        ("`nested'", "a"),
        ("${controls}_x", "age sex_x"),
        ("${g1}", "first"),
        ("$g1 $nothing|", "first |"),
        ("${`b'}|", "|"),
        ("$`empty'controls", "age sex"),
        ("`undefined'|", "|"),
        ("`=`i'+1'", "4"),
        ('`="a" + "b"\'', "ab"),
        ("`++i' `i'", "4 4"),
        ("`i++' `i'", "3 4"),
        ("`--i'", "2"),
        ("\\`a' \\$g1", "`a' $g1"),
        ("`\"`a'\"'", '`"x y z"\''),
        ("`: word count `a''", "3"),
        ("`: word 2 of `a''", "y"),
        ("`: word `n' of `a''", "y"),
        ("`: word 9 of `a''", ""),
        ('`: word count "p q" r\'', "2"),
        ("`: list a | b'", "x y z a"),
        ("`: list a - nested'", "x y z"),
        ("`: list sizeof a'", "3"),
        ('`: list posof "z" in a\'', "3"),
        ("`: list b in a'", "0"),
        ('`: subinstr local a "y" "Q", all\'', "x Q z"),
        ('`: subinstr local a " " "+"\'', "x+y z"),
        ('`: subinstr global controls "age" "old", word\'', "old sex"),
        ("`: length local a'", "5"),
        ("`: upper `b''", "A"),
        ("`: di 2*3'", "6"),
        ("`: copy local a'", "x y z"),
        ("it's 5'", "it's 5'"),
        ("`unclosed", "`unclosed"),
        ("costs $5", "costs $5"),
    ],
)
def test_macros_are_written_out(macros: Macros, text: str, written: str) -> None:
    assert macros.expand(text) == written


@pytest.mark.parametrize(
    "text",
    ["`r(mean)'", "`e(N)'", "`c(pwd)'", "`=r(mean)/2'", "`: variable label y'", "`=_N'"],
)
def test_what_comes_from_data_is_marked(macros: Macros, text: str) -> None:
    found = macros.expand(text)
    assert found.startswith(OPEN)
    assert found.endswith(CLOSE)


def test_a_macro_that_holds_itself_ends(macros: Macros) -> None:
    macros.set("loop", "`loop' x")
    assert len(macros.expand("`loop'")) < 1_000


def test_a_macro_that_doubles_ends() -> None:
    macros = Macros(50_000)
    macros.set("a", "x" * 50)

    def double(times: int) -> None:
        for _ in range(times):
            macros.set("a", macros.expand("`a'`a'"))

    with pytest.raises(BoundReached):
        double(1_000)


def test_undefined_globals_are_remembered(macros: Macros) -> None:
    macros.expand("$nowhere $controls")
    assert macros.undefined == {"nowhere"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("loc x a b\nreg y `x'", "y: a b"),
        ('local x "a b"\nreg y `x\'', "y: a b"),
        ("local x `\"a b\"'\nreg y `x'", "y: a b"),
        ("local x = 2 + 3\nreg y a`x'", "y: a5"),
        ('local x = "a" + "b"\nreg y `x\'', "y: ab"),
        ('gl x a\ngl z "$x b"\nreg y $z', "y: a b"),
        ("mac def x a b\nreg y $x", "y: a b"),
        ("local i 1\nlocal ++i\nreg y a`i'", "y: a2"),
        ("local a : word 2 of p q\nreg y `a'", "y: q"),
        ("tokenize a b c\nreg y `2' `1'\n", "y: b a"),
        ("tokenize a b c\nmac shift\nreg y `*'\n", "y: b c"),
        ("local l a b c\ngettoken first l : l\nreg y `first' z`l'", "y: a z b c"),
        ("tempvar t\ngen `t' = 1\nreg y `t'", "y: __00001_t"),
        ("scalar k = 4\nlocal j = k + 1\nreg y a`j'", "y: a5"),
        ("global x a\nmacro drop x\nreg y b $x", "y: b"),
        ("unab all : a-c\nreg y `all'", "y: a b c"),
        ('numlist "1/3"\nreg y a', "y: a"),
    ],
)
def test_commands_that_define_macros(
    outcomes: Callable[..., list[str]], text: str, found: str
) -> None:
    header = ["y", "a", "b", "c"] if "unab" in text else None
    assert outcomes(text, header) == [found]
