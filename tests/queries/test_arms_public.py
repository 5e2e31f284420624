from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dprct.queries.sums import Arms


def test_the_reach_is_that_of_the_worst_block() -> None:
    arms = Arms(
        np.array([0, 0, 1, 1, 2, 2, 2, 3, 3, 3]),
        ((2, 2), (3, 3)),
        (Fraction(4, 10), Fraction(6, 10)),
    )
    assert arms.reach(0) == arms.reach(1) == Fraction(1, 5)
    assert arms.inflation == 1


@pytest.mark.parametrize(("unit", "reach", "inflation"), [("person", 1, 5), ("cluster", 3, 1)])
def test_clusters_cost_by_their_largest(unit: str, reach: int, inflation: int) -> None:
    arms = Arms(
        np.array([0, 0, 0, 0, 1, 1, 1, 1]),
        ((4, 4),),
        clusters=np.array([0, 0, 0, 1, 2, 2, 3, 3]),
        largest=3,
        unit=unit,  # type: ignore[arg-type]
    )
    assert arms.reach(1) == Fraction(reach, 4)
    assert arms.inflation == inflation
