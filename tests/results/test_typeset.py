"""The grid below the tables: widths, spans and sections; formats are in test_tables.py."""

from __future__ import annotations

from dprct.results.typeset import Grid, Line, Printed, Summary, html, latex, text


def grid(*lines, spans=(("", 2),), headings=("a", "b")):
    return Grid(spans=(spans,), headings=headings, lines=lines)


def test_what_follows_the_last_digit_hangs_to_the_right():
    written = text(
        grid(Line("x", (Printed("1.5", 2), Printed("(2.0)"))), Line("y", (Printed("22.5"), "No")))
    )
    first, second = written.splitlines()[3:5]
    assert first.index("1.5") + 3 == second.index("22.5") + 4
    assert first.endswith("(2.0)")


def test_a_wide_heading_above_widens_its_columns():
    line = Line("x", (Printed("1"), Printed("2")))
    written = text(grid(line, spans=(("", 1), ("A heading wider than its column", 1))))
    lines = written.splitlines()
    assert "A heading wider than its column" in lines[1]
    assert all(len(one) <= len(lines[0]) for one in lines)


def test_spans_that_touch_have_rules_of_their_own():
    line = Line("x", (Printed("1"),) * 4)
    written = latex(grid(line, spans=(("A", 2), ("B", 2)), headings=("a", "b", "c", "d")))
    assert r"\cmidrule(lr){2-3} \cmidrule(lr){4-5}" in written


def test_rows_of_a_section_are_indented_and_statistics_are_not():
    lines = (
        Line("Panel", (), "section"),
        Line("x", (Printed("1"), Printed("2"))),
        Line("", (Printed("(3)"), Printed("(4)"))),
        Line("N", (Printed("5"), Printed("6")), "statistic", rule=True),
    )
    plain = [line[:4] for line in text(grid(*lines)).splitlines()]
    assert plain[3:5] == ["Pane", "  x "]
    assert plain[7].startswith("N")
    assert r"\quad x & 1 & 2 \\" in latex(grid(*lines))
    assert "\nN & 5 & 6" in latex(grid(*lines))
    assert ">Panel</th></tr>" in html(grid(*lines))


def test_minus_signs_are_minus_signs():
    line = Line("a-b", (Printed("-1.5"), "x-y"))
    assert r"a-b & -1.5 & {x-y}" in latex(grid(line))
    assert ">\N{MINUS SIGN}1.5</td>" in html(grid(line))
    assert ">x-y</td>" in html(grid(line))
    assert "-1.5" in text(grid(line))


def test_a_notebook_folds_what_a_guarantee_takes_as_public() -> None:
    lists = ("It takes as public: n; bounds.", "It does not protect: treatment.")
    made = Summary.of(Grid(headings=("coef",), lines=(), notes=("Pure privacy.", *lists)))
    folded = made._repr_html_()
    assert folded.count("<details>") == 1
    assert folded.index("Pure privacy.") < folded.index("<details>") < folded.index("It takes as")
    assert "<details>" not in made.as_html()
    assert "It takes" not in made.as_brief_text()
    assert "Pure privacy." in made.as_brief_text()
