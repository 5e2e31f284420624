"""The public side of an experiment: groups, arm sizes, blocks and clusters, checked at the door."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import narwhals as nw
import numpy as np

from dprct.assignment.base import Design
from dprct.assignment.designs import Complete
from dprct.assignment.factorial import Factorial
from dprct.assignment.groups import CONTROL
from dprct.assignment.units import ROWS, Units, combined, units_of
from dprct.errors import ParameterError, SchemaError
from dprct.estimate.pooling import pooled
from dprct.privacy.arms import Arms, Combinations
from dprct.queries import observed, observed_counts
from dprct.results.confidential import HoldsRows
from dprct.schema.arguments import check_choice
from dprct.schema.facts import Unit, given

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dprct.assignment.groups import Level
    from dprct.schema.facts import Column
    from dprct.schema.table import Table

BlockRule = Literal["weight", "ignore"] | Mapping[Any, str]
UnitRule = Literal["person", "cluster"]


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Which groups of a design are compared: public, whatever of the rows is not.

    Parameters
    ----------
    design : Design
    arms : tuple of str
        Names of the groups, the control group first.
    order : tuple of int
        Place of each of them among the groups of the design.
    unit : {"person", "cluster"}
    """

    design: Design
    arms: tuple[str, ...]
    order: tuple[int, ...]
    unit: UnitRule

    @property
    def cluster_unit(self) -> Unit | None:
        """The clusters, where they are who is protected; none where treatment is private."""
        return None


@dataclass(frozen=True, eq=False, repr=False)
class Experiment(HoldsRows, Comparison):
    """A design bound to the columns of a table that say who is where, which are public.

    Parameters
    ----------
    design, arms, order, unit
        As of :class:`Comparison`.
    codes : (n,) array of int
        Group of each row, 0 for control.
    units : Units
        Blocks and clusters of the rows.
    clustered : bool
    largest : int
        Rows of the largest cluster.
    combinations : Combinations or None
        Where rows stay in an engine: the combinations of public columns that take the place of
        rows in ``codes`` and ``units``.
    rows : (G,) array of int or None
        How many rows each of these has.
    """

    codes: NDArray[np.int64]
    units: Units
    clustered: bool
    largest: int
    combinations: Combinations | None = None
    rows: NDArray[np.int64] | None = None

    @property
    def cluster_unit(self) -> Unit | None:
        """The clusters, where they are who is protected: all rows of one of them."""
        return cluster_unit(self.design, self.largest) if self.unit == "cluster" else None

    def among_observed(self, frame: Table, column: Column) -> Arms:
        """Return who counts where only those with a value do; for public missingness.

        Raises
        ------
        ParameterError
            If an arm of a block has fewer than two rows, or two clusters.
        """
        if self.combinations is None:
            assert isinstance(frame, nw.DataFrame)
            return self.counted(observed(frame, column))
        arms = self.counted(observed_counts(frame, column, self.combinations))
        return replace(arms, combinations=replace(self.combinations, present=column.name))

    def counted(self, observed: NDArray[Any] | None = None) -> Arms:
        """Return who counts where, given which rows have a value if that is public.

        ``observed`` is (n,) of bool, or (G,) of numbers of rows.

        Raises
        ------
        ParameterError
            If an arm of a block has fewer than two rows, or two clusters.
        """
        count = len(self.arms)
        cells = self.units.block[self.units.member] * count + self.codes
        number = self.rows if observed is None else observed
        if number is not None:
            cells = np.where(number > 0, cells, -1)
        shape = (len(self.units.labels), count)
        every = np.bincount(cells + 1, weights=number, minlength=shape[0] * count + 1)
        sizes = every[1:].astype(np.int64).reshape(shape)
        total = int(sizes.sum())
        self._check(sizes if not self.clustered else self._clusters(cells, shape))
        return Arms(
            cells,
            tuple(tuple(int(n) for n in row) for row in sizes),
            tuple(Fraction(int(row.sum()), total) for row in sizes),
            clusters=self.units.member if self.clustered else None,
            largest=self.largest,
            unit=self.unit,
            combinations=self.combinations,
        )

    def _clusters(self, cells: NDArray[np.int64], shape: tuple[int, int]) -> NDArray[np.int64]:
        """Return how many clusters with rows that count each block and arm has; (H, A)."""
        pairs = {(int(c), int(m)) for c, m in zip(cells, self.units.member, strict=True) if c >= 0}
        found = np.bincount([c for c, _ in pairs], minlength=shape[0] * shape[1])
        return found.reshape(shape)

    def _check(self, sizes: NDArray[np.int64]) -> None:
        few = [name for name, n in zip(self.arms, sizes.T, strict=True) if (n < 2).any()]
        if few:
            what = "clusters" if self.clustered else "people with an outcome"
            if len(sizes) == 1:
                raise ParameterError(
                    f"arm {few[0]!r} has fewer than two {what}, of which no error can be told; "
                    "declare the columns of the arms that were assigned, and their control group"
                )
            raise ParameterError(
                f"arm {few[0]!r} has fewer than two {what} in some block; say blocks='ignore' "
                "where the declared shares are the same everywhere, else pool blocks of the same "
                "shares, as in blocks={'label': 'pool', ...}"
            )


def experiment_of(
    data: Any,
    treatment: str | Sequence[str] | None,
    assignment: Design | None,
    *,
    control: Level | None,
    blocks: BlockRule,
    unit: UnitRule,
    largest_cluster: int | None,
    attrition: bool,
) -> Experiment:
    """Read the public columns of a table and hold them against the design.

    Raises
    ------
    ParameterError
        If design and columns contradict each other, or the design is not one of those that
        ALGORITHMS.md, section 4, covers.
    """
    design = _design(treatment, assignment)
    rows, combinations = combined(data, [*design.columns, *design.uses])
    problems = design.groups.problems(rows)
    if assignment is not None and not problems:
        problems = design.broken(rows, attrition=attrition)
    if problems:
        what = f"the assignment is not one of the design ({'; '.join(problems)})"
        if assignment is None:
            raise ParameterError(
                f"{what}; name the 0/1 columns of the arms and nothing else, or, where one column "
                "holds the group of each row, give assignment=dprct.Complete(levels, arm=column)"
            )
        raise ParameterError(
            f"{what}; declare the design that was used, or say attrition=True if rows were lost "
            "after it"
        )
    names, order = _control_first(design, control)
    place = np.empty(len(order), np.int64)
    place[list(order)] = np.arange(len(order))
    block, cluster = _columns_of(design, blocks)
    _check_clusters(cluster, unit, largest_cluster)
    if not block:
        _check_constant(design, rows)
    units = units_of(rows, block, cluster)
    number = None if combinations is None else rows[ROWS].to_numpy(np.int64)
    if isinstance(blocks, Mapping):
        units = pooled(units, blocks, design.propensities(rows))
    return Experiment(
        design,
        names,
        order,
        unit,
        place[design.groups.codes(rows)],
        units,
        bool(cluster),
        _largest(units, cluster, largest_cluster, number),
        combinations,
        number,
    )


def cluster_unit(design: Design, largest: int) -> Unit:
    """Return who is protected where a whole cluster is, of at most ``largest`` rows."""
    columns = ", ".join(getattr(design, "cluster_columns", ()))
    return Unit(f"cluster of {columns}", columns, largest)


def compared(
    treatment: str | Sequence[str] | None,
    assignment: Design | None,
    *,
    control: Level | None,
    blocks: BlockRule,
    unit: UnitRule,
    largest_cluster: int | None,
) -> Comparison:
    """Return what is compared, refusing rules that a design does not allow; no row is read.

    Raises
    ------
    ParameterError, SchemaError
    """
    design = _design(treatment, assignment)
    names, order = _control_first(design, control)
    _, cluster = _columns_of(design, blocks)
    _check_clusters(cluster, unit, largest_cluster)
    return Comparison(design, names, order, unit)


def _design(treatment: str | Sequence[str] | None, assignment: Design | None) -> Design:
    if assignment is None:
        if treatment is None:
            raise ParameterError(
                "neither treatment= nor assignment= is given; name the 0/1 columns"
            )
        return Complete(treatment)
    if not isinstance(assignment, Design):
        raise ParameterError(
            f"assignment is {type(assignment).__name__}; give a design such as "
            "dprct.Complete('treat')"
        )
    if treatment is None:
        return assignment
    named = (treatment,) if isinstance(treatment, str) else tuple(treatment)
    if set(named) != set(assignment.columns):
        raise ParameterError(
            f"treatment= names {', '.join(named)}, the design has {', '.join(assignment.columns)}; "
            "give one of them, or the same columns"
        )
    return assignment


def _control_first(
    design: Design, control: Level | None
) -> tuple[tuple[str, ...], tuple[int, ...]]:
    names = design.groups.names
    wanted = CONTROL if control is None else control
    if not isinstance(wanted, (str, int, float)) or wanted not in names:
        shown = ", ".join(map(_shown, names))
        if control is None:
            raise ParameterError(
                f"every group of the design is an arm, and control= does not say with which to "
                f"compare; give one of: {shown}"
            )
        raise ParameterError(f"control={given(control)} is not a group; give one of: {shown}")
    if len(names) < 2:
        raise ParameterError("the design has one group; effects need a control group beside an arm")
    first = names.index(wanted)
    order = [first, *(i for i in range(len(names)) if i != first)]
    return tuple(_shown(names[i]) for i in order), tuple(order)


def _columns_of(design: Design, blocks: BlockRule) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the block and cluster columns that the estimate uses."""
    word = isinstance(blocks, str) and blocks in ("weight", "ignore")
    if not word and not isinstance(blocks, Mapping):
        raise ParameterError(
            f"blocks={given(blocks)}; allowed: weight, ignore, or a mapping from blocks to pools"
        )
    block = tuple(getattr(design, "block_columns", ()))
    cluster = _cluster_columns(design)
    if isinstance(blocks, Mapping) and not block:
        raise ParameterError(
            f"blocks= pools blocks, and a {type(design).__name__} design has none of its own"
        )
    if set(design.uses) - {*block, *cluster} and blocks == "weight":
        raise ParameterError(
            f"{type(design).__name__} designs with blocks of their own need blocks='ignore', which "
            "is valid (and conservative) where everybody has the same shares"
        )
    return (() if blocks == "ignore" else block), cluster


def _cluster_columns(design: Design) -> tuple[str, ...]:
    """Return what was assigned as a whole; in a factorial design, by all factors alike."""
    if not isinstance(design, Factorial):
        return tuple(getattr(design, "cluster_columns", ()))
    found = {_cluster_columns(factor) for factor in design.factors}
    if len(found) > 1:
        raise ParameterError(
            "the factors assign different units, some of them clusters, for which no variance is "
            "offered; factors must all assign rows, or all the same clusters"
        )
    return found.pop()


def _check_constant(design: Design, rows: Any) -> None:
    """Refuse to leave out blocks between which the chances differ."""
    chances = design.propensities(rows)
    if not np.allclose(chances, chances[:1], rtol=0, atol=1e-12):
        raise ParameterError(
            "the declared shares differ between blocks, so that blocks='ignore' would be biased; "
            "say blocks='weight'"
        )


def _check_clusters(cluster: tuple[str, ...], unit: UnitRule, declared: int | None) -> None:
    check_choice("unit", unit, ("person", "cluster"))
    if not cluster and (unit == "cluster" or declared is not None):
        raise ParameterError("unit='cluster' and largest_cluster= need a design of clusters")
    if unit == "cluster" and declared is None:
        raise SchemaError(
            "unit='cluster' needs largest_cluster=, the most rows that a cluster can have, "
            "from public knowledge"
        )


def _largest(
    units: Units,
    cluster: tuple[str, ...],
    declared: int | None,
    number: NDArray[np.int64] | None,
) -> int:
    """Return the most rows of a cluster: as declared, else the public number."""
    if not cluster:
        return 1
    sizes = np.bincount(units.member, weights=number)
    if declared is None:
        return int(np.sort(sizes)[-1])
    if type(declared) is not int:
        raise ParameterError(
            f"largest_cluster={given(declared)}; give the most rows that a cluster can have, as a "
            "whole number"
        )
    if (sizes > declared).any():
        raise ParameterError(
            "a cluster has more rows than largest_cluster=; declare the true limit"
        )
    return declared


def _shown(name: Level) -> str:
    return name if isinstance(name, str) else f"{name:g}"
