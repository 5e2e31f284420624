"""Columns that a study makes of others, row by row: their values, and what is known of these.

What an expression can give follows from what is declared of its columns: by going through all of
their levels where there are few, else by interval arithmetic.  No row is read for it.
"""

from __future__ import annotations

import ast
import math
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.errors import ColumnError, FormulaError, SchemaError
from dprct.missing import tagged
from dprct.records import dataclass
from dprct.schema.columns import Column
from dprct.schema.expressions import MADE, computed, names_in, parse, values_in

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

_MOST_ROWS = 20_000
_MOST_LEVELS = 40
_LABEL = 80
_LARGEST = 2.0**50


@dataclass(frozen=True)
class Domain:
    """The values that an expression can have."""

    # low, high: every value lies between them; infinite where that is not known.
    low: float = -math.inf
    high: float = math.inf
    whole: bool = False  # whether all values are whole numbers
    gone: bool = True  # whether a value may be missing

    def joined(self, other: Domain) -> Domain:
        """Return the values of both."""
        return Domain(
            min(self.low, other.low),
            max(self.high, other.high),
            self.whole and other.whole,
            self.gone or other.gone,
        )


_TRUTH = Domain(0.0, 1.0, whole=True, gone=False)
_NOTHING = Domain(math.inf, -math.inf, whole=True)


def made_columns(
    expressions: Mapping[str, str],
    columns: Sequence[Column],
    declare: Callable[[Column], Column] = lambda column: column,
) -> tuple[Column, ...]:
    """The columns that are made of others, with what follows of their values.

    Each expression uses columns of the file, as declared, and those before it; ``declare`` adds
    what else is declared of such a column.

    Examples
    --------
    >>> wage = Column("wage", bounds=(0, 99), missing=(".",), integer=True)
    >>> poor, = made_columns({"poor": "where(missing(wage), 0, wage < 9)"}, [wage])
    >>> poor.levels, poor.missing
    ((0.0, 1.0), ())
    """
    known = {column.name: column for column in columns}
    for name, text in expressions.items():
        tree = checked(name, text, known)
        known[name] = declare(_column(name, text, tree, known))
    return tuple(known[name] for name in expressions)


def checked(name: str, text: str, known: Mapping[str, Column]) -> ast.expr:
    """Return the tree of an expression for a column, if it is one of the columns that are known."""
    where = f"[derived] {name}"
    if name in known:
        raise SchemaError(f"{where}: there is a column of this name already; give it another")
    tree = parse(text, where, MADE)
    for parent in sorted(names_in(tree)):
        if parent not in known:
            raise ColumnError(f"{where}: {ColumnError.unknown(parent, list(known))}")
    if (wrong := _text_as_number(tree, known)) is not None:
        raise FormulaError(
            f'{where}: {wrong!r} holds text; compare it, as in ``{wrong} == "a"``, or ask '
            f"``missing({wrong})``"
        )
    return tree


def _text_as_number(node: ast.expr, known: Mapping[str, Column]) -> str | None:
    """Return a column of text that is computed with, or one of numbers compared with text."""
    match node:
        case ast.Compare(left=ast.Name(id=name), comparators=[ast.Constant(value=str())]):
            return None if known[name].is_text else name
        case ast.Call(func=ast.Name(id="missing"), args=[ast.Name()]):
            return None
        case ast.Name(id=name):
            return name if known[name].is_text else None
    parts = node.args if isinstance(node, ast.Call) else ast.iter_child_nodes(node)
    found = (_text_as_number(part, known) for part in parts if isinstance(part, ast.expr))
    return next((name for name in found if name is not None), None)


def label_of(text: str) -> str:
    """The label of a column that was made by an expression: this, as far as it fits."""
    return text if len(text) <= _LABEL else text[: _LABEL - 3] + "..."


def _column(name: str, text: str, tree: ast.expr, known: Mapping[str, Column]) -> Column:
    facts: dict[str, Any] = _facts(tree, known)
    never = {one for one in names_in(tree) if known[one].missing == ()}
    made_of = tuple(sorted(names_in(tree) - never | values_in(tree)))
    return Column(
        name, "double", label=label_of(text), made_of=made_of or None, built_from="own",
        confirmed=True, **facts,
    )  # fmt: skip


def _facts(tree: ast.expr, known: Mapping[str, Column]) -> dict[str, Any]:
    """Return levels, bounds and missing codes, as far as they follow."""
    values = _all_values(tree, known)
    if values is None:
        domain = domain_of(tree, known)
        codes: tuple[str, ...] = (".",) if domain.gone else ()
        if domain == _TRUTH or (domain.whole and (domain.low, domain.high) == (0.0, 1.0)):
            return {"levels": (0.0, 1.0), "missing": codes}
        told = not max(-domain.low, domain.high) >= _LARGEST  # whole numbers are told apart
        facts: dict[str, Any] = {"missing": codes, "integer": domain.whole and told}
        if math.isfinite(domain.low) and math.isfinite(domain.high) and domain.low < domain.high:
            facts["bounds"] = (domain.low, domain.high)
        return facts
    there = sorted({float(x) + 0.0 for x in values[~np.isnan(values)]})
    codes = (".",) if np.isnan(values).any() else ()
    if not there:
        return {"missing": codes}
    if len(there) <= _MOST_LEVELS or there[0] == there[-1]:
        return {"levels": tuple(there), "missing": codes}
    whole = all(x.is_integer() for x in there)
    return {"bounds": (there[0], there[-1]), "missing": codes, "integer": whole}


def _all_values(tree: ast.expr, known: Mapping[str, Column]) -> NDArray[np.float64] | None:
    """Return what an expression gives for all levels of its columns, if these are few."""
    lists: list[list[Any]] = []
    names = sorted(names_in(tree))
    for name in names:
        column = known[name]
        if not column.levels:
            return None
        gone: list[Any] = [] if column.missing == () else ["" if column.is_text else math.nan]
        lists.append([*column.levels, *gone])
    if math.prod(map(len, lists)) > _MOST_ROWS:
        return None
    rows = list(product(*lists))
    columns = {
        name: np.array(
            [row[k] for row in rows], dtype=object if known[name].is_text else np.float64
        )
        for k, name in enumerate(names)
    }
    return np.broadcast_to(computed(tree, columns), (len(rows),))


def domain_of(
    node: ast.expr, known: Mapping[str, Column], there: frozenset[str] = frozenset()
) -> Domain:
    """Return bounds of an expression by interval arithmetic; the parts ``there`` have a value.

    Examples
    --------
    >>> wage = Column("wage", bounds=(0, 99), missing=())
    >>> domain_of(ast.parse("2 * wage + 1", mode="eval").body, {"wage": wage})
    Domain(low=1.0, high=199.0, whole=False, gone=False)
    """
    found = _domain(node, known, there)
    return replace(found, gone=False) if there and ast.unparse(node) in there else found


def _domain(node: ast.expr, known: Mapping[str, Column], there: frozenset[str]) -> Domain:
    def of(part: ast.expr) -> Domain:
        return domain_of(part, known, there)

    match node:
        case ast.Name(id=name):
            return _declared(known[name])
        case ast.Constant(value=int() | float() as value):
            number = float(value)
            return Domain(number, number, whole=number.is_integer(), gone=False)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            x = of(operand)
            return Domain(-x.high, -x.low, x.whole, x.gone)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return of(operand)
        case ast.BinOp(left=left, op=op, right=right):
            return _arithmetic(op, of(left), of(right))
        case ast.Compare(left=ast.Name(id=name), comparators=[ast.Constant(value=str())]):
            return Domain(0.0, 1.0, whole=True, gone=name not in there)
        case ast.UnaryOp() | ast.BoolOp() | ast.Compare():
            parts = [of(x) for x in ast.iter_child_nodes(node) if isinstance(x, ast.expr)]
            return Domain(0.0, 1.0, whole=True, gone=any(x.gone for x in parts))
        case ast.Call(func=ast.Name(id="missing")):
            return _TRUTH
        case ast.Call(
            func=ast.Name(id="where"),
            args=[ast.Call(func=ast.Name(id="missing"), args=[asked]), value, other],
        ):
            return of(value).joined(domain_of(other, known, there | {ast.unparse(asked)}))
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return _of_function(name, arguments, of)
    return Domain()


def _declared(column: Column) -> Domain:
    gone = column.missing != ()
    numbers = [x for x in column.levels or () if not isinstance(x, str)]
    if numbers:
        whole = all(float(x).is_integer() for x in numbers)
        return Domain(float(min(numbers)), float(max(numbers)), whole, gone)
    low, high = column.bounds or (-math.inf, math.inf)
    return Domain(low, high, column.is_integer, gone)


def _arithmetic(op: ast.operator, x: Domain, y: Domain) -> Domain:
    gone = x.gone or y.gone
    whole = x.whole and y.whole
    if isinstance(op, ast.Add):
        return _finite(Domain(x.low + y.low, x.high + y.high, whole, gone))
    if isinstance(op, ast.Sub):
        return _finite(Domain(x.low - y.high, x.high - y.low, whole, gone))
    if isinstance(op, ast.Mult):
        return _finite(Domain(*_ends(lambda a, b: a * b if a and b else 0.0, x, y), whole, gone))
    if isinstance(op, ast.Div):
        if y.low <= 0 <= y.high:
            least = 1.0 if y.whole else 0.0  # a whole number that is not 0 is at least 1
            largest = max(abs(x.low), abs(x.high)) / least if least else math.inf
            return Domain(-largest, largest, gone=True)
        return _finite(Domain(*_ends(lambda a, b: a / b, x, y), gone=gone))
    if y.low == y.high == 2.0:
        ends = sorted((x.low * x.low, x.high * x.high))
        return _finite(Domain(0.0 if x.low <= 0 <= x.high else ends[0], ends[1], whole, gone))
    if x.low > 0 and math.isfinite(x.high + y.low + y.high):
        return _finite(_wider(Domain(*_ends(_power, x, y), gone=gone)))
    return Domain()


def _power(a: float, b: float) -> float:
    try:
        return math.pow(a, b)
    except OverflowError:
        return math.inf


def _ends(of: Callable[[float, float], float], x: Domain, y: Domain) -> tuple[float, float]:
    found = [of(a, b) for a in (x.low, x.high) for b in (y.low, y.high)]
    if any(math.isnan(value) for value in found):
        return -math.inf, math.inf
    return min(found), max(found)


def _finite(domain: Domain) -> Domain:
    """Return a domain; one without an end may leave the range of numbers, and be missing."""
    low = -math.inf if math.isnan(domain.low) else domain.low
    high = math.inf if math.isnan(domain.high) else domain.high
    gone = domain.gone or not (math.isfinite(low) and math.isfinite(high))
    return Domain(low, high, domain.whole, gone)


def _wider(domain: Domain) -> Domain:
    """Return a domain with room for rounding of functions that are not exact to the last bit."""
    room = 4 * np.finfo(np.float64).eps
    return Domain(
        domain.low - room * abs(domain.low),
        domain.high + room * abs(domain.high),
        domain.whole,
        domain.gone,
    )


def _of_function(
    name: str, arguments: Sequence[ast.expr], of: Callable[[ast.expr], Domain]
) -> Domain:
    parts = [of(one) for one in arguments]
    x = parts[0]
    if name == "where":
        chosen = parts[1].joined(parts[2] if len(parts) > 2 else _NOTHING)
        return Domain(chosen.low, chosen.high, chosen.whole, chosen.gone or x.gone)
    if name in ("rowtotal", "rowmean", "rownonmiss", "rowmin", "rowmax"):
        return _across(name, parts)
    if name in ("minimum", "maximum"):
        pick = min if name == "minimum" else max
        return Domain(
            pick(one.low for one in parts),
            pick(one.high for one in parts),
            all(one.whole for one in parts),
            any(one.gone for one in parts),
        )
    if name in ("floor", "ceil", "round"):
        low, high = (_whole(name, end) for end in (x.low, x.high))
        return Domain(low, high, whole=True, gone=x.gone)
    if name == "abs":
        ends = sorted((abs(x.low), abs(x.high)))
        return Domain(0.0 if x.low <= 0 <= x.high else ends[0], ends[1], x.whole, x.gone)
    if name in ("month", "day"):
        return Domain(1.0, 12.0 if name == "month" else 31.0, whole=True, gone=x.gone)
    if name == "year":
        ends = [1960 + end / 365.2425 for end in (x.low, x.high)]
        whole = [math.floor(ends[0]) - 1 if math.isfinite(ends[0]) else -math.inf,
                 math.ceil(ends[1]) + 1 if math.isfinite(ends[1]) else math.inf]  # fmt: skip
        return Domain(whole[0], whole[1], whole=True)
    return _wider(_monotone(name, x))


def _whole(name: str, end: float) -> float:
    if not math.isfinite(end):
        return end
    return float(
        math.floor(end) if name == "floor" else math.ceil(end) if name == "ceil" else round(end)
    )


def _monotone(name: str, x: Domain) -> Domain:
    """Return the domain of a logarithm, a root or an exponential."""
    if name == "exp":
        return _finite(Domain(_exp(x.low), _exp(x.high), gone=x.gone))
    low = x.low
    outside = low < 0 or (name == "log" and low <= 0)
    if outside:
        low = 1.0 if name == "log" and x.whole else 0.0
    of = _log if name == "log" else lambda value: math.sqrt(value) if value >= 0 else 0.0
    return Domain(of(low), of(max(x.high, low)), gone=x.gone or outside)


def _exp(value: float) -> float:
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf


def _across(name: str, parts: Sequence[Domain]) -> Domain:
    """Return the domain of a function that passes over missing values."""
    everywhere, nowhere = all(one.gone for one in parts), not any(one.gone for one in parts)
    whole = all(one.whole for one in parts)
    if name == "rownonmiss":
        least = sum(not one.gone for one in parts)
        return Domain(float(least), float(len(parts)), whole=True, gone=False)
    if name == "rowtotal":
        low = sum(min(one.low, 0.0) if one.gone else one.low for one in parts)
        high = sum(max(one.high, 0.0) if one.gone else one.high for one in parts)
        return _finite(Domain(low, high, whole, gone=False))
    low, high = min(one.low for one in parts), max(one.high for one in parts)
    if name == "rowmean":
        return _wider(Domain(low, high, gone=everywhere))
    if nowhere and name == "rowmin":
        high = min(one.high for one in parts)
    if nowhere and name == "rowmax":
        low = max(one.low for one in parts)
    return Domain(low, high, whole, everywhere)


def with_made(
    data: pd.DataFrame, expressions: Mapping[str, str], columns: Mapping[str, Column]
) -> pd.DataFrame:
    """Return rows with the columns that are made of them, each value from its own row."""
    values: dict[str, NDArray[Any]] = {}
    for name, text in expressions.items():
        tree = parse(text, f"[derived] {name}", MADE)
        used = {
            one: values[one] if one in values else _values(data, columns[one])
            for one in names_in(tree)
        }
        found = np.broadcast_to(computed(tree, used), (len(data),))
        values[name] = np.where(np.isnan(found), tagged(0), found)
    return data.assign(**values)


def _values(data: pd.DataFrame, column: Column) -> NDArray[Any]:
    kind: type = object if column.is_text else np.float64
    return data[column.name].to_numpy(kind)
