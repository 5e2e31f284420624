"""GenModel (dp_rct.txt, Algorithm 3): outcomes from noisy means of simulated regressions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dprct.arguments import check_choice
from dprct.errors import ParameterError
from dprct.lazy import linalg, special
from dprct.lazy import pandas as pd
from dprct.privacy.budget import Budget
from dprct.published.allocation import Allocation, Division
from dprct.published.informed import Imputed, InformedSpec, ModelInformed
from dprct.published.karwa_vadhan import SIGMA_BOUNDS, DPRange, DPVariance, NoiseOn
from dprct.records import dataclass
from dprct.results.base import LinearResults
from dprct.results.covariance import independent
from dprct.results.plan import Plan, PlannedNumber, notes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dprct.assignment import Design
    from dprct.privacy.budget import Real
    from dprct.privacy.mechanisms import Allocation as Mechanisms
    from dprct.published.allocation import CoefficientShare, OutcomeShare
    from dprct.published.covariates import XMethod
    from dprct.published.informed import InformedFacts, MissingOutcomes, Rows
    from dprct.published.karwa_vadhan import NoisyMode
    from dprct.published.outcomes import OutcomeFit
    from dprct.schema.schema import Schema


Array = NDArray[np.float64]
NOTHING = Fraction(0)
Sigma = Literal["private", "confidential"]
From = Literal["last step", "line 17"]
Each = float | Mapping[str, float]
"""One number, or those of coefficients and of the residual variance by name."""

VARIANCE = "residual variance"
"""Name of the residual variance where coefficients have numbers of their own."""
V, ALPHA = 50.0, 0.05


@dataclass(frozen=True)
class Settings:
    """The parameters of GenModel besides its budget.

    Parameters
    ----------
    B : int
        Proxies.
    v : number, or mapping from coefficient to number
        Bounds on the absolute means; 50 for what a mapping leaves out.
    alpha : number, or mapping from coefficient to number
        Of the private ranges; 0.05 for what a mapping leaves out.
    sigma_min, sigma_max : float
        Bounds on standard deviations; ``sigma_min`` is the floor of the residual one, too.
    confidential_from : {"last step", "line 17"}
        Where the confidential residual variance comes in (section 3.2.2 of the paper).
    noise_on : {"occupied bins", "every bin"}
        Of the histograms of Algorithms 4 and 5.
    """

    B: int = 5000
    v: Each = V
    alpha: Each = ALPHA
    sigma_min: float = SIGMA_BOUNDS[0]
    sigma_max: float = SIGMA_BOUNDS[1]
    sigma: Sigma = "private"
    confidential_from: From = "last step"
    noise_on: NoiseOn = "occupied bins"

    @property
    def has_private_variance(self) -> bool:
        """Whether a private residual variance is made at all."""
        return self.sigma == "private" or self.confidential_from == "last step"

    @property
    def without_variance(self) -> Settings:
        """The same for a family whose variance is that of its mean."""
        return replace(self, sigma="confidential", confidential_from="line 17")

    def variance(self, epsilon: Fraction, delta: Fraction = NOTHING) -> DPVariance:
        """Return Algorithm 4 with these settings."""
        return DPVariance(epsilon, delta, self.sigma_min, self.sigma_max, self.noise_on)

    def range(
        self, sd: float, epsilon: Fraction, delta: Fraction = NOTHING, of: str = VARIANCE
    ) -> DPRange:
        """Return Algorithm 5 with these settings, for a coefficient or the residual variance."""
        v, alpha = _of(of, self.v, V), _of(of, self.alpha, ALPHA)
        return DPRange(sd, epsilon, delta, v, alpha, self.noise_on)

    def check_names(self, coefficients: Sequence[str]) -> None:
        """Refuse a bound or a probability of something that is no coefficient."""
        for option, given in (("v", self.v), ("alpha", self.alpha)):
            for name in given if isinstance(given, Mapping) else ():
                if name not in (*coefficients, VARIANCE):
                    raise ParameterError(
                        f"``{option}=`` names {name!r}, which is not a coefficient; there are "
                        f"{', '.join(coefficients)}, and {VARIANCE!r}"
                    )


def _of(name: str, given: Each, default: float) -> float:
    """Return the number of a coefficient or of the residual variance."""
    return given.get(name, default) if isinstance(given, Mapping) else given


@dataclass(frozen=True, eq=False)
class ReleasedDesign:
    """W~ without columns that are linear combinations of earlier ones."""

    W: Array  # (m, k): as it was before
    kept: NDArray[np.bool_]  # (k,)
    root: Array  # (rank, rank): a with ``A A' = (W~'W~)^-1``

    @classmethod
    def of(cls, W: Array) -> ReleasedDesign:
        """Factor a released design."""
        kept = independent(W)
        X = W[:, kept]
        if len(X) <= X.shape[1]:
            raise ParameterError(
                f"the released covariates leave {len(X)} complete rows for {X.shape[1]} "
                "coefficients; use fewer regressors"
            )
        lengths = np.sqrt((X**2).sum(axis=0))
        triangle = np.linalg.qr(X / lengths, mode="r")
        inverse = linalg.solve_triangular(triangle, np.eye(len(triangle)))
        return cls(W, kept, np.asarray(inverse / lengths[:, None], np.float64))

    def weighted(self, fit: OutcomeFit) -> ReleasedDesign:
        """Return the kept columns, rows times the root of the family's variance at the fit.

        The inverse of their cross products is that of the Fisher information on the released rows,
        the asymptotic covariance of the coefficients; without a link the design as it is.
        """
        if fit.family == "gaussian":
            return self
        variance = fit.variance(self.W)
        found = ReleasedDesign.of(np.sqrt(variance)[:, None] * self.W[:, self.kept])
        if not found.kept.all():
            raise ParameterError(
                f"the {fit.family} fit of {fit.outcome!r} is certain of all released rows of some "
                "coefficient; drop that regressor or level, or use family 'gaussian'"
            )
        return found

    @property
    def rows(self) -> int:
        """m, the n of the paper."""
        return len(self.W)

    @property
    def df_resid(self) -> int:
        """Rows less rank."""
        return self.rows - len(self.root)

    @property
    def diagonal(self) -> Array:
        """Diagonal of ``(W~'W~)^-1``, (rank,)."""
        return np.asarray((self.root**2).sum(axis=1), np.float64)

    def projected(self, beta: Array) -> Array:
        """Return the coefficients (rank,) of the kept columns with the same fitted values."""
        if self.kept.all():
            return beta
        X = self.W[:, self.kept]
        return np.asarray(self.root @ (self.root.T @ (X.T @ (self.W @ beta))), np.float64)


@dataclass(frozen=True, eq=False)
class Proxies:
    """What B regressions of proxy outcomes would give."""

    beta: Array  # (rank, B): coefficients, one row each
    xi: Array  # (B,): mean squared residuals, ``RSS / n``


def proxies(
    released: ReleasedDesign, beta: Array, sigma2: float, B: int, rng: np.random.Generator
) -> Proxies:
    """Draw B proxies from their joint law, of the confidential fit's ``beta`` and ``sigma2``.

    Examples
    --------
    >>> W = np.column_stack([np.ones(100), np.arange(100) % 2])
    >>> rng = np.random.default_rng(1)
    >>> drawn = proxies(ReleasedDesign.of(W), np.array([1.0, 5.0]), 4.0, 2000, rng)
    >>> drawn.beta.mean(axis=1).round(1).tolist(), round(float(drawn.xi.mean()), 1)
    ([1.0, 5.0], 3.9)
    """
    normal = rng.standard_normal((len(released.root), B))
    drawn = (math.sqrt(sigma2) * released.root) @ normal
    drawn += released.projected(beta)[:, None]
    xi = sigma2 * rng.chisquare(released.df_resid, B) / released.rows
    return Proxies(drawn, xi)


@dataclass(frozen=True, eq=False)
class Sanitised:
    """What GenModel makes of one outcome's model."""

    beta: Array  # (rank,): noisy means of the clipped proxies
    sigma2: float  # the residual variance that the outcome is drawn with
    sigma2_raw: float  # before the floor; the same where the floor was not reached
    # Residual variance in the covariance of the coefficients, ``n sigma2~ / (n - k)``.
    spread: float
    noise_sd: Array  # (rank,): standard deviation of the Laplace noise of each coefficient

    @property
    def at_floor(self) -> bool:
        """Whether the residual variance had to be raised to its floor."""
        return self.sigma2_raw < self.sigma2


def sanitised(
    released: ReleasedDesign,
    drawn: Proxies,
    sigma2: float,
    shares: OutcomeShare,
    names: Sequence[str],
    settings: Settings,
    rng: np.random.Generator,
) -> Sanitised:
    """Noisy means of proxies (dp_rct.txt, Algorithm 3, lines 14 to 24).

    ``sigma2`` is that of the confidential fit, used in the confidential variants only; ``shares``
    are what each step gets.

    Notes
    -----
    Each step is private with respect to one proxy.  A residual variance below ``sigma_min^2`` is
    raised to it, not drawn again: that would change its law.
    """
    raw, spread = sigma2, sigma2
    floored = sigma2
    if settings.has_private_variance:
        raw = private_variance(drawn.xi, shares.variance, settings, rng, shares.delta)
        floored = max(raw, settings.sigma_min**2)
        spread = released.rows * floored / released.df_resid
    sds = np.sqrt(spread * released.diagonal)
    found = [
        noisy_mean(x, sd, shares.coefficients[name], settings, rng, name)
        for x, sd, name in zip(drawn.beta, sds.tolist(), names, strict=True)
    ]
    beta, noise = np.array(found).T
    if settings.sigma == "confidential":
        return Sanitised(beta, sigma2, sigma2, spread, noise)
    return Sanitised(beta, floored, raw, spread, noise)


def private_variance(
    xi: Array,
    epsilon: Fraction,
    settings: Settings,
    rng: np.random.Generator,
    delta: Fraction = NOTHING,
) -> float:
    """Noisy mean of the mean squared residuals xi, (B,); may be below 0.

    ``epsilon`` is of each of the three steps, ``delta`` of each of the first two.
    """
    variance = settings.variance(epsilon, delta).draw(xi, rng)
    own = settings.range(math.sqrt(variance), epsilon, delta)
    return _clipped_mean(xi, own, epsilon, rng)[0]


def noisy_mean(
    x: Array,
    sd: float,
    share: CoefficientShare,
    settings: Settings,
    rng: np.random.Generator,
    name: str,
) -> tuple[float, float]:
    """Return the noisy mean of one coefficient's proxies (B,), and the sd of its noise."""
    own = settings.range(sd, share.range_, share.delta, name)
    return _clipped_mean(x, own, share.noise, rng)


def _clipped_mean(
    x: Array, mechanism: DPRange, epsilon: Fraction, rng: np.random.Generator
) -> tuple[float, float]:
    low, high = mechanism.draw(x, rng)
    scale = (high - low) / (len(x) * float(epsilon))
    mean = float(np.clip(x, low, high).mean())
    return mean + rng.laplace(0.0, scale), math.sqrt(2) * scale


REASON = (
    "its noise hides one proxy, per proxy and not per person: every one of the B proxies is "
    "simulated from the confidential fit, so each depends on everybody, and an attack certifies "
    "epsilon >= 6.25 where 0.15 is claimed (Algorithm 3); dprct.Calibrated, of a later version, "
    "releases outcomes with a guarantee per person"
)

EMPTY_BINS = (
    "not even one proxy is hidden, because as printed an empty bin gets no noise and cannot win "
    "(Algorithms 4 and 5)"
)

_FULLEST = 0.38
"""Share of a normal sample in the fullest bin of one standard deviation."""

_SELDOM = 0.05
"""Probability that no bin wins, from which on a fit has to be confirmed."""


@dataclass(frozen=True, kw_only=True)
class GenModelSpec(InformedSpec):
    """What GenModel is asked for: the options of :class:`GenModel`."""

    key: ClassVar[str] = "published_gen_model"
    page: ClassVar[str] = "papers.md"
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
        """Budget of every step, of the regressors of each outcome."""
        if names is None:
            columns = np.array(facts.regressors)
            names = {fit.outcome: columns[fit.kept].tolist() for fit in facts.fits}
        spread = [fit.outcome for fit in facts.fits if fit.family == "gaussian"]
        return self.rule.divide(
            budget,
            list(names),
            self.effects(facts),
            names,
            covariates=bool(facts.covariates.names),
            variance=spread if self.settings.has_private_variance else (),
        )

    def plan(self, facts: InformedFacts, allocation: Mechanisms) -> Plan:
        """Return the plan: the division of the budget, the draws, and the limits of the promise."""
        parts = self.divided(facts, allocation.budget)
        settings = self.settings
        spread = [parts.outcomes[fit.outcome] for fit in facts.fits if fit.family == "gaussian"]
        first = spread[0] if spread else next(iter(parts.outcomes.values()))
        variance = "confidential" if spread else "none: no outcome is gaussian"
        if spread and settings.sigma == "private":
            variance = f"private, epsilon={float(3 * first.variance):.3g} in three parts"
        treated = self.effects(facts)
        effects = [c for name, c in first.coefficients.items() if name in treated]
        others = [c for name, c in first.coefficients.items() if name not in treated]
        numbers = (
            *notes({"model": self.roles.formula.text}),
            PlannedNumber("B", settings.B, "proxies"),
            *notes({"epsilon of X~": str(parts.covariates)}),
            PlannedNumber("epsilon of every outcome", float(first.epsilon)),
            *notes({"residual variance": variance}),
            *_each("effects", effects),
            *_each("other coefficients", others),
        )
        consequences = (
            "epsilon is the parameter of noise that hides one simulated proxy, not one person",
            self._risk(parts),
        )
        return self.planned(facts, parts.total, numbers, consequences, self._refusal(parts))

    def _histograms(self, parts: Division) -> Iterator[tuple[NoisyMode, Array]]:
        """Yield the histogram of every step, and what its bins have of a normal sample."""
        settings = self.settings
        for share in parts.outcomes.values():
            if share.variance:
                yield settings.variance(share.variance, share.delta).mode(settings.B), _powers()
            for name, one in share.coefficients.items():
                # the bins of a range depend on the data; these are of a coefficient of sd one
                yield settings.range(1.0, one.range_, one.delta, name).mode(settings.B), _units()

    def worst(self, parts: Division) -> tuple[float, int]:
        """Return scale and bins of the histogram whose fullest bin its noise hides most easily."""
        found = [(mode.scale, mode.bins.size) for mode, _ in self._histograms(parts)]
        return max(found, key=lambda one: one[0] * math.log(one[1]))

    def no_winner(self, parts: Division) -> float:
        """Return about how likely it is that some histogram has no winner, with occupied bins only.

        Notes
        -----
        A share p_j is lost where ``Z_j <= -p_j``, with probability ``exp(-p_j / scale) / 2``; the
        shares of the m occupied bins add up to 1, so that all are lost with ``exp(-1 / scale) /
        2^m``.  Of a normal sample at least the bins that are expected to hold one value count.
        """
        each = self._histograms(parts)
        return max(_all_lost(mode.scale, mode.values, shares) for mode, shares in each)

    def _risk(self, parts: Division) -> str:
        """Effect of the noise of the worst histogram."""
        if self.settings.noise_on == "occupied bins":
            return (
                "in its worst histogram no bin is left to win with probability about "
                f"{self.no_winner(parts):.2g}; then the middle one is taken, whatever the data"
            )
        scale, bins = self.worst(parts)
        return (
            "in its worst histogram noise hides the fullest bin with probability about "
            f"{min(1.0, bins / 2 * math.exp(-_FULLEST / scale)):.2g}; then that coefficient, or "
            "the residual variance and with it everything, may be anything"
        )

    def _refusal(self, parts: Division) -> str:
        """Refuse where no bin may win, or where half an empty bin is expected above the fullest."""
        settings = self.settings
        if settings.noise_on == "occupied bins":
            found = self.no_winner(parts)
            if found <= _SELDOM:
                return ""
            return (
                f"``B={settings.B}`` is too small: in a histogram of Algorithm 4 or 5 no bin is "
                f"left to win with probability about {found:.2g}; give a larger B (5000 in "
                "Table 19), or ``confirm=True``"
            )
        scale, bins = self.worst(parts)
        worst = scale * math.log(bins)
        if worst <= _FULLEST:
            return ""
        enough = math.ceil(settings.B * worst / _FULLEST / 1000) * 1000
        return (
            f"``B={settings.B}`` is too small for the noise of its histograms: their fullest bin "
            "is hidden, and coefficients may be anywhere within their bounds ``v``; give "
            f"``B={enough}`` or more, a larger epsilon, fewer regressors, "
            "``noise_on='occupied bins'`` as printed, or ``confirm=True``"
        )

    def x_budget(self, facts: InformedFacts, budget: Budget) -> Budget:
        """Return the share of the covariates."""
        if not facts.covariates.names:
            return Budget(0, budget.delta)
        own = self.rule.epsilon_x
        epsilon = self.rule.covariates * budget.epsilon if own is None else own
        return Budget(epsilon, budget.delta * (1 - self.rule.histograms))

    def reason(self, facts: InformedFacts, budget: Budget) -> str:
        """Reason why nothing is promised."""
        variant = "" if self.settings.noise_on == "every bin" else f"; {EMPTY_BINS}"
        if self.settings.sigma == "confidential":
            variant += "; the residual variance is that of the confidential fit as it is"
        return f"{REASON}{variant}; {facts.covariates.words(self.x_budget(facts, budget))}"


class GenModel(ModelInformed[GenModelSpec]):
    """Release an experiment through Algorithm 3: **no differential-privacy guarantee**.

    Parameters
    ----------
    data, schema, formula, treatment, assignment, families, x_method, zeta
        As for :class:`dprct.published.Hybrid`.
    missing_outcomes, attrition, keep
        The same.
    allocation : Allocation, optional
        How epsilon is divided; :meth:`Allocation.section4` by default.
    B : int, default 5000
        Number of simulated proxies, which are averaged; at least 2.
    v : number, or mapping from coefficient to number, default 50
        Bounds on the absolute value of coefficients and residual variances, all alike or each its
        own by name, as in ``{"treat": 10, "residual variance": 100}``; what is left out has 50.
    alpha : number, or mapping from coefficient to number, default 0.05
        Of the private ranges, in the same form.
    sigma_min, sigma_max : float
        Bounds on the residual standard deviation, the only ones that Algorithm 3 asks for: the
        range of a coefficient takes its standard deviation from the private residual variance.
        2^-15 and 2^15 in the paper.  A private residual variance
        below ``sigma_min^2`` is raised to it, with a warning and a line in the certificate.
    sigma : {"private", "confidential"}
        Whether outcomes are drawn with the private residual variance, or with the confidential
        one (section 3.2.2).
    confidential_from : {"last step", "line 17"}
        The confidential variance replaces the private one in the last step only, or already in
        the covariance of the coefficients; then no private one is made and coefficients share its
        epsilon.
    noise_on : {"occupied bins", "every bin"}
        Of the histograms of Algorithms 4 and 5: as printed, an empty bin gets no noise and cannot
        win.  With noise on every bin each step hides one proxy, at a price: where epsilon is small
        an empty bin wins often, and the coefficient is anywhere within -v and v.

    Raises
    ------
    FormulaError, ColumnError, SchemaError, ParameterError
        As for :class:`dprct.published.Hybrid`, and for parameters outside their range.

    Notes
    -----
    Guarantee: none.  With noise on every bin the privacy of every step is with respect to one
    simulated proxy; as printed (Algorithm 4, line 10; Algorithm 5, line 9) not even that.

    ``.estimates`` of the release maps outcomes to their noisy coefficients, with a covariance of
    ``S~`` plus the Laplace noise.  The private variance estimates ``s^2 (n - k) / n``: the
    published last step, kept here, draws outcomes with that much less spread.

    Families other than gaussian, which section 3.2.2 leaves to future work, take the asymptotic law
    of their coefficients in the place of the exact one: proxies are normal around the fit, with the
    inverse of the Fisher information on the released rows.  There is no residual variance, whose
    epsilon goes to the coefficients, and outcomes are drawn from the family at the noisy ones.

    Misprints are corrected: the squared residuals, the standard deviation in the ranges, clipping,
    and 1/B in the noise (Algorithm 3), and 2^(2l+4) for the variance (Algorithm 4).  The authors'
    own code divides the residual sd by n, which is where the standard errors of 0.00 come from, and
    its range search can fall to the lowest bin, which accounts for the largest effects.

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
        families: Mapping[str, str] | None = None,
        x_method: XMethod | Any = "published",
        zeta: float | None = None,
        missing_outcomes: MissingOutcomes = "reproduce",
        attrition: bool = False,
        keep: Iterable[str] = (),
        allocation: Allocation | None = None,
        B: int = 5000,
        v: float | Mapping[str, float] = V,
        alpha: float | Mapping[str, float] = ALPHA,
        sigma_min: float = SIGMA_BOUNDS[0],
        sigma_max: float = SIGMA_BOUNDS[1],
        sigma: Sigma = "private",
        confidential_from: From = "last step",
        noise_on: NoiseOn = "occupied bins",
    ) -> None:
        self._rule = Allocation.section4() if allocation is None else allocation
        self._settings = _checked(
            Settings(B, v, alpha, sigma_min, sigma_max, sigma, confidential_from, noise_on)
        )
        super().__init__(
            data,
            schema,
            formula=formula,
            treatment=treatment,
            assignment=assignment,
            families=families,
            x_method=x_method,
            zeta=zeta,
            missing_outcomes=missing_outcomes,
            attrition=attrition,
            keep=keep,
        )
        self._settings.check_names(self.facts.regressors)

    def _specified(self, **common: Any) -> GenModelSpec:
        return GenModelSpec(rule=self._rule, settings=self._settings, **common)

    def division(self, epsilon: Real, delta: Real = 0) -> Division:
        """Budget of every step; the parts add up to the budget exactly.

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
            scaled = released.weighted(fit)
            beta = fit.beta if scaled is released else released.projected(fit.beta)
            drawn = proxies(scaled, beta, fit.sigma2, settings.B, rng)
            found = sanitised(
                scaled,
                drawn,
                fit.sigma2,
                parts.outcomes[name],
                names[name],
                settings if fit.family == "gaussian" else settings.without_variance,
                rng,
            )
            note = self._floor_note(name) if found.at_floor else ""
            notes += [note] if note else []
            noisy = replace(fit, kept=released.kept, beta=found.beta, sigma2=found.sigma2)
            outcomes[name] = noisy.draw(released.W, rng)
            estimates[name] = self._results(noisy, scaled, found, names[name], note, budget)
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
            df_inference=released.df_resid if fit.family == "gaussian" else math.inf,
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


def _each(what: str, shares: list[Any]) -> Iterator[PlannedNumber]:
    yield PlannedNumber(what, len(shares))
    if shares:
        why = "epsilon of the range of each, and of its noise"
        yield PlannedNumber(what, float(shares[0].range_), why=why)


def _checked(settings: Settings) -> Settings:
    B: object = settings.B
    if isinstance(B, bool) or not isinstance(B, (int, np.integer)) or B < 2:
        raise ParameterError(f"``B={B!r}``; give a whole number of at least 2, such as 5000")
    check_choice("sigma", settings.sigma, get_args(Sigma))
    check_choice("confidential_from", settings.confidential_from, get_args(From))
    DPVariance(1, 0, settings.sigma_min, settings.sigma_max, settings.noise_on)
    for v in _every(settings.v):
        DPRange(1.0, 1, 0, v)
    for alpha in _every(settings.alpha):
        DPRange(1.0, 1, 0, alpha=alpha)
    return settings


def _every(given: Each) -> list[float]:
    """Return every number of an option that coefficients may have by name."""
    return [*given.values()] if isinstance(given, Mapping) else [given]


def _units() -> Array:
    """Shares of a normal sample in bins of one standard deviation (Algorithm 5)."""
    return np.diff(special.ndtr(np.arange(-8, 9) - 0.5))


def _powers() -> Array:
    """Shares of the distances of two such values in bins of powers of 2 (Algorithm 4)."""
    return 2 * np.diff(special.ndtr(2.0 ** np.arange(-30, 4) / math.sqrt(2)))


def _all_lost(scale: float, values: int, shares: Array) -> float:
    """Return the probability that no occupied bin keeps a share above 0."""
    occupied = max(1, int((values * shares >= 1).sum()))
    return float(math.exp(-1 / scale) / 2**occupied)
