from __future__ import annotations

import pytest

from dprct.errors import ParameterError
from papers.rct.contents import IMPLEMENTED, asked, parse_tables, releases


def test_tables_are_named_as_in_a_print_dialog() -> None:
    assert parse_tables("1,3, 4,11-18") == (1, 3, 4, *range(11, 19))


@pytest.mark.parametrize("text", ["", "a", "1-", "-3", "1,,3", "18-11"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="table"):
        parse_tables(text)


@pytest.mark.parametrize("number", [2, 5, 9, 10, 19, 20])
def test_other_tables_are_refused_with_those_that_exist(number: int) -> None:
    there = ", ".join(map(str, IMPLEMENTED))
    with pytest.raises(ParameterError, match=rf"^table {number}\b.* there are {there}"):
        parse_tables(str(number))


def test_releases_are_those_of_the_captions() -> None:
    assert len(releases(1)) == 15
    assert len(releases(3)) + len(releases(4)) == 11 * 4
    assert {one.method for one in releases(13)} == {"MV Histogram"}
    assert len(releases(17)) == 15
    assert set(releases(18)) == set(releases(17))
    assert releases(11) == releases(8) == []
    assert asked(3, "", "Model 1", "Confidential") is None
    assert asked(15, "Subset", "fam_asb_lt", "GenM-1") == ("liberia", "Subset", "GenModel", "1")
