"""One table in every format: the same numbers, and no format that a name can break."""

from __future__ import annotations

import csv
import io
import math
import pickle
from html.parser import HTMLParser

import numpy as np
import pytest

from dprct.errors import FileError, ParameterError
from dprct.results import typeset
from dprct.results.tables import STYLES, Column, Estimate, Row, Table

NASTY = "a_b & 50% $x$ #1 {z} ~ ^ \\ <script>alert('1')</script> | \"q\" [k]"


def example(name="Sells drugs", **change):
    parts = {
        "columns": (
            Column("mean", "Control mean"),
            Column("t1", "Therapy", "Arms"),
            Column("t2", "Cash", "Arms"),
        ),
        "rows": (
            Row("one", "Panel A", kind="section"),
            Row(
                "y", name, (0.135, Estimate(-0.0342, 0.02911, 0.12, 1.0), Estimate(1 / 3, 0.1, 0.0))
            ),
            Row("z", "Steals", (1.839, Estimate(0.073, 0.395, 0.9, 1.0), None)),
            Row("two", "Panel B", kind="section"),
            Row("y", name, (None, Estimate(0.5, 0.25, 0.045, 0.4), Estimate(0.4, 0.2, 0.02, 0.1))),
            Row("n", "Observations", (None, 947, 2812), "statistic"),
            Row("fe", "Block effects", ("", "Yes", "No"), "statistic"),
        ),
        "title": "Effects",
        "corner": "Outcome",
        "parts": (("estimate", "ITT"), ("std.error", "Std. Err"), ("p.adjusted", "Adj. p")),
        "style": STYLES["paper"],
        "notes": ("A note.",),
    }
    return Table(**(parts | change))


def test_text_of_the_paper():
    lines = example().to_text().splitlines()
    assert lines[5].split() == ["Panel", "A"]
    assert lines[6].split() == [
        "Sells",
        "drugs",
        "0.135",
        "-0.034",
        "[0.029]",
        "1.000",
        "0.333",
        "[0.100]***",
    ]
    assert lines[-1] == "A note."
    assert lines[-2] == "* p < 0.1, ** p < 0.05, *** p < 0.01."
    assert all(line == line.rstrip() for line in lines)


def test_digits_stand_below_digits():
    lines = example().to_text().splitlines()
    first, third = (line for line in lines if line.startswith("  Sells drugs"))
    assert first.index("0.029]") == third.index("0.250]")


def test_errors_below_with_p_values_in_other_brackets():
    lines = example().to_text(style="aer", notes=False).splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("  Sells"))
    assert lines[start].split()[2:] == ["0.135", "-0.034", "0.333"]
    assert lines[start + 1].split() == ["(0.029)", "(0.100)"]
    assert lines[start + 2].split() == ["[1.000]"]
    assert lines[2].split() == ["Arms"]
    assert "*" not in "".join(lines)


def test_what_stands_below_is_explained():
    assert example().to_text(style="aer").splitlines()[-2:] == [
        "Standard errors in parentheses, adjusted p-values in brackets.",
        "A note.",
    ]


def test_options_change_a_copy():
    table = example()
    assert "[0.03]" in table.to_text(digits=2)
    assert "{0.029}" in table.to_text(brackets="{}")
    assert "0.333***" in table.to_text(stars="estimate")
    assert "[0.100]***" in table.to_text()
    assert table.styled(digits=2).style.digits == 2
    with pytest.raises(ParameterError, match="no option 'digit'"):
        table.to_text(digit=2)


def test_the_frame_has_every_digit():
    frame = example().to_frame()
    assert frame.loc[("one", "y"), ("t2", "estimate")] == 1 / 3
    assert frame.loc[("two", "y"), ("t1", "p.value")] == 0.045
    assert frame.loc[("", "n"), ("t2", "estimate")] == 2812
    assert math.isnan(frame.loc[("one", "z"), ("t2", "std.error")])
    assert list(frame.index) == [("one", "y"), ("one", "z"), ("two", "y"), ("", "n")]
    assert (frame.dtypes == np.float64).all()


def test_csv_comes_back_bit_for_bit(tmp_path):
    table = example()
    written = table.to_csv()
    header, *rows = csv.reader(io.StringIO(written))
    assert header[:5] == ["section", "row", "mean", "t1:estimate", "t1:std.error"]
    back = [[float(number or "nan") for number in row[2:]] for row in rows]
    np.testing.assert_array_equal(back, table.to_frame().to_numpy())
    table.to_csv(tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text("utf-8") == written
    with pytest.raises(FileError):
        table.to_csv(tmp_path / "none" / "t.csv")


def test_the_display_has_the_printed_cells():
    shown = example().displayed()
    assert shown.iloc[0].tolist() == [
        "0.135",
        "-0.034",
        "[0.029]",
        "1.000",
        "0.333",
        "[0.100]***",
        "",
    ]
    assert shown.columns[1] == ("Arms Therapy", "ITT")
    assert shown.index[0] == "Sells drugs"


def test_latex_uses_booktabs_and_siunitx():
    written = example().to_latex()
    for line in (
        r"\begin{tabular}{l" + 7 * " S[parse-numbers=false]" + "}",
        r" & \multicolumn{1}{c}{} & \multicolumn{3}{c}{Arms Therapy}"
        r" & \multicolumn{3}{c}{Arms Cash} \\",
        r"\cmidrule(lr){3-5} \cmidrule(lr){6-8}",
        r"\multicolumn{8}{l}{\textit{Panel A}} \\",
    ):
        assert line in written.splitlines()
    assert r"-0.034 & {{[}0.029{]}} & 1.000" in written
    assert r"{{[}0.100{]}\textsuperscript{***}}" in written
    assert "&  & {2,812} &" in written
    assert written.count(r"\toprule") == written.count(r"\bottomrule") == 1


def test_latex_escapes_every_name():
    written = (
        example(NASTY, title=NASTY, corner=NASTY, notes=(NASTY,))
        .with_row("*", NASTY, NASTY, NASTY)
        .to_latex()
    )
    assert written.count(r"a\_b \& 50\% \$x\$ \#1 \{z\}") == 7
    assert "\n{}* &" in written
    rows = [
        line for line in written.splitlines() if line.endswith(r"\\") and "multicol" not in line
    ]
    assert {line.replace(r"\&", "").count("&") for line in rows} == {7}


@pytest.mark.parametrize("style", STYLES)
def test_latex_compiles(compiled, style):
    table = example(NASTY, corner=NASTY, notes=(NASTY,)).with_row("*", NASTY, "[", "*")
    assert "Output written on t.pdf (1 page" in compiled(table.to_latex(style=style))


def test_what_is_no_latex_does_not_compile(compiled):
    with pytest.raises(AssertionError, match="Undefined control sequence"):
        compiled(r"\nosuchcommand")


class Reader(HTMLParser):
    """Tags that are opened and closed in order, cells per row counted with their spans."""

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.data, self.widths = [], set(), [], []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.seen.add(tag)
        if tag == "tr":
            self.widths.append(0)
        if tag in ("td", "th"):
            self.widths[-1] += int(dict(attrs).get("colspan", 1))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.data.append(data)


@pytest.mark.parametrize("style", STYLES)
def test_html_is_well_formed_and_rectangular(style):
    reader = Reader()
    reader.feed(example(NASTY, title=NASTY, notes=(NASTY,)).to_html(style=style))
    assert reader.open == []
    assert "script" not in reader.seen
    assert NASTY in reader.data
    assert len(set(reader.widths)) == 1
    assert example()._repr_html_() == example().to_html()


def test_control_characters_reach_no_terminal():
    for write in (Table.to_text, Table.to_latex, Table.to_html):
        written = write(example("a\x1b[31m\x07\udcff\nb"))
        assert all(c.isprintable() or c == "\n" for c in written)


def test_rows_added_by_hand():
    table = (
        example().with_row("Controls", None, "Yes", "Yes").with_row("First", 1.0, None, None, at=0)
    )
    lines = table.to_text().splitlines()
    assert lines[-4].split() == ["Controls", "Yes", "Yes"]
    assert lines[5].split() == ["First", "1.000"]
    with pytest.raises(ParameterError, match="'Short' has 1 cells for 3 columns"):
        example().with_row("Short", 1.0)


def test_columns_need_keys_of_their_own():
    with pytest.raises(ParameterError, match="share a key"):
        Table(columns=(Column("a", "A"), Column("a", "B")), rows=())


def test_a_table_pickles_and_says_what_it_is():
    back = pickle.loads(pickle.dumps(example()))
    assert back.to_text() == str(example())
    assert repr(back) == "<Table: 7 rows, 3 columns>"


def test_a_grid_without_estimates_has_no_second_heading():
    table = Table(columns=(Column("n", "N"),), rows=(Row("a", "a", (3,)),))
    assert table.grid().above == ()
    assert typeset.text(table.grid()).splitlines()[1].split() == ["N"]
