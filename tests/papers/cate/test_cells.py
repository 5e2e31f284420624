from __future__ import annotations

import pandas as pd

from papers.cate.cells import Cell
from papers.cate.designs import designs


def test_a_cell_has_every_form_and_epsilon_and_can_be_repeated() -> None:
    cell = Cell("A", "strict", 300, "1 2", 2, 1, "")
    design = designs(None)["A"]
    found = cell.compute(design)
    assert found.groupby(["form", "epsilon"]).size().tolist() == [2] * 6
    # the mean of several fits is no worse than they are on average
    means = found.groupby(["form", "epsilon"])[["mse", "mse_mean"]].mean()
    assert (means["mse_mean"] <= means["mse"]).all()
    pd.testing.assert_frame_equal(cell.compute(design), found)


def test_keys_depend_on_every_setting() -> None:
    one = Cell("A", "strict", 300, "1 2", 2, 1, "")
    others = [Cell("A", "strict", 300, "1 2", 2, 1, "x"), Cell("B", "strict", 300, "1 2", 2, 1, "")]
    assert len({cell.key for cell in (one, *others)}) == 3
    assert one.name.startswith("A-strict-300-")
