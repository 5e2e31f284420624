"""The application: commands are registered here, refusals become exit codes here."""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, get_args

import typer
from typer.core import TyperCommand, TyperGroup

from dprct import __version__
from dprct.cli.show import allow_any_text, complain, say
from dprct.errors import BudgetError, ConfirmationError, DprctError, LedgerError, defect

USAGE, REFUSED, DEFECT, INTERRUPTED, TERMINATED = 2, 3, 70, 130, 143

COMMANDS = {
    "describe": (
        "describe:describe",
        "Print a codebook of FILE without its values; with --draft, write a study file to fill in.",
    ),
    "check": (
        "check:check",
        "List what STUDY still lacks, and what its ledger would refuse; exit 1 if anything.",
    ),
    "plan": (
        "plan:plan",
        "Print what STUDY will cost, the errors to expect, and the hash to be approved.",
    ),
    "protect": (
        "protect:protect",
        "Read, plan, ask, release: write the protected file, its certificate and the ledger.",
    ),
    "package": (
        "package:package",
        "Write the replication folder of STUDY with its release in place of the confidential file.",
    ),
    "app": (
        "app:app",
        "Open a page on this machine to declare FILE in a study file, and to protect it.",
    ),
    "ledger": (
        "ledger:ledger",
        "Show what STUDY has spent, on what, what is left, and what crashed.",
    ),
    "convert": (
        "convert:convert",
        "Convert SOURCE to TARGET row by row; the schema lies next to the .parquet file.",
    ),
    "table": (
        "table:table",
        "Print the tables that STUDY declares, or else the results of its estimate.",
    ),
    "ols": (
        "ols:ols",
        "Compute a regression from released moments, without data; its errors contain the noise.",
    ),
    "regressions": (
        "regressions:regressions",
        "List the regressions that DO files run; nothing is executed, and no data are read.",
    ),
    "compare": (
        "compare:compare_files",
        "List every facet in which B differs from A; exit 1 if one is not permitted.",
    ),
    "verify": (
        "verify:verify",
        "Check FILE against its certificate; exit 1 if its values differ, or a "
        "ledger contradicts it.",
    ),
    "demo": (
        "demo:demo",
        "Protect two experiments, by a histogram and by a calibrated file, and show the results.",
    ),
}
"""Where each command is (its module and function), and what it does.

A module is imported when its command is asked for: some need all methods, which takes seconds.
"""


class _Simply:
    """Conversion of a command's text and files, for which typer would import pydantic.

    That takes longer than NumPy. What is not simple is converted by typer, a file that may not be
    read, too, so that its message stays.
    """

    def __init__(self, otherwise: Callable[[], Any], kind: Any) -> None:
        self._otherwise, self._kind = otherwise, kind

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        several = param.multiple or param.nargs == -1
        if value is None:
            return () if several else None
        kind = next(iter(get_args(self._kind)), self._kind) if several else self._kind
        texts = value if several else (value,)
        if (
            kind not in (str, Path)
            or isinstance(texts, str)
            or not all(_is_simple(text, kind) for text in texts)
        ):
            return self._otherwise().coerce(value, param=param, ctx=ctx)
        return [kind(text) for text in texts] if several else kind(value)


def _is_simple(text: Any, kind: type) -> bool:
    if not isinstance(text, str) or kind is str:
        return isinstance(text, str)
    return not os.path.lexists(text) or os.access(text, os.R_OK)


class _Simple:
    """A command whose options are converted so, that of its help among them."""

    def get_params(self, ctx: Any) -> list[Any]:
        options: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for one in options:
            known = getattr(one, "type_descriptor", None)  # of newer typer, which imports pydantic
            if known and "get_runtime_param" not in vars(one):
                one.get_runtime_param = partial(_Simply, one.get_runtime_param, known.annotation)
        return options


class Command(_Simple, TyperCommand):
    """One command."""


class Commands(_Simple, TyperGroup):
    """The commands, each loaded when it is asked for."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Load the command that is named, then let typer find it."""
        if args and args[0] in COMMANDS:
            self.commands[args[0]] = loaded(args[0])
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=Commands,
    name="dprct",
    no_args_is_help=True,
    add_completion=True,
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


def guarded(command: Callable[..., None], *, options: bool = False) -> Callable[..., None]:
    """Return a command whose refusals are one sentence on standard error and an exit code.

    They speak the words of a study file; of a command that reads none, those of its ``options``.

    A defect of ours shows where it happened and nothing of what was being handled, because that
    could be a value of the data.
    """

    @functools.wraps(command)
    def run(*args: object, **given: object) -> None:
        try:
            command(*args, **given)
        except (BudgetError, ConfirmationError, LedgerError) as error:
            raise _ended(f"refused: {_worded(error, options=options)}", REFUSED) from None
        except DprctError as error:
            raise _ended(f"error: {_worded(error, options=options)}", USAGE) from None
        except KeyboardInterrupt as error:
            message = "interrupted; nothing half written is left"
            raise _ended(message, _code_of(error)) from None
        except typer.Exit:
            raise
        except OSError as error:
            reason = error.strerror or type(error).__name__
            where = f" ({error.filename})" if error.filename else ""
            raise _ended(f"error: {reason}{where}; correct that and try again", USAGE) from None
        except MemoryError:
            message = "error: this needs more memory than there is; free some of it"
            raise _ended(message, USAGE) from None
        except Exception as error:
            raise _ended(defect(error), DEFECT) from None

    return run


def _ended(message: str, code: int) -> typer.Exit:
    complain(message, "red")
    return typer.Exit(code)


def _show_warning(
    message: Warning | str, category: type[Warning], *_args: object, **_kwargs: object
) -> None:
    complain(f"note: {_worded(message)}", "yellow")


def _worded(message: object, *, options: bool = False) -> str:
    """Return a message in the words of a study file, or of a command's options."""
    from dprct.study.wording import in_options, in_toml  # a command without messages needs neither

    return in_options(message) if options else in_toml(message)


def loaded(name: str) -> Any:
    """Return a command with its options; its module is imported here."""
    place, words = COMMANDS[name]
    module, function = place.split(":")
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    command = getattr(import_module(f"dprct.cli.{module}"), function)
    alone.command(name, cls=Command, short_help=words)(guarded(command, options=name == "ols"))
    return typer.main.get_command(alone)


def _not_loaded() -> None:
    """Stand in a list for a command that was not asked for."""


for _name, (_, _words) in COMMANDS.items():
    app.command(_name, help=_words)(_not_loaded)
