"""A word on the terminal, or in a notebook, that something is still at work."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE = 2.0
"""Seconds of silence that nobody minds."""

_AGAIN = 30.0
_voice = threading.Lock()


@contextlib.contextmanager
def saying(what: str) -> Iterator[None]:
    """Say on standard error what is at work, once after 2 seconds and then every half minute.

    Only a person's terminal or notebook is written to, by one voice at a time: work within other
    work is silent.  How long a fit takes is no fact of the data: what it does is a function of
    public ones.

    Examples
    --------
    >>> with saying("adding up"):
    ...     sum(range(10))
    45
    """
    if not (_is_watched() and _voice.acquire(blocking=False)):
        yield
        return
    begin, done = time.monotonic(), threading.Event()

    def speak() -> None:
        pause = PATIENCE
        while not done.wait(pause):
            with contextlib.suppress(OSError, ValueError):
                sys.stderr.write(f"dprct: {what}, {time.monotonic() - begin:.0f} s\n")
            pause = _AGAIN

    threading.Thread(target=speak, name="dprct progress", daemon=True).start()
    try:
        yield
    finally:
        done.set()
        _voice.release()


def _is_watched() -> bool:
    """Whether a person reads along, but not where the shell shows its own."""
    if "dprct.cli.main" in sys.modules:
        return False
    in_notebook = type(sys.stderr).__module__.startswith("ipykernel")
    return in_notebook or bool(sys.stderr is not None and sys.stderr.isatty())
