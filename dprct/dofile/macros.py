"""Macros: what a command says once its locals and globals are written out."""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING

from dprct.dofile.expressions import Unknown, Value, value_of, written
from dprct.dofile.lines import CLOSE, OPEN
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_MARK = re.compile(r"[`$\\]")
_QUOTE = re.compile(r"[`']")
_NAME = re.compile(r"[A-Za-z_]\w{0,31}")
_STORED = re.compile(r"(?:[resc]|_b|_se|scalar)\([^()]*\)$")
_DEEP = 30
_LONGEST = 100_000


class BoundReached(Exception):
    """A bound on the work of one reading is reached; what was read so far stands."""


def unknown(text: str) -> str:
    """Text that stands for a value which only the data could tell."""
    return OPEN + known(text)[:200] + CLOSE


def known(text: str) -> str:
    """Return a text without the marks that stand for unknown macros."""
    return text.replace(OPEN, "").replace(CLOSE, "")


@dataclass
class Macros:
    """Globals, the locals of each program that runs, and scalars whose value is known."""

    work: int
    columns: Callable[[Sequence[str]], list[str]] = list
    globals: dict[str, str] = field(default_factory=dict)
    frames: list[dict[str, str]] = field(default_factory=lambda: [{}])
    scalars: dict[str, Value] = field(default_factory=dict)
    undefined: set[str] = field(default_factory=set)

    @property
    def locals(self) -> dict[str, str]:
        """The macros of the program or file that runs now."""
        return self.frames[-1]

    def spend(self, amount: int) -> None:
        """Count work in characters and commands, whatever machine does it."""
        self.work -= amount
        if self.work < 0:
            raise BoundReached("the bound on the work of one reading is reached")

    def set(self, name: str, value: str, *, of_all: bool = False) -> None:
        """Define a macro; one that is too long becomes unknown."""
        if len(value) > _LONGEST:
            value = unknown(f"a macro of more than {_LONGEST} characters")
        (self.globals if of_all else self.locals)[name] = value

    def expand(self, text: str, depth: int = 0) -> str:
        """Write out the macros of a text; what is too deep or too long is left as it stands."""
        if depth > _DEEP or ("`" not in text and "$" not in text):
            return text
        self.spend(len(text) // 16 + 3)
        pieces: list[str] = []
        position = length = 0
        while mark := _MARK.search(text, position):
            begin = mark.start()
            pieces.append(text[position:begin])
            piece, position = self._one(text, begin, depth)
            length += len(piece)
            if length > _LONGEST:
                pieces.append(unknown("too long"))
                break
            pieces.append(piece)
        else:
            pieces.append(text[position:])
        whole = "".join(pieces)
        self.spend(len(whole) // 16 + 1)
        return whole

    def _one(self, text: str, begin: int, depth: int) -> tuple[str, int]:
        """Expansion of the macro at a position, and where the text goes on."""
        self.spend(1)
        following = text[begin + 1 : begin + 2]
        if text[begin] == "\\":
            return (following, begin + 2) if following and following in "`$" else ("\\", begin + 1)
        if text[begin] == "`":
            if following == '"':
                return '`"', begin + 2
            end = _matching(text, begin)
            if end < 0:
                return "`", begin + 1
            return self._local(text[begin + 1 : end], depth), end + 1
        if following == "{":
            end = text.find("}", begin)
            if end < 0:
                return "$", begin + 1
            return self._global(self.expand(text[begin + 2 : end], depth + 1), depth), end + 1
        if following == "`" and text[begin + 2 : begin + 3] != '"':
            end = _matching(text, begin + 1)
            tail = re.compile(r"\w*").match(text, end + 1)
            if end > 0 and tail:
                name = self._local(text[begin + 2 : end], depth) + tail[0]
                return self._global(name, depth), tail.end()
        found = _NAME.match(text, begin + 1)
        if found is None:
            return "$", begin + 1
        return self._global(found[0], depth), found.end()

    def _global(self, name: str, depth: int) -> str:
        if OPEN in name:
            return unknown("$" + name)
        if name not in self.globals:
            if not name.startswith("S_"):
                self.undefined.add(name)
            return ""
        return self.expand(self.globals[name], depth + 1)

    def _local(self, inner: str, depth: int) -> str:
        inner = inner.strip()
        if inner.startswith("="):
            return self.result(self.expand(inner[1:], depth + 1))
        if inner.startswith(":"):
            return self.extended(self.expand(inner[1:], depth + 1))
        if inner[:2] in ("++", "--") or inner[-2:] in ("++", "--"):
            name = self.expand(inner.strip("+-"), depth + 1)
            before = self.locals.get(name, "")
            self.step(name, 1 if "++" in (inner[:2], inner[-2:]) else -1)
            return self.locals[name] if inner[:2] in ("++", "--") else before
        if inner.startswith("macval(") and inner.endswith(")"):
            return self.locals.get(inner[7:-1].strip(), "")
        name = self.expand(inner, depth + 1) if "`" in inner or "$" in inner else inner
        if _STORED.match(name) or OPEN in name:
            return unknown(name)
        value = self.locals.get(name, "")
        return self.expand(value, depth + 1)

    def step(self, name: str, by: int) -> None:
        """Add one to a local, or take one away."""
        number = value_of(self.locals.get(name, ""))
        self.set(name, written(number + by) if isinstance(number, float) else unknown(name))

    def result(self, expression: str) -> str:
        """Return an expression's value as text, or itself, marked as unknown."""
        value = value_of(expression, self.scalars)
        if isinstance(value, Unknown):
            return unknown(" ".join(expression.split()))
        return value if isinstance(value, str) else written(value)

    def assigned(self, text: str) -> str:
        """Return the value in ``name value``, ``name = expression`` or ``name : function``."""
        text = text.strip()
        if text.startswith("="):
            return self.result(text[1:])
        if text.startswith(":"):
            return self.extended(text[1:])
        return unquoted(text)

    def extended(self, text: str) -> str:
        """Return the value of an extended function, unknown where it asks the data."""
        text = text.strip()
        self.spend(len(text) // 4 + 1)
        name, _, rest = text.partition(" ")
        rest = rest.strip()
        if name == "list":
            return self._list(rest)
        if name == "copy":
            return self._named(rest)
        if name == "subinstr":
            return self._subinstr(rest)
        if OPEN in rest and name != "dis":
            return unknown(text)
        if name == "word":
            return _word_of(rest)
        if name in ("length", "strlen", "ustrlen", "udstrlen"):
            return str(len(self._subject(rest)))
        if name in ("upper", "lower", "proper"):
            subject = self._subject(rest)
            return {"upper": subject.upper, "lower": subject.lower, "proper": subject.title}[name]()
        if name[:2] == "di" and "display".startswith(name):
            value = value_of(re.sub(r"^%\S+\s+", "", rest), self.scalars)
            if not isinstance(value, Unknown):
                return value if isinstance(value, str) else written(value)
        return unknown(text)  # it asks the data, the results or the machine

    def _named(self, text: str) -> str:
        kind, _, name = text.partition(" ")
        name = name.strip()
        where = self.globals if kind.startswith("gl") else self.locals
        return where.get(name, "")

    def _subject(self, text: str) -> str:
        if re.match(r"(?:loc\w*|gl\w*)\s+\w+$", text):
            return self._named(text)
        return unquoted(text)

    def _subinstr(self, text: str) -> str:
        found = re.match(r"(loc\w*|gl\w*)\s+(\w+)\s+", text)
        if not found:
            return unknown("subinstr " + text)
        subject = self._named(f"{found[1]} {found[2]}")
        arguments, _, options = text[found.end() :].partition(",")
        given = quoted_words(arguments)
        if len(given) < 2 or OPEN in subject:
            return unknown("subinstr " + text)
        old, new = given[0], given[1]
        times = 1 if len(given) < 3 else -1 if "all" in given[2] else int(given[2][:4] or 1)
        if "word" in options:
            words = [new if word == old else word for word in subject.split()]
            return " ".join(word for word in words if word)
        if len(subject) * max(len(new), 1) > _LONGEST * 10:
            return unknown("subinstr")
        return subject.replace(old, new, times) if old else subject

    def _list(self, text: str) -> str:
        words = text.split()
        if not words:
            return ""
        one = self._words
        if words[0] in ("uniq", "sort", "retokenize", "clean", "dups", "sizeof"):
            given = one(words[1]) if len(words) > 1 else []
            if OPEN in " ".join(given):
                return unknown("list " + text)
            if words[0] == "sizeof":
                return str(len(given))
            if words[0] == "dups":
                once = [*dict.fromkeys(given)]
                for word in once:
                    given.remove(word)
                return " ".join(given)
            if words[0] == "sort":
                return " ".join(sorted(given))
            return " ".join(dict.fromkeys(given) if words[0] == "uniq" else given)
        if words[0] == "posof" and (found := re.match(r'posof\s+"([^"]*)"\s+in\s+(\w+)', text)):
            given = one(found[2])
            return str(given.index(found[1]) + 1 if found[1] in given else 0)
        found = re.match(r"(\w+)\s*(\||&|-|===|==|in)\s*(\w+)\s*$", text)
        if not found:
            return unknown("list " + text)
        left, right = one(found[1]), one(found[3])
        if OPEN in " ".join((*left, *right)):
            return unknown("list " + text)
        inside = set(right)
        if found[2] == "|":
            return " ".join([*left, *(word for word in right if word not in set(left))])
        if found[2] == "&":
            return " ".join(word for word in left if word in inside)
        if found[2] == "-":
            return " ".join(word for word in left if word not in inside)
        if found[2] == "in":
            return str(int(set(left) <= inside))
        same = left == right if found[2] == "==" else sorted(left) == sorted(right)
        return str(int(same))

    def _words(self, name: str) -> list[str]:
        value = self.locals.get(name, self.globals.get(name, ""))
        return quoted_words(self.expand(value, 1))


def _matching(text: str, begin: int) -> int:
    """Place where the quote that opens at a position closes, or -1."""
    depth = 0
    for found in _QUOTE.finditer(text, begin, begin + 2_000):
        depth += 1 if found[0] == "`" else -1
        if not depth:
            return found.start()
    return -1


def _word_of(text: str) -> str:
    """Return ``word count list`` or ``word 2 of list``."""
    if text.startswith("count"):
        return str(len(quoted_words(text[5:])))
    found = re.match(r"(\S+)\s+of\b", text)
    place = value_of(found[1]) if found else None
    if found is None or not isinstance(place, float):
        return unknown("word " + text)
    words = quoted_words(text[found.end() :])
    return words[int(place) - 1] if 1 <= place <= len(words) else ""


def unquoted(text: str) -> str:
    """Return a text without the one pair of quotes that holds all of it."""
    text = text.strip()
    if len(text) >= 4 and text.startswith('`"') and text.endswith("\"'"):
        return text[2:-2]
    if len(text) >= 2 and text[0] == text[-1] == '"' and '"' not in text[1:-1]:
        return text[1:-1]
    return text


_WORD = re.compile(r'`"(.*?)"\'|"([^"]*)"|(\S+)', re.DOTALL)


def quoted_words(text: str) -> list[str]:
    """Return the words of a list, where quotes hold a word together."""
    if '"' not in text:
        return text.split()
    return [
        next((part for part in found.groups() if part is not None), "")
        for found in _WORD.finditer(text)
    ]
