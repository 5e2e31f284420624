"""The best linear projection on features of numbers, from released cells."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from dprct.errors import ParameterError
from dprct.estimate.additive.smoothing import usable_counts
from dprct.schema.arguments import listed_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dprct.estimate.additive.fitted import AdditiveFit

    Array = NDArray[np.float64]

_LEAST_EIGENVALUE = 1e-3


def linear_projection(fit: AdditiveFit, features: Sequence[str], part: str = "all") -> pd.DataFrame:
    """Return the coefficients of the best linear projection on features, at the middles of bins.

    Parameters
    ----------
    fit : AdditiveFit
    features : sequence of str
        Numbers; of several, the joint counts must have been released.
    part : {"all", "noise"}
        Whether errors contain sampling.

    Returns
    -------
    DataFrame
        One row for the mean and one per feature, per unit of the feature: ``term, estimate,
        std.error, std.error.noise``.

    Raises
    ------
    ParameterError
        If a name is no text, a feature is no number, or joint counts were not released.

    Notes
    -----
    beta = A^-1 b with A = E z z' and b = E z psi over the released cells, z = (1, features from -1
    to 1 at the middle of their bins).  To first order the error is A^-1 (e_b - e_A beta); its
    noise part follows from the known noise of the cells, its sampling part takes the variance of
    the target to be the same everywhere.  What a feature does within a bin is not seen.

    References
    ----------
    Semenova and Chernozhukov (2021), "Debiased machine learning of conditional average treatment
    effects", for the projection as an estimand.
    """
    features = listed_names(features, "features")
    places = [_number(fit, name) for name in features]
    if not places:
        raise ParameterError("features= names no column; name at least one")
    counts = {j: _counts(fit, (j,)) for j in places}
    matrix, spread = _moments(fit, places, counts)
    score = np.array([fit.sums.mean * fit.sums.mass, *(_score(fit, j) for j in places)])
    values, vectors = np.linalg.eigh(matrix)
    inverse = (vectors / np.maximum(values, _LEAST_EIGENVALUE * fit.sums.mass)) @ vectors.T
    beta = inverse @ score
    noise = inverse @ _noise(fit, places, beta, spread) @ inverse
    sampling = fit.sums.largest_variance * inverse @ matrix @ inverse
    whole = noise + sampling if part == "all" else noise
    unit = np.array([1.0, *(1 / fit.terms.reach(j) for j in places)])
    return pd.DataFrame(
        {
            "term": ["mean at the middle of the bounds", *features],
            "estimate": beta * unit + np.array([fit.centre] + [0.0] * len(places)),
            "std.error": np.sqrt(np.maximum(np.diag(whole), 0)) * unit,
            "std.error.noise": np.sqrt(np.maximum(np.diag(noise), 0)) * unit,
        }
    )


def _number(fit: AdditiveFit, name: str) -> int:
    j = fit.terms.place(name)
    if not fit.terms.smooth[j]:
        raise ParameterError(f"{name!r} is no number in this model; a projection needs numbers")
    return j


def _counts(fit: AdditiveFit, features: tuple[int, ...]) -> Array:
    cells = fit.sums.cells_of(features)
    if cells is None or cells.counts is None:
        names = " and ".join(repr(fit.terms.names[j]) for j in features)
        raise ParameterError(
            f"joint counts of {names} were not released; name these features in projection= (or "
            "pairs=) before the fit, or project on one feature at a time"
        )
    counts = usable_counts(cells.counts, fit.sums.mass)
    return np.asarray(counts * (fit.sums.mass / counts.sum()), np.float64)


def _score(fit: AdditiveFit, j: int) -> float:
    cells = fit.sums.cells_of((j,))
    assert cells is not None
    assert cells.sums is not None
    return float(fit.terms.points(j) @ cells.sums)


def _moments(
    fit: AdditiveFit, places: Sequence[int], counts: dict[int, Array]
) -> tuple[Array, Array]:
    """Return the sums of z z' and, for unit noise on counts, the variance of its entries."""
    z = {j: fit.terms.points(j) for j in places}
    size = 1 + len(places)
    matrix, spread = np.zeros((size, size)), np.zeros((size, size))
    matrix[0, 0] = fit.sums.mass
    for a, j in enumerate(places, 1):
        matrix[0, a] = matrix[a, 0] = counts[j] @ z[j]
        matrix[a, a] = counts[j] @ z[j] ** 2
        spread[0, a] = spread[a, 0] = (z[j] ** 2).sum()
        spread[a, a] = (z[j] ** 4).sum()
    for (a, j), (b, k) in itertools.combinations(enumerate(places, 1), 2):
        first, second = sorted((j, k))
        joint = _counts(fit, (first, second))
        matrix[a, b] = matrix[b, a] = joint @ np.outer(z[first], z[second]).ravel()
        spread[a, b] = spread[b, a] = (np.outer(z[j], z[k]) ** 2).sum()
    return matrix, spread


def _noise(fit: AdditiveFit, places: Sequence[int], beta: Array, spread: Array) -> Array:
    """Return the covariance of e_b - e_A beta; entries of A are taken to be independent."""
    own = [fit.sums.mean_noise.sd * fit.sums.mass]
    own += [fit.sums.sd_sum * float(np.linalg.norm(fit.terms.points(j))) for j in places]
    unit = fit.sums.sd_count**2
    found = unit * spread * np.outer(beta, beta)  # the same entry of A is in two rows
    diagonal = np.array(own) ** 2 + unit * spread @ beta**2
    np.fill_diagonal(found, diagonal)
    return np.asarray(found)
