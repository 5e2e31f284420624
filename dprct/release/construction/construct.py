"""Residuals that make the errors of a reader's regressions equal to their targets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dprct.errors import ParameterError
from dprct.release.construction.constraints import Errors
from dprct.release.construction.newton import TOLERANCE, gaps, largest, newton
from dprct.release.construction.projection import factored, joined
from dprct.release.construction.specification import Residuals
from dprct.release.construction.start import starts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dprct.release.construction.projection import Basis, Influence
    from dprct.release.construction.specification import Array, Specification

_MORE = (0.0, 0.05, 0.25, 1.0)
_SINGULAR = 1e-9
_ROUNDING = 1e-20
_LEAST_EIGENVALUE = 1e-3


def residuals(specifications: Sequence[Specification], start: Array) -> Residuals:
    """Return residuals e such that ``y = W b + e`` has the errors that are asked for.

    Parameters
    ----------
    specifications : sequence of Specification
        What a reader may run on one outcome of one file: covariate sets, clustered or not.
    start : (n,) array
        Standard normal noise, by which residuals of two files differ; no guarantee rests on it.

    Returns
    -------
    Residuals
        In every specification least squares of ``W b + e`` on W returns b, and the covariance of
        its effects is the target: HC1, or CR1 where there are groups.  For the first specification
        with one effect and without groups the classical error equals the target too, where that
        does not contradict the others.

    Raises
    ------
    ParameterError
        If designs differ in their rows, a treatment is a combination of other columns, no degrees
        of freedom are left, or the error of an effect is zero for every outcome.

    Notes
    -----
    Post-processing of released values and fresh noise: free.  Where no residuals with a target are
    found, the classical error is given up first; then variances are inflated (together) until some
    are found or the target is positive definite; failing that, the closest e is scaled so that
    every error is at least its target.  ``exact`` is then False and ``ratios`` say by how much.

    Some targets exclude each other.  If two specifications differ by fewer covariates than there
    are effects, a combination of effects is the same function of the outcome in both, so that its
    HC1 variances differ by their factors n / (n - k) whatever e is: errors are then too large by
    about that.  An arm of one row adds nothing to HC1, so that the control group must bear all.

    References
    ----------
    ALGORITHMS.md, section 4, "Calibrated release".

    Examples
    --------
    >>> import numpy as np
    >>> from dprct.release.construction import Specification, residuals
    >>> rng = np.random.default_rng(1)
    >>> treated = np.repeat([0.0, 1.0], [60, 40])
    >>> W = np.column_stack([treated, np.ones(100), rng.normal(size=(100, 3))])
    >>> found = residuals([Specification(W, 1, np.array([[0.3**2]]))], rng.normal(size=100))
    >>> found.exact, bool(abs(W.T @ found.values).max() < 1e-12)
    ((True,), True)
    """
    _check(specifications, start)
    unit = max(error for s in specifications for error in s.errors.tolist())
    if unit == 0:
        return _nothing(specifications)
    bases, influences = zip(*map(factored, specifications), strict=True)
    basis = joined(bases)
    _check_room(basis)
    conditions = _conditions(specifications, influences, unit)
    noise = basis.without(start)
    _check_movable(conditions, noise)
    e, exact = _solved(specifications, conditions, basis, noise)
    ratios = tuple(
        _ratio(np.sqrt(np.diag(c.reached(e))), np.sqrt(np.diag(c.covariance))) for c in conditions
    )
    return Residuals(e * unit, exact, ratios, _classical(specifications, conditions, e))


def _classical(
    specifications: Sequence[Specification], conditions: Sequence[Errors], e: Array
) -> tuple[float | None, ...]:
    """Return the ratios of classical errors to their targets, where a reader may ask for one."""
    return tuple(
        c.classical_ratio(e) if s.effects == 1 and s.groups is None else None
        for s, c in zip(specifications, conditions, strict=True)
    )


def _check(specifications: Sequence[Specification], start: Array) -> None:
    if not specifications:
        raise ParameterError("no specification is given; say which regression a reader may run")
    lengths = {len(s.design) for s in specifications}
    if lengths != {len(start)} or start.ndim != 1:
        raise ParameterError(
            f"designs have {', '.join(map(str, sorted(lengths)))} rows and start has shape "
            f"{start.shape}; all must be of one file"
        )
    if not np.isfinite(start).all() or not start.any():
        raise ParameterError("start must be finite noise; draw standard normal numbers")


def _check_room(basis: Basis) -> None:
    rows, columns = basis.vectors.shape
    if columns >= rows:
        raise ParameterError(
            f"{rows} rows leave no residuals beside {columns} columns of all specifications "
            "together; declare fewer covariate sets"
        )


def _check_movable(conditions: Sequence[Errors], e: Array) -> None:
    """Refuse an error that is zero for noise, up to rounding, and hence for all residuals."""
    for condition in conditions:
        usual = np.diag(condition.influence.bread) * (e @ e) / len(e)
        if np.any(np.diag(condition.reached(e)) < _ROUNDING * usual):
            raise ParameterError(
                "the error of an effect is zero whatever the outcome, as where all rows or "
                "clusters that it compares are fitted exactly; leave covariates out"
            )


def _nothing(specifications: Sequence[Specification]) -> Residuals:
    """Return residuals of zero, for targets of zero."""
    exact = tuple(True for _ in specifications)
    ratios = tuple(np.ones(s.effects) for s in specifications)
    classical = tuple(1.0 if s.effects == 1 and s.groups is None else None for s in specifications)
    return Residuals(np.zeros(len(specifications[0].design)), exact, ratios, classical)


def _conditions(
    specifications: Sequence[Specification], influences: Sequence[Influence], unit: float
) -> list[Errors]:
    """Return the conditions, in units of the largest error.

    The classical errors of two specifications contradict each other, both being set by e'e.
    """
    alone = [i for i, s in enumerate(specifications) if s.effects == 1 and s.groups is None]
    return [
        Errors.of(s, influence, unit, classical=alone[:1] == [i])
        for i, (s, influence) in enumerate(zip(specifications, influences, strict=True))
    ]


def _solved(
    specifications: Sequence[Specification],
    conditions: Sequence[Errors],
    basis: Basis,
    noise: Array,
) -> tuple[Array, tuple[bool, ...]]:
    """Return residuals, and which specifications they meet exactly."""
    tried = [noise]
    for wanted in _attempts(conditions):
        for first in starts(specifications, wanted, basis, noise):
            e = newton(wanted, basis, first)
            if largest(gaps(wanted, e)) <= TOLERANCE:
                return e, tuple(_meets(c, e) for c in conditions)
            tried.append(e)
    e = min((_grown(conditions, e) for e in tried), key=lambda e: largest(gaps(conditions, e)))
    return e, tuple(_meets(c, e) for c in conditions)


def _attempts(conditions: Sequence[Errors]) -> Iterator[list[Errors]]:
    """Yield what is asked of residuals, one after the other until some exist."""
    if any(np.any(np.diag(c.covariance) == 0) for c in conditions):
        return
    for inflation in _inflations(conditions):
        yield [c.inflated(inflation) for c in conditions]
        if any(c.classical for c in conditions):
            yield [c.inflated(inflation).robust() for c in conditions]


def _grown(conditions: Sequence[Errors], e: Array) -> Array:
    """Return e times the factor that brings every error to its target or above."""
    return e * max(c.shortfall(e) for c in conditions)


def _inflations(conditions: Sequence[Errors]) -> list[float]:
    """Return by which shares variances are inflated, one after the other until residuals exist."""
    lowest = min(c.smallest_eigenvalue for c in conditions)
    needed = max(0.0, _LEAST_EIGENVALUE - lowest) if lowest < _SINGULAR else 0.0
    several = any(c.covariance.size > 1 for c in conditions)
    return [needed + more for more in (_MORE if several else _MORE[:1])]


def _meets(condition: Errors, e: Array) -> bool:
    return largest(gaps([condition.robust()], e)) <= TOLERANCE


def _ratio(reached: Array, target: Array) -> Array:
    """Return reached / target; infinite where only the target is zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((target == 0) & (reached == 0), 1.0, reached / target)
