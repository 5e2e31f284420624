from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import pytest

from dprct.custodian.tables import confidential_source, released_sources
from dprct.errors import ParameterError
from dprct.results.base import marked
from dprct.schema import Schema

if TYPE_CHECKING:
    import dprct

ROWS = pd.DataFrame({"y": [1.0, 2.0]})
SCHEMA = Schema.from_frame(ROWS)


def test_one_many_and_named_releases(release: dprct.Release) -> None:
    assert [(s.method, s.draw) for s in released_sources(ROWS)] == [("", 1)]
    assert [(s.method, s.draw) for s in released_sources((ROWS, ROWS))] == [("", 1), ("", 2)]
    named = released_sources({"A": [ROWS, ROWS], "B": release})
    assert [(s.method, s.draw) for s in named] == [("A", 1), ("A", 2), ("B", 1)]


def test_a_schema_comes_with_a_table_or_for_all(release: dprct.Release) -> None:
    other = Schema.from_frame(pd.DataFrame({"z": [1.0]}))
    assert [s.schema for s in released_sources([(ROWS, SCHEMA), ROWS], other)] == [SCHEMA, other]
    assert released_sources(release, other)[0].schema is release.schema
    assert confidential_source((ROWS, SCHEMA), other).schema is SCHEMA
    assert confidential_source(ROWS, other).schema is other


def test_names_of_tables() -> None:
    assert str(confidential_source(ROWS)) == "the confidential data"
    assert [str(s) for s in released_sources({"GenM": [ROWS]})] == ["release 1 of GenM"]
    assert str(released_sources(ROWS)[0]) == "release 1"


def test_columns_that_say_nothing_are_known_of_releases(release: dprct.Release) -> None:
    names = list(release.protected.columns)
    assert released_sources(release)[0].informative(names) == ["got", "arm"]
    assert released_sources(release.protected)[0].informative(names) == ["got", "arm", "diary"]


@pytest.mark.parametrize("nothing", [[], {}, {"A": []}])
def test_no_release_is_refused(nothing: object) -> None:
    with pytest.raises(ParameterError, match="empty"):
        released_sources(nothing)


def test_what_is_no_table_is_refused(release: dprct.Release) -> None:
    with pytest.raises(ParameterError, match=r"released holds str; give a data frame"):
        released_sources(["liberia.dta"])
    with pytest.raises(ParameterError, match="released holds Series"):
        released_sources(ROWS["y"])
    with pytest.raises(ParameterError, match="confidential is a Release"):
        confidential_source(release)
    with pytest.raises(ParameterError, match="holdout is a Release"):
        confidential_source(release, option="holdout")
    with pytest.raises(ParameterError, match="custodian report"):
        released_sources(marked(pd.DataFrame({"overlap": [1.0]})))
