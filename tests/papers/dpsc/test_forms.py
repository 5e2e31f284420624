from __future__ import annotations

import math

import numpy as np
import pytest

from dprct import SyntheticControl
from dprct.published import ControlError
from papers.dpsc.forms import (
    Setting,
    equation_10,
    proved,
    simulated,
    strict_bound,
)

EXPECTED = {
    (10, 2.0, 10.0): 149,
    (10, 2.0, 200.0): 78,
    (100, 10.0, 10.0): 17.3,
    (100, 10.0, 200.0): 6.4,
}
"""Errors of the strict form: ALGORITHMS.md, section 5, and for 100 donors 6,000 repetitions."""


@pytest.mark.parametrize("cell", EXPECTED)
def test_the_strict_form_has_the_error_that_is_stated(cell) -> None:
    errors = Setting(cell[0], 10, *cell[1:]).compute(300, seed=5)["strict"]
    se = errors.std() / math.sqrt(len(errors))
    assert errors.mean() == pytest.approx(EXPECTED[cell], abs=6 * se)


def test_the_class_errs_as_the_simulation_does() -> None:
    rng, errors = np.random.default_rng(6), []
    for _ in range(150):
        panel = simulated(10, 10, rng)
        model = SyntheticControl.from_arrays(panel.donors, panel.target, 10, 1.0)
        path = model.fit(2, rng=rng).counterfactual.to_numpy()
        errors.append(panel.bound * math.sqrt(np.mean((path - panel.signal[10:]) ** 2)))
    found = Setting(10, 10, 2.0, 200.0).compute(600, seed=7)["strict"]
    se = math.hypot(np.std(errors) / math.sqrt(150), found.std() / math.sqrt(600))
    assert np.mean(errors) == pytest.approx(found.mean(), abs=6 * se)


def test_our_bounds_hold_and_the_printed_one_does_not() -> None:
    found = Setting(10, 10, 2.0, 10.0).compute(100, seed=1)
    mean = {name: values.mean() for name, values in found.items()}
    for form in ("output", "objective", "objective, normal"):
        assert mean[form] < mean[f"{form}, corrected"]
    assert mean["strict"] < mean["strict, ours"]
    assert mean["uniform"] < mean["uniform, ours"]
    assert mean["output"] > 10 * mean["output, printed"]


def test_the_panel_is_lines_and_small_noise_within_the_bound() -> None:
    panel = simulated(200, 10, np.random.default_rng(1))
    assert np.abs(panel.donors).max() <= 1
    assert panel.bound == 66
    assert ((panel.slopes * 66 >= 3) & (panel.slopes <= 5)).all()
    noise = (panel.donors - panel.signals) * panel.bound
    assert np.abs(noise).max() <= 1
    # 0.1 before it is cut off at 1, 0.0982 after: sd of a sample variance is 1.4 / sqrt(N) of it
    assert noise.var() == pytest.approx(0.0982, rel=6 * 1.4 / np.sqrt(noise.size))


def test_true_weights_give_the_signal() -> None:
    panel = simulated(8, 10, np.random.default_rng(2))
    assert panel.signals.T @ panel.true_weights == pytest.approx(panel.signal)


def test_the_strict_bound_holds_for_any_weights_on_the_simplex() -> None:
    rng = np.random.default_rng(3)
    panel = simulated(6, 10, rng)
    least = strict_bound(panel, 1e9, 0.5)
    for weights in rng.dirichlet(np.ones(6) * 0.2, 200):
        gap = panel.signals[:, 10:].T @ weights - panel.signal[10:]
        assert math.sqrt(np.mean(gap**2)) <= least


def test_the_theorems_are_called_with_norms_of_the_panel() -> None:
    panel = simulated(6, 10, np.random.default_rng(4))
    found = proved(panel, panel.true_weights, 10, 10.0, 4.0, printed=True)
    by_hand = ControlError(
        n=6, T0=10, K=3, lam=10.0, eps1=2.0, eps2=2.0, sigma=math.sqrt(0.1) / 66,
        psi=float(panel.true_weights.max()), printed=True,
    )  # fmt: skip
    signal = float(np.linalg.norm(panel.signals[:, 10:], 2)) / math.sqrt(3)
    assert found["output"] == pytest.approx(by_hand.theorem(signal, 0.0))
    assert list(found) == ["output", "objective", "objective, normal"]


def test_the_fit_before_treatment_is_that_of_the_weights() -> None:
    found = Setting(10, 10, 1e9, 1e-6).compute(3, seed=2)
    # hardly any penalty: ten donors fit ten periods of chance, too
    assert found["ridge, before"].max() < 0.15
    assert found["uniform, before"].min() > 0.3


def test_the_radius_of_equation_10_meets_the_printed_bounds_and_the_density_does_not() -> None:
    found = Setting(10, 10, 100.0, 10.0).compute(200, seed=3)
    for form in ("output", "objective"):
        bound = found[f"{form}, printed"].mean()
        assert found[f"{form}, equation (10)"].mean() < bound
        assert found[form].mean() > 2 * found[f"{form}, equation (10)"].mean()


def test_the_radius_of_equation_10_is_not_private() -> None:
    """delta(1), which should be 0: E_P[(1 - e Q/P)+] in 10 dimensions, a shift of one scale."""
    rng, n = np.random.default_rng(4), 10
    v = np.array([equation_10(n, 1.0, rng) for _ in range(20_000)])
    near, far = np.linalg.norm(v, axis=1), np.linalg.norm(v - np.eye(n)[0], axis=1)
    log_ratio = (1 - n) * np.log(far / near) - (far - near)
    delta = np.maximum(0, 1 - np.exp(1 + log_ratio)).mean()
    assert 0.3 < delta < 1
    # the printed density keeps its promise exactly
    assert (far - near).max() <= 1 + 1e-12
