"""The same cells as text, LaTeX and HTML; names of any kind do no harm."""

from __future__ import annotations

import math
import os
import pickle
from html.parser import HTMLParser
from types import SimpleNamespace

import pytest

from dprct.results import typeset
from dprct.results.typeset import Grid, Line, NumberColumn, Printed, each, lines_of

NASTY = "a_b & 50% $x$ #1 {z} ~ ^ \\ <script>alert('1')</script> | \"q\" [k]"


def grid(name="x", **change):
    parts = {
        "title": "Title",
        "facts": (("Outcome", "y"), ("Observations", "10"), ("Formula", "y ~ x")),
        "headings": ("coef", "t"),
        "lines": (
            Line(name, (Printed("1.25"), Printed("2.0"))),
            Line("longer name", (Printed("-3.5"), Printed(""))),
        ),
        "notes": ("A note.",),
    }
    return Grid(**(parts | change))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, "0.0000"),
        (0.43135, "0.4314"),
        (1794.3424, "1794.3424"),
        (-0.0012, "-0.0012"),
        (0.00004, "0.0000400"),
        (123456789.0, "1.235e+08"),
        (float("nan"), ""),
        (float("inf"), "inf"),
        (float("-inf"), "-inf"),
    ],
)
def test_number(value, expected):
    assert typeset.number(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.5, "0.500"), (0.0005, "0.001"), (0.0004, "<0.001"), (0.0, "<0.001"), (float("nan"), "")],
)
def test_p_value(value, expected):
    assert typeset.p_value(value) == expected


def test_rows_follow_the_order_and_show_what_is_omitted():
    columns = [NumberColumn("b", "coef"), NumberColumn("t", "t", each(typeset.statistic))]
    lines = lines_of({"x": {"b": 1.0, "t": 2.0}}, columns, ["gone", "x"])
    assert lines == (
        Line("gone", ("(omitted)", "")),
        Line("x", (Printed("1.0000"), Printed("2.000"))),
    )


def test_a_column_has_one_style():
    assert [str(c) for c in typeset.numbers([1794.25, 0.00004, -2.0])] == [
        "1.794e+03", "4.000e-05", "-2.000e+00",
    ]  # fmt: skip
    assert [str(c) for c in typeset.numbers([1794.25, 0.5, math.nan])] == [
        "1794.2500",
        "0.5000",
        "",
    ]


def test_text_is_aligned():
    lines = typeset.text(grid()).splitlines()
    table = [line for line in lines if line.startswith(("x ", "longer"))]
    assert table[0].index("1.25") + 4 == table[1].index("-3.5") + 4
    assert len({len(line) for line in lines if set(line) <= {"-"} or set(line) <= {"="}}) == 1
    assert all(line == line.rstrip() for line in lines)


def test_control_characters_do_not_reach_a_terminal():
    for write in (typeset.text, typeset.latex, typeset.html):
        written = write(grid("a\x1b[31m\x07\udcff\nb"))
        assert all(c.isprintable() or c == "\n" for c in written)
        written.encode("utf-8")


def test_html_is_well_formed_and_holds_no_markup_of_names():
    seen = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attrs):
            seen.append(tag)

        def handle_data(self, data):
            seen.append(data)

    Reader().feed(typeset.html(grid(NASTY)))
    assert "script" not in seen
    assert NASTY in seen


def test_latex_escapes_every_special_character():
    written = typeset.latex(grid(NASTY, notes=(NASTY,)))
    for escaped in (r"a\_b", r"\&", r"50\%", r"\$x\$", r"\#1", r"\{z\}", r"\textless{}script"):
        assert escaped in written
    row = next(line for line in written.splitlines() if line.startswith(r"a\_b"))
    assert row.replace(r"\&", "").count("&") == 2
    assert written.count(r"\toprule") == written.count(r"\bottomrule") == 1


def test_latex_compiles(compiled):
    log = compiled(typeset.latex(grid(NASTY, notes=(NASTY,))), typeset.latex(wide(3)))
    assert "Output written on t.pdf" in log


LONG = "a_rather_long_name_of_a_variable:C(another)[T.level]"


def wide(columns=8):
    lines = (
        Line("Panel A", (), "section"),
        Line(LONG, (Printed("-1.234", 2),) * columns),
        Line("", (Printed("(0.567)"),) * columns),
        Line("Observations", (Printed("1,234"),) * columns, "statistic", rule=True),
    )  # fmt: skip
    return Grid(
        title="A wide table",
        facts=(("Formula", "y ~ " + " + ".join(f"covariate_{k}" for k in range(12))),),
        headings=tuple(f"Voted in the election of {2000 + k}" for k in range(columns)),
        spans=((("First wave", columns // 2), ("Second wave", columns - columns // 2)),),
        lines=lines,
        notes=("A long note that has more words than fit into a line of the narrow terminal.",),
    )


@pytest.mark.parametrize("width", [40, 60, 79, 100])
def test_nothing_is_wider_than_was_asked(width):
    written = typeset.text(wide(), width)
    assert max(map(len, written.splitlines())) <= width
    assert written.count("-1.234**") == written.count("(0.567)") == written.count("1,234") == 8


def test_a_table_that_fits_is_not_changed_by_a_width():
    assert typeset.text(grid(), 100) == typeset.text(grid())


def test_a_long_formula_is_wrapped():
    lines = typeset.text(grid(facts=(("Formula", "y ~ " + " + ".join(["covariate"] * 20)),)))
    assert max(map(len, lines.splitlines())) <= typeset.WIDTH
    assert lines.count("covariate") == 20


def test_a_summary_is_a_text_that_a_notebook_shows_as_a_table():
    found = typeset.Summary.of(grid())
    assert str(found) == found.as_text() == typeset.text(grid())
    assert found._repr_html_() == found.as_html() == typeset.html(grid())
    assert found.as_latex() == typeset.latex(grid())
    again = pickle.loads(pickle.dumps(found))
    assert again == found
    assert again.as_latex() == found.as_latex()


def test_a_summary_is_as_wide_as_the_terminal_that_it_is_printed_on(monkeypatch, capsys):
    summary = typeset.Summary.of(wide())
    whole = summary.as_text()
    assert max(map(len, whole.splitlines())) > 60
    assert str(summary) == f"{summary}" == whole  # no terminal is written to
    size = os.terminal_size((60, 24))
    monkeypatch.setattr(os, "get_terminal_size", lambda *_: size)
    terminal = SimpleNamespace(stdout=SimpleNamespace(fileno=lambda: 1))
    monkeypatch.setattr(typeset, "sys", terminal)
    print(summary)
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 60
    assert summary[:] == whole
    with typeset.as_in_a_file():
        assert str(summary) == whole
    assert str(summary) == printed[:-1]
