from __future__ import annotations

import pickle
import sys
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from dprct.custodian.baselines import CATE
from dprct.errors import DisclosureError, MissingDependencyError, ParameterError

if TYPE_CHECKING:
    from dprct.custodian.baselines.cate import Learner


@pytest.fixture(scope="module")
def data() -> pd.DataFrame:
    """An effect of 2 where x is above a half, else 0; treatment is likelier there."""
    rng = np.random.default_rng(1)
    x = rng.random(3000)
    t = (rng.random(3000) < 0.3 + 0.4 * x).astype(float)
    return pd.DataFrame({"x": x, "t": t, "y": 2 * t * (x > 0.5) + x + rng.normal(size=3000) / 5})


OPTIONS = {"outcome": "y", "treatment": "t", "features": ["x"]}


@pytest.mark.parametrize("learner", ["dr", "r", "s", "t"])
def test_learners_find_where_the_effect_is(data: pd.DataFrame, learner: Learner) -> None:
    fit = CATE(data, **OPTIONS, learner=learner).fit()
    low, high = fit.effect(pd.DataFrame({"x": [0.2, 0.8]}))
    assert abs(low) < 0.25
    assert abs(high - 2) < 0.25
    assert abs(fit.average - 1) < 0.15
    assert "CONFIDENTIAL" in fit.summary()
    assert not fit.guarantee.holds


def test_the_constant_effect_is_the_average(data: pd.DataFrame) -> None:
    fit = CATE(data, **OPTIONS, learner="constant").fit()
    np.testing.assert_array_equal(fit.effect(pd.DataFrame({"x": [0.1, 0.9]})), [fit.average] * 2)
    assert abs(fit.average - 1) < 0.1


def test_a_fit_stays_with_the_data(data: pd.DataFrame) -> None:
    with pytest.raises(DisclosureError):
        pickle.dumps(CATE(data, **OPTIONS, learner="constant").fit())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"learner": "x"}, "learner='x'; allowed: dr, r, s, t, constant"),
        ({"propensity": 1}, "propensity=1; give a number between 0 and 1"),
        ({"treatment": "x", "features": ["t"]}, "'x' is not 0 or 1"),
    ],
)
def test_mistakes_are_refused(data: pd.DataFrame, options: dict[str, object], words: str) -> None:
    with pytest.raises(ParameterError, match=words.replace("(", r"\(")):
        CATE(data, **{**OPTIONS, **options})  # type: ignore[arg-type]


def test_incomplete_rows_are_refused(data: pd.DataFrame) -> None:
    with pytest.raises(ParameterError, match="rows are incomplete"):
        CATE(data.assign(y=data["y"].where(data["x"] > 0.1)), **OPTIONS)


def test_without_scikit_learn_the_extra_is_named(
    data: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    with pytest.raises(MissingDependencyError, match="learners"):
        CATE(data, **OPTIONS).fit()
