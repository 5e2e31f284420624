"""Kinds of people that private columns tell apart, by conditions, by arms and by who has a value.

The kinds are public; the kind of a row is not.
"""

from __future__ import annotations

import math
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.errors import ParameterError
from dprct.lazy import narwhals as nw
from dprct.queries.group_moments import has_value
from dprct.records import dataclass
from dprct.schema.columns import check_own
from dprct.schema.conditions import asked_of, meets

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from narwhals.typing import IntoDType
    from numpy.typing import NDArray

    from dprct.schema.columns import Column

KIND = "__kind"
"""Name under which the kind of a row is read."""

MOST_KINDS = 4096
"""Kinds of people that the conditions of a release tell apart at most."""


@dataclass(frozen=True)
class Asked:
    """A private column of conditions, as a few public kinds of values.

    Notes
    -----
    Numbers are below the first value, equal to it, between it and the second, ..., or missing:
    whatever a row holds is of one kind, and values of a kind meet the same conditions.
    Comparisons of doubles are exact on every engine.
    """

    column: Column
    values: tuple[Any, ...]  # numbers or texts that conditions compare it with, in order

    def __post_init__(self) -> None:
        check_own(self.column)

    @property
    def kinds(self) -> tuple[Any, ...]:
        """A value of each kind, in the order of their numbers."""
        if self.column.is_text:
            other = "".join(self.values) + "-"
            return (*self.values, other, None)
        at = [float(value) for value in self.values]
        if not at:
            return 0.0, math.nan
        found = [math.nextafter(at[0], -math.inf)]
        for low, high in zip(at, [*at[1:], math.inf], strict=True):
            found += [low, low / 2 + high / 2 if high < math.inf else math.nextafter(low, high)]
        return (*found, math.nan)

    def kind(self) -> nw.Expr:
        """Number of the kind of each row, of a frame that is ``prepared``."""
        name, size = self.column.name, len(self.kinds)
        there = nw.lit(0, nw.Int32)
        if self.column.is_text and self.values:
            there = nw.col(name).replace_strict(
                list(self.values), list(range(size - 2)), default=size - 2, return_dtype=nw.Int32
            )
        elif self.values:
            x = nw.col(name).cast(nw.Float64)
            for value in map(float, self.values):
                there = there + (x >= value).cast(nw.Int32) + (x > value).cast(nw.Int32)
        return nw.when(has_value(self.column)).then(there).otherwise(nw.lit(size - 1))


@dataclass(frozen=True)
class Kinds:
    """All kinds of people that the conditions of a release tell apart."""

    asked: tuple[Asked, ...]  # each column once

    def __post_init__(self) -> None:
        if self.size > MOST_KINDS:
            raise ParameterError(
                f"conditions on private columns distinguish {self.size:,} kinds of people, at most "
                f"{MOST_KINDS:,} are allowed; declare fewer regressions, or release them separately"
            )

    @classmethod
    def of(
        cls, conditions: Sequence[str], columns: Mapping[str, Column],
        beside: Mapping[str, Sequence[Any]] | None = None,
    ) -> Kinds:  # fmt: skip
        """Kinds of people, as these conditions ask; ``beside`` has values of other columns."""
        found = {name: set(values) for name, values in (beside or {}).items()}
        for condition in conditions:
            for name, values in (asked_of(condition) or {}).items():
                found.setdefault(name, set()).update(values)
        return cls(
            tuple(Asked(columns[name], tuple(sorted(found[name]))) for name in sorted(found))
        )

    @property
    def size(self) -> int:
        """J."""
        return math.prod(len(one.kinds) for one in self.asked)

    @property
    def coded(self) -> list[Column]:
        """The columns that need to be prepared."""
        return [one.column for one in self.asked if one.column.is_text]

    @property
    def read(self) -> dict[str, tuple[nw.Expr, IntoDType]]:
        """The kind of each row, of a frame that is ``prepared``, and its type."""
        return {KIND: (self.kind(), nw.Int32)}

    def kind(self) -> nw.Expr:
        """Number of the kind of each row, 0 to J - 1; total."""
        found = nw.lit(0, nw.Int32)
        for one in self.asked:
            found = found * len(one.kinds) + one.kind()
        return found

    @cached_property
    def _columns(self) -> dict[str, NDArray[Any]]:
        every = list(product(*(one.kinds for one in self.asked)))
        return {
            one.column.name: np.array(
                [kind[at] for kind in every], object if one.column.is_text else np.float64
            )
            for at, one in enumerate(self.asked)
        }

    def there(self, names: Sequence[str]) -> NDArray[np.bool_]:
        """Return the kinds (J,) that have a value of all of these columns."""
        found = np.ones(self.size, bool)
        for name in names:
            found &= np.array([x is not None and x == x for x in self._columns[name]], bool)
        return found

    def equal(self, values: Mapping[str, Any]) -> NDArray[np.bool_]:
        """Return the kinds (J,) that have these values of these columns."""
        found = np.ones(self.size, bool)
        for name, value in values.items():
            found &= np.array([x == value for x in self._columns[name]], bool)
        return found

    def holds(self, condition: str) -> NDArray[np.bool_]:
        """Return the kinds (J,) that meet a condition."""
        return meets(condition, self._columns, self.size)
