"""Row-wise arithmetic inside ``I()``: a part of the language of derived columns.

Nothing is evaluated by Python: :mod:`dprct.schema.expressions` walks the syntax tree, and refuses
what is not in the language.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dprct.errors import FormulaError
from dprct.records import dataclass
from dprct.schema.expressions import Language, computed, refused

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Array = NDArray[np.float64]

LONGEST = 500
"""The longest expression, in characters; deeper nesting than that is a mistake or an attack."""

FUNCTIONS = ("log", "exp", "sqrt", "abs")
"""Row-wise functions of fits without a guarantee; private fits use declared derived columns."""

_PRIVATE = Language()
_PUBLIC = Language(FUNCTIONS, comparisons=True)
_PLACEHOLDER = re.compile(r"\bv(\d+)\b")


@dataclass(frozen=True)
class Expression:
    """A checked expression of columns and constants."""

    # Python source in which column ``names[i]`` is written ``vi``, so that no column name, whatever
    # it is, is ever read as Python.
    source: str
    names: tuple[str, ...]  # the columns it uses

    @classmethod
    def checked(
        cls, source: str, names: Sequence[str], *, functions: bool, part: str
    ) -> Expression:
        """The expression in normal spelling; calls that are not on the list are refused.

        ``functions`` allows row-wise functions and comparisons; ``part`` is the text for the
        message.
        """
        if len(source) > LONGEST:
            raise FormulaError(
                f"an expression has {len(source)} characters, and at most {LONGEST} are read; "
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

        It is NaN where a column is missing, and where the result does not exist (``log`` of 0, a
        division by 0), as in Stata.
        """
        values = {f"v{i}": np.asarray(columns[x], np.float64) for i, x in enumerate(self.names)}
        result = computed(ast.parse(self.source, mode="eval").body, values)
        rows = values["v0"].shape if values else ()
        return np.broadcast_to(result, rows)


def spelled(name: str) -> str:
    """Return a column name as a formula spells it: in backquotes where it is not an identifier.

    Examples
    --------
    >>> spelled("age"), spelled("age in years")
    ('age', '`age in years`')
    """
    return name if name.isidentifier() else f"`{name}`"


def _check(tree: ast.expr, functions: bool, part: str) -> None:
    wrong = _refused(tree, _PUBLIC if functions else _PRIVATE)
    if wrong is None:
        return
    if isinstance(wrong, ast.Constant) and type(wrong.value) in (int, float):
        raise FormulaError(f"{part!r} has a constant that is not finite")
    if not functions and _refused(wrong, _PUBLIC) is not wrong:
        what = f"{ast.unparse(wrong.func)}()" if isinstance(wrong, ast.Call) else "a comparison"
        raise FormulaError(
            f"{part!r} uses {what}, which a private fit does not compute; add the column to the "
            "data and declare its bounds"
        )
    raise FormulaError(f"{part!r} is not allowed; allowed inside I(): {_listed(functions)}")


def _refused(tree: ast.expr, language: Language) -> ast.expr | None:
    return refused(tree, language, lambda name: _PLACEHOLDER.fullmatch(name) is not None)


def _listed(functions: bool) -> str:
    arithmetic = "columns, numbers and + - * / **"
    if not functions:
        return arithmetic
    return f"{arithmetic}, comparisons of two, and {', '.join(FUNCTIONS)} of one expression"
