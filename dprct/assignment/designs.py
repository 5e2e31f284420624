"""The designs of textbooks: simple, complete, blocked, clustered, and blocked with clusters."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, field
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.arguments import checked, given
from dprct.assignment.clusters import ClusterFacts, own
from dprct.assignment.groups import (
    Design,
    Groups,
    Level,
    Units,
    checked_names,
    counted,
    fair_counts,
    has_missing,
    independent,
    indicators,
    level_text,
    levels,
    listed,
    quoted,
    spread,
    uneven,
    units_of,
)
from dprct.errors import ParameterError, marked
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    import pandas as pd

    from dprct.assignment.groups import Codes, Units
    from dprct.formula.design_matrix import Array

_TOLERANCE = 1e-9

Row = tuple[float, ...]


@dataclass(frozen=True)
class Shares:
    """Shares of the groups, the same in all blocks or declared block by block."""

    # Shares of the groups, each row of sum one; one row, or one per block in ``blocks``.
    rows: tuple[Row, ...]
    # The blocks that rows belong to; empty where one row serves all.
    blocks: tuple[Hashable, ...] = ()

    @property
    def control(self) -> bool:
        """Whether the last group, the control group, has a share anywhere."""
        return any(row[-1] > 0 for row in self.rows)

    def without_control(self) -> Shares:
        """Return the shares of the arms alone, where the control group has none."""
        return Shares(tuple(row[:-1] for row in self.rows), self.blocks)

    def of(self, labels: Sequence[Hashable], columns: Iterable[str]) -> Array:
        """Return the shares in each block; (B, K)."""
        if not self.blocks:
            return np.repeat(np.array(self.rows), len(labels), axis=0)
        place = {block: number for number, block in enumerate(self.blocks)}
        missing = [label for label in labels if label not in place]
        if missing:
            raise ParameterError(
                f"``shares=`` lacks {len(missing)} of the blocks of "
                f"{', '.join(map(repr, columns))} in the frame; give shares for every level of "
                "the blocks"
            )
        return np.array(self.rows)[[place[label] for label in labels]]

    def text(self, names: Iterable[object]) -> str:
        """Say the share of each group; ranges where blocks differ."""
        low, high = np.min(self.rows, axis=0), np.max(self.rows, axis=0)
        said = [
            f"{name} {percent(a)}" if math.isclose(a, b) else f"{name} {percent(a)} to {percent(b)}"
            for name, a, b in zip(names, low, high, strict=True)
        ]
        return ", ".join(said)


def shares_of(
    given_shares: Mapping[Any, Any] | Sequence[float] | float | None,
    control_share: float | None,
    arms: int,
    *,
    implicit: bool,
) -> Shares:
    """Return shares as rows of ``arms + 1`` numbers, the control group's last.

    Shares are given of the arms, by block or for all; equal ones if not given.  ``control_share``
    is what they leave.  Where rows cannot be in no arm (``implicit``), they sum to one.

    Examples
    --------
    >>> shares_of([0.2, 0.3], None, 2, implicit=True).rows
    ((0.2, 0.3, 0.5),)
    """
    if control_share is not None and not implicit:
        raise ParameterError(
            "``control_share=`` is for arms with a column each; with ``arm=`` the control group "
            "is one of the levels, with its own share"
        )
    if isinstance(given_shares, Mapping):
        if not given_shares:
            raise ParameterError("``shares=`` is an empty ``mapping``; give shares for every block")
        rows = tuple(
            _row(one, control_share, arms, implicit=implicit) for one in given_shares.values()
        )
        found = Shares(rows, tuple(given_shares))
    else:
        found = Shares((_row(given_shares, control_share, arms, implicit=implicit),))
    for place in range(arms):
        if not any(row[place] > 0 for row in found.rows):
            raise ParameterError(f"the share of arm {place + 1} is 0; leave an unused arm out")
    return found


def percent(share: float) -> str:
    """Return a share as a percentage that people can read.

    Examples
    --------
    >>> percent(0.25), percent(1 / 3)
    ('25%', '33.33%')
    """
    return f"{100 * share:.4g}%"


def _row(given_row: Any, control_share: float | None, arms: int, *, implicit: bool) -> Row:
    row = _numbers(given_row, control_share, arms, implicit=implicit)
    rest = 1.0 - math.fsum(row) if control_share is None else _number(control_share)
    if control_share is None and abs(rest) <= _TOLERANCE:
        rest = 0.0
    total = math.fsum([*row, rest])
    if rest < 0 or abs(total - 1.0) > _TOLERANCE or (rest > 0 and not implicit):
        sum_ = math.fsum(row) if control_share is None else total
        rule = "the shares of all groups sum to 1"
        if implicit and control_share is None:
            rule = "shares of arms sum to at most 1, and the rest is the control group's"
        raise ParameterError(f"shares sum to {sum_:.10g}; {rule}")
    return tuple(share / total for share in (*row, rest))


def _numbers(given_row: Any, control_share: float | None, arms: int, *, implicit: bool) -> Row:
    if given_row is None:
        if not arms:
            raise ParameterError("``arms=`` is empty; give the column of at least one arm")
        left = 1.0 - (_number(control_share) if control_share is not None else 0.0)
        groups = arms + int(implicit and control_share is None)
        return (left / groups,) * arms
    row = tuple(_number(share) for share in listed(given_row, "shares"))
    _check_each(len(row), arms, "``shares=``")
    return row


def _check_each(numbers: int, arms: int, what: str) -> None:
    """Refuse as many numbers as there are no arms."""
    if numbers == arms:
        return
    more = ""
    if arms == 1:
        more = (
            ", the 0/1 column that it has, and none for the control group; if one column has "
            "several arms, name their codes in ``arms=``, and the column in ``arm=``"
        )
    raise ParameterError(
        f"{what} has {numbers} number{'s' * (numbers != 1)} for {arms} arm{'s' * (arms != 1)}; "
        f"give one per arm{more}"
    )


def _number(share: object) -> float:
    try:
        number = math.nan if isinstance(share, str) else float(share)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not 0.0 <= number <= 1.0:
        raise ParameterError(f"a share is ``{given(share)}``; shares are numbers from 0 to 1")
    return number


@dataclass(frozen=True)
class Allotted(Design):
    """Arms with shares: what all designs of this file have in common."""

    arms: Sequence[Any] | str
    _: KW_ONLY
    shares: Mapping[Any, Any] | Sequence[float] | float | None = field(default=None, hash=False)
    control_share: float | None = None
    arm: str | None = None
    groups: Groups = field(init=False, repr=False)
    law: Shares = field(init=False, repr=False)

    def __post_init__(self) -> None:
        arms = listed(self.arms, "arms")
        implicit = self.arm is None
        law = self._law(len(arms), implicit=implicit)
        control = implicit and law.control
        groups = indicators(arms, control=control) if self.arm is None else levels(self.arm, arms)
        self._set(
            arms=tuple(arms) if implicit else groups.names,
            shares=own(self.shares),
            groups=groups,
            law=law if control else law.without_control(),
        )

    def draw(self, rows: pd.DataFrame, rng: np.random.Generator) -> Codes:
        """Draw the group of each row; (n,)."""
        units = self._units(rows)
        sizes, shares = units.sizes, self._shares(units)
        return units.of_rows(spread(units.block, fair_counts(sizes, shares, rng), rng))

    def propensities(self, rows: pd.DataFrame) -> Array:
        """Return the probability of each group for each row; (n, G)."""
        units = self._units(rows)
        return self._shares(units)[units.of_rows(units.block)]

    def common(self, n: int) -> Array:
        """Return the declared probability of each group, the same for each of n rows; (G,).

        Of shares by block, the first block's: they are the same for every row only where all blocks
        have the same.
        """
        return np.array(self.law.rows[0])

    def broken_by(self, codes: Codes, rows: pd.DataFrame, *, attrition: bool) -> list[str]:
        """Return the rules that rows in groups ``codes`` break; all rows are in a group."""
        missing = [name for name in self.uses if has_missing(rows, [name])]
        if missing:
            return [
                f"column {name!r} has missing values, and every row is in some block or cluster: "
                "leave the others out"
                for name in missing
            ]
        try:
            units = self._units(rows)
            shares = self._shares(units)
        except ParameterError as error:
            return [marked(error)]
        of_unit = codes if units.members is None else codes[units.first_rows()]
        if (units.of_rows(of_unit) != codes).any():
            return [f"some cluster of {quoted(self.cluster_columns)} is split between groups"]
        impossible = self._impossible(of_unit, units, shares)
        return impossible or ([] if attrition else self._miscounted(of_unit, units, shares))

    def describe(self) -> str:
        """Say the design in one sentence."""
        names = _named(self.groups.names)
        shares = self._share_text(names)
        where = f" of column {self.arm!r}" if self.arm else ""
        return f"{self._rule()}, groups{where}: {shares}."

    def _law(self, arms: int, *, implicit: bool) -> Shares:
        if isinstance(self.shares, Mapping):
            raise ParameterError(
                f"``shares=`` is a ``mapping``, and ``{type(self).__name__}`` has no blocks; "
                "give one share per arm"
            )
        return shares_of(self.shares, self.control_share, arms, implicit=implicit)

    def _units(self, rows: pd.DataFrame) -> Units:
        return units_of(rows, self.block_columns, self.cluster_columns)

    def _shares(self, units: Units) -> Array:
        return self.law.of(units.labels, self.block_columns)

    def _share_text(self, names: Sequence[str]) -> str:
        return self.law.text(names)

    @abstractmethod
    def _rule(self) -> str:
        """Rule by which units are allotted, for :meth:`describe`."""

    def _impossible(self, codes: Codes, units: Units, shares: Array) -> list[str]:
        """Return the groups that have members where their share is zero."""
        counts = counted(units.block, codes, shares.shape, units.weights)
        wrong = ((counts > 0) & (shares == 0)).any(axis=0)
        return [
            f"group {name!r} has members in a block where its share is 0"
            for name, bad in zip(self.groups.names, wrong, strict=True)
            if bad
        ]

    def _miscounted(self, codes: Codes, units: Units, shares: Array) -> list[str]:
        """Return the groups whose size is not their share rounded down or up."""
        wrong = uneven(
            counted(units.block, codes, shares.shape, units.weights), units.sizes, shares
        )
        what = f"clusters of {quoted(self.cluster_columns)}" if self.cluster_columns else "rows"
        where = f"a block of {quoted(self.block_columns)}" if self.block_columns else "the data"
        bad = [name for name, off in zip(self.groups.names, wrong, strict=True) if off]
        return [f"{_counted(bad)} of the {what} in {where}, rounded down or up"] if bad else []


@dataclass(frozen=True)
class Counted(Allotted):
    """Shares, or numbers of units, of the arms."""

    counts: Sequence[float] | float | None = field(default=None, kw_only=True)

    def _law(self, arms: int, *, implicit: bool) -> Shares:
        if self.counts is None:
            return super()._law(arms, implicit=implicit)
        if self.shares is not None or self.control_share is not None:
            raise ParameterError("``counts=`` and ``shares=`` are both given; give one of them")
        self._set(counts=_whole_numbers(self.counts, arms))
        # stands for shares that are known once the number of units is
        return Shares(((1 / (arms + implicit),) * arms + (float(implicit) / (arms + 1),),))

    def common(self, n: int) -> Array:
        """Return the declared probability of each group, of n rows; (G,)."""
        return super().common(n) if self.counts is None else self._counted(n)

    def _shares(self, units: Units) -> Array:
        return super()._shares(units) if self.counts is None else self._counted(units.total)[None]

    def _counted(self, total: int) -> Array:
        """Return the share of each group among a number of units; (G,)."""
        sizes: list[int] = list(self.counts)  # type: ignore[arg-type]
        left = total - sum(sizes)
        if left < 0 or (left > 0 and self.arm is not None):
            what = "clusters" if self.cluster_columns else "rows"
            raise ParameterError(
                f"``counts=`` sum to {sum(sizes)} and the frame has {total} {what}; give counts of "
                "this frame, or ``shares=``"
            )
        return np.array([*sizes, *([left] if self.arm is None else [])]) / total

    def _share_text(self, names: Sequence[str]) -> str:
        if self.counts is None:
            return super()._share_text(names)
        sizes = [*map(str, self.counts), "the rest"]  # type: ignore[arg-type]
        return ", ".join(f"{name} {size}" for name, size in zip(names, sizes, strict=False))


def _whole_numbers(counts: Sequence[float] | float, arms: int) -> tuple[int, ...]:
    row = listed(counts, "counts")
    _check_each(len(row), arms, "``counts=``")
    for count in row:
        if not isinstance(count, Real) or not float(count).is_integer() or count < 1:
            raise ParameterError(f"a count is ``{given(count)}``; counts are whole numbers from 1")
    return tuple(int(count) for count in row)


def _counted(groups: Sequence[Level]) -> str:
    if len(groups) == 1:
        return f"group {_named(groups)[0]} does not have its share"
    return f"groups {', '.join(_named(groups))} do not have their shares"


def _named(groups: Sequence[Level]) -> list[str]:
    """Names of groups: text in quotes, codes as they are."""
    return [repr(name) if isinstance(name, str) else level_text(name) for name in groups]


_UNLIKELY = 1e-9


@checked
@dataclass(frozen=True)
class Simple(Allotted):
    """Simple randomisation: every row is drawn on its own.

    Parameters
    ----------
    arms : sequence of str, or str
        0/1 treatment columns.  Rows with all zeros form the control group.  With ``arm``, the
        levels of that one column instead, including the control group's.
    shares : sequence of float, optional
        Probability of each arm.  By default, the same for all groups, the control group included.
    control_share : float, optional
        Probability of the control group, 0 if there is none.  By default, one minus ``shares``.
    arm : str, optional
        Column that holds the group of each row as a code, instead of 0/1 columns.

    Raises
    ------
    ParameterError
        If arms repeat, or shares are negative or do not sum to one.

    Notes
    -----
    Groups have random sizes.  :meth:`check` reports sizes with probability below 1e-9.

    References
    ----------
    Gerber and Green (2012), Field Experiments, chapter 2.

    Examples
    --------
    >>> import pandas as pd
    >>> design = Simple("treat", shares=0.25)
    >>> print(design)
    Simple randomisation of rows, groups: 'treat' 25%, 'control' 75%.
    >>> design.assign(pd.DataFrame(index=range(4)), rng=1)["treat"].tolist()
    [0.0, 0.0, 1.0, 0.0]
    """

    def draw(self, rows: Any, rng: np.random.Generator) -> Codes:
        """Draw the group of each row; (n,)."""
        return independent(self.propensities(rows), rng)

    def _rule(self) -> str:
        return "Simple randomisation of rows"

    def _miscounted(self, codes: Codes, units: Units, shares: Array) -> list[str]:
        """Return the groups whose size their share makes all but impossible."""
        from scipy.stats import binom

        sizes = counted(units.block, codes, shares.shape, units.weights)[0]
        total = units.total
        tails = np.minimum(
            binom.cdf(sizes, total, shares[0]), binom.sf(sizes - 1, total, shares[0])
        )
        return [
            f"group {name!r} has a size that its share gives with probability below 1e-9"
            for name, tail in zip(self.groups.names, tails, strict=True)
            if 2 * tail < _UNLIKELY
        ]


@checked
@dataclass(frozen=True)
class Complete(Counted):
    """Complete randomisation: every group gets its share of the rows, rounded down or up.

    Parameters
    ----------
    arms, shares, control_share, arm
        As in :class:`Simple`.
    counts : sequence of int, optional
        Number of rows of each arm, instead of ``shares``. The control group gets the others.

    Raises
    ------
    ParameterError
        If arms repeat, shares are negative or do not sum to one, or counts exceed the rows.

    Notes
    -----
    All assignments with the same group sizes are equally likely.  If shares times n are not whole
    numbers, the remaining rows go to different groups at random, in such a way that each row is in
    each group with probability exactly equal to its share.

    References
    ----------
    Gerber and Green (2012), Field Experiments, chapter 2; ``complete_ra`` of R's randomizr.

    Examples
    --------
    >>> import pandas as pd
    >>> design = Complete(["cash", "therapy", "both"])
    >>> design.assign(pd.DataFrame(index=range(100)), rng=1).sum().tolist()
    [25.0, 25.0, 25.0]
    """

    def _rule(self) -> str:
        return "Complete randomisation of rows"


@dataclass(frozen=True)
class _Blocked(Allotted):
    """Shares within blocks."""

    block: str | Sequence[str] = field(kw_only=True)

    def __post_init__(self) -> None:
        self._set(block=checked_names(self.block, "block"))
        super().__post_init__()

    @property
    def block_columns(self) -> tuple[str, ...]:
        """The columns whose combinations are the blocks."""
        return tuple(self.block)

    def _law(self, arms: int, *, implicit: bool) -> Shares:
        return shares_of(self.shares, self.control_share, arms, implicit=implicit)


@checked
@dataclass(frozen=True)
class Block(_Blocked):
    """Block randomisation: complete randomisation within each block.

    Parameters
    ----------
    arms, control_share, arm
        As in :class:`Simple`.
    shares : sequence of float, or mapping, optional
        Share of each arm.  If blocks differ, a mapping from block (a tuple, if several columns form
        the blocks) to such a sequence.
    block : str or sequence of str
        Columns whose combinations are the blocks.  Missing values form a block of their own,
        written None in a mapping of ``shares``.

    Raises
    ------
    ParameterError
        If arms repeat, or shares are negative, do not sum to one, or lack a block.

    Notes
    -----
    Blocks are independent.  In each block, every group gets its share of the rows, rounded down or
    up, and every row is in each group with probability exactly equal to its share; a block of one
    row is a simple draw.

    References
    ----------
    Gerber and Green (2012), Field Experiments, chapter 3; ``block_ra`` of R's randomizr.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"village": ["a", "a", "a", "a", "b", "b"]})
    >>> treat = Block("treat", block="village").assign(frame, rng=1)["treat"]
    >>> treat.groupby(frame["village"]).sum().tolist()
    [2.0, 1.0]
    """

    def _rule(self) -> str:
        return f"Complete randomisation of rows within blocks of {quoted(self.block_columns)}"


@dataclass(frozen=True)
class _Clustered(Allotted):
    """Whole clusters, and what is publicly known of them."""

    cluster: str | Sequence[str] = field(kw_only=True)
    largest: int | None = field(default=None, kw_only=True)
    icc: float | Mapping[str, float] | None = field(default=None, kw_only=True, hash=False)
    cluster_mean_bounds: Sequence[float] | Mapping[str, Sequence[float]] | None = field(
        default=None, kw_only=True, hash=False
    )

    def __post_init__(self) -> None:
        facts = ClusterFacts(self.largest, self.icc, self.cluster_mean_bounds)
        self._set(cluster=checked_names(self.cluster, "cluster"), icc=facts.icc,
                  cluster_mean_bounds=facts.mean_bounds)  # fmt: skip
        super().__post_init__()

    @property
    def cluster_columns(self) -> tuple[str, ...]:
        """The columns whose combinations are the clusters."""
        return tuple(self.cluster)

    @property
    def cluster_facts(self) -> ClusterFacts:
        """What is declared of the clusters."""
        return ClusterFacts(self.largest, self.icc, self.cluster_mean_bounds)


@checked
@dataclass(frozen=True)
class Cluster(_Clustered, Counted):
    """Cluster randomisation: complete randomisation of whole clusters.

    Parameters
    ----------
    arms, shares, control_share, arm
        As in :class:`Simple`. Shares are shares of the clusters, whatever their sizes.
    counts : sequence of int, optional
        Number of clusters of each arm, instead of ``shares``.
    cluster : str or sequence of str
        The columns whose combinations are the clusters.
    largest : int, optional
        Public upper limit on the rows of a cluster; a method that protects whole clusters needs it.
    icc : number, or mapping from outcome to number, optional
        Public upper bound on the correlation of two people of one cluster, from 0 to 1.  Errors of
        effects then come from the variance of people times the design effect, which needs far less
        noise.  Where the bound is too low, intervals are too short.
    cluster_mean_bounds : (low, high), or mapping from outcome to such, optional
        Public bounds on the mean of every cluster, narrower than those of the outcome.  Errors of
        effects then come from totals clipped to them.  Where they are too narrow, intervals are too
        short.

    Raises
    ------
    ParameterError
        As :class:`Complete`; and if a cluster column has missing values, or a fact of clusters is
        malformed.

    References
    ----------
    Gerber and Green (2012), Field Experiments, chapter 3; ``cluster_ra`` of R's randomizr.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"school": [1, 1, 2, 2, 2]})
    >>> Cluster("treat", cluster="school").assign(frame, rng=1)["treat"].tolist()
    [0.0, 0.0, 1.0, 1.0, 1.0]
    """

    def _rule(self) -> str:
        return f"Complete randomisation of clusters of {quoted(self.cluster_columns)}"


@checked
@dataclass(frozen=True)
class BlockCluster(_Clustered, _Blocked):
    """Block and cluster randomisation: whole clusters, within each block of clusters.

    Parameters
    ----------
    arms, shares, control_share, block, arm
        As in :class:`Block`. Shares are shares of the clusters of a block.
    cluster, largest, icc, cluster_mean_bounds
        As in :class:`Cluster`.

    Raises
    ------
    ParameterError
        As :class:`Block` and :class:`Cluster`; and if a cluster lies in more than one block.

    References
    ----------
    Gerber and Green (2012), Field Experiments, chapter 3; ``block_and_cluster_ra`` of R's
    randomizr.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"region": [1, 1, 1, 2, 2], "village": [1, 1, 2, 3, 4]})
    >>> design = BlockCluster("treat", block="region", cluster="village")
    >>> design.uses
    ('region', 'village')
    """

    def _rule(self) -> str:
        clusters, blocks = quoted(self.cluster_columns), quoted(self.block_columns)
        return f"Complete randomisation of clusters of {clusters} within blocks of {blocks}"


def design_of(treatment: str | Sequence[str] | None, assignment: Design | None) -> Design:
    """Assignment of treatment: as declared, or completely at random."""
    if assignment is None:
        if treatment is None:
            raise ParameterError(
                "neither ``treatment=`` nor ``assignment=`` is given; name the 0/1 columns"
            )
        if not treatment:
            raise ParameterError("``treatment=`` names no column; name the 0/1 columns of the arms")
        return Complete(treatment)
    if not isinstance(assignment, Design):
        raise ParameterError(
            f"assignment is ``{type(assignment).__name__}``; give a design such as "
            "``dprct.Complete('treat')``"
        )
    if treatment is None:
        return assignment
    named = (treatment,) if isinstance(treatment, str) else tuple(treatment)
    if set(named) != set(assignment.columns):
        raise ParameterError(
            f"``treatment=`` names {', '.join(named)}, the design has "
            f"{', '.join(assignment.columns)}; give one of them, or the same columns"
        )
    return assignment
