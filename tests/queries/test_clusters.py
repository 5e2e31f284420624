"""The variance of the totals of clusters: sensitivity by enumeration, and what it is on average."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dprct.queries.clusters import (
    Correlated,
    MeansWithin,
    clusters_of_cells,
    design_effect,
    factor_of,
    inflation,
    squares_of_cells,
    variance_of_total,
)

GRID = 4
SIZES = (1, 2, 2)
N, SQUARES = sum(SIZES), sum(m * m for m in SIZES)
RULES = {
    "none": None,
    "correlated": Correlated(Fraction(1, 5)),
    "alone": Correlated(Fraction(0)),
    "alike": Correlated(Fraction(1)),
    "means within": MeansWithin(2, 1),
    "means within all": MeansWithin(2, 2),
    "means within, off the middle": MeansWithin(1, 1),
}


def totals(values: tuple[int, ...]) -> list[tuple[int, int, int]]:
    found, at = [], 0
    for m in SIZES:
        ks = values[at : at + m]
        found.append((m, sum(ks), sum(k * k for k in ks)))
        at += m
    return found


def spread(rule: Any, values: tuple[int, ...]) -> Fraction:
    return variance_of_total(rule, totals(values), N, SQUARES, GRID)


def most_moved(rule: Any, replaced: slice) -> Fraction:
    """By how much the variance moves at most if these rows of a table are any others."""
    free = len(range(N)[replaced])
    others = [k for k in range(N) if k not in range(N)[replaced]]
    most = Fraction(0)
    for rest in itertools.product((0, 1, 2, 4), repeat=len(others)):
        found = []
        for mine in itertools.product(range(GRID + 1), repeat=free):
            values = [0] * N
            for k, value in zip(others, rest, strict=True):
                values[k] = value
            values[replaced] = mine
            found.append(spread(rule, tuple(values)))
        most = max(most, max(found) - min(found))
    return most


@pytest.mark.parametrize("name", RULES)
def test_no_person_moves_it_further_than_claimed(name: str) -> None:
    rule = RULES[name]
    claim = inflation(rule, 2, "person", [[N]], [[SQUARES]], GRID) * GRID**2
    most = max(most_moved(rule, slice(k, k + 1)) for k in (0, N - 1))
    assert most <= claim
    # bounds on means are reached, and so is a claim that is a variance of people alone
    if name.startswith("means within") and "off" not in name:
        assert most == claim
    else:
        assert most > claim / 4


@pytest.mark.parametrize("name", [n for n in RULES if n.startswith(("none", "means"))])
def test_no_cluster_moves_it_further_than_claimed(name: str) -> None:
    rule = RULES[name]
    # the reach of a mean is the largest cluster's, squared here
    claim = inflation(rule, 2, "cluster", [[N]], [[SQUARES]], GRID) * (2 * GRID) ** 2
    most = most_moved(rule, slice(N - 2, N))
    assert claim / 4 < most <= claim


def test_a_correlation_is_not_for_whole_clusters() -> None:
    with pytest.raises(ValueError, match="whole cluster"):
        inflation(RULES["correlated"], 2, "cluster", [[N]], [[SQUARES]], GRID)


def test_people_alone_have_the_variance_of_a_sum() -> None:
    """With no correlation it is n s^2, whatever the clusters are."""
    values = (4, 0, 1, 3, 2)
    assert spread(RULES["alone"], values) == Fraction(
        np.var(values, ddof=1).as_integer_ratio()[0], np.var(values, ddof=1).as_integer_ratio()[1]
    ) * len(values)
    assert factor_of(Correlated(Fraction(0)), N, SQUARES) == 1


@pytest.mark.parametrize("rho", [0.0, 0.1, 0.3])
def test_with_a_correlation_it_is_right_on_average(rho: float) -> None:
    """At the bound it is the variance of the total; above the correlation it is larger."""
    rng, runs, sizes = np.random.default_rng(3), 20_000, (3, 5, 2, 7, 4)
    n, squares = sum(sizes), sum(m * m for m in sizes)
    member = np.repeat(np.arange(len(sizes)), sizes)
    shared = rng.normal(0, rho**0.5, (runs, len(sizes)))
    y = 40 + 6 * (shared[:, member] + rng.normal(0, (1 - rho) ** 0.5, (runs, n)))
    s, q = y.sum(axis=1), (y**2).sum(axis=1)
    true = 36 * float(design_effect(Fraction(rho), n, squares)) * n

    def average(bound: float) -> tuple[float, float]:
        found = (
            float(factor_of(Correlated(Fraction(bound)), n, squares)) * (n * q - s * s) / (n - 1)
        )
        return float(found.mean()), float(found.std() / runs**0.5)

    mean, error = average(rho)
    assert abs(mean - true) < 6 * error  # a false alarm once in 5e8
    more, error = average(rho + 0.2)
    assert more - 6 * error > true  # which has the power to see that it is conservative
    if rho:
        less, error = average(rho / 4)
        assert less + 6 * error < true


def test_bounds_on_means_are_an_upper_bound_of_the_variance() -> None:
    rng, runs, sizes = np.random.default_rng(4), 4_000, (3, 5, 2, 7, 4)
    member = np.repeat(np.arange(len(sizes)), sizes)
    grid, middle, half = 1 << 10, 400, 300
    means = 380 + 100 * rng.uniform(-1, 1, (runs, len(sizes)))
    k = np.clip(np.round(means[:, member] + rng.uniform(-80, 80, (runs, len(member)))), 0, grid)
    tables = np.stack([k[:, member == g].sum(axis=1) for g in range(len(sizes))], axis=1)
    found = []
    for row in tables.astype(int).tolist():
        each = [(m, s, 0) for m, s in zip(sizes, row, strict=True)]
        found.append(float(variance_of_total(MeansWithin(middle, half), each, 21, 103, grid)))
    true = tables.sum(axis=1).var()
    excess = sum((20 * m) ** 2 for m in sizes)  # of means 20 below the middle
    error = np.std(found) / runs**0.5 + true * (2 / runs) ** 0.5
    assert abs(np.mean(found) - true - excess) < 6 * error


def test_clusters_are_counted_by_arm_and_block() -> None:
    cells = np.array([0, 0, 1, 1, 1, -1, 3])
    member = np.array([4, 4, 5, 6, 6, 7, 8])
    assert clusters_of_cells(cells, member, (2, 2)).tolist() == [[1, 2], [0, 1]]
    assert squares_of_cells(cells, member, None, (2, 2)) == ((4, 5), (0, 1))
    # of combinations, each stands for several rows
    number = np.array([1, 2, 3, 1, 1, 9, 5])
    assert squares_of_cells(cells, member, number, (2, 2)) == ((9, 13), (0, 25))
