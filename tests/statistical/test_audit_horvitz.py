"""The whole release under replace-one: one person changes arm, and nothing else.

Everybody is a control at the lower bound, and one of them is treated instead.  phi goes from one
end of its range to the other, so that effect and variance move by their whole sensitivity, and the
control mean by half of it: .975 of epsilon can be seen.  An audit alarms falsely once in 1e9.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from dprct.estimate.ate.release import HiddenOutcome
from dprct.privacy.noise import source
from dprct.queries.horvitz_thompson import PrivateArms
from dprct.schema import Column
from dprct.schema.tables import eager
from tests.estimate.ate.of_outcome import drawn
from tests.statistical.auditing import lower_bound

if TYPE_CHECKING:
    from collections.abc import Callable

    from dprct.schema.tables import Frame

N = 20
ARMS = PrivateArms(("t",), ((0.0,), (1.0,)), (Fraction(1, 2),) * 2, N)
OUTCOME = HiddenOutcome(Column("y", bounds=(0.0, 1.0), missing=()), ARMS, Fraction(1))
EPSILON = Fraction(2)


def frames() -> tuple[Frame, Frame]:
    t = np.zeros(N)
    switched = t.copy()
    switched[0] = 1.0
    return tuple(eager(pl.DataFrame({"y": np.zeros(N), "t": arm})) for arm in (t, switched))  # type: ignore[return-value]


def scores(frame: Frame, draws: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the log likelihood ratio of the three Laplace laws, switched against not."""
    noise = source()
    found = [drawn(OUTCOME, frame, EPSILON, noise) for _ in range(draws)]
    first = found[0].effects[0]
    parts = (
        ([one.effects[0].value for one in found], 1.0, 0.9, first.scales[0]),
        ([one.effects[0].variances[0].value for one in found], 0.0, 0.01, first.variances[0].scale),
        ([one.control for one in found], -0.5, -0.45, found[0].control_scale),
    )
    ratio = sum(
        (np.abs(np.array(values) - before) - np.abs(np.array(values) - after)) / scale
        for values, before, after, scale in parts
    )
    return np.round(ratio, 6)  # type: ignore[return-value]


@pytest.mark.audit
def test_the_claim_holds_for_who_is_treated_and_is_nearly_reached(
    computed_once: Callable[[str], None], certified: Callable[..., None]
) -> None:
    computed_once("dprct.estimate.ate.release.horvitz_thompson_difference")
    first, second = (scores(frame, 80_000) for frame in frames())
    result = lower_bound(first, second, alpha=1e-9)
    certified(
        result, float(EPSILON), method="PrivateATE, treatment private",
        neighbours="all are controls at the lower bound, one is treated instead",
        event="likelihood ratio of effect, variance and control mean",
    )  # fmt: skip
    print(f"certified epsilon {result.epsilon:.3f} of {float(EPSILON):g}")
    assert result.epsilon <= float(EPSILON)
    assert result.epsilon >= 0.8 * float(EPSILON)


def test_the_neighbours_are_as_far_apart_as_the_score_assumes() -> None:
    noise = source(1)
    before, after = (drawn(OUTCOME, frame, Fraction(1000), noise) for frame in frames())
    # at epsilon = 1,000 noise is a thousandth of a sensitivity, 25 scales of it never occur
    for found, effect, control in ((before, 1.0, -0.5), (after, 0.9, -0.45)):
        value, (scale,) = found.effects[0].value, found.effects[0].scales
        assert value == pytest.approx(effect, abs=25 * scale)
        assert found.control == pytest.approx(control, abs=25 * found.control_scale)
