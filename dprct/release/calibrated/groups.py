"""The public groups of a calibrated file: outcomes that are right in every one, and in all.

Within a group an outcome is constructed from what was released of that group, as a file of its own
would be.  Here the groups are joined: regressions on all rows then find a weighted mean of the
groups' effects, and errors that are made as large as the released ones.  All post-processing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dprct.errors import ParameterError
from dprct.release.calibrated.residuals import Basis, Errors, Specification, factored

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dprct.certificate.valid_groups import Level
    from dprct.formula import Formula
    from dprct.release.calibrated.targets import Target

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Public groups of rows: the levels of one column.

    Parameters
    ----------
    column : str
    levels : tuple of str or float
        In the order of their texts, as released effects are.
    codes : (n,) array of int
        Place of each row's level.
    """

    column: str
    levels: tuple[Level, ...]
    codes: NDArray[np.int64]

    @classmethod
    def of(cls, column: str, values: NDArray[Any]) -> Groups:
        """Return the groups of a public column.

        Raises
        ------
        ParameterError
            If a value is missing, or all rows are of one level.

        Examples
        --------
        >>> groups = Groups.of("town", np.array([10.0, 2.0, 10.0]))
        >>> groups.levels, groups.codes.tolist()
        ((10.0, 2.0), [0, 1, 0])
        """
        listed: list[Any] = values.tolist()
        if any(value is None or value == "" or value != value for value in listed):
            raise ParameterError(
                f"subgroups= names {column!r}, which has missing values, so that some rows are in "
                "no group; give them a level of their own"
            )
        levels = sorted(set(listed), key=lambda v: v if isinstance(v, str) else f"{float(v):g}")
        if len(levels) < 2:
            raise ParameterError(
                f"subgroups= names {column!r}, which has one level, so that its effects are those "
                "of everybody; leave subgroups= out"
            )
        place = {level: code for code, level in enumerate(levels)}
        return cls(column, tuple(levels), np.array([place[value] for value in listed], np.int64))

    def taken(self, order: NDArray[np.int64]) -> Groups:
        """Return the groups of the rows in another order."""
        return replace(self, codes=self.codes[order])


def same_shares(arms: NDArray[np.int64], codes: NDArray[np.int64]) -> bool:
    """Return whether every arm has the same share of every group, in whole numbers.

    With ``n_ga n = n_g n_a`` in all groups g and arms a, treatments are orthogonal to whatever is
    constant within groups, so that least squares of y on the arms, with or without such columns,
    has the coefficients ``sum_g n_g / n tau_ga``: the released effects of everybody.

    Examples
    --------
    >>> arms = np.array([0, 1, 0, 1, 0, 1, 1])
    >>> same_shares(arms[:6], np.array([0, 0, 1, 1, 1, 1])), same_shares(arms, arms)
    (True, False)
    """
    groups, treated = np.bincount(codes), np.bincount(arms)
    table = np.bincount(codes * len(treated) + arms, minlength=len(groups) * len(treated))
    return balanced(table.reshape(len(groups), len(treated)))


def balanced(table: NDArray[np.int64]) -> bool:
    """Return whether arms have the same shares in all groups, given people (groups, arms)."""
    products = np.outer(table.sum(axis=1), table.sum(axis=0))
    return bool((table * table.sum() == products).all())


def check_sets(sets: Iterable[Formula], column: str) -> None:
    """Refuse covariates that are no function of the groups.

    Raises
    ------
    ParameterError
    """
    for formula in sets:
        other = [name for name in formula.regressor_names if name != column]
        if other:
            raise ParameterError(
                f"subgroups={[column]} and the covariate {other[0]!r} cannot hold at once: how the "
                "file's arms differ in it fixes by how much the adjusted effect of everybody "
                f"differs from those of the groups; leave {other[0]!r} out of the regressions, or "
                "subgroups= out"
            )


@dataclass(frozen=True, slots=True, eq=False)
class Joined:
    """One outcome of all groups together.

    Parameters
    ----------
    values : (n,) array
    grown : tuple of float
        Of every group, its errors over those with which it was constructed.
    whole : bool
        Whether regressions on all rows return the released effects.
    ratios : tuple of (K - 1,) arrays
        Errors of the regressions on all rows over the released ones, a set of covariates each.
    control : float or None
        Error of the control mean over its released error, where it has a target.
    """

    values: Array
    grown: tuple[float, ...]
    whole: bool
    ratios: tuple[Array, ...]
    control: float | None


def joined(
    values: Array,
    target: Target,
    matrices: Sequence[Array],
    arms: NDArray[np.int64],
    codes: NDArray[np.int64],
) -> Joined:
    """Return an outcome whose errors are at least the released ones in all regressions.

    Parameters
    ----------
    values : (n,) array
        Of rows with the outcome, right within every group.
    target : Target
        Of everybody, with those of the groups.
    matrices : sequence of (n, p) arrays
        Constant and covariates of each declared set: functions of the groups.
    arms, codes : (n,) arrays of int

    Notes
    -----
    Let e be the residuals of ``y`` from the means of the cells (group and arm).  Robust errors of
    one regression are ``n / (n - k)`` times a quadratic form in its residuals, which are e and, on
    all rows, what the cells' means leave of the regression.  Whether k and n are those of a group
    or of everybody, the forms differ in that factor alone, so that both have the released errors
    only where groups are of one size; otherwise e grows, by at most about ``k / (2 n_g)``:

    1. within each group, until the regression that crosses arms with groups has no error of the
       group's effects below the released one;
    2. everywhere, until that regression's differences between groups, and the declared regressions
       on all rows, have none below.

    No error is ever below the released one.
    """
    means = np.zeros(len(values))
    for code, one in enumerate(target.within):
        here = codes == code
        means[here] = one.control + np.append(0.0, one.effects)[arms[here]]
    e = values - means
    treated = np.column_stack([arms == arm for arm in range(1, len(target.effects) + 1)])
    by_group = _crossed(treated, codes, target.within)
    shortfalls = _Conditions.of(by_group, means).shortfalls(e)
    # 1: of each group, the factor that its own effects need
    grown = np.linalg.norm(shortfalls.reshape(len(target.within), -1), np.inf, axis=1)
    e = e * grown[codes]
    # 2: of all groups, the factor that regressions on all rows need
    whole = same_shares(arms, codes)
    every = [_differences(treated, codes, target.within)]
    if whole:
        every += _on_all_rows(treated, matrices, target)
    conditions = [_Conditions.of(one, means) for one in every]
    factor = float(
        np.linalg.norm(np.concatenate([one.shortfalls(e) for one in conditions]), np.inf)
    )
    e = e * factor
    found = [one.ratios(e) for one in conditions[1:]]
    control = None
    if whole and target.control_error is not None:
        control = float(found.pop()[0])
    return Joined(means + e, tuple((grown * factor).tolist()), whole, tuple(found), control)


def _crossed(
    treated: NDArray[np.bool_], codes: NDArray[np.int64], within: Sequence[Target]
) -> Specification:
    """Return the regression that has an effect of every arm in every group."""
    groups = [codes == code for code in range(len(within))]
    effects = [arm & group for group in groups for arm in treated.T]
    sizes = [len(one.effects) for one in within]
    covariance = np.zeros((sum(sizes), sum(sizes)))
    for at, one in enumerate(within):
        here = slice(at * sizes[0], (at + 1) * sizes[0])
        covariance[here, here] = one.covariance
    design = np.column_stack([*effects, *groups]).astype(np.float64)
    return Specification(design, len(effects), covariance)


def _differences(
    treated: NDArray[np.bool_], codes: NDArray[np.int64], within: Sequence[Target]
) -> Specification:
    """Return the same regression with effects of the first group, and differences from it."""
    crossed, size = _crossed(treated, codes, within), len(within[0].effects)
    design = crossed.design.copy()
    design[:, :size] = treated
    change = np.eye(crossed.effects)
    for row in range(size, crossed.effects):
        change[row, row % size] = -1.0
    covariance = change @ crossed.covariance @ change.T
    return Specification(design, crossed.effects, (covariance + covariance.T) / 2)


def _on_all_rows(
    treated: NDArray[np.bool_], matrices: Sequence[Array], target: Target
) -> Iterator[Specification]:
    """Yield the declared regressions, and that of the control mean, if it has an error."""
    arms = treated.astype(np.float64)
    for matrix in matrices:
        yield Specification(np.column_stack([arms, matrix]), arms.shape[1], target.covariance)
    if target.control_error is not None:
        constant = np.column_stack([np.ones(len(arms)), arms])
        yield Specification(constant, 1, np.array([[target.control_error**2]]))


@dataclass(frozen=True, slots=True, eq=False)
class _Conditions:
    """Errors of one regression on all rows.

    Parameters
    ----------
    basis : Basis
        Of its columns.
    errors : Errors
    left : (n,) array
        What it leaves of the cells' means.
    """

    basis: Basis
    errors: Errors
    left: Array

    @classmethod
    def of(cls, specification: Specification, means: Array) -> _Conditions:
        basis, influence = factored(specification)
        errors = Errors.of(specification, influence, 1.0, classical=False)
        return cls(basis, errors, basis.without(means))

    def shortfalls(self, e: Array) -> Array:
        """Return for every error the factor by which e is to grow; 1 where it is large enough.

        The variance is ``f^2 E + 2 f C + R``, with R of what is left of the means and C of both.
        """
        target = np.diag(self.errors.covariance)
        of_e, of_means = self._variances(e), self._variances(self.left)
        both = (self._variances(e + self.left) - of_e - of_means) / 2
        missing = target - (of_e + 2 * both + of_means)
        short = missing > _ROUNDING * target
        root = np.sqrt(np.clip(both**2 - of_e * (of_means - target), 0, None))
        with np.errstate(divide="ignore", invalid="ignore"):
            needed = (root - both) / of_e
        found: Array = np.where(short, needed, 1.0)
        return found

    def ratios(self, e: Array) -> Array:
        """Return errors over targets."""
        with np.errstate(divide="ignore", invalid="ignore"):
            found: Array = np.sqrt(self._variances(e + self.left) / np.diag(self.errors.covariance))
        return found

    def _variances(self, e: Array) -> Array:
        return np.diag(self.errors.reached(e))


_ROUNDING = 1e-12
"""An error this little below its target, as a share of its variance, is the target."""


def sizes_by_level(
    sizes: Sequence[Sequence[int]], levels: Mapping[str, Sequence[int]]
) -> NDArray[np.int64]:
    """Return people by level and arm, given those by block and arm and the blocks of levels."""
    blocks = np.array(sizes, np.int64)
    return np.array([blocks[list(at)].sum(axis=0) for at in levels.values()], np.int64)
