"""pandas, Narwhals, parts of SciPy and others, imported when something of them is used.

``from dprct.lazy import special`` gives what ``from scipy import special`` would: most commands and
most models need no quantile before their data are read, and many no frame of pandas. Either takes
longer to import than all modules here.  Of ``scipy.special`` itself little more than its extension
module is loaded.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from threading import RLock
from types import ModuleType
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


class _Package(ModuleType):
    """A package whose own code runs when a name of it is asked for that no module has set yet."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__dict__["__spec__"] = spec = find_spec(name)
        assert spec is not None
        self.__dict__.update(__path__=spec.submodule_search_locations, __file__=spec.origin)
        self.__dict__.update(__package__=name, __loader__=spec.loader, _lock=RLock(), _begun=False)

    def __getattr__(self, name: str) -> Any:
        with self.__dict__["_lock"]:  # another thread waits until all of it is there
            if not self.__dict__["_begun"]:
                self.__dict__["_begun"] = True
                self.__dict__["__loader__"].exec_module(self)
        if name not in self.__dict__:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return self.__dict__[name]


class _Functions:
    """``scipy.special``: its ufuncs are taken from the extension module that holds them.

    The package's own code prepares it for arrays of other kinds than NumPy's, and loads most of
    what NumPy has for it: five sixths of the time that ``import scipy.special`` takes.
    """

    def __init__(self) -> None:
        name = "scipy.special"
        if name not in sys.modules:
            parent = import_module("scipy")
            parent.special = sys.modules.setdefault(name, _Package(name))  # type: ignore[attr-defined]
        try:
            self._ufuncs: Any = import_module(f"{name}._ufuncs")
        except ModuleNotFoundError:  # where a later SciPy keeps them elsewhere
            self._ufuncs = None

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._ufuncs, name, None)
        return getattr(import_module("scipy.special"), name) if found is None else found


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
    special = _Later(_Functions)
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
