"""What a charge paid for: the released state of an entry, kept so that a crash does not cost it."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
from typing import TYPE_CHECKING, Any

from dprct.errors import LedgerError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from dprct.privacy.entries import Ledger


class Memory:
    """A ledger in the memory of one process; a forked copy refuses to be used."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._states: dict[str, bytes] = {}
        self._process = os.getpid()

    def locked(self) -> AbstractContextManager[object]:
        """Hold nothing: the accountant's own lock keeps other threads out."""
        return contextlib.nullcontext()

    def read(self, dataset_id: str | None = None) -> Ledger:
        """Return the ledger; LedgerError in a process that did not make it."""
        if os.getpid() != self._process:
            raise LedgerError(
                "an accountant in memory belongs to the process that made it; save it to a file "
                "and load it in each process"
            )
        return self._ledger

    def write(self, ledger: Ledger) -> None:
        """Replace the ledger."""
        self._ledger = ledger

    def save_state(self, entry_id: str, state: bytes | Mapping[str, Any]) -> str:
        """Keep what was released for an entry, only once; return its SHA-256."""
        content = encoded_state(entry_id, state)
        refuse_other(entry_id, self._states.setdefault(entry_id, content), content)
        return hashlib.sha256(content).hexdigest()

    def load_state(self, entry_id: str, sha256: str | None = None) -> bytes | dict[str, Any]:
        """Return what was released for an entry; LedgerError if nothing was saved."""
        if entry_id not in self._states:
            raise LedgerError(f"no released state of entry {entry_id} was saved")
        return decoded_state(entry_id, self._states[entry_id])

    def has_state(self, entry_id: str) -> bool:
        """Whether anything was saved for an entry."""
        return entry_id in self._states

    def states(self) -> dict[str, bytes | dict[str, Any]]:
        """Return every state, by entry."""
        return {entry_id: self.load_state(entry_id) for entry_id in self._states}


def refuse_other(entry_id: str, kept: bytes, content: bytes) -> None:
    """Raise LedgerError if an entry would pay for a second release."""
    if kept != content:
        raise LedgerError(
            f"entry {entry_id} already paid for another release; charge again for this one"
        )


def encoded_state(entry_id: str, state: bytes | Mapping[str, Any]) -> bytes:
    """Return the file content for a released state: JSON, with bytes as base64."""
    try:
        key, value = (
            ("base64", base64.b64encode(state).decode())
            if isinstance(state, bytes)
            else ("state", dict(state))
        )
        return json.dumps({"entry": entry_id, key: value}, allow_nan=False, indent=1).encode()
    except (TypeError, ValueError) as error:
        raise ParameterError(
            "a released state must be bytes or a dict of JSON values without NaN"
        ) from error


def decoded_state(entry_id: str, content: bytes) -> bytes | dict[str, Any]:
    """Return the state that :func:`encoded_state` wrote; LedgerError if it is damaged."""
    try:
        facts = json.loads(content)
        if facts["entry"] != entry_id:
            raise ValueError("entry")
        if "base64" in facts:
            return base64.b64decode(facts["base64"], validate=True)
        return dict(facts["state"])
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise LedgerError(f"the released state of entry {entry_id} is damaged") from error
