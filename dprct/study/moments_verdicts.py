"""Which regressions of do-files released moments serve, from public facts alone.

No do-file runs on moments: a valid regression is one that ``dprct ols`` reads off the release, with
its coefficients and errors.  Conditions on rows are groups of the release, public ones or private
cells, and a product of columns is one that was released, or has treatment or a subgroup in it.
"""

from __future__ import annotations

import math
import re
from dataclasses import field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.certificate.certificate import MARGINAL
from dprct.dofile.memory import multiplied
from dprct.dofile.varlists import bare_names, is_plain
from dprct.errors import ColumnError, DprctError
from dprct.estimate.moments.declared import coefficient_words, outcome_unlike
from dprct.estimate.moments.robust_errors import Scored
from dprct.estimate.moments.variables import (
    instrumented,
    key_of,
    less_means,
    listed_terms,
    main_part,
    name_within,
    regressors_of,
    unit_effects,
)
from dprct.formula import parse
from dprct.records import dataclass
from dprct.schema.conditions import all_values, meets, named, parts_of, reduced
from dprct.study.do_columns import how_released
from dprct.study.index_verdicts import (
    COMMANDS,
    UNSERVED,
    index_verdict,
    planned_models,
    saturated_verdict,
)
from dprct.study.obstacles import after_step
from dprct.study.prefill import (
    INSTRUMENTED,
    LEAST_SQUARES,
    MARGINS,
    columns_there,
    declared_condition,
    sampling_weights,
)
from dprct.study.reading import Reading, ServedRegression

Answer = tuple[str, str, str | Reading]
"""A verdict, its reason, and what would change it or how it is read off."""

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from dprct.dofile import Regression
    from dprct.estimate.moments.model import MomentsSpec
    from dprct.estimate.moments.results import Moments
    from dprct.schema.conditions import Values
    from dprct.schema.schema import Schema

_PREPARED = ("merge", "append", "reshape", "collapse")


@dataclass(frozen=True)
class Served:
    """What a release of moments holds, planned or made."""

    file: str  # name of the release
    schema: Schema
    keys: frozenset[Any]  # what is released, each a product of columns and levels
    groups: Mapping[str, tuple[Any, ...]]  # treatment and subgroups, with their levels
    scored: frozenset[Scored] = frozenset()  # regressions whose robust errors are released
    filled: tuple[str, ...] = ()  # columns in which a declared number stands for missing values
    unit: str | None = None  # the column of the units, where these have several rows
    columns: tuple[str, ...] = ()  # names of what is released
    steps: tuple[ServedRegression, ...] = ()  # regressions that one step serves
    withheld: str = ""  # why no errors are read off the moments; empty if they are
    # The 0/1 columns of the arms, of which a document has no levels.
    arms: frozenset[str] = frozenset()
    # Logits, probits and Poisson regressions by private scoring.
    models: tuple[ServedRegression, ...] = ()
    weights: str = ""  # the column by which all released sums are weighted
    # What is known of the values of columns beside the schema's.
    others: Mapping[str, Values] = field(default_factory=dict)

    @classmethod
    def planned(cls, file: str, spec: MomentsSpec, schema: Schema) -> Served:
        """Planned content of a study's release."""
        variables = spec.variables(schema)
        return cls(
            file=file,
            schema=schema,
            keys=frozenset(one.key for one in variables),
            groups={name: schema.column(name).levels or () for name in spec.group_columns},
            scored=frozenset(one for one, _ in spec.scored(schema)),
            filled=tuple(spec.fills(schema)),
            unit=(schema.unit.id or schema.unit.name) if schema.unit.max_rows > 1 else None,
            columns=tuple(one.name for one in variables),
            steps=tuple(
                ServedRegression(
                    s.title,
                    s.text,
                    s.clusters,
                    s.cov_type,
                    s.regression.condition or "",
                    s.regression.weights or "",
                    tuple(x.name for x in s.covariates),
                    s.names,
                    s.counted,
                    s.two_ways,
                )
                for s in (
                    *spec.steps(schema),
                    *(replace(x, regression=one) for one, x, _ in spec.stages(schema)),
                )
            ),
            withheld=spec.withheld(schema),
            models=planned_models(spec),
            weights=spec.weights or "",
        )

    @classmethod
    def released(cls, file: str, moments: Moments) -> Served:
        """Content of a release.

        A column that may be missing, and of which no group has none, is taken to be filled.
        """
        places = [place.variable for place in moments.layout.places]
        absent = {name for group in moments.groups for name in group.absent}
        used = dict.fromkeys(name for one in places for name in one.columns)
        unit, several = moments.schema.unit, moments.layout.grid.rows > 1
        return cls(
            file=file,
            schema=moments.schema,
            keys=frozenset(one.key for one in places),
            groups={
                name: tuple(dict.fromkeys(group.value(name) for group in moments.groups))
                for name in moments.group_columns
            },
            scored=frozenset(Scored(one.outcome, one.regressors) for one in moments.drawn.scores),
            filled=tuple(
                name for name in used if moments.schema.column(name).missing and name not in absent
            ),
            unit=(moments.within or unit.id or unit.name) if several else None,
            columns=tuple(one.name for one in places),
            steps=tuple(
                ServedRegression(
                    s.title,
                    s.formula,
                    s.clusters,
                    s.cov_type,
                    s.where or "",
                    s.weights or "",
                    s.covariates,
                    s.terms,
                    s.count_effects is not False,
                    s.ways is not None,
                )
                for s in (
                    *moments.declared,
                    *(
                        replace(moments.declared[one.reduced], title=one.title, formula=one.formula)
                        for one in moments.instrumented
                    ),
                )
            ),
            withheld=moments.withheld,
            arms=frozenset(
                part
                for one in moments.declared
                for term in one.terms
                if term not in (one.amounts or ())
                for part in term.split(":")
            ),
            models=tuple(
                ServedRegression(
                    one.title,
                    one.formula,
                    one.clustered,
                    one.cov_type,
                    one.where or "",
                    one.weights or "",
                    family=one.family,
                )
                for one in moments.models
            ),
            weights=moments.weights or "",
        )

    def verdict(self, row: Regression, terms: tuple[str, ...]) -> Answer:
        """Verdict on a regression, its reason, and what would change it or how it is read off."""
        if self.weights and sampling_weights(row) == self.weights:
            # as all that is released; with pweights Stata's errors are robust
            kind = "robust" if row.vce == "classical" else row.vce
            row = replace(row, weights="", vce=kind)
        elif self.weights and not row.weights:
            return "artefact", f"the moments are weighted by {self.weights}, and it is not", ""
        if row.command in COMMANDS and (index := self._index(row, terms)) is not None:
            return index_verdict(index, row, self.file)
        if row.command in COMMANDS and (formula := self._saturated(row, terms)) is not None:
            return saturated_verdict(row, formula, self.file)
        if (why := self._another_estimator(row, terms)) is not None:
            return "artefact", *why
        declared = self._declared(row, terms)
        if row.command in MARGINS:
            return self._margins(row, terms, declared)
        if declared is not None:
            return declared
        if row.weights:
            remedy = ""
            if weights := sampling_weights(row):
                known = "of which the schema has bounds, or that they are public"
                known = known if self.unit is None else "if they are public"
                remedy = f'declare it: [[regression]] with weights = "{weights}", {known}'
            return "artefact", f"it is weighted ({row.weights}), and the moments are not", remedy
        where = self._where(row)
        if where is None:
            said = row.sample or f"by {row.groups}"
            remedy = f"name its columns as subgroups of [moments]{self._kinds(row)}"
            if self.withheld and self._condition(row):
                remedy = (
                    f'declare it: [[regression]] with where = "{self._condition(row)}", if its '
                    "columns were fixed before treatment, or are public"
                )
            reason = f"it uses the rows with {said}; no such group is released"
            return "artefact", reason, remedy
        made = self._products(row)
        if isinstance(made, str):
            return (
                "artefact",
                f"the do-file makes {made} ({row.derived[made]}), which was not released",
                how_released(row, made),
            )
        own = self.unit in row.absorb  # each unit has an effect, and levels of others are dummies
        right = [made.get(term, term) for term in terms if not own or term != f"C({self.unit})"]
        formula = formula_of(row, right) + (f" | {self.unit}" if own else "")
        if self.withheld:
            if lost := [one for one in self.filled if one in columns_there(row)]:
                return _filled(lost)
            clusters = row.cluster if row.vce == "cluster" else ()
            served = any({*one.clusters} == {*clusters} for one in self.steps)
            plain = not (where or ":" in formula) and len(row.instruments) < 2
            remedy = f'declare it: [[regression]] formula = "{formula}"' if served and plain else ""
            return "artefact", f"it is not declared, and {self.withheld}", remedy
        try:
            name, names = self._checked(formula)
        except DprctError as error:
            return "artefact", str(error), ""
        if lost := [one for one in names if one in self.filled]:
            return _filled(lost)
        fixed = [one.partition("=")[0] for one in where]
        if constant := [one for one in fixed if one in parse(formula, structural=True).names]:
            said = f"{', '.join(constant)} is the same in all rows of a group"
            return "artefact", said, "leave it out"
        return self._errors(row, name, Reading(self.file, formula, tuple(where)))

    def _margins(self, row: Regression, terms: tuple[str, ...], declared: Answer | None) -> Answer:
        """Whether the average marginal effects of treatment after a logit or Poisson are served."""
        family = MARGINS[row.command]
        after = "`margins, dydx()` after it"
        if declared is None:
            remedy = f'declare it: [[regression]] formula = "{formula_of(row, terms)}", for {after}'
            remedy += " of a factor"
            if self.unit is None:
                remedy += f'; with family = "{family}" for its coefficients'
            return (
                "artefact", f"{row.command} is not linear, and its coefficients are not released",
                remedy,
            )  # fmt: skip
        if any(":" in term for term in terms):
            return "artefact", f"it has products, of which {after} prints means over people", ""
        column = self.schema.column(str(row.outcome))
        if (why := outcome_unlike(column, family)) is not None:
            return "artefact", why, ""
        assert isinstance(declared[2], Reading)
        command = replace(declared[2], margins=family, after="")
        arms = next(one.terms for one in self.steps if one.title == command.asked)
        named = (word for word in row.regressors if is_plain(word))
        if bare := [w for w in named if w in arms or any(a.startswith(f"C({w})") for a in arms)]:
            return (
                "artefact",
                f"{bare[0]} is not a factor in it: {after} prints a derivative, which is not "
                "an effect",
                f"write i.{bare[0]}",
            )
        if declared[0] == "valid":
            said = f"{after} is the effect on the mean; the coefficient is not released"
            return MARGINAL, said, command
        said = declared[1].replace("the coefficients are served", f"what {after} prints is served")
        return "effects only", said, command

    def _another_estimator(self, row: Regression, terms: tuple[str, ...]) -> tuple[str, str] | None:
        if (why := UNSERVED.get(row.command)) is not None:
            linear = formula_of(row, terms) if row.status == "read" else ""
            remedy = f'declare the linear regression: [[regression]] formula = "{linear}"'
            if row.command == "probit" and self.unit is None:
                remedy += ', or this one, with family = "probit"'
            if isinstance(row.outcome, list):
                remedy = "declare the middle of its two outcomes in [derived], and the linear "
                remedy += "regression of that"
            return why, remedy if linear else ""
        known = INSTRUMENTED if row.endogenous else LEAST_SQUARES | MARGINS.keys()
        if row.command not in known or isinstance(row.outcome, list):
            return f"{row.command} is not a linear regression that moments serve", ""
        if row.command == "xtreg" and not row.absorb:
            return "random effects are not functions of these moments", ""
        if row.steps:
            said = after_step(row.steps[0], "the release is of the rows as they are in its file")
            remedy = f"[[prepare]] {row.steps[0]}" if row.steps[0] in _PREPARED else ""
            return said, remedy or "do that before the release" * (row.steps[0][:3] != "no ")
        if not row.intercept:
            return "it has no intercept", ""
        if row.endogenous and self.unit is not None:
            return "instruments are not served where a unit has several rows", ""
        return None

    @property
    def _twos(self) -> set[str]:
        levels = [(one.name, one.levels) for one in self.schema.columns if one.levels]
        return {name for name, known in levels if {*known} == {0.0, 1.0}} | self.arms

    def _index(self, row: Regression, terms: tuple[str, ...]) -> ServedRegression | None:
        """Declared model of an index that is a regression of a do-file, but for its errors."""
        if row.steps or row.endogenous or not row.intercept or isinstance(row.outcome, list):
            return None
        same = self._same(row, terms, self.models, COMMANDS[row.command])
        alike = [one for one in same if index_verdict(one, row, "")[0] == "valid"]
        return next(iter([*alike, *same]), None)

    def _same(
        self, row: Regression, terms: tuple[str, ...], among: Sequence[ServedRegression],
        family: str = "",
    ) -> list[ServedRegression]:  # fmt: skip
        """Return the served regressions that are one of a do-file, but for its errors."""
        made, rows, twos = self._products(row), self._condition(row), self._twos
        if rows is None or row.groups or isinstance(made, str) or len(row.endogenous) > 1:
            return []
        if _categories(row.regressors) - twos:
            return []  # of a product without c. and i. Stata takes the levels
        if {*self.filled} & {*row.regressors, str(row.outcome)}:
            return []
        own = formula_of(row, [made.get(term, term) for term in terms])
        asked = family, _meaning(own, twos), rows, sampling_weights(row)
        known, values = columns_there(row), self._values
        return [
            one for one in among
            if (one.family, _meaning(one.formula, twos),
                reduced(one.where, known, values) if one.where else "", one.weights) == asked
        ]  # fmt: skip

    def _saturated(self, row: Regression, terms: tuple[str, ...]) -> str | None:
        """A model with a coefficient for each group of treatment and subgroups, as a formula."""
        names = {name for word in row.regressors for name in bare_names(word)}
        lost = row.steps or row.groups or row.weights or row.endogenous or not row.intercept
        if self.withheld or lost or not names or names - self.groups.keys():
            return None
        if isinstance(row.outcome, list) or self._condition(row) != "" or row.derived:
            return None
        if _categories(row.regressors) - self._twos:
            return None
        formula = formula_of(row, terms)
        try:
            _, columns = self._checked(formula)
        except DprctError:
            return None
        parsed = main_part(parse(formula, structural=True))
        cells = math.prod(len({*self.groups[name]} - {None}) for name in names)
        like = "poisson" if row.command == "poisson" else "logit"
        full = len(regressors_of(parsed, self.schema)) == cells and not {*self.filled} & {*columns}
        unlike = outcome_unlike(self.schema.column(row.outcome), like)
        return formula if full and unlike is None else None

    def _declared(self, row: Regression, terms: tuple[str, ...]) -> Answer | None:
        same = self._same(row, terms, self.steps)
        if not same:
            return None
        clusters = row.cluster if row.vce in ("cluster", "bootstrap") else ()
        counts = counts_effects(row)
        one = max(same, key=lambda s: (_same_errors(s, row, clusters), counts == s.counted))
        estimand = _estimand(one, self._twos)
        command = Reading(self.file, one.title)
        alike = _same_errors(one, row, clusters)
        otherwise = counts != one.counted
        if alike and row.vce != "bootstrap" and not otherwise:
            whole = f", of each {self.unit} all rows of which meet it" if self._chooses(one) else ""
            return "valid", "", replace(command, after=f", {estimand}{whole}")
        mine = "the coefficients are served, their errors are not"
        if otherwise:
            said_as = "true" if counts else "false"
            return (
                "effects only",
                f"{mine}: {row.command} counts absorbed effects otherwise",
                replace(command, before=f"declare it: count_effects = {said_as}; "),
            )
        kinds = {"HC1": "robust ones", "nonrobust": "classical ones"}
        joined = (" and " if one.two_ways else " ").join(one.clusters)
        kind = kinds.get(one.cov_type, f"those clustered by {joined}")
        said = f"{mine}: {kind} are released for it"
        if alike:
            said += ", which estimate what a bootstrap does"
        return "effects only", said, command

    def _chooses(self, one: ServedRegression) -> bool:
        """Whether private columns choose units of several rows, with all of them."""
        if self.unit is None or not one.where:
            return False
        names = {*named(one.where)}  # of which a document may have no facts
        return any(c.name in names and c.fate != "public" for c in self.schema.columns)

    def _condition(self, row: Regression) -> str | None:
        """Return the condition on rows as a declared regression has it; None if it has no such.

        Rows without a value of a column of the regression are left out by both.
        """
        return declared_condition(row, columns_there(row), self._values)

    @cached_property
    def _values(self) -> dict[str, Values]:
        """What is known of the values of columns."""
        return {**self.others, **all_values(self.schema.columns)}

    def _where(self, row: Regression) -> list[str] | None:
        """Return the groups that a regression is run on; None where these are not released."""
        left = self._condition(row)  # without what holds in all rows
        if left is None:
            return None
        found = []
        for part in parts_of(left) if left else []:
            name, *others = named(part)
            levels = [np.nan if level is None else level for level in self.groups.get(name, ())]
            if others or any(isinstance(level, str) for level in levels):
                return None
            values = np.array(levels, np.float64)
            met = values[meets(part, {name: values}, len(values))]
            if len(met) != 1 or np.isnan(met[0]):
                return None
            found.append(f"{name}={met[0]:g}")
        for name in row.groups.split():
            if name not in self.groups:
                return None
            found.append(f"{name}=LEVEL")
        return found

    def _kinds(self, row: Regression) -> str:
        """Say of columns in a condition whether their groups would be public or private cells."""
        said = set(re.findall(r"[A-Za-z_]\w*", f"{row.sample} {row.groups}"))
        named = [column for column in self.schema.columns if column.name in said]
        hidden = [column.name for column in named if column.fate != "public"]
        if not named or not hidden:
            return ""
        return f": {', '.join(hidden)} would make private cells, whose numbers of rows are noisy"

    def _products(self, row: Regression) -> dict[str, str] | str:
        """Return the terms that do-files make as products of columns, or the one that is none."""
        found = {}
        for name in row.derived:
            parts = multiplied(name, row.derived)
            if parts is None:
                return name
            found[name] = ":".join(parts)
        return found

    def _checked(self, formula: str) -> tuple[Scored, list[str]]:
        """Return a formula as its scores are named, and its columns, all of them released."""
        parsed, unit = unit_effects(parse(formula, structural=True), self.unit)
        main = less_means(regressors_of(main_part(parsed), self.schema), unit)
        outcome = less_means(listed_terms(parsed.outcome_names, self.schema), unit)
        terms = [*outcome, *main]
        for part in instrumented(parsed) or ():
            terms += [one for one in regressors_of(part, self.schema) if one.atoms]
        for term in terms:
            rest = term.without(self.groups)
            if rest and key_of(rest) not in self.keys:
                said = ":".join(atom.column for atom in rest if atom.column != unit)
                said = name_within(said, unit)
                raise ColumnError(
                    f"{said} was not released; released: {', '.join(self.columns)}"
                    + (f"; groups: {', '.join(self.groups)}" if self.groups else "")
                )
        explained = name_within(parsed.outcome_names[0], unit)
        score = Scored(explained, tuple(one.name for one in main))
        return score, [name for name in parsed.names if name not in self.groups]

    def _errors(self, row: Regression, score: Scored, command: Reading) -> Answer:
        """Whether the errors that a regression asks for are served, too."""
        there = score in self.scored and not command.where
        mine = "the coefficients are served, their errors are not"
        if self.unit is not None and not there:
            return (
                "artefact",
                "a unit has several rows, and the scores of this regression are not released",
                "name it among the formulas of [moments]",
            )
        own = self.unit in row.absorb
        if own == (row.command == "areg") and (own or row.command in ("xtreg", "reghdfe")):
            other = "xtreg, which does not count effects of units" if own else "dummies"
            said = f"{mine}: {row.command} counts absorbed effects otherwise than {other}"
            return "effects only", said, command
        robust = "cluster" if own and row.command == "xtreg" else "robust"  # as xtreg takes it
        if (row.vce if row.vce != "robust" else robust) == "cluster":
            if there and (row.cluster or (self.unit,)) == (self.unit,):
                return "valid", "", command
            return (
                "effects only",
                f"{mine}: clusters {' '.join(row.cluster)} are not units",
                command,
            )
        if there:
            if row.vce == "robust" and self.unit is None:
                return "valid", "", command
            kind = "robust ones" if self.unit is None else f"those clustered by {self.unit}"
            return "effects only", f"{mine}: {kind} are released for it", command
        if row.vce in ("", "classical"):
            return "valid", "", replace(command, cov_type="nonrobust")
        return (
            "effects only",
            f"{mine}: those of {row.vce} need its scores",
            'cov_type = "HC1" in [moments], and this regression among its formulas',
        )


def _filled(names: Sequence[str]) -> Answer:
    """Verdict on a regression with columns in which a number stands for missing values."""
    return (
        "artefact",
        f"a declared number stands for missing values of {', '.join(names)}, whose rows the "
        "do-file leaves out",
        'missing_policy = "private" leaves them out, as the do-file does, and keeps who they are '
        "private",
    )


def _estimand(one: ServedRegression, twos: Collection[str]) -> str:
    """Return what coefficients of treatment are: differences between arms, or per unit of it."""
    amounts = [
        term
        for term in one.terms
        if not all(part in twos or part.startswith("C(") for part in term.split(":"))
    ]
    return f"for the {coefficient_words(amounts, one.covariates)}"


def _categories(words: Iterable[str]) -> set[str]:
    """Columns in products that say neither ``c.`` nor ``i.``."""
    return {part for word in words if "#" in word for part in re.split("#+", word)
            if re.fullmatch(r"\w+", part)}  # fmt: skip


def _meaning(formula: str, twos: Collection[str] = ()) -> tuple[object, ...]:
    """Meaning of a formula, in whatever order, absorbed effects as dummies.

    The category of a column in ``twos``, of 0 and 1, is the column.
    """
    parsed = parse(formula, structural=True)
    dummies = [parse(f"~ C({name})", structural=True).terms[0] for name in parsed.effects]
    plain = {name: parse(f"~ `{name}`", structural=True).terms[0][0] for name in twos}
    terms = frozenset(
        frozenset(
            plain.get(factor.names[0], factor) if factor.kind == "C" else factor for factor in term
        )
        for term in (*parsed.terms, *dummies)
    )
    moved = parsed.endogenous, frozenset(frozenset(term) for term in parsed.instruments)
    return tuple(parsed.outcome_names), terms, moved


def counts_effects(row: Regression) -> bool:
    """Whether a command counts effects of blocks or persons among the coefficients."""
    if not row.absorb or row.command == "areg" or row.vce == "classical":
        return True
    return row.command == "reghdfe" and not {*row.absorb} & {*row.cluster}


def _same_errors(one: ServedRegression, row: Regression, clusters: Sequence[str]) -> bool:
    """Whether the errors of a served regression are those of a do-file's, or a bootstrap's."""
    robust = "CR1" if clusters else "HC1"
    kind = {"classical": "nonrobust", "robust": "HC1"}.get(row.vce, robust)
    known = row.vce in ("robust", "cluster", "bootstrap")
    known |= row.vce == "classical" and row.command not in MARGINS
    alike = {*one.clusters} == {*clusters} and one.two_ways == (len(clusters) > 1)
    return known and one.cov_type == kind and alike


def formula_of(row: Regression, terms: Sequence[str]) -> str:
    """Return a regression as a formula; instruments stand in brackets."""
    if not row.endogenous:
        return f"{row.outcome} ~ {' + '.join(terms) or '1'}"
    exogenous = [term for term in terms if term not in row.endogenous]
    inner = f"[{' + '.join(row.endogenous)} ~ {' + '.join(row.instruments)}]"
    return f"{row.outcome} ~ {' + '.join([*exogenous, inner])}"
