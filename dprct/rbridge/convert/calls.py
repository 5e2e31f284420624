"""Calls of R functions with R objects: errors of R's become exceptions that hold the condition."""

from __future__ import annotations

import warnings
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from dprct.rbridge.attach import attach
from dprct.rbridge.convert.vectors import fields, flag, list_of, short_texts, text

if TYPE_CHECKING:
    from collections.abc import Callable

messages: ContextVar[Callable[[Any], None] | None] = ContextVar("messages", default=None)
"""Who gets the message conditions of R code that Python calls; None prints them."""


class RError(RuntimeError):
    """An error of R code that Python called.

    Attributes
    ----------
    condition : R object
        The condition, to be signalled again where R is the caller.
    """

    def __init__(self, message: str, condition: Any = None) -> None:
        super().__init__(message)
        self.condition = condition


class RWarning(UserWarning):
    """A warning of R code that Python called."""

    def __init__(self, message: str, condition: Any = None) -> None:
        super().__init__(message)
        self.condition = condition


def call_r(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the value of an R function of R objects.

    Warns
    -----
    RWarning
        For every warning.
    """
    session = attach()
    given = list_of([*args, *kwargs.values()])
    if kwargs:
        given = session.function("with_names")(given, short_texts([""] * len(args) + list(kwargs)))
    out = fields(session.function("run_safely")(function, given))
    for condition in out["warnings"]:
        warnings.warn(RWarning(_message(condition), condition), stacklevel=3)
    for condition in out["messages"]:
        _pass_on(condition)
    status = text(out["status"])
    if status == "interrupt":
        raise KeyboardInterrupt
    if status == "error":
        raise RError(text(out["text"]), out["value"])
    return out["value"]


def _message(condition: Any) -> str:
    return text(attach().base("conditionMessage")(condition))


def _pass_on(condition: Any) -> None:
    listener = messages.get()
    if listener is not None:
        listener(condition)
    else:
        attach().function("say")(short_texts([_message(condition)]), flag(True))
