"""Messages that speak Python, in R's words: the one place where they are translated.

Messages are written for Python, where most of them are read.  What R has no such form of, a tuple,
``True``, ``dprct.Complete('t')``, is put into R's by a small table when the message crosses.  It
changes forms only: no name of a column and no number.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

FUNCTIONS = {
    "Simple": "design_simple",
    "Complete": "design_complete",
    "Block": "design_block",
    "Cluster": "design_cluster",
    "BlockCluster": "design_block_cluster",
    "Factorial": "design_factorial",
    "Custom": "design_custom",
    "Accountant": "accountant",
    "MVHistogram": "mv_histogram",
    "Marginals": "marginals",
    "Calibrated": "calibrated",
    "Hybrid": "hybrid",
    "GenModel": "gen_model",
    "PrivateATE": "private_ate",
    "SyntheticControl": "synthetic_control",
    "IPW": "ipw",
    "CATE": "cate",
    "PrivateAdditive": "private_additive",
    "PrivateMoments": "private_moments",
    "Moments.load": "read_moments",
    "read": "read_dta",
    "read_dta": "read_dta",
    "Schema.from_dta": "schema",
}
"""Names in ``dprct`` (and, the papers' forms, in ``dprct.published``), and R's functions."""

CONSTANTS = {"True": "TRUE", "False": "FALSE", "None": "NULL"}

TYPES = {
    "str": "text",
    "float": "a number",
    "int": "a whole number",
    "bool": "TRUE or FALSE",
    "list": "a vector",
    "tuple": "a vector",
    "ndarray": "a vector",
    "dict": "a named vector or list",
    "DataFrame": "a data frame",
    "NoneType": "NULL",
    "RFunction": "a function",
    "Table": "a data frame",
}
"""What Python calls the values that came from R."""

NUMBERS = ("float", "int", "a number", "a whole number")

_QUOTED = r"'[^'\n]*'"
_VALUE = rf"(?:{_QUOTED}|[\w.+-]+)"
_VALUES = rf"{_VALUE}(?:, {_VALUE})*(?:, \.\.\.)?"


def _function(found: re.Match[str]) -> str:
    name = FUNCTIONS.get(found[2])
    if name is None:
        return found[0]
    return f"published_{name}" if found[1] else name


def _named(found: re.Match[str]) -> str:
    pairs = found[1].replace(", ...", "")
    return f"list({re.sub(rf'({_QUOTED}): ', _list_name, pairs)})"


def _list_name(found: re.Match[str]) -> str:
    name = found[1][1:-1]
    return f"{name} = " if re.fullmatch(r"[A-Za-z][\w.]*", name) else f"`{name}` = "


_NAMES = "|".join(re.escape(name) for name in sorted(FUNCTIONS, key=len, reverse=True))
_TABLE: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (rf"(?<![\w.'])dprct\.(published\.)?({_NAMES})(?![\w.]\w)", _function),
    (r"\b(Schema\.from_dta)\b", "schema()"),
    (r"\bschema\.declare_rest\((" + _QUOTED + r")\)", r"declare(schema, rest = \1)"),
    (r"\{(" + _QUOTED + ": " + _VALUE + "(?:, " + _QUOTED + ": " + _VALUE + r")*(?:, \.\.\.)?)\}",
     _named),
    (rf"(?<=\w)=\(({_VALUE}, {_VALUE})\)", r" = c(\1)"),
    (r"(?<!c)\(low, high\)", "c(low, high)"),
    (rf"(?<=\w)=\[({_VALUES})\]", r" = c(\1)"),
    (r"(?<=\w)=\[\.\.\.\]", " = c(...)"),
    (rf"\[({_QUOTED}(?:, {_QUOTED})*)\]", r"c(\1)"),
    (r"(?<==)(True|False|None)\b", lambda found: CONSTANTS[found[1]]),
    (r"\b(?:or|give|is|and) (True|False|None)\b",
     lambda found: found[0].replace(found[1], CONSTANTS[found[1]])),
    (rf"\b(is|got|declared as) ({'|'.join(TYPES)})(?=;|,|$)",
     lambda found: f"{found[1]} {TYPES[found[2]]}"),
    (r"\ba mapping\b", "a named list"),
    (r"\ban empty mapping\b", "an empty list"),
    (r"\ba dict of\b", "a list of"),
    (r"\ba dict whose keys are text\b", "a named list"),
    (rf"\bis list of ({'|'.join(NUMBERS)})(?=;|,|$)", "is a vector of numbers"),
    (r"\bis list of str(?=;|,|$)", "is a vector of text"),
    (r"\bgot nan\b", "got NA"),
    (r"\bgive it with --(\w+)", r"give it as \1 ="),
    (r"\ba tuple\b", "a vector"),
    (r"\ba numpy Generator\b", "nothing else"),
    (r"a (?:pandas or Polars data frame|pandas DataFrame)", "a data frame"),
    (r"data frame \((?:pandas|Polars)[^()]*\)", "data frame"),
    (r"pip install '?dprct\[\w+\]'?", "install_dprct()"),
)  # fmt: skip
_PATTERNS = tuple((re.compile(pattern), into) for pattern, into in _TABLE)


def in_r(message: str) -> str:
    """Return a message with R's forms in the place of Python's.

    Parameters
    ----------
    message : str

    Examples
    --------
    >>> in_r("outcome 'y' needs bounds=(low, high); or say attrition=True")
    "outcome 'y' needs bounds = c(low, high); or say attrition=TRUE"
    >>> in_r("give a design such as dprct.Complete('treat'), or use dprct.published.IPW")
    "give a design such as design_complete('treat'), or use published_ipw"
    >>> in_r("give missing=['.', '.a'], or a mapping such as {'x': 1, 'y z': 2}")
    "give missing = c('.', '.a'), or a named list such as list(x = 1, `y z` = 2)"
    """
    for pattern, into in _PATTERNS:
        message = pattern.sub(into, message)
    return message
