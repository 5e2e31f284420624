"""What do-files do to columns, row by row: ``gen``, ``replace``, ``recode``, ``egen`` and the like.

Each column is kept as an expression of the columns of the file, or with the reason why it is none.
"""

from __future__ import annotations

import ast
import re
from dataclasses import field, replace
from typing import TYPE_CHECKING

from dprct.dofile.expressions import Refused
from dprct.dofile.loops import numlist
from dprct.dofile.macros import known
from dprct.dofile.own_row import (
    CONSTANTS,
    NONE,
    Value,
    arithmetic,
    call,
    chosen,
    compared,
    condition,
    joined,
    missing,
    negated,
    number,
    translated,
    truncated,
)
from dprct.dofile.varlists import is_plain, words
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dprct.dofile.syntax import Parsed

TYPED = re.compile(r"(byte|int|long|float|double|str(?:\d+|L)?)\s+(?=\S)")
ASSIGNED = re.compile(r"([A-Za-z_]\w*)\s*(?::\s*\w+\s*)?=(?!=)")
_WHOLE_TYPES = frozenset({"byte", "int", "long"})
_LONGEST = 6_000
_DEEPEST = 100
_MOST_NUMBERS = 500

_COHORT = """\
mean sd std median pctile max min total sum count rank seq tag mode iqr mad kurt skew group fill
ma diff cut pc xtile prank mdev bom eom
"""
COHORT = frozenset(_COHORT.split())
"""Functions of ``egen`` in which other people's rows enter."""

_ROWS = {"rowmean": "rowmean", "rmean": "rowmean", "rowtotal": "rowtotal", "rsum": "rowtotal",
         "rowmax": "rowmax", "rmax": "rowmax", "rowmin": "rowmin", "rmin": "rowmin",
         "rownonmiss": "rownonmiss", "robs": "rownonmiss"}  # fmt: skip


@dataclass(frozen=True)
class Made:
    """A column that do-files make."""

    # In the language of derived columns, of columns of the file alone; empty where it is none.
    expression: str = ""
    refused: str = ""  # why it is none, in words
    # Do-files and lines that make it, in order.
    places: tuple[tuple[str, int], ...] = field(default=(), compare=False)
    value: Value | None = field(default=None, compare=False, repr=False)

    @property
    def copied(self) -> str:
        """The column of the file that it is a copy of; empty of others."""
        plain = self.value is not None and isinstance(self.value.tree, ast.Name)
        return self.expression if plain else ""


@dataclass
class Context:
    """What a command that makes columns stands in."""

    made: dict[str, Made]  # the columns that were made before it
    derived: Mapping[str, str]  # what of these is known in words
    expand: Callable[[str], list[str]]  # writes out a list of variables
    columns: Sequence[str] | None  # all columns in memory; None where these are not known
    scalars: Mapping[str, object]
    place: tuple[str, int]
    doubt: str = ""  # why it is not sure that it runs; empty where it is

    def column(self, name: str) -> Value:
        """Return a column as it stands, as an expression of those of the file."""
        if self.columns is not None and name not in self.columns:
            (name,) = self.expand(name) or [name]
            if name not in self.columns:
                raise Refused(f"{known(name)} is not a column of the file")
        made = self.made.get(name)
        if made is None:
            if name in self.derived:
                raise Refused(f"{name} is made by a command that the study does not carry out")
            if not is_plain(name):
                raise Refused(f"{known(name)} is not read")
            return Value(ast.Name(name))
        if made.value is None:
            raise Refused(f"{name}: {made.refused}")
        return made.value

    def write(self, name: str, of: Callable[[], Value]) -> None:
        """Keep what a column is made of, or why it is nothing that is known."""
        before = self.made.get(name)
        places = (*(before.places if before else ()), self.place)[-9:]
        try:
            if self.doubt:
                raise Refused(self.doubt)
            value = of()
            if value.text:
                raise Refused("it is text")
            text = ast.unparse(value.tree)
            if len(text) > _LONGEST or _depth(value.tree) > _DEEPEST:
                raise Refused("the expression is too long")
            self.made[name] = Made(text, "", places, value)
        except (Refused, RecursionError) as error:
            self.made[name] = Made("", known(str(error)) or "it is nested too deep", places)


def _depth(node: ast.AST) -> int:
    return 1 + max((_depth(child) for child in ast.iter_child_nodes(node)), default=0)


def make(parsed: Parsed, context: Context) -> None:
    """Take a command that makes or changes columns."""
    if parsed.within and not context.doubt:
        context.doubt = f"in {parsed.within} counts rows, which other people move"
    if (of := _COMMANDS.get(parsed.name)) is not None:
        of(parsed, context)


def copy_of(name: str, *, unknown: bool) -> Made:
    """Return a copy of a column of the file, or of one of which nothing is known."""
    if unknown:
        return Made(refused="it is made by a command that the study does not carry out")
    return Made(name, value=Value(ast.Name(name)))


def forget(made: dict[str, Made], why: str) -> None:
    """Refuse all columns that were made so far, because rows were changed since."""
    for name, one in made.items():
        if one.value is not None or not one.refused:
            made[name] = Made("", one.refused or why, one.places)


def _generated(parsed: Parsed, context: Context) -> None:
    text, kind = parsed.before, ""
    while found := TYPED.match(text):
        kind, text = found[1], text[found.end() :]
    assigned = ASSIGNED.match(text)
    if assigned is None:
        return
    name, right = assigned[1], text[assigned.end() :].strip()

    def value() -> Value:
        new = translated(right, context.column, context.scalars)
        if kind in _WHOLE_TYPES:
            new = truncated(new)
        rows = condition(parsed.condition, context.column, context.scalars)
        old = context.column(name) if parsed.name == "replace" else NONE
        return chosen(rows, new, old)

    context.write(name, value)


def _egen(parsed: Parsed, context: Context) -> None:
    text = TYPED.sub("", parsed.before, count=1)
    assigned = re.match(r"([A-Za-z_]\w*)\s*=\s*([A-Za-z_]\w*)\s*\((.*)\)\s*$", text)
    if assigned is None:
        if (other := ASSIGNED.match(text)) is not None:
            context.write(other[1], lambda: _refuse("this egen is not read"))
        return
    name, function, held = assigned[1], assigned[2], assigned[3]

    def value() -> Value:
        found = _row_function(function, held, parsed, context)
        return chosen(condition(parsed.condition, context.column, context.scalars), found)

    context.write(name, value)


def _refuse(why: str) -> Value:
    raise Refused(why)


def _row_function(function: str, held: str, parsed: Parsed, context: Context) -> Value:
    """Return a function of ``egen`` over columns of one row."""
    if function == "cut" and (at := parsed.option("at")):
        return _cut(context.column(held.strip()), _numbers(at), parsed)
    if function in COHORT:
        raise Refused(
            f"egen {function}() is made of other people's rows; {CONSTANTS}, or make it before"
        )
    columns = [context.column(name) for name in context.expand(held)]
    if not columns:
        raise Refused(f"egen {function}() is not read")
    trees = [x.tree for x in columns]
    everywhere = all(x.gone for x in columns)
    whole = all(x.whole for x in columns)
    if function in ("rowmiss", "rmiss"):
        present = call("rownonmiss", *trees)
        return Value(
            ast.BinOp(ast.Constant(len(trees)), ast.Sub(), present), gone=False, whole=True
        )
    if function in _ROWS:
        kind = _ROWS[function]
        gone = kind in ("rowmean", "rowmin", "rowmax") and everywhere
        found = Value(call(kind, *trees), gone, whole=whole and kind != "rowmean")
        if kind == "rowtotal" and parsed.option("missing", 1) is not None:
            none = ast.Compare(call("rownonmiss", *trees), [ast.Eq()], [ast.Constant(0)])
            return chosen(Value(none, gone=False, truth=True), NONE, found)
        return found
    if function in ("anymatch", "eqany", "anycount", "neqany", "anyvalue", "eqvalue"):
        return _matching(function, columns, _numbers(parsed.option("values", 1) or ""))
    raise Refused(f"egen {function}() is not a function that a study can compute")


def _matching(function: str, columns: Sequence[Value], values: Sequence[float]) -> Value:
    if not values:
        raise Refused(f"egen {function}() without values() that are numbers")
    each = [joined(ast.Or(), [compared(x, "==", number(v)) for v in values]) for x in columns]
    if function in ("anyvalue", "eqvalue"):
        return chosen(each[0], columns[0])
    if function in ("anymatch", "eqany"):
        return joined(ast.Or(), each)
    total = each[0]
    for one in each[1:]:
        total = arithmetic(total, ast.Add(), one)
    return total


def _cut(x: Value, edges: Sequence[float], parsed: Parsed) -> Value:
    """Return ``cut(x), at()``: the edge at or below a value, or its number."""
    if len(edges) < 2 or list(edges) != sorted(edges):
        raise Refused("egen cut() without at() that rises")
    codes = parsed.option("icodes", 2) is not None
    found = NONE
    for place in range(len(edges) - 2, -1, -1):
        inside = joined(
            ast.And(),
            [compared(x, ">=", number(edges[place])), compared(x, "<", number(edges[place + 1]))],
        )
        found = chosen(inside, number(place if codes else edges[place]), found)
    return found


def _numbers(text: str) -> list[float]:
    """Return a list of numbers, written out: ``1 3/5`` and ``0(10)50``."""
    found = numlist(text, _MOST_NUMBERS)
    if found is None or len(found) > _MOST_NUMBERS:
        raise Refused(f"{text} is no list of numbers")
    return [*map(float, found)]


_RULE = re.compile(r"\(([^()]*)\)|(\S+=\S+)")


def _recode(parsed: Parsed, context: Context) -> None:
    text = re.sub(r"\s*=\s*", "=", parsed.before)
    first = _RULE.search(text)
    if first is None:
        return
    names = context.expand(text[: first.start()])
    into = words(parsed.option("generate", 1) or "") or names
    prefix = parsed.option("prefix", 3)
    if prefix and parsed.option("generate", 1) is None:
        into = [prefix + name for name in names]
    rules = [found[1] or found[2] for found in _RULE.finditer(text[first.start() :])]
    for name, new in zip(names, into, strict=False):

        def value(name: str = name, new: str = new) -> Value:
            x = context.column(name)
            found = _recoded(x, rules)
            rows = condition(parsed.condition, context.column, context.scalars)
            return chosen(rows, found, x if new == name else NONE)

        context.write(new, value)


def _recoded(x: Value, rules: Sequence[str]) -> Value:
    """Return what rules such as ``1 2=0``, ``3/max=1`` and ``.=9`` make of a column."""
    found = x
    for rule in reversed(rules):
        left, _, right = rule.partition("=")
        said = re.sub(r'".*|`.*', "", right).strip()
        if not re.fullmatch(r"-?[\d.]+(?:e-?\d+)?|\.", said, re.IGNORECASE):
            raise Refused(f"recode ({rule}) is not read")
        new = NONE if said == "." else number(float(said))
        found = chosen(joined(ast.Or(), [_met(x, word) for word in left.split()]), new, found)
    return found


def _met(x: Value, word: str) -> Value:
    """Whether a value is one that a rule of ``recode`` names."""
    if word in ("else", "*"):
        return number(1)
    if word in ("missing", "mis", "."):
        return missing(x)
    if word in ("nonmissing", "nonmiss", "nonm"):
        return negated(missing(x))
    ends = word.split("/")
    if len(ends) > 2 or not all(re.fullmatch(r"-?[\d.]+|min|max", end) for end in ends):
        raise Refused(f"recode ({word}) is not read")
    if len(ends) == 1:
        if word in ("min", "max"):
            raise Refused(f"recode ({word}) takes what other rows have")
        return compared(x, "==", number(float(word)))
    there = replace(x, gone=False)
    parts = [number(1)]
    parts += [] if ends[0] == "min" else [compared(there, ">=", number(float(ends[0])))]
    parts += [] if ends[1] == "max" else [compared(there, "<=", number(float(ends[1])))]
    return chosen(missing(x), number(0), joined(ast.And(), parts))


def _decoded(parsed: Parsed, context: Context) -> None:
    """Take ``mvdecode``, ``mvencode``: numbers that become missing, and the other way round."""
    text = parsed.option("mv", 2) or ""
    for name in context.expand(parsed.before):

        def value(name: str = name) -> Value:
            x = context.column(name)
            rows = condition(parsed.condition, context.column, context.scalars)
            if parsed.name == "mvencode":
                return chosen(rows, chosen(missing(x), number(_numbers(text)[0]), x), x)
            parts = [part.partition("=")[0] for part in text.split("\\")]
            codes = [code for part in parts for code in _numbers(part)]
            gone = joined(ast.Or(), [compared(x, "==", number(code)) for code in codes])
            return chosen(rows, chosen(gone, NONE, x), x)

        context.write(name, value)


def _copied(parsed: Parsed, context: Context) -> None:
    new, _, old = parsed.before.partition("=")
    if is_plain(new.strip()):
        context.write(new.strip(), lambda: context.column(old.strip()))


_REASONS = {
    "encode": 'encode numbers the texts that the data hold; compare them, as in town == "A", or '
    "declare numbers before",
    "decode": "decode makes text",
    "destring": "destring reads text, which the study does not compute",
    "tostring": "tostring makes text",
    "xtile": "xtile cuts where other people's values say; declare the cut points from public "
    "knowledge: gen q = (x > 10) + (x > 20)",
    "winsor": "winsor cuts where other people's values say; declare the bounds",
    "winsor2": "winsor2 cuts where other people's values say; declare the bounds",
    "ipolate": "ipolate takes the values of other rows",
    "predict": "predict comes from an estimation on other people's rows",
    "tabulate": "tabulate, generate() numbers the values that the data hold; write i. before it",
}


def _refused(parsed: Parsed, context: Context) -> None:
    into = parsed.option("generate", 1)
    names = words(into) if into else context.expand(parsed.before)
    if parsed.name == "predict":
        names = parsed.before.split()[-1:]
    if parsed.name == "xtile":
        names = [parsed.before.partition("=")[0].strip()]
    if parsed.name == "tabulate" and not into:
        return
    for name in names:
        context.write(name, lambda: _refuse(_REASONS[parsed.name]))


_COMMANDS: dict[str, Callable[[Parsed, Context], None]] = {
    "generate": _generated,
    "replace": _generated,
    "egen": _egen,
    "recode": _recode,
    "clonevar": _copied,
    **dict.fromkeys(("mvdecode", "mvencode"), _decoded),
    **dict.fromkeys(_REASONS, _refused),
}

MAKING = frozenset(_COMMANDS)
"""Commands that make or change columns."""
