"""Row-wise arithmetic inside ``I()``: a short list of operations, checked and computed here.

Nothing is evaluated by Python: the syntax tree is walked, and what is not on the list is refused.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dprct.errors import FormulaError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Array = NDArray[np.float64]

LONGEST = 500
"""The longest expression, in characters; deeper nesting than that is a mistake or an attack."""

ARITHMETIC: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.Pow: np.power,
}
SIGNS: dict[type[ast.AST], Callable[[Any], Any]] = {ast.USub: np.negative, ast.UAdd: np.positive}
COMPARISONS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
    ast.Eq: np.equal,
    ast.NotEq: np.not_equal,
}
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "log": np.log,
    "exp": np.exp,
    "sqrt": np.sqrt,
    "abs": np.abs,
}
"""Row-wise functions of fits without a guarantee; private fits use declared derived columns."""

_PLACEHOLDER = re.compile(r"\bv(\d+)\b")


@dataclass(frozen=True, slots=True)
class Expression:
    """A checked expression of columns and constants.

    Parameters
    ----------
    source : str
        Python source in which column ``names[i]`` is written ``vi``, so that no column name,
        whatever it is, is ever read as Python.
    names : tuple of str
        The columns it uses.
    """

    source: str
    names: tuple[str, ...]

    @classmethod
    def checked(
        cls, source: str, names: Sequence[str], *, functions: bool, part: str
    ) -> Expression:
        """Return the expression in normal spelling, or refuse what is not on the list.

        Parameters
        ----------
        source, names
            As the attributes.
        functions : bool
            Whether row-wise functions and comparisons are allowed.
        part : str
            The part of the formula as it was written, for the message.

        Raises
        ------
        FormulaError
            For anything but arithmetic of columns and finite constants.
        """
        if len(source) > LONGEST:
            raise FormulaError(
                f"an expression of {len(source)} characters; at most {LONGEST} are read, "
                "compute the column beforehand"
            )
        assert all(int(i) < len(names) for i in _PLACEHOLDER.findall(source))
        try:
            tree = ast.parse(source, mode="eval").body
            _check(tree, functions, part)
            return cls(ast.unparse(tree), tuple(names))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            if isinstance(error, FormulaError):
                raise
            raise FormulaError(
                f"{part!r} is not an arithmetic expression; "
                "write for example I(age ** 2) or I(income / 1000)"
            ) from None

    def __str__(self) -> str:
        return _PLACEHOLDER.sub(lambda match: spelled(self.names[int(match[1])]), self.source)

    def __call__(self, columns: Mapping[str, Array]) -> Array:
        """Compute the expression row by row.

        Parameters
        ----------
        columns : mapping of str to (n,) array

        Returns
        -------
        (n,) array
            NaN where a column is missing, and where the result does not exist (``log`` of 0,
            a division by 0), as in Stata.
        """
        values = [np.asarray(columns[name], np.float64) for name in self.names]
        tree = ast.parse(self.source, mode="eval").body
        with np.errstate(all="ignore"):
            result = np.asarray(_value(tree, values), np.float64)
        rows = values[0].shape if values else ()
        missing = ~np.isfinite(result)
        for column in values:
            missing = missing | np.isnan(column)
        return np.broadcast_to(np.where(missing, np.nan, result), rows)


def spelled(name: str) -> str:
    """Return a column name as a formula spells it: in backquotes where it is no identifier.

    Examples
    --------
    >>> spelled("age"), spelled("age in years")
    ('age', '`age in years`')
    """
    return name if name.isidentifier() else f"`{name}`"


def _check(node: ast.AST, functions: bool, part: str) -> None:
    match node:
        case ast.Name(id=name) if _PLACEHOLDER.fullmatch(name):
            return
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            if not abs(value) < float("inf"):
                raise FormulaError(f"{part!r} has a constant that is not finite")
            return
        case ast.BinOp(left=left, op=op, right=right) if type(op) in ARITHMETIC:
            parts: list[ast.AST] = [left, right]
        case ast.UnaryOp(op=op, operand=operand) if type(op) in SIGNS:
            parts = [operand]
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARISONS:
            _check_allowed(functions, "a comparison", part)
            parts = [left, right]
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in FUNCTIONS:
            _check_allowed(functions, f"{name}()", part)
            parts = [argument]
        case _:
            raise FormulaError(f"{part!r} is not allowed; allowed inside I(): {_listed(functions)}")
    for child in parts:
        _check(child, functions, part)


def _check_allowed(functions: bool, what: str, part: str) -> None:
    if not functions:
        raise FormulaError(
            f"{part!r} uses {what}, which a private fit does not compute; add the column to the "
            "data and declare its bounds"
        )


def _listed(functions: bool) -> str:
    arithmetic = "columns, numbers and + - * / **"
    if not functions:
        return arithmetic
    return f"{arithmetic}, comparisons of two, and {', '.join(FUNCTIONS)} of one expression"


def _value(node: ast.AST, columns: Sequence[Array]) -> Any:
    match node:
        case ast.Name(id=name):
            return columns[int(name[1:])]
        case ast.Constant(value=int() | float() as value):
            return np.float64(value)
        case ast.BinOp(left=left, op=op, right=right):
            return ARITHMETIC[type(op)](_value(left, columns), _value(right, columns))
        case ast.UnaryOp(op=op, operand=operand):
            return SIGNS[type(op)](_value(operand, columns))
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return COMPARISONS[type(op)](_value(left, columns), _value(right, columns)).astype(
                np.float64
            )
        case ast.Call(func=ast.Name(id=name), args=[argument]):
            return FUNCTIONS[name](_value(argument, columns))
    raise AssertionError(f"unchecked node {type(node).__name__}")
