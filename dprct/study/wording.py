"""Messages in the words of a study file, of a command's options or of R, instead of Python's.

Refusals, warnings and plans are written once, for whoever calls the package from Python, and mark
what is to be written: ``missing={'y': ...}``.  A dialect reads what is marked as Python and writes
it in another language; it looks at no other word of a message.  Whoever wrote TOML, or typed a
command, is told of it in these words; R has its dialect in :mod:`dprct.rbridge.dialect`.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dprct.errors import MARK, marked, shown

if TYPE_CHECKING:
    from dprct.results.plan import Plan


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
    """How marked text that is no code begins, and its translation into this language."""

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
        if len(call.args) == 1 and isinstance(call.args[0], ast.BinOp | ast.Compare):
            return code  # arithmetic is the same everywhere, and so are westfall-young and n^2
        return self.arguments(call)

    def other(self, code: str) -> str:
        """Text that is no code, such as a value that was cut, or a command."""
        for beginning, words in self.phrases.items():
            if code.startswith(beginning):
                return words + code[len(beginning) :] * beginning.endswith(" of")
        name, equals, value = code.partition("=")
        return self.named(name, value) if equals and name.isidentifier() else code

    def arguments(self, call: ast.Call) -> str:
        """Arguments of a function."""
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
        """Python's name for what has this name."""
        return self.names.get(name, name)


def spelled(value: Any) -> str:
    """Return a value as TOML writes it.

    Examples
    --------
    >>> spelled({"y": (0, 1.5)}), spelled("arms"), spelled(True)
    ('{y = [0, 1.5]}', '"arms"', 'true')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key} = {spelled(one)}' for key, one in value.items())}}}"
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(map(spelled, value))}]"
    titled = getattr(value, "title", None)  # of a declared regression
    return str(value) if titled is None else spelled(titled)


@functools.cache
def _method_keys() -> Mapping[str, str]:
    """Keys of the methods of a study file, by the names of their classes."""
    from dprct.study.methods import METHODS, python_name  # which import every method

    return {python_name(model): key for key, model in METHODS.items()}


DESIGNS = {
    "Simple": "simple",
    "Complete": "complete",
    "Block": "block",
    "Cluster": "cluster",
    "BlockCluster": "block_cluster",
    "Factorial": "factorial",
}
"""How a study file calls the classes of designs."""

_WORDS = {
    "Accountant.load": "no [budget]",
    "Accountant.open": "[budget]",
    "str": "text",
    "bool": "true or false",
    "DataFrame": "a table of data",
    "ndarray": "a list",
    "list": "a list",
    "tuple": "a list",
    "dict": "a table",
    "mapping": "table",
    "NoneType": "nothing",
}
_SECTIONS = {"assignment": "[design]"}


class _Toml(Dialect):
    between = " = "
    constants: Mapping[object, str] = {True: "true", False: "false", None: "nothing"}

    phrases: Mapping[str, str] = {
        "a data frame": "a table of data",
        "a DataFrame": "a table of data",
        "a dict of": "a table of",
        "a dict": "a table",
        "a pandas": "a table of data",
        "a tuple": "a list",
        " or a numpy Generator": "",
    }

    def option(self, name: str) -> str:
        return _SECTIONS.get(name, name)

    def named(self, name: str, value: str) -> str:
        if name in _SECTIONS and value.startswith("["):
            return value
        place = " in [release]" if name in ("confirm", "accept_large_delta") else ""
        return f"{_SECTIONS.get(name, name)} = {value}{place}"

    def text(self, text: str) -> str:
        return f"'{text}'" if '"' in text else f'"{text}"'

    def series(self, node: ast.expr, items: list[str]) -> str:
        return f"[{', '.join(items)}]"

    def key(self, node: ast.expr) -> str:
        name = self.written(node).strip('"')
        return name if name.replace("_", "").replace("-", "").isalnum() else f'"{name}"'

    def mapping(self, pairs: list[tuple[str, str]]) -> str:
        return f"{{{', '.join(f'{key} = {value}' for key, value in pairs)}}}"

    def call(self, function: str, arguments: str) -> str:
        own = function.removeprefix("dprct.")
        if own in DESIGNS:
            return f"[design] {self.name(own)}"
        if own == "Unit":
            return f"[unit] name = ... and {arguments.removeprefix('name, ')}"
        return super().call(function, arguments)

    def name(self, name: str) -> str:
        own = name.removeprefix("dprct.")
        if own in DESIGNS:
            return f'kind = "{DESIGNS[own]}"'
        if own in _WORDS or not own.removeprefix("published.")[:1].isupper():
            return _WORDS.get(own, own)
        key = _method_keys().get(own)
        return own if key is None else f'method = "{key}"'


class _Options(Dialect):
    def option(self, name: str) -> str:
        return f"--{name.replace('_', '-')}" if name in _OPTIONS else super().option(name)

    def named(self, name: str, value: str) -> str:
        return f"{self.option(name)} {value}" if name in _OPTIONS else super().named(name, value)


_OPTIONS = frozenset({"cov_type", "where", "effects"})
_TOML, _COMMAND = _Toml(), _Options()


def in_toml(message: object) -> str:
    """Return an error, a warning or a message with its fragments as a study file writes them.

    Examples
    --------
    >>> in_toml("give ``missing={'y': ...}``, or declare ``missing='never'``")
    'give missing = {y = ...}, or declare missing = "never"'
    >>> in_toml("``alphas=`` is ``str``; ``trim=0.7, bounds=(low, high), hajek=True``")
    'alphas is text; trim = 0.7, bounds = [low, high], hajek = true'
    >>> in_toml("needs ``assignment=``, such as ``dprct.Complete('treat', shares=0.5)``")
    'needs [design], such as [design] kind = "complete"'
    """
    return _TOML.words(message)


def plan_in_toml(plan: Plan) -> Plan:
    """Return a plan that says what to change in the words of a study file."""
    return plan.in_words(in_toml)


def in_options(message: object) -> str:
    """Return an error or a message with its fragments as options of a command.

    Examples
    --------
    >>> in_options("give ``cov_type='nonrobust'``, or leave ``where=`` out")
    "give --cov-type 'nonrobust', or leave --where out"
    """
    return _COMMAND.words(message)
