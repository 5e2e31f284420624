"""The bounds of ``SignRisk`` beside what happens in simulated noise."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from papers.ippw import risk
from papers.ippw.risk import WORDS, compared


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    monkeypatch.setattr(risk, "SIZES", (500, 100_000))
    return compared(3, 40)


def test_no_share_is_above_its_bound_and_signs_do_turn(found: pd.DataFrame) -> None:
    assert set(found["event"]) == set(WORDS)
    bound = found["bound"]
    # six standard errors of a share of 40
    slack = 6 * (bound.clip(lower=0.01) / 40).map(math.sqrt)
    assert (found["share"] <= bound + slack).all()
    assert found.loc[found["event"].eq("full"), "share"].max() > 0.05
    assert bound.min() < 0.9


def test_the_same_seed_gives_the_same(found: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(compared(3, 40), found)
