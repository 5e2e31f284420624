"""PrivateATE: effects of an experiment under pure differential privacy, with valid intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import narwhals as nw

from dprct.defaults import VALID_LEVELS
from dprct.errors import FormulaError, LedgerError, ParameterError, SchemaError
from dprct.estimate.base import EstimateModel
from dprct.estimate.contrasts import contrasts_of
from dprct.estimate.counted import CountedOutcome
from dprct.estimate.door import (
    any_table_of,
    check_columns,
    check_outcomes,
    check_relation,
    check_sample,
    hidden_outcome_of,
    levels_of,
    outcome_of,
    sds_of,
    shares_of,
    with_bounds,
)
from dprct.estimate.experiment import compared, experiment_of
from dprct.estimate.hidden import check_hidden, hidden_arms
from dprct.estimate.horvitz import HiddenOutcome
from dprct.estimate.index import adjusted, indexes_of
from dprct.estimate.mechanism import Released, state_of
from dprct.estimate.planning import facts_of, warnings_of
from dprct.estimate.power import power_table
from dprct.estimate.promises import promise_of
from dprct.estimate.reporting import results_of
from dprct.estimate.results import PrivateATEResults
from dprct.estimate.saved import restored, saved
from dprct.formula import parse
from dprct.privacy.budget import Budget
from dprct.results.plan import Plan
from dprct.schema.arguments import check_schema, listed_names
from dprct.schema.legal import validate
from dprct.schema.own import check_own
from dprct.schema.table import check_there, row_count

if TYPE_CHECKING:
    import pandas as pd

    from dprct.assignment.base import Design
    from dprct.assignment.groups import Level
    from dprct.estimate.contrasts import EffectRule
    from dprct.estimate.door import AnyOutcome
    from dprct.estimate.experiment import BlockRule, UnitRule
    from dprct.estimate.index import Bounds, IndexRule
    from dprct.privacy.budget import Real
    from dprct.privacy.guarantee import Guarantee
    from dprct.privacy.noise import NoiseSource
    from dprct.schema.facts import Unit
    from dprct.schema.schema import Schema


class PrivateATE(EstimateModel[Sequence[Released], PrivateATEResults]):
    """Average treatment effects of an experiment, under pure differential privacy.

    Parameters
    ----------
    data : data frame
        pandas, Polars (eager or lazy), DuckDB or PySpark, n rows, legal in ``schema``.  Rows of
        an engine stay there; public combinations of treatment, blocks and clusters are counted.
    schema : Schema
        With bounds (or levels) for every outcome and a missing policy.
    outcome : str or sequence of str
        Several outcomes divide the budget.
    treatment : str or sequence of str, optional
        The 0/1 columns of the arms; who is in none is a control.
    assignment : Design, optional
        How treatment was assigned; complete randomisation of rows if not given.
    control : str or float, optional
        The group to compare with, where the design has no group that is in no arm.
    missing : {"public", "private"}, number, or mapping from outcome to these, optional
        ``"public"``: who has no value is public, as part of the design; effects are among the
        others.  ``"private"``: the same effects, and who has no value is protected: values are
        counted with noise.  A number: what is missing is that number, by declaration; another
        estimand.
        Needed for every outcome that may be missing.
    weights : mapping from outcome to number, optional
        Shares of the budget, of sum one; equal if not given.
    sd : mapping from outcome to number, optional
        Declared standard deviations, for :meth:`plan` only; without, the largest that the bounds
        allow.
    effects : {"arms", "main", "factorial"}
        Each arm against control; or, for a :class:`~dprct.Factorial` design, the main effect of
        every factor, averaged over the others; or these and all interactions.
    blocks : {"weight", "ignore"} or mapping from block to name of a pool
        Average over the blocks of the design by their sizes, or leave them out, which is
        conservative where everybody has the same shares and refused elsewhere.  A mapping pools
        some blocks of the same shares, where an arm has fewer than two people, and weights the
        rest.
    unit : {"person", "cluster"}
        What is protected where clusters were assigned.
    largest_cluster : int, optional
        Most rows that a cluster can have; needed for ``unit="cluster"``.
    index : callable, str, path, or mapping from outcome to these, optional
        A public index g0(X): the outcome less it is clipped to ``index_bounds``, which buys
        narrower bounds.  A function of a data frame of ``index_columns`` that computes each row
        from that row alone; a formula with fixed coefficients, ``"12 + 30*age"``; or the file of a
        public pilot, on which the outcome is fitted to ``index_columns`` by least squares.
    index_columns : sequence of str, optional
        Covariates, for a function or a pilot.  They stay private.
    index_bounds : (low, high), or mapping from outcome to such, optional
        Bounds of the outcome less its index, from public knowledge; needed with ``index``.
    levels : sequence of float
        Sizes of tests at which ``params -+ z bse`` is to be valid.
    attrition : bool
        Rows were lost after the assignment: shares are not held against it.
    neighbors : {"replace-one-design-public", "replace-one"}
        Which data sets are neighbours.  ``"replace-one"``: treatment is private too, and the
        probabilities that ``assignment`` declares are public instead of arm sizes; the same for
        everybody, and no clusters.  Blocks are not used, and the assignment is not held against the
        design, for that would tell of it: the schema must allow only rows that are in a group, by
        the levels of treatment columns and ``exclusive=`` for several arms.

    Raises
    ------
    SchemaError, ColumnError, ParameterError
        If a public fact is missing, or data, schema and design contradict each other.

    Notes
    -----
    Relation: one person's outcomes and covariates are replaced; n, treatment, arm sizes, blocks
    and declared missingness are public.  With two arms, ``tau + Laplace(b)`` is released,
    b = w / (min(n1, n0) .67 epsilon) for bounds w apart, and V + Laplace(b_V),
    b_V = w^2 / (min(n1, n0)^2 .28 epsilon); the control mean takes .05.  With more arms, every arm
    mean and its variance, at .7 and .3, in parallel.  Intervals are quantiles of
    N(0, V~) + Laplace, V~ = max(0, V + Laplace + c b_V), where c makes them cover whatever V is.
    Main effects, interactions and :meth:`PrivateATEResults.contrast` are post-processing of arm
    means, with one Laplace draw per arm.  With an index, row i is clip(y_i - g0(x_i)), a function
    of record i alone, so that sensitivities are those of ``index_bounds`` although covariates are
    private too (:mod:`dprct.queries.residuals`); the effect is the same if nothing is clipped.
    Under ``"replace-one"``: centred Horvitz-Thompson (:mod:`dprct.estimate.horvitz`); with
    ``missing="private"``: ratios of noisy sums (:mod:`dprct.estimate.counted`).
    The estimand is the effect on the **clipped** outcome.  It is assumed that the difference in
    means is about normal, as for every z-interval.

    References
    ----------
    ALGORITHMS.md, section 4.

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

    method = "PrivateATE (Laplace, closed-form intervals)"

    def __init__(
        self,
        data: Any,
        schema: Schema,
        *,
        outcome: str | Sequence[str],
        treatment: str | Sequence[str] | None = None,
        assignment: Design | None = None,
        control: Level | None = None,
        missing: str | float | Mapping[str, str | float] | None = None,
        weights: Mapping[str, Real] | None = None,
        sd: Mapping[str, float] | None = None,
        effects: EffectRule = "arms",
        blocks: BlockRule = "weight",
        unit: UnitRule = "person",
        largest_cluster: int | None = None,
        index: IndexRule | Mapping[str, IndexRule] | None = None,
        index_columns: Sequence[str] = (),
        index_bounds: Bounds | Mapping[str, Bounds] | None = None,
        levels: Sequence[float] = VALID_LEVELS,
        attrition: bool = False,
        neighbors: str = "replace-one-design-public",
    ) -> None:
        check_relation(neighbors)
        check_schema(schema)
        names = tuple(dict.fromkeys(listed_names(outcome, "outcome")))
        treatment = None if treatment is None else listed_names(treatment, "treatment")
        frame = any_table_of(data)
        data = frame if isinstance(frame, nw.LazyFrame) else data
        schema = schema.seal_beside_data()
        if schema.unit.max_rows > 1:
            raise SchemaError(
                f"one {schema.unit.name} has several rows; give one row per {schema.unit.name}, or "
                "assign them as clusters with unit='cluster'"
            )
        check_sample(schema)
        columns = [with_bounds(schema.column(name)) for name in names]
        check_columns(frame, names, treatment, assignment)
        hidden = None
        if neighbors == "replace-one":
            self.compared = compared(
                treatment, assignment, control=control, blocks="ignore", unit=unit,
                largest_cluster=largest_cluster,
            )  # fmt: skip
            check_hidden(assignment, schema)
            for name in self.compared.design.columns:
                check_own(schema.column(name))  # treatment is private, too
            hidden = hidden_arms(self.compared.design, self.compared.order, row_count(frame))
        else:
            self.experiment = self.compared = experiment_of(
                data, treatment, assignment, control=control, blocks=blocks, unit=unit,
                largest_cluster=largest_cluster, attrition=attrition,
            )  # fmt: skip
        design = self.compared.design
        self.contrasts = contrasts_of(effects, design, self.compared.order, self.compared.arms)
        self.design_columns = tuple(dict.fromkeys([*design.columns, *design.uses]))
        both = [name for name in names if name in self.design_columns]
        if both:
            raise ParameterError(
                f"{both[0]!r} is an outcome and part of the design; an outcome is what the "
                "treatment may have changed"
            )
        validate(schema, frame, [*names, *self.design_columns])
        shares = shares_of(weights, names)
        if isinstance(missing, Mapping):
            check_outcomes("missing", missing, names)
        self.outcomes: tuple[AnyOutcome, ...] = tuple(
            outcome_of(frame, column, self.experiment, missing, share)
            if hidden is None
            else hidden_outcome_of(frame, column, hidden, missing, share)
            for column, share in zip(columns, shares, strict=True)
        )
        self.schema, self.n, self.sd = schema, row_count(frame), sds_of(sd, names)
        self.levels = levels_of(levels)
        self.indexes = indexes_of(index, index_bounds, index_columns, names, design, schema)
        self._frame, self.outcomes = adjusted(frame, self.outcomes, self.indexes, schema)

    @classmethod
    def from_formula(cls, formula: str, data: Any, schema: Schema, **options: Any) -> Self:
        """Estimate the effects of the arms that a formula names; other arguments as for the class.

        Raises
        ------
        FormulaError
            If it names anything but outcomes and 0/1 columns of arms.
        """
        parsed = parse(formula)
        terms = [term[0] for term in parsed.terms if len(term) == 1 and term[0].kind == "name"]
        if len(terms) != len(parsed.terms) or not terms or not parsed.intercept:
            raise FormulaError(
                f"{formula!r} has more than arms on its right; a private effect is a difference in "
                "means: name the 0/1 columns of the arms alone"
            )
        if any(factor.kind != "name" for factor in parsed.outcomes) or not parsed.outcomes:
            raise FormulaError(
                f"{formula!r} has no plain outcome on its left; declare a derived column with its "
                "own bounds and name it"
            )
        arms = [factor.names[0] for factor in terms]
        options = {"treatment": arms, **options}
        return cls(data, schema, outcome=[f.names[0] for f in parsed.outcomes], **options)

    @property
    def counted(self) -> tuple[str, ...]:
        """The outcomes of which it is private who has a value, so that values are counted."""
        return tuple(o.column.name for o in self.outcomes if isinstance(o, CountedOutcome))

    def plan(self, epsilon: Real, delta: Real = 0) -> Plan:
        """Return prices, noise and expected standard errors; free, a function of public facts.

        Parameters
        ----------
        epsilon : number
            Above 0.
        delta : number
            0: the noise is pure.
        """
        budget = Budget.asked(epsilon, delta)
        self._check(budget)
        names = self.compared.arms
        facts = {"n": f"{self.n:,} rows", "arms": ", ".join(names)}
        warnings: list[str] = []
        for outcome in self.outcomes:
            sd = self.sd.get(outcome.column.name)
            facts |= facts_of(outcome, names, self.contrasts, budget.epsilon, sd, self.levels)
            warnings += warnings_of(outcome, self.contrasts, budget.epsilon, sd, self.levels)
        facts |= {f"{name}: index": index.said(name) for name, index in self.indexes.items()}
        consequences = (
            f"the estimate is {self._kind()}, not adjusted for covariates"
            + (" except by the public index" if self.indexes else ""),
            "the estimand is the effect on the outcome clipped to its bounds",
        )
        return Plan(self.method, budget, facts, consequences, tuple(warnings))

    def _kind(self) -> str:
        hidden = any(isinstance(outcome, HiddenOutcome) for outcome in self.outcomes)
        return "a centred Horvitz-Thompson mean" if hidden else "a difference in means"

    def power(self, epsilon: Real) -> pd.DataFrame:
        """Return expected errors, noise and detectable effects as a table; free, from public facts.

        Parameters
        ----------
        epsilon : number
            Above 0.

        Returns
        -------
        DataFrame
            One row per outcome and effect; :func:`dprct.estimate.power.power_table` says of what.
        """
        budget = Budget.asked(epsilon)
        self._check(budget)
        return power_table(self.outcomes, self.contrasts, budget.epsilon, self.sd, self.levels)

    def guarantee(self, budget: Budget) -> Guarantee:
        """Return what a fit at this budget promises; free."""
        return promise_of(
            budget,
            self.outcomes,
            self.compared,
            unit=self.schema.unit,
            n=self.n,
            design_columns=self.design_columns,
            indexes=self.indexes,
        )

    @property
    def _unit_of_charge(self) -> Unit | None:
        return self.compared.cluster_unit

    def _check(self, budget: Budget) -> None:
        if budget.delta:
            raise ParameterError(
                "delta is above 0, and PrivateATE draws Laplace noise, which is pure; leave delta "
                "out"
            )
        for outcome in self.outcomes:
            outcome.check(budget.epsilon)
        check_there(self._frame, self.n)  # before anything is charged

    def _draw(self, budget: Budget, noise: NoiseSource) -> list[Released]:
        return [o.release(self._frame, budget.epsilon, noise) for o in self.outcomes]

    def _state(self, found: Sequence[Released]) -> dict[str, Any]:
        return state_of(self.outcomes, found)

    def _saved(self, found: Sequence[Released]) -> list[dict[str, Any]]:
        """Return what was drawn such that :meth:`_revived` brings it back."""
        return [saved(one) for one in found]

    def _revived(self, state: Sequence[Mapping[str, Any]]) -> list[Released]:
        """Return what was drawn from what :meth:`_saved` made of it.

        Raises
        ------
        LedgerError
            If numbers of values are lacking, as in states of releases before they were saved.
        """
        found = [restored(one) for one in state]
        for outcome, one in zip(self.outcomes, found, strict=True):
            if outcome.column.name in self.counted and not one.counts:
                raise LedgerError(
                    "this release was saved before numbers of values were saved with it, and who "
                    f"has a value of {outcome.column.name!r} is private, so that no file can be "
                    "made of it; it is spent, and what is left pays for a new release"
                )
        return found

    def _results(
        self, found: Sequence[Released], guarantee: Guarantee, ledger: str
    ) -> PrivateATEResults:
        return results_of(
            self.outcomes,
            found,
            self.compared.arms,
            self.contrasts,
            self.levels,
            guarantee,
            ledger,
            self.n,
            indexes=self.indexes,
        )

    def __repr__(self) -> str:
        names = ", ".join(outcome.column.name for outcome in self.outcomes)
        return f"PrivateATE(n={self.n}, outcome: {names}, arms: {', '.join(self.compared.arms)})"
