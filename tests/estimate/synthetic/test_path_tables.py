"""The tables hold the numbers of the results, and no more."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dprct.estimate.synthetic import SyntheticControl, SyntheticControlResults, path_tables


@pytest.fixture(scope="module")
def result() -> SyntheticControlResults:
    X = np.add.outer(np.linspace(-0.4, 0.4, 9), np.linspace(0, 0.1, 8))
    model = SyntheticControl.from_arrays(X, X.mean(axis=0) + 0.1, 5, 1.0, placebos=["donor 2"])
    return model.fit(30, rng=4)


def test_periods_that_were_not_paid_for_are_not_there(result: SyntheticControlResults) -> None:
    table = path_tables.tidy(result, 0.1)
    assert table["time"].tolist() == [6, 7, 8]
    half = result.released.post.effect_noise.half_width(0.1)
    assert (table["noise.high"] - table["estimate"]).tolist() == pytest.approx([half] * 3)


def test_the_sheet_ends_with_the_mean(result: SyntheticControlResults) -> None:
    sheet = path_tables.sheet(result, 0.05)
    assert [row[0] for row in sheet.rows][-1] == "mean effect"
    assert f"{result.att:.3f}" in sheet.rows[-1][1]
    assert "do not cover" in sheet.notes[0]


def test_the_treated_unit_is_the_first_row(result: SyntheticControlResults) -> None:
    table = path_tables.placebos(result)
    assert table["unit"].tolist() == ["treated", "donor 2"]
    assert table["att"].iloc[0] == result.att
    # the series of a placebo is confidential, and noisy too
    assert table["std.error.noise"].iloc[1] > table["std.error.noise"].iloc[0]
    assert math.isnan(path_tables.pre_rmse(result.released))


def test_a_mean_by_itself_is_said_to_be_no_mean_of_the_rows() -> None:
    X = np.add.outer(np.linspace(-0.4, 0.4, 9), np.linspace(0, 0.1, 8))
    model = SyntheticControl.from_arrays(X, X.mean(axis=0), 3, 1.0, mean_effect=True)
    result = model.fit(30, rng=4)
    assert result.att != pytest.approx(result.effect.mean(), abs=1e-9)
    assert "by itself too" in " ".join(result.summary().split())
