"""Groups that units are allotted to by share or by number: the law behind most designs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.assignment.allocation import counted, fair_counts, spread, uneven
from dprct.assignment.base import Design
from dprct.assignment.groups import Groups, indicators, levels, listed, quoted
from dprct.assignment.shares import Shares, shares_of
from dprct.assignment.units import Units, has_missing, units_of
from dprct.errors import ParameterError
from dprct.schema.columns import given

if TYPE_CHECKING:
    import pandas as pd

    from dprct.assignment.allocation import Codes
    from dprct.formula.design_matrix import Array


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
            shares=_own(self.shares),
            groups=groups,
            law=law if control else law.without_control(),
        )

    @property
    def block_columns(self) -> tuple[str, ...]:
        """The columns whose combinations are the blocks."""
        return ()

    @property
    def cluster_columns(self) -> tuple[str, ...]:
        """The columns whose combinations are the clusters."""
        return ()

    @property
    def uses(self) -> tuple[str, ...]:
        """The columns that the draw depends on: blocks and clusters."""
        return tuple(dict.fromkeys((*self.block_columns, *self.cluster_columns)))

    def draw(self, rows: pd.DataFrame, rng: np.random.Generator) -> Codes:
        """Draw the group of each row; (n,)."""
        units = self._units(rows)
        sizes, shares = units.sizes, self._shares(units)
        return spread(units.block, fair_counts(sizes, shares, rng), rng)[units.member]

    def propensities(self, rows: pd.DataFrame) -> Array:
        """Return the probability of each group for each row; (n, G)."""
        units = self._units(rows)
        return self._shares(units)[units.block[units.member]]

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
            return [f"column {name!r} has missing values" for name in missing]
        try:
            units = self._units(rows)
            shares = self._shares(units)
        except ParameterError as error:
            return [str(error)]
        of_unit = codes[units.first_rows()]
        if (of_unit[units.member] != codes).any():
            return [f"some cluster of {quoted(self.cluster_columns)} is split between groups"]
        impossible = self._impossible(of_unit, units, shares)
        return impossible or ([] if attrition else self._miscounted(of_unit, units, shares))

    def describe(self) -> str:
        """Say the design in one sentence."""
        names = [repr(n) if isinstance(n, str) else f"{n:g}" for n in self.groups.names]
        shares = self._share_text(names)
        where = f" of column {self.arm!r}" if self.arm else ""
        return f"{self._rule()}, groups{where}: {shares}."

    def _law(self, arms: int, *, implicit: bool) -> Shares:
        if isinstance(self.shares, Mapping):
            raise ParameterError(
                f"shares= is a mapping, and {type(self).__name__} has no blocks; give one share "
                "per arm"
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
        """Return how units are allotted, for :meth:`describe`."""

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

    def _set(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)


@dataclass(frozen=True)
class Counted(Allotted):
    """Shares, or numbers of units, of the arms."""

    counts: Sequence[int] | int | None = field(default=None, kw_only=True)

    def _law(self, arms: int, *, implicit: bool) -> Shares:
        if self.counts is None:
            return super()._law(arms, implicit=implicit)
        if self.shares is not None or self.control_share is not None:
            raise ParameterError("counts= and shares= are both given; give one of them")
        self._set(counts=_whole_numbers(self.counts, arms))
        # stands for shares that are known once the number of units is
        return Shares(((1 / (arms + implicit),) * arms + (float(implicit) / (arms + 1),),))

    def common(self, n: int) -> Array:
        """Return the declared probability of each group, of n rows; (G,).

        Raises
        ------
        ParameterError
            If counts are not of n rows.
        """
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
                f"counts= sum to {sum(sizes)} and the frame has {total} {what}; give counts of "
                "this frame, or shares="
            )
        return np.array([*sizes, *([left] if self.arm is None else [])]) / total

    def _share_text(self, names: Sequence[str]) -> str:
        if self.counts is None:
            return super()._share_text(names)
        sizes = [*map(str, self.counts), "the rest"]  # type: ignore[arg-type]
        return ", ".join(f"{name} {size}" for name, size in zip(names, sizes, strict=False))


def _own(shares: Any) -> Any:
    """Return a copy of shares that the caller cannot change."""
    if isinstance(shares, Mapping):
        return {block: _own(row) for block, row in shares.items()}
    return shares if shares is None or isinstance(shares, Real) else tuple(shares)


def _whole_numbers(counts: Sequence[int] | int, arms: int) -> tuple[int, ...]:
    row = listed(counts, "counts")
    if len(row) != arms:
        raise ParameterError(f"counts= has {len(row)} numbers for {arms} arms; give one per arm")
    for count in row:
        if not isinstance(count, Real) or not float(count).is_integer() or count < 1:
            raise ParameterError(f"a count is {given(count)}; counts are whole numbers from 1")
    return tuple(int(count) for count in row)


def _counted(groups: Sequence[object]) -> str:
    if len(groups) == 1:
        return f"group {quoted(groups)} does not have its share"
    return f"groups {quoted(groups)} do not have their shares"
