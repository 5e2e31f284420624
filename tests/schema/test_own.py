from __future__ import annotations

import pytest

from dprct.errors import FormulaError, SchemaError
from dprct.schema import Column, Schema
from dprct.schema.columns import check_own


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (Column("x", built_from="cohort"), "can change every row"),
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


ILL = Column("any_ill", built_from="cohort")
TWICE = Column("twice", derived="2 * any_ill")


@pytest.mark.parametrize(
    "columns",
    [
        (ILL, TWICE),
        (TWICE, ILL),
        (ILL, Column("twice", derived="2 * any_ill", built_from="own")),
        (ILL, Column("twice", derived="2 * any_ill", built_from="cohort", constants_public=True)),
        (ILL, Column("half", derived="any_ill / 2"), Column("twice", derived="4 * half")),
        (Column("age_z"), Column("twice", derived="2 * age_z")),
    ],
)
def test_a_derived_column_is_built_from_what_its_parents_are(columns: tuple[Column, ...]) -> None:
    schema = Schema(columns)
    with pytest.raises(SchemaError, match=r"'twice' is derived, .*can change every row"):
        check_own(schema.column("twice"))
    with pytest.raises(SchemaError, match="column 'twice' is derived"):
        check_own(schema.select(["twice"]).column("twice"))  # also without its parents


@pytest.mark.parametrize(
    "columns",
    [
        (Column("x"), Column("twice", derived="2 * x")),
        (Column("age_z", built_from="own"), Column("twice", derived="2 * age_z")),
        (Column("age_z"), Column("twice", derived="2 * age_z", built_from="own")),
        (
            Column("ill", built_from="cohort", constants_public=True),
            Column("twice", derived="2 * ill"),
        ),
        (Column("twice", derived="2 * half"), Column("half", derived="twice / 2")),
        (Column("twice", derived="2 * gone"),),
    ],
)
def test_a_derived_column_of_own_values_is_taken(columns: tuple[Column, ...]) -> None:
    check_own(Schema(columns).column("twice"))


def test_the_origin_of_a_parent_can_be_declared_later() -> None:
    schema = Schema((Column("ill", built_from="cohort"), Column("twice", derived="2 * ill")))
    sealed = schema.declare(twice=(0, 2)).seal()
    assert sealed.seal_of is not None
    assert sealed.seal_of.sha256 == sealed.digest()
    check_own(sealed.declare(ill={"constants_public": True}).column("twice"))


def test_what_is_no_expression_says_so() -> None:
    with pytest.raises(FormulaError, match="is not an expression"):
        Schema((Column("twice", derived="2 *"),)).column("twice")
