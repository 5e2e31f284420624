"""How likely PP-IPW gives an effect the wrong sign, and how many rows make that unlikely."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import get_args

import numpy as np

from dprct.arguments import check_choice, checked, given, number_between
from dprct.errors import ParameterError
from dprct.lazy import special
from dprct.privacy.histograms import smallest
from dprct.published.ipw import Estimand
from dprct.records import dataclass

MOST_ROWS = 10**12
"""From which on no number of rows is looked for."""

_SPLITS = np.linspace(0.0, 1.0, 201)


@checked
@dataclass(frozen=True, kw_only=True)
class SignRisk:
    """The risk of a wrong sign in ``published.IPW``, from public numbers alone.

    Signs are compared with those of the same estimate without noise.

    Parameters
    ----------
    n1, n2 : int
        Rows for the propensity weights and for the effect.
    covariates : int
        Propensity weights.
    lam : float
        The penalty.
    epsilon, delta : float
        Of the effect.
    radius : float
        The bound on the outcome's absolute value.
    trim : float
        Propensities are within [trim, 1 - trim].
    estimand : {"ate", "att", "atc"}
    treated_share : float
        Of the n2 rows; it matters for the ATT and the ATC.
    weights_epsilon : float, optional
        Epsilon of the propensity weights, where it is another.

    Raises
    ------
    ParameterError
        If a number is outside its range.

    Notes
    -----
    The formulas of Lemma 3, Theorems 4, 5 and 8 to 11, Lemma 6 and Corollary 7 are lost in the text
    of the paper at hand; what is here is derived from their assumptions and proofs.

    *Support.* With trimming at c the odds of a row are within [1/M, M], M = (1 - c)/c.  Whatever
    the noise b of the weights is, the partial estimate stays in an interval of length ``width``;
    by Hoeffding's lemma ``P(partial <= mean - s) <= exp(-2 s^2 / width^2)`` (Theorems 4, 8, 9).

    *Noise that is small.* If ``||b|| <= r``, log odds move by at most r (rows have a norm of at
    most 1) and trimmed odds by at most ``M (1 - exp(-r))``; ``||b||^2`` over its variance is
    chi-squared.  This is the probabilistic bound of Lemma 6, and alone makes the risk fall with n1.

    *Mean.* ``E|clip(z exp(b'x)) - clip(z)| <= M (1 - erfcx(sd / sqrt 2))`` with the sd of b'x, as
    ``E exp(-|sd Z|) = erfcx(sd / sqrt 2)``; Markov's inequality gives Corollary 7.

    References
    ----------
    Lee, Gresele, Park and Muandet, "Privacy-Preserving Causal Inference via Inverse Probability
    Weighting", section 3 and appendices A, B, D, E and F.

    Examples
    --------
    >>> risk = SignRisk(n1=60_000, n2=60_000, covariates=5, lam=0.1, epsilon=0.5, delta=1e-5,
    ...                 radius=1, trim=0.1)
    >>> risk.partial(0.2) < 1e-6, round(risk.full(0.1), 4)
    (True, 0.0785)
    >>> risk.rows(0.1)
    126855
    """

    n1: int
    n2: int
    covariates: int
    lam: float
    epsilon: float
    delta: float
    radius: float
    trim: float
    estimand: Estimand = "ate"
    treated_share: float = 0.5
    weights_epsilon: float | None = None

    def __post_init__(self) -> None:
        check_choice("estimand", self.estimand, get_args(Estimand))
        for name in ("n1", "n2", "covariates", "lam", "epsilon", "radius", "weights_epsilon"):
            value = getattr(self, name)
            if name != "weights_epsilon" or value is not None:
                number_between(name, value)
        for name, most in (("delta", 1.0), ("trim", 0.5), ("treated_share", 1.0)):
            number_between(name, getattr(self, name), 0, most)

    @property
    def weight_sd(self) -> float:
        """Noise of each propensity weight (Definition 2)."""
        epsilon = self.epsilon if self.weights_epsilon is None else self.weights_epsilon
        return 2 / (self.n1 * self.lam) * self._multiplier(epsilon)

    @property
    def effect_sd(self) -> float:
        """Noise of the effect (section 3.2, and appendix F)."""
        most = {"ate": 1 / self.trim}.get(self.estimand, self._odds)
        return self._multiplier(self.epsilon) * 2 * self.radius * most / self._size

    @property
    def width(self) -> float:
        """Length of the interval that holds the partial estimate, whatever the weights are."""
        return self.radius * self._moving * (self._odds - 1 / self._odds)

    def bias(self, weighted: float, norm: float = 1.0) -> float:
        """Bias of the mean of an untrimmed estimate by the noise of the weights (Lemma 3).

        Parameters
        ----------
        weighted : float
            The estimate less what it would be with all odds at zero: ``(sum of treated outcomes -
            sum of the others) / n2`` for the ATE, the arm's mean outcome for the ATT and the ATC.
        norm : float
            The norm of every row of covariates.

        Examples
        --------
        >>> risk = SignRisk(n1=100, n2=100, covariates=2, lam=0.1, epsilon=0.5, delta=1e-5,
        ...                 radius=1, trim=0.1)
        >>> bool(risk.bias(0.1) > 0)
        True
        """
        return weighted * math.expm1(min((self.weight_sd * norm) ** 2 / 2, 700.0))

    def partial(self, effect: float, bias: float | None = None) -> float:
        """Return a bound on the probability that noise in the weights reverses the sign.

        The smaller of Theorem 4 (8, 9) and of what Lemma 6 gives.

        Parameters
        ----------
        effect : float
            The estimate without noise.
        bias : float, optional
            Of the mean of the partial estimate, in the direction of the effect, where it is known.
            Without it, the largest against the effect that the noise can have (Corollary 7), so
            that the bound holds whatever the rows are.
        """
        return self._below(abs(effect), 0.0, bias)

    def both(self, effect: float, bias: float | None = None) -> float:
        """Return a bound on the probability of a wrong sign before and after the effect's noise.

        Theorem 5 (10, 11): the bound of :meth:`partial` times the probability that an estimate
        which is wrong stays so.
        """
        most = self.radius * (1 / self.trim if self.estimand == "ate" else 1 + self._moving_odds)
        return self.partial(effect, bias) * float(special.ndtr(most / self.effect_sd))

    def full(self, effect: float, bias: float | None = None) -> float:
        """Return a bound on the probability that the released effect has the wrong sign.

        Notes
        -----
        Either the partial estimate is below a share a of the effect, or the noise of the effect is
        below minus that share: the smallest sum over 201 values of a.
        """
        size = abs(effect)
        sums = [
            self._below(size, float(a), bias) + float(special.ndtr(-a * size / self.effect_sd))
            for a in _SPLITS
        ]
        return min(1.0, *sums)

    def moved(self, by: float) -> float:
        """Return a bound on the probability that the weights' noise changes the effect by so much.

        Corollary 7; as its proof needs, of the absolute value.
        """
        if not by > 0:
            raise ParameterError(f"``by={given(by)}``; give a number above 0")
        return min(1.0, self._drift / by)

    def rows(self, effect: float, at_most: float = 0.05, bias: float | None = None) -> int:
        """Total number of rows, divided as here, at which a wrong sign is that unlikely.

        Raises
        ------
        ParameterError
            If ``at_most`` is no probability, or no number below 10^12 is enough.
        """
        number_between("at_most", at_most, 0, 1)
        n = self.n1 + self.n2

        def enough(rows: int) -> bool:
            if rows > MOST_ROWS:
                raise ParameterError(
                    f"no number of rows below 10^12 makes the sign of an effect of {effect:g} "
                    f"wrong with at most {at_most:g}; ask for a larger effect"
                )
            n1 = min(max(round(rows * self.n1 / n), 1), rows - 1)
            return replace(self, n1=n1, n2=rows - n1).full(effect, bias) <= at_most

        return smallest(lambda rows: rows > 1 and enough(rows))

    def _below(self, effect: float, share: float, bias: float | None) -> float:
        """Return a bound on the probability of a partial estimate below a share of the effect."""
        gap = (1 - share) * effect
        towards = gap + (-self._drift if bias is None else bias)
        hoeffding = math.exp(-2 * (towards / self.width) ** 2) if towards > 0 else 1.0
        moved = gap / (self.radius * self._moving_odds)
        if moved >= 1:
            return 0.0
        radius = -math.log1p(-moved)
        return min(
            hoeffding, float(special.chdtrc(self.covariates, (radius / self.weight_sd) ** 2))
        )

    @property
    def _drift(self) -> float:
        """Mean of how far the noise of the weights moves the estimate, at most."""
        mean = 1 - float(special.erfcx(self.weight_sd / math.sqrt(2)))
        return self.radius * self._moving_odds * mean

    def _multiplier(self, epsilon: float) -> float:
        return math.sqrt(2 * math.log(1.25 / self.delta)) / epsilon

    @property
    def _odds(self) -> float:
        return (1 - self.trim) / self.trim

    @property
    def _size(self) -> float:
        """What the weighted sum is divided by."""
        shares = {"ate": 1.0, "att": self.treated_share, "atc": 1 - self.treated_share}
        return self.n2 * shares[self.estimand]

    @property
    def _moving(self) -> float:
        """Rows whose weight depends on a propensity, over the divisor."""
        odds = (1 - self.treated_share) / self.treated_share
        return {"ate": 1.0, "att": odds, "atc": 1 / odds}[self.estimand]

    @property
    def _moving_odds(self) -> float:
        return self._moving * self._odds
