"""Columns as numbers within public bounds, for sums of products: every row has a legal one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.errors import SchemaError
from dprct.lazy import narwhals as nw
from dprct.lazy import pandas as pd
from dprct.queries.sums import GRID, Clipped
from dprct.records import dataclass
from dprct.schema.columns import Column, check_own, extent_of
from dprct.schema.tables import numbers_of, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from dprct.encoding import Coded
    from dprct.schema.schema import Schema
    from dprct.schema.tables import Frame


HALF = 1 << 15
"""M: steps from the middle of the bounds to either end.

Coarser than the grid of sums, because noise on sums of products must fit into 2^53 steps; a
rounding of 2^-16 of the width is far below the noise, and adds nothing to the sensitivity.
"""

_COARSER = GRID // (2 * HALF)


@dataclass(frozen=True)
class Feature:
    """A number of a row that is a function of one column: its value, or whether it is a level.

    Notes
    -----
    A missing value is at the middle of the bounds; text that is no declared level, or missing, has
    no level but ``""``.  Both rules are total.
    """

    column: Column
    level: str | None = None  # the feature is 1 where a text column has this level, else 0
    missing: bool = False  # the feature is 1 where the column is missing, else 0

    def __post_init__(self) -> None:
        check_own(self.column)

    @classmethod
    def value(cls, column: Column) -> Feature:
        """Return the value of a numeric column, whose bounds are the outer levels if need be."""
        found = replace(column, bounds=extent_of(column))
        Clipped(found)  # refuses a column without bounds
        return cls(found)

    @property
    def name(self) -> str:
        """Name of the feature, as a person would write it."""
        if self.missing:
            return f"missing({self.column.name})"
        return self.column.name if self.level is None else f"{self.column.name}=={self.level!r}"

    @property
    def bounds(self) -> tuple[float, float]:
        """Smallest and largest value."""
        if self.missing or self.level is not None:
            return 0.0, 1.0
        assert self.column.bounds is not None
        low, high = self.column.bounds
        return float(low), float(high)

    @property
    def middle(self) -> float:
        """The middle of the bounds, where a missing value is."""
        low, high = self.bounds
        return low / 2 + high / 2

    @property
    def half(self) -> float:
        """Half of the width of the bounds."""
        low, high = self.bounds
        return high / 2 - low / 2

    def steps(self) -> nw.Expr:
        """Return the whole number -M to M of each row, of a frame that is ``prepared``."""
        column = nw.col(self.column.name)
        if self.level is not None:
            is_it = column == self.level
            if self.level == "":
                is_it = is_it | column.is_null()
            return nw.when(is_it).then(nw.lit(HALF)).otherwise(nw.lit(-HALF))
        number = column.cast(nw.Float64)
        absent = number.is_null() | number.is_nan()
        if self.missing:
            return nw.when(absent).then(nw.lit(HALF)).otherwise(nw.lit(-HALF))
        return nw.when(absent).then(nw.lit(0)).otherwise(self._rounded())

    def _rounded(self) -> nw.Expr:
        return (Clipped(self.column).steps() + _COARSER // 2) // _COARSER - HALF

    def values(self, columns: Mapping[str, NDArray[Any]]) -> NDArray[np.float64]:
        """Return the feature (n,) of released columns, missing values at the middle."""
        x = columns[self.column.name]
        if self.level is not None:
            return np.asarray(x == self.level, np.float64)
        number = np.asarray(x, np.float64)
        if self.missing:
            return np.isnan(number).astype(np.float64)
        return np.where(np.isnan(number), self.middle, np.clip(number, *self.bounds))


def features_of(covariates: Sequence[Coded | Column]) -> tuple[Feature, ...]:
    """Return the features of covariates, from the schema alone.

    Examples
    --------
    >>> from dprct.schema import Column
    >>> age = Column("age", "byte", bounds=(15, 80), missing=(".",))
    >>> region = Column("region", "str5", levels=("north", "south"))
    >>> [feature.name for feature in features_of([age, region])]
    ['age', 'missing(age)', "region=='south'"]
    """
    return tuple(
        feature
        for one in covariates
        for column in ((one,) if isinstance(one, Column) else one.columns)
        for feature in _features(column)
    )


def _features(column: Column) -> list[Feature]:
    if not column.is_text:
        value = Feature.value(column)
        return [value, Feature(value.column, missing=True)] if column.missing else [value]
    if not column.levels:
        raise SchemaError(
            f"column {column.name!r} is text without levels; declare them from public knowledge, "
            "or leave it out"
        )
    return [Feature(column, level=str(level)) for level in column.levels[1:]]


# An outcome less a public function of the same row: what an index leaves of it.


def covariates(frame: Frame, names: Sequence[str], schema: Schema) -> pd.DataFrame:
    """Return the columns that an index uses: float64 numbers, or text; confidential rows."""
    columns = [schema.column(name) for name in names]
    for column in columns:
        check_own(column)
    return pd.DataFrame(
        {
            column.name: text_of(frame, column.name)
            if column.is_text
            else numbers_of(frame, column.name)[0]
            for column in columns
        }
    )


def with_residual(
    frame: Frame, outcome: str, index: NDArray[np.float64], fill: float | None = None
) -> Frame:
    """The frame with an outcome replaced by its difference from its index g0(X), (n,).

    A missing outcome counts as ``fill``; without it, missing stays missing.

    Notes
    -----
    Row i becomes r_i = y_i - g0(x_i), and 0 where that is not finite, so that r_i depends on
    record i alone: g0 is public and computed row by row.  Replacing one record, outcome and
    covariates together, changes one r_i, and every query clips it to its declared bounds
    first.  All sensitivities are therefore those of an outcome with the bounds of the residual;
    that the covariates are private too costs nothing.

    Examples
    --------
    >>> import pandas as pd
    >>> from dprct.schema.tables import eager
    >>> frame = eager(pd.DataFrame({"y": [3.0, 5.0]}))
    >>> with_residual(frame, "y", np.array([1.0, np.inf]))["y"].to_list()
    [2.0, 0.0]
    """
    y = numbers_of(frame, outcome)[0]
    if fill is not None:
        y = np.where(np.isnan(y), fill, y)
    with np.errstate(invalid="ignore", over="ignore"):
        rest = y - index
    rest = np.where(np.isnan(y), np.nan, np.where(np.isfinite(rest), rest, 0.0))
    series = nw.new_series(outcome, rest, nw.Float64, backend=frame.implementation)
    out: Frame = frame.with_columns(series)
    return out
