"""The public side of an experiment: groups, arm sizes, blocks and clusters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dprct.arguments import given
from dprct.assignment.designs import design_of
from dprct.assignment.factorial import Factorial
from dprct.assignment.groups import (
    CONTROL,
    ROWS,
    Design,
    Units,
    combined,
    level_text,
    units_of,
)
from dprct.errors import ParameterError, SchemaError
from dprct.lazy import narwhals as nw
from dprct.queries.clusters import clusters_of_cells, squares_of_cells
from dprct.queries.horvitz_thompson import PrivateArms
from dprct.queries.sums import Arms, Combinations, observed, observed_counts
from dprct.records import dataclass
from dprct.results.base import HoldsRows
from dprct.schema.columns import Unit
from dprct.schema.tables import NumPyTable, in_engine

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterator, Sequence

    from numpy.typing import NDArray

    from dprct.assignment.groups import Groups, Level, Units
    from dprct.schema.columns import Column
    from dprct.schema.facts import MissingPolicy
    from dprct.schema.schema import Schema
    from dprct.schema.tables import Counted, Table

BlockRule = Literal["weight", "ignore"] | Mapping[Any, str]
UnitRule = Literal["person", "cluster"]


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Which groups of a design are compared: public, whatever of the rows is not.

    Parameters
    ----------
    arms : tuple of str
        Names of the groups, the control group first.
    order : tuple of int
        Place of each of them among the groups of the design.
    """

    design: Design
    arms: tuple[str, ...]
    order: tuple[int, ...]
    unit: UnitRule


@dataclass(frozen=True, eq=False, repr=False)
class Experiment(HoldsRows, Comparison):
    """A design bound to the columns of a table that say who is where, which are public.

    Parameters
    ----------
    design, arms, order, unit
        As of :class:`Comparison`.
    codes : (n,) array of int
        Group of each row, 0 for control.
    units : Units
        Blocks and clusters of the rows.
    largest : int
        Rows of the largest cluster.
    combinations : Combinations or None
        Where rows stay in an engine: the combinations of public columns that take the place of
        rows in ``codes`` and ``units``.
    rows : (G,) array of int or None
        How many rows each of these has.
    """

    codes: NDArray[Any]
    units: Units
    clustered: bool
    largest: int
    combinations: Combinations | None = None
    rows: NDArray[np.int64] | None = None

    def among_observed(
        self, frame: Table | NumPyTable, column: Column, counted: Counted | None = None
    ) -> Arms:
        """People who count where only those with a value do; for public missingness.

        ``counted`` is what the pass at the door of an engine found, where it is at hand.
        """
        if self.combinations is None:
            assert isinstance(frame, (NumPyTable, nw.DataFrame))
            return self.counted(observed(frame, column))
        if counted is not None and column.name in counted.present:
            at = 1 + counted.present.index(column.name)
            sizes = [counted.groups[key][at] for key in self.combinations.places]
            number = np.array(sizes, np.int64)
        else:
            assert in_engine(frame)
            number = observed_counts(frame, column, self.combinations)
        arms = self.counted(number)
        return replace(arms, combinations=replace(self.combinations, present=column.name))

    def counted(self, observed: NDArray[Any] | None = None) -> Arms:
        """People who count, given which rows have a value if that is public.

        ``observed`` is (n,) of bool, or (G,) of numbers of rows.
        """
        count = len(self.arms)
        cells = self.codes
        if len(self.units.labels) > 1:
            cells = self.units.of_rows(self.units.block) * count + self.codes
        number = self.rows if observed is None else observed
        if number is not None and not (number > 0).all():
            cells = np.where(number > 0, cells, -1)
        shape = (len(self.units.labels), count)
        every = np.bincount(cells + 1, weights=number, minlength=shape[0] * count + 1)
        sizes = every[1:].astype(np.int64).reshape(shape)
        total = int(sizes.sum())
        member = self.units.member if self.clustered else None
        self._check(sizes if member is None else clusters_of_cells(cells, member, shape))
        return Arms(
            cells,
            tuple(tuple(int(n) for n in row) for row in sizes),
            tuple(Fraction(int(row.sum()), total) for row in sizes),
            clusters=member,
            largest=self.largest,
            unit=self.unit,
            combinations=self.combinations,
            squares=() if member is None else squares_of_cells(cells, member, number, shape),
        )

    def _check(self, sizes: NDArray[np.int64]) -> None:
        few = [name for name, n in zip(self.arms, sizes.T, strict=True) if (n < 2).any()]
        if few:
            what = "clusters" if self.clustered else "people with an outcome"
            if len(sizes) == 1:
                raise ParameterError(
                    f"arm {few[0]!r} has fewer than two {what}, so that its error "
                    "cannot be estimated; declare the columns of the arms that were assigned, and "
                    "their control group"
                )
            raise ParameterError(
                f"arm {few[0]!r} has fewer than two {what} in some block; use ``blocks='ignore'`` "
                "where the declared shares are the same everywhere, or pool blocks of the same "
                "shares, as in ``blocks={'label': 'pool'}``"
            )


def experiment_of(
    data: Any,
    treatment: str | Sequence[str] | None,
    assignment: Design | None,
    *,
    control: Level | None,
    blocks: BlockRule,
    privacy_unit: UnitRule,
    attrition: bool,
    counted: Counted | None = None,
) -> Experiment:
    """Read the public columns of a table and check them against the design."""
    design = design_of(treatment, assignment)
    rows, combinations = combined(data, [*design.columns, *design.uses], counted)
    problems = design.groups.problems(rows)
    if assignment is not None and not problems:
        problems = design.broken(rows, attrition=attrition)
    if problems:
        what = f"the assignment is not one of the design ({'; '.join(problems)})"
        if assignment is None:
            raise ParameterError(
                f"{what}; name the 0/1 columns of the arms and nothing else, or, where a column "
                "holds the group of each row, ``assignment=dprct.Complete(levels, arm=column)``"
            )
        lost = "" if attrition else ", or say ``attrition=True`` if rows were lost after it"
        raise ParameterError(f"{what}; declare the design that was used{lost}")
    names, order = _control_first(design, control)
    block, cluster = _columns_of(design, blocks)
    place = np.empty(len(order), np.min_scalar_type(-len(order)))
    place[list(order)] = np.arange(len(order))
    _check_clusters(cluster, privacy_unit, design.cluster_facts.largest)
    if not block:
        _check_constant(design, rows)
    units = units_of(rows, block, cluster)
    number = None if combinations is None else rows[ROWS].to_numpy(np.int64)
    if isinstance(blocks, Mapping):
        units = pooled(units, blocks, design.propensities(rows))
    if block:
        # in as many bits as the codes of cells need, from -1 on
        units = replace(units, block=_short(units.block, 1 + len(units.labels) * len(order)))
    if units.members is not None:
        units = replace(units, members=_short(units.members, len(units.block)))
    return Experiment(
        design,
        names,
        order,
        privacy_unit,
        place[design.groups.codes(rows)],
        units,
        bool(cluster),
        _largest(units, cluster, design.cluster_facts.largest, number),
        combinations,
        number,
    )


def _short(codes: NDArray[Any], most: int) -> NDArray[Any]:
    """Return codes up to a number in few bits."""
    return codes.astype(np.min_scalar_type(-most), copy=False)


def cluster_unit(design: Design, largest: int) -> Unit:
    """Protected unit where a whole cluster is protected, of at most ``largest`` rows."""
    columns = ", ".join(design.cluster_columns)
    return Unit(f"cluster of {columns}", columns, largest)


def blocks_of(design: Design, blocks: BlockRule) -> tuple[str, ...]:
    """Return the block columns that an estimate uses; none where the rule is to ignore them."""
    return _columns_of(design, blocks)[0]


def likely_arms(groups: Comparison, n: int) -> Arms:
    """Return arms as n rows may fill them: all of one size, and at least two rows in each."""
    largest = groups.design.cluster_facts.largest
    size = max(2, n // len(groups.arms))
    clustered = bool(clusters_of(groups.design))
    none = np.empty(0, np.int64)
    each = min((largest or 1) * size, size**2 // 2)
    squares = ((each,) * len(groups.arms),) if clustered else ()
    return Arms(
        none, ((size,) * len(groups.arms),), clusters=none if clustered else None,
        largest=largest or 1, unit=groups.unit, squares=squares,
    )  # fmt: skip


def compared(
    treatment: str | Sequence[str] | None,
    assignment: Design | None,
    *,
    control: Level | None,
    blocks: BlockRule,
    privacy_unit: UnitRule,
) -> Comparison:
    """Comparison of arms, refusing rules that a design does not allow; no row is read."""
    design = design_of(treatment, assignment)
    names, order = _control_first(design, control)
    _, cluster = _columns_of(design, blocks)
    _check_clusters(cluster, privacy_unit, design.cluster_facts.largest)
    return Comparison(design, names, order, privacy_unit)


def _control_first(
    design: Design, control: Level | None
) -> tuple[tuple[str, ...], tuple[int, ...]]:
    names = design.groups.names
    wanted = CONTROL if control is None else control
    if not isinstance(wanted, (str, int, float)) or wanted not in names:
        shown = ", ".join(map(level_text, names))
        if control is None:
            raise ParameterError(
                "every group of the design is an arm, and ``control=`` does not say with which to "
                f"compare; give one of: {shown}"
            )
        raise ParameterError(f"``control={given(control)}`` is not a group; give one of: {shown}")
    if len(names) < 2:
        raise ParameterError("the design has one group; effects need a control group and an arm")
    first = names.index(wanted)
    order = [first, *(i for i in range(len(names)) if i != first)]
    return tuple(level_text(names[i]) for i in order), tuple(order)


def _columns_of(design: Design, blocks: BlockRule) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the block and cluster columns that the estimate uses."""
    word = isinstance(blocks, str) and blocks in ("weight", "ignore")
    if not word and not isinstance(blocks, Mapping):
        raise ParameterError(
            f"``blocks={given(blocks)}``; allowed: weight, ignore, or a ``mapping`` from "
            "blocks to pools"
        )
    block, cluster = design.block_columns, clusters_of(design)
    if isinstance(blocks, Mapping) and not block:
        raise ParameterError(
            f"``blocks=`` pools blocks, and a ``{type(design).__name__}`` design has "
            "none of its own"
        )
    if set(design.uses) - {*block, *cluster} and blocks == "weight":
        raise ParameterError(
            f"``{type(design).__name__}`` designs with blocks of their own need "
            "``blocks='ignore'``, which is valid (and conservative) where everybody has the same "
            "shares"
        )
    return (() if blocks == "ignore" else block), cluster


def clusters_of(design: Design) -> tuple[str, ...]:
    """Columns that were assigned as a whole; in a factorial design, by all factors alike.

    Empty where single rows were assigned.
    """
    if not isinstance(design, Factorial):
        return design.cluster_columns
    found = {clusters_of(factor) for factor in design.factors}
    if len(found) > 1:
        raise ParameterError(
            "the factors assign different units, some of them clusters, for which no variance is "
            "offered; factors must all assign rows, or all the same clusters"
        )
    return found.pop()


def _check_constant(design: Design, rows: Any) -> None:
    """Refuse to leave out blocks between which the chances differ."""
    chances = design.propensities(rows)
    if not np.allclose(chances, chances[:1], rtol=0, atol=1e-12):
        raise ParameterError(
            "the declared shares differ between blocks, so that ``blocks='ignore'`` would be "
            "biased; use ``blocks='weight'``"
        )


def _check_clusters(cluster: tuple[str, ...], unit: UnitRule, declared: int | None) -> None:
    if not cluster and unit == "cluster":
        raise ParameterError("``privacy_unit='cluster'`` needs a design of clusters")
    if unit == "cluster" and declared is None:
        raise SchemaError(
            "``privacy_unit='cluster'`` needs ``largest=`` of the design, the most rows that a "
            "cluster can have, from public knowledge"
        )


def _largest(
    units: Units,
    cluster: tuple[str, ...],
    declared: int | None,
    number: NDArray[np.int64] | None,
) -> int:
    """Return the most rows of a cluster: as declared, else the public number."""
    if not cluster:
        return 1
    sizes = np.bincount(units.member, weights=number)
    if declared is None:
        return int(sizes.max())
    if (sizes > declared).any():
        raise ParameterError(
            "a cluster has more rows than ``largest=`` of the design; declare the true limit"
        )
    return declared


def pooled(units: Units, pools: Mapping[Any, str], chances: NDArray[np.float64]) -> Units:
    """Units with some blocks put together; blocks that are not named stay.

    Labels are as in the design: the value of the block column, or a tuple where several columns
    make the blocks; None is a missing value.  ``chances`` are the declared probabilities of each
    group, (n, G).

    Notes
    -----
    Given the number of each arm in each block, the pooled difference in means is unbiased where
    the blocks of a pool have the same shares (exactly so in proportion to them), and its variance
    formula is that of complete randomisation within the pool, which is conservative.  Pools are
    declared, so that they are public like the blocks: they do not enter the privacy argument.

    Examples
    --------
    >>> import numpy as np
    >>> from dprct.assignment.groups import Units
    >>> units = Units(np.arange(3), np.array([0, 1, 2]), ["a", "b", "c"])
    >>> pooled(units, {"a": "north", "c": "north"}, np.full((3, 2), 0.5)).block.tolist()
    [0, 1, 0]
    """
    known = set(units.labels)
    pools = {_block(label, known): pool for label, pool in pools.items()}
    for label, pool in pools.items():
        if label not in known:
            raise ParameterError(
                f"``blocks=`` names ``{given(label)}``, which is not a block of the design; give "
                "labels as they stand in the block column (``a tuple`` for several columns)"
            )
        if not isinstance(pool, str) or not pool:
            raise ParameterError(f"``blocks=`` has the pool ``{given(pool)}``; give a text")
    named: list[Hashable] = [
        ("pool", pools[label]) if label in pools else ("block", label) for label in units.labels
    ]
    places = {name: place for place, name in enumerate(dict.fromkeys(named))}
    block = np.array([places[name] for name in named], np.int64)[units.block]
    _check_alike(units.of_rows(block), chances, list(places))
    return replace(units, block=block, labels=list(places))


def _block(label: Any, known: set[Hashable]) -> Any:
    """Return a label as the data have it: TOML and R can name a numeric block by text alone."""
    if isinstance(label, str) and label not in known:
        try:
            number = float(label)
        except ValueError:
            return label
        return number if number in known else label
    return label


def _check_alike(
    block: NDArray[np.int64], chances: NDArray[np.float64], names: list[Hashable]
) -> None:
    first = np.zeros(len(names), np.int64)
    first[block[::-1]] = np.arange(len(block))[::-1]
    alike = np.isclose(chances, chances[first[block]], rtol=0, atol=1e-12).all(axis=1)
    if not alike.all():
        raise ParameterError(
            "the declared shares differ between blocks of one pool, so that pooling would be "
            "biased; pool blocks with the same shares"
        )


_SAME = 1e-12
_FINEST_SHARE = 10**7


def check_hidden(design: Design | None, schema: Schema) -> None:
    """Refuse a design whose probabilities would not be public facts were treatment private.

    Notes
    -----
    Who is in which arm and block is private, and so is how many are.  Whether the data could have
    come from the design would be a fact about them, which whoever knows all rows but one could read
    the last one from.  What is refused here is therefore a function of design and schema, and every
    table that fits the schema passes.
    """
    if design is None:
        raise ParameterError(
            "``neighbors='replace-one'`` needs ``assignment=``, such as ``dprct.Complete('treat', "
            "shares=0.5)``: the probabilities of the arms are public facts, their sizes are not"
        )
    parts = list(_parts(design))
    if any(one.cluster_columns for one in parts):
        raise ParameterError(
            "clusters were assigned, and ``neighbors='replace-one'`` protects the treatment of one "
            "person, who shares it with the cluster; use 'replace-one-design-public'"
        )
    if any(_varies(one) for one in parts):
        raise ParameterError(
            "the declared shares differ between blocks, and with ``neighbors='replace-one'`` "
            "nobody's block is public; use 'replace-one-design-public'"
        )
    for one in parts:
        _check_blocks(one, schema)
    _check_groups(design.groups, schema)


def hidden_arms(design: Design, order: Sequence[int], n: int) -> PrivateArms:
    """The arms of a design, with the probabilities that are public facts.

    ``order`` is the design's group of each arm, the control group first.

    Notes
    -----
    A share is the fraction of denominator up to 10^7 that is nearest to the design's number, so
    that 0.3 is three tenths and 1/3 a third, exactly.
    """
    chances = design.common(n)
    shares = tuple(_exact(float(chances[group])) for group in order)
    if 0 in shares:
        raise ParameterError("a group has the declared share 0; leave it out of the design")
    groups = design.groups
    return PrivateArms(groups.columns, tuple(groups.values[group] for group in order), shares, n)


def _parts(design: Design) -> Iterator[Design]:
    yield design
    for factor in getattr(design, "factors", ()):
        yield from _parts(factor)


def _varies(design: Design) -> bool:
    law = getattr(design, "law", None)
    rows = np.array(law.rows) if law is not None else np.zeros((1, 1))
    return not np.allclose(rows, rows[:1], rtol=0, atol=_SAME)


def _check_blocks(design: Design, schema: Schema) -> None:
    """Refuse shares by block that lack a block which the schema allows."""
    law = getattr(design, "law", None)
    if law is None or not law.blocks:
        return
    legal = [_labels(schema.column(name)) for name in design.block_columns]
    # more legal blocks than declared ones cannot all be declared, and may be too many to list
    if prod(map(len, legal)) <= len(law.blocks):
        labels = legal[0] if len(legal) == 1 else product(*legal)
        if set(labels) <= set(law.blocks):
            return
    raise ParameterError(
        "``shares=`` lacks a block that the schema allows, and nobody's block is public; give one "
        "share for all, or shares for every declared level (``None`` where a block may be missing)"
    )


def _labels(column: Column) -> tuple[Hashable, ...]:
    """Return the blocks that a column can make, as the keys of a mapping of shares name them."""
    if column.levels is None or (column.missing is None and not column.is_text):
        raise SchemaError(
            f"block column {column.name!r} has no declared levels or no declared missing policy, "
            "and ``shares=`` is a ``mapping``; declare ``levels=[...]`` and ``missing='never'`` "
            "(or the admissible codes), or give one share for all blocks"
        )
    return (*column.levels, *([None] if column.missing else []))


def _check_groups(groups: Groups, schema: Schema) -> None:
    """Refuse a schema that allows a row which is in no group."""
    columns = {name: schema.column(name) for name in groups.columns}
    legal = {name: _legal(column, groups) for name, column in columns.items()}
    together: dict[str, list[str]] = {}
    for name, column in columns.items():
        if column.exclusive is not None and set(legal[name]) <= {0.0, 1.0}:
            together.setdefault(column.exclusive, []).append(name)
    alone = [[name] for name in columns if not any(name in found for found in together.values())]
    parts = [*alone, *together.values()]
    states = [_states(part, legal) for part in parts]
    # more legal rows than groups cannot all be in one, and may be too many to list
    if prod(map(len, states)) <= len(groups.values):
        names = [name for part in parts for name in part]
        places = [names.index(name) for name in groups.columns]
        rows = [sum(found, ()) for found in product(*states)]
        if {tuple(row[i] for i in places) for row in rows} <= set(groups.values):
            return
    listed = ", ".join(map(repr, groups.columns))
    raise SchemaError(
        f"treatment is private, and the schema allows rows of {listed} that are in no group of "
        "the design; declare arms of which everybody is in one at most ``exclusive='arm'``, and "
        "where no arm is the control group leave the column of that group out of the design"
    )


def _legal(column: Column, groups: Groups) -> tuple[float | str, ...]:
    """Return the values that a treatment column can have, all of them values of groups."""
    name = column.name
    known = {values[groups.columns.index(name)] for values in groups.values}
    if column.missing != () and not column.is_text:
        raise SchemaError(
            f"treatment {name!r} is private and may be missing, or has no declared missing policy; "
            "declare ``missing='never'``, as everybody is in some group"
        )
    if column.levels is None or not set(column.levels) <= known:
        shown = ", ".join(map(level_text, sorted(known, key=str)))
        raise SchemaError(
            f"treatment {name!r} is private, and the schema allows values of it that no group of "
            f"the design has; declare its levels, here {shown}"
        )
    return column.levels


def _states(
    names: Sequence[str], legal: dict[str, tuple[float | str, ...]]
) -> list[tuple[float | str, ...]]:
    """Admissible states of a row in columns of which at most one is 1, or in a single column."""
    if len(names) == 1:
        return [(value,) for value in legal[names[0]]]
    rows = [tuple(float(name == one) for name in names) for one in (None, *names)]
    return [
        row
        for row in rows
        if all(value in legal[name] for name, value in zip(names, row, strict=True))
    ]


def _exact(share: float) -> Fraction:
    near = Fraction(share).limit_denominator(_FINEST_SHARE)
    return near if abs(float(near) - share) <= _SAME else Fraction(share)


def check_sample(schema: Schema, used: Collection[str | None] = ()) -> None:
    """Refuse what a plain difference in means would get wrong: weights, surveys, panels.

    Weights that the estimate has ``used`` are no reason.
    """
    kept = {name for _, name, _ in schema.file.characteristics}
    roles = {column.name for column in schema.columns if column.role == "weight"}
    weighted = roles.difference(used)
    if weighted or any(name.startswith("_svy") for name in kept):
        raise SchemaError(
            "sampling weights or a survey design are declared, which this estimate does not use; "
            "give the column of weights another role if everybody is to count the same"
        )
    if schema.unit.id is None and kept & {"iis", "_TSpanel"}:
        raise SchemaError(
            "the file is declared a panel (xtset) and no unit is; declare ``Unit(name, id=...)`` "
            "with one row per unit, for one person must not be in several rows; if nobody is, and "
            "the mark is left over, clear it (in Stata: xtset, clear) and save the file"
        )


def policy_of(column: Column, what: str = "outcome") -> MissingPolicy | None:
    """Policy for missing values of a column; None if it has none."""
    if column.missing == ():
        return None
    if column.missing_policy in (None, "level"):
        other = "" if column.missing_policy is None else ", and 'level' is not offered here"
        raise SchemaError(
            f"{what} {column.name!r} may be missing{other}; declare ``missing_policy='public'`` of "
            "it (it is public who has a value), ``missing_policy='private'`` (it is private), or a "
            "number that stands for a missing value, or declare ``missing='never'``"
        )
    return column.missing_policy


def fill_of(column: Column) -> float | None:
    """Return the number that stands for a missing outcome; None where there is none."""
    if column.missing == ():
        return None
    if not isinstance(column.missing_policy, float):
        raise SchemaError(
            f"outcome {column.name!r} may be missing; declare ``missing_policy=`` of it as a "
            "number within its bounds that stands for a missing value, or ``missing='never'``"
        )
    return column.missing_policy
