"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, overload

from dprct import disk
from dprct.errors import DprctError, FileError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator


def path_of(path: object) -> Path:
    """Return a file name as a path.

    Raises
    ------
    ParameterError
        If it is none.

    Examples
    --------
    >>> path_of("trial.dta").suffix
    '.dta'
    """
    if isinstance(path, (str, os.PathLike)):
        return Path(path)
    raise ParameterError(f"got {type(path).__name__} for a path; give a file name")


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
    """Return what went wrong with a file as one sentence that says what to do.

    Parameters
    ----------
    error : OSError
        What the operating system said.
    path : path
        The file that the user named.
    deed : {"read", "written"}
        What was being done to it.

    Returns
    -------
    FileError
        Carries the ``errno`` of ``error``.

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


@overload
def atomic_write(
    path: str | os.PathLike[str], mode: Literal["wb"] = ...
) -> contextlib.AbstractContextManager[IO[bytes]]: ...


@overload
def atomic_write(
    path: str | os.PathLike[str], mode: Literal["w"]
) -> contextlib.AbstractContextManager[IO[str]]: ...


@contextlib.contextmanager
def atomic_write(
    path: str | os.PathLike[str], mode: Literal["wb", "w"] = "wb"
) -> Iterator[IO[Any]]:
    r"""Open a file for writing that appears under its name only when it is complete.

    Parameters
    ----------
    path : path
        Where the file shall be; an existing file is replaced and keeps its permissions.
    mode : {"wb", "w"}
        Bytes, or UTF-8 text with ``\n`` at the end of a line.

    Yields
    ------
    file object
        Writable and seekable.

    Raises
    ------
    FileError
        If the folder is missing, permission is refused, the disk is full, or ``path`` is a folder.

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
            with open(temporary, mode.replace("w", "x"), **text) as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
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
    """Return where ``path`` really lies; refuse a folder, and a folder that is missing."""
    target = path.resolve()  # a link stays a link to the file that is replaced
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a folder")
    if not target.parent.is_dir():
        raise FileError(
            f"the folder of {os.fspath(path)!r} does not exist; create it or choose another place"
        )
    return target


def _keep_permissions(temporary: Path, target: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        temporary.chmod(stat.S_IMODE(target.stat().st_mode))
