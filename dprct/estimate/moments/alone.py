"""Declared regressions alone, without moments to be read: what a calibrated file is made of."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dprct.certificate.valid_declared import ValidRegression
from dprct.certificate.valid_regressions import terms_of
from dprct.errors import ParameterError
from dprct.estimate.moments.model import MomentsSpec, everybody_in, once
from dprct.estimate.moments.one_step import place_of
from dprct.formula import parse
from dprct.records import dataclass
from dprct.schema.conditions import named, reduced

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dprct.estimate.moments.declared import Regression, Step
    from dprct.estimate.moments.release import DrawnMoments, MomentsFacts
    from dprct.model import Facts
    from dprct.privacy.mechanisms import Allocation
    from dprct.results.plan import Contents
    from dprct.schema.schema import Schema


@dataclass(frozen=True, kw_only=True)
class DeclaredSpec(MomentsSpec):
    """The regressions of ``formulas=``, each of them released by one step."""

    @once
    def served(self, schema: Schema) -> dict[Regression, tuple[Step, ...] | str]:
        """Every declared regression with the steps that serve it, or why none do."""
        found = {one: self._served(one, schema) for one in self.declared}
        gone = {one: self._gone(one, schema) for one in self.declared}
        return {
            one: f"it is private who has a value of {', '.join(gone[one])}" if gone[one] else steps
            for one, steps in found.items()
        }

    def checks(self, facts: Facts) -> Iterator[Callable[[], object]]:
        """Yield what must hold of regressions that a file is to carry."""
        yield self.written
        yield lambda: self._check_served(facts.schema)
        yield lambda: self._check_conditions(facts.schema)
        yield from super().checks(facts)

    def _check_served(self, schema: Schema) -> None:
        if schema.unit.max_rows > 1:
            raise ParameterError(
                f"one {schema.unit.name} may have several rows, and a file carries regressions of "
                "one row each; release them by ``PrivateMoments``"
            )
        for one, found in self.served(schema).items():
            if isinstance(found, str):
                raise ParameterError(
                    f"{one.title!r} is not served by one step ({found}), and a file carries no "
                    "other regression of ``formulas=``; leave it out, or release it by "
                    "``PrivateMoments``"
                )

    def _contents(self, facts: MomentsFacts, allocation: Allocation) -> Contents:
        """Return the plan of the regressions, without what is about moments that nobody reads."""
        found = super()._contents(facts, allocation)
        kept = tuple(number for number in found.numbers if number.quantity not in _OF_MOMENTS)
        return replace(found, numbers=kept, consequences=(_BESIDE,))

    def _check_conditions(self, schema: Schema) -> None:
        """Refuse conditions on who has a value of a column of which the file does not keep that."""
        assert self.assignment is not None
        known = {*self.assignment.columns, *self.assignment.uses}
        for one in self.declared:
            inside = one.inside(schema)
            asked = named(inside) if inside else set[str]()
            lost = sorted(n for n in asked - known if schema.column(n).fate != "public")
            served = self.served(schema)[one]
            if any(not isinstance(step, str) and step.choosing for step in served):
                raise ParameterError(
                    f"{one.title!r}: ``where=`` chooses people by private columns "
                    f"({', '.join(lost)}), and a file would have to carry who they are; leave it "
                    "out, or release it by ``PrivateMoments``"
                )
            if lost:
                raise ParameterError(
                    f"{one.title!r}: ``where=`` asks who has a value of {', '.join(lost)}, which "
                    "the file does not keep; leave that out, or release it by ``PrivateMoments``"
                )

    def written(self) -> tuple[ValidRegression, ...]:
        """Return the regressions as a file may carry them, outcome by outcome, each once."""
        found: dict[str, ValidRegression] = {}
        for one in self.declared:
            for outcome in one.parsed.outcome_names:
                of = one.of(outcome)
                found.setdefault(of.title, self._written(of, outcome))
        return tuple(found.values())

    def _written(self, one: Regression, outcome: str) -> ValidRegression:
        assert self.assignment is not None
        if one.weights is not None:
            raise ParameterError(
                f"{one.title!r} has weights, and a file carries regressions without; leave "
                "``weights=`` out, or release it by ``PrivateMoments``"
            )
        if one.stages is not None:
            raise ParameterError(
                f"{one.title!r} has an instrument, and a file carries regressions without; declare "
                "its reduced form and its first stage, or release it by ``PrivateMoments``"
            )
        if one.cov_type is not None or one.count_effects is not None:
            raise ParameterError(
                f"{one.title!r} asks for other errors than a file carries: those of the design, "
                "which count effects of blocks; leave ``cov_type=`` and ``count_effects=`` out, or "
                "release it by ``PrivateMoments``"
            )
        clusters = tuple(getattr(self.assignment, "cluster_columns", ()))
        if len(one.ways) > 1:
            raise ParameterError(
                f"{one.title!r} has errors clustered in two ways, and a file carries those of one; "
                "name one column in ``cluster=``, or release it by ``PrivateMoments``"
            )
        if one.cluster is not None and one.cluster not in self.assignment.uses:
            raise ParameterError(
                f"{one.title!r}: ``cluster={one.cluster!r}`` is not a column of the design, and a "
                "file carries errors of clusters of the design; release it by ``PrivateMoments``"
            )
        if one.cluster is None and len(clusters) > 1:
            raise ParameterError(
                f"{one.title!r}: clusters are combinations of {', '.join(clusters)}, and a "
                "regression clusters by one column; give the clusters a column of their own"
            )
        columns, parsed = set(self.assignment.columns), one.parsed
        where = one.condition and reduced(one.condition, set(parsed.names))
        labels = terms_of(parsed, parsed.effects)
        arms = [label for label in labels if columns & {*parse(f"~ {label}").regressor_names}]
        if crossed := [label for label in arms if ":" in label]:
            raise ParameterError(
                f"{one.title!r} has products of treatment ({', '.join(crossed)}), which a file "
                "does not carry; declare the regression of each level with ``where=``, or release "
                "it by ``PrivateMoments``"
            )
        if not arms:
            raise ParameterError(
                f"{one.title!r} does not name the treatment that was assigned "
                f"({', '.join(self.assignment.columns)}); a file carries coefficients of treatment"
            )
        return ValidRegression(
            outcome=outcome,
            arms=tuple(arms),
            covariates=tuple(label for label in labels if label not in arms),
            cluster=next(iter(one.ways or clusters), None),
            where=where or None,
            name=one.name or "",
        )


_OF_MOMENTS = frozenset(
    {"columns", "groups", "released", "radius", "scales", "rows outside the ball"}
)
_BESIDE = (
    "the file carries one regression of an outcome in each row: of those that share rows the "
    "first; the others are released beside it"
)


def check_joint(facts: MomentsFacts) -> None:
    """Refuse several arms of which no covariances are released: a file would make them up."""
    for one in facts.declared:
        if len(one.terms) > 1 and not one.joint:
            raise ParameterError(
                f"{one.title!r}: treatment varies within clusters, so that no covariances of its "
                f"{len(one.terms)} arms are released, and a file would make them up; declare one "
                "arm at a time with ``where=``, or release it by ``PrivateMoments``"
            )


def levels_of_outcomes(
    drawn: DrawnMoments, facts: MomentsFacts, outcomes: Sequence[str]
) -> dict[str, float]:
    """Return about what the mean of each outcome is: released moments, of no declared error.

    It sets at what level the rows of a file lie, and nothing that is called valid.
    """
    cell, found = everybody_in(drawn, facts), {}
    for name in outcomes:
        at, place = facts.layout.names.index(name), place_of(facts.layout, name)
        mean = place.centre + place.scale / place.weight * float(cell.totals[at]) / max(cell.n, 1.0)
        low, high = place.variable.bounds
        found[name] = float(np.clip(mean, low, high))
    return found
