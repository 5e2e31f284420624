"""The doubly robust effect (AIPW): what it releases, from which fits, and how far it errs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dprct.defaults import AIPW_ETA_MOST, AIPW_PARTS, AIPW_REACH
from dprct.errors import ParameterError
from dprct.estimate.ipw.release import Released, parted, require_delta
from dprct.estimate.log_odds import CONSTANT, log_odds, raised, with_constant
from dprct.privacy.budget import Budget
from dprct.privacy.mechanisms import Allocation, AnalyticGaussian, DiscreteLaplace, split
from dprct.queries.doubly_robust import Fits, FoldMoments, Scores
from dprct.queries.sums import GRID
from dprct.queries.weighting import HALF
from dprct.records import dataclass
from dprct.results.plan import PlannedNumber, notes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from fractions import Fraction

    from numpy.typing import NDArray

    from dprct.privacy.budget import Real, Relation
    from dprct.privacy.noise import NoiseSource
    from dprct.queries.weighting import CompactTable, Scheme

    Array = NDArray[np.float64]
    Mechanism = AnalyticGaussian | DiscreteLaplace

FITS = "fits"
"""The part of an allocation that buys the moments of which both models are made."""

_ETA_MOST = 0.9
"""At which errors of both models stop to be raised: intervals are then of no use."""

_LEAST_SD = 0.02
"""Of an outcome, in units of half the width of its bounds, where a released one is smaller."""


@dataclass(frozen=True)
class AIPWForm:
    """What a doubly robust fit releases, whatever its budget."""

    # n1, n2: rows of the two folds.
    n1: int
    n2: int
    d: int  # coordinates of z, the constant included
    scheme: Scheme
    # Of epsilon, for the moments (which get all of delta), the sum of scores and that of squares.
    shares: Mapping[str, Fraction]
    relation: Relation = "replace-one"

    @classmethod
    def asked(
        cls, sizes: tuple[int, int], d: int, scheme: Scheme, shares: Mapping[str, Real] | None
    ) -> AIPWForm:
        """Return the form, with shares asked for or the usual ones."""
        return cls(*sizes, d, scheme, split(shares, AIPW_PARTS))

    @property
    def n(self) -> int:
        """Rows."""
        return self.n1 + self.n2

    def allocation(self, budget: Budget) -> AIPWAllocation:
        """Return the mechanisms of a fit at this budget.

        Notes
        -----
        All parts read all rows, and claims add up: the moments of both folds keep (share epsilon,
        delta) as one vector, of which a record moves one half; given them and who is in which
        fold, scores and squares are sums over all rows of functions of one row each.
        """
        require_delta(budget)
        layout = FoldMoments(self.d)
        own = Budget(budget.epsilon * self.shares[FITS], budget.delta)
        parts: dict[str, Mechanism] = {FITS: AnalyticGaussian(own, layout.l2_squared, layout.size)}
        for name in ("effect", "variance"):
            parts[name] = DiscreteLaplace(budget.epsilon * self.shares[name], GRID)
        made = AIPWAllocation(budget=budget, parts=parts, form=self, layout=layout)
        made.check_fits()
        return made


@dataclass(frozen=True, kw_only=True)
class AIPWAllocation(Allocation):
    """The mechanisms of one doubly robust fit."""

    parts: Mapping[str, Mechanism]
    form: AIPWForm
    layout: FoldMoments

    def __getitem__(self, name: str) -> Mechanism:
        return self.parts[name]

    @property
    def moment_sd(self) -> float:
        """Noise of a moment, where coordinates are at most 1."""
        return self[FITS].noise_sd / (1 << 30)

    @property
    def eta(self) -> float:
        """Noise of the covariates' moments over their curvature, expected from public facts.

        Notes
        -----
        s sqrt(k) / (n / 2 / (8 K)) for K = k covariates whose sd is a quarter of the width of their
        bounds: z_j = x_j / sqrt(2 K) then has variance 1 / (8 K).
        """
        covariates = max(self.form.d - 1, 1)
        curvature = self.form.n / 2 / (8 * covariates)
        return self.moment_sd * math.sqrt(covariates) / curvature

    def check_fits(self) -> None:
        """Refuse, before a charge, fits that would be noise."""
        if self.eta > AIPW_ETA_MOST:
            raise ParameterError(
                f"``estimator='aipw'`` with {self.form.d - 1} columns of covariates and "
                f"{self.form.n:,} rows: the noise of the moments is expected to be {self.eta:.2g} "
                f"times what covariates add to them, and above {AIPW_ETA_MOST:g} both models are "
                "noise; spend more, use more rows or name fewer covariates, or take "
                "``PrivateMoments`` or ``estimator='ipw'``"
            )

    def reach(self, sd: float) -> float:
        """Return C, at which scores are clipped, for outcomes of this sd.

        Notes
        -----
        The larger of ``8 sd`` and ``sd sqrt(n) epsilon / 4``, but at most what a score can be,
        2 + 2 / c.  Epsilon is that of the sum of scores, whose noise then has an sd of 4 sd /
        (n epsilon / 2) or .7 sd / sqrt(n), a third of the sampling error.  C grows with n, so that
        the share of the variance beyond it, and with it the bias over the sampling error, goes to
        0 wherever the variance is finite.
        """
        epsilon = float(self["effect"].budget.epsilon)
        floor, slope = AIPW_REACH
        most = 2 + 2 / self.form.scheme.trim
        return min(most, max(floor, slope * math.sqrt(self.form.n) * epsilon) * sd)

    def effect_scale(self, reach: float) -> float:
        """Return the Laplace scale of the effect."""
        return self["effect"].scale * reach / HALF / self.form.n  # type: ignore[union-attr]

    def variance_scale(self, reach: float) -> float:
        """Return the Laplace scale of the sampling variance of the effect."""
        scale = self["variance"].scale  # type: ignore[union-attr]
        return scale * reach**2 / GRID / self.form.n**2


@dataclass(frozen=True)
class Modelled:
    """What the released moments of a fold say."""

    fits: Fits
    residual_sd: float  # of the outcome, given treatment and covariates
    # product_bias, product_variance: mean and variance, over noise and sampling, of what errors of
    # both models do together to an effect that uses them.
    product_bias: float
    product_variance: float


def modelled(moments: Array, n: int, noise: float, trim: float) -> Modelled:
    """Models of one fold of n rows, made of its released moments.

    These are sums of products of (z, t - 1/2, y/2), (d + 2, d + 2), with noise of sd ``noise`` in
    each.

    Notes
    -----
    Means, variances and covariances follow from the moments; the covariance matrix of the
    covariates is raised to the size of its noise in every direction, noise sqrt(k) / n.

    *Treatment.*  Least squares give slopes g of t on the covariates.  Where log odds are normal
    with mean m and sd s, g is E[p (1 - p)] times the slopes of the log odds (Stein's lemma), so
    that m and s are found from the share of the treated and from the variance of z'g: log odds
    of a logit without another query.

    *Outcome.*  Least squares on treatment and covariates.

    *Errors together.*  With errors u of the slopes of treatment and v of those of the outcome,
    a doubly robust effect is off by u'Su / (q (1 - q)) with v in the second place, to second order:
    of their noise, with variances s^2 A^2 (1 + ||g||^2) and s^2 A^2 (4 + ||b||^2), A = (n S)^-1,
    and of their sampling.  The noise of S is in both, which gives the product a mean.  That A is
    known with noise, eta times what covariates add, makes the product larger: its variance is
    divided by (1 - eta)^2.
    """
    mean, k = moments / n, len(moments) - 3
    first = mean[-3, :] / CONSTANT
    centre, q, y = first[:k], float(first[-2]) + 0.5, 2 * float(first[-1])
    q = min(max(q, trim), 1 - trim)
    S = mean[:k, :k] - np.outer(centre, centre)
    with_t = mean[:k, -2] - centre * (q - 0.5)
    with_y = 2 * mean[:k, -1] - centre * y
    cross, total = 2 * float(mean[-2, -1]) - (q - 0.5) * y, 4 * float(mean[-1, -1]) - y**2
    least = noise * math.sqrt(k) / n
    S, inverse = raised(S, least)
    slopes = inverse @ with_t
    left = max(q * (1 - q) - float(with_t @ slopes), q * (1 - q) / 4)
    effect = min(max((cross - float(slopes @ with_y)) / left, -2.0), 2.0)
    b = inverse @ (with_y - with_t * effect)
    A = inverse / n
    noises = noise**2 * (1 + float(slopes @ slopes)), noise**2 * (4 + float(b @ b))
    found = total - float(b @ with_y) - effect * cross + noises[1] * float(np.trace(A)) / n
    residual = min(max(found, _LEAST_SD**2), max(total, _LEAST_SD**2))
    m, steep = log_odds(q, slopes, S, noises[0] * float(np.trace(A)) / n)
    fits = Fits(
        with_constant(steep, m, centre),
        with_constant(b, y - effect * q, centre),
        effect,
    )
    u = noises[0] * A @ A + left * inverse / n
    v = noises[1] * A @ A + residual * inverse / n
    ASA = A @ S @ A
    # E N B N of a symmetric N with independent entries: tr(B) I, and B off its diagonal
    apart = ASA - np.diag(np.diag(ASA)) + float(np.trace(ASA)) * np.eye(k)
    shared = noise**2 * float(b @ apart @ slopes)
    scale = 1 / (q * (1 - q))
    eta = min(least * k / float(np.trace(S)), _ETA_MOST)
    variance = float(np.einsum("ij,ji->", S @ u, S @ v)) * (scale / (1 - eta)) ** 2
    return Modelled(fits, math.sqrt(residual), shared * scale, variance)


def released_aipw(allocation: AIPWAllocation, rows: CompactTable, noise: NoiseSource) -> Released:
    """Draw everything; the caller has charged the whole.

    Notes
    -----
    What the noise that both models share is expected to do to the effect is subtracted, and half
    of it is counted as error.

    Folds are drawn as the parts of :func:`~dprct.estimate.ipw.release.released` are, with the same
    argument: for every set of places that is the first fold, the guarantee holds.
    """
    form = allocation.form
    folds = [rows.part(places) for places in parted(form.n1, form.n, rows, noise)]
    drawn = allocation[FITS].release(allocation.layout.sealed(folds), noise)
    moments = allocation.layout.matrices(drawn.values)
    found = [
        modelled(each, size, drawn.noise_sd, form.scheme.trim)
        for each, size in zip(moments, (form.n1, form.n2), strict=True)
    ]
    sd = math.sqrt(math.fsum(one.residual_sd**2 for one in found) / 2)
    reach = allocation.reach(sd)
    crossed = list(zip(folds, (found[1].fits, found[0].fits), strict=True))
    scores = Scores(crossed, form.scheme.trim, reach)
    mean = float(allocation["effect"].release(scores.total(), noise).values[0]) / form.n
    squares = float(allocation["variance"].release(scores.squares(), noise).values[0])
    bias = math.fsum(one.product_bias for one in found) / 2
    spread = math.fsum(one.product_variance for one in found) / 4
    index = (found[0].fits.index + found[1].fits.index) / 2
    return Released(
        weights=index,
        weight_sd=drawn.noise_sd,
        theta=mean - bias,
        noises=(allocation.effect_scale(reach),),
        variance=(squares / form.n - mean**2) / form.n,
        variance_scale=allocation.variance_scale(reach),
        steepness=math.sqrt(spread + (bias / 2) ** 2),
        n2=form.n2,
    )


def expected_aipw(allocation: AIPWAllocation, spread: float, share: float) -> Released:
    """Return what a fit is expected to release of outcomes with an sd of ``spread`` within arms."""
    form, reach = allocation.form, allocation.reach(spread)
    return Released(
        weights=np.zeros(form.d),
        weight_sd=allocation.moment_sd,
        theta=0.0,
        noises=(allocation.effect_scale(reach),),
        variance=spread**2 / (share * (1 - share)) / form.n,
        variance_scale=allocation.variance_scale(reach),
        n2=form.n2,
    )


def planned_aipw(
    allocation: AIPWAllocation, radius: float, spread: float
) -> Iterator[PlannedNumber]:
    """Form, folds, trimming, division of the budget and noise, as a plan has them."""
    form, reach = allocation.form, allocation.reach(spread)
    said = "doubly robust: scores of a model of treatment and one of the outcome, cross-fitted"
    yield from notes({"form": said})
    yield PlannedNumber("rows", form.n1, why="of the first fold, scored by the second's models")
    yield PlannedNumber("rows", form.n2, why="of the second, scored by the first's")
    yield PlannedNumber("trimming", form.scheme.trim, why="the smallest propensity")
    yield PlannedNumber("trimming", 1 - form.scheme.trim, why="the largest")
    for name, share in form.shares.items():
        yield PlannedNumber("budget", float(share), why=name)
    why = "noise of the moments over what covariates add to them; above .5 refused"
    yield PlannedNumber("noise of the models", allocation.eta, why=why)
    why = "at which scores are clipped; about, for it follows the released sd of residuals"
    yield PlannedNumber("largest score", reach * radius, why=why)
    noise = math.sqrt(2) * allocation.effect_scale(reach) * radius
    yield PlannedNumber("noise of the effect", noise, why="sd")
