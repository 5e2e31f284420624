"""The whole release of a private IPW on worst-case neighbours: a lower bound on its loss.

One treated person's outcome goes from one end of the bounds to the other, while everybody else's is
in the middle.  Nearly all rows are in the second part and all odds are trimmed to almost one, so
that the weighted sum moves by nearly its whole sensitivity.  The score is the released effect.  An
audit alarms falsely once in 1e9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from dprct import IPW, Budget
from dprct.estimate.ipw.release import released
from dprct.privacy.noise import source
from tests.statistical.auditing import lower_bound

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.statistical.auditing import AuditResult

ALPHA = 1e-9
EPSILON, DELTA, N = 2.0, 1e-6, 500


def scores(outcome: float, draws: int, seed: int) -> np.ndarray:
    """Return released effects of the study in which the first person has this outcome."""
    y, t = np.zeros(N), np.zeros(N)
    y[0], t[0] = outcome, 1
    model = IPW.from_arrays(
        np.zeros((N, 1)), t, y, bounds=(-1, 1), x_bounds=(-1, 1), trim=0.49, split=0.02,
        errors="conditional", budget_shares={"effect": 0.99, "variance": 0.01},
    )  # fmt: skip
    allocation = model.spec.allocation(model.facts, Budget(EPSILON, DELTA))
    rows, noise = model._rows(), source(seed)
    return np.array([released(allocation, rows, noise).theta for _ in range(draws)])


def audited(draws: int) -> AuditResult:
    first, second = scores(-1.0, draws, 1), scores(1.0, draws, 2)
    return lower_bound(first, second, delta=DELTA, alpha=ALPHA)


@pytest.mark.audit
def test_private_weighting_keeps_its_claim_and_is_not_idle(certified: Callable[..., None]) -> None:
    certified(
        audited(60_000),
        EPSILON,
        method="IPW",
        neighbours="a treated person's outcome moves from bound to bound, the others are in the "
        "middle",
        event="the effect",
    )


def test_a_short_audit_finds_no_more_than_the_claim() -> None:
    assert not audited(1500).refutes(EPSILON)
