"""Combinations, tests, predictions and margins of ordinary fits."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import dprct
from dprct.errors import ColumnError, ParameterError


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(8)
    n = 240
    frame = pd.DataFrame(
        {"t": rng.integers(0, 3, n), "age": rng.integers(18, 60, n).astype(float),
         "town": rng.choice(["north", "south", "west"], n), "v": np.arange(n) % 12}
    )  # fmt: skip
    frame["y"] = frame["t"] + 0.1 * frame["age"] + (frame["town"] == "west") + rng.normal(size=n)
    return frame


def test_a_test_that_one_coefficient_is_zero_is_its_t_test(rows):
    fit = dprct.ols("y ~ C(t) + age", rows, cluster="v")
    found = fit.wald_test("age = 0")
    assert found.statistic == pytest.approx(fit.tvalues["age"] ** 2)
    assert found.pvalue == pytest.approx(fit.pvalues["age"])
    assert found.df_denom == 11
    slopes = [name for name in fit.params.index if name != "Intercept"]
    assert fit.wald_test(slopes).statistic == pytest.approx(fit.fvalue)


def test_a_test_of_exclusion_is_the_f_of_the_sums_of_squares(rows):
    long, short = (
        dprct.ols("y ~ C(t) + age", rows, cov_type="nonrobust"),
        dprct.ols("y ~ age", rows),
    )
    squares = [fit.rmse**2 * fit.df_resid for fit in (short, long)]
    expected = (squares[0] - squares[1]) / 2 / (squares[1] / long.df_resid)
    found = long.wald_test("C(t)[T.1] = C(t)[T.2] = 0")
    assert found.statistic == pytest.approx(expected)
    assert found.pvalue == pytest.approx(stats.f.sf(expected, 2, long.df_resid))


def test_a_combination_is_the_coefficient_of_another_base(rows):
    one = dprct.ols("y ~ C(t) + age", rows).lincom("C(t)[T.2] - C(t)[T.1]")
    moved = rows.assign(t=rows["t"].map({1: 0, 0: 1, 2: 2}))
    other = dprct.ols("y ~ C(t) + age", moved)
    assert one.params.iloc[0] == pytest.approx(other.params["C(t)[T.2]"])
    assert one.bse.iloc[0] == pytest.approx(other.bse["C(t)[T.2]"])
    shifted = dprct.ols("y ~ age", rows).lincom("age = 0.1")
    assert shifted.params.iloc[0] == pytest.approx(dprct.ols("y ~ age", rows).params["age"] - 0.1)


def test_predictions_of_the_rows_are_fitted_values(rows):
    formula = "y ~ C(t)*age + town + I(age ** 2)"
    fit = dprct.ols(formula, rows)
    fitted = fit.predict(rows)
    assert float(((rows["y"] - fitted) ** 2).sum()) == pytest.approx(fit.rmse**2 * fit.df_resid)
    new = rows.loc[[5, 9]].assign(town=["west", None])
    some = fit.predict(new, interval="confidence")
    assert some["estimate"].isna().tolist() == [False, True]
    centred = dprct.ols("y ~ I(age - 30)", rows)
    band = centred.predict(pd.DataFrame({"age": [30.0]}), interval="confidence", alpha=0.1)
    low, high = centred.conf_int(0.1).loc["Intercept"]
    assert band.iloc[0].tolist() == pytest.approx(
        [centred.params["Intercept"], centred.bse["Intercept"], low, high]
    )
    wide = centred.predict(pd.DataFrame({"age": [30.0]}), interval="prediction")
    expected = np.hypot(centred.bse["Intercept"], centred.rmse)
    assert wide["std.error"].item() == pytest.approx(expected)


def test_margins_of_a_linear_model(rows):
    fit = dprct.ols("y ~ C(t)*age + I(age ** 2) + town", rows)
    found = fit.margins("age", rows)
    shares = rows["t"].value_counts(normalize=True)
    weights = {
        "age": 1.0, "I(age ** 2)": 2 * rows["age"].mean(), "C(t)[T.1]:age": shares[1],
        "C(t)[T.2]:age": shares[2],
    }  # fmt: skip
    by_hand = fit.lincom(weights)
    assert found.params["age"] == pytest.approx(by_hand.params.iloc[0], rel=1e-8)
    assert found.bse["age"] == pytest.approx(by_hand.bse.iloc[0], rel=1e-6)
    arms = fit.margins("t", rows)
    for level in (1, 2):
        by_hand = fit.lincom({f"C(t)[T.{level}]": 1.0, f"C(t)[T.{level}]:age": rows["age"].mean()})
        assert arms.params[f"t[{level}]"] == pytest.approx(by_hand.params.iloc[0])
        assert arms.bse[f"t[{level}]"] == pytest.approx(by_hand.bse.iloc[0])


def test_effects_after_a_bar_are_absorbed(rows):
    bar, named = (
        dprct.ols("y ~ age + C(t) | town", rows),
        dprct.ols("y ~ age + C(t)", rows, absorb="town"),
    )
    assert bar.params.equals(named.params)
    assert bar.cov.equals(named.cov)
    with pytest.raises(ParameterError, match="town was absorbed"):
        bar.predict(rows)


def test_what_is_not_known_is_refused(rows):
    fit = dprct.ols("y ~ age + town", rows)
    with pytest.raises(ParameterError, match="a level that was not in the fit"):
        fit.predict(pd.DataFrame({"age": [1.0], "town": ["east"]}))
    with pytest.raises(ColumnError, match="town"):
        fit.predict(pd.DataFrame({"age": [1.0]}))
    with pytest.raises(ParameterError, match="is not a regressor"):
        fit.margins("v", rows)
    with pytest.raises(ParameterError, match="interval"):
        fit.predict(rows, interval="both")
    with pytest.raises(ParameterError, match="not read near"):
        fit.wald_test("agee = 0")
