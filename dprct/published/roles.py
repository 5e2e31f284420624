"""Which column of a formula is an outcome, a treatment, or goes through the histogram."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dprct.errors import FormulaError, ParameterError
from dprct.formula import parse
from dprct.formula.design_matrix import categories_of, columns_of, is_factor, is_missing

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from dprct.assignment import Design
    from dprct.formula import Formula
    from dprct.schema.schema import Schema


@dataclass(frozen=True, slots=True)
class Roles:
    """The parts that the columns of an experiment's formula play.

    Parameters
    ----------
    formula : Formula
        As given.
    right : Formula
        Without outcomes.
    outcomes, treatment : tuple of str
    covariates : tuple of str
        What is drawn through the histogram: covariates, strata, and the treatment too where it
        interacts with any of them.
    interacts : bool
        Whether the treatment interacts with covariates.
    """

    formula: Formula
    right: Formula
    outcomes: tuple[str, ...]
    treatment: tuple[str, ...]
    covariates: tuple[str, ...]
    interacts: bool

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns, each once."""
        return tuple(dict.fromkeys((*self.outcomes, *self.treatment, *self.covariates)))


def roles(
    formula: str, schema: Schema, treatment: str | Sequence[str], assignment: Design | None
) -> Roles:
    """Read an experiment's formula.

    Parameters
    ----------
    formula : str
        ``"y1 + y2 ~ treat + x + C(strata)"``.
    schema : Schema
        Where every column must exist.
    treatment : str or sequence of str
        The treatment columns, each in the formula.
    assignment : Design or None
        Its columns are the treatment columns; columns that it uses count as covariates.

    Raises
    ------
    FormulaError
        If the formula is not in the grammar, has no outcome, or lacks a treatment.
    ColumnError
        If a column does not exist.
    ParameterError
        If the design has other columns, or there is none and one is needed.

    Examples
    --------
    >>> from dprct.assignment import Block
    >>> from dprct.schema import Column, Schema
    >>> schema = Schema(tuple(Column(name) for name in ("y", "t", "x", "site")))
    >>> roles("y ~ t + x", schema, "t", Block("t", block="site")).covariates
    ('x', 'site')
    """
    given = (treatment,) if isinstance(treatment, str) else tuple(dict.fromkeys(treatment))
    parsed = parse(formula)
    if not parsed.outcomes:
        raise FormulaError(f"{parsed.text!r} has no outcome; write y ~ {' + '.join(given)} + x")
    regressors = parsed.regressor_names
    uses = () if assignment is None else assignment.uses
    for name in (*parsed.outcome_names, *regressors, *given, *uses):
        schema.column(name)
    if not given:
        raise ParameterError("treatment names no column; give the columns of the arms")
    for name in given:
        if name not in regressors:
            raise FormulaError(
                f"treatment {name!r} is not in the formula {parsed.text!r}; add it to the right of "
                "~, or leave it out of treatment"
            )
    both = [name for name in parsed.outcome_names if name in (*regressors, *given, *uses)]
    if both:
        raise FormulaError(f"{both[0]!r} is an outcome and a regressor; keep it on one side of ~")
    interacts = _interacts(parsed, given)
    covariates = [name for name in (*regressors, *uses) if interacts or name not in given]
    if not interacts:
        _check_assignment(assignment, given)
    return Roles(
        parsed,
        replace(parsed, outcomes=()),
        parsed.outcome_names,
        given,
        tuple(dict.fromkeys(covariates)),
        interacts,
    )


def fixed_levels(right: Formula, data: Any, schema: Schema, complete: NDArray[np.bool_]) -> Schema:
    """Return the schema in which every factor has its levels, those of complete rows first.

    Parameters
    ----------
    right : Formula
    data : data frame
        Confidential, N rows.
    schema : Schema
    complete : (N,) array of bool
        Rows without a missing regressor.

    Notes
    -----
    The base of a factor is that of an ordinary fit of the complete rows.  Levels that occur in no
    complete row, and declared ones that nobody has, follow: their columns are zero in the fit and
    so are their coefficients, but released rows may have them.
    """
    frame = columns_of(data, right.names)
    columns = []
    for name, column in frame.items():
        if not (is_factor(column) or _as_factor(right, str(name))):
            continue
        present = ~is_missing(column)
        levels = [
            *_levels(str(name), column[present & complete], schema),
            *_levels(str(name), column[present], schema),
            *(schema.column(str(name)).levels or ()),
        ]
        columns.append(replace(schema.column(str(name)), levels=tuple(dict.fromkeys(levels))))
    return schema.with_columns(columns)


def _levels(name: str, column: pd.Series[Any], schema: Schema) -> list[Any]:
    return list(categories_of(name, column, schema, "data").categories)


def _as_factor(right: Formula, name: str) -> bool:
    return any(f.kind == "C" and name in f.names for term in right.terms for f in term)


def _interacts(parsed: Formula, treatment: tuple[str, ...]) -> bool:
    for term in parsed.terms:
        names = {name for factor in term for name in factor.names}
        if names & set(treatment) and names - set(treatment):
            return True
    return False


def _check_assignment(assignment: Design | None, treatment: tuple[str, ...]) -> None:
    if assignment is None:
        raise ParameterError(
            "assignment is not given, so treatments cannot be drawn anew; give the design, such "
            f"as assignment=dprct.Complete({treatment[0]!r})"
        )
    if set(assignment.columns) != set(treatment):
        raise ParameterError(
            f"assignment draws the columns {', '.join(assignment.columns)}, treatment names "
            f"{', '.join(treatment)}; let them be the same"
        )
