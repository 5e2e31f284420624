"""The designs of textbooks: simple, complete, blocked, clustered, and blocked with clusters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from dprct.assignment.allocation import counted, independent
from dprct.assignment.allotted import Allotted, Counted
from dprct.assignment.groups import checked_names, quoted
from dprct.assignment.shares import Shares, shares_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from dprct.assignment.allocation import Codes
    from dprct.assignment.units import Units
    from dprct.formula.design_matrix import Array

_UNLIKELY = 1e-9


@dataclass(frozen=True)
class Simple(Allotted):
    """Simple randomisation: every row is drawn on its own.

    Parameters
    ----------
    arms : sequence of str, or str
        The 0/1 columns of the arms; who is in none is a control.  With ``arm``, the levels of
        that one column instead, the control group's among them.
    shares : sequence of float, optional
        Probability of each arm; equal for all groups, the control group included, if not given.
    control_share : float, optional
        Probability of no arm; what ``shares`` leave of one, if not given.  0 for no such group.
    arm : str, optional
        The one column that holds the group of each row as a code.

    Raises
    ------
    ParameterError
        If arms repeat, or shares are negative or do not sum to one.

    Notes
    -----
    Groups have random sizes.  :meth:`check` finds sizes that have probability below 1e-9 each.

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

    def draw(self, rows: pd.DataFrame, rng: np.random.Generator) -> Codes:
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


@dataclass(frozen=True)
class Complete(Counted):
    """Complete randomisation: every group gets its share of the rows, rounded down or up.

    Parameters
    ----------
    arms, shares, control_share, arm
        As in :class:`Simple`.
    counts : sequence of int, optional
        How many rows each arm gets, instead of ``shares``; the control group gets the others.

    Raises
    ------
    ParameterError
        If arms repeat, shares are negative or do not sum to one, or counts exceed the rows.

    Notes
    -----
    All assignments with the same group sizes are equally likely.  Where shares times n are not
    whole, the rows that remain go to different groups at random, in such a way that each row is
    in each group with probability equal to its share, exactly.

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


@dataclass(frozen=True)
class Block(_Blocked):
    """Block randomisation: complete randomisation within each block.

    Parameters
    ----------
    arms, control_share, arm
        As in :class:`Simple`.
    shares : sequence of float, or mapping, optional
        Share of each arm; a mapping from block (a tuple, where several columns make the blocks)
        to such a sequence where blocks differ.
    block : str or sequence of str
        The columns whose combinations are the blocks; missing values make a block of
        their own, which is None in a mapping of ``shares``.

    Raises
    ------
    ParameterError
        If arms repeat, or shares are negative, do not sum to one, or lack a block.

    Notes
    -----
    Blocks are independent.  In each, every group has its share of the rows rounded down or up,
    and every row is in each group with probability equal to its share, exactly: a block of one
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
class Cluster(Counted):
    """Cluster randomisation: complete randomisation of whole clusters.

    Parameters
    ----------
    arms, shares, control_share, arm
        As in :class:`Simple`; shares are shares of the clusters, whatever their sizes.
    counts : sequence of int, optional
        How many clusters each arm gets, instead of ``shares``.
    cluster : str or sequence of str
        The columns whose combinations are the clusters.

    Raises
    ------
    ParameterError
        As :class:`Complete`; and if a cluster column has missing values.

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

    cluster: str | Sequence[str] = field(kw_only=True)

    def __post_init__(self) -> None:
        self._set(cluster=checked_names(self.cluster, "cluster"))
        super().__post_init__()

    @property
    def cluster_columns(self) -> tuple[str, ...]:
        """The columns whose combinations are the clusters."""
        return tuple(self.cluster)

    def _rule(self) -> str:
        return f"Complete randomisation of clusters of {quoted(self.cluster_columns)}"


@dataclass(frozen=True)
class BlockCluster(_Blocked):
    """Block and cluster randomisation: whole clusters, within each block of clusters.

    Parameters
    ----------
    arms, shares, control_share, block, arm
        As in :class:`Block`; shares are shares of the clusters of a block.
    cluster : str or sequence of str
        The columns whose combinations are the clusters.

    Raises
    ------
    ParameterError
        As :class:`Block`; and if a cluster column has missing values, or a cluster lies in more
        than one block.

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

    cluster: str | Sequence[str] = field(kw_only=True)

    def __post_init__(self) -> None:
        self._set(cluster=checked_names(self.cluster, "cluster"))
        super().__post_init__()

    @property
    def cluster_columns(self) -> tuple[str, ...]:
        """The columns whose combinations are the clusters."""
        return tuple(self.cluster)

    def _rule(self) -> str:
        clusters, blocks = quoted(self.cluster_columns), quoted(self.block_columns)
        return f"Complete randomisation of clusters of {clusters} within blocks of {blocks}"
