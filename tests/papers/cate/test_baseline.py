from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from papers.cate.baseline import fitted_effect
from papers.cate.designs import Sample

if TYPE_CHECKING:
    from papers.cate.baseline import Learner


@pytest.fixture(scope="module")
def sample() -> Sample:
    """An effect of 2 where x is above a half, else 0; treatment is likelier there."""
    rng = np.random.default_rng(1)
    x = rng.random(3000)
    t = (rng.random(3000) < 0.3 + 0.4 * x).astype(float)
    tau = 2.0 * (x > 0.5)
    return Sample(x[:, None], t, t * tau + x + rng.normal(size=3000) / 5, tau)


@pytest.mark.parametrize("learner", ["dr", "r", "s", "t"])
def test_learners_find_where_the_effect_is(sample: Sample, learner: Learner) -> None:
    low, high, *effects = fitted_effect(sample, np.vstack([[[0.2], [0.8]], sample.X]), learner)
    assert abs(low) < 0.25
    assert abs(high - 2) < 0.25
    assert abs(np.mean(effects) - 1) < 0.15


def test_the_constant_effect_is_the_average(sample: Sample) -> None:
    low, high = fitted_effect(sample, np.array([[0.1], [0.9]]), "constant")
    assert low == high
    assert abs(low - 1) < 0.1


def test_a_known_propensity_and_the_seed_of_the_folds_matter(sample: Sample) -> None:
    few = Sample(sample.X[:500], sample.t[:500], sample.y[:500], sample.tau[:500])
    at = few.X[:50]
    estimated = fitted_effect(few, at, "dr", seed=1)
    np.testing.assert_array_equal(estimated, fitted_effect(few, at, "dr", seed=1))
    assert (estimated != fitted_effect(few, at, "dr", seed=2)).any()
    assert (estimated != fitted_effect(few, at, "dr", 0.5, seed=1)).any()
