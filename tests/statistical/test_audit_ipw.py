"""The whole release of a private IPW on worst-case neighbours: a lower bound on its loss.

One treated person's outcome goes from one end of the bounds to the other, while everybody else's is
in the middle: the weighted sum moves by its whole sensitivity wherever that person is in the second
part of the rows (nine tenths of the time) and trimmed (about half of it).  The score is the
released effect.  An audit alarms falsely once in 1e9.
"""

from __future__ import annotations

import numpy as np
import pytest

from dprct import IPW, Budget
from dprct.estimate.ipw.draws import released
from dprct.privacy.audit import lower_bound
from dprct.privacy.noise import source

ALPHA = 1e-9
EPSILON, DELTA, N = 1.0, 1e-6, 100


def scores(outcome: float, draws: int, seed: int) -> np.ndarray:
    """Return released effects of the study in which the first person has this outcome."""
    y, t = np.zeros(N), np.zeros(N)
    y[0], t[0] = outcome, 1
    model = IPW.from_arrays(
        np.zeros((N, 1)), t, y, bounds=(-1, 1), x_bounds=(-1, 1), trim=0.49, split=0.1,
        errors="conditional", shares={"effect": 0.99, "variance": 0.01},
    )  # fmt: skip
    prices, rows, noise = model.recipe.priced(Budget(EPSILON, DELTA)), model._rows(), source(seed)
    return np.array([released(model.recipe, rows, prices, noise).theta for _ in range(draws)])


def certified(draws: int) -> float:
    first, second = scores(-1.0, draws, 1), scores(1.0, draws, 2)
    return lower_bound(first, second, delta=DELTA, alpha=ALPHA).epsilon


@pytest.mark.audit
def test_private_weighting_keeps_its_claim_and_is_not_idle() -> None:
    assert 0.6 * EPSILON < certified(60_000) <= EPSILON


def test_a_short_audit_finds_no_more_than_the_claim() -> None:
    assert certified(1500) <= EPSILON
