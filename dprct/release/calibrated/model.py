"""Calibrated: a synthetic file on which the unchanged regression returns the private effects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, get_args

import numpy as np
import pandas as pd

from dprct.arguments import checked
from dprct.assignment.groups import units_of
from dprct.defaults import COVARIATE_SHARE, MOMENT_SHARE, VALID_LEVELS
from dprct.errors import ParameterError
from dprct.estimate.ate import (
    ATEAllocation,
    PrivateATE,
    drawn_of,
    promise_of,
    results_of,
    state_of,
    states_of,
)
from dprct.estimate.ate import released as released_effects
from dprct.privacy.budget import Budget
from dprct.privacy.composition import sequential
from dprct.privacy.mechanisms import Allocation
from dprct.privacy.mechanisms import split as split_budget
from dprct.privacy.noise import source
from dprct.queries.sums import observed
from dprct.release.calibrated.covariates import Slopes, covariates_of, price_of
from dprct.release.calibrated.layout import (
    Layout,
    arm_terms,
    check_arms,
    check_covariates,
    check_options,
    check_slopes,
    cluster_column,
    prepared_schema,
    regressions_of,
    split,
    treatment_of,
)
from dprct.release.calibrated.outcomes import (
    Calibration,
    PublicRows,
    Target,
    check_room,
    reading_of,
    targets_of,
)
from dprct.release.columns import key_limits
from dprct.release.release import (
    Release,
    ReleaseFacts,
    ReleaseModel,
    ReleaseSpec,
    fated,
    modelled,
    released,
)
from dprct.results.plan import Plan
from dprct.schema.arguments import check_choice, listed_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from dprct.assignment.groups import Design
    from dprct.certificate.valid_regressions import Validity
    from dprct.estimate.ate import ATEFacts, ATESpec
    from dprct.privacy.budget import Guarantee, Real
    from dprct.privacy.mechanisms import Mechanism
    from dprct.privacy.noise import NoiseSource
    from dprct.release.calibrated.covariates import Covariates, Rule
    from dprct.release.calibrated.covariates import Drawn as DrawnCovariates
    from dprct.release.calibrated.layout import Regressions
    from dprct.schema.columns import Unit
    from dprct.schema.schema import Schema


Wanted = Literal["auto", "histogram", "marginals", "filler"]


@dataclass(frozen=True, slots=True)
class Division:
    """What each part of a release may spend; the sum is the whole budget.

    Parameters
    ----------
    rule : {"histogram", "marginals", "filler"}
    reason : str
    covariates, effects, slopes : Budget
    """

    rule: Rule
    reason: str
    covariates: Budget
    effects: Budget
    slopes: Budget

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

    Raises
    ------
    ParameterError
        If another part is named, one is missing or not positive, or shares do not add up to one.

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
            f"budget_shares= cannot tell the outcome {both[0]!r} from the part of the budget with "
            "that name; rename the column, or leave budget_shares= out"
        )
    if not isinstance(asked, Mapping) or set(asked) <= set(outcomes):
        return default, split_budget(asked, dict.fromkeys(outcomes, 1))
    found = split_budget(asked, dict.fromkeys((*default, *outcomes), 1))
    left = sum(found[name] for name in outcomes)
    shares = {name: found[name] / left for name in outcomes}
    return {name: found[name] for name in default}, shares


def division(
    budget: Budget, shares: Mapping[str, Fraction], wanted: Wanted, covariates: Covariates
) -> Division:
    """Divide a budget between covariates, moments and effects, by public facts.

    ``shares`` are those of :func:`shares_of`; effects get the rest of epsilon.  Effects are pure,
    so that all of delta goes to the moments if there are some, and else to the covariates.

    Raises
    ------
    ParameterError
        If delta is not 0 and nothing uses it, or 0 and something needs it.
    """
    share, slopes = shares.get(COVARIATES, Fraction(0)), shares.get(MOMENTS, Fraction(0))
    if slopes and not budget.delta:
        raise ParameterError(
            "gamma='moments' is Gaussian noise and needs a delta, far below 1/n; give one, or say "
            "gamma='zero'"
        )
    part = Budget(budget.epsilon * share, 0 if slopes else budget.delta)
    if not covariates.names:
        rule, reason = "filler", "no covariate is modelled"  # type: tuple[Rule, str]
    elif wanted == "auto":
        rule, reason = covariates.chosen(part)
    else:
        rule, reason = wanted, "as asked"
    if rule != "filler":
        of_slopes = Budget(budget.epsilon * slopes, budget.delta if slopes else 0)
        rest = Budget(budget.epsilon * (1 - share - slopes))
        return Division(rule, reason, part, rest, of_slopes)
    if budget.delta:
        raise ParameterError(
            f"delta={float(budget.delta):g}, and nothing of this release uses it (covariates are "
            f"filler: {reason}); leave delta out" + (", and gamma='moments'" if slopes else "")
        )
    return Division(rule, reason, Budget(0), budget, Budget(0))


def plan_of(spec: CalibratedSpec, known: CalibratedFacts, allocation: CalibratedAllocation) -> Plan:
    """Return the plan of a calibrated release."""
    part = allocation.division
    effects = spec.effects.plan(known.effects, allocation.effects)
    facts = {"budget": _budget(part)}
    facts |= {"regressions": "; ".join(known.regressions.formulas())}
    facts |= effects.facts
    facts |= {"covariates": f"{part.rule}: {part.reason}"}
    warnings, refusal = list(effects.warnings), ""
    if part.rule != "filler":
        drawn = known.covariates.plan(part.rule, part.covariates)
        facts |= price_of(drawn, known.covariates.names)
        facts |= {"covariates: price": _price(part)}
        rows = known.covariates.rows
        if rows > 1:
            facts |= {"covariates: price of clusters": f"each row gets 1/{rows} of their epsilon"}
        warnings += drawn.warnings
        refusal = drawn.refusal
    return Plan(
        spec.method,
        part.whole,
        facts,
        (*effects.consequences, *_consequences(spec, known, part)),
        tuple(warnings),
        refusal,
    )


def _budget(part: Division) -> str:
    if part.rule == "filler":
        return f"all of it, {part.effects}, on effects; nothing on covariates"
    slopes = f", {part.slopes} on their coefficients" if part.slopes.epsilon else ""
    return (
        f"{part.effects} on effects (to which the numbers below refer), {part.covariates} on "
        f"covariates{slopes}"
    )


def _price(part: Division) -> str:
    """Return by how much the spending on covariates raises the errors of effects."""
    more = float(part.whole.epsilon / part.effects.epsilon)
    return (
        f"spending nothing on covariates would divide the noise of every effect by {more:.3g}; "
        "they buy no precision, only a file that resembles the original"
    )


def _consequences(spec: CalibratedSpec, known: CalibratedFacts, part: Division) -> tuple[str, ...]:
    filled = "" if part.rule != "filler" or not known.covariates.names else (
        "covariates are filled uniformly over their public domain: they carry no information"
    )  # fmt: skip
    outcomes = ", ".join(known.regressions.outcomes)
    legal = (
        f"{outcomes}: rounded and clipped to legal values, so that regressions return the effects "
        "and errors up to a calibration error that the release reports"
        if spec.legal == "strict"
        else f"{outcomes}: real numbers stored as double, beyond the legal values of the original"
    )
    mine = "covariates buy no precision: their coefficients are zero up to noise and mean nothing"
    if spec.gamma == "moments":
        mine = (
            "covariates buy no precision: their coefficients are shrunk towards zero by the noise, "
            "and the errors printed beside them mean nothing"
        )
    return tuple(line for line in (mine, filled, legal) if line)


Legal = Literal["calibrated", "strict"]
Gamma = Literal["zero", "moments"]


@dataclass(frozen=True, slots=True)
class Drawn:
    """What left the confidential table."""

    rule: Rule
    covariates: DrawnCovariates
    slopes: NDArray[np.float64] | None
    effects: Sequence[Any]
    state: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CalibratedFacts(ReleaseFacts):
    """What is public of an experiment that is released.

    Parameters
    ----------
    effects : ATEFacts
        What is public of the experiment.
    regressions : Regressions
        For which the file is calibrated.
    layout : Layout
    covariates : Covariates
        How covariates may be drawn.
    slopes : Slopes or None
        How outcomes move with covariates, where they do.
    """

    effects: ATEFacts
    regressions: Regressions
    layout: Layout
    covariates: Covariates
    slopes: Slopes | None


@dataclass(frozen=True, kw_only=True)
class CalibratedAllocation(Allocation):
    """The mechanisms of a calibrated release: covariates, effects and moments in sequence.

    Parameters
    ----------
    division : Division
        What each of them may spend, and why.
    """

    division: Division

    @property
    def effects(self) -> ATEAllocation:
        """The mechanisms of the effects."""
        found = self.parts["effects"]
        assert isinstance(found, ATEAllocation)
        return found


@dataclass(frozen=True, kw_only=True)
class CalibratedSpec(ReleaseSpec[CalibratedFacts]):
    """What a calibrated release is asked for: options of :class:`Calibrated`.

    Parameters
    ----------
    effects : ATESpec
        The private effects.
    covariate_release, legal, gamma
        As for :class:`Calibrated`.
    shares : mapping from part to Fraction
        Shares of epsilon of covariates and of moments, where there are some.
    """

    method: ClassVar[str] = "Calibrated (private effects; synthetic covariates)"
    former: ClassVar[tuple[str, ...]] = (
        "Calibrated (private effects; synthetic covariates; ALGORITHMS.md, section 4)",
    )

    renamed: ClassVar[Mapping[str, str]] = {"weights": "budget_shares", "unit": "privacy_unit"}

    effects: ATESpec
    covariate_release: Wanted = "auto"
    shares: Mapping[str, Fraction] = field(default_factory=lambda: {COVARIATES: COVARIATE_SHARE})
    legal: Legal = "calibrated"
    gamma: Gamma = "zero"

    def allocation(self, facts: CalibratedFacts, budget: Budget) -> CalibratedAllocation:
        """Return the mechanisms, each calibrated to all rows of one protected unit."""
        part = division(budget, self.shares, self.covariate_release, facts.covariates)
        parts: dict[str, Mechanism] = {
            "effects": self.effects.allocation(facts.effects, part.effects)
        }
        if part.rule != "filler":
            parts["covariates"] = facts.covariates.allocation(part.rule, part.covariates)
        if facts.slopes is not None:
            parts["moments"] = facts.slopes.allocation(part.slopes)
        return CalibratedAllocation(budget=budget, parts=parts, division=part)

    def promise(self, facts: CalibratedFacts, budget: Budget) -> Guarantee:
        """Return what a release promises: effects and file together."""
        effects = promise_of(budget, facts.effects)
        file = super().promise(facts, budget)
        shown = dict.fromkeys((*effects.public_facts, *file.public_facts))
        hidden = dict.fromkeys((*effects.not_covered, *file.not_covered))
        return replace(effects, public_facts=tuple(shown), not_covered=tuple(hidden))

    def plan(self, facts: CalibratedFacts, allocation: Allocation) -> Plan:
        """Return prices, expected errors and what becomes of the covariates."""
        assert isinstance(allocation, CalibratedAllocation)
        return plan_of(self, facts, allocation)

    def limits(self, facts: CalibratedFacts) -> tuple[str, ...]:
        """Return what the protected file is not good for."""
        return facts.layout.limits(facts.effects.indexes, facts.effects.counted)


class Calibrated(ReleaseModel[CalibratedSpec, CalibratedFacts, Drawn]):
    """A synthetic file on which the authors' own regression returns private treatment effects.

    Parameters
    ----------
    data : data frame
        A table of n rows in pandas, Polars (eager or lazy), DuckDB or PySpark, legal in ``schema``.
        If it lives in an engine, the columns of the design and other public columns are read into
        memory.
    schema : Schema
        Public facts: a fate for every column, and bounds or levels and a policy for missing values
        for outcomes and covariates.
    outcome : str or sequence of str
        One or more outcome columns.  Several outcomes divide the budget among them.
    treatment : str or sequence of str, optional
        0/1 treatment columns.  Rows with all zeros form the control group.
    covariates : sequence of str
        Covariate terms of the regression, such as ``["age", "C(block)"]``.
    assignment : Design, optional
        How treatment was assigned.  By default, complete randomisation of rows.
    covariate_release : {"auto", "histogram", "marginals", "filler"}
        How the modelled covariates are drawn: ``"histogram"`` from their joint histogram,
        ``"marginals"`` column by column, ``"filler"`` uniformly over their public domain, which
        costs nothing.  ``"auto"`` spends budget on them only if they will then resemble the
        originals (:func:`dprct.defaults.resembles_jointly`).
    specifications : sequence of str or of sequences of str
        Further covariate sets for which the regression is to return the same effects; ``""`` is the
        regression without covariates.
    budget_shares : mapping from part to number, optional
        Shares of epsilon, which sum to one: for ``"covariates"`` unless they are filler, for
        ``"moments"`` with ``gamma="moments"``, and for each outcome.  By default, covariates and
        moments get a fifth each, and outcomes divide the rest equally.  A mapping that names the
        outcomes alone divides that rest.  If ``"auto"`` decides against private covariates, their
        share goes to the outcomes.
    alphas : sequence of float
        Test sizes at which ``coefficient -+ z error`` is a valid interval.
    legal : {"calibrated", "strict"}
        With ``"calibrated"``, synthetic outcomes are real numbers, stored as double.  With
        ``"strict"``, they are rounded and clipped to legal values, so that the regression no longer
        returns the private effects exactly; the release reports by how much it differs.
    gamma : {"zero", "moments"}
        Whether synthetic outcomes vary with covariates: not at all, or by coefficients from noisy
        moments.  Moments take a fifth of epsilon and need a delta.  They make the file look more
        like the original, but do not improve the effects.
    keep : iterable of str
        Characteristics of the .dta file to keep in addition to those on the allow-list.
    **options
        Options of :class:`dprct.PrivateATE`: ``missing``, ``blocks``, ``privacy_unit``, ``sd``,
        ``control``, ``largest_cluster``, ``index``, ``index_columns``, ``index_bounds``,
        ``attrition``.

    Raises
    ------
    SchemaError, ColumnError, ParameterError, FormulaError
        If a public fact is missing, the data contradict one, or the regression cannot be made to
        return the effects.  Nothing is spent.

    Notes
    -----
    Relation: replace-one with the design public.  The price of covariates (their histogram,
    replace-one) and that of the effects (and moments, with ``gamma="moments"``) add up by
    sequential composition.  Everything else is post-processing.  With ``W = [T, 1, X]``, outcomes
    are ``y = m_0 + sum_j tau_j T_j + e``, where e is orthogonal to W and makes the HC1 errors (CR1
    if clusters were assigned) equal to those of the released effects, which contain sampling and
    privacy noise.

    With ``missing="private"``, rows with an outcome are drawn at random within arms, as many as the
    released noisy counts say and at least as many as the declared regressions need; this is
    post-processing too.  Columns of the design are written as they are.  A design is refused if the
    declared fate of one of its columns is not ``"public"``.

    Only the treatment coefficients of the declared regressions carry information.  Coefficients of
    covariates, R-squared, subgroup effects and interactions are artefacts.

    References
    ----------
    docs/methods.md, section 5.

    Examples
    --------
    >>> import pandas as pd
    >>> from dprct.schema import Column, Schema
    >>> facts = {"levels": (0.0, 1.0), "missing": ()}
    >>> schema = Schema((Column("y", bounds=(0, 1), missing=()), Column("t", "byte", **facts),
    ...                  Column("old", "byte", **facts)))
    >>> data = pd.DataFrame({"y": [0.0, 1.0, 1.0, 1.0] * 500, "t": [0.0, 1.0] * 1000,
    ...                      "old": [0.0] * 500 + [1.0] * 1500})
    >>> model = Calibrated.from_formula("y ~ t + old", data, schema, treatment="t")
    >>> release = model.fit(epsilon=1)
    >>> from dprct import ols
    >>> fit = ols("y ~ t + old", release.protected, release.schema)
    >>> bool(abs(fit.params["t"] - release.estimates.params["t"]) < 1e-10)
    True
    >>> bool(abs(fit.bse["t"] / release.estimates.bse["t"] - 1) < 1e-10)
    True
    """

    @checked
    def __init__(
        self,
        data: Any,
        schema: Schema,
        *,
        outcome: str | Sequence[str],
        treatment: str | Sequence[str] | None = None,
        covariates: Sequence[str] = (),
        assignment: Design | None = None,
        covariate_release: Rule | Literal["auto"] = "auto",
        specifications: Iterable[str | Sequence[str]] = (),
        budget_shares: Mapping[str, Real] | None = None,
        alphas: Sequence[float] = VALID_LEVELS,
        legal: Legal = "calibrated",
        gamma: Gamma = "zero",
        keep: Iterable[str] = (),
        **options: Any,
    ) -> None:
        check_covariates(covariates)
        check_choice("covariate_release", covariate_release, get_args(Wanted))
        check_choice("legal", legal, ("calibrated", "strict"))
        check_choice("gamma", gamma, ("zero", "moments"))
        check_options(options)
        names = tuple(dict.fromkeys(listed_names(outcome, "outcome")))
        if options.get("neighbors") == "replace-one":
            raise ParameterError(
                "neighbors='replace-one' is for dprct.PrivateATE; a calibrated file has the true "
                "arm sizes, so that treatment must be public"
            )
        shares, by_outcome = shares_of(
            budget_shares, covariate_release, names, moments=gamma == "moments"
        )
        self.ate = PrivateATE(
            data, schema, outcome=names, treatment=treatment, assignment=assignment,
            alphas=alphas, budget_shares=by_outcome, **options,
        )  # fmt: skip
        effects = self.ate.facts
        experiment = effects.experiment
        arms = arm_terms(experiment.design, experiment.arms)
        regressions = regressions_of(
            names, arms, covariates, specifications, experiment.design.columns
        )
        if gamma == "moments":
            check_slopes(regressions)
        self._clusters = cluster_column(experiment.design)
        prepared = prepared_schema(schema, regressions, effects.design_columns)
        spec = CalibratedSpec(
            columns=tuple(modelled(fated(prepared, None))), keep=listed_names(keep, "keep"),
            effects=self.ate.spec, covariate_release=covariate_release, shares=shares,
            legal=legal, gamma=gamma,
        )  # fmt: skip
        present = [o.column for o in effects.outcomes if o.presence_public]
        known, here = self._open(spec, data, prepared, [column.name for column in present])
        self._present = {column.name: observed(here, column) for column in present}
        layout = Layout(known.schema, regressions, legal == "strict")
        drawn = covariates_of(
            self._table.frame,
            layout.covariates,
            layout.complete,
            known.n,
            filler=covariate_release == "filler",
            rows=experiment.largest if experiment.unit == "cluster" else 1,
        )
        layout.check_public(self._public)
        columns = [outcome.column for outcome in effects.outcomes]
        self.facts = CalibratedFacts(
            schema=known.schema, n=known.n, effects=effects, regressions=regressions, layout=layout,
            covariates=drawn, slopes=None if gamma == "zero" else Slopes.of(drawn, columns),
        )  # fmt: skip
        self._valid = self._rehearsed().valid(spec.effects.alphas, subsets=gamma == "zero")

    @classmethod
    def from_formula(cls, formula: str, data: Any, schema: Schema, **options: Any) -> Self:
        """Return the model of ``"y ~ t1 + t2 + x"``; other arguments as for the class.

        Raises
        ------
        FormulaError
            If the outcome is not a column, there is no intercept, or the treatment is absent or
            interacted.
        """
        if "covariates" in options:
            check_covariates(options["covariates"])
            raise ParameterError("covariates= are the terms of the formula; leave covariates= out")
        columns = treatment_of(formula, options.get("treatment"), options.get("assignment"))
        outcomes, arms, terms = split(formula, columns)
        model = cls(
            data, schema, outcome=outcomes, covariates=terms, **{**options, "treatment": columns}
        )
        check_arms(arms, model.facts.regressions.arms)
        return model

    def power(self, epsilon: Real, delta: Real = 0) -> pd.DataFrame:
        """Return expected errors, noise and detectable effects at this budget of the release.

        Parameters
        ----------
        epsilon : number
        delta : number, default 0

        Returns
        -------
        DataFrame
            As :meth:`dprct.PrivateATE.power`. Columns ``_half``, ``_double`` and ``equal_epsilon``
            assume that the budget is divided in the same way.
        """
        allocation = self._allocated(Budget.asked(epsilon, delta))
        assert isinstance(allocation, CalibratedAllocation)
        part = allocation.division
        table = self.ate.power(part.effects.epsilon)
        table["equal_epsilon"] *= float(part.whole.epsilon / part.effects.epsilon)
        return table

    def _unit(self) -> Unit | None:
        return self.facts.effects.experiment.cluster_unit

    def _draw(self, allocation: Allocation, noise: NoiseSource) -> Drawn:
        assert isinstance(allocation, CalibratedAllocation)
        part, facts = allocation.division, self.facts
        state, covariates = facts.covariates.draw(part.rule, part.covariates, noise)
        states: dict[str, Any] = {"covariates": state}
        slopes, rows = None, self.ate._table
        if facts.slopes is not None:
            states["slopes"], slopes = facts.slopes.draw(rows.frame, part.slopes, noise)
        outcomes = facts.effects.outcomes
        effects = released_effects(outcomes, allocation.effects, rows, noise)
        states["effects"] = state_of(outcomes, effects)
        states["drawn"] = {
            "effects": states_of(effects),
            "slopes": None if slopes is None else slopes.tolist(),
        }
        return Drawn(part.rule, covariates, slopes, effects, states)

    def _state(self, drawn: Drawn) -> Mapping[str, Any]:
        return drawn.state

    def _revived(self, state: Mapping[str, Any]) -> Drawn:
        drawn, rule = state["drawn"], state["covariates"]["rule"]
        slopes = None if drawn["slopes"] is None else np.array(drawn["slopes"], np.float64)
        covariates = self.facts.covariates.revived(state["covariates"])
        effects = drawn_of(self.facts.effects.outcomes, drawn["effects"])
        return Drawn(rule, covariates, slopes, effects, state)

    def _columns(self, drawn: Drawn, noise: NoiseSource) -> Mapping[str, NDArray[Any]]:
        """Return the synthetic covariates, by post-processing."""
        return self.facts.covariates.columns(drawn.covariates, noise.post_processing_rng())

    def _read(
        self,
        drawn: Drawn,
        plan: Plan,
        allocation: Allocation,
        guarantee: Guarantee,
        ledger: str,
        noise: NoiseSource,
    ) -> Release:
        rng = noise.post_processing_rng()
        estimates = results_of(
            drawn.effects, self.facts.effects, self.spec.effects.alphas, guarantee, ledger
        )
        columns, indices = self._columns(drawn, noise), None
        if self.facts.slopes is not None and drawn.slopes is not None:
            indices = self.facts.slopes.indices(columns, drawn.slopes)
        found = self._calibrated(columns, targets_of(estimates, drawn.effects, indices), rng)
        schema = self.facts.layout.fated(drawn.rule)
        plan = replace(plan, facts={**plan.facts, "calibration": found.words()})
        limits = (*self.spec.limits(self.facts), *key_limits(schema))
        made = released(
            found.table, schema, guarantee, plan, ledger, limits, self.spec.keep, self.ate.schema
        )
        note = f"In the protected file {found.words()}."
        estimates = replace(estimates, notes=(*estimates.notes, note))
        valid = found.valid(self.spec.effects.alphas, subsets=self.spec.gamma == "zero")
        return _announced(replace(made, estimates=estimates), valid, self.facts.layout)

    def _calibrated(
        self,
        columns: Mapping[str, NDArray[Any]],
        targets: Sequence[Target],
        rng: np.random.Generator,
    ) -> Calibration:
        rows = self._rows().shuffled(rng).reassigned(self.facts.effects.experiment.design, rng)
        return Calibration.of(self.facts.layout, columns, rows, targets, self._clusters, rng)

    def _rows(self) -> PublicRows:
        """Return the public facts of the rows, in the order of the file."""
        everybody = np.ones(self.n, bool)
        with_value = [
            self._present.get(outcome.column.name, everybody)
            for outcome in self.facts.effects.outcomes
        ]
        codes, clusters = self._codes()
        return PublicRows(self._public, codes, tuple(with_value), clusters)

    def _codes(self) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
        """Return the arm and, where clusters were assigned, the cluster of every row."""
        experiment = self.facts.effects.experiment
        if experiment.combinations is None:
            return experiment.codes, experiment.units.member if experiment.clustered else None
        rows = pd.DataFrame(
            {name: self._public[name] for name in self.facts.effects.design_columns}
        )
        place = np.empty(len(experiment.order), np.int64)
        place[list(experiment.order)] = np.arange(len(place))
        codes = place[experiment.design.groups.codes(rows)]
        clusters = getattr(experiment.design, "cluster_columns", ())
        return codes, units_of(rows, (), clusters).member if experiment.clustered else None

    def _rehearsed(self) -> Calibration:
        """Construct outcomes once from filler and effects of zero, before a cent is spent.

        What cannot be calibrated (a treatment that covariates explain, no degree of freedom left)
        is refused here, from public facts alone.
        """
        rng = source(None).post_processing_rng()
        effects = len(self.facts.regressions.arms)
        nothing = Target(np.zeros(effects), np.eye(effects), 0.0)
        filler = self.facts.covariates.columns(None, rng)
        found = self._calibrated(filler, [nothing] * len(self.facts.effects.outcomes), rng)
        fewest = min(found.rows)
        check_room(
            self.facts.regressions, found.table, self.facts.layout.schema, self._public, fewest
        )
        return found

    def _announced(self, guarantee: Guarantee) -> Schema:
        """Return the schema that the protected file will have, its longest note included."""
        announced = self.facts.layout.released(super()._announced(guarantee))
        return self._valid.stamped(announced)


def _announced(release: Release, valid: Validity, layout: Layout) -> Release:
    """Return the release with the columns' new facts, and what its readers will find."""
    coded = [c.name for c in layout.outcomes if c.is_integer or c.levels is not None]
    schema = valid.stamped(layout.released(release.schema), coded)
    issued = release.issued
    if issued is not None:
        errors = np.split(release.estimates.bse.to_numpy(), len(valid.outcomes))
        targets = {y: part.tolist() for y, part in zip(valid.outcomes, errors, strict=True)}
        issued = replace(
            issued,
            differences=(*issued.differences, *layout.differences()),
            reading=reading_of(release.protected, schema, valid, targets, layout.schema),
        )
    return replace(release, schema=schema, issued=issued)
