"""What becomes of every column of a calibrated file, and the regressions that fix it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.arguments import is_data, listed_names
from dprct.assignment.groups import CONTROL
from dprct.certificate.certificate import PermittedDifference
from dprct.certificate.valid_regressions import terms_of
from dprct.errors import FormulaError, ParameterError, SchemaError
from dprct.formula import parse
from dprct.records import dataclass
from dprct.schema.columns import rebounded
from dprct.schema.expressions import parents
from dprct.schema.schema import Schema

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dprct.assignment.groups import Design
    from dprct.certificate.valid_declared import ValidRegression
    from dprct.formula import Formula
    from dprct.schema.columns import Column
    from dprct.schema.facts import Fate


TermSet = tuple[str, ...]


@dataclass(frozen=True)
class Regressions:
    """What a reader may run: every outcome on the arms and each set of covariates.

    Parameters
    ----------
    arms : tuple of str
        Terms of the treatment, in the order of the effects.
    covariates : tuple of tuple of str
        Sets of terms besides the arms.
    within : str or None
        A public column within whose levels they are run, too.
    declared : tuple of ValidRegression
        Where regressions were declared one by one, each with its own outcome, covariates and rows.
    """

    outcomes: tuple[str, ...]
    arms: tuple[str, ...]
    covariates: tuple[TermSet, ...]
    within: str | None = None
    declared: tuple[ValidRegression, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that the covariate terms use, each once."""
        found = [name for terms in self.covariates for name in right_side(terms).regressor_names]
        return tuple(dict.fromkeys(found))

    @property
    def serve_some_arms(self) -> bool:
        """Whether rows of some arms return released effects, too (:mod:`certificate.valid_arms`).

        That takes the regression on all arms alone, each a 0/1 column: levels of one column have
        another base where the first is missing.
        """
        columns = not self.declared and not any(arm.startswith("C(") for arm in self.arms)
        return columns and len(self.arms) > 1 and () in self.covariates and self.within is None

    def formulas(self) -> tuple[str, ...]:
        """Return the regressions as text."""
        if self.declared:
            return tuple(one.title for one in self.declared)
        found = tuple(
            f"{outcome} ~ {' + '.join((*self.arms, *terms))}"
            for outcome in self.outcomes
            for terms in self.covariates
        )
        if self.within is None:
            return found
        arms = " + ".join(self.arms)
        within = [
            f"{outcome} ~ {arms} within each level of {self.within}" for outcome in self.outcomes
        ]
        return (*found, *within)


def right_side(terms: Iterable[str]) -> Formula:
    """Return the parsed right side of covariate terms, an intercept included.

    Examples
    --------
    >>> right_side(["age", "C(town)"]).regressor_names
    ('age', 'town')
    """
    return parse("~ " + (" + ".join(terms) or "1"))


def treatment_of(
    formula: str, treatment: str | Sequence[str] | None, assignment: Design | None
) -> tuple[str, ...]:
    """Return the treatment columns of a formula: as named, else those of the design."""
    if treatment is not None:
        return (treatment,) if isinstance(treatment, str) else tuple(treatment)
    if assignment is None:
        raise FormulaError(
            f"neither ``treatment=`` nor ``assignment=`` says which terms of {formula!r} are the "
            "treatment; name its columns"
        )
    return tuple(assignment.columns)


def split(formula: str, treatment: Sequence[str]) -> tuple[list[str], TermSet, TermSet]:
    """Outcomes, treatment terms and covariate terms of a formula.

    Examples
    --------
    >>> split("y ~ t + age + C(town)", ["t"])
    (['y'], ('t',), ('age', 'C(town)'))
    """
    parsed = parse(formula)
    if not parsed.outcomes or any(factor.kind != "name" for factor in parsed.outcomes):
        raise FormulaError(
            f"{formula!r} has no plain outcome on its left; declare a derived column with its "
            "own bounds and name it"
        )
    if not parsed.intercept:
        raise FormulaError(
            f"{formula!r} has no intercept, so that its coefficients are means and not effects; "
            "leave out '- 1' or '+ 0'"
        )
    outcomes = [factor.names[0] for factor in parsed.outcomes]
    labels = terms_of(parsed)
    arms = []
    for label, term in zip(labels, parsed.terms, strict=True):
        used = {name for factor in term for name in factor.names}
        if not used & set(treatment):
            continue
        if len(term) > 1 or term[0].kind == "expression":
            raise FormulaError(
                f"{label!r} interacts or transforms the treatment, whose effect is released for "
                "everybody together: its coefficient would be an artefact; leave it out, and name "
                "a column of blocks in ``subgroups=`` for effects within its levels"
            )
        arms.append(label)
    absent = [name for name in treatment if name not in parsed.regressor_names]
    if absent:
        raise FormulaError(
            f"{formula!r} lacks the treatment {', '.join(absent)}; all columns of the treatment "
            "belong into the regression"
        )
    return outcomes, tuple(arms), tuple(label for label in labels if label not in arms)


def regressions_of(
    outcomes: Sequence[str],
    arms: TermSet,
    terms: Sequence[str],
    more: Iterable[str | Sequence[str]],
    public: Iterable[str],
) -> Regressions:
    """The declared regressions, checked; no covariate term may use the ``public`` columns.

    ``terms`` are those of the first regression; ``more`` are further sets, as terms or as the right
    side of a formula, of which ``""`` is none.
    """
    sets = [_listed(terms, "covariates"), *term_sets(more)]
    return checked_columns(Regressions(tuple(outcomes), arms, tuple(dict.fromkeys(sets))), public)


def checked_columns(found: Regressions, public: Iterable[str]) -> Regressions:
    """Return regressions, no covariate of which is an outcome or one of the treatment columns."""
    both = [name for name in found.columns if name in found.outcomes]
    if both:
        raise ParameterError(
            f"{both[0]!r} is an outcome and a covariate; an outcome is what the treatment may "
            "have changed, and the two are drawn independently of each other"
        )
    treated = [name for name in found.columns if name in set(public)]
    if treated:
        raise ParameterError(
            f"a covariate set uses the treatment column {treated[0]!r}; effects of interactions "
            "are not released, and the arms are in every regression already"
        )
    return found


def arm_terms(design: Design, arms: Sequence[str]) -> TermSet:
    """Names of the arms in a regression, in the order of the effects; ``arms`` begin with control.

    Examples
    --------
    >>> from dprct.assignment import Complete
    >>> arm_terms(Complete(["cash", "therapy"]), ["control", "cash", "therapy"])
    ('cash', 'therapy')
    """
    groups = design.groups
    if set(arms[1:]) <= set(groups.columns):
        return tuple(arms[1:])
    if len(groups.columns) == 1:
        (column,) = groups.columns
        levels = sorted(value for (value,) in groups.values)
        first = levels[0] if isinstance(levels[0], str) else f"{levels[0]:g}"
        if first != arms[0]:
            raise ParameterError(
                f"a regression on C({column}) compares with its first level {first}, not with "
                f"{arms[0]}; give ``control={levels[0]!r}``"
            )
        return (column,) if levels == [0.0, 1.0] else (f"C({column})",)
    raise ParameterError(
        f"columns {', '.join(groups.columns)} together say who is in which arm, so that no "
        f"regression has one coefficient per arm against {CONTROL}; record every combination in a "
        "0/1 column of its own (``arms=`` of the design)"
    )


def check_arms(written: TermSet, expected: TermSet) -> None:
    """Refuse a formula whose treatment terms are not those of the arms."""
    if set(written) != set(expected):
        raise FormulaError(
            f"the formula has the treatment terms {', '.join(written)}, the effects are those of "
            f"{', '.join(expected)}; write the latter"
        )


def check_covariates(covariates: object) -> None:
    """Refuse, as covariates of the regression, the word that said how these are drawn."""
    if isinstance(covariates, str) and covariates in ("auto", "histogram", "marginals", "filler"):
        raise ParameterError(
            f"``covariates={covariates!r}`` says how covariates are drawn, which is "
            f"``covariate_release={covariates!r}``; ``covariates=`` lists the covariate terms of "
            "the regression"
        )


def check_slopes(regressions: Regressions) -> None:
    """Refuse coefficients of covariates where no regression, or several, would show them."""
    if len(regressions.covariates) > 1:
        raise ParameterError(
            "``gamma='moments'`` calibrates one covariate set: with fewer covariates the "
            "regression would return other effects; leave ``specifications=`` out, or say "
            "``gamma='zero'``"
        )
    if not regressions.covariates[0]:
        raise ParameterError("``gamma='moments'`` needs covariates in the regression; name some")


def cluster_column(design: Design) -> str | None:
    """Return the column by which a reader clusters errors."""
    columns = design.cluster_columns
    if len(columns) > 1:
        raise ParameterError(
            f"clusters are combinations of {', '.join(columns)}, and a regression clusters by one "
            "column; give the clusters a column of their own"
        )
    return columns[0] if columns else None


def term_sets(more: Iterable[str | Sequence[str]]) -> list[TermSet]:
    """Return further sets of covariate terms, given as terms or as the right side of a formula.

    Examples
    --------
    >>> term_sets(["", "age + C(town)", ["age"]])
    [(), ('age', 'C(town)'), ('age',)]
    """
    one = isinstance(more, str) or is_data(more) or not isinstance(more, Iterable)
    others: Iterable[Any] = [more] if one else more
    return [_listed(terms, "specifications") for terms in others]


def _listed(terms: str | Sequence[str], parameter: str) -> TermSet:
    text = " + ".join(listed_names(terms, parameter))
    if not text.strip():
        return ()
    parsed = parse(f"~ {text}")
    if not parsed.intercept:
        raise FormulaError(f"covariates {text!r} take out the intercept; leave it in")
    return terms_of(parsed)


def continuous(column: Column) -> Column:
    """Return the column as a real number, which a calibrated outcome is."""
    return rebounded(
        with_sysmiss(column), None, type="double", value_label="", levels=None, integer=False,
        decimals=None, bins=None,
    )  # fmt: skip


def with_sysmiss(column: Column) -> Column:
    """Return an outcome that may be missing with the code ``.``, which a calibrated file has."""
    if not column.missing:
        return column
    return replace(column, missing=tuple(dict.fromkeys((".", *column.missing))))


def differences_of(column: Column, schema: Schema) -> Iterator[PermittedDifference]:
    """Yield the ways in which a calibrated outcome's column differs from the original's."""
    if column.type != "double":
        yield PermittedDifference("type", column.name, "double: calibrated to the last digit")
    if column.value_label:
        reason = "a calibrated outcome is a real number, not a code"
        yield PermittedDifference("value-label", column.name, reason)
        for other in schema.columns:
            if other.value_label == column.value_label and other.fate != "drop":
                yield PermittedDifference("sharing", other.name, reason)


@dataclass(frozen=True)
class Layout:
    """The columns of a calibrated file by what fills them."""

    schema: Schema  # of the confidential file, with fates from :func:`prepared_schema`
    regressions: Regressions
    strict: bool  # outcomes take admissible values only
    # Columns of the treatment, where it is private: drawn by released numbers of people.
    hidden: tuple[str, ...] = ()

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
        """Refuse a public covariate with missing values, which would cost the reader rows."""
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
        columns = self.schema.columns
        filled = [replace(c, fate="filler") if self._is_covariate(c) else c for c in columns]
        return replace(self.schema, columns=tuple(filled))

    def released(self, schema: Schema) -> Schema:
        """Return the schema of the protected file, whose outcomes are real numbers, or legal."""
        changed = with_sysmiss if self.strict else continuous
        new = [changed(c) for c in schema.columns if c.name in self.regressions.outcomes]
        known = {column.name: column for column in new}
        return replace(schema, columns=tuple(known.get(c.name, c) for c in schema.columns))

    def limits(self, indexed: Iterable[str] = (), hidden: Iterable[str] = ()) -> tuple[str, ...]:
        """Limits of the protected file.

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
        drawn = (
            f"who has which {', '.join(self.hidden)}, and how many: arms were drawn at random, of "
            "about the released noisy numbers of people",
        )
        other = "other " * (self.regressions.within is not None or bool(self.regressions.declared))
        return (
            f"only the coefficients of {arms} in the declared regressions carry information",
            f"coefficients of covariates, R-squared, {other}subgroups, {other}interactions, logit "
            "and probit are artefacts",
            "covariates know nothing of outcomes and treatment: balance tables show the synthetic "
            "covariates",
            "intervals are valid at the declared levels only",
            *moved,
            *scattered,
            *(drawn if self.hidden else ()),
        )

    def differences(self) -> Iterable[PermittedDifference]:
        """Yield the ways in which the file differs from the original's."""
        if not self.strict:
            for column in self.outcomes:
                yield from differences_of(column, self.schema)
        yield PermittedDifference(
            "characteristics", "_dta", "says which regressions return valid inference"
        )

    def _is_covariate(self, column: Column) -> bool:
        modelled = column.fate == "modelled" and column.derived is None
        return modelled and column.name not in (*self.regressions.outcomes, *self.hidden)


def prepared_schema(
    schema: Schema, regressions: Regressions, public: Iterable[str], hidden: Iterable[str] = ()
) -> Schema:
    """The schema with the fates of outcomes, design and covariates.

    Columns of the design are ``public``, or those of the treatment are ``hidden``.
    """
    new = [_fated(schema.column(name), "modelled", "an outcome") for name in regressions.outcomes]
    for problem in design_problems(schema, public):
        raise SchemaError(problem)
    new += [_fated(schema.column(name), "public", "part of the design") for name in public]
    new += [
        _fated(schema.column(name), "modelled", "the treatment, which is private")
        for name in hidden
    ]
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
    """Differences between columns and the design, which the file shows as they are.

    A column without a declared fate is declared public by its part in the design.
    """
    columns = [schema.column(name) for name in public]
    return [
        f"column {column.name!r} is part of the design, which is public, and is free text; declare "
        "its levels"
        for column in columns
        if column.is_free_text
    ] + [
        f"column {column.name!r} is part of the design, which is public, but its fate is "
        f'{column.fate!r}; give fate = "public"'
        for column in columns
        if column.fate not in (None, "public")
    ]


def _fated(column: Column, fate: Fate, part: str) -> Column:
    if column.derived is not None:
        raise SchemaError(
            f"column {column.name!r} is {part} and derived, which would recompute it; declare it "
            "without ``derived=``"
        )
    if column.fate not in (None, fate):
        raise SchemaError(
            f"column {column.name!r} is {part} and its declared fate is {column.fate!r}; leave "
            f"the fate out, or declare {fate!r}"
        )
    return replace(column, fate=fate)
