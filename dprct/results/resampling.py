"""Joint draws of t statistics under the null, for step-down p-values.

The wild bootstrap keeps the design as it is and turns the signs of residuals, of a whole cluster
at once where there are clusters; the same signs serve every outcome, which keeps their dependence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dprct.errors import ParameterError
from dprct.results.covariance import Array, LeastSquares, group_sums, leverage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dprct.formula.design_matrix import Mask
    from dprct.results.covariance import Codes
    from dprct.results.several import SharedFit

FEWEST_DRAWS = 100
_CHUNK = 1_000_000  # numbers of an (n, draws) array held at once


@dataclass(frozen=True, slots=True)
class Resampled:
    """Fits of some outcomes on some rows, and where their arms are.

    Parameters
    ----------
    fit : SharedFit
    rows : (N,) array of bool
        Which of all rows the fit uses.
    arms : (a,) array of int
        Columns of ``fit.X`` that are arms.
    """

    fit: SharedFit
    rows: Mask
    arms: Codes


def wild_draws(
    samples: Sequence[Resampled], units: Codes, draws: int, rng: np.random.Generator
) -> Array:
    """Return t statistics of the wild bootstrap, centred at the estimates.

    Parameters
    ----------
    samples : sequence of Resampled
    units : (N,) array of int
        What shares a sign: the number of a row, or its cluster coded from 0.
    draws : int
        B.
    rng : numpy Generator

    Returns
    -------
    (B, m) array
        Samples, within them outcomes, within them arms.

    Notes
    -----
    A draw multiplies residuals by independent signs (Rademacher), fits again, and divides the
    coefficients by standard errors of the same kind from the new residuals.  G clusters have only
    2^(G - 1) distinct draws: with fewer than about ten, prefer Holm.

    References
    ----------
    Wu (1986), Annals of Statistics 14; Cameron, Gelbach and Miller (2008), Review of Economics
    and Statistics 90; Clarke, Romano and Wolf (2020), Stata Journal 20.
    """
    if isinstance(draws, bool) or not isinstance(draws, int) or draws < FEWEST_DRAWS:
        raise ParameterError(f"draws={draws!r}; give a whole number of at least {FEWEST_DRAWS}")
    if any((fit.copies != 1).any() for sample in samples for fit in sample.fit.fits):
        raise ParameterError(
            "resampling cannot tell apart the persons behind a frequency weight; give one row "
            "per person, or use adjust='holm'"
        )
    at_once = max(1, _CHUNK // len(units))
    n_units = int(units.max()) + 1
    blocks = []
    for start in range(0, draws, at_once):
        size = min(at_once, draws - start)
        signs = np.where(rng.integers(0, 2, (n_units, size)) == 1, 1.0, -1.0)
        blocks.append(_statistics(samples, signs[units]))
    return np.concatenate(blocks)


def _statistics(samples: Sequence[Resampled], signs: Array) -> Array:
    """Return the (B, m) statistics of one set of signs, (N, B)."""
    found = []
    for sample in samples:
        own = signs[sample.rows]
        for fit in sample.fit.fits:
            turned = fit.resid[:, None] * own
            change = fit.bread @ (sample.fit.X.T @ turned)
            left = turned - sample.fit.X @ change
            errors = np.sqrt(variances(sample.fit, fit, left, sample.arms))
            found.append(change[sample.arms] / errors)
    return np.concatenate(found).T


def variances(shared: SharedFit, fit: LeastSquares, residuals: Array, columns: Codes) -> Array:
    """Return the variances of some coefficients for many residuals at once.

    Parameters
    ----------
    shared : SharedFit
        Says of which kind they are.
    fit : LeastSquares
    residuals : (n, B) array
    columns : (a,) array of int

    Returns
    -------
    (a, B) array
        The diagonal of ``shared.cov`` at ``columns``, for each column of residuals.
    """
    X, kind = shared.X, shared.cov_type
    influence = X @ fit.bread[:, columns]
    if shared.groups is not None:
        n_groups = int(shared.groups.max()) + 1
        factor = n_groups / (n_groups - 1) * (fit.nobs - 1) / fit.df_resid
        sums = [group_sums(one[:, None] * residuals, shared.groups) for one in influence.T]
        return factor * np.stack([(total**2).sum(axis=0) for total in sums])
    if kind == "nonrobust":
        spread = (residuals**2).sum(axis=0) / fit.df_resid
        return np.outer(np.diag(fit.bread)[columns], spread)
    squares = influence**2
    if kind in ("HC2", "HC3"):
        squares = squares / ((1 - leverage(fit, X)) ** (1 if kind == "HC2" else 2))[:, None]
    factor = fit.nobs / fit.df_resid if kind == "HC1" else 1.0
    return factor * squares.T @ residuals**2
