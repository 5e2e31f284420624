"""Influence of each row: what the formulas must satisfy whatever the data."""

from __future__ import annotations

import numpy as np
import pytest

from papers.baselines.ipw import Study, potential_mean, propensity


def study(seed: int, n: int = 400, *, augmented: bool = True) -> Study:
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.normal(size=(n, 2))])
    t = rng.random(n) < 1 / (1 + np.exp(-X[:, 1]))
    y = X @ [1.0, 1.0, -1.0] + t + rng.normal(size=n)
    return Study(y, t, X, X if augmented else None)


@pytest.mark.parametrize("estimand", ["ate", "att", "atc"])
@pytest.mark.parametrize("augmented", [False, True])
@pytest.mark.parametrize("normalized", [False, True])
def test_influences_sum_to_zero_and_are_derivatives(estimand, augmented, normalized) -> None:
    one = study(1, augmented=augmented)

    def value(rows: Study) -> float:
        return potential_mean(
            rows, propensity(rows), False, estimand, normalized=normalized, known=False
        ).value

    found = potential_mean(
        one, propensity(one), False, estimand, normalized=normalized, known=False
    )
    assert abs(found.influence.mean()) < 1e-9
    # a row that is there once more moves the mean by its influence over n + 1, and O(1/n^2)
    n = len(one.y)
    for i in (0, 5, 17):
        again = [np.concatenate([a, a[i : i + 1]]) for a in (one.y, one.t, one.X)]
        more = Study(*again, again[2] if augmented else None)
        moved = (value(more) - value(one)) * (n + 1)
        assert moved == pytest.approx(found.influence[i], rel=0.1, abs=0.05)


def test_an_outcome_on_the_regression_has_no_weighting_error() -> None:
    one = study(2)
    exact = Study(one.X @ [1.0, 2.0, 3.0], one.t, one.X, one.X)
    found = potential_mean(exact, propensity(exact), True, "ate", normalized=False, known=False)
    assert found.value == pytest.approx(float(exact.y.mean()), rel=1e-10)
    assert found.influence == pytest.approx(exact.y - exact.y.mean(), abs=1e-9)
