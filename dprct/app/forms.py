"""The forms of a study file's sections: which there are for a method, and the fields of each."""

from __future__ import annotations

from dataclasses import MISSING
from typing import TYPE_CHECKING, Any

from dprct.app.fields import choices_of, shown_value
from dprct.app.words import (
    HELP,
    IN_A_SURVEY,
    METHOD_NAMES,
    TITLES,
    WORDS,
    label,
    meanings,
    plain,
    takes,
)
from dprct.estimate.moments.declared import Regression
from dprct.schema.columns import Unit
from dprct.schema.keys import is_required, keys_of
from dprct.study.asked import REGRESSION, given_elsewhere, parts_of, spec_of, taken
from dprct.study.declared_tables import TableSpec
from dprct.study.informed_section import InformedSection
from dprct.study.methods import ESTIMATES, METHODS
from dprct.study.prepare import STEPS as ROW_STEPS
from dprct.study.prepare import Preparation, kind_of_step
from dprct.study.readme import Availability
from dprct.study.release_section import PackageSpec
from dprct.study.sections import DesignSection, ReleaseSection, Scope, TotalBudget
from dprct.study.study import Declaration, Header

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

KINDS: Mapping[str, type[Any]] = {
    "release": ReleaseSection,
    "unit": Unit,
    "budget": TotalBudget,
    "header": Header,
    "declared": Declaration,
    "design": DesignSection,
    "informed": InformedSection,
    **{method: spec_of(method) for method in METHODS if method in parts_of(method)},
    "availability": Availability,
    "study": Scope,
    "package": PackageSpec,
}
"""What each section becomes."""

LISTED: Mapping[str, type[Any]] = {
    "prepare": Preparation, "table": TableSpec, REGRESSION: Regression,
}  # fmt: skip
"""Sections of which a study file may have several, [[name]]."""

STEPS: Mapping[str, int] = {
    "package": 1, "study": 2, "unit": 2, "header": 2, "release": 3, "design": 3, "informed": 3,
    REGRESSION: 3, **dict.fromkeys(METHODS, 3), "budget": 4, "table": 3, "prepare": 2,
    "declared": 6, "availability": 6,
}  # fmt: skip
"""The step of the page on which a section is asked for."""

_RELEASE_STEPS: Mapping[str, int] = {
    "epsilon": 4, "delta": 4, "accept_large_delta": 4, "confirm": 5, "output": 6, "keep": 6,
}  # fmt: skip

_ADDED: Mapping[str, str] = {
    "prepare": "file of public facts, merged into the data",
    "table": "table of the paper",
    REGRESSION: "regression with a condition, weights or clusters of its own, or a logit",
}

_FIRST = ("formula", "arms", "block", "cluster", "formulas", "id", "max_rows", "do", "unit", "time")
"""Keys that are shown at once although nothing requires them."""

_FIRST_OF: Mapping[str, tuple[str, ...]] = {
    REGRESSION: ("where", "family", "weights", "name"),
    "moments": ("subgroups", "neighbors"),
    "private_ate": ("subgroups",),
}
"""The same of one section: what decides what its numbers are of."""

_LATER = (("calibrated", "formulas"), ("unit", "name"))
"""Keys of these names that can wait."""


def title(name: str) -> str:
    """Heading of a section.

    Examples
    --------
    >>> title("design"), title("ipw")
    ('Design of the experiment', 'Options of “The effect of what people chose”')
    """
    if name in METHOD_NAMES:
        return f"Options of “{METHOD_NAMES[name][0]}”"
    return TITLES[name]


def sections(
    document: Mapping[str, Any], method: str, *, survey: bool = False
) -> list[dict[str, Any]]:
    """Forms of a parsed study file: the sections of its method, and those of every study.

    In a ``survey`` nobody was treated, and no design is needed.
    """
    parts = parts_of(method)
    reads = [part for part in parts if part != "formula" and part not in LISTED]
    names = ["package", "study", "unit", "header", "release", *reads, "budget", "declared"]
    names.append("availability")
    found = [_single(name, document, method) for name in dict.fromkeys(names)]
    for one in found if survey and method in IN_A_SURVEY else ():
        if one["name"] == method:
            one["title"] = f"Options of “{IN_A_SURVEY[method][0]}”"
        if one["name"] == "design":
            one["fields"] = [{**about, "required": False} for about in one["fields"]]
    without = method in ESTIMATES and method != "moments"
    always = {"prepare"} if without else {"prepare", "table"}
    lists = [name for name in LISTED if name in parts or name in always]
    for name in lists:
        tables = document.get(name, [])
        tables = tables if isinstance(tables, list) else []
        for place, table in enumerate([*tables, {}]):
            there = place < len(tables)
            head = f"{title(name)} {place + 1}" if there else f"Add a {_ADDED[name]}"
            kind = kind_listed(name, table)
            if kind in ROW_STEPS.values():
                head = f"Step {place + 1} of the rows: {kind.__name__.lower()}"
            found.append(_form(name, [name, place], kind, table, there) | {"title": head})
    return found


def kind_listed(name: str, table: object) -> type[Any]:
    """What one of several sections of a name becomes."""
    return kind_of_step(table) if name == "prepare" and isinstance(table, dict) else LISTED[name]


_FORMULAS: Mapping[str, str] = {
    "ipw": "Who took part, then ~, then what explains it, such as trained ~ age + school.",
    "cate": "The outcome, then ~, then what the effect may vary with, such as wage ~ age + school.",
    "private_additive": "The outcome, then ~, then what its mean may vary with.",
    "private_ate": "Outcomes, then ~, then treatment, such as income + works ~ cash.",
}
"""What a formula is, where it is not a regression."""


def _single(name: str, document: Mapping[str, Any], method: str) -> dict[str, Any]:
    besides: tuple[str, ...] = ()
    release = document.get("release", {})
    if name in METHODS:
        besides = given_elsewhere(name)
        written = isinstance(release, dict) and release.get("formula") is not None
        besides += spec_of(name).formula_gives if written else ()
    if name == "release" and "formula" not in parts_of(method):
        besides += ("formula",)
    if name == "release":
        unread = [key for key in ("zeta", "outcome_share") if key not in taken(method)]
        besides += ("method", *unread, *["keep"] * (method in ESTIMATES))
    found = _form(name, [name], KINDS[name], document.get(name), name in document, besides)
    for one in found["fields"]:
        if one["key"] == "formula" and method in _FORMULAS:
            one["help"] = _FORMULAS[method]
    return found


def _form(
    name: str,
    at: list[Any],
    kind: type[Any],
    table: object,
    there: bool,
    besides: Iterable[str] = (),
) -> dict[str, Any]:
    fields = [*form(name, kind, table, besides)]
    for one in fields:
        steps = _RELEASE_STEPS if name == "release" else {}
        one["step"] = steps.get(one["key"], STEPS[name])
        first = (*_FIRST, *_FIRST_OF.get(name, ()))
        one["first"] = one["key"] in first and (name, one["key"]) not in _LATER
    return {
        "name": name, "at": at, "title": title(name), "there": there, "fields": fields,
        "step": STEPS[name],
    }  # fmt: skip


def form(
    name: str, kind: type[Any], table: object, besides: Iterable[str] = ()
) -> Iterator[dict[str, Any]]:
    """Yield the fields of a section: what each is called, means, takes, and what is there."""
    there = table if isinstance(table, dict) else {}
    left_out = {*besides}
    said = _meanings(kind)
    for key, (field, kinds) in keys_of(kind).items():
        if key in left_out or (key == "neighbors" and name in _REPLACE_ONE):
            continue
        default = (
            "" if field.default in (MISSING, None, ()) else shown_value(_listed(field.default))
        )
        words = WORDS.get(key, {})
        yield {
            "key": key,
            "label": label(key, name),
            "help": HELP.get((name, key)) or said.get(key, ""),
            "takes": "" if (name, key) in HELP else takes(kinds),
            "choices": choices_of(kinds) or [*words],
            "words": words,
            "flag": [one.name for one in kinds] == ["bool"],
            "required": is_required(field),
            "default": words.get(default, default),
            "value": shown_value(there.get(key)),
        }


def _listed(default: Any) -> Any:
    return [*default] if isinstance(default, tuple) else default


def _meanings(kind: type[Any]) -> Mapping[str, str]:
    if kind not in _SAID:
        said = meanings(kind)
        model = next((m for m in METHODS.values() if m.specification() is kind), None)
        if model is not None:
            said = meanings(model) | said
        as_there = meanings(METHODS["private_additive"])
        said |= {key: as_there[key] for key, words in said.items() if _AS_THERE in words}
        _SAID[kind] = {key: plain(words) for key, words in said.items()}
    return _SAID[kind]


_AS_THERE = "PrivateAdditive"
_REPLACE_ONE = ("private_additive", "cate", "synthetic_control")
"""Methods of one relation, under which treatment is protected."""
_SAID: dict[type[Any], Mapping[str, str]] = {}
"""What the fields of each kind mean: docstrings are read once."""


def keys() -> dict[str, set[str]]:
    """Keys of each section that has a form."""
    steps = {key for kind in ROW_STEPS.values() for key in keys_of(kind)}
    found = {name: {*keys_of(kind)} for name, kind in {**KINDS, **LISTED}.items()}
    return {**found, "prepare": found["prepare"] | steps}
