from __future__ import annotations

import pandas as pd
import pytest

from dprct.errors import ParameterError
from papers.rct.printed import (
    EVERY,
    as_printed,
    asked,
    number_in,
    parse_tables,
    printed,
    records,
    releases,
    tables,
)

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


def test_tables_are_named_as_in_a_print_dialog() -> None:
    assert parse_tables("1,3, 4,11-18") == (1, 3, 4, *range(11, 19))


@pytest.mark.parametrize("text", ["", "a", "1-", "-3", "1,,3", "18-11"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="table"):
        parse_tables(text)


def test_tables_that_there_are_none_of_are_refused_with_those_that_exist() -> None:
    there = ", ".join(map(str, EVERY))
    with pytest.raises(ParameterError, match=rf"^table 20\b.* there are {there}"):
        parse_tables("1,20")
    # every table of the paper is there
    assert tuple(range(1, 20)) == EVERY


def test_releases_are_those_of_the_captions() -> None:
    assert len(releases(1)) == 15
    assert len(releases(3)) + len(releases(4)) == 11 * 4
    assert {one.method for one in releases(13)} == {"MV Histogram"}
    assert len(releases(17)) == 15
    assert set(releases(18)) == set(releases(17))
    assert releases(11) == releases(8) == []
    assert asked(3, "", "Model 1", "Confidential") is None
    assert asked(15, "Subset", "fam_asb_lt", "GenM-1") == ("liberia", "Subset", "GenModel", "1")
