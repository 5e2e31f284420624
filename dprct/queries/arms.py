"""Means of the arms of an experiment, and their variances."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import narwhals as nw
import numpy as np

from dprct.privacy.aggregates import IntegerVector
from dprct.queries.sums import GRID, Clipped, added, present, square_sums, steps_of
from dprct.schema.tables import row_count

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from dprct.privacy.guarantee import Relation
    from dprct.schema.columns import Column
    from dprct.schema.tables import Frame, Table


# Who is in which arm of an experiment: what is public where the design is.


@dataclass(frozen=True, slots=True, eq=False)
class Combinations:
    """Where rows stay in an engine: the combinations of public columns that occur; public.

    Parameters
    ----------
    columns : tuple of str, length C
        Treatment, block and cluster columns.
    places : mapping from (C,) tuple to int
        The number, from 0, of each of the G combinations; a missing value is None.
    present : str or None
        Rows without a value of this column do not count, where that is public.
    """

    columns: tuple[str, ...]
    places: Mapping[tuple[Any, ...], int]
    present: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Arms:
    """Who is in which arm, block and cluster: public where the design is.

    Parameters
    ----------
    codes : (n,) array of int
        ``block * A + arm`` of each row, the control arm being 0; -1 for a row that does not count
        because its outcome is missing and missingness is public.  With ``combinations``: (G,),
        of each of these.
    sizes : tuple of tuples of int, (H, A)
        Rows that count, by block and arm; at least 2.
    weights : tuple of Fraction, (H,)
        Public weights of the blocks, of sum one.
    clusters : (n,) array of int or None
        Cluster of each row (or combination), where clusters were assigned; each lies in one block
        and one arm.
    largest : int
        Rows of the largest cluster (declared or public).
    unit : {"person", "cluster"}
        What one record is.
    combinations : Combinations or None
        What ``codes`` and ``clusters`` belong to, where rows stay in an engine.
    """

    codes: NDArray[np.int64]
    sizes: tuple[tuple[int, ...], ...]
    weights: tuple[Fraction, ...] = (Fraction(1),)
    clusters: NDArray[np.int64] | None = None
    largest: int = 1
    unit: Literal["person", "cluster"] = "person"
    combinations: Combinations | None = None

    def reach(self, arm: int) -> Fraction:
        """Return by how much an arm's mean moves when one record moves from l to u, over u - l."""
        rows = self.largest if self.unit == "cluster" else 1
        return rows * max(w / n[arm] for w, n in zip(self.weights, self.sizes, strict=True))

    @property
    def inflation(self) -> int:
        """Sensitivity of an arm's variance over the square of :meth:`reach` times u - l."""
        return 2 * self.largest - 1 if self.clusters is not None and self.unit == "person" else 1


_CELL, _CLUSTER = "__cell", "__cluster"


@dataclass(frozen=True, slots=True)
class Part:
    """Sums over the rows of one group; confidential.

    Parameters
    ----------
    cell, cluster : int
        ``block * A + arm``, and the cluster, 0 where there are none.
    n, s, q : int
        Rows, sum of k and sum of k^2, exactly.
    """

    cell: int
    cluster: int
    n: int
    s: int
    q: int


def by_cell(
    frame: Table,
    column: Column,
    arms: Arms,
    fill: float | None = None,
    *,
    with_value: bool = False,
) -> list[Part]:
    """Return the sums of a clipped outcome by block, arm and cluster; of rows that count.

    Parameters
    ----------
    frame : narwhals frame, eager or lazy, n rows
    column : Column
        With bounds.
    arms : Arms
    fill : float or None
        Missing values are this constant; without it, at the lower bound.
    with_value : bool
        Leave out the rows that have no value.

    Returns
    -------
    list of Part
        One or several for each cell and cluster that occurs.  An engine must return the same rows
        in every pass: one that samples again, or reads what others change, has no arm sizes.
    """
    rows, keys = _keyed(frame, column, arms)
    if with_value:
        rows = rows.filter(present(column.name))
    found = square_sums(rows, steps_of(column, fill), keys)
    parts = [Part(*_place(row[: len(keys)], arms), *row[len(keys) :]) for row in found]
    return [part for part in parts if part.cell >= 0]


def _keyed(frame: Table, column: Column, arms: Arms) -> tuple[Table, list[str]]:
    """Return the rows that count with the columns that tell their cell, and these columns."""
    where = arms.combinations
    if where is not None:
        keys = list(where.columns)
        rows = frame.select(*dict.fromkeys([*keys, column.name, *_names(where.present)]))
        return (rows.filter(present(where.present)) if where.present else rows), keys
    assert isinstance(frame, nw.DataFrame)
    codes = {_CELL: arms.codes}
    if arms.clusters is not None:
        codes[_CLUSTER] = arms.clusters
    series = [
        nw.new_series(name, values, nw.Int64, backend=frame.implementation)
        for name, values in codes.items()
    ]
    return frame.select(column.name).with_columns(*series).filter(nw.col(_CELL) >= 0), list(codes)


def _place(keys: list[Any], arms: Arms) -> tuple[int, int]:
    where = arms.combinations
    if where is None:
        return keys[0], keys[1] if len(keys) > 1 else 0
    place = where.places.get(tuple(keys))
    if place is None:  # was not there at the door: in no cell, and no error
        return -1, 0
    return int(arms.codes[place]), 0 if arms.clusters is None else int(arms.clusters[place])


def _names(name: str | None) -> tuple[str, ...]:
    return () if name is None else (name,)


@dataclass(frozen=True, slots=True)
class DifferenceAggregates:
    """A treated mean less the control mean, its variance, and the control mean; each sealed."""

    difference: IntegerVector
    variance: IntegerVector
    control: IntegerVector


def observed(frame: Frame, column: Column) -> NDArray[np.bool_]:
    """Return which rows have a value; only for a column whose missingness is declared public."""
    found = frame.select(present(column.name).alias("observed"))["observed"].to_numpy()
    return np.asarray(found, dtype=bool)


def observed_counts(table: Table, column: Column, where: Combinations) -> NDArray[np.int64]:
    """Return, of every combination, how many rows have a value; (G,).

    Only for a column whose missingness is declared public.
    """
    found = np.zeros(len(where.places), np.int64)
    rows = table.filter(present(column.name))
    for *keys, count in added(rows.select(*where.columns), {}, where.columns):
        if tuple(keys) in where.places:
            found[where.places[tuple(keys)]] += count
    return found


def observed_number(table: Table, column: Column) -> int:
    """Return how many rows have a value; only where missingness is declared public."""
    return row_count(table.select(column.name).filter(present(column.name)))


def difference_aggregates(
    frame: Table, column: Column, arms: Arms, fill: float | None = None
) -> DifferenceAggregates:
    """Compare two arms: sum_h w_h (mean_h1 - mean_h0) of clipped values, exactly.

    Parameters
    ----------
    frame : narwhals frame, eager or lazy, n rows
    column : Column
        With bounds (l, u), u - l = w.
    arms : Arms
        Two arms.
    fill : float or None
        Missing values are this constant.

    Returns
    -------
    DifferenceAggregates
        Each of L1 sensitivity 2^20 under replace-one with the design public, on its own grid.

    Notes
    -----
    One record moves the difference by at most D = w max_ha w_h / n_ha, and the variance
    V = sum_ha w_h^2 s_ha^2 / n_ha by at most D^2: s^2 = SS_- / (n - 1) + (y - mean_-)^2 / n, where
    mean_- and SS_- are of the others and (y - mean_-)^2 lies in [0, w^2].  For clusters,
    V_a = M_a s^2(S_g) / n_a^2 with S_g the totals about the middle of the bounds: for one person in
    a cluster of m, (S - m_-)^2 - (S' - m_-)^2 = (S - S')(S + S' - 2 m_-) is at most
    w^2 (2m - 1); for a whole cluster it is at most (m w)^2.  Here S and S' lie within m w / 2 of
    zero, w apart at most, and so does m_-, the mean total of the other clusters: S + S' is at most
    (m - 1) w, less 2 m_- at most (2m - 1) w.  Clusters within blocks: a person or cluster is in one
    block h and arm a, whose term is w_h^2 V_ha, so that the bound is the largest w_h^2 / n_ha^2
    times it, which is D^2 over w^2.  All are rationals, rounded to a
    2^20th of their sensitivity: x -> floor(x + 1/2) is monotone and commutes with adding
    integers, so that numbers at most 2^20 apart stay so.
    """
    (m0, v0), (m1, v1) = _arm_statistics(frame, column, arms, fill)
    step, reach = Fraction(Clipped(column).step), max(arms.reach(0), arms.reach(1))
    return DifferenceAggregates(
        rounded([(m1 - m0) / reach], step * reach),
        rounded(
            [(v0 + v1) / (reach**2 * GRID * arms.inflation)],
            step**2 * reach**2 * GRID * arms.inflation,
        ),
        rounded([m0 / arms.reach(0)], step * arms.reach(0)),
    )


def arm_aggregates(
    frame: Table, column: Column, arms: Arms, fill: float | None = None
) -> tuple[IntegerVector, IntegerVector]:
    """Return the means of all arms, less l, and their variances: (A,) both, sealed.

    Returns
    -------
    means, variances : IntegerVector
        Arm a in units of ``step * reach(a)``, and of ``step^2 reach(a)^2 2^20 inflation``.  One
        record is in one arm, so that it moves one coordinate, by at most 2^20: L1 sensitivity
        2^20 under replace-one with the design public.
    """
    found = _arm_statistics(frame, column, arms, fill)
    reach = [arms.reach(a) for a in range(len(found))]
    means = [m / r for (m, _), r in zip(found, reach, strict=True)]
    spread = [v / (r**2 * GRID * arms.inflation) for (_, v), r in zip(found, reach, strict=True)]
    return rounded(means, Fraction(1)), rounded(spread, Fraction(1))


def _arm_statistics(
    frame: Table, column: Column, arms: Arms, fill: float | None
) -> list[tuple[Fraction, Fraction]]:
    """Return mean and variance of the mean, in grid steps, of every arm; confidential."""
    parts = by_cell(frame, column, arms, fill)
    if arms.clusters is not None:
        return _cluster_statistics(parts, arms)
    cells = len(arms.sizes) * len(arms.sizes[0])
    sums, squares = [0] * cells, [0] * cells
    for part in parts:
        sums[part.cell] += part.s
        squares[part.cell] += part.q
    found = []
    for arm in range(len(arms.sizes[0])):
        mean = variance = Fraction(0)
        for h, (weight, sizes) in enumerate(zip(arms.weights, arms.sizes, strict=True)):
            n, s = sizes[arm], sums[h * len(sizes) + arm]
            mean += weight * Fraction(s, n)
            q = squares[h * len(sizes) + arm]
            variance += weight**2 * Fraction(n * q - s * s, n * n * (n - 1))
        found.append((mean, variance))
    return found


def _cluster_statistics(parts: list[Part], arms: Arms) -> list[tuple[Fraction, Fraction]]:
    """Return sum_h w_h mean_h and sum_h w_h^2 M_h s^2(S_g) / n_h^2 of every arm.

    S_g are the totals of k about the middle of the bounds, M_h the clusters of the arm and block.
    """
    totals: list[Counter[int]] = [Counter() for _ in range(len(arms.sizes) * len(arms.sizes[0]))]
    for part in parts:
        totals[part.cell][part.cluster] += part.s - part.n * (GRID // 2)
    found = []
    for arm in range(len(arms.sizes[0])):
        mean = variance = Fraction(0)
        for h, (weight, sizes) in enumerate(zip(arms.weights, arms.sizes, strict=True)):
            each = totals[h * len(sizes) + arm].values()
            n, m, s = sizes[arm], len(each), sum(each)
            spread = Fraction(m * sum(t * t for t in each) - s * s, m - 1)
            mean += weight * (Fraction(s, n) + GRID // 2)
            variance += weight**2 * spread / n**2
        found.append((mean, variance))
    return found


def rounded(
    values: list[Fraction], unit: Fraction, relation: Relation = "replace-one-design-public"
) -> IntegerVector:
    """Seal rationals that one record moves by at most 2^20 in all, rounded to integers."""
    return IntegerVector(
        np.array([math.floor(value + Fraction(1, 2)) for value in values], dtype=object),
        l1=GRID,
        relation=relation,
        grid=unit,
    )
