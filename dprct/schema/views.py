"""The data as a person reads them: labels for codes, dates for day counts.  A view, never input."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dprct.errors import ColumnError
from dprct.schema.facts import Column, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dprct.schema.schema import Schema

_EPOCH = np.datetime64("1960-01-01", "D")
_MONTHS_PER = {"m": 1, "q": 3, "h": 6}
_MOST_MILLISECONDS = 1e17  # beyond, no calendar has a name for the instant
_MOST_PERIODS = 1e8


def decode(schema: Schema, data: pd.DataFrame) -> pd.DataFrame:
    """Return a frame with categories for labelled codes and dates for dates.

    Parameters
    ----------
    schema : Schema
    data : pandas.DataFrame
        As ``read_dta`` gives it: codes and numbers.

    Returns
    -------
    pandas.DataFrame
        The columns of the schema, in its order.
        Labelled columns as ordered categories (a code without a label is shown as the number),
        ``%td`` ``%tc`` ``%tw`` ``%tm`` ``%tq`` ``%th`` ``%ty`` columns as timestamps of their
        first instant; everything else as it was.  Every missing code is missing.

    Raises
    ------
    ColumnError
        If a column of the schema is not in the data.

    Notes
    -----
    ``%tC`` (with leap seconds) and business calendars stay numbers: what they mean is not in the
    file.

    Examples
    --------
    >>> import pandas as pd
    >>> from dprct.schema import Column, FileFacts, Schema
    >>> file = FileFacts(value_labels={"yesno": {0: "no", 1: "yes"}})
    >>> schema = Schema((Column("got", "byte", value_label="yesno"),), file)
    >>> decode(schema, pd.DataFrame({"got": [1.0, 0.0]}))["got"].tolist()
    ['yes', 'no']
    """
    for name in schema.names:
        if name not in data.columns:
            raise ColumnError.unknown(name, data.columns, "the data")
    return pd.DataFrame(
        {column.name: _decoded(schema, column, data[column.name]) for column in schema.columns},
        index=data.index,
    )


def _decoded(schema: Schema, column: Column, values: pd.Series[Any]) -> pd.Series[Any]:
    if column.is_text:
        return values
    coded = schema.labels_of(column.name).items()
    labels = {float(code): shown(text) for code, text in coded if isinstance(code, int)}
    if labels:
        return _categories(values, labels)
    kind = date_kind(column.format)
    return values if kind is None else pd.Series(_instants(values.to_numpy(), kind), values.index)


def date_kind(display_format: str) -> str | None:
    """Return d, c, w, m, q, h or y for a Stata date format that has a calendar meaning, or None.

    Examples
    --------
    >>> date_kind("%tdD_m_Y"), date_kind("%d"), date_kind("%9.0g")
    ('d', 'd', None)
    """
    match = re.match(r"%-?(?:t([dcwmqhy])|(d))", display_format)
    return None if match is None else match[1] or match[2]


def _categories(values: pd.Series[Any], labels: Mapping[float, str]) -> pd.Series[Any]:
    found: list[float] = np.unique(values.dropna().to_numpy()).tolist()
    codes = sorted({*map(float, labels), *found})
    texts = [labels.get(c, _as_text(c)) for c in codes]
    if len(set(texts)) < len(texts):
        texts = [f"{text} ({_as_text(code)})" for text, code in zip(texts, codes, strict=True)]
    positions = np.searchsorted(codes, values.to_numpy())
    positions = np.where(values.isna(), -1, positions)
    kind = pd.CategoricalDtype(texts, ordered=True)
    return pd.Series(pd.Categorical.from_codes(positions, dtype=kind), values.index)


def _as_text(code: float) -> str:
    return str(int(code)) if code.is_integer() else repr(code)


def _instants(values: Any, kind: str) -> Any:
    x = np.asarray(values, np.float64)
    known = np.abs(x) < (_MOST_MILLISECONDS if kind == "c" else _MOST_PERIODS)
    whole = np.floor(np.where(known, x, 0)).astype(np.int64)
    if kind == "d":
        out = (_EPOCH + whole).astype("datetime64[ms]")
    elif kind == "c":
        out = _EPOCH.astype("datetime64[ms]") + whole
    elif kind == "w":
        years = (_EPOCH.astype("datetime64[Y]") + whole // 52).astype("datetime64[D]")
        out = (years + 7 * (whole % 52)).astype("datetime64[ms]")
    elif kind == "y":
        out = (np.datetime64("0000", "Y") + whole).astype("datetime64[ms]")
    else:
        out = (_EPOCH.astype("datetime64[M]") + whole * _MONTHS_PER[kind]).astype("datetime64[ms]")
    return np.where(known, out, np.datetime64("NaT", "ms"))
