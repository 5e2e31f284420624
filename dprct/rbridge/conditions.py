"""Exceptions and warnings of Python as conditions of R."""

from __future__ import annotations

import contextlib
import re
import traceback
from typing import Any

from dprct.errors import ConversionError, DprctError
from dprct.rbridge.convert import RWarning, to_r
from dprct.rbridge.convert.vectors import named_list
from dprct.rbridge.names import r_words

_NOT_SHOWN = frozenset({"args", "condition"})


def r_class(kind: type) -> str:
    """Return the R class of an exception of this package.

    Examples
    --------
    >>> from dprct.errors import BudgetError, DprctWarning
    >>> r_class(BudgetError), r_class(DprctWarning)
    ('dprct_budget_error', 'dprct_warning')
    """
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind.__name__).lower()
    return words if words.startswith("dprct_") else f"dprct_{words}"


def classes_of(kind: type[BaseException], base: str) -> list[str]:
    """Return the S3 classes of an exception or warning class, the most special first.

    Examples
    --------
    >>> from dprct.errors import BudgetError
    >>> classes_of(BudgetError, "error")
    ['dprct_budget_error', 'dprct_error', 'python_ValueError', 'error', 'condition']
    """
    own = [r_class(c) for c in kind.__mro__ if c.__module__.split(".")[0] == "dprct"]
    builtin = [
        f"python_{c.__name__}"
        for c in kind.__mro__
        if c.__module__ == "builtins" and c not in (object, BaseException, Exception, Warning)
    ]
    root = [name for name in [f"dprct_{base}"] if name not in own]
    return [*own, *root, *builtin, base, "condition"]


def error_to_r(error: BaseException) -> Any:
    """Condition of an exception for R: message, classes, fields and the traceback."""
    notes = "".join(f"\n{note}" for note in getattr(error, "__notes__", ()))
    if isinstance(error, DprctError):
        text = r_words(error)
    else:
        text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
        text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return to_r(
        {
            "message": (text or type(error).__name__) + notes,
            "classes": classes_of(type(error), "error"),
            "traceback": "".join(traceback.format_exception(error)),
            "fields": _fields(error),
        }
    )


def warning_to_r(category: type[Warning], message: Warning | str) -> Any:
    """Condition of a warning for R; one that came from R is its own condition."""
    if isinstance(message, RWarning) and message.condition is not None:
        return named_list({"condition": message.condition})
    return to_r({"message": r_words(message), "classes": classes_of(category, "warning")})


def _fields(error: BaseException) -> dict[str, Any]:
    """Return the public attributes that have a form in R."""
    out = {}
    for name, value in vars(error).items():
        if not name.startswith("_") and name not in _NOT_SHOWN:
            with contextlib.suppress(ConversionError):
                out[name] = to_r(value)
    return out
