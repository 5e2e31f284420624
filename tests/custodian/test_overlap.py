from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dprct.custodian.tables import ci_overlap, compared, summarised
from dprct.errors import ParameterError

ENDS = st.tuples(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6)).map(lambda p: (p[0], p[0] + p[1]))


@pytest.mark.parametrize(
    ("confidential", "released", "overlap"),
    [
        ((0, 2), (1, 5), (1 / 2 + 1 / 4) / 2),
        ((-1, 1), (-1, 1), 1.0),
        ((0, 1), (2, 3), 0.0),
        ((0, 1), (1, 2), 0.0),
        ((0, 4), (1, 2), (1 / 4 + 1) / 2),
        ((0.2, 0.9), (0.4, 1.4), (0.5 / 0.7 + 0.5 / 1.0) / 2),
        ((0, 0), (-1, 1), 0.0),
    ],
)
def test_overlap_by_hand(
    confidential: tuple[float, float], released: tuple[float, float], overlap: float
) -> None:
    found = ci_overlap(*([x] for x in (*confidential, *released)))
    assert found.tolist() == pytest.approx([overlap])


@given(ENDS, ENDS)
def test_overlap_is_symmetric_and_between_0_and_1(
    a: tuple[float, float], b: tuple[float, float]
) -> None:
    there, back = float(ci_overlap(*a, *b)), float(ci_overlap(*b, *a))
    assert there == back
    assert 0 <= there <= 1


@given(ENDS)
def test_overlap_with_itself_is_1_and_with_what_is_elsewhere_0(a: tuple[float, float]) -> None:
    width = a[1] - a[0]
    assert float(ci_overlap(*a, *a)) == 1
    assert float(ci_overlap(*a, a[1] + width, a[1] + 2 * width)) == 0


@given(ENDS, st.floats(0.01, 0.99), st.floats(1.5, 10))
def test_an_interval_inside_another_scores_at_least_a_half(
    a: tuple[float, float], share: float, times: float
) -> None:
    width = a[1] - a[0]
    outer = (a[0] - share * times * width, a[1] + (1 - share) * times * width)
    assert float(ci_overlap(*a, *outer)) == pytest.approx((1 + 1 / (1 + times)) / 2, rel=1e-4)


def test_overlap_of_what_is_unknown_is_unknown() -> None:
    found = ci_overlap([0.0, np.nan], [1.0, 1.0], [np.nan, 0.0], [1.0, 1.0])
    assert np.isnan(found).all()


def effects(*rows: tuple[str, float]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"covariates": "", "outcome": "y", "arm": arm, "estimate": x, "std.error": 1.0,
             "conf.low": x - 2, "conf.high": x + 2}
            for arm, x in rows
        ]
    )  # fmt: skip


def test_effects_are_joined_by_name_and_what_a_release_lacks_is_unknown() -> None:
    truth = effects(("a", 1.0), ("b", 2.0))
    draws = {("m", 1): effects(("b", 5.0), ("a", 2.0)), ("m", 2): effects(("a", 0.0))[:0]}
    found = compared(truth, draws)
    assert found["arm"].tolist() == ["a", "b", "a", "b"]
    assert found["draw"].tolist() == [1, 1, 2, 2]
    assert found["difference"].tolist()[:2] == [1.0, 3.0]
    assert found["overlap"].tolist()[:2] == pytest.approx([3 / 4, 1 / 4])
    assert found[["overlap", "difference", "released.estimate"]][2:].isna().all(axis=None)
    assert found["estimate"].tolist() == [1.0, 2.0, 1.0, 2.0]


def test_differences_have_a_sign_and_a_size() -> None:
    found = compared(effects(("a", 1.0)), {("", 1): effects(("a", -2.0))})
    assert found[["difference", "abs.difference"]].to_numpy().tolist() == [[-3.0, 3.0]]


def test_the_distribution_over_draws() -> None:
    draws = pd.DataFrame({"arm": list("bbbaa"), "overlap": [0.0, 0.5, 1.0, 0.2, np.nan]})
    found = summarised(draws, ["arm"], ["overlap"], (0.25, 0.975)).set_index("arm")
    assert found.index.tolist() == ["b", "a"]
    assert found["draws"].tolist() == [3, 2]
    assert found["overlap.mean"].tolist() == [0.5, 0.2]
    assert found["overlap.median"].tolist() == [0.5, 0.2]
    assert found["overlap.q25"].tolist() == [0.25, 0.2]
    assert found["overlap.q97.5"].tolist() == pytest.approx([0.975, 0.2])


def test_quantiles_are_between_0_and_1() -> None:
    with pytest.raises(ParameterError, match="quantiles"):
        summarised(pd.DataFrame({"a": [1], "x": [1.0]}), ["a"], ["x"], (5,))
