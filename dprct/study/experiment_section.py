"""What a study file says of the experiment, for the methods that need to know it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from dprct.errors import StudyError
from dprct.study.calibrated_section import CalibratedExperiment, calibrated_from
from dprct.study.informed_section import InformedExperiment, informed_from
from dprct.study.release_section import Method

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dprct.study.release_section import ReleaseSpec

Experiment = InformedExperiment | CalibratedExperiment

_PARTS: Mapping[Method, tuple[str, ...]] = {
    "calibrated": ("formula", "design", "calibrated"),
    "published_hybrid": ("formula", "design", "informed"),
    "published_gen_model": ("formula", "design", "informed"),
}
"""What each method that knows of an experiment reads besides ``[release]`` and the columns."""


def experiment_from(document: Mapping[str, Any], release: ReleaseSpec) -> Experiment | None:
    """Return the experiment of a parsed study file, None where the method knows of none.

    Raises
    ------
    StudyError
        If a key is unknown, of a wrong type, not allowed, or belongs to another method.

    Examples
    --------
    >>> from dprct.study.release_section import ReleaseSpec
    >>> release = ReleaseSpec(1.0, "calibrated", formula="y ~ treat + age")
    >>> document = {"design": {"kind": "block", "arms": ["treat"], "block": "site"}}
    >>> experiment_from(document, release).design.uses
    ('site',)
    """
    given = {
        "formula": release.formula is not None,
        **{part: part in document for part in ("design", "informed", "calibrated")},
    }
    for part, there in given.items():
        if there and part not in _PARTS.get(release.method, ()):
            methods = " or ".join(repr(name) for name in get_args(Method) if _reads(name, part))
            where = "[release] formula" if part == "formula" else f"[{part}]"
            raise StudyError(
                f"{where} is for method = {methods}; remove it, as method = {release.method!r}"
            )
    if release.method == "calibrated":
        return calibrated_from(document, release)
    return informed_from(document, release) if release.method in _PARTS else None


def _reads(method: Method, part: str) -> bool:
    return part in _PARTS.get(method, ())
