from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dprct
from dprct.custodian import utility
from dprct.errors import ColumnError, DprctWarning, ParameterError
from dprct.missing import tagged

if TYPE_CHECKING:
    from types import ModuleType

FORMULA = "earn + work ~ cash + therapy + age"
ARMS = {"outcomes": ["earn", "work"], "arms": ["cash", "therapy"], "covariates": ["age"]}
Compare = Any


def test_it_is_a_function_of_the_package() -> None:
    assert dprct.custodian.utility is utility
    assert "custodian" in dir(dprct)
    module: ModuleType = dprct.custodian
    assert sorted(module.__all__) == ["RiskReport", "UtilityReport", "risk", "utility"]


@pytest.mark.parametrize("options", [{"formula": FORMULA}, ARMS])
def test_the_same_data_have_the_same_effects(
    confidential: pd.DataFrame, options: Any, compare: Compare
) -> None:
    found = compare(utility, confidential, confidential.sample(frac=1, random_state=1), **options)
    frame = found.to_frame()
    assert frame["overlap"].to_numpy() == pytest.approx(1.0)
    assert frame["difference"].to_numpy() == pytest.approx(0.0, abs=1e-9)


def test_each_side_is_the_regression_on_that_side(
    confidential: pd.DataFrame, released: list[pd.DataFrame], compare: Compare
) -> None:
    found = compare(utility, confidential, released, formula=FORMULA).to_frame()
    for record in found.to_dict("records"):
        formula = f"{record['outcome']} ~ cash + therapy + age"
        truth = dprct.ols(formula, confidential)
        other = dprct.ols(formula, released[record["draw"] - 1])
        (low, high), (low2, high2) = (f.conf_int().loc[record["arm"]] for f in (truth, other))
        assert record["estimate"] == pytest.approx(truth.params[record["arm"]])
        assert record["released.std.error"] == pytest.approx(other.bse[record["arm"]])
        shared = max(0.0, min(high, high2) - max(low, low2))
        expected = (shared / (high - low) + shared / (high2 - low2)) / 2
        assert record["overlap"] == pytest.approx(expected)
        difference = other.params[record["arm"]] - truth.params[record["arm"]]
        assert record["difference"] == pytest.approx(difference)
        assert record["abs.difference"] == pytest.approx(abs(difference))
    assert len(found) == 3 * 2 * 3


def test_arms_are_the_effects_of_the_table_and_a_formula_can_name_them(
    confidential: pd.DataFrame, released: list[pd.DataFrame], compare: Compare
) -> None:
    by_arms = compare(utility, confidential, released, **ARMS).to_frame()
    by_formula = compare(
        utility, confidential, released, formula=FORMULA, arms=["cash", "therapy"]
    ).to_frame()
    pd.testing.assert_frame_equal(by_arms, by_formula)


def test_far_away_is_disjoint(confidential: pd.DataFrame, compare: Compare) -> None:
    moved = confidential.assign(earn=confidential["earn"] + 50 * confidential["cash"])
    found = compare(utility, confidential, moved, formula="earn ~ cash + therapy").to_frame()
    assert found["overlap"].tolist() == pytest.approx([0.0, 1.0])
    assert found["difference"].tolist() == pytest.approx([50.0, 0.0], abs=1e-9)


def test_overlap_does_not_ask_which_side_is_which(
    confidential: pd.DataFrame, released: list[pd.DataFrame], compare: Compare
) -> None:
    there = compare(utility, confidential, released[0], formula=FORMULA).to_frame()
    back = compare(utility, released[0], confidential, formula=FORMULA).to_frame()
    assert there["overlap"].tolist() == pytest.approx(back["overlap"].tolist())
    assert there["difference"].tolist() == pytest.approx((-back["difference"]).tolist())


def test_missing_codes_leave_rows_out_whatever_the_engine(
    confidential: pd.DataFrame, released: list[pd.DataFrame], compare: Compare
) -> None:
    gaps = confidential.copy()
    gaps.loc[gaps.index[:30], "earn"] = tagged([1, 2, 26] * 10)
    nulls = pl.DataFrame(
        {
            name: [None if isinstance(v, float) and np.isnan(v) else v for v in gaps[name]]
            for name in gaps.columns
        }
    )
    dropped = compare(utility, confidential[30:], released[0], formula="earn ~ cash").to_frame()
    for frame in (gaps, nulls):
        found = compare(utility, frame, released[0], formula="earn ~ cash").to_frame()
        pd.testing.assert_frame_equal(found, dropped)
        back = compare(utility, released[0], frame, formula="earn ~ cash").to_frame()
        assert back["overlap"].tolist() == pytest.approx(dropped["overlap"].tolist())


def test_lazy_frames_and_a_name_twice(
    confidential: pd.DataFrame, released: list[pd.DataFrame], compare: Compare
) -> None:
    expected = compare(utility, confidential, released[0], formula="earn ~ cash").to_frame()
    lazy = [pl.DataFrame(frame.to_dict("list")).lazy() for frame in (confidential, released[0])]
    found = compare(utility, *lazy, formula="earn ~ cash").to_frame()
    pd.testing.assert_frame_equal(found, expected)
    twice = confidential.set_axis(["earn", "work", "cash", "cash", "age", "village"], axis=1)
    with pytest.raises(ColumnError, match="2 columns 'cash'"):
        utility(confidential, twice, formula="earn ~ cash")


def test_a_release_with_its_schema(release: dprct.Release, compare: Compare) -> None:
    rows = pd.DataFrame({"got": [0.0, 1.0, 1.0, 0.0] * 25, "arm": [0.0, 1.0] * 50})
    found = compare(utility, (rows, release.schema), [release, release], formula="got ~ arm")
    frame = found.to_frame()
    assert frame["draw"].tolist() == [1, 2]
    expected = dprct.ols("got ~ arm", release.protected).params["arm"]
    assert frame["released.estimate"].to_numpy() == pytest.approx(expected)


def test_what_a_release_cannot_tell_is_counted_and_said(
    confidential: pd.DataFrame, compare: Compare
) -> None:
    nobody = confidential.assign(cash=0.0)
    nothing = confidential.assign(earn=np.nan)
    draws = [confidential, nobody, nothing]
    report = compare(utility, confidential, {"m": draws}, formula="earn + work ~ cash + therapy")
    summary = report.summary().set_index(["outcome", "arm"])
    assert summary["draws"].tolist() == [3] * 4
    assert summary["estimated"].to_dict() == {
        ("earn", "cash"): 1,
        ("earn", "therapy"): 2,
        ("work", "cash"): 2,
        ("work", "therapy"): 3,
    }
    assert report.reasons == (
        "release 3 of m: no row has a value in every variable of the regression of 'earn'",
    )
    assert "Not estimated on release 3 of m" in report.to_text()


def test_it_warns_that_its_numbers_disclose(confidential: pd.DataFrame) -> None:
    with pytest.warns(DprctWarning, match="choosing the best of several draws") as seen:
        utility(confidential, confidential, formula="earn ~ cash")
    assert [warning.filename for warning in seen] == [__file__]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "give formula=, or outcomes= and arms="),
        ({"outcomes": ["earn"]}, "give formula="),
        ({"formula": "earn ~ cash", "outcomes": ["work"]}, "leave out outcomes"),
        ({"formula": "earn ~ cash", "control": "age"}, "leave out outcomes"),
        ({"formula": "earn ~ cash", "arms": "cash"}, "give a list of columns"),
        ({"formula": "earn ~ cash", "arms": ["therapy"]}, "no coefficient 'therapy'"),
        ({"formula": "earn ~ cash", "alpha": 5}, "alpha=5"),
        ({"outcomes": ["earn"], "arms": ["age"]}, "numbers other than 0 and 1"),
        ({"outcomes": ["earn"], "arms": ["cash"], "control": "village"}, "holds text"),
    ],
)
def test_contradictions(confidential: pd.DataFrame, options: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        utility(confidential, confidential, **options)


def test_every_table_has_the_columns(confidential: pd.DataFrame) -> None:
    with pytest.raises(ColumnError, match="no column 'age'"):
        utility(confidential, [confidential, confidential.drop(columns="age")], formula=FORMULA)


def test_no_message_shows_a_value(confidential: pd.DataFrame) -> None:
    secret = confidential.assign(earn=np.nan, village="Aurelia-Quint")
    with pytest.raises(ParameterError) as refusal:
        utility(secret, confidential, formula="earn ~ cash + village")
    assert "Aurelia" not in str(refusal.value)
