"""Every number of a table of effects is that of ``ols``, over the grid of options."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import dprct
from dprct.results.multiple_testing import bonferroni, holm

ARMS = ["t1", "t2"]


def experiment(n=160):
    rng = np.random.default_rng(21)
    arm = rng.permutation(np.arange(n) % 3)
    x = rng.normal(size=n)
    y = rng.normal(size=(n, 3)) * (1 + arm)[:, None] + x[:, None] + 0.4 * (arm == 1)[:, None]
    y[rng.random((n, 3)) < 0.05] = np.nan
    return pd.DataFrame(y, columns=["a", "b", "c"]).assign(
        t1=(arm == 1).astype(int),
        t2=(arm == 2).astype(int),
        x=np.where(rng.random(n) < 0.03, np.nan, x),
        block=rng.integers(1, 6, n),
        g=rng.integers(0, 20, n),
        w=rng.integers(0, 4, n),
    )


DATA = experiment()
RIGHT = "t1 + t2 + x + C(block)"


def made(**options):
    return dprct.itt_table(
        DATA, outcomes=["a", "b", "c"], arms=ARMS, covariates=["x"], blocks=["block"], **options
    ).estimates


@pytest.mark.parametrize(
    "options",
    [
        *({"cov_type": kind} for kind in ("HC1", "HC0", "HC2", "HC3", "nonrobust")),
        {"cluster": "g"},
        {"weights": "w"},
        {"weights": "w", "weights_type": "fweight"},
        {"weights": "w", "weights_type": "pweight", "cluster": "g"},
    ],
)
def test_the_regressions_are_those_of_ols(options):
    found = made(**options)
    for outcome, part in found.groupby("outcome"):
        fit = dprct.ols(f"{outcome} ~ {RIGHT}", DATA, **options)
        rows = part.set_index("arm")
        np.testing.assert_allclose(rows["estimate"], fit.params[ARMS], rtol=1e-10)
        np.testing.assert_allclose(rows["std.error"], fit.bse[ARMS], rtol=1e-10)
        np.testing.assert_allclose(rows["p.value"], fit.pvalues[ARMS], rtol=1e-8)
        assert set(rows["nobs"]) == {fit.nobs}
        assert set(rows["df"]) == {fit.df_inference}
        assert set(rows["rank"]) == {len(fit.params)}


def test_the_normal_tail_beyond_t_is_half_the_two_sided_p_value():
    t = made()["statistic"]
    one = made(alternative="one-sided", distribution="normal")["p.value"]
    two = made(distribution="normal")["p.value"]
    np.testing.assert_allclose(one, stats.norm.cdf(-np.abs(t)), rtol=1e-12)
    np.testing.assert_allclose(two, 2 * one, rtol=1e-12)
    df = made()["df"]
    np.testing.assert_allclose(made(alternative="one-sided")["p.value"], stats.t.cdf(-abs(t), df))


@pytest.mark.parametrize(("name", "adjusting"), [("bonferroni", bonferroni), ("holm", holm)])
def test_p_values_are_adjusted_within_families(name, adjusting):
    found = made(
        adjust=name, families={"main": ["a"], "rest": ["b", "c"]}, family_sizes={"main": 9}
    )
    p = found["p.value"].to_numpy()
    np.testing.assert_array_equal(found["p.adjusted"], [*adjusting(p[:2], 9), *adjusting(p[2:])])
    assert found["family"].tolist() == ["main"] * 2 + ["rest"] * 4
    assert found["family_size"].tolist() == [9] * 2 + [4] * 4
    by_arm = made(adjust=name, families="arm")
    np.testing.assert_array_equal(by_arm["p.adjusted"][::2], adjusting(p[::2]))


def test_without_adjustment_there_is_none():
    assert made()["p.adjusted"].isna().all()


def test_resampled_p_values_belong_to_their_hypotheses():
    """Outcomes of one sample stand together in the draws, not in the table."""
    rng = np.random.default_rng(30)
    n = 200
    arm = np.arange(n) % 2
    first, last = rng.normal(size=n), rng.normal(size=n)
    data = pd.DataFrame({"y1": first + 3 * arm, "y2": rng.normal(size=n), "y3": last, "t": arm})
    data.loc[0, "y2"] = np.nan
    table = dprct.itt_table(
        data, outcomes=["y1", "y2", "y3"], arms=["t"], adjust="romano-wolf", families="outcome",
        draws=4000, rng=5,
    ).estimates  # fmt: skip
    assert table["outcome"].tolist() == ["y1", "y2", "y3"]
    # families of one: no adjustment but the bootstrap's own, within 6 standard errors
    margin = 6.2 * np.sqrt(0.25 / 4000) + 0.02
    assert np.abs(table["p.adjusted"] - table["p.value"]).max() < margin
    assert table["p.adjusted"].iloc[0] == 1 / 4001


def test_min_p_is_max_t_where_degrees_of_freedom_agree():
    data = DATA.dropna()
    both = [
        dprct.itt_table(data, outcomes=["a", "b"], arms=ARMS, adjust=name, draws=300, rng=3)
        for name in ("westfall-young", "romano-wolf")
    ]
    one, other = (table.estimates["p.adjusted"].tolist() for table in both)
    assert one == other


def test_clusters_are_resampled_whole():
    """Twenty copies of each person, clustered: the p-values of the persons, not of 20 n rows."""
    data = DATA.dropna().reset_index(drop=True)
    copies = pd.concat([data] * 20, ignore_index=True)
    person = np.tile(np.arange(len(data)), 20)
    options = {"outcomes": ["a", "b"], "arms": ARMS, "adjust": "romano-wolf", "draws": 3000}
    alone = dprct.itt_table(data, cov_type="HC1", rng=1, **options).estimates["p.adjusted"]
    together = dprct.itt_table(copies, cluster=person, rng=2, **options).estimates["p.adjusted"]
    rows = dprct.itt_table(copies, rng=3, **options).estimates["p.adjusted"]
    assert np.abs(alone - together).max() < 0.1
    assert np.abs(alone - rows).max() > 0.2
