"""What a person types into a field of the page, as a study file keeps it, and back.

Which fields a section has, and what each takes, is read from the specification that the section
becomes (:func:`dprct.study.sections.keys_of`).
"""

from __future__ import annotations

import datetime as dt
import re
import tomllib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, get_args

from dprct.annotations import LISTS, STUDY_FILE, WRONG
from dprct.errors import StudyError
from dprct.schema.facts import DECLARABLE, BuiltFrom, Fate, Role
from dprct.schema.keys import keys_of

if TYPE_CHECKING:
    from dprct.annotations import Kinds

_LISTS: Mapping[str, str] = {
    "bounds": "two numbers, such as 15, 80",
    "levels": "every possible value, such as 0, 1",
    "bins": "a number of bins, or their inner edges, such as 20, 30, 40",
    "missing": "never, or the codes that occur, such as . .a",
}
_FLAGS = ("integer", "clip", "constants_public", "coordinates", "confirmed")
_NUMBERS = ("sd", "sd_within", "centre", "missing_policy")
CHOICES: Mapping[str, list[str]] = {
    "fate": [*get_args(Fate)],
    "role": [*get_args(Role)],
    "built_from": [*get_args(BuiltFrom)],
    **{name: ["true", "false"] for name in _FLAGS},
}
"""What a fact of a column may be, where it is one of a few words."""


def fact(name: str, typed: str) -> Any:
    """Typed value of a fact of a column; None takes the declaration away.

    Examples
    --------
    >>> fact("bounds", "15 to 80"), fact("missing", ". .a"), fact("missing", "never")
    ([15, 80], ['.', '.a'], 'never')
    >>> fact("bins", "5"), fact("bins", "20, 30"), fact("levels", "yes, no"), fact("fate", "")
    (5, [20, 30], ['yes', 'no'], None)
    """
    if name not in DECLARABLE:
        raise StudyError(f"a column has no fact {name!r}; allowed: {', '.join(DECLARABLE)}")
    typed = typed.strip()
    if not typed:
        return None
    if name == "missing":
        return "never" if typed == "never" else typed.replace(",", " ").split()
    if name in _FLAGS:
        return {"true": True, "false": False}.get(typed, typed)
    if name == "made_of":
        return typed.replace(",", " ").split()
    if name not in _LISTS:
        found = _toml(typed)
        if name in _NUMBERS:
            return found if _is_number(found) else typed
        return found if name == "decimals" and isinstance(found, int) else typed
    parts = typed.strip("[]").replace(" to ", ", ")
    values = _listed(parts)
    if name == "bounds" and len(values) == 1:
        values = _listed(", ".join(parts.split()))
    if name in ("bounds", "bins") and not all(_is_number(v) or _is_day(v) for v in values):
        raise StudyError(f"{name} cannot be read; give {_LISTS[name]}")
    return values[0] if name == "bins" and len(values) == 1 else values


def shown_fact(value: Any) -> str:
    """Return a fact as a person would type it.

    Examples
    --------
    >>> shown_fact([15, 80]), shown_fact(True), shown_fact([".", ".a"]), shown_fact(None)
    ('15, 80', 'true', '., .a', '')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        plain = all(map(_is_plain_text, value))
        return ", ".join(str(one) if plain else _written(one) for one in value)
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    return str(value) if not isinstance(value, Mapping) else _written(value)


def section_value(kind: type[Any], key: str, typed: str) -> Any:
    """Typed value of a key of a section; None takes the key away.

    Examples
    --------
    >>> from dprct.study.sections import DesignSection, ReleaseSection
    >>> [section_value(ReleaseSection, key, text) for key, text in (("epsilon", "0.5"),
    ...                                                            ("confirm", "true"))]
    [0.5, True]
    >>> [section_value(DesignSection, key, text) for key, text in (("arms", "a, b"),
    ...                                                           ("block", "site"))]
    [['a', 'b'], 'site']
    """
    known = keys_of(kind)
    if key not in known:
        raise StudyError(f"there is no key {key!r} here; allowed: {', '.join(known)}")
    kinds = known[key][1]
    typed = typed.strip()
    if not typed:
        return None
    found = _section_value(kinds, key, typed)
    found = ["" if one == _NONE else one for one in found] if _is_texts(found) else found
    if STUDY_FILE.read(found, kinds) is WRONG:
        raise StudyError(f"{key} = ``{found!r}``; {STUDY_FILE.asks(kinds)}")
    return found


def _section_value(kinds: Kinds, key: str, typed: str) -> Any:
    if any(kind.name == "Mapping" for kind in kinds) and (named := _by_name(typed)):
        return named
    of_pairs = any(k.name in LISTS and k.items and k.items[0][0].name in LISTS for k in kinds)
    if of_pairs and "&" in typed:
        return [[one.strip() for one in part.split("&")] for part in typed.split(";")]
    takes_text = any(kind.name == "str" or kind.choices for kind in kinds)
    takes_list = any(kind.name in LISTS for kind in kinds)
    if takes_text and not takes_list and not typed.startswith("{"):
        return typed
    found = _toml(typed)
    if found is not None and not (isinstance(found, str) and takes_list and not takes_text):
        return [found] if takes_list and not takes_text and _is_plain(found, kinds) else found
    if takes_text and "," not in typed:
        return typed
    if takes_list:
        return _listed(typed.strip("[]"))
    raise StudyError(f"{key} cannot be read; {STUDY_FILE.asks(kinds)}")


_NAMED = re.compile(r"\s*([\w.]+):\s+(.+)")


def _by_name(typed: str) -> dict[str, Any] | None:
    """Values by name, ``income: 0, 40; works: 0, 1``; None if the text is something else."""
    parts = [_NAMED.fullmatch(part) for part in typed.split(";") if part.strip()]
    return {p[1]: _alone_or_listed(p[2].strip()) for p in parts if p} if all(parts) else None


def _alone_or_listed(text: str) -> Any:
    if "," in text or " to " in text:
        return _listed(text.replace(" to ", ", "))
    number = _toml(text)
    return number if _is_number(number) else text


def _is_plain(value: object, kinds: Kinds) -> bool:
    """Whether a value stands alone where only a list is taken."""
    numbers = {"int", "float", "Real", "bool"}
    return not isinstance(value, (list, Mapping)) and not any(k.name in numbers for k in kinds)


def choices_of(kinds: Kinds) -> list[str]:
    """Words of which a key takes one; none where it takes anything else."""
    if [kind.name for kind in kinds] == ["bool"]:
        return ["true", "false"]
    return list(kinds[0].choices) if len(kinds) == 1 else []


def shown_value(value: Any) -> str:
    """Value of a section as a person would type it.

    Examples
    --------
    >>> shown_value({"income": [0, 40], "works": 0.5}), shown_value([["age", "female"]])
    ('income: 0, 40; works: 0.5', 'age & female')
    >>> shown_value(["", "age"])
    'no covariates, age'
    """
    if isinstance(value, Mapping) and not any(isinstance(one, Mapping) for one in value.values()):
        return "; ".join(f"{name}: {shown_fact(one)}" for name, one in value.items())
    if isinstance(value, list) and all(isinstance(one, list) for one in value):
        return "; ".join(" & ".join(map(str, one)) for one in value)
    return shown_fact([one or _NONE for one in value] if _is_texts(value) else value)


_NONE = "no covariates"
"""What stands on the page for an empty set of them."""


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


_NUMBERS_ALONE = re.compile(r"[-+.,\[\]\s\deE]+")


def _toml(typed: str) -> Any:
    """Return a value of TOML; None if it is none.

    Examples
    --------
    >>> _toml(".05"), _toml("[-.5, 1.]"), _toml("often")
    (0.05, [-0.5, 1.0], None)
    """
    if _NUMBERS_ALONE.fullmatch(typed):
        typed = re.sub(r"(?<=\d)\.(?!\d)", ".0", re.sub(r"(?<!\d)\.(?=\d)", "0.", typed))
    try:
        return tomllib.loads(f"value = {typed}")["value"] if "\n" not in typed else None
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        return None


def _listed(parts: str) -> list[Any]:
    """Return a list that may lack its quotation marks."""
    found = _toml(f"[{parts}]")
    if isinstance(found, list):
        return found
    texts = [one.strip() for one in parts.split(",") if one.strip()]
    values = [_toml(text) for text in texts]
    return [
        value if _is_number(value) or _is_day(value) else text.strip("\"'")
        for value, text in zip(values, texts, strict=True)
    ]


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_day(value: object) -> bool:
    return isinstance(value, dt.date) and not isinstance(value, dt.datetime)


def _is_plain_text(value: Any) -> bool:
    """Whether an item of a list needs no quotation marks: no comma, number or blank misleads."""
    if not isinstance(value, str):
        return not isinstance(value, bool)
    return (
        bool(value)
        and value == value.strip(" \"'[]")
        and "," not in value
        and (_toml(value) is None)
    )


def _written(value: Any) -> str:
    """Return a value as TOML writes it in one line."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + "".join(_escaped(letter) for letter in value) + '"'
    if isinstance(value, Mapping):
        return (
            "{" + ", ".join(f"{_written(str(k))} = {_written(v)}" for k, v in value.items()) + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(map(_written, value)) + "]"
    return str(value)


def _escaped(letter: str) -> str:
    if letter in '"\\':
        return "\\" + letter
    return letter if letter.isprintable() else f"\\U{ord(letter):08X}"
