"""The application: commands are registered here, refusals become exit codes here."""

from __future__ import annotations

import sys
import traceback
import warnings
from collections.abc import Sequence

import click
import typer

from dprct.cli import compare, demo, describe, protect
from dprct.cli.show import errors
from dprct.errors import BudgetError, ConfirmationError, DprctError, LedgerError

REFUSED, USAGE, DEFECT, INTERRUPTED = 3, 2, 70, 130

app = typer.Typer(
    name="dprct",
    help="Publish an experiment without publishing its participants.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    epilog="Exit codes: 0 done, 1 differences or open points, 2 wrong input, 3 refused, "
    "130 interrupted.",
)
app.command("describe")(describe.describe)
app.command("check")(protect.check)
app.command("plan")(protect.plan)
app.command("protect")(protect.protect)
app.command("compare")(compare.compare_files)
app.command("demo")(demo.demo)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code.

    A refusal is one sentence on standard error.  A defect of ours shows where it happened and
    nothing of what was being handled, because that could be a value of the data.
    """
    warnings.showwarning = _show_warning
    sys.exit(_code(arguments))


def _code(arguments: Sequence[str] | None) -> int:
    try:
        result = app(args=arguments, standalone_mode=False)
        return result if isinstance(result, int) else 0
    except (BudgetError, ConfirmationError, LedgerError) as error:
        errors.print(f"refused: {error}", style="red", markup=False)
        return REFUSED
    except DprctError as error:
        errors.print(f"error: {error}", style="red", markup=False)
        return USAGE
    except click.exceptions.Abort:
        errors.print("interrupted; nothing half written is left")
        return INTERRUPTED
    except click.ClickException as error:
        error.show()
        return USAGE
    except KeyboardInterrupt:
        errors.print("interrupted; nothing half written is left")
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{last.name}, line {last.lineno}"
        errors.print(
            f"a defect of dprct: {type(error).__name__} in {where}; please report this line. "
            "What was being handled is not shown, because it could be a value of the data."
        )
        return DEFECT


def _show_warning(
    message: Warning | str, category: type[Warning], *_args: object, **_kwargs: object
) -> None:
    errors.print(f"note: {message}", style="yellow", markup=False)
