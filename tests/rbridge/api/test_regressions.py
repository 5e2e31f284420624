from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct.errors import ParameterError
from dprct.rbridge.convert import Table
from dprct.rbridge.registry import exported
from dprct.schema import Schema

ROWS = pd.DataFrame(
    {
        "y": [1.0, 2, 4, 3, 6, 8, 7, 5],
        "g": [1.0, 2, 2, 1, 3, 3, 1, 2],
        "s": np.array(["u", "v", "u", "v", "u", "v", "v", "u"], dtype=object),
        "x": [1.0, 0, 2, 5, 1, 3, 2, 2],
    }
)
SCHEMA = Schema.from_frame(ROWS)
FORMULAS = ("y ~ x", "y ~ C(g)*x - 1", "y ~ s + C(g)", "y ~ log(x + 1) + I(x ** 2)")


@pytest.mark.parametrize("formula", FORMULAS)
def test_predictions_of_the_rows_are_their_fitted_values(formula: str) -> None:
    fit = exported("ols")(formula, Table(ROWS, SCHEMA))
    X = dprct.formula.design(formula, ROWS).X
    beta, *_ = np.linalg.lstsq(X, ROWS["y"].to_numpy(), rcond=None)
    everywhere = exported("ols_predict")(fit.live, Table(ROWS, SCHEMA))["fit"]
    np.testing.assert_allclose(everywhere, X @ beta, atol=1e-10)
    some = ROWS.iloc[[4, 2]].drop(columns="y").reset_index(drop=True)
    found = exported("ols_predict")(fit.live, Table(some, Schema.from_frame(some)))["fit"]
    np.testing.assert_allclose(found, everywhere[[4, 2]], atol=1e-10)


def test_rows_with_a_missing_regressor_have_no_prediction() -> None:
    fit = exported("ols")("y ~ x", Table(ROWS, SCHEMA))
    rows = ROWS.assign(x=[np.nan, *ROWS["x"][1:]])
    found = exported("ols_predict")(fit.live, Table(rows, SCHEMA))["fit"]
    assert np.isnan(found).tolist() == [True] + [False] * 7


def test_a_level_that_was_not_fitted_is_refused() -> None:
    fit = exported("ols")("y ~ C(g)", Table(ROWS, SCHEMA))
    with pytest.raises(ParameterError, match="was not in the fit"):
        exported("ols_predict")(fit.live, Table(ROWS.assign(g=9.0), SCHEMA))


def test_absorbed_effects_are_not_predicted() -> None:
    fit = exported("ols")("y ~ x", Table(ROWS, SCHEMA), absorb="g")
    with pytest.raises(ParameterError, match="absorbed"):
        exported("ols_predict")(fit.live, Table(ROWS, SCHEMA))


def test_a_table_has_text_latex_and_numbers(nsw: Table) -> None:
    found = exported("itt_table")(nsw, {"re78": "Earnings"}, "treat", options={"draws": 100.0})
    assert "Earnings" in found.fields["text"]
    assert "tabular" in exported("result_view")(found.live, "latex")
    assert "<table" in exported("result_view")(found.live, "html")
    direct = dprct.itt_table(nsw.data, nsw.schema, outcomes={"re78": "Earnings"}, arms=["treat"])
    pd.testing.assert_frame_equal(found.fields["estimates"], direct.tidy())
    with pytest.raises(ParameterError, match="did you mean adjust"):
        exported("itt_table")(nsw, "re78", "treat", options={"adjusted": "holm"})
