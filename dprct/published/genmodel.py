"""GenModel (dp_rct.txt, Algorithm 3): outcomes from noisy means of simulated regressions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, get_args

import numpy as np
import pandas as pd

from dprct.errors import ParameterError
from dprct.privacy.budget import Budget
from dprct.published.allocation import Allocation, Division
from dprct.published.genmodel_draws import (
    From,
    ReleasedDesign,
    Sanitised,
    Settings,
    Sigma,
    proxies,
    sanitised,
)
from dprct.published.informed import Imputed, InformedSpec, ModelInformed
from dprct.published.karwa_vadhan import SIGMA_BOUNDS, Bins, DPRange, DPVariance
from dprct.results.base import LinearResults
from dprct.schema.validate import check_choice

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dprct.assignment import Design
    from dprct.privacy.allocation import Allocation as Mechanisms
    from dprct.privacy.budget import Real
    from dprct.published.covariates import XMethod
    from dprct.published.informed import InformedFacts, MissingOutcomes, Rows
    from dprct.published.outcomes import OutcomeFit
    from dprct.results.plan import Plan
    from dprct.schema.schema import Schema

REASON = (
    "its noise hides one proxy, per proxy and not per person: every one of the B proxies is "
    "simulated from the confidential fit, so each depends on everybody, and an attack certifies "
    "epsilon >= 6.25 where 0.15 is claimed (Algorithm 3); dprct.Calibrated, of a later version, "
    "releases outcomes with a guarantee per person"
)

_FULLEST = 0.38
"""Share of a normal sample in the fullest bin of one standard deviation."""


@dataclass(frozen=True, kw_only=True)
class GenModelSpec(InformedSpec):
    """What GenModel is asked for: the options of :class:`GenModel`."""

    method: ClassVar[str] = "published.GenModel (dp_rct Algorithm 3, misprints corrected)"

    rule: Allocation
    settings: Settings

    def effects(self, facts: InformedFacts) -> tuple[str, ...]:
        """Return the regressors that a treatment enters."""
        by_term = {
            ":".join(factor.label for factor in term): {n for f in term for n in f.names}
            for term in self.roles.right.terms
        }
        return tuple(
            name
            for name, term in zip(facts.regressors, facts.terms, strict=True)
            if by_term.get(term, set()) & set(self.roles.treatment)
        )

    def divided(
        self, facts: InformedFacts, budget: Budget, names: dict[str, list[str]] | None = None
    ) -> Division:
        """Return what every step gets, of the regressors of each outcome.

        Raises
        ------
        ParameterError, BudgetError
            If the allocation leaves nothing for some step.
        """
        if names is None:
            columns = np.array(facts.regressors)
            names = {fit.outcome: columns[fit.kept].tolist() for fit in facts.fits}
        return self.rule.divide(
            budget,
            list(names),
            self.effects(facts),
            names,
            covariates=bool(facts.covariates.names),
            variance=self.settings.has_private_variance,
        )

    def plan(self, facts: InformedFacts, allocation: Mechanisms) -> Plan:
        """Return how the budget is divided, what is drawn, and what is not promised."""
        parts = self.divided(facts, allocation.budget)
        settings = self.settings
        scale, bins = self.worst(parts)
        first = next(iter(parts.outcomes.values()))
        variance = "confidential"
        if settings.sigma == "private":
            variance = f"private, epsilon={float(3 * first.variance):.3g} in three parts"
        treated = self.effects(facts)
        effects = [c for name, c in first.coefficients.items() if name in treated]
        others = [c for name, c in first.coefficients.items() if name not in treated]
        numbers = {
            "model": self.roles.formula.text,
            "B": f"{settings.B:,} proxies",
            "epsilon": f"{parts.covariates} for X~, {float(first.epsilon):.3g} for every outcome",
            "residual variance": variance,
            "effects": _each(effects),
            "other coefficients": _each(others),
        }
        consequences = (
            "epsilon is the parameter of noise that hides one simulated proxy, not one person",
            "in its worst histogram noise hides the fullest bin with probability about "
            f"{min(1.0, bins / 2 * math.exp(-_FULLEST / scale)):.2g}; then that coefficient, or "
            "the residual variance and with it everything, may be anything",
        )
        return self.planned(facts, parts.total, numbers, consequences, self._refusal(scale, bins))

    def worst(self, parts: Division) -> tuple[float, int]:
        """Return scale and bins of the histogram whose fullest bin its noise hides most easily."""
        settings = self.settings
        # the number of a range's bins depends on the data; this is that of a coefficient of sd one
        range_bins = Bins(-math.ceil(settings.v), math.ceil(settings.v)).size
        found = []
        for share in parts.outcomes.values():
            if share.variance:
                own = DPVariance(share.variance, 0, settings.sigma_min, settings.sigma_max)
                found.append((own.mode(settings.B).scale, own.bins.size))
            smallest = min(c.range_ for c in share.coefficients.values())
            mode = DPRange(1.0, smallest, 0, settings.v).mode(settings.B)
            found.append((mode.scale, range_bins))
        return max(found, key=lambda one: one[0] * math.log(one[1]))

    def _refusal(self, scale: float, bins: int) -> str:
        """Refuse where more than half an empty bin is expected above the fullest one."""
        settings = self.settings
        worst = scale * math.log(bins)
        if worst <= _FULLEST:
            return ""
        enough = math.ceil(settings.B * worst / _FULLEST / 1000) * 1000
        return (
            f"B={settings.B} is too small for the noise of its histograms: their fullest bin is "
            f"hidden, and coefficients may be anywhere within -{settings.v:g} and "
            f"{settings.v:g}; give B={enough} or more, a larger epsilon, fewer regressors, or "
            "confirm=True"
        )

    def x_budget(self, facts: InformedFacts, budget: Budget) -> Budget:
        """Return the share of the covariates."""
        if not facts.covariates.names:
            return Budget(0, budget.delta)
        own = self.rule.epsilon_x
        return Budget(self.rule.covariates * budget.epsilon if own is None else own, budget.delta)

    def reason(self, facts: InformedFacts, budget: Budget) -> str:
        """Return why nothing is promised."""
        variant = ""
        if self.settings.sigma == "confidential":
            variant = "; the residual variance is that of the confidential fit as it is"
        return f"{REASON}{variant}; {facts.covariates.words(self.x_budget(facts, budget))}"


class GenModel(ModelInformed[GenModelSpec]):
    """Release an experiment through Algorithm 3: **no differential-privacy guarantee**.

    Parameters
    ----------
    data, schema, formula, treatment, assignment, x_method, zeta, missing_outcomes, attrition, keep
        As for :class:`dprct.published.Hybrid`; every outcome is gaussian.
    allocation : Allocation, optional
        How epsilon is divided; :meth:`Allocation.section4` by default.
    B : int, default 5000
        Proxies, simulated and then averaged; at least 2.
    v : float, default 50
        Bound on the absolute value of residual variances and coefficients.
    alpha : float, default 0.05
        Of the private ranges.
    sigma_min, sigma_max : float
        Bounds on standard deviations; 2^-15 and 2^15 in the paper.  A private residual variance
        below ``sigma_min^2`` is raised to it, with a warning and a line in the certificate.
    sigma : {"private", "confidential"}
        Whether outcomes are drawn with the private residual variance, or with the confidential
        one (section 3.2.2).
    confidential_from : {"last step", "line 17"}
        The confidential variance replaces the private one in the last step only, or already in
        the covariance of the coefficients; then no private one is made and coefficients share its
        epsilon.

    Raises
    ------
    FormulaError, ColumnError, SchemaError, ParameterError
        As for :class:`dprct.published.Hybrid`, and for parameters outside their range.

    Notes
    -----
    Guarantee: none.  The privacy of every step is with respect to one simulated proxy.

    ``.estimates`` of the release maps outcomes to their noisy coefficients, with a covariance of
    ``S~`` plus the Laplace noise.  The private variance estimates ``s^2 (n - k) / n``: the
    published last step, kept here, draws outcomes with that much less spread.

    Misprints are corrected as ALGORITHMS.md says: the squared residuals, the standard deviation
    in the ranges, clipping, and 1/B in the noise.  The authors' own code differs from both (it
    divides the residual sd by n, and its range search falls to the lowest bin), which is where
    the paper's standard errors of 0.00 and effects of -675 come from.

    References
    ----------
    Algorithm 3 and Table 19 of "Assessing Utility of Differential Privacy for RCTs".

    Examples
    --------
    >>> from dprct import Complete
    >>> from dprct.schema import Column, Schema
    >>> rng = np.random.default_rng(1)
    >>> data = pd.DataFrame({"t": np.tile([0.0, 1.0], 500), "x": rng.integers(0, 9, 1000) * 1.0})
    >>> data["y"] = 2 + 5 * data["t"] + data["x"] + rng.normal(size=1000)
    >>> schema = Schema((Column("t", "byte"), Column("x", "byte"), Column("y")))
    >>> model = GenModel.from_formula(
    ...     "y ~ t + x", data, schema, treatment="t", assignment=Complete("t")
    ... )
    >>> release = model.fit(epsilon=4, rng=1)
    >>> release.estimates["y"].params.round(1).to_dict()
    {'Intercept': 2.0, 't': 5.0, 'x': 1.0}
    """

    def __init__(
        self,
        data: Any,
        schema: Schema,
        *,
        formula: str,
        treatment: str | Sequence[str],
        assignment: Design | None = None,
        x_method: XMethod | Any = "published",
        zeta: float | None = None,
        missing_outcomes: MissingOutcomes = "reproduce",
        attrition: bool = False,
        keep: Iterable[str] = (),
        allocation: Allocation | None = None,
        B: int = 5000,
        v: float = 50.0,
        alpha: float = 0.05,
        sigma_min: float = SIGMA_BOUNDS[0],
        sigma_max: float = SIGMA_BOUNDS[1],
        sigma: Sigma = "private",
        confidential_from: From = "last step",
    ) -> None:
        self._rule = Allocation.section4() if allocation is None else allocation
        self._settings = _checked(
            Settings(B, v, alpha, sigma_min, sigma_max, sigma, confidential_from)
        )
        super().__init__(
            data,
            schema,
            formula=formula,
            treatment=treatment,
            assignment=assignment,
            x_method=x_method,
            zeta=zeta,
            missing_outcomes=missing_outcomes,
            attrition=attrition,
            keep=keep,
        )

    def _specified(self, **common: Any) -> GenModelSpec:
        return GenModelSpec(rule=self._rule, settings=self._settings, **common)

    def division(self, epsilon: Real, delta: Real = 0) -> Division:
        """Return what every step gets; the parts add up to the budget exactly.

        Raises
        ------
        ParameterError, BudgetError
            If the allocation leaves nothing for some step.
        """
        return self.spec.divided(self.facts, Budget.asked(epsilon, delta))

    def _impute(self, rows: Rows, budget: Budget, rng: np.random.Generator) -> Imputed:
        designs: dict[bytes, ReleasedDesign] = {}
        for fit in self.facts.fits:
            key = fit.kept.tobytes()
            if key not in designs:
                designs[key] = ReleasedDesign.of(rows.design[:, fit.kept])
        columns = np.array(self.facts.regressors)
        own = {fit.outcome: designs[fit.kept.tobytes()] for fit in self.facts.fits}
        names = {f.outcome: columns[f.kept][own[f.outcome].kept].tolist() for f in self.facts.fits}
        parts = self.spec.divided(self.facts, budget, names)
        settings = self.spec.settings
        outcomes, notes, estimates = {}, [], {}
        for fit in self.facts.fits:
            name, released = fit.outcome, own[fit.outcome]
            drawn = proxies(released, fit.beta, fit.sigma2, settings.B, rng)
            found = sanitised(
                released,
                drawn,
                fit.sigma2,
                parts.outcomes[name],
                names[name],
                settings,
                rng,
            )
            note = self._floor_note(name) if found.at_floor else ""
            notes += [note] if note else []
            mean = released.W[:, released.kept] @ found.beta
            outcomes[name] = mean + math.sqrt(found.sigma2) * rng.standard_normal(len(mean))
            estimates[name] = self._results(fit, released, found, names[name], note, budget)
        return Imputed(outcomes, tuple(notes), estimates)

    def _floor_note(self, outcome: str) -> str:
        floor = self.spec.settings.sigma_min
        return (
            f"the private residual variance of {outcome!r} was below its floor and was raised to "
            f"sigma_min^2 = {floor**2:.3g}; what is drawn with it says little of its errors"
        )

    def _results(
        self,
        fit: OutcomeFit,
        released: ReleasedDesign,
        found: Sanitised,
        names: list[str],
        note: str,
        budget: Budget,
    ) -> LinearResults:
        cov = found.spread * released.root @ released.root.T + np.diag(found.noise_sd**2)
        return LinearResults(
            params=pd.Series(found.beta, index=names),
            cov=pd.DataFrame(cov, index=names, columns=names),
            df_inference=released.df_resid,
            df_resid=released.df_resid,
            nobs=released.rows,
            cov_type="nonrobust",
            guarantee=self.guarantee(budget),
            outcome=fit.outcome,
            formula=self.spec.roles.formula.text,
            title="GenModel: noisy means of simulated coefficients",
            bse_noise=pd.Series(found.noise_sd, index=names),
            layout=self.facts.regressors,
            notes=(note,) if note else (),
        )


def _each(shares: list[Any]) -> str:
    if not shares:
        return "none"
    step = float(shares[0].range_)
    return f"{len(shares)}, each epsilon={step:.3g} for its range and as much for its noise"


def _checked(settings: Settings) -> Settings:
    B: object = settings.B
    if isinstance(B, bool) or not isinstance(B, (int, np.integer)) or B < 2:
        raise ParameterError(f"B={B!r}; give a whole number of at least 2, such as 5000")
    check_choice("sigma", settings.sigma, get_args(Sigma))
    check_choice("confidential_from", settings.confidential_from, get_args(From))
    DPVariance(1, 0, settings.sigma_min, settings.sigma_max)
    DPRange(1.0, 1, 0, settings.v, settings.alpha)
    return settings
