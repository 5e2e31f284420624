"""Every query on worst-case neighbours: no further apart than claimed, and as far where tight.

The tables are small and listed, not drawn: all at a bound, all rows equal, a lone row, an empty
cell, duplicated rows, a cell with the treated only, a block with one person per arm less than the
rule allows left out; the row that moves takes every value that a file can hold, legal or not.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from dprct.encoding import encodings
from dprct.missing import missing_numbers, tagged
from dprct.privacy.aggregates import CellCounts, IntegerVector, _open
from dprct.queries.clusters import Correlated, MeansWithin
from dprct.queries.counts import cell_counts, one_way_counts
from dprct.queries.horvitz_thompson import (
    PrivateArms,
    horvitz_thompson_difference,
    horvitz_thompson_sums,
)
from dprct.queries.missing_outcomes import observed_sums
from dprct.queries.offsets import bin_offsets
from dprct.queries.propensity import (
    Coordinates,
    Covariates,
    PropensityGrid,
    Treated,
    propensity_weights,
)
from dprct.queries.sums import (
    GRID,
    Arms,
    arm_aggregates,
    difference_aggregates,
)
from dprct.queries.weighting import Centre, Records, Scheme, Weighted, read_once
from dprct.records import dataclass
from dprct.schema import Column, Schema
from dprct.schema.tables import COMPANION, eager, table
from tests.queries.of_columns import clipped_sums

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LOW, HIGH = -1.0, 3.0
Y = Column("y", bounds=(LOW, HIGH), bins=(0.0, 1.0), missing=(".",))
X = Column("x", bounds=(LOW, HIGH), missing=())
T = Column("t", "byte", levels=(0.0, 1.0), missing=())
CODES = encodings(Schema((Y, T)), ["y", "t"])
VALUES = (
    LOW, 0.999, HIGH, np.nan, tagged(1), np.inf, -np.inf, 1e300, -1e300, 5e-324, HIGH + 1e-9,
)  # fmt: skip
"""What the row that moves is, before and after."""

ROWS = 8
TREATED = np.tile([0.0, 1.0], ROWS // 2)
OTHERS: dict[str, np.ndarray[Any, Any]] = {
    "all at the lower bound": np.full(ROWS, LOW),
    "all at the upper bound": np.full(ROWS, HIGH),
    "half at each": np.repeat([LOW, HIGH], ROWS // 2),
    "the treated at the upper": np.where(TREATED == 1, HIGH, LOW),
    "duplicated rows": np.repeat([0.5, 0.5, HIGH, 1.5], 2),
    "all missing": np.full(ROWS, np.nan),
    "infinite": np.tile([np.inf, -np.inf], ROWS // 2),
    "far outside": np.tile([1e300, -1e300], ROWS // 2),
}
TWO = Arms(np.tile([0, 1], ROWS // 2), ((ROWS // 2, ROWS // 2),))
BLOCKED = Arms(
    np.array([0, 1, 0, 1, 2, 3, 2, 3]), ((2, 2), (2, 2)), (Fraction(1, 2), Fraction(1, 2))
)
LONE_BLOCK = Arms(  # a person alone in an arm of a block does not count, and moves nothing
    np.array([-1, -1, 0, 1, 0, 1, 0, 1]), ((3, 3),)
)
CLUSTERED = Arms(
    np.tile([0, 1], ROWS // 2), ((4, 4),), clusters=np.array([0, 1, 0, 1, 2, 3, 2, 3]), largest=2,
    squares=((8, 8),),
)  # fmt: skip
CORRELATED = replace(CLUSTERED, rule=Correlated(Fraction(1, 5)))
MEANS_WITHIN = replace(CLUSTERED, rule=MeansWithin(GRID // 2, GRID // 4))
HIDDEN = PrivateArms(("t",), ((0.0,), (1.0,)), (Fraction(1, 2), Fraction(1, 2)), ROWS)


@dataclass(frozen=True)
class Query:
    """A query, and which of its aggregates reach what they claim among these neighbours."""

    ask: Callable[[Any], list[IntegerVector | CellCounts]]
    tight: tuple[bool, ...]
    design_public: bool = False


def of_difference(arms: Arms) -> Callable[[Any], list[Any]]:
    def ask(frame: Any) -> list[Any]:
        found = difference_aggregates(frame, Y, arms)
        return [found.difference, found.variance, found.control]

    return ask


def of_hidden(frame: Any) -> list[Any]:
    found = horvitz_thompson_difference(frame, Y, HIDDEN)
    return [
        found.difference,
        found.variance,
        found.control,
        *horvitz_thompson_sums(frame, Y, HIDDEN),
    ]


def records_of(frame: Any) -> Records:
    """All rows as one part of a weighted estimate."""
    rows = read_once(frame, Y, None, Treated(T, 1.0), Covariates(((Coordinates(X),),)), ROWS)
    return rows.part(np.arange(ROWS))


def of_propensity(frame: Any) -> list[Any]:
    rows = records_of(frame)
    return [propensity_weights(rows.Z, rows.t, PropensityGrid(ROWS, 2, 0.1))]


def of_weighted(estimand: Any) -> Callable[[Any], list[Any]]:
    """Weight by an index from -35 to 35: odds are trimmed at both ends."""
    weights = np.array([70.0, 0.0])
    centre = Centre(treated_mean=0.5, control_mean=-0.5, control_scale=2.0)

    def ask(frame: Any) -> list[Any]:
        rows = Weighted(records_of(frame), weights, 0.1, Scheme(estimand, 0.1))
        return [
            rows.difference(), rows.arm_sums(), rows.masses(), rows.count(), rows.squares(centre),
            rows.gradient_norm(centre), *rows.balance(Coordinates(X)), rows.overlap(10),
        ]  # fmt: skip

    return ask


# x and y of the row that moves are the same number: differences are reached from one side only;
# where odds are trimmed the gradient is zero (tests/queries/test_weighting.py reaches the former)
WEIGHTED_TIGHT = (False, True, True, True, True, False, False, True, True)

QUERIES: dict[str, Query] = {
    "cells": Query(lambda frame: [cell_counts(frame, CODES)], (True,)),
    "one-way counts": Query(lambda frame: [one_way_counts(frame, CODES)], (True,)),
    "offsets within bins": Query(lambda frame: [bin_offsets(frame, CODES[:1])], (True,)),
    "offsets within bins, by arm": Query(
        lambda frame: [bin_offsets(frame, CODES[:1], CODES[1:])], (True,)
    ),
    "clipped sums": Query(lambda frame: [clipped_sums(frame, [Y, X])], (True,)),
    "difference": Query(of_difference(TWO), (True, True, True), design_public=True),
    "difference, blocks": Query(of_difference(BLOCKED), (True, True, True), design_public=True),
    "difference, clusters": Query(of_difference(CLUSTERED), (True, True, True), design_public=True),
    "difference, correlated clusters": Query(
        of_difference(CORRELATED), (True, True, True), design_public=True
    ),
    "difference, bounds on cluster means": Query(
        of_difference(MEANS_WITHIN), (True, True, True), design_public=True
    ),
    "difference, a lone person": Query(
        of_difference(LONE_BLOCK), (False, False, False), design_public=True
    ),
    "arm means": Query(
        lambda frame: [*arm_aggregates(frame, Y, TWO)], (True, True), design_public=True
    ),
    "private missingness": Query(
        lambda frame: [observed_sums(frame, Y, TWO)], (True,), design_public=True
    ),
    "propensity weights": Query(of_propensity, (False,)),
    "weighted sums, ATE": Query(of_weighted("ate"), WEIGHTED_TIGHT),
    "weighted sums, ATT": Query(of_weighted("att"), WEIGHTED_TIGHT),
    "private treatment": Query(of_hidden, (True, True, True, True, True)),
}


def tables(query: Query) -> Iterator[list[pl.DataFrame]]:
    """Groups of tables that are neighbours of each other in row 0, with their missing codes.

    They are Polars': thousands of small tables, which pandas reads at several times the price.
    """
    arms = (TREATED[0],) if query.design_public else (0.0, 1.0)
    for others in OTHERS.values():
        group = []
        for value, arm in itertools.product(VALUES, arms):
            y, t = others.copy(), TREATED.copy()
            y[0], t[0] = value, arm
            codes = missing_numbers(y)
            beside = {name + COMPANION: codes for name in ("y", "x")}
            group.append(pl.DataFrame({"y": y, "x": y, "t": t, **beside}))
        yield group


def cells_of(aggregate: CellCounts) -> dict[tuple[int, ...], int]:
    digits, numbers = _open(aggregate)
    return {tuple(map(int, d)): int(k) for d, k in zip(digits, numbers, strict=True)}


def opened(one: Any) -> dict[Any, int]:
    """Return what an aggregate counts, by cell or by place, in exact integers."""
    return cells_of(one) if isinstance(one, CellCounts) else dict(enumerate(map(int, _open(one))))


def apart(left: dict[Any, int], right: dict[Any, int]) -> tuple[int, int]:
    """L1 and squared L2 distance of what was opened of two aggregates."""
    moved = [abs(left.get(k, 0) - right.get(k, 0)) for k in left.keys() | right.keys()]
    return sum(moved), sum(k * k for k in moved)


@pytest.mark.parametrize("name", QUERIES)
def test_no_neighbour_is_further_than_claimed(name: str) -> None:
    query = QUERIES[name]
    most = [0] * len(query.tight)
    claims: list[int] = []
    for group in tables(query):
        found = [query.ask(eager(data)) for data in group]
        claims = [aggregate.l1 for aggregate in found[0]]
        for k, same in enumerate(zip(*found, strict=True)):
            assert {one.l1 for one in same} == {claims[k]}, (name, k)
            squared = min(one.l2_squared for one in same)
            for one, other in itertools.combinations(map(opened, same), 2):
                l1, l2 = apart(one, other)
                assert l1 <= claims[k], (name, k)
                assert l2 <= squared, (name, k)
                most[k] = max(most[k], l1)
    reached = tuple(far == claim for far, claim in zip(most, claims, strict=True))
    assert reached == query.tight


def in_memory(data: pl.DataFrame) -> Any:
    """Return a table as pandas holds it: its missing values are NaN of several kinds."""
    return eager(data.select("y", "x", "t").to_pandas())


def in_engine(data: pl.DataFrame) -> Any:
    """Return a table as an engine gets it: codes of missing values in columns beside them."""
    return table(data.fill_nan(None).lazy())


# arms whose members are public are told by their columns in an engine, not by codes of rows
@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in QUERIES if not QUERIES[name].design_public])
def test_neighbours_are_the_same_in_an_engine(name: str) -> None:
    """Sensitivities are proved of these numbers: legal or not, an engine has no others.

    Every value of the row that moves is asked for once, among other rows that change with it.
    """
    groups = list(tables(QUERIES[name]))
    for place, group in enumerate(groups):
        for data in group[place :: len(groups)]:
            pairs = zip(
                *(QUERIES[name].ask(at(data)) for at in (in_memory, in_engine)), strict=True
            )
            assert all(opened(one) == opened(other) for one, other in pairs)


def test_a_person_who_does_not_count_moves_nothing() -> None:
    ask = of_difference(LONE_BLOCK)
    for group in tables(QUERIES["difference, a lone person"]):
        first, *others = [ask(eager(data)) for data in group]
        for other in others:
            assert all(opened(a) == opened(b) for a, b in zip(first, other, strict=True))


def test_a_smaller_claim_would_be_noticed() -> None:
    """The neighbours reach the claim, so one unit less would be refuted."""
    claim = IntegerVector([0], l1=GRID - 1, relation="replace-one-design-public")
    first, second = (
        of_difference(TWO)(eager(pl.DataFrame({"y": y, "x": y, "t": TREATED})))[0]
        for y in (np.full(ROWS, LOW), np.array([HIGH] + [LOW] * (ROWS - 1)))
    )
    assert apart(opened(first), opened(second))[0] > claim.l1
