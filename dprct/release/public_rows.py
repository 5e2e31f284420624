"""The public side of a calibrated file: design columns, arms, clusters, declared missingness.

Under "replace-one with the design public" all of it is public.  Rows come in a random order, so
that a row says nothing of the confidential row that stood in its place.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from dprct.assignment.base import Design


@dataclass(frozen=True, slots=True, eq=False)
class PublicRows:
    """The public facts of n rows, in one order.

    Parameters
    ----------
    columns : mapping of str to (n,) array
        The public columns, the treatment's among them.
    arms : (n,) array of int
        Arm of each row, 0 for control.
    observed : tuple of (n,) arrays of bool
        For each outcome, who has a value where that is public; everybody where it is not.
    clusters : (n,) array of int or None
        Cluster of each row, where clusters were assigned.
    """

    columns: Mapping[str, NDArray[Any]]
    arms: NDArray[np.int64]
    observed: tuple[NDArray[np.bool_], ...]
    clusters: NDArray[np.int64] | None

    def shuffled(self, rng: np.random.Generator) -> PublicRows:
        """Return the same rows in a random order."""
        order = rng.permutation(len(self.arms))
        return PublicRows(
            {name: values[order] for name, values in self.columns.items()},
            self.arms[order],
            tuple(mask[order] for mask in self.observed),
            None if self.clusters is None else self.clusters[order],
        )

    def reassigned(self, design: Design, rng: np.random.Generator) -> PublicRows:
        """Return the rows with treatment drawn anew by the design.

        Parameters
        ----------
        design : Design
        rng : numpy.random.Generator

        Notes
        -----
        Arm sizes are public, in every block and among those with an outcome, and the released
        effects rest on them.  A draw that has others (where shares are not whole, rows were lost,
        or sizes are random) is replaced by the assignment that was realised: with the rows in
        random order beside fresh covariates it is a draw of the design as well.
        """
        rows = pd.DataFrame(dict(self.columns))
        here = design.groups.codes(rows)
        there = design.groups.codes(design.assign(rows, rng))
        arm_of = np.zeros(len(design.groups.names), np.int64)
        arm_of[here] = self.arms
        drawn = arm_of[there]
        strata = _strata(rows, getattr(design, "block_columns", ()))
        every = (np.ones(len(drawn), bool), *self.observed)
        if any(_sizes(strata, drawn, m) != _sizes(strata, self.arms, m) for m in every):
            return self
        assigned = design.groups.frame(there)
        new = {name: assigned[name].to_numpy() for name in assigned.columns}
        return PublicRows({**self.columns, **new}, drawn, self.observed, self.clusters)


def _strata(rows: pd.DataFrame, columns: Sequence[str]) -> NDArray[np.int64]:
    found = np.zeros(len(rows), np.int64)
    for name in columns:
        codes, levels = pd.factorize(rows[name], use_na_sentinel=False)
        found = found * len(levels) + codes
    return found


def _sizes(
    strata: NDArray[np.int64], arms: NDArray[np.int64], mask: NDArray[np.bool_]
) -> Counter[tuple[int, int]]:
    """Return how many rows each arm of each stratum has."""
    return Counter(zip(strata[mask].tolist(), arms[mask].tolist(), strict=True))
