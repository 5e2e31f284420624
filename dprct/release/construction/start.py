"""Where Newton's method starts: noise with about the right errors, arm by arm where possible."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from dprct.release.construction.constraints import Errors
    from dprct.release.construction.projection import Basis
    from dprct.release.construction.specification import Array, Specification

_THIN = 1e-6


def starts(
    specifications: Sequence[Specification],
    conditions: Sequence[Errors],
    basis: Basis,
    noise: Array,
) -> Iterator[Array]:
    """Yield starting points, the best first, made when they are asked for.

    Parameters
    ----------
    specifications : sequence of Specification
    conditions : sequence of Errors
    basis : Basis
    noise : (n,) array
        e0, standard normal, orthogonal to the designs.

    Notes
    -----
    With two arms the projected noise comes first: it is as homoskedastic as the classical error
    says.  With more, noise with a variance of its own in every arm comes first.
    """
    two_arms = all(s.effects == 1 for s in specifications)
    if two_arms:
        yield scaled(conditions, noise)
    by_arm = arm_wise(specifications, conditions, basis, noise)
    if by_arm is not None:
        yield by_arm
    if not two_arms:
        yield scaled(conditions, noise)


def scaled(conditions: Sequence[Errors], e: Array) -> Array:
    """Return e times the factor that makes its variances right on average."""
    ratios = np.concatenate([np.diag(c.reached(e)) / np.diag(c.covariance) for c in conditions])
    mean = float(ratios.mean())
    return e / np.sqrt(mean) if mean > 0 else e


def arm_wise(
    specifications: Sequence[Specification],
    conditions: Sequence[Errors],
    basis: Basis,
    noise: Array,
) -> Array | None:
    """Return noise ``e_a = sigma_a (I - P_Za) e0`` in each arm a, or None where there is none.

    Notes
    -----
    With Z the controls of all specifications (which hold the intercept), each e_a is orthogonal to
    Z and to the treatments, which are constant within the arm, whatever sigma_a is.  The sigma_a^2
    solve a linear system: the variances of the effects, the mean of their covariances and, for one
    effect, the classical variance.  It needs more rows than controls in each arm, and a positive
    solution (ALGORITHMS.md, section 4).
    """
    arms, count = _arms(specifications)
    controls = _controls(specifications, basis)
    parts = np.zeros((count, len(noise)))
    for arm in range(count):
        rows = arms == arm
        z = controls[rows]
        if len(z) <= z.shape[1]:
            return None
        parts[arm, rows] = (
            noise[rows] - z @ np.linalg.lstsq(z.T @ z, z.T @ noise[rows], rcond=None)[0]
        )
    system, targets = _system(conditions, parts)
    squares = np.linalg.lstsq(system, targets, rcond=None)[0]
    if not np.all(squares > _THIN * squares.mean()):
        return None
    return basis.without(np.sqrt(squares) @ parts)


def _arms(specifications: Sequence[Specification]) -> tuple[NDArray[np.intp], int]:
    """Return the arm of each row (rows treated alike in all specifications), and how many."""
    treatments = np.column_stack([s.treatments for s in specifications])
    found, arms = np.unique(treatments, axis=0, return_inverse=True)
    return arms.reshape(-1), len(found)


def _controls(specifications: Sequence[Specification], basis: Basis) -> Array:
    """Return columns that span the controls of all designs."""
    if len(specifications) == 1:  # the basis has the controls first
        return basis.vectors[:, : -specifications[0].effects]
    return np.column_stack([basis.vectors, *(s.treatments for s in specifications)])


def _system(conditions: Sequence[Errors], parts: Array) -> tuple[Array, Array]:
    rows, targets = [], []
    for condition in conditions:
        values = np.array([(condition.images(part) @ part) for part in parts]).T
        values, goals = values / condition.scales[:, None], condition.targets / condition.scales
        first, second = np.triu_indices(condition.covariance.shape[0])
        apart = np.flatnonzero(first != second)
        alone = np.setdiff1d(np.arange(len(goals)), apart)
        rows.append(values[alone])
        targets.append(goals[alone])
        if len(apart):
            rows.append(values[apart].mean(axis=0, keepdims=True))
            targets.append(goals[apart].mean(keepdims=True))
    return np.vstack(rows), np.concatenate(targets)
