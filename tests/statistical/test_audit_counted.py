"""The whole release with private missingness, on two pairs of worst-case neighbours.

Everybody has the lower bound.  One person has the upper bound instead: the sum moves by its whole
sensitivity, and so does the sum of squares, given almost any released mean.  Or one person has no
value instead: sum and count move together.  An audit alarms falsely once in 1e9.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from dprct.estimate.ate.release import CountedOutcome
from dprct.privacy.noise import source
from dprct.queries.sums import Arms
from dprct.schema import Column
from dprct.schema.tables import eager
from tests.estimate.ate.of_outcome import drawn
from tests.statistical.auditing import lower_bound

if TYPE_CHECKING:
    from collections.abc import Callable

    from dprct.schema.tables import Frame

    Scores = np.ndarray[tuple[int], np.dtype[np.float64]]

N = 50
ARMS = Arms(np.repeat([0, 1], N), ((N, N),))
OUTCOME = CountedOutcome(Column("y", bounds=(-1.0, 1.0), missing=(".",)), ARMS, Fraction(1))
EPSILON = Fraction(2)


def frame_of(first: float) -> Frame:
    y = np.full(2 * N, -1.0)
    y[0] = first
    return eager(pl.DataFrame({"y": y}))


def scores(frame: Frame, other: float, draws: int) -> Scores:
    """Return the log likelihood ratio of what is released of the arm, other against lower bound."""
    noise = source()
    means = [drawn(OUTCOME, frame, EPSILON, noise).means[0] for _ in range(draws)]
    of_sums = float(OUTCOME.split(EPSILON)[0])
    level = np.array([mean.value for mean in means])
    count = np.array([2 / (of_sums * mean.scale) for mean in means])
    pairs = count * (count - 1)
    spread = np.array([mean.variance.value for mean in means]) * pairs
    scale = np.array([mean.variance.scale for mean in means]) * pairs
    scale[scale == 0] = np.inf  # an arm that is not estimated: its squares are not shown
    has = np.isfinite(other)
    total = -float(N)
    moved = total + 1 + (other if has else 0.0)
    squares = N * (1 + level) ** 2
    after = squares - (1 + level) ** 2 + ((other - level) ** 2 if has else 0.0)
    ratio = of_sums / 2 * (np.abs(level * count - total) - np.abs(level * count - moved))
    ratio += (np.abs(spread - squares) - np.abs(spread - after)) / scale
    if not has:
        # a count that was cut at N says only that it was at least that
        below = (np.abs(count - N) - np.abs(count - N + 1)) * of_sums / 2
        ratio += np.where(count >= N, -of_sums / 2, below)
    return np.round(ratio, 6)


@pytest.mark.audit
@pytest.mark.parametrize(("other", "seen"), [(1.0, 0.8), (float("nan"), 0.5)])
def test_the_claim_holds_and_is_nearly_reached(
    other: float,
    seen: float,
    computed_once: Callable[[str], None],
    certified: Callable[..., None],
) -> None:
    computed_once("dprct.queries.missing_outcomes._centred")
    first, second = (scores(frame_of(value), other, 60_000) for value in (-1.0, other))
    result = lower_bound(first, second, alpha=1e-9)
    certified(
        result, float(EPSILON), method="PrivateATE, missingness private",
        neighbours="all at the lower bound, one "
        + ("at the upper" if np.isfinite(other) else "without a value"),
        event="likelihood ratio of sum, count and squares of an arm", tight=seen >= 0.8,
    )  # fmt: skip
    print(f"certified epsilon {result.epsilon:.3f} of {float(EPSILON):g}")
    assert result.epsilon <= float(EPSILON)
    # without a value the sum of squares about the released mean hardly moves: .7 can be seen
    assert result.epsilon >= seen * float(EPSILON)


def test_the_score_is_larger_on_the_neighbour() -> None:
    first, second = (scores(frame_of(value), 1.0, 400) for value in (-1.0, 1.0))
    # the mean log ratio is at least .5 in each direction; its standard error .06
    assert second.mean() - first.mean() > 0.5
