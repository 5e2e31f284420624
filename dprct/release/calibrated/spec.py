"""What a calibrated release is asked for, how it divides its budget, and what it will cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from dprct.arguments import listed_names
from dprct.assignment.groups import (
    Design,  # noqa: TC001  # read from annotations
    Level,  # noqa: TC001
)
from dprct.defaults import COVARIATE_SHARE, MOMENT_SHARE, VALID_LEVELS
from dprct.errors import DprctError, ParameterError
from dprct.estimate.ate.facts import Bounds, IndexRule  # noqa: TC001 -- read by @checked
from dprct.estimate.ate.joint import blocks_of_levels, smallest_arm
from dprct.estimate.ate.model import ATESpec, check_relation
from dprct.estimate.ate.plan import promise_of
from dprct.estimate.ate.release import ATEAllocation, Outcome
from dprct.estimate.effects import levels_of
from dprct.estimate.experiment import BlockRule, UnitRule, blocks_of
from dprct.estimate.moments.alone import DeclaredSpec
from dprct.estimate.moments.declared import Regression, listed_regressions
from dprct.io.stata.files import check_header
from dprct.privacy.budget import Budget, Real
from dprct.privacy.composition import sequential
from dprct.privacy.mechanisms import Allocation
from dprct.privacy.mechanisms import split as split_budget
from dprct.records import dataclass
from dprct.release.calibrated.covariates import Slopes, checks_of, covariates_of, price_of
from dprct.release.calibrated.groups import balanced, sizes_by_level
from dprct.release.calibrated.layout import (
    Layout,
    Regressions,
    arm_terms,
    check_covariates,
    check_slopes,
    checked_columns,
    cluster_column,
    prepared_schema,
    regressions_of,
    split,
    term_sets,
)
from dprct.release.columns import check_fates, released_schema
from dprct.release.release import ReleaseFacts, ReleaseSpec, check_kept
from dprct.results.plan import Contents, Plan, PlannedNumber, notes
from dprct.schema.schema import check_fixed_before

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dprct.estimate.ate.facts import ATEFacts
    from dprct.estimate.moments.release import MomentsFacts
    from dprct.model import Facts
    from dprct.privacy.budget import Guarantee, Relation
    from dprct.privacy.mechanisms import Mechanism
    from dprct.release.calibrated.covariates import Covariates, Rule
    from dprct.release.calibrated.layout import TermSet
    from dprct.schema.columns import Column, Unit
    from dprct.schema.schema import Schema
    from dprct.schema.tables import Counting

Wanted = Literal["auto", "histogram", "marginals", "filler"]
Legal = Literal["calibrated", "strict"]
Gamma = Literal["zero", "moments"]


@dataclass(frozen=True)
class Division:
    """What each part of a release may spend; the sum is the whole budget."""

    rule: Rule
    reason: str
    covariates: Budget
    effects: Budget
    slopes: Budget
    # Whether the effects are those of one Gaussian release, to which their delta belongs.
    jointly: bool = False

    @property
    def whole(self) -> Budget:
        """The sum of all parts."""
        return sequential([self.covariates, self.effects, self.slopes])


COVARIATES, MOMENTS = "covariates", "moments"
"""Parts of a budget that belong to no outcome."""


def shares_of(
    asked: Mapping[str, Real] | None, wanted: Wanted, outcomes: Sequence[str], *, moments: bool
) -> tuple[dict[str, Fraction], dict[str, Fraction] | None]:
    """Return the shares of covariates and moments, and how outcomes divide what these leave.

    ``asked`` names every part, or the outcomes alone: then covariates and moments get what they
    get by default.

    Examples
    --------
    >>> shares_of({"covariates": 0.2, "y": 0.6, "z": 0.2}, "auto", ["y", "z"], moments=False)
    ({'covariates': Fraction(1, 5)}, {'y': Fraction(3, 4), 'z': Fraction(1, 4)})
    """
    default = {COVARIATES: COVARIATE_SHARE} if wanted != "filler" else {}
    if moments:
        default[MOMENTS] = MOMENT_SHARE
    if asked is None:
        return default, None
    both = [name for name in outcomes if name in (COVARIATES, MOMENTS)]
    if both:
        raise ParameterError(
            f"``budget_shares=`` cannot tell the outcome {both[0]!r} from the part of the budget "
            "with that name; rename the column, or leave ``budget_shares=`` out"
        )
    if not isinstance(asked, Mapping) or set(asked) <= set(outcomes):
        return default, split_budget(asked, dict.fromkeys(outcomes, 1))
    found = split_budget(asked, dict.fromkeys((*default, *outcomes), 1))
    left = sum(found[name] for name in outcomes)
    shares = {name: found[name] / left for name in outcomes}
    return {name: found[name] for name in default}, shares


def division(
    budget: Budget,
    shares: Mapping[str, Fraction],
    wanted: Wanted,
    covariates: Covariates,
    *,
    jointly: bool = False,
) -> Division:
    """Divide a budget between covariates, moments and effects, by public facts.

    ``shares`` are those of :func:`shares_of`; effects get the rest of epsilon.  They are pure, so
    that all of delta goes to the moments if there are some, and else to the covariates; of effects
    that need a delta too, each part gets the same share of delta as of epsilon.
    """
    share, slopes = shares.get(COVARIATES, Fraction(0)), shares.get(MOMENTS, Fraction(0))
    if slopes and not budget.delta:
        raise ParameterError(
            "``gamma='moments'`` is Gaussian noise and needs a delta, far below 1/n; give one, "
            "or say ``gamma='zero'``"
        )
    own, of_moments = (share, slopes) if jointly else (int(not slopes), int(bool(slopes)))
    part = Budget(budget.epsilon * share, budget.delta * own)
    of_slopes = Budget(budget.epsilon * slopes, budget.delta * of_moments)
    rule, reason = _rule(wanted, covariates, part)
    if rule != "filler":
        left = 1 - share - slopes
        rest = Budget(budget.epsilon * left, budget.delta * left if jointly else 0)
        return Division(rule, reason, part, rest, of_slopes, jointly)
    if jointly and slopes:
        raise ParameterError(
            "``gamma='moments'`` gives covariates coefficients, and they carry no information "
            f"(covariates are filler: {reason}); leave ``gamma='moments'`` out"
        )
    if budget.delta and not jointly:
        raise ParameterError(
            f"``delta={float(budget.delta):g}``, and nothing of this release uses it (covariates "
            f"are filler: {reason}); leave delta out"
            + (", and ``gamma='moments'``" if slopes else "")
        )
    return Division(rule, reason, Budget(0), budget, Budget(0), jointly)


def _rule(wanted: Wanted, covariates: Covariates, part: Budget) -> tuple[Rule, str]:
    if not covariates.names:
        return "filler", "no covariate is modelled"
    return covariates.chosen(part) if wanted == "auto" else (wanted, "as asked")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CalibratedFacts(ReleaseFacts):
    """What is public of an experiment that is released."""

    effects: ATEFacts  # what is public of the experiment
    regressions: Regressions  # for which the file is calibrated
    layout: Layout
    covariates: Covariates  # how covariates may be drawn
    slopes: Slopes | None  # how outcomes move with covariates, where they do
    moments: MomentsFacts | None = None  # what is public of declared regressions


@dataclass(frozen=True, kw_only=True)
class CalibratedAllocation(Allocation):
    """The mechanisms of a calibrated release: covariates, effects and moments in sequence."""

    division: Division  # what each of them may spend, and why

    @property
    def effects(self) -> Allocation:
        """The mechanisms of the effects."""
        return self.part("effects", Allocation)

    @property
    def single_effects(self) -> ATEAllocation:
        """The mechanisms of the effects, where each outcome has its own."""
        return self.part("effects", ATEAllocation)

    @property
    def covariates(self) -> Allocation:
        """The mechanism of the covariates, where they are drawn."""
        return self.part(COVARIATES, Allocation)

    @property
    def moments(self) -> Allocation:
        """The mechanism of the moments, where outcomes vary with covariates."""
        return self.part(MOMENTS, Allocation)


_NOT_DECLARED: Mapping[str, str] = {
    "outcome": "outcomes stand on the left of the formulas",
    "treatment": "``assignment=`` names the columns of treatment",
    "covariates": "covariates stand in the formulas",
    "specifications": "each set of covariates is a formula of its own",
    "alphas": "errors of declared regressions are those of 95 % intervals",
    "legal": "outcomes with admissible values carry no regression",
    "gamma": "covariates of a formula adjust its effects already",
    "privacy_unit": "declared regressions protect a person, also where clusters were assigned",
    "index": "covariates of a formula adjust its effects",
    "index_columns": "covariates of a formula adjust its effects",
    "index_bounds": "covariates of a formula adjust its effects",
    "subgroups": "the regression of each level is declared by ``where=``",
    "neighbors": "treatment is public in declared regressions",
}
"""Options that only differences in means have, each with what stands for it, or why."""


def _unless_refused(
    checks: Callable[[], Iterable[Callable[[], object]]],
) -> Iterable[Callable[[], object]]:
    """Return checks; none where what they are of is wrong, which another check says."""
    try:
        return [*checks()]
    except DprctError:
        return []


@dataclass(frozen=True, kw_only=True)
class CalibratedSpec(ReleaseSpec[CalibratedFacts]):
    """What a calibrated release is asked for; the fields are the options of :class:`Calibrated`."""

    key: ClassVar[str] = "calibrated"
    page: ClassVar[str] = "calibrated.md"
    method: ClassVar[str] = "Calibrated (private effects; synthetic covariates)"
    formula_gives: ClassVar[tuple[str, ...]] = ("outcome", "covariates")
    formula_like: ClassVar[str] = "y ~ treat + age"
    fixed: ClassVar[Mapping[str, str]] = {
        "effects": "a calibrated regression returns each arm against control; take other contrasts "
        "from the estimates, where they are free",
    }

    outcome: tuple[str, ...] = ()
    formulas: tuple[str | Regression, ...] = ()
    treatment: tuple[str, ...] | None = None
    covariates: tuple[str, ...] = ()
    assignment: Design | None = None
    covariate_release: Wanted = "auto"
    specifications: tuple[str, ...] = ()
    budget_shares: Mapping[str, Real] | None = None
    alphas: tuple[float, ...] = VALID_LEVELS
    legal: Legal = "calibrated"
    gamma: Gamma = "zero"
    control: Level | None = None
    blocks: BlockRule = "weight"
    privacy_unit: UnitRule = "person"
    index: IndexRule | Mapping[str, IndexRule] | None = None
    index_columns: tuple[str, ...] = ()
    index_bounds: Bounds | Mapping[str, Bounds] | None = None
    subgroups: tuple[str, ...] = ()
    attrition: bool = False
    neighbors: str = "replace-one-design-public"

    @classmethod
    def of(
        cls,
        *,
        outcome: str | Sequence[str] = (),
        formulas: str | Regression | Sequence[str | Regression] = (),
        treatment: str | Sequence[str] | None = None,
        covariates: Sequence[str] = (),
        specifications: Iterable[str | Sequence[str]] = (),
        alphas: Sequence[float] = VALID_LEVELS,
        index_columns: Sequence[str] = (),
        subgroups: Sequence[str] = (),
        keep: Iterable[str] = (),
        **options: Any,
    ) -> Self:
        """Form of the options of :class:`Calibrated`; names may be single."""
        check_covariates(covariates)
        spec = cls(
            outcome=tuple(dict.fromkeys(listed_names(outcome, "outcome"))),
            formulas=listed_regressions(formulas),
            treatment=None if treatment is None else listed_names(treatment, "treatment"),
            covariates=listed_names(covariates, "covariates"),
            specifications=tuple(" + ".join(terms) for terms in term_sets(specifications)),
            alphas=levels_of(alphas),
            index_columns=listed_names(index_columns, "index_columns"),
            subgroups=tuple(dict.fromkeys(listed_names(subgroups, "subgroups"))),
            keep=listed_names(keep, "keep"),
            **options,
        )
        spec.require_words()
        return spec

    @cached_property
    def outcomes(self) -> tuple[str, ...]:
        """The outcomes that are named, or those of the declared regressions."""
        if self.declared is None:
            return self.outcome
        left = [name for one in self.declared.parsed for name in one.outcome_names]
        return tuple(dict.fromkeys(left))

    @cached_property
    def declared(self) -> DeclaredSpec | None:
        """The regressions of ``formulas=``; None where differences in means are released."""
        if not self.formulas:
            return None
        return DeclaredSpec(
            formulas=self.formulas, assignment=self.assignment, control=self.control,
            attrition=self.attrition, neighbors="replace-one-design-public",
        )  # fmt: skip

    @property
    def parts(self) -> tuple[dict[str, Fraction], dict[str, Fraction] | None]:
        """The shares of covariates and moments, and how outcomes divide what these leave."""
        parts, outcomes = shares_of(
            self.budget_shares, self.covariate_release, self.outcomes, moments=self.has_slopes
        )
        # equal shares are the default, and divide nothing where one release serves all outcomes
        equal = outcomes is not None and len(set(outcomes.values())) == 1
        return parts, None if equal else outcomes

    @property
    def treatment_private(self) -> bool:
        """Whether who is in which arm is protected."""
        return self.neighbors == "replace-one"

    @property
    def has_slopes(self) -> bool:
        """Whether outcomes vary with covariates."""
        return self.gamma == "moments"

    @cached_property
    def effects(self) -> ATESpec:
        """The private effects."""
        return ATESpec.of(
            outcome=self.outcomes, treatment=self.treatment, assignment=self.assignment,
            control=self.control, budget_shares=self.parts[1],
            neighbors=self.neighbors, blocks=self.blocks, privacy_unit=self.privacy_unit,
            index=self.index, index_columns=self.index_columns, index_bounds=self.index_bounds,
            alphas=self.alphas, subgroups=self.subgroups, attrition=self.attrition,
        )  # fmt: skip

    @property
    def columns(self) -> tuple[str, ...]:
        """Outcomes, columns of the design, and covariates that are read; the file has more."""
        own = () if self.declared is None else self.declared.columns
        return tuple(dict.fromkeys([*self.effects.columns, *own]))

    def shown(self, schema: Schema) -> tuple[str, ...]:
        """Return the columns that the file has: what is modelled, and what is public."""
        return super().shown(self.prepared(schema))

    def protects(self, schema: Schema) -> Unit:
        """Protected unit: a whole cluster, where that was asked for."""
        return self.effects.protects(schema)

    @property
    def arms(self) -> TermSet:
        """How a regression names the arms."""
        groups = self.effects.comparison()
        return arm_terms(groups.design, groups.arms)

    @cached_property
    def regressions(self) -> Regressions:
        """The regressions for which the file is calibrated."""
        if self.declared is not None:
            return self._declared_regressions(self.declared)
        found = regressions_of(
            self.outcome, self.arms, self.covariates, self.specifications,
            self.effects.design.columns,
        )  # fmt: skip
        return replace(found, within=next(iter(self.subgroups), None))

    def _declared_regressions(self, declared: DeclaredSpec) -> Regressions:
        """Return the declared regressions as a file may carry them."""
        assert self.assignment is not None
        listed = declared.written()
        arms = dict.fromkeys(arm for one in listed for arm in one.arms)
        sets = dict.fromkeys(one.covariates for one in listed)
        found = Regressions(self.outcomes, tuple(arms), tuple(sets), declared=listed)
        return checked_columns(found, self.assignment.columns)

    @property
    def cluster(self) -> str | None:
        """The column by which a reader clusters errors."""
        if self.declared is not None:
            return self.regressions.declared[0].cluster
        return cluster_column(self.effects.design)

    def prepared(self, schema: Schema) -> Schema:
        """Return the schema with the fates of outcomes, design and covariates."""
        regressions = self.regressions
        check_fixed_before(schema, regressions.columns, self.effects.design.columns)
        if self.treatment_private:
            return prepared_schema(schema, self.regressions, (), self.hidden)
        return prepared_schema(schema, self.regressions, self.effects.design_columns)

    @property
    def hidden(self) -> tuple[str, ...]:
        """The columns of the treatment, where they are private."""
        return tuple(self.effects.design.columns) if self.treatment_private else ()

    def layout(self, schema: Schema) -> Layout:
        """Layout of the file's columns."""
        return Layout(schema, self.regressions, self.legal == "strict", self.hidden)

    def drawn_covariates(self, facts: Facts) -> Covariates:
        """Return the modelled covariates, by public facts; the schema is one from ``prepared``."""
        layout = self.layout(facts.schema)
        largest = self.effects.design.cluster_facts.largest
        return covariates_of(
            layout.covariates,
            layout.complete,
            facts.n,
            filler=self.covariate_release == "filler",
            rows=(largest or 1) if self.privacy_unit == "cluster" else 1,
        )

    def checks(self, facts: Facts) -> Iterator[Callable[[], object]]:
        """Yield what must hold of options, design and columns, whatever the rows are."""
        schema = facts.schema
        yield self._check_given
        if (declared := self.declared) is not None:
            yield from _unless_refused(lambda: declared.checks(facts))
        yield lambda: check_relation(self.neighbors)
        yield lambda: self.effects
        yield self._check_subgroups
        yield from _unless_refused(lambda: self.effects.checks(facts))
        yield lambda: check_slopes(self.regressions) if self.has_slopes else self.regressions
        yield lambda: self.cluster
        yield lambda: self.prepared(schema)
        yield lambda: check_fates(self.prepared(schema), facts.n)
        yield lambda: check_kept(schema, self.keep)
        yield lambda: check_header(released_schema(self.prepared(schema)), facts.n)
        yield from _unless_refused(lambda: self._covariate_checks(schema))
        yield lambda: self.drawn_covariates(replace(facts, schema=self.prepared(schema)))

    def _covariate_checks(self, schema: Schema) -> Iterator[Callable[[], object]]:
        filler = self.covariate_release == "filler"
        return checks_of(self.layout(self.prepared(schema)).covariates, filler=filler)

    def _check_given(self) -> None:
        """Refuse options that say otherwise what declared regressions are, or cannot hold there."""
        if self.declared is None:
            if not self.outcome:
                raise ParameterError(
                    "neither ``outcome=`` nor ``formulas=`` is given; name the outcomes whose "
                    "differences in means are released, or declare regressions in ``formulas=``"
                )
            return
        if self.assignment is None:
            raise ParameterError(
                "``formulas=`` needs ``assignment=``, the design by which treatment was assigned"
            )
        plain = {f.name: f.default for f in fields(self)}
        for name, reason in _NOT_DECLARED.items():
            if getattr(self, name) != plain[name]:
                raise ParameterError(
                    f"``{name}=`` does not go with ``formulas=``: {reason}; leave one of the two "
                    "out"
                )
        if self.parts[1] is not None:
            raise ParameterError(
                "``budget_shares=`` of outcomes does not go with ``formulas=``, whose plan divides "
                "the budget among regressions; name the share of ``covariates`` alone, or none"
            )

    def _check_subgroups(self) -> None:
        if not self.subgroups:
            return
        name, *others = self.subgroups
        said = f"``subgroups={list(self.subgroups)}``"
        if others:
            raise ParameterError(
                f"{said} name {len(self.subgroups)} columns, and outcomes are constructed within "
                "the levels of one; give the combinations a column of their own"
            )
        if self.treatment_private:
            raise ParameterError(
                f"{said} needs public groups, and with ``neighbors='replace-one'`` nothing of the "
                "design is public; leave one of the two out"
            )
        if name not in blocks_of(self.effects.design, "weight"):
            raise ParameterError(
                f"{said} names no block of the design, and the file's arms have public sizes "
                f"within blocks alone; block the assignment by {name!r}, or take PrivateMoments"
            )
        if self.has_slopes:
            raise ParameterError(
                f"{said} does not go with ``gamma='moments'``, whose coefficients are those of "
                "everybody; give ``gamma='zero'``"
            )

    def known(self, facts: Facts, effects: ATEFacts) -> CalibratedFacts:
        """Public facts of a release; the schema is one from ``prepared``."""
        covariates = self.drawn_covariates(facts)
        columns = [outcome.column for outcome in effects.outcomes]
        return CalibratedFacts(
            schema=facts.schema, n=facts.n, effects=effects, regressions=self.regressions,
            layout=self.layout(facts.schema), covariates=covariates,
            slopes=self._slopes(covariates, columns) if self.has_slopes else None,
        )  # fmt: skip

    def _slopes(self, covariates: Covariates, outcomes: Sequence[Column]) -> Slopes:
        relation: Relation = (
            "replace-one" if self.treatment_private else "replace-one-design-public"
        )
        return Slopes.of(covariates, outcomes, relation)

    def counting(self, schema: Schema) -> Counting:
        """Return the public columns of which combinations are counted at the door of an engine."""
        if self.declared is None:
            return super().counting(schema)
        return self.declared.counting(schema)

    def unaffordable(self, facts: Facts, budget: Budget, *, confirm: bool) -> DprctError | None:
        """Reason why no release with this header can be paid at a budget."""
        if self.declared is None:
            return super().unaffordable(facts, budget, confirm=confirm)
        return self.declared.unaffordable(facts, budget, confirm=confirm)

    def guesses(self, facts: Facts) -> Iterator[CalibratedFacts]:
        """Yield an experiment of this design whose groups are all of the same size."""
        prepared = replace(facts, schema=self.prepared(facts.schema))
        for effects in self.effects.guesses(facts):
            yield self.known(prepared, effects)

    def allocation(self, facts: CalibratedFacts, budget: Budget) -> CalibratedAllocation:
        """Return the mechanisms, each calibrated to all rows of one protected unit."""
        part = self.divided(facts, budget)
        if self.declared is None or facts.moments is None:
            effects = self.effects.allocation(facts.effects, part.effects)
        else:
            effects = self.declared.allocation(facts.moments, part.effects)
        parts: dict[str, Mechanism] = {"effects": effects}
        if part.rule != "filler":
            parts[COVARIATES] = facts.covariates.allocation(part.rule, part.covariates)
        if facts.slopes is not None:
            parts[MOMENTS] = facts.slopes.allocation(part.slopes)
        return CalibratedAllocation(budget=budget, parts=parts, division=part)

    def divided(self, facts: CalibratedFacts, budget: Budget) -> Division:
        """Division of a budget, and the release that effects come from; public facts decide.

        With a delta they come from one release of all outcomes.  Where covariates can use the delta
        instead, effects come from it only if that makes most of them more precise, or if treatment
        is private, or subgroups are asked for.
        """
        parts = self.parts[0], self.covariate_release, facts.covariates
        if self.declared is not None:
            if not budget.delta:
                raise ParameterError(
                    "``formulas=`` needs a delta above 0, far below 1/n: declared regressions are "
                    "released with Gaussian noise; give a delta, or name ``outcome=``, whose "
                    "differences in means can be released without"
                )
            return division(budget, *parts, jointly=True)
        if not budget.delta:
            if self.treatment_private:
                raise ParameterError(
                    "``neighbors='replace-one'`` needs a delta above 0, far below 1/n: the "
                    "file's arms have released noisy sizes, which only the joint release of "
                    "effects has; give a delta, or leave ``neighbors=`` out"
                )
            return division(budget, *parts)
        refused = self.effects.not_joint(facts.effects)
        asked = self.treatment_private or bool(self.subgroups)
        if refused is None and asked:
            return division(budget, *parts, jointly=True)
        try:
            single = division(budget, *parts)
        except ParameterError:  # nothing but effects can use the delta
            if refused is None:
                return division(budget, *parts, jointly=True)
            if self.has_slopes:
                raise
            raise refused from None
        if refused is not None:
            if asked:
                raise refused
            return single
        together = division(budget, *parts, jointly=True)
        return together if self.effects.prefers_joint(facts.effects, together.effects) else single

    def guarantee(self, facts: CalibratedFacts, allocation: Allocation) -> Guarantee:
        """Guarantee of a release with these mechanisms."""
        assert isinstance(allocation, CalibratedAllocation)
        return self._promised(facts, allocation.budget, jointly=allocation.division.jointly)

    def promise(self, facts: CalibratedFacts, budget: Budget) -> Guarantee:
        """Guarantee of a release: effects and file together."""
        # treatment is private in no other release, and no other release is rehearsed with a delta
        jointly = self.treatment_private
        if budget.delta and not jointly:
            jointly = self.divided(facts, budget).jointly
        return self._promised(facts, budget, jointly=jointly)

    def _promised(self, facts: CalibratedFacts, budget: Budget, *, jointly: bool) -> Guarantee:
        effects = promise_of(budget, facts.effects, jointly=jointly)
        if self.declared is not None:
            known: Any = facts  # of public treatment nothing but schema and n is asked
            effects = self.declared.promise(known, budget)
        file = ReleaseSpec.promise(self, facts, budget)
        shown = dict.fromkeys((*effects.public_facts, *file.public_facts))
        hidden = dict.fromkeys((*effects.not_covered, *file.not_covered))
        return replace(effects, public_facts=tuple(shown), not_covered=tuple(hidden))

    def plan(self, facts: CalibratedFacts, allocation: Allocation) -> Plan:
        """Return prices, expected errors and what becomes of the covariates."""
        assert isinstance(allocation, CalibratedAllocation)
        part = allocation.division
        drawn = None
        if part.rule != "filler":
            drawn = facts.covariates.plan(part.rule, allocation.covariates)
        refusal = self._too_few(facts, allocation) or ("" if drawn is None else drawn.refusal)
        made = partial(self._contents, facts, allocation, drawn)
        return Plan(self.method, part.whole, made, refusal)

    def _contents(
        self, facts: CalibratedFacts, allocation: CalibratedAllocation, drawn: Plan | None
    ) -> Contents:
        part = allocation.division
        if self.declared is None or facts.moments is None:
            effects = self.effects.plan(facts.effects, allocation.effects)
        else:
            effects = self.declared.plan(facts.moments, allocation.effects)
        numbers = [
            *notes({"budget": _budget(part)}),
            *notes({"regressions": "; ".join(facts.regressions.formulas())}),
            # without a delta there is no file to compare with where treatment is private
            *(n for n in effects.numbers if n.quantity != "better" or not self.treatment_private),
            *notes({"covariates": f"{part.rule}: {part.reason}"}),
        ]
        warnings = [*effects.contents.warnings, *self._apart(facts)]
        if drawn is not None:
            numbers += price_of(drawn, facts.covariates.names)
            times = float(part.whole.epsilon / part.effects.epsilon)
            numbers.append(PlannedNumber("covariates: price", times, why=_PRICE))
            rows = facts.covariates.rows
            if rows > 1:
                each = "rows of a cluster at most, each of which gets its part of their epsilon"
                numbers.append(PlannedNumber("covariates: price of clusters", rows, why=each))
            warnings += drawn.contents.warnings
        consequences = (*effects.contents.consequences, *_consequences(self, facts, part))
        return Contents(tuple(numbers), consequences, tuple(warnings))

    def _apart(self, facts: CalibratedFacts) -> Iterator[str]:
        """Say of subgroups in which arms have other shares what cannot hold at once."""
        for name in self.subgroups:
            levels = blocks_of_levels(facts.effects, name)
            of_arms = [o.arms for o in facts.effects.outcomes if isinstance(o, Outcome)]
            if levels and not all(balanced(sizes_by_level(arms.sizes, levels)) for arms in of_arms):
                yield (
                    f"arms have other shares in some levels of {name}: of regressions on all rows "
                    f"only those with C({name}) are calibrated, and return the mean of levels' "
                    "effects with the weights of least squares; the estimates have that with the "
                    "numbers of people"
                )

    def _too_few(self, facts: CalibratedFacts, allocation: CalibratedAllocation) -> str:
        """Reason why arms are too small to divide by their noisy sizes; nothing if they are not."""
        if not self.treatment_private:
            return ""
        layout = self.effects.layout(facts.effects)
        expected, fewest = smallest_arm(layout, facts.effects, allocation.effects)
        if expected >= fewest:
            return ""
        return (
            f"the smallest arm has about {expected:.4g} people, and arms of fewer than "
            f"{fewest:.4g} (as released) are not estimated; raise epsilon, or leave "
            "``neighbors='replace-one'`` out"
        )

    def limits(self, facts: CalibratedFacts) -> tuple[str, ...]:
        """Limits of the protected file."""
        effects = facts.effects
        if self.declared is not None:
            return facts.layout.limits()
        return (*facts.layout.limits(effects.indexes, effects.counted), *effects.without_blocks)


def written_of(formula: str, treatment: Sequence[str]) -> tuple[dict[str, Any], TermSet]:
    """Meaning of a formula for ``formula_gives``, and its names of the arms."""
    outcomes, arms, terms = split(formula, treatment)
    return {"outcome": tuple(dict.fromkeys(outcomes)), "covariates": terms}, arms


def _budget(part: Division) -> str:
    if part.rule == "filler":
        return f"all of it, {part.effects}, on effects; nothing on covariates"
    slopes = f", {part.slopes} on their coefficients" if part.slopes.epsilon else ""
    return (
        f"{part.effects} on effects (to which the numbers below refer), {part.covariates} on "
        f"covariates{slopes}"
    )


_PRICE = (
    "by which spending nothing on covariates would divide the noise of every effect; they buy no "
    "precision, only a file that resembles the original"
)


def _consequences(spec: CalibratedSpec, known: CalibratedFacts, part: Division) -> tuple[str, ...]:
    filled = "" if part.rule != "filler" or not known.covariates.names else (
        "covariates are filled uniformly over their public domain: they carry no information"
    )  # fmt: skip
    outcomes = ", ".join(known.regressions.outcomes)
    if spec.declared is not None:
        return tuple(
            filter(
                None,
                (
                    filled,
                    f"{outcomes}: real numbers stored as double, beyond the "
                    "admissible values of the original",
                ),
            )
        )
    legal = (
        f"{outcomes}: rounded and clipped to admissible values, so that regressions return the "
        "effects and errors up to a calibration error that the release reports"
        if spec.legal == "strict"
        else f"{outcomes}: real numbers stored as double, beyond the original's admissible values"
    )
    mine = "covariates add no precision: their coefficients are zero up to noise and mean nothing"
    if spec.gamma == "moments":
        mine = (
            "covariates add no precision: their coefficients are shrunk towards zero by the noise, "
            "and the errors printed beside them mean nothing"
        )
    return tuple(line for line in (mine, filled, legal) if line)
