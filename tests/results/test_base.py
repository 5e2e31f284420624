"""Results with coefficients: inference from params and cov, tables, pickles."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dprct.errors import ParameterError
from dprct.privacy.budget import Budget, Guarantee
from dprct.results.base import LinearResults

NAMES = ["Intercept", "treat"]
GUARANTEE = Guarantee.of(Budget(1), "replace-one-design-public", unit="person")


def results(**change):
    facts = {
        "params": pd.Series([1.0, -2.0], index=NAMES),
        "cov": pd.DataFrame([[0.25, 0.1], [0.1, 1.0]], index=NAMES, columns=NAMES),
        "df_inference": 12.0,
        "df_resid": 12.0,
        "nobs": 14,
        "cov_type": "HC1",
        "guarantee": GUARANTEE,
        "outcome": "y",
    }
    return LinearResults(**(facts | change))


@pytest.mark.parametrize(("df", "law"), [(12.0, stats.t(12)), (np.inf, stats.norm())])
def test_inference_follows_from_params_and_cov(df, law):
    found = results(df_inference=df)
    assert found.bse.to_dict() == {"Intercept": 0.5, "treat": 1.0}
    assert found.tvalues.to_dict() == {"Intercept": 2.0, "treat": -2.0}
    np.testing.assert_allclose(found.pvalues, 2 * law.sf(2), rtol=1e-12)
    for alpha in (0.01, 0.05, 0.5):
        low, high = found.conf_int(alpha).loc["treat"]
        np.testing.assert_allclose([low, high], [-2 + law.ppf(alpha / 2), -2 - law.ppf(alpha / 2)])
    assert found.use_t is np.isfinite(df).item()
    assert ("P>|t|" in found.summary()) is found.use_t


def test_a_zero_standard_error_is_no_warning():
    cov = pd.DataFrame(np.zeros((2, 2)), index=NAMES, columns=NAMES)
    found = results(cov=cov, params=pd.Series([0.0, 1.0], index=NAMES))
    assert np.isnan(found.tvalues["Intercept"])
    assert found.pvalues["treat"] == 0
    assert found.summary()


@pytest.mark.parametrize("alpha", [0, 1, -0.1, float("nan"), "0.05", True])
def test_alpha(alpha):
    with pytest.raises(ParameterError, match="alpha"):
        results().conf_int(alpha)


def test_tidy_and_glance_have_the_names_of_broom():
    tidy = results().tidy()
    assert list(tidy.columns) == [
        "term", "estimate", "std.error", "statistic", "p.value", "conf.low", "conf.high",
    ]  # fmt: skip
    assert tidy["term"].tolist() == NAMES
    noisy = results(bse_noise=pd.Series([0.1, 0.2], index=NAMES))
    assert noisy.tidy()["std.error.noise"].tolist() == [0.1, 0.2]
    assert len(results().glance()) == 1


def test_the_summary_says_everything_once_and_the_same_each_time():
    found = results(bse_noise=pd.Series([0.1, 0.2], index=NAMES))
    text = found.summary()
    assert text == str(found) == results(bse_noise=found.bse_noise).summary()
    for part in ("treat", "-2.0000", "of which noise", "0.2000", "[0.025", "14", "HC1"):
        assert part in text
    assert GUARANTEE.sentence() in " ".join(text.split())
    assert "of which noise" not in results().summary()
    assert "[0.05" in found.summary(alpha=0.1)


def test_every_format_carries_the_guarantee():
    found = results()
    for written in (found.to_latex(), found.to_html(), found._repr_html_(), found.summary()):
        assert "epsilon=1" in " ".join(written.split())


def test_omitted_names_keep_their_place():
    found = results(layout=("Intercept", "gone", "treat"))
    assert found.omitted == ("gone",)
    lines = found.summary().splitlines()
    rows = [line.split()[0] for line in lines if line.startswith(("Intercept", "gone", "treat"))]
    assert rows == ["Intercept", "gone", "treat"]
    assert results().omitted == ()


def test_pickles_copies_and_repr():
    found = results()
    again = pickle.loads(pickle.dumps(found))
    assert again.summary() == found.summary()
    copied = found.cov_params()
    copied.iloc[0, 0] = 99
    assert found.cov.iloc[0, 0] == 0.25
    assert repr(found) == "<LinearResults: 2 coefficients, nobs=14>"
    with pytest.raises(AttributeError):
        found.nobs = 3
