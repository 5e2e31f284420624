"""Where the command line writes: results to standard output, everything else to standard error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

output = Console(soft_wrap=True, highlight=False)
errors = Console(stderr=True, soft_wrap=True, highlight=False)


def say(text: str = "") -> None:
    """Print plain text to standard output."""
    output.print(text, markup=False)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show that something is being done, on a terminal."""
    with errors.status(what):
        yield
