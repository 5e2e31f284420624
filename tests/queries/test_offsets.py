"""Sums of where values lie within their bins, against the formula, and their sensitivity."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from dprct.encoding import encodings
from dprct.privacy.aggregates import _open
from dprct.queries.offsets import bin_offsets
from dprct.schema import Column, Schema
from dprct.schema.tables import table

EDGES = (0.0, 4.0, 10.0, 52.0)
SCHEMA = Schema(
    (
        Column("y", bounds=(0.0, 52.0), bins=(4.0, 10.0), missing=(".",)),
        Column("t", "byte", levels=(0.0, 1.0), missing=()),
    )
)
Y, T = encodings(SCHEMA, ["y", "t"])


def summed(y, t, *, by_arm=True):
    frame = table(pd.DataFrame({"y": np.asarray(y, float), "t": np.asarray(t, float)}))
    found = _open(bin_offsets(frame, [Y], [T] if by_arm else []))
    return np.array([float(number) for number in np.asarray(found)]) / 2**20


def test_sums_are_those_of_the_formula():
    rng = np.random.default_rng(6)
    y, t = rng.gamma(1.2, 9.0, 400).clip(0, 52), rng.integers(0, 2, 400)
    y[:7] = np.nan
    expected = []
    for arm, (low, high) in itertools.product((0, 1), itertools.pairwise(EDGES)):
        inside = (t == arm) & (y >= low) & ((y < high) | ((high == EDGES[-1]) & (y <= high)))
        expected.append(((y[inside] - (low + high) / 2) / (high - low)).sum())
    assert summed(y, t) == pytest.approx(expected, abs=400 * 2**-20)
    assert summed(y, t, by_arm=False) == pytest.approx(
        np.array(expected).reshape(2, 3).sum(axis=0), abs=400 * 2**-20
    )


def test_a_replaced_row_moves_the_sums_by_one_at_most_and_reaches_it():
    values = [0.0, 3.999999, 4.0, 9.999999, 10.0, 31.0, 52.0, np.nan]
    rows = [summed([value, 20.0], [arm, 1]) for value in values for arm in (0, 1)]
    moves = [np.abs(one - other).sum() for one, other in itertools.combinations(rows, 2)]
    assert max(moves) <= 1
    assert max(moves) > 0.999


def test_missing_values_are_in_no_sum():
    assert summed([np.nan, np.nan], [0, 1]).tolist() == [0.0] * 6
