"""Which outcomes of a released file are missing: as many, of each code, as in its arm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.missing import tagged

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

Arm = tuple[object, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Missingness:
    """The shares of one outcome's missing codes, per arm.

    Parameters
    ----------
    shares : mapping of arm to mapping of int to float
        Share of the arm's rows that have the missing code of that number.
    """

    shares: Mapping[Arm, Mapping[int, float]]

    def codes(self, arms: list[Arm], rng: np.random.Generator) -> NDArray[np.int8]:
        """Return the number of the missing code of every row, -1 where the outcome is observed.

        The number of rows of a code is its share of the arm's rows, rounded up or down at random
        such that it is right on average; which rows these are is random.
        """
        found = np.full(len(arms), -1, np.int8)
        rows: dict[Arm, list[int]] = {}
        for row, arm in enumerate(arms):
            rows.setdefault(arm, []).append(row)
        for arm, members in rows.items():
            order = rng.permutation(members)
            start = 0
            for code, share in self.shares.get(arm, {}).items():
                stop = min(start + int(share * len(members) + rng.random()), len(members))
                found[order[start:stop]] = code
                start = stop
        return found


def missingness(arms: list[Arm], codes: NDArray[np.int8]) -> Missingness:
    """Return the shares of the missing codes in every arm.

    Parameters
    ----------
    arms : list of n tuples
        Values of the treatment columns of every row.
    codes : (n,) array of int
        Number of the missing code, -1 where the outcome is observed.

    Examples
    --------
    >>> found = missingness([(0,), (0,), (1,), (1,)], np.array([-1, 0, -1, -1]))
    >>> dict(found.shares[(0,)]), dict(found.shares[(1,)])
    ({0: 0.5}, {})
    """
    counts: dict[Arm, dict[int, int]] = {}
    for arm, code in zip(arms, codes.tolist(), strict=True):
        of_arm = counts.setdefault(arm, {})
        of_arm[code] = of_arm.get(code, 0) + 1
    shares: dict[Arm, dict[int, float]] = {}
    for arm, of_arm in counts.items():
        rows = sum(of_arm.values())
        shares[arm] = {code: k / rows for code, k in sorted(of_arm.items()) if code >= 0}
    return Missingness(shares)


def made_missing(values: NDArray[np.float64], codes: NDArray[np.int8]) -> NDArray[np.float64]:
    """Return the values with the missing codes put in where there are any."""
    absent = codes >= 0
    made = values.copy()
    if absent.any():
        made[absent] = tagged(codes[absent])
    return made


def arms_of(columns: Mapping[str, NDArray[Any]]) -> list[Arm]:
    """Return the values of the treatment columns of every row, as one arm.

    Examples
    --------
    >>> arms_of({"cash": np.array([0.0, 1.0]), "therapy": np.array([1.0, 1.0])})
    [(0.0, 1.0), (1.0, 1.0)]
    """
    return list(zip(*(values.tolist() for values in columns.values()), strict=True))
