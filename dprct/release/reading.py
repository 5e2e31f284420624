"""What ordinary commands find on a calibrated file: computed from the released table alone.

Everything here is post-processing of released values.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dprct.errors import DprctError
from dprct.formula import design, parse
from dprct.formula.columns import is_missing
from dprct.results.covariance import HETEROSKEDASTIC, cr1
from dprct.results.ols import least_squares, ols
from dprct.results.options import cluster_codes
from dprct.results.reading import ErrorRatio, Reading
from dprct.results.specification import term_key
from dprct.results.weights import Weighting

if TYPE_CHECKING:
    import pandas as pd

    from dprct.formula.columns import Mask
    from dprct.formula.design import Design
    from dprct.results.counting import FeRule
    from dprct.results.covariance import Array
    from dprct.results.validity import Validity
    from dprct.schema.facts import Column
    from dprct.schema.schema import Schema

Targets = Mapping[str, Sequence[float]]
Found = tuple[str, str, str, float]

_COMMANDS = {
    "HC1": "regress y t x, vce(robust)",
    "nonrobust": "regress y t x",
    "HC2": "regress y t x, vce(hc2)",
    "HC3": "regress y t x, vce(hc3)",
}


def reading_of(
    table: pd.DataFrame,
    schema: Schema,
    valid: Validity,
    targets: Targets,
    original: Schema | None = None,
) -> Reading:
    """Return what a reader of a calibrated file finds.

    Parameters
    ----------
    table : (n, ...) DataFrame
        The released table.
    schema : Schema
        Of the released file.
    valid : Validity
    targets : mapping of outcome to (k,) sequence of float
        Released errors of the effects, in units of the outcome and in their order.
    original : Schema, optional
        Of the confidential file: which outcomes had codes, integers or bounds.

    Returns
    -------
    Reading

    Notes
    -----
    Post-processing: a function of the released table, the released errors and public facts.
    """
    ratios: dict[str, list[Found]] = {}
    for one in _found(table, schema, valid, targets):
        ratios.setdefault(one[0], []).append(one)
    return Reading(
        tuple(_ratio(command, entries) for command, entries in ratios.items()),
        breaks_of(table, valid, original or schema),
    )


def _found(
    table: pd.DataFrame, schema: Schema, valid: Validity, targets: Targets
) -> Iterator[Found]:
    """Yield command, outcome, coefficient and error over released error."""
    alone = valid.subsets_valid and () not in valid.covariates
    for outcome, wanted in targets.items():
        for terms in valid.covariates:
            for command, errors in _errors(table, schema, valid, outcome, terms):
                for (name, error), target in zip(errors.items(), wanted, strict=True):
                    yield command, outcome, name, error / target
        if alone:
            fit = ols(_formula(valid, outcome, ()), table, schema, groups=valid.groups)
            found = zip(fit.bse.index[1:], fit.bse.to_numpy()[1:], wanted, strict=True)
            for coefficient, error, target in found:
                yield f"regress y t, {valid.errors}", outcome, str(coefficient), error / target


def _errors(
    table: pd.DataFrame, schema: Schema, valid: Validity, outcome: str, terms: tuple[str, ...]
) -> Iterator[tuple[str, Mapping[str, float]]]:
    """Yield each command with the errors of the effects that it finds, by coefficient."""
    keep = np.ones(len(table), bool)
    if valid.groups is not None:
        keep = ~is_missing(table[valid.groups])
    parsed = parse(_formula(valid, outcome, terms), functions=True)
    frame = design(parsed, table, schema, keep=keep)
    fit, kept = least_squares(frame.X, frame.y[:, 0], Weighting.of(None, "aweight", len(frame.X)))
    X = frame.X[:, kept]
    arms = {term_key(arm) for arm in valid.arms}
    effects = [
        (j, name)
        for j, (name, term) in enumerate(zip(*_kept(frame, kept), strict=True))
        if term_key(term) in arms
    ]

    def named(covariance: Array) -> dict[str, float]:
        errors = np.sqrt(np.diag(covariance))
        return {name: float(errors[j]) for j, name in effects}

    nothing = {name: math.nan for _, name in effects}
    if valid.groups is not None:
        codes = cluster_codes(table[valid.groups], frame.used)
        yield f"regress y t x, vce(cluster {valid.groups})", named(cr1(fit, X, codes))
    for kind, command in _COMMANDS.items():
        try:
            yield command, named(HETEROSKEDASTIC[kind](fit, X))
        except DprctError:  # a row that is fitted exactly has no HC2 and no HC3
            yield command, nothing
    for command, absorbed in _absorbing(table, schema, valid, outcome, terms):
        yield command, {name: absorbed.get(name, math.nan) for _, name in effects}


def _kept(frame: Design, kept: Mask) -> tuple[list[str], list[str]]:
    """Return names and terms of the columns that are kept."""
    places = np.flatnonzero(kept)
    return [frame.columns[j] for j in places], [frame.terms[j] for j in places]


def _formula(valid: Validity, outcome: str, terms: Iterable[str]) -> str:
    return f"`{outcome}` ~ {' + '.join([*valid.arms, *terms])}"


def _absorbing(
    table: pd.DataFrame, schema: Schema, valid: Validity, outcome: str, terms: tuple[str, ...]
) -> Iterator[tuple[str, Mapping[str, float]]]:
    """Yield the commands that take factors out instead of coding them."""
    factors = [term[2:-1].strip("`") for term in terms if term.startswith("C(")]
    formula = _formula(valid, outcome, [term for term in terms if not term.startswith("C(")])
    rules: tuple[FeRule, ...] = ("areg", "reghdfe") if len(factors) == 1 else ("reghdfe",)
    for rule in rules if factors else ():
        command = f"{rule} y t x, absorb() {valid.errors}"
        try:
            fit = ols(formula, table, schema, groups=valid.groups, absorb=factors, fe_df=rule)
            yield command, {str(name): float(error) for name, error in fit.bse.items()}
        except DprctError:  # the rule has no such errors, or no regressor is left
            yield command, {}


def _ratio(command: str, entries: list[Found]) -> ErrorRatio:
    values = [ratio for *_, ratio in entries if not math.isnan(ratio)]
    if not values:
        return ErrorRatio(command, math.nan, math.nan)
    smallest = min((one for one in entries if not math.isnan(one[3])), key=lambda one: one[3])
    return ErrorRatio(command, min(values), max(values), f"{smallest[1]} on {smallest[2]}")


def breaks_of(table: pd.DataFrame, valid: Validity, original: Schema) -> tuple[str, ...]:
    """Return the idioms that stop on a calibrated file, or give artefacts.

    Parameters
    ----------
    table : (n, ...) DataFrame
        The released table.
    valid : Validity
    original : Schema
        Of the confidential file.
    """
    arms = ", ".join(valid.arms)
    lines = [
        line
        for name in valid.outcomes
        for line in _of_outcome(table[name].to_numpy(np.float64), original.column(name))
    ]
    return (
        *lines,
        f"coefficients other than those of {arms}, R-squared and tests of covariates: artefacts",
        f"balance tables (covariates on {arms}): the assignment was drawn afresh and the "
        "covariates are protected, so they show chance, not the experiment",
        "subgroups, interactions, weights, and transformed or winsorised outcomes: artefacts",
    )


def _of_outcome(values: Array, column: Column) -> Iterator[str]:
    """Yield what breaks with one outcome that is a real number now."""
    there = values[~np.isnan(values)]
    name = column.name
    if column.levels is not None:
        codes = [float(level) for level in column.levels if not isinstance(level, str)]
        others = int((~np.isin(there, codes)).sum())
        if others:
            shown = ", ".join(f"{code:g}" for code in codes[:3]) + (", ..." if codes[3:] else "")
            yield (
                f"assert inlist({name}, {shown}) fails: {others:,d} of {len(there):,d} values are "
                f"no declared code; tabulate {name} has as many rows, value labels do not show"
            )
        if codes == [0.0, 1.0] and not (there == 0).any():
            yield f"logit {name}, probit {name} stop: no value is 0"
    if column.bounds is not None:
        outside = int(((there < column.bounds[0]) | (there > column.bounds[1])).sum())
        if outside:
            yield f"{outside:,d} of {len(there):,d} values of {name} lie outside its bounds"
