"""pandas, Narwhals, parts of SciPy and others, imported when something of them is used.

``from dprct.lazy import special`` gives what ``from scipy import special`` would: most commands and
most models need no quantile before their data are read, and many no frame of pandas. Either takes
longer to import than all modules here.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import narwhals
    import pandas
    from scipy import linalg, optimize, sparse, special
    from scipy.sparse import csgraph
    from scipy.sparse import linalg as sparse_linalg


class _Later:
    """What is made with the first name of it that is asked for."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = cache(make)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._make(), name)


def _module(name: str) -> _Later:
    return _Later(lambda: import_module(name))


def precise(digits: int) -> Any:
    """Arithmetic of mpmath with so many digits, in a context of its own."""

    def context() -> Any:
        made = import_module("mpmath").MPContext()
        made.dps = digits
        return made

    return _Later(context)


def names_of(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """``__getattr__`` of a package whose names, by the module below it, are loaded at first use."""

    def found(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(import_module(package), name, value)
        return value

    return found


if not TYPE_CHECKING:
    narwhals = _module("narwhals")
    pandas = _module("pandas")
    linalg = _module("scipy.linalg")
    optimize = _module("scipy.optimize")
    special = _module("scipy.special")
    sparse = _module("scipy.sparse")
    csgraph = _module("scipy.sparse.csgraph")
    sparse_linalg = _module("scipy.sparse.linalg")

__all__ = [
    "csgraph",
    "linalg",
    "names_of",
    "narwhals",
    "optimize",
    "pandas",
    "precise",
    "sparse",
    "sparse_linalg",
    "special",
]
