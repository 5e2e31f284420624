"""What the package asks of a disk: ordinary files, locks that end with their process, leftovers.

It knows no format of data.  Whatever is opened for reading is opened here, so that a pipe, a device
or a file without end that lies under the name of a data set cannot hang a command or fill the
memory; and so that no TOML can, studies and schemas are parsed here.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import platform
import re
import secrets
import shutil
import signal
import stat
import sys
import threading
import time
import tomllib
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, overload

from dprct import disk
from dprct.errors import DprctError, FileError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from io import BufferedReader
    from types import FrameType


if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

MOST_TOML = 16 * 2**20
"""Bytes of a study file or a schema: thirty-two thousand columns need a quarter of it."""

MOST_JSON = 256 * 2**20
"""Bytes of a certificate, a document of results or a list of numbers."""

_MOVES = "MOVES"
"""A file in a folder of drafts: all drafts are complete, and take their names."""


def opened(path: str | os.PathLike[str]) -> BufferedReader:
    """Open an ordinary file for reading; a link stands for what it points to.

    Examples
    --------
    >>> import os
    >>> opened(os.devnull)
    Traceback (most recent call last):
        ...
    dprct.errors.FileError: ... is not an ordinary file but a device; give a file on a disk (...)
    """
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
    place = os.fspath(path)
    if "\0" in place:
        raise _refusal(place, "has a NUL character", "check the path")
    if not stat.S_ISREG(os.stat(place).st_mode):  # to open a device may already do something
        _refuse(place, os.stat(place).st_mode)
    handle = os.open(place, flags | getattr(os, "O_CLOEXEC", 0))
    try:
        mode = os.fstat(handle).st_mode
        if not stat.S_ISREG(mode):
            _refuse(place, mode)
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def check_ordinary(path: str | os.PathLike[str]) -> None:
    """Refuse a pipe, a device or a socket, for a library that opens files by itself."""
    opened(path).close()


def begins_with(path: str | os.PathLike[str], start: bytes) -> bool:
    """Whether a file that can be read begins so."""
    try:
        with opened(path) as file:
            return file.read(len(start)) == start
    except (OSError, DprctError):
        return False


def content(path: str | os.PathLike[str], most: int) -> bytes:
    """Content of an ordinary file of at most so many bytes."""
    with opened(path) as file:
        found = read_at_most(file, most)
    if len(found) > most:
        words = f"has more than {most // 2**20} MB, which no such file needs"
        raise _refusal(os.fspath(path), words, "check the path")
    return found


def read_at_most(file: BufferedReader, most: int) -> bytes:
    """Content of an open file, cut after ``most + 1`` bytes.

    Memory is taken for what is there: ``file.read(most + 1)`` takes ``most`` for any file.
    """
    size = os.fstat(file.fileno()).st_size
    found = file.read(min(size, most) + 1)
    while len(found) <= most and (more := file.read(min(1 << 16, most + 1 - len(found)))):
        found += more  # the file has grown
    return found


_DEEPEST = 32
"""Most tables and lists inside each other; a schema has four."""

_ENDLESS = re.compile(
    r"""(?m)(?:^|[\[{,])[ \t]*(?>(?>[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*){16}""", re.ASCII
)
"""A name of more than 16 parts at the start of a line or a table: a parser takes their square."""


def read_toml(path: str | Path, error: type[Exception]) -> dict[str, Any]:
    """Return the contents of a TOML file, or raise ``error`` with the line that is not TOML.

    Python's own parser reads a file of the largest size in seconds; tomlkit, which keeps comments,
    takes a minute for a list of 300,000 numbers, so it only reads what is to be saved over.
    """
    return toml_document(toml_text(path, error), path, error)


def toml_text(path: str | Path, error: type[Exception]) -> str:
    """Return the text of a TOML file, or raise ``error`` if it is none."""
    try:
        return content(path, MOST_TOML).decode("utf-8")
    except OSError as problem:
        raise FileError(
            f"cannot read {str(path)!r}: {problem.strerror}; give a TOML file"
        ) from None
    except UnicodeDecodeError:
        raise error(
            f"{str(path)!r} is not TOML: it is not text in UTF-8; give a study or schema file, or "
            "save it as UTF-8"
        ) from None


def toml_document(text: str, path: str | Path, error: type[Exception]) -> dict[str, Any]:
    """Content of a text in TOML, or raise ``error`` with the line that is not TOML."""
    try:
        if _ENDLESS.search(text):
            raise RecursionError
        document = tomllib.loads(text)
        _check_toml(document, 0)
        return document
    except tomllib.TOMLDecodeError as problem:
        raise error(f"{str(path)!r} is not TOML: {problem}; correct that line") from None
    except RecursionError:
        raise error(
            f"{str(path)!r} has tables or lists more than {_DEEPEST} deep inside each other, or "
            "a name of more than 16 parts; give a study or schema file"
        ) from None
    except (OverflowError, ValueError):  # beyond what Python reads as one number
        raise error(
            f"{str(path)!r} holds a whole number beyond 64 bits, which TOML lacks; correct it"
        ) from None


def _check_toml(value: object, depth: int) -> None:
    """Refuse whole numbers beyond TOML's 64 bits, and depths that nothing here would bear."""
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise OverflowError
    if isinstance(value, (list, dict)):
        if depth > _DEEPEST:
            raise RecursionError
        for one in value.values() if isinstance(value, dict) else value:
            _check_toml(one, depth + 1)


def sha256(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of an ordinary file, or say what is wrong with it."""
    try:
        with opened(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise file_error(error, path, "read") from None


def _refuse(path: str, mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(21, os.strerror(21), path)
    kinds = ((stat.S_ISFIFO, "pipe"), (stat.S_ISSOCK, "socket"))
    kind = next((word for is_such, word in kinds if is_such(mode)), "device")
    advice = "give a file on a disk (a stream: save it to a file first)"
    raise _refusal(path, f"is not an ordinary file but a {kind}", advice)


def _refusal(path: str, words: str, advice: str) -> FileError:
    """Return a refusal, which is an OSError, too: its reason reads as one of the system's."""
    refusal = FileError(f"{path!r} {words}; {advice}")
    refusal.strerror = words
    return refusal


@contextlib.contextmanager
def locked(handle: int, timeout: float) -> Iterator[bool]:
    """Hold the operating system's lock on an open file; yield False if another one keeps it.

    It ends with the process that holds it, whatever way that process ends.
    """
    deadline = time.monotonic() + timeout
    while not (got := _try_lock(handle)) and time.monotonic() < deadline:
        time.sleep(0.01)
    try:
        yield got
    finally:
        if got:
            _unlock(handle)


def _try_lock(handle: int) -> bool:
    try:
        if sys.platform == "win32":
            os.lseek(handle, 0, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def _unlock(handle: int) -> None:
    if sys.platform == "win32":
        os.lseek(handle, 0, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)
    else:
        fcntl.flock(handle, fcntl.LOCK_UN)


_WRITERS: dict[Path, threading.RLock] = {}
_HELD: dict[Path, int] = {}
_REGISTER = threading.Lock()


@contextlib.contextmanager
def writing_into(folder: Path, timeout: float = 60.0) -> Iterator[None]:
    """Keep other writers of this package out of a folder until all of a release is written.

    The lock is on the folder itself, so that nothing is left behind; a second one in the same
    thread is the first.  Windows cannot lock folders: there the lock keeps out the threads of this
    process alone, which docs/reliability.md says.
    """
    place = folder.resolve()
    with _REGISTER:
        mine = _WRITERS.setdefault(place, threading.RLock())
    with mine:
        if _HELD.get(place, 0) or sys.platform == "win32":
            yield
            return
        handle = os.open(place, os.O_RDONLY)
        try:
            with locked(handle, timeout) as got:
                if not got:
                    raise FileError(
                        f"another process has been writing a release into {str(folder)!r} for over "
                        f"{timeout:g} seconds; wait until it ends and try again"
                    )
                _HELD[place] = 1
                try:
                    yield
                finally:
                    del _HELD[place]
        finally:
            os.close(handle)


_HOST = hashlib.sha256(platform.node().encode("utf-8", "replace")).hexdigest()[:8]
_DRAFT = re.compile(rf"\.dprct-{_HOST}-([0-9]{{1,10}})-[0-9a-f]{{8}}(\.part)?")


def draft_name() -> str:
    """Return a fresh name for a draft; it says which process of which machine it belongs to."""
    return f".dprct-{_HOST}-{os.getpid()}-{secrets.token_hex(4)}"


def sweep(folder: Path) -> None:
    """Remove what processes that are gone left in a folder; finish moves that had begun."""
    with contextlib.suppress(OSError):
        for entry in list(os.scandir(folder)):
            found = _DRAFT.fullmatch(entry.name)
            if found is None or _is_alive(int(found[1])) or entry.is_symlink():
                continue
            with contextlib.suppress(OSError, ValueError):
                if entry.is_dir(follow_symlinks=False):
                    drafts = Path(entry.path)
                    if (drafts / _MOVES).is_file():
                        _finish(drafts, folder)
                    shutil.rmtree(drafts)
                else:
                    os.unlink(entry.path)


def _is_alive(process: int) -> bool:
    if process == os.getpid():
        return True
    if sys.platform == "win32":  # os.kill would end it there
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


@contextlib.contextmanager
def drafts(folder: Path) -> Iterator[Path]:
    """Yield a folder for drafts inside ``folder``, and remove it with all it still holds."""
    sweep(folder)
    place = folder / draft_name()
    try:
        place.mkdir(mode=0o700)
        yield place
    finally:
        with uninterrupted():
            shutil.rmtree(place, ignore_errors=True)


def move_all(place: Path, folder: Path, names: Sequence[str]) -> None:
    """Give drafts their names in ``folder``, all or none; what a crash interrupts, a sweep ends.

    A link of that name is replaced, and not followed.
    """
    for name in names:
        with (place / name).open("rb+") as file:
            os.fsync(file.fileno())
    before = {name: _kept(folder / name) for name in names[:-1]}  # nothing follows the last one
    with uninterrupted():
        (place / _MOVES).write_text("\n".join(names), "utf-8")
        sync_folder(place)
        try:
            for name in names:
                _move(place / name, folder / name)
        except BaseException:
            (place / _MOVES).unlink()
            for name, old in before.items():
                _put_back(folder / name, old)
            raise
        sync_folder(folder)
        (place / _MOVES).unlink()


def _move(draft: Path, target: Path) -> None:
    if target.is_file() and not target.is_symlink():
        shutil.copymode(target, draft)
    os.replace(draft, target)


def _kept(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() and not path.is_symlink() else None


def _put_back(path: Path, old: bytes | None) -> None:
    if old is None:
        path.unlink(missing_ok=True)
    else:
        path.write_bytes(old)


def _finish(place: Path, folder: Path) -> None:
    """Finish moves that had begun when their process ended."""
    for name in content(place / _MOVES, MOST_TOML).decode("utf-8").split("\n"):
        if name == Path(name).name and (place / name).is_file():
            _move(place / name, folder / name)
    sync_folder(folder)


def sync_folder(folder: Path) -> None:
    """Make renames durable where folders can be flushed (not on Windows)."""
    if sys.platform == "win32":
        return
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def make_folder(folder: Path) -> None:
    """Make a folder, unless it is there, and its name durable."""
    if not folder.is_dir():
        folder.mkdir(exist_ok=True)
        sync_folder(folder.parent)


def append_line(path: Path, line: bytes, timeout: float = 30.0) -> None:
    """Add a line to a file that only its owner may read, durably, one process after another.

    A line that a crash cut off is ended first: what follows is a line of its own.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
    handle = os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        with locked(handle, timeout), uninterrupted():
            end = os.lseek(handle, 0, os.SEEK_END)
            if end:
                os.lseek(handle, end - 1, os.SEEK_SET)
            cut = end > 0 and os.read(handle, 1) != b"\n"
            os.write(handle, b"\n" * cut + line + b"\n")
            os.fsync(handle)
    finally:
        os.close(handle)
    sync_folder(path.parent)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Put off Ctrl-C and SIGTERM until the end of the block; only for short steps."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    before: dict[signal.Signals, Any] = {}
    for number in (signal.SIGINT, signal.SIGTERM):
        handler = signal.getsignal(number)
        if callable(handler):
            before[number] = handler
            signal.signal(number, lambda n, frame: came.append((n, frame)))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for first, frame in came[:1]:
            before[signal.Signals(first)](first, frame)


def path_of(path: object) -> Path:
    """Return a file name as a path.

    Examples
    --------
    >>> path_of("trial.dta").suffix
    '.dta'
    """
    if isinstance(path, (str, os.PathLike)):
        return Path(path)
    raise ParameterError(f"got ``{type(path).__name__}`` for a path; give a file name")


_ADVICE = {
    errno.ENOENT: "does not exist; check the path",
    errno.EISDIR: "is a folder; name a file",
    errno.ENOTDIR: "lies below something that is not a folder; check the path",
    errno.EACCES: "may not be {deed} by you; change its permissions or choose another place",
    errno.EPERM: "may not be {deed} by you; change its permissions or choose another place",
    errno.EROFS: "is on a read-only disk; choose another place",
    errno.ENOSPC: "does not fit on the disk; free some space or choose another place",
    errno.EDQUOT: "does not fit into your disk quota; free some space or choose another place",
    errno.ENAMETOOLONG: "has a name that is too long; choose a shorter one",
}


def file_error(error: OSError, path: str | os.PathLike[str], deed: str) -> FileError:
    """Sentence on what went wrong with a file and what to do.

    Examples
    --------
    >>> str(file_error(FileNotFoundError(2, "gone"), "a.dta", "read"))
    "'a.dta' does not exist; check the path"
    """
    if isinstance(error, FileError):
        return error
    cause = os.strerror(error.errno) if error.errno else type(error).__name__
    unknown = f"could not be {{deed}} ({cause}); check the path and the disk"
    advice = _ADVICE.get(error.errno or 0, unknown).format(deed=deed)
    refusal = FileError(f"{os.fspath(path)!r} {advice}")
    refusal.errno = error.errno
    return refusal


def private(path: str, flags: int) -> int:
    """Open a new file that only its owner may read and write, as :func:`open` asks of an opener."""
    return os.open(path, flags, 0o600)


@overload
def atomic_write(
    path: str | os.PathLike[str], mode: Literal["wb"] = ..., *, private: bool = ...
) -> contextlib.AbstractContextManager[IO[bytes]]: ...


@overload
def atomic_write(
    path: str | os.PathLike[str], mode: Literal["w"], *, private: bool = ...
) -> contextlib.AbstractContextManager[IO[str]]: ...


@contextlib.contextmanager
def atomic_write(
    path: str | os.PathLike[str], mode: Literal["wb", "w"] = "wb", *, private: bool = False
) -> Iterator[IO[Any]]:
    r"""Open a file for writing that appears under its name only when it is complete.

    Parameters
    ----------
    path : path
        Where the file shall be; an existing file is replaced and keeps its permissions.
    mode : {"wb", "w"}
        Bytes, or UTF-8 text with ``\n`` at the end of a line.
    private : bool
        Whether only its owner may read it, whoever might read an older file of that name.

    Notes
    -----
    A temporary file in the same folder is written, flushed to the disk and renamed.  Whatever
    interrupts the block, a ``KeyboardInterrupt`` included, removes it and leaves an older file
    under the name as it was.  What a killed process left is removed by the next one that writes
    into the folder.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> target = Path(tempfile.mkdtemp()) / "note.txt"
    >>> with atomic_write(target, "w") as f:
    ...     _ = f.write("complete")
    >>> target.read_text()
    'complete'
    """
    try:
        target = _target(path_of(path))
        disk.sweep(target.parent)
        temporary = target.with_name(f"{disk.draft_name()}.part")
        try:
            text: dict[str, Any] = {"encoding": "utf-8", "newline": "\n"} if mode == "w" else {}
            opener = disk.private if private else None
            with open(temporary, mode.replace("w", "x"), opener=opener, **text) as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            if not private:
                _keep_permissions(temporary, target)
            os.replace(temporary, target)
        except BaseException:
            with disk.uninterrupted():
                temporary.unlink(missing_ok=True)
            raise
        disk.sync_folder(target.parent)
    except DprctError:
        raise
    except OSError as error:
        raise file_error(error, path, "written") from None


def _target(path: Path) -> Path:
    """Place where ``path`` really lies; refuse a folder, and a folder that is missing."""
    target = path.resolve()  # a link stays a link to the file that is replaced
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a folder")
    require_folder(path, target.parent)
    return target


def require_folder(path: Path, folder: Path | None = None) -> None:
    """Refuse a place in a folder that is missing."""
    if not (folder or path.parent).is_dir():
        raise FileError(
            f"the folder of {os.fspath(path)!r} does not exist; create it or choose another place"
        )


def _keep_permissions(temporary: Path, target: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        temporary.chmod(stat.S_IMODE(target.stat().st_mode))
