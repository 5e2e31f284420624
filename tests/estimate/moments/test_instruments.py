"""Instrumental variables from released moments: Fieller sets, Anderson-Rubin, two stages."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from dprct.errors import ParameterError
from dprct.estimate.moments.instruments import iv_of
from dprct.estimate.moments.system import Regressor
from dprct.privacy.budget import Guarantee

NONE = Guarantee.none("these are made-up rows")
CONSTANT = Regressor("Intercept")


def column(name):
    return Regressor(name, name)


def rows(strength, seed=0, n=300, K=1):
    rng = np.random.default_rng(seed)
    z, v, x = rng.normal(size=(n, K)), rng.normal(size=n), rng.normal(size=n)
    d = strength * z.sum(axis=1) + 0.5 * x + v
    y = 1 + 2 * d + x + v + rng.normal(size=n)
    return np.column_stack([y, d, x, z])


def found_of(table, from_rows, K=1, s=0.0, seed=0, **how):
    names = ["y", "d", "x", *(f"z{i}" for i in range(K))]
    rng = np.random.default_rng(seed)
    cell = from_rows(table, names, s / math.sqrt(2), s, rng)
    z = [column(name) for name in names[3:]]
    return iv_of([cell], "y", "d", [CONSTANT, column("x")], z, guarantee=NONE, **how)


def two_stage(table, K):
    y, d, x = table[:, 0], table[:, 1], table[:, 2]
    ones = np.ones_like(y)
    Z = np.column_stack([ones, x, table[:, 3 : 3 + K]])
    X = np.column_stack([ones, x, d])
    fitted = Z @ np.linalg.lstsq(Z, X, rcond=None)[0]
    beta = np.linalg.solve(fitted.T @ X, fitted.T @ y)
    e = y - X @ beta
    return beta, e @ e / (len(y) - 3) * np.linalg.inv(fitted.T @ fitted)


def anderson_rubin(table, K, value):
    y, d, x = table[:, 0], table[:, 1], table[:, 2]
    X = np.column_stack([np.ones_like(y), x])
    Z = np.column_stack([X, table[:, 3 : 3 + K]])
    u = y - value * d

    def squares(W):
        return ((u - W @ np.linalg.lstsq(W, u, rcond=None)[0]) ** 2).sum()

    return (squares(X) - squares(Z)) / (squares(Z) / (len(y) - 2 - K))


@pytest.mark.parametrize("K", [1, 3])
def test_without_noise_it_is_two_stage_least_squares(K, from_rows):
    table = rows(0.7, K=K)
    found = found_of(table, from_rows, K)
    beta, cov = two_stage(table, K)
    assert list(found.params.index) == ["Intercept", "x", "d"]
    np.testing.assert_allclose(found.params, beta, rtol=1e-8)
    np.testing.assert_allclose(found.cov_params(), cov, rtol=1e-7)


@pytest.mark.parametrize("K", [1, 3])
def test_without_noise_the_set_is_anderson_and_rubins(K, from_rows):
    table = rows(0.7, K=K)
    found = found_of(table, from_rows, K)
    inside = found.confidence_set(0.1)
    assert inside.kind == "interval"
    critical = K * stats.f.ppf(0.9, K, 298 - K)
    for end in inside.parts[0]:
        assert anderson_rubin(table, K, end) == pytest.approx(critical, rel=1e-6)
    assert found.pvalues["d"] == pytest.approx(
        stats.f.sf(anderson_rubin(table, K, 0.0) / K, K, 298 - K)
    )
    assert found.conf_int(0.1).loc["d"].tolist() == [*inside.parts[0]]


def test_every_kind_of_fieller_set(from_rows):
    """With one instrument W(lambda) <= c is a quadratic inequality; its roots are the ends."""
    kinds = {}
    for strength in (0.7, 0.1, 0.0):
        for seed in range(6):
            table = rows(strength, seed)
            found = found_of(table, from_rows).confidence_set()
            kinds.setdefault(found.kind, (table, found))
    assert set(kinds) == {"interval", "two rays", "all numbers"}
    table, found = kinds["two rays"]
    (low, a), (b, high) = found.parts
    assert (low, high) == (-math.inf, math.inf)
    assert a < b
    critical = stats.f.ppf(0.95, 1, 297)
    for end in (a, b):
        assert anderson_rubin(table, 1, end) == pytest.approx(critical, rel=1e-6)
    assert (a + b) / 2 not in found
    assert anderson_rubin(table, 1, (a + b) / 2) > critical
    assert " and " in str(found)
    table, found = kinds["all numbers"]
    assert max(anderson_rubin(table, 1, v) for v in np.linspace(-99, 99, 400)) < critical
    assert found.hull == (-math.inf, math.inf)


def test_instruments_that_contradict_each_other_leave_an_empty_set(from_rows):
    table = rows(1.0, K=2)
    table[:, 0] += 3 * table[:, 3]
    found = found_of(table, from_rows, 2)
    assert found.confidence_set().kind == "empty"
    assert found.conf_int().loc["d"].isna().all()
    assert "empty" in found.summary()


def test_arms_are_instruments(from_rows):
    rng = np.random.default_rng(3)
    arms = []
    for share in (0.1, 0.4, 0.8):
        v = rng.normal(size=200)
        d = (v < stats.norm.ppf(share)) * 1.0
        arms.append(np.column_stack([0.5 * d + v, d]))
    cells = [from_rows(x, "yd") for x in arms]
    z = [Regressor("one", None, (0, 1, 0)), Regressor("two", None, (0, 0, 1))]
    found = iv_of(cells, "y", "d", [CONSTANT], z, guarantee=NONE, by_cell=True)
    # the test of section "Anderson-Rubin over the arms": diag(q_a) + q_0
    value = 0.3
    u = [x[:, 0] - value * x[:, 1] for x in arms]
    tau = np.array([one.mean() - u[0].mean() for one in u[1:]])
    q = [one.var() / 200 * 600 / 597 for one in u]
    W = tau @ np.linalg.solve(np.diag(q[1:]) + q[0], tau)
    assert found.reduced.of(value) == pytest.approx(W)
    one = iv_of(cells[:2], "y", "d", [CONSTANT], [Regressor("z", None, (0, 1))], guarantee=NONE)
    m = [x.mean(axis=0) for x in arms]
    assert one.params["d"] == pytest.approx((m[1] - m[0])[0] / (m[1] - m[0])[1])


def test_units_change_nothing(from_rows):
    table = rows(0.7)
    k = np.array([10.0, 2.0, 0.1, 7.0])
    names = ["y", "d", "x", "z"]
    sets = []
    for unit in (np.ones(4), k):
        cell = from_rows(table * unit, names, 3.0, 4.0, np.random.default_rng(1), scale=unit)
        found = iv_of([cell], "y", "d", [CONSTANT, column("x")], [column("z")], guarantee=NONE)
        sets.append(np.array(found.confidence_set().parts))
    np.testing.assert_allclose(sets[1] * k[1] / k[0], sets[0], rtol=1e-6)


def test_noise_beyond_the_gate_is_not_estimated(from_rows):
    found = found_of(rows(0.7), from_rows, s=500.0)
    assert found.params.isna().all()
    assert found.pvalues.isna().all()
    assert found.confidence_set().kind == "all numbers"
    assert "Not estimated" in found.summary()


def test_no_instrument_is_refused(from_rows):
    cell = from_rows(rows(0.7), ["y", "d", "x", "z"])
    with pytest.raises(ParameterError, match="no instrument is left"):
        iv_of([cell], "y", "d", [CONSTANT, column("x")], [column("x")], guarantee=NONE)
