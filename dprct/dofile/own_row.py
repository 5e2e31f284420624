"""Expressions of Stata in the language of derived columns, with Stata's rules for missing values.

In Stata a missing value is larger than any number, and every comparison is 0 or 1; here what is
missing is unknown.  What comes out says exactly what Stata's does, for every row by itself.  What
one person's value moves for others has no place here: it is refused by its name.
"""

from __future__ import annotations

import ast
import math
import re
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

from dprct.dofile.expressions import Grammar, Refused, tokens_of
from dprct.dofile.lines import OPEN
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_LONG = 4_000
_MONTH_WORDS = "jan feb mar apr may jun jul aug sep oct nov dec"
_MONTHS = dict(zip(_MONTH_WORDS.split(), range(1, 13), strict=True))
_EPOCH = date(1960, 1, 1).toordinal()
_OTHER_ROWS = frozenset({"_n", "_N"})
_RANDOM_WORDS = "runiform uniform rnormal invnorm rbinomial rpoisson runiformint"
_RANDOM = frozenset(_RANDOM_WORDS.split())
_TEXT_WORDS = """\
substr usubstr regexm regexr regexs strpos index upper lower strupper strlower trim ltrim
rtrim strtrim itrim length strlen string strofreal real word proper subinstr reverse
ustrregexm date daily clock
"""
_TEXT = frozenset(_TEXT_WORDS.split())
CONSTANTS = "declare the number from public knowledge and write it in the do-file"


@dataclass(frozen=True)
class Value:
    """A part of an expression."""

    tree: ast.expr
    gone: bool = True  # whether it may be missing
    truth: bool = False  # whether it is 0 or 1
    whole: bool = False  # whether it is a whole number
    text: bool = False


def number(value: float) -> Value:
    """Return a number."""
    whole = float(value).is_integer() and abs(value) < 1e15
    constant = ast.Constant(int(abs(value)) if whole else abs(float(value)))
    tree = ast.UnaryOp(ast.USub(), constant) if value < 0 else constant
    return Value(tree, gone=False, truth=value in (0, 1), whole=whole)


NONE = Value(ast.BinOp(ast.Constant(0), ast.Div(), ast.Constant(0)))
"""Stata's ``.``: a quotient by zero is missing."""


def call(name: str, *parts: ast.expr) -> ast.expr:
    """Return a function of the language."""
    return ast.Call(ast.Name(name), list(parts), [])


def missing(x: Value) -> Value:
    """Whether a part is missing."""
    if x is NONE:
        return number(1)
    return (
        Value(call("missing", x.tree), gone=False, truth=True, whole=True) if x.gone else number(0)
    )


def chosen(condition: Value, x: Value, other: Value = NONE) -> Value:
    """Return one part where a condition that is never missing holds, and the other elsewhere."""
    if isinstance(condition.tree, ast.Constant):
        return x if condition.tree.value else other
    if x is NONE and other is NONE:
        return NONE
    if x is NONE:
        return chosen(negated(condition), other)
    if _is_number(x, 1) and _is_number(other, 0):
        return condition
    if _is_number(x, 0) and _is_number(other, 1):
        return negated(condition)
    parts = [condition.tree, x.tree, *([] if other is NONE else [other.tree])]
    return Value(
        call("where", *parts),
        gone=x.gone or other.gone,
        truth=x.truth and (other.truth or other is NONE),
        whole=x.whole and (other.whole or other is NONE),
    )


def _is_number(x: Value, value: float) -> bool:
    return isinstance(x.tree, ast.Constant) and not x.text and x.tree.value == value


def negated(condition: Value) -> Value:
    """Return the opposite of what is 0 or 1 and never missing."""
    tree = condition.tree
    if isinstance(tree, ast.Constant):
        return number(not tree.value)
    inner = tree.operand if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not) else None
    return Value(inner or ast.UnaryOp(ast.Not(), tree), gone=False, truth=True, whole=True)


def truth(x: Value) -> Value:
    """Return whether a number is not 0; what is missing is not."""
    if x is NONE:
        return number(1)
    if x.truth and not x.gone:
        return x
    differs = x if x.truth else Value(
        ast.Compare(x.tree, [ast.NotEq()], [ast.Constant(0)]), gone=False, truth=True, whole=True
    )  # fmt: skip
    return chosen(missing(x), number(1), differs)


def joined(op: ast.boolop, parts: Sequence[Value]) -> Value:
    """Return parts joined by ``and`` or ``or``."""
    trees = [truth(part).tree for part in parts]
    stops = isinstance(op, ast.Or)
    known = [t for t in trees if not isinstance(t, ast.Constant)]
    if any(isinstance(t, ast.Constant) and bool(t.value) is stops for t in trees):
        return number(stops)
    if not known:
        return number(not stops)
    tree = known[0] if len(known) == 1 else ast.BoolOp(op, known)
    return Value(tree, gone=False, truth=True, whole=True)


_OPERATORS: dict[str, type[ast.cmpop]] = {
    "==": ast.Eq, "=": ast.Eq, "!=": ast.NotEq, "~=": ast.NotEq,
    "<": ast.Lt, ">": ast.Gt, "<=": ast.LtE, ">=": ast.GtE,
}  # fmt: skip


def compared(x: Value, mark: str, y: Value) -> Value:
    """Return a comparison as Stata makes it: 0 or 1, a missing value above all numbers."""
    op = _OPERATORS[mark]
    if x.text or y.text:
        return _texts_compared(x, op, y)
    plain = Value(ast.Compare(x.tree, [op()], [y.tree]), gone=False, truth=True, whole=True)
    no, yes = number(0), number(1)
    if op is ast.Eq:
        return chosen(missing(x), missing(y), chosen(missing(y), no, plain))
    if op is ast.NotEq:
        return chosen(missing(x), negated(missing(y)), chosen(missing(y), yes, plain))
    if op is ast.Gt:
        return chosen(missing(y), no, chosen(missing(x), yes, plain))
    if op is ast.GtE:
        return chosen(missing(x), yes, chosen(missing(y), no, plain))
    if op is ast.Lt:
        return chosen(missing(x), no, chosen(missing(y), yes, plain))
    return chosen(missing(y), yes, chosen(missing(x), no, plain))


def _texts_compared(x: Value, op: type[ast.cmpop], y: Value) -> Value:
    if isinstance(x.tree, ast.Constant):
        x, y = y, x
    if not (isinstance(x.tree, ast.Name) and isinstance(y.tree, ast.Constant)):
        raise Refused("two texts are compared")
    if op not in (ast.Eq, ast.NotEq):
        raise Refused("texts are compared by their order")
    gone = Value(call("missing", x.tree), gone=False, truth=True, whole=True)
    if y.tree.value == "":
        return gone if op is ast.Eq else negated(gone)
    plain = Value(ast.Compare(x.tree, [op()], [y.tree]), gone=False, truth=True, whole=True)
    return chosen(gone, number(op is ast.NotEq), plain)


def arithmetic(x: Value, op: ast.operator, y: Value) -> Value:
    """Return a sum, difference, product, quotient or power; missing where a part is."""
    if x.text or y.text:
        raise Refused("it computes with text")
    if x is NONE or y is NONE:
        return NONE
    exact = isinstance(op, (ast.Add, ast.Sub, ast.Mult))
    return Value(
        ast.BinOp(x.tree, op, y.tree),
        gone=x.gone or y.gone or not exact,
        whole=exact and x.whole and y.whole,
    )


def translated(
    text: str, column: Callable[[str], Value], scalars: Mapping[str, object] | None = None
) -> Value:
    """An expression of Stata in the language of derived columns.

    Raises
    ------
    Refused
        Where it is not made of its own row alone, or not read.

    Examples
    --------
    >>> column = lambda name: Value(ast.Name(name))
    >>> ast.unparse(translated("age > 18 & !mi(wage)", column).tree)
    'where(missing(age), 1, age > 18) and (not missing(wage))'
    >>> translated("x[_n-1]", column)
    Traceback (most recent call last):
    dprct.dofile.expressions.Refused: x[...] takes the value of another row
    """
    if OPEN in text:
        raise Refused(f"a number comes from the data; {CONSTANTS}")
    if len(text) > _LONG:
        raise Refused("the expression is too long")
    return _Parser(tokens_of(text), column, scalars or {}).whole()


def condition(
    text: str, column: Callable[[str], Value], scalars: Mapping[str, object] | None = None
) -> Value:
    """Return the rows that meet an ``if``, as 0 or 1; all of them where there is none."""
    return truth(translated(text, column, scalars)) if text.strip() else number(1)


_COMPUTED: dict[str, type[ast.operator]] = {
    "+": ast.Add, "-": ast.Sub, "*": ast.Mult, "/": ast.Div, "^": ast.Pow,
}  # fmt: skip


@dataclass
class _Parser(Grammar[Value]):
    column: Callable[[str], Value]
    scalars: Mapping[str, object]
    deepest = 60

    def _joined(self, mark: str, parts: list[Value]) -> Value:
        return joined(ast.Or() if mark == "|" else ast.And(), parts)

    def _compared(self, x: Value, mark: str, y: Value) -> Value:
        return compared(x, mark, y)

    def _computed(self, x: Value, mark: str, y: Value) -> Value:
        return arithmetic(x, _COMPUTED[mark](), y)

    def _minus(self, x: Value) -> Value:
        if x is NONE:
            return NONE
        if isinstance(x.tree, ast.Constant) and not x.text:
            return number(-float(x.tree.value))  # type: ignore[arg-type]
        if x.text:
            raise Refused("it computes with text")
        return Value(ast.UnaryOp(ast.USub(), x.tree), gone=x.gone, whole=x.whole)

    def _not(self, x: Value) -> Value:
        return negated(truth(x))

    def _constant(self, kind: str, text: str) -> Value:
        if kind == "string":
            return Value(ast.Constant(text), gone=False, text=True)
        if kind == "missing" and text != ".":
            raise Refused(f"codes of missing values, such as {text}, are not told apart")
        return NONE if kind == "missing" else number(float(text))

    def _named(self, name: str, depth: int) -> Value:
        if self.take("["):
            if name.startswith("_"):
                raise Refused(f"{name}[...] comes from an estimation")
            raise Refused(f"{name}[...] takes the value of another row")
        if name in _OTHER_ROWS:
            raise Refused(f"{name} counts rows, which other people move")
        if name in ("_pi", "c"):
            return number(math.pi) if name == "_pi" else self.column(name)
        if self.take("("):
            return self.function(name, depth)
        known = self.scalars.get(name)
        if isinstance(known, float) and math.isfinite(known):
            return number(known)
        return self.column(name)

    def function(self, name: str, depth: int) -> Value:
        if name in ("td", "d"):
            return self.day()
        if name in ("r", "e", "scalar"):
            raise Refused(f"{name}() comes from the data; {CONSTANTS}")
        return _function(name, self.arguments(depth))

    def day(self) -> Value:
        """Take a day such as ``td(17may2010)``."""
        said = ""
        while self.position < len(self.tokens) and not self.take(")"):
            said += self.peek()[1]
            self.position += 1
        found = re.fullmatch(r"(\d{1,2})([a-z]{3})(\d{4})", said.lower())
        try:
            if found is None or found[2] not in _MONTHS:
                raise ValueError
            day = date(int(found[3]), _MONTHS[found[2]], int(found[1]))
        except ValueError:
            raise Refused(f"td({said[:20]}) is not a date") from None
        return number(day.toordinal() - _EPOCH)


_PLAIN = {"log": "log", "ln": "log", "exp": "exp", "sqrt": "sqrt", "abs": "abs", "floor": "floor",
          "ceil": "ceil", "year": "year", "month": "month", "day": "day"}  # fmt: skip
_WHOLE = frozenset({"floor", "ceil", "year", "month", "day"})


def _function(name: str, given: Sequence[Value]) -> Value:
    if name in _RANDOM:
        raise Refused(f"{name}() draws at random")
    if name == "sum":
        raise Refused("sum() runs over other rows; a public total may be declared as a number")
    if name in ("missing", "mi"):
        return joined(ast.Or(), [_asked(x) for x in given])
    if name in _TEXT:
        raise Refused(f"{name}() is about text, which the study does not compute")
    if name == "inlist" and len(given) > 1:
        first, *others = given
        return joined(ast.Or(), [compared(first, "==", one) for one in others])
    if any(x.text for x in given):
        raise Refused(f"{name}() is about text, which the study does not compute")
    if name == "inrange" and len(given) == 3:
        return _in_range(*given)
    if name == "cond" and len(given) in (3, 4):
        x, yes, no, *other = given
        found = chosen(truth(x), yes, no)
        return chosen(missing(x), other[0], found) if other else found
    if name in ("min", "max") and given:
        there = [x for x in given if x is not NONE]
        if not there:
            return NONE
        tree = call(f"row{name}", *(x.tree for x in there))
        return Value(tree, all(x.gone for x in there), whole=all(x.whole for x in there))
    if any(x is NONE for x in given):
        return NONE
    if len(given) == 1:
        return _of_one(name, given[0])
    if name == "round" and len(given) == 2:
        x, by = given
        return arithmetic(_rounded(arithmetic(x, ast.Div(), by)), ast.Mult(), by)
    if name == "mod" and len(given) == 2 and _is_positive(given[1]):
        x, by = given
        whole = Value(call("floor", arithmetic(x, ast.Div(), by).tree), whole=True)
        return arithmetic(x, ast.Sub(), arithmetic(by, ast.Mult(), whole))
    raise Refused(f"{name}() is not a function that a study can compute")


def _asked(x: Value) -> Value:
    if x.text and isinstance(x.tree, ast.Constant):
        return number(x.tree.value == "")
    if isinstance(x.tree, ast.Name):  # whether it is text or not
        return Value(call("missing", x.tree), gone=False, truth=True, whole=True)
    return missing(x)


def _is_positive(x: Value) -> bool:
    return isinstance(x.tree, ast.Constant) and not x.text and float(x.tree.value) > 0  # type: ignore[arg-type]


def _in_range(x: Value, low: Value, high: Value) -> Value:
    """Return ``inrange()``: an end that is missing is none, and what is missing is outside."""
    there, ends = replace(x, gone=False), ((">=", low), ("<=", high))
    if any(end is not NONE and end.gone for _, end in ends):
        raise Refused("inrange() with an end that may be missing is not read")
    inside = [compared(there, mark, end) for mark, end in ends if end is not NONE]
    return chosen(missing(x), number(0), joined(ast.And(), inside or [number(1)]))


def _of_one(name: str, x: Value) -> Value:
    if name in _PLAIN:
        exact = name in ("abs", "floor", "ceil")
        whole = name in _WHOLE or (name == "abs" and x.whole)
        return Value(call(_PLAIN[name], x.tree), gone=x.gone or not exact, whole=whole)
    if name in ("int", "trunc"):
        return truncated(x)
    if name == "round":
        return x if x.whole else _rounded(x)
    if name == "log10":
        return arithmetic(
            Value(call("log", x.tree)), ast.Div(), Value(call("log", ast.Constant(10)), gone=False)
        )
    if name == "sign":
        up, down = (ast.Compare(x.tree, [op()], [ast.Constant(0)]) for op in (ast.Gt, ast.Lt))
        return Value(ast.BinOp(up, ast.Sub(), down), gone=x.gone, whole=True)
    raise Refused(f"{name}() is not a function that a study can compute")


def _rounded(x: Value) -> Value:
    half = ast.BinOp(x.tree, ast.Add(), ast.Constant(0.5))
    return Value(call("floor", half), gone=x.gone, whole=True)


def truncated(x: Value) -> Value:
    """Return a number without what is behind its point, as ``int()`` and whole types keep it."""
    if x.whole or x is NONE:
        return x
    negative = ast.Compare(x.tree, [ast.Lt()], [ast.Constant(0)])
    tree = call("where", negative, call("ceil", x.tree), call("floor", x.tree))
    return Value(tree, gone=x.gone, whole=True)
