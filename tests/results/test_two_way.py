"""Errors clustered in two ways, against R's (``tests/reference/two_way_r.R``), and laws."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dprct.errors import ColumnError, ParameterError
from dprct.results.ols import ols

REFERENCE = json.loads(
    (Path(__file__).resolve().parents[1] / "reference" / "two_way_r.json").read_text("utf-8")
)
CASES = {case["name"]: case for case in REFERENCE["cases"]}
TIGHT = 1e-10


def close(ours, theirs):
    np.testing.assert_allclose(np.asarray(ours, float), np.asarray(theirs, float), rtol=TIGHT)


@pytest.fixture
def rows():
    rng = np.random.default_rng(20)
    frame = pd.DataFrame({"x": rng.normal(size=300), "a": rng.integers(0, 12, 300)})
    frame["b"] = rng.integers(0, 20, 300)
    frame["y"] = frame["x"] * (1 + frame["a"] % 3) + frame["b"] / 9 + rng.normal(size=300)
    return frame


@pytest.mark.parametrize("name", CASES)
def test_two_ways_are_those_of_r(name):
    case = CASES[name]
    result = ols(
        case["formula"], pd.DataFrame(case["data"]), cluster=case["ways"], weights=case["weights"]
    )
    close(result.params, case["estimate"])
    close(result.bse, case["bse"])
    close(result.tvalues, case["t"])
    close(result.pvalues, case["p"])
    close(result.conf_int()[0], case["low"])
    close(result.conf_int()[1], case["high"])
    scale = np.outer(case["bse"], case["bse"])
    assert np.abs((result.cov_params() - np.array(case["cov"])).to_numpy() / scale).max() < TIGHT
    assert result.df_inference == case["df"]
    assert result.n_groups == case["df"] + 1


def test_statsmodels_agrees_where_all_three_numbers_of_clusters_are_corrected_alike(rows):
    from statsmodels.regression.linear_model import OLS
    from statsmodels.stats.sandwich_covariance import cov_cluster_2groups

    fit = OLS(rows["y"].to_numpy(), np.column_stack([np.ones(300), rows["x"]])).fit()
    both, _, _ = cov_cluster_2groups(fit, rows["a"].to_numpy(), rows["b"].to_numpy())
    close(ols("y ~ x", rows, cluster=["a", "b"]).cov_params(), both)


def test_nested_ways_are_the_coarser_one(rows):
    rows["inside"] = rows["a"] * 100 + rows["b"] % 4
    two, one = ols("y ~ x", rows, cluster=["inside", "a"]), ols("y ~ x", rows, cluster="a")
    close(two.cov_params(), one.cov_params())
    assert two.df_inference == one.df_inference == rows["a"].nunique() - 1


def test_the_order_of_the_ways_does_not_matter_and_names_are_no_values(rows):
    close(
        ols("y ~ x", rows, cluster=["a", "b"]).cov_params(),
        ols("y ~ x", rows, cluster=("b", "a")).cov_params(),
    )
    close(
        ols("y ~ x", rows, cluster=["a"]).cov_params(), ols("y ~ x", rows, cluster="a").cov_params()
    )


def test_both_numbers_of_clusters_are_said_and_rows_without_either_left_out(rows):
    holes = rows.astype({"a": float, "b": float})
    holes.loc[0, "a"] = holes.loc[1, "b"] = np.nan
    result = ols("y ~ x", holes, cluster=["a", "b"])
    assert result.rows_dropped == 2
    assert result.n_groups_each == (12, 20)
    assert "12 and 20" in str(result.summary())
    close(result.cov_params(), ols("y ~ x", rows.iloc[2:], cluster=["a", "b"]).cov_params())


def test_absorbed_effects_are_dummies(rows):
    rows["c"] = (rows["a"] + rows["b"]) % 5
    absorbed = ols("y ~ x", rows, cluster=["a", "b"], absorb="c")
    dummies = ols("y ~ x + C(c)", rows, cluster=["a", "b"])
    np.testing.assert_allclose(absorbed.bse["x"], dummies.bse["x"], rtol=1e-9)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"cluster": ["a", "a"]}, "'a' twice"),
        ({"cluster": ["a", "b", "x"]}, "three ways are not offered"),
        ({"cluster": ["a", "b"], "cov_type": "HC3"}, "leave out one"),
        ({"cluster": ["a", "b"], "absorb": "b", "fe_df": "fixest"}, "fe_df='areg'"),
    ],
)
def test_what_is_not_offered_is_refused(rows, options, match):
    with pytest.raises(ParameterError, match=match):
        ols("y ~ x", rows, **options)


def test_a_way_must_be_a_column(rows):
    with pytest.raises(ColumnError):
        ols("y ~ x", rows, cluster=["a", "village"])


def test_a_negative_variance_is_refused_and_not_given_as_a_root_of_it():
    # residuals that cancel within each cluster of both ways, and not within their cells
    sign = np.array([1.0, -1.0, -1.0, 1.0])
    rows = pd.DataFrame(
        {"y": np.tile(sign, 3), "a": np.tile([0, 0, 1, 1], 3), "b": np.tile([0, 1, 0, 1], 3)}
    )
    with pytest.raises(ParameterError, match="negative variance"):
        ols("y ~ 1", rows, cluster=["a", "b"])
