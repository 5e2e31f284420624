"""What a study will cost and how good it can be, from the header of its file alone.

``dprct plan`` binds the method to the data and knows the sizes of arms; here they are guessed from
the design, as :meth:`dprct.model.Spec.guesses` does, and no row is read.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dprct.estimate.moments.model import MomentsSpec
from dprct.model import Facts
from dprct.privacy.budget import Budget
from dprct.privacy.histograms import CellHistogram
from dprct.records import dataclass
from dprct.release.histogram import most_survivors
from dprct.release.release import modelled
from dprct.results.plan import NOISE_SD, STD_ERROR, completed, planned_draws
from dprct.study.methods import UNPROMISED
from dprct.study.wording import plan_in_toml

if TYPE_CHECKING:
    from dprct.model import Spec
    from dprct.results.plan import Plan
    from dprct.schema.columns import Column
    from dprct.schema.schema import Schema
    from dprct.study.study import Study

NO_NOISE = 1000.0
"""An epsilon at which noise no longer counts: what is left of an error is the sampling error."""


@dataclass(frozen=True)
class Expected:
    """How far a released number is expected to be off, at one epsilon."""

    name: str  # of the effect, or of the draw of noise
    what: str  # what the numbers below are, in words
    noise: float  # of the privacy noise alone
    error: float | None  # of sampling and noise together; None for a draw of noise


@dataclass(frozen=True)
class Combinations:
    """How many combinations a histogram has, and how many of them can survive."""

    cells: int  # K, the product of ``columns``
    threshold: int  # t, the rows that a combination needs to survive
    rows: int
    survivors: int  # few more than these can be expected to survive
    columns: dict[str, int]  # how many codes each modelled column has, missing ones included


def combinations(
    study: Study, header: Schema, rows: int | None, epsilon: float | None = None
) -> Combinations | None:
    """K, t and the survivors of a histogram, by default at the study's epsilon; None without one.

    Points about columns that are not modelled may still be open.
    """
    if rows is None or not study.makes_file or study.release.method != "mv_histogram":
        return None
    found = _asked(study, header, rows)
    if found is None:
        return None
    spec, facts = found
    allocation = spec.allocation(facts, _budget(study, epsilon))
    for part in allocation.parts.values():
        if isinstance(part, CellHistogram):
            sizes = dict(zip(modelled(facts.schema), facts.sizes, strict=True))
            most = most_survivors(rows, part.cells, part.threshold)
            return Combinations(part.cells, part.threshold, rows, most, sizes)
    return None


def _budget(study: Study, epsilon: float | None) -> Budget:
    return Budget(study.release.epsilon if epsilon is None else epsilon, study.release.delta)


def header_plan(
    study: Study,
    header: Schema,
    rows: int | None,
    epsilon: float | None = None,
    clusters: int | None = None,
) -> Plan | None:
    """Plan as far as the header tells; None if the rows must be read for it.

    The study has no open points; epsilon is by default its own.  There are about so many
    ``clusters``, where nothing declared says how many.
    """
    budget = _budget(study, epsilon)
    found = _asked(study, header, rows, clusters)
    if found is None:
        return None
    spec, facts = found
    allocation = spec.allocation(facts, budget)
    declared = study.declared(header)
    plan = completed(spec.plan(facts, allocation), allocation, budget, facts.n, declared)
    return plan_in_toml(plan)


def expected_errors(
    study: Study, header: Schema, rows: int | None, epsilon: float
) -> list[Expected]:
    """Expected errors at another epsilon: of every effect, else of the draws of noise.

    Where the study declares no ``sd``, an effect has the largest sampling error that the bounds
    allow.  At :data:`NO_NOISE` the errors are the sampling errors, which no epsilon removes.
    """
    found = _asked(study, header, rows)
    if found is None:
        return []
    spec, facts = found
    allocation = spec.allocation(facts, _budget(study, epsilon))
    effects = [
        Expected(name, _EFFECT, errors[NOISE_SD], errors[STD_ERROR])
        for name, errors in spec.plan(facts, allocation).errors().items()
        if {NOISE_SD, STD_ERROR} <= errors.keys()
    ]
    return (
        effects
        or [
            Expected("combinations", _KEPT, float(part.threshold), None)
            for part in allocation.parts.values()
            if isinstance(part, CellHistogram)
        ]
        or [
            Expected(one.part, _DRAW, one.noise_sd, None)
            for one in planned_draws(allocation)
            if math.isfinite(one.noise_sd)
        ]
    )


_EFFECT = "standard error, in units of the outcome"
_DRAW = "sd of the noise of what is drawn, in units of its grid"
_KEPT = "rows that a combination needs to be released"


def unknown_clusters(study: Study, header: Schema) -> list[str]:
    """Return the columns of clusters of which nothing declared says how many there are."""
    spec = study.asked.spec
    return spec.unknown_clusters(study.declared(header)) if isinstance(spec, MomentsSpec) else []


def _asked(
    study: Study, header: Schema, rows: int | None, clusters: int | None = None
) -> tuple[Spec[Any], Any] | None:
    """Return the specification with the public facts that a table of this header may have."""
    global _last
    if rows is None:
        return None
    schema = replace(study.declared(header), unit=study.unit)
    if study.release.method in UNPROMISED:
        return None
    if clusters is not None:
        listed = [schema.column(name) for name in unknown_clusters(study, header)]
        schema = schema.with_columns([_with_levels(one, min(clusters, rows)) for one in listed])
    known = Facts(schema, rows)
    spec: Spec[Any] = study.asked.noted(schema).spec
    if (kept := _last)[:2] != (spec, known):
        kept = _last = spec, known, next(iter(spec.guesses(known)), None)
    return None if kept[2] is None else (spec, kept[2])


def _with_levels(column: Column, number: int) -> Column:
    return replace(column, levels=tuple(map(str if column.is_text else float, range(number))))


_last: tuple[Any, Any, Any] = (None, None, None)
"""The last specification, the facts of its header, and what was guessed of a table of it."""
