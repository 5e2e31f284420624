"""Columns that do-files make and a study has as derived: the regressions as they run on these."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from dprct.dofile.memory import bindings
from dprct.dofile.varlists import bare_names
from dprct.errors import FormulaError
from dprct.records import dataclass
from dprct.schema.expressions import MADE, names_in, parse, values_in

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from dprct.dofile import Regression
    from dprct.dofile.made import Made

_WORD = re.compile(r'"[^"]*"|(?<![\w.`])[A-Za-z_]\w*(?!\w|\()')
_FACTOR = re.compile(r"(?:^|(?<=[#.]))[A-Za-z_]\w*(?=$|#)")
_LONGEST = 32
_SHORT = 200


@dataclass(frozen=True)
class Derived:
    """A column that a do-file makes, as a study has it."""

    name: str
    expression: str
    places: tuple[tuple[str, int], ...] = ()  # do-files and lines that make it

    @property
    def parents(self) -> set[str]:
        """The columns of the file that it is made of."""
        return names_in(parse(self.expression, language=MADE))

    @property
    def values(self) -> set[str]:
        """The same without those of which only matters whether they have a value."""
        return values_in(parse(self.expression, language=MADE))


def named_columns(rows: Iterable[Regression], columns: Collection[str]) -> dict[str, Derived]:
    """Return a name for every column that do-files make of those of a file, by its expression.

    It is the do-file's own, unless the file or another expression has that.
    """
    found: dict[str, Derived] = {}
    taken = {name.lower() for name in columns}
    for row in rows:
        for name, made in row.made.items():
            as_it_stands = name not in row.derived and name not in row.remade
            if as_it_stands or made.expression in found or not _is_made_of(made, columns):
                continue
            free = _free(name, taken)
            taken.add(free.lower())
            found[made.expression] = Derived(free, made.expression, made.places)
    return found


def _free(name: str, taken: set[str]) -> str:
    number, free = 1, name
    while free.lower() in taken:
        number += 1
        end = f"_{number}"
        free = name[: _LONGEST - len(end)] + end
    return free


def _is_made_of(made: Made, columns: Collection[str]) -> bool:
    """Whether a column is more than a copy, and made of columns of the file alone."""
    if not made.expression or made.copied:
        return False
    try:
        tree = parse(made.expression, language=MADE)
    except FormulaError:  # a column has the name of a word of the language
        return False
    return names_in(tree) <= {*columns}


def written_out(derived: Mapping[str, str]) -> dict[str, str]:
    """Return the names of derived columns by their expressions of columns of the file alone.

    Examples
    --------
    >>> written_out({"lwage": "log(wage)", "square": "lwage**2"})
    {'log(wage)': 'lwage', 'log(wage) ** 2': 'square'}
    """
    trees: dict[str, ast.expr] = {}
    for name, text in derived.items():
        trees[name] = _Inserted(trees).visit(parse(text, language=MADE))
    return {ast.unparse(tree): name for name, tree in trees.items()}


class _Inserted(ast.NodeTransformer):
    """Puts the expressions of derived columns in the place of their names."""

    def __init__(self, trees: Mapping[str, ast.expr]) -> None:
        self.trees = trees

    def visit_Call(self, node: ast.Call) -> ast.expr:
        return ast.Call(node.func, [self.visit(one) for one in node.args], [])

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.trees.get(node.id, node)


def how_released(row: Regression, name: str) -> str:
    """Return what would give a study a column that do-files make, in words."""
    made = row.made.get(name)
    if made is not None and made.expression and len(made.expression) <= _SHORT:
        own = name in names_in(parse(made.expression, language=MADE))  # the file has one, too
        new = f"{name}_2" if own else name
        return f"declare it: [derived] {new} = {json.dumps(made.expression, ensure_ascii=False)}"
    if made is not None and made.expression:
        return f"declare {name} in [derived], as dprct describe --draft --do does"
    if made is not None:
        return f"{name} is not carried out: {made.refused}"
    return f"make {name} before the release and declare it"


def on_derived(row: Regression, names: Mapping[str, str], products: Collection[str]) -> Regression:
    """A regression with columns that do-files make as those of the file.

    ``names`` are those of derived columns by their expressions; products of some columns stay
    products, as treatment in interactions.
    """
    found = {}
    for name, made in row.made.items():
        new = made.copied or names.get(made.expression)
        if name not in row.derived and name not in row.remade:
            continue  # it is one of the file's already
        if made.expression and new and not _is_product(name, row, products):
            found[name] = new
    if not found:
        return row

    def words(given: Iterable[str]) -> tuple[str, ...]:
        return tuple(_replaced(_FACTOR, word, found) for word in given)

    derived = {
        name: _replaced(_WORD, text, found)
        for name, text in row.derived.items()
        if name not in found
    }
    outcome = row.outcome
    now = replace(
        row,
        outcome=found.get(outcome, outcome) if isinstance(outcome, str) else [*words(outcome)],
        regressors=words(row.regressors),
        treatments=words(row.treatments),
        endogenous=words(row.endogenous),
        instruments=words(row.instruments),
        absorb=words(row.absorb),
        cluster=words(row.cluster),
        numbered=words(row.numbered),
        sample=_replaced(_WORD, row.sample, found),
        groups=_replaced(_WORD, row.groups, found),
        weights=_replaced(_WORD, row.weights, found),
        derived=derived,
        remade=tuple(name for name in row.remade if name not in found),
    )
    # what it was made of on the way is no column of the regression any more
    listed = (*now.outcomes, *now.regressors, *now.instruments, *now.absorb, *now.cluster)
    used = [name for word in listed for name in bare_names(word)]
    used += re.findall(r"[A-Za-z_]\w*", f"{now.sample} {now.groups} {now.weights}")
    return replace(now, derived=bindings(now.derived, used))


def all_on_derived(
    rows: Iterable[Regression], derived: Mapping[str, str], treatments: Collection[str]
) -> list[Regression]:
    """Return regressions on the columns of a study; ``derived`` are those that it makes."""
    names = written_out(derived)
    return [on_derived(row, names, treatments) for row in rows]


def _replaced(pattern: re.Pattern[str], text: str, names: Mapping[str, str]) -> str:
    return pattern.sub(lambda word: names.get(word[0], word[0]), text)


def _is_product(name: str, row: Regression, products: Collection[str]) -> bool:
    """Whether a regressor is a product of one of some columns and of another regressor."""
    if name not in row.regressors or name in products:
        return False
    parts = [part.strip() for part in row.derived.get(name, "").split("*")]
    factors = [row.made.get(part) for part in parts]
    own = {made.copied if made else part for part, made in zip(parts, factors, strict=True)}
    if len(parts) < 2 or not {*parts} <= {*row.regressors}:
        return False
    texts = [made.expression if made else part for part, made in zip(parts, factors, strict=True)]
    if not (own | {*parts}) & {*products} or not all(texts):
        return False
    try:
        product = parse("*".join(f"({text})" for text in texts), language=MADE)
    except FormulaError:
        return False
    return row.made[name].expression == ast.unparse(product)
