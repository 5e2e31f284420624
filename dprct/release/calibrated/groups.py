"""The public groups of a calibrated file: outcomes that are right in every one, and in all.

Within a group an outcome is constructed from what was released of that group, as a file of its own
would be.  Here the groups are joined: regressions on all rows then find a weighted mean of the
groups' effects, and errors that are made as large as the released ones.  All post-processing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dprct.errors import ParameterError
from dprct.lazy import pandas as pd
from dprct.records import dataclass
from dprct.release.calibrated.residuals import Basis, Errors, Specification, factored, spanned

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dprct.certificate.valid_groups import Level
    from dprct.release.calibrated.covariates import Target

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Groups:
    """Public groups of rows: the levels of one column."""

    column: str
    levels: tuple[Level, ...]  # in the order of their texts, as released effects are
    codes: NDArray[np.int64]  # (n,): place of each row's level

    @classmethod
    def of(cls, column: str, values: NDArray[Any]) -> Groups:
        """Return the groups of a public column.

        Examples
        --------
        >>> groups = Groups.of("town", np.array([10.0, 2.0, 10.0]))
        >>> groups.levels, groups.codes.tolist()
        ((10.0, 2.0), [0, 1, 0])
        """
        codes, known = pd.factorize(values, use_na_sentinel=False)
        listed: list[Any] = known.tolist()
        if any(value is None or value == "" or value != value for value in listed):
            raise ParameterError(
                f"``subgroups=`` names {column!r}, which has missing values, so that some rows "
                "are in no group; give them a level of their own"
            )
        levels = sorted(listed, key=lambda v: v if isinstance(v, str) else f"{float(v):g}")
        if len(levels) < 2:
            raise ParameterError(
                f"``subgroups=`` names {column!r}, which has one level, so that its effects are "
                "those of everyone; leave ``subgroups=`` out"
            )
        place = np.array([levels.index(level) for level in listed], np.int64)
        return cls(column, tuple(levels), place[codes])

    def taken(self, order: NDArray[np.int64]) -> Groups:
        """Return the groups of the rows in another order."""
        return replace(self, codes=self.codes[order])


def same_shares(arms: NDArray[np.int64], codes: NDArray[np.int64]) -> bool:
    """Whether every arm has the same share of every group, in whole numbers.

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
    """Whether arms have the same shares in all groups, given people (groups, arms)."""
    products = np.outer(table.sum(axis=1), table.sum(axis=0))
    return bool((table * table.sum() == products).all())


def weights_of(arms: NDArray[np.int64], codes: NDArray[np.int64]) -> Array:
    """Weights of cells' means in a regression with factors of the groups, (K - 1, G, K).

    The coefficient of every arm is the sum of these weights times means by group and arm.

    Examples
    --------
    >>> arms, codes = np.array([0, 1, 0, 1, 1, 1]), np.array([0, 0, 1, 1, 1, 1])
    >>> weights_of(arms, codes).round(2).tolist()
    [[[-0.4, 0.4], [-0.6, 0.6]]]
    """
    groups, count = np.bincount(codes), len(np.bincount(arms))
    treated = [arms == arm for arm in range(1, count)]
    levels = [codes == code for code in range(len(groups))]
    design = np.column_stack([*treated, *levels]).astype(np.float64)
    rows = factored(Specification.of(design, count - 1, np.eye(count - 1)))[1].rows
    cells = codes * count + arms
    found = [np.bincount(cells, weights=row, minlength=len(groups) * count) for row in rows.T]
    return np.array(found, np.float64).reshape(count - 1, len(groups), count)


def _has_factors(matrix: Array, codes: NDArray[np.int64]) -> bool:
    """Whether covariates span all that is constant within groups."""
    levels = np.equal.outer(codes, np.arange(len(np.bincount(codes)))).astype(np.float64)
    left = np.linalg.norm(spanned(matrix).without(levels), axis=0)
    return bool((left <= _CONSTANT * np.linalg.norm(levels, axis=0)).all())


@dataclass(frozen=True, eq=False)
class Joined:
    """One outcome of all groups together."""

    values: Array  # (n,)
    # (K - 1,): of every group, errors of its own regression over the released ones.
    within: tuple[Array, ...]
    whole: bool  # whether arms have the same shares in all groups
    # Of every set of covariates, whether the regression on all rows returns released effects.
    held: tuple[bool, ...]
    ratios: tuple[Array, ...]  # (K - 1,): errors over released ones, of each of these
    # Error of the control mean over its released error, where it has a target.
    control: float | None


def joined(
    values: Array,
    target: Target,
    matrices: Sequence[Array],
    arms: NDArray[np.int64],
    codes: NDArray[np.int64],
    column: str,
) -> Joined:
    """An outcome whose errors are at least the released ones in all regressions.

    ``values`` are right within every group, and know nothing of covariates there but for the means
    of the cells (group and arm).  ``matrices`` have constant and covariates of each declared set.

    Notes
    -----
    **Effects.**  Where arms have the same shares in all groups, arms are orthogonal to whatever is
    constant within groups, so that on all rows cells' means alone have the released effects.  Where
    they have not, only regressions with factors of the groups compare like with like: theirs are
    weighted means of the groups' effects (:func:`weights_of`), which were released with them, and
    the others are not held.  Other covariates x move them, for they differ by chance between cells.
     With x_c what cells leave of x
    and x_s what the arms, and those covariates of the set that are constant within cells, leave of
    it, ``v = -x_c (x_c'x_c)^-1 x_s' means`` is added: it has no mean in any cell, and makes the
    coefficients of x zero, and so those of the arms what they are without x.

    **Errors.**  Let e be the residuals of the groups' own regressions.  Robust errors of one
    regression are ``n / (n - k)`` times a quadratic form in its residuals: e, v and, on all rows,
    what the cells' means leave of the regression.  Whether n and k are those of a group or of
    everybody, the forms differ in little more than that factor, so that all have the released
    errors only where groups are of one size; otherwise e grows, by at most about ``k / (2 n_g)``:

    1. within each group, until neither its own regression nor the one that crosses arms with
       groups has an error of its effects below the released one;
    2. everywhere, until that regression's differences between groups, and the declared regressions
       on all rows, have none below.
    """
    means = np.zeros(len(values))
    for code, one in enumerate(target.within):
        here = codes == code
        means[here] = one.control + np.append(0.0, one.effects)[arms[here]]
    e = values - means
    treated = np.column_stack([arms == arm for arm in range(1, len(target.effects) + 1)])
    whole = same_shares(arms, codes)
    held = tuple(whole or _has_factors(matrix, codes) for matrix in matrices)
    kept = [matrix for matrix, is_held in zip(matrices, held, strict=True) if is_held]
    means = means + _without_slopes(means, treated, kept, arms, codes)
    # 1: of each group, the factor that its own effects need
    crossed = _crossed(treated, codes, target.within)
    own = _factors(codes, crossed.design.shape[1], treated.shape[1] + 1)
    more = np.repeat(np.sqrt(np.clip(own, 1, None)), treated.shape[1])
    needed = replace(crossed, covariance=crossed.covariance * np.outer(more, more))
    growth = _Conditions.of(needed, means).factors(e)
    e = e * np.abs(growth.reshape(len(own), -1)).max(axis=1, initial=0.0)[codes]
    # 2: of all groups, the factor that regressions on all rows need
    sets = [Specification(treated, matrix, target.on_all_rows[1]) for matrix in kept]
    every = [_differences(treated, codes, target.within), *sets]
    if whole and target.control_error is not None:
        constant = np.column_stack([np.ones(len(arms)), treated])
        every.append(Specification.of(constant, 1, np.array([[target.control_error**2]])))
    conditions = [_Conditions.of(one, means) for one in every]
    factors = np.concatenate([one.factors(e) for one in conditions])
    e = e * float(np.clip(factors, 1, None).max())
    found = [one.ratios(e) for one in conditions[1:]]
    control = None
    if len(found) > len(sets):
        control = float(found.pop()[0])
    within = _Conditions.of(crossed, means).ratios(e).reshape(len(own), -1)
    of_cells = np.array([one.control + np.append(0, one.effects) for one in target.within])
    everybody = np.tensordot(weights_of(arms, codes), of_cells, axes=2)
    _check_effects(means + e, conditions[1 : 1 + len(sets)], everybody, column)
    return Joined(
        means + e, tuple(within / np.sqrt(own)[:, None]), whole, held, tuple(found), control
    )  # fmt: skip


def _without_slopes(
    means: Array,
    treated: NDArray[np.bool_],
    matrices: Sequence[Array],
    arms: NDArray[np.int64],
    codes: NDArray[np.int64],
) -> Array:
    """Return v, (n,): what makes the coefficients of covariates zero on all rows."""
    groups, rows = len(np.bincount(codes)), len(arms)
    cells = np.zeros((rows, groups * (treated.shape[1] + 1)))
    cells[np.arange(rows), codes * (treated.shape[1] + 1) + arms] = 1.0
    basis = spanned(cells)
    directions, moved = [np.zeros((rows, 0))], [np.zeros(0)]
    for matrix in matrices:
        lengths = np.linalg.norm(matrix, axis=0)
        scaled = matrix / np.where(lengths > 0, lengths, 1.0)
        inner = basis.without(scaled)
        _, sizes, axes = np.linalg.svd(inner, full_matrices=False)
        varies = sizes > _CONSTANT
        if not varies.any():
            continue
        constant = np.column_stack([treated.astype(np.float64), scaled @ axes[~varies].T])
        left = spanned(constant).without(scaled @ axes[varies].T)
        directions.append(inner @ axes[varies].T)
        moved.append(left.T @ means)
    every = np.column_stack(directions)
    if not every.size:
        return np.zeros(rows)
    within = spanned(every).vectors
    found: Array = within @ np.linalg.lstsq(
        every.T @ within, -np.concatenate(moved), rcond=_CONSTANT
    )[0]  # fmt: skip
    return found


def _factors(codes: NDArray[np.int64], columns: int, own: int) -> Array:
    """Return ``n / (n - k)`` of the crossed regression over that of each group, (G,)."""
    sizes, rows = np.bincount(codes), len(codes)
    return np.asarray(rows / (rows - columns) * (sizes - own) / sizes, np.float64)


def _check_effects(
    values: Array, conditions: Sequence[_Conditions], wanted: Array, column: str
) -> None:
    """Refuse sets of covariates that contradict each other."""
    for one in conditions:
        errors = np.sqrt(np.diag(one.errors.covariance))
        gap = np.abs(one.errors.influence.rows.T @ values - wanted)
        if np.any(gap > _GAP * (errors + np.abs(wanted))):
            raise ParameterError(
                f"sets of covariates contradict each other where effects within levels of {column} "
                "are released: a covariate that varies within levels has no coefficient of zero "
                f"with C({column}), or other factors of the levels, and without; declare one set, "
                "and parts of it with the same factors"
            )


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
    return Specification.of(design, len(effects), covariance)


def _differences(
    treated: NDArray[np.bool_], codes: NDArray[np.int64], within: Sequence[Target]
) -> Specification:
    """Return the same regression with effects of the first group, and differences from it."""
    crossed, size = _crossed(treated, codes, within), len(within[0].effects)
    design = crossed.design
    design[:, :size] = treated
    change = np.eye(crossed.effects)
    for row in range(size, crossed.effects):
        change[row, row % size] = -1.0
    covariance = change @ crossed.covariance @ change.T
    return Specification.of(design, crossed.effects, (covariance + covariance.T) / 2)


@dataclass(frozen=True, eq=False)
class _Conditions:
    """Errors of one regression on all rows."""

    basis: Basis  # of its columns
    errors: Errors
    left: Array  # (n,): what it leaves of the cells' means

    @classmethod
    def of(cls, specification: Specification, means: Array) -> _Conditions:
        basis, influence = factored(specification)
        errors = Errors.of(specification, influence, 1.0, classical=False)
        return cls(basis, errors, basis.without(means))

    def factors(self, e: Array) -> Array:
        """Return for every error the factor of e that makes it the released one.

        The variance is ``f^2 E + 2 f C + R``, with R of what is left of the means and C of both;
        0 where R alone is as large.
        """
        target = np.diag(self.errors.covariance)
        of_e, of_means = self._variances(e), self._variances(self.left)
        both = (self._variances(e + self.left) - of_e - of_means) / 2
        root = np.sqrt(np.clip(both**2 - of_e * (of_means - target), 0, None))
        with np.errstate(divide="ignore", invalid="ignore"):
            found: Array = np.where(of_means < target, (root - both) / of_e, 0.0)
        # what is 1 but for rounding
        return np.where(np.abs(found - 1) < _ROUNDING, 1.0, found)

    def ratios(self, e: Array) -> Array:
        """Return errors over targets."""
        with np.errstate(divide="ignore", invalid="ignore"):
            found: Array = np.sqrt(self._variances(e + self.left) / np.diag(self.errors.covariance))
        return found

    def _variances(self, e: Array) -> Array:
        return np.diag(self.errors.reached(e))


_ROUNDING = 1e-12
_CONSTANT = 1e-8
"""Of a column of length one, how much of it must vary within cells to be more than rounding."""
_GAP = 1e-7
"""Largest gap of an effect, as a share of itself and its error."""


def sizes_by_level(
    sizes: Sequence[Sequence[int]], levels: Mapping[str, Sequence[int]]
) -> NDArray[np.int64]:
    """Return people by level and arm, given those by block and arm and the blocks of levels."""
    blocks = np.array(sizes, np.int64)
    return np.array([blocks[list(at)].sum(axis=0) for at in levels.values()], np.int64)
