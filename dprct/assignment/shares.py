"""How likely each group is: shares as users give them, as rows that sum to one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.assignment.groups import listed
from dprct.errors import ParameterError
from dprct.schema.columns import given

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from dprct.formula.design_matrix import Array

_TOLERANCE = 1e-9

Row = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Shares:
    """Shares of the groups, the same in all blocks or declared block by block.

    Parameters
    ----------
    rows : tuple of tuples
        Shares of the groups, each row of sum one; one row, or one per block in ``blocks``.
    blocks : tuple
        The blocks that rows belong to; empty where one row serves all.
    """

    rows: tuple[Row, ...]
    blocks: tuple[Hashable, ...] = ()

    @property
    def control(self) -> bool:
        """Whether the last group, the control group, has a share anywhere."""
        return any(row[-1] > 0 for row in self.rows)

    def without_control(self) -> Shares:
        """Return the shares of the arms alone, where the control group has none."""
        return Shares(tuple(row[:-1] for row in self.rows), self.blocks)

    def of(self, labels: Sequence[Hashable], columns: Iterable[str]) -> Array:
        """Return the shares in each block; (B, K).

        Raises
        ------
        ParameterError
            If shares were declared block by block, and not for one of these.
        """
        if not self.blocks:
            return np.repeat(np.array(self.rows), len(labels), axis=0)
        place = {block: number for number, block in enumerate(self.blocks)}
        missing = [label for label in labels if label not in place]
        if missing:
            raise ParameterError(
                f"shares= lacks {len(missing)} of the blocks of {', '.join(map(repr, columns))} "
                "in the frame; give shares for every level of the blocks"
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

    Parameters
    ----------
    given_shares : sequence, number, mapping from block to either, or None
        Shares of the arms; None for equal shares.
    control_share : float, optional
        Share of the rows that are in no arm; what the arms leave, if not given.
    arms : int
    implicit : bool
        Whether rows may be in no arm; if not, the shares of the arms sum to one.

    Raises
    ------
    ParameterError
        If shares are negative, of another number than the arms, or do not sum to one.

    Examples
    --------
    >>> shares_of([0.2, 0.3], None, 2, implicit=True).rows
    ((0.2, 0.3, 0.5),)
    """
    if control_share is not None and not implicit:
        raise ParameterError(
            "control_share= is for arms with a column each; with arm= the control group is one "
            "of the levels, with its own share"
        )
    if isinstance(given_shares, Mapping):
        if not given_shares:
            raise ParameterError("shares= is an empty mapping; give shares for every block")
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
        left = 1.0 - (_number(control_share) if control_share is not None else 0.0)
        groups = arms + int(implicit and control_share is None)
        return (left / groups,) * arms
    row = tuple(_number(share) for share in listed(given_row, "shares"))
    if len(row) != arms:
        raise ParameterError(f"shares= has {len(row)} numbers for {arms} arms; give one per arm")
    return row


def _number(share: object) -> float:
    try:
        number = math.nan if isinstance(share, str) else float(share)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = math.nan
    if not 0.0 <= number <= 1.0:
        raise ParameterError(f"a share is {given(share)}; shares are numbers from 0 to 1")
    return number
