"""PrivateMoments: first and second moments of columns, released once."""

from __future__ import annotations

import math
from collections.abc import Sequence  # noqa: TC003  # read from annotations
from dataclasses import field, replace
from fractions import Fraction
from functools import cached_property, partial, wraps
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar, cast

import numpy as np

from dprct.arguments import check_choice, checked, given, listed_names
from dprct.assignment import Simple
from dprct.assignment.groups import (
    CONTROL,
    Design,
    Level,
)
from dprct.errors import DprctError, ParameterError, SchemaError
from dprct.estimate.experiment import (
    check_hidden,
    check_sample,
    compared,
    policy_of,
)
from dprct.estimate.moments.declared import (
    DrawnCross,
    DrawnStep,
    Regression,
    Step,
    check_options,
    listed_regressions,
    steps_of,
)
from dprct.estimate.moments.groups import (
    Conditions,
    check_subgroups,
    everybody_of,
    flags_of,
    grouping_of,
    public_keys,
    public_subgroups,
)
from dprct.estimate.moments.index_models import (
    PART,
    DrawnIndex,
    drawn_index,
    models_of,
    unserved,
)
from dprct.estimate.moments.index_plan import (
    ahead_of,
    divided,
    doubtful_models,
    guessed_means,
    least_moments,
    planned_models,
    share_of_models,
)
from dprct.estimate.moments.layout import (
    GUESS,
    NOTHING,
    laid_out,
    layout_of,
    mu_of,
    one_hot,
    places_of,
    radius_of,
    scales_of,
    weighted_alike,
    with_outcomes,
)
from dprct.estimate.moments.one_step import (
    NO_STEPS,
    SharedAllocation,
    StepAllocation,
    bound_steps,
    chosen_shares,
    drawn_steps,
    icc_of,
    vectors_of,
    with_families,
    with_instruments,
)
from dprct.estimate.moments.plan import (
    declared_errors,
    doubtful_steps,
    effect_error,
    errors_of,
    guessed_icc,
    planned_bounds,
    planned_effects,
    planned_means,
    planned_regression,
    planned_release,
    planned_steps,
)
from dprct.estimate.moments.planned_trial import people_of, power_of, trial_of, unknown_clusters
from dprct.estimate.moments.release import (
    MOMENTS,
    MOST_NUMBERS,
    SCORES,
    DrawnMoments,
    MomentsFacts,
    allocation_of,
    asked_moments,
    drawn_moments,
    drawn_scores,
    gaussian_of,
    moments_of,
    step_allocation,
)
from dprct.estimate.moments.results import Moments, scores_by, start_by
from dprct.estimate.moments.robust_errors import SHARE, DrawnScores, Scored, scored
from dprct.estimate.moments.variables import (
    check_count,
    check_lacking,
    check_unit_effects,
    checked_column,
    clipped_words,
    column_term,
    filled_words,
    instrumented,
    key_of,
    less_means,
    listed_terms,
    main_part,
    name_within,
    regressors_of,
    spelled,
    unit_effects,
    unit_of,
    variable_of,
)
from dprct.formula import parse
from dprct.lazy import narwhals as nw
from dprct.model import BoundTable, Facts, Model, Spec
from dprct.privacy.budget import Budget, Guarantee
from dprct.privacy.openings import Openings
from dprct.queries.group_moments import MOST_ROWS, Part, check_in_engine
from dprct.queries.index_scores import IndexRows, ways_of
from dprct.records import dataclass
from dprct.results.base import checked_alpha
from dprct.results.plan import ESTIMAND, Contents, Plan, PlannedNumber, notes
from dprct.schema.columns import check_own
from dprct.schema.conditions import columns_asked
from dprct.schema.tables import Counting, owners

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import pandas as pd
    from numpy.typing import NDArray

    from dprct.estimate.experiment import Comparison
    from dprct.estimate.moments.index_models import Coding, IndexModel
    from dprct.estimate.moments.index_plan import Ahead
    from dprct.estimate.moments.layout import Layout, Place, Use
    from dprct.estimate.moments.noisy import NoisyMoments
    from dprct.estimate.moments.one_step import Steps
    from dprct.estimate.moments.variables import Variable
    from dprct.estimate.synthetic_control.allocation import ReleasePart
    from dprct.formula.syntax import Formula
    from dprct.model import Paid
    from dprct.privacy.aggregates import IntegerVector
    from dprct.privacy.budget import Real, Relation
    from dprct.privacy.mechanisms import Allocation, AnalyticGaussian
    from dprct.privacy.noise import NoiseSource
    from dprct.schema import Column, Schema
    from dprct.schema.facts import MissingPolicy
    from dprct.schema.tables import Table

ScoreErrors = Literal["HC1", "CR1", "nonrobust"]
"""Errors of declared regressions: robust ones of rows, of units with several rows, and others."""

LEAST_CLIPPED, MOST_CLIPPED = 1e-4, 0.5
"""Of mu squared, for the numbers of rows outside the ball."""

TYPICAL_RADIUS = 1.0
"""Of the ball of moments that serve fits alone, in typical rows: half of the rows are projected.

Both sides of a row move alike, so that slopes hardly change, and noise falls by more than sums do.
"""

NOMINAL = Budget(1, Fraction(1, 10**6))
"""What a layout is for until a budget is asked for; what is refused does not depend on it."""

RELATIONS: tuple[Relation, ...] = ("replace-one", "replace-one-design-public")

S = TypeVar("S", bound="MomentsSpec")
T = TypeVar("T")


def once(find: Callable[[S, Schema], T]) -> Callable[[S, Schema], T]:
    """Find what a schema makes of the options once for each."""

    @wraps(find)
    def found(self: S, schema: Schema) -> T:
        known = self.__dict__.get("_found", (None, {}))
        if known[0] is not schema:
            known = schema, dict[Any, Any]()
            object.__setattr__(self, "_found", known)
        if find not in known[1]:
            known[1][find] = find(self, schema)
        return known[1][find]  # type: ignore[no-any-return]

    return found


@dataclass(frozen=True, kw_only=True)
class MomentsSpec(Spec[MomentsFacts]):
    """What a release of moments is asked for: the options of :class:`PrivateMoments`."""

    key: ClassVar[str] = "moments"
    r_name: ClassVar[str] = "private_moments"
    page: ClassVar[str] = "private_moments.md"
    method: ClassVar[str] = "PrivateMoments (one Gaussian release of first and second moments)"

    released: tuple[str, ...] = field(default=(), metadata={"key": "columns"})
    formulas: tuple[str | Regression, ...] = ()
    assignment: Design | None = None
    control: Level | None = None
    subgroups: tuple[str, ...] = ()
    radius: float | str | None = None
    attrition: bool = False
    cov_type: ScoreErrors | None = None
    clipped: float | None = None
    weights: str | None = None
    neighbors: str = "replace-one"

    def options(self) -> dict[str, Any]:
        """Return the options by the names of the constructor."""
        found = super().options()
        return {"columns": found.pop("released"), **found}

    @cached_property
    def declared(self) -> tuple[Regression, ...]:
        """The regressions that are to be served best."""
        return tuple(r if isinstance(r, Regression) else Regression(r) for r in self.formulas)

    @cached_property
    def parsed(self) -> tuple[Formula, ...]:
        """Their formulas."""
        return tuple(one.parsed for one in self.declared)

    @once
    def served(self, schema: Schema) -> dict[Regression, tuple[Step, ...] | str]:
        """Every declared regression with the steps that serve it, or why moments do.

        Notes
        -----
        Where every regression is a difference in means of arms alone, moments of arms serve them
        as well, and the errors with them.  Where treatment is private, moments that are bought for
        something else serve formulas, slopes of covariates included.
        """
        found = {one: self._served(one, schema) for one in self.declared}
        if self.hidden and (
            self.released or self.subgroups or {*map(type, found.values())} > {str}
        ):
            said = "treatment is private, and other things are read off the moments"
            found = {
                one: said if replace(one, name=None).bare and not isinstance(x, str) else x
                for one, x in found.items()
            }
        steps = [step for one in found.values() if not isinstance(one, str) for step in one]
        if any(step.needed for step in steps):
            return found
        return {
            one: said if isinstance(said, str) else "moments of arms serve differences in means"
            for one, said in found.items()
        }

    def _served(self, one: Regression, schema: Schema) -> tuple[Step, ...] | str:
        if one.family is not None:
            self._check_model(one, schema)
            return f"scores of a {one.family} are released"
        reason = self._unserved(one, schema)
        design = self.assignment
        found: tuple[Step, ...] | str = reason
        if not reason and design is not None:
            found = steps_of(
                one, schema, design, self.subgroups, self._gone(one, schema), hidden=self.hidden
            )
        if isinstance(found, str) and not replace(one, name=None).bare:
            hidden = self.hidden and found.startswith("treatment is private")
            instead = (
                "give ``neighbors='replace-one-design-public'`` if it is public who was treated"
                if hidden
                else "change what the brackets name"
            )
            raise ParameterError(
                f"{one.title!r} is not served by one step ({found}), and moments have no such "
                f"regression; {instead}, or give its formula alone"
            )
        return found

    @property
    def of_index(self) -> tuple[Regression, ...]:
        """The declared models of an index: logits and their like."""
        return tuple(one for one in self.declared if one.family is not None)

    def _check_model(self, one: Regression, schema: Schema) -> None:
        """Refuse a model of an index that no scores are released of."""
        why = unserved(one, schema)
        if not why and self.weights is not None:
            why = "rows have weights, which are private"
        for column in () if why else self.clusters_of(one):
            if column not in self.public_uses and schema.column(column).fate != "public":
                why = f"who is in which {column} must be public; declare ``fate='public'`` if it is"
            elif schema.column(column).missing != ():
                why = f"``{column}`` may be missing; give every row a cluster, ``missing='never'``"
        if why:
            raise ParameterError(f"{one.title!r} is not served ({why})")

    def clusters_of(self, one: Regression) -> tuple[str, ...]:
        """The columns of the clusters of the errors of a model of an index."""
        if one.cov_type in ("HC1", "nonrobust"):
            return ()
        assigned = tuple(getattr(self.assignment, "cluster_columns", ()))
        if one.cluster is None and len(assigned) > 1:
            raise ParameterError(
                f"{one.title!r}: clusters of several columns were assigned, and scores are added "
                "by one; name one in ``cluster=`` that contains them"
            )
        return one.ways or assigned

    def share_of_models(self, schema: Schema) -> Fraction:
        """What models of an index have of mu squared."""
        others = len(self.steps(schema)) + len(self.scored(schema))
        others += bool(self.released or self.subgroups)
        return share_of_models(len(self.of_index), others)

    def _unserved(self, one: Regression, schema: Schema) -> str:
        """Reason why a regression is read off the moments, by the options of the release."""
        if self.assignment is None:
            return "no ``assignment=`` says how treatment was assigned"
        check_options(one, self.assignment, schema, self.outcomes)
        if self.hidden and not isinstance(self.assignment, Simple):
            return (
                "treatment is private, and was not drawn for each person by itself, as by "
                "``dprct.Simple``"
            )
        if self.cov_type == "nonrobust":
            return "``cov_type='nonrobust'`` asks for classical errors"
        if self.weights is not None:
            return "rows have weights"
        return ""

    def _gone(self, one: Regression, schema: Schema) -> tuple[str, ...]:
        """Columns of a regression, and its private weights, of which it is private who has one."""
        known = self.of_design
        names = [name for name in (*one.parsed.names, one.weights) if name and name not in known]
        return tuple(
            name
            for name in dict.fromkeys(names)
            if schema.column(name).fate != "public" and self.policy(name, schema) == "private"
        )

    @once
    def steps(self, schema: Schema) -> tuple[Step, ...]:
        """Return the declared regressions that one step serves, outcome by outcome."""
        found = self.served(schema)
        drawn = [
            (step, one.stages is not None)
            for one, served in found.items()
            if not isinstance(served, str)
            for step in served
        ]
        own = {step.meaning: step for step, is_stage in drawn if not is_stage}
        # a stage of instruments that is declared by itself is that regression
        steps = [
            own.get(step.meaning) or self._of_fewer_rows(step, schema) if is_stage else step
            for step, is_stage in drawn
        ]
        titles = [step.title for step in steps]
        return tuple(step for at, step in enumerate(steps) if step.title not in titles[:at])

    def _of_fewer_rows(self, stage: Step, schema: Schema) -> Step:
        """A stage with the condition on rows that the other outcome makes, for all to see."""
        policies = {name: self.policy(name, schema) for name in stage.beside}
        left = [f"not missing({n})" for n, said in policies.items() if not isinstance(said, float)]
        asked = stage.regression.condition
        if not left:
            return stage
        where = " and ".join([*([f"({asked})"] if asked else []), *left])
        return replace(stage, regression=replace(stage.regression, where=where))

    def stages(self, schema: Schema) -> tuple[tuple[Regression, Step, Step], ...]:
        """Return the regressions with an instrument, each with reduced form and first stage."""
        return tuple(
            (one, self._of_fewer_rows(found[0], schema), self._of_fewer_rows(found[1], schema))
            for one, found in self.served(schema).items()
            if one.stages is not None and not isinstance(found, str)
        )

    def families(self, schema: Schema) -> tuple[tuple[str, str], ...]:
        """Return the families of regressions that are tested together, each with a member."""
        return tuple(
            (one.joint, step.title)
            for one, found in self.served(schema).items()
            if one.joint is not None and not isinstance(found, str)
            for step in found
        )

    def read(self, schema: Schema) -> bool:
        """Whether something is asked for that is read off the moments."""
        return bool(self.released or self.subgroups) or any(
            isinstance(x, str) and one.family is None for one, x in self.served(schema).items()
        )

    def fit_only(self, schema: Schema) -> bool:
        """Whether moments serve the fits of declared regressions and nothing else.

        A fit that predicts is all that these need: outcomes may be in the ball as well, since what
        it does to them costs precision, and moves no estimand.
        """
        return bool(self.steps(schema)) and not (self.read(schema) or self.clipped or self.of_index)

    def pooled(self, schema: Schema) -> bool:
        """Whether moments are those of everybody: arms apart would have noise of their own."""
        return self.fit_only(schema) and not self.present_public(schema)

    def within_blocks(self, schema: Schema) -> bool:
        """Whether all regressions on treatment compare people of the same block."""
        blocks = set(getattr(self.assignment, "block_columns", ()))
        served = self.served(schema)
        columns = () if self.assignment is None else self.assignment.columns
        return bool(blocks and self.steps(schema)) and all(
            all(blocks <= set(step.absorbed) for step in found)
            if not isinstance(found, str)
            else not set(columns) & set(one.parsed.names)
            for one, found in served.items()
        )

    def withheld(self, schema: Schema, uneven: bool = False) -> str:
        """Reason why no errors are read off the moments, where declared regressions have theirs."""
        if uneven:
            return "shares of arms differ between blocks"
        clusters = getattr(self.assignment, "cluster_columns", ())
        if clusters and schema.unit.max_rows == 1:
            return f"clusters of {', '.join(clusters)} were assigned"
        if self.fit_only(schema):
            return "nothing besides declared regressions was asked for"
        return ""

    @property
    def group_columns(self) -> tuple[str, ...]:
        """Treatment and subgroups, which are the same for all rows of a group."""
        design = () if self.assignment is None else self.assignment.columns
        return tuple(dict.fromkeys([*design, *self.subgroups]))

    @property
    def listed(self) -> tuple[str, ...]:
        """Columns in the terms of ``columns=``."""
        return tuple(n for text in self.released for n in parse(column_term(text)).names)

    @property
    def of_design(self) -> tuple[str, ...]:
        """Columns of the design: treatment, blocks, clusters."""
        return () if self.assignment is None else (*self.assignment.columns, *self.assignment.uses)

    @property
    def public_uses(self) -> tuple[str, ...]:
        """Blocks and clusters, where the relation takes them as public."""
        return () if self.assignment is None or self.hidden else self.assignment.uses

    @property
    def relation(self) -> Relation:
        """``neighbors``, checked."""
        return cast("Relation", self.neighbors)

    @property
    def hidden(self) -> bool:
        """Whether who is in which arm is protected."""
        return self.neighbors == "replace-one"

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that are released or make groups, each once."""
        of_formulas = [name for formula in self.parsed for name in formula.names]
        weights = () if self.weights is None else (self.weights,)
        return tuple(dict.fromkeys([
            *self.listed, *of_formulas, *self.group_columns, *self.public_uses, *weights,
            *self.conditions,
        ]))  # fmt: skip

    @property
    def conditions(self) -> tuple[str, ...]:
        """Columns besides those of the design in conditions and weights of regressions."""
        named = [n for one in self.declared for n in (*one.conditions, one.weights, *one.ways) if n]
        return tuple(dict.fromkeys(name for name in named if name not in self.of_design))

    def inside(self, schema: Schema) -> Conditions:
        """Return the public columns besides those of the design that its conditions ask of."""
        asks = [columns_asked(step.where) for step in self.steps(schema) if step.where]
        values = {name for read, _ in asks for name in read}
        values |= {
            name or ""
            for step in self.steps(schema)
            for name in (step.shown_weights, *step.regression.ways)
        }
        shown = [name for step in self.steps(schema) for name in step.shown]
        present = {name for _, there in asks for name in there}
        public = {name for name in present if schema.column(name).fate == "public"}
        return Conditions(
            tuple(
                dict.fromkeys(
                    [*(name for name in self.conditions if name in values | public), *shown]
                )
            ),
            tuple(name for name in self.conditions if name in present - values - public),
        )

    def used(self, schema: Schema) -> tuple[str, ...]:
        """Return the columns of which values are used; whose a row is, is none of them.

        Nor are those of conditions alone.
        """
        taken = {*(unit for _, unit in self.bare(schema)), *self.conditions}
        taken |= {n for step in self.steps(schema) for n in step.shown}
        named = {
            n
            for formula, _, steps in self.asked(schema)
            for n in formula.names
            if not steps or n not in steps[0].shown
        }
        gone = taken - named - {*self.listed} - {*self.group_columns}
        return tuple(name for name in self.columns if name not in gone)

    def bare(self, schema: Schema) -> tuple[tuple[Formula, str | None], ...]:
        """Every formula without fixed effects of units, and the column of these units."""
        return tuple(unit_effects(formula, schema.unit.repeated_id) for formula in self.parsed)

    def asked(self, schema: Schema) -> list[tuple[Formula, str | None, tuple[Step, ...]]]:
        """Every formula without effects of units, and the steps that serve it, else the units.

        Steps take out effects of units by public weights, moments by means of columns.
        """
        found = zip(self.bare(schema), self.served(schema).values(), strict=True)
        return [
            (one, unit, ()) if isinstance(steps, str) else (one, None, steps)
            for (one, unit), steps in found
        ]

    def comparison(self) -> Comparison | None:
        """Compared arms."""
        if self.assignment is None:
            if self.control is not None:
                raise ParameterError(
                    "``control=`` needs ``assignment=``, the design that names the arms"
                )
            return None
        names, control = self.assignment.groups.names, self.control
        if control is None and CONTROL not in names and not (self.released or self.subgroups):
            control = names[0]  # amounts of declared regressions are compared with none
        return compared(
            None, self.assignment, control=control, blocks="ignore", privacy_unit="person"
        )

    @once
    def variables(self, schema: Schema) -> tuple[Variable, ...]:
        """Return the columns of the release, products among them."""
        found: dict[Any, tuple[str, Any]] = {}
        regressors = [*listed_terms(self.named, schema)]
        for formula, unit, steps in self.asked(schema):
            outcomes = [name for name in formula.outcome_names if name not in self.group_columns]
            of_right = steps[0].covariates if steps else regressors_of(main_part(formula), schema)
            regressors += less_means([*listed_terms(outcomes, schema), *of_right], unit)
            for part in (instrumented(formula) or ())[: 1 if steps else 2]:
                regressors += regressors_of(part, schema)
        for regressor in regressors:
            atoms = regressor.without(self.group_columns)
            if atoms:
                name = regressor.name if atoms == regressor.atoms else spelled(atoms)
                name = name_within(name, unit_of(atoms))
                found.setdefault(key_of(atoms), (name, atoms))
        if not found:
            raise ParameterError(
                "``columns=`` and ``formulas=`` name no column to release besides treatment and "
                "subgroups; name the outcomes"
            )
        fills = self.fills(schema)
        gaps = [n for n in self.used(schema) if self.policy(n, schema) in ("private", "public")]
        return tuple(
            variable_of(name, atoms, schema, fills, gaps) for name, atoms in found.values()
        )

    def fills(self, schema: Schema) -> dict[str, float]:
        """Numbers that stand for missing values, of columns that have one."""
        found = {}
        for name in self.used(schema):
            policy = self.policy(name, schema)
            if isinstance(policy, float):
                if schema.column(name).bounds is None:
                    raise SchemaError(
                        f"``missing_policy={policy:g}`` of {name!r}, which has levels; declare "
                        "``missing_policy='private'``, or 'public' (who has no value is public)"
                    )
                found[name] = policy
        return found

    def policy(self, name: str, schema: Schema) -> MissingPolicy | None:
        """Policy for missing values of a column; None if it has none."""
        column = schema.column(name)
        if column.missing == () or (column.is_text and not column.missing):
            return None
        if name in self.group_columns:
            return None  # a missing subgroup is a cell of its own
        return policy_of(column, "column")

    def present_public(self, schema: Schema) -> tuple[str, ...]:
        """Return the released columns of which it is public who has a value."""
        return self._of_policy("public", schema)

    def lacking(self, schema: Schema) -> tuple[str, ...]:
        """Return the released columns of which it is private who has a value: cells."""
        return check_lacking(self._of_policy("private", schema), self.weights)

    def _of_policy(self, policy: str, schema: Schema) -> tuple[str, ...]:
        used = dict.fromkeys(
            name for variable in self.variables(schema) for name in variable.columns
        )
        return tuple(name for name in used if self.policy(name, schema) == policy)

    @property
    def outcomes(self) -> tuple[str, ...]:
        """What the formulas explain."""
        return tuple(dict.fromkeys(n for formula in self.parsed for n in formula.outcome_names))

    def explained(self, schema: Schema) -> tuple[str, ...]:
        """Columns that may be explained, and so are clipped at their own bounds alone.

        That is what stands on the left of a formula, what instruments move, and what ``columns=``
        names; the covariates of formulas share a ball.
        """
        asked = self.asked(schema)
        left = [name_within(n, unit) for one, unit, _ in asked for n in one.outcome_names]
        moved = [
            one.name
            for formula, _, _ in asked
            for part in instrumented(formula) or ()
            for one in regressors_of(part, schema)
        ]
        named = [one.name for one in listed_terms(self.named, schema)]
        return tuple(dict.fromkeys([*left, *moved, *named]))

    @property
    def named(self) -> list[str]:
        """The columns of ``columns=`` that are no groups."""
        return [name for name in self.released if name not in self.group_columns]

    @property
    def covariates(self) -> tuple[str, ...]:
        """Columns of formulas' right sides that are no groups."""
        names = [n for formula in self.parsed for n in formula.regressor_names]
        return tuple(dict.fromkeys(n for n in names if n not in self.group_columns))

    @property
    def use(self) -> Use:
        """What the release is for: it sets the constant."""
        if not self.parsed:
            return "mixed"
        return "regressions" if self.covariates else "effects"

    def places(self, schema: Schema) -> tuple[Place, ...]:
        """Return the columns with centres and scales; outcomes are in no ball."""
        variables = self.variables(schema)
        sd, centre = scales_of(variables)
        found = one_hot(places_of(variables, sd, centre))
        return found if self.fit_only(schema) else with_outcomes(found, self.explained(schema))

    def layout(self, schema: Schema, n: int, budget: Budget = NOMINAL) -> Layout:
        """Return the public layout that is planned to have the least errors at a budget."""
        return self._layout_of(self.places(schema), schema, n, budget)

    def _layout_of(
        self, places: tuple[Place, ...], schema: Schema, n: int, budget: Budget
    ) -> Layout:
        weight = self.weight(schema)
        count = self.count_private(schema) or weight is not None
        rows = schema.unit.max_rows
        if self.fit_only(schema):
            free = sum(not place.exempt for place in places)
            typical = TYPICAL_RADIUS * math.sqrt(free)
            inner = min(typical, radius_of(places, "box")) if self.radius is None else (
                radius_of(places, self.radius))  # fmt: skip
        elif self.use != "regressions":
            if self.radius is not None:
                radius_of(places, self.radius, rows)
            places, inner = weighted_alike(places), 0.0
        else:
            first = tuple(formula.terms[0][0].label for formula in self.parsed if formula.terms)
            places, inner = laid_out(
                places, self.radius, self.use, rows, outcomes=self.explained(schema),
                treatments=first,
                grouped=bool({*first} & {*self.group_columns}), n=n,
                mu=mu_of(budget) * math.sqrt(1 - SHARE * bool(self.errors(schema))),
                groups=2 ** len(self.lacking(schema)),
            )  # fmt: skip
        return layout_of(
            places, inner, self.use, count=count, rows=rows, clipped=self.clipped_share,
            weight=weight,
        )  # fmt: skip

    def at(self, facts: MomentsFacts, budget: Budget) -> MomentsFacts:
        """Return the facts with the layout of a budget."""
        return replace(facts, layout=self.layout(facts.schema, facts.n, budget))

    def _error_at(
        self, facts: MomentsFacts, sigma: float, allocation: Allocation
    ) -> Callable[[Place], float]:
        """Planned error over that without privacy, as a function of an outcome's place.

        It is that of the first coefficient of a regression that explains it, else of an effect.
        """
        schema, places = facts.schema, self.places(facts.schema)
        by_step = declared_errors(facts, allocation)

        def error(of: Place) -> float:
            if of.name in by_step:
                return by_step[of.name](of)
            with_it = tuple(of if one.name == of.name else one for one in places)
            layout = self._layout_of(with_it, schema, facts.n, allocation.budget)
            for one in self.declared:
                if of.name not in one.parsed.outcome_names or not self.covariates:
                    continue
                errors, _ = errors_of(one.formula, replace(facts, layout=layout), sigma)
                return next(iter(errors.values()), 1.0)
            return effect_error(layout, sigma, of.name, len(facts.grouping.groups), facts.n)

        return error

    def weight(self, schema: Schema) -> Part | None:
        """Return the weight of a row; None if all have the same."""
        name = self.weights
        if name is None:
            return None
        if self.errors(schema) is None:
            raise ParameterError(
                "``weights=`` needs the scores of each regression for its errors; name the "
                "regressions in ``formulas=``, and leave ``cov_type='nonrobust'`` out"
            )
        if name in self.group_columns:
            raise ParameterError(f"``weights={name!r}`` makes groups; name another column")
        if self.policy(name, schema) in ("private", "public"):
            raise ParameterError(
                f"``weights={name!r}`` may be missing; declare a number that "
                "stands for it, or ``missing='never'``"
            )
        column = checked_column(schema, name)
        low, high = column.bounds or (0.0, 0.0)
        if column.is_text or not 0 <= low < high:
            raise SchemaError(
                f"``weights={name!r}`` needs bounds, 0 or above; declare ``bounds=(0, high)`` "
                "from public knowledge: the noise grows with high"
            )
        return Part(column, fill=self.fills(schema).get(name))

    @property
    def clipped_share(self) -> Fraction:
        """What the numbers of rows outside the ball get of mu squared; 0 if not released."""
        share = self.clipped
        if share is None:
            return NOTHING
        number = isinstance(share, (int, float)) and not isinstance(share, bool)
        if not number or not LEAST_CLIPPED <= share <= MOST_CLIPPED:
            raise ParameterError(
                f"``clipped={given(share)}``; give the share of mu squared for the numbers of "
                f"rows outside the ball, {LEAST_CLIPPED:g} to {MOST_CLIPPED:g}, or nothing"
            )
        return Fraction(float(share))

    def errors(self, schema: Schema) -> str | None:
        """Return the robust errors whose scores are released; None where none are.

        By default those of every regression but with instruments, of which there are no scores,
        and but of groups alone, whose variances are released anyway.
        """
        if self.cov_type is not None:
            return None if self.cov_type == "nonrobust" else self.cov_type
        if schema.unit.max_rows > 1:
            return "CR1"
        return "HC1" if self._scored_by_default(schema) else None

    def _scored_by_default(self, schema: Schema) -> tuple[Formula, ...]:
        steps = {one.parsed for one, found in self.served(schema).items()
                 if not isinstance(found, str)}  # fmt: skip
        left = tuple(
            one.parsed for one in self.declared if one.parsed not in steps and one.family is None
        )
        if self.cov_type is not None or schema.unit.max_rows > 1:
            return left
        weighs = self.weights is not None
        return tuple(
            formula
            for formula in left
            if not instrumented(formula)
            and (weighs or {*formula.regressor_names} - {*self.group_columns})
        )

    def scored(self, schema: Schema) -> tuple[tuple[Scored, str], ...]:
        """Return the regressions whose scores are released, each with its formula."""
        asked = self._scored_by_default(schema)
        if self.errors(schema) is None or (not asked and self.steps(schema)):
            return ()
        return scored(asked, schema)

    def count_private(self, schema: Schema) -> bool:
        """Whether there are private cells, whose numbers of rows are released."""
        if self.pooled(schema):
            return False
        outer = public_subgroups(self.subgroups, self.assignment, self.hidden)
        arms = self.assignment is not None and self.hidden
        return arms or len(outer) < len(self.subgroups) or bool(self.lacking(schema))

    def counting(self, schema: Schema) -> Counting:
        """Return the public columns of which each combination is a group."""
        hidden, present = self.hidden, self.present_public(schema)
        return Counting(
            public_keys(
                self.assignment,
                self.subgroups,
                present,
                schema,
                self.inside(schema),
                hidden=hidden,
            )
        )

    def checks(self, facts: Facts) -> Iterator[Callable[[], object]]:
        """Yield what must hold of options and columns, whatever the rows are."""
        schema = facts.schema
        yield lambda: check_choice("neighbors", self.neighbors, RELATIONS)
        yield lambda: self._check_design(schema)
        yield lambda: self._check_errors(schema)
        yield from (partial(self._served, one, schema) for one in self.declared)
        yield lambda: self.clipped_share
        yield lambda: self.weight(schema)
        yield lambda: _check_rows(facts.n)
        yield lambda: check_sample(schema, {self.weights, *(one.weights for one in self.declared)})
        yield self.comparison
        yield lambda: check_subgroups(self.subgroups, schema, self.assignment)
        yield lambda: check_unit_effects(
            [unit for _, unit, _ in self.asked(schema) if unit is not None], self.weights,
            self.group_columns, {name: self.policy(name, schema) for name in self.used(schema)},
        )  # fmt: skip
        yield from (partial(self._check_column, schema, name) for name in self._read(schema))
        yield lambda: self.variables(schema)
        yield lambda: self._check_own(schema)
        yield lambda: self._check_size(schema)
        yield lambda: self.layout(schema, facts.n)

    def _check_design(self, schema: Schema) -> None:
        if self.assignment is None:
            if not self.hidden:
                raise ParameterError(
                    "``neighbors='replace-one-design-public'`` needs ``assignment=``, the design "
                    "whose columns are public; without one use 'replace-one'"
                )
            return
        clusters = [n for p in _parts(self.assignment) for n in getattr(p, "cluster_columns", ())]
        if clusters and (clusters != [schema.unit.id] or schema.unit.max_rows == 1 or self.hidden):
            unserved = [
                (r.title, x)
                for r, x in self.served(schema).items()
                if isinstance(x, str) and r.family is None
            ]
            if unserved or not self.formulas:
                raise ParameterError(
                    "clusters were assigned, whose errors need sums of whole clusters; name "
                    "regressions on treatment alone in ``formulas=``, with "
                    "``neighbors='replace-one-design-public'`` and people as the schema's unit, "
                    "declare the cluster as the schema's unit with max_rows and "
                    "``cov_type='CR1'``, or use ``PrivateATE``"
                    + (
                        f" ({unserved[0][0]!r} is not served by one step: {unserved[0][1]})"
                        if unserved
                        else ""
                    )
                )
        self.assignment.groups.check_levels(schema)
        if self.hidden:
            check_hidden(self.assignment, schema)

    def _check_errors(self, schema: Schema) -> None:
        """Refuse errors that do not fit the rows of a unit."""
        unit = schema.unit
        if unit.max_rows > 1 and (self.errors(schema) != "CR1" or not self.parsed):
            raise ParameterError(
                f"one {unit.name} may have {unit.max_rows} rows, whose errors need the scores of "
                f"each {unit.name}; give ``cov_type='CR1'`` and name the regressions in "
                "``formulas=``"
            )
        steps = self.steps(schema)
        clustered = bool(steps) and all(step.clusters for step in steps)
        if unit.max_rows == 1 and self.cov_type == "CR1" and not clustered:
            raise ParameterError(
                f"``cov_type='CR1'`` is for several rows of one {unit.name}, and max_rows is 1, or "
                "for clusters that were assigned; use 'HC1'"
            )
        if self.cov_type == "HC1" and any(step.clusters for step in steps):
            raise ParameterError(
                "``cov_type='HC1'`` takes people to be independent, but errors are clustered; use "
                "'CR1'"
            )
        self.scored(schema)

    def _check_own(self, schema: Schema) -> None:
        """Refuse columns in which one person moves the rows of others; public ones are the same."""
        outer = public_subgroups(self.subgroups, self.assignment, self.hidden)
        design = () if self.assignment is None or self.hidden else self.assignment.columns
        for name in self.group_columns:
            if name not in (*outer, *design):
                check_own(checked_column(schema, name))

    def _read(self, schema: Schema) -> tuple[str, ...]:
        """Columns of the variables; none where a formula or the design is wrong, which is said."""
        try:
            groups = {*self.group_columns, *self.of_design}
            return tuple(name for name in self.used(schema) if name not in groups)
        except DprctError:
            return ()

    def _check_column(self, schema: Schema, name: str) -> None:
        """Refuse one column that the schema says too little of: a study lists all of them."""
        check_own(checked_column(schema, name))
        self.policy(name, schema)

    def _check_size(self, schema: Schema) -> None:
        from dprct.encoding import encoding

        cells = 2 ** len(self.lacking(schema))
        outer = public_subgroups(self.subgroups, self.assignment, self.hidden)
        for name in self.subgroups:
            if name not in outer:
                cells *= encoding(schema.column(name)).size
        comparison = self.comparison()
        cells *= 1 if comparison is None or self.pooled(schema) else len(comparison.arms)
        check_count(self.variables(schema), cells, MOST_NUMBERS)

    def allocation(self, facts: MomentsFacts, budget: Budget) -> Allocation:
        """Return the mechanisms: moments, then what each regression has of its own."""
        sizes = [len(one.regressors) for one, _ in self.scored(facts.schema)]
        facts = self.at(facts, budget)
        layout, groups = facts.layout, len(facts.grouping.groups)
        grid = layout.grid
        if not budget.delta or not (facts.steps or facts.models):
            return allocation_of(grid, groups, budget, sizes)
        mu, ahead = mu_of(budget), self.ahead(facts)
        whole = 1 - SHARE if sizes else Fraction(1)

        def noise_of(own: float, arms: int = max(1, groups)) -> tuple[float, float]:
            s1, s2 = layout.noise(math.sqrt(grid.l2_squared) / own)
            return s1 * math.sqrt(arms), s2 * math.sqrt(arms)

        def s2_of(share: Fraction) -> float:
            return noise_of(math.sqrt(share) * mu, 1)[1]

        models: dict[str, ReleasePart] = {}
        fair = self.share_of_models(facts.schema)
        if not facts.steps:
            models = divided(ahead, mu, s2_of(whole - fair), fair)
            return allocation_of(grid, groups, budget, sizes, models)
        choose = partial(
            chosen_shares, facts.steps, layout, mu, design=self.assignment, guess=GUESS,
            read=self.read(facts.schema), noise_of=noise_of, least=least_moments(ahead, s2_of),
        )  # fmt: skip
        if ahead:
            first = choose(left=whole - fair)
            models = divided(ahead, mu, s2_of(first.moments), others=partial(first.worth, whole))
        chosen = choose(left=whole - sum((one.share for one in models.values()), Fraction(0)))
        return step_allocation(
            grid, groups, budget, sizes, vectors_of(facts.steps, chosen.clips)[1], chosen, models
        )

    def ahead(
        self, facts: MomentsFacts, means: Mapping[str, float] | None = None
    ) -> tuple[Ahead, ...]:
        """What is planned of models of an index, with other ``means`` of outcomes if given."""

        def outcome(name: str) -> Column:
            found = facts.schema.column(name)
            return found if means is None else replace(found, centre=means.get(name, found.centre))

        rows, design = [one.rows for one in facts.grouping.groups], self.assignment
        together = bool(getattr(design, "cluster_columns", ()))
        return tuple(
            ahead_of(
                model, coding, facts.layout, rows, facts.n, outcome(model.outcome),
                icc_of(design, model.outcome) if together else None,
            )
            for model, coding in zip(facts.models, facts.codings, strict=True)
        )  # fmt: skip

    def guesses(self, facts: Facts) -> Iterator[MomentsFacts]:
        """Yield what a table of this header may have in public, with a design that is made up."""
        schema, design = facts.schema, self.assignment
        keys = public_keys(
            design, self.subgroups, self.present_public(schema), schema, self.inside(schema),
            hidden=self.hidden,
        )  # fmt: skip
        if design is not None and not self.hidden and not self.unknown_clusters(schema):
            people = people_of(facts.n, schema, design, self.formulas)
            rows = BoundTable(trial_of(people, schema, design, self.columns, None))
            yield facts_of(self, facts, rows)[0]
        elif not keys and not any(self.clusters_of(one) for one in self.of_index):
            none = nw.from_dict({"": np.zeros(facts.n)}, backend="pandas")  # is looked at
            yield facts_of(self, facts, BoundTable(none.to_native()))[0]

    def unknown_clusters(self, schema: Schema) -> list[str]:
        """Return the columns of public clusters of which nothing says how many there are."""
        design = None if self.hidden else self.assignment
        return [] if design is None else unknown_clusters(schema, design, self.formulas)

    def unaffordable(self, facts: Facts, budget: Budget, *, confirm: bool) -> DprctError | None:
        """Reason why no table with this header can be fitted: the noise follows from the layout."""
        try:
            sizes = [len(one.regressors) for one, _ in self.scored(facts.schema)]
            allocation_of(self.layout(facts.schema, facts.n, budget).grid, 1, budget, sizes)
        except DprctError as error:
            return error
        return None

    def guarantee(self, facts: MomentsFacts, allocation: Allocation) -> Guarantee:
        """Guarantee of a fit."""
        return self.promise(facts, allocation.budget)

    def promise(self, facts: MomentsFacts, budget: Budget) -> Guarantee:
        """Guarantee of a fit with this budget.

        Notes
        -----
        Under replace-one the text is a function of n, the schema and the options; under the
        relation with the design public, of the public columns too.
        """
        schema, unit = facts.schema, facts.schema.unit
        shown = [f"the number of rows, n = {facts.n}", unit.said]
        uncovered = ["participation of anybody"]
        design = self.assignment
        if design is not None and not self.hidden:
            columns = ", ".join(dict.fromkeys(self.of_design))
            shown.append(
                f"columns {columns} of every row (treatment, blocks, clusters): arm sizes, and "
                "those of blocks and clusters"
            )
            uncovered = ["participation, treatment, blocks and clusters of anybody"]
        elif design is not None:
            comparison = self.comparison()
            arms = () if comparison is None else comparison.arms
            shown.append("the arms and levels of the design: " + ", ".join(arms))
        asks = self.inside(schema)
        if asks.values:
            inside = ", ".join(asks.values)
            shown.append(
                f"columns {inside} of every row, which are in conditions of regressions, or are "
                f"weights{' or periods' * (schema.unit.max_rows > 1)}"
                f"{' or clusters' * any({*one.ways} & {*asks.values} for one in self.declared)}"
                f"{' or are made of treatment' * any(step.made for step in self.steps(schema))}"
            )
            uncovered.append(f"{inside} of anybody")
        if any(step.unit for step in self.steps(schema)):
            shown.append(f"whose each row is ({unit.id})")
        named = [name for one in self.of_index for name in self.clusters_of(one)]
        if inner := [one for one in dict.fromkeys(named) if one not in self.public_uses]:
            shown.append(f"the clusters of every row ({', '.join(inner)})")
            uncovered.append(f"clusters of anybody ({', '.join(inner)})")
        known = tuple(dict.fromkeys([*self.present_public(schema), *asks.present]))
        if known:
            shown.append("who has a value of " + ", ".join(known))
            uncovered.append(f"whether anybody's {', '.join(known)} is missing")
        weights = [s.regression.weights or "" for s in self.steps(schema) if s.weighing]
        weights += [one.weights for one in self.of_index if one.weights]
        chosen_by = [name for one in self.declared for name in one.conditions]
        bounded = dict.fromkeys([*self.used(schema), *weights, *chosen_by])
        shown.append("the declared bounds and levels of " + ", ".join(bounded))
        shown.append(
            "centres, scales, weights and radius of the release: functions of these, of the "
            "budget, of declared sd and centre, of the options radius and formulas"
        )
        return Guarantee.of(
            budget,
            "replace-one" if self.hidden else "replace-one-design-public",
            unit=unit.name,
            public_facts=tuple(shown),
            not_covered=tuple(uncovered),
        )

    def plan(self, facts: MomentsFacts, allocation: Allocation) -> Plan:
        """Plan of a fit: its cost and the errors to expect."""
        return Plan(self.method, allocation.budget, partial(self._contents, facts, allocation))

    def _contents(self, facts: MomentsFacts, allocation: Allocation) -> Contents:
        facts = self.at(facts, allocation.budget)
        grid, sigma = facts.layout.grid, gaussian_of(allocation).noise_sd
        places = [
            replace(place, exempt=True) if place.name in self.outcomes else place
            for place in facts.layout.places
        ]
        numbers, warnings = list[PlannedNumber](), list[str]()
        if not facts.withheld:
            numbers += planned_effects(facts, sigma)
        if isinstance(allocation, StepAllocation):
            numbers += planned_steps(facts, allocation)
            warnings += doubtful_steps(facts, allocation)
        if isinstance(allocation, SharedAllocation):
            laws, s2 = laws_of_models(facts, allocation), facts.layout.noise(sigma)[1]
            ahead = self.ahead(facts)
            planned = [one.at(law, s2) for one, law in zip(ahead, laws, strict=True)]
            numbers += planned_models(ahead, planned, allocation)
            warnings += doubtful_models(ahead, planned)
            warnings += guessed_means(ahead, planned, facts.schema, lambda means: [
                one.at(law, s2) for one, law in zip(self.ahead(facts, means), laws, strict=True)
            ])  # fmt: skip
        numbers += guessed_icc(facts, self.assignment)
        for one, served in self.served(facts.schema).items():
            if isinstance(served, str) and one.family is None:
                found, problem = planned_regression(one.formula, facts, sigma)
                numbers += found
                warnings += [problem] if problem else []
        if not numbers and grid.weight is None:
            numbers += planned_means(facts, sigma)
        numbers += planned_release(facts, allocation)
        numbers += planned_bounds(places, self._error_at(facts, sigma, allocation))
        projected = (
            ""
            if grid.projects_nobody or facts.withheld
            else (
                "; covariates are projected onto a ball, so that their own slopes, and effects of "
                "a treatment that was chosen, are those of projected rows"
            )
        )
        # of a covariate nothing is estimated where declared regressions are all that is released
        of = {*self.outcomes, *self.explained(facts.schema)}
        variables = [p.variable for p in facts.layout.places if p.name in of or not facts.withheld]
        named = clipped_words(variables) or "columns of two values"
        estimand = f"regressions of {named}{filled_words(variables)}{projected}"
        consequences = (
            "the regressions in ``formulas=`` are free from now on, and no others are estimated"
            if self.weights is not None or grid.rows > 1 or self.withheld(facts.schema)
            else "every linear regression on released columns is free from now on",
        )
        return Contents((*notes({ESTIMAND: estimand}), *numbers), consequences, tuple(warnings))


class PrivateMoments(Model[MomentsSpec, MomentsFacts, DrawnMoments, Moments]):
    """First and second moments of columns, released once: every linear regression follows.

    Parameters
    ----------
    data : data frame
        A table in pandas, Polars (eager or lazy), DuckDB or PySpark, one row per person.  If it
        lives in an engine, its rows stay there, and all sums are added in one pass.
    schema : Schema
        Public facts: bounds or levels for every column, and a ``missing_policy`` for every column
        that may be missing.  A regression leaves out people without a value of one of its columns.
        With ``"private"`` this is protected, and each such column divides every cell in two, so
        that regressions without it have sqrt(2) times the noise.  With ``"public"`` it is public,
        and forms groups.  A number replaces missing values.  Noise is scaled by a column's ``sd``,
        by default a quarter of its range; for a column of two values it is half the range, whatever
        is declared.  Covariates are centred at their ``centre``, by default the middle of the
        bounds, and outcomes at that middle.  Deviations from means of persons have the standard
        deviation ``sd_within``, by default ``sd``.
    columns : sequence of str
        Terms to release: columns, ``"C(region)"`` for levels, and products such as ``"age:female"``
        or ``"I(age ** 2)"``.
    formulas : sequence of str or Regression, optional
        Regressions that should have the least noise; they are public.  Their columns are released,
        and they decide how noise is divided; any other regression on released columns remains
        possible. If units have several rows, ``"y ~ x | person"`` takes out fixed effects of
        persons.

        Where treatment was assigned and is public (``neighbors="replace-one-design-public"``),
        regressions on it that have covariates, blocks or assigned clusters are released by one
        step: the noise of their treatment coefficients does not grow with the number of covariates.
        Nothing else can then be computed from the moments unless ``columns=``, ``subgroups=`` or
        another formula requires it.  The same holds for private treatment that was drawn
        independently for each person (``dprct.Simple``), if nothing else is computed from the
        moments.
    assignment : Design, optional
        How treatment was assigned.  Every arm is a group of its own.
    control : str or float, optional
        The arm to compare with, if the design assigns every row to an arm; with ``formulas=``
        alone, the first by default.
    subgroups : sequence of str, optional
        Columns with levels: every level within every arm is a group.
    radius : number or "box", optional
        Rows whose covariates are further from the centres than this, in units of ``sd``, are
        projected to that distance; ``"box"`` projects none.  By default, the radius with the
        smallest planned error, which :meth:`plan` names.  Outcomes are never projected.
    attrition : bool
        Whether rows were lost after the assignment.  If so, arm sizes need not match the shares.
    cov_type : {"HC1", "CR1", "nonrobust"}, optional
        Errors of the regressions in ``formulas``, from their own scores at a tenth of mu squared:
        ``"HC1"``, the default, is robust to heteroskedasticity; ``"CR1"`` also to dependence within
        units of several rows (``max_rows`` of the schema's unit), which need it, and within
        assigned clusters, whose default it is.  ``"nonrobust"`` releases no scores: errors are
        classical.  Regressions with instruments have no scores, nor have those of rows in an
        engine, for which ``"nonrobust"`` must be given; regressions on treatment and subgroups
        alone need none, since the variance of every group is released.
    weights : str, optional
        A column of sampling weights (pweights), private, with public bounds of 0 or above.  The
        noise is the same as if every row had the largest weight.  It needs robust errors
        (``cov_type``), and only the regressions in ``formulas`` are estimated.
    clipped : float, optional
        Share of mu squared, 1e-4 to .5, with which the share of rows outside the ball of
        covariates is released, by arm (``clipped`` of the result): ``.02`` makes all other noise 1
        % larger.
    neighbors : {"replace-one", "replace-one-design-public"}
        Which data sets are neighbours.  ``"replace-one"``: treatment is private too, at no cost.

    Raises
    ------
    SchemaError, ColumnError, ParameterError, FormulaError
        If a public fact is missing, or data, schema and options contradict each other.

    Notes
    -----
    Relation: one person's row is replaced by any admissible one; n is public.  A row is a vector
    r = (h, z), z_j = w_j (x_j - c_j) / s_j, of whole numbers with |z| at most R: outcomes and
    columns of two values are clipped at their bounds, and covariates are projected onto what
    remains of the ball.  Each group releases the sum of r r' with Gaussian noise; one person
    changes all groups together by at most sqrt(2) (h^2 + R^2) in the Euclidean norm
    (:class:`MomentsGrid` has the proof), private arms and subgroups among them.
    ``delta`` must be above 0.  The price is that of the whole table, however many regressions are
    run on it later.

    The estimand is that of the columns clipped at their declared bounds.  Outcomes, endogenous
    regressors and what ``columns=`` names are never projected.  Covariates are, unless the radius
    is the box: the effect of a randomised treatment is the same whatever function of pre-treatment
    covariates is controlled for, but slopes of covariates, and effects of a treatment that was
    chosen, are those of projected rows.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from dprct.schema import Column, Schema
    >>> age = np.tile(np.arange(20.0, 60.0), 250)
    >>> data = pd.DataFrame({"wage": 2 * age - 80, "age": age})
    >>> schema = Schema((Column("wage", bounds=(-50, 50), missing=()),
    ...                  Column("age", "byte", bounds=(20, 59), missing=())))
    >>> m = PrivateMoments(data, schema, columns=["wage", "age"]).fit(epsilon=4, delta=1e-6)
    >>> bool(abs(m.ols("wage ~ age").params["age"] - 2) < 0.2)
    True

    How many rows are outside the ball of covariates, at a fiftieth of mu squared:

    >>> known = schema.declare(wage=dict(sd=23), age=dict(sd=11.5, centre=40))
    >>> model = PrivateMoments(data, known, formulas=["wage ~ age"], radius=1.5, clipped=0.02)
    >>> found = model.fit(epsilon=4, delta=1e-6).clipped
    >>> bool(abs(found.shares["all"] - 0.125) < 6 * found.bse["all"])
    True
    """

    saved_types = (DrawnMoments, DrawnScores, DrawnStep, DrawnCross, DrawnIndex)

    @checked
    def __init__(
        self,
        data: Any,
        schema: Schema,
        *,
        columns: Sequence[str] = (),
        formulas: Sequence[str | Regression] = (),
        assignment: Design | None = None,
        control: Level | None = None,
        subgroups: Sequence[str] = (),
        radius: float | str | None = None,
        attrition: bool = False,
        cov_type: ScoreErrors | None = None,
        clipped: float | None = None,
        weights: str | None = None,
        neighbors: str = "replace-one",
    ) -> None:
        spec = MomentsSpec(
            released=tuple(dict.fromkeys(listed_names(columns, "columns"))),
            formulas=listed_regressions(formulas),
            assignment=assignment, control=control,
            subgroups=tuple(dict.fromkeys(listed_names(subgroups, "subgroups"))),
            radius=radius, attrition=attrition,
            cov_type=cov_type, clipped=clipped, weights=weights, neighbors=neighbors,
        )  # fmt: skip
        known = self._bind(spec, data, schema)
        self.facts, self._table = facts_of(spec, known, self._table)
        self._check_scores()

    @classmethod
    def from_formulas(
        cls,
        formulas: str | Regression | Sequence[str | Regression],
        data: Any,
        schema: Schema,
        **options: Any,
    ) -> Self:
        """Release what formulas need; other arguments as for the class.

        Raises
        ------
        FormulaError
            If a formula is not in the language.
        """
        return cls(data, schema, formulas=listed_regressions(formulas), **options)

    @classmethod
    @checked
    def power_of_trial(
        cls,
        people: Any,
        schema: Schema,
        epsilon: Real,
        delta: Real,
        *,
        assignment: Design,
        formulas: Sequence[str | Regression],
        cluster_size: int | None = None,
        alpha: float = 0.05,
        **options: Any,
    ) -> pd.DataFrame:
        """Return what declared regressions of a planned trial will detect; no data are needed.

        Parameters
        ----------
        people : int or data frame
            How many people there will be, or a data frame of the public columns of each: blocks,
            clusters, and those of ``where=`` and ``weights=``.
        schema : Schema
            With bounds and ``sd`` of outcomes, from which errors are planned.
        epsilon, delta : number
            As of :meth:`plan`; delta above 0.
        assignment, formulas
            As of the class.
        cluster_size : int, optional
            People in every cluster, where ``people`` is a number.
        alpha : float
            Size of the two-sided tests.
        **options
            Other arguments of the class.

        Returns
        -------
        DataFrame
            One row per regression and coefficient: the standard error to expect, the noise in it,
            what it is without privacy and as a difference in means, and the effects that are
            detected with power .8, with and without privacy.

        Raises
        ------
        ParameterError
            If no regression is served by one step, or ``people`` lacks a column that is needed.

        Examples
        --------
        >>> import dprct
        >>> schema = dprct.Schema((
        ...     dprct.Column("income", bounds=(0, 40), sd=8, missing=()),
        ...     dprct.Column("treat", "byte", levels=(0.0, 1.0), missing=()),
        ...     dprct.Column("village", "int", missing=()),
        ... ))
        >>> found = dprct.PrivateMoments.power_of_trial(
        ...     6000, schema, epsilon=2, delta=1e-6, formulas=["income ~ treat"], cluster_size=30,
        ...     assignment=dprct.Cluster("treat", cluster="village", shares=0.5, icc=0.1),
        ... )
        >>> bool(1 < found["error"].iloc[0] / found["without_privacy"].iloc[0] < 1.3)
        True
        """
        given_options = {"neighbors": RELATIONS[1], **options}
        spec = MomentsSpec(
            formulas=listed_regressions(formulas), assignment=assignment, neighbors=RELATIONS[1]
        )
        names = [*spec.columns, *listed_names(options.get("columns", ()), "columns")]
        rows = trial_of(people, schema, assignment, names, cluster_size)
        schema = replace(schema, source=None, openings=Openings())  # these are nobody's data
        model = cls(rows, schema, assignment=assignment, formulas=formulas, **given_options)
        allocation = model._allocated(Budget.asked(epsilon, delta))
        if not isinstance(allocation, StepAllocation):
            raise ParameterError(
                "power is of declared regressions on treatment that one step serves, at a delta "
                "above 0; name some with covariates, blocks or clusters in ``formulas=``, or use "
                "``PrivateATE``"
            )
        return power_of(model.facts, allocation, checked_alpha(alpha))

    def _check_scores(self) -> None:
        """Refuse regressions of which no scores can be told, by public facts, before a charge."""
        asked, facts = self.spec.scored(self.facts.schema), self.facts
        if not asked:
            return
        width = facts.layout.grid.width + 1
        nothing = np.zeros((len(facts.grouping.groups), width, width), dtype=object)
        promise = self.spec.promise(facts, NOMINAL)
        first = self._moments_of(facts, DrawnMoments(nothing, 1.0), promise)
        for _, formula in asked:
            scores_by(first, formula, 1.0)

    def _asked(self, allocation: Allocation) -> Callable[[NoiseSource], DrawnMoments]:
        if not self._table.in_engine:
            return super()._asked(allocation)
        facts, relation = self.spec.at(self.facts, allocation.budget), self.spec.relation
        sums = asked_moments(self._table, facts.layout, facts.grouping, relation, unit_id(facts))
        return lambda noise: self._draw(allocation, noise, sums)

    def _draw(
        self, allocation: Allocation, noise: NoiseSource, sums: IntegerVector | None = None
    ) -> DrawnMoments:
        facts, relation = self.spec.at(self.facts, allocation.budget), self.spec.relation
        drawn = drawn_with_steps(self._table, facts, relation, allocation, noise, sums)
        asked = self.spec.scored(facts.schema)
        if not asked and not facts.models:
            return drawn
        # from here on what is asked of the rows is a function of what was released
        first = self._moments_of(facts, drawn, self.spec.guarantee(facts, allocation))
        laws = [gaussian_of(allocation, SCORES.format(k)) for k, _ in enumerate(asked, 1)]
        scores = tuple(
            drawn_scores(
                self._table, facts.layout, facts.grouping, relation, law, noise, one,
                scores_by(first, formula, law.noise_sd), unit_id(facts),
            )
            for law, (one, formula) in zip(laws, asked, strict=True)
        )  # fmt: skip
        models = tuple(
            drawn_index(
                model, coding, start_by(first, model, coding),
                self._index_rows(facts, model, coding), laws, noise,
            )
            for model, coding, laws in zip(
                facts.models, facts.codings, laws_of_models(facts, allocation), strict=True
            )
        )  # fmt: skip
        share = drawn.share
        if models and isinstance(allocation, SharedAllocation):
            share = str(allocation.shares[MOMENTS])
        return replace(drawn, scores=scores, models=models, share=share)

    def _index_rows(self, facts: MomentsFacts, model: IndexModel, coding: Coding) -> IndexRows:
        frame = self._table.frame
        clusters = tuple(codes_of(frame, model.clustered).values())
        return IndexRows.of(
            frame, facts.layout.grid, facts.grouping.cells, coding.map, self.spec.relation,
            facts.n, clusters,
        )  # fmt: skip

    def _read(self, drawn: DrawnMoments, paid: Paid) -> Moments:
        facts = self.spec.at(self.facts, paid.allocation.budget)
        return self._moments_of(facts, drawn, paid.guarantee, paid.ledger)

    def _moments_of(
        self, facts: MomentsFacts, drawn: DrawnMoments, guarantee: Guarantee, ledger: str = ""
    ) -> Moments:
        return Moments.of(facts, drawn, guarantee, ledger, self.spec.method, self.spec.outcomes)

    def __repr__(self) -> str:
        columns, groups = len(self.facts.layout.places), len(self.facts.grouping.groups)
        return f"PrivateMoments(n={self.n}, {columns} columns, {groups} groups)"


def laws_of_models(
    facts: MomentsFacts, allocation: Allocation
) -> list[dict[str, AnalyticGaussian]]:
    """Return the mechanisms of each model of an index, by the name of the draw."""
    return [
        {name: gaussian_of(allocation, PART.format(name, at)) for name in model.draws}
        for at, model in enumerate(facts.models, 1)
    ]


def codes_of(frame: Table, columns: Sequence[str]) -> dict[str, NDArray[np.int64]]:
    """Return the cluster of every row, by public columns and by two together; in memory."""
    if not columns:
        return {}
    if isinstance(frame, nw.LazyFrame):
        raise ParameterError(
            "scores of clusters are added in memory, but these rows are in an engine; collect them "
            "first"
        )
    found = [owners(frame, name).astype(np.int64) for name in columns]
    return dict(zip((*columns, ""), ways_of(found), strict=False))


def _parts(design: Design) -> Iterator[Design]:
    yield design
    for factor in getattr(design, "factors", ()):
        yield from _parts(factor)


def facts_of(spec: MomentsSpec, known: Facts, table: BoundTable) -> tuple[MomentsFacts, BoundTable]:
    """Read what is public of the rows of a table that was bound; and the table, with groups."""
    if spec.scored(known.schema) and isinstance(table.frame, nw.LazyFrame):
        raise ParameterError(
            "scores are added in memory, but these rows are in an engine; collect them first, "
            "or use ``cov_type='nonrobust'`` for classical errors"
        )
    grouping, table = grouping_of(
        table, known.schema, spec.comparison(), spec.subgroups,
        spec.present_public(known.schema), spec.lacking(known.schema),
        spec.inside(known.schema),
        hidden=spec.hidden, attrition=spec.attrition,
        within_blocks=spec.within_blocks(known.schema), pooled=spec.pooled(known.schema),
    )  # fmt: skip
    if spec.pooled(known.schema):
        grouping = everybody_of(known.n, grouping)
    if spec.weights is not None:  # what is released is the sum of weights, not rows
        unknown = tuple(replace(group, rows=None) for group in grouping.groups)
        grouping = replace(grouping, groups=unknown)
    layout = spec.layout(known.schema, known.n)
    check_count(spec.variables(known.schema), len(grouping.groups), MOST_NUMBERS)
    if table.in_engine:
        check_in_engine(layout.grid.width)
    facts = MomentsFacts(
        schema=known.schema, n=known.n, grouping=grouping, layout=layout,
        steps=_steps_of(spec, known.schema, table, grouping.uneven),
        withheld=spec.withheld(known.schema, grouping.uneven),
    )  # fmt: skip
    models = models_of(
        spec.of_index, known.schema, spec.cov_type, partial(_clusters_in, spec, table)
    )
    facts = replace(facts, models=models)
    facts.codings  # noqa: B018 -- refuses what is collinear in the groups
    return facts, table


def _clusters_in(
    spec: MomentsSpec, table: BoundTable, one: Regression
) -> dict[str, NDArray[np.int64]]:
    """How many rows each cluster of a model of an index has, by its columns; public."""
    codes = codes_of(table.frame, spec.clusters_of(one))
    return {name: np.bincount(of) for name, of in codes.items()}


def _steps_of(spec: MomentsSpec, schema: Schema, table: BoundTable, uneven: bool) -> Steps:
    """Return the declared regressions with the weights of the public design."""
    asked, design = spec.steps(schema), spec.assignment
    if not asked or design is None:
        return NO_STEPS
    keys = spec.counting(schema).keys
    lacking = dict(zip(spec.present_public(schema), flags_of(keys), strict=True))
    several = [step.title for step in asked if step.products]
    if uneven and several:
        raise ParameterError(
            f"{several[0]!r} multiplies treatment by private covariates, and shares differ between "
            "blocks: the coefficients are those of no one population; ask for the effects alone, "
            "or for a product with the blocks"
        )
    flags = spec.inside(schema).flags
    found = bound_steps(
        table, schema, asked, design, list(keys), lacking, flags, table.counted, uneven=uneven,
        hidden=spec.hidden,
    )  # fmt: skip
    return with_families(with_instruments(found, spec.stages(schema)), spec.families(schema))


def drawn_with_steps(
    table: BoundTable, facts: MomentsFacts, relation: Relation, allocation: Allocation,
    noise: NoiseSource, sums: IntegerVector | None = None,
) -> DrawnMoments:  # fmt: skip
    """Draw moments, and declared regressions after them; the caller has charged the allocation."""
    layout = facts.layout
    drawn = drawn_moments(
        table, layout, facts.grouping, relation, allocation, noise, unit_id(facts), sums
    )
    if not isinstance(allocation, StepAllocation):
        return drawn
    everybody = everybody_in(drawn, facts)
    steps, crosses = drawn_steps(table, facts.steps, layout, everybody, allocation, noise)
    return replace(drawn, steps=steps, crosses=crosses, share=str(allocation.shares[MOMENTS]))


def unit_id(facts: MomentsFacts) -> str | None:
    """Name of the column that says whose a row is, where one person may have several."""
    return facts.schema.unit.id if facts.layout.grid.rows > 1 else None


def everybody_in(drawn: DrawnMoments, facts: MomentsFacts) -> NoisyMoments:
    """Return the released moments of all groups together."""
    first, *others = [
        moments_of(facts.layout, sums, drawn.sigma, group.rows)
        for sums, group in zip(drawn.sums, facts.grouping.groups, strict=True)
    ]
    return first.pooled(*others, rows=facts.n)


def _check_rows(n: int) -> None:
    if n > MOST_ROWS:
        raise ParameterError(f"the data have {n:,} rows; moments allow at most {MOST_ROWS:,}")
