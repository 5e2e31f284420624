"""Python's lock, held while R runs.

cffi lets go of the lock around every call of C.  Any call of R may start R's collector, which runs
the finalizers of reticulate's objects, and reticulate before 1.31 drops Python references there
without taking the lock: a fatal error within some hundred crossings (reticulate issue 1236).
R runs in the main thread only, so nothing is lost by holding it.
"""

from __future__ import annotations

import ctypes
import os
import sys
from importlib import import_module
from typing import Any

_HARMLESS = frozenset(
    {"Rf_protect", "Rf_unprotect", "CAR", "CDR", "CADR", "CDDR", "CADDR", "TAG", "PRINTNAME"}
    | {"SETCAR", "SETCDR", "SET_TAG", "R_CHAR", "SET_STRING_ELT", "SET_VECTOR_ELT", "ATTRIB"}
    | {"Rf_isNull", "TYPEOF", "MAYBE_SHARED", "NAMED", "Rf_getCharCE"}
)
"""Functions that neither allocate nor run R code, and so never start the collector."""

_NUMBERS = {
    "int": ctypes.c_int,
    "unsigned int": ctypes.c_uint,
    "double": ctypes.c_double,
    "ptrdiff_t": ctypes.c_ssize_t,
    "size_t": ctypes.c_size_t,
    "unsigned char": ctypes.c_ubyte,
    "char": ctypes.c_char,
}


class HeldLibrary:
    """R's library as rpy2 sees it, with functions that keep Python's lock.

    Parameters
    ----------
    twins : ctypes.PyDLL
        The same library, opened by ctypes, whose ``PyDLL`` keeps the lock.
    """

    def __init__(self, library: Any, ffi: Any, twins: ctypes.PyDLL) -> None:
        self.__dict__.update(_library=library, _ffi=ffi, _twins=twins)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._library, name)
        held = None if name in _HARMLESS else held_function(name, value, self._ffi, self._twins)
        if held is not None or _is_fixed(name, value, self._ffi):
            self.__dict__[name] = value if held is None else held
        return value if held is None else held

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__.pop(name, None)
        setattr(self._library, name, value)

    def __dir__(self) -> list[str]:
        return dir(self._library)


def hold() -> None:
    """Make rpy2 keep the lock; to be called before ``rpy2.rinterface`` is imported.

    R must be running: what is fixed by then, such as ``R_NilValue``, is read once.
    """
    openrlib: Any = import_module("rpy2.rinterface_lib.openrlib")
    if isinstance(openrlib.rlib, HeldLibrary):
        return
    library = HeldLibrary(openrlib.rlib, openrlib.ffi, _opened(openrlib))
    for name, value in list(vars(openrlib).items()):
        # the module keeps functions of the library under their own names
        if _is_of_c(value, openrlib.ffi) and hasattr(library, name):
            setattr(openrlib, name, getattr(library, name))
    openrlib.rlib = library


def held_function(name: str, value: Any, ffi: Any, twins: ctypes.PyDLL) -> Any:
    """Return the twin of a C function that keeps the lock; None where there is none."""
    if not callable(value) or isinstance(value, type):
        return None
    try:
        kind = ffi.typeof(value)
        if kind.kind != "function" or kind.ellipsis or name.startswith("_"):
            return None
        twin = twins[name]
        twin.argtypes = [_ctype(argument) for argument in kind.args]
        twin.restype = _ctype(kind.result)
    except (LookupError, TypeError, AttributeError):
        return None
    return _called(twin, kind.result, ffi)


def _called(twin: Any, result: Any, ffi: Any) -> Any:
    cast, data, address = ffi.cast, ffi.CData, ffi.typeof("uintptr_t")
    pointers = [kind is ctypes.c_void_p for kind in twin.argtypes]
    gives_pointer = twin.restype is ctypes.c_void_p

    def plain(value: Any, pointer: bool) -> Any:
        if not isinstance(value, data):
            return value
        return int(cast(address, value)) if pointer else int(value)

    def held(*given: Any) -> Any:
        out = twin(*map(plain, given, pointers))
        return cast(result, out or 0) if gives_pointer else out

    return held


def _ctype(kind: Any) -> Any:
    if kind.kind in ("pointer", "function", "array"):
        return ctypes.c_void_p
    if kind.kind == "enum":
        return ctypes.c_int
    return None if kind.kind == "void" else _NUMBERS[kind.cname]


def _is_fixed(name: str, value: Any, ffi: Any) -> bool:
    """Whether a name always means the same: no variable of R's such as R_Interactive."""
    if callable(value) or name.isupper():
        return True
    return isinstance(value, ffi.CData) and ffi.typeof(value).cname == "struct SEXPREC *"


def _is_of_c(value: Any, ffi: Any) -> bool:
    return type(value).__name__ == "builtin_function_or_method" or (
        isinstance(value, ffi.CData) and callable(value)
    )


def _opened(openrlib: Any) -> ctypes.PyDLL:
    if sys.platform == "win32" or os.name == "nt":
        situation = import_module("rpy2.situation")
        return ctypes.PyDLL(situation.get_rlib_path(openrlib.R_HOME, "Windows"))
    return ctypes.PyDLL(None)
