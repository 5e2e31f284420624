"""Points that would open only once the current ones are settled, so that all are shown at once.

Each open point gets a placeholder in a copy of the study; what is then still open is added.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from dprct.app.forms import keys
from dprct.app.points import HEADER, explained
from dprct.errors import DprctError
from dprct.study.study import study_from

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from dprct.app.points import Point
    from dprct.schema.schema import Schema

_ROUNDS = 40  # some methods name one column at a time
_ANSWERS: Mapping[str, Any] = {
    "bounds": [0, 1], "missing": "never", "missing_policy": "public", "fate": "drop",
    "levels": [0, 1], "bins": 5,
}  # fmt: skip
_KIND = ("design", "kind")


def all_points(
    points: list[str], document: Mapping[str, Any], path: Path, header: Schema, rows: int | None
) -> list[Point]:
    """Open points of a study, and those that follow when they are settled.

    Parameters
    ----------
    points : list of str
        What is open now.
    document : mapping
        The parsed study file.
    """
    found = explained(points, header.names, keys())
    asked = {one.at for one in found}
    answered: dict[str, Any] = copy.deepcopy({**document})
    now = found
    for _ in range(_ROUNDS):
        if not any([_answer(answered, one, header) for one in now]):
            break
        now = explained(_points(answered, path, header, rows), header.names, keys())
        new = [one for one in now if one.at not in asked and _can_follow(one, document)]
        found += [one for one in new if one.at == HEADER]
        found += {one.at: one for one in new if one.at != HEADER}.values()
        asked |= {one.at for one in new}
    return [one for one in found if not _is_early(one, asked, document)]


def _is_early(one: Point, asked: set[tuple[str, ...]], document: Mapping[str, Any]) -> bool:
    """Whether it asks how to treat missing values that the column is not declared to have."""
    if one.at[2:] != ("missing_policy",) or (*one.at[:2], "missing") not in asked:
        return False
    return "missing" not in document.get("columns", {}).get(one.column, {})


def _points(answered: dict[str, Any], path: Path, header: Schema, rows: int | None) -> list[str]:
    try:
        return study_from(answered, path).problems(header, rows)
    except DprctError as error:
        return [str(error)]


def _can_follow(one: Point, document: Mapping[str, Any]) -> bool:
    """Whether a point asks for what is not declared yet, and is not about a placeholder."""
    if one.at in (HEADER, _KIND):
        return True
    facts = document.get("columns", {}).get(one.column, {})
    return bool(one.column) and one.at[-1] in _ANSWERS and one.at[-1] not in facts


def _answer(answered: dict[str, Any], one: Point, header: Schema) -> bool:
    """Put in a placeholder; false where there is none for the point, or it is there already."""
    if one.at == _KIND:
        answered.setdefault("design", {})["kind"] = "simple"
        return True
    if not one.column or one.at[-1] not in _ANSWERS:
        return False
    facts = answered.setdefault("columns", {}).setdefault(one.column, {})
    key, value = one.at[-1], _ANSWERS[one.at[-1]]
    if key == "bounds" and header.column(one.column).is_text:
        key, value = "levels", ["a", "b"]
    if key in facts:
        return False
    if key == "bounds" and facts.get("role") == "treatment":
        key, value = "levels", [0, 1]
    facts[key] = value
    return True
