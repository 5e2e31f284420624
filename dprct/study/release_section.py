"""What a study releases: the study-file sections of the release, and of the folder it belongs to.

``[release]`` and ``[budget]`` say what is released, and at what price; ``[calibrated]`` specifies a
calibrated release; ``[package]`` names the replication folder that a protected file belongs to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from dprct.errors import ParameterError, StudyError, marked
from dprct.privacy.budget import Budget
from dprct.records import dataclass
from dprct.release.writing import NO_GUARANTEE, unpromised_name
from dprct.study.asked import OF_FILES, taken
from dprct.study.methods import ESTIMATES, METHODS, STRICT, UNPROMISED
from dprct.study.places import check_output, check_printable
from dprct.study.results_document import SUFFIX
from dprct.study.sections import (
    ReleaseSection,
    TotalBudget,
    section,
)


def release_from(document: Mapping[str, Any]) -> ReleaseSection:
    """Return the section ``[release]`` of a parsed study file.

    Examples
    --------
    >>> release_from({"release": {"epsilon": 1.0}}).method
    'mv_histogram'
    """
    release: ReleaseSection = section(ReleaseSection, document.get("release", {}), "[release]")
    if "method" not in document.get("release", {}):
        _check_no_effects(document.get("columns", {}))
    _check_release(release)
    return release


def _check_no_effects(columns: Mapping[str, Any]) -> None:
    """Refuse to take a histogram for granted where the study is of the effects of a treatment."""
    roles = {facts.get("role") for facts in columns.values() if isinstance(facts, Mapping)}
    if {"outcome", "treatment"} <= roles:
        raise StudyError(
            "[release] method is missing, and columns have the roles outcome and treatment; write "
            'method = "calibrated" (a file that keeps effects) or method = "moments" (numbers), '
            'or method = "mv_histogram" if nobody is to read effects off the file'
        )


def budget_from(document: Mapping[str, Any]) -> TotalBudget | None:
    """Return the section ``[budget]`` of a parsed study file, None where there is none.

    Examples
    --------
    >>> budget_from({}) is None, budget_from({"budget": {"epsilon": 2.0}}).epsilon
    (True, 2.0)
    """
    if "budget" not in document:
        return None
    total: TotalBudget = section(TotalBudget, document["budget"], "[budget]")
    _check_budget(total, "[budget]")
    if total.separate is not None and not total.separate.strip():
        raise StudyError(
            "[budget] separate is empty; give the reason for a second budget of these data"
        )
    return total


def _check_release(release: ReleaseSection) -> None:
    if release.method not in METHODS:
        raise StudyError(f"[release] method = {release.method!r}; allowed: {', '.join(METHODS)}")
    _check_budget(release, "[release]")
    if release.output is not None:
        check_output(release.output)
    _check_taken(release)
    if release.method in ESTIMATES:
        if release.output is not None:
            _check_document(release.method, release.output)
        return
    share, zeta = release.outcome_share, release.zeta
    if share is not None and not 0 <= share < 1:
        raise StudyError(f"[release] outcome_share = {share}; give a number from 0 to below 1")
    if zeta is not None and not 0 < zeta < 1:
        raise StudyError(f"[release] zeta = {zeta}; give a number between 0 and 1")
    if release.output is not None and not release.output.lower().endswith(".dta"):
        raise StudyError(f"[release] output = {release.output!r}; let its name end in .dta")
    if release.output is not None and release.method in UNPROMISED:
        stem = Path(release.output).stem
        if NO_GUARANTEE not in stem:
            raise StudyError(
                f"[release] output = {release.output!r} does not say that {release.method} has no "
                f"guarantee; name it {unpromised_name(stem)!r}"
            )


def _check_taken(release: ReleaseSection) -> None:
    """Refuse options of files that the method has not."""
    method = release.method
    for key in OF_FILES:
        if getattr(release, key) in (None, ()) or key in taken(method):
            continue
        if method in ESTIMATES:
            raise StudyError(
                f"[release] {key} belongs to a protected file, and method = {method!r} makes none; "
                "remove it"
            )
        methods = " or ".join(f'"{name}"' for name in STRICT if key in taken(name))
        raise StudyError(f"[release] {key} belongs to method = {methods}; remove it")


def _check_document(method: str, output: str) -> None:
    """Refuse a name that no document of results has, or that released moments get next to it."""
    if method == "moments" and output.lower().endswith(".moments" + SUFFIX):
        raise StudyError(
            f"[release] output = {output!r} is a name of released moments, which get theirs from "
            "that of the document of results; leave out '.moments'"
        )
    if not output.lower().endswith(SUFFIX):
        raise StudyError(
            f"[release] output = {output!r}; method = {method!r} writes a document of results, so "
            f"let its name end in {SUFFIX}"
        )


def _check_budget(spec: ReleaseSection | TotalBudget, where: str) -> None:
    try:
        Budget.asked(spec.epsilon, spec.delta)
    except ParameterError as error:
        raise StudyError(f"{where} {marked(error)}") from None


_PACKAGE = "[package]"


@dataclass(frozen=True)
class PackageSpec:
    """The replication package that a protected file belongs to.

    Parameters
    ----------
    folder : str
        The replication folder, inside the folder of the study file: ``dprct package`` copies what
        may be published of it.
    do : list of str
        Do-files, or folders of them, in the order in which they are run; those of ``folder`` if
        it is not given.  Certificate and README-data have the verdicts on their regressions.
    public : list of str
        Other files of ``folder`` that may be published as they are, each by its path from the study
        file, as in ``do``: a codebook, or data that are public anyway.  Each is read and searched
        for rows of the confidential files: for several cells of one, since a single number or id
        may be in any text.
    unread : list of str
        Files of ``folder`` that are published as those of ``public`` although they cannot be read
        and checked, such as a PDF or a picture: you looked at each, and vouch that it holds no rows
        of people.
    output : str
        The folder that ``dprct package`` writes; by default ``<data>_package``.
    studies : list of str
        Study files of other confidential data sets of ``folder`` about the same people: with the
        same ``dataset_id``, ``[unit]`` and ``[budget]``, and their data next to this study's.
        Each is protected by itself, and all are charged to the one ledger.
    published : str
        A .csv, next to the study file, with the numbers that the paper prints.  README-data.md sets
        them beside the released ones.  Columns: file, line, outcome, term, estimate, error.
    disjoint : str
        The reason why nobody is in two of the data sets of ``studies``, such as "two states".  Each
        then has its own ``dataset_id``, ledger and budget, and budgets do not add up.
    merge : list of str
        The confidential files, next to ``data`` and named without their folder, that were merged
        one to one by the id of ``[unit]`` to make ``data``.  The protected columns go back into
        files of these names, so that do-files can merge them again.
    """

    folder: str | None = None
    do: tuple[str, ...] = ()
    public: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    output: str | None = None
    studies: tuple[str, ...] = ()
    merge: tuple[str, ...] = ()
    disjoint: str | None = None
    published: str | None = None

    def files(self, home: Path) -> tuple[Path, ...]:
        """Return the do-files, or folders of them, of a study file that lies in ``home``."""
        named = self.do or ((self.folder,) if self.folder is not None else ())
        return tuple(home / name for name in named)


def package_from(document: Mapping[str, Any]) -> PackageSpec | None:
    """Return the section ``[package]`` of a parsed study file, None where there is none.

    Examples
    --------
    >>> package_from({"package": {"do": ["tables.do"]}}).do, package_from({}) is None
    (('tables.do',), True)
    """
    if "package" not in document:
        return None
    found: PackageSpec = section(PackageSpec, document["package"], _PACKAGE)
    for f in fields(found):
        value = () if f.name == "disjoint" else getattr(found, f.name) or ()
        for name in (value,) if isinstance(value, str) else value:
            _check_inside(name, f"{_PACKAGE} {f.name}")
    needing = [
        key
        for key in ("public", "unread", "output", "studies", "merge", "published")
        if getattr(found, key)
    ]
    if found.folder is None and needing:
        raise StudyError(
            f'{_PACKAGE} has {needing[0]} and no folder; write folder = "..." for the replication '
            "folder"
        )
    _check_merge(found.merge, document.get("data"))
    if found.folder is None and not found.do:
        raise StudyError(f'{_PACKAGE} is empty; write folder = "..." or do = ["tables.do"]')
    if found.disjoint is not None:
        _check_disjoint(found)
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


def _check_disjoint(found: PackageSpec) -> None:
    """Refuse a reason that is none, or that has nothing to be about."""
    assert found.disjoint is not None
    check_printable(found.disjoint, f"{_PACKAGE} disjoint")
    if not found.disjoint.strip():
        raise StudyError(
            f"{_PACKAGE} disjoint is empty; give the reason why nobody is in two of the data sets"
        )
    if not found.studies:
        raise StudyError(
            f"{_PACKAGE} disjoint says that data sets have different people, and studies names none"
            "; name the study files of the others"
        )


def _check_merge(names: tuple[str, ...], data: object) -> None:
    """Refuse names of merged files that are none, or are given twice."""
    own = str(data).replace("\\", "/").rpartition("/")[2].casefold()
    for name in names:
        if "/" in name or "\\" in name or not name.lower().endswith(".dta"):
            raise StudyError(
                f"{_PACKAGE} merge names {name!r}; give the name of a .dta file next to data, "
                "without its folder"
            )
        if name.casefold() == own or [one.casefold() for one in names].count(name.casefold()) > 1:
            raise StudyError(
                f"{_PACKAGE} merge names {name!r} twice, or it is data itself; name each file that "
                "was merged once"
            )
    if len(names) == 1:
        raise StudyError(f"{_PACKAGE} merge names one file; name all that were merged, two or more")


def _check_apart(found: PackageSpec) -> None:
    """Refuse a package inside the folder that it is made of, and the reverse."""
    if found.output is None or found.folder is None:
        return
    made, of = (PurePosixPath(name.replace("\\", "/")) for name in (found.output, found.folder))
    if made.is_relative_to(of) or of.is_relative_to(made):
        raise StudyError(
            f"{_PACKAGE} output = {found.output!r} and folder = {found.folder!r} lie inside each "
            "other; give a name next to the folder"
        )
