"""Sealed aggregates: what is public can be read, what is confidential goes nowhere."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from fractions import Fraction

import numpy as np
import pytest

from dprct.errors import ModelPicklingError, ParameterError
from dprct.privacy.aggregates import CellCounts, IntegerVector, _open

SECRET = 918273645


def vector() -> IntegerVector:
    return IntegerVector([SECRET, 2], l1=4, l2_squared=8, l_inf=2, relation="replace-one")


def cells() -> CellCounts:
    return CellCounts([[4, 1], [2, 0]], [SECRET, 3], radices=[5, 2], relation="replace-one")


@pytest.fixture(params=[vector, cells], ids=["vector", "cells"])
def aggregate(request):
    return request.param()


def test_printing_shows_no_value(aggregate):
    for text in (repr(aggregate), str(aggregate), f"{aggregate}", f"{aggregate!r:>200}"):
        assert str(SECRET) not in text
    assert str(SECRET) not in repr(aggregate._sealed)


@pytest.mark.parametrize("leave", [pickle.dumps, copy.copy, copy.deepcopy, dataclasses.asdict])
def test_no_way_out(aggregate, leave):
    with pytest.raises(ModelPicklingError, match="confidential"):
        leave(aggregate)


def test_the_box_does_not_leave_alone(aggregate):
    with pytest.raises(ModelPicklingError):
        pickle.dumps(aggregate._sealed)


def test_frozen_and_without_a_dictionary(aggregate):
    with pytest.raises(dataclasses.FrozenInstanceError):
        aggregate.relation = "add-remove"
    assert not hasattr(aggregate, "__dict__")


def test_equality_is_identity_and_compares_no_value():
    assert vector() != vector()
    assert len({vector(), vector()}) == 2


def test_public_facts_of_a_vector():
    given = IntegerVector(np.array([1, 2]), l1=3, relation="add-remove", grid=Fraction(1, 4))
    assert (given.size, given.l1, given.l2_squared, given.l_inf) == (2, 3, 9, 3)
    assert (given.relation, given.grid) == ("add-remove", Fraction(1, 4))


def test_values_are_kept_exactly_and_apart_from_the_callers_array():
    mine = np.array([1, 2], np.int32)
    sealed = IntegerVector(mine, l1=1, relation="replace-one")
    mine[0] = 99
    assert _open(sealed).tolist() == [1, 2]
    assert _open(sealed).dtype == np.int64
    assert not _open(sealed).flags.writeable
    huge = IntegerVector([2**80, -1], l1=1, relation="replace-one")
    assert _open(huge).tolist() == [2**80, -1]


@pytest.mark.parametrize(
    "values", [[1.0, 2.0], ["a"], [2**80, 0.5], [[1, 2]], [], [True], np.array([1], np.uint64)]
)
def test_only_vectors_of_integers_are_sealed(values):
    with pytest.raises(ParameterError, match="values must be"):
        IntegerVector(values, l1=1, relation="replace-one")


@pytest.mark.parametrize(
    "facts",
    [
        {"l1": 0},
        {"l1": 2.0},
        {"l1": 2, "l_inf": 3},
        {"l1": 2, "l2_squared": 5},
        {"l1": 4, "l_inf": 2, "l2_squared": 3},
        {"l1": 1, "grid": 0},
        {"l1": 1, "relation": "neighbours"},
    ],
)
def test_contradictory_facts_are_refused(facts):
    with pytest.raises(ParameterError):
        IntegerVector([1], **{"relation": "replace-one", **facts})


def test_a_refusal_shows_no_value():
    with pytest.raises(ParameterError) as refusal:
        IntegerVector([SECRET, 0.5], l1=1, relation="replace-one")
    assert str(SECRET) not in str(refusal.value)


@pytest.mark.parametrize(
    ("relation", "moved"),
    [("replace-one", 2), ("replace-one-design-public", 2), ("add-remove", 1)],
)
def test_sensitivity_of_cell_counts_by_enumeration(relation, moved):
    counts = CellCounts([[0]], [1], radices=[3], relation=relation)
    base = np.array([2, 1, 0])
    moves = [base - row for row in np.eye(3, dtype=int)] if moved == 1 else []
    if moved == 2:
        moves = [base - out + new for out in np.eye(3, dtype=int) for new in np.eye(3, dtype=int)]
    changes = [np.abs(after - base) for after in moves]
    assert max(change.sum() for change in changes) == counts.l1
    assert max((change**2).sum() for change in changes) == counts.l2_squared


def test_cells_beyond_int64_are_counted_exactly():
    wide = CellCounts(np.full((1, 10), 999), [1], radices=[1000] * 10, relation="replace-one")
    assert wide.cells == 10**30


@pytest.mark.parametrize(
    ("codes", "counts"),
    [
        ([[0, 2]], [1]),
        ([[-1, 0]], [1]),
        ([[0, 0]], [0]),
        ([[0, 0]], [1, 2]),
        ([[0, 1], [0, 1]], [1, 2]),
    ],
)
def test_impossible_cells_are_refused(codes, counts):
    with pytest.raises(ParameterError, match="codes"):
        CellCounts(codes, counts, radices=[5, 2], relation="replace-one")


def test_no_rows_at_all_is_a_legal_table():
    empty = CellCounts(np.empty((0, 2)), [], radices=[5, 2], relation="replace-one")
    assert _open(empty)[0].shape == (0, 2)
