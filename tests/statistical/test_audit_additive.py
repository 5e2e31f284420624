"""The whole release of an additive model on worst-case neighbours: what it loses at least.

Everybody's target is at the lower clip; one person's goes to the upper, so that the sums of all of
its cells move by 2R, in the same direction: the L2 sensitivity but for the second moment.  The
score is the projection on that direction.  An audit alarms falsely once in 1e9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from dprct.estimate.additive import release
from dprct.estimate.additive.release import layout_of, mechanism_of, released_sums
from dprct.privacy.budget import Budget
from dprct.privacy.noise import source
from dprct.queries.additive import Block
from tests.statistical.auditing import lower_bound

if TYPE_CHECKING:
    from collections.abc import Callable

BLOCKS = (Block((), (), counts=False), *(Block((j,), (3,)) for j in range(4)))
CODES = [np.zeros(20, np.int32)] * 4
BUDGET = Budget.asked(2, 0.05)


def scores(moved: bool, draws: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the sum of the five coordinates that move, draw by draw."""
    target, noise = np.full(20, -1.0), source()
    target[0] = 1.0 if moved else -1.0
    layout = layout_of(BLOCKS, 1.0, BUDGET)
    sealed = release.additive_sums(CODES, target, layout)
    mechanism = mechanism_of(layout, BUDGET)
    places = np.array([0, *(1 + 6 * j + 3 for j in range(4))])
    step = float(layout.step)
    found = [mechanism.release(sealed, noise).units[places].sum() * step for _ in range(draws)]
    return np.array(found, np.float64)


@pytest.mark.audit
def test_the_claim_holds_and_is_nearly_reached(certified: Callable[..., None]) -> None:
    result = lower_bound(
        scores(moved=False, draws=200_000), scores(moved=True, draws=200_000),
        delta=float(BUDGET.delta), alpha=1e-9,
    )  # fmt: skip
    certified(
        result, float(BUDGET.epsilon), method="CATE",
        neighbours="all at the lower clip, one person at the upper",
        event="sum of the coordinates that move",
    )  # fmt: skip


def test_the_score_is_what_a_fit_releases() -> None:
    layout = layout_of(BLOCKS, 1.0, Budget.asked(20, 1e-2))
    mechanism = mechanism_of(layout, Budget.asked(20, 1e-2))
    sums = released_sums(CODES, np.full(20, -1.0), layout, mechanism, source(1))
    assert sum(c.sums[0] for c in sums.cells) == pytest.approx(-100, abs=20)
