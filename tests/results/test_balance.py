"""Balance tables against t tests, regressions and an F of all columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import dprct
from dprct.errors import ColumnError, ParameterError


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    n = 160
    frame = pd.DataFrame(
        {"t": np.arange(n) % 2, "age": rng.normal(40, 9, n), "female": rng.integers(0, 2, n),
         "stratum": np.arange(n) // 40, "village": np.arange(n) // 8}
    )  # fmt: skip
    frame.loc[[3, 8], "age"] = np.nan
    return frame


def test_differences_are_those_of_t_tests(rows):
    found = dprct.balance_table(
        rows, columns=["age", "female"], treatment="t", cov_type="nonrobust"
    )
    treated, control = (rows.loc[rows["t"] == a, "age"].dropna() for a in (1, 0))
    test = stats.ttest_ind(treated, control)
    line = found.table.loc["age"]
    assert line["difference"] == pytest.approx(treated.mean() - control.mean())
    assert line["p.value"] == pytest.approx(test.pvalue)
    assert line["sd.control"] == pytest.approx(control.std())
    assert line["nobs"] == 158
    pooled = np.sqrt((treated.var() + control.var()) / 2)
    assert line["normalized.difference"] == pytest.approx(
        (treated.mean() - control.mean()) / pooled
    )


def test_the_joint_test_is_the_f_of_the_regression_of_treatment(rows):
    found = dprct.balance_table(rows, columns=["age", "female"], treatment="t")
    fit = dprct.ols("t ~ age + female", rows)
    assert found.joint_f == pytest.approx(fit.fvalue)
    assert found.joint_p == pytest.approx(fit.f_pvalue)
    assert found.joint_df == (2, 155)
    assert "158 rows that have all" in found.summary()


def test_blocks_and_clusters_are_those_of_the_regression(rows):
    found = dprct.balance_table(
        rows, columns=["age"], treatment="t", blocks=["stratum"], cluster="village"
    )
    fit = dprct.ols("age ~ t + C(stratum)", rows, cluster="village")
    assert found.table.loc["age", "std.error"] == pytest.approx(fit.bse["t"])
    assert found.table.loc["age", "p.value"] == pytest.approx(fit.pvalues["t"])
    assert found.joint_df[1] == 19


def test_every_form_of_it_prints_labels_and_counts(rows):
    schema = dprct.Schema((dprct.Column("age", label="Age in years"),))
    found = dprct.balance_table(rows, schema, columns=["age"], treatment="t")
    for text in (found.summary(), found.to_latex(), found.to_html()):
        assert "Age in years" in text
        assert "Joint test" in text
    assert found.tidy()["term"].tolist() == ["age"]
    assert "ordinary fit" in found.summary()


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"columns": []}, ParameterError, "columns= is empty"),
        ({"columns": ["age"], "treatment": "stratum"}, ParameterError, "must be 0 and 1"),
        ({"columns": ["town"]}, ParameterError, "holds text"),
        ({"columns": ["none"]}, ColumnError, "none"),
    ],
)
def test_what_cannot_be_compared_is_refused(rows, options, error, words):
    with pytest.raises(error, match=words):
        dprct.balance_table(rows.assign(town="a"), **{"treatment": "t", **options})
