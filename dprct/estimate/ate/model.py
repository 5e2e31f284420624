"""PrivateATE: effects of an experiment under differential privacy, with valid intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence  # noqa: TC003  # read from annotations
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

from dprct.arguments import check_not_named, checked, distinct_names, given, listed_names
from dprct.assignment.designs import design_of
from dprct.assignment.groups import (
    Design,  # noqa: TC001  # read from annotations
    Level,  # noqa: TC001
)
from dprct.defaults import VALID_LEVELS
from dprct.errors import FormulaError, ParameterError, SchemaError
from dprct.estimate.ate import joint
from dprct.estimate.ate.clusters import check_rules, ruled
from dprct.estimate.ate.facts import (
    ATEFacts,
    Bounds,
    IndexRule,
    adjusted,
    covariate_names,
    hidden_outcome_of,
    indexes_of,
    narrowed,
    outcome_of,
    uncountable,
)
from dprct.estimate.ate.plan import (
    joint_is_better,
    planned,
    planned_jointly,
    power_alone,
    power_jointly,
    promise_of,
)
from dprct.estimate.ate.release import (
    ATEAllocation,
    CountedOutcome,
    HiddenOutcome,
    Outcome,
    Released,
    allocated,
    released,
    sums_of,
    together,
)
from dprct.estimate.ate.results import PrivateATEResults, results_of
from dprct.estimate.contrasts import (
    EffectRule,  # read from annotations
    contrasts_of,
)
from dprct.estimate.effects import NoisyEffect, NoisyMean, NoisyVariance, levels_of, with_bounds
from dprct.estimate.experiment import (
    BlockRule,
    UnitRule,
    blocks_of,
    check_hidden,
    check_sample,
    cluster_unit,
    clusters_of,
    compared,
    experiment_of,
    hidden_arms,
    likely_arms,
    policy_of,
)
from dprct.estimate.moments.effects import EffectResults
from dprct.estimate.moments.release import (
    MOST_NUMBERS,
    DrawnMoments,
    allocation_of,
)
from dprct.estimate.moments.variables import check_count
from dprct.formula import parse
from dprct.lazy import narwhals as nw
from dprct.model import BoundTable, Facts, Model, Spec
from dprct.privacy.budget import Budget
from dprct.privacy.mechanisms import split
from dprct.records import dataclass
from dprct.results.plan import Contents, Plan
from dprct.schema.columns import check_own
from dprct.schema.schema import check_fixed_before
from dprct.schema.tables import Counting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from fractions import Fraction

    import pandas as pd

    from dprct.estimate.ate.facts import Index
    from dprct.estimate.ate.release import AnyOutcome
    from dprct.estimate.contrasts import Contrast
    from dprct.estimate.experiment import Comparison
    from dprct.estimate.moments.layout import Layout
    from dprct.model import Paid
    from dprct.privacy.budget import Guarantee, Real
    from dprct.privacy.mechanisms import Allocation
    from dprct.privacy.noise import NoiseSource
    from dprct.schema import Column, Schema
    from dprct.schema.columns import Unit


@dataclass(frozen=True, kw_only=True)
class ATESpec(Spec[ATEFacts]):
    """What private effects are asked for; the fields are the options of :class:`PrivateATE`."""

    key: ClassVar[str] = "private_ate"
    page: ClassVar[str] = "methods.md"
    method: ClassVar[str] = "PrivateATE (closed-form intervals)"
    formula_gives: ClassVar[tuple[str, ...]] = ("outcome", "treatment")
    formula_like: ClassVar[str] = "y ~ treat"

    outcome: tuple[str, ...]
    treatment: tuple[str, ...] | None = None
    assignment: Design | None = None
    control: Level | None = None
    budget_shares: Mapping[str, Real] | None = None
    subgroups: tuple[str, ...] = ()
    effects: EffectRule = "arms"
    blocks: BlockRule = "weight"
    privacy_unit: UnitRule = "person"
    index: IndexRule | Mapping[str, IndexRule] | None = None
    index_columns: tuple[str, ...] = ()
    index_bounds: Bounds | Mapping[str, Bounds] | None = None
    alphas: tuple[float, ...] = VALID_LEVELS
    attrition: bool = False
    neighbors: str = "replace-one-design-public"

    @classmethod
    def of(
        cls,
        *,
        outcome: str | Sequence[str],
        treatment: str | Sequence[str] | None = None,
        subgroups: Sequence[str] = (),
        index_columns: Sequence[str] = (),
        alphas: Sequence[float] = VALID_LEVELS,
        **options: Any,
    ) -> Self:
        """Return what the options of :class:`PrivateATE` ask for; names may be single."""
        return cls(
            outcome=tuple(dict.fromkeys(listed_names(outcome, "outcome"))),
            treatment=None if treatment is None else listed_names(treatment, "treatment"),
            subgroups=tuple(dict.fromkeys(listed_names(subgroups, "subgroups"))),
            index_columns=listed_names(index_columns, "index_columns"),
            alphas=levels_of(alphas),
            **options,
        )

    @classmethod
    def of_formula(cls, formula: str) -> dict[str, Any]:
        """Return outcomes and treatment columns of ``y1 + y2 ~ arm1 + arm2``."""
        parsed = parse(formula)
        terms = [term[0] for term in parsed.terms if len(term) == 1 and term[0].kind == "name"]
        if len(terms) != len(parsed.terms) or not terms or not parsed.intercept:
            raise FormulaError(
                f"{formula!r} has other terms than arms on its right; a private effect is a "
                "difference in means: name only the 0/1 columns of the arms"
            )
        if any(factor.kind != "name" for factor in parsed.outcomes) or not parsed.outcomes:
            raise FormulaError(
                f"{formula!r} has no plain outcome on its left; declare a derived column with its "
                "own bounds and name it"
            )
        outcomes = dict.fromkeys(factor.names[0] for factor in parsed.outcomes)
        return {"outcome": tuple(outcomes), "treatment": tuple(f.names[0] for f in terms)}

    def protects(self, schema: Schema) -> Unit:
        """Return who is protected: a whole cluster, where that was asked for."""
        largest = self.design.cluster_facts.largest
        if self.privacy_unit != "cluster" or largest is None:
            return schema.unit
        return cluster_unit(self.design, largest)

    @cached_property
    def design(self) -> Design:
        """How treatment was assigned."""
        return design_of(self.treatment, self.assignment)

    @property
    def design_columns(self) -> tuple[str, ...]:
        """Treatment, blocks and clusters."""
        return tuple(dict.fromkeys([*self.design.columns, *self.design.uses]))

    def charged_as(self, budget: Budget) -> str:
        """Name of the release in a ledger: with a delta it is another one."""
        return joint.METHOD if budget.delta else self.method

    @property
    def columns(self) -> tuple[str, ...]:
        """Outcomes, columns of the design, subgroups, and covariates of an index."""
        also = (*self.subgroups, *covariate_names(self.index, self.index_columns))
        return tuple(dict.fromkeys([*self.outcome, *self.design_columns, *also]))

    @property
    def treatment_private(self) -> bool:
        """Whether who is in which arm is protected."""
        return self.neighbors == "replace-one"

    def counting(self, schema: Schema) -> Counting:
        """Return the combinations of public columns, and who has a value where that is public."""
        public = [c.name for c in self.outcome_columns(schema)
                  if policy_of(c) == "public"]  # fmt: skip
        keys = () if self.treatment_private else self.design_columns
        return Counting({name: nw.col(name) for name in keys}, tuple(public))

    def checks(self, facts: Facts) -> Iterator[Callable[[], object]]:
        """Yield what must hold of options, design and columns, whatever the rows are."""
        schema = facts.schema
        yield lambda: distinct_names(self.outcome, "outcome")
        yield lambda: check_relation(self.neighbors)
        yield lambda: check_one_row(schema, self.protects(schema))
        yield lambda: check_sample(schema)
        yield lambda: self.outcome_columns(schema)
        # one by one, too: a study lists what is open of all outcomes
        yield from (partial(self._bounded, schema, name) for name in self.outcome)
        yield self.comparison
        yield lambda: self.design.groups.check_levels(schema)
        yield lambda: check_rules(self.design.cluster_facts, self.outcome, self.privacy_unit)
        yield from (partial(schema.column, name) for name in self.design.cluster_facts.outcomes)
        yield lambda: self._check_private(schema)
        before = (*self.subgroups, *covariate_names(self.index, self.index_columns))
        yield lambda: check_fixed_before(schema, before, self.design.columns)
        yield self.contrasts
        yield self._check_roles
        yield self.shares
        yield from (partial(self._check_policy, schema, name) for name in self.outcome)
        if self.subgroups:
            yield lambda: joint.check_within(
                self.subgroups, schema, self.design, self.blocks, self.outcome,
                hidden=self.treatment_private,
            )  # fmt: skip
        yield lambda: levels_of(self.alphas)
        yield lambda: self._check_indexes(schema)

    def outcome_columns(self, schema: Schema) -> tuple[Column, ...]:
        """Return the outcomes, with bounds."""
        if not self.outcome:
            raise ParameterError("``outcome=`` names no column; name one or several")
        return tuple(self._bounded(schema, name) for name in self.outcome)

    def comparison(self) -> Comparison:
        """Return which groups are compared, by the design alone."""
        return compared(
            self.treatment, self.assignment, control=self.control,
            blocks="ignore" if self.treatment_private else self.blocks,
            privacy_unit=self.privacy_unit,
        )  # fmt: skip

    def contrasts(self) -> tuple[Contrast, ...]:
        """Return which effects are reported."""
        groups = self.comparison()
        return contrasts_of(self.effects, groups.design, groups.order, groups.arms)

    def cells(self, schema: Schema) -> tuple[Column, ...]:
        """Return the subgroups that make private cells."""
        if not self.subgroups:
            return ()
        names = joint.private_names(self.subgroups, self.design, hidden=self.treatment_private)
        return tuple(schema.column(name) for name in names)

    def shares(self) -> dict[str, Fraction]:
        """Return the share of the budget that each outcome has."""
        return split(self.budget_shares, dict.fromkeys(self.outcome, 1))

    def indexes(self, schema: Schema) -> dict[str, Index]:
        """Return the index of each outcome that has one."""
        return indexes_of(
            self.index, self.index_bounds, self.index_columns, self.outcome, self.design, schema
        )

    def _check_indexes(self, schema: Schema) -> None:
        for index in self.indexes(schema).values():
            index.check(schema)

    def _check_private(self, schema: Schema) -> None:
        if not self.treatment_private:
            return
        check_hidden(self.assignment, schema)
        for name in self.design.columns:
            check_own(schema.column(name))

    def _check_roles(self) -> None:
        both = [name for name in self.outcome if name in self.design_columns]
        if both:
            raise ParameterError(
                f"{both[0]!r} is an outcome and part of the design; an outcome is what the "
                "treatment may have changed"
            )

    def _bounded(self, schema: Schema, name: str) -> Column:
        return with_bounds(schema.column(name))

    def _check_policy(self, schema: Schema, name: str) -> None:
        column = self._bounded(schema, name)
        policy = policy_of(column)
        if policy == "private" and self.treatment_private:
            raise ParameterError(
                f"``missing_policy='private'`` of {column.name!r} needs public arm sizes, and "
                "with ``neighbors='replace-one'`` treatment is private; give a number that stands "
                "for a missing value"
            )
        if policy == "private" and clusters_of(self.design):
            raise uncountable(column)

    def guesses(self, facts: Facts) -> Iterator[ATEFacts]:
        """Yield an experiment of this design whose groups are all of the same size.

        What a budget buys depends on sizes of arms in no way that could refuse it.
        """
        groups, shares = self.comparison(), self.shares()
        outcomes: list[AnyOutcome] = []
        indexes = self.indexes(facts.schema)
        for column in self.outcome_columns(facts.schema):
            policy, share = policy_of(column), shares[column.name]
            fill = policy if isinstance(policy, float) else None
            known: AnyOutcome
            if self.treatment_private:
                hidden = hidden_arms(groups.design, groups.order, facts.n)
                known = HiddenOutcome(column, hidden, share, fill, policy == "public")
            else:
                arms = likely_arms(groups, facts.n)
                known = Outcome(column, arms, share, fill, policy == "public")
                if policy == "private":
                    if blocks_of(groups.design, self.blocks):
                        raise uncountable(column)
                    known = CountedOutcome(column, arms, share)
            outcomes.append(self.declared(narrowed(known, indexes.get(column.name))))
        yield ATEFacts(
            schema=facts.schema, n=facts.n, comparison=groups, contrasts=self.contrasts(),
            outcomes=together(outcomes), indexes=indexes,
            subgroups=self.subgroups,
            private_subgroups=self.cells(facts.schema),
        )  # fmt: skip

    def declared(self, outcome: AnyOutcome) -> AnyOutcome:
        """Return an outcome that knows what is declared of its clusters."""
        if not isinstance(outcome, Outcome):
            return outcome
        facts = self.design.cluster_facts
        return replace(outcome, arms=ruled(outcome.arms, outcome.column, facts, self.outcome))

    def _check_pure(self) -> None:
        """Refuse options of the joint release where there is none."""
        if self.subgroups:
            raise ParameterError(
                f"``subgroups={list(self.subgroups)}`` need the joint release, whose cells are "
                "free, and that needs delta above 0; give delta, or leave ``subgroups=`` out"
            )

    def allocation(self, facts: ATEFacts, budget: Budget) -> Allocation:
        """Return the mechanisms of every outcome; with a delta, the one of all of them."""
        if not budget.delta:
            self._check_pure()
            return allocated(facts.outcomes, budget)
        refused = self.not_joint(facts)
        if refused is not None:
            raise refused
        groups = joint.groups(facts.outcomes) * facts.inner
        check_count(facts.outcomes, groups, MOST_NUMBERS)
        return allocation_of(self.layout(facts).grid, groups, budget)

    def not_joint(self, facts: ATEFacts) -> ParameterError | None:
        """Return why a delta buys no joint release of these outcomes; None where it does."""
        clustered = bool(clusters_of(self.design))
        try:
            joint.check_joint(
                facts.outcomes, self.budget_shares, clustered, facts.n, facts.private_subgroups,
                self.subgroups,
            )  # fmt: skip
        except ParameterError as refused:
            return refused
        return None

    def prefers_joint(self, facts: ATEFacts, budget: Budget) -> bool:
        """Whether a budget with a delta finds most effects better than its epsilon alone does."""
        try:
            allocation = self.allocation(facts, budget)
        except ParameterError:  # no sampler reaches the scale
            return False
        return joint_is_better(facts, self.layout(facts), allocation, self.alphas)

    def layout(self, facts: ATEFacts) -> Layout:
        """Return where the release that a delta buys puts its noise."""
        return joint.layout(facts.outcomes, cells=bool(facts.private_subgroups))

    def guarantee(self, facts: ATEFacts, allocation: Allocation) -> Guarantee:
        """Return what a fit promises."""
        return promise_of(allocation.budget, facts, jointly=bool(allocation.budget.delta))

    def plan(self, facts: ATEFacts, allocation: Allocation) -> Plan:
        """Return prices, noise and expected standard errors."""
        budget = allocation.budget
        method = self.charged_as(budget)
        return Plan(method, budget, partial(self._contents, facts, allocation))

    def _contents(self, facts: ATEFacts, allocation: Allocation) -> Contents:
        if allocation.budget.delta:
            return planned_jointly(facts, self.layout(facts), allocation, self.alphas)
        return planned(facts, allocation.budget, self.alphas)

    def power(self, facts: ATEFacts, allocation: Allocation) -> pd.DataFrame:
        """Return expected errors, noise and detectable effects as a table."""
        if allocation.budget.delta:
            return power_jointly(facts, self.layout(facts), allocation, self.alphas)
        return power_alone(facts, allocation.budget.epsilon, self.alphas)


def public_facts(spec: ATESpec, known: Facts, table: BoundTable) -> tuple[ATEFacts, BoundTable]:
    """What is public of an experiment, and its table, less an index where there is one."""
    schema, shares, groups = known.schema, spec.shares(), spec.comparison()
    columns = spec.outcome_columns(schema)
    outcomes: list[AnyOutcome] = []
    if spec.treatment_private:
        arms = hidden_arms(groups.design, groups.order, table.n)
        outcomes += [
            hidden_outcome_of(table, column, arms, shares[column.name]) for column in columns
        ]
    else:
        groups = experiment = experiment_of(
            table.held, spec.treatment, spec.assignment, control=spec.control,
            blocks=spec.blocks, privacy_unit=spec.privacy_unit, attrition=spec.attrition,
            counted=table.counted,
        )  # fmt: skip
        outcomes += [
            outcome_of(table, column, experiment, shares[column.name]) for column in columns
        ]
    indexes = spec.indexes(schema)
    adapted: Sequence[AnyOutcome] = outcomes
    if indexes:
        frame, adapted = adjusted(table.frame, outcomes, indexes, schema)
        table = table.with_frame(frame)
    adapted = together(tuple(map(spec.declared, adapted)))
    facts = ATEFacts(
        schema=schema, n=known.n, comparison=groups, contrasts=spec.contrasts(), outcomes=adapted,
        indexes=indexes, subgroups=spec.subgroups, private_subgroups=spec.cells(schema),
    )  # fmt: skip
    return facts, table


AnyDrawn = tuple[Released, ...] | DrawnMoments


class PrivateATE(Model[ATESpec, ATEFacts, AnyDrawn, PrivateATEResults | EffectResults]):
    """Average treatment effects of an experiment, under differential privacy.

    Parameters
    ----------
    data : data frame
        Table of n rows in pandas, Polars (eager or lazy), DuckDB or PySpark, that fits ``schema``.
        If it lives in an engine, its rows stay there; only counts of the public combinations of
        treatment, blocks and clusters, and the sums that are released, leave it.
    schema : Schema
        Public facts.  Every outcome needs bounds or levels, and a ``missing_policy`` if it may be
        missing: ``"public"`` takes it as public whose outcome is missing, and estimates the effect
        among the others; ``"private"`` estimates the same effect and protects whose outcome is
        missing, so that the number of observed outcomes is noisy; a number replaces missing
        outcomes, which changes the estimand.  Its ``sd`` is used by :meth:`plan` and
        :meth:`power`, which take the largest that the bounds allow where none is declared.  With
        ``delta`` it also decides how the noise is divided among outcomes.
    outcome : str or sequence of str
        One or more outcome columns.  The noise of several outcomes is drawn jointly, and is
        smaller than with a share of epsilon for each (:class:`~dprct.privacy.CubeNoise`).
    treatment : str or sequence of str, optional
        0/1 treatment columns.  Rows with all zeros form the control group.
    assignment : Design, optional
        How treatment was assigned.  By default, complete randomisation of rows.  Facts about
        clusters (``largest``, ``icc``, ``cluster_mean_bounds``) are declared with the design.
    control : str or float, optional
        The arm to compare the others with, if the design assigns every row to an arm.
    budget_shares : mapping from outcome to number, optional
        Shares of the budget, which sum to one: outcomes with unequal shares have Laplace noise,
        each at its own.  By default, equal shares.
    subgroups : sequence of str, optional
        Columns with levels, within which a fit with ``delta`` also gives effects (``by`` of the
        result).  Blocks of the design are public groups; other columns are private, and the number
        of people in each cell is released at no extra cost.  The noise of effects on everybody
        grows with the square root of the number of cells of an arm.
    effects : {"arms", "main", "factorial"}
        ``"arms"`` compares each arm with control.  For a :class:`~dprct.Factorial` design,
        ``"main"`` gives the main effect of every factor, averaged over the other factors, and
        ``"factorial"`` adds all interactions.
    blocks : {"weight", "ignore"} or mapping from block to name of a pool
        ``"weight"`` averages the effects within blocks, weighted by block size.  ``"ignore"``
        leaves blocks out of the estimate; this is conservative if treatment shares are the same in
        every block, and refused otherwise.  A mapping pools blocks in which an arm has fewer than
        two people with others that have the same shares, and weights the rest.
    privacy_unit : {"person", "cluster"}
        Who is protected if whole clusters were assigned: a person, or a cluster with everybody in
        it, of which the design then needs the ``largest`` size.
    index : callable, str, path, or mapping from outcome to these, optional
        A public prediction g0(X) of the outcome.  The method works with the outcome minus g0(X),
        clipped to ``index_bounds``; narrower bounds mean less noise.  Give a function of a data
        frame of ``index_columns`` that computes each row from that row alone; a formula with fixed
        coefficients, ``"12 + 30*age"``; or the file of a public pilot, on which the outcome is
        regressed on ``index_columns``.
    index_columns : sequence of str, optional
        Covariates of the function or the pilot regression.  They stay private.
    index_bounds : (low, high), or mapping from outcome to such, optional
        Bounds of the outcome minus its index, from public knowledge; required with ``index``.
    alphas : sequence of float
        Test sizes at which ``params -+ z bse`` is a valid interval.
    attrition : bool
        Whether rows were lost after the assignment.  If so, arm sizes need not match the shares.
    neighbors : {"replace-one-design-public", "replace-one"}
        Which data sets are neighbours.  By default, treatment is public.  With ``"replace-one"`` it
        is private too: instead of the arm sizes, the probabilities declared by ``assignment`` are
        public, which must be the same for everybody, without clusters.  Blocks are not used, and
        the realised assignment is not compared with the design, because the outcome of that check
        would reveal treatment.  Instead, the schema must rule out rows that belong to no group,
        through the levels of the treatment columns and, for several arms, ``exclusive=``.

    Raises
    ------
    SchemaError, ColumnError, ParameterError
        If a public fact is missing, or data, schema and design contradict each other.  Nothing is
        spent.

    Notes
    -----
    Relation: one person's outcomes and covariates are replaced by any others.  The number of rows
    n, treatment, arm sizes, blocks and declared missingness are public.  With two arms, ``tau +
    Laplace(b)`` is released, b = w / (min(n1, n0) .67 epsilon) for bounds of width w, and V +
    Laplace(b_V), b_V = w^2 / (min(n1, n0)^2 .28 epsilon); the control mean takes the remaining .05
    of epsilon.  With more arms, the mean and the variance of every arm are released, at .7 and .3
    of epsilon; arms hold different people, so they do not add up.  Noise of several outcomes is
    drawn together at the whole epsilon, with a density of exp(-epsilon max_j |x_j| / D_j): its
    standard deviation is 1.64 times smaller for three and 2.07 times for eight than that of a
    Laplace draw for each, and c is that of its law.  Clusters raise b_V, and divide
    epsilon by public facts (docs/methods.md, section 3).  Intervals are quantiles of N(0,
    V~) + Laplace, where V~ = max(0, V + Laplace + c b_V), and c is chosen so that they cover
    whatever V is.  Main effects, interactions and :meth:`PrivateATEResults.contrast` are
    post-processing of arm means, with one Laplace draw per arm.  With an index, row i enters as
    clip(y_i - g0(x_i)), a function of record i alone.  The sensitivities are therefore those of
    ``index_bounds``, although covariates are private too (:mod:`dprct.queries.covariates`). If
    nothing is clipped, the estimand is the same.

    With ``delta`` above 0 all outcomes and arms are released at once, with Gaussian noise on their
    first and second moments (:class:`~dprct.PrivateMoments` has the proof): noise grows with the
    square root of the number of outcomes, and the result has their joint covariance.  :meth:`plan`
    says which of the two is more precise.  Treatment can then be private at almost no cost, since
    arm sizes are part of the same release.  Assigned clusters need ``icc``.  What only the release
    without ``delta`` can use (``budget_shares``, ``cluster_mean_bounds``,
    ``missing_policy="private"``) is refused.

    Under ``"replace-one"`` without ``delta`` the estimate is a centred Horvitz-Thompson mean
    (:class:`~dprct.estimate.ate.release.HiddenOutcome`), with ``missing_policy="private"`` a ratio
    of noisy sums (:class:`~dprct.estimate.ate.release.CountedOutcome`).

    The estimand is the effect on the **clipped** outcome.  As for every z-interval, the difference
    in means is assumed to be approximately normal.

    Examples
    --------
    >>> import pandas as pd
    >>> from dprct.schema import Column, Schema
    >>> schema = Schema((Column("y", bounds=(0, 1), missing=()), Column("t", "byte")))
    >>> data = pd.DataFrame({"y": [0.0, 1.0, 1.0, 1.0] * 500, "t": [0.0, 1.0] * 1000})
    >>> model = PrivateATE.from_formula("y ~ t", data, schema)
    >>> result = model.fit(epsilon=1)
    >>> bool(0.3 < result.params["t"] < 0.7), result.guarantee.relation
    (True, 'replace-one-design-public')
    """

    saved_types = (Released, NoisyEffect, NoisyMean, NoisyVariance, DrawnMoments)

    @checked
    def __init__(
        self,
        data: Any,
        schema: Schema,
        *,
        outcome: str | Sequence[str],
        treatment: str | Sequence[str] | None = None,
        assignment: Design | None = None,
        control: Level | None = None,
        budget_shares: Mapping[str, Real] | None = None,
        subgroups: Sequence[str] = (),
        effects: EffectRule = "arms",
        blocks: BlockRule = "weight",
        privacy_unit: UnitRule = "person",
        index: IndexRule | Mapping[str, IndexRule] | None = None,
        index_columns: Sequence[str] = (),
        index_bounds: Bounds | Mapping[str, Bounds] | None = None,
        alphas: Sequence[float] = VALID_LEVELS,
        attrition: bool = False,
        neighbors: str = "replace-one-design-public",
    ) -> None:
        spec = ATESpec.of(
            outcome=outcome, treatment=treatment, assignment=assignment, control=control,
            budget_shares=budget_shares, subgroups=subgroups, effects=effects,
            blocks=blocks, privacy_unit=privacy_unit, index=index, index_columns=index_columns,
            index_bounds=index_bounds, alphas=alphas, attrition=attrition, neighbors=neighbors,
        )  # fmt: skip
        known = self._bind(spec, data, schema)
        self.facts, self._table = public_facts(spec, known, self._table)

    @classmethod
    def from_formula(cls, formula: str, data: Any, schema: Schema, **options: Any) -> Self:
        """Return the model of ``"y1 + y2 ~ t1 + t2"``; other arguments as for the class.

        Raises
        ------
        FormulaError
            If it names anything but outcomes and 0/1 treatment columns.
        """
        check_not_named(options, ("outcome",))
        return cls(data, schema, **{**ATESpec.of_formula(formula), **options})

    def power(self, epsilon: Real, delta: Real = 0) -> pd.DataFrame:
        """Return expected errors, noise and detectable effects; free, from public facts alone.

        Parameters
        ----------
        epsilon : number
            Above 0.
        delta : number, default 0
            0 is pure differential privacy; above 0, all outcomes are one Gaussian release.

        Returns
        -------
        DataFrame
            One row per outcome and effect; :func:`dprct.estimate.ate.plan.power_table` explains the
            columns.
        """
        return self.spec.power(self.facts, self._allocated(Budget.asked(epsilon, delta)))

    def _allocated(self, budget: Budget) -> Allocation:
        if budget.delta:
            self.facts = joint.with_pairs(self.facts, self._table)
        return super()._allocated(budget)

    def _asked(self, allocation: Allocation) -> Callable[[NoiseSource], AnyDrawn]:
        if not self._table.in_engine:
            return super()._asked(allocation)
        if allocation.budget.delta:
            sums: Any = joint.sums_jointly(self.spec.layout(self.facts), self.facts, self._table)
        else:
            sums = sums_of(self.facts.outcomes, self._table)
        return lambda noise: self._draw(allocation, noise, sums)

    def _draw(self, allocation: Allocation, noise: NoiseSource, sums: Any = None) -> AnyDrawn:
        if allocation.budget.delta:
            layout = self.spec.layout(self.facts)
            return joint.drawn_jointly(layout, self.facts, self._table, allocation, noise, sums)
        assert isinstance(allocation, ATEAllocation)
        return released(self.facts.outcomes, allocation, self._table, noise, sums)

    def _read(self, drawn: AnyDrawn, paid: Paid) -> PrivateATEResults | EffectResults:
        said = self.spec.alphas, paid.guarantee, paid.ledger
        if isinstance(drawn, DrawnMoments):
            layout = self.spec.layout(self.facts)
            return joint.results(drawn, self.facts, layout, *said)
        return results_of(drawn, self.facts, *said)

    def __repr__(self) -> str:
        names = ", ".join(self.spec.outcome)
        return f"PrivateATE(n={self.n}, outcome: {names}, arms: {', '.join(self.facts.arms)})"


def check_relation(neighbors: object) -> None:
    """Refuse a relation that effects are not offered under."""
    allowed = ("replace-one", "replace-one-design-public")
    if not isinstance(neighbors, str) or neighbors not in allowed:
        raise ParameterError(
            f"``neighbors={given(neighbors)}``; allowed: 'replace-one-design-public' (treatment is "
            "public), 'replace-one' (treatment is private too)"
        )


def check_one_row(schema: Schema, protected: Unit) -> None:
    """Refuse a file in which one person has several rows, unless whole clusters are the unit."""
    unit = schema.unit
    if unit.max_rows > 1 and (protected is unit or protected.id != unit.id):
        raise SchemaError(
            f"one {unit.name} has several rows; give one row per {unit.name}, declare a design of "
            f"clusters of {unit.id!r} with ``largest={unit.max_rows}`` and "
            "``privacy_unit='cluster'``, or take ``PrivateMoments`` with ``cov_type='CR1'``"
        )
