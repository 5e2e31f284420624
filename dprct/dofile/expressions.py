"""The values of expressions that need no data: numbers, strings, and what cannot be known."""

from __future__ import annotations

import math
import operator
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dprct.dofile.lines import OPEN

if TYPE_CHECKING:
    from collections.abc import Callable

_TOKEN = re.compile(
    r"""\s*(?:(?P<string>`"[^"]*"'|"[^"]*")|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"""
    r"""|(?P<name>[A-Za-z_][\w.]*)|(?P<mark>==|!=|~=|<=|>=|[-+*/^&|!~<>()\[\],=.])|(?P<other>\S))"""
)
_DEEP = 40
_LONG = 4_000


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value that only the data, or another program, could tell."""


UNKNOWN = Unknown()
Value = float | str | Unknown

_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "==": operator.eq,
    "=": operator.eq,
    "!=": operator.ne,
    "~=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}


def value_of(text: str, scalars: dict[str, Value] | None = None) -> Value:
    """Return the value of an expression; unknown where it is not made of constants."""
    if len(text) > _LONG:
        return UNKNOWN
    tokens = [found for found in _TOKEN.finditer(text) if found.lastgroup]
    if any(found.lastgroup == "other" for found in tokens):
        return UNKNOWN
    parser = _Parser([(str(f.lastgroup), f[str(f.lastgroup)]) for f in tokens], scalars or {})
    try:
        value = parser.disjunction(0)
    except (_Malformed, ArithmeticError, ValueError):
        return UNKNOWN
    if parser.position < len(parser.tokens):
        return UNKNOWN
    return UNKNOWN if isinstance(value, str) and OPEN in value else value


def truth(value: Value) -> bool | None:
    """Whether a condition holds; None where that is not known."""
    return None if not isinstance(value, float) else value != 0


def written(value: float) -> str:
    """Write a number as Stata does in a macro: 3, .5, -1.25."""
    if math.isnan(value) or math.isinf(value):
        return "."
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    text = f"{value:.15g}"
    return re.sub(r"^(-?)0\.", r"\1.", text)


class _Malformed(Exception):
    """The text is no expression that is read here."""


@dataclass(slots=True)
class Tokens:
    """The tokens of an expression, kind and text, and how far it is read."""

    tokens: list[tuple[str, str]]
    position: int = field(default=0, kw_only=True)

    def peek(self, ahead: int = 0) -> tuple[str, str]:
        """Return the next token, or one after it; empty at the end."""
        place = self.position + ahead
        return self.tokens[place] if place < len(self.tokens) else ("", "")

    def take(self, *marks: str) -> str:
        """Return the next mark and go on, if it is one of these."""
        kind, text = self.peek()
        if kind == "mark" and text in marks:
            self.position += 1
            return text
        return ""


@dataclass(slots=True)
class _Parser(Tokens):
    scalars: dict[str, Value]

    def disjunction(self, depth: int) -> Value:
        if depth > _DEEP:
            raise _Malformed
        value = self.conjunction(depth)
        while self.take("|"):
            left, right = truth(value), truth(self.conjunction(depth))
            value = 1.0 if left or right else UNKNOWN if left is None or right is None else 0.0
        return value

    def conjunction(self, depth: int) -> Value:
        value = self.comparison(depth)
        while self.take("&"):
            left, right = truth(value), truth(self.comparison(depth))
            if left is False or right is False:
                value = 0.0
            else:
                value = UNKNOWN if left is None or right is None else 1.0
        return value

    def comparison(self, depth: int) -> Value:
        value = self.sum(depth)
        while mark := self.take(*_COMPARE):
            other = self.sum(depth)
            if isinstance(value, str) and isinstance(other, str):
                if OPEN in value or OPEN in other:
                    value = UNKNOWN
                else:
                    order = float((value > other) - (value < other))
                    value = float(_COMPARE[mark](order, 0.0))
            elif isinstance(value, float) and isinstance(other, float):
                value = float(_COMPARE[mark](value, other))
            else:
                value = UNKNOWN
        return value

    def sum(self, depth: int) -> Value:
        value = self.product(depth)
        while mark := self.take("+", "-"):
            other = self.product(depth)
            if mark == "+" and isinstance(value, str) and isinstance(other, str):
                value = (value + other)[:_LONG]
            elif isinstance(value, float) and isinstance(other, float):
                value = value + other if mark == "+" else value - other
            else:
                value = UNKNOWN
        return value

    def product(self, depth: int) -> Value:
        value = self.sign(depth)
        while mark := self.take("*", "/"):
            other = self.sign(depth)
            if not (isinstance(value, float) and isinstance(other, float)):
                value = UNKNOWN
            elif mark == "*":
                value = value * other
            else:
                value = value / other if other else math.inf
        return value

    def sign(self, depth: int) -> Value:
        if depth > _DEEP:
            raise _Malformed
        if mark := self.take("-", "+", "!", "~"):
            value = self.sign(depth + 1)
            if not isinstance(value, float):
                return UNKNOWN
            return float(not value) if mark in "!~" else -value if mark == "-" else value
        return self.power(depth)

    def power(self, depth: int) -> Value:
        value = self.atom(depth)
        while self.take("^"):
            other = self.sign(depth + 1)
            if not (isinstance(value, float) and isinstance(other, float)):
                value = UNKNOWN
            else:
                value = math.pow(value, other)
        return value

    def atom(self, depth: int) -> Value:
        kind, text = self.peek()
        self.position += 1
        if kind == "number":
            return float(text)
        if kind == "string":
            return text[2:-2] if text.startswith("`") else text[1:-1]
        if text == "(":
            value = self.disjunction(depth + 1)
            if not self.take(")"):
                raise _Malformed
            return value
        if text == ".":
            return math.inf
        if kind == "name":
            return self.named(text, depth)
        raise _Malformed

    def named(self, name: str, depth: int) -> Value:
        if self.take("["):
            while not self.take("]"):
                self.disjunction(depth + 1)
                if not self.take(",") and self.peek()[1] != "]":
                    raise _Malformed
            return UNKNOWN
        if not self.take("("):
            return self.scalars.get(name, UNKNOWN)
        given: list[Value] = []
        while not self.take(")"):
            given.append(self.disjunction(depth + 1))
            if not self.take(",") and self.peek()[1] != ")":
                raise _Malformed
        if name == "scalar":
            return UNKNOWN
        if any(isinstance(one, Unknown) or (isinstance(one, str) and OPEN in one) for one in given):
            return UNKNOWN
        function = _FUNCTIONS.get(name)
        if function is None:
            return UNKNOWN
        try:
            return function(*given)
        except (TypeError, IndexError, OverflowError):
            return UNKNOWN


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.inf


def _substr(text: str, begin: float, length: float = math.inf) -> str:
    first = int(begin) - 1 if begin > 0 else max(len(text) + int(begin), 0)
    return text[first:] if not math.isfinite(length) else text[first : first + max(int(length), 0)]


def _word(text: str, number: float) -> str:
    words = text.split()
    place = int(number) - 1 if number > 0 else len(words) + int(number)
    return words[place] if 0 <= place < len(words) else ""


def _subinstr(text: str, old: str, new: str, times: float = math.inf) -> str:
    if not old or len(text) * max(len(new), 1) > 1_000_000:
        return text
    return text.replace(old, new, int(times) if math.isfinite(times) else -1)


_FUNCTIONS: dict[str, Callable[..., Value]] = {
    "length": lambda text: float(len(text)),
    "strlen": lambda text: float(len(text)),
    "upper": lambda text: text.upper(),
    "strupper": lambda text: text.upper(),
    "lower": lambda text: text.lower(),
    "strlower": lambda text: text.lower(),
    "proper": lambda text: text.title(),
    "strproper": lambda text: text.title(),
    "trim": lambda text: text.strip(),
    "strtrim": lambda text: text.strip(),
    "itrim": lambda text: re.sub(" +", " ", text),
    "stritrim": lambda text: re.sub(" +", " ", text),
    "reverse": lambda text: text[::-1],
    "strreverse": lambda text: text[::-1],
    "abbrev": lambda text, length: text[: int(length)],
    "substr": _substr,
    "strpos": lambda text, part: float(text.find(part) + 1),
    "index": lambda text, part: float(text.find(part) + 1),
    "word": _word,
    "wordcount": lambda text: float(len(text.split())),
    "subinstr": _subinstr,
    "string": lambda number, *_: written(number),
    "strofreal": lambda number, *_: written(number),
    "real": _number,
    "int": lambda number: float(math.trunc(number)),
    "trunc": lambda number: float(math.trunc(number)),
    "floor": lambda number: float(math.floor(number)),
    "ceil": lambda number: float(math.ceil(number)),
    "round": lambda number, unit=1.0: math.floor(number / unit + 0.5) * unit,
    "abs": abs,
    "mod": lambda number, by: number % by if by > 0 else math.inf,
    "min": lambda *numbers: min(numbers),
    "max": lambda *numbers: max(numbers),
    "sqrt": lambda number: math.sqrt(number) if number >= 0 else math.inf,
    "exp": lambda number: math.exp(number),
    "ln": lambda number: math.log(number) if number > 0 else math.inf,
    "log": lambda number: math.log(number) if number > 0 else math.inf,
    "inlist": lambda first, *others: float(first in others),
    "inrange": lambda number, low, high: float(low <= number <= high),
    "missing": lambda one: float(one == "" or (isinstance(one, float) and not math.isfinite(one))),
    "mi": lambda one: float(one == "" or (isinstance(one, float) and not math.isfinite(one))),
    "cond": lambda condition, yes, no, *_: yes if condition else no,
    "char": lambda number: chr(int(number)) if 32 <= number < 127 else " ",
}
