"""R's atomic vectors as arrays, and back: the memory itself, no meaning."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.rbridge.attach import attach

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

INTEGER_NA = -(2**31)
"""The machine word of R's missing integer and missing logical."""

_NA_REAL = np.uint64(0x7FF0_0000_0000_07A2)
_LOW_WORD = np.uint64(0xFFFF_FFFF)
_NA_LOW_WORD = np.uint64(1954)

_TYPES = {
    0: "NULL",
    1: "symbol",
    3: "closure",
    4: "environment",
    6: "language",
    7: "special",
    8: "builtin",
    10: "logical",
    13: "integer",
    14: "double",
    15: "complex",
    16: "character",
    19: "list",
    22: "externalptr",
    24: "raw",
    25: "S4",
}
_MEMORY: dict[str, tuple[str, np.dtype[Any]]] = {
    "double": ("REAL", np.dtype(np.float64)),
    "integer": ("INTEGER", np.dtype(np.int32)),
    "logical": ("LOGICAL", np.dtype(np.int32)),
    "raw": ("RAW", np.dtype(np.uint8)),
}


def kind_of(sexp: Any) -> str:
    """Return R's ``typeof`` of an object."""
    return _TYPES.get(int(sexp.typeof), "unknown")


def view(vector: Any) -> NDArray[Any]:
    """Return the memory of a vector of numbers; it is R's, and lives as long as ``vector``."""
    openrlib = import_module("rpy2.rinterface_lib.openrlib")
    pointer, dtype = _MEMORY[kind_of(vector)]
    if len(vector) == 0:
        return np.empty(0, dtype)
    address = getattr(openrlib, pointer)(vector.__sexp__._cdata)
    memory = openrlib.ffi.buffer(address, len(vector) * dtype.itemsize)
    return np.frombuffer(memory, dtype)


def numbers(vector: Any) -> NDArray[np.float64]:
    """Return a double vector as an array of its own, payloads of missing values kept."""
    out: NDArray[np.float64] = view(vector).copy()
    return out


def texts(vector: Any) -> list[str | None]:
    """Return a short text vector; NA is None."""
    if kind_of(vector) == "NULL":
        return []
    missing = attach().ri.NA_Character
    return [None if text is missing else str(text) for text in vector]


def text(vector: Any) -> str:
    """Return the one text of a vector."""
    return str(vector[0])


def fields(named: Any) -> dict[str, Any]:
    """Return the elements of a named list."""
    return {str(name): x for name, x in zip(texts(named.names), named, strict=True)}


def vector_of(values: NDArray[Any], kind: str) -> Any:
    """Return a new R vector of ``kind`` (double, integer, logical or raw).

    R allocates it, so that a lack of memory is an error of R's.
    """
    allocate = {"double": "numeric"}.get(kind, kind)
    out = attach().base(allocate)(len(values))
    view(out)[:] = values
    return out


def doubles(values: NDArray[np.float64]) -> Any:
    """Return a double vector in which a NaN without a letter is NA."""
    out = vector_of(values, "double")
    memory = view(out)
    bits = memory.view(np.uint64)
    bits[np.isnan(memory) & ~is_r_missing(memory)] = _NA_REAL
    return out


def is_r_missing(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Mask of R's NA, tagged or not; R's NaN is none."""
    bits = np.ascontiguousarray(values, np.float64).view(np.uint64)
    out: NDArray[np.bool_] = np.isnan(values) & ((bits & _LOW_WORD) == _NA_LOW_WORD)
    return out


def short_texts(values: Iterable[str | None]) -> Any:
    """Return a text vector of a few values; None is NA."""
    ri = attach().ri
    given = [ri.NA_Character if value is None else value for value in values]
    return ri.StrSexpVector(given) if given else attach().base("character")(0)


def list_of(values: Iterable[Any]) -> Any:
    """Return a list of R objects."""
    given = list(values)
    return attach().ri.ListSexpVector(given) if given else attach().base("list")()


def named_list(values: dict[str, Any]) -> Any:
    """Return a named list of R objects."""
    if not values:
        return list_of(())
    return attach().function("with_names")(list_of(values.values()), short_texts(values))


def flag(value: bool) -> Any:
    """Return TRUE or FALSE."""
    return attach().ri.BoolSexpVector([value])


def count(value: int) -> Any:
    """Return one integer."""
    return attach().ri.IntSexpVector([value])
