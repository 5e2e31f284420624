"""What the commands of readers find on a calibrated file, and which of them stop."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dprct.certificate.certificate import ErrorRatio, Reading
from dprct.certificate.valid_regressions import Validity, term_key
from dprct.errors import DprctError
from dprct.formula import design, parse
from dprct.formula.design_matrix import is_missing
from dprct.results.covariance import (
    Weighting,
    blocks,
    classical,
    cr1,
    fit_several,
    give_back,
    leverage,
    sandwich,
)
from dprct.results.ols import cluster_codes, ols

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pandas as pd

    from dprct.formula.design_matrix import Design as DesignMatrix
    from dprct.formula.design_matrix import Mask
    from dprct.results.covariance import Codes, FeRule, LeastSquares, SharedFit
    from dprct.schema.columns import Column
    from dprct.schema.schema import Schema

Array = NDArray[np.float64]
Targets = Mapping[str, Sequence[float]]
Found = tuple[str, str, str, float]

_EXACT_FIT = 1e-10


def reading_of(
    table: pd.DataFrame,
    schema: Schema,
    valid: Validity,
    targets: Targets,
    original: Schema | None = None,
    within: Sequence[Targets] = (),
) -> Reading:
    """Reading of a calibrated file.

    ``targets`` are the released errors of the effects, in their order, and ``within`` those in
    every level of the file's groups.  The ``original`` schema says which outcomes had codes,
    integers or bounds.

    Notes
    -----
    Post-processing: a function of the released table, the released errors and public facts.
    """
    ratios: dict[str, list[Found]] = {}
    if valid.declared:
        return Reading(
            _of_declared(table, schema, valid), breaks_of(table, valid, original or schema)
        )
    give_back(len(table))
    found = chain(_found(table, schema, valid, targets), _within(table, schema, valid, within))
    for one in found:
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
        if valid.groups is not None and not valid.groups.holds(terms):
            continue
        for outcomes in _by_rows(table, valid):
            for outcome, command, errors in _errors_by_command(
                table, schema, valid, outcomes, terms
            ):
                yield from _compared(command, outcome, errors, targets)
            give_back(len(table))
    whole = valid.groups is None or valid.groups.whole
    if valid.subsets_valid and whole and () not in valid.covariates:
        for outcome in valid.outcomes:
            fit = ols(_formula(valid, outcome, ()), table, schema, cluster=valid.cluster)
            errors = dict(zip(fit.bse.index[1:], fit.bse.to_numpy()[1:].tolist(), strict=True))
            yield from _compared(f"regress y t, {valid.errors}", outcome, errors, targets)


def _of_declared(table: pd.DataFrame, schema: Schema, valid: Validity) -> tuple[ErrorRatio, ...]:
    """Return for every carried regression what each command finds of its errors."""
    found = []
    for one, alone in valid.alone():
        told = {one.outcome: [error for *_, error in one.released]}
        ratios: dict[str, list[Found]] = {}
        for entry in _found(table[one.of(table)], schema, alone, told):
            ratios.setdefault(entry[0], []).append(entry)
        found += [_ratio(f"{command}: {one.title}", entries) for command, entries in ratios.items()]
    return tuple(found)


def _within(
    table: pd.DataFrame, schema: Schema, valid: Validity, targets: Sequence[Targets]
) -> Iterator[Found]:
    """Yield the same of regressions on the arms alone, within every level of the groups."""
    if valid.groups is None:
        return
    column = valid.groups.column
    command = f"regress y t if {column} == level, {valid.errors}"
    for level, released in zip(valid.groups.levels, targets, strict=True):
        rows = table[table[column] == level]
        for outcome in valid.outcomes:
            fit = ols(_formula(valid, outcome, ()), rows, schema, cluster=valid.cluster)
            errors = dict(zip(fit.bse.index[1:], fit.bse.to_numpy()[1:].tolist(), strict=True))
            yield from _compared(command, outcome, errors, released)


def _compared(
    command: str, outcome: str, errors: Mapping[str, float], targets: Targets
) -> Iterator[Found]:
    for (name, error), target in zip(errors.items(), targets[outcome], strict=True):
        yield command, outcome, name, error / target


def _by_rows(table: pd.DataFrame, valid: Validity) -> list[list[str]]:
    """Return the outcomes, those with the same rows together: they share a decomposition."""
    groups: dict[bytes, list[str]] = {}
    for outcome in valid.outcomes:
        groups.setdefault(is_missing(table[outcome]).tobytes(), []).append(outcome)
    return list(groups.values())


def _errors_by_command(
    table: pd.DataFrame,
    schema: Schema,
    valid: Validity,
    outcomes: list[str],
    terms: tuple[str, ...],
) -> Iterator[tuple[str, str, dict[str, float]]]:
    """Yield outcome, command and the errors of the effects that it finds, by coefficient."""
    keep = np.ones(len(table), bool)
    if valid.cluster is not None:
        keep = ~is_missing(table[valid.cluster])
    left = "` + `".join(outcomes)
    frame = design(parse(_formula(valid, left, terms), functions=True), table, schema, keep=keep)
    give_back(len(table))
    shared = fit_several(frame.X, frame.y, Weighting.of(None, "aweight", len(frame.X)))
    arms = {term_key(arm) for arm in valid.arms}
    names, of_terms = _kept(frame, shared.kept)
    places = [j for j, term in enumerate(of_terms) if term_key(term) in arms]
    effects = [names[j] for j in places]
    used = frame.used
    del frame
    groups = None if valid.cluster is None else cluster_codes(table[valid.cluster], used)
    remaining = cache(lambda: _left(shared))  # not before it is needed
    for outcome, fit in zip(outcomes, shared.fits, strict=True):
        for command, covariance in _covariances(fit, shared.X, places, remaining, groups, valid):
            yield (
                outcome,
                command,
                dict(zip(effects, np.sqrt(np.diag(covariance)).tolist(), strict=True)),
            )
        for command, absorbed in _absorbing(table, schema, valid, outcome, terms):
            yield outcome, command, {name: absorbed.get(name, math.nan) for name in effects}


def _left(shared: SharedFit) -> Array:
    """Return what the leverage of every row leaves of one; (n,)."""
    found = leverage(shared.fits[0], shared.X)
    np.subtract(1, found, out=found)
    found[found < _EXACT_FIT] = np.nan  # a row that is fitted exactly has no HC2 and no HC3
    return found


def _covariances(
    fit: LeastSquares,
    X: Array,
    places: list[int],
    left: Callable[[], Array],
    groups: Codes | None,
    valid: Validity,
) -> Iterator[tuple[str, Array]]:
    """Yield each command's covariance of the effects: what the other columns leave of them."""
    inner = fit.bread[np.ix_(places, places)]
    turn = np.linalg.inv(inner)
    few = replace(fit, bread=inner, rank=len(places), absorbed=fit.rank - len(places))

    def own(rows: slice) -> Array:
        found: Array = X[rows] @ fit.bread[:, places] @ turn
        return found

    def around(resid: Callable[[slice], Array]) -> Array:
        parts = ((own(at), resid(at) ** 2 * fit.copies[at]) for at in blocks(len(X)))
        return sandwich(inner, parts)

    if groups is not None:
        yield f"regress y t x, vce(cluster {valid.cluster})", cr1(few, own(slice(None)), groups)
    robust = around(lambda at: fit.resid[at])
    yield "regress y t x, vce(robust)", few.nobs / few.df_resid * robust
    yield "regress y t x", classical(few, X)
    remaining = left()  # of all outcomes the same
    yield "regress y t x, vce(hc2)", around(lambda at: fit.resid[at] / np.sqrt(remaining[at]))
    yield "regress y t x, vce(hc3)", around(lambda at: fit.resid[at] / remaining[at])


def _kept(frame: DesignMatrix, kept: Mask) -> tuple[list[str], list[str]]:
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
            fit = ols(formula, table, schema, cluster=valid.cluster, absorb=factors, fe_df=rule)
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
    """Idioms that stop on a calibrated file, or give artefacts."""
    arms, other = ", ".join(valid.arms), "other " * (valid.groups is not None)
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
        f"{other}subgroups, {other}interactions, weights, and transformed or winsorised outcomes: "
        "artefacts",
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
