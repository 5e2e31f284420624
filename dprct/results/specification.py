"""A regression in words that can be compared: outcome, terms, errors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from dprct.errors import FormulaError
from dprct.formula import parse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dprct.formula import Formula


@dataclass(frozen=True, slots=True, kw_only=True)
class Specification:
    """A regression that somebody runs on a released file.

    Parameters
    ----------
    outcome : str
    terms : tuple of str
        Right side, without the intercept; absorbed effects are ``C(name)``.
    cov_type : str
        As :func:`dprct.ols` spells it.
    groups : str or None
        Column of the clusters.
    rows : int or None
        Rows used, where known.
    weighted : bool
    intercept : bool
    fe_df : str
        Rule that counts absorbed effects; that of ``areg`` is that of dummies.
    """

    outcome: str
    terms: tuple[str, ...]
    cov_type: str = "HC1"
    groups: str | None = None
    rows: int | None = None
    weighted: bool = False
    intercept: bool = True
    fe_df: str = "areg"

    @property
    def errors(self) -> str:
        """Its errors, in words."""
        return self.cov_type if self.groups is None else f"clusters {self.groups}"


def terms_of(formula: Formula, absorbed: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the right side of a formula term by term; absorbed effects are factors.

    Examples
    --------
    >>> terms_of(parse("y ~ treat*age"), ["town"])
    ('treat', 'age', 'treat:age', 'C(town)')
    """
    written = [":".join(factor.label for factor in term) for term in formula.terms]
    return (*written, *(f"C({name})" for name in absorbed))


def column_named(values: object) -> str | None:
    """Return the name of a column that was given by name or by its values.

    Examples
    --------
    >>> column_named("town"), column_named([1, 2]), column_named(None)
    ('town', 'given by row', None)
    """
    if values is None:
        return None
    return values if isinstance(values, str) else "given by row"


@lru_cache(maxsize=4096)
def term_key(term: str) -> str:
    """Return a term as the formula's grammar spells it, an interaction in one order.

    Examples
    --------
    >>> term_key("I(age**2)"), term_key("`treat`:age")
    ('I(age ** 2)', 'age:treat')
    """
    try:
        spelt = terms_of(parse(f"~ {term}", functions=True))
    except FormulaError:
        spelt = (term,)
    return ":".join(sorted((spelt[0] if len(spelt) == 1 else term).split(":")))
