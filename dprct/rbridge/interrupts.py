"""Ctrl-C where R is the host: at once in the user's work, never inside the bridge's own.

reticulate's C handler tells R and Python both.  Raised in the middle of a conversion, or in a
proxy's finalizer where Python throws exceptions away, the interrupt would be lost or leave a value
half made.  So it waits while the bridge works (:func:`shielded`), and is raised in an export
(:func:`interruptible`) or by R when the call is over.
"""

from __future__ import annotations

import _thread
import contextlib
import ctypes
import signal
import sys
from typing import TYPE_CHECKING, Any

from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

_SIGACTION_BYTES = 1024  # larger than any system's struct sigaction


@dataclass
class _Flags:
    """R's own flags, and whether the bridge is at work."""

    suspended: Any = None
    pending: Any = None
    shielded: bool = False

    @property
    def waiting(self) -> bool:
        return self.shielded or bool(self.suspended.value)

    def take(self) -> None:
        """Raise an interrupt that R knows of."""
        if self.pending.value:
            self.pending.value = 0
            raise KeyboardInterrupt


_flags = _Flags()


def install() -> None:
    """Replace reticulate's Python handler, and leave its C handler, which tells R, in place."""
    if _flags.pending is not None or sys.platform == "win32":
        return
    here = ctypes.PyDLL(None)
    try:
        suspended = ctypes.c_int.in_dll(here, "R_interrupts_suspended")
        pending = ctypes.c_int.in_dll(here, "R_interrupts_pending")
    except ValueError:
        return
    c_handler = ctypes.create_string_buffer(_SIGACTION_BYTES)
    if here.sigaction(int(signal.SIGINT), None, c_handler) != 0:
        return
    _flags.suspended, _flags.pending = suspended, pending
    signal.signal(signal.SIGINT, _on_interrupt)
    here.sigaction(int(signal.SIGINT), c_handler, None)
    _raise_again_what_is_thrown_away()


def _on_interrupt(_number: int, _frame: object) -> None:
    if not _flags.waiting:
        _flags.take()


def _raise_again_what_is_thrown_away() -> None:
    before = sys.unraisablehook

    def hook(unraisable: Any) -> None:
        if unraisable.exc_type is not None and issubclass(unraisable.exc_type, KeyboardInterrupt):
            _flags.pending.value = 1
            _thread.interrupt_main()
        else:
            before(unraisable)

    sys.unraisablehook = hook


@contextlib.contextmanager
def _scope(*, shielded: bool) -> Iterator[None]:
    if _flags.pending is None:
        yield
        return
    before = _flags.shielded, _flags.suspended.value
    _flags.shielded, _flags.suspended.value = shielded, int(shielded)
    try:
        if before[0] and not shielded:
            _flags.take()
        yield
    finally:
        _flags.shielded, _flags.suspended.value = before


def shielded() -> contextlib.AbstractContextManager[None]:
    """Return a context in which Ctrl-C waits.

    Examples
    --------
    >>> with shielded():
    ...     "the bridge's own work"
    "the bridge's own work"
    """
    return _scope(shielded=True)


def interruptible() -> contextlib.AbstractContextManager[None]:
    """Return a context in which Ctrl-C works, also inside :func:`shielded`.

    Examples
    --------
    >>> with shielded(), interruptible():
    ...     "the user's work"
    "the user's work"
    """
    return _scope(shielded=False)
