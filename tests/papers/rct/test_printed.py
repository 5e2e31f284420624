from __future__ import annotations

import pandas as pd
import pytest

from papers.rct.printed import as_printed, number_in, printed, records, tables

COUNTS = {1: 45, 3: 70, 4: 84, 6: 72, 7: 15, 8: 192, 11: 80, 12: 216}
COUNTS |= dict.fromkeys((13, 14, 15, 16), 288) | {17: 180, 18: 180}
KEYS = ["panel", "row", "method", "arm", "measure"]


def test_every_number_of_the_pages_is_there() -> None:
    assert {table: len(printed(table)) for table in tables()} == COUNTS


@pytest.mark.parametrize("table", sorted(COUNTS))
def test_every_number_has_one_name_and_a_value(table: int) -> None:
    page = printed(table)
    assert not page.duplicated(KEYS).any()
    assert page["value"].notna().all()
    assert set(page["decimals"]) == {3 if table in (8, 11) else 2}


def test_pages_that_print_the_same_release_agree() -> None:
    """Tables 17 and 18 repeat parts of 13 to 16, number by number, and so does Table 6."""
    once = pd.concat([printed(table) for table in (12, 13, 14, 15, 16)])
    again = pd.concat([printed(table) for table in (6, 17, 18)])
    both = once.merge(again, on=KEYS)
    assert len(both) > 200
    different = both[both["value_x"] != both["value_y"]]
    assert different[KEYS].values.tolist() == []


def test_digits() -> None:
    assert [as_printed(v, 2) for v in (-0.001, -0.006, 1.0)] == ["0.00", "-0.01", "1.00"]
    assert [number_in(t) for t in ("[0.088]***", "-0.247", "1")] == ["0.088", "-0.247", "1"]


def test_records_have_the_columns_as_names() -> None:
    assert records(printed(7))[0]["printed"] == "0.16"
