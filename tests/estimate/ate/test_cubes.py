"""Several outcomes without a delta: their noise is drawn together, uniform in cubes."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import dprct
from dprct import Simple
from dprct.privacy import CubeNoise, DiscreteLaplace
from dprct.schema import Column, Schema

OUTCOMES = ("y0", "y1", "y2", "y3")
COLUMNS = tuple(Column(y, bounds=(0.0, 10.0), sd=1.5, missing=()) for y in OUTCOMES)
SCHEMA = Schema((*COLUMNS, Column("t", "byte", levels=(0.0, 1.0), missing=())))


def rows(n: int, rng: np.random.Generator, effects: tuple[float, ...]) -> pd.DataFrame:
    t = rng.permutation(n) % 2
    frame = {
        y: np.clip(rng.normal(5, 1.5, n) + effect * t, 0, 10)
        for y, effect in zip(OUTCOMES, effects, strict=True)
    }
    return pd.DataFrame({**frame, "t": t.astype(float)})


def model(frame: pd.DataFrame, **how: Any) -> dprct.PrivateATE:
    return dprct.PrivateATE(frame, SCHEMA, outcome=OUTCOMES, treatment="t", **how)


def test_which_noise_is_drawn() -> None:
    frame = rows(400, np.random.default_rng(1), (0, 0, 0, 0))
    of_all = model(frame).spec.allocation(model(frame).facts, dprct.Budget(1))
    assert {name: type(part) for name, part in of_all.parts.items()} == dict.fromkeys(
        ("effect", "variance", "control mean"), CubeNoise
    )
    assert sum(part.budget.epsilon for part in of_all.parts.values()) == 1
    shares = dict(zip(OUTCOMES, (0.4, 0.2, 0.2, 0.2), strict=True))
    own = model(frame, budget_shares=shares)
    each = own.spec.allocation(own.facts, dprct.Budget(1)).parts
    assert len(each) == 12
    assert {type(part) for part in each.values()} == {DiscreteLaplace}
    equal = model(frame, budget_shares=dict.fromkeys(OUTCOMES, 0.25))
    assert equal.spec.allocation(equal.facts, dprct.Budget(1)).parts == of_all.parts


def test_what_it_gains_over_a_laplace_draw_for_each() -> None:
    """Noise of four outcomes is smaller by (6 16 / (5 6))^(1/2), as the plan says."""
    frame = rows(400, np.random.default_rng(1), (0, 0, 0, 0))
    shares = dict(zip(OUTCOMES, (0.2500001, 0.2499999, 0.25, 0.25), strict=True))
    gain = model(frame, budget_shares=shares).power(1)["noise"] / model(frame).power(1)["noise"]
    assert gain.to_numpy() == pytest.approx((6 * 16 / 30) ** 0.5, rel=1e-5)
    assert "1.79 times smaller" in str(model(frame).plan(epsilon=1))
    fit = model(frame).fit(epsilon=1)
    assert fit.bse_noise.to_numpy() == pytest.approx(model(frame).power(1)["noise"].to_numpy())


@pytest.mark.parametrize("private", [False, True])
def test_intervals_cover_and_are_centred(private: bool) -> None:
    """300 experiments: 1,200 intervals, of which effects are independent given the noise."""
    rng, effects = np.random.default_rng(5), (0.5, -0.5, 0.0, 1.0)
    hidden = {"assignment": Simple("t", shares=0.5), "neighbors": "replace-one"}
    inside, errors, noise = 0, [], 0.0
    for run in range(300):
        frame = rows(600, rng, effects)
        fit = model(frame, **(hidden if private else {})).fit(epsilon=2, rng=run)
        low, high = fit.conf_int().to_numpy().T
        inside += int(((low <= effects) & (effects <= high)).sum())
        errors.append(fit.params.to_numpy() - effects)
        noise = float(fit.bse_noise.iloc[0])
    # 300 clusters of four that share a radius: misses are counted as if each cluster were one
    assert inside / 4 >= stats.binom.ppf(1e-7, 300, 0.95)
    spread = np.std(errors)
    assert noise < spread < 3 * noise
    assert abs(np.mean(errors)) < 6 * spread / 300**0.5


def test_three_arms_and_contrasts() -> None:
    rng = np.random.default_rng(2)
    frame = rows(900, rng, (0, 0, 0, 0))
    frame["s"] = np.where(frame["t"] == 0, np.arange(900) % 4 < 2, 0).astype(float)
    schema = Schema((*SCHEMA.columns, Column("s", "byte", levels=(0.0, 1.0), missing=())))
    arms = dprct.PrivateATE(frame, schema, outcome=OUTCOMES, treatment=["t", "s"])
    fit = arms.fit(epsilon=1, rng=3)
    apart = fit.contrast("t - s")
    of_arms = [[mean.noise_variance for mean in means] for means in fit.means]
    assert apart.bse_noise.to_numpy() == pytest.approx([(t + s) ** 0.5 for _, t, s in of_arms])
    again = arms.fit(epsilon=1, rng=3)
    assert (again.params == fit.params).all()
    assert set(arms.spec.allocation(arms.facts, dprct.Budget(1)).parts) == {
        "arm means",
        "arm variances",
    }


def test_epsilon_is_spent_once() -> None:
    frame = rows(400, np.random.default_rng(1), (0, 0, 0, 0))
    fit = model(frame).fit(epsilon=Fraction(3, 4))
    assert fit.guarantee.budget == dprct.Budget(Fraction(3, 4))
