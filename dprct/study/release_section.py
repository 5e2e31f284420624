"""The study-file sections ``[release]`` and ``[budget]``: what is released, and at what price."""

from __future__ import annotations

from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any, Literal, get_args

from dprct.errors import ParameterError, StudyError, marked
from dprct.privacy.budget import Budget
from dprct.release.writing import NO_GUARANTEE, unpromised_name
from dprct.study.estimates import ESTIMATES
from dprct.study.results_document import SUFFIX
from dprct.study.sections import ReleaseSection, TotalBudget, section

if TYPE_CHECKING:
    from collections.abc import Mapping

Method = Literal[
    "mv_histogram",
    "marginals",
    "calibrated",
    "published_mv_histogram",
    "published_hybrid",
    "published_gen_model",
]

METHODS: tuple[str, ...] = (*get_args(Method), *ESTIMATES)
"""What ``[release] method`` may be: releases of a file, and estimates."""

_RELATIONS = ("replace-one", "replace-one-design-public")

UNPROMISED: frozenset[str] = frozenset(
    {"published_mv_histogram", "published_hybrid", "published_gen_model"}
)
"""Methods without a privacy guarantee: the papers' algorithms as published."""


def release_from(document: Mapping[str, Any]) -> ReleaseSection:
    """Return the section ``[release]`` of a parsed study file.

    Raises
    ------
    StudyError
        If a key is missing, unknown, of a wrong type or not allowed.

    Examples
    --------
    >>> release_from({"release": {"epsilon": 1.0}}).method
    'mv_histogram'
    """
    release: ReleaseSection = section(ReleaseSection, document.get("release", {}), "[release]")
    _check_release(release)
    return release


def budget_from(document: Mapping[str, Any]) -> TotalBudget | None:
    """Return the section ``[budget]`` of a parsed study file, None where there is none.

    Raises
    ------
    StudyError
        If it is not a budget.

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
        raise StudyError("[budget] separate is empty; say why these data have a second budget")
    if total.relation not in (None, *_RELATIONS):
        raise StudyError(
            f"[budget] relation = {total.relation!r}; allowed: {', '.join(_RELATIONS)}"
        )
    return total


def _check_release(release: ReleaseSection) -> None:
    if release.method not in METHODS:
        raise StudyError(f"[release] method = {release.method!r}; allowed: {', '.join(METHODS)}")
    _check_budget(release, "[release]")
    if release.output is not None:
        _check_output(release.output)
    if release.method in ESTIMATES:
        _check_estimate(release)
        return
    share = release.outcome_share
    if share is not None and release.method not in ("mv_histogram", "marginals"):
        raise StudyError(
            '[release] outcome_share belongs to method = "mv_histogram" or "marginals"; remove it'
        )
    if share is not None and not 0 <= share < 1:
        raise StudyError(f"[release] outcome_share = {share}; give a number from 0 to below 1")
    zeta = release.zeta
    if zeta is not None and release.method in ("marginals", "calibrated"):
        raise StudyError('[release] zeta belongs to method = "mv_histogram"; remove it')
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


def _check_output(output: str) -> None:
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

    Raises
    ------
    StudyError

    Examples
    --------
    >>> check_printable("trial 2.dta", "data")
    """
    if not name.isprintable():
        raise StudyError(f"{where} = {name!r} has characters that cannot be seen; remove them")


def _check_estimate(release: ReleaseSection) -> None:
    """Refuse what belongs to a protected file."""
    for key in ("zeta", "keep", "outcome_share"):
        if getattr(release, key) not in (None, ()):
            raise StudyError(
                f"[release] {key} belongs to a protected file, and method = {release.method!r} "
                "makes none; remove it"
            )
    if release.output is not None and release.method == "moments":
        _check_beside_moments(release.output)
    if release.output is not None and not release.output.lower().endswith(SUFFIX):
        raise StudyError(
            f"[release] output = {release.output!r}; method = {release.method!r} writes a document "
            f"of results, so let its name end in {SUFFIX}"
        )


def _check_beside_moments(output: str) -> None:
    """Refuse the name that released moments get next to their document of results."""
    if output.lower().endswith(".moments" + SUFFIX):
        raise StudyError(
            f"[release] output = {output!r} is a name of released moments, which get theirs from "
            "that of the document of results; leave out '.moments'"
        )


def _check_budget(spec: ReleaseSection | TotalBudget, where: str) -> None:
    try:
        Budget.asked(spec.epsilon, spec.delta)
    except ParameterError as error:
        raise StudyError(f"{where} {marked(error)}") from None
