"""Parts of SciPy and others that take long to import, imported when something of them is used.

``from dprct.lazy import special`` gives what ``from scipy import special`` would: most commands and
most models need no quantile before their data are read, and SciPy alone takes as long as pandas.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scipy import linalg, optimize, sparse, special
    from scipy.sparse import csgraph
    from scipy.sparse import linalg as sparse_linalg
else:

    class _Later:
        """A module that is imported with the first name of it that is asked for."""

        def __init__(self, module: str) -> None:
            self._module = module

        def __getattr__(self, name: str) -> Any:
            value = getattr(import_module(self._module), name)
            setattr(self, name, value)
            return value

    linalg = _Later("scipy.linalg")
    optimize = _Later("scipy.optimize")
    special = _Later("scipy.special")
    sparse = _Later("scipy.sparse")
    csgraph = _Later("scipy.sparse.csgraph")
    sparse_linalg = _Later("scipy.sparse.linalg")

__all__ = ["csgraph", "linalg", "optimize", "sparse", "sparse_linalg", "special"]
