"""Damped Newton steps to residuals that meet quadratic conditions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dprct.release.construction.constraints import Errors
    from dprct.release.construction.projection import Basis
    from dprct.release.construction.specification import Array

TOLERANCE = 1e-12
"""Largest relative gap at which a condition counts as met."""

_GOAL = 1e-15
_MOST_STEPS = 60
_MOST_HALVINGS = 12
_PROGRESS = 1 - 1e-5
_LONGEST = 0.5
_SINGULAR = 1e-10


def gaps(conditions: Sequence[Errors], e: Array) -> Array:
    """Return ``(e' D_c e - g_c) / scale_c`` of all conditions, (m,); 0 / 0 is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Array = np.concatenate(
            [(c.images(e) @ e - c.targets) / c.scales for c in conditions]
        )
    found[np.isnan(found)] = 0.0
    return found


def largest(found: Array) -> float:
    """Return the largest gap in absolute value."""
    return float(np.linalg.norm(found, np.inf))


def newton(conditions: Sequence[Errors], basis: Basis, e: Array) -> Array:
    """Move residuals within the space orthogonal to the designs until the conditions are met.

    Parameters
    ----------
    conditions : sequence of Errors
    basis : Basis
    e : (n,) array
        Orthogonal to the basis, not zero.

    Returns
    -------
    (n,) array
        The residuals with the smallest gaps that were found; :func:`gaps` says how small.

    Notes
    -----
    With ``P_c = (I - P_W) D_c e``, ``e <- e + sum_c lam_c P_c`` where
    ``2 P_c'P_d lam_d = -(e' D_c e - g_c)``: the shortest step that solves the linearised
    conditions, found from a QR factorisation of P, which is half as ill-conditioned as P'P.  A
    step is at most half as long as e and is halved until the gaps decrease.
    """
    found = gaps(conditions, e)
    for _ in range(_MOST_STEPS):
        if largest(found) <= _GOAL:
            break
        step = _step(conditions, basis, e, found)
        moved = _descended(conditions, e, step, found)
        if moved is None:
            break
        e, found = moved
    return basis.without(e)


def _step(conditions: Sequence[Errors], basis: Basis, e: Array, found: Array) -> Array:
    images = np.vstack([c.images(e) / c.scales[:, None] for c in conditions])
    directions, triangle = np.linalg.qr(basis.about_without(images.T))
    step: Array = directions @ np.linalg.lstsq(triangle.T, -found / 2, rcond=_SINGULAR)[0]
    length = float(np.linalg.norm(step))
    limit = _LONGEST * float(np.linalg.norm(e))
    return step * min(1.0, limit / length) if length > 0 else step


def _descended(
    conditions: Sequence[Errors], e: Array, step: Array, found: Array
) -> tuple[Array, Array] | None:
    """Return the first of e + step, e + step / 2, ... with smaller gaps, or None."""
    for halvings in range(_MOST_HALVINGS):
        moved = e + step / 2**halvings
        left = gaps(conditions, moved)
        if np.linalg.norm(left) < _PROGRESS * np.linalg.norm(found):
            return moved, left
    return None
