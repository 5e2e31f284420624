"""Which files of a replication folder may be published, and what its do-files ask of the reader.

The rule is an allow-list: programs, and a README, licence or citation, by their names.  Anything
else may hold rows of the confidential data or numbers computed from them (logs, tables, figures,
notebooks), and is copied only if the study file names it.  What is named is still held against the
confidential file.  Links are not followed.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from dprct import disk
from dprct.disk import file_error
from dprct.dofile.reader import decoded
from dprct.errors import DprctError, FileError
from dprct.schema.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_PROGRAMS = frozenset(
    {".do", ".ado", ".mata", ".hlp", ".sthlp", ".scheme", ".style"}
    | {".r", ".py", ".jl", ".m", ".sas", ".sps"}
)
_ABOUT = re.compile(r"(?i)(readme|licen[cs]e|citation)[\w.-]{0,40}")
_ABOUT_SUFFIXES = frozenset({"", ".md", ".txt", ".cff"})
_MOST_FILES, _LONGEST_PROGRAM = 10_000, 2 * 2**20
_DELIMITED = frozenset({".csv", ".tab", ".tsv", ".txt", ".raw", ".dat"})
_TYPED_IN = re.compile(r"(?im)^\s*(?:qui\w*\s+|cap\w*\s+)*inp(?:u|ut)?\s+[a-z]")


@dataclass(frozen=True, slots=True)
class Folder:
    """A replication folder, file by file.

    Parameters
    ----------
    root : Path
    copied : mapping of str to str
        What is published, by its path in the folder, with its SHA-256.
    left_out : mapping of str to str
        What is not, with the reason.
    """

    root: Path
    copied: Mapping[str, str]
    left_out: Mapping[str, str]


def folder_of(
    root: Path, public: Sequence[str], confidential: Mapping[Path, Sequence[str]], key: str | None
) -> Folder:
    """Return what of a replication folder may be published.

    Parameters
    ----------
    root : Path
    public : sequence of str
        Files that the study file names as public.
    confidential : mapping of Path to sequence of str
        The confidential files, with their columns.
    key : str, optional
        The column that identifies a person.

    Raises
    ------
    FileError
        If it is no folder, holds too many files, or a file that is named is not there, is a link,
        or looks like the confidential one.
    """
    if root.is_symlink() or not root.is_dir():
        raise FileError(
            f"[package] folder {root.name!r} is no folder; name the replication folder, next to "
            "the study file"
        )
    named = {PurePosixPath(name.replace("\\", "/")).as_posix() for name in public}
    secrets = {disk.sha256(path) for path in confidential}
    copied: dict[str, str] = {}
    left_out: dict[str, str] = {}
    for path in _walked(root):
        name = path.relative_to(root).as_posix()
        why = _not_named(path, name) if name not in named else None
        if why is None:
            raw = content(path)
            sha256 = hashlib.sha256(raw).hexdigest()
            if name not in named:
                why = _no_program(path, raw)
            elif (said := _like_any(raw, path, confidential, key)) or sha256 in secrets:
                raise FileError(
                    f"[package] public names {name!r}, which {said or 'is the confidential file'}; "
                    "leave it out: rows of people are released by dprct protect alone"
                )
            if sha256 in secrets:
                why = "it is the confidential file"
        if why is None:
            copied[name] = sha256
        else:
            left_out[name] = why
        named.discard(name)
    if named:
        raise FileError(
            f"[package] public names {min(named)!r}, which is no file of the folder "
            f"{root.name!r}; name files, one by one, by their path in it"
        )
    _check_case([*copied])
    return Folder(root, copied, left_out)


def _walked(root: Path) -> Iterator[Path]:
    """Yield every file and link below a folder, in order; nothing whose name begins with a dot."""
    count = 0
    for place, folders, files in os.walk(root, followlinks=False):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        links = [name for name in folders if (Path(place) / name).is_symlink()]
        for name in sorted([*files, *links]):
            if name.startswith("."):
                continue
            count += 1
            if count > _MOST_FILES:
                raise FileError(
                    f"the folder {root.name!r} holds more than {_MOST_FILES:,} files; give the "
                    "one of the replication package alone"
                )
            yield Path(place) / name


def _not_named(path: Path, name: str) -> str | None:
    """Return why a file that nobody named is left out by its name or kind, None if it is not."""
    if not name.isprintable():
        return "its name has characters that cannot be seen"
    try:
        kind = path.lstat()
    except OSError:
        return "it cannot be read"
    if not stat.S_ISREG(kind.st_mode):
        return "it is a link or no ordinary file"
    suffix = path.suffix.lower()
    about = _ABOUT.fullmatch(path.stem) and suffix in _ABOUT_SUFFIXES
    if suffix not in _PROGRAMS and not about:
        return "it is no program; it may hold data or results"
    if kind.st_size > _LONGEST_PROGRAM:
        return "it is longer than a program"
    return None


def _no_program(path: Path, raw: bytes) -> str | None:
    """Return why a file with the name of a program is left out by its content."""
    if b"\0" in raw or raw.startswith((b"<stata_dta>", b"PK\x03\x04", b"%PDF")):
        return "its name is that of a program, and its content is no text"
    if path.suffix.lower() in (".do", ".ado") and _TYPED_IN.search(decoded(raw)):
        return "values are typed into it (input)"
    return None


def _like_any(
    raw: bytes, path: Path, confidential: Mapping[Path, Sequence[str]], key: str | None
) -> str:
    said = (_like(raw, path, columns, key) for columns in confidential.values())
    return next((words for words in said if words), "")


def _like(raw: bytes, path: Path, columns: Sequence[str], key: str | None) -> str:
    """Return in words how a file that is named as public is like the confidential one."""
    found = _columns_of(raw, path)
    if key is not None and key in found:
        return f"has the column {key!r}, which identifies people"
    shared = len(found & set(columns))
    if len(columns) > 1 and 2 * shared > len(columns):
        return f"has {shared} of the {len(columns)} columns of the confidential file"
    return ""


def _columns_of(raw: bytes, path: Path) -> set[str]:
    if path.suffix.lower() == ".dta":
        try:
            return set(Schema.from_dta(path).names)
        except DprctError:
            return set()
    if path.suffix.lower() in _DELIMITED:
        first = decoded(raw[:200_000]).split("\n", 1)[0]
        return {word.strip().strip('"') for word in re.split(r"[,;\t|]", first)}
    return set()


def content(path: Path) -> bytes:
    """Return the bytes of an ordinary file; a link is refused, not followed.

    Raises
    ------
    FileError
    """
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            raise FileError(
                f"{path.name!r} is a link or no ordinary file; leave it out, or put a copy in its "
                "place"
            )
        handle = os.open(
            path,
            os.O_RDONLY
            | getattr(os, "O_BINARY", 0)
            | getattr(os, "O_NOFOLLOW", 0)
            | getattr(os, "O_NONBLOCK", 0),
        )
        with os.fdopen(handle, "rb") as file:
            return file.read()
    except FileError:
        raise
    except OSError as error:
        raise file_error(error, path, "read") from None


def _check_case(names: Sequence[str]) -> None:
    """Refuse two files that are one on some disks."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.casefold(), name)
        if other != name:
            raise FileError(
                f"{name!r} and {other!r} are one file on some disks; give one another name"
            )


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A path of another machine in a do-file.

    Parameters
    ----------
    file : str
    line : int
    path : str
    here : str
        The file of that base name in the package; empty if there is none.
    """

    file: str
    line: int
    path: str
    here: str = ""


_ABSOLUTE = re.compile(
    r'"(?P<a>(?:[A-Za-z]:[\\/]|\\\\|~[\\/]|/(?=[\w.-]+/))[^"`$\n]*)'
    r"|(?<![\w\"/])(?P<b>[A-Za-z]:[\\/](?!/)[^\s\",`$]+)"
)
_COMMENT = re.compile(r"\s*(?:\*|//)")
_PATH_OF = re.compile(r"\$\{?(\w{1,32})\}?[\\/]")
_MOST_PLACES = 500


def elsewhere(texts: Mapping[str, str], there: Sequence[str]) -> list[Elsewhere]:
    r"""Return the paths of other machines that do-files name, with what is here of that name.

    Examples
    --------
    >>> text = 'use "C:\\Users\\me\\farms.dta", clear'
    >>> elsewhere({"main.do": text}, ["data/farms.dta"])
    [Elsewhere(file='main.do', line=1, path='C:\\Users\\me\\farms.dta', here='data/farms.dta')]
    """
    by_base = {name.rpartition("/")[2].casefold(): name for name in there}
    by_stem = {name.removesuffix(".dta"): full for name, full in by_base.items()}
    found: list[Elsewhere] = []
    for file, text in texts.items():
        for number, line in enumerate(text.split("\n"), 1):
            if _COMMENT.match(line) or len(line) > 5_000:
                continue
            for match in _ABSOLUTE.finditer(line):
                path = (match["a"] or match["b"]).strip()
                base = re.sub(r"\\+", "/", path).rpartition("/")[2].casefold()
                here = by_base.get(base, "") or by_stem.get(base, "")
                found.append(Elsewhere(file, number, path, here))
                if len(found) >= _MOST_PLACES:
                    return found
    return found


def roots(texts: Mapping[str, str], undefined: Sequence[str]) -> tuple[str, ...]:
    """Return the globals that no do-file defines and that stand where a folder does.

    Examples
    --------
    >>> roots({"main.do": 'use "$data/farms.dta"' + chr(10) + "reg y $controls"}, ["data"])
    ('data',)
    """
    used = {name for text in texts.values() for name in _PATH_OF.findall(text)}
    return tuple(name for name in undefined if name in used)
