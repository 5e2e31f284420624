"""A regression of the paper, and its effects on one data set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy import stats

from dprct.results.covariance import Weighting, fit_several

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dprct.assignment import Design
    from dprct.results.covariance import SharedFit

    Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Specification:
    """What is regressed on what, and how treatments were assigned.

    Parameters
    ----------
    outcomes, arms, covariates : tuple of str
        Numeric columns.
    blocks : tuple of str
        Columns that enter as factors.
    design : Design
    """

    outcomes: tuple[str, ...]
    arms: tuple[str, ...]
    covariates: tuple[str, ...]
    blocks: tuple[str, ...]
    design: Design

    @property
    def columns(self) -> list[str]:
        """All columns, each once."""
        return [*self.outcomes, *self.arms, *self.covariates, *self.blocks]

    @property
    def formula(self) -> str:
        """The regressions as one formula."""
        right = [*self.arms, *self.covariates, *(f"C({name})" for name in self.blocks)]
        return f"{' + '.join(self.outcomes)} ~ {' + '.join(right)}"

    def effects(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the effects of all arms on all outcomes.

        Parameters
        ----------
        frame : (n, ...) DataFrame
            Numeric, NaN where missing.

        Returns
        -------
        DataFrame
            ``outcome``, ``arm``, ``estimate``, ``se`` (HC1) and ``df`` (rows less rank); the
            rows of a regression are those that are complete in it.  NaN where an arm is a
            combination of other regressors, or rows are too few.

        Notes
        -----
        The numbers of :func:`dprct.itt_table`, which also tells labels, notes and mistakes; this
        one only computes, thousands of times.

        Examples
        --------
        >>> from dprct import Complete
        >>> rows = pd.DataFrame({"y": [1.0, 2, 4, 7], "t": [0.0, 0, 1, 1]})
        >>> spec = Specification(("y",), ("t",), (), (), Complete("t"))
        >>> spec.effects(rows).round(3).values.tolist()
        [['y', 't', 4.0, 1.581, 2.0]]
        """
        X = self._regressors(frame)
        Y = frame[list(self.outcomes)].to_numpy(np.float64)
        complete = np.isfinite(X).all(axis=1)
        alike: dict[bytes, list[int]] = {}
        for j in range(Y.shape[1]):
            alike.setdefault((complete & np.isfinite(Y[:, j])).tobytes(), []).append(j)
        found: dict[int, tuple[Array, Array, float]] = {}
        for pattern, places in alike.items():
            rows = np.frombuffer(pattern, bool)
            found |= dict(zip(places, self._fitted(X[rows], Y[rows][:, places]), strict=True))
        records = [
            (outcome, arm, found[j][0][k], found[j][1][k], found[j][2])
            for j, outcome in enumerate(self.outcomes)
            for k, arm in enumerate(self.arms)
        ]
        return pd.DataFrame(records, columns=["outcome", "arm", "estimate", "se", "df"])

    def residuals(self, frame: pd.DataFrame, outcome: str) -> tuple[Array, Array]:
        """Return fitted values and residuals of the rows that are complete, (m,) each."""
        X, y = self._regressors(frame), frame[outcome].to_numpy(np.float64)
        rows = np.isfinite(X).all(axis=1) & np.isfinite(y)
        fitted = X[rows] @ np.linalg.lstsq(X[rows], y[rows], rcond=None)[0]
        return fitted, y[rows] - fitted

    def _regressors(self, frame: pd.DataFrame) -> Array:
        plain = frame[[*self.arms, *self.covariates]].to_numpy(np.float64)
        factors = [_dummies(frame[name].to_numpy(np.float64)) for name in self.blocks]
        return np.column_stack([np.ones(len(frame)), plain, *factors])

    def _fitted(self, X: Array, Y: Array) -> list[tuple[Array, Array, float]]:
        """Return estimates and standard errors of the arms, and df, of every outcome."""
        arms = len(self.arms)
        if len(X) <= X.shape[1]:
            return [(np.full(arms, np.nan), np.full(arms, np.nan), np.nan)] * Y.shape[1]
        fit = fit_several(X, Y, Weighting.of(None, "aweight", len(X)))
        return [_of_arms(fit, j, arms) for j in range(Y.shape[1])]


def _of_arms(fit: SharedFit, j: int, arms: int) -> tuple[Array, Array, float]:
    """Return what HC1 says of the columns after the constant: only their influences are needed."""
    of_column = np.cumsum(fit.kept) - 1
    one = fit.fits[j]
    estimates, errors = np.full(arms, np.nan), np.full(arms, np.nan)
    for k in range(arms):
        if fit.kept[k + 1]:
            place = of_column[k + 1]
            influence = (fit.X @ one.bread[:, place]) * one.resid
            estimates[k] = one.beta[place]
            errors[k] = np.sqrt(one.nobs / one.df_resid * (influence @ influence))
    return estimates, errors, one.df_resid


def _dummies(codes: Array) -> Array:
    levels = np.unique(codes[np.isfinite(codes)])
    return np.where(np.isnan(codes)[:, None], np.nan, codes[:, None] == levels[1:])


def intervals(effects: pd.DataFrame) -> tuple[Array, Array]:
    """Return the ends of the 95 % intervals of effects, with t(df)."""
    estimate = effects["estimate"].to_numpy(np.float64)
    half = stats.t.ppf(0.975, effects["df"].to_numpy(np.float64)) * effects["se"].to_numpy(
        np.float64
    )
    return estimate - half, estimate + half
