"""Released models of an index: coefficients, ratios, average effects; all is post-processing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.errors import ParameterError
from dprct.estimate.moments.index_models import linked
from dprct.estimate.moments.system import GATE
from dprct.lazy import optimize
from dprct.lazy import pandas as pd
from dprct.records import dataclass
from dprct.results.base import LinearResults, labelled
from dprct.results.binary import WithRatios, mean_at, slope_at
from dprct.results.joint import one_restriction, restrictions, wald_test

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from dprct.estimate.moments.index_models import DrawnIndex, IndexModel
    from dprct.privacy.budget import Guarantee
    from dprct.queries.index_scores import Family
    from dprct.results.joint import WaldTest

    Array = NDArray[np.floating[Any]]

_POINTS, _WEIGHTS = np.polynomial.hermite_e.hermegauss(40)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
_CLOSE = 1e-4


@dataclass(frozen=True, eq=False)
class ReadMoments:
    """Second moments of an outcome and the regressors of a model, as released.

    The matrix is the sum over cells of R P R' / n, with P the released moments of a cell; R has a
    row for the outcome, one for the constant, and one for each other regressor.
    """

    matrix: Array  # (k + 1, k + 1)
    rows: Array  # (cells, k + 1, d): R
    s2: Array  # (cells,): of the noise of P
    exact: NDArray[np.bool_]  # (cells,): whether the corner of P, a number of rows, is public
    n: float

    def noise_of(self, by: Array) -> float:
        """Variance of the noise of a number that changes by <``by``, change of the matrix>.

        Notes
        -----
        The noise of P is symmetric, of variance s2^2 on the diagonal and half of that off it:
        <G, noise> has variance s2^2 |G|^2 for a symmetric G.  Noise in the number of rows divides
        all.
        """
        by = (by + by.T) / 2
        found = 0.0
        for R, s2, exact in zip(self.rows, self.s2, self.exact, strict=True):
            own = by.copy()
            own[1, 1] -= 0.0 if exact else float((by * self.matrix).sum())
            G = R.T @ own @ R / self.n
            found += s2**2 * (float((G**2).sum()) - exact * float(G[0, 0]) ** 2)
        return found


@dataclass(frozen=True, eq=False)
class Averages:
    """What is released of the regressors of a model: for average effects."""

    mean: Array  # (k,)
    cov: Array  # (k, k)
    two_valued: Mapping[str, tuple[float, float]]  # (low, high): regressors that have two values
    moments: ReadMoments | None  # where these are of the rows that count

    @property
    def outcome(self) -> float | None:
        """Mean of the outcome; None where none was released of the rows that count."""
        return None if self.moments is None else float(self.moments.matrix[0, 1])


@dataclass(frozen=True, eq=False)
class AverageEffect:
    """Average effect of a regressor, as a function of the released numbers.

    It depends on the coefficients, on the mean of the index, its level, on its variances with and
    without the regressor, v and u, and on the mean m of the regressor.
    """

    family: Family
    beta: Array  # (k,): released coefficients
    at: int  # the regressor
    ends: tuple[float, float] | None  # its two values
    averages: Averages

    def slopes(self) -> tuple[Array, Array, float]:
        """Slopes by coefficients that the mean of the outcome follows, and by others; variance.

        The variance is that of the noise of moments.

        Notes
        -----
        The level is that at which the outcome has its released mean, q.  Sampling moves q with the
        coefficients, since the fit reproduces it: the level moves by the mean of x'h for a change
        h.  Noise moves them apart: that of scores leaves q as it is, that of moments the
        coefficients.  Of other rows than those of the moments the level is the constant's.
        """
        first, mean = self.level(self.beta), self.averages.mean

        def following(b: Array) -> float:
            return self.value(b, first + float((b - self.beta) @ mean), *self._given(b))

        def apart(b: Array) -> float:
            return self.value(b, self.level(b), *self._given(b))

        moments = self.averages.moments
        if moments is None:
            return _slopes(following, self.beta), _slopes(following, self.beta), 0.0

        def given(x: Array) -> float:
            return self.value(self.beta, level_at(self.family, x[0], x[1]), *x[1:])

        v, u, m = self._given(self.beta)
        of_q, of_v, of_u, of_m = _slopes(given, np.array([self.averages.outcome, v, u, m]))
        # q, v, u and m as functions of the matrix Q: q = y'Q1, v = b'Qb - (b'Q1)^2
        k = len(self.beta)
        y, one, own = np.eye(k + 1)[[0, 1, self.at + 1]]
        by = np.outer(of_q * y + of_m * own, one)
        for slope, b in ((of_v, self.beta), (of_u, self._rest(self.beta))):
            w = np.array([0.0, *b])
            by += slope * (np.outer(w, w) - 2 * float(w @ moments.matrix[1]) * np.outer(w, one))
        return _slopes(following, self.beta), _slopes(apart, self.beta), moments.noise_of(by)

    def level(self, beta: Array) -> float:
        """Mean of the index."""
        q = self.averages.outcome
        if q is None:
            return float(beta @ self.averages.mean)
        return level_at(self.family, q, self._given(beta)[0])

    def value(self, beta: Array, level: float, v: float, u: float, m: float) -> float:
        """Return the effect."""
        if self.ends is None:
            index = level + math.sqrt(max(v, 0.0)) * _POINTS
            return float(beta[self.at] * (_WEIGHTS @ slope_at(self.family, index)))
        # the others' index: what is left of the mean and the variance at the regressor's mean
        index = level + math.sqrt(max(u, 0.0)) * _POINTS
        low, high = (
            float(_WEIGHTS @ mean_at(self.family, index + beta[self.at] * (end - m)))
            for end in self.ends
        )
        return high - low

    def _rest(self, beta: Array) -> Array:
        return np.where(np.arange(len(beta)) == self.at, 0.0, beta)

    def _given(self, beta: Array) -> tuple[float, float, float]:
        """v, u and m."""
        cov, rest = self.averages.cov, self._rest(beta)
        return (
            float(beta @ cov @ beta),
            float(rest @ cov @ rest),
            float(self.averages.mean[self.at]),
        )

    @property
    def here(self) -> float:
        """The effect at the released coefficients."""
        return self.value(self.beta, self.level(self.beta), *self._given(self.beta))


def level_at(family: Family, mean: float, v: float) -> float:
    """Return the mean of an index of variance v at which the outcome has this mean."""
    spread = math.sqrt(max(v, 0.0))

    def excess(x: float) -> float:
        return float(_WEIGHTS @ mean_at(family, x + spread * _POINTS)) - mean

    return float(optimize.brentq(excess, -60.0, 60.0))


def _slopes(f: Callable[[Array], float], x: Array) -> Array:
    return np.array([(f(x + h) - f(x - h)) / (2 * _CLOSE) for h in np.eye(len(x)) * _CLOSE])


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class IndexResults(WithRatios, LinearResults):
    """A logit, probit, cloglog or Poisson regression by private scoring, noise in every interval.

    Parameters
    ----------
    family : {"logit", "probit", "cloglog", "poisson"}
    estimated : (k,) Series of bool
        Whether a coefficient is read: the noise of the information passes the gate, and another
        step would move it by less than its error.  Where it may move it by more than half of that,
        the error allows for it, so that intervals keep their coverage.
    eta2 : float
        Noise of the information against itself; coefficients are read up to 0.1.
    remainder : float
        Half the mean squared change of the index in the last step.
    averages : Averages
    moved : (k,) array
        What the variances contain for another step.
    apart : (k, k) array
        What the covariance contains for noise that the released mean of the outcome does not share.

    Notes
    -----
    What is not estimated is NaN, which only released numbers decide.  Inference is normal.
    """

    family: Family
    estimated: pd.Series[bool]
    eta2: float
    remainder: float
    averages: Averages
    moved: Array
    apart: Array

    @property
    def _family(self) -> str:
        return self.family

    @staticmethod
    def _remedy(family: str) -> str:
        return f"declare ``family={family!r}``"

    def margins(self, variable: str) -> LinearResults:
        """Return the average effect of a regressor on the outcome's mean; ``margins, dydx()``.

        Parameters
        ----------
        variable : str
            A name of :attr:`params`.  Of a regressor of two values the difference of means between
            them, as of a factor; of others the mean derivative.

        Returns
        -------
        LinearResults
            Errors by the delta method.

        Raises
        ------
        ParameterError
            If there is no such coefficient, it was not estimated, it is in a product, or noise
            leaves no mean of the outcome.

        Notes
        -----
        Averages are over a normal index.  Its variance follows from the released moments of the
        regressors, its mean from that of the outcome, which the model reproduces as every fit with
        a constant does; errors have the noise of both.  A model of some rows, or with weights, is
        averaged over these: means and variances follow from the information, the level from the
        constant, without errors of their own.  No more is released.  Errors are those of the
        average effect on the people in the data, as ``margins`` prints them by default.
        """
        names = [str(name) for name in self.params.index]
        if variable not in names[1:]:
            raise ParameterError(
                f"{variable!r} is not a regressor of {self.formula!r}; there are "
                f"{', '.join(names[1:]) or 'none'}"
            )
        products = [name for name in names if ":" in name and variable in name.split(":")]
        if products or ":" in variable:
            raise ParameterError(
                f"{variable!r} is in the product {(products or [variable])[0]}, and its average "
                "effect is a mean over both; declare the model without it"
            )
        if not bool(self.estimated.all()):
            lost = ", ".join(str(name) for name in self.params.index[~self.estimated])
            raise ParameterError(f"not estimated: {lost}; average effects need all coefficients")
        mean, most = self.averages.outcome, math.inf if self.family == "poisson" else 1.0
        if mean is not None and not 2 * _CLOSE < mean < most - 2 * _CLOSE:
            raise ParameterError(
                f"the released mean of {self.outcome} is {mean:.2g}, too close to the ends of what "
                "such a mean can be, so that average effects are not estimated; give coefficients "
                "or odds, or release again with more rows or a larger epsilon"
            )
        effect = AverageEffect(
            self.family, self.params.to_numpy(np.float64), names.index(variable),
            self.averages.two_valued.get(variable), self.averages,
        )  # fmt: skip
        following, apart, noise = effect.slopes()
        noise += float(apart @ self.apart @ apart)
        sampling = self._combined(following[None]) - following @ self.apart @ following
        table = labelled([variable], [effect.here], sampling + noise, [math.sqrt(noise)])
        said = "Averages are over an index of normal law, with the variance of released moments."
        title = f"Average effect of {variable}, after {self.family}"
        return self._following(table, title, (said,))

    def lincom(self, wanted: str | Mapping[str, float]) -> LinearResults:
        """Return a linear combination of coefficients, such as ``"t1 - t2"``."""
        asked = one_restriction(wanted, list(self.params.index))
        w = asked.weights[0]
        used = np.flatnonzero(w)
        value = float(w[used] @ self.params.to_numpy()[used]) - float(asked.values[0])
        table = labelled(asked.texts, [value], self._combined(asked.weights))
        return self._following(table, f"{self.title}: {asked.texts[0]}", self.notes)

    def wald_test(self, wanted: str | Mapping[str, float] | Sequence[str]) -> WaldTest:
        """Return the joint test of linear restrictions, such as ``"t1 = t2 = 0"``."""
        asked = restrictions(wanted, list(self.params.index))
        estimate = asked.weights @ self.params.to_numpy() - asked.values
        cov = self._combined(asked.weights)
        return wald_test(estimate, cov, "; ".join(asked.texts), self.df_inference)

    def _combined(self, weights: Array) -> Array:
        """Covariance of combinations of coefficients; (m, k) to (m, m).

        Biases of s coefficients, b of each at most, have bb' <= s diag(b^2), which a sum of their
        variances alone would not bound.
        """
        used = np.flatnonzero((weights != 0).any(axis=0))
        moved = self.moved[used]
        cov = self.cov.to_numpy(np.float64)[np.ix_(used, used)]
        cov = cov + np.diag(moved * max(int(np.count_nonzero(moved)) - 1, 0))
        found: Array = weights[:, used] @ cov @ weights[:, used].T
        return found

    def glance(self) -> pd.DataFrame:
        """Return one row about the fit as a whole."""
        return pd.DataFrame(
            {
                "family": [self.family],
                "eta2": [self.eta2],
                "remainder": [self.remainder],
                "df.residual": [self.df_resid],
                "nobs": [self.nobs],
                "cov_type": [self.cov_type],
            }
        )

    def facts(self) -> tuple[tuple[str, str], ...]:
        """Return the lines above the table, as (name, value)."""
        return (
            *LinearResults.facts(self),
            ("Noise of information", f"{self.eta2:.3g} (read up to {GATE:g})"),
            ("Left to the next step", f"{self.remainder:.2g} of the index"),
        )


def index_results(
    drawn: DrawnIndex, model: IndexModel, averages: Averages, guarantee: Guarantee,
    notes: tuple[str, ...],
) -> IndexResults:  # fmt: skip
    """Table of results of a declared model of an index."""
    read = drawn.estimated
    cov = drawn.sampling + drawn.noise + np.diag(drawn.moved)
    cov[~read] = cov[:, ~read] = math.nan
    noise = np.sqrt(np.maximum(np.diag(drawn.noise), 0))
    k, nobs = len(model.terms), round(max(drawn.nobs, 0.0))
    table = labelled(
        model.terms, np.where(read, drawn.params, math.nan), cov, np.where(read, noise, math.nan)
    )
    index = table["params"].index
    said = []
    if model.groups:
        of = " and ".join(model.clustered)
        few = "at least " * (len(model.clustered) > 1)
        said.append(f"Errors are those of {few}{model.groups} clusters of {of}.")
    if model.where is not None:
        said.append(f"It is about rows with {model.where}; how many is released with noise.")
    if model.weights is not None:
        said.append(f"Rows are weighted by {model.weights}.")
    return IndexResults(
        **table, df_inference=math.inf, df_resid=float(max(nobs - k, 1)), nobs=nobs,
        cov_type=model.cov_type, guarantee=guarantee, outcome=model.outcome, formula=model.formula,
        title=f"{model.family.capitalize()} by private scoring: {model.title}",
        notes=(*said, *notes, *_unread(drawn, index[~read]),
               *_moved(index[read & (drawn.moved > 0)])),
        family=model.family, estimated=pd.Series(read, index=index), eta2=drawn.eta2,
        remainder=drawn.remainder, averages=averages, moved=drawn.moved, apart=drawn.noise,
    )  # fmt: skip


def _unread(drawn: DrawnIndex, names: pd.Index[Any]) -> tuple[str, ...]:
    """Reason why coefficients are not estimated, in words."""
    if not drawn.eta2 <= GATE:
        return (
            f"Not estimated: the noise of the information is {drawn.eta2:.3g} of itself (squared), "
            f"coefficients are read up to {GATE:g}; declare sd and centre of covariates, use fewer "
            "regressors, more rows or a larger epsilon.",
        )
    if not len(names):
        return ()
    return (
        "Not estimated, because another step of the fit may move them by more than their errors: "
        f"{', '.join(str(name) for name in names)}.",
    )


def _moved(names: pd.Index[Any]) -> tuple[str, ...]:
    """Note on the coefficients whose errors allow for another step, if there are any."""
    said = ", ".join(str(name) for name in names)
    return (f"Errors of {said} allow for another step of the fit.",) * bool(said)


SURE = 3.0
"""In errors of a mean, how far from 0 (and 1) it is where its link is read off it."""


def saturated_results(
    linear: LinearResults, X: Array, family: Family, averages: Averages, eta2: float
) -> IndexResults:
    """A model with a coefficient for each cell, from the least-squares line through their means.

    X has the regressors of every cell, in the order of the coefficients.

    Notes
    -----
    Means mu = X b have the covariance X V X'; the coefficients are X^-1 g(mu), g the link, with
    errors by the delta method.  Nothing new is released.  Where some mean is within three errors of
    0 or, but for counts, 1, nothing is estimated.
    """
    mean = X @ linear.params.to_numpy(np.float64)
    V = X @ linear.cov.to_numpy(np.float64) @ X.T
    away = SURE * np.sqrt(np.maximum(np.diag(V), 0))
    sure = (mean - away > 0) & ((mean + away < 1) | (family == "poisson"))
    read = np.full(len(mean), bool(np.isfinite(mean).all() and sure.all()))
    mean = np.where(read, mean, 0.5)
    link, slope = linked(family, mean)
    back = np.linalg.inv(X)
    beta, turn = back @ link, back @ (X / slope[:, None])
    cov = turn @ linear.cov.to_numpy(np.float64) @ turn.T
    noise = np.full(len(mean), math.nan)
    if linear.bse_noise is not None:
        noise = np.sqrt(turn**2 @ linear.bse_noise.to_numpy(np.float64) ** 2)
    lost = () if read.all() else (
        "Not estimated: the mean of some cell is within three of its errors of 0 or 1.",
    )  # fmt: skip
    cov[~read] = cov[:, ~read] = math.nan
    names = linear.params.index
    beta, noise = np.where(read, beta, math.nan), np.where(read, noise, math.nan)
    return IndexResults(
        **labelled(names, beta, cov, noise) | {"layout": linear.layout},
        df_inference=math.inf, df_resid=linear.df_resid, nobs=linear.nobs,
        cov_type=linear.cov_type, guarantee=linear.guarantee, outcome=linear.outcome,
        formula=linear.formula, title=f"{family.capitalize()} from released means of cells",
        notes=("Each cell has a coefficient of its own, which follows from its released mean.",
               *linear.notes, *lost),
        family=family, estimated=pd.Series(read, index=names), eta2=eta2, remainder=0.0,
        averages=averages, moved=np.zeros(len(read)), apart=np.zeros((len(read), len(read))),
    )  # fmt: skip
