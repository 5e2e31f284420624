from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dprct.errors import ParameterError
from dprct.estimate.cate.release import partition, shares_of, sizes_of
from dprct.privacy.noise import source

THREE = {"propensity": 40, "outcome": 40, "effect": 80}


def test_defaults_are_the_published_ones():
    assert shares_of(None, known=False) == {
        "propensity": Fraction(1, 4), "outcome": Fraction(1, 4), "effect": Fraction(1, 2),
    }  # fmt: skip
    assert shares_of(None, known=True) == {"effect": 1}


@pytest.mark.parametrize(
    ("asked", "known", "words"),
    [
        ({"propensity": 0.5, "effect": 0.5}, True, "allowed here: outcome, effect"),
        ({"outcome": 0.5, "effect": 0.5}, False, "needed: effect, propensity"),
        ({"outcome": 1}, True, "needed: effect"),
        ({"outcome": 0, "effect": 1}, True, "above 0"),
        ({"outcome": 0.3, "effect": 0.6}, True, "sum to one"),
        ({"other": 0.5, "effect": 0.5}, True, "names other"),
    ],
)
def test_shares_that_make_no_partition_are_refused(asked, known, words):
    with pytest.raises(ParameterError, match=words):
        shares_of(asked, known=known)


def test_a_part_that_would_be_empty_is_refused():
    with pytest.raises(ParameterError, match="leaves 'outcome' with fewer than 2"):
        sizes_of({"outcome": Fraction(1, 1000), "effect": Fraction(999, 1000)}, 500)


def test_parts_are_disjoint_complete_and_of_the_fixed_sizes():
    parts = partition(THREE, source())
    assert {name: len(rows) for name, rows in parts.items()} == THREE
    assert sorted(np.concatenate(list(parts.values())).tolist()) == list(range(160))


def test_every_row_is_as_likely_in_every_part():
    """Each of 160 rows is in the effect half of 400 times, give or take 6.5 standard errors."""
    noise, seen = source(1), np.zeros(160)
    for _ in range(400):
        seen[partition(THREE, noise)["effect"]] += 1
    assert np.abs(seen - 200).max() < 6.5 * 10


def test_one_part_is_all_rows():
    assert partition({"effect": 10}, source()) == {"effect": None}
