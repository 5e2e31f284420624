"""Whole numbers of people in the arms of a file, from released noisy numbers."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dprct import Complete
from dprct.release.calibrated.covariates import assigned, sizes_of


@given(
    st.lists(st.floats(-500, 5000), min_size=2, max_size=6),
    st.integers(12, 4000),
    st.integers(0, 60),
)
def test_sizes_are_whole_and_add_up(counts: list[float], n: int, least: int) -> None:
    sizes = sizes_of(counts, n, least)
    assert sizes.sum() == n
    assert (sizes >= min(least, n // len(counts))).all()
    order = np.argsort(counts, kind="stable")
    assert (np.diff(sizes[order]) >= -1).all()


def test_sizes_are_in_proportion() -> None:
    assert sizes_of([250.4, 499.7, 249.9], 1000, 10).tolist() == [250, 500, 250]
    assert sizes_of([-3.0, -1.0], 11, 0).tolist() == [6, 5]
    assert math.isclose(sizes_of([1e9, 3e9], 4000, 10)[1], 3000)


def test_arms_are_at_random_and_of_these_sizes() -> None:
    rng = np.random.Generator(np.random.PCG64(1))
    there = np.arange(1200) % 4 > 0
    design = Complete(["a", "b"])
    arms, columns = assigned(there, design, (0, 1, 2), [299.6, 150.2, 450.1], 10, rng)
    assert np.bincount(arms[there]).tolist() == [300, 150, 450]
    assert np.bincount(arms[~there]).tolist() == [100, 50, 150]
    groups = design.groups
    for place, values in enumerate(groups.values):
        rows = [columns[name][arms == place] for name in groups.columns]
        assert all((row == value).all() for row, value in zip(rows, values, strict=True))
    again, _ = assigned(there, design, (0, 1, 2), [299.6, 150.2, 450.1], 10, rng)
    # two random orders of 900 people agree in 350 of them, with a standard deviation of about 15
    assert 200 < (again[there] == arms[there]).sum() < 500
