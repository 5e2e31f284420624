"""Over what loops go: ``foreach``, ``forvalues``, and the old ``for``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from dprct.dofile.expressions import value_of, written
from dprct.dofile.lines import OPEN
from dprct.dofile.macros import Macros, quoted_words
from dprct.dofile.syntax import top_level
from dprct.dofile.varlists import words

Columns = Callable[[Sequence[str]], list[str]]
Values = tuple[str, list[str], bool]
"""The macro, its values, and whether these are known without the data."""
_Part = tuple[float, float, float] | str
"""First number, step and last, or a number as it is written."""

_NUMBER = r"-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_STEP = re.compile(rf"({_NUMBER})\s*\(\s*({_NUMBER})\s*\)\s*({_NUMBER})$")
_RANGE = re.compile(rf"({_NUMBER})\s*/\s*({_NUMBER})$")
_MOST = 20_000


def foreach_values(text: str, macros: Macros, columns: Columns) -> Values | None:
    """Values of ``foreach name in ...`` and ``foreach name of ...``."""
    found = re.match(r"\s*([A-Za-z_]\w*)\s+(in|of)\b\s*", text)
    if not found:
        return None
    name, rest = found[1], text[found.end() :]
    if found[2] == "in":
        return _sure(name, quoted_words(rest))
    kind, _, rest = rest.partition(" ")
    rest = rest.strip()
    if kind[:3] in ("loc", "glo"):
        held = macros.locals if kind[:3] == "loc" else macros.globals
        listed = " ".join(macros.expand(held.get(one, ""), 1) for one in rest.split())
        return _sure(name, quoted_words(listed))
    if kind.startswith("num"):
        numbers = numlist(rest)
        return None if numbers is None else _sure(name, numbers)
    if kind.startswith(("var", "new")):
        return _sure(name, columns(words(rest)) if kind.startswith("var") else words(rest))
    return None


def _sure(name: str, values: list[str]) -> Values:
    if len(values) == 1 and OPEN in values[0]:
        return name, values, False
    merged: list[str] = []
    going = ""
    for value in values:  # what is unknown may hold spaces
        going = f"{going} {value}" if going else value
        if going.count(OPEN) <= going.count("\ue001"):
            merged.append(going)
            going = ""
    merged += [going] if going else []
    return name, merged, not any(OPEN in value for value in merged)


def forvalues_values(text: str, most: int) -> Values | None:
    """Values of ``forvalues i = 1/8``; one more value than allowed at most."""
    found = re.match(r"\s*([A-Za-z_]\w*)\s*=\s*(.*)$", text, re.DOTALL)
    if not found:
        return None
    name, rest = found[1], found[2].strip()
    if OPEN in rest:
        return name, [rest.split("/")[0].split("(")[0].strip()], False
    numbers = numlist(rest, most + 1)
    if numbers is None:
        edges = [value_of(part) for part in rest.split("/")]
        if len(edges) != 2 or not all(isinstance(edge, float) for edge in edges):
            return None
        numbers = numlist("/".join(written(e) for e in edges if isinstance(e, float)), most + 1)
    return None if numbers is None else (name, numbers, True)


def numlist(text: str, most: int = _MOST) -> list[str] | None:
    """Return the numbers of ``1/3 5 7(2)11``; None where this is no list of numbers."""
    text = re.sub(r"\s*([/():])\s*", r"\1", text.replace("[", "(").replace("]", ")").strip())
    text = re.sub(r"\)(?=[-.\d])", ") ", text).replace(") ", ")")
    parts: list[_Part] = []  # all are understood before one is written
    items = text.replace(",", " ").split()
    place = 0
    while place < len(items):
        item = items[place]
        if len(items) > place + 2 and items[place + 1] == "to":
            first, second = (_float(item), _float(items[place - 1]) if place else None)
            last = _float(items[place + 2])
            step = 1.0 if second is None or first is None else first - second
            made: _Part | None = None if first is None or last is None else (first, step, last)
            place += 3
        else:
            made = _item(item)
            place += 1
        if made is None:
            return None
        parts.append(made)
    found: list[str] = []
    for part in parts:
        found += [part] if isinstance(part, str) else _between(*part, most)
        if len(found) > most:
            return found[: most + 1]
    return found


def _item(item: str) -> _Part | None:
    if step := _STEP.match(item):
        return float(step[1]), float(step[2]), float(step[3])
    if found := _RANGE.match(item):
        first, last = float(found[1]), float(found[2])
        return first, 1.0 if first <= last else -1.0, last
    return None if _float(item) is None else item


def _between(first: float, step: float, last: float, most: int) -> list[str]:
    if step == 0 or (last - first) / step < 0:
        return []
    count = min(int((last - first) / step + 1e-9) + 1, most + 1)
    return [written(round(first + number * step, 10)) for number in range(count)]


def _float(text: str) -> float | None:
    return float(text) if re.fullmatch(_NUMBER, text) else None


def old_for(text: str, columns: Columns, most: int) -> Iterator[str]:
    """Yield the commands of ``for var a b: gen lX = log(X)`` and of its like."""
    parts = top_level(text[3:], ":")
    if len(parts) < 2:
        return
    head, body = parts[0].split(",")[0], ":".join(parts[1:])
    lists: list[tuple[str, list[str]]] = []
    for number, one in enumerate(head.split("\\")):
        found = re.match(r"\s*(?:([A-Z])\s+in\s+)?(var\w*|num\w*|any\w*|new\w*)\s+(.*)", one)
        if not found:
            return
        letter = found[1] or "XYZABC"[min(number, 5)]
        rest = found[3].strip()
        if found[2].startswith("num"):
            values = numlist(rest, most) or []
        elif found[2].startswith("var"):
            values = columns(words(rest))
        else:
            values = quoted_words(rest)
        lists.append((letter, values))
    for number in range(min(min((len(values) for _, values in lists), default=0), most)):
        made = body
        for letter, values in lists:
            made = made.replace(letter, values[number])[:20_000]
        yield from (one.strip() for one in re.split(r"\s\\\s", made))
