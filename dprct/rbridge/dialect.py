"""The fragments of code in messages and plans, as R writes them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dprct.study.methods import BY_NAME, r_name
from dprct.study.wording import Dialect

if TYPE_CHECKING:
    from collections.abc import Mapping

FUNCTIONS = {
    "Simple": "design_simple",
    "Complete": "design_complete",
    "Block": "design_block",
    "Cluster": "design_cluster",
    "BlockCluster": "design_block_cluster",
    "Factorial": "design_factorial",
    "Custom": "design_custom",
    "Accountant": "accountant",
    "Accountant.load": "accountant",
    "Accountant.open": "accountant",
    "Moments.load": "read_moments",
    "Moments.glm": "private_glm",
    "Regression": "regression",
    "read": "read_dta",
    "Schema": "schema",
    "Schema.from_dta": "schema",
}
"""Names in ``dprct`` besides the methods, and R's functions."""

TYPES = {
    "str": "text",
    "float": "a number",
    "int": "a whole number",
    "bool": "TRUE or FALSE",
    "list": "a vector",
    "tuple": "a vector",
    "ndarray": "a vector",
    "dict": "a named vector or list",
    "mapping": "named list",
    "DataFrame": "a data frame",
    "Table": "a data frame",
    "NoneType": "NULL",
    "RFunction": "a function",
    "nan": "NaN",
    "inf": "Inf",
}
"""What Python calls the values that came from R."""


SEVERAL = {
    "a list of texts": "a character vector",
    "a list of numbers": "a numeric vector",
    "a list of whole numbers": "a numeric vector of whole numbers",
    "a list of lists": "a list of vectors",
    "a list of dicts": "a list of named lists",
    "a list": "a vector",
    "a dict of texts by name": "a named character vector",
    "a dict of numbers by name": "a named numeric vector",
    "a dict": "a named list",
    " lists": " vectors",
    " dicts": " named lists",
    " by name": "",
}
"""What Python asks for several values, and how R says it; the longer words first."""


def _several(code: str) -> str:
    for asked, said in SEVERAL.items():
        if code.startswith(asked):
            return said + _several(code[len(asked) :])
    return code[:1] + _several(code[1:]) if code else ""


class _R(Dialect):
    between = " = "
    constants: Mapping[object, str] = {True: "TRUE", False: "FALSE", None: "NULL"}

    phrases: Mapping[str, str] = {
        "a data frame": "a data frame",
        "a DataFrame": "a data frame",
        "a pandas DataFrame": "a data frame",
        "a pandas or Polars data frame": "a data frame",
        "a tuple": "a vector",
        " or a numpy Generator": "",
        "pandas frame": "data frame",
        "pip install": "install_dprct()",
    }

    def other(self, code: str) -> str:
        if code.startswith(("a list", "a dict")):
            return _several(code)
        extra = code.removeprefix("pip install 'dprct[").removesuffix("]'")
        if extra in (code, "r"):
            return super().other(code)
        return f'install_dprct(extras = "{extra}")'

    def option(self, name: str) -> str:
        return name

    def series(self, node: ast.expr, items: list[str]) -> str:
        elements = getattr(node, "elts", [])
        plain = not any(isinstance(one, ast.List | ast.Tuple | ast.Dict) for one in elements)
        return f"{'c' if plain else 'list'}({', '.join(items)})"

    def written(self, node: ast.expr) -> str:
        # a number of R's is a double, whole or not
        if isinstance(node, ast.Constant) and isinstance(node.value, float):
            return f"{node.value:.15g}"
        return super().written(node)

    def key(self, node: ast.expr) -> str:
        name = str(node.value) if isinstance(node, ast.Constant) else ast.unparse(node)
        plain = name[:1].isalpha() and name.replace("_", "").replace(".", "").isalnum()
        return name if plain else f"`{name}`"

    def mapping(self, pairs: list[tuple[str, str]]) -> str:
        return f"list({', '.join(f'{key} = {value}' for key, value in pairs)})"

    def call(self, function: str, arguments: str) -> str:
        of, _, method = function.rpartition(".")
        if method == "declare_rest":
            return f"declare({of}, rest = {arguments})"
        if of.islower() and of not in ("dprct", "dprct.published"):
            return f"{method}({', '.join(filter(None, [of, arguments]))})"
        return super().call(function, arguments)

    def name(self, name: str) -> str:
        own = name.removeprefix("dprct.")
        if own in BY_NAME:
            return r_name(BY_NAME[own])
        return FUNCTIONS.get(own) or TYPES.get(own, own.replace(".", "$"))


_DIALECT = _R()


def in_r(message: object) -> str:
    """Return an error, a warning or a message with its fragments of code as R writes them.

    Examples
    --------
    >>> in_r("outcome 'y' needs ``bounds=(low, high)``; or say ``attrition=True``")
    "outcome 'y' needs bounds = c(low, high); or say attrition = TRUE"
    >>> in_r("give ``dprct.Complete('treat')``, or use ``dprct.published.IPW``")
    "give design_complete('treat'), or use published_ipw"
    >>> in_r("give ``missing=['.', '.a']``, or ``{'x': 1, 'y z': 2}``")
    "give missing = c('.', '.a'), or list(x = 1, `y z` = 2)"
    """
    return _DIALECT.words(message)


def method_in_r(method: str) -> str:
    """Name of a method, with the name of the function that asks for it in R.

    Examples
    --------
    >>> method_in_r("PrivateATE (closed-form intervals)"), method_in_r("published.IPW")
    ('private_ate (closed-form intervals)', 'published_ipw')
    """
    name, blank, rest = method.partition(" ")
    return f"{_DIALECT.name(name)}{blank}{rest}"
