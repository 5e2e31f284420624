"""What becomes of every column of a calibrated file, and what its readers find."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.certificate.certificate import PermittedDifference
from dprct.certificate.valid_regressions import ErrorRatio, Reading, term_key
from dprct.errors import DprctError, SchemaError
from dprct.formula import design, parse
from dprct.formula.design_matrix import is_missing
from dprct.release.calibrated.outcomes import continuous, differences_of, with_sysmiss
from dprct.results.covariance import Weighting, classical, cr1, fit_several, hc0, hc1, leverage
from dprct.results.ols import cluster_codes, ols
from dprct.schema.expressions import parents
from dprct.schema.schema import Schema

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from dprct.certificate.valid_regressions import Validity
    from dprct.formula.design_matrix import Design, Mask
    from dprct.release.calibrated.regressions import Regressions
    from dprct.release.release import Release
    from dprct.results.covariance import Array, Codes, LeastSquares
    from dprct.results.fixed_effects import FeRule
    from dprct.schema.columns import Column, Fate


Targets = Mapping[str, Sequence[float]]
Found = tuple[str, str, str, float]

_EXACT_FIT = 1e-10


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
    for terms in valid.covariates:
        for outcomes in _by_rows(table, valid):
            for outcome, command, errors in _errors(table, schema, valid, outcomes, terms):
                yield from _compared(command, outcome, errors, targets)
    if valid.subsets_valid and () not in valid.covariates:
        for outcome in valid.outcomes:
            fit = ols(_formula(valid, outcome, ()), table, schema, cluster=valid.cluster)
            errors = dict(zip(fit.bse.index[1:], fit.bse.to_numpy()[1:].tolist(), strict=True))
            yield from _compared(f"regress y t, {valid.errors}", outcome, errors, targets)


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


def _errors(
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
    shared = fit_several(frame.X, frame.y, Weighting.of(None, "aweight", len(frame.X)))
    arms = {term_key(arm) for arm in valid.arms}
    names, of_terms = _kept(frame, shared.kept)
    places = [j for j, term in enumerate(of_terms) if term_key(term) in arms]
    effects = [names[j] for j in places]
    remaining = 1 - leverage(shared.fits[0], shared.X)
    groups = None if valid.cluster is None else cluster_codes(table[valid.cluster], frame.used)
    for outcome, fit in zip(outcomes, shared.fits, strict=True):
        for command, covariance in _covariances(fit, shared.X, places, remaining, groups, valid):
            yield outcome, command, dict(zip(effects, _roots(covariance), strict=True))
        for command, absorbed in _absorbing(table, schema, valid, outcome, terms):
            yield outcome, command, {name: absorbed.get(name, math.nan) for name in effects}


def _covariances(
    fit: LeastSquares,
    X: Array,
    places: list[int],
    remaining: Array,
    groups: Codes | None,
    valid: Validity,
) -> Iterator[tuple[str, Array]]:
    """Yield each command's covariance of the effects: what the other columns leave of them."""
    inner = fit.bread[np.ix_(places, places)]
    own = X @ fit.bread[:, places] @ np.linalg.inv(inner)
    few = replace(fit, bread=inner, rank=len(places), absorbed=fit.rank - len(places))
    if groups is not None:
        yield f"regress y t x, vce(cluster {valid.cluster})", cr1(few, own, groups)
    yield "regress y t x, vce(robust)", hc1(few, own)
    yield "regress y t x", classical(few, own)
    # a row that is fitted exactly has no HC2 and no HC3
    left = np.where(remaining < _EXACT_FIT, np.nan, remaining)
    yield "regress y t x, vce(hc2)", hc0(replace(few, resid=fit.resid / np.sqrt(left)), own)
    yield "regress y t x, vce(hc3)", hc0(replace(few, resid=fit.resid / left), own)


def _roots(covariance: Array) -> list[float]:
    return [float(root) for root in np.sqrt(np.diag(covariance))]


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


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of a calibrated file by what fills them.

    Parameters
    ----------
    schema : Schema
        Of the confidential file, with fates from :func:`prepared_schema`.
    regressions : Regressions
    strict : bool
        Outcomes take legal values only.
    """

    schema: Schema
    regressions: Regressions
    strict: bool

    @property
    def outcomes(self) -> list[Column]:
        """The outcome columns, in the order of the effects."""
        return [self.schema.column(name) for name in self.regressions.outcomes]

    @property
    def covariates(self) -> Schema:
        """A schema of the modelled columns that are no outcomes, and of nothing else."""
        return Schema(tuple(c for c in self.schema.columns if self._is_covariate(c)))

    @property
    def complete(self) -> frozenset[str]:
        """The columns that the declared regressions use, and those these are derived from."""
        found: set[str] = set()
        waiting = list(self.regressions.columns)
        while waiting:
            name = waiting.pop()
            expression = self.schema.column(name).derived
            if name not in found and expression is not None:
                waiting += sorted(parents(expression))
            found.add(name)
        return frozenset(found)

    def check_public(self, public: Mapping[str, NDArray[Any]]) -> None:
        """Refuse a public covariate with missing values, which would cost the reader rows.

        Raises
        ------
        SchemaError
        """
        for name in sorted(self.complete & set(public)):
            values = public[name]
            text = values.dtype == object
            gone = [v == "" for v in values] if text else np.isnan(values).tolist()
            if any(gone):
                raise SchemaError(
                    f"public column {name!r} is in a regression and has missing values, so that "
                    "its rows would be left out; give them a code of their own, or leave it out"
                )

    def fated(self, rule: str) -> Schema:
        """Return the schema with the fate that covariates have under a rule."""
        if rule != "filler":
            return self.schema
        return self._with(lambda c: replace(c, fate="filler") if self._is_covariate(c) else c)

    def before_outcomes(self) -> Schema:
        """Return a schema that takes public columns as they are given, and sorts no rows."""
        taken = self._with(lambda c: replace(c, fate="modelled") if c.fate == "public" else c)
        return replace(taken, file=replace(taken.file, sorted_by=()))

    def with_outcomes(self) -> Schema:
        """Return a schema that takes every column as it is given, but recomputes derived ones."""
        return self._with(
            lambda c: c if c.fate == "drop" or c.derived else replace(c, fate="modelled")
        )

    def released(self, schema: Schema) -> Schema:
        """Return the schema of the protected file, whose outcomes are real numbers, or legal."""
        changed = with_sysmiss if self.strict else continuous
        new = [changed(c) for c in schema.columns if c.name in self.regressions.outcomes]
        known = {column.name: column for column in new}
        return replace(schema, columns=tuple(known.get(c.name, c) for c in schema.columns))

    def limits(self, indexed: Iterable[str] = (), hidden: Iterable[str] = ()) -> tuple[str, ...]:
        """Return what the protected file is not good for.

        ``indexed`` are the outcomes that were adjusted by an index: the released mean of the
        control group is that of what the index leaves, and the index of the confidential
        covariates, which would make it the mean of the outcome, was not released.  Effects do not
        depend on it.  ``hidden`` are those of which it is private who has a value.
        """
        arms = ", ".join(self.regressions.arms)
        moved = tuple(
            f"means and levels of {name}: it is what the index leaves of the outcome, so that its "
            "control mean is not that of the outcome; effects are the same"
            for name in indexed
        )
        scattered = tuple(
            f"who has no value of {name}: rows without one stand at random within arms, about as "
            "many as were released, but never so many that a declared regression loses its room"
            for name in hidden
        )
        return (
            f"only the coefficients of {arms} in the declared regressions carry information",
            "coefficients of covariates, R-squared, subgroups, interactions, logit and probit are "
            "artefacts",
            "covariates know nothing of outcomes and treatment: balance tables show the synthetic "
            "covariates",
            "intervals are valid at the declared levels only",
            *moved,
            *scattered,
        )

    def announced(self, release: Release, valid: Validity) -> Release:
        """Return the release with the columns' new facts, and what its readers will find."""
        coded = [c.name for c in self.outcomes if c.is_integer or c.levels is not None]
        schema = valid.stamped(self.released(release.schema), coded)
        issued = release.issued
        if issued is not None:
            errors = np.split(release.estimates.bse.to_numpy(), len(valid.outcomes))
            targets = {y: part.tolist() for y, part in zip(valid.outcomes, errors, strict=True)}
            issued = replace(
                issued,
                differences=(*issued.differences, *self._differences()),
                reading=reading_of(release.protected, schema, valid, targets, self.schema),
            )
        return replace(release, schema=schema, issued=issued)

    def _differences(self) -> Iterable[PermittedDifference]:
        if not self.strict:
            for column in self.outcomes:
                yield from differences_of(column, self.schema)
        yield PermittedDifference(
            "characteristics", "_dta", "says which regressions return valid inference"
        )

    def _is_covariate(self, column: Column) -> bool:
        modelled = column.fate == "modelled" and column.derived is None
        return modelled and column.name not in self.regressions.outcomes

    def _with(self, change: Any) -> Schema:
        return replace(self.schema, columns=tuple(change(c) for c in self.schema.columns))


def prepared_schema(schema: Schema, regressions: Regressions, public: Iterable[str]) -> Schema:
    """Return the schema with the fates of outcomes, design and covariates.

    Parameters
    ----------
    schema : Schema
    regressions : Regressions
    public : iterable of str
        The columns of the design.

    Raises
    ------
    ColumnError, SchemaError
        If a declared fate contradicts the part that a column plays.
    """
    new = [_fated(schema.column(name), "modelled", "an outcome") for name in regressions.outcomes]
    for problem in design_problems(schema, public):
        raise SchemaError(problem)
    new += [_fated(schema.column(name), "public", "part of the design") for name in public]
    known = {column.name for column in new}
    for name in regressions.columns:
        column = schema.column(name)
        if name in known or column.derived is not None or column.fate == "public":
            continue
        new.append(_fated(column, "modelled", "a covariate"))
    if all(schema.column(column.name) == column for column in new):
        return schema
    return schema.with_columns(new)


def design_problems(schema: Schema, public: Iterable[str]) -> list[str]:
    """Return what keeps columns from being the design's, which the file shows as they are.

    A column without a declared fate is declared public by its part in the design.
    """
    return [
        f"column {name!r} is part of the design, which is public, but its fate is "
        f'{schema.column(name).fate!r}; give fate = "public"'
        for name in public
        if schema.column(name).fate not in (None, "public")
    ]


def _fated(column: Column, fate: Fate, part: str) -> Column:
    if column.derived is not None:
        raise SchemaError(
            f"column {column.name!r} is {part} and derived, which would recompute it; declare it "
            "without derived="
        )
    if column.fate not in (None, fate):
        raise SchemaError(
            f"column {column.name!r} is {part} and its declared fate is {column.fate!r}; leave "
            f"the fate out, or declare {fate!r}"
        )
    return replace(column, fate=fate)
