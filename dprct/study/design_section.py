"""The study-file section ``[design]``: how treatments were assigned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from dprct.assignment import Block, BlockCluster, Cluster, Complete, Factorial, Simple
from dprct.errors import ParameterError, StudyError
from dprct.study.sections import section

if TYPE_CHECKING:
    from dprct.assignment import Design

Arms = tuple[str | float, ...] | Mapping[str, tuple[str, ...]]
Names = str | tuple[str, ...]
Numbers = float | tuple[float, ...]
Parts = Mapping[str, Mapping[str, Any]]

_DESIGNS: Mapping[str, tuple[Any, tuple[str, ...]]] = {
    "simple": (Simple, ()),
    "complete": (Complete, ()),
    "block": (Block, ("block",)),
    "cluster": (Cluster, ("cluster",)),
    "block_cluster": (BlockCluster, ("block", "cluster")),
}
"""The design of each kind, and the keys that it needs besides arms."""

_KINDS = (*_DESIGNS, "factorial")


@dataclass(frozen=True, slots=True)
class DesignSpec:
    """How treatments were assigned.

    Parameters
    ----------
    kind : {"simple", "complete", "block", "cluster", "block_cluster", "factorial"}
        How treatment was assigned: each row by itself, a fixed number of all rows, the same within
        blocks, whole clusters, whole clusters within blocks, or several treatments at once.
    arms : list of str or numbers, or table
        The 0/1 columns of the arms; with ``arm``, the levels of that column, the control group's
        among them; of a factorial design, optionally, from the column of each combination to the
        arms of the factors in it.
    arm : str
        The one column that holds the group of each row, as a code or as text.
    shares : number or list of numbers
        The probability of each arm; without it all groups have the same, the control group
        included.
    control_share : number
        The probability of being in no arm; 0 if there is no such group.
    block, cluster : str or list of str
        The column that says who is in which block, or cluster; several columns are combined.
    factors : table of tables
        ``[design.factors.NAME]`` for each factor, with the keys of a design of its own; its arms
        are the one column NAME, if not given.
    """

    kind: str
    arms: Arms | None = None
    arm: str | None = None
    shares: Numbers | None = None
    control_share: float | None = None
    block: Names | None = None
    cluster: Names | None = None
    factors: Parts | None = None


def design_from(document: Mapping[str, Any]) -> Design | None:
    """Return the design of a parsed study file, None where it has none.

    Raises
    ------
    StudyError
        If a key is unknown, of a wrong type, not allowed, or does not belong to the kind.

    Examples
    --------
    >>> document = {"design": {"kind": "block", "arms": ["treat"], "block": "site"}}
    >>> design_from(document).uses
    ('site',)
    """
    if "design" not in document:
        return None
    return _design(section(DesignSpec, document["design"], "[design]"), "[design]")


def _design(spec: DesignSpec, where: str) -> Design:
    """Return the design that a section spells."""
    check_choice(spec.kind, _KINDS, f"{where} kind")
    try:
        return _factorial(spec, where) if spec.kind == "factorial" else _plain(spec, where)
    except ParameterError as error:
        raise StudyError(f"{where} {error}") from None


def _plain(spec: DesignSpec, where: str) -> Design:
    kind, needed = _DESIGNS[spec.kind]
    _check_belongs(spec, ("arms", "arm", "shares", "control_share", *needed), where)
    _check_there(spec, ("arms", *needed), where)
    if isinstance(spec.arms, Mapping):
        raise StudyError(f"{where} arms is a table, which is for a factorial design; give a list")
    options = {name: getattr(spec, name) for name in (*needed, "arm")}
    if spec.arm is None and not all(isinstance(name, str) for name in spec.arms or ()):
        raise StudyError(
            f"{where} arms has numbers; give a list of columns of 0 and 1, or say arm = ... for "
            "the one column that holds these codes"
        )
    design: Design = kind(
        spec.arms, shares=spec.shares, control_share=spec.control_share, **options
    )
    return design


def _factorial(spec: DesignSpec, where: str) -> Design:
    _check_belongs(spec, ("arms", "factors"), where)
    _check_there(spec, ("factors",), where)
    assert spec.factors is not None
    if spec.arms is not None and not isinstance(spec.arms, Mapping):
        raise StudyError(
            f"{where} arms is a list; of a factorial design give a table, such as "
            '{both = ["cash", "therapy"]}, or leave it out'
        )
    found = []
    for name, table in spec.factors.items():
        place = f"{where[:-1]}.factors.{name}]"
        factor = section(DesignSpec, {"arms": [name], **table}, place)
        check_choice(factor.kind, tuple(_DESIGNS), f"{place} kind")
        found.append(_design(factor, place))
    return Factorial(found, spec.arms)


def _check_belongs(spec: DesignSpec, known: tuple[str, ...], where: str) -> None:
    for f in fields(spec):
        if f.name not in ("kind", *known) and getattr(spec, f.name) is not None:
            raise StudyError(
                f"{where} {f.name} does not belong to kind = {spec.kind!r}, which takes "
                f"{', '.join(known)}; remove it"
            )


def _check_there(spec: DesignSpec, needed: tuple[str, ...], where: str) -> None:
    for name in needed:
        if getattr(spec, name) is None:
            raise StudyError(f"{where} of kind = {spec.kind!r} lacks {name}; write {name} = ...")


def absent(formula: str | None, design: Design | None) -> list[str]:
    """Return what a method that needs a formula and a design lacks, in words.

    Examples
    --------
    >>> absent("y ~ treat", None)
    ['[design] is missing; write kind = "complete" and arms = ["treat"]']
    """
    found = []
    if formula is None:
        found.append('[release] formula is missing; write formula = "y ~ treat + x"')
    if design is None:
        found.append('[design] is missing; write kind = "complete" and arms = ["treat"]')
    return found


def check_choice(value: object, allowed: tuple[str, ...], where: str) -> None:
    """Refuse a value that is none of those allowed."""
    if value not in allowed:
        raise StudyError(f"{where} = {value!r}; allowed: {', '.join(allowed)}")
