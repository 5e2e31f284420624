"""The rows of some arms, on which a calibrated file returns the effects of these arms, too.

Of y on the arms alone, whatever y is, least squares has differences of arm means as coefficients.
With S_a the sum of squared residuals of arm a (of squared sums by cluster, where whole clusters
have an arm), the robust variance of the difference between arms a and b is
``c (S_a / n_a^2 + S_b / n_b^2)``, and c depends on numbers of rows, columns and clusters alone.
Means and S_a are the same on the rows of some arms as on all rows; c is not.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dprct.errors import ParameterError
from dprct.records import dataclass

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

Places = tuple[int, ...]
"""Some arms, each by its place: 0 is the control group, 1 the first of the columns."""


@dataclass(frozen=True)
class SomeArms:
    """The rows of some arms.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"cash": [0, 1, 0], "food": [0, 0, 1]})
    >>> some = SomeArms(("cash", "food"), (0, 1))
    >>> some.of(data).tolist(), some.absent, some.words()
    ([True, True, False], ('food',), 'the control group and cash')
    """

    # 0/1 columns of all arms but the control group, of which no row has two.
    columns: tuple[str, ...]
    places: Places  # which arms: 0 is the control group

    def of(self, data: pd.DataFrame) -> NDArray[np.bool_]:
        """Rows of these arms, as a mask."""
        return np.isin(_codes(self.columns, data), self.places)

    @property
    def absent(self) -> tuple[str, ...]:
        """The columns of the other arms."""
        named = enumerate(self.columns, 1)
        return tuple(column for place, column in named if place not in self.places)

    def condition(self) -> str:
        """Return the condition on rows, as Stata and R write it.

        Examples
        --------
        >>> SomeArms(("a", "b", "c"), (0, 2)).condition(), SomeArms(("a", "b"), (1, 2)).condition()
        ('a == 0 & c == 0', 'a == 1 | b == 1')
        """
        if 0 in self.places:
            return " & ".join(f"{column} == 0" for column in self.absent)
        return " | ".join(f"{self.columns[place - 1]} == 1" for place in self.places)

    def words(self) -> str:
        """Return the arms in words."""
        names = [self.columns[place - 1] if place else "the control group" for place in self.places]
        return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _codes(columns: tuple[str, ...], data: pd.DataFrame) -> NDArray[np.int64]:
    """Return the place of each row's arm; -1 where a column is missing."""
    values = data[[*columns]].to_numpy(np.float64)
    found: NDArray[np.int64] = (values == 1) @ np.arange(1, len(columns) + 1)
    return np.where(np.isnan(values).any(axis=1), -1, found)


@dataclass(frozen=True, kw_only=True)
class ValidArms:
    """How many rows every arm has, where the regression on the arms alone is calibrated.

    Examples
    --------
    >>> arms = ValidArms(columns=("cash", "food"), rows=((40, 40, 40),))
    >>> unequal = ValidArms(columns=("cash", "food"), rows=((90, 90, 60),))
    >>> arms.factor((0, 1), 0), round(unequal.factor((0, 1), 0), 5)
    (1.0, 0.9993)
    """

    columns: tuple[str, ...]  # 0/1 columns of all arms but the control group
    # Of every outcome, the rows of each arm that have it, control first; empty while a file is
    # planned.
    rows: tuple[Places, ...] = ()
    clusters: tuple[Places, ...] = ()  # the same of whole clusters; empty where rows were assigned

    def __post_init__(self) -> None:
        of_arms = {len(counts) for counts in (*self.rows, *self.clusters)}
        if of_arms - {len(self.columns) + 1} or len(self.clusters) not in (0, len(self.rows)):
            raise ParameterError(
                f"numbers of rows by arm do not fit {len(self.columns)} arms and a control group; "
                "give one for each arm, of every outcome"
            )

    def among(self, data: pd.DataFrame, used: NDArray[np.bool_]) -> Places | None:
        """Return the arms of the used rows, None where they are all of them or not known."""
        if not set(self.columns) <= set(data.columns):
            return None
        found = np.unique(_codes(self.columns, data[used]))
        if not len(found) or found[0] < 0 or len(found) > len(self.columns):
            return None
        return tuple(found.tolist())

    def rows_of(self, among: Places, outcome: int) -> int | None:
        """How many rows of some arms have an outcome, where that is known."""
        return sum(self.rows[outcome][place] for place in among) if self.rows else None

    def factor(self, among: Places, outcome: int) -> float:
        """Return errors on the rows of some arms over those on all rows; NaN where none are known.

        The regression of the outcome on the arms alone, without covariates.
        """
        if not self.rows:
            return math.nan
        every = tuple(range(len(self.columns) + 1))
        return math.sqrt(self._scale(among, outcome) / self._scale(every, outcome))

    def _scale(self, among: Places, outcome: int) -> float:
        """Return c, NaN where no row is left."""
        rows = sum(self.rows[outcome][place] for place in among)
        left = rows - len(among)
        if left <= 0 or not all(self.rows[outcome][place] for place in among):
            return math.nan
        if not self.clusters:
            return rows / left
        clusters = sum(self.clusters[outcome][place] for place in among)
        return clusters / (clusters - 1) * (rows - 1) / left

    def pairs(self) -> list[Places]:
        """Return the control group with every other arm."""
        return [(0, place) for place in range(1, len(self.columns) + 1)]

    def reason(self, among: Places, terms: set[str], keys: tuple[str, ...]) -> str | None:
        """Reason why the coefficients on the rows of some arms are no released differences.

        ``keys`` are the terms of the columns, in the words of ``terms``.
        """
        without = [place for place in among if not place or keys[place - 1] not in terms]
        if len(without) == 1 < len(among):
            return None
        return (
            f"its rows are those of {SomeArms(self.columns, among).words()}, all but one of which "
            "must be in the regression"
        )

    def words(self, errors: str) -> str:
        """Paragraph on what holds on the rows of some arms."""
        found = [self.factor(two, j) for j in range(len(self.rows)) for two in self.pairs()]
        known = [factor for factor in found if math.isfinite(factor)]
        ends = sorted({f"{min(known):.5f}", f"{max(known):.5f}"}) if known else []
        of_rows = f", of one arm times {' to '.join(ends)}, by its number of rows" if ends else ""
        return (
            "On the rows of the control group and some arms, the regression on these arms alone "
            f"returns the same effects, and {errors} their errors{of_rows}."
        )
