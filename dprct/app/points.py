"""Open points as the page shows them: beside which field, why it is asked, and what settles it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from dprct.app.words import METHOD_NAMES, in_fields, label
from dprct.records import dataclass
from dprct.schema.facts import DECLARABLE
from dprct.study.study import FROM_FILE, REFUSED

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

HEADER = ("header", "confirm")
"""The field that settles every point about facts of the header."""

_BOUNDS = (
    "The noise hides the largest change that one person can make within the values that are "
    "possible. They must come from the questionnaire and not from the data.",
    "where-a-bound-may-come-from",
)
_BUDGET = (
    "What is spent on people adds up for ever, so a release must fit into a total.",
    "what-width-costs",
)
_WHY: Mapping[str, tuple[str, str]] = {
    "fate": (
        "A file that is published has to say of each column what becomes of it; nothing is "
        "published because somebody forgot it.",
        "where-a-bound-may-come-from",
    ),
    "missing": (
        "Whether a value is missing can tell something about a person, so it has to be public "
        "which missing codes are possible.",
        "missing-answers",
    ),
    **dict.fromkeys(("bounds", "levels", "bins"), _BOUNDS),
    "header": (
        "Names, types, formats and labels come from a confidential file and are published as they "
        "stand: somebody must have read them.",
        "not-from-the-data",
    ),
    **dict.fromkeys(("epsilon", "delta"), _BUDGET),
}
"""Why a key is asked for, and where the page on bounds says more."""

_REMEDY = re.compile(r"\b(\w+) = (true|false|\"[\w-]+\")(?: (?:in|under) \[(\w+)\])?")
_REFUSED = re.compile(r"^(\[\w+\] )?\w+ = \S+ with ")
"""What a sentence that begins so refuses is no remedy."""
_ONE_OF = re.compile(r"give one of: (.+)$")
_MOST_BUTTONS = 6
_SAY: Mapping[tuple[str, str], str] = {
    ("missing_policy", "public"): "It is public who has a value",
    ("estimator", "ipw"): "Take weighting (ipw)",
    ("neighbors", "replace-one-design-public"): "It is public who was treated",
    ("missing", "never"): "It is never missing",
    ("missing_policy", "private"): "Who has a value stays private",
}
_OF_A_COLUMN = re.compile(r"\[\w+\] missing_policy = \S+ of '([^']+)'")
"""What a method says of the missing values of a column, whose field settles it."""
_BOUNDS_OF = re.compile(r"\[.*names '([^']+)', which is private and needs bounds")
"""The same of the bounds of a column, which may be one of weights that has shown none."""

_LEAVES = ("missing", "fate", "kind")
"""Keys for which the answer is a person's knowledge, and no button gives it."""


@dataclass(frozen=True)
class Point:
    """One thing that keeps the study from being released."""

    point: str  # what ``dprct check`` says
    words: str  # what the page says of it beside the field
    # The field that settles it, as a path of the study file; empty where it is about none.
    at: tuple[str, ...]
    why: str
    anchor: str
    remedies: tuple[Mapping[str, Any], ...]  # what buttons say and do, where the sentence names it

    @property
    def column(self) -> str:
        """The column that it is about; empty if none."""
        return self.at[1] if self.at[:1] == ("columns",) else ""

    def as_json(self) -> dict[str, Any]:
        """Values for the page."""
        return {
            "point": self.point,
            "words": self.words,
            "at": list(self.at),
            "column": self.column,
            "why": self.why,
            "anchor": self.anchor,
            "remedies": [*self.remedies],
        }


def explained(
    points: Iterable[str], names: Sequence[str], keys: Mapping[str, Collection[str]]
) -> list[Point]:
    """Open points with their fields, of the sections that the page has a form for.

    Examples
    --------
    >>> (one,) = explained(["column 'age' has no fate"], ["age"], {})
    >>> one.at, one.words
    (('columns', 'age', 'fate'), 'Say what readers get of it.')
    """
    return [_explained(point, {*names}, keys) for point in points]


def refusal(said: str, method: str, keys: Mapping[str, Collection[str]]) -> dict[str, Any]:
    """Refusal of a request with what a button can do about it.

    Where the sentence names no section, that of the method is meant.

    Examples
    --------
    >>> said = refusal("declare the design, or say attrition = true", "x", {"x": {"attrition"}})
    >>> said["remedies"][0]["label"]
    'Attrition: yes'
    """
    known = {key for of in keys.values() for key in of}
    return {"error": in_fields(said, known), "remedies": [*_remedies(said, (method,), keys)]}


def _explained(point: str, names: set[str], keys: Mapping[str, Collection[str]]) -> Point:
    at = _place(point, names, keys)
    key = "header" if at == HEADER else at[-1] if at else ""
    why, anchor = _WHY.get(key, ("", ""))
    return Point(point, _beside(point, keys), at, why, anchor, _remedies(point, at, keys))


def _beside(point: str, keys: Mapping[str, Collection[str]]) -> str:
    """Sentence as it stands beside its field, which is named there already."""
    known = {key for of in keys.values() for key in of}
    said = in_fields(re.sub(r"^(\w+: )?(column|outcome|covariate) '[^']+':? ", "", point), known)
    said = "say what readers get of it" if said == "has no fate" else said
    said = re.sub(r"^\w+: (?=the |\w+ )", "", said) if point.startswith("[") else said
    return f"{said[:1].upper()}{said[1:]}{'' if said.endswith(('.', '!', '?')) else '.'}"


def _place(point: str, names: set[str], keys: Mapping[str, Collection[str]]) -> tuple[str, ...]:
    if point.endswith(FROM_FILE):
        return HEADER
    if point.startswith(REFUSED):
        return ("release", "confirm")
    policy = _OF_A_COLUMN.match(point)
    if policy is not None and policy[1] in names:
        return ("columns", policy[1], "missing_policy")
    bounds = _BOUNDS_OF.match(point)
    if bounds is not None and bounds[1] in names:
        return ("columns", bounds[1], "bounds")
    section = re.match(r"\[+(\w+)\]+ ?(.*)", point)
    if section is not None:
        name = section[1]
        words = re.findall(r"\w+", section[2])
        key = next((word for word in words if word in keys.get(name, ())), "")
        return (name, key) if key else (name,)
    column = next((name for name in re.findall(r"'([^']+)'", point) if name in names), "")
    if not column:
        return ()
    about = point.split(repr(column), 1)[1]
    words = [*re.findall(r"(\w+) = ", about), *re.findall(r"\w+", about)]
    facts = [word for word in words if word in DECLARABLE]
    return ("columns", column, facts[0] if facts else "fate")


def _remedies(
    point: str, at: tuple[str, ...], keys: Mapping[str, Collection[str]]
) -> tuple[Mapping[str, Any], ...]:
    """Buttons for what the sentence says is to be written."""
    if at == HEADER:
        return ()
    if len(at) > 1 and (listed := _ONE_OF.search(point)):
        options = listed[1].split(", ")
        return tuple(_button([*at], one) for one in options[:_MOST_BUTTONS])
    found = {}
    offered = _REFUSED.sub("", point).rpartition(" is not offered ")[2]
    # where other answers have buttons, so has the most frequent one
    leaves = set(_LEAVES) - ({"missing"} if "missing_policy = " in offered else set())
    for key, value, section in _REMEDY.findall(offered):
        where = "release" if key == "method" else section or _knowing(key, at, keys)
        if where == "columns" and key in DECLARABLE and key not in leaves:
            found[where, key, value] = _button([*at[:2], key], value.strip('"'))
        if key not in _LEAVES and key in keys.get(where, ()):
            found[where, key, value] = _button([where, key], value.strip('"'))
    return tuple(found.values())[:_MOST_BUTTONS]


def _knowing(key: str, at: tuple[str, ...], keys: Mapping[str, Collection[str]]) -> str:
    """Section of a key that is named without one: that of the point, or the only one with it."""
    sections = [name for name, of in keys.items() if key in of]
    own = at[0] if at else ""
    return sections[0] if len(sections) == 1 and own != "columns" else own


def _button(at: list[str], typed: str) -> Mapping[str, Any]:
    said = {"true": "yes", "false": "no"}.get(typed, typed)
    words = _SAY.get((at[-1], typed), f"{label(at[-1])}: {said}")
    if at[-1] == "method" and typed in METHOD_NAMES:
        words = f"Take “{METHOD_NAMES[typed][0]}”"
    return button(words, [(at, typed)])


def button(label: str, changes: Sequence[tuple[Sequence[str], str]]) -> Mapping[str, Any]:
    """Label of a button, and what it writes where."""
    return {"label": label, "changes": [{"at": [*at], "typed": typed} for at, typed in changes]}
