from __future__ import annotations

import numpy as np
import pytest

from papers.dpsc.design import simulated


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
