"""Which columns, levels and products a release holds: a function of schema and formulas alone."""

from __future__ import annotations

import ast
import math
from dataclasses import field, replace
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any

from dprct.encoding import encoding
from dprct.errors import ColumnError, FormulaError, ParameterError, SchemaError
from dprct.formula import design, parse
from dprct.formula.design_matrix import products_of_numbers
from dprct.formula.syntax import Factor
from dprct.lazy import pandas as pd
from dprct.queries.group_moments import Part
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dprct.formula.syntax import Formula
    from dprct.schema import Column, Schema

Key = tuple[tuple[str, int], ...]
"""What a variable is, whatever its name: the columns and levels that are multiplied, sorted."""

INTERCEPT = "Intercept"
MOST_POWER = 4

WITHIN = -2
"""In the place of a level: the product loses the mean of the unit that the column names."""

MOST_LACKING = 6
"""Columns of which it is private who has a value: each doubles the cells."""


@dataclass(frozen=True)
class Atom:
    """A column's value, or whether it has a level; one factor of a product."""

    column: str
    # Code of the column's encoding; ``WITHIN`` for what is no factor, but says that the mean of all
    # rows of a unit is taken away from the product.
    level: int | None = None
    value: float | str | None = None  # what the level is

    @property
    def shown(self) -> float | str | None:
        """What the level is, as results name it."""
        whole = isinstance(self.value, float) and self.value.is_integer()
        return int(self.value) if whole else self.value  # type: ignore[arg-type]

    @property
    def key(self) -> tuple[str, int]:
        """What the atom is, as :attr:`dprct.queries.group_moments.Part.key`."""
        return self.column, -1 if self.level is None else self.level


@dataclass(frozen=True)
class Regressor:
    """A column of a design matrix: a product of atoms; none is the constant."""

    name: str  # as in the results of :func:`dprct.ols`
    atoms: tuple[Atom, ...]

    def without(self, columns: Iterable[str]) -> tuple[Atom, ...]:
        """Return the atoms of other columns."""
        return tuple(atom for atom in self.atoms if atom.column not in set(columns))


def key_of(atoms: Iterable[Atom]) -> Key:
    """Identity of a product, whatever the order of its factors; a level counts once."""
    keys = [atom.key for atom in atoms]
    once = dict.fromkeys(key for key in keys if key[1] >= 0)
    return tuple(sorted([*once, *(key for key in keys if key[1] < 0)]))


def less_means(terms: Iterable[Regressor], unit: str | None) -> tuple[Regressor, ...]:
    """Return the terms less the means of units, without the constant; as they are without unit."""
    if unit is None:
        return tuple(terms)
    return tuple(
        replace(term, atoms=(*term.atoms, Atom(unit, WITHIN))) for term in terms if term.atoms
    )


def unit_of(atoms: Iterable[Atom]) -> str | None:
    """Return the column of the units whose means a product loses; None if it loses none."""
    return next((atom.column for atom in atoms if atom.level == WITHIN), None)


def name_within(name: str, unit: str | None) -> str:
    """Name of a column that lost the means of units, as in a formula.

    Examples
    --------
    >>> name_within("wage", "person"), name_within("wage", None)
    ('wage | person', 'wage')
    """
    return name if unit is None else f"{name} | {unit}"


@dataclass(frozen=True)
class Variable:
    """A column of the release: a product of columns and levels, with a name.

    Examples
    --------
    >>> from dprct.schema import Column
    >>> age = Part(Column("age", bounds=(-1, 2), missing=()))
    >>> Variable("age:age", (age, age)).bounds
    (0.0, 4.0)
    """

    name: str
    parts: tuple[Part, ...]
    # The column that says whose a row is, where the mean of all rows of the unit is taken away.
    within: str | None = None

    @property
    def key(self) -> Key:
        """What the variable is."""
        less = () if self.within is None else ((self.within, WITHIN),)
        return tuple(sorted([*(part.key for part in self.parts), *less]))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it is a function of."""
        return tuple(dict.fromkeys(part.column.name for part in self.parts))

    @property
    def bounds(self) -> tuple[float, float]:
        """Smallest and largest product, by the bounds of its parts; of an even power, from 0."""
        low = high = 1.0
        for name in dict.fromkeys(part.key for part in self.parts):
            same = [part for part in self.parts if part.key == name]
            a, b = same[0].bounds
            ends = [a ** len(same), b ** len(same)]
            if len(same) % 2 == 0 and a < 0 < b:
                ends.append(0.0)
            corners = [x * y for x in (low, high) for y in (min(ends), max(ends))]
            low, high = min(corners), max(corners)
        return low, high

    @property
    def span(self) -> tuple[float, float]:
        """Smallest and largest value: the bounds, or how far from a mean within them it may be."""
        low, high = self.bounds
        return (low, high) if self.within is None else (low - high, high - low)

    @property
    def two_valued(self) -> bool:
        """Whether every admissible value is one of two: an indicator, or a 0/1 column."""
        return self.within is None and self.of_two

    @property
    def of_two(self) -> bool:
        """The same, of what it is before the mean of a unit is taken away."""
        if len(self.parts) == 1 and self.parts[0].level is None:
            levels = self.parts[0].column.levels
            return levels is not None and len(levels) == 2
        return all(part.level is not None or _is_dummy(part.column) for part in self.parts)


def _is_dummy(column: Column) -> bool:
    return column.levels is not None and set(column.levels) == {0.0, 1.0}


def filled_words(variables: Iterable[Variable]) -> str:
    """Numbers that stand for missing values, as the end of a sentence.

    Examples
    --------
    >>> from dprct.schema import Column
    >>> age = Column("age", bounds=(0, 90), missing=(".",))
    >>> filled_words([Variable("age", (Part(age, fill=40.0),))])
    '; a missing value of age counts as 40'
    """
    by_number: dict[float, dict[str, None]] = {}
    for part in (part for variable in variables for part in variable.parts):
        if part.fill is not None:
            by_number.setdefault(part.fill, {})[part.column.name] = None
    return "".join(
        f"; a missing value of {', '.join(names)} counts as {number:g}"
        for number, names in by_number.items()
    )


def clipped_words(variables: Iterable[Variable], most: int = 8) -> str:
    """Return columns with the bounds that they are clipped at: the name of an estimand.

    Columns of two values are what they are; empty if there are no others.

    Examples
    --------
    >>> from dprct.schema import Column
    >>> pay = Column("pay", bounds=(0, 1200000), missing=())
    >>> clipped_words([Variable("pay", (Part(pay),))])
    'pay clipped to [0, 1200000]'
    """
    named = dict.fromkeys(
        f"{variable.name.partition(' | ')[0]} clipped to [{low:.12g}, {high:.12g}]"
        for variable in variables
        for low, high in [variable.bounds]
        if not variable.of_two
    )
    rest = " and others clipped to their bounds" if len(named) > most else ""
    return ", ".join([*named][:most]) + rest


def variable_of(
    name: str,
    atoms: Sequence[Atom],
    schema: Schema,
    fills: Mapping[str, float],
    gaps: Sequence[str] = (),
) -> Variable:
    """Return the column of a release that a product is.

    Rows without a value of ``gaps`` are left out by all that the column is used for.
    """
    less = [atom.column for atom in atoms if atom.level == WITHIN]
    once = {atom.key: atom for atom in atoms if atom.level is not None and atom.level >= 0}
    plain = [atom for atom in atoms if atom.level is None]
    parts = []
    for atom in sorted([*once.values(), *plain], key=lambda atom: atom.key):
        column = checked_column(schema, atom.column)
        if column.levels is not None and len(column.levels) == 1:
            raise _constant(name)
        gap = atom.column in gaps and not column.is_text
        parts.append(Part(column, atom.level, fills.get(atom.column), gap))
    found = Variable(name, tuple(parts), less[0] if less else None)
    low, high = found.bounds
    if not low < high:
        raise _constant(name)
    return found


def _constant(name: str) -> SchemaError:
    return SchemaError(
        f"{name!r} is a constant: the schema allows one value of it alone; leave it out"
    )


def checked_column(schema: Schema, name: str) -> Column:
    """Return a column whose values are bounded, or refuse."""
    column = schema.column(name)
    if column.bounds is None and column.levels is None:
        if name == schema.unit.id:
            raise SchemaError(
                f"column {name!r} identifies units, and has no levels; it cannot be a column of a "
                f"release, only ``| {name}`` at the end of a formula, for fixed effects of units "
                "with several rows (docs/panels.md)"
            )
        wanted = "its levels" if column.is_text else "``bounds=(low, high)`` or ``levels=[...]``"
        raise SchemaError(
            f"column {name!r} has neither bounds nor levels; declare {wanted} from public "
            "knowledge, never from the data"
        )
    if column.missing is None and not column.is_text:
        raise SchemaError(
            f"column {name!r} has no declared missing policy; declare ``missing='never'``, or the "
            "admissible codes, such as ``missing=['.']``"
        )
    return column


def check_lacking(names: tuple[str, ...], weights: str | None) -> tuple[str, ...]:
    """Return the columns of which it is private who has a value, or refuse them."""
    if len(names) > MOST_LACKING:
        raise ParameterError(
            f"``missing_policy='private'`` of {len(names)} columns makes {2 ** len(names):,} "
            f"cells, and it is offered for {MOST_LACKING}; give a number that stands for what is "
            "missing in some of them, or say 'public'"
        )
    if names and weights is not None:
        raise ParameterError(
            f"``missing_policy='private'`` of {names[0]!r} with ``weights={weights!r}``: sums of "
            "weights are released and not how many rows have a value; give a number that stands "
            "for what is missing, or say 'public'"
        )
    return names


def within_words(unit: str | None) -> tuple[str, ...]:
    """Note of a fit with effects of units, none without."""
    said = (
        f"With an effect of every {unit}; R-squared and root MSE are of deviations from its mean."
    )
    return () if unit is None else (said,)


def column_term(text: str) -> str:
    """Right side of a formula that ``columns=`` names."""
    # whatever has no sign of the formula language can only be a column's name
    plain = not any(sign in text for sign in "():*`") and not text.isidentifier()
    return f"~ `{text}`" if plain else f"~ {text}"


def spelled(atoms: Sequence[Atom]) -> str:
    """Return the name of a product whose group columns were taken out."""
    return ":".join(
        atom.column if atom.level is None else f"C({atom.column})[{atom.shown}]" for atom in atoms
    )


def regressors_of(formula: str | Formula, schema: Schema) -> tuple[Regressor, ...]:
    """Return the columns of the right side of a formula, by the schema alone.

    Examples
    --------
    >>> from dprct.schema import Column, Schema
    >>> schema = Schema((Column("y", bounds=(0, 1), missing=()),
    ...                  Column("g", "byte", levels=(1, 2, 3), missing=())))
    >>> [regressor.name for regressor in regressors_of("y ~ C(g)", schema)]
    ['Intercept', 'C(g)[T.2]', 'C(g)[T.3]']
    """
    parsed = parse(formula) if isinstance(formula, str) else formula
    columns = tuple(checked_column(schema, name) for name in parsed.names)
    labels = tuple(tuple(schema.labels_of(name).items()) for name in parsed.names)
    return _regressors(_Asked(parsed, columns, labels, schema))


@dataclass(frozen=True)
class _Asked:
    """A formula and what its regressors are a function of: its own columns and their labels."""

    formula: Formula
    columns: tuple[Column, ...]
    labels: tuple[tuple[tuple[Any, str], ...], ...]
    schema: Schema = field(compare=False)


@lru_cache(maxsize=1024)
def _regressors(asked: _Asked) -> tuple[Regressor, ...]:
    """Return the regressors of a formula, which a fit asks for dozens of times."""
    parsed, schema = asked.formula, asked.schema
    if not parsed.terms:
        return (Regressor(INTERCEPT, ()),)
    known = {INTERCEPT: ()} | {
        name: atoms for term in parsed.terms for name, atoms in _spelled(term, schema).items()
    }
    factors = any(factor.kind == "C" for term in parsed.terms for factor in term)
    if factors or any(column.is_text for column in asked.columns):
        legal = {column.name: [legal_value(column)] for column in asked.columns}
        names = design(parsed, pd.DataFrame(legal), schema, levels="schema").columns
    else:  # without pandas, which takes longer to import than all of a check
        names = (*products_of_numbers(parsed),)
    return tuple(Regressor(name, known[name]) for name in names)


def legal_value(column: Column) -> float | str:
    """Value of a column that its declared facts allow."""
    if column.levels:
        return column.levels[0]
    return 0.0 if column.bounds is None else float(column.bounds[0])


def _spelled(term: Sequence[Factor], schema: Schema) -> dict[str, tuple[Atom, ...]]:
    """Every name that a column of a term can have, with what is multiplied.

    A term of levels has those of its parts, too, where the formula leaves these out.
    """
    found = {}
    each = [[("", ()), *_choices(factor, schema)] for factor in term]
    for chosen in product(*each):
        name = ":".join(label for label, _ in chosen if label)
        found[name] = tuple(atom for _, atoms in chosen for atom in atoms)
    return found


def _choices(factor: Factor, schema: Schema) -> list[tuple[str, tuple[Atom, ...]]]:
    if factor.expression is not None:
        tree = ast.parse(factor.expression.source, mode="eval").body
        return [(factor.label, _monomial(tree, factor))]
    (name,) = factor.names
    column = schema.column(name)
    if factor.kind == "name" and not column.is_text:
        return [(factor.label, (Atom(name),))]
    if column.levels is None:
        raise SchemaError(
            f"column {column.name!r} is a factor without levels; declare ``levels=[...]``"
        )
    cells = encoding(column).cells
    atoms = [Atom(name, code, cell[0]) for code, cell in enumerate(cells)]
    return [(f"{factor.label}[{T}{one.shown}]", (one,)) for one in atoms for T in ("T.", "")]


def _monomial(node: ast.expr, factor: Factor) -> tuple[Atom, ...]:
    """Return the atoms of a product of columns and whole powers of them."""
    match node:
        case ast.Name(id=name):
            return (Atom(factor.names[int(name[1:])]),)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return (*_monomial(left, factor), *_monomial(right, factor))
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int() as power)) if (
            1 <= power <= MOST_POWER
        ):
            return _monomial(left, factor) * power
    raise FormulaError(
        f"{factor.label} is not a product of columns and their powers up to {MOST_POWER}, which is "
        "what a release of moments can hold; add it to the data as a column with its own bounds"
    )


def main_part(parsed: Formula) -> Formula:
    """Return outcome and regressors of a formula, fixed effects among them as levels.

    Examples
    --------
    >>> text = "y ~ age + [d ~ z] | village"
    >>> [term[0].label for term in main_part(parse(text, structural=True)).terms]
    ['age', 'C(village)']
    """
    known = {term[0].label for term in parsed.terms if len(term) == 1}
    levels = [Factor("C", f"C({name})", (name,)) for name in parsed.effects]
    terms = (*parsed.terms, *((one,) for one in levels if one.label not in known))
    return replace(parsed, terms=terms, endogenous=(), instruments=(), effects=())


def unit_effects(parsed: Formula, unit: str | None) -> tuple[Formula, str | None]:
    """Return a formula without fixed effects of units of several rows, and the units' column.

    ``unit`` is that column; None where every unit has one row.

    Examples
    --------
    >>> bare, unit = unit_effects(parse("y ~ d | person", structural=True), "person")
    >>> bare.effects, unit
    ((), 'person')
    """
    if unit is None or unit not in parsed.effects:
        return parsed, None
    others = [name for name in parsed.effects if name != unit]
    if others:
        raise FormulaError(
            f"{parsed.text!r} has fixed effects of {unit} and of {', '.join(others)}; name the "
            f"second as levels: ... + C({others[0]}) | {unit}"
        )
    if parsed.endogenous:
        raise FormulaError(
            f"{parsed.text!r} has instruments and fixed effects of {unit}, which are not offered "
            "together; leave one of them out"
        )
    if not parsed.terms:
        raise FormulaError(f"{parsed.text!r} has no regressor besides fixed effects; name one")
    return replace(parsed, effects=()), unit


def check_unit_effects(
    units: Sequence[str],
    weights: str | None,
    group_columns: Sequence[str],
    policies: Mapping[str, object],
) -> None:
    """Refuse what does not go with fixed effects of units: who is in a mean must be public."""
    if not units:
        return
    said = f"fixed effects of {units[0]} (``| {units[0]}``)"
    if weights is not None:
        raise ParameterError(
            f"``weights={weights!r}`` and {said} are not offered together: the mean that is taken "
            "away from a unit has no weights; leave one of them out"
        )
    if group_columns:
        raise ParameterError(
            f"{said} need all rows of a unit in one group, and {group_columns[0]!r} makes groups; "
            "leave ``assignment=`` and ``subgroups=`` out, and name treatment in the formula"
        )
    for name, policy in policies.items():
        if policy in ("private", "public"):
            raise ParameterError(
                f"``missing_policy={policy!r}`` of {name!r} and {said} are not offered together: "
                "means would be those of other rows than the regression's; give a number that "
                "stands for a missing value"
            )


def check_outcome(parsed: Formula) -> Formula:
    """Return a formula, or refuse one in which an outcome is a regressor, too."""
    for name in parsed.outcome_names:
        if name in parsed.regressor_names:
            raise FormulaError(
                f"{parsed.text!r} has its outcome {name!r} on the right, too; leave it out there"
            )
    return parsed


def instrumented(parsed: Formula) -> tuple[Formula, Formula] | None:
    """Return the endogenous column and the instruments as formulas; None where there are none."""
    if not parsed.endogenous:
        return None
    bare = replace(main_part(parsed), outcomes=(), intercept=True)
    return replace(bare, terms=(parsed.endogenous,)), replace(bare, terms=parsed.instruments)


def listed_terms(columns: Sequence[str], schema: Schema) -> tuple[Regressor, ...]:
    """Terms that ``columns=`` names: columns, ``C(x)``, products, each as in a formula."""
    found: dict[Key, Regressor] = {}
    for name in columns:
        if name in schema.names and not checked_column(schema, name).is_text:
            regressors: tuple[Regressor, ...] = (Regressor(name, (Atom(name),)),)
        else:
            text = name if name not in schema.names or name.isidentifier() else f"`{name}`"
            regressors = regressors_of(f"~ {text}", schema)
        for regressor in regressors:
            if regressor.atoms:
                found.setdefault(key_of(regressor.atoms), regressor)
    return tuple(found.values())


def product_in(atoms: Iterable[Atom], cell: Mapping[str, Any]) -> float:
    """Product of public columns, or of indicators of levels, in a cell; NaN if one is missing."""
    found = 1.0
    for atom in atoms:
        value = cell[atom.column]
        if value is None:
            return math.nan
        if atom.level is None and isinstance(value, str):
            raise ColumnError(f"{atom.column!r} is text; write C({atom.column})")
        found *= float(value) if atom.level is None else float(value == atom.value)
    return found


def check_count(variables: Sequence[object], groups: int, most: int) -> int:
    """How many numbers a release has, or refuse one that is too large."""
    size = groups * (len(variables) + 1) ** 2
    if size > most:
        raise ParameterError(
            f"{len(variables)} columns in {groups} groups are {size:,} numbers, which is more than "
            f"{most:,}; release fewer columns or fewer groups (about "
            f"{math.isqrt(most // groups) - 1} columns in as many groups)"
        )
    return size
