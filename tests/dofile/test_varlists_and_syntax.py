"""Lists of variables, and the parts of a command."""

from __future__ import annotations

import pytest

from dprct.dofile.syntax import full_name, parse, split_prefixes
from dprct.dofile.varlists import bare_names, expanded, words

COLUMNS = ["id", "treat", "age", "age2", "zone1", "zone2", "zone3", "income"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a b  c", ["a", "b", "c"]),
        ("a - c d", ["a-c", "d"]),
        ("a- c", ["a-c"]),
        ("a -c", ["a-c"]),
        ("i.(a b) c.x#i.y", ["i.(a b)", "c.x#i.y"]),
        ("z* day* x", ["z*", "day*", "x"]),
        ("i.a*i.b", ["i.a*i.b"]),
    ],
)
def test_words(text: str, found: list[str]) -> None:
    assert words(text) == found


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("zone1-zone3", ["zone1", "zone2", "zone3"]),
        ("zone*", ["zone1", "zone2", "zone3"]),
        ("zone?", ["zone1", "zone2", "zone3"]),
        ("z*2", ["zone2"]),
        ("inc", ["income"]),
        ("age", ["age"]),
        ("zone", ["zone"]),
        ("new1-new3", ["new1-new3"]),
        ("new*", ["new*"]),
        ("i.zone1", ["i.zone1"]),
    ],
)
def test_a_header_writes_lists_out(word: str, found: list[str]) -> None:
    assert expanded(word, COLUMNS) == found
    assert expanded(word, None) == [word]


@pytest.mark.parametrize(
    ("word", "names"),
    [
        ("c.age#i.zone1", ["age", "zone1"]),
        ("i.(a b)", ["a", "b"]),
        ("ib2.x##c.y", ["x", "y"]),
        ("L.x", ["x"]),
        ("i.a*i.b", ["a", "b"]),
        ("x", ["x"]),
    ],
)
def test_factor_notation_is_made_of_columns(word: str, names: list[str]) -> None:
    found = bare_names(word)
    assert found == names


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("reg", "regress"),
        ("regr", "regress"),
        ("areg", "areg"),
        ("xtreg", "xtreg"),
        ("oprob", "oprobit"),
        ("dprobit", "dprobit"),
        ("g", "generate"),
        ("gen", "generate"),
        ("qui", "quietly"),
        ("cap", "capture"),
        ("bys", "bysort"),
        ("loc", "local"),
        ("gl", "global"),
        ("mycmd", "mycmd"),
    ],
)
def test_abbreviations(word: str, name: str) -> None:
    assert full_name(word) == name


@pytest.mark.parametrize(
    ("text", "names", "rest"),
    [
        ("qui reg y t", ["quietly"], "reg y t"),
        ("capture noisily xi: reg y i.t", ["capture", "noisily", "xi"], "reg y i.t"),
        ("bysort a (b): reg y t", ["bysort"], "reg y t"),
        ("eststo m1, title(a: b): qui reg y t", ["eststo", "quietly"], "reg y t"),
        ("bootstrap _b, reps(300) bca: reg y t", ["bootstrap"], "reg y t"),
        ("svy, subpop(x): reg y t", ["svy"], "reg y t"),
        ("version 9: reg y t", ["version"], "reg y t"),
        ("xi i.date, pre(day)", [], "xi i.date, pre(day)"),
    ],
)
def test_prefixes(text: str, names: list[str], rest: str) -> None:
    found, left = split_prefixes(text)
    assert ([one.name for one in found], left) == (names, rest)


def test_the_parts_of_a_command() -> None:
    parsed = parse('reg y t if a=="if, in" & b[_n-1] > 2 in 1/9 [pw = w], vce(cluster v) level(90)')
    assert (parsed.name, parsed.before) == ("regress", "y t")
    assert parsed.condition == 'a=="if, in" & b[_n-1] > 2'
    assert parsed.within == "1/9"
    assert parsed.weights == "pweight=w"
    assert parsed.options == {"vce": "cluster v", "level": "90"}
    assert parsed.option("level", 2) == "90"
    assert parsed.option("robust") is None


def test_using_and_if_in_either_order() -> None:
    parsed = parse("merge 1:1 id using a b, keep(x)")
    assert (parsed.before, parsed.using) == ("1:1 id", "a b")
    parsed = parse("use id y using survey if y > 2, clear")
    assert (parsed.before, parsed.using, parsed.condition) == ("id y", "survey", "y > 2")


@pytest.mark.parametrize(
    "text",
    [
        "reg y t x, robust, if a == 1",
        "reg y t x , clust(v) robust , if a == 1 ,",
        "reg y t x if a == 1, level(90), robust",
    ],
)
def test_a_condition_may_follow_the_options(text: str) -> None:
    parsed = parse(text)
    assert (parsed.before, parsed.condition) == ("y t x", "a == 1")
    assert parsed.option("robust") == ""
