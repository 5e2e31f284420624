"""Regressions of do-files that a study could declare besides its own, and what they would cost."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dprct.errors import DprctError, marked
from dprct.estimate.moments.declared import Regression
from dprct.estimate.moments.model import MomentsSpec, PrivateMoments
from dprct.estimate.moments.planned_trial import people_of
from dprct.records import dataclass
from dprct.schema.conditions import all_values, condition, reduced
from dprct.schema.schema import FIXED_ROLES
from dprct.study.do_columns import all_on_derived
from dprct.study.do_files import read_do
from dprct.study.draft import regression_lines
from dprct.study.obstacles import VALID
from dprct.study.prefill import prefilled

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from dprct.schema.conditions import Values
    from dprct.schema.schema import Schema
    from dprct.study.prefill import Printed
    from dprct.study.study import Study
    from dprct.study.verdicts import Verdict


@dataclass(frozen=True)
class Declarable:
    """Regressions that one step would serve if the study declared them."""

    regressions: tuple[Printed, ...]
    derived: dict[str, str]  # columns that the study would have to make for them
    # Regressions that it could declare if it said more, by their formulas, with what it lacks.
    lacking: dict[str, str]
    epsilon: float
    # least, most: errors of all regressions of the study then, as multiples of those without
    # privacy.
    least: float | None = None
    most: float | None = None

    def lines(self) -> Iterator[str]:
        """Yield what to write into the study file, and what it would cost."""
        for formula, why in self.lacking.items():
            yield f"could be declared, but for this: {formula}: {why}"
        if not self.regressions:
            return
        number = len(self.regressions)
        what = "this regression" if number == 1 else f"these {number} regressions"
        price = ""
        if self.least is not None and self.most is not None:
            price = (
                f": epsilon {self.epsilon:g} gives errors {self.least:.3g} to {self.most:.3g} "
                "times those without privacy, of all that is declared then"
            )
        yield f"declare {what}{price}"
        if self.derived:
            yield "[derived]"
            yield from (f"{name} = '''{text}'''" for name, text in self.derived.items())
        for one in self.regressions:
            yield from regression_lines(one)


def declarable(
    study: Study, header: Schema, rows: int | None, do: Sequence[Path], found: Sequence[Verdict]
) -> Declarable | None:
    """Regressions of do-files, with verdicts ``found``, that a study could declare besides its own.

    None where there is none, or where the method has no declared regressions.  No row is read.
    """
    spec = study.asked.spec
    if not isinstance(spec, MomentsSpec) or spec.assignment is None:
        return None
    arms = [*spec.assignment.columns]
    merges = study.merges(study.declared(header))
    of_file = study.of_file(header)
    read = read_do(do, of_file, treatments=arms, dataset=study.data.name, merges=merges)
    columns = [*header.names, *study.derived]
    open_places = {
        (one.regression.file, one.regression.line) for one in found if one.kind not in VALID
    }
    own = {_asked(one, spec) for one in spec.formulas}
    drafted = prefilled(
        all_on_derived(read, study.derived, arms), columns, arms, open_places, fixed=columns
    )
    late = {*drafted.outcomes}.difference(*(_covariates(one.formula) for one, _ in own))
    late -= {one.name for one in study.declared(header).columns if one.role in FIXED_ROLES}
    values = all_values(study.declared(header).columns)
    listed = dict.fromkeys(_shortened(one, values) for one in drafted.regressions)
    wanted = [one for one in listed if _asked(_declared(one), spec) not in own]
    made = {one.name: one.expression for one in drafted.derived}
    wider = replace(study, derived={**study.derived, **made})
    lacks = {one: _is_late(one, late) or _lacks(wider, spec, one, header, rows) for one in wanted}
    kept = tuple(one for one, why in lacks.items() if why is None)
    lacking = {one.formula: why for one, why in lacks.items() if why}
    if not kept:
        return Declarable((), {}, lacking, study.release.epsilon) if lacking else None
    text = " ".join(" ".join((one.formula, one.where, one.weights, *one.cluster)) for one in kept)
    made = {name: said for name, said in made.items() if name in text}
    wider = replace(study, derived={**study.derived, **made})
    formulas = (*spec.formulas, *map(_declared, kept))
    least, most = _times(wider, spec, formulas, header, rows)
    return Declarable(kept, made, lacking, study.release.epsilon, least, most)


def _covariates(formula: str) -> set[str]:
    """Columns on the right of a formula, and names of functions."""
    return {*re.findall(r"\w+", formula.partition("~")[2])}


def _is_late(one: Printed, late: set[str]) -> str | None:
    """Return what a study lacks where a covariate is an outcome of another regression."""
    for name in sorted(_covariates(one.formula) & late):
        return (
            f"{name} is an outcome of another regression; if it was fixed before treatment, write "
            f'role = "covariate" in [columns.{name}]'
        )
    return None


def _declared(one: Printed) -> Regression:
    return Regression(
        one.formula,
        family=one.family or None,  # type: ignore[arg-type]
        where=one.where or None,
        weights=one.weights or None,
        cluster=one.clusters,
        cov_type=one.cov_type or None,  # type: ignore[arg-type]
        count_effects=one.count_effects or None,
    )


def _shortened(one: Printed, values: Mapping[str, Values]) -> Printed:
    """Return a regression without the parts of its condition that hold in all rows."""
    left = reduced(condition(one.where), (), values) if one.where else None
    return one if left is None else replace(one, where=left)


def _asked(one: str | Regression, spec: MomentsSpec) -> tuple[Regression, frozenset[str]]:
    """Return what a regression asks for, whatever a study calls it, and the clusters of errors."""
    one = Regression(one) if isinstance(one, str) else one
    names = one.cluster
    if names is None and one.cov_type in (None, "CR1"):
        names = getattr(spec.assignment, "cluster", None)
    clusters = frozenset([names] if isinstance(names, str) else names or ())
    return replace(
        one, name=None, joint=None, cluster=None, cov_type=None if clusters else one.cov_type
    ), clusters


def _lacks(
    study: Study, spec: MomentsSpec, one: Printed, header: Schema, rows: int | None
) -> str | None:
    """Return what a study lacks to declare a regression; None for nothing, "" if none serves it."""
    alone = replace(spec, formulas=(_declared(one),))
    try:
        alone.served(study.declared(header))
    except DprctError as error:
        facts = ("bounds", "levels", "it is private who", "made of public columns")
        return marked(error) if any(fact in str(error) for fact in facts) else ""
    problems = replace(study, asked=replace(study.asked, spec=alone), tables=()).problems(
        header, rows
    )
    served = "is not served by one step"
    return None if not problems else "" if served in problems[0] else problems[0]


def _times(
    study: Study,
    spec: MomentsSpec,
    formulas: Sequence[Any],
    header: Schema,
    rows: int | None,
) -> tuple[float, float] | tuple[None, None]:
    """Return the least and the largest error, as a multiple of that without privacy.

    They are those of a trial of as many people, in clusters of equal sizes, of whom as many have
    each level of a condition; where more must be known of these, None.
    """
    if rows is None or spec.assignment is None:
        return None, None
    release, schema = study.release, study.declared(header)
    try:
        found = PrivateMoments.power_of_trial(
            people_of(rows, schema, spec.assignment, formulas), schema, release.epsilon,
            release.delta, assignment=spec.assignment, formulas=formulas, neighbors=spec.neighbors,
            cov_type=spec.cov_type,
        )  # fmt: skip
    except DprctError:
        return None, None
    times = found["error"] / found["without_privacy"]
    return float(times.min()), float(times.max())
