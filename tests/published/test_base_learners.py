"""Base learners that plug in, and what parts with budgets of their own come to."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from dprct import Budget, Schema
from dprct.errors import ParameterError
from dprct.published import CATE, parallel_delta, parallel_tradeoff
from dprct.schema import Column

if TYPE_CHECKING:
    from dprct.published.base_learners import Part


class Mean:
    """Predicts the mean of its target, and remembers what it was shown."""

    guarantee = "one mean, not protected"

    def __init__(self, part: Part) -> None:
        self.part = part
        self.seen: tuple[np.ndarray, np.ndarray] | None = None
        self.mean = 0.0

    def fit(self, X: np.ndarray, y: np.ndarray) -> None:
        self.seen, self.mean = (X, y), float(y.mean())

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.full(len(X), self.mean)


def rows(n: int = 4000) -> tuple[pd.DataFrame, Schema]:
    rng = np.random.default_rng(1)
    x, t = rng.uniform(-2, 2, n), (rng.random(n) < 0.5).astype(float)
    table = pd.DataFrame({"y": np.clip(0.3 * t + 0.1 * x, -1, 1), "x": x, "t": t})
    schema = Schema(
        (
            Column("y", bounds=(-1.0, 1.0), missing=()),
            Column("x", bounds=(-2.0, 2.0), missing=()),
            Column("t", "byte", levels=(0.0, 1.0), missing=()),
        )
    )
    return table, schema


def bound(**options: Any) -> CATE:
    table, schema = rows()
    given = {"outcome": "y", "features": ["x"], "treatment": "t", "accept_uncertified": True}
    return CATE(table, schema, **given | options)


def test_a_base_learner_learns_the_pseudo_outcomes_of_its_part() -> None:
    every: list[Mean] = []

    def base(part: Part) -> Mean:
        every.append(Mean(part))
        return every[-1]

    model = bound(base=base, propensity=0.5)
    found = model.fit(1, 1e-5, rng=1)
    new = pd.DataFrame({"x": [0.0, 1.0]})
    # doubly robust with a constant for both arms: the difference in means, about .3
    assert found.effect(new) == pytest.approx([0.3, 0.3], abs=0.05)
    made = {one.part.name: one for one in every if one.seen is not None}
    assert sum(len(one.seen[1]) for one in made.values()) == 4000
    assert made["outcome"].part.bounds == ((-2.0, 2.0), (0.0, 1.0))
    assert made["effect"].part.target == (-4.0, 4.0)
    assert "Mean" in found.summary()
    with pytest.raises(ParameterError, match="has no shapes here"):
        found.shape("x")


def test_what_base_learners_claim_is_the_reason_of_no_guarantee() -> None:
    model = bound(base=Mean, propensity=0.5, part_budgets={"outcome": (0.25, 1e-6)})
    said = model.guarantee(Budget(1, 1e-5)).sentence()
    assert "outcome: one mean, not protected" in said
    assert "not certified" in said or "nothing of it is certified" in said


def test_parts_get_their_own_budgets_and_no_more_than_the_fit() -> None:
    seen: dict[str, Budget] = {}

    def base(part: Part) -> Mean:
        seen[part.name] = part.budget
        return Mean(part)

    model = bound(base=base, propensity=0.5, part_budgets={"outcome": (0.25, 1e-6)})
    model.fit(1, 1e-5, rng=1)
    assert seen == {"outcome": Budget(0.25, 1e-6), "effect": Budget(1, 1e-5)}
    with pytest.raises(ParameterError, match=r"above the epsilon=0\.1"):
        model.fit(0.1, 1e-5, rng=1)
    for wrong, words in (
        ({"tail": (1, 0)}, "names 'tail', which is not a part"),
        ({"effect": 1}, "is not a pair"),
    ):
        with pytest.raises(ParameterError, match=words):
            bound(base=Mean, propensity=0.5, part_budgets=wrong).fit(1, 1e-5, rng=1)


class Short(Mean):
    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.zeros(len(X) + 1)


def test_what_is_no_base_learner_is_refused() -> None:
    with pytest.raises(ParameterError, match="base= made a dict for 'outcome'"):
        bound(base=lambda part: {}, propensity=0.5).fit(1, 1e-5, rng=1)
    with pytest.raises(ParameterError, match="return one number per row"):
        bound(base=Short, propensity=0.5).fit(1, 1e-5, rng=1)
    with pytest.raises(ParameterError, match="base= is for the corrected form"):
        bound(base=Mean, as_printed=True)


def test_the_delta_of_parts_is_that_of_their_trade_off_function() -> None:
    """By duality: delta(e) = max over sizes a of 1 - f(a) - exp(e) a."""
    alpha = np.linspace(0, 1, 200_001)
    for parts in (
        [Budget(1, 1e-5), Budget(2, 1e-6)],
        [Budget(0.5, 0.01), Budget(1)],
        [Budget(0.25), Budget(0.25, 0.2), Budget(3, 0.1)],
    ):
        f = parallel_tradeoff(parts, alpha)
        for epsilon in (0.0, 0.4, 1.0, 1.5, 4.0):
            dual = float((1 - f - math.exp(epsilon) * alpha).max())
            assert parallel_delta(parts, epsilon) == pytest.approx(dual, abs=2e-5)


def test_the_trade_off_function_is_convex_and_below_every_part() -> None:
    alpha = np.linspace(0, 1, 501)
    parts = [Budget(0.5, 0.05), Budget(2)]
    f = parallel_tradeoff(parts, alpha)
    assert (np.diff(f, 2) >= -1e-12).all()
    smallest = np.minimum(*(parallel_tradeoff([one], alpha) for one in parts))
    assert (f <= smallest + 1e-12).all()
    # the minimum alone is not convex: the envelope is strictly below it somewhere
    assert (f < smallest - 1e-4).any()
    by_hand = np.maximum(
        0, np.maximum(0.95 - math.exp(0.5) * alpha, math.exp(-0.5) * (0.95 - alpha))
    )
    assert parallel_tradeoff([Budget(0.5, 0.05)], alpha) == pytest.approx(by_hand)
    for function in (lambda: parallel_delta([], 1), lambda: parallel_tradeoff([], alpha)):
        with pytest.raises(ParameterError, match="there is no part"):
            function()
