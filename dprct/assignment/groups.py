"""The groups of an experiment, and how the file's treatment columns tell them apart."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dprct.arguments import checked, given
from dprct.assignment.clusters import ClusterFacts
from dprct.errors import ColumnError, ParameterError, SchemaError
from dprct.formula.design_matrix import (
    check_known,
    columns_of,
    is_factor,
    is_missing,
    numbers_of,
)
from dprct.lazy import narwhals as nw
from dprct.lazy import pandas as pd
from dprct.privacy.noise import source
from dprct.queries.sums import Combinations, added
from dprct.records import dataclass
from dprct.schema.tables import NumPyTable, names_of, row_count

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from narwhals.typing import IntoFrame

    from dprct.formula.design_matrix import Array, Mask
    from dprct.schema.schema import Schema
    from dprct.schema.tables import Counted


Codes = NDArray[np.int64]

_Value = TypeVar("_Value", bound=np.generic)

_ROUNDING = 1e-12
"""A share times a size this close (relative to the size) below a whole number is that number."""


def fair_counts(sizes: Codes, shares: Array, rng: np.random.Generator) -> Codes:
    """Draw how many units of each block go to each group, (B, K), from the shares of these, (B, K).

    Notes
    -----
    Each group gets its share of the block, rounded down; the units that remain go to different
    groups, drawn by systematic sampling from the fractional parts with the groups in random order
    (Madow 1949).  A group is drawn with probability equal to its fractional part, so that every
    count is its share rounded down or up, and has the share as its mean exactly.  Blocks are
    independent.

    References
    ----------
    Madow (1949), On the Theory of Systematic Sampling, II.

    Examples
    --------
    >>> halves = np.full((2, 2), 0.5)
    >>> fair_counts(np.array([4, 10]), halves, np.random.default_rng(1)).tolist()
    [[2, 2], [5, 5]]
    """
    counts, rest = whole_and_rest(sizes, shares)
    left = sizes - counts.sum(axis=1)
    order = rng.random(shares.shape).argsort(axis=1)
    ends = np.take_along_axis(rest, order, axis=1).cumsum(axis=1)
    total = ends[:, -1:]
    # sums of fractions are whole up to rounding: the last end is the number of units left, exactly
    scaled = ends * np.divide(left[:, None], total, out=np.zeros_like(total), where=total > 0)
    ends = np.where(ends == total, left[:, None], scaled)
    passed = np.floor(ends + rng.random((len(sizes), 1))).astype(np.int64)
    extra = np.empty_like(counts)
    np.put_along_axis(extra, order, np.diff(passed, axis=1, prepend=0), axis=1)
    return counts + extra


def whole_and_rest(sizes: Codes, shares: Array) -> tuple[Codes, Array]:
    """Return the whole part and the fraction of each group's share of each block; (B, K) both.

    Examples
    --------
    >>> whole, rest = whole_and_rest(np.array([100]), np.array([[0.29, 0.705, 0.005]]))
    >>> whole.tolist(), rest.round(9).tolist()
    ([[29, 70, 0]], [[0.0, 0.5, 0.5]])
    """
    expected = sizes[:, None] * shares
    whole = np.floor(expected + _ROUNDING * sizes[:, None])
    return whole.astype(np.int64), np.maximum(expected - whole, 0.0)


def spread(blocks: Codes, counts: Codes, rng: np.random.Generator) -> Codes:
    """Group of each unit, drawn, given its block, (U,), and counts of :func:`fair_counts`, (B, K).

    Within a block all arrangements are equally likely.

    Examples
    --------
    >>> spread(np.zeros(3, int), np.array([[0, 3]]), np.random.default_rng(1)).tolist()
    [1, 1, 1]
    """
    groups = narrow(np.tile(np.arange(counts.shape[1]), len(counts)), counts.shape[1])
    # as of a number of units, in half the memory
    order = rng.permutation(np.arange(len(blocks), dtype=np.min_scalar_type(-len(blocks))))
    if len(counts) > 1:
        order = order[np.argsort(narrow(blocks, len(counts))[order], kind="stable")]
    codes = np.empty(len(blocks), np.int64)
    codes[order] = np.repeat(groups, counts.ravel())
    return codes


def narrow(codes: Codes, number: int) -> NDArray[Any]:
    """Return codes in 16 bits where they fit: NumPy sorts those in linear time.

    Examples
    --------
    >>> narrow(np.arange(3), 3).dtype.name
    'uint16'
    """
    return codes.astype(np.uint16) if number <= 1 << 16 else codes


def independent(shares: Array, rng: np.random.Generator) -> Codes:
    """Group of each unit, drawn on its own with its probabilities, (U, K).

    Examples
    --------
    >>> independent(np.array([[0.0, 1.0], [1.0, 0.0]]), np.random.default_rng(1)).tolist()
    [1, 0]
    """
    ends = shares.cumsum(axis=1)[:, :-1]
    # a group of share zero at the end must not catch what rounding leaves of the others
    reached = np.isclose(ends, 1.0, rtol=0.0, atol=_ROUNDING)
    draws: Codes = ((rng.random((len(shares), 1)) >= ends) & ~reached).sum(axis=1)
    return draws


def counted(
    blocks: Codes, codes: Codes, shape: tuple[int, int], weights: Codes | None = None
) -> Codes:
    """How many units of each block are in each group; (B, K).

    ``weights`` say how many units each entry stands for, one if not given.

    Examples
    --------
    >>> counted(np.array([0, 1, 1]), np.array([0, 1, 1]), (2, 2)).tolist()
    [[1, 0], [0, 2]]
    """
    places = blocks * shape[1] + codes
    found = np.bincount(places, weights=weights, minlength=shape[0] * shape[1])
    return found.astype(np.int64).reshape(shape)


def uneven(counts: Codes, sizes: Codes, shares: Array) -> Mask:
    """Groups whose count is not their share rounded down or up; (K,).

    Examples
    --------
    >>> uneven(np.array([[3, 0]]), np.array([3]), np.array([[0.5, 0.5]])).tolist()
    [True, True]
    """
    whole, rest = whole_and_rest(sizes, shares)
    highest = whole + (rest > _ROUNDING * sizes[:, None])
    outside: Mask = (counts < whole) | (counts > highest)
    found: Mask = np.logical_or.reduce(outside, axis=0)
    return found


Level = float | str

_FEW = 16
"""Groups up to which rows are compared with each."""

CONTROL = "control"
"""Name of the group whose arm columns are all zero."""


@dataclass(frozen=True)
class Groups:
    """Groups, each a row of values in the treatment columns.

    Examples
    --------
    >>> groups = indicators(["cash", "therapy"], control=True)
    >>> groups.names, groups.values
    (('cash', 'therapy', 'control'), ((1.0, 0.0), (0.0, 1.0), (0.0, 0.0)))
    """

    names: tuple[Level, ...]  # the groups, the control group among them where there is one
    columns: tuple[str, ...]  # the treatment columns
    values: tuple[tuple[Level, ...], ...]  # values of ``columns`` in each group
    # What to say of rows whose values are legal column by column, but not together.
    overlap: str = ""

    def frame(self, codes: Codes, index: pd.Index[Any] | None = None) -> pd.DataFrame:
        """Return the treatment columns of rows in groups ``codes``; (n, C)."""
        return pd.DataFrame(self.columns_of(codes), index=index)

    def columns_of(self, codes: Codes) -> dict[str, NDArray[Any]]:
        """Return the same as arrays."""
        return {name: self._column(place)[codes] for place, name in enumerate(self.columns)}

    def codes(self, rows: pd.DataFrame) -> Codes:
        """Return the group of each row of the treatment columns, -1 where it is in none; (n,)."""
        if len(self.values) <= _FEW:  # faster than to sort the rows, and in less memory
            codes = np.full(len(rows), -1, np.int64)
            for code, values in enumerate(self.values):
                pairs = zip(self.columns, values, strict=True)
                same = [_equal(rows[name], value) for name, value in pairs]
                codes[np.logical_and.reduce(same)] = code
            return codes
        found = np.zeros(len(rows) + len(self.values), np.int64)  # of rows, then of the groups
        for place, name in enumerate(self.columns):
            known = {
                value: k for k, value in enumerate(dict.fromkeys(self._column(place).tolist()))
            }
            own = np.full(len(rows), -1, np.int64)
            for value, k in known.items():
                own[_equal(rows[name], value)] = k
            every = np.append(own, [known[row[place]] for row in self.values])
            found = np.unique(found * (len(known) + 1) + every, return_inverse=True)[1].ravel()
        of_groups = {key: code for code, key in enumerate(found[len(rows) :].tolist())}
        codes = np.array([of_groups.get(key, -1) for key in range(len(found))], np.int64)
        return codes[found[: len(rows)]]

    def problems(self, rows: pd.DataFrame) -> list[str]:
        """Say in which way rows of the treatment columns are in no group at all."""
        found = []
        for place, name in enumerate(self.columns):
            missing = is_missing(rows[name])
            allowed = set(self._column(place).tolist())
            legal = np.logical_or.reduce([_equal(rows[name], value) for value in allowed])
            if missing.any():
                found.append(f"column {name!r} has missing values, and everybody is in some group")
            if (~legal & ~missing).any():
                found.append(f"column {name!r} has values that no group has: {_listed(allowed)}")
        if not found and (self.codes(rows) < 0).any():
            found.append(self.overlap or f"columns {quoted(self.columns)} are in no group together")
        return found

    def check_levels(self, schema: Schema) -> None:
        """Refuse a group whose value is none of the declared levels of its column."""
        for place, name in enumerate(self.columns):
            levels = schema.column(name).levels
            if levels is not None and not set(self._column(place).tolist()) <= set(levels):
                raise SchemaError(
                    f"the design has groups that the levels declared for column {name!r} lack: "
                    f"levels {_listed(set(levels))}; correct one of the two"
                )

    def _column(self, place: int) -> Any:
        values = [row[place] for row in self.values]
        return np.array(values, object if isinstance(values[0], str) else float)


def indicators(arms: Sequence[str], *, control: bool) -> Groups:
    """Return one 0/1 column per arm; members of the control group, if there is one, have none.

    Examples
    --------
    >>> indicators(["treat"], control=True).columns
    ('treat',)
    """
    names = checked_names(arms, "arms")
    if control and CONTROL in names:
        raise ParameterError(
            f"an arm is named {CONTROL!r}, but rows in no arm form a control group, too; give "
            "``control_share=0`` if the arm is the control group, else rename it"
        )
    values = [tuple(float(name == column) for column in names) for name in names]
    if control:
        values.append((0.0,) * len(names))
    overlap = f"arms {quoted(names)} overlap: at most one of them is 1 in a row"
    if not control:
        overlap = (
            f"exactly one of the arms {quoted(names)} is 1 in each row, but not in all of them"
        )
    return Groups((*names, *([CONTROL] if control else [])), names, tuple(values), overlap)


def levels(column: str, codes: Sequence[object]) -> Groups:
    """Return one column whose levels are the groups.

    Examples
    --------
    >>> levels("treat", [0, 1, 2]).names
    (0.0, 1.0, 2.0)
    """
    checked_names([column], "arm")
    text = [isinstance(code, str) for code in codes]
    number = [isinstance(code, Real) and np.isfinite(float(code)) for code in codes]
    if not codes or not (all(text) or all(number)):
        raise ParameterError(
            f"arms of column {column!r} are not all numbers or all text; give the column's levels"
        )
    names: tuple[Level, ...] = tuple(
        code if isinstance(code, str) else float(code)  # type: ignore[arg-type]
        for code in codes
    )
    if len(set(names)) < len(names):
        raise ParameterError(f"arms of column {column!r} name a level twice; name each once")
    return Groups(names, (column,), tuple((name,) for name in names))


def checked_names(names: object, parameter: str) -> tuple[str, ...]:
    """Return names of columns as a tuple; refuse repeated names, values that are no text, and none.

    Examples
    --------
    >>> checked_names("village", "cluster")
    ('village',)
    """
    found = listed(names, parameter)
    wrong = [name for name in found if not (isinstance(name, str) and name)]
    if wrong or not found:
        got = f"``{given(wrong[0])}``" if wrong else "nothing"
        raise ParameterError(f"``{parameter}=`` has {got}; give names of columns, as text")
    if len(set(found)) < len(found):
        raise ParameterError(
            f"``{parameter}=`` names {quoted(found)}, one of them twice; name each once"
        )
    return tuple(str(name) for name in found)


def listed(given_values: Any, parameter: str) -> tuple[Any, ...]:
    """Return one value or several as a tuple.

    Examples
    --------
    >>> listed("cash", "arms"), listed([3, 4], "counts")
    (('cash',), (3, 4))
    """
    if isinstance(given_values, (str, Real)):
        return (given_values,)
    if not isinstance(given_values, Iterable):
        raise ParameterError(f"``{parameter}=`` is ``{given(given_values)}``; give a list")
    return tuple(given_values)


def _equal(column: pd.Series[Any], value: Level) -> Mask:
    if isinstance(value, str):
        return np.asarray(column.astype(object) == value, bool)
    if is_factor(column):
        return np.asarray(column.astype(object) == value, bool)
    return np.equal(numbers_of(column), value)


def quoted(names: Iterable[object]) -> str:
    """Return names in quotation marks, with commas.

    Examples
    --------
    >>> quoted(["a", "b"])
    "'a', 'b'"
    """
    return ", ".join(repr(name) for name in names)


def _listed(values: set[Level]) -> str:
    shown = sorted(values, key=str)
    text = ", ".join(map(level_text, shown))
    return f"allowed are {text}"


ROWS = "__rows"
"""Column of the number of rows that each combination of public columns has."""

WHOLE: tuple[Hashable, ...] = ("",)
"""The blocks of a design without blocks: one."""


@dataclass(frozen=True)
class Units:
    """The units of a randomisation."""

    # (n,): the unit of each row, 0 to U - 1; None where each row is one, in the order of the rows.
    members: Codes | None
    block: Codes  # (U,): the block of each unit, 0 to B - 1
    labels: Sequence[Hashable]  # the B blocks
    # (U,): how many units each entry stands for, where rows were put together; one if not given.
    weights: Codes | None = None

    @property
    def sizes(self) -> Codes:
        """Units per block; (B,)."""
        found = np.bincount(self.block, weights=self.weights, minlength=len(self.labels))
        return found.astype(np.int64)

    @property
    def total(self) -> int:
        """Number of units."""
        return int(self.sizes.sum())

    @property
    def member(self) -> Codes:
        """The unit of each row, 0 to U - 1; (n,)."""
        return np.arange(len(self.block)) if self.members is None else self.members

    def of_rows(self, values: NDArray[_Value]) -> NDArray[_Value]:
        """Return for each row the value (U,) of its unit; (n,)."""
        return values if self.members is None else values[self.members]

    def first_rows(self) -> Codes:
        """Return one row of each unit; (U,)."""
        first = np.empty(len(self.block), np.int64)
        first[self.member[::-1]] = np.arange(len(self.member))[::-1]
        return first


def rows_of(frame: IntoFrame, names: Iterable[str]) -> tuple[pd.DataFrame, pd.Index[Any]]:
    """Return some columns of a frame with rows, numbered from 0, and the frame's own index."""
    rows = columns_of(frame, names)
    if isinstance(frame, pd.DataFrame):
        index = frame.index
    else:
        index = pd.RangeIndex(row_count(nw.from_native(frame)))
    if len(index) == 0:
        raise ParameterError("the frame has no rows; give one row per participant")
    if rows.columns.empty:
        rows = pd.DataFrame(index=pd.RangeIndex(len(index)))
    return rows, index


def combined(
    frame: IntoFrame | NumPyTable, names: Iterable[str], counted: Counted | None = None
) -> tuple[Any, Combinations | None]:
    """Return some columns of every row, or, of a table in an engine, of every combination.

    They are those of treatment, blocks and clusters, which are public.  What an engine's pass at
    the door counted is not asked again.
    """
    wanted = list(dict.fromkeys(names))
    if isinstance(frame, NumPyTable):
        check_known(wanted, list(frame.arrays))
        return frame, None
    table = nw.from_native(frame, pass_through=True)
    if not isinstance(table, nw.LazyFrame):
        return rows_of(frame, wanted)[0], None
    there = names_of(table)
    for name in wanted:
        if name not in there:
            raise ColumnError.unknown(name, there, "the data")
    if not wanted:
        return pd.DataFrame({ROWS: [row_count(table)]}), Combinations((), {(): 0})
    counts: Counter[tuple[Any, ...]] = Counter()
    if counted is not None and counted.keys == tuple(wanted):
        counts.update({key: sizes[0] for key, sizes in counted.groups.items()})
    else:
        for *key, number in added(table, {}, wanted):
            counts[tuple(key)] += number
    keys = sorted(
        counts, key=lambda key: [(value is None, 0 if value is None else value) for value in key]
    )
    columns = {name: _values([key[j] for key in keys]) for j, name in enumerate(wanted)}
    rows = pd.DataFrame({**columns, ROWS: [counts[key] for key in keys]})
    return rows, Combinations(tuple(wanted), {key: g for g, key in enumerate(keys)})


def _values(values: list[Any]) -> pd.Series[Any]:
    """Column that an engine returned: decimals as numbers, like every number."""
    return pd.Series([float(x) if isinstance(x, Decimal) else x for x in values])


def lacking(frame: IntoFrame, names: Iterable[str]) -> list[str]:
    """Return the columns that a frame does not have."""
    found = []
    for name in dict.fromkeys(names):
        try:
            columns_of(frame, [name])
        except ColumnError:
            found.append(name)
    return found


def units_of(rows: pd.DataFrame, block: Sequence[str], cluster: Sequence[str]) -> Units:
    """Return the units and blocks of a frame; missing values make a block of their own."""
    in_block, labels = _blocks(rows, block)
    if not cluster:
        weights = rows[ROWS].to_numpy(np.int64) if ROWS in rows else None
        return Units(None, in_block, labels, weights)
    if has_missing(rows, cluster):
        raise ParameterError(
            f"cluster column {quoted(cluster)} has missing values; give every row a cluster"
        )
    member, _ = _coded(rows, cluster)
    found = Units(member, np.zeros(int(member.max()) + 1, np.int64), labels)
    of_cluster = in_block[found.first_rows()]
    if (of_cluster[member] != in_block).any():
        raise ParameterError(
            f"some cluster of {quoted(cluster)} lies in more than one block of {quoted(block)}; "
            "blocks are sets of whole clusters"
        )
    return Units(member, of_cluster, labels)


def has_missing(rows: pd.DataFrame, names: Iterable[str]) -> bool:
    """Whether any of some columns has a missing value."""
    return any(bool(is_missing(rows[name]).any()) for name in names)


def _blocks(rows: pd.DataFrame, block: Sequence[str]) -> tuple[Codes, Sequence[Hashable]]:
    if not block:
        return np.broadcast_to(np.int64(0), len(rows)), WHOLE  # takes no memory
    return _coded(rows, block)


def _coded(rows: pd.DataFrame, names: Sequence[str]) -> tuple[Codes, list[Hashable]]:
    """Return codes of the combinations of columns, and the combinations (of one column: values).

    What is missing is None.
    """
    codes, values = _factorized(rows[names[0]])
    if len(names) == 1:
        return codes, values
    places = [codes]
    inner, of = codes, [values]
    for name in names[1:]:
        codes, values = _factorized(rows[name])
        places.append(codes)
        of.append(values)
        inner = _in_order(inner * len(values) + codes)[0]
    first = np.unique(inner, return_index=True)[1]
    found = [[known[at] for at in place[first]] for place, known in zip(places, of, strict=True)]
    return inner, list(zip(*found, strict=True))


def _factorized(column: pd.Series[Any] | NDArray[Any]) -> tuple[Codes, list[Hashable]]:
    """Return codes of the values of a column in their order, and the values: None if missing."""
    if not isinstance(column, np.ndarray):
        codes, values = pd.factorize(column, use_na_sentinel=False)
        found = pd.Series(values)
        return codes.astype(np.int64), [
            None if gone else value for value, gone in zip(found, found.isna(), strict=True)
        ]
    if column.dtype == object:
        known: dict[Hashable, int] = {}
        places = [known.setdefault(value, len(known)) for value in column.tolist()]
        return np.array(places, np.int64), list(known)
    codes, first = _in_order(column)
    return codes, [None if value != value else value for value in column[first].tolist()]


def _in_order(numbers: NDArray[Any]) -> tuple[Codes, Codes]:
    """Return codes of numbers in the order in which they come, and where each comes first."""
    _, first, codes = np.unique(numbers, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return place[codes.ravel()], first[order]


@dataclass(frozen=True)
class DesignCheck:
    """The rules of a design that an assignment breaks; false where it breaks none.

    Examples
    --------
    >>> found = DesignCheck("Complete randomisation.", ("the data lack column 'treat'",))
    >>> found.consistent, len(found), list(found)
    (False, 1, ["the data lack column 'treat'"])
    """

    design: str  # the design in one sentence
    # One sentence per broken rule, with names of columns and arms and no value of the data.
    problems: tuple[str, ...] = ()

    @property
    def consistent(self) -> bool:
        """Whether the assignment could have come from the design."""
        return not self.problems

    def require(self) -> None:
        """Refuse an assignment that cannot have come from the design."""
        if self.problems:
            raise ParameterError(
                f"the assignment is not one of the design ({'; '.join(self.problems)}); declare "
                "the design that was used, or say ``attrition=True`` if rows were lost after it"
            )

    def __len__(self) -> int:
        return len(self.problems)

    def __iter__(self) -> Iterator[str]:
        return iter(self.problems)

    def __str__(self) -> str:
        if self.consistent:
            return f"{self.design}\nThe assignment is consistent with this design."
        lines = [f"  - {problem}" for problem in self.problems]
        return "\n".join([self.design, "The assignment is not consistent with it:", *lines])


class Design(ABC):
    """A randomisation: the groups, the columns that hold them, and the law of the draw.

    Attributes
    ----------
    groups : Groups
        The groups and their values in the treatment columns.
    """

    groups: Groups

    @property
    def columns(self) -> tuple[str, ...]:
        """The treatment columns, as they stand in the file."""
        return self.groups.columns

    @property
    def block_columns(self) -> tuple[str, ...]:
        """The columns whose combinations are the blocks."""
        return ()

    @property
    def cluster_columns(self) -> tuple[str, ...]:
        """The columns whose combinations are the clusters."""
        return ()

    @property
    def uses(self) -> tuple[str, ...]:
        """The columns that the draw depends on: blocks and clusters."""
        return tuple(dict.fromkeys((*self.block_columns, *self.cluster_columns)))

    @property
    def cluster_facts(self) -> ClusterFacts:
        """What is declared of the clusters; nothing where rows were assigned."""
        return ClusterFacts()

    def assign(self, frame: IntoFrame, rng: object = None) -> pd.DataFrame:
        """Draw an assignment.

        Parameters
        ----------
        frame : data frame of n rows
            Synthetic or public rows, with the columns of :attr:`uses`.
        rng : None, int, SeedSequence, BitGenerator or Generator
            None draws from ChaCha, seeded by the operating system.  A seed makes the draw
            reproducible, for simulation.

        Returns
        -------
        (n, C) DataFrame
            The treatment columns and no others, in the row order of the frame and with its index.

        Raises
        ------
        ColumnError
            If the frame lacks a block or cluster column.
        ParameterError
            If the frame has no rows, or cannot be assigned by this design.
        """
        generator = source(rng).post_processing_rng()
        rows, index = rows_of(frame, self.uses)
        return self.groups.frame(self.draw(rows, generator), index)

    def probabilities(self, frame: IntoFrame) -> pd.DataFrame:
        """Return the exact probability with which each row falls into each group.

        Parameters
        ----------
        frame : data frame of n rows
            With the columns of :attr:`uses`.

        Returns
        -------
        (n, G) DataFrame
            One column per group, named after the arm (``control`` for rows in no arm).
        """
        rows, index = rows_of(frame, self.uses)
        values = self.propensities(rows)
        return pd.DataFrame(values, index=index, columns=pd.Index(self.groups.names, dtype=object))

    @checked
    def check(self, data: IntoFrame, *, attrition: bool = False) -> DesignCheck:
        """Check whether the design can have made a realised assignment.

        Parameters
        ----------
        data : data frame
            Rows with the treatment columns and those of :attr:`uses`.
        attrition : bool
            Whether rows were lost after the assignment.  If so, rules about group sizes are not
            checked, because the remaining rows need not obey them.

        Returns
        -------
        DesignCheck
            The broken rules, as sentences that name columns, arms and rules; false if there are
            none.

        Notes
        -----
        The check reads treatment, blocks and clusters.  These are public under "replace-one with
        the design public" only; under other relations, the result is itself confidential.
        """
        missing = lacking(data, [*self.columns, *self.uses])
        if missing:
            problems = [f"the data lack column {name!r}" for name in missing]
        else:
            rows, _ = rows_of(data, [*self.columns, *self.uses])
            problems = self.broken(rows, attrition=attrition)
        return DesignCheck(self.describe(), tuple(problems))

    def broken(self, rows: pd.DataFrame, *, attrition: bool) -> list[str]:
        """Return the rules of the design that ``rows`` break."""
        problems = self.groups.problems(rows)
        return problems or self.broken_by(self.groups.codes(rows), rows, attrition=attrition)

    def common(self, n: int) -> Array:
        """Return the declared probability of each group, the same for each of n rows; (G,).

        Raises
        ------
        ParameterError
            If the design declares none.
        """
        raise ParameterError(
            f"a ``{type(self).__name__}`` design declares no probabilities that are the same for "
            "every row; use one with ``shares=``, such as ``dprct.Simple('treat', shares=0.5)``"
        )

    def declare(self, frame: IntoFrame) -> str:
        """Describe the design on a frame: units, and the range of each group's propensity.

        Parameters
        ----------
        frame : data frame of n rows
            Synthetic or public rows, with the columns of :attr:`uses`.
        """
        chances = self.probabilities(frame)
        lines = [self.describe(), f"  Rows: {len(chances)}"]
        for name, values in zip(self.groups.names, np.asarray(chances).T, strict=True):
            low, high = float(values.min()), float(values.max())
            range_ = f"{low:.4g}" if np.isclose(low, high) else f"{low:.4g} to {high:.4g}"
            lines.append(f"  Probability of {level_text(name)}: {range_}")
        return "\n".join(lines)

    @abstractmethod
    def draw(self, rows: pd.DataFrame, rng: np.random.Generator) -> Codes:
        """Draw the group of each row; (n,)."""

    @abstractmethod
    def propensities(self, rows: pd.DataFrame) -> Array:
        """Return the probability of each group for each row; (n, G)."""

    @abstractmethod
    def broken_by(self, codes: Codes, rows: pd.DataFrame, *, attrition: bool) -> list[str]:
        """Return the rules that rows in groups ``codes`` break; all rows are in a group."""

    @abstractmethod
    def describe(self) -> str:
        """Say the design in one sentence."""

    def __str__(self) -> str:
        return self.describe()

    def _set(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)


def level_text(name: Level) -> str:
    """Return a level as text, a number as short as it is.

    Examples
    --------
    >>> level_text(1.0), level_text("cash")
    ('1', 'cash')
    """
    return name if isinstance(name, str) else f"{name:g}"
