"""A protected file and its certificate, written together or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from dprct.certificate.digest import digest_of
from dprct.certificate.page import certificate_page
from dprct.errors import FileError
from dprct.io.atomic import atomic_write, file_error
from dprct.io.stata import write_dta

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dprct.certificate.certificate import Certificate
    from dprct.privacy.guarantee import Guarantee
    from dprct.schema.schema import Schema

_SUFFIX = ".dta"

NO_GUARANTEE = "no_dp_guarantee"
"""What the name of a file must contain if nothing is promised."""


def certificate_paths(path: Path) -> tuple[Path, Path, Path]:
    """Return where the certificate of a protected file lies: text, JSON and a page (HTML).

    Examples
    --------
    >>> [found.name for found in certificate_paths(Path("liberia.dta"))]
    ['liberia.certificate.txt', 'liberia.certificate.json', 'liberia.certificate.html']
    """
    return (
        path.with_suffix(".certificate.txt"),
        path.with_suffix(".certificate.json"),
        path.with_suffix(".certificate.html"),
    )


def check_target(path: Path) -> None:
    """Refuse a place where a protected file may not be written.

    Raises
    ------
    FileError
        If it is not called ``.dta``, its folder is missing, or something is there that is not the
        protected file of the certificate beside it: that could be a confidential file.
    """
    if path.suffix.lower() != _SUFFIX:
        raise FileError(f"{path.name!r} is not the name of a Stata file; let it end in {_SUFFIX}")
    if not path.parent.is_dir():
        raise FileError(
            f"the folder of {str(path)!r} does not exist; create it or choose another place"
        )
    if path.is_dir():
        raise FileError(f"{str(path)!r} is a folder; name a file")
    if os.path.lexists(path) and not is_described(path):
        raise FileError(
            f"{path.name!r} exists and is not the file that a certificate beside it describes, so "
            "it may be a confidential file; give another name"
        )


def check_name(path: Path, guarantee: Guarantee) -> None:
    """Refuse a name that hides that nothing is promised (ALGORITHMS.md, section 10.6).

    Raises
    ------
    FileError
        If there is no guarantee and the name does not say :data:`NO_GUARANTEE`.

    Examples
    --------
    >>> from dprct.privacy.guarantee import Guarantee
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


def rehearse(schema: Schema, path: Path) -> None:
    """Write the header of a protected file and remove it, before a budget is spent on the rest.

    Parameters
    ----------
    schema : Schema
        Of the protected file.
    path : Path

    Raises
    ------
    FileError
        If nothing may be written there.
    SchemaError
        If a .dta file of this release cannot hold the schema.
    """
    check_target(path)
    with _staged(path) as staged:
        write_dta(pd.DataFrame({name: [] for name in schema.names}), schema, staged)


def write_protected(
    table: pd.DataFrame, schema: Schema, certificate: Certificate, path: Path
) -> Certificate:
    """Write a protected table and, beside it, its certificate as text, JSON and a page.

    Parameters
    ----------
    table : pandas.DataFrame
    schema : Schema
    certificate : Certificate
    path : Path

    Returns
    -------
    Certificate
        With the name and the hash of the file.

    Raises
    ------
    FileError
        If something cannot be written; then what was there before is there again.

    Notes
    -----
    The table comes last, by a rename, so that a protected file never lies without a certificate.
    """
    check_name(path, certificate.guarantee)
    check_target(path)
    with _staged(path) as staged:
        write_dta(table, schema, staged)
        signed = replace(
            certificate,
            file={"name": path.name, "sha256": _sha256(staged)},
            values=digest_of(table, schema),
        )
        texts = (
            signed.to_text(),
            json.dumps(signed.to_dict(), indent=2, ensure_ascii=False),
            certificate_page(signed),
        )
        with _unless_moved(staged, certificate_paths(path)):
            for target, text in zip(certificate_paths(path), texts, strict=True):
                with atomic_write(target, mode="wb") as file:
                    file.write((text.rstrip("\n") + "\n").encode("utf-8"))
            os.replace(staged, path)
    return signed


@contextlib.contextmanager
def _staged(path: Path) -> Iterator[Path]:
    """Yield a place in a folder of its own beside ``path``, and remove what is left there."""
    try:
        with tempfile.TemporaryDirectory(prefix=".dprct-", dir=path.parent) as folder:
            yield Path(folder) / path.name
    except FileError as error:
        if error.errno is None or ".dprct-" not in str(error):
            raise
        raise file_error(OSError(error.errno, ""), path, "written") from None
    except OSError as error:
        raise file_error(error, path, "written") from None


@contextlib.contextmanager
def _unless_moved(staged: Path, paths: tuple[Path, ...]) -> Iterator[None]:
    """Put files back as they were if the block ends before ``staged`` was moved away."""
    before = [path.read_bytes() if path.exists() else None for path in paths]
    try:
        yield
    except BaseException:
        if staged.exists():
            for path, content in zip(paths, before, strict=True):
                _put_back(path, content)
        raise


def _put_back(path: Path, content: bytes | None) -> None:
    if content is None:
        path.unlink(missing_ok=True)
    else:
        path.write_bytes(content)


def is_described(path: Path) -> bool:
    """Whether the certificate beside a file is that of its content."""
    try:
        known: Any = json.loads(certificate_paths(path)[1].read_text("utf-8"))
        return bool(known["file"]["sha256"] == _sha256(path))
    except (OSError, ValueError, LookupError, TypeError):
        return False


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
