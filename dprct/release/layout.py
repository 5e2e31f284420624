"""What becomes of every column of a calibrated file, decided from the schema alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.errors import SchemaError
from dprct.release.outcomes import continuous, differences_of, with_sysmiss
from dprct.release.reading import reading_of
from dprct.results.certificate import PermittedDifference
from dprct.schema.expressions import parents
from dprct.schema.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from dprct.release.base import Release
    from dprct.release.regressions import Regressions
    from dprct.results.validity import Validity
    from dprct.schema.columns import Column, Fate


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
