"""The study-file section ``[package]``: the replication folder that a protected file belongs to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any

from dprct.errors import StudyError
from dprct.study.release_section import check_printable
from dprct.study.sections import section

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_WHERE = "[package]"


@dataclass(frozen=True, slots=True)
class PackageSpec:
    """The replication package that a protected file belongs to.

    Parameters
    ----------
    folder : str
        The replication folder, inside the folder of the study file: ``dprct package`` copies what
        may be published of it.
    do : list of str
        Do-files, or folders of them, in the order in which they are run; those of ``folder`` if
        it is not given.  What their regressions are worth goes into certificate and README-data.
    public : list of str
        Other files of ``folder`` that may be published as they are: a codebook, or data that are
        public anyway.
    output : str
        The folder that ``dprct package`` writes; by default ``<data>_package``.
    studies : list of str
        Study files of other confidential data sets of ``folder`` about the same people: with the
        same ``dataset_id``, ``[unit]`` and ``[budget]``, and their data next to this study's.
        Each is protected by itself, and all are charged to the one ledger.
    merge : list of str
        The confidential files, next to ``data`` and named without their folder, that were merged
        one to one by the id of ``[unit]`` to make ``data``.  The protected columns go back into
        files of these names, so that do-files can merge them again.
    """

    folder: str | None = None
    do: tuple[str, ...] = ()
    public: tuple[str, ...] = ()
    output: str | None = None
    studies: tuple[str, ...] = ()
    merge: tuple[str, ...] = ()

    def files(self, home: Path) -> tuple[Path, ...]:
        """Return the do-files, or folders of them, of a study file that lies in ``home``."""
        named = self.do or ((self.folder,) if self.folder is not None else ())
        return tuple(home / name for name in named)


def package_from(document: Mapping[str, Any]) -> PackageSpec | None:
    """Return the section ``[package]`` of a parsed study file, None where there is none.

    Raises
    ------
    StudyError
        If a key is unknown, of a wrong type, or names a place outside the study file's folder.

    Examples
    --------
    >>> package_from({"package": {"do": ["tables.do"]}}).do, package_from({}) is None
    (('tables.do',), True)
    """
    if "package" not in document:
        return None
    found: PackageSpec = section(PackageSpec, document["package"], _WHERE)
    for key, names in (
        ("folder", () if found.folder is None else (found.folder,)),
        ("do", found.do),
        ("public", found.public),
        ("output", () if found.output is None else (found.output,)),
        ("studies", found.studies),
        ("merge", found.merge),
    ):
        for name in names:
            _check_inside(name, f"{_WHERE} {key}")
    needing = [key for key in ("public", "output", "studies", "merge") if getattr(found, key)]
    if found.folder is None and needing:
        raise StudyError(
            f'{_WHERE} has {needing[0]} and no folder; write folder = "..." for the replication '
            "folder"
        )
    _check_merge(found.merge, document.get("data"))
    if found.folder is None and not found.do:
        raise StudyError(f'{_WHERE} is empty; write folder = "..." or do = ["tables.do"]')
    if found.folder is not None:
        _check_apart(found)
    return found


def _check_inside(name: str, where: str) -> None:
    """Refuse a place that a stranger's study file should not name."""
    check_printable(name, where)
    parts = PurePosixPath(name.replace("\\", "/"))
    if parts.is_absolute() or PureWindowsPath(name).drive or ".." in parts.parts:
        raise StudyError(
            f"{where} names {name!r}, which lies outside the folder of the study file; move it "
            "there, or put the study file into the folder above"
        )
    if not parts.parts:
        raise StudyError(
            f"{where} names {name!r}, the folder of the study file itself; put what is to be "
            "published into a folder below it"
        )


def _check_merge(names: tuple[str, ...], data: object) -> None:
    """Refuse names of merged files that are none, or are given twice."""
    own = str(data).replace("\\", "/").rpartition("/")[2].casefold()
    for name in names:
        if "/" in name or "\\" in name or not name.lower().endswith(".dta"):
            raise StudyError(
                f"{_WHERE} merge names {name!r}; give the name of a .dta file next to data, "
                "without its folder"
            )
        if name.casefold() == own or [one.casefold() for one in names].count(name.casefold()) > 1:
            raise StudyError(
                f"{_WHERE} merge names {name!r} twice, or it is data itself; name each file that "
                "was merged once"
            )
    if len(names) == 1:
        raise StudyError(f"{_WHERE} merge names one file; name all that were merged, two or more")


def _check_apart(found: PackageSpec) -> None:
    """Refuse a package inside the folder that it is made of, and the reverse."""
    if found.output is None or found.folder is None:
        return
    made, of = (PurePosixPath(name.replace("\\", "/")) for name in (found.output, found.folder))
    if made.is_relative_to(of) or of.is_relative_to(made):
        raise StudyError(
            f"{_WHERE} output = {found.output!r} and folder = {found.folder!r} lie inside each "
            "other; give a name next to the folder"
        )
