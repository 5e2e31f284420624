"""Private inverse probability weighting as published (PP-IPW), with the guarantee that holds."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from dprct.arguments import Checked, checked, number_between, numbers_given
from dprct.errors import FormulaError, ParameterError
from dprct.estimate.ipw.model import check_unweighted, penalty_of, split_of
from dprct.formula import design, parse
from dprct.lazy import pandas as pd
from dprct.lazy import special
from dprct.model import BoundTable, Facts, Spec
from dprct.privacy.budget import Budget, Guarantee, exact
from dprct.privacy.composition import gdp_delta
from dprct.privacy.mechanisms import analytic_gaussian
from dprct.published.charging import PublishedModel, Unpriced
from dprct.records import dataclass
from dprct.results.plan import Contents, Plan, PlannedNumber, notes, units_of
from dprct.schema import Column, Schema
from dprct.schema.columns import check_own
from dprct.schema.schema import check_fixed_before

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import ArrayLike, NDArray

    from dprct.formula import Formula
    from dprct.model import Paid
    from dprct.privacy.mechanisms import Allocation
    from dprct.privacy.noise import NoiseSource

    Array = NDArray[np.float64]


Estimand = Literal["ate", "att", "atc"]


def weighted_difference(
    estimand: Estimand, t: NDArray[np.bool_], y: Array, e: Array
) -> tuple[float, float]:
    """The estimate of eq. (2) or appendix F, and its reach per unit of outcome.

    Examples
    --------
    >>> t, y = np.array([True, False]), np.array([1.0, 0.0])
    >>> weighted_difference("ate", t, y, np.array([0.5, 0.5]))
    (1.0, 2.0)
    """
    treated = {"ate": 1 / e, "att": np.ones(len(e)), "atc": (1 - e) / e}[estimand]
    control = {"ate": 1 / (1 - e), "att": e / (1 - e), "atc": np.ones(len(e))}[estimand]
    size = {"ate": len(t), "att": int(t.sum()), "atc": int((~t).sum())}[estimand]
    weights = np.where(t, treated, -control)
    divisor = max(size, 1)
    return float(weights @ y) / divisor, float(2 * np.abs(weights).max()) / divisor


def logistic_weights(X: Array, t: NDArray[np.bool_], lam: float, *, free_last: bool) -> Array:
    """Minimise mean cross-entropy + lam / 2 ||w||^2, without the penalty on the last if asked.

    Examples
    --------
    >>> logistic_weights(np.ones((4, 1)), np.array([True] * 3 + [False]), 1e-9, free_last=False)
    array([1.098612...])
    """
    from scipy.optimize import minimize

    penalty = np.full(X.shape[1], lam)
    if free_last:
        penalty[-1] = 0.0
    signs = np.where(t, 1.0, -1.0)

    def objective(w: Array) -> tuple[float, Array]:
        margin = signs * (X @ w)
        value = np.logaddexp(0.0, -margin).mean() + penalty @ np.square(w) / 2
        return float(value), -(signs * special.expit(-margin)) @ X / len(X) + penalty * w

    start = np.zeros(X.shape[1])
    found = minimize(objective, start, jac=True, method="L-BFGS-B", options={"gtol": 1e-10})
    return np.asarray(found.x)


Intercept = Literal["none", "unpenalised", "penalised"]
Sampling = Literal["split", "replacement"]
Scaling = Literal["max_norm", "norm_bound"]


@dataclass(frozen=True, eq=False)
class Drawn:
    """What was drawn: noisy weights (d,), the effect before its own noise, and that noise."""

    weights: Array
    weight_sd: float
    partial: float
    effect_sd: float
    noise: float


@dataclass(frozen=True)
class PublishedIPWResults(Checked):
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

    def tidy(self) -> pd.DataFrame:
        """Return the effect; its law with the error of sampling is not known."""
        return pd.DataFrame({"term": [*self.params.index], "estimate": self.params.to_numpy()})

    def summary(self) -> str:
        """Return the effect, its noise and the guarantee as text."""
        name, value = self.params.index[0], float(self.params.iloc[0])
        return (
            f"{self.method}\n{name}: {value:.6g}, noise sd {self.effect_sd:.4g} "
            f"(propensity weights: {self.weight_sd:.4g})\n{self.guarantee}"
        )


@dataclass(frozen=True, kw_only=True)
class PublishedIPWSpec(Spec[Facts]):
    """What PP-IPW is asked for; the fields are options of :class:`IPW`."""

    key: ClassVar[str] = "published_ipw"
    page: ClassVar[str] = "papers.md"
    method: ClassVar[str] = "published.IPW (PP-IPW)"

    formula: str
    outcome: str
    estimand: Estimand = "ate"
    scale: Scaling = "max_norm"
    norm_bound: float | None = None
    outcome_bound: float | None = None
    trim: float | None = None
    intercept: Intercept = "none"
    lam: float = 0.1
    split: float = 0.5
    sampling: Sampling = "split"
    classical: bool = True
    override: bool = False
    weights_epsilon: float | None = None
    effect_epsilon: float | None = None

    @property
    def parsed(self) -> Formula:
        """The outcome, the treatment and the covariates."""
        return parse(f"{self.outcome} + {self.formula}")

    @property
    def columns(self) -> tuple[str, ...]:
        """Everything that the formula names, and the outcome."""
        return tuple(dict.fromkeys(self.parsed.names))

    def checks(self, facts: Facts) -> Iterator[Callable[[], object]]:
        """Yield what must hold of the options, and of the schema where something is promised."""
        yield self._check_formula
        yield self._check_numbers
        yield lambda: check_fixed_before(
            facts.schema, self.parsed.regressor_names, self.parsed.outcome_names[1:]
        )
        if not self.reasons():
            yield lambda: _check_promise(facts.schema, self.columns)

    def _check_formula(self) -> None:
        left, right = self.parsed.outcome_names, self.parsed.regressor_names
        if len(left) != 2 or set(left) & set(right):
            raise FormulaError(
                f"``outcome={self.outcome!r}`` with formula {self.formula!r}; give two columns as "
                "outcome and treatment, and others as covariates: ``treatment ~ covariates``"
            )

    def _check_numbers(self) -> None:
        if (self.norm_bound is not None) != (self.scale == "norm_bound"):
            raise ParameterError(
                "``norm_bound=`` goes with ``scale='norm_bound'``, and only with it"
            )
        for name in ("norm_bound", "outcome_bound", "weights_epsilon", "effect_epsilon"):
            value = getattr(self, name)
            if value is not None:
                number_between(name, value)
        if self.trim is not None:
            number_between("trim", self.trim, 0, 0.5, ", or ``None``")
        penalty_of(self.lam)

    @property
    def penalty(self) -> float:
        """The penalty lam."""
        return penalty_of(self.lam) or 0.1

    def sizes(self, n: int) -> tuple[int, int]:
        """How many of n complete rows the weights get, and the effect."""
        return split_of(self.split, n)

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

    def multiplier(self, budget: Budget) -> float:
        """Return the noise per unit of sensitivity."""
        if not self.classical:
            return analytic_gaussian(Fraction(1), 1, budget).sigma
        epsilon, delta = float(budget.epsilon), float(budget.delta)
        return math.sqrt(2 * math.log(1.25 / delta)) / epsilon

    def allocation(self, facts: Facts, budget: Budget) -> Unpriced:
        """Return the budget as the parameter of the algorithm."""
        if not budget.delta:
            raise ParameterError("PP-IPW needs delta > 0; give one far below 1/n")
        if self.classical and budget.epsilon >= 1 and not self.override:
            raise ParameterError(
                f"``epsilon={float(budget.epsilon):g}`` with the classical noise is not proved "
                "from 1 on; use ``classical=False``, or ``override=True`` to get the delta that "
                "holds"
            )
        for name in ("weights_epsilon", "effect_epsilon"):
            own = getattr(self, name)
            if own is not None and own > budget.epsilon:
                raise ParameterError(
                    f"``{name}={own:g}`` is above ``epsilon={float(budget.epsilon):g}``, which "
                    "is the larger one of both parts; fit with more, or give this part less"
                )
        return Unpriced(budget=budget)

    def parts(self, budget: Budget) -> tuple[Budget, Budget]:
        """Rows of the propensity weights and of the effect: each row is in one part only."""
        both = (self.weights_epsilon, self.effect_epsilon)
        weights, effect = (
            budget if own is None else Budget(exact(own, "epsilon"), budget.delta) for own in both
        )
        return weights, effect

    def guarantee(self, facts: Facts, allocation: Allocation) -> Guarantee:
        """Guarantee that really holds."""
        reasons, budget = self.reasons(), allocation.budget
        if reasons:
            return Guarantee.none("; ".join(reasons), not_covered=("anybody",))
        really = budget
        if self.classical:
            mu = 1 / self.multiplier(budget)
            holds = gdp_delta(Fraction(mu * (1 + 1e-12)), budget.epsilon)
            really = Budget(budget.epsilon, max(holds, budget.delta))
        return Guarantee.of(
            really,
            "replace-one",
            unit=facts.schema.unit.name,
            public_facts=(
                f"the number of rows, n = {facts.n}",
                facts.schema.unit.said,
                f"the bounds {self.norm_bound:g} of the norm of covariates and "
                f"{self.outcome_bound:g} of the outcome",
                f"the penalty {self.penalty:g} and trimming at {self.trim:g}",
            ),
            not_covered=(
                "who has complete values",
                "what floating-point draws show in the last bits of the result",
            ),
        )

    def plan(self, facts: Facts, allocation: Allocation) -> Plan:
        """Return the parameters of the algorithm, and what it promises."""
        budget = allocation.budget
        n1, n2 = self.sizes(facts.n)
        of_weights, of_effect = map(self.multiplier, self.parts(budget))
        numbers = [
            *notes({"guarantee": self.guarantee(facts, allocation).sentence()}),
            PlannedNumber("rows", n1, why="for the weights"),
            PlannedNumber("rows", n2, why=f"for the effect, {self.sampling}"),
            PlannedNumber("penalty", self.penalty),
            PlannedNumber("noise of weights", of_weights * 2 / (n1 * self.penalty), why="sd"),
        ]
        if self.trim is not None and self.outcome_bound is not None:
            sd = of_effect * 2 * self.outcome_bound / (n2 * self.trim)
            numbers.append(PlannedNumber("noise of the effect", sd, units_of(self.outcome), "sd"))
        return Plan(self.method, budget, Contents(tuple(numbers)))


class IPW(PublishedModel[PublishedIPWSpec, Facts, Drawn, PublishedIPWResults]):
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
        Weight of the penalty ``lam / 2 ||w||^2`` that is added to the mean cross-entropy.
    split : number
        Share of the rows for the weights.
    sampling : {"split", "replacement"}
        Disjoint parts, or both drawn with replacement (the paper's IHDP and LaLonde set-up).
    classical : bool
        Noise sqrt(2 log(1.25 / delta)) / epsilon per unit of sensitivity; else the smallest.
    override : bool
        Allow the classical noise for epsilon of 1 or more, where it is not proved; the guarantee
        then has the delta that holds.
    weights_epsilon, effect_epsilon : number, optional
        Epsilon of the propensity weights and of the effect, where one is to have less than ``fit``
        is given (the paper's remark at the end of section 3.2).  Rows are in one part each and
        nobody knows in which, so that the guarantee is that of the larger one.

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
    docs/methods.md, sections 7 and 9.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> X = rng.normal(size=(400, 2))
    >>> t = (rng.random(400) < 0.5).astype(float)
    >>> model = IPW.from_arrays(X, t, t + X[:, 0], lam=0.1)
    >>> model.fit(epsilon=0.5, delta=1e-5).guarantee.measure
    'none'
    """

    @checked
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
        weights_epsilon: float | None = None,
        effect_epsilon: float | None = None,
    ) -> None:
        spec = PublishedIPWSpec(
            formula=formula, outcome=outcome, estimand=estimand, scale=scale,
            norm_bound=norm_bound, outcome_bound=outcome_bound, trim=trim, intercept=intercept,
            lam=lam, split=split, sampling=sampling, classical=bool(classical),
            override=bool(override), weights_epsilon=weights_epsilon,
            effect_epsilon=effect_epsilon,
        )  # fmt: skip
        if spec.reasons():  # nothing is promised, so data are not checked against the schema
            self.spec, self._table = spec, BoundTable(data, in_memory=True)
            known = Facts(schema.seal_beside_data(), self._table.n)
            spec.require(known)
        else:
            known = self._bind(spec, data, schema, in_memory=True)
        self.facts = known  # the levels of a factor are those of the schema
        _, t, _ = self._numbers()
        self.facts = replace(known, n=len(t))
        spec.sizes(self.n)

    @classmethod
    def from_formula(
        cls, formula: str, data: Any, schema: Schema, *, outcome: str, **options: Any
    ) -> Self:
        """Return the model of ``treatment ~ covariates``; other arguments as for the class."""
        return cls(data, schema, formula=formula, outcome=outcome, **options)

    @classmethod
    def from_arrays(cls, X: ArrayLike, t: ArrayLike, y: ArrayLike, **options: Any) -> Self:
        """Return the model of arrays X (n, p), t (n,) of 0 and 1, and y (n,)."""
        x, arms, outcome = (numbers_given(v, k) for v, k in ((X, "X"), (t, "t"), (y, "y")))
        if x.ndim != 2 or arms.shape != (len(x),) or outcome.shape != (len(x),):
            raise ParameterError("X, t and y must have the shapes (n, p), (n,) and (n,)")
        names = [f"x{j}" for j in range(x.shape[1])]
        table = pd.DataFrame(dict(zip(names, x.T, strict=True))).assign(y=outcome, t=arms)
        schema = Schema(tuple(Column(name) for name in table.columns))
        formula = f"t ~ {' + '.join(names)}"
        return cls(table, schema, formula=formula, outcome="y", **options)

    def reasons(self) -> tuple[str, ...]:
        """Return everything that breaks the published proof in this set-up."""
        return self.spec.reasons()

    def _state(self, drawn: Drawn) -> dict[str, Any]:
        return {"weights": drawn.weights.tolist(), "effect": drawn.partial + drawn.noise}

    def _read(self, drawn: Drawn, paid: Paid) -> PublishedIPWResults:
        unprotected = paid.guarantee.measure == "none" or paid.guarantee.simulation
        return PublishedIPWResults(
            params=pd.Series([drawn.partial + drawn.noise], index=[self.spec.estimand.upper()]),
            partial=drawn.partial if unprotected else math.nan,
            weights=drawn.weights,
            weight_sd=drawn.weight_sd,
            effect_sd=drawn.effect_sd,
            guarantee=paid.guarantee,
            method=self.method,
            ledger=paid.ledger,
        )

    def _numbers(self) -> tuple[Array, NDArray[np.bool_], Array]:
        """Return covariates (n, p), treatment and outcome (n,) of the complete rows."""
        found = design(self.spec.parsed, self._table.rows(), self.schema, levels="schema")
        y, t = found.y[:, 0], found.y[:, 1]
        if not np.isin(t, (0.0, 1.0)).all():
            raise ParameterError("the treatment is not 0 or 1; recode it")
        keep = [j for j, name in enumerate(found.columns) if name != "Intercept"]
        return found.X[:, keep], t == 1, y

    def _draw(self, allocation: Allocation, noise: NoiseSource) -> Drawn:
        spec, lam = self.spec, self.spec.penalty
        X, t, y, radius = self._scaled()
        (n1, n2), rng = spec.sizes(self.n), noise.post_processing_rng()
        if spec.sampling == "split":
            order = rng.permutation(self.n)
            first, second = order[:n1], order[n1:]
        else:
            first, second = rng.integers(self.n, size=n1), rng.integers(self.n, size=n2)
        free = spec.intercept == "unpenalised"
        w = logistic_weights(X[first], t[first], lam, free_last=free)
        of_weights, of_effect = map(spec.multiplier, spec.parts(allocation.budget))
        weight_sd = of_weights * 2 / (n1 * lam)
        w = w + rng.normal(0.0, weight_sd, len(w))
        e = special.expit(X[second] @ w)
        if spec.trim is not None:
            e = e.clip(spec.trim, 1 - spec.trim)
        partial, reach = weighted_difference(spec.estimand, t[second], y[second], e)
        if spec.trim is not None:
            reach = 2 * radius / spec.trim / n2 if spec.estimand == "ate" else reach * radius
        else:
            reach *= radius
        effect_sd = of_effect * reach
        return Drawn(w, weight_sd, partial, effect_sd, float(rng.normal(0, effect_sd)))

    def _scaled(self) -> tuple[Array, NDArray[np.bool_], Array, float]:
        """Return rows within the unit ball, treatment, outcomes, and the bound on outcomes."""
        spec, (X, t, y) = self.spec, self._numbers()
        norms = np.sqrt(np.square(X).sum(axis=1))
        if spec.scale == "norm_bound":
            assert spec.norm_bound is not None
            X = X / np.maximum(norms, spec.norm_bound)[:, None]
        else:
            X = X / max(float(norms.max()), 1e-300)
        if spec.intercept != "none":
            X = np.column_stack([X, np.ones(len(X))])
            X = X / math.sqrt(2) if spec.intercept == "penalised" else X
        if spec.outcome_bound is None:
            return X, t, y, float(np.abs(y).max())
        return X, t, y.clip(-spec.outcome_bound, spec.outcome_bound), spec.outcome_bound

    def __repr__(self) -> str:
        return f"published.IPW(n={self.n}, estimand={self.spec.estimand!r})"


def _check_promise(schema: Schema, names: Iterable[str]) -> None:
    """Refuse tables on which noise for one row does not protect a person, as strict IPW does."""
    check_unweighted(schema, None)
    for name in names:
        check_own(schema.column(name))
