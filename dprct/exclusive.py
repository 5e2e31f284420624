"""Columns of 0 and 1 of which a row has at most one: dummies of arms, one code underneath.

Coded one by one, the dummies of k arms have 2^k combinations, most of them impossible, and noise
would put people into several arms at once.  Coded together they have k + 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import narwhals as nw
import numpy as np

from dprct.bins import clipped
from dprct.errors import SchemaError
from dprct.schema.own import check_own

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from dprct.schema.facts import Column


@dataclass(frozen=True)
class ExclusiveEncoding:
    """The codes 0 (none of the columns is 1) to k (the last one is).

    Parameters
    ----------
    group : str
        Name of the group, as ``exclusive`` declares it.
    columns : tuple of Column
        The k columns.

    Examples
    --------
    >>> from dprct.schema import Column
    >>> arms = ("cash", "therapy")
    >>> facts = {"levels": (0.0, 1.0), "missing": (), "exclusive": "arm"}
    >>> coded = ExclusiveEncoding("arm", tuple(Column(name, "byte", **facts) for name in arms))
    >>> coded.describe(), coded.size
    ('arm: 3 groups (cash, therapy, neither)', 3)
    """

    group: str
    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        for column in self.columns:
            check_own(column)

    @property
    def name(self) -> str:
        """Name of the code: the first column's."""
        return self.columns[0].name

    @property
    def size(self) -> int:
        """Number of codes, k + 1."""
        return len(self.columns) + 1

    def describe(self) -> str:
        """Return what the codes are, for a plan."""
        names = ", ".join(column.name for column in self.columns)
        return f"{self.group}: {self.size} groups ({names}, neither)"

    def expression(self) -> nw.Expr:
        """Return the code (int64); total: of several ones, which the door refuses, the last."""
        code = nw.lit(0)
        for k, column in enumerate(self.columns, 1):
            code = nw.when(clipped(column.name, 0.0, 1.0) > 0.5).then(nw.lit(k)).otherwise(code)
        return code.cast(nw.Int64).alias(self.name)

    def decoded(
        self, codes: NDArray[np.int64], rng: np.random.Generator
    ) -> dict[str, NDArray[np.float64]]:
        """Return the k columns (n,) of codes (n,)."""
        del rng  # nothing is left to chance
        return {
            column.name: (codes == k).astype(np.float64) for k, column in enumerate(self.columns, 1)
        }


def exclusive_groups(columns: Iterable[Column]) -> dict[str, tuple[Column, ...]]:
    """Return the declared groups, by name, of columns that are modelled together.

    Raises
    ------
    SchemaError
        If a column of a group is not 0 or 1, or may be missing.
    """
    groups: dict[str, list[Column]] = {}
    for column in columns:
        if column.exclusive is not None:
            _check(column)
            groups.setdefault(column.exclusive, []).append(column)
    return {name: tuple(members) for name, members in groups.items()}


def _check(column: Column) -> None:
    if column.is_text or set(column.levels or ()) != {0.0, 1.0} or column.missing != ():
        raise SchemaError(
            f"column {column.name!r} is in the exclusive group {column.exclusive!r}; such a column "
            "needs levels [0, 1] and missing='never'"
        )
