from __future__ import annotations

import numpy as np

from dprct.schema import Column
from dprct.schema.columns import stored


def test_only_float_rounds_and_only_once() -> None:
    x = np.array([0.1, 1 / 3, 2.0**24 + 1])
    assert stored(Column("x"), x).tolist() == x.tolist()
    once = stored(Column("x", "float"), x)
    assert once.tolist() == [float(np.float32(v)) for v in x]
    assert stored(Column("x", "float"), once).tolist() == once.tolist()
