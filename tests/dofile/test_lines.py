"""Comments, delimiters and braces."""

from __future__ import annotations

import pytest

from dprct.dofile.lines import Block, blocks, commands


def texts(text: str) -> list[str]:
    return [" ".join(one.text.split()) for one in commands(text, []) if one.text]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("reg y t // so\nreg z t", ["reg y t", "reg z t"]),
        ("* reg y t\nreg z t", ["reg z t"]),
        ("* one ///\n two\nreg z t", ["reg z t"]),
        ("reg y ///\n  t ///\n  x\nreg z t", ["reg y t x", "reg z t"]),
        ("reg y /* not\n this */ t\nreg z t", ["reg y t", "reg z t"]),
        ("/* a /* b */ c */ reg y t", ["reg y t"]),
        ("* see data/*.dta\nreg y t\n/* x */", ["reg y t"]),
        ("* open /* \nreg y t\n*/ \nreg z t", ["reg z t"]),
        ('use "http://a.b/c.dta"\nreg y t', ['use "http://a.b/c.dta"', "reg y t"]),
        ('local p "a/*.dta" // so\nreg y t', ['local p "a/*.dta"', "reg y t"]),
        ('di "open\nreg y t', ['di "open', "reg y t"]),
        ("#delimit ;\nreg y\n t;\n* gone\n too;\nreg z t;\n#d cr\nreg w t", 3),
        ("#d;\nreg y t; reg z t;", ["reg y t", "reg z t"]),
        ("reg y t\r\nreg z t\rreg w t", ["reg y t", "reg z t", "reg w t"]),
        ("di 4*5\nreg y t", ["di 4*5", "reg y t"]),
    ],
)
def test_comments_and_delimiters(text: str, found: list[str] | int) -> None:
    expected = ["reg y t", "reg z t", "reg w t"] if found == 3 else found
    assert texts(text) == expected


def test_commands_know_their_lines() -> None:
    text = "use a\n\nreg y ///\n t\n/*\n*/ reg z t\n"
    assert [one.line for one in commands(text, [])] == [1, 3, 6]


def test_a_comment_that_is_not_closed_is_said() -> None:
    notes: list[str] = []
    assert [c.text for c in commands("reg y t\n/* a\nreg z t", notes)] == ["reg y t"]
    assert notes == ["a comment /* is not closed; what follows it is not read"]


@pytest.mark.parametrize(
    ("comment", "table"),
    [
        ("*Table 3 - All okay", "Table 3"),
        ("**** Table A2.", "Table A2"),
        ("// TABLE 4b", "TABLE 4b"),
        ("/* Figure 2 */", "Figure 2"),
        ("* as in Table 3 above", ""),
    ],
)
def test_a_comment_names_a_table_where_it_begins_with_it(comment: str, table: str) -> None:
    assert [one.table for one in commands(comment, [])] == ([table] if table else [])


def shape(text: str, notes: list[str] | None = None) -> list[object]:
    def of(node: object) -> object:
        if isinstance(node, Block):
            return [node.program or node.header.text, *map(of, node.body)]
        return node.text  # type: ignore[attr-defined]

    return [of(node) for node in blocks(commands(text, []), [] if notes is None else notes)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("if 1 {\na\n}\nelse {\nb\n}", [["if 1", "a"], ["else", "b"]]),
        ("if 1 {\na\n} else if 2 {\nb\n}", [["if 1", "a"], ["else if 2", "b"]]),
        ("foreach x in a b { reg y `x' }\nc", [["foreach x in a b", "reg y `x'"], "c"]),
        ("program define p\nif 1 {\na\n}\nend\nb", [["p", ["if 1", "a"]], "b"]),
        ("cap prog drop p\nprog p, rclass\na\nend", ["cap prog drop p", ["p", "a"]]),
        ("mata\nx = {1\nend\na", ["mata", "a"]),
        ("mata:\nx\nend\na", ["mata", "a"]),
        ("input a b\n1 2\nend\na", ["input", "a"]),
        ("global x ${y}\na", ["global x ${y}", "a"]),
        ("#d ;\nforeach x in a b {;\nreg y `x';\n};\nc;", [["foreach x in a b", "reg y `x'"], "c"]),
        ("qui {\na\n}", [["qui", "a"]]),
    ],
)
def test_blocks(text: str, found: list[object]) -> None:
    assert shape(text) == found


def test_braces_that_do_not_match_are_said() -> None:
    notes: list[str] = []
    assert shape("}\nforeach x in a {\nb", notes) == [["foreach x in a", "b"]]
    assert notes == [
        "line 1: a brace closes nothing",
        "the block that begins in line 2 is not closed; it is read to the end",
    ]
