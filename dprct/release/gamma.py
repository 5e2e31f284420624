"""Coefficients of covariates from released moments; free, because the moments are released."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dprct.defaults import moment_penalty
from dprct.queries import MomentsLayout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dprct.encoding import Coded
    from dprct.privacy.mechanisms import NoisyVector
    from dprct.schema.columns import Column


def coefficients(
    released: NoisyVector,
    covariates: Sequence[Coded | Column],
    outcomes: Sequence[Column],
    n: int,
) -> NDArray[np.float64]:
    """Return gamma~, a ridge regression of outcomes on covariates with an intercept.

    Parameters
    ----------
    released : NoisyVector, (size,)
        What a mechanism returned for :func:`dprct.queries.moments` of the same columns.
    covariates : sequence of Encoding, ExclusiveEncoding or Column
    outcomes : sequence of Column, length q
    n : int
        Rows; public.

    Returns
    -------
    (p, q) array
        One row per feature of :func:`dprct.queries.features_of`, in units of the outcome per unit
        of the feature.  The intercept is left out: the released control mean takes its place.

    Notes
    -----
    Post-processing: the relation and the guarantee are those of ``released``.  Features are
    measured from the middle of their bounds in units of half of their width, centred with the
    released means, and ``(S + kI)^-1 s`` is solved with S made positive semi-definite and the
    penalty :func:`dprct.defaults.moment_penalty`, so that it always exists and goes to least
    squares as the noise goes to zero.

    References
    ----------
    ALGORITHMS.md, section 4, "Calibrated release".
    """
    layout = MomentsLayout.of(covariates, outcomes)
    squares, products = layout.matrices(released.units, n)
    means = squares[0, 1:] / n
    spread = squares[1:, 1:] - n * np.outer(means, means)
    with_outcomes = products[1:] - np.outer(means, products[0])
    values, vectors = np.linalg.eigh(spread)
    noise_sd = layout.noise_of(released.noise_sd)
    penalty = moment_penalty(noise_sd, layout.width, float(np.linalg.norm(means)))
    shrunk = np.clip(values, 0, None) + penalty
    solved = vectors @ ((vectors.T @ with_outcomes) / shrunk[:, None])
    per_feature = np.array([feature.half for feature in layout.features])
    per_outcome = np.array([outcome.half for outcome in layout.outcomes])
    found: NDArray[np.float64] = solved * per_outcome / per_feature[:, None]
    return found
