"""Where the command line writes: results to standard output, everything else to standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from rich.console import Console

from dprct.errors import FileError

if TYPE_CHECKING:
    from pathlib import Path

    from dprct.results.plan import Plan
    from dprct.study.verdicts import Verdict

_AS_WRITTEN = {"soft_wrap": True, "highlight": False, "emoji": False, "markup": False}

output = Console(**_AS_WRITTEN)  # type: ignore[arg-type]
errors = Console(stderr=True, **_AS_WRITTEN)  # type: ignore[arg-type]


def say(text: str = "") -> None:
    """Print plain text to standard output."""
    output.print(printable(text))


def say_plan(plan: Plan, most: int | None) -> None:
    """Print a plan, in so many lines if not in all, and how to see the rest."""
    whole = plan.to_text()
    shown = whole if most is None else plan.to_text(most=most)
    say(shown)
    hidden = len(whole.splitlines()) - len(shown.splitlines())
    if hidden:
        say(f"  ... {hidden} more lines: dprct plan --long")


def complain(text: str, style: str) -> None:
    """Print plain text to standard error."""
    errors.print(printable(text), style=style)


def printable(text: str) -> str:
    r"""Text without characters that steer a terminal: a label may hold some.

    Examples
    --------
    >>> printable("age\x1b[2J")
    'age [2J'
    """
    return "".join(c if c.isprintable() or c in "\n\t" else " " for c in text)


def allow_any_text() -> None:
    """Let a terminal that cannot show a character show a question mark, not a failure."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def show_verdicts(found: Sequence[Verdict]) -> None:
    """Print the verdicts on regressions: by table, and then one by one."""
    from dprct.study.verdicts import summary

    if not found:
        say(
            "no verdict on a regression: the do-files run none, or [design] or a formula is missing"
        )
        return
    say("\nRegressions of the do-files on this file:")
    for line in (*summary(found), *map(str, found)):
        say(f"- {line}")


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show that something is being done, on a terminal."""
    with errors.status(what) if errors.is_terminal else nullcontext():
        yield


def check_page(path: Path, kind: str) -> None:
    """Refuse a name that is none of a page, and to replace anything but such a page."""
    from dprct import disk

    if path.suffix.lower() not in (".html", ".htm"):
        raise FileError(f"{path.name!r} is not the name of a page; let it end in .html")
    try:
        with disk.opened(path) as page:
            start = page.read(2000)
    except FileNotFoundError:
        return
    except OSError as error:
        raise disk.file_error(error, path, "read") from None
    if f"<title>{kind}".encode() not in start:
        raise FileError(
            f"{path.name!r} exists and is not such a page; give another name or remove it"
        )
