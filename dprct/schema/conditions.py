"""Conditions on rows, as they stand after Stata's ``if``: checked, reduced and computed here.

A condition is kept in one spelling, in the language of derived columns with text besides.  What is
missing is unknown: a comparison with it holds for nobody, nor does its opposite, and ``missing()``
alone tells it.  In Stata a missing value is a number above all others; :func:`as_in_stata` spells
that out.
"""

from __future__ import annotations

import ast
import json
import math
import re
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dprct.errors import FormulaError
from dprct.schema.columns import stored
from dprct.schema.expressions import (
    CONDITION,
    computed,
    names_in,
    parse,
    tree_of,
    values_in,
    written,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from numpy.typing import NDArray

    from dprct.schema.columns import Column

    Mask = NDArray[np.bool_]

_TOKEN = re.compile(
    r"""(?P<text>"[^"\n]*"|'[^'\n]*')|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"""
    r"|(?P<missing>\.[a-z]?(?!\w))|(?P<quoted>`[^`\n]+`)|(?P<name>[^\W\d]\w*(?:\.[^\W\d]\w*)*)|(?P<operator>[!~]=|[<>=]=|&&|\|\||.)",
    re.DOTALL,
)
_WORDS = {"&": " and ", "&&": " and ", "|": " or ", "||": " or ", "!": "~", "~=": "!="}
_NONE = "__missing"
_ABOVE = (ast.Gt, ast.GtE, ast.NotEq)


@lru_cache(maxsize=4096)
def condition(text: str, what: str = "where") -> str:
    """Return a condition as it is spelled here, of one that is spelled as here or as in Stata.

    ``&`` and ``|`` are ``and`` and ``or``, ``!`` and ``~`` are ``not`` of what stands next to them,
    ``.`` is what is missing, and ``inlist()`` and ``inrange()`` are written out; R's ``is.na()``
    is ``missing()``.  A name with blanks or signs stands in backquotes.

    Examples
    --------
    >>> condition("female==1 & !(region<=3 | late)")
    'female == 1 and (not (region <= 3 or late))'
    >>> condition('wage < . & inlist(region, 1, 2) & name != ""')
    'not missing(wage) and (region == 1 or region == 2) and (not missing(name))'
    >>> condition("!is.na(wage) & `years at school` > 9")
    'not missing(wage) and `years at school` > 9'
    """
    try:
        tree = _Read(what, text).visit(tree_of(_in_python(text)))
        words = written(tree)
    except FormulaError:
        raise
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        if "%in%" in text:
            raise FormulaError(
                f"``{what}={text!r}`` has ``%in%``; write ``inlist(x, 1, 3)`` for "
                "``x %in% c(1, 3)``"
            ) from None
        if re.search(r"(?<![<>=!~])=(?!=)", re.sub(r"\"[^\"]*\"|'[^']*'", "", text)):
            raise FormulaError(
                f"``{what}={text!r}`` is not an expression: one ``=`` compares nothing; write "
                "``==``, as in ``'female == 1 & age < 50'``"
            ) from None
        words = text
    if not names_in(parse(words, what, CONDITION)):
        raise FormulaError(
            f"``{what}={text!r}`` names no column; give a condition, such as ``'female == 1'``"
        )
    return words


def _in_python(text: str) -> str:
    found = []
    for token in _TOKEN.finditer(text.strip()):
        kind, word = token.lastgroup, token[0]
        if kind == "missing":
            word = f" {_NONE}{word[1:]} "
        elif word == "is.na":
            word = "missing"
        found.append(_WORDS.get(word, word) if kind == "operator" else word)
    return "".join(found)


class _Read(ast.NodeTransformer):
    """Turns what Stata has besides the language of derived columns into it."""

    def __init__(self, what: str, text: str) -> None:
        self.what, self.text = what, text

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        """``~`` binds as tightly as Stata's ``!``."""
        self.generic_visit(node)
        return _negated(node.operand) if isinstance(node.op, ast.Invert) else node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        """With ``.`` and ``""`` a comparison asks whether there is a value."""
        self.generic_visit(node)
        if len(node.ops) != 1 or not (_is_none(node.comparators[0]) or _is_none(node.left)):
            return node
        (op,), asked = node.ops, _missing(node.left)
        if not _is_none(node.left) and isinstance(op, (ast.Eq, ast.NotEq)):
            return asked if isinstance(op, ast.Eq) else _negated(asked)
        if not _is_none(node.left) and isinstance(op, (ast.Lt, ast.GtE)):
            return asked if isinstance(op, ast.GtE) else _negated(asked)
        raise self._refused("``.`` is compared as in ``x == .``, ``x != .``, ``x < .``")

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id.startswith(_NONE) and node.id != _NONE:
            raise self._refused(
                f"codes of missing values, such as ``.{node.id[len(_NONE) :]}``, are not told "
                "apart; write ``missing(x)``"
            )
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name == "e":
            raise self._refused(
                "``e(sample)`` is the rows of the last estimation, which only the data tell; write "
                "out the condition under which that was run"
            )
        node = ast.Call(node.func, [self.visit(one) for one in node.args], node.keywords)
        if name in ("missing", "mi") and node.args:
            return _any([_missing(one) for one in node.args])
        if name == "inlist" and len(node.args) > 1:
            first, *others = node.args
            return _any([_equals(first, one) for one in others])
        if name == "inrange" and len(node.args) == 3:
            first, *ends = node.args
            parts: list[ast.expr] = [
                ast.Compare(first, [op], [end])
                for op, end in zip((ast.GtE(), ast.LtE()), ends, strict=True)
                if not _is_none(end)
            ]
            # of a value that is missing it is false, though that is above all numbers in Stata
            there = [_negated(_missing(first))] if _is_none(ends[1]) else []
            return _all(parts + there)
        return node

    def _refused(self, said: str) -> FormulaError:
        return FormulaError(f"``{self.what}={self.text!r}``: {said}")


def _is_none(node: ast.expr) -> bool:
    return (isinstance(node, ast.Name) and node.id == _NONE) or (
        isinstance(node, ast.Constant) and node.value == ""
    )


def _missing(node: ast.expr) -> ast.expr:
    return ast.Call(ast.Name("missing"), [node], [])


def _negated(node: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.Not(), node)


def _equals(node: ast.expr, value: ast.expr) -> ast.expr:
    return _missing(node) if _is_none(value) else ast.Compare(node, [ast.Eq()], [value])


def _any(parts: list[ast.expr]) -> ast.expr:
    return parts[0] if len(parts) == 1 else ast.BoolOp(ast.Or(), parts)


def _all(parts: list[ast.expr]) -> ast.expr:
    return parts[0] if len(parts) == 1 else ast.BoolOp(ast.And(), parts)


def named(text: str) -> set[str]:
    """Return the names of the columns of a condition."""
    return names_in(parse(text, "where", CONDITION))


def in_signs(text: str, missing: str = "missing") -> str:
    """A condition with the operators of Stata and R, whose precedence differs.

    Examples
    --------
    >>> in_signs("female == 1 and (not (region <= 3 or late)) and town != 'A'")
    '(female == 1 & !((region <= 3 | late)) & town != "A")'
    >>> in_signs("not missing(wage)", "is.na")
    '!(is.na(wage))'
    """
    return _in_signs(parse(text, "where", CONDITION), missing)


def _in_signs(node: ast.expr, missing: str) -> str:
    if isinstance(node, ast.BoolOp):
        sign = " & " if isinstance(node.op, ast.And) else " | "
        return f"({sign.join(_in_signs(value, missing) for value in node.values)})"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return f"!({_in_signs(node.operand, missing)})"
    if _asks(node):
        return f"{missing}({written(node.args[0])})"  # type: ignore[attr-defined]
    if isinstance(node, ast.Compare) and _is_text(node.comparators[0]):
        sign = "==" if isinstance(node.ops[0], ast.Eq) else "!="
        said = json.dumps(node.comparators[0].value, ensure_ascii=False)  # type: ignore[attr-defined]
        return f"{written(node.left)} {sign} {said}"
    return written(node).replace("**", "^")


def columns_asked(text: str) -> tuple[set[str], set[str]]:
    """Return the columns whose values a condition reads, and those of which it asks for a value.

    Examples
    --------
    >>> values, present = columns_asked("female == 1 and (not missing(wage))")
    >>> values, present
    ({'female'}, {'wage'})
    """
    tree = parse(text, "where", CONDITION)
    values = values_in(tree)
    return values, names_in(tree) - values


def asked_of(text: str) -> dict[str, set[Any]] | None:
    """Return the values with which a condition compares each of its columns; None of others.

    It is about columns one by one where every comparison is of a column with a number or a text.

    Examples
    --------
    >>> asked_of("age >= 30 and (town == 'A' or late)")
    {'age': {30.0}, 'town': {'A'}, 'late': {0.0}}
    >>> asked_of("age > experience") is None
    True
    """
    found: dict[str, set[Any]] = {}
    return found if _each(parse(text, "where", CONDITION), found) else None


def _each(node: ast.expr, found: dict[str, set[Any]]) -> bool:
    """Add the values of a part; whether it is about columns one by one."""
    if isinstance(node, ast.BoolOp):
        return all(_each(value, found) for value in node.values)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return _each(node.operand, found)
    values: set[Any] = set()
    column = node
    if isinstance(node, ast.Call) and _asks(node):
        (column,) = node.args
    elif isinstance(node, ast.Compare):
        column, other = node.left, node.comparators[0]
        if isinstance(other, ast.Name):
            column, other = other, column
        if names_in(other):
            return False
        text = isinstance(other, ast.Constant) and isinstance(other.value, str)
        values = {other.value if text else float(computed(other, {}))}  # type: ignore[attr-defined]
    else:
        values = {0.0}
    numbers = [value for value in values if not isinstance(value, str)]
    if not isinstance(column, ast.Name) or not all(map(math.isfinite, numbers)):
        return False
    found.setdefault(column.id, set()).update(values)
    return True


def divided_by(text: str, public: Collection[str]) -> tuple[str | None, str | None]:
    """Return the parts of a condition that public columns decide, and the other ones.

    Examples
    --------
    >>> divided_by("wave == 2 and female == 1 and (age > 9 or wave == 1)", {"wave"})
    ('wave == 2', 'female == 1 and (age > 9 or wave == 1)')
    """
    parts = _parts(parse(text, "where", CONDITION))
    known = [part for part in parts if names_in(part) <= {*public}]
    others = [part for part in parts if part not in known]
    inner, outer = (written(_all(part)) if part else None for part in (known, others))
    return inner, outer


def _asks(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "missing"
        and len(node.args) == 1
    )


class Values(NamedTuple):
    """Values that a column may have in any row, by public facts."""

    levels: tuple[Any, ...] | None = None  # all of them, where they are few
    low: float = -math.inf
    high: float = math.inf
    may_miss: bool = False

    def told_apart(self, numbers: Iterable[Any]) -> NDArray[Any]:
        """Values of which every other is like one in each comparison with these numbers."""
        none = [math.nan] * self.may_miss
        if self.levels is not None:
            text = any(isinstance(one, str) for one in self.levels)
            listed = [*self.levels, *([""] * self.may_miss if text else none)]
            return np.array(listed, object if text else np.float64)
        inside = {float(one) for one in numbers if self.low < float(one) < self.high}
        ends = {self.low, self.high} - {-math.inf, math.inf}
        points = sorted(inside | ends) or [0.0]
        between = [(one + other) / 2 for one, other in pairwise(points)]
        # the next double: of large numbers, one more is the same number
        beyond = [math.nextafter(points[0], -math.inf)] * (self.low == -math.inf)
        beyond += [math.nextafter(points[-1], math.inf)] * (self.high == math.inf)
        return np.array([*points, *between, *beyond, *none])


NO_VALUES: Mapping[str, Values] = MappingProxyType({})


def values_of(column: Column) -> Values | None:
    """Values that a column is declared to have, as programs hold them; None if nothing is known.

    Values that count as a bound (``clip``) are others in the rows.  Of doubles, which do-files may
    make or read in single precision, only numbers that are the same in both are known.

    Examples
    --------
    >>> from dprct.schema import Column
    >>> values_of(Column("age", "byte", bounds=(0, 99), missing="never"))
    Values(levels=None, low=0.0, high=99.0, may_miss=False)
    >>> values_of(Column("x", bounds=(0, 0.7), missing="never")).high
    inf
    """
    may_miss, levels = column.missing != (), column.levels
    if column.is_text:
        return None if levels is None else Values(levels, may_miss=may_miss)
    if column.clip:
        return Values(may_miss=may_miss)

    def held(numbers: Iterable[Any]) -> list[float | None]:
        given = np.array([*map(float, numbers)])
        single = stored(replace(column, type="float"), given)
        same = (column.type != "double") | (given == single)
        known = zip(stored(column, given).tolist(), same.tolist(), strict=True)
        return [number if is_same else None for number, is_same in known]

    found = held(levels or ())
    low, high = held(column.bounds or (-math.inf, math.inf))
    return Values(
        None if levels is None or None in found else tuple(found),
        -math.inf if low is None else low,
        math.inf if high is None else high,
        may_miss,
    )


def all_values(columns: Iterable[Column]) -> dict[str, Values]:
    """What is known of the values of each of some columns."""
    return {one.name: found for one in columns if (found := values_of(one)) is not None}


def reduced(
    text: str, there: Collection[str], values: Mapping[str, Values] = NO_VALUES
) -> str | None:
    """Return what is left of a condition for rows that have a value of some columns.

    Parts that are joined by ``and`` are sorted and stand once; empty where it holds for all such
    rows, None where it holds for none.  A part about one column is decided where it is the same for
    all ``values`` that the column may have.

    Examples
    --------
    >>> reduced("not missing(wage) and female == 1", {"wage"})
    'female == 1'
    >>> reduced("not missing(wage)", {"wage"}), reduced("missing(wage)", {"wage"})
    ('', None)
    >>> reduced("age >= 0 and (age > 99 or female == 1)", (), {"age": Values(low=0, high=99)})
    'female == 1'
    """
    there = {*there} | {name for name, one in values.items() if not one.may_miss}
    known = {name: one._replace(may_miss=name not in there) for name, one in values.items()}
    left = _folded(parse(text, "where", CONDITION), there, known)
    if isinstance(left, bool):
        return "" if left else None
    parts = sorted({written(part): part for part in _parts(left)}.items())
    return written(_all([part for _, part in parts]))


def parts_of(text: str) -> list[str]:
    """Return the parts of a condition that ``and`` joins.

    Examples
    --------
    >>> parts_of("female == 1 and (age > 9 or late)")
    ['female == 1', 'age > 9 or late']
    """
    return [written(part) for part in _parts(parse(text, "where", CONDITION))]


def _parts(node: ast.expr) -> list[ast.expr]:
    return node.values if isinstance(node, ast.BoolOp) and _joins(node, ast.And) else [node]


def _joins(node: ast.expr, how: type[ast.boolop]) -> bool:
    return isinstance(node, ast.BoolOp) and isinstance(node.op, how)


def _decided(node: ast.expr, values: Mapping[str, Values]) -> bool | None:
    """Whether a part holds for all values that its one column may have, or fails for all."""
    name, *others = names_in(node) or ("",)
    asked: dict[str, set[Any]] = {}
    if others or name not in values or not _each(node, asked):
        return None
    of_text = any(isinstance(one, str) for one in asked[name])
    one = values[name]
    levels = one.levels or ()
    if of_text and not (levels and all(isinstance(level, str) for level in levels)):
        return None
    given = one.told_apart(asked[name])
    if not given.size:
        return None
    holds, fails = (np.broadcast_to(mask, given.shape) for mask in _known(node, {name: given}))
    return True if holds.all() else False if fails.all() else None


def _folded(node: ast.expr, there: set[str], values: Mapping[str, Values]) -> ast.expr | bool:
    """Return a part without what is known of rows that have values; True or False where all is."""
    if (found := _decided(node, values)) is not None:
        return found
    if _asks(node) and names_in(node) <= there:
        return not isinstance(node.args[0], ast.Name) and node  # type: ignore[attr-defined]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inner = _folded(node.operand, there, values)
        return not inner if isinstance(inner, bool) else _negated(inner)
    if isinstance(node, ast.BoolOp):
        both = isinstance(node.op, ast.And)
        parts: list[ast.expr] = []
        for value in node.values:
            part = _folded(value, there, values)
            if isinstance(part, bool):
                if part is not both:
                    return part
            elif _joins(part, type(node.op)):
                parts += part.values  # type: ignore[attr-defined]
            else:
                parts.append(part)
        return both if not parts else _all(parts) if both else _any(parts)
    return node if names_in(node) else bool(meets(written(node), {}, 1)[0])


def as_in_stata(text: str, never: Collection[str]) -> str | None:
    """Return a condition that says here what the one of a do-file says in Stata.

    There a missing value is above all numbers, and text that is missing is the text "".  None where
    a comparison of several columns that may be missing, or arithmetic of them, is in the way.

    Examples
    --------
    >>> as_in_stata("age > 9 and female != 1", {"age"})
    'age > 9 and (female != 1 or missing(female))'
    >>> as_in_stata("not (age == 9 or missing(age))", ())
    'not (age == 9 and (not missing(age)) or missing(age))'
    """
    found = _spelled_out(parse(text, "where", CONDITION), set(never), inside=False)
    return None if found is None else written(found)


def _spelled_out(node: ast.expr, never: set[str], *, inside: bool) -> ast.expr | None:
    """Return a part; ``inside`` a negation it must be false where it does not hold."""
    if isinstance(node, ast.BoolOp):
        parts = [_spelled_out(value, never, inside=inside) for value in node.values]
        known = [part for part in parts if part is not None]
        return ast.BoolOp(node.op, known) if len(known) == len(parts) else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        part = _spelled_out(node.operand, never, inside=True)
        return None if part is None else _negated(part)
    if _asks(node) or names_in(node) <= never:
        return node
    if isinstance(node, ast.Name):
        return _any([node, _missing(node)])
    plain = (
        isinstance(node, ast.Compare)
        and isinstance(node.left, ast.Name)
        and not names_in(node.comparators[0])
    )
    if not plain:
        return None
    if isinstance(node.ops[0], _ABOVE):  # type: ignore[attr-defined]
        return _any([node, _missing(node.left)])  # type: ignore[attr-defined]
    return _all([node, _negated(_missing(node.left))]) if inside else node  # type: ignore[attr-defined]


def meets(text: str, columns: Mapping[str, NDArray[Any]], size: int) -> Mask:
    """Return for which of ``size`` rows a condition holds; unknown parts are not known to.

    Columns of numbers have NaN, those of text None or "" where a value is missing.

    Examples
    --------
    >>> x = np.array([1.0, 2.0, np.nan])
    >>> meets("x > 1", {"x": x}, 3), meets("x > 1 or missing(x)", {"x": x}, 3)
    (array([False,  True, False]), array([False,  True,  True]))
    >>> meets("name != 'a'", {"name": np.array(["a", "b", None], dtype=object)}, 3)
    array([False,  True, False])
    """
    holds, _ = _known(parse(text, "where", CONDITION), columns)
    return np.asarray(np.broadcast_to(holds, (size,)))


def _known(node: ast.expr, columns: Mapping[str, NDArray[Any]]) -> tuple[Mask, Mask]:
    """Return where a part is known to hold, and where it is known not to."""
    if isinstance(node, ast.BoolOp):
        parts = [_known(value, columns) for value in node.values]
        yes, no = zip(*parts, strict=True)
        both = isinstance(node.op, ast.And)
        every, some = (yes, no) if both else (no, yes)
        all_of, one_of = _reduce(np.logical_and, every), _reduce(np.logical_or, some)
        return (all_of, one_of) if both else (one_of, all_of)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        holds, fails = _known(node.operand, columns)
        return fails, holds
    value = computed(node, columns)
    unknown = np.isnan(value)
    return ~unknown & (value != 0), ~unknown & (value == 0)


def _reduce(how: Any, parts: Iterable[Mask]) -> Mask:
    found: Mask = how.reduce(np.broadcast_arrays(*parts))
    return found


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def texts(text: str) -> set[str]:
    """Return the columns that a condition compares with text.

    Examples
    --------
    >>> texts("name == 'a' and x == 1")
    {'name'}
    """
    return {
        node.left.id
        for node in ast.walk(parse(text, "where", CONDITION))
        if isinstance(node, ast.Compare)
        and isinstance(node.left, ast.Name)
        and _is_text(node.comparators[0])
    }
