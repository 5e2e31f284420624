"""Where the data of a study, its ledger and its output lie: what ``dprct ledger`` reads of it.

Nothing here knows a method: the other sections of the study file are checked by whoever reads them.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any

from dprct import disk
from dprct.errors import ParameterError, StudyError, marked
from dprct.privacy.ledger import checked_id
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

VERSION = 1
"""Of study files."""


@dataclass(frozen=True)
class Places:
    """The confidential file, the name of its ledger, and the folder of the output."""

    data: Path
    dataset_id: str
    folder: Path


def places_of(study_file: Path, output: Path | None = None) -> Places:
    """Return the places of a study; drafts that killed processes left there are removed."""
    document = disk.read_toml(study_file, StudyError)
    check_identity(document)
    data = study_file.parent / document["data"]
    if output is None:
        release = document.get("release", {})
        named = release.get("output") if isinstance(release, dict) else None
        if isinstance(named, str):
            check_output(named)
        output = study_file.parent / (named if isinstance(named, str) else data.name)
    beside = data.parent
    for folder in {output.parent, beside, *beside.glob("*.ledger.released")}:
        disk.sweep(folder)
    return Places(data, document["dataset_id"], output.parent)


def check_identity(document: Mapping[str, Any]) -> None:
    """Refuse a parsed study file of another version, or that names no data and no ledger."""
    if "version" not in document:
        raise StudyError(f"the line version = {VERSION} is missing; write it at the top")
    if type(document["version"]) is not int or document["version"] != VERSION:
        raise StudyError(
            f"version = {document['version']!r}; this release of dprct reads version = {VERSION}"
        )
    for key in ("data", "dataset_id"):
        if not isinstance(document.get(key), str) or not document[key]:
            raise StudyError(f'{key} is missing or not text; write {key} = "..." at the top')
    check_printable(document["data"], "data")
    try:
        checked_id(document["dataset_id"])
    except ParameterError as error:
        raise StudyError(marked(error)) from None


def check_output(output: str) -> None:
    """Refuse a name that a stranger's study file should not have."""
    check_printable(output, "[release] output")
    parts = PurePosixPath(output.replace("\\", "/"))
    if parts.is_absolute() or PureWindowsPath(output).drive or ".." in parts.parts:
        raise StudyError(
            f"[release] output = {output!r} lies outside the folder of the study file; give a "
            "name inside it, or another place on the command line (--output)"
        )


def check_printable(name: str, where: str) -> None:
    """Refuse a name with characters that steer a terminal or are not seen.

    Examples
    --------
    >>> check_printable("trial 2.dta", "data")
    """
    if not name.isprintable():
        raise StudyError(f"{where} = {name!r} has characters that cannot be seen; remove them")
