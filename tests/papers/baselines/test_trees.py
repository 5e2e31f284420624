"""Weights of trees: balance where a logit cannot find any, and an effect that is known."""

from __future__ import annotations

import numpy as np
import pytest

from dprct.defaults import TRIM
from papers.baselines import IPW, TREES, tree_effect, tree_propensities


def confounded(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Treatment that depends on the distance of x from zero, as the outcome does; effect 1."""
    rng = np.random.default_rng(4)
    x = rng.uniform(-1, 1, (n, 2))
    t = rng.random(n) < np.where(np.abs(x[:, 0]) > 0.5, 0.75, 0.25)
    return x, t, t + 2.0 * (np.abs(x[:, 0]) > 0.5) + rng.normal(0, 0.1, n)


@pytest.mark.parametrize("grow", TREES.values(), ids=list(TREES))
def test_trees_find_what_a_line_in_x_does_not(grow) -> None:
    X, t, y = confounded(6000)
    assert tree_effect(X, t, y, grow) == pytest.approx(1, abs=0.15)
    assert IPW.from_arrays(X, t, y).fit().estimate > 1.8


def test_propensities_come_from_the_other_half_and_are_trimmed() -> None:
    X, t, _ = confounded(2000)
    e = tree_propensities(X, t, TREES["CART"])
    assert (e.min() >= TRIM, e.max() <= 1 - TRIM) == (True, True)
    # a tree with as many leaves as rows would predict treatment exactly on its own rows
    assert abs(np.corrcoef(e, t)[0, 1]) < 0.7
    again = tree_propensities(X, t, TREES["CART"], seed=1)
    assert not np.array_equal(e, again)
