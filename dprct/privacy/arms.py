"""Who is in which arm of an experiment: what is public where the design is."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray


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
