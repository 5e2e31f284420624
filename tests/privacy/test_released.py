"""Released vectors: exact units, values in the unit of the data, safe to keep."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np

from dprct.privacy.mechanisms import NoisyVector


def released(units):
    return NoisyVector(units, Fraction(1, 10), 0.3, "replace-one", simulation=False)


def test_values_are_the_nearest_doubles_to_units_times_grid():
    assert released(np.array([1, 3, -7])).values.tolist() == [0.1, 0.3, -0.7]


def test_units_beyond_int64_keep_their_value():
    assert released(np.array([2**80], object)).values.tolist() == [2**80 / 10]


def test_a_release_pickles():
    again = pickle.loads(pickle.dumps(released(np.array([4]))))
    assert again.units.tolist() == [4]
    assert (again.grid, again.relation) == (Fraction(1, 10), "replace-one")
