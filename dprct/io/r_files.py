"""R's .rds and .rda files: through R where it is, else through pyreadr, which keeps less.

pyreadr is under the AGPL, and is therefore installed only by those who ask for it.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.errors import BridgeError, DprctWarning, FileError, MissingDependencyError
from dprct.lazy import pandas as pd
from dprct.schema.frames import table_of_frame

if TYPE_CHECKING:
    from pathlib import Path

    from dprct.schema.schema import Schema


_STATA_EPOCH = np.datetime64("1960-01-01", "D")


def read_rdata(path: Path) -> tuple[pd.DataFrame, Schema]:
    """Read the one data frame of an R file, through R itself if it and rpy2 are installed.

    Without R it always warns: attributes are lost without a trace.
    """
    found = _through_r(path)
    if found is not None:
        data, schema = found
        return data, replace(schema, source=path)
    frame = _frame(path)
    days = [name for name in frame.columns if _holds(frame[name], "date")]
    data, schema = table_of_frame(pd.DataFrame({n: _typed(frame[n]) for n in frame.columns}))
    schema = schema.with_columns(replace(schema.column(n), format="%td") for n in days)
    warnings.warn(
        f"{path.name!r} was read without variable labels, value labels, row names, time zones and "
        "other attributes, which pyreadr does not see; to keep them install R and dprct[r], or "
        "save it from R with haven::write_dta",
        DprctWarning,
        stacklevel=4,  # the caller of dprct.io.read, past its check
    )
    return data, replace(schema, source=path)


def _through_r(path: Path) -> tuple[pd.DataFrame, Schema] | None:
    """Table that R reads, or None where R cannot be had."""
    from dprct.rbridge.files import r_is_here, read_r_file

    try:
        return read_r_file(path) if r_is_here() else None
    except (BridgeError, MissingDependencyError):
        return None


def _frame(path: Path) -> pd.DataFrame:
    try:
        import pyreadr
    except ImportError:
        raise MissingDependencyError(
            f"{path.name!r} is a file of R, and reading it needs R with ``pip install "
            "'dprct[r]'``, or ``pip install 'dprct[rds]'`` (pyreadr, under the AGPL); or save it "
            "from R with haven::write_dta"
        ) from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what it skips is refused or said below
            objects = pyreadr.read_r(str(path))
    except (pyreadr.custom_errors.LibrdataError, pyreadr.custom_errors.PyreadrError, ValueError):
        # the library's words may quote the data
        raise FileError(
            f"{path.name!r} cannot be read as a file of R with a data frame; save one with "
            "saveRDS() or save()"
        ) from None
    names = [str(name) for name in objects]
    if len(names) != 1:
        held = f"{len(names)} objects ({', '.join(names)})" if names else "no data frame"
        raise FileError(f"{path.name!r} holds {held}; save one data frame alone")
    frame: pd.DataFrame = next(iter(objects.values()))
    if len(frame) == 0 or len(frame.columns) == 0:
        raise FileError(f"{path.name!r} holds a data frame without rows or columns")
    return frame


def _holds(series: pd.Series[Any], *kinds: str) -> bool:
    return series.dtype == object and pd.api.types.infer_dtype(series, skipna=True) in kinds


def _typed(series: pd.Series[Any]) -> pd.Series[Any]:
    """Return a column with the dtype that its type in R has, where pyreadr gives objects."""
    series = series.reset_index(drop=True)
    if _holds(series, "boolean"):
        return series.astype("boolean")
    if _holds(series, "date"):
        dates = series.to_numpy().astype("datetime64[D]")
        days = (dates - _STATA_EPOCH).astype(np.float64)
        return pd.Series(np.where(np.isnat(dates), np.nan, days))
    if _holds(series, "empty", "floating", "integer", "mixed-integer-float"):
        return series.astype(np.float64)
    return series
