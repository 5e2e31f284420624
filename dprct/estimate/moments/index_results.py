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
    from collections.abc import Mapping, Sequence

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
class Averages:
    """What released moments say of the regressors of a model: for average effects."""

    mean: Array  # (k,)
    cov: Array  # (k, k)
    outcome: float | None  # its mean; None where none was released of the rows that count
    two_valued: Mapping[str, tuple[float, float]]  # (low, high): regressors that have two values


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
            If there is no such coefficient, it was not estimated, or it is in a product.

        Notes
        -----
        Averages are over a normal index.  Its variance follows from the released moments of the
        regressors, its mean from that of the outcome, which the model reproduces as every fit with
        a constant does.  A model of some rows, or with weights, is averaged over these: means and
        variances follow from the information, the level from the constant.  No more is released.
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
        at, beta = names.index(variable), self.params.to_numpy(np.float64)
        slopes = np.array([
            (self._average(beta + h, at) - self._average(beta - h, at)) / (2 * h.sum())
            for h in np.eye(len(beta)) * _CLOSE
        ])  # fmt: skip
        noise = math.nan
        if self.bse_noise is not None:
            noise = math.sqrt(float(slopes**2 @ self.bse_noise.to_numpy(np.float64) ** 2))
        table = labelled(
            [variable], [self._average(beta, at)], self._combined(slopes[None]), [noise]
        )
        said = "Averages are over an index of normal law, with the variance of released moments."
        title = f"Average effect of {variable}, after {self.family}"
        return self._following(table, title, (said,))

    def _average(self, beta: Array, at: int) -> float:
        """Average effect of a regressor at these coefficients."""
        known = self.averages
        spread = math.sqrt(max(float(beta @ known.cov @ beta), 0.0))
        level = float(beta @ known.mean)
        if known.outcome is not None:
            target = known.outcome

            def excess(x: float) -> float:
                return float(_WEIGHTS @ mean_at(self.family, x + spread * _POINTS)) - target

            level = float(optimize.brentq(excess, -60.0, 60.0))
        ends = known.two_valued.get(str(self.params.index[at]))
        if ends is None:
            return float(beta[at] * (_WEIGHTS @ slope_at(self.family, level + spread * _POINTS)))
        # the others' index: what is left of the mean and the variance at the regressor's mean
        rest = np.delete(beta, at)
        keep = np.delete(np.arange(len(beta)), at)
        own = known.cov[np.ix_(keep, keep)]
        spread = math.sqrt(max(float(rest @ own @ rest), 0.0))
        away = [beta[at] * (end - known.mean[at]) for end in ends]
        means = [float(_WEIGHTS @ mean_at(self.family, level + x + spread * _POINTS)) for x in away]
        return means[1] - means[0]

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
        remainder=drawn.remainder, averages=averages, moved=drawn.moved,
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
        averages=averages, moved=np.zeros(len(read)),
    )  # fmt: skip
