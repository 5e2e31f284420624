from __future__ import annotations

import pickle

import numpy as np
import pytest

from dprct.published import SyntheticControl


@pytest.fixture
def result():
    X = np.full((3, 5), 0.5)
    return SyntheticControl.from_arrays(
        X, np.arange(5) / 5, 3, 1.0, names=["a", "b", "ç"], treated="Łódź", times=range(1990, 1995)
    ).fit(100, rng=1)


def test_effect_is_observed_less_path(result) -> None:
    table = result.tidy()
    assert table["time"].tolist() == [1993, 1994]
    assert table["observed"].tolist() == [0.6, 0.8]
    assert result.effect.tolist() == (table["observed"] - table["counterfactual"]).tolist()
    assert result.att == pytest.approx(result.effect.mean())
    assert result.observed.index.tolist() == [1990, 1991, 1992, 1993, 1994]
    assert result.donor_weights.index.tolist() == ["a", "b", "ç"]


def test_it_pickles_and_prints(result) -> None:
    again = pickle.loads(pickle.dumps(result))
    assert str(again) == result.summary()
    assert repr(again) == "<PublishedControlResults: Łódź, 3 donors>"
