"""Effects from released moments: classical formulas without noise, and the law with it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dprct.errors import ParameterError
from dprct.estimate.moments.effects import arm_shares, means_of
from tests.estimate.moments.of_cells import effects_of_cells as effects_of
from tests.estimate.moments.of_cells import selected

ARMS = {"cash": (-1, 1, 0), "both": (-1, 0, 1)}


@pytest.fixture
def rows():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(90, 3)) @ rng.normal(size=(3, 3)) + 4
    return [x[:20], x[20:50], x[50:]]


@pytest.fixture
def exact(rows, from_rows):
    units = {"centre": [1.0, 2.0, 3.0], "scale": [0.5, 2.0, 7.0], "weight": [1.0, 1.5, 3.0]}
    return [from_rows(x, ("a", "b", "c"), **units) for x in rows]


def noisy_cells(rng, sizes, p, s1, s2, from_rows, **how):
    names = tuple(f"y{j}" for j in range(p))
    return [from_rows(rng.normal(size=(n, p)), names, s1, s2, rng, **how) for n in sizes]


def test_without_noise_it_is_welch(rows, exact):
    found = effects_of(exact, ["b", "a"], ARMS)
    assert list(found.params.index) == ["b: cash", "b: both", "a: cash", "a: both"]
    welch = stats.ttest_ind(rows[1][:, 1], rows[0][:, 1], equal_var=False)
    interval = welch.confidence_interval(0.9)
    assert found.params["b: cash"] == pytest.approx(rows[1][:, 1].mean() - rows[0][:, 1].mean())
    assert found.conf_int(0.1).loc["b: cash"].tolist() == pytest.approx([*interval])
    assert found.pvalues["b: cash"] == pytest.approx(welch.pvalue)
    assert found.control.loc["a", "mean"] == pytest.approx(rows[0][:, 0].mean())
    assert found.control.loc["a", "sd"] == pytest.approx(rows[0][:, 0].std(ddof=1))
    assert (found.bse_noise == 0).all()


def test_without_noise_the_joint_covariance_is_that_of_means(rows, exact):
    found = effects_of(exact, ["a", "b"], ARMS)
    of_means = [np.cov(x[:, :2].T) / len(x) for x in rows]
    joint = found.combinations.covariance()
    expected = of_means[0] + of_means[1]
    assert joint[0, 2] == pytest.approx(expected[0, 1])  # a: cash with b: cash
    assert joint[0, 1] == pytest.approx(of_means[0][0, 0])  # a: cash with a: both
    assert joint[0, 3] == pytest.approx(of_means[0][0, 1])


def test_units_and_order_of_columns_change_nothing(rows, from_rows):
    rng = np.random.default_rng(0)
    noisy = [from_rows(x, ("a", "b", "c"), 2.0, 5.0, rng) for x in rows]
    found = effects_of(noisy, ["a", "c"], ARMS)
    turned = [selected(cell, ("c", "b", "a")) for cell in noisy]
    other = effects_of(turned, ["a", "c"], ARMS)
    np.testing.assert_allclose(found.conf_int(), other.conf_int(), rtol=1e-12)
    scaled = []
    for x, seed in zip(rows, range(3), strict=True):
        cell = from_rows(x, ("a", "b", "c"), 2.0, 5.0, np.random.default_rng(seed))
        tenfold = from_rows(
            10 * x + 3, ("a", "b", "c"), 2.0, 5.0, np.random.default_rng(seed),
            centre=[3.0] * 3, scale=[10.0] * 3,
        )  # fmt: skip
        scaled.append((cell, tenfold))
    one, ten = (effects_of(c, ["b"], ARMS) for c in zip(*scaled, strict=True))
    np.testing.assert_allclose(10 * one.conf_int(), ten.conf_int(), rtol=1e-9)
    np.testing.assert_allclose(one.pvalues, ten.pvalues, rtol=1e-9)


def test_contrasts_of_effects_are_effects_of_contrasts(rows, from_rows):
    rng = np.random.default_rng(2)
    noisy = [from_rows(x, ("a", "b", "c"), 1.0, 2.0, rng) for x in rows]
    both = effects_of(noisy, ["a"], ARMS)
    found = both.lincom("cash - both")
    direct = effects_of(noisy, ["a"], {"d": (0, 1, -1)})
    np.testing.assert_allclose(found.conf_int(0.1), direct.conf_int(0.1), rtol=1e-12)
    shifted = both.lincom("cash - both = 2")
    assert shifted.params.iloc[0] == pytest.approx(direct.params["d"] - 2)


def test_a_single_joint_test_is_close_to_its_own_p_value(exact):
    found = effects_of(exact, ["a"], ARMS)
    test = found.wald_test("cash = 0")
    assert test.statistic == pytest.approx(
        found.params["cash"] ** 2 / found.combinations.covariance()[0, 0]
    )
    repeated = found.wald_test(["cash = both", "both = cash"])
    assert repeated.df == 1
    assert np.isnan(found.wald_test(["cash = 0", "cash = 1"]).pvalue)


def test_blocks_weigh_by_their_rows(rows, from_rows):
    cells = [from_rows(x, ("a", "b", "c")) for x in (rows[0], rows[1], rows[2][:15], rows[2][15:])]
    labels, rows_of = list(zip("ctct", "uuvv", strict=True)), np.array([[c.n for c in cells]])
    found = effects_of(cells, ["a"], {"t": (-1, 1)}, arm_shares(labels, rows_of, "ct"))
    m = [x[:, 0].mean() for x in (rows[0], rows[1], rows[2][:15], rows[2][15:])]
    assert found.params["t"] == pytest.approx((m[1] - m[0]) * 50 / 90 + (m[3] - m[2]) * 40 / 90)
    with pytest.raises(ParameterError, match="no cell in block"):
        arm_shares(labels[:3], rows_of[:, :3], "ct")


def test_a_private_cell_of_few_rows_is_not_estimated(from_rows, scales):
    rng = np.random.default_rng(1)
    s1, s2 = scales(2.0, 2.0, 1.0)
    cells = noisy_cells(rng, (400, 400), 2, s1, s2, from_rows, private=True)
    few = noisy_cells(rng, (12,), 2, s1, s2, from_rows, private=True)
    found = effects_of([*cells, *few], ["y0"], ARMS)
    assert np.isfinite(found.params["cash"])
    assert np.isnan(found.params["both"])
    assert np.isnan(found.pvalues["both"])
    assert "Not estimated" in found.summary()
    assert np.isfinite(found.adjusted_pvalues()["cash"])
    assert np.isfinite(found.simultaneous().loc["cash"]).all()


def test_it_is_drawn_and_printed(exact):
    pytest.importorskip("matplotlib")
    found = effects_of(exact, ["a", "b"], ARMS)
    axes = found.plot_outcomes()
    assert [ax.get_title() for ax in axes] == ["a", "b"]
    assert "of which noise" in found.summary()
    assert list(found.tidy().columns)[-1] == "std.error.noise"


def test_family_wise_p_values_lie_between_single_and_holm(exact):
    from dprct.results.multiple_testing import holm

    found = effects_of(exact, ["a", "b", "c"], ARMS)
    single, adjusted = found.pvalues.to_numpy(), found.adjusted_pvalues().to_numpy()
    assert (adjusted >= single).all()
    assert (adjusted <= holm(single) * 1.02 + 1e-3).all()
    own = found.adjusted_pvalues({"first": ["a: cash"], "rest": ["b: cash", "b: both"]})
    assert own["a: cash"] == pytest.approx(single[0], abs=2e-3)
    assert np.isnan(own["c: cash"])
    with pytest.raises(ParameterError, match="not an effect here"):
        found.adjusted_pvalues({"x": ["nothing"]})


def test_means_of_a_cell_are_unbiased(from_rows):
    rng = np.random.default_rng(8)
    x = rng.normal(size=(50, 2))
    drawn = [means_of(from_rows(x, ("a", "b"), 6.0, 9.0, rng)) for _ in range(4000)]
    bias = np.mean([one.sampling for one in drawn], axis=0) - np.cov(x.T) / 50
    sd = np.std([one.sampling for one in drawn], axis=0) / np.sqrt(4000)
    assert (np.abs(bias) < 6 * sd).all()
    uncorrected = 36 / 50 / 50 / 49  # what S S' would add
    assert uncorrected > 4 * sd[0, 0]
    assert np.std([one.sampling[0, 0] for one in drawn]) == pytest.approx(drawn[0].spread, rel=0.15)


def test_empty_asks_are_refused(exact):
    with pytest.raises(ParameterError, match="at least one outcome"):
        effects_of(exact, ["a"], {})
