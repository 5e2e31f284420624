"""A ledger on file: locked against other processes, only ever appended to, never silently fresh.

A charge adds lines before the last one, which has the sums of all, and writes that one again: it
takes as long in a long ledger as in a short one.  What the last line was lies in a file next to the
ledger until the new one is on the disk, so that after a crash the old or the new ledger is there.
A file that ends too early without that was damaged, and is refused.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import re
import stat
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from dprct import disk
from dprct.errors import LedgerError, ParameterError, marked
from dprct.privacy.charges import ENTRY_ID
from dprct.privacy.entries import (
    Damage,
    Seen,
    digest_after,
    last_line,
    lines_beyond,
    rendered,
    seen,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
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
        """Saved release of an entry; LedgerError if nothing was saved."""
        if entry_id not in self._states:
            raise LedgerError(f"no released state of entry {entry_id} was saved")
        return decoded_state(entry_id, self._states[entry_id])

    def has_state(self, entry_id: str) -> bool:
        """Whether anything was saved for an entry."""
        return entry_id in self._states

    def states(self) -> dict[str, bytes | dict[str, Any]]:
        """Every state, by entry."""
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
            "a released state must be bytes or ``a dict`` of JSON values without NaN"
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


_MOST = 2**30
_ATTEMPTS = 3

SUFFIX = ".ledger.json"
_SAFE_ID = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9_-])?")
_DEVICES = {"con", "prn", "aux", "nul"} | {f"{d}{i}" for d in ("com", "lpt") for i in range(10)}


def ledger_path(data_path: str | os.PathLike[str], dataset_id: str) -> Path:
    """Place of the ledger of a data set: next to the data file.

    Parameters
    ----------
    data_path : path
        The confidential data file; it need not exist.  A link stands for what it points to, so
        that a second name in another folder does not begin a second budget.
    dataset_id : str
        The declared name of the data set: letters, digits, ``. _ -``, at most 100 of them.

    Examples
    --------
    >>> ledger_path("study/liberia.dta", "liberia-2017").as_posix()
    'study/liberia-2017.ledger.json'
    """
    path = Path(data_path)
    folder = (path.resolve() if path.is_symlink() else path).parent
    return folder / f"{checked_id(dataset_id)}{SUFFIX}"


def kept_ledger(data_path: str | os.PathLike[str], dataset_id: str) -> Path | None:
    """Return the ledger next to a data file, or None where nothing was kept for the data set."""
    path = ledger_path(data_path, dataset_id)
    return path if LedgerFile(path).exists() else None


def checked_id(dataset_id: str) -> str:
    """Return ``dataset_id``, or raise ParameterError if it is not a safe file name."""
    if not _SAFE_ID.fullmatch(dataset_id) or dataset_id.split(".")[0].lower() in _DEVICES:
        raise ParameterError(
            f"``dataset_id={dataset_id!r}`` is not usable as a file name; use up to 100 letters, "
            "digits, '.', '_' or '-', beginning with a letter or digit"
        )
    return dataset_id


class LedgerFile:
    """One ledger file, its lock, and the released states next to it.

    Parameters
    ----------
    path : path
        The ledger; ``<path>.lock`` is its lock and ``<stem>.released/`` its released states.
    timeout : float, default 30
        Seconds to wait for another process before giving up.

    Notes
    -----
    The lock is the operating system's: it ends with the process that holds it, whatever way that
    process ends.  It lies on a file of its own because a ledger of an earlier version is replaced.
    """

    def __init__(self, path: str | os.PathLike[str], timeout: float = 30.0) -> None:
        self.path = Path(path).resolve()
        self.timeout = timeout
        self._seen: Seen | None = None

    @property
    def states(self) -> Path:
        """The folder of released states."""
        return self.path.with_name(self.path.stem + ".released")

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock; LedgerError if another process keeps it beyond the timeout."""
        lock = self.path.with_name(self.path.name + ".lock")
        try:
            handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise LedgerError(
                f"cannot lock ledger {self.path}: {error.strerror}; make its folder writable"
            ) from error
        try:
            with self._lock_of(handle):
                yield
        finally:
            os.close(handle)

    @contextlib.contextmanager
    def _lock_of(self, handle: int) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            try:
                got = stack.enter_context(disk.locked(handle, self.timeout))
            except OSError as error:
                raise LedgerError(
                    f"this file system cannot lock files ({error.strerror}); keep the ledger on "
                    "another"
                ) from error
            if not got:
                raise LedgerError(
                    f"ledger {self.path} has been locked by another process for over "
                    f"{self.timeout:g} seconds; wait until that process ends and try again"
                )
            yield

    def read(self, dataset_id: str | None = None) -> Ledger:
        """Return the ledger; LedgerError if missing, damaged, cut, or of another data set.

        What was read before is not read again, if it stands there still.
        """
        try:
            self._seen = self._read()
        except FileNotFoundError as error:
            raise LedgerError(
                f"there is no ledger {self.path}; restore it from a backup, or, where nothing was "
                "ever released from these data, begin it with ``Accountant.open``"
            ) from error
        except OSError as error:
            raise LedgerError(f"cannot read ledger {self.path}: {error.strerror}") from error
        except Damage as error:
            raise LedgerError(
                f"ledger {self.path} is damaged: {marked(error)}; restore it from a backup"
            ) from error
        except LedgerError as error:
            raise LedgerError(f"ledger {self.path} is refused: {marked(error)}") from error
        ledger = self._seen.ledger
        if dataset_id is not None and ledger.dataset_id != dataset_id:
            raise LedgerError(
                f"ledger {self.path} belongs to data set {ledger.dataset_id!r}, not "
                f"{dataset_id!r}; give the id it was opened with"
            )
        return ledger

    def _read(self) -> Seen:
        """Return the file's content; lines that were read before are not parsed again."""
        for attempt in range(_ATTEMPTS):
            if attempt:
                time.sleep(0.002)  # somebody may have appended between two readings
            paid_for = self._saved_entries()  # before the ledger: a charge comes before its state
            with disk.opened(self.path) as file:
                known = self._seen and self._seen.again(file)
                if known is not None:
                    return known
                file.seek(0)
                raw = disk.read_at_most(file, _MOST)
                state = os.fstat(file.fileno())
            if len(raw) > _MOST:
                raise Damage(f"it has more than {_MOST // 2**20} MB")
            try:
                found = seen(raw, state)
            except Damage:
                before = self._before_append(raw)
                if before is None and attempt + 1 < _ATTEMPTS:
                    continue
                if before is None:
                    raise
                found = seen(before, None)
            if not paid_for <= found.ids:
                raise LedgerError(
                    f"it lost entries: {self.states} holds releases that it did not pay for; "
                    "restore the newest copy"
                )
            return found
        raise AssertionError("unreachable")

    @property
    def _pending(self) -> Path:
        """What the end of the ledger was before an append that has not ended."""
        return self.path.with_name(f".{self.path.name}.pending")

    def _before_append(self, raw: bytes) -> bytes | None:
        """Return the ledger as it was before an append that was cut off; None if none was."""
        try:
            pending = json.loads(disk.content(self._pending, disk.MOST_JSON))
            at, end = pending["at"], pending["end"]
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            return None
        if type(at) is not int or not isinstance(end, str) or not 0 < at <= len(raw):
            return None
        return raw[:at] + end.encode("utf-8", "replace")

    def _saved_entries(self) -> set[str]:
        found = self.states.glob("*.json") if self.states.is_dir() else ()
        return {path.stem for path in found if ENTRY_ID.fullmatch(path.stem)}

    def exists(self) -> bool:
        """Whether there is a ledger; LedgerError if there was one and only its releases remain."""
        if os.path.lexists(self.path):
            return True
        if self.states.is_dir() and any(self.states.iterdir()):
            raise LedgerError(
                f"ledger {self.path} is gone but its released states are in {self.states}; "
                "restore it from a backup"
            )
        return False

    def write(self, ledger: Ledger) -> None:
        """Append what ``ledger`` has beyond the file, durably; hold the lock meanwhile."""
        known = None
        if os.path.lexists(self.path):
            if not ledger.continues(self.read()):
                raise LedgerError(f"ledger {self.path} is only ever appended to; load it again")
            known = self._seen
        disk.sweep(self.path.parent)
        if known is None or known.at is None:  # new, or in the format of an earlier version
            replace_file(self.path, rendered(ledger))
            self._seen = None
        else:
            self._append(known, known.at, ledger)

    def _append(self, known: Seen, at: int, ledger: Ledger) -> None:
        """Replace the last line, which has the sums, by new records and a new last line.

        What the last line was is kept, on the disk, until the new one is there.  After a crash
        the file is whole, or is what it was before.
        """
        lines = lines_beyond(ledger, known.ledger)
        digest = digest_after(known.digest, lines)
        end = last_line(ledger, digest)
        pending = {"at": at, "end": known.end.decode("utf-8")}
        try:
            replace_file(self._pending, json.dumps(pending).encode())
            with disk.uninterrupted(), open(self.path, "r+b") as file:
                try:
                    self._put(file, at, b"".join(lines) + end)
                except BaseException:
                    with contextlib.suppress(OSError):  # else the next reader does it
                        self._put(file, at, known.end)
                        self._pending.unlink()
                    raise
                state = os.fstat(file.fileno())
            self._pending.unlink()
        except OSError as error:
            self._seen = None
            raise LedgerError(
                f"cannot write {self.path}: {error.strerror}; make room, or its folder writable"
            ) from error
        except LedgerError:
            self._seen = None
            raise
        self._seen = known.followed(ledger, lines, end, digest, state)

    @staticmethod
    def _put(file: IO[bytes], at: int, content: bytes) -> None:
        file.seek(at)
        file.write(content)
        file.truncate()
        file.flush()
        os.fsync(file.fileno())

    def check_writable(self) -> None:
        """Refuse, before a charge, what would keep its released state from being saved."""
        probe = self.states / disk.draft_name()
        try:
            disk.make_folder(self.states)
            disk.sweep(self.states)
            try:
                with open(probe, "xb") as file:
                    file.write(b"{}")
                    file.flush()
                    os.fsync(file.fileno())
            finally:
                probe.unlink(missing_ok=True)
        except OSError as error:
            raise LedgerError(
                f"nothing can be saved in {self.states}: {error.strerror}; make it a folder that "
                "you may write; nothing was charged"
            ) from error

    def save_state(self, entry_id: str, state: bytes | Mapping[str, Any]) -> str:
        """Save what was released for an entry, only once; return the SHA-256 of the file."""
        try:
            disk.make_folder(self.states)
        except OSError as error:
            raise LedgerError(f"cannot make {self.states}: {error.strerror}") from error
        target = self._state_path(entry_id)
        content = encoded_state(entry_id, state)
        if target.exists():
            refuse_other(entry_id, disk.content(target, _MOST), content)
        else:
            replace_file(target, content)
        return hashlib.sha256(content).hexdigest()

    def load_state(self, entry_id: str, sha256: str | None) -> bytes | dict[str, Any]:
        """Saved release of an entry."""
        try:
            content = disk.content(self._state_path(entry_id), _MOST)
        except OSError as error:
            raise LedgerError(f"no released state of entry {entry_id} can be read") from error
        if sha256 not in (None, hashlib.sha256(content).hexdigest()):
            raise LedgerError(
                f"the released state of entry {entry_id} was changed after it was saved; restore it"
            )
        return decoded_state(entry_id, content)

    def has_state(self, entry_id: str) -> bool:
        """Whether anything was saved for an entry."""
        return self._state_path(entry_id).is_file()

    def _state_path(self, entry_id: str) -> Path:
        return self.states / f"{entry_id}.json"


def replace_file(path: Path, content: bytes) -> None:
    """Write ``content`` so that after a crash the old or the new file is there, never a part.

    Only its owner may read it; where somebody let a group share an older one, the group still may.
    """
    draft = path.with_name(disk.draft_name())
    try:
        with open(draft, "xb", opener=disk.private) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            draft.chmod(stat.S_IMODE(path.stat().st_mode) & 0o660)
        os.replace(draft, path)
        disk.sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise LedgerError(
            f"cannot write {path}: {error.strerror}; make room, or its folder writable"
        ) from error
