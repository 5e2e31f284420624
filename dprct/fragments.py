"""Fragments of code in messages, in the words of another language than Python.

Messages are written once, for whoever calls the package from Python, and mark what a reader is to
write: ``missing={'y': ...}``.  A dialect reads what is marked as Python and writes it as R, as a
study file or as the options of a command; it looks at no other word of a message.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dprct.errors import MARK, marked, shown

if TYPE_CHECKING:
    from collections.abc import Mapping


class Dialect:
    """How a language writes what Python writes otherwise; this one writes Python.

    Examples
    --------
    >>> Dialect().words("give ``bounds=(0, 1)`` or ``None``")
    'give bounds=(0, 1) or None'
    """

    between = "="
    constants: Mapping[object, str] = {}
    names: Mapping[str, str] = {}
    phrases: Mapping[str, str] = {}
    """How what is marked and no code begins, and what it is in this language."""

    def words(self, message: object) -> str:
        """Return an error, a warning or a message, its fragments in this language's words."""
        parts = marked(message).split(MARK)
        for place in range(1, len(parts) - 1, 2):
            parts[place] = self.fragment(parts[place])
        return shown("".join(parts))

    def fragment(self, code: str) -> str:
        """Return a fragment in this language's words: an expression, or arguments of a call."""
        if code.endswith("=") and code[:-1].isidentifier():
            return self.option(code[:-1])
        try:
            call = ast.parse(f"f({code}\n)", mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return self.other(code)
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            return code
        return self.arguments(call)

    def other(self, code: str) -> str:
        """Return what is no code, such as a value that was cut, or a command."""
        for beginning, words in self.phrases.items():
            if code.startswith(beginning):
                return words
        name, equals, value = code.partition("=")
        return self.named(name, value) if equals and name.isidentifier() else code

    def arguments(self, call: ast.Call) -> str:
        """Return what is passed to a function."""
        named = [self.named(one.arg, self.written(one.value)) for one in call.keywords if one.arg]
        return ", ".join([*map(self.written, call.args), *named])

    def option(self, name: str) -> str:
        """Return the name of an option whose value is not said."""
        return f"{name}{self.between}"

    def named(self, name: str, value: str) -> str:
        """Return an option with its value, which is in this language already."""
        return f"{name}{self.between}{value}"

    def written(self, node: ast.expr) -> str:
        """Return an expression in this language."""
        match node:
            case ast.Constant(value=str() as text):
                return self.text(text)
            case ast.Constant(value=None | bool() as value):
                return self.constants.get(value, str(value))
            case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
                return self.series(node, list(map(self.written, items)))
            case ast.Dict(keys=keys, values=values):
                pairs = zip(keys, values, strict=True)
                return self.mapping(
                    [(self.key(key), self.written(value)) for key, value in pairs if key]
                )
            case ast.Call(func=function):
                return self.call(ast.unparse(function), self.arguments(node))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return f"-{self.written(operand)}"
            case ast.Attribute() | ast.Name():
                return self.name(ast.unparse(node))
        return ast.unparse(node)

    def text(self, text: str) -> str:
        """Return a text in quotes."""
        return repr(text)

    def series(self, node: ast.expr, items: list[str]) -> str:
        """Return a list, whose items are in this language already."""
        inside = ", ".join(items)
        return f"({inside})" if isinstance(node, ast.Tuple) else f"[{inside}]"

    def key(self, node: ast.expr) -> str:
        """Return the key of a mapping."""
        return self.written(node)

    def mapping(self, pairs: list[tuple[str, str]]) -> str:
        """Return a mapping, whose keys and values are in this language already."""
        return f"{{{', '.join(f'{key}: {value}' for key, value in pairs)}}}"

    def call(self, function: str, arguments: str) -> str:
        """Return the call of a function by its name in Python."""
        return f"{self.name(function)}({arguments})"

    def name(self, name: str) -> str:
        """Return what Python calls by this name."""
        return self.names.get(name, name)
