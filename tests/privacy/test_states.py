from __future__ import annotations

import os
import sys

import pytest

from dprct.errors import LedgerError, ParameterError
from dprct.privacy.budget import Budget
from dprct.privacy.entries import Ledger
from dprct.privacy.ledger import Memory, decoded_state, encoded_state

EMPTY = Ledger(Budget(1), "replace-one", "person", "sequential")


@pytest.mark.parametrize("state", [b"", b"\x00\xff", {}, {"cells": [1, 10**30], "t": 0.5}])
def test_states_come_back(state: bytes | dict[str, object]) -> None:
    assert decoded_state("1-a", encoded_state("1-a", state)) == state


@pytest.mark.parametrize("state", [{"x": float("nan")}, {"x": object()}, 3, "text"])
def test_what_is_not_json_is_refused(state) -> None:
    with pytest.raises((ParameterError, TypeError, ValueError)) as refusal:
        encoded_state("1-a", state)
    assert isinstance(refusal.value, ParameterError)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"3", b"\xff", b'{"entry": "other", "state": {}}', b'{"entry": "1-a"}'],
)
def test_a_damaged_state_is_refused(content: bytes) -> None:
    with pytest.raises(LedgerError, match="damaged"):
        decoded_state("1-a", content)


def test_one_charge_pays_for_one_release() -> None:
    memory = Memory(EMPTY)
    memory.save_state("1-a", {"x": 1})
    memory.save_state("1-a", {"x": 1})
    with pytest.raises(LedgerError, match="charge again"):
        memory.save_state("1-a", {"x": 2})
    assert memory.load_state("1-a") == {"x": 1}
    with pytest.raises(LedgerError, match="no released state"):
        memory.load_state("2-b")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not fork")
def test_a_forked_copy_of_memory_refuses(monkeypatch) -> None:
    memory = Memory(EMPTY)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(LedgerError, match="belongs to the process"):
        memory.read()
