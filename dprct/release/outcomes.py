"""Outcomes on which the reader's regression returns what was released: all post-processing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from dprct.errors import ParameterError, SchemaError
from dprct.formula import design
from dprct.missing import tagged
from dprct.release.construction import Specification, residuals
from dprct.release.regressions import right_side
from dprct.results.certificate import PermittedDifference
from dprct.schema.validate import stored

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pandas as pd

    from dprct.release.public_rows import PublicRows
    from dprct.release.regressions import Regressions, TermSet
    from dprct.schema.columns import Column
    from dprct.schema.schema import Schema

Array = NDArray[np.float64]

_FEWEST = 10
"""Rows with a value that an arm has beyond one for each column of covariates."""


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """What was released of one outcome.

    Parameters
    ----------
    effects : (K - 1,) array
    covariance : (K - 1, K - 1) array
    control : float
        Mean of the control group.
    index : (n,) array or None
        What covariates contribute to the outcome of each row; nothing if None.
    counts : tuple of K int
        Released numbers of values in all arms, control first, where it is private who has one.
    """

    effects: Array
    covariance: Array
    control: float
    index: Array | None = None
    counts: tuple[int, ...] = ()


def targets_of(
    estimates: Any, released: Sequence[Any], indices: Array | None = None
) -> list[Target]:
    """Return what the regressions of each outcome are to return.

    Parameters
    ----------
    estimates : PrivateATEResults
        Effects of each arm against control, by outcome.
    released : sequence of Released
        What they were made of.
    indices : (n, q) array or None
        What covariates contribute to each outcome.
    """
    effects = np.split(estimates.params.to_numpy(np.float64), len(released))
    cov = estimates.cov.to_numpy(np.float64)
    size = len(effects[0])
    return [
        Target(
            np.asarray(effects[q], np.float64),
            cov[q * size : (q + 1) * size, q * size : (q + 1) * size],
            float(estimates.control["mean"].iloc[q]),
            None if indices is None else indices[:, q],
            one.counts,
        )
        for q, one in enumerate(released)
    ]


@dataclass(frozen=True, slots=True, eq=False)
class Constructed:
    """One outcome of the file.

    Parameters
    ----------
    values : (n,) array
        Missing where nobody has a value.
    exact : tuple of bool
        Per covariate set: whether the errors equal the released ones.
    ratios : tuple of (K - 1,) arrays
        Errors over released errors.
    classical : tuple of float or None
        Per covariate set: classical error over released error, where there is one effect.
    """

    values: Array
    exact: tuple[bool, ...]
    ratios: tuple[Array, ...]
    classical: tuple[float | None, ...] = ()


def covariate_matrices(
    sets: Sequence[TermSet], table: pd.DataFrame, schema: Schema
) -> tuple[list[Array], NDArray[np.bool_]]:
    """Return intercept and covariates of each set, and the rows that are complete in all.

    Parameters
    ----------
    sets : sequence of tuple of str
    table : (n, ...) DataFrame
        Synthetic and public columns.
    schema : Schema

    Returns
    -------
    matrices : list of (n, p) arrays
        Zero in rows that are not complete.
    used : (n,) array of bool
        A derived covariate is missing where its column cannot hold the value.
    """
    found, used = [], np.ones(len(table), bool)
    for terms in sets:
        matrix = design(right_side(terms), table, schema, levels="data")
        whole = np.zeros((len(table), matrix.X.shape[1]))
        whole[matrix.used] = matrix.X
        found.append(whole)
        used &= matrix.used
    return found, used


def check_room(
    regressions: Regressions, table: pd.DataFrame, schema: Schema, public: Iterable[str], rows: int
) -> None:
    """Refuse covariates that may leave no residuals, whatever is drawn of them.

    Parameters
    ----------
    regressions : Regressions
    table : (n, ...) DataFrame
        Public columns, and legal values in the others.
    schema : Schema
    public : iterable of str
        Columns whose values are those of the original, so that only levels that occur count; of
        the others all declared levels may be drawn.
    rows : int
        The fewest rows that an outcome has.

    Raises
    ------
    ParameterError
    """
    known = set(public)
    terms = tuple(dict.fromkeys(term for terms in regressions.covariates for term in terms))
    drawn = [term for term in terms if not known & set(right_side([term]).regressor_names)]
    fixed = [term for term in terms if term not in drawn]
    most = _width(fixed, table, schema, "data") + _most(drawn, table, schema) - 1
    if most + len(regressions.arms) >= rows:
        raise ParameterError(
            f"{rows} rows leave no degree of freedom beside {len(regressions.arms)} effects and up "
            f"to {most} columns of covariates ({', '.join(terms)}); leave covariates out, or "
            "declare fewer levels"
        )


def _most(terms: Sequence[str], table: pd.DataFrame, schema: Schema) -> int:
    try:
        return _width(terms, table, schema, "schema")
    except SchemaError:  # a factor of a numeric column without levels
        return _width(terms, table, schema, "data")


def _width(
    terms: Sequence[str], table: pd.DataFrame, schema: Schema, levels: Literal["data", "schema"]
) -> int:
    return int(design(right_side(terms), table, schema, levels=levels).X.shape[1])


def constructed(
    target: Target,
    matrices: Sequence[Array],
    rows: PublicRows,
    observed: NDArray[np.bool_],
    rng: np.random.Generator,
) -> Constructed:
    """Return an outcome whose regressions return the released effects and errors.

    Parameters
    ----------
    target : Target
    matrices : sequence of (n, p) arrays
        Intercept and covariates of each set.
    rows : PublicRows
    observed : (n,) array of bool
        Who has a value.
    rng : numpy.random.Generator
        For the noise that residuals start from.

    Raises
    ------
    ParameterError
        If a treatment is a combination of covariates, or no degree of freedom is left.

    Notes
    -----
    ``y = m_0 + (X - mean_control X) g + sum_j tau_j T_j + e`` (ALGORITHMS.md, section 4), with e
    orthogonal to the arms, so that the control group's mean is m_0.  X g is an index of which only
    what the first covariate set explains is used.
    """
    arms = rows.arms[observed]
    treated = np.column_stack([arms == arm for arm in range(1, len(target.effects) + 1)])
    groups = None if rows.clusters is None else rows.clusters[observed]
    specifications = [
        Specification(
            np.column_stack([treated.astype(np.float64), matrix[observed]]),
            len(target.effects),
            target.covariance,
            groups,
        )
        for matrix in matrices
    ]
    found = residuals(specifications, _start(len(arms), groups, rng))
    y = target.control + treated @ target.effects + found.values
    if target.index is not None:
        X = matrices[0][observed]
        # the part that the regression explains by covariates leaves the effects where they are
        explained = X @ np.linalg.lstsq(X, target.index[observed], rcond=None)[0]
        y = y + explained - explained[arms == 0].mean()
    values = tagged(np.zeros(len(observed)))
    values[observed] = y
    return Constructed(values, found.exact, found.ratios, found.classical)


def constructed_anywhere(
    target: Target,
    matrices: Sequence[Array],
    rows: PublicRows,
    used: NDArray[np.bool_],
    rng: np.random.Generator,
) -> Constructed:
    """Return an outcome of which it is private who has a value, at random rows of each arm.

    Parameters
    ----------
    target : Target
        With counts.
    matrices, rows, rng
        As for :func:`constructed`.
    used : (n,) array of bool
        Rows that are complete in all covariate sets.

    Raises
    ------
    ParameterError
        If regressions have no room although everybody has a value.

    Notes
    -----
    Post-processing of released counts, public arms, synthetic covariates and fresh randomness: no
    row stands where somebody has a value in the confidential table.  An arm has as many values as
    were released, but enough of them for the regressions: ten more than columns of covariates, and
    where their effects or errors do not exist on the rows that were drawn, half of the others too,
    until there is room.
    """
    everybody = np.bincount(rows.arms[used], minlength=len(target.counts))
    least = _FEWEST + sum(matrix.shape[1] for matrix in matrices)
    wanted = np.minimum(np.maximum(target.counts, least), everybody)
    while True:
        observed = np.zeros(len(used), bool)
        for arm, count in enumerate(wanted.tolist()):
            there = np.flatnonzero(used & (rows.arms == arm))
            observed[rng.choice(there, count, replace=False)] = True
        try:
            return constructed(target, matrices, rows, observed, rng)
        except ParameterError:
            if (wanted == everybody).all():
                raise
        wanted = (wanted + everybody + 1) // 2


def _start(n: int, groups: NDArray[np.int64] | None, rng: np.random.Generator) -> Array:
    """Return normal noise, with a part that clusters share."""
    noise = rng.standard_normal(n)
    if groups is None:
        return noise
    codes = {group: code for code, group in enumerate(dict.fromkeys(groups.tolist()))}
    shared = rng.standard_normal(len(codes))
    return np.asarray(noise + shared[[codes[group] for group in groups.tolist()]])


def legalised(column: Column, values: Array) -> Array:
    """Return the nearest legal value of each number; what is missing stays so.

    Parameters
    ----------
    column : Column
        With bounds or levels.
    values : (n,) array

    Examples
    --------
    >>> from dprct.schema import Column
    >>> got = Column("got", "byte", levels=(0.0, 1.0))
    >>> legalised(got, np.array([-0.4, 0.7])).tolist()
    [0.0, 1.0]
    """
    known = ~np.isnan(values)
    y = values[known]
    if column.levels is not None:
        levels = np.array(sorted(float(level) for level in column.levels))
        y = levels[np.searchsorted((levels[1:] + levels[:-1]) / 2, y)]
    else:
        assert column.bounds is not None
        y = np.clip(y, *column.bounds)
        if column.step is not None:
            per_unit = float(1 / column.step)
            low, high = column.bounds
            first, last = np.ceil(low * per_unit - 1e-9), np.floor(high * per_unit + 1e-9)
            y = np.clip(np.rint(y * per_unit), first, last) / per_unit
    found = values.copy()
    found[known] = stored(column, y)
    return found


def continuous(column: Column) -> Column:
    """Return the column as a real number, which a calibrated outcome is."""
    return replace(
        with_sysmiss(column),
        type="double",
        value_label="",
        bounds=None,
        levels=None,
        integer=False,
        decimals=None,
        bins=None,
    )


def with_sysmiss(column: Column) -> Column:
    """Return an outcome that may be missing with the code ``.``, which a calibrated file has."""
    if not column.missing:
        return column
    return replace(column, missing=tuple(dict.fromkeys((".", *column.missing))))


def differences_of(column: Column, schema: Schema) -> Iterator[PermittedDifference]:
    """Yield the ways in which a calibrated outcome's column differs from the original's."""
    if column.type != "double":
        yield PermittedDifference("type", column.name, "double: calibrated to the last digit")
    if column.value_label:
        reason = "a calibrated outcome is a real number, not a code"
        yield PermittedDifference("value-label", column.name, reason)
        for other in schema.columns:
            if other.value_label == column.value_label and other.fate != "drop":
                yield PermittedDifference("sharing", other.name, reason)
