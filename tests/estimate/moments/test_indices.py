"""Indices of outcomes: Kling, Liebman and Katz without noise, refused where noise hides scales."""

from __future__ import annotations

import numpy as np
import pytest

from dprct.errors import ParameterError
from dprct.estimate.moments.indices import index_of
from tests.estimate.moments.of_cells import effects_of_cells as effects_of

ARMS = {"one": (-1, 1, 0), "two": (-1, 0, 1)}


@pytest.fixture
def rows():
    rng = np.random.default_rng(7)
    x = rng.normal(size=(900, 3)) @ np.array([[1, 0.5, 0], [0, 2, 0.3], [0, 0, 4]])
    return [x[:300], x[300:600] + 0.2, x[600:] + 0.5]


def effects(rows, from_rows, s=0.0, **facts):
    rng = np.random.default_rng(0)
    cells = [from_rows(x, "abc", s, s, rng, **facts) for x in rows]
    return effects_of(cells, ["a", "b", "c"], ARMS)


def test_public_scales_give_a_linear_combination(rows, from_rows):
    found = index_of(
        effects(rows, from_rows), ["a", "c"], scales={"a": 2.0, "c": 5.0}, signs={"c": -1}
    )
    index = [(x[:, 0] / 2 - x[:, 2] / 5) / 2 for x in rows]
    assert found.params["two"] == pytest.approx(index[2].mean() - index[0].mean())
    variance = index[2].var(ddof=1) / 300 + index[0].var(ddof=1) / 300
    assert found.combinations.covariance()[1, 1] == pytest.approx(variance)
    assert found.wald_test("one = two").df == 1


def test_released_scales_are_those_of_the_control_group(rows, from_rows):
    found = index_of(effects(rows, from_rows, scale=[3.0, 2, 1]), ["a", "b"], control=0)
    sd = rows[0].std(axis=0, ddof=1)
    tau = rows[1].mean(axis=0) - rows[0].mean(axis=0)
    assert found.params["one"] == pytest.approx((tau[:2] / sd[:2]).mean())
    # the delta method adds little where effects are small against standard deviations
    fixed = index_of(effects(rows, from_rows), ["a", "b"], scales={"a": sd[0], "b": sd[1]})
    assert 1 < found.bse["one"] / fixed.bse["one"] < 1.05


@pytest.mark.long
def test_the_delta_method_is_the_spread_of_large_effects(from_rows):
    rng = np.random.default_rng(1)
    found = []
    for _ in range(600):
        arms = rng.normal(size=(120, 1)), rng.normal(3, 1, size=(120, 1))
        cells = [from_rows(x, "a", 4.0, 6.0, rng) for x in arms]
        both = effects_of(cells, ["a"], {"t": (-1, 1)})
        moved = index_of(both, ["a"], control=0)
        found.append((moved.params["t"], moved.cov.iloc[0, 0], both.cov.iloc[0, 0]))
    values, variances, without = np.array(found).T
    assert np.median(variances) == pytest.approx(values.var(), rel=0.35)
    assert np.median(without) < 0.6 * values.var()


def test_scales_that_noise_hides_are_refused(rows, from_rows):
    noisy = effects(rows, from_rows, s=300.0)
    with pytest.raises(ParameterError, match="give public scales="):
        index_of(noisy, ["a", "b"], control=0)
    assert np.isfinite(index_of(noisy, ["a", "b"], scales={"a": 1, "b": 2}).params).all()


@pytest.mark.parametrize(
    ("asked", "how", "said"),
    [
        ([], {}, "at least one outcome"),
        (["a", "a"], {}, "each one once"),
        (["a", "q"], {"control": 0}, "not an outcome"),
        (["a"], {"scales": {"a": 0.0}}, "above 0"),
        (["a", "b"], {"scales": {"a": 1.0}}, "above 0"),
        (["a"], {"control": 0, "signs": {"a": 2}}, "1 or -1"),
    ],
)
def test_what_cannot_be_an_index_is_refused(rows, from_rows, asked, how, said):
    with pytest.raises(ParameterError, match=said):
        index_of(effects(rows, from_rows), asked, **how)
