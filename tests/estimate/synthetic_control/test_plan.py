"""What a plan says of a synthetic control, and that it comes true."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dprct.estimate.synthetic_control.model import SyntheticControl
from dprct.privacy.budget import Budget

X = np.add.outer(np.linspace(-0.4, 0.4, 20), np.linspace(0, 0.1, 8))


def model(**options: Any) -> SyntheticControl:
    return SyntheticControl.from_arrays(X, X.mean(axis=0), 5, 1.0, **options)


def test_noise_is_as_planned() -> None:
    made = model()
    allocation = made._allocated(Budget(3))
    result = made.fit(3, rng=1)
    assert result.released.weight_sd == pytest.approx(allocation.weight_sd)
    largest = result.donor_weights.max()
    planned = allocation.path_sd() * largest
    assert result.released.post.noise.sd == pytest.approx(planned, rel=1e-5)


def test_the_plan_names_prices_and_noise() -> None:
    plan = model(placebos="all", pre_fit=True).plan(2)
    text = " ".join(str(plan).split())
    for words in (
        "a donor may be a state, not a person",
        "20 donors; 5 periods before treatment; 3 periods after",
        "ridge, lambda 100",
        "its own series is confidential",
        "the treated unit is not protected",
    ):
        assert words in text
    numbers = plan.to_frame().query("quantity == 'budget'")
    assert dict(zip(numbers["why"], numbers["value"], strict=True)) == {
        "donor_weights": 0.225, "prediction": 0.225, "pre_fit": 0.05, "placebos": 0.5,
    }  # fmt: skip
    assert (plan.value("bounds"), plan.value("bounds", "outside")) == (-1, 1)
    assert (plan.value("placebos"), plan.value("placebos", "share")) == (20, 0.025)
    assert plan.value("error") == plan.value("noise of the path", "equal")
    hidden = str(model(protect_treated=True).plan(2))
    assert "noise of the treated unit" in hidden
    assert "not protected" not in hidden


def test_what_will_disappoint_is_warned_of() -> None:
    assert any("not usable" in w for w in model().plan(0.01).warnings)
    assert any("longer than any weights" in w for w in model(lam=1.0).plan(0.01).warnings)
    assert any("not a test" in w for w in model(placebos="all").plan(500).warnings)
    assert model(donor_weights="uniform").plan(500).warnings == ()


def test_doubling_the_budget_halves_the_noise() -> None:
    made = model(donor_weights="uniform")
    sds = [made._allocated(Budget(e)).path_sd() for e in (1, 2)]
    assert sds[0] / sds[1] == pytest.approx(2, rel=1e-9)


def test_the_plan_compares_both_ways_to_the_mean() -> None:
    y = X.mean(axis=0)
    made = SyntheticControl.from_arrays(X, y, 2, 1.0, donor_weights="uniform", mean_effect=True)
    plan = made.plan(4)
    # 6 periods, 20 donors: by itself 2 sqrt(2) 2 / (4 20), the path sqrt(6) times that
    ways = ("by itself", "from the path", "from both", "from a path with the whole share")
    found = [plan.value("noise of the mean", way) for way in ways]
    assert found == pytest.approx([0.07071, 0.1732, 0.06547, 0.0866], rel=1e-3)
    assert made.fit(4, rng=1).att_noise.sd == pytest.approx(0.06547, rel=1e-3)
    assert not any("mean_effect" in warning for warning in plan.warnings)
    few = model(donor_weights="uniform", mean_effect=True).plan(4)
    assert any("mean_effect=True costs the mean effect more" in w for w in few.warnings)
