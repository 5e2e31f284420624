"""Calibrated: a synthetic file on which the unchanged regression returns the private effects."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd

from dprct.assignment.units import units_of
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
from dprct.privacy.allocation import Allocation
from dprct.privacy.budget import Budget
from dprct.privacy.noise import source
from dprct.queries import observed
from dprct.release.base import Release, released
from dprct.release.calibration import Calibration
from dprct.release.covariates import covariates_of
from dprct.release.keys import key_limits
from dprct.release.layout import Layout, prepared_schema
from dprct.release.model import ReleaseFacts, ReleaseModel, ReleaseSpec, fated, modelled
from dprct.release.outcomes import Target, check_room, targets_of
from dprct.release.public_rows import PublicRows
from dprct.release.regressions import (
    arm_terms,
    check_arms,
    check_options,
    check_slopes,
    cluster_column,
    regressions_of,
    split,
    treatment_of,
)
from dprct.release.shares import division, plan_of, share_of
from dprct.release.slopes import Slopes
from dprct.schema.arguments import check_choice, listed_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from dprct.assignment.base import Design
    from dprct.estimate.ate import ATEFacts, ATESpec
    from dprct.privacy.budget import Real
    from dprct.privacy.guarantee import Guarantee
    from dprct.privacy.mechanisms import Mechanism
    from dprct.privacy.noise import NoiseSource
    from dprct.release.covariates import Covariates, Rule
    from dprct.release.covariates import Drawn as DrawnCovariates
    from dprct.release.regressions import Regressions
    from dprct.release.shares import Division, Wanted
    from dprct.results.plan import Plan
    from dprct.schema.facts import Unit
    from dprct.schema.schema import Schema

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
    covariates, share, legal, gamma
        As for :class:`Calibrated`.
    """

    method: ClassVar[str] = (
        "Calibrated (private effects; synthetic covariates; ALGORITHMS.md, section 4)"
    )

    renamed: ClassVar[Mapping[str, str]] = {"weights": "budget_shares", "unit": "privacy_unit"}

    effects: ATESpec
    covariates: Wanted = "auto"
    share: Fraction = COVARIATE_SHARE
    legal: Legal = "calibrated"
    gamma: Gamma = "zero"

    def allocation(self, facts: CalibratedFacts, budget: Budget) -> CalibratedAllocation:
        """Return the mechanisms, each calibrated to all rows of one protected unit."""
        moments = MOMENT_SHARE if self.gamma == "moments" else Fraction(0)
        part = division(budget, self.share, self.covariates, facts.covariates, moments)
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
    """Release a synthetic file on which the reader's own regression returns private effects.

    Parameters
    ----------
    data : data frame
        pandas, Polars (eager or lazy), DuckDB or PySpark, n rows, legal in ``schema``.  Of an
        engine, columns of the design and other public ones are read into memory.
    schema : Schema
        With a fate for every column, bounds or levels and a missing policy for outcomes and
        covariates.
    outcome : str or sequence of str
        Several outcomes divide the budget.
    treatment : str or sequence of str, optional
        The 0/1 columns of the arms; who is in none is a control.
    terms : sequence of str
        Covariate terms of the regression, such as ``["age", "C(block)"]``.
    assignment : Design, optional
        How treatment was assigned; complete randomisation of rows if not given.
    covariates : {"auto", "histogram", "marginals", "filler"}
        How the modelled covariates are drawn.  ``"auto"`` spends on them only where they will
        resemble the originals (:func:`dprct.defaults.resembles_jointly`), and fills them else.
    specifications : sequence of str or of sequences of str
        Further covariate sets for which the file is calibrated; ``""`` is none.
    share : number, optional
        Share of epsilon for covariates that are drawn; a fifth if not given.
    levels : sequence of float
        Sizes of tests at which ``coefficient -+ z error`` is to be valid.
    legal : {"calibrated", "strict"}
        Outcomes are real numbers, stored as double; or they are rounded and clipped to legal
        values, which breaks the calibration by what the release then reports.
    gamma : {"zero", "moments"}
        Whether outcomes move with covariates: not at all, or by coefficients from noisy moments,
        which take a fifth of epsilon and need a delta; they make the file look like the original
        and buy the effects nothing.
    keep : iterable of str
        Characteristics to keep besides the allow-list.
    **options
        Of :class:`dprct.PrivateATE`: ``budget_shares``, ``missing``, ``blocks``, ``privacy_unit``,
        ``sd``, ``control``, ``largest_cluster``, ``attrition``.

    Raises
    ------
    SchemaError, ColumnError, ParameterError, FormulaError
        If a public fact is missing, the data break one, or the regression cannot be calibrated.

    Notes
    -----
    Relation: replace-one with the design public; the price is that of the covariates (their
    histogram, replace-one) plus that of the effects (and of the moments, with
    ``gamma="moments"``), by sequential composition.  Everything else is post-processing: with
    ``W = [T, 1, X]``, ``y = m_0 + sum_j tau_j T_j + e``, where e is orthogonal to W and makes the
    HC1 errors (CR1 where clusters were assigned) equal to those of the released effects, sampling
    and privacy noise together.

    With ``missing="private"`` the rows with a value are drawn at random within arms, as many as
    the released noisy counts say, and enough for the declared regressions: also post-processing.
    Columns of the design are written as they are; a design whose column has another declared fate
    than ``"public"`` is refused.

    Only the treatment coefficients of the declared regressions carry information.  Coefficients
    of covariates, R-squared, subgroups and interactions are artefacts.

    References
    ----------
    ALGORITHMS.md, section 4, "Calibrated release".

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

    def __init__(
        self,
        data: Any,
        schema: Schema,
        *,
        outcome: str | Sequence[str],
        treatment: str | Sequence[str] | None = None,
        terms: Sequence[str] = (),
        assignment: Design | None = None,
        covariates: Rule | Literal["auto"] = "auto",
        specifications: Iterable[str | Sequence[str]] = (),
        share: Real | None = None,
        levels: Sequence[float] = VALID_LEVELS,
        legal: Legal = "calibrated",
        gamma: Gamma = "zero",
        keep: Iterable[str] = (),
        **options: Any,
    ) -> None:
        check_choice("covariates", covariates, ("auto", "histogram", "marginals", "filler"))
        check_choice("legal", legal, ("calibrated", "strict"))
        check_choice("gamma", gamma, ("zero", "moments"))
        check_options(options)
        names = tuple(dict.fromkeys(listed_names(outcome, "outcome")))
        if options.get("neighbors") == "replace-one":
            raise ParameterError(
                "neighbors='replace-one' is for dprct.PrivateATE; a calibrated file has the true "
                "arm sizes, so that treatment must be public"
            )
        self.ate = PrivateATE(
            data, schema, outcome=names, treatment=treatment, assignment=assignment,
            alphas=levels, **options,
        )  # fmt: skip
        effects = self.ate.facts
        experiment = effects.experiment
        arms = arm_terms(experiment.design, experiment.arms)
        regressions = regressions_of(names, arms, terms, specifications, experiment.design.columns)
        if gamma == "moments":
            check_slopes(regressions)
        self._clusters = cluster_column(experiment.design)
        prepared = prepared_schema(schema, regressions, effects.design_columns)
        spec = CalibratedSpec(
            columns=tuple(modelled(fated(prepared, None))), keep=listed_names(keep, "keep"),
            effects=self.ate.spec, covariates=covariates, share=share_of(share, covariates),
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
            filler=covariates == "filler",
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
        """Calibrate the regression that a formula writes; other arguments as for the class.

        Raises
        ------
        FormulaError
            If it has no plain outcome, no intercept, lacks the treatment or interacts it.
        """
        columns = treatment_of(formula, options.get("treatment"), options.get("assignment"))
        outcomes, arms, terms = split(formula, columns)
        model = cls(
            data, schema, outcome=outcomes, terms=terms, **{**options, "treatment": columns}
        )
        check_arms(arms, model.facts.regressions.arms)
        return model

    def power(self, epsilon: Real, delta: Real = 0) -> pd.DataFrame:
        """Return what the effects can be expected to show, at this budget of the whole release.

        Parameters
        ----------
        epsilon : number
        delta : number, default 0

        Returns
        -------
        DataFrame
            As :meth:`dprct.PrivateATE.power`; ``_half``, ``_double`` and ``equal_epsilon`` suppose
            that the budget is divided in the same way.
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
        return self.facts.layout.announced(replace(made, estimates=estimates), valid)

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
