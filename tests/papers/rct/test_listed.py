"""Tables that list variables and parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from papers.rct import liberia, regenerate
from papers.rct.listed import BINARY, MISSING, OTHERS, compared_list

if TYPE_CHECKING:
    from pathlib import Path


def test_the_lists_are_as_long_as_their_captions_say() -> None:
    assert (len(MISSING), len(BINARY), len(OTHERS)) == (8, 15, 40)
    assert len(set(BINARY) | set(OTHERS)) == 55
    assert set(liberia.REDUCED) - set(BINARY) == {"age_b", "asbhostil_b"}
    assert len(set(liberia.SUBSET) & set(OTHERS)) == 5


def test_epsilons_are_divided_as_table_19_prints(tmp_path: Path) -> None:
    found = compared_list(19, None)
    assert found["same"].all()
    assert len(found) == 5 * 7 + 6
    row = found.set_index("row").loc["section 5, GenM-1: range of an effect, t = 3"]
    assert row["printed"] == row["ours"] == "1/320"
    [made] = regenerate(tmp_path, [19])
    assert made.summary == "41 of 41 lines are as printed here."
    assert "section 4, GenM-2: X~" in (tmp_path / "table_19.txt").read_text("utf-8")


def test_a_line_that_differs_is_marked() -> None:
    data = pd.DataFrame({name: np.arange(6) % 2 for name in (*BINARY, *OTHERS, "other_b")})
    data = data.assign(muslim_b=np.arange(6), age_b=np.arange(6))
    nine, ten = (compared_list(k, data).set_index("row") for k in (9, 10))
    assert nine.index[~nine["same"]].tolist() == ["muslim_b", "other_b"]
    assert nine.loc["other_b", "printed"] == "not listed"
    assert ten.index[ten["same"]].tolist() == ["age_b"]
    outcomes = pd.DataFrame({name: np.where(np.arange(9) < 4, np.nan, 1.0) for name in MISSING})
    five = compared_list(5, outcomes).set_index("row")
    assert five.index[five["same"]].tolist() == ["carryweapon_ltav", "asbhostilstd_ltav"]


def test_the_lists_of_liberia_are_those_of_its_file(shared: Path, tmp_path: Path) -> None:
    made = {one.number: one for one in regenerate(tmp_path, [5, 9, 10], data=shared / "data")}
    assert made[5].summary == "8 of 8 lines are as printed here."
    assert made[9].numbers["same"][:15].all()
    assert made[10].numbers["same"][:40].all()
