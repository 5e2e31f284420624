from __future__ import annotations

import math

import numpy as np
import pytest

from dprct import SyntheticControl
from papers.dpsc.design import simulated
from papers.dpsc.forms import Setting

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
    for form in ("output", "objective"):
        assert mean[form] < mean[f"{form}, corrected"]
    assert mean["strict"] < mean["strict, ours"]
    assert mean["uniform"] < mean["uniform, ours"]
    assert mean["output"] > 10 * mean["output, printed"]
