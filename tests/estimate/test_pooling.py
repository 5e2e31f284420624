from __future__ import annotations

import numpy as np
import pytest

from dprct.assignment.units import Units
from dprct.errors import ParameterError
from dprct.estimate.experiment import pooled

UNITS = Units(np.array([0, 0, 1, 2, 3]), np.array([0, 1, 2, 1]), [1.0, None, ("a", 2)])
EQUAL = np.full((5, 2), 0.5)


def test_named_blocks_go_together_and_others_stay() -> None:
    found = pooled(UNITS, {1: "p", None: "p"}, EQUAL)
    assert found.member.tolist() == [0, 0, 1, 2, 3]
    assert found.block.tolist() == [0, 0, 1, 0]
    assert len(found.labels) == 2
    # a pool is no block, whatever it is called
    assert pooled(UNITS, {1: "1.0"}, EQUAL).block.tolist() == UNITS.block.tolist()


def test_pools_have_the_same_shares() -> None:
    chances = np.array([[0.5, 0.5], [0.5, 0.5], [0.4, 0.6], [0.5, 0.5], [0.4, 0.6]])
    assert pooled(UNITS, {1: "p", ("a", 2): "p"}, chances).block.tolist() == [0, 1, 0, 1]
    with pytest.raises(ParameterError, match="shares differ"):
        pooled(UNITS, {1: "p", None: "p"}, chances)


def test_labels_and_names_are_checked() -> None:
    with pytest.raises(ParameterError, match="no block of the design"):
        pooled(UNITS, {2: "p"}, EQUAL)
    with pytest.raises(ParameterError, match="as text"):
        pooled(UNITS, {1: 3}, EQUAL)  # type: ignore[dict-item]
