"""The application: commands are registered here, refusals become exit codes here."""

from __future__ import annotations

import contextlib
import functools
import signal
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Annotated

import typer

from dprct import __version__
from dprct.cli import compare, convert, demo, describe, ledger, protect, table, verify
from dprct.cli.show import allow_any_text, complain, say
from dprct.errors import BudgetError, ConfirmationError, DprctError, LedgerError

USAGE, REFUSED, DEFECT, INTERRUPTED, TERMINATED = 2, 3, 70, 130, 143

app = typer.Typer(
    name="dprct",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    epilog="Exit codes: 0 done; 1 unexpected differences, open points or values "
    "that do not match; 2 wrong usage or input; 3 refused (budget, confirmation); 130 interrupted; "
    "143 ended by SIGTERM.",
)


def _version(asked: bool) -> None:
    if asked:
        say(f"dprct {__version__}")
        raise typer.Exit


@app.callback()
def _whole(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, help="Print the version.", is_eager=True),
    ] = False,
) -> None:
    """Publish an experiment without publishing its participants."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code (see ``dprct.cli``)."""
    run_app(app, arguments, "dprct")


def run_app(commands: typer.Typer, arguments: Sequence[str] | None, name: str) -> None:
    """Run commands under a name and exit with their code; warnings are notes in one line."""
    allow_any_text()
    with warnings.catch_warnings(), _terminable():
        warnings.showwarning = _show_warning
        try:
            commands(args=arguments, prog_name=name)
        except KeyboardInterrupt as error:  # before a command began, or after it ended
            complain("interrupted", "red")
            raise SystemExit(_code_of(error)) from None


class _Terminated(KeyboardInterrupt):
    """SIGTERM, which ends a command as Ctrl-C does: nothing half written is left."""


@contextlib.contextmanager
def _terminable() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(_number: int, _frame: FrameType | None) -> None:
        raise _Terminated

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _code_of(error: KeyboardInterrupt) -> int:
    return TERMINATED if isinstance(error, _Terminated) else INTERRUPTED


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command whose refusals are one sentence on standard error and an exit code.

    A defect of ours shows where it happened and nothing of what was being handled, because that
    could be a value of the data.
    """

    @functools.wraps(command)
    def run(*args: object, **options: object) -> None:
        try:
            command(*args, **options)
        except (BudgetError, ConfirmationError, LedgerError) as error:
            raise _ended(f"refused: {error}", REFUSED) from None
        except DprctError as error:
            raise _ended(f"error: {error}", USAGE) from None
        except KeyboardInterrupt as error:
            message = "interrupted; nothing half written is left"
            raise _ended(message, _code_of(error)) from None
        except typer.Exit:
            raise
        except OSError as error:
            reason = error.strerror or type(error).__name__
            where = f" ({error.filename})" if error.filename else ""
            raise _ended(f"error: {reason}{where}; mend that and try again", USAGE) from None
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            raise _ended(
                f"a defect of dprct: {type(error).__name__} in {last.name}, line {last.lineno}; "
                "please report this line. What was being handled is not shown, because it could "
                "be a value of the data.",
                DEFECT,
            ) from None

    return run


def _ended(message: str, code: int) -> typer.Exit:
    complain(message, "red")
    return typer.Exit(code)


def _show_warning(
    message: Warning | str, category: type[Warning], *_args: object, **_kwargs: object
) -> None:
    complain(f"note: {message}", "yellow")


for _name, _command in (
    ("describe", describe.describe),
    ("check", protect.check),
    ("plan", protect.plan),
    ("protect", protect.protect),
    ("ledger", ledger.ledger),
    ("convert", convert.convert),
    ("table", table.table),
    ("compare", compare.compare_files),
    ("verify", verify.verify),
    ("demo", demo.demo),
):
    app.command(_name)(guarded(_command))
