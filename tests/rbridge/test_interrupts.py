from __future__ import annotations

import signal
import time
from types import SimpleNamespace

import pytest

from dprct.rbridge import interrupts
from dprct.rbridge.interrupts import interruptible, shielded


@pytest.fixture
def flags(monkeypatch):
    made = interrupts._Flags(SimpleNamespace(value=0), SimpleNamespace(value=0))
    monkeypatch.setattr(interrupts, "_flags", made)
    return made


def press(flags) -> None:
    flags.pending.value = 1
    interrupts._on_interrupt(2, None)


def test_it_waits_in_the_bridge_and_comes_when_the_work_begins(flags):
    def work() -> None:
        with shielded():
            press(flags)
            with interruptible():
                pytest.fail("the work began")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert (flags.pending.value, flags.suspended.value, flags.shielded) == (0, 0, False)


def test_it_comes_at_once_in_the_work(flags):
    with shielded(), interruptible():
        assert flags.suspended.value == 0
        with pytest.raises(KeyboardInterrupt):
            press(flags)
    assert not flags.shielded


def test_what_r_has_dealt_with_is_over(flags):
    interrupts._on_interrupt(2, None)
    flags.suspended.value = 1
    press(flags)
    assert flags.pending.value == 1


def test_without_a_host_nothing_is_touched():
    with shielded(), interruptible():
        assert interrupts._flags.pending is None


WORK = """
stopifnot(dprct_available())
reticulate::py_run_string('
from dprct.rbridge.registry import export
import time
@export("spin")
def spin(how, f):
    end = time.monotonic() + 100
    if how == "sleep":
        time.sleep(100)
    while time.monotonic() < end:
        if how == "callback":
            f()
')
for (how in c("loop", "sleep", "callback")) {
  answer <- tryCatch({
    message("ready")
    dprct:::dprct_call("spin", how = how, f = function() Sys.sleep(100))
  }, interrupt = function(e) "stopped")
  cat(answer, how, "")
}
cat(dprct:::dprct_call("identity", x = "usable"))
"""


def test_ctrl_c_stops_the_work_and_leaves_the_session_usable(host):
    process = host.start(WORK)
    for line in process.stderr:
        if line.startswith("ready"):
            time.sleep(0.5)  # into the middle of the work
            process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert out == "stopped loop stopped sleep stopped callback usable"
