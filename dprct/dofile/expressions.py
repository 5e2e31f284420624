"""The values of expressions that need no data: numbers, strings, and what cannot be known."""

from __future__ import annotations

import math
import operator
import re
from abc import ABC, abstractmethod
from dataclasses import field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from dprct.dofile.lines import OPEN
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

_TOKEN = re.compile(
    r"""\s*(?:(?P<string>`"[^"]*"'|"[^"]*")|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"""
    r"""|(?P<missing>\.[a-z]?(?![\w.]))|(?P<name>[A-Za-z_]\w*)"""
    r"""|(?P<mark>==|!=|~=|<=|>=|[-+*/^&|!~<>()\[\],=.])|(?P<other>\S))"""
)
UNREAD = "the expression is not read"
_LONG = 4_000


@dataclass(frozen=True)
class Unknown:
    """A value that only the data, or another program, could tell."""


UNKNOWN = Unknown()
Value = float | str | Unknown

COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "=": operator.eq,
    "!=": operator.ne,
    "~=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}
_COMPUTE: dict[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "^": math.pow,
}


def tokens_of(text: str) -> list[tuple[str, str]]:
    """Tokens of an expression, kind and text."""
    return [(str(f.lastgroup), f[str(f.lastgroup)]) for f in _TOKEN.finditer(text) if f.lastgroup]


def value_of(text: str, scalars: dict[str, Value] | None = None) -> Value:
    """Return the value of an expression; unknown where it is not made of constants."""
    if len(text) > _LONG:
        return UNKNOWN
    try:
        value = _Constants(tokens_of(text), scalars or {}).whole()
    except (Refused, ArithmeticError, ValueError):
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


class Refused(Exception):
    """Why an expression is not read, or a column not made of its own row alone, in words."""


V = TypeVar("V")


@dataclass
class Grammar(ABC, Generic[V]):
    """Expressions of Stata; what their parts mean is said by those who read them.

    ``!`` binds closest, then ``^``, signs, products, sums, comparisons, ``&`` and ``|``.
    """

    tokens: list[tuple[str, str]]  # kind and text
    position: int = field(default=0, kw_only=True)
    deepest = 40

    def whole(self) -> V:
        """Return what all of the tokens mean."""
        value = self.disjunction(0)
        if self.position < len(self.tokens):
            raise Refused(UNREAD)
        return value

    def peek(self) -> tuple[str, str]:
        """Return the next token; empty at the end."""
        return self.tokens[self.position] if self.position < len(self.tokens) else ("", "")

    def take(self, *marks: str) -> str:
        """Return the next mark and go on, if it is one of these."""
        kind, text = self.peek()
        if kind == "mark" and text in marks:
            self.position += 1
            return text
        return ""

    def disjunction(self, depth: int) -> V:
        """Take a whole expression."""
        if depth > self.deepest:
            raise Refused("the expression is nested too deep")
        parts = [self._conjunction(depth)]
        while self.take("|"):
            parts.append(self._conjunction(depth))
        return parts[0] if len(parts) == 1 else self._joined("|", parts)

    def _conjunction(self, depth: int) -> V:
        parts = [self._comparison(depth)]
        while self.take("&"):
            parts.append(self._comparison(depth))
        return parts[0] if len(parts) == 1 else self._joined("&", parts)

    def _comparison(self, depth: int) -> V:
        value = self._sum(depth)
        while mark := self.take(*COMPARISONS):
            value = self._compared(value, mark, self._sum(depth))
        return value

    def _sum(self, depth: int) -> V:
        value = self._product(depth)
        while mark := self.take("+", "-"):
            value = self._computed(value, mark, self._product(depth))
        return value

    def _product(self, depth: int) -> V:
        value = self._sign(depth)
        while mark := self.take("*", "/"):
            value = self._computed(value, mark, self._sign(depth))
        return value

    def _sign(self, depth: int) -> V:
        if depth > self.deepest:
            raise Refused("the expression is nested too deep")
        mark = self.take("-", "+")
        if not mark:
            return self._power(depth)
        value = self._sign(depth + 1)
        return value if mark == "+" else self._minus(value)

    def _power(self, depth: int) -> V:
        value = self._negation(depth)
        while self.take("^"):
            minus = self.take("-")
            other = self._negation(depth)
            value = self._computed(value, "^", self._minus(other) if minus else other)
        return value

    def _negation(self, depth: int) -> V:
        if depth > self.deepest:
            raise Refused("the expression is nested too deep")
        if self.take("!", "~"):
            return self._not(self._negation(depth + 1))
        kind, text = self.peek()
        self.position += 1
        if text == "(" and kind == "mark":
            value = self.disjunction(depth + 1)
            if not self.take(")"):
                raise Refused(UNREAD)
            return value
        if kind == "string":
            text = text[2:-2] if text.startswith("`") else text[1:-1]
        if kind in ("number", "missing", "string"):
            return self._constant(kind, text)
        if kind == "name":
            return self._named(text, depth)
        raise Refused(UNREAD)

    def arguments(self, depth: int) -> list[V]:
        """Take what stands in the brackets of a function, after the first of these."""
        given: list[V] = []
        while not self.take(")"):
            given.append(self.disjunction(depth + 1))
            if not self.take(",") and self.peek()[1] != ")":
                raise Refused(UNREAD)
        return given

    @abstractmethod
    def _joined(self, mark: str, parts: list[V]) -> V: ...

    @abstractmethod
    def _compared(self, x: V, mark: str, y: V) -> V: ...

    @abstractmethod
    def _computed(self, x: V, mark: str, y: V) -> V: ...

    @abstractmethod
    def _minus(self, x: V) -> V: ...

    @abstractmethod
    def _not(self, x: V) -> V: ...

    @abstractmethod
    def _constant(self, kind: str, text: str) -> V: ...

    @abstractmethod
    def _named(self, name: str, depth: int) -> V: ...


@dataclass
class _Constants(Grammar[Value]):
    scalars: dict[str, Value]

    def _joined(self, mark: str, parts: list[Value]) -> Value:
        ends, truths = mark == "|", [*map(truth, parts)]
        if ends in truths:
            return float(ends)
        return UNKNOWN if None in truths else float(not ends)

    def _compared(self, x: Value, mark: str, y: Value) -> Value:
        if isinstance(x, str) and isinstance(y, str) and OPEN not in x + y:
            return float(COMPARISONS[mark](x, y))
        if isinstance(x, float) and isinstance(y, float):
            return float(COMPARISONS[mark](x, y))
        return UNKNOWN

    def _computed(self, x: Value, mark: str, y: Value) -> Value:
        if mark == "+" and isinstance(x, str) and isinstance(y, str):
            return (x + y)[:_LONG]
        if not (isinstance(x, float) and isinstance(y, float)):
            return UNKNOWN
        return math.inf if mark == "/" and not y else _COMPUTE[mark](x, y)

    def _minus(self, x: Value) -> Value:
        return -x if isinstance(x, float) else UNKNOWN

    def _not(self, x: Value) -> Value:
        return float(not x) if isinstance(x, float) else UNKNOWN

    def _constant(self, kind: str, text: str) -> Value:
        if kind == "missing" and text != ".":
            raise Refused(UNREAD)
        return text if kind == "string" else math.inf if kind == "missing" else float(text)

    def _named(self, name: str, depth: int) -> Value:
        if self.take("["):
            while not self.take("]"):
                self.disjunction(depth + 1)
                if not self.take(",") and self.peek()[1] != "]":
                    raise Refused(UNREAD)
            return UNKNOWN
        if not self.take("("):
            return self.scalars.get(name, UNKNOWN)
        given = self.arguments(depth)
        if any(isinstance(one, Unknown) or (isinstance(one, str) and OPEN in one) for one in given):
            return UNKNOWN
        try:
            return _FUNCTIONS[name](*given)
        except (AttributeError, KeyError, TypeError, IndexError, OverflowError):
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
    "upper": lambda text: text.upper(),
    "lower": lambda text: text.lower(),
    "proper": lambda text: text.title(),
    "trim": lambda text: text.strip(),
    "itrim": lambda text: re.sub(" +", " ", text),
    "reverse": lambda text: text[::-1],
    "abbrev": lambda text, length: text[: int(length)],
    "substr": _substr,
    "strpos": lambda text, part: float(text.find(part) + 1),
    "word": _word,
    "wordcount": lambda text: float(len(text.split())),
    "subinstr": _subinstr,
    "string": lambda number, *_: written(number),
    "real": _number,
    "int": lambda number: float(math.trunc(number)),
    "floor": lambda number: float(math.floor(number)),
    "ceil": lambda number: float(math.ceil(number)),
    "round": lambda number, unit=1.0: math.floor(number / unit + 0.5) * unit,
    "abs": abs,
    "mod": lambda number, by: number % by if by > 0 else math.inf,
    "min": lambda *numbers: min(numbers),
    "max": lambda *numbers: max(numbers),
    "sqrt": lambda number: math.sqrt(number) if number >= 0 else math.inf,
    "exp": math.exp,
    "ln": lambda number: math.log(number) if number > 0 else math.inf,
    "inlist": lambda first, *others: float(first in others),
    "inrange": lambda number, low, high: float(low <= number <= high),
    "missing": lambda one: float(one == "" or (isinstance(one, float) and not math.isfinite(one))),
    "cond": lambda condition, yes, no, *_: yes if condition else no,
    "char": lambda number: chr(int(number)) if 32 <= number < 127 else " ",
}
_FUNCTIONS |= {f"str{name}": _FUNCTIONS[name] for name in
               ("upper", "lower", "proper", "trim", "itrim", "reverse")} | {
    "strlen": _FUNCTIONS["length"], "index": _FUNCTIONS["strpos"], "trunc": _FUNCTIONS["int"],
    "strofreal": _FUNCTIONS["string"], "log": _FUNCTIONS["ln"], "mi": _FUNCTIONS["missing"],
}  # fmt: skip
