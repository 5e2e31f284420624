"""Where cells go: every line has one cell per heading, in each style and for any mix of cells."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from dprct.results.tables import STYLES, Column, Estimate, Row, Table, holds_estimates

PARTS = (("estimate", "b"), ("std.error", "se"), ("p.value", "p"))
cells = st.one_of(
    st.builds(Estimate, st.floats(-9, 9), st.floats(0, 9), st.floats(0, 1)),
    st.floats(-9, 9),
    st.integers(0, 9999),
    st.sampled_from(["Yes", "", None]),
)


@st.composite
def layouts(draw):
    width = draw(st.integers(1, 4))
    columns = tuple(
        Column(str(j), f"h{j}", draw(st.sampled_from(["", "A", "B"]))) for j in range(width)
    )
    kinds = draw(st.lists(st.sampled_from(["row", "section", "statistic"]), max_size=6))
    rows = tuple(
        Row(str(k), f"r{k}", () if kind == "section" else draw(st.tuples(*[cells] * width)), kind)
        for k, kind in enumerate(kinds)
    )
    style = STYLES[draw(st.sampled_from(sorted(STYLES)))]
    return Table(columns=columns, rows=rows, parts=PARTS, style=style)


@given(layouts())
def test_lines_headings_and_spans_agree(layout):
    grid = layout.grid()
    assert {sum(width for _, width in row) for row in grid.spans} == {len(grid.headings)}
    cells = {len(line.cells) for line in grid.lines if line.kind != "section"}
    assert cells <= {len(grid.headings)}
    assert [line.name for line in grid.lines if line.name] == [row.name for row in layout.rows]


@given(layouts())
def test_statistics_begin_below_a_rule(layout):
    lines = layout.grid().lines
    for before, line in pairwise(lines):
        starts = line.kind == "statistic" and before.kind != "statistic"
        assert line.rule == starts


def test_an_estimate_takes_columns_or_lines():
    rows = (Row("y", "y", (1.5, Estimate(0.5, 0.25, 0.04))),)
    columns = (Column("m", "Mean"), Column("t", "Arm"))
    beside = Table(columns=columns, rows=rows, parts=PARTS, style=STYLES["paper"]).grid()
    assert beside.spans[1] == (("", 1), ("Arm", 3))
    assert beside.headings == ("Mean", "b", "se", "p")
    assert [str(cell) for cell in beside.lines[0].cells] == [
        "1.500",
        "0.500",
        "[0.250]**",
        "0.040",
    ]
    below = Table(columns=columns, rows=rows, parts=PARTS, style=STYLES["aer"]).grid()
    assert (below.spans[1], below.headings) == ((("", 2),), ("Mean", "Arm"))
    assert [[str(cell) for cell in line.cells] for line in below.lines] == [
        ["1.500", "0.500"],
        ["", "(0.250)"],
        ["", "[0.040]"],
    ]


def test_only_some_columns_hold_estimates():
    rows = [Row("s", "s", (), "section"), Row("a", "a", (Estimate(1.0), 2))]
    assert [holds_estimates(rows, j) for j in range(2)] == [True, False]
