from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from dprct.replicate.rct_paper.cells import Cell, Store
from dprct.replicate.rct_paper.sources import Source

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


def test_what_is_kept_comes_back_exactly(tmp_path: Path) -> None:
    store = Store(tmp_path / "cells")
    effects = CELL.compute(Source("sim1", None))
    store.save(CELL, effects)
    pd.testing.assert_frame_equal(store.load(CELL), effects, check_exact=True, check_dtype=False)


def test_a_file_of_other_settings_or_cut_short_is_not_used(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.save(CELL, CELL.compute(Source("sim1", None)))
    path = store.path(CELL)
    text = path.read_text()
    path.write_text(text.replace('"draws": 3', '"draws": 9', 1))
    assert store.load(CELL) is None
    path.write_text(text[:20])
    assert store.load(CELL) is None
    path.write_text(text[:-3])
    assert store.load(CELL) is None


def test_the_same_settings_draw_the_same() -> None:
    source = Source("sim1", None)
    first, again = (CELL.compute(source) for _ in range(2))
    pd.testing.assert_frame_equal(first, again)
    other = replace(CELL, seed=2).compute(source)
    assert (first["estimate"] != other["estimate"]).all()
    assert first["estimate"].nunique() == 3
