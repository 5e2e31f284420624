from __future__ import annotations

import numpy as np
import pytest

from papers.rct.layout import laid_out, within
from papers.rct.printed import IMPLEMENTED, printed


@pytest.mark.parametrize("table", IMPLEMENTED)
def test_every_printed_number_is_in_the_table(table: int) -> None:
    page = printed(table)
    same = page.assign(ours=page["value"], low=np.nan, high=np.nan, share=0.5, same=True)
    same["printed_ratio"] = same["printed_part"] = same["our_part"] = 1.0
    made = laid_out(table, same, ["a note"])
    cells = [cell for row in made.rows for cell in row.cells]
    columns = [column.heading for column in made.columns]
    shown = [c for row in made.rows for c, h in zip(row.cells, columns, strict=False)
             if h == "printed" and c]  # fmt: skip
    assert sorted(str(c).rstrip("*") for c in shown) == sorted(
        text.rstrip("*") for text in page["printed"]
    )
    assert not any(str(cell) == "nan" for cell in cells)
    assert "a note" in made.to_text()
    for form in (made.to_latex(), made.to_html()):
        assert page["printed"].iloc[0].rstrip("*") in form


def test_table_1_has_its_methods_below_each_other() -> None:
    page = printed(1).assign(ours=0.0, low=0.0, high=0.0, share=np.nan)
    sections = [row.key for row in laid_out(1, page, []).rows if row.kind == "section"]
    assert sections == ["MV Histogram", "Hybrid", "GenModel"]


def test_a_printed_average_may_be_rounded() -> None:
    number = {"decimals": 2, "value": 0.84, "low": 0.844, "high": 0.9}
    assert within(number)
    assert not within(number | {"low": 0.846})
    assert not within(number | {"value": 0.91})


def test_a_star_marks_an_average_outside_of_several_runs() -> None:
    page = printed(1).assign(ours=9.0, low=8.0, high=10.0, share=np.nan)
    assert laid_out(1, page, []).rows[1].cells[0] == "5.21*"
    one_run = page.assign(low=9.0, high=9.0)
    assert laid_out(1, one_run, []).rows[1].cells[:3] == ("5.21", "9.00", "")
    # two runs that round alike are two runs
    alike = page.assign(low=8.999, high=9.001)
    assert laid_out(1, alike, []).rows[1].cells[:3] == ("5.21*", "9.00", "[9.00, 9.00]")


def test_numbers_not_drawn_are_dashes_and_other_digits_are_marked() -> None:
    page = printed(13).assign(ours=np.nan, low=np.nan, high=np.nan, share=np.nan)
    first = laid_out(13, page, []).rows[1]
    assert first.cells[:4] == ("0.07", "-", "-", "-")
    page = printed(11).assign(ours=9.0, same=False)
    assert "9.000 !" in laid_out(11, page, []).to_text()
