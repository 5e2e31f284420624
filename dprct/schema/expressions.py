"""The one arithmetic of columns: a small, safe language, checked and computed here.

Derived columns are written in all of it; :mod:`dprct.formula.expressions` takes the part that may
stand inside ``I()``.

The language has names of columns, numbers, ``+ - * / **``, comparisons, ``and or not`` and a few
row-wise functions.  A study file from a stranger runs no code: the syntax tree is walked here and
nothing is handed to Python.  Evaluation is total: what is undefined is missing.
"""

from __future__ import annotations

import ast
import copy
import keyword
import math
import re
import unicodedata
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dprct.errors import ColumnError, FormulaError
from dprct.missing import tagged
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


Array = NDArray[np.float64]

_MOST_DEPTH = 150


def _power(base: Array, exponent: Array) -> Array:
    """NumPy has nan**0 = 1; here what is missing stays missing."""
    power: Array = np.power(base, exponent)
    return np.where(np.isnan(base) | np.isnan(exponent), np.nan, power)


def _where(condition: Array, value: Array, other: Array | float = np.nan) -> Array:
    """Value where a condition holds, the other elsewhere; missing where that is not known."""
    chosen = np.where(condition != 0, value, other)
    return np.where(np.isnan(condition), np.nan, chosen)


def _across(combine: Callable[[Array, Array], Array], empty: float) -> Callable[..., Array]:
    """Return a function of several columns that passes over missing values, as Stata's egen."""

    def run(*columns: Array) -> Array:
        found = np.full(np.broadcast_shapes(*(x.shape for x in columns)), empty)
        for x in columns:
            both = np.where(np.isnan(found), x, combine(found, x))
            found = np.where(np.isnan(x), found, both)
        return found

    return run


_row_total = _across(np.add, 0.0)


def _row_present(*columns: Array) -> Array:
    return _row_total(*(np.where(np.isnan(x), 0.0, 1.0) for x in columns))


def _row_mean(*columns: Array) -> Array:
    return np.divide(_row_total(*columns), _row_present(*columns))


def _date_part(part: int) -> Callable[[Array], Array]:
    """Return the year, month or day of a date of Stata, which counts days since 1960."""

    def run(days: Array) -> Array:
        known = np.abs(days) < _MOST_DAYS
        whole = np.where(known, np.floor(days), 0.0).astype("timedelta64[D]")
        date = np.datetime64("1960-01-01", "D") + whole
        months = date.astype("datetime64[M]")
        values = (
            date.astype("datetime64[Y]").astype(np.int64) + 1970,
            months.astype(np.int64) % 12 + 1,
            (date - months.astype("datetime64[D]")).astype(np.int64) + 1,
        )
        return np.where(known, values[part].astype(np.float64), np.nan)

    return run


_MOST_DAYS = 2_900_000
ROW_FUNCTIONS: dict[str, Callable[..., Array]] = {
    "where": _where,
    "rowmin": _across(np.minimum, np.nan),
    "rowmax": _across(np.maximum, np.nan),
    "rowtotal": _row_total,
    "rowmean": _row_mean,
    "rownonmiss": _row_present,
    "year": _date_part(0),
    "month": _date_part(1),
    "day": _date_part(2),
}
"""What the columns that a study makes have besides arithmetic: functions of a row, as in Stata."""


@dataclass(frozen=True)
class Language:
    """What an expression may hold besides names of columns, finite numbers and + - * / **."""

    functions: tuple[str, ...] = ()  # row-wise functions, of those that this module computes
    comparisons: bool = False  # comparisons of two: == != < <= > >=
    logic: bool = False  # ``and``, ``or`` and ``not``
    text: bool = False  # whether a column is, or is not, a text in quotes


_BINARY: dict[type[ast.operator], Callable[[Array, Array], Array]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.Pow: _power,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Array, Array], NDArray[np.bool_]]] = {
    ast.Eq: np.equal,
    ast.NotEq: np.not_equal,
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
}
_FUNCTIONS: dict[str, Callable[..., Array]] = {
    "log": np.log,
    "exp": np.exp,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.rint,
    "minimum": np.minimum,
    "maximum": np.maximum,
}
_DERIVED = Language((*_FUNCTIONS, "missing"), comparisons=True, logic=True)
CONDITION = Language((*_FUNCTIONS, "missing"), comparisons=True, logic=True, text=True)
"""The language of conditions on rows: that of derived columns, with text."""
_MOST_ARGUMENTS = 2_000
MADE = Language((*_FUNCTIONS, "missing", *ROW_FUNCTIONS), comparisons=True, logic=True, text=True)
"""The language of the columns that a study makes: that of conditions, with functions of rows."""

_ARGUMENTS: dict[str, tuple[int, int]] = {
    "minimum": (2, 2),
    "maximum": (2, 2),
    "where": (2, 3),
    **{name: (1, _MOST_ARGUMENTS) for name in ROW_FUNCTIONS if name.startswith("row")},
}
"""The least and most arguments of functions that take several."""


def _allowed(language: Language) -> str:
    """Return what an expression may hold, in words."""
    named = ", ".join(f"{name}()" for name in language.functions)
    return f"names of columns, numbers, + - * / **, comparisons, and, or, not, {named}"


def refused(
    node: ast.expr, language: Language, named: Callable[[str], bool] = lambda _: True
) -> ast.expr | None:
    """Return the first part of an expression that a language does not have, or None.

    ``named`` says whether a name is that of a column.

    Examples
    --------
    >>> tree = ast.parse("2 * age + open('x')", mode="eval").body
    >>> ast.unparse(refused(tree, Language()))
    "open('x')"
    """
    children = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
    match node:
        case ast.Name(id=name) if named(name):
            return None
        case ast.Constant(value=int() | float() as value) if _is_finite(value):
            return None
        case ast.BinOp(op=op) if type(op) in _BINARY:
            pass
        case ast.UnaryOp(op=ast.USub() | ast.UAdd()):
            pass
        case ast.UnaryOp(op=ast.Not()) | ast.BoolOp() if language.logic:
            pass
        case ast.Compare(
            left=ast.Name(id=name),
            ops=[ast.Eq() | ast.NotEq()],
            comparators=[ast.Constant(value=str())],
        ) if language.text and named(name):
            return None
        case ast.Compare(ops=[op]) if language.comparisons and type(op) in _COMPARE:
            pass
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if (
            name in language.functions and _takes(name, len(args))
        ):
            children = list(args)
        case _:
            return node
    found = (refused(child, language, named) for child in children)
    return next((part for part in found if part is not None), None)


def _takes(name: str, arguments: int) -> bool:
    least, most = _ARGUMENTS.get(name, (1, 1))
    return least <= arguments <= most


def computed(tree: ast.expr, columns: Mapping[str, Array]) -> Array:
    """Return the value of an expression that was checked; NaN where any part is undefined.

    A quotient by zero or a logarithm of zero is undefined, and so is what is computed from it, as
    in Stata; ``missing()`` alone turns it into a number.
    """
    with np.errstate(all="ignore"):
        return _value(tree, columns)


def parse(expression: str, what: str = "derived", language: Language = _DERIVED) -> ast.expr:
    """Return the syntax tree of an expression, refusing all but a small language.

    ``what`` is what a refusal calls it.

    Examples
    --------
    >>> sorted(parents("(arm == 3) * age"))
    ['age', 'arm']
    """
    try:
        tree = tree_of(expression).body
        deep = _depth(tree) > _MOST_DEPTH
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise FormulaError(
            f"``{what}={expression!r}`` is not an expression; allowed: {_allowed(language)}"
        ) from None
    if deep:
        raise FormulaError(
            f"``{what}={expression[:40]!r}``... is nested more than {_MOST_DEPTH} deep; derive a "
            "part of it as a column of its own"
        )
    wrong = refused(tree, language)
    if wrong is not None:
        source, quoted = _source(expression)
        part = ast.get_source_segment(source, wrong) or expression
        for word, name in quoted.items():
            part = part.replace(word, f"`{name}`")
        part = unicodedata.normalize("NFKC", part)
        raise FormulaError(
            f"``{what}={expression.strip()!r}``: {part!r} is not allowed; use {_allowed(language)}"
            + (', and texts, as in ``name == "a"``' if language.text else "")
        )
    return tree


def tree_of(text: str) -> ast.Expression:
    """Return the syntax tree of a text in which a column may be called as a word of Python.

    Python takes a word with a letter of full width for a name, and reads it as the plain letters.
    A name may have dots inside, as in R, and any other sign in backquotes.

    Examples
    --------
    >>> sorted(names_in(tree_of("class == 8 and from < 3 and inc.total > .5 and `my age` > 9")))
    ['class', 'from', 'inc.total', 'my age']
    """
    source, quoted = _source(text)
    tree = ast.parse(source, mode="eval")
    tree = _Dotted(source).visit(tree) if "." in text else tree
    return _Renamed(quoted).visit(tree) if quoted else tree


def written(tree: ast.AST) -> str:
    """Text of a syntax tree; a name that is no word stands in backquotes.

    Examples
    --------
    >>> written(tree_of("`my age`>9 and `sex`==1"))
    '`my age` > 9 and sex == 1'
    """
    odd = {name: f"`{name}`" for name in names_in(tree) if not _PLAIN.fullmatch(name)}
    return ast.unparse(_Renamed(odd).visit(copy.deepcopy(tree)) if odd else tree)


def under_names(text: str, names: Mapping[str, str]) -> str:
    """Text of an expression with other names for some of its columns.

    Examples
    --------
    >>> under_names("inc.total > 0", {"inc.total": "inc_total"})
    'inc_total > 0'
    """
    return written(_Renamed(names).visit(tree_of(text)))


class _Renamed(ast.NodeTransformer):
    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.copy_location(ast.Name(self.names.get(node.id, node.id), ast.Load()), node)


class _Dotted(ast.NodeTransformer):
    def __init__(self, source: str) -> None:
        self.source = source

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        name = unicodedata.normalize("NFKC", ast.get_source_segment(self.source, node) or "")
        if not _DOTTED.fullmatch(name):
            return node
        return ast.copy_location(ast.Name(name, ast.Load()), node)


_DOTTED = re.compile(r"[^\W\d]\w*(?:\.[^\W\d_]\w*)+")
_PLAIN = re.compile(rf"[^\W\d]\w*|{_DOTTED.pattern}")


def _source(text: str) -> tuple[str, dict[str, str]]:
    """Return a text that Python can parse, and the names in backquotes by what stands for them.

    Words of Python, but those of this language, begin with a wide letter.
    """
    quoted: dict[str, str] = {}

    def found(one: re.Match[str]) -> str:
        if one["quoted"]:
            word = f"__quoted_{len(quoted)}_"
            quoted[word] = one["quoted"]
            return word
        return chr(ord(one[0][0]) + 0xFEE0) + one[0][1:] if one["word"] else one[0]

    return _WORD.sub(found, text.strip()), quoted


_OURS = frozenset(
    [
        "and",
        "or",
        "not",
        "if",
        "else",
        "in",
        "is",
        "for",
        "lambda",
        "True",
        "False",
        "None",
        "await",
    ]
)
_WORD = re.compile(
    r"""(?:"[^"\n]*"|'[^'\n]*')|`(?P<quoted>[^`\n]+)`|(?P<word>\b(?:"""
    + "|".join(sorted({*keyword.kwlist} - _OURS))
    + r")\b)"
)


def parents(expression: str, language: Language = _DERIVED) -> set[str]:
    """Return the names of the columns that an expression uses."""
    return names_in(parse(expression, language=language))


def names_in(tree: ast.AST) -> set[str]:
    """Return the names of the columns in a syntax tree."""
    nodes = list(ast.walk(tree))
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    return {node.id for node in nodes if isinstance(node, ast.Name) and id(node) not in called}


def values_in(tree: ast.AST) -> set[str]:
    """Return the columns whose values an expression has, and not only whether they have one."""
    match tree:
        case ast.Call(func=ast.Name(id="missing"), args=[ast.Name()]):
            return set()
        case ast.Name(id=name):
            return {name}
    parts = tree.args if isinstance(tree, ast.Call) else ast.iter_child_nodes(tree)
    return {name for part in parts for name in values_in(part)}


def evaluate(expression: str, columns: Mapping[str, Array], language: Language = _DERIVED) -> Array:
    """Return the expression (n,) of columns (n,); missing where it is undefined or an input is.

    Examples
    --------
    >>> evaluate("(x > 1) + 0.5", {"x": np.array([1.0, 2.0])}).tolist()
    [0.5, 1.5]
    """
    for name in sorted(parents(expression, language)):
        if name not in columns:
            raise ColumnError.unknown(name, columns)
    value = computed(parse(expression, language=language), columns)
    value = np.broadcast_to(value, next(iter(columns.values())).shape)
    return np.where(np.isnan(value), tagged(0), value)


def possible(condition: str, name: str, levels: Iterable[float] = ()) -> tuple[float, ...]:
    """Return the values that a column may have where a condition holds, if these are few.

    Looked at are the parts that are joined by ``and`` and use this column alone: the ``levels``
    for which these hold or, without levels, the numbers that the column is said to equal.

    Examples
    --------
    >>> possible("left == 0 and (round > 1 and late == 1)", "round", [1, 2, 3])
    (2.0, 3.0)
    >>> possible("left == 0 and round > 1", "left"), possible("left == 0 or round > 1", "left")
    ((0.0,), ())
    """
    parts = [part for part in _joined(parse(condition)) if names_in(part) == {name}]
    if not parts or any(_asks_for_missing(part) for part in parts):
        return ()
    given = [*levels] or [number for number in map(_equalled, parts) if number is not None]
    values = np.array(sorted(set(given)), np.float64)
    for part in parts:
        truth = computed(part, {name: values})
        values = values[~np.isnan(truth) & (truth != 0)]
    return tuple(values.tolist())


def _joined(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        return [part for value in node.values for part in _joined(value)]
    return [node]


def _asks_for_missing(part: ast.expr) -> bool:
    """Whether a part may hold where the column has no value."""
    calls = [node.func for node in ast.walk(part) if isinstance(node, ast.Call)]
    return any(isinstance(called, ast.Name) and called.id == "missing" for called in calls)


def _equalled(part: ast.expr) -> float | None:
    match part:
        case ast.Compare(
            left=ast.Name(),
            ops=[ast.Eq()],
            comparators=[ast.Constant(value=int() | float() as number)],
        ):
            return float(number)
    return None


def _depth(node: ast.AST) -> int:
    return 1 + max((_depth(child) for child in ast.iter_child_nodes(node)), default=0)


def _is_finite(value: float) -> bool:
    try:
        return not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        return False


def _value(node: ast.expr, columns: Mapping[str, Array]) -> Array:
    """Return the value of a part; what is undefined is missing from there on."""
    value = np.asarray(_applied(node, columns), np.float64)
    return np.where(np.isfinite(value), value, np.nan)


def _applied(node: ast.expr, columns: Mapping[str, Array]) -> Array:
    def sub(child: ast.expr) -> Array:
        return _value(child, columns)

    match node:
        case ast.Name(id=name) if columns[name].dtype == object:  # whether there is a text
            return np.where(_no_text(columns[name]), np.nan, 0.0)
        case ast.Name(id=name):
            return columns[name]
        case ast.Constant(value=value):
            return np.asarray(value, np.float64)
        case ast.BinOp(left=left, op=op, right=right):
            return _BINARY[type(op)](sub(left), sub(right))
        case ast.UnaryOp(op=op, operand=operand):
            x = sub(operand)
            return (
                _truth(x == 0, x)
                if isinstance(op, ast.Not)
                else -x
                if isinstance(op, ast.USub)
                else x
            )
        case ast.BoolOp(op=op, values=values):
            return _connected(isinstance(op, ast.And), [sub(value) for value in values])
        case ast.Compare(
            left=ast.Name(id=name), ops=[op], comparators=[ast.Constant(value=str(t))]
        ):
            equal = np.asarray(columns[name] == t, bool) == isinstance(op, ast.Eq)
            return np.where(_no_text(columns[name]), np.nan, equal.astype(np.float64))
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            a, b = sub(left), sub(right)
            return _truth(_COMPARE[type(op)](a, b), a, b)
        case ast.Call(func=ast.Name(id="missing"), args=[argument]):
            return np.isnan(sub(argument)).astype(np.float64)
        case ast.Call(func=ast.Name(id=name), args=arguments):
            function = _FUNCTIONS.get(name) or ROW_FUNCTIONS[name]
            return function(*(sub(argument) for argument in arguments))
    raise AssertionError(type(node))


def _no_text(values: Any) -> NDArray[np.bool_]:
    return np.array([x is None or x == "" or x != x for x in values.tolist()], bool)


def _truth(value: NDArray[np.bool_], *inputs: Array) -> Array:
    unknown = np.logical_or.reduce(np.broadcast_arrays(*(np.isnan(x) for x in inputs)))
    return np.where(unknown, np.nan, value.astype(np.float64))


def _connected(both: bool, values: list[Array]) -> Array:
    combine = np.logical_and if both else np.logical_or
    truth = values[0] != 0
    for value in values[1:]:
        truth = combine(truth, value != 0)
    return _truth(np.asarray(truth), *values)
