"""The one entry from R: run the call that waits under a key, and leave its outcome there."""

from __future__ import annotations

import contextlib
import io
import logging
import sys
import threading
import traceback
import warnings
from dataclasses import field
from typing import TYPE_CHECKING, Any, TextIO

from dprct import __version__
from dprct.rbridge import PROTOCOL, api
from dprct.rbridge.attach import attach
from dprct.rbridge.conditions import error_to_r, warning_to_r
from dprct.rbridge.convert import RError, named_from_r, to_r
from dprct.rbridge.convert.calls import messages
from dprct.rbridge.convert.records import live
from dprct.rbridge.convert.vectors import (
    flag,
    list_of,
    named_list,
    short_texts,
    text,
)
from dprct.rbridge.interrupts import interruptible, shielded
from dprct.rbridge.registry import exported
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["api", "connect", "run", "serve"]


@dataclass
class _Frames:
    """R's environment of the calls in progress, by key."""

    table: Any = None


_frames = _Frames()


class _Console(io.TextIOBase):
    """What Python prints, through R's own output, where ``sink`` and knitr see it."""

    def __init__(self, fallback: TextIO | None, *, err: bool) -> None:
        self._fallback, self._err, self._waiting = fallback, err, ""
        self._saying = False

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        """Whether somebody reads R's console, who should know that work takes long."""
        if not self._err or threading.current_thread() is not threading.main_thread():
            return False
        base = attach().base
        return [*base("getOption")(short_texts(["dprct.verbose"]), base("interactive")())] == [True]

    def write(self, words: str) -> int:
        # where Python hosts R, what R says is printed by Python, and would come back here
        if self._saying or threading.current_thread() is not threading.main_thread():
            return self._fallback.write(words) if self._fallback is not None else len(words)
        self._waiting += words
        if "\n" in words or "\r" in words:
            self.flush()
        return len(words)

    def flush(self) -> None:
        if self._waiting and threading.current_thread() is threading.main_thread():
            words, self._waiting = self._waiting.replace("\0", ""), ""
            self._saying = True
            try:
                attach().function("say")(short_texts([words]), flag(self._err))
            finally:
                self._saying = False


class _Listener(logging.Handler):
    """Records of the package's logger, as they come."""

    def __init__(self, heard: list[Any]) -> None:
        super().__init__(logging.INFO)
        self._heard = heard

    def emit(self, record: logging.LogRecord) -> None:
        self._heard.append({"level": record.levelname.lower(), "message": self.format(record)})


@dataclass
class _Outcome:
    """What a call leaves in its frame."""

    status: str = "error"
    value: Any = None
    warned: list[warnings.WarningMessage] = field(default_factory=list)
    heard: list[Any] = field(default_factory=list)

    def write(self, frame: Any) -> None:
        frame["value"] = attach().ri.NULL if self.value is None else self.value
        frame["warnings"] = list_of(warning_to_r(w.category, w.message) for w in self.warned)
        frame["records"] = list_of(
            to_r(heard) if isinstance(heard, dict) else named_list({"condition": heard})
            for heard in self.heard
        )
        frame["status"] = short_texts([self.status])


def connect(address: str) -> dict[str, str]:
    """Find R's table of frames, in ``"dprct::the"``, and say who is here."""
    package, name = address.split("::")
    session = attach()
    namespace = session.base("asNamespace")(short_texts([package]))
    _frames.table = namespace[name]["frames"]
    return {"version": __version__, "protocol": str(PROTOCOL)}


def serve(frames: Any) -> None:
    """Take the frames from this R environment; for tests and for Python sessions that host R."""
    _frames.table = frames


def run(key: str) -> bool:
    """Run the call that waits under ``key``; its outcome is in its frame, nothing is raised."""
    with shielded():
        session = attach()
        session.drain()
        frame = _frames.table[key]
        outcome = _Outcome()
        try:
            _call(frame, outcome)
        except KeyboardInterrupt:
            outcome.status, outcome.value = "interrupt", None
        except RError as error:
            outcome.status, outcome.value = "condition", error.condition
            traceback.clear_frames(error.__traceback__)
        except BaseException as error:  # SystemExit, too, must not end R
            outcome.status, outcome.value = "error", error_to_r(error)
            traceback.clear_frames(error.__traceback__)
        outcome.write(frame)
    return True


def _call(frame: Any, outcome: _Outcome) -> None:
    live.sweep()
    with _listening(outcome):
        function = exported(text(frame["fn"]))
        given = frame["args"]
        arguments = named_from_r(given) if len(given) else {}
        with interruptible():
            result = function(**arguments)
        outcome.value = to_r(result)
    outcome.status = "ok"


@contextlib.contextmanager
def _listening(outcome: _Outcome) -> Iterator[None]:
    """Collect warnings, log records and messages; let R print what Python prints."""
    logger, handler = logging.getLogger("dprct"), _Listener(outcome.heard)
    level, token = logger.level, messages.set(outcome.heard.append)
    out, err = _Console(sys.__stdout__, err=False), _Console(sys.__stderr__, err=True)
    logger.addHandler(handler)
    if not logger.isEnabledFor(logging.INFO):
        logger.setLevel(logging.INFO)
    try:
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            warnings.catch_warnings(record=True) as warned,
        ):
            # the others speak to programmers
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", UserWarning)
            outcome.warned = warned
            yield
    finally:
        out.flush()
        err.flush()
        logger.removeHandler(handler)
        logger.setLevel(level)
        messages.reset(token)
