"""Private inverse probability weighting as published (PP-IPW), with the guarantee that holds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import numpy as np
import pandas as pd
from scipy.special import expit

from dprct.errors import ParameterError
from dprct.estimate.base import EstimateModel
from dprct.estimate.ipw.model import check_unweighted, penalty_of, split_of
from dprct.formula import design, parse
from dprct.privacy.budget import Budget
from dprct.privacy.calibration import analytic_gaussian
from dprct.privacy.composition import gdp_delta
from dprct.privacy.guarantee import Guarantee
from dprct.published.charging import charged_or_noted
from dprct.published.ipw_steps import Estimand, logistic_weights, weighted_difference
from dprct.results.plan import Plan
from dprct.schema import Column, Schema
from dprct.schema.columns import check_own, given
from dprct.schema.validate import check_choice, validate

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

    from dprct.privacy.accountant import Accountant
    from dprct.privacy.budget import Real
    from dprct.privacy.noise import NoiseSource
    from dprct.results.charging import Receipt

    Array = NDArray[np.float64]

Intercept = Literal["none", "unpenalised", "penalised"]
Sampling = Literal["split", "replacement"]
Scaling = Literal["max_norm", "norm_bound"]


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """What was drawn: noisy weights (d,), the effect before its own noise, and that noise."""

    weights: Array
    weight_sd: float
    partial: float
    effect_sd: float
    noise: float


@dataclass(frozen=True, slots=True)
class PublishedIPWResults:
    """What PP-IPW returns.

    Parameters
    ----------
    params : (1,) Series
        The private effect.
    partial : float
        The same before the noise of the effect (noise of the propensity weights only): released
        by the authors in their experiments, and not private.
    weights : (d,) array
        Noisy propensity weights.
    weight_sd, effect_sd : float
        Noise of each weight, and of the effect.
    guarantee : Guarantee
    method : str
    ledger : str
    """

    params: pd.Series[float]
    partial: float
    weights: Array
    weight_sd: float
    effect_sd: float
    guarantee: Guarantee
    method: str
    ledger: str = ""

    def summary(self) -> str:
        """Return the effect, its noise and the guarantee as text."""
        name, value = self.params.index[0], float(self.params.iloc[0])
        return (
            f"{self.method}\n{name}: {value:.6g}, noise sd {self.effect_sd:.4g} "
            f"(propensity weights: {self.weight_sd:.4g})\n{self.guarantee}"
        )


class IPW(EstimateModel[Drawn, PublishedIPWResults]):
    """PP-IPW: Gaussian noise on logistic weights and on the weighted difference, as published.

    Parameters
    ----------
    data : data frame
        Complete rows are used.
    schema : Schema
    formula : str
        ``treatment ~ covariates``; treatment is 0 or 1.
    outcome : str
    estimand : {"ate", "att", "atc"}
    scale : {"max_norm", "norm_bound"}
        Divide covariates by their largest norm in the sample (the paper), or clip them to the
        public ``norm_bound``.
    norm_bound : number, optional
        For ``scale="norm_bound"``.
    outcome_bound : number, optional
        Clip |outcome| to this public number; else its largest value in the sample.
    trim : number, optional
        Trim propensities to [trim, 1 - trim]; else they are as they are, and the smallest in the
        sample calibrates the noise.
    intercept : {"none", "unpenalised", "penalised"}
        "none" is the paper's; a penalised one makes rows ``(x, 1) / sqrt(2)``.
    lam : number
        Of ``lam / 2 ||w||^2`` beside the mean cross-entropy.
    split : number
        Share of the rows for the weights.
    sampling : {"split", "replacement"}
        Disjoint parts, or both drawn with replacement (the paper's IHDP and LaLonde set-up).
    classical : bool
        Noise sqrt(2 log(1.25 / delta)) / epsilon per unit of sensitivity; else the smallest.
    override : bool
        Allow the classical noise for epsilon of 1 or more, where it is not proved; the guarantee
        then has the delta that holds.

    Raises
    ------
    SchemaError, ColumnError, FormulaError, ParameterError
        In the form with a guarantee also where the schema does not support it: a person may have
        several rows, or a column is built from other people's values.

    Notes
    -----
    Guarantee: (epsilon, delta) under replace-one, by parallel composition, for the algorithm in
    real numbers, **only if** ``scale="norm_bound"``, ``outcome_bound`` and ``trim`` are given, the
    intercept is not unpenalised, parts are disjoint and the estimand is the ATE.  Anything else
    makes it **none**, with all reasons; nothing is charged then.  The strict form is ``dprct.IPW``.

    References
    ----------
    Lee, Gresele, Park and Muandet, "Privacy-Preserving Causal Inference via Inverse Probability
    Weighting", Definitions 2 and 3, appendices B, C and F.
    ALGORITHMS.md, section 6.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> X = rng.normal(size=(400, 2))
    >>> t = (rng.random(400) < 0.5).astype(float)
    >>> model = IPW.from_arrays(X, t, t + X[:, 0], lam=0.1)
    >>> model.fit(epsilon=0.5, delta=1e-5).guarantee.measure
    'none'
    """

    def __init__(
        self,
        data: Any,
        schema: Schema,
        *,
        formula: str,
        outcome: str,
        estimand: Estimand = "ate",
        scale: Scaling = "max_norm",
        norm_bound: float | None = None,
        outcome_bound: float | None = None,
        trim: float | None = None,
        intercept: Intercept = "none",
        lam: float = 0.1,
        split: float = 0.5,
        sampling: Sampling = "split",
        classical: bool = True,
        override: bool = False,
    ) -> None:
        check_choice("estimand", estimand, get_args(Estimand))
        check_choice("scale", scale, get_args(Scaling))
        check_choice("intercept", intercept, get_args(Intercept))
        check_choice("sampling", sampling, get_args(Sampling))
        if (norm_bound is not None) != (scale == "norm_bound"):
            raise ParameterError("norm_bound= goes with scale='norm_bound', and only with it")
        for name, value in (("norm_bound", norm_bound), ("outcome_bound", outcome_bound)):
            if value is not None and not 0 < value < math.inf:
                raise ParameterError(f"{name}={given(value)}; give a number above 0")
        if trim is not None and not 0 < trim < 0.5:
            raise ParameterError(f"trim={given(trim)}; give a number between 0 and 0.5, or None")
        self.schema, self.estimand = schema.seal_beside_data(), estimand
        self.scale, self.norm_bound, self.outcome_bound = scale, norm_bound, outcome_bound
        self.trim, self.intercept, self.sampling = trim, intercept, sampling
        parsed = parse(f"{outcome} + {formula}")
        if not self.reasons():
            _check_promise(self.schema, data, parsed.names)
        found = design(parsed, data, self.schema, levels="schema")
        y, t = found.y[:, 0], found.y[:, 1]
        if not np.isin(t, (0.0, 1.0)).all():
            raise ParameterError("the treatment is not 0 or 1; recode it")
        self.n, self.lam = len(t), penalty_of(lam) or 0.1
        self.classical, self.override = bool(classical), bool(override)
        self.sizes = split_of(split, self.n)
        keep = [j for j, name in enumerate(found.columns) if name != "Intercept"]
        self._X, self._t, self._y = found.X[:, keep], t == 1, y
        self.method = "published.IPW (PP-IPW)"

    @classmethod
    def from_formula(
        cls, formula: str, data: Any, schema: Schema, *, outcome: str, **options: Any
    ) -> Self:
        """Return the model of ``treatment ~ covariates``; other arguments as for the class."""
        return cls(data, schema, formula=formula, outcome=outcome, **options)

    @classmethod
    def from_arrays(cls, X: ArrayLike, t: ArrayLike, y: ArrayLike, **options: Any) -> Self:
        """Return the model of arrays X (n, p), t (n,) of 0 and 1, and y (n,)."""
        x = np.asarray(X, np.float64)
        names = [f"x{j}" for j in range(x.shape[1])]
        table = pd.DataFrame(dict(zip(names, x.T, strict=True))).assign(
            y=np.asarray(y, np.float64), t=np.asarray(t, np.float64)
        )
        schema = Schema(tuple(Column(name) for name in table.columns))
        formula = f"t ~ {' + '.join(names)}"
        return cls(table, schema, formula=formula, outcome="y", **options)

    def plan(self, epsilon: Real, delta: Real = 0) -> Plan:
        """Return the parameters of the algorithm and what it promises; free."""
        budget = Budget.asked(epsilon, delta)
        self._check(budget)
        n1, n2 = self.sizes
        sd = self._multiplier(budget) * 2 / (n1 * self.lam)
        facts = {
            "guarantee": self.guarantee(budget).sentence(),
            "rows": f"{n1:,} for the weights, {n2:,} for the effect ({self.sampling})",
            "penalty": f"{self.lam:g}",
            "noise of weights": f"sd {sd:.4g}",
        }
        if self.trim is not None and self.outcome_bound is not None:
            facts["noise of the effect"] = (
                f"sd {self._multiplier(budget) * 2 * self.outcome_bound / (n2 * self.trim):.4g}"
            )
        return Plan(self.method, budget, facts)

    def reasons(self) -> tuple[str, ...]:
        """Return everything that breaks the published proof in this set-up."""
        wrong = {
            "covariates are divided by their largest norm in the sample, which shows through": (
                self.scale == "max_norm"
            ),
            "rows are drawn with replacement, so that a person in k copies is protected with k "
            "times epsilon at best": self.sampling == "replacement",
            "the intercept is not penalised, so that one person can move it without bound": (
                self.intercept == "unpenalised"
            ),
            "the outcome has no public bound": self.outcome_bound is None,
            "propensities are not trimmed, so that the noise depends on the data": (
                self.trim is None
            ),
            "the ATT and the ATC divide by how many are in an arm, which is not public and changes "
            "with one person": self.estimand != "ate",
        }
        return tuple(reason for reason, holds in wrong.items() if holds)

    def guarantee(self, budget: Budget) -> Guarantee:
        """Return what really holds; free."""
        reasons = self.reasons()
        if reasons:
            return Guarantee.none("; ".join(reasons), not_covered=("anybody",))
        really = budget
        if self.classical:
            mu = 1 / self._multiplier(budget)
            holds = gdp_delta(Fraction(mu * (1 + 1e-12)), budget.epsilon)
            really = Budget(budget.epsilon, sorted((holds, budget.delta))[-1])
        return Guarantee.of(
            really,
            "replace-one",
            unit=self.schema.unit.name,
            public_facts=(
                f"the number of rows, n = {self.n}",
                self.schema.unit.said,
                f"the bounds {self.norm_bound:g} of the norm of covariates and "
                f"{self.outcome_bound:g} of the outcome",
                f"the penalty {self.lam:g} and trimming at {self.trim:g}",
            ),
            not_covered=(
                "who has complete values",
                "what floating-point draws show in the last bits of the result",
            ),
        )

    def _check(self, budget: Budget) -> None:
        if not budget.delta:
            raise ParameterError("PP-IPW needs delta > 0; give one far below 1/n")
        if self.classical and budget.epsilon >= 1 and not self.override:
            raise ParameterError(
                f"epsilon={float(budget.epsilon):g} with the classical noise is not proved from 1 "
                "on; use classical=False, or override=True to get the delta that holds"
            )

    def _charge(
        self, guarantee: Guarantee, accountant: Accountant | None, noise: NoiseSource
    ) -> Receipt:
        return charged_or_noted(self.schema, guarantee, self.method, accountant, noise)

    def _state(self, found: Drawn) -> dict[str, Any]:
        return {"weights": found.weights.tolist(), "effect": found.partial + found.noise}

    def _results(self, found: Drawn, guarantee: Guarantee, ledger: str) -> PublishedIPWResults:
        unprotected = guarantee.measure == "none" or guarantee.simulation
        return PublishedIPWResults(
            params=pd.Series([found.partial + found.noise], index=[self.estimand.upper()]),
            partial=found.partial if unprotected else math.nan,
            weights=found.weights,
            weight_sd=found.weight_sd,
            effect_sd=found.effect_sd,
            guarantee=guarantee,
            method=self.method,
            ledger=ledger,
        )

    def _draw(self, budget: Budget, noise: NoiseSource) -> Drawn:
        X, y, radius = self._scaled()
        (n1, n2), rng = self.sizes, noise.post_processing_rng()
        if self.sampling == "split":
            order = rng.permutation(self.n)
            first, second = order[:n1], order[n1:]
        else:
            first, second = rng.integers(self.n, size=n1), rng.integers(self.n, size=n2)
        free = self.intercept == "unpenalised"
        w = logistic_weights(X[first], self._t[first], self.lam, free_last=free)
        multiplier = self._multiplier(budget)
        weight_sd = multiplier * 2 / (n1 * self.lam)
        w = w + rng.normal(0.0, weight_sd, len(w))
        e = expit(X[second] @ w)
        if self.trim is not None:
            e = e.clip(self.trim, 1 - self.trim)
        partial, reach = weighted_difference(self.estimand, self._t[second], y[second], e)
        if self.trim is not None:
            reach = 2 * radius / self.trim / n2 if self.estimand == "ate" else reach * radius
        else:
            reach *= radius
        effect_sd = multiplier * reach
        return Drawn(w, weight_sd, partial, effect_sd, float(rng.normal(0, effect_sd)))

    def _scaled(self) -> tuple[Array, Array, float]:
        """Return rows within the unit ball, outcomes, and the bound on these."""
        norms = np.sqrt(np.square(self._X).sum(axis=1))
        if self.scale == "norm_bound":
            assert self.norm_bound is not None
            X = self._X / np.maximum(norms, self.norm_bound)[:, None]
        else:
            X = self._X / max(float(norms.max()), 1e-300)
        if self.intercept != "none":
            X = np.column_stack([X, np.ones(self.n)])
            X = X / math.sqrt(2) if self.intercept == "penalised" else X
        if self.outcome_bound is None:
            return X, self._y, float(np.abs(self._y).max())
        return X, self._y.clip(-self.outcome_bound, self.outcome_bound), self.outcome_bound

    def _multiplier(self, budget: Budget) -> float:
        """Return the noise per unit of sensitivity."""
        if not self.classical:
            return analytic_gaussian(Fraction(1), 1, budget).sigma
        epsilon, delta = float(budget.epsilon), float(budget.delta)
        return math.sqrt(2 * math.log(1.25 / delta)) / epsilon

    def __repr__(self) -> str:
        return f"published.IPW(n={self.n}, estimand={self.estimand!r})"


def _check_promise(schema: Schema, data: Any, names: Iterable[str]) -> None:
    """Refuse tables on which noise for one row would not protect a person, as the strict IPW does.

    Raises
    ------
    SchemaError
        If a person may have several rows, can move the rows of others, or data are not legal.
    """
    check_unweighted(schema, None)
    for name in names:
        check_own(schema.column(name))
    validate(schema, data, names)
