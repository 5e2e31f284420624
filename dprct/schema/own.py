"""Whose values a column holds: the rule that every query asks of every column that it reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dprct.errors import SchemaError

if TYPE_CHECKING:
    from dprct.schema.facts import Column


def check_own(column: Column) -> None:
    """Refuse a column in which one person can move the rows of others; from the schema alone.

    Parameters
    ----------
    column : Column
        One whose values a guarantee protects.  What a guarantee lists as public, such as arms and
        blocks where the design is public, is the same in all neighbours, whatever it is built from.

    Raises
    ------
    SchemaError
        If it is declared as built from a cohort whose constants are not public, or if it looks
        constructed and nothing is declared.

    Notes
    -----
    A sensitivity bounds what the rows of *one* person can add.  Of a column that is standardised
    over the sample, or counts the ill of a village, one person moves all rows, and no sensitivity
    of this package covers that.  The values through which a query reads (:class:`~dprct.encode`'s
    encodings, ``Clipped``, ``Feature``, ``Block``, ``Treated``, ``Donors`` and the covariates of an
    index) therefore ask this when they are made, so that no method can forget it.

    Examples
    --------
    >>> from dprct.schema import Column
    >>> check_own(Column("age_z", built_from="own"))
    """
    if column.built_from == "cohort" and not column.constants_public:
        raise SchemaError(
            f"column {column.name!r} is built from other people's values (cohort), so one person "
            "can move every row; rebuild it from public constants, or declare constants_public"
        )
    if column.built_from is None and column.looks_constructed:
        raise SchemaError(
            f"column {column.name!r} is named or labelled like a standardised, winsorised or "
            "imputed one; declare built_from='own' (its own record and public constants only) "
            "or 'cohort'"
        )
