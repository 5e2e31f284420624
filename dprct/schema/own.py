"""Whose values a column holds: the rule that every query asks of every column that it reads."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dprct.derive import parents
from dprct.errors import SchemaError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dprct.schema.facts import Column


def with_origin(column: Column, columns: Iterable[Column]) -> Column:
    """Return a column with the origin that its parents give it: a derived one is a cohort's too.

    Parameters
    ----------
    column : Column
    columns : iterable of Column
        All columns of its schema.

    Raises
    ------
    FormulaError
        If a column is derived by what is no expression.

    Notes
    -----
    A function of a column in which one person moves the rows of others is such a column, whatever
    is declared of it; so is, unless it is declared ``"own"``, one of a column that looks
    constructed and of which nothing is declared.  Constants that are public make the parent a
    column of its own record, and must be declared there.

    Examples
    --------
    >>> from dprct.schema import Column
    >>> ill = Column("ill", built_from="cohort")
    >>> with_origin(Column("twice", derived="2 * ill"), [ill]).built_from
    'cohort'
    """
    if column.derived is None:
        return column
    known = {one.name: one for one in columns}
    found: dict[str, Column] = {}
    waiting = sorted(parents(column.derived))
    while waiting:
        parent = known.get(waiting.pop())
        if parent is None or parent.name in found or parent.name == column.name:
            continue
        found[parent.name] = parent
        waiting += sorted(parents(parent.derived)) if parent.derived is not None else []
    moved = any(one.built_from == "cohort" and not one.constants_public for one in found.values())
    open_ones = any(one.built_from is None and one.looks_constructed for one in found.values())
    if not moved and not (open_ones and column.built_from is None):
        return column
    return replace(column, built_from="cohort", constants_public=False)


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
        if column.derived is not None:
            raise SchemaError(
                f"column {column.name!r} is derived, and is built from other people's values "
                "(cohort), or from a column that is or looks so, so that one person can move every "
                "row; rebuild that column from public constants, or declare constants_public of it"
            )
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
