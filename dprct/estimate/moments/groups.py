"""The groups of a release: arms, subgroups, and who has a value where that is public."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from itertools import product
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.assignment import Factorial
from dprct.assignment.groups import ROWS, combined
from dprct.encoding import encoding
from dprct.errors import ParameterError, SchemaError
from dprct.lazy import narwhals as nw
from dprct.queries.group_moments import MomentCells, has_value
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dprct.assignment.groups import Design
    from dprct.estimate.experiment import Comparison
    from dprct.model import BoundTable
    from dprct.schema import Column, Schema

Value = float | str | None
Labels = Mapping[Any, str]
"""Public value labels of a column, by code; empty for most."""
NO_LABELS: Labels = MappingProxyType({})

_HAS, _MET = "__has_", "__met_"


def spelled(value: Value, labels: Labels = NO_LABELS) -> str:
    """Level as it is named: by its label, where that is public.

    Examples
    --------
    >>> spelled(1.0), spelled(1.0, {1: "urban"}), spelled(None, {1: "urban"})
    ('1', 'urban', '.')
    """
    if value is None or isinstance(value, str):
        return value or "."
    return labels.get(value, f"{value:g}")


@dataclass(frozen=True)
class Group:
    """One public group or private cell of a release."""

    arm: str = ""  # name of the arm; empty without a design
    # (column, value): what the treatment and subgroup columns are in it; None for a missing one.
    values: tuple[tuple[str, Value], ...] = ()
    # Columns that are missing in all of its rows; the others are there.
    absent: tuple[str, ...] = ()
    rows: int | None = None  # where it is public
    told: int = 0  # how many of the values, the first ones, the name of the arm tells already

    def name(self, labels: Mapping[str, Labels]) -> str:
        """The group in words, with the labels of its columns."""
        said = [self.arm] if self.arm else []
        said += [
            f"{column}={spelled(x, labels.get(column, NO_LABELS))}"
            for column, x in self.values[self.told :]
        ]
        said += [f"without {', '.join(self.absent)}"] if self.absent else []
        return ", ".join(dict.fromkeys(said)) or "everybody"

    def value(self, column: str) -> Value:
        """Value of a treatment or subgroup column in this group."""
        return dict(self.values)[column]


@dataclass(frozen=True, eq=False, repr=False)
class Grouping:
    """All groups of a release, and how rows are found in them."""

    groups: tuple[Group, ...]  # public groups one after another, each with its private cells
    cells: MomentCells
    treatment: tuple[str, ...]
    subgroups: tuple[str, ...]
    totals: tuple[int, ...]  # rows of each public group; public
    arms: tuple[str, ...] = field(default=())  # the control group first; empty without a design
    # Whether declared shares differ between blocks that groups do not tell apart.
    uneven: bool = False


@dataclass(frozen=True)
class Conditions:
    """Public columns besides those of the design that conditions on rows ask of."""

    values: tuple[str, ...] = ()  # columns that are public
    present: tuple[str, ...] = ()  # columns of which it is public who has a value

    @property
    def flags(self) -> dict[str, str]:
        """The public key that says who has a value, by column."""
        return {name: f"{_MET}{place}" for place, name in enumerate(self.present)}


NOTHING_ASKED = Conditions()


def names_of(groups: Sequence[Group], schema: Schema) -> list[str]:
    """Groups in words."""
    columns = dict.fromkeys(name for group in groups for name, _ in group.values)
    labels = {name: schema.public_labels(name) for name in columns if name in schema.names}
    return [group.name(labels) for group in groups]


def public_subgroups(subgroups: Sequence[str], design: Design | None, hidden: bool) -> list[str]:
    """Return the subgroups whose columns the relation takes as public: blocks of the design."""
    known = () if design is None or hidden else design.uses
    return [name for name in subgroups if name in known]


def public_keys(
    design: Design | None,
    subgroups: Sequence[str],
    present_public: Sequence[str],
    schema: Schema,
    conditions: Conditions = NOTHING_ASKED,
    *,
    hidden: bool,
) -> dict[str, nw.Expr]:
    """Return public columns, those of ``conditions`` too, and how their groups are made."""
    arms = () if design is None or hidden else (*design.columns, *design.uses)
    names = (*arms, *public_subgroups(subgroups, design, hidden), *conditions.values)
    flags = {
        f"{_HAS}{place}": _flag(schema.column(name)) for place, name in enumerate(present_public)
    }
    met = {flag: _flag(schema.column(name)) for name, flag in conditions.flags.items()}
    return {name: nw.col(name) for name in names} | flags | met


def flags_of(keys: Iterable[str]) -> list[str]:
    """Return the public keys that say who has a value, in the order of their columns."""
    return [key for key in keys if key.startswith(_HAS)]


def grouping_of(
    table: BoundTable,
    schema: Schema,
    comparison: Comparison | None,
    subgroups: Sequence[str],
    present_public: Sequence[str],
    lacking: Sequence[str] = (),
    conditions: Conditions = NOTHING_ASKED,
    *,
    hidden: bool,
    attrition: bool,
    within_blocks: bool = False,
    pooled: bool = False,
) -> tuple[Grouping, BoundTable]:
    """Return the groups of a table, and the table with a column for each public missingness.

    Where treatment is private (``hidden``), for subgroups whose columns are private, and for those
    of which it is private who has a value (``lacking``), the cells are those that design and schema
    allow, whether or not anybody is in them.  ``within_blocks``: everything that is asked about
    treatment compares people of one block, so that shares may differ between blocks.  Where groups
    are ``pooled`` afterwards, combinations of factors may have nobody.
    """
    design = None if comparison is None else comparison.design
    outer = public_subgroups(subgroups, design, hidden)
    inner = [schema.column(name) for name in subgroups if name not in outer]
    flags = {name: f"{_HAS}{place}" for place, name in enumerate(present_public)}
    told = [*flags.items(), *conditions.flags.items()]
    if told:
        flagged = [_flag(schema.column(name)).alias(flag) for name, flag in told]
        table = table.with_frame(table.frame.with_columns(*flagged))
    wanted = list(public_keys(design, subgroups, present_public, schema, conditions, hidden=hidden))
    treatment = () if design is None else design.columns
    without = tuple(schema.column(name) for name in lacking)
    private = replace(_private(comparison if hidden else None, inner), lacking=without)
    if not {*wanted} - {*conditions.values, *conditions.flags.values()}:
        everybody = Group(rows=table.n)
        groups = tuple(cells_of(everybody, comparison if hidden else None, inner, lacking))
        found = Grouping(
            _counted(groups, private), private, treatment, tuple(subgroups), (table.n,),
            _arms(comparison),
        )  # fmt: skip
        return found, table
    rows, combinations = combined(nw.to_native(table.frame), wanted, table.counted)
    uneven = False
    if design is not None and not hidden:
        _check_design(design, rows, attrition)
        uneven = _shares_differ(design, rows, outer)
        if uneven and not within_blocks:
            blocks = list(getattr(design, "block_columns", ()))
            raise ParameterError(
                "the declared shares differ between blocks, so that a plain difference in means "
                f"would be biased; give the blocks as ``subgroups={blocks}``, or to every formula "
                f"on treatment, as in ``'y ~ treat | {blocks[0] if blocks else 'block'}'``"
            )
    keys: list[Any] = []
    if comparison is not None and not hidden:
        place = np.empty(len(comparison.order), np.int64)
        place[list(comparison.order)] = np.arange(len(comparison.order))
        keys.append(place[comparison.design.groups.codes(rows)])
    labels = [_labels(rows[name]) for name in outer]
    keys += [np.array([known.index(x) for x in _values(rows[n])]) for n, known in
             zip(outer, labels, strict=True)]  # fmt: skip
    keys += [rows[flag].to_numpy(np.int64) == 0 for flag in flags.values()]
    matrix = np.column_stack([np.asarray(key, np.int64) for key in keys])
    number = rows[ROWS].to_numpy(np.int64) if combinations is not None else None
    distinct, codes = np.unique(matrix, axis=0, return_inverse=True)
    codes = np.asarray(codes, np.int64).ravel()
    sizes = np.bincount(codes, weights=number, minlength=len(distinct)).astype(np.int64)
    publics = [
        _public(row, size, comparison if not hidden else None, outer, labels, list(flags))
        for row, size in zip(distinct.tolist(), sizes.tolist(), strict=True)
    ]
    if comparison is not None and not hidden and not (pooled and isinstance(design, Factorial)):
        _check_arms(comparison.arms, publics)
    cells = replace(private, public=len(publics), codes=codes, combinations=combinations)
    groups = tuple(
        cell
        for one in publics
        for cell in cells_of(one, comparison if hidden else None, inner, lacking)
    )
    found = Grouping(
        _counted(groups, cells), cells, treatment, tuple(subgroups),
        tuple(int(size) for size in sizes), _arms(comparison), uneven,
    )  # fmt: skip
    return found, table


def everybody_of(n: int, like: Grouping) -> Grouping:
    """Return the one group of all rows, where no groups are read."""
    return Grouping((Group(rows=n),), MomentCells(), (), (), (n,), uneven=like.uneven)


def _flag(column: Column) -> nw.Expr:
    return has_value(column).cast(nw.Int64)


def _arms(comparison: Comparison | None) -> tuple[str, ...]:
    return () if comparison is None else comparison.arms


def _counted(groups: tuple[Group, ...], cells: MomentCells) -> tuple[Group, ...]:
    """Return the groups; the number of rows of a private cell is not public."""
    if cells.inner == 1:
        return groups
    return tuple(replace(group, rows=None) for group in groups)


def blocks_of(
    groups: Sequence[Group], totals: Sequence[int], subgroups: Sequence[str]
) -> tuple[str, ...]:
    """Return the subgroups that public groups tell apart, where these tell arms apart, too.

    Examples
    --------
    >>> cells = [Group("t", (("block", 1.0),), gone) for gone in ((), ("y",))]
    >>> blocks_of(cells, (7,), ("block",))
    ('block',)
    """
    inner = len(groups) // len(totals)
    publics = [groups[g : g + inner] for g in range(0, len(groups), inner)]
    if any(len({group.arm for group in one}) > 1 for one in publics):
        return ()
    return tuple(
        name
        for name in subgroups
        if all(len({group.value(name) for group in one}) == 1 for one in publics)
    )


def public_rows(groups: Sequence[Group], totals: Sequence[int], used: Sequence[int]) -> int:
    """Return the rows of all public groups that some groups belong to."""
    inner = len(groups) // len(totals)
    return sum(totals[place] for place in {g // inner for g in used})


def _private(comparison: Comparison | None, levels: Sequence[Column]) -> MomentCells:
    if comparison is None:
        return MomentCells(levels=tuple(levels))
    groups = comparison.design.groups
    values = tuple(groups.values[place] for place in comparison.order)
    return MomentCells(treatment=groups.columns, values=values, levels=tuple(levels))


def cells_of(
    public: Group,
    comparison: Comparison | None,
    levels: Sequence[Column],
    lacking: Sequence[str] = (),
) -> list[Group]:
    """Return the private cells of a public group, in the order of their codes."""
    arms: list[tuple[str, tuple[tuple[str, Value], ...]]] = [(public.arm, ())]
    if comparison is not None:
        groups = comparison.design.groups
        arms = [
            (name, tuple(zip(groups.columns, groups.values[place], strict=True)))
            for name, place in zip(comparison.arms, comparison.order, strict=True)
        ]
    known: list[list[tuple[str, Value]]] = []
    for column in levels:
        coded = encoding(column)
        ordinary: list[Value] = [cell[0] for cell in coded.cells]
        known.append([(column.name, x) for x in [*ordinary, *([None] * len(coded.missing))]])
    return [
        replace(
            public,
            arm=arm,
            values=(*values, *public.values, *chosen),
            absent=(*public.absent, *(n for n, out in zip(lacking, gone, strict=True) if out)),
            told=public.told + len(values),
        )
        for arm, values in arms
        for chosen in product(*known)
        for gone in product((False, True), repeat=len(lacking))
    ]


def _public(
    row: Sequence[int],
    rows: int,
    comparison: Comparison | None,
    outer: Sequence[str],
    labels: Sequence[list[Value]],
    flags: Sequence[str],
) -> Group:
    """Return the public group of one combination of codes."""
    arm, values, at = "", [], 0  # type: str, list[tuple[str, Value]], int
    if comparison is not None:
        arm, at = comparison.arms[row[0]], 1
        groups = comparison.design.groups
        place = comparison.order[row[0]]
        values += zip(groups.columns, groups.values[place], strict=True)
    for name, known in zip(outer, labels, strict=True):
        values.append((name, known[row[at]]))
        at += 1
    absent = tuple(name for name, gone in zip(flags, row[at:], strict=True) if gone)
    told = 0 if comparison is None else len(comparison.design.columns)
    return Group(arm, tuple(values), absent, int(rows), told)


def _values(column: Any) -> list[Value]:
    return [
        None if x is None or x != x else x if isinstance(x, str) else float(x)
        for x in column.tolist()
    ]


def _labels(column: Any) -> list[Value]:
    """Return the public values of a block column that occur, in order; None last."""
    return sorted(set(_values(column)), key=lambda x: (x is None, isinstance(x, str), x or 0))


def _check_design(design: Design, rows: Any, attrition: bool) -> None:
    problems = design.groups.problems(rows) or design.broken(rows, attrition=attrition)
    if problems:
        raise ParameterError(
            f"the assignment is not one of the design ({'; '.join(problems)}); declare the design "
            "that was used, or say ``attrition=True`` if rows were lost after it"
        )


def _shares_differ(design: Design, rows: Any, outer: Sequence[str]) -> bool:
    """Whether chances differ between blocks that groups do not tell apart."""
    blocks = tuple(getattr(design, "block_columns", ()))
    if set(blocks) <= set(outer) and blocks:
        return False
    chances = [part.propensities(rows) for part in getattr(design, "factors", (design,))]
    return not all(np.allclose(part, part[:1], rtol=0, atol=1e-12) for part in chances)


def _check_arms(arms: Sequence[str], groups: Sequence[Group]) -> None:
    for arm in arms:
        rows = sum(group.rows or 0 for group in groups if group.arm == arm)
        if rows < 2:
            raise ParameterError(
                f"arm {arm!r} has fewer than two people, so that its error cannot be estimated; "
                "declare the arms that were assigned"
            )


def check_subgroups(subgroups: Sequence[str], schema: Schema, design: Design | None) -> None:
    """Refuse subgroups that are no columns of few levels, or that are the treatment."""
    for name in subgroups:
        column = schema.column(name)
        if design is not None and name in design.columns:
            raise ParameterError(f"{name!r} is the treatment: every arm is a group already")
        if column.levels is None:
            raise SchemaError(
                f"subgroup {name!r} has no declared levels; declare ``levels=[...]`` from public "
                "knowledge, or derive a column with levels"
            )
        if encoding(column).size < 2:
            raise SchemaError(f"subgroup {name!r} has one admissible value; leave it out")
