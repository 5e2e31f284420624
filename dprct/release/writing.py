"""A protected file and its certificate, written together or not at all."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import unicodedata
from dataclasses import replace
from typing import IO, TYPE_CHECKING, Any

from dprct import disk
from dprct.certificate.certificate import certificate_path, digest_of
from dprct.certificate.page import certificate_page
from dprct.disk import file_error
from dprct.errors import FileError
from dprct.io.stata import write_dta
from dprct.lazy import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from dprct.certificate.certificate import Certificate
    from dprct.privacy.budget import Guarantee
    from dprct.schema.schema import Schema

_SUFFIX = ".dta"

NO_GUARANTEE = "no_dp_guarantee"
"""What the name of a file must contain if nothing is promised."""


def certificate_paths(path: Path) -> tuple[Path, Path, Path]:
    """Places of the certificate of a protected file: text, JSON and a page (HTML).

    Examples
    --------
    >>> from pathlib import Path
    >>> [found.name for found in certificate_paths(Path("liberia.dta"))]
    ['liberia.certificate.txt', 'liberia.certificate.json', 'liberia.certificate.html']
    """
    return (
        path.with_suffix(".certificate.txt"),
        certificate_path(path),
        path.with_suffix(".certificate.html"),
    )


def companion(path: Path, name: str) -> Path:
    """Place of another file that goes with a protected file, named after it.

    Examples
    --------
    >>> from pathlib import Path
    >>> companion(Path("liberia.dta"), "README-data.md").name
    'liberia.README-data.md'
    """
    return path.with_suffix(f".{name}")


COMPANIONS = ("expected.csv", "README-data.md", "valid.do", "valid.R")
"""What else may lie next to a protected file, under its name."""


def check_target(path: Path, dataset_id: str | None = None) -> None:
    """Refuse a place where a protected file and its certificate may not be written.

    The file of another data set than ``dataset_id`` is not replaced.

    Notes
    -----
    A certificate (JSON) is this release's own if it names this file, and this data set.  The
    protected file is if its SHA-256 is the one that the certificate states, and the certificate's
    text and page are if they state it, too.  A link is nobody's own.
    """
    if path.suffix.lower() != _SUFFIX:
        raise FileError(f"{path.name!r} is not the name of a Stata file; let it end in {_SUFFIX}")
    disk.require_folder(path)
    if path.is_dir():
        raise FileError(f"{str(path)!r} is a folder; name a file")
    disk.sweep(path.parent)
    check_free_of_case(path)
    if os.path.lexists(path) and (path.is_symlink() or not is_described(path)):
        raise FileError(
            f"{path.name!r} exists and is not the file that a certificate next to it describes, so "
            "it may be a confidential file; give another name"
        )
    check_certificates(path, dataset_id)


def check_certificates(path: Path, dataset_id: str | None = None) -> None:
    """Refuse to replace certificates that are not of this file and data set."""
    hash_stated = _hash_for(path, dataset_id)
    for place in certificate_paths(path):
        refuse_foreign(place, own=hash_stated is not None and _states(place, hash_stated))


def certificate_texts(certificate: Certificate, path: Path) -> dict[Path, str]:
    """Texts of each of :func:`certificate_paths`."""
    texts = (
        certificate.to_text(),
        json.dumps(certificate.to_dict(), indent=2, ensure_ascii=False),
        certificate_page(certificate),
    )
    return {
        place: text.rstrip("\n") + "\n"
        for place, text in zip(certificate_paths(path), texts, strict=True)
    }


def refuse_foreign(place: Path, *, own: bool) -> None:
    """Refuse to replace a file that is not this release's own, or differs in case alone."""
    check_free_of_case(place)
    if os.path.lexists(place) and (place.is_symlink() or not own):
        raise FileError(
            f"{place.name!r} exists and is not of this release, so it is not replaced; give the "
            "release another name, or move it away"
        )


def check_free_of_case(path: Path) -> None:
    """Refuse a name that another file has in other capitals: on some disks they are one file.

    Nor may it have characters that cannot be seen: certificates and ledgers write it down.
    """
    if not path.name.isprintable():
        raise FileError(f"{path.name!r} has characters that cannot be seen; give another name")
    same = _folded(path.name)
    try:
        names = os.listdir(path.parent)
    except OSError as error:
        raise file_error(error, path.parent, "read") from None
    for name in names:
        if name != path.name and _folded(name) == same:
            raise FileError(
                f"{path.name!r} and {name!r}, which exists, are one file on some disks; give "
                "another name"
            )


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def _hash_for(path: Path, dataset_id: str | None) -> str | None:
    """Return the hash that the certificate of this file and data set states, None without one."""
    place = certificate_paths(path)[1]
    try:
        known: Any = json.loads(disk.content(place, disk.MOST_JSON))
        if known["file"]["name"] != path.name:
            return None
        if dataset_id is not None and known.get("dataset_id", dataset_id) != dataset_id:
            return None
        found = known["file"]["sha256"]
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    return found if isinstance(found, str) and len(found) == 64 else None


def _states(place: Path, sha256: str) -> bool:
    try:
        return sha256.encode() in disk.content(place, disk.MOST_JSON)
    except OSError:
        return False


def check_name(path: Path, guarantee: Guarantee) -> None:
    """Refuse a name that hides that nothing is promised.

    Examples
    --------
    >>> from pathlib import Path
    >>> from dprct.privacy.budget import Guarantee
    >>> check_name(Path("liberia_no_dp_guarantee.dta"), Guarantee.none("edges come from the data"))
    """
    if guarantee.measure == "none" and NO_GUARANTEE not in path.stem:
        right = unpromised_name(path.stem)
        raise FileError(
            f"{path.name!r} does not say that the file has no guarantee; name it {right!r}"
        )


def unpromised_name(stem: str) -> str:
    """Return the name of a file without a guarantee.

    Examples
    --------
    >>> unpromised_name("liberia")
    'liberia_no_dp_guarantee.dta'
    """
    return f"{stem}_{NO_GUARANTEE}{_SUFFIX}"


def rehearse(schema: Schema, path: Path, rows: int = 0) -> None:
    """Try everything that a release will write, before a budget is spent, and leave nothing.

    There must be room on the disk for the rows of the protected file.
    """
    check_target(path, schema.dataset_id)
    with drafts_beside(path) as place:
        draft = place / path.name
        write_dta(pd.DataFrame({name: [] for name in schema.names}), schema, draft)
        reserve(draft, bytes_of(schema, rows))
        others = (*certificate_paths(path), *(companion(path, name) for name in COMPANIONS))
        for other in others:
            (place / other.name).touch()


def bytes_of(schema: Schema, rows: int) -> int:
    """Bytes of so many rows of a Stata file, apart from the texts of its strL columns."""
    return rows * sum(_width(column.type) for column in schema.columns)


def _width(storage: str) -> int:
    fixed = {"byte": 1, "int": 2, "long": 4, "float": 4, "double": 8}
    digits = storage.removeprefix("str")
    return fixed.get(storage, int(digits) if digits.isdecimal() else 8)


def reserve(path: Path, size: int) -> None:
    """Make a file longer by so many bytes, for which there must be room on the disk."""
    with path.open("ab") as file:
        _fill(file, size)


def _fill(file: IO[bytes], size: int) -> None:
    if hasattr(os, "posix_fallocate") and size:
        try:
            os.posix_fallocate(file.fileno(), file.tell(), size)
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):
                raise  # else the file system does not reserve room
        else:
            return
    block = bytes(min(size, 2**20))
    for begin in range(0, size, 2**20):
        file.write(block[: size - begin])
    file.flush()


def write_protected(
    table: pd.DataFrame, schema: Schema, certificate: Certificate, path: Path
) -> Certificate:
    """Write a protected table and, next to it, its certificate as text, JSON and a page.

    Notes
    -----
    The table comes last, by a rename, so that a protected file never lies without a certificate;
    and while one process writes into a folder no other of this package does.
    """
    check_name(path, certificate.guarantee)
    with writing_at(path):
        check_target(path, certificate.dataset_id)
        with drafts_beside(path) as place:
            draft = place / path.name
            write_dta(table, schema, draft)
            signed = replace(
                certificate,
                file={"name": path.name, "sha256": disk.sha256(draft)},
                values=digest_of(table, schema),
            )
            texts = {target.name: text for target, text in certificate_texts(signed, path).items()}
            for name, text in texts.items():
                (place / name).write_bytes(text.encode("utf-8"))
            disk.move_all(place, path.parent, [*texts, path.name])
    return signed


@contextlib.contextmanager
def writing_at(path: Path) -> Iterator[None]:
    """Keep other processes of this package from writing a release next to ``path`` meanwhile."""
    disk.require_folder(path)
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(disk.writing_into(path.parent))
        except OSError as error:
            raise file_error(error, path, "written") from None
        yield


@contextlib.contextmanager
def drafts_beside(path: Path) -> Iterator[Path]:
    """Yield a folder of its own next to ``path``, and remove what is left there."""
    try:
        with disk.drafts(path.parent) as folder:
            yield folder
    except FileError as error:
        if error.errno is None or ".dprct-" not in str(error):
            raise
        raise file_error(OSError(error.errno, ""), path, "written") from None
    except OSError as error:
        raise file_error(error, path, "written") from None


def is_described(path: Path) -> bool:
    """Whether the certificate next to a file is that of its content."""
    stated = _hash_for(path, None)
    try:
        return stated is not None and stated == disk.sha256(path)
    except OSError:
        return False


RESULTS = 1
"""Version of a document of results, under its key ``results``."""


def results_digest(content: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the content of a document of results, whatever its layout and order.

    Examples
    --------
    >>> results_digest({"a": 1, "b": 2}) == results_digest({"b": 2, "a": 1, "sha256": "x"})
    True
    """
    rest = {name: part for name, part in content.items() if name != "sha256"}
    text = json.dumps(rest, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def results_text(content: Mapping[str, Any]) -> str:
    """Return a document of results as it is written."""
    return json.dumps(dict(content), indent=2, ensure_ascii=False).rstrip("\n") + "\n"
