"""The whole release of an effect on worst-case neighbours: a lower bound on what it loses.

One control person moves from the lower bound to the upper one while everybody else is at the
lower: effect, variance and control mean all move by their whole sensitivity, so that the three
budgets add up and the claim is tight.  The score is the log likelihood ratio of the three Laplace
laws.  An audit alarms falsely once in 1e9.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from dprct.estimate.ate.release import Outcome
from dprct.privacy.noise import source
from dprct.queries.sums import Arms
from dprct.schema import Column
from dprct.schema.tables import Frame, eager
from tests.estimate.ate.of_outcome import drawn
from tests.statistical.auditing import lower_bound

if TYPE_CHECKING:
    from collections.abc import Callable

ARMS = Arms(np.repeat([0, 1], 10).astype(np.int64), ((10, 10),))
OUTCOME = Outcome(Column("y", bounds=(0.0, 1.0)), ARMS, Fraction(1))
EPSILON = Fraction(2)


def frames() -> tuple[Frame, Frame]:
    rows = np.zeros(20)
    moved = rows.copy()
    moved[0] = 1.0
    return eager(pl.DataFrame({"y": rows})), eager(pl.DataFrame({"y": moved}))


def scores(frame: Frame, draws: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    noise = source()
    found = [drawn(OUTCOME, frame, EPSILON, noise) for _ in range(draws)]
    first = found[0].effects[0]
    parts = (
        ([one.effects[0].value for one in found], -0.1, first.scales[0]),
        ([one.effects[0].variances[0].value for one in found], 0.01, first.variances[0].scale),
        ([one.control for one in found], 0.1, found[0].control_scale),
    )
    found = sum(
        (np.abs(np.array(values)) - np.abs(np.array(values) - shift)) / scale
        for values, shift, scale in parts
    )
    # the largest ratio is one event, which rounding of doubles must not take apart
    return np.round(found, 6)  # type: ignore[return-value]


@pytest.mark.audit
def test_the_claim_holds_and_is_nearly_reached(
    computed_once: Callable[[str], None], certified: Callable[..., None]
) -> None:
    computed_once("dprct.estimate.ate.release.difference_aggregates")
    first, second = (scores(frame, 60_000) for frame in frames())
    result = lower_bound(first, second, alpha=1e-9)
    certified(
        result, float(EPSILON), method="PrivateATE",
        neighbours="all at the lower bound, one control person at the upper",
        event="likelihood ratio of effect, variance and control mean",
    )  # fmt: skip
    print(f"certified epsilon {result.epsilon:.3f} of {float(EPSILON):g}")
    assert result.epsilon <= float(EPSILON)
    # all three on the far side: an event of probability 1/8, at which 1.66 is certified on average
    assert result.epsilon >= 0.8 * float(EPSILON)
