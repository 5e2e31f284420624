"""Who was assigned to what: indicator columns of arms, checked, and the control group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dprct.errors import ParameterError
from dprct.formula.design_matrix import is_factor, is_missing, numbers_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from dprct.formula.design_matrix import Mask


@dataclass(frozen=True, slots=True)
class Assignment:
    """The arms of all rows.

    Parameters
    ----------
    names : tuple of str
    members : (N, a) array of bool
        Who is in which arm.
    control : (N,) array of bool
        Who is in the control group.
    """

    names: tuple[str, ...]
    members: Mask
    control: Mask

    @property
    def assigned(self) -> Mask:
        """Who is in an arm or in the control group; (N,) array."""
        return self.control | self.members.any(axis=1)

    def check(self, rows: Mask, outcome: str) -> None:
        """Refuse rows among which the control group or an arm is empty."""
        where = f"the rows used for {outcome!r}"
        if not (self.control & rows).any():
            raise ParameterError(
                f"the control group is empty in {where}; leave an arm out of arms=, or choose "
                "other covariates"
            )
        for name, members in zip(self.names, self.members.T, strict=True):
            if not (members & rows).any():
                raise ParameterError(f"arm {name!r} is empty in {where}; leave it out of arms=")


def assignment_of(
    frame: pd.DataFrame, arms: Sequence[str], control: str | None = None
) -> Assignment:
    """Return the assignment that indicator columns describe.

    Parameters
    ----------
    frame : (N, ...) DataFrame
    arms : sequence of str
        Columns of 0 and 1; a row with a missing one is in no group.
    control : str, optional
        Column of 0 and 1; without it everybody who is in no arm is a control.

    Raises
    ------
    ParameterError
        If a column holds anything but 0, 1 and missing, or a row is in two groups.

    Examples
    --------
    >>> import pandas as pd
    >>> assignment_of(pd.DataFrame({"a": [1, 0, 0], "b": [0, 1, 0]}), ["a", "b"]).control.tolist()
    [False, False, True]
    """
    names = [*arms, *([control] if control is not None else [])]
    if len(set(names)) < len(names):
        raise ParameterError(f"arms {names} name a column twice; name each once")
    known = np.ones(len(frame), bool)
    for name in names:
        known &= ~is_missing(frame[name])
    inside = np.column_stack([_indicator(name, frame[name]) for name in names]) & known[:, None]
    _check_apart(names, inside)
    members = inside[:, : len(arms)]
    alone = known & ~members.any(axis=1) if control is None else inside[:, -1]
    return Assignment(tuple(arms), members, alone)


def _indicator(name: str, column: pd.Series[float]) -> Mask:
    if is_factor(column):
        raise ParameterError(f"arm {name!r} holds text or categories; give a column of 0 and 1")
    numbers = numbers_of(column)
    if not np.isin(numbers[~np.isnan(numbers)], (0.0, 1.0)).all():
        raise ParameterError(
            f"arm {name!r} holds numbers other than 0 and 1; give one such column per arm"
        )
    return np.equal(numbers, 1.0)


def _check_apart(names: Sequence[str], inside: Mask) -> None:
    together = inside.T.astype(float) @ inside.astype(float)
    for i in range(len(names)):
        for j in range(i):
            if together[i, j] > 0:
                raise ParameterError(
                    f"arms {names[j]!r} and {names[i]!r} overlap: some rows are in both; give "
                    "columns of which at most one is 1, with one of its own for those in both"
                )
