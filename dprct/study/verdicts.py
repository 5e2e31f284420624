"""Verdicts on the regressions of a do-file on a protected file: the rules, in one place."""

from __future__ import annotations

import json
import math
import re
from ast import literal_eval
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from dprct import disk
from dprct.certificate.certificate import (
    Certificate,
    RegressionWorth,
    certificate_path,
    worth_by_table,
)
from dprct.certificate.certificate import Verdict as Kind
from dprct.certificate.valid_arms import SomeArms
from dprct.certificate.valid_regressions import (
    Specification,
    Validity,
    estimand_words,
    shown_levels,
)
from dprct.dofile.regression import SMALL
from dprct.dofile.varlists import bare_names, crossed, factor_of, imported_names
from dprct.estimate.experiment import blocks_of
from dprct.estimate.moments.model import MomentsSpec
from dprct.estimate.moments.results import Moments
from dprct.formula import parse
from dprct.formula.design_matrix import is_missing
from dprct.io.stata import read_dta
from dprct.io.stata.names import former_names
from dprct.lazy import pandas as pd
from dprct.records import dataclass
from dprct.schema.columns import date_kind
from dprct.schema.conditions import Values, meets, named, reduced
from dprct.schema.schema import Schema
from dprct.study.calibrated_section import CalibratedAsked
from dprct.study.do_columns import all_on_derived, how_released
from dprct.study.do_files import MergedFile, Others, known_values, read_do, stem
from dprct.study.headers import read_header
from dprct.study.index_verdicts import UNSERVED
from dprct.study.moments_tables import SUFFIX, moments_path
from dprct.study.moments_verdicts import Served
from dprct.study.obstacles import VALID, Obstacle, after_step, further
from dprct.study.prefill import INSTRUMENTED, LEAST_SQUARES, columns_there, left_of
from dprct.study.reading import Reading

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from dprct.certificate.valid_groups import Level
    from dprct.dofile import Regression
    from dprct.study.study import Study


_ERRORS = {"classical": "nonrobust", "robust": "HC1", "cluster": "cluster"}
_COUNTS = {"xtreg": "xtreg", "reghdfe": "reghdfe"}
_STEPS = {
    "merge": "rows of files that were released separately do not match by person",
    "append": "rows of other files are mixed with those of this one",
    "collapse": "means of released rows are not released means",
    "reshape": "released rows know nothing of each other",
    "expand": "rows are repeated",
    "sample": "the rows are a random sample of the released ones",
}
_LEVEL = re.compile(r"""(?P<name>\w+) == (?P<value>"[^"]*"|'[^']*'|-?[\d.e+]+)""")
_ARM = re.compile(r"C\((\w+)\)\[.*\]")
_COARSE = "the file keeps the distribution of its columns, coarsely, and no coefficient"
_NUMBERS = "the method makes a document of numbers, on which no do-file runs"
_MOST_LEVELS = 50
_ONLY = "the effects are the released ones"


@dataclass(frozen=True)
class Released:
    """What is public of a protected file, or of a planned one."""

    name: str  # the name of the confidential file, which do-files use
    fates: Mapping[str, str]  # what becomes of each column of it
    # The regressions that it was calibrated for; None for a file that was not.
    valid: Validity | None = None
    instead: str = _COARSE  # why it has no valid regression, where that is so
    # What is known of the values of columns, of the original and of this file alike.
    values: Mapping[str, Values] = field(default_factory=dict)
    served: Served | None = None  # what moments hold, where the release is of moments
    # Outcomes that are known to have values in the same rows.
    together: tuple[frozenset[str], ...] = ()
    # The files that were merged into it before the release, by name.
    parts: Mapping[str, MergedFile] = field(default_factory=dict)
    key: str | None = None  # the column by which they were
    pooled: frozenset[str] = frozenset()  # blocks of the design that the released effects leave out
    # How many levels columns are declared to have.
    categories: Mapping[str, int] = field(default_factory=dict)
    never: frozenset[str] = frozenset()  # columns that are declared to have a value in every row
    # Columns of a text file: those that the file which is released has under another name, and
    # dates, which do-files read as text.
    otherwise: Mapping[str, str] = field(default_factory=dict)

    def part(self, name: str) -> MergedFile | None:
        """Return the part of a name that a do-file uses, None if it is none."""
        found = (part for known, part in self.parts.items() if stem(known) == stem(name))
        return next(found, None)

    def left_of(self, row: Regression) -> str | None:
        """Return what is left of the condition of a regression, but for what holds in every row.

        That follows from public facts, or from the columns of the regression, which have a value in
        every row that it uses.  None where the condition is not read, or is on what do-files make.

        Examples
        --------
        >>> from dprct.dofile import Regression
        >>> file = Released("a.dta", {}, values={"round": Values((2.0,)), "age": Values(low=0)})
        >>> run = Regression("a.do", 3, "regress", "y", ("t",), sample="y < . & round<3 & age>=0")
        >>> file.left_of(run), file.left_of(replace(run, sample="round<3 & age>=18"))
        ('', 'age >= 18')
        """
        if not row.sample or row.remade:
            return None if row.remade else ""
        values = dict(self.values)
        if self.parts:  # rows of the parts are those that match: a merge finds all of them in both
            values["_merge"] = Values((3.0,))
        return left_of(row.sample, columns_there(row), values)

    def level_of(self, row: Regression) -> Level | None:
        """Return the level of released groups to which the rows of a regression are confined.

        Of ``by g: regress`` it is the first: all levels are of one kind.  None where the rows are
        all of them, or where a condition is not read.
        """
        groups = None if self.valid is None else self.valid.groups
        if groups is None or (row.groups and row.groups != groups.column):
            return None
        left = self.left_of(row)
        if row.groups:
            return next(iter(groups.levels), math.inf) if left == "" else None
        found = _LEVEL.fullmatch(left or "")
        if found is None or found["name"] != groups.column:
            return None
        level = literal_eval(found["value"])
        return level if isinstance(level, str) else float(level)

    def group_of(self, row: Regression) -> tuple[str, Level] | None:
        """Return column and level of the released group of a regression, None of all rows."""
        level, groups = self.level_of(row), None if self.valid is None else self.valid.groups
        return None if level is None or groups is None else (groups.column, level)

    def declared_rows(self, row: Regression) -> str | None:
        """Return the condition of a declared regression that a regression has; None of others."""
        declared = () if self.valid is None else self.valid.declared
        found = self.left_of(row) if declared and not row.groups else None
        if not found:
            return None
        known, there = [one.where for one in declared if one.where is not None], columns_there(row)
        return next((one for one in known if reduced(one, there, self.values) == found), None)

    def some_arms(self, row: Regression) -> SomeArms | None:
        """Return the arms to whose rows a condition confines a regression.

        None where it is no condition on the columns of the arms alone, or holds in all of them.
        """
        sizes = None if self.valid is None else self.valid.sizes
        words = self.left_of(row) if sizes is not None and not row.groups else None
        if sizes is None or not words or not named(words) <= {*sizes.columns}:
            return None
        every = np.arange(1 + len(sizes.columns))
        columns = {name: (every == at) * 1.0 for at, name in enumerate(sizes.columns, 1)}
        places = tuple(np.flatnonzero(meets(words, columns, len(every))).tolist())
        if not 1 < len(places) <= len(sizes.columns):
            return None
        return SomeArms(sizes.columns, places)


@dataclass(frozen=True)
class Verdict:
    """One regression of a do-file, and whether the released file supports it."""

    regression: Regression
    # Whether coefficients of the treatment and their errors are the released ones, what ``margins,
    # dydx()`` prints after the command, the coefficients alone, or none of these; or whether the
    # command would stop.
    kind: Kind
    # Why it is not valid; of a valid one empty, or how its number differs from the original's.
    reason: str = ""
    remedy: str = ""  # what would change it, where something would
    # Column and level of the released group that its rows are; of ``by g:`` the first level.
    group: tuple[str, Level] | None = None
    some: SomeArms | None = None  # the arms to whose rows it is confined
    where: str | None = None  # the condition of a declared regression that its rows meet
    reading: Reading | None = None  # how it is read off released moments
    further: tuple[Obstacle, ...] = ()  # what else keeps it from being valid

    def __str__(self) -> str:
        text = f"{self.regression}: {self.kind}" + (f": {self.reason}" if self.reason else "")
        return "; ".join([text, *([self.remedy] if self.remedy else []), *self.also])

    @property
    def also(self) -> list[str]:
        """What else keeps it from being valid, in words."""
        return [f"also, {one}" for one in self.further]

    @property
    def every_level(self) -> bool:
        """Whether it is repeated for every level of a column, so that it has no one number."""
        of_moments = self.reading is not None and self.reading.every_level
        return of_moments or (self.group is not None and bool(self.regression.groups))

    def worth(self) -> RegressionWorth:
        """Verdict as a certificate prints it."""
        row = self.regression
        texts = (row.file, row.table, row.command, " ".join(row.outcomes), self.reason)
        file, table, command, outcome, reason = map(_printable, texts)
        also = tuple(_printable(str(one)) for one in self.further)
        return RegressionWorth(file, row.line, table, command, outcome, self.kind, reason, also)

    def to_dict(self) -> dict[str, object]:
        """Return the keys of the regression, and those of the verdict with all obstacles."""
        said = {"verdict": self.kind, "reason": self.reason, "remedy": self.remedy}
        stands = [] if self.kind in VALID else [Obstacle(self.reason, self.remedy), *self.further]
        obstacles = [one._asdict() for one in stands]
        return {**self.regression.to_dict(), **said, "obstacles": obstacles}


def _printable(text: str) -> str:
    """Text of a do-file, which may hold anything, as a certificate can show it."""
    shown = "".join(c if c.isprintable() else " " for c in text)
    return shown.encode("utf-8", "replace").decode("utf-8")


def verdicts(rows: Sequence[Regression], released: Released) -> list[Verdict]:
    """Verdict on each regression: the first rule that applies decides.

    No rule says "valid" of a regression that is not wholly read.

    Examples
    --------
    >>> from dprct.dofile import Regression
    >>> fates = {"y": "modelled", "t": "public", "age": "withheld"}
    >>> file = Released("a.dta", fates, Validity(outcomes=("y",), arms=("t",)))
    >>> run = Regression("a.do", 3, "regress", "y", ("t",), vce="robust", dataset="a.dta")
    >>> verdicts([run], file)[0].kind
    'valid'
    """
    found = [_verdict(row, released) for row in rows]
    return [replace(one, further=further(one, released, _verdict)) for one in found]


def summary(found: Sequence[Verdict]) -> list[str]:
    """Count of verdicts of each kind, a line for each table."""
    return worth_by_table([one.worth() for one in found])


def _verdict(row: Regression, released: Released) -> Verdict:
    served = released.served
    for rule in _FIRST_RULES if served is not None else _RULES:
        if (found := rule(row, released)) is not None:
            return found
    if served is None:
        return _calibrated(row, released)
    kind, reason, remedy = served.verdict(row, terms_of(row))
    reading = remedy if isinstance(remedy, Reading) else None
    return Verdict(row, cast("Kind", kind), reason, str(remedy), reading=reading)


def _cannot_run(row: Regression, released: Released) -> Verdict | None:
    """Say which column the file lacks, or has without values."""
    used = [name for word in _words(row) for name in bare_names(word)]
    plain = [name for name in used if not {"*", "?", "-", "~"} & set(name)]
    if not _is_of(row, released):
        return Verdict(row, "cannot run", f"it uses {row.dataset or 'data that are not named'}")
    for name in dict.fromkeys(plain):
        fate = released.fates.get(name)
        if name in row.derived:
            continue
        if (why := released.otherwise.get(name)) and _is_text_file(row):
            return Verdict(row, "cannot run", why, "change its name or its cells in that file")
        if fate is not None and (lacks := _lacked_by_parts(name, row, released)):
            return Verdict(row, "cannot run", lacks)
        if fate in ("withheld", "drop"):
            said = "not in the file" if fate == "drop" else "withheld: all of it is missing"
            return Verdict(row, "cannot run", f"{name} is {said}", f"give {name} another fate")
        if fate is None and row.steps == () and not name.startswith("_I"):
            return Verdict(row, "cannot run", f"{name} is not a column of {released.name}")
    return None


def _is_text_file(row: Regression) -> bool:
    """Whether a regression is on data that come from a text file."""
    return any(source.lower().endswith(".csv") for source in row.sources)


def _of_text_file(schema: Schema, *, numbers: bool) -> dict[str, str]:
    """Columns that do-files read otherwise from the text file that is released, with the reason."""
    found = {
        column.name: f"{column.name} holds dates, which do-files read as text"
        for column in schema.columns
        if date_kind(column.format)
    }
    for old, new in former_names(schema).items():
        (before, after) = imported_names([old], "preserve"), imported_names([new], "preserve")
        if before != after and not numbers:
            found[new] = (
                f"{old!r} is {new} in the file that is released, which do-files read under another "
                "name"
            )
    return found


def _other_categories(row: Regression, released: Released) -> Verdict | None:
    """Say of indicators that are taken for ``i.column`` that they may be others."""
    for name in row.numbered:
        if name not in released.never:
            reason = f"it has indicators of the rows with a value of {name}, which may be missing"
            return Verdict(row, "artefact", reason, f'missing = "never" for {name}, if it never is')
    for name, number in row.categories.items():
        declared = released.categories.get(name, number)
        if declared != number:
            reason = f"it has the indicators of {number} values of {name}, of which {declared} "
            return Verdict(row, "artefact", f"{reason}are declared", "declare the same levels")
    return None


def _of_factors(schema: Schema) -> dict[str, Any]:
    """Return what a schema says of indicators that do-files make."""
    return {
        "categories": {one.name: len(one.levels) for one in schema.columns if one.levels},
        "never": frozenset(one.name for one in schema.columns if one.missing == ()),
    }


def _lacked_by_parts(name: str, row: Regression, released: Released) -> str:
    """Say that the files that a regression uses have no such column, where others have it."""
    used = [released.part(source) for source in row.sources]
    if not used or None in used:
        return ""
    if any(part is not None and name in part.columns for part in used):
        return ""
    return f"{name} is not a column of {' or '.join(row.sources)}"


def _not_read(row: Regression, _: Released) -> Verdict | None:
    if row.unknown:
        before = ", ".join(row.unknown)
        reason = f"{before} comes before it, and what that does to the data is not known"
        return Verdict(row, "artefact", reason)
    if row.status == "read" and not any(set("*?~-") & set(word) for word in _words(row)):
        return None
    why = "it is not wholly read, and nothing unread counts as valid"
    return Verdict(row, "artefact", UNSERVED.get(row.command, why))


def _not_calibrated(row: Regression, released: Released) -> Verdict | None:
    if released.valid is not None:
        return None
    return Verdict(row, "artefact", released.instead, 'method = "calibrated" releases effects')


def _of_another_kind(row: Regression, _: Released) -> Verdict | None:
    if _is_two_stage(row):
        return None
    if row.endogenous or row.instruments:
        remedy = 'method = "moments" serves instruments'
        return Verdict(row, "artefact", "instrumental variables were not released", remedy)
    if row.command == "xtreg" and not row.absorb:
        return Verdict(row, "artefact", "random effects were not released")
    if row.command in LEAST_SQUARES and not isinstance(row.outcome, list):
        return None
    return Verdict(row, "artefact", f"{row.command} is not ordinary least squares")


def _is_two_stage(row: Regression) -> bool:
    """Whether it instruments one column by one other, so that every estimator is the same."""
    one = len(row.endogenous) == len(row.instruments) == 1
    return row.command in INSTRUMENTED and one and isinstance(row.outcome, str)


def _changed_rows(row: Regression, released: Released) -> Verdict | None:
    together, apart = _of_parts(row, released)
    if apart:
        return Verdict(row, "artefact", apart)
    for step in row.steps:
        if step == "merge" and together:
            continue
        remedy = "merge before the release" if step == "merge" else ""
        return Verdict(row, "artefact", after_step(step, _STEPS.get(step, step)), remedy)
    if released.level_of(row) is not None or released.some_arms(row) is not None:
        return None
    if released.declared_rows(row) is not None:
        return None
    if released.left_of(row) != "" or row.groups:
        where = row.sample or f"by {row.groups}"
        reason = f"it uses the rows with {where}; subgroups were not released"
        return Verdict(row, "artefact", reason, _for_subgroups(row, released))
    return None


def _of_parts(row: Regression, released: Released) -> tuple[bool, str]:
    """Say whether a regression is on rows that were merged before the release, or why it is not.

    The parts hold the released rows under one key: merged by it they are the released file.
    """
    used = [part for part in map(released.part, row.sources) if part is not None]
    if not used:
        return False, ""
    if not all(part.whole for part in used) and not _matched_alone(row):
        name = next(
            source
            for source in row.sources
            if (part := released.part(source)) is not None and not part.whole
        )
        return False, f"{name} has people whom the release does not hold: it is of those who match"
    if "merge" not in row.steps:
        return False, ""
    together = len(used) == len(row.sources) and {*row.merges} == {released.key}
    return together, ""


def _matched_alone(row: Regression) -> bool:
    """Whether the rows of a regression are those that its merges match."""
    return "merge" in row.steps and "_merge==3" in row.sample.replace(" ", "").split("&")


def _for_subgroups(row: Regression, released: Released) -> str:
    """Say which columns would have to make groups, and whether these would be private."""
    said = set(re.findall(r"[A-Za-z_]\w*", f"{row.sample} {row.groups}"))
    named = [name for name in released.fates if name in said]
    if not named:
        return 'release these rows alone, or declared subgroups by method = "moments"'
    hidden = [name for name in named if released.fates[name] != "public"]
    kind = f"private cells of {', '.join(hidden)}" if hidden else "public groups"
    listed = ", ".join(f'"{name}"' for name in named)
    if not hidden and len(named) == 1 and released.valid is not None:
        return (
            f"release these rows alone, or [calibrated] subgroups = [{listed}] with a delta, where "
            f"{named[0]} is a block of the design"
        )
    return (
        f'release these rows alone, or method = "moments", a [[regression]] with this condition as '
        f"its where, or subgroups = [{listed}], which are {kind}"
    )


def _made_columns(row: Regression, _: Released) -> Verdict | None:
    """Say which column ``gen``, ``egen`` or ``replace`` makes of released ones."""
    for word in _words(row):
        for name in bare_names(word):
            if name in row.derived:
                remedy = how_released(row, name)
                if word in row.treatments:  # as a covariate it would be what treatment moves
                    remedy = 'method = "moments" serves what is made of treatment'
                reason = f"the do-file makes {name} ({row.derived[name]}), which was not released"
                return Verdict(row, "artefact", reason, remedy)
    return None


def _calibrated(row: Regression, released: Released) -> Verdict:
    """Take what the file itself says of a regression on its columns and all of its rows."""
    assert released.valid is not None
    row = _by_arm(row, released.valid)
    if row.endogenous:
        return _two_stage(row, released, released.valid)
    several, some = len(row.cluster) > 1, released.some_arms(row)
    spec = replace(
        _specification(row, _crossed(row, released.valid), released),
        among=None if some is None else some.places,
        where=released.declared_rows(row),
    )
    reason, group = released.valid.reason(spec), released.group_of(row)
    if reason is None and several:
        reason = f"{_ONLY}, but their errors are not: they have clusters of several variables"
    other = _at_another_level(row, released.valid)
    if reason is None and other is not None:
        return Verdict(row, "effects only", other, "leave level() out", group, some, spec.where)
    if reason is None:
        used = sorted(b for b in released.pooled if {b, f"C({b})"} & {*spec.terms})
        differs = f"the release compares whole arms; on the original {', '.join(used)} may move it"
        covariates = released.valid.covariates_in(spec.terms)
        said = [estimand_words(covariates, released.valid.estimand)] if covariates else []
        said += [differs] if used else []
        return Verdict(row, "valid", "; ".join(said), group=group, some=some, where=spec.where)
    if reason.startswith(_ONLY):
        remedy = f"run it with {released.valid.errors_for(spec)}"
        if some is not None:
            remedy = f"run it on all rows and arms with {released.valid.errors}"
        if released.valid.declared and "calibrated" not in reason:
            remedy = "take the released error, or declare this regression"
        return Verdict(row, "effects only", reason, remedy, group, some, spec.where)
    return Verdict(row, "artefact", reason, _remedy(reason, row, released.valid))


def _specification(row: Regression, terms: tuple[str, ...], released: Released) -> Specification:
    """Return a regression as the file's statement takes it, but for arms and conditions."""
    assert isinstance(row.outcome, str)
    return Specification(
        outcome=row.outcome,
        terms=terms,
        cov_type=_ERRORS.get(row.vce, row.vce.upper()),
        cluster=row.cluster[0] if row.cluster else None,
        weighted=bool(row.weights),
        intercept=row.intercept,
        fe_df=_COUNTS.get(row.command, "areg") if row.absorb else "areg",
        within=released.level_of(row),
    )


def _at_another_level(row: Regression, valid: Validity) -> str | None:
    """Say that intervals are asked for at a level at which the file's do not hold."""
    if not row.level or row.level in {f"{100 * (1 - level):.6g}" for level in valid.levels}:
        return None
    return (
        f"{_ONLY}, but its intervals are not: level({row.level}) is asked for, and they hold at "
        f"{shown_levels(valid.levels)} only"
    )


_LARGE = frozenset({"ivregress", "ivreg2"})
"""Commands whose errors count no degrees of freedom unless asked."""


def _two_stage(row: Regression, released: Released, valid: Validity) -> Verdict:
    """Take the ratio of two effects, where the file returns both on the same rows."""
    assert isinstance(row.outcome, str)
    (taken,), instruments = row.endogenous, tuple(map(_factor, row.instruments))
    exogenous = [term for term in terms_of(row) if term != taken]
    spec = _specification(row, (*instruments, *exogenous), released)
    together = any({row.outcome, taken} <= group for group in released.together)
    reason = valid.ratio_reason(spec, taken, instruments, together=together)
    if reason is not None:
        return Verdict(row, "artefact", reason, 'method = "moments" serves instruments')
    found, remedy = valid.ratio_words(spec, taken), valid.ratio_remedy(row.outcome, taken)
    other = _at_another_level(row, valid)
    if found is None and other is not None:
        found, remedy = other, "leave level() out"
    if found is None and (row.command not in _LARGE or SMALL in row.note):
        covariates = valid.covariates_in(exogenous)
        words = estimand_words(covariates, "ratio of differences in means") if covariates else ""
        return Verdict(row, "valid", words, group=released.group_of(row))
    if found is None:
        found = f"{_ONLY}, but its error is not: {row.command} counts no degrees of freedom"
        remedy = "run it with the option small"
    return Verdict(row, "effects only", found, remedy, released.group_of(row))


def _remedy(reason: str, row: Regression, valid: Validity) -> str:
    if valid.declared:
        if "n.r." in reason or "was released" in reason:
            return ""
        if row.weights or any("#" in word for word in row.regressors):
            return 'no file carries it: declare it with method = "moments", as a [[regression]]'
        return "declare it: [[regression]] with its formula, and where = for its condition"
    if "were not released; released" in reason:
        return f"name {row.outcome} as an outcome of the formula"
    if "declared" in reason:
        return "declare its covariates as one of [calibrated] specifications"
    return ""


def terms_of(row: Regression) -> tuple[str, ...]:
    """Return the right side in the words of a formula: ``i.v`` is ``C(v)``, ``a#b`` is ``a:b``."""
    found: dict[str, None] = {}
    for word in row.regressors:
        found |= dict.fromkeys(crossed(word, [*map(_factor, re.split(r"#+", word))]))
    return (*found, *(f"C({name.removeprefix('i.')})" for name in row.absorb))


def _crossed(row: Regression, valid: Validity) -> tuple[str, ...]:
    """Return the right side with products of arms and released groups in the file's words.

    A column in a product has categories in Stata unless it says otherwise, and categories of a 0/1
    column are the column.
    """
    if valid.groups is None or not any("#" in word for word in row.regressors):
        return terms_of(row)
    same = {valid.groups.column: f"i.{valid.groups.column}"}
    same |= {f"i.{arm}": arm for arm in valid.arms}
    words = [
        "".join(same.get(part, part) for part in re.split(r"(#+)", word)) if "#" in word else word
        for word in row.regressors
    ]
    return terms_of(replace(row, regressors=tuple(words)))


def _by_arm(row: Regression, valid: Validity) -> Regression:
    """Return a regression without products with ``i.treat`` as ``treat``, where that is an arm.

    Arms are columns of 0 and 1, of which the category that Stata shows is the column.
    """
    if any("#" in word for word in row.regressors):
        return row
    same = {f"{made}{arm}": arm for arm in valid.arms for made in ("i.", "ib0.", "ib(0).")}

    def named(words: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(same.get(word, word) for word in words))

    return replace(row, regressors=named(row.regressors), treatments=named(row.treatments))


def _factor(word: str) -> str:
    return f"C({name})" if (name := factor_of(word)) else word.removeprefix("c.")


def _words(row: Regression) -> list[str]:
    words = (*row.outcomes, *row.regressors, *row.instruments, *row.absorb, *row.cluster)
    return [word for word in words if word]


def _is_of(row: Regression, released: Released) -> bool:
    """Whether a regression uses the file, under its own name or one that was saved from it.

    Rows that are appended to another file's are rows of that file, too.
    """
    wanted = {stem(released.name), *map(stem, released.parts)}
    sources = row.sources[:1] if "append" in row.steps else row.sources
    names = [stem(name) for name in (row.dataset, *sources)]
    return any(name in wanted or name.removesuffix("_protected") in wanted for name in names)


_FIRST_RULES = (_cannot_run, _not_read, _other_categories)
_RULES: tuple[Callable[[Regression, Released], Verdict | None], ...] = (
    *_FIRST_RULES, _not_calibrated, _of_another_kind, _changed_rows, _made_columns,
)  # fmt: skip
"""The rules in their order; what passes all of them is checked against the file's own statement."""


_ALONE = Others()


def of_study(do: Sequence[Path], study: Study, others: Others = _ALONE) -> list[Verdict]:
    """Verdicts on the regressions of do-files with the file that a study plans.

    The header of the data file is read, and public facts of the study.  None is returned as long as
    the study does not say its formula and its design.
    """
    schema = study.declared(read_header(study))
    released = planned_file(study, schema, others)
    if released is None:
        return []
    treatments = _arms(study)
    read = read_do(
        do, study.of_file(schema), treatments=treatments, dataset=study.data.name,
        others=None if released.served else others.headers, merges=study.merges(schema),
    )  # fmt: skip
    return verdicts(all_on_derived(read, study.derived, treatments or ()), released)


def _arms(study: Study) -> list[str] | None:
    """Columns of the arms; None where the method has no design."""
    asked = study.asked
    if isinstance(asked, CalibratedAsked):
        return None if asked.design is None else [*asked.design.columns]
    if not isinstance(asked.spec, MomentsSpec):
        return None
    return [] if asked.spec.assignment is None else [*asked.spec.assignment.columns]


def planned_file(study: Study, schema: Schema, others: Others = _ALONE) -> Released | None:
    """What is public of the file, or of the moments, that a study with this schema plans.

    None as long as the study does not say its formula and its design.
    """
    asked = study.asked
    fates = {column.name: column.fate or "not decided" for column in schema.columns}
    facts, text = _of_factors(schema), {}
    if study.data.suffix.lower() == ".csv":
        text = _of_text_file(schema, numbers=not study.makes_file)
    if isinstance(asked.spec, MomentsSpec):
        moments = Served.planned(moments_path(study.output).name, asked.spec, schema)
        columns = dict.fromkeys(fates, "modelled")
        return Released(study.data.name, columns, served=moments, otherwise=text, **facts)
    valid = None
    whole = pooled = frozenset[str]()
    if isinstance(asked, CalibratedAsked):
        if asked.absent or asked.design is None:
            return None
        valid = asked.valid()
        if asked.spec.blocks == "ignore":
            pooled = frozenset(blocks_of(asked.design, "weight"))
        whole = frozenset(c.name for c in schema.columns if c.missing == ())
    return Released(
        study.data.name, fates, valid, _COARSE if study.makes_file else _NUMBERS,
        _of_outcomes(known_values(schema), valid), together=(whole,), parts=others.parts,
        key=others.key, pooled=pooled, otherwise=text, **facts,
    )  # fmt: skip


def _of_outcomes(values: Mapping[str, Values], valid: Validity | None) -> dict[str, Values]:
    """What is known of values in a protected file, too: there outcomes may leave their bounds."""
    late = () if valid is None else valid.outcomes
    return {n: Values(may_miss=x.may_miss) if n in late else x for n, x in values.items()}


def of_table(
    do: Sequence[Path],
    name: str,
    table: pd.DataFrame,
    schema: Schema,
    fates: Mapping[str, str],
    others: Others = _ALONE,
) -> list[Verdict]:
    """Verdicts on the regressions of do-files with a protected table.

    The file says itself what it is calibrated for.  ``name`` is that of the confidential file,
    which do-files use, and ``fates`` are those of its columns, as the certificate says.
    """
    valid = Validity.of(schema)
    treatments = [] if valid is None else [arm for arm in valid.arms if arm in fates]
    text = _of_text_file(schema, numbers=False) if name.lower().endswith(".csv") else {}
    read = read_do(
        do, schema, treatments=treatments, dataset=name, others=others.headers, merges=others.merges
    )
    released = Released(
        name, fates, valid, values=_of_outcomes(others.values, valid) | _shown(table, fates),
        parts=others.parts, key=others.key, together=_together(table, valid), otherwise=text,
    )  # fmt: skip
    return verdicts(all_on_derived(read, others.derived, treatments), released)


def _shown(table: pd.DataFrame, fates: Mapping[str, str]) -> dict[str, Values]:
    """Return the public columns of a protected table with their values, where these are few."""
    found = {}
    for name in table.columns:
        if fates.get(name) != "public" or table[name].dtype.kind != "f":
            continue
        values = table[name].drop_duplicates()
        if len(values) <= _MOST_LEVELS and not values.isna().any():
            found[str(name)] = Values(tuple(map(float, values)))
    return found


def _together(table: pd.DataFrame, valid: Validity | None) -> tuple[frozenset[str], ...]:
    """Return the outcomes of a calibrated table, those with values in the same rows together."""
    found = dict[bytes, set[str]]()
    outcomes = () if valid is None else valid.outcomes
    for name in [name for name in outcomes if name in table.columns]:
        found.setdefault(is_missing(table[name]).tobytes(), set()).add(name)
    return tuple(map(frozenset, found.values()))


def of_moments(do: Sequence[Path], name: str, moments: Moments, others: Others) -> list[Verdict]:
    """Verdicts on the regressions of do-files with released moments.

    ``name`` is that of their file, after the confidential one that do-files use.
    """
    stem_of = name.rpartition("/")[2].removesuffix(SUFFIX)
    fates = {column.name: "modelled" for column in moments.schema.columns}
    fates |= {} if moments.within is None else {moments.within: "key"}
    for one in moments.declared:  # blocks and clusters are columns of the data alone
        names = (*parse(one.formula, structural=True).names, *one.clusters)
        fates |= dict.fromkeys(set(names) - set(fates), "modelled")
    fates = {one.clusters: "public" for one in moments.models if one.clusters} | fates
    fates = {**dict.fromkeys([others.unit] if others.unit else [], "key"), **fates}
    arms = {_ARM.sub(r"\1", term) for one in moments.declared for term in one.terms}
    treatments = moments.treatment or tuple(sorted(arm for arm in arms if ":" not in arm))
    text = others.text_file or None
    read = read_do(
        do, treatments=[*treatments], dataset=text, merges=others.merges, former=others.former
    )
    rows = all_on_derived(read, others.derived, treatments)
    served = replace(Served.released(name, moments), others=others.values)
    if served.unit is not None and moments.within is None and others.unit:
        served = replace(served, unit=others.unit)
    return verdicts(rows, Released(text or stem_of, fates, served=served))


def of_file(
    do: Sequence[Path], file: Path, certificate: Path | None = None, others: Others = _ALONE
) -> list[Verdict]:
    """Verdicts on the regressions of do-files with a protected file.

    What the file says of itself decides, and the fates of its columns in the certificate.
    """
    if file.name.endswith(SUFFIX):
        return of_moments(do, file.name, Moments.load(file), others)
    schema = Schema.from_dta(file)
    fates = {column.name: "modelled" for column in schema.columns}
    beside = certificate or certificate_path(file)
    if beside.is_file():
        told = Certificate.from_dict(json.loads(disk.content(beside, disk.MOST_JSON)))
        fates |= told.fates
    valid = Validity.of(schema)
    # rows are read for the values of public columns, and for which outcomes are in the same ones
    several = valid is not None and len(valid.outcomes) > 1
    table = read_dta(file)[0] if several or "public" in fates.values() else pd.DataFrame()
    name = file.name.removesuffix(".dta").removesuffix("_protected")
    return of_table(do, others.text_file or name, table, schema, fates, others)
