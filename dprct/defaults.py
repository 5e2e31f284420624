"""Constants that cost privacy or shape noise by default, and public functions of n with them."""

from __future__ import annotations

import math
from fractions import Fraction

from dprct.arguments import number_between

SPURIOUS_SHARE = Fraction(1, 20)
"""Share of n that the expected rows in empty cells may reach; it sets a histogram's threshold."""

FEWEST_SURVIVORS = 5
"""A histogram that can keep fewer combinations than this (n / t) must be confirmed."""

MOST_SPURIOUS = 0.1
"""A histogram of whose regressions more than this share may be significant must be confirmed."""

POINT_BINS = 10
"""Equal bins of a column of whole numbers in a histogram that declares none and has more values."""

TWO_ARM_SHARES = (Fraction(67, 100), Fraction(28, 100), Fraction(5, 100))
"""Shares of epsilon for an effect, its variance and the control mean (docs/methods.md, 3)."""

MANY_ARM_SHARES = (Fraction(7, 10), Fraction(3, 10))
"""Shares of epsilon for arm means and for their variances."""

PLANNED_ICC = Fraction(1, 20)
"""Intra-cluster correlation that a plan assumes where none is declared."""

POWER = 0.8
"""Probability with which plans say that an effect of the detectable size is found."""

GUESSED_SD = 0.25
"""Standard deviation, in widths of the bounds, by which epsilon is divided between the effect of
clusters and its variance, where none is declared."""

COUNTED_SHARES = (Fraction(7, 10), Fraction(3, 10))
"""Shares of epsilon for sums with counts of values, and for sums of squares (private missing)."""

FEWEST_COUNTED = 10
"""An arm with a released number of values below this has no estimated mean."""

FEWEST_COUNTED_SCALES = 20
"""Nor has one whose released number of values is below this many scales of its noise."""

VALID_LEVELS = (0.05,)
"""Sizes of tests at which a standard error times z is an interval that covers."""


def bins_by_zeta(n: int, zeta: float) -> int:
    """Return eta = ceil(n^zeta), the bins of a continuous column (dp_rct.txt, Algorithm 1).

    Examples
    --------
    >>> bins_by_zeta(947, 2 / 3)
    97
    """
    return math.ceil(math.pow(n, number_between("zeta", zeta, 0, 1, ", such as 2/3")))


COVARIATE_SHARE = Fraction(1, 5)
"""Share of epsilon for the covariates of a calibrated release, where they are drawn at all."""

MOMENT_SHARE = Fraction(1, 5)
"""Share of epsilon for the coefficients of covariates of a calibrated release, if asked for."""

COVARIATE_BINS = 10
"""Equal bins of a covariate of a calibrated release that declares none and has more values."""

LEAST_RESEMBLANCE = 5
"""How often the noise of a count must fit into n / cells for covariates to be worth drawing."""


CONTROL_SHARES = {"donor_weights": Fraction(1, 2), "prediction": Fraction(1, 2)}
"""Shares of a synthetic control's budget for ridge weights and for the path after treatment."""

MEAN_SHARE = Fraction(1, 2)
"""Share of the path's budget that goes to the mean by itself, where that is asked (mean_effect)."""

PRE_FIT_SHARE = Fraction(1, 10)
"""Share for the path before treatment, taken from the others in proportion, where it is asked."""

PLACEBO_SHARE = Fraction(1, 2)
"""Share for all placebo runs together, which divide it equally, where they are asked."""

UNIFORM_LOSS = 0.25
"""Squared distance of equal weights on four of many donors from equal weights on all of them."""


def ridge_penalty(T0: float) -> float:
    """Penalty of a strict synthetic control, 20 T0 (see ``docs/synthetic_control.md``).

    T0 is the number of pre-periods, plus the weights of predictors.

    Examples
    --------
    >>> ridge_penalty(10)
    200.0
    """
    return 20.0 * T0


def ridge_pays(n: int, weight_sd: float, path_sd: float, uniform_sd: float) -> bool:
    """Whether ridge weights are expected to do better than equal ones; public facts only.

    ``weight_sd`` is the noise of each ridge weight; ``path_sd`` and ``uniform_sd`` are those of a
    path per unit of the largest weight, over the bound, with the budget that ridge weights leave
    and with all of it.

    Notes
    -----
    Compares expected squared errors over the squared bound, for a unit that is like four donors:
    ``n weight_sd^2 + (path_sd / 4)^2`` against ``1/4 + (uniform_sd / n)^2``.

    Examples
    --------
    >>> ridge_pays(100, 0.12, 0.1, 0.05), ridge_pays(100, 0.01, 0.1, 0.05)
    (False, True)
    """
    ridge = n * weight_sd**2 + (path_sd / 4) ** 2
    return ridge <= UNIFORM_LOSS + (uniform_sd / n) ** 2


def moment_penalty(noise_sd: float, width: int, distance: float) -> float:
    """Penalty k, about as large as noise makes the eigenvalues of a matrix of centred moments.

    ``noise_sd`` is of every entry of Z'Z, ``width`` its rows d, ``distance`` the length of the
    released means.

    Notes
    -----
    A symmetric d x d matrix of independent noise has eigenvalues up to 2 sd sqrt(d) (Wigner).
    Centring by means m, whose noise is g / n, adds ``m g' + g m'``, of norm up to 2 |m| sd sqrt(d).

    Examples
    --------
    >>> moment_penalty(3.0, 4, 0.5)
    18.0
    """
    return 2 * noise_sd * math.sqrt(width) * (1 + distance)


ADDITIVE_BINS = 8
"""Equal bins of an additive model's feature that declares none and has more admissible values."""

PURE_COUNT_UNITS = 1 << 17
"""Units of the grid that a count is worth under Laplace noise, a quarter of the clip's 2^19.

A record that changes its cell moves the L1 norm by twice this and by 2 R: counts cost a fifth.
"""

SHAPE_DEGREE = 3
"""Degree of the polynomial in the number of the bin that smooths the shape of a feature."""

SHRINKAGE = 2.0
"""c in the factor 1 - c v / z^2, at least 0, that shrinks a coefficient z of variance v to zero."""

KNOWN_PARTS = {"effect": Fraction(1)}
"""Parts of the rows of a CATE with known propensity: no nuisance is estimated."""

NUISANCE_PARTS = {
    "propensity": Fraction(1, 4),
    "outcome": Fraction(1, 4),
    "effect": Fraction(1, 2),
}
"""Parts of the rows of a CATE with unknown propensity; those of nuisances that are not asked for
go to the effect."""

TRIM = 0.1
"""eta: estimated propensities are clipped to [eta, 1 - eta]."""


def effect_clip(low: float, high: float) -> float:
    """Default clip R of pseudo-outcomes: the width of the outcome's bounds.

    Notes
    -----
    No effect is larger than U - L.  With a known propensity of one half and outcomes centred at
    the middle of the bounds no pseudo-outcome is beyond it, so that clipping changes nothing.
    Noise is proportional to R: a smaller one, from public knowledge of outcomes, is better as long
    as few pseudo-outcomes are beyond it.

    Examples
    --------
    >>> effect_clip(-5, 10)
    15.0
    """
    return float(high) - float(low)


OUTCOME_SHARE = Fraction(1, 4)
"""Share of a histogram's epsilon for where binned outcomes lie within their bins."""

IPW_SPLIT = Fraction(1, 2)
"""Share of the rows that propensity weights are fitted to; the effect is of the others."""

IPW_PARTS = {
    "effect": 12, "mass": 4, "variance": 4, "gradient": 4, "balance": 4, "overlap": 2,
}  # fmt: skip
"""What the parts of a private IPW on the second part of the rows get, in proportion."""

IPW_HAJEK_PARTS = {**IPW_PARTS, "effect": 10, "mass": 8, "variance": 3, "gradient": 3}
"""The same where the sums of weights are released."""

AIPW_PARTS = {"fits": 62, "effect": 30, "variance": 8}
"""What the parts of a doubly robust effect get, in proportion."""

AIPW_REACH = (8.0, 0.25)
"""Scores are clipped at so many sd of the outcome's residuals, or so many times root n epsilon."""

AIPW_ETA_MOST = 0.5
"""Noise of the covariates' moments over their curvature above which models would be noise."""

FEWEST_WEIGHT_SCALES = 10
"""A released sum of weights below this many scales of its noise is not divided by."""

OVERLAP_BINS = 10
"""Equal bins of the propensity in which a private IPW counts each arm, if asked."""


PROPENSITY_NOISE_MOST = 0.7
"""Noise of a propensity weight (one sd) that the default penalty does not exceed.

Rows have norm 1/sqrt(2) to 1, so that the log odds of a row get noise of sd .5 to .7; de-biasing
multiplies odds by exp(-.25) to exp(-.12)."""

HAJEK_FLOORS = 2
"""The Hajek form is the default where the expected denominators are this many times what they must
exceed: half of the expected weights may be lacking (few are treated, or odds are trimmed)."""
