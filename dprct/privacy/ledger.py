"""A ledger on file: locked against other processes, only ever appended to, never silently fresh.

It is appended to by replacing the file with a longer one, atomically: after a crash the old or the
new ledger is there, and never a line that was cut off.  A file that ends too early was damaged,
and is refused.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import secrets
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dprct.errors import LedgerError, ParameterError
from dprct.privacy.charges import ENTRY_ID
from dprct.privacy.entries import Ledger
from dprct.privacy.states import decoded_state, encoded_state, refuse_other

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

SUFFIX = ".ledger.json"
_SAFE_ID = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9_-])?")
_DEVICES = {"con", "prn", "aux", "nul"} | {f"{d}{i}" for d in ("com", "lpt") for i in range(10)}


def ledger_path(data_path: str | os.PathLike[str], dataset_id: str) -> Path:
    """Return where the ledger of a data set lives: beside the data file.

    Parameters
    ----------
    data_path : path
        The confidential data file; it need not exist.  A link stands for what it points to, so
        that a second name in another folder does not begin a second budget.
    dataset_id : str
        The declared name of the data set: letters, digits, ``. _ -``, at most 100 of them.

    Raises
    ------
    ParameterError
        If ``dataset_id`` is not safe as a file name on every platform.

    Examples
    --------
    >>> ledger_path("study/liberia.dta", "liberia-2017").as_posix()
    'study/liberia-2017.ledger.json'
    """
    path = Path(data_path)
    folder = (path.resolve() if path.is_symlink() else path).parent
    return folder / f"{checked_id(dataset_id)}{SUFFIX}"


def checked_id(dataset_id: str) -> str:
    """Return ``dataset_id``, or raise ParameterError if it is not a safe file name."""
    if not _SAFE_ID.fullmatch(dataset_id) or dataset_id.split(".")[0].lower() in _DEVICES:
        raise ParameterError(
            f"dataset_id={dataset_id!r} is not usable as a file name; use up to 100 letters, "
            "digits, '.', '_' or '-', beginning with a letter or digit"
        )
    return dataset_id


class LedgerFile:
    """One ledger file, its lock, and the released states beside it.

    Parameters
    ----------
    path : path
        The ledger; ``<path>.lock`` is its lock and ``<stem>.released/`` its released states.
    timeout : float, default 30
        Seconds to wait for another process before giving up.

    Notes
    -----
    The lock is the operating system's: it ends with the process that holds it, whatever way that
    process ends.  It lies on a file of its own because the ledger itself is replaced, not written.
    """

    def __init__(self, path: str | os.PathLike[str], timeout: float = 30.0) -> None:
        self.path = Path(path).resolve()
        self.timeout = timeout

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
            self._wait_for(handle)
            try:
                yield
            finally:
                _unlock(handle)
        finally:
            os.close(handle)

    def _wait_for(self, handle: int) -> None:
        deadline = time.monotonic() + self.timeout
        while not _try_lock(handle):
            if time.monotonic() >= deadline:
                raise LedgerError(
                    f"ledger {self.path} has been locked by another process for over "
                    f"{self.timeout:g} seconds; wait until that process ends and try again"
                )
            time.sleep(0.01)

    def read(self, dataset_id: str | None = None) -> Ledger:
        """Return the ledger; LedgerError if missing, damaged, cut, or of another data set."""
        paid_for = self._saved_entries()  # before the ledger: a charge comes before its state
        try:
            ledger = Ledger.from_dict(json.loads(self.path.read_text(encoding="utf-8")))
        except FileNotFoundError as error:
            raise LedgerError(
                f"there is no ledger {self.path}; restore it from a backup, or, where nothing was "
                "ever released from these data, begin it with Accountant.open"
            ) from error
        except OSError as error:
            raise LedgerError(f"cannot read ledger {self.path}: {error.strerror}") from error
        except LedgerError as error:
            raise LedgerError(f"ledger {self.path} is refused: {error}") from error
        except (ValueError, RecursionError) as error:
            raise LedgerError(
                f"ledger {self.path} is damaged: it is not JSON; restore it from a backup"
            ) from error
        if dataset_id is not None and ledger.dataset_id != dataset_id:
            raise LedgerError(
                f"ledger {self.path} belongs to data set {ledger.dataset_id!r}, not "
                f"{dataset_id!r}; give the id it was opened with"
            )
        if not paid_for <= {entry.id for entry in ledger.entries}:
            raise LedgerError(
                f"ledger {self.path} lost entries: {self.states} holds releases that it did not "
                "pay for; restore the newest copy"
            )
        return ledger

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
        """Append: replace the file by ``ledger``, which continues it; hold the lock meanwhile.

        Raises
        ------
        LedgerError
            If the file has anything that ``ledger`` lacks, or cannot be written.
        """
        if os.path.lexists(self.path) and not ledger.continues(self.read()):
            raise LedgerError(f"ledger {self.path} is only ever appended to; load it again")
        self._sweep(self.path)
        text = json.dumps(ledger.to_dict(), indent=2, ensure_ascii=False) + "\n"
        replace_file(self.path, text.encode())

    def _sweep(self, target: Path) -> None:
        """Remove what a killed process left half written; under the lock nobody else writes."""
        for draft in target.parent.glob(f".{target.name}.*.tmp"):
            with contextlib.suppress(OSError):
                draft.unlink()

    def save_state(self, entry_id: str, state: bytes | Mapping[str, Any]) -> str:
        """Save what was released for an entry, only once; return the SHA-256 of the file."""
        try:
            self.states.mkdir(exist_ok=True)
        except OSError as error:
            raise LedgerError(f"cannot make {self.states}: {error.strerror}") from error
        target = self._state_path(entry_id)
        content = encoded_state(entry_id, state)
        if target.exists():
            refuse_other(entry_id, target.read_bytes(), content)
        else:
            self._sweep(target)
            replace_file(target, content)
        return hashlib.sha256(content).hexdigest()

    def load_state(self, entry_id: str, sha256: str | None) -> bytes | dict[str, Any]:
        """Return what was released for an entry.

        Raises
        ------
        LedgerError
            If nothing was saved, or not what has this SHA-256.
        """
        try:
            content = self._state_path(entry_id).read_bytes()
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
    """Write ``content`` so that after a crash the old or the new file is there, never a part."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    try:
        with open(draft, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, draft)
        os.replace(draft, path)
        _sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise LedgerError(
            f"cannot write {path}: {error.strerror}; make room, or its folder writable"
        ) from error


def _sync_folder(folder: Path) -> None:
    if sys.platform != "win32":  # a folder cannot be opened there; NTFS journals the rename
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _try_lock(handle: int) -> bool:
    try:
        if sys.platform == "win32":
            os.lseek(handle, 0, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError as error:
        raise LedgerError(
            f"this file system cannot lock files ({error.strerror}); keep the ledger on another"
        ) from error
    return True


def _unlock(handle: int) -> None:
    if sys.platform == "win32":
        os.lseek(handle, 0, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)
    else:
        fcntl.flock(handle, fcntl.LOCK_UN)
