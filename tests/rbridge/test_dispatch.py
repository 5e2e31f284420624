from __future__ import annotations

import logging
import sys
import warnings

import pytest

from dprct import __version__
from dprct.errors import BudgetError, DprctWarning
from dprct.rbridge import PROTOCOL, dispatch
from dprct.rbridge.convert import Record, from_r
from dprct.rbridge.registry import export

LOGGER = logging.getLogger("dprct.rbridge.test")


@export("test_refuse")
def refuse() -> None:
    raise BudgetError("asked for epsilon=2, 1 is left")


@export("test_exit")
def leave() -> None:
    sys.exit(1)


@export("test_stop")
def stop() -> None:
    raise KeyboardInterrupt


@export("test_speak")
def speak(f=None) -> str:
    LOGGER.info("half way")
    LOGGER.debug("not heard")
    warnings.warn("lost", DprctWarning, stacklevel=1)
    warnings.warn("nobody's business", DeprecationWarning, stacklevel=1)
    print("printed")
    print("unfinished", end="")
    print("to err", file=sys.stderr)
    return "" if f is None else f()


@export("test_keep")
def keep() -> Record:
    return Record(("dprct_test_thing",), {"n": 1}, live=object())


@export("test_options")
def options(options: object = None) -> str:
    return repr(options)


@export("test_type")
def type_of(x) -> str:
    return type(x).__name__


def status(frame) -> str:
    return str(frame["status"][0])


def test_a_value_is_left_in_the_frame(r):
    frame = r.cross("identity", "list(x = 1:3)")
    assert status(frame) == "ok"
    assert r.identical(frame["value"], r("1:3"))
    assert (len(frame["warnings"]), len(frame["records"])) == (0, 0)


def test_a_refusal_is_left_as_a_condition(r):
    frame = r.cross("test_refuse")
    assert status(frame) == "error"
    value = from_r(frame["value"])
    assert value["classes"][0] == "dprct_budget_error"


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("test_exit", "list()", "error"),
        ("test_stop", "list()", "interrupt"),
        ("no such", "list()", "error"),
        ("identity", "list(x = globalenv())", "error"),
        ("identity", "list(y = 1)", "error"),
        ("test_speak", "list(f = function() stop('boo'))", "condition"),
    ],
)
def test_nothing_is_ever_raised(r, name, arguments, expected):
    assert status(r.cross(name, arguments)) == expected


def test_warnings_and_records_are_left_too(r):
    frame = r.cross("test_speak", "list(f = function() { message('hi'); warning('w'); 'said' })")
    assert from_r(frame["value"]) == "said"
    first, second = frame["warnings"]
    assert from_r(first)["message"] == "lost"
    assert "simpleWarning" in list(second[0].rclass)
    heard, passed = frame["records"]
    assert from_r(heard) == {"level": "info", "message": "half way"}
    assert "simpleMessage" in list(passed[0].rclass)
    assert LOGGER.getEffectiveLevel() != logging.INFO


def test_what_python_prints_goes_through_r(r):
    r("{con <- textConnection('said', 'w'); sink(con)}")
    try:
        r.cross("test_speak")
    finally:
        r("{sink(); close(con)}")
    assert list(r("said")) == ["printed", "unfinished"]


def test_what_r_prints_through_python_does_not_come_back(r, caplog):
    assert status(r.cross("test_speak")) == "ok"
    assert "RecursionError" not in caplog.text


def test_an_object_lives_as_long_as_r_holds_it(r):
    from dprct.rbridge.convert.records import live

    r("{gc(FALSE); NULL}")  # what other tests dropped goes first
    r.room["thing"] = r.cross("test_keep")["value"]
    before = len(live.held)
    assert from_r(r.cross("test_type", "list(x = thing)")["value"]) == "object"
    r.cross("identity", "list(x = 1)")  # the table of calls held the thing, too
    r("{rm(thing); gc(FALSE); NULL}")
    r.cross("identity", "list(x = 1)")
    assert len(live.held) == before - 1


def test_the_r_package_is_greeted_with_version_and_protocol(r, monkeypatch):
    r("{pretend <- new.env(); pretend$frames <- new.env()}")
    monkeypatch.setattr(
        dispatch, "attach", lambda: type("S", (), {"base": lambda *_: lambda _: r.room})()
    )
    assert dispatch.connect("x::pretend") == {"version": __version__, "protocol": str(PROTOCOL)}
    monkeypatch.undo()
    r("rm(pretend)")


@pytest.mark.parametrize(
    "missing", ["NA", "NA_integer_", "NA_real_", "NA_character_", "as.Date(NA)", "factor(NA)"]
)
def test_a_lone_na_is_not_taken_for_null(r, missing):
    for given in (f"list(options = {missing})", f"list(options = list(options = {missing}))"):
        frame = r.cross("test_options", given)
        assert frame["status"][0] == "error"
        assert from_r(frame["value"])["message"] == "options is NA; give a value, or leave it out"
    for given in ("NULL", "list(options = NULL)", "c(1, NA)"):
        assert r.cross("test_options", f"list(options = {given})")["status"][0] == "ok"


def test_what_takes_long_is_said_where_a_person_is_at_the_console(r) -> None:
    out, err = dispatch._Console(sys.__stdout__, err=False), dispatch._Console(None, err=True)
    try:
        for told in (True, False):
            r(f"options(dprct.verbose = {str(told).upper()})")
            assert (err.isatty(), out.isatty()) == (told, False)
    finally:
        r("options(dprct.verbose = NULL)")
