"""Text vectors of any length, each distinct text crossing once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.errors import ConversionError
from dprct.lazy import pandas as pd
from dprct.rbridge.attach import attach
from dprct.rbridge.convert.calls import call_r
from dprct.rbridge.convert.vectors import (
    INTEGER_NA,
    fields,
    list_of,
    short_texts,
    text,
    vector_of,
    view,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_FEW = 64
"""Texts that cross one by one: packing a vector costs as much."""

_ENDS = "\x1f\x1e\x1d\x1c\x01\x02\x03\x04"


def unpacked(packed: Any, missing: object = None) -> NDArray[np.object_]:
    """Value that ``pack_text`` of bridge.R packed; text that R marks as bytes is ``bytes``."""
    parts = fields(packed)
    problem = text(parts["error"])
    if problem:
        raise ConversionError(f"{problem} cannot be passed to Python; see iconv()")
    codes = view(parts["codes"]).astype(np.int64)
    distinct = np.array([*_distinct(parts), missing], dtype=object)
    out: NDArray[np.object_] = distinct[np.where(codes == INTEGER_NA, 0, codes) - 1]
    return out


def _distinct(parts: dict[str, Any]) -> list[str | bytes]:
    if "raw" in parts:
        raw = [view(one).tobytes() for one in parts["raw"]]
        as_bytes = view(parts["bytes"]).tolist()
        return [x if b else x.decode("utf-8") for x, b in zip(raw, as_bytes, strict=True)]
    if not int(view(parts["n"])[0]):
        return []
    end = view(parts["end"]).tobytes().decode("ascii")
    return list(view(parts["buffer"]).tobytes().decode("utf-8").split(end))


def texts_to_r(values: Sequence[object] | NDArray[Any], what: str = "text") -> Any:
    """Return a text vector of R; None and NaN are NA, bytes are marked as bytes."""
    if len(values) <= _FEW and all(x is None or _is_plain(x) for x in values):
        return short_texts([None if x is None else str(x) for x in values])
    codes, found = pd.factorize(np.asarray(values, dtype=object))
    distinct = list(found)
    if not all(isinstance(x, (str, bytes)) for x in distinct):
        raise ConversionError(f"{what} holds objects that are neither text nor bytes; convert them")
    if not distinct:
        return attach().base("rep")(short_texts([None]), len(codes))
    positions = vector_of(np.where(codes < 0, INTEGER_NA, codes + 1), "integer")
    end = _end_of(distinct)
    if end is None:
        return _one_by_one(distinct, positions, what)
    joined = end.join(str(x) for x in distinct) + end
    return call_r(attach().function("unpack_text"), _raw(joined, what), _raw(end, what), positions)


def _is_plain(value: object) -> bool:
    return isinstance(value, str) and value.isascii() and "\0" not in value


def _end_of(distinct: list[str | bytes]) -> str | None:
    """Return a character that ends every text and is in none."""
    if any(isinstance(x, bytes) for x in distinct):
        return None
    whole = "".join(str(x) for x in distinct)
    return next((end for end in _ENDS if end not in whole), None)


def _one_by_one(distinct: list[str | bytes], positions: Any, what: str) -> Any:
    marks = vector_of(np.array([isinstance(x, bytes) for x in distinct]), "logical")
    raw = list_of([_raw(x, what) for x in distinct])
    return call_r(attach().function("unpack_raw"), raw, marks, positions)


def _raw(value: str | bytes, what: str) -> Any:
    coded = value if isinstance(value, bytes) else _utf8(value, what)
    if b"\0" in coded:
        raise ConversionError(f"{what} holds a NUL character, which R cannot keep; remove it")
    return vector_of(np.frombuffer(coded, np.uint8), "raw")


def _utf8(value: str, what: str) -> bytes:
    try:
        return value.encode("utf-8")
    except UnicodeEncodeError:
        raise ConversionError(
            f"{what} holds characters that no encoding has; decode it again"
        ) from None
