"""The probability of treatment: a public fact of a randomised experiment, or to be estimated."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from dprct.assignment.base import Design
from dprct.errors import ParameterError
from dprct.estimate.experiment import check_hidden, hidden_arms
from dprct.schema.facts import given

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dprct.schema.schema import Schema


def known_propensity(
    schema: Schema, n: int, treatment: str, assignment: Design | None, propensity: object
) -> Fraction | None:
    """Return the probability of treatment that is a public fact; None if there is none.

    Parameters
    ----------
    schema : Schema
    n : int
        Rows; public.
    treatment : str
    assignment : Design or None
        With two groups, of which the treated has 1 in the treatment column, and the same
        probability for everybody.
    propensity : number or None
        The probability itself, instead of a design.

    Raises
    ------
    ParameterError, SchemaError
        If it is not inside (0, 1), both are given, or the design is another.
    """
    if assignment is None:
        return None if propensity is None else _declared(propensity)
    if propensity is not None:
        raise ParameterError("assignment= and propensity= are both given; give one of them")
    if not isinstance(assignment, Design):
        raise ParameterError(
            f"assignment={given(assignment)}; give a design, such as dprct.Simple('treat')"
        )
    order = _groups(assignment, treatment)
    check_hidden(assignment, schema)
    return hidden_arms(assignment, order, n).shares[1]


def trim_of(trim: object) -> float:
    """Return eta, by which estimated propensities are kept from 0 and 1."""
    if isinstance(trim, bool) or not isinstance(trim, (int, float)) or not 0 < trim < 0.5:
        raise ParameterError(f"trim={given(trim)}; give a number between 0 and 0.5, such as 0.1")
    return float(trim)


def _declared(propensity: object) -> Fraction:
    number = isinstance(propensity, (int, float, Fraction)) and not isinstance(propensity, bool)
    if not number or not math.isfinite(propensity) or not 0 < propensity < 1:  # type: ignore[arg-type,operator]
        raise ParameterError(
            f"propensity={given(propensity)}; give the known probability of treatment, between 0 "
            "and 1"
        )
    return Fraction(str(propensity))


def _groups(assignment: Design, treatment: str) -> Sequence[int]:
    """Return the places of the untreated and of the treated group."""
    groups = assignment.groups
    values = [row[0] for row in groups.values] if groups.columns == (treatment,) else []
    if sorted(values, key=str) != [0.0, 1.0]:
        raise ParameterError(
            f"the design assigns {', '.join(groups.columns)}; it must assign {treatment!r}, 0 or 1"
        )
    return [values.index(0.0), values.index(1.0)]
