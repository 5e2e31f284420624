"""Messages in the words of a study file, or of a command's options, instead of Python's.

Refusals, warnings and plans are written once, for whoever calls the package from Python, and mark
what is to be written: ``missing={'y': ...}``.  Whoever wrote TOML, or typed a command, is told of
it in these words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dprct.fragments import Dialect

if TYPE_CHECKING:
    import ast

    from dprct.results.plan import Plan


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
    return str(value)


METHODS = {
    "MVHistogram": "mv_histogram",
    "Marginals": "marginals",
    "Calibrated": "calibrated",
    "PrivateATE": "private_ate",
    "PrivateMoments": "moments",
    "PrivateAdditive": "private_additive",
    "SyntheticControl": "synthetic_control",
    "IPW": "ipw",
    "CATE": "cate",
}
"""How a study file calls what Python calls by its class."""

DESIGNS = {
    "Simple": "simple",
    "Complete": "complete",
    "Block": "block",
    "Cluster": "cluster",
    "BlockCluster": "block_cluster",
    "Factorial": "factorial",
}
"""The same for designs."""

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
        place = " in [release]" if name == "confirm" else ""
        return f"{_SECTIONS.get(name, name)} = {value}{place}"

    def text(self, text: str) -> str:
        return f'"{text}"'

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
        own = name.removeprefix("dprct.").removeprefix("published.")
        if own in METHODS:
            return f'method = "{METHODS[own]}"'
        return f'kind = "{DESIGNS[own]}"' if own in DESIGNS else _WORDS.get(own, own)


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
    return plan.said_in(in_toml)


def in_options(message: object) -> str:
    """Return an error or a message with its fragments as options of a command.

    Examples
    --------
    >>> in_options("give ``cov_type='nonrobust'``, or leave ``where=`` out")
    "give --cov-type 'nonrobust', or leave --where out"
    """
    return _COMMAND.words(message)
