"""The same cells as text, LaTeX and HTML; names of any kind do no harm."""

from __future__ import annotations

import shutil
import subprocess
from html.parser import HTMLParser

import pytest

from dprct.results import render

NASTY = "a_b & 50% $x$ #1 {z} ~ ^ \\ <script>alert('1')</script> | \"q\" [k]"


def sheet(name="x", **change):
    parts = {
        "title": "Title",
        "facts": (("Outcome", "y"), ("Observations", "10"), ("Formula", "y ~ x")),
        "headings": ("coef", "t"),
        "rows": ((name, ("1.25", "2.0")), ("longer name", ("-3.5", ""))),
        "notes": ("A note.",),
    }
    return render.Sheet(**(parts | change))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, "0.0000"),
        (0.43135, "0.4314"),
        (1794.3424, "1794.3424"),
        (-0.0012, "-0.0012"),
        (0.00004, "4.000e-05"),
        (123456789.0, "1.235e+08"),
        (float("nan"), ""),
        (float("inf"), "inf"),
        (float("-inf"), "-inf"),
    ],
)
def test_number(value, expected):
    assert render.number(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.5, "0.500"), (0.0005, "0.001"), (0.0004, "<0.001"), (0.0, "<0.001"), (float("nan"), "")],
)
def test_p_value(value, expected):
    assert render.p_value(value) == expected


def test_rows_follow_the_order_and_show_what_is_omitted():
    columns = [render.Column("b", "coef", render.number), render.Column("t", "t", render.statistic)]
    rows = render.rows_of({"x": {"b": 1.0, "t": 2.0}}, columns, ["gone", "x"])
    assert rows == (("gone", ("(omitted)", "")), ("x", ("1.0000", "2.000")))


def test_text_is_aligned():
    lines = render.text(sheet()).splitlines()
    table = [line for line in lines if line.startswith(("x ", "longer"))]
    assert table[0].index("1.25") + 4 == table[1].index("-3.5") + 4
    assert len({len(line) for line in lines if set(line) <= {"-"} or set(line) <= {"="}}) == 1
    assert all(line == line.rstrip() for line in lines)


def test_control_characters_do_not_reach_a_terminal():
    for write in (render.text, render.latex, render.html):
        written = write(sheet("a\x1b[31m\x07\udcff\nb"))
        assert all(c.isprintable() or c == "\n" for c in written)
        written.encode("utf-8")


def test_html_is_well_formed_and_holds_no_markup_of_names():
    seen = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attrs):
            seen.append(tag)

        def handle_data(self, data):
            seen.append(data)

    Reader().feed(render.html(sheet(NASTY)))
    assert "script" not in seen
    assert NASTY in seen


def test_latex_escapes_every_special_character():
    written = render.latex(sheet(NASTY, notes=(NASTY,)))
    for escaped in (r"a\_b", r"\&", r"50\%", r"\$x\$", r"\#1", r"\{z\}", r"\textless{}script"):
        assert escaped in written
    row = next(line for line in written.splitlines() if line.startswith(r"a\_b"))
    assert row.replace(r"\&", "").count("&") == 2
    assert written.count(r"\toprule") == written.count(r"\bottomrule") == 1


def test_latex_compiles(tmp_path):
    if shutil.which("pdflatex") is None:
        pytest.skip("needs pdflatex")
    document = "\n".join(
        [
            r"\documentclass{article}\usepackage[T1]{fontenc}\usepackage{booktabs}",
            r"\begin{document}",
            render.latex(sheet(NASTY, notes=(NASTY,))),
            r"\end{document}",
        ]
    )
    (tmp_path / "t.tex").write_text(document, encoding="utf-8")
    command = ["pdflatex", "-halt-on-error", "-interaction=batchmode", "t.tex"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode == 0
