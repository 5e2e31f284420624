"""What ordinary commands find on a calibrated file: computed from the released table alone.

Everything here is post-processing of released values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from dprct.errors import DprctError
from dprct.formula import design, parse
from dprct.formula.columns import is_missing
from dprct.results.covariance import HETEROSKEDASTIC, cr1
from dprct.results.ols import least_squares, ols
from dprct.results.options import cluster_codes
from dprct.results.reading import ErrorRatio, Reading
from dprct.results.weights import Weighting

if TYPE_CHECKING:
    import pandas as pd

    from dprct.results.counting import FeRule
    from dprct.results.covariance import Array
    from dprct.results.validity import Validity
    from dprct.schema.facts import Column
    from dprct.schema.schema import Schema

Targets = Mapping[tuple[str, str], float]
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
    targets : mapping of (outcome, coefficient) to float
        Released errors, in units of the outcome.
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
    for terms in valid.covariates:
        for outcome in valid.outcomes:
            wanted = {name: error for (of, name), error in targets.items() if of == outcome}
            for command, errors in _errors(table, schema, valid, outcome, terms):
                for name, target in wanted.items():
                    yield command, outcome, name, errors.get(name, math.nan) / target
    if valid.subsets_valid and () not in valid.covariates:
        for outcome in valid.outcomes:
            formula = f"`{outcome}` ~ {' + '.join(valid.arms)}"
            alone = ols(formula, table, schema, groups=valid.groups).bse
            for (of, name), target in targets.items():
                if of == outcome:
                    yield f"regress y t, {valid.errors}", outcome, name, alone[name] / target


def _errors(
    table: pd.DataFrame,
    schema: Schema,
    valid: Validity,
    outcome: str,
    terms: tuple[str, ...],
) -> Iterator[tuple[str, Mapping[str, float]]]:
    """Yield each command with the errors that it finds, by coefficient."""
    formula = f"`{outcome}` ~ {' + '.join([*valid.arms, *terms])}"
    parsed = parse(formula, functions=True)
    keep = np.ones(len(table), bool)
    if valid.groups is not None:
        keep = ~is_missing(table[valid.groups])
    frame = design(parsed, table, schema, keep=keep)
    fit, kept = least_squares(frame.X, frame.y[:, 0], Weighting.of(None, "aweight", len(frame.X)))
    X = frame.X[:, kept]
    names = [name for name, stays in zip(frame.columns, kept, strict=True) if stays]
    if valid.groups is not None:
        codes = cluster_codes(table[valid.groups], frame.used)
        command = f"regress y t x, vce(cluster {valid.groups})"
        yield command, _by_name(names, cr1(fit, X, codes))
    for kind, command in _COMMANDS.items():
        try:
            yield command, _by_name(names, HETEROSKEDASTIC[kind](fit, X))
        except DprctError:  # a row that is fitted exactly has no HC2 and no HC3
            yield command, {}
    yield from _absorbing(table, schema, valid, outcome, terms)


def _absorbing(
    table: pd.DataFrame, schema: Schema, valid: Validity, outcome: str, terms: tuple[str, ...]
) -> Iterator[tuple[str, Mapping[str, float]]]:
    """Yield the commands that take factors out instead of coding them."""
    factors = [term[2:-1].strip("`") for term in terms if term.startswith("C(")]
    rest = [term for term in terms if not term.startswith("C(")]
    formula = f"`{outcome}` ~ {' + '.join([*valid.arms, *rest])}"
    vce = valid.errors
    rules: tuple[FeRule, ...] = ("areg", "reghdfe") if len(factors) == 1 else ("reghdfe",)
    for rule in rules if factors else ():
        command = f"{rule} y t x, absorb() {vce}"
        try:
            fit = ols(formula, table, schema, groups=valid.groups, absorb=factors, fe_df=rule)
            yield command, {str(name): float(error) for name, error in fit.bse.items()}
        except DprctError:  # the rule has no such errors, or no regressor is left
            yield command, {}


def _by_name(names: list[str], covariance: Array) -> dict[str, float]:
    return dict(zip(names, np.sqrt(np.diag(covariance)).tolist(), strict=True))


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
