"""What a private IPW returns: an effect with its law, released weights and diagnostics, no row.

What a plan expects of it is found from public facts alone.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.errors import ColumnError, ParameterError
from dprct.estimate.effects import NoisyEffect, NoisyVariance, WithLaws
from dprct.estimate.ipw.doubly_robust import AIPWAllocation
from dprct.estimate.ipw.release import Released, divisor_of, gaussian_draws, slope_kept
from dprct.estimate.noise_law import LARGEST_RHO
from dprct.estimate.roots import root
from dprct.lazy import pandas as pd
from dprct.lazy import special
from dprct.privacy.mechanisms import DiscreteLaplace
from dprct.queries.sums import GRID
from dprct.queries.weighting import HALF, Centre
from dprct.records import dataclass
from dprct.results.plan import STD_ERROR, WITHOUT_PRIVACY, PlannedNumber, units_of
from dprct.schema.tables import eager

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from dprct.estimate.ipw.release import IPWAllocation
    from dprct.privacy.budget import Guarantee
    from dprct.queries.propensity import Covariates
    from dprct.queries.weighting import Scheme


OUTCOME_SD = 0.5
"""Of an outcome, in units of half the width of its bounds: bounds two sd from the middle."""

TREATED_SHARE = 0.5
"""Of the rows, where none is declared."""

FEWEST_KEPT = 0.5
"""Share of the slopes below which the penalty is warned of."""

_FROM_MIDDLE = 0.5
"""Distance of a mean from the middle of the bounds, in units of half their width."""


@dataclass(frozen=True)
class Declared:
    """What a study knows from elsewhere of its outcome and its treatment."""

    radius: float  # R, half the width of the bounds of the outcome
    sd: float | None = None  # of the outcome within an arm
    share: float | None = None  # of the rows that are treated

    @property
    def spread(self) -> float:
        """The sd that plans with: the declared one, or a quarter of the width of the bounds."""
        return self.radius * OUTCOME_SD if self.sd is None else self.sd

    @property
    def treated(self) -> float:
        """The share that plans with."""
        return TREATED_SHARE if self.share is None else self.share


def expected_effect(allocation: IPWAllocation, declared: Declared) -> NoisyEffect | NormalEffect:
    """Return an effect whose released numbers are what they are expected to be.

    Notes
    -----
    *Sampling*: sd^2 / (n2 p (1 - p)) with the share p of treated, and in the plain form, which is
    about the middle of the bounds, a mean half way to a bound adds its square.  *Weights*: the norm
    of the derivative is that of an outcome of which covariates explain all: z_j = x_j / sqrt(2 K)
    with an sd of half of a range, in both arms.  *Noise*: that of every part at its scale, means
    half way to a bound.  None of these is a bound, and all are public.
    """
    form, scheme = allocation.form, allocation.form.scheme
    spread, share = declared.spread / declared.radius, declared.treated
    mass = form.mass_of(declared.treated)
    # noise in the estimate: of sums over their divisors, and of the divisors themselves
    noises: tuple[float, ...]
    if form.hajek:
        divisor, size = float(form.n2), mass
        most = (scheme.treated_most, scheme.control_most)
        sums = [_size(allocation, "effect") / HALF * one / size for one in most]
        counts = [_size(allocation, "mass") / GRID * one / size * _FROM_MIDDLE for one in most]
        noises = (*sums, *counts)
        scale = form.n2 / size
        centre = Centre(_FROM_MIDDLE, _FROM_MIDDLE, 0.0, 0.0, scale, scale)
        second = spread**2
    else:
        divisor = mass if scheme.estimand != "ate" else float(form.n2)
        noises = (_size(allocation, "effect") / HALF * scheme.most / divisor, 0.0)
        centre = Centre()
        second = spread**2 + _FROM_MIDDLE**2
    # what errors are told (log odds with an sd of 1/2), each with the scale of its noise
    steepness = scale_of = 0.0
    index = math.sqrt(8 * max(form.d - 1, 1))
    if form.errors == "total":
        steepness = math.sqrt(second) / index
        scale_of = _size(allocation, "gradient") / HALF * centre.slope(scheme) / divisor
    found = Released(
        weights=np.zeros(form.d),
        shortfall=allocation.shortfall_of(index / 2 * slope_kept(allocation)),
        weight_sd=allocation.weight_sd,
        weight_spread=allocation.weight_spread,
        theta=0.0,
        noises=noises,
        gaussian=gaussian_draws(form),
        variance=second / (form.n2 * share * (1 - share)),
        variance_scale=_size(allocation, "variance") / GRID * (centre.reach(scheme) / divisor) ** 2,
        steepness=steepness,
        steepness_scale=scale_of,
        n2=form.n2,
    )
    return effect_of(found, declared.radius)


def planned_errors(
    effect: NoisyEffect | NormalEffect,
    declared: Declared,
    n: int,
    alphas: Sequence[float],
    of: Mapping[str, str],
) -> Iterator[PlannedNumber]:
    """Errors to expect of the effect: with privacy and without, its interval, its sign.

    ``of`` says whose effect it is, by "outcome" and "term".

    Notes
    -----
    Without privacy all n rows give the weights and the effect: sd^2 / (n p (1 - p)) with the share
    p of treated.  *Wrong sign*: the estimate is taken to be normal with the sd of which a 95%
    interval has 1.96 on either side; an effect as large as half a 90% interval then has the wrong
    sign one time in twenty.  A bound that assumes nothing of the kind is
    :class:`dprct.published.SignRisk`, for the published form.
    """
    half, p = effect.half_width(0.05), declared.treated
    sd = half / -float(special.ndtri(0.025))
    unit, why = units_of(of["outcome"]), f"for an outcome of sd {declared.spread:.4g}"
    error, without = effect.standard_error(alphas), declared.spread / math.sqrt(n * p * (1 - p))
    yield PlannedNumber(STD_ERROR, error, unit, why, **of)
    yield PlannedNumber(WITHOUT_PRIVACY, without, unit, **of)
    yield PlannedNumber("half_width", half, unit, "of 95% intervals", **of)
    least = -float(special.ndtri(0.05)) * sd
    yield PlannedNumber("wrong_sign_at", least, unit, "an effect so large, 1 time in 20", **of)
    wrong = float(special.ndtr(-declared.spread / sd))
    yield PlannedNumber("wrong_sign", wrong, "", "how often, of an effect of one sd", **of)


def _size(allocation: IPWAllocation, name: str) -> float:
    """Return the Laplace scale, or the sd, of the noise of a part, in its steps."""
    mechanism = allocation[name]
    return mechanism.scale if isinstance(mechanism, DiscreteLaplace) else mechanism.noise_sd


def check_estimable(allocation: IPWAllocation, declared: Declared) -> None:
    """Refuse, before a charge, what the declared share of treated says will not be estimated."""
    form = allocation.form
    if declared.share is None or not (form.hajek or form.counts_arm):
        return
    least, mass = divisor_of(allocation), form.mass_of(declared.share)
    if mass < least:
        raise ParameterError(
            f"``treated_share={declared.share:g}`` of {form.n2:,} rows leaves a sum of weights of "
            f"{mass:,.0f}, and below {least:,.0f} no effect is estimated; spend more, use more "
            "rows, or ask for ``estimand='ate'`` with ``hajek=False``"
        )


def warnings_of(
    allocation: IPWAllocation, declared: Declared, kept: float, half: float
) -> Iterator[str]:
    """Yield what is likely to disappoint.

    ``kept`` is the share of the slopes of the log odds that the penalty leaves, ``half`` half the
    width of the 95% intervals to expect.
    """
    form = allocation.form
    if math.exp(-(allocation.weight_sd**2) / 2) < 1 / form.scheme.odds_most:
        yield (
            "the noise of the propensity weights takes de-biased odds below the trimming: what is "
            "weighted by is mostly noise; spend more, raise lam, or use more rows"
        )
    if kept < FEWEST_KEPT:
        yield (
            f"the penalty leaves about {kept:.0%} of the slopes of the log odds: most of the "
            "confounding stays in the effect; spend more, use more rows, or name fewer covariates"
        )
    if form.errors == "conditional" and not form.hajek:
        yield (
            "``errors='conditional'`` with the plain form: intervals leave out the largest part "
            "of the error, and 95% intervals covered 62 to 75% of the time; ask for "
            "``errors='total'`` or ``hajek=True``"
        )
    if half > declared.spread:
        known = declared.sd is not None
        sd = "is declared" if known else "is taken for it, a quarter of the width of the bounds"
        yield (
            f"not usable with {form.n1 + form.n2:,} rows: 95% intervals of about +-{half:.3g} are "
            f"expected, more than one sd of the outcome ({declared.spread:.3g} {sd}); spend more, "
            "use more rows, trim more, or declare narrower bounds" + " or the sd" * (not known)
        )
    if declared.share is None and (form.counts_arm or (form.hajek and form.one_arm)):
        yield (
            "no treated_share is declared: half of the rows are taken to be treated, and if few "
            "are, the budget is spent and nothing estimated; declare their share if it is public"
        )


MISSED = 0.1
"""Share of alpha that is kept for variances that came out too small."""

_LEAST = 1e-12

_SMALLEST, _LARGEST, _SIZES, _MOST_RAISED = 0.05, 400.0, 400, 60.0


@dataclass(frozen=True)
class NoisySteepness:
    """What noisy weights add to the variance of an effect, from a released norm of its derivative.

    Notes
    -----
    The variance is spread N^2.  It is read as spread (max(0, N + Laplace) + a b)^2: the a of
    :func:`steepness_correction` makes intervals of the level cover the error of the weights
    whatever N, on its own.  The penalty moves the effect by ``shortfall`` N at most, to first
    order; its square, with N as released, is added: an interval whose z is that of the root of
    variance and squared bias misses at most .006 more often than alpha, whatever their ratio.

    Examples
    --------
    >>> part = NoisySteepness(2.0, 0.1, 0.25)
    >>> part.raised(0.0), part.at(0.05) > 1.0, NoisySteepness(-1.0, 0.1, 0.25).raised(0.0)
    (1.0, True, 0.0)
    >>> NoisySteepness(2.0, 0.1, 0.25, shortfall=0.5).raised(0.0)
    2.0
    """

    # N + Laplace(scale), where N is the norm of the derivative of the effect in the weights.
    value: float
    scale: float  # b; public
    spread: float  # variance of a weight in every direction; public
    shortfall: float = 0.0  # how far the penalty moved the weights, from released ones

    def at(self, alpha: float) -> float:
        """Return the variance that the interval of level ``1 - alpha`` uses."""
        return self.raised(steepness_correction(alpha) if self.scale > _LEAST else 0.0)

    def bounds(self, alpha: float) -> tuple[float, float]:
        """Return two numbers between which it lies: itself."""
        found = self.at(alpha)
        return found, found

    def raised(self, c: float) -> float:
        """Return the variance for a norm that is raised by c scales."""
        norm = max(0.0, self.value)
        return self.spread * (norm + c * self.scale) ** 2 + (self.shortfall * norm) ** 2


@lru_cache(maxsize=256)
def steepness_correction(alpha: float) -> float:
    """The least a, at least 0, for which N (0, N^2) is covered whatever the N.

    The interval is -+ z (max(0, N + L) + a), L ~ Laplace(1), z the normal quantile of alpha.

    Notes
    -----
    Its coverage, E[2 Phi(z (max(0, N + L) + a) / N) - 1], tends to 1 for N near 0, where a alone is
    enough, and to 1 - alpha from above for large N once a covers the curvature; in between it has
    one minimum, which is looked for on a grid of N.  The mean over L is Gauss-Laguerre on each side
    of 0, and on the lower side of the place where N + L is 0.

    Examples
    --------
    >>> round(steepness_correction(0.05), 2), round(steepness_correction(0.01), 2)
    (0.94, 1.51)
    """
    # nodes are found here: that takes longer than to import the package
    nodes, weights = np.polynomial.laguerre.laggauss(40)
    places, lengths = (half / 2 for half in np.polynomial.legendre.leggauss(400))
    places = places + 0.5
    z = -float(special.ndtri(alpha / 2))
    sizes = np.geomspace(_SMALLEST, _LARGEST, _SIZES)[:, None]

    def missed(a: float) -> float:
        def beyond(norm: Any) -> Any:
            return 2 * special.ndtr(-z * (norm + a) / sizes)

        above = beyond(sizes + nodes) @ weights
        # L in [-N, 0] by Gauss-Legendre, and what lies below -N
        below = (beyond(sizes * (1 - places)) * np.exp(-sizes * places) * sizes) @ lengths
        under = np.exp(-sizes[:, 0]) * beyond(0.0)[:, 0]
        return float(((above + below + under) / 2).max()) - alpha

    return root(missed, 0.0, _MOST_RAISED) if missed(0.0) > 0 else 0.0


@dataclass(frozen=True)
class NormalEffect:
    """A released effect, tau + N(0, sd^2), and its released variances.

    Notes
    -----
    The interval of level 1 - alpha is value -+ z V^(1/2): V contains each of the m noisy variances
    raised by ``b_V log(m / (2 beta))``, so that one of them is too small with probability beta =
    alpha / 10 at most, and z is the quantile of alpha - beta.  It misses with probability at most
    beta + (alpha - beta).

    Examples
    --------
    >>> from dprct.estimate.effects import NoisyVariance
    >>> effect = NormalEffect(0.5, 0.1, (NoisyVariance(0.01, 1e-4, 0.1),))
    >>> effect.half_width(0.05) > 1.96 * (0.01 + 0.01) ** 0.5
    True
    """

    value: float
    sd: float  # of the Gaussian noise
    # Of its sampling error and of the weights, each from a number with Laplace noise.
    variances: tuple[NoisyVariance | NoisySteepness, ...]

    @property
    def noise_sd(self) -> float:
        """Standard deviation of the privacy noise."""
        return self.sd

    @property
    def scales(self) -> tuple[float, ...]:
        """Laplace draws in the effect: none."""
        return ()

    def variance(self, alpha: float) -> float:
        """Return the sampling variance that the interval of a level uses."""
        noisy = sum(part.scale > _LEAST for part in self.variances) or 1
        raised = max(0.0, -math.log(2 * MISSED * alpha / noisy))
        return math.fsum(part.raised(raised) for part in self.variances)

    def half_width(self, alpha: float) -> float:
        """Return q: the interval of level ``1 - alpha`` is value -+ q."""
        z = -float(special.ndtri((1 - MISSED) * alpha / 2))
        return z * math.sqrt(self.variance(alpha) + self.sd**2)

    def noise_half_width(self, alpha: float) -> float:
        """Half width without sampling error."""
        return -float(special.ndtri(alpha / 2)) * self.sd

    def standard_error(self, levels: Sequence[float]) -> float:
        """Return the largest q / z over the levels at which z-intervals are to cover."""
        return max(self.half_width(alpha) / -float(special.ndtri(alpha / 2)) for alpha in levels)

    def p_value(self, alphas: Sequence[float]) -> float:
        """Return the largest level whose interval contains zero; not below 1e-10."""
        del alphas  # the width falls with the level without a break
        size = abs(self.value)
        low, high = 1e-10, 1 - 1e-12
        if not size > self.half_width(high):
            return 1.0
        if size >= self.half_width(low):
            return low
        return root(lambda alpha: self.half_width(alpha) - size, low, high)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class IPWResults(WithLaws):
    """A private effect by inverse probability weighting, with its interval and its diagnostics.

    Parameters
    ----------
    effect : NoisyEffect or NormalEffect
        The released effect and the law of its error.
    errors : {"total", "conditional on the propensity model"}
        What the standard errors contain.
    scheme : Scheme
        Estimand and trimming.
    alphas : tuple of float
        Sizes of tests at which ``params -+ z bse`` is valid.
    propensity_params : (d,) Series
        Released coefficients of the propensity model in z = (x / sqrt(K), 1) / sqrt(2), K terms.
    weight_sd : float
        Standard deviation of the noise of each coefficient; of a doubly robust effect, that of a
        moment which coefficients are made of.
    lam : float
        The penalty; NaN of a doubly robust effect, which has none.
    design : Covariates
        How rows become z; public.
    balance_table : DataFrame or None
        By covariate: ``smd``, the weighted difference of the arms divided by the covariate's root
        mean square around the middle of its bounds, and ``noise``, the standard deviation of its
        noise.
    overlap_table : DataFrame or None
        By bin of the propensity: noisy counts of the ``treated`` and of the ``control`` group.
    ledger : str
        Where the budget was charged.

    Notes
    -----
    ``bse`` is the largest half width divided by z over the declared alphas; :meth:`conf_int` uses
    the exact law of the error.
    """

    effect: NoisyEffect | NormalEffect
    errors: str
    scheme: Scheme
    alphas: tuple[float, ...]
    propensity_params: pd.Series[float]
    weight_sd: float
    lam: float
    design: Covariates
    balance_table: pd.DataFrame | None = None
    overlap_table: pd.DataFrame | None = None
    ledger: str = ""

    @property
    def _laws(self) -> tuple[NoisyEffect | NormalEffect]:
        return (self.effect,)

    def propensity(self, data: Any) -> NDArray[np.float64]:
        """Return the trimmed propensity of rows that you may see, by the released model; (n,).

        Parameters
        ----------
        data : data frame
            Rows with the covariates of the model, such as public or invented ones.

        Notes
        -----
        Free, because it uses released coefficients only.  The result is as confidential as
        ``data``.
        """
        frame = eager(data)
        for block in self.design.blocks:
            if block.column.name not in frame.columns:
                raise ColumnError.unknown(block.column.name, frame.columns, "the rows")
        u = self.design.of_table(frame) @ self.propensity_params.to_numpy()
        e = 1 / (1 + np.exp(-u.clip(-700, 700)))
        return np.asarray(e.clip(self.scheme.trim, 1 - self.scheme.trim))

    def facts(self) -> tuple[tuple[str, str], ...]:
        """Return the lines above the table, as (name, value)."""
        return (
            ("Outcome", self.outcome),
            ("Observations", f"{self.nobs:,}"),
            ("Std err", self.errors),
            ("Trimmed at", f"{self.scheme.trim:g}"),
        )


ERRORS = {"total": "total", "conditional": "conditional on the propensity model"}


def effect_of(found: Released, radius: float) -> NoisyEffect | NormalEffect:
    """The effect in units of the outcome, with the law of its error; R is half the bounds' width.

    Notes
    -----
    theta = effect + sampling + weights + noise.  *Sampling*: the released mean of squared
    influences over n2, whose expectation is V and the square of the noise in theta more.
    *Weights*: the square of the released norm of the gradient times the variance of a weight
    (:attr:`~dprct.estimate.ipw.release.IPWAllocation.weight_spread`), see
    :class:`NoisySteepness`.
    *Noise*: one Laplace draw, or several by the delta method where there are denominators.
    """
    rates = [size * radius for size in found.noises if size > _LEAST]
    v, b = found.variance * radius**2, found.variance_scale * radius**2
    widest = max(rates)
    weights = NoisySteepness(
        found.steepness * radius, found.steepness_scale * radius, found.weight_spread,
        found.shortfall,
    )  # fmt: skip
    variances = (NoisyVariance(v, b, ladder(b / widest**2)), weights)
    value = found.theta * radius
    if not found.gaussian:
        return NoisyEffect(value, tuple(rates), variances)
    sds = [
        size * radius * (1 if place < found.gaussian else math.sqrt(2))
        for place, size in enumerate(found.noises)
    ]
    return NormalEffect(value, math.hypot(*sds), variances)


def ladder(rho: float) -> float:
    """Return the next half power of two, within what :mod:`dprct.estimate.noise_law` takes.

    Notes
    -----
    b_V depends on released numbers here, and c(rho) is slow to compute: a few values of rho serve
    all fits.  c rises with rho, so that rounding up widens intervals.

    Examples
    --------
    >>> ladder(0.2), ladder(0.0)
    (0.25, 0.0009765625)
    """
    within = float(np.clip(rho, 2.0**-10, LARGEST_RHO))
    return float(min(2.0 ** (math.ceil(2 * math.log2(within)) / 2), LARGEST_RHO))


def results_of(
    found: Released,
    allocation: IPWAllocation | AIPWAllocation,
    radius: float,
    design: Covariates,
    guarantee: Guarantee,
    words: Mapping[str, str],
    alphas: Sequence[float],
) -> IPWResults:
    """Return the results object."""
    form = allocation.form
    effect = effect_of(found, radius)
    if isinstance(allocation, AIPWAllocation):
        title = "Private augmented inverse probability weighting (doubly robust)"
        errors, lam = "total", math.nan
        notes: tuple[str, ...] = (words["estimand"], _doubly_robust_note(allocation))
    else:
        title, lam = "Private inverse probability weighting", allocation.lam
        errors, notes = allocation.form.errors, _notes(found, allocation, words, effect)
    index = pd.Index([form.scheme.estimand.upper()], dtype=object)
    error = effect.standard_error(alphas)
    return IPWResults(
        params=pd.Series([effect.value], index=index),
        cov=pd.DataFrame([[error**2]], index=index, columns=index),
        bse_noise=pd.Series([effect.noise_sd], index=index),
        df_inference=float("inf"),
        df_resid=float("inf"),
        nobs=form.n1 + form.n2,
        cov_type="private",
        guarantee=guarantee,
        outcome=words["outcome"],
        formula=words["formula"],
        title=title,
        notes=notes,
        effect=effect,
        errors=ERRORS[errors],
        scheme=form.scheme,
        alphas=tuple(alphas),
        propensity_params=pd.Series(found.weights, index=pd.Index(design.names, dtype=object)),
        weight_sd=found.weight_sd,
        lam=lam,
        design=design,
        balance_table=_balance(found),
        overlap_table=_overlap(found),
        ledger=words["ledger"],
    )


def _notes(
    found: Released, allocation: IPWAllocation, words: Mapping[str, str], effect: Any
) -> tuple[str, ...]:
    form, trim = allocation.form, allocation.form.scheme.trim
    notes = [
        words["estimand"],
        f"Propensities: logistic, penalty {allocation.lam:.3g}, fitted to {form.n1:,} rows, "
        f"weights with noise sd {found.weight_sd:.3g}, odds de-biased for it, trimmed to "
        f"[{trim:g}, {1 - trim:g}]; the effect is of the other {form.n2:,}.",
    ]
    if math.isnan(effect.value):
        notes.append(
            "Not estimated: a released denominator is not far enough from its noise; spend more."
        )
    if form.errors == "conditional":
        notes.append(
            "Errors are conditional on the propensity model: they leave out that its weights are "
            "noisy and estimated."
            + " In the plain form this is the largest part of the error: such intervals covered 62 "
            "to 75% of the time for 95%." * (not form.hajek)
        )
    else:
        notes.append(
            "Errors contain sampling, the propensity weights and their penalty (to first order) "
            "and privacy noise; not the bias of trimming."
        )
    return tuple(notes)


def _doubly_robust_note(allocation: AIPWAllocation) -> str:
    form, trim = allocation.form, allocation.form.scheme.trim
    return (
        f"Doubly robust scores of all {form.n:,} rows, in two folds of which each is scored by "
        f"models of the other, propensities trimmed to [{trim:g}, {1 - trim:g}]. Errors contain "
        "sampling, privacy noise, and what errors of both models do together; not what a wrong "
        "model of treatment and a wrong model of the outcome do together."
    )


def _balance(found: Released) -> pd.DataFrame | None:
    if not found.balance:
        return None
    rows = {
        name: {"smd": apart / spread, "noise": noise / spread}
        for name, (apart, spread, noise) in found.balance.items()
    }
    return pd.DataFrame.from_dict(rows, orient="index")


def _overlap(found: Released) -> pd.DataFrame | None:
    if found.overlap is None:
        return None
    bins = found.overlap.shape[1]
    names = [f"{k / bins:g} to {(k + 1) / bins:g}" for k in range(bins)]
    return pd.DataFrame({"treated": found.overlap[0], "control": found.overlap[1]}, index=names)
