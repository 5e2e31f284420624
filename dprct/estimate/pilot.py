"""An index from a public pilot file: one least-squares fit, with its coefficients in the open."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dprct.errors import ParameterError
from dprct.formula.expressions import spelled
from dprct.io import read
from dprct.schema.table import eager, numbers_of

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from dprct.schema.schema import Schema

_FILES = (
    *(".dta", ".csv", ".parquet", ".tab", ".tsv"),
    *(".sav", ".zsav", ".por", ".sas7bdat", ".xpt", ".rds", ".rda", ".rdata"),
)
_DIGITS = 10


@dataclass(frozen=True, slots=True)
class Linear:
    """A linear function of columns; prints as a formula.

    Parameters
    ----------
    constant : float
    slopes : tuple of (column, coefficient)
    """

    constant: float
    slopes: tuple[tuple[str, float], ...]

    def __call__(self, rows: pd.DataFrame) -> NDArray[np.float64]:
        """Return the function of each row; (n,)."""
        total = np.full(len(rows), self.constant)
        for name, slope in self.slopes:  # no matrix product, whose rounding knows other rows
            total = total + slope * rows[name].to_numpy(np.float64)
        return total

    def __str__(self) -> str:
        parts = [f"{self.constant:.{_DIGITS}g}"]
        parts += [f"{slope:.{_DIGITS}g}*{spelled(name)}" for name, slope in self.slopes]
        return " + ".join(parts).replace("+ -", "- ")


def is_file(rule: str | os.PathLike[str]) -> bool:
    """Whether an index is the path of a data file rather than a formula.

    Examples
    --------
    >>> is_file("pilot.csv"), is_file("2 + 1.5*age")
    (True, False)
    """
    return isinstance(rule, os.PathLike) or Path(rule).suffix.lower() in _FILES


def pilot_index(path: Path, outcome: str, columns: tuple[str, ...], schema: Schema) -> Linear:
    """Fit the outcome on covariates in a public file, by least squares on complete rows.

    Parameters
    ----------
    path : Path
        Of any kind that :func:`dprct.read` knows.
    outcome : str
    columns : tuple of str
        Covariates, by the same names in both files.
    schema : Schema
        Of the confidential data.

    Returns
    -------
    Linear
        Coefficients of ten digits, as they are shown.

    Raises
    ------
    ParameterError
        If the pilot is the confidential file, or has too few complete rows.

    Notes
    -----
    The pilot is public by declaration: nothing of the fit is private.  Of coefficients that the
    pilot does not determine, the shortest solution is taken.
    """
    if schema.source is not None and path.exists() and path.samefile(schema.source):
        raise ParameterError(
            f"the pilot file {path.name!r} is the confidential file itself; an index comes from "
            "other, public data"
        )
    frame = eager(read(path)[0])
    y, *x = (numbers_of(frame, name)[0] for name in (outcome, *columns))
    design = np.column_stack([np.ones_like(y), *x])
    complete = np.isfinite(y) & np.isfinite(design).all(axis=1)
    if complete.sum() < design.shape[1] + 1:
        raise ParameterError(
            f"the pilot file {path.name!r} has {int(complete.sum())} complete rows for "
            f"{design.shape[1]} coefficients; give a larger pilot or fewer index_columns="
        )
    beta = np.linalg.lstsq(design[complete], y[complete], rcond=None)[0]
    shown = [float(f"{b:.{_DIGITS}g}") for b in beta]
    return Linear(shown[0], tuple(zip(columns, shown[1:], strict=True)))
