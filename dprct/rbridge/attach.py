"""rpy2 joined to R: to the R that started this Python, or to one that it starts itself.

Where R is the host, ``rpy2.rinterface.initr()`` does four things too many (rpy2-rinterface 3.6.5):
it starts ``Rscript`` and copies the child's environment over the session's; it takes the handler of
Ctrl-C; it ends the host's R when Python exits; and its proxies release R objects from whatever
thread Python's collector runs in.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import os
import signal
import threading
from collections import deque
from dataclasses import field
from functools import cache
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from dprct.errors import BridgeError, MissingDependencyError
from dprct.rbridge import gil, interrupts
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

_NEEDS_NEWER_R = ("R_getVar", "R_ParentEnv")
_SOURCE = Path(__file__).with_name("bridge.R")


@dataclass(frozen=True)
class Session:
    """R, as this process sees it."""

    ri: Any  # ``rpy2.rinterface``, attached
    scope: Any  # the functions of ``bridge.R``
    hosted: bool  # whether R started this Python
    # R objects that other threads let go of, to be released in the main thread.
    forgotten: deque[Any]
    _functions: dict[str, Any] = field(default_factory=dict)

    def function(self, name: str) -> Any:
        """Return the function ``name`` of ``bridge.R``."""
        if name not in self._functions:
            self._functions[name] = self.scope[name]
        return self._functions[name]

    def base(self, name: str) -> Any:
        """Return the function ``name`` of R's base package."""
        return self.ri.baseenv[name]

    def drain(self) -> None:
        """Release what other threads let go of."""
        release = self.ri._rinterface._release
        while self.forgotten:
            release(self.forgotten.popleft())


@cache
def attach() -> Session:
    """Return the session of R in this process, joined or started at the first call.

    Examples
    --------
    >>> attach().hosted  # doctest: +SKIP
    False
    """
    if threading.current_thread() is not threading.main_thread():
        raise BridgeError("R can be called from Python's main thread only; call it from there")
    hosted = f"PID={os.getpid()}:" in os.environ.get("R_SESSION_INITIALIZED", "") + ":"
    ri = _rinterface(hosted=hosted)
    with _as_a_guest(ri) if hosted else contextlib.nullcontext():
        ri.initr()
    if hosted:
        atexit.unregister(ri.endr)
        interrupts.install()
    forgotten = _release_in_main_thread(ri)
    base = ri.baseenv
    scope = base["new.env"](parent=base["baseenv"]())
    base["sys.source"](ri.StrSexpVector([str(_SOURCE)]), scope)
    return Session(ri, scope, hosted, forgotten)


def _rinterface(*, hosted: bool) -> Any:
    if importlib.util.find_spec("rpy2") is None:
        raise MissingDependencyError.extra("rpy2", "r", "reading and calling R")
    if importlib.util.find_spec("_rinterface_cffi_api") is None:
        os.environ.setdefault("RPY2_CFFI_MODE", "ABI")  # built without a compiler
    try:
        situation = import_module("rpy2.situation")
        if situation.get_r_home() is None:
            raise BridgeError("no R was found; install R, or put it on the PATH")
        # R has set its own library path already; asking a child takes a second
        path = os.environ.get("LD_LIBRARY_PATH", "")
        given: Any = {"r_ld_library_path_from_subprocess": lambda _: path} if hosted else {}
        with patch.multiple(situation, **given) if given else contextlib.nullcontext():
            if hosted:
                gil.hold()
            return import_module("rpy2.rinterface")
    except BridgeError:
        raise
    except Exception as error:  # cffi's own class where a symbol of R is missing
        raise BridgeError(_misfit(error)) from error


def _misfit(error: Exception) -> str:
    text = f"rpy2 does not fit this R ({type(error).__name__}: {error})"
    if any(symbol in text for symbol in _NEEDS_NEWER_R):
        return text + "; for R before 4.5 install: ``pip install 'dprct[r]'``"
    return text + "; install the versions that dprct[r] names"


@contextlib.contextmanager
def _as_a_guest(ri: Any) -> Iterator[None]:
    """Let ``initr`` change neither the environment nor the handler of Ctrl-C."""
    handlers = SimpleNamespace(
        signal=lambda *_: None,
        SIGINT=signal.SIGINT,
        default_int_handler=signal.default_int_handler,
    )
    with patch.multiple(ri, _setrenvvars=lambda _actions: None, signal=handlers):
        yield


def _release_in_main_thread(ri: Any) -> deque[Any]:
    capi = ri._rinterface
    release, main = capi._release, threading.get_ident()
    forgotten: deque[Any] = deque()
    # at exit the names of this module are gone before the last object is
    suppress, thread = contextlib.suppress, threading.get_ident

    def __del__(self: Any) -> None:
        with suppress(Exception):  # an exception here would be printed
            if thread() == main:
                release(self._cdata)
            else:
                forgotten.append(self._cdata)

    capi.SexpCapsule.__del__ = __del__
    return forgotten
