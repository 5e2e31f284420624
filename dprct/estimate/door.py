"""What private effects refuse before anything is counted or charged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from dprct.assignment.base import Design
from dprct.errors import ColumnError, ParameterError, SchemaError, withheld
from dprct.queries import Clipped
from dprct.schema.facts import given
from dprct.schema.table import eager, names_of, table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dprct.schema.facts import Column
    from dprct.schema.schema import Schema
    from dprct.schema.table import Frame, Table

MissingRule = str | float


def check_sample(schema: Schema) -> None:
    """Refuse what a plain difference in means would get wrong: weights, surveys, panels."""
    kept = {name for _, name, _ in schema.file.characteristics}
    weighted = [column.name for column in schema.columns if column.role == "weight"]
    if weighted or any(name.startswith("_svy") for name in kept):
        raise SchemaError(
            "the schema declares sampling weights or a survey design, which a private difference "
            "in means does not use; drop the declaration if everybody is to count the same"
        )
    if schema.unit.id is None and kept & {"iis", "_TSpanel"}:
        raise SchemaError(
            "the file is declared a panel (xtset) and no unit is; declare Unit(name, id=...) with "
            "one row per unit, for one person must not be in several rows"
        )


def table_of(data: object) -> Frame:
    """Return the one table of a fit that needs its rows in memory.

    Raises
    ------
    SchemaError
        If several tables are given, or no eager data frame with rows.
    """
    _check_single(data)
    return eager(data)


def any_table_of(data: object) -> Table:
    """Return the one table of a fit, which may stay in its engine.

    Raises
    ------
    SchemaError
        If several tables are given, or no table with rows.
    EngineError, MissingDependencyError
        As of :func:`dprct.schema.table.table`.
    """
    _check_single(data)
    return table(data)


def _check_single(data: object) -> None:
    if isinstance(data, (list, tuple, Mapping)):
        raise SchemaError(
            f"data is {type(data).__name__}; one fit reads one table: merge the files first and "
            "protect once, or release them separately with the same key map and ledger"
        )


def check_columns(
    frame: Table,
    outcomes: Iterable[str],
    treatment: str | Sequence[str] | None,
    assignment: Design | None,
) -> None:
    """Refuse a fit whose outcomes and design are not all in its table.

    Raises
    ------
    ColumnError, ParameterError
    """
    named = [treatment] if isinstance(treatment, str) else treatment or ()
    if treatment is not None and not named:
        raise ParameterError("treatment= names no column; name the 0/1 columns of the arms")
    designed = (*assignment.columns, *assignment.uses) if isinstance(assignment, Design) else ()
    there = names_of(frame)
    for name in (*outcomes, *named, *designed):
        if name not in there:
            where = "the data (from another file? merge first, protect once)"
            raise ColumnError.unknown(name, there, where)


def with_bounds(column: Column) -> Column:
    """Return an outcome with bounds, those of its levels if it has levels."""
    if column.is_text or (column.bounds is None and column.levels is None):
        raise SchemaError(
            f"outcome {column.name!r} needs bounds=(low, high) or levels of numbers; declare them "
            "from public knowledge, never from the data"
        )
    if column.missing is None:
        raise SchemaError(
            f"outcome {column.name!r} has no declared missing policy; declare missing='never', or "
            "the codes that are legal, such as missing=['.']"
        )
    if column.bounds is None:
        ordered = sorted(float(level) for level in column.levels or ())
        column = replace(column, bounds=(ordered[0], ordered[-1]))
    return Clipped(column).column


def constant_of(policy: object, column: Column) -> float:
    """Return the declared number that stands for a missing value."""
    if isinstance(policy, bool) or not isinstance(policy, (int, float)):
        raise no_policy(policy, column)
    assert column.bounds is not None
    if not column.bounds[0] <= policy <= column.bounds[1]:
        raise ParameterError(f"missing={policy!r} is outside the bounds of {column.name!r}")
    return float(policy)


def levels_of(alphas: Sequence[float]) -> tuple[float, ...]:
    """Return the sizes of tests at which errors are to be valid."""
    several = hasattr(alphas, "__iter__") and not isinstance(alphas, str)
    what = "has a value that is not allowed" if several else f"is {type(alphas).__name__}"
    refusal = ParameterError(
        f"alphas= {what}; give a sequence of sizes of tests between 1e-9 and 0.5, such as "
        "(0.05, 0.01)"
    )
    with withheld(lambda _: refusal):
        found = tuple(float(alpha) for alpha in alphas)
    if not found or not all(1e-9 <= alpha <= 0.5 for alpha in found):
        raise refusal
    return found


def no_policy(policy: object, column: Column) -> ParameterError:
    """Return the refusal of what is no policy for missing values."""
    return ParameterError(
        f"missing={given(policy)} for {column.name!r}; allowed: 'public', 'private', or a number "
        "within the bounds"
    )
