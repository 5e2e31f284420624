"""``ols`` against numbers of R (``tests/reference/ols_r.R``), published tables, and laws."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path

import mpmath
import numpy as np
import pandas as pd
import pytest

from dprct.errors import ColumnError, FormulaError, ParameterError
from dprct.privacy.budget import Budget, Guarantee
from dprct.results.ols import ols

REFERENCE = json.loads(
    (Path(__file__).resolve().parents[1] / "reference" / "ols_r.json").read_text(encoding="utf-8")
)
CASES = {case["name"]: case for case in REFERENCE["cases"]}
GRID = [
    (name, kind)
    for name, case in CASES.items()
    for kind in case["inference"]
    if (case["weights_type"], kind) != ("pweight", "nonrobust")  # refused, see below
]
TIGHT = 1e-10


def fitted(case, cov_type):
    clustered = cov_type == "cluster"
    return ols(
        case["formula"],
        pd.DataFrame(case["data"]),
        cov_type=cov_type,
        cluster=case["groups"] if clustered else None,
        weights=case["weights"],
        weights_type=case["weights_type"] or "aweight",
    )


def close(ours, theirs):
    np.testing.assert_allclose(np.asarray(ours, float), np.asarray(theirs, float), rtol=TIGHT)


@pytest.mark.parametrize(("name", "cov_type"), GRID)
def test_estimates_and_inference_are_those_of_r(name, cov_type):
    case = CASES[name]
    result = fitted(case, cov_type)
    theirs = case["inference"][cov_type]
    close(result.params, case["estimate"])
    close(result.bse, theirs["bse"])
    close(result.tvalues, theirs["t"])
    close(result.pvalues, theirs["p"])
    for side, end in enumerate(("low", "high")):  # near 0 an end is a difference of large numbers
        apart = result.conf_int()[side].to_numpy() - np.asarray(theirs[end], float)
        assert np.abs(apart / theirs["bse"]).max() < TIGHT
    scale = np.outer(theirs["bse"], theirs["bse"])
    difference = result.cov_params().to_numpy() - np.asarray(theirs["cov"], float)
    assert np.abs(difference / scale).max() < TIGHT
    assert result.df_inference == theirs["df"]
    if "f" in theirs:
        close(result.fvalue, theirs["f"])


@pytest.mark.parametrize("name", CASES)
def test_the_fit_as_a_whole_is_that_of_r(name):
    case = CASES[name]
    result = fitted(case, "HC1")
    assert result.nobs == case["n"]
    assert result.df_resid == case["n"] - case["rank"]
    close(result.rsquared, case["rsquared"])
    close(result.rsquared_adj, case["rsquared_adj"])
    if case["weights"] is None or case["weights_type"] == "fweight":
        close(result.rmse, case["rmse"])  # R leaves analytic weights as they are, Stata rescales


@pytest.mark.parametrize("name", CASES)
def test_the_columns_that_r_leaves_out_are_omitted(name):
    case = CASES[name]
    result = fitted(case, "HC1")
    assert [column in result.omitted for column in result.layout] == case["omitted"]
    assert ("(omitted)" in result.summary()) == any(case["omitted"])


def test_badly_scaled_regressors_keep_their_digits():
    """In 40 digits, where R's own product of three matrices is right to 1e-10 only."""
    i = np.arange(60)
    data = pd.DataFrame({"y": np.round(np.sin(i) + i / 9, 6), "year": 1990.0 + i % 25})
    result = ols("y ~ year + I((year - 2000) ** 2)", data, cov_type="HC0")
    with mpmath.workdps(40):
        X = mpmath.matrix([[1, t, (t - 2000) ** 2] for t in data["year"]])
        y = mpmath.matrix(data["y"].tolist())
        bread = mpmath.inverse(X.T * X)
        beta = bread * (X.T * y)
        scores = [X[row, :] * (y - X * beta)[row] for row in range(len(i))]
        meat = mpmath.matrix(3, 3)
        for score in scores:
            meat += score.T * score
        cov = bread * meat * bread
        np.testing.assert_allclose(result.params, [float(b) for b in beta], rtol=1e-11)
        np.testing.assert_allclose(
            result.bse, [float(mpmath.sqrt(cov[j, j])) for j in range(3)], rtol=1e-11
        )


def test_thornton_table_4(shared):
    rows = pd.read_stata(
        shared / "data" / "thornton" / "thornton_hiv.dta", convert_categoricals=False
    )
    rows = rows[(rows["test2004"] == 1) & rows["hiv2004"].isin([0, 1])]
    result = ols(
        "got ~ any + male + hiv2004 + age + age2 + rumphi + balaka", rows, cluster="villnum"
    )
    assert f"{result.params['any']:.3f}" == "0.431"
    assert f"{result.bse['any']:.3f}" == "0.023"
    assert result.nobs == 2812


def test_lalonde(shared):
    rows = pd.read_stata(shared / "data" / "lalonde" / "nsw_dw.dta", convert_categoricals=False)
    plain = ols("re78 ~ treat", rows, cov_type="nonrobust")
    assert f"{plain.params['treat']:.0f} ({plain.bse['treat']:.0f})" == "1794 (633)"
    assert f"{ols('re78 ~ treat', rows).bse['treat']:.0f}" == "671"


@pytest.fixture
def rows():
    rng = np.random.default_rng(20)
    n = 60
    x = rng.normal(size=n)
    return pd.DataFrame(
        {
            "y": 1 + 2 * x + rng.normal(size=n),
            "x": x,
            "g": np.repeat(np.arange(12), 5),
            "w": rng.integers(1, 5, n).astype(float),
            "s": np.tile(["a", "b", "c"], 20),
        }
    )


def same(a, b, rtol=1e-9):
    np.testing.assert_allclose(a.params, b.params, rtol=rtol)
    np.testing.assert_allclose(a.bse, b.bse, rtol=rtol)
    assert a.df_inference == b.df_inference


def test_frequencies_are_repeated_rows(rows):
    repeated = rows.loc[rows.index.repeat(rows["w"].astype(int))]
    for options in ({"cov_type": k} for k in ("HC0", "HC1", "HC2", "HC3", "nonrobust")):
        weighted = ols("y ~ x + s", rows, weights="w", weights_type="fweight", **options)
        plain = ols("y ~ x + s", repeated, **options)
        same(weighted, plain)
        assert weighted.nobs == plain.nobs == rows["w"].sum()
        assert weighted.rmse == pytest.approx(plain.rmse)
        assert weighted.fvalue == pytest.approx(plain.fvalue)
    same(
        ols("y ~ x", rows, cluster="g", weights="w", weights_type="fweight"),
        ols("y ~ x", repeated, cluster="g"),
    )


@pytest.mark.parametrize("kind", ["aweight", "pweight"])
def test_the_scale_of_weights_does_not_matter(rows, kind):
    one = ols("y ~ x", rows, weights="w", weights_type=kind)
    other = ols("y ~ x", rows, weights=1000 * rows["w"], weights_type=kind)
    same(one, other)
    assert one.rmse == pytest.approx(other.rmse)
    assert one.nobs == len(rows)


def test_groups_by_name_by_array_and_as_text_agree(rows):
    by_name = ols("y ~ x", rows, cluster="g")
    same(by_name, ols("y ~ x", rows, cov_type="CR1", cluster=rows["g"].to_numpy()))
    same(by_name, ols("y ~ x", rows, cov_type="cluster", cluster=[f"v{g}" for g in rows["g"]]))
    assert by_name.cov_type == "cluster"
    assert by_name.n_groups == 12
    assert by_name.df_inference == 11


def test_every_row_its_own_cluster_is_hc1(rows):
    clustered = ols("y ~ x + s", rows, cluster=np.arange(len(rows)))
    same_but_degrees = ols("y ~ x + s", rows)
    np.testing.assert_allclose(clustered.bse, same_but_degrees.bse, rtol=1e-12)


def test_the_order_of_rows_and_the_index_do_not_matter(rows):
    shuffled = rows.sample(frac=1, random_state=1)
    same(ols("y ~ x + s", rows, cluster="g"), ols("y ~ x + s", shuffled, cluster="g"))


def test_missing_rows_are_dropped_and_counted(rows):
    holes = rows.copy()
    holes.loc[0, "y"] = np.nan
    holes.loc[1, "x"] = np.nan
    holes.loc[2, "s"] = ""
    holes["g"] = holes["g"].astype(float)
    holes.loc[3, "g"] = np.nan
    result = ols("y ~ x + s", holes, cluster="g")
    assert result.rows_dropped == 4
    assert result.nobs == 56
    assert "Rows dropped:" in result.summary()
    same(result, ols("y ~ x + s", rows.iloc[4:], cluster="g"))


def test_zero_weights_drop_rows_as_in_stata(rows):
    zero = rows["w"].where(rows.index >= 5, 0)
    result = ols("y ~ x", rows, weights=zero)
    same(result, ols("y ~ x", rows.iloc[5:], weights="w"))
    assert (result.rows_dropped, result.rows_zero_weight) == (5, 5)


def test_weights_may_be_missing_where_the_row_is_not_complete_anyway(rows):
    rows = rows.copy()
    rows.loc[0, ["y", "w"]] = np.nan
    assert ols("y ~ x", rows, weights="w").nobs == 59
    rows.loc[1, "w"] = np.nan
    with pytest.raises(ParameterError, match="weights 'w' are missing"):
        ols("y ~ x", rows, weights="w")


def test_polars_and_nullable_types_give_the_same(rows):
    pl = pytest.importorskip("polars")
    expected = ols("y ~ x + s", rows, cluster="g")
    columns = {name: rows[name].to_numpy() for name in ("y", "x", "g")} | {"s": rows["s"].tolist()}
    same(expected, ols("y ~ x + s", pl.DataFrame(columns), cluster="g"))
    same(expected, ols("y ~ x + s", pl.LazyFrame(columns), cluster="g"))
    same(expected, ols("y ~ x + s", rows.convert_dtypes(), cluster="g"))


def test_constant_regressors_and_outcomes_are_no_error(rows):
    result = ols("y ~ x + one", rows.assign(one=1.0))
    assert result.omitted == ("one",)
    constant = ols("one ~ x", rows.assign(one=1.0))
    assert constant.params["Intercept"] == pytest.approx(1)
    assert np.isnan(constant.rsquared)


def test_results_hold_no_rows(rows):
    result = ols("y ~ x + s", rows, cluster="g", weights="w")
    bytes_of = pickle.dumps(result)
    for column in ("y", "x"):
        for value in rows[column]:
            assert np.float64(value).tobytes() not in bytes_of
    copy = pickle.loads(bytes_of)
    assert copy.summary() == result.summary()
    assert len(bytes_of) < 6000  # of the order of k^2 numbers, not of n


def test_the_size_of_a_pickle_does_not_grow_with_the_rows(rows):
    many = pd.concat([rows] * 50, ignore_index=True)
    small, large = (len(pickle.dumps(ols("y ~ x", frame))) for frame in (rows, many))
    assert abs(small - large) < 50


def test_input_is_not_changed(rows):
    before = rows.copy()
    ols("y ~ x + C(g) + s", rows, weights="w")
    pd.testing.assert_frame_equal(rows, before)


def test_a_released_guarantee_is_printed_with_what_the_errors_leave_out(rows):
    guarantee = Guarantee.of(Budget(1), "replace-one", unit="person")
    released = ols("y ~ x", rows, guarantee=guarantee)
    text = " ".join(released.summary().split())
    assert guarantee.sentence() in text
    assert "do not include the noise of the release" in text
    plain = " ".join(ols("y ~ x", rows).summary().split())
    assert "No differential-privacy guarantee, because this is an ordinary fit" in plain


def test_glance_and_facts_count(rows):
    result = ols("y ~ x + s", rows, cluster="g")
    row = result.glance().iloc[0]
    assert (row["nobs"], row["n_groups"], row["df"]) == (60, 12, 3)
    assert row["r.squared"] == result.rsquared
    assert "Clusters:" in result.summary()


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"cov_type": "robust"}, "Stata's robust is HC1"),
        ({"cov_type": 3}, "cov_type= is 3; give text"),
        ({"cov_type": "cluster"}, "needs cluster="),
        ({"cov_type": "HC3", "cluster": "g"}, "leave out one"),
        ({"cluster": [1, 2]}, "2 values for 60 rows"),
        ({"cluster": np.ones(60)}, "at least two"),
        ({"weights": "w", "weights_type": "iweight"}, "no sampling meaning"),
        ({"weights": "w", "weights_type": "weight"}, "allowed: aweight, fweight, pweight"),
        ({"weights": "w", "weights_type": "pweight", "cov_type": "nonrobust"}, "need a robust"),
        ({"weights": -np.ones(60)}, "negative"),
        ({"weights": np.full(60, np.inf)}, "infinite"),
        ({"weights": np.zeros(60)}, "zero in every"),
        ({"weights": np.full(60, 1.5), "weights_type": "fweight"}, "not whole numbers"),
        ({"weights": "s"}, "hold text"),
        ({"weights": np.ones(59)}, "59 values for 60 rows"),
    ],
)
def test_options_are_refused_in_one_sentence(rows, change, match):
    with pytest.raises(ParameterError, match=match):
        ols("y ~ x", rows, **change)


def test_formulas_that_ols_cannot_fit(rows):
    with pytest.raises(FormulaError, match="has 2"):
        ols("y + x ~ w", rows)
    with pytest.raises(FormulaError, match="has 0"):
        ols("~ w", rows)
    with pytest.raises(FormulaError, match="'s' holds text"):
        ols("s ~ x", rows)
    with pytest.raises(ColumnError, match="did you mean"):
        ols("y ~ x", rows, cluster="gg")


def test_nothing_left_to_fit(rows):
    with pytest.raises(ParameterError, match="column 'y' is missing in every row"):
        ols("y ~ x", rows.assign(y=np.nan))
    with pytest.raises(ParameterError, match="the data have no rows"):
        ols("y ~ x", rows.iloc[:0])
    with pytest.raises(ParameterError, match="every regressor is zero"):
        ols("y ~ 0 + x", rows.assign(x=0))
    half = rows.index % 2 == 0
    with pytest.raises(ParameterError, match="none has all its variables"):
        ols("y ~ x", rows.assign(y=rows["y"].where(half), x=rows["x"].where(~half)))
    with pytest.raises(ParameterError, match="2 observations for 2 coefficients"):
        ols("y ~ x", rows.iloc[:2])
    with pytest.raises(ParameterError, match="'x' is infinite"):
        ols("y ~ x", rows.assign(x=np.inf))
    with pytest.raises(ParameterError, match="HC3 is not defined"):
        ols("y ~ C(alone)", rows.assign(alone=np.r_[1, np.zeros(59)]), cov_type="HC3")


def test_statsmodels_and_formulaic_are_not_imported_with_the_package():
    code = (
        "import sys, dprct; print(sorted({'statsmodels', 'formulaic', 'scipy'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
