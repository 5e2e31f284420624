from __future__ import annotations

import pytest

from dprct.errors import SchemaError
from dprct.schema import Column
from dprct.schema.own import check_own


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (Column("x", built_from="cohort"), "can move every row"),
        (Column("x_std"), "named or labelled like"),
        (Column("income_w99"), "named or labelled like"),
        (Column("x", label="winsorised income"), "named or labelled like"),
        (Column("x", label="village mean of income"), "named or labelled like"),
    ],
)
def test_other_peoples_values_are_refused(column: Column, words: str) -> None:
    with pytest.raises(SchemaError, match=f"column '{column.name}' is .*{words}"):
        check_own(column)


@pytest.mark.parametrize(
    "column",
    [
        Column("x"),
        Column("x_std", built_from="own"),
        Column("x_std", built_from="cohort", constants_public=True),
    ],
)
def test_own_values_and_public_constants_are_taken(column: Column) -> None:
    check_own(column)
