from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from papers.rct.cells import Cell
from papers.rct.sources import Source
from papers.runner import Store

if TYPE_CHECKING:
    from pathlib import Path

CELL = Cell("sim1", "Table 1", "MV Histogram", "0.5", 3, 1, "abc")


@pytest.mark.parametrize(
    "change",
    [{"epsilon": "1"}, {"draws": 4}, {"seed": 2}, {"data": "abd"}, {"method": "Hybrid"}],
)
def test_a_changed_setting_is_another_cell(tmp_path: Path, change: dict[str, object]) -> None:
    store = Store(tmp_path)
    store.save(CELL, CELL.compute(Source("sim1", None)))
    other = replace(CELL, **change)  # type: ignore[arg-type]
    assert other.key != CELL.key
    assert store.load(CELL) is not None
    assert store.load(other) is None


def test_the_same_settings_draw_the_same() -> None:
    source = Source("sim1", None)
    first, again = (CELL.compute(source) for _ in range(2))
    pd.testing.assert_frame_equal(first, again)
    other = replace(CELL, seed=2).compute(source)
    assert (first["estimate"] != other["estimate"]).all()
    assert first["estimate"].nunique() == 3
