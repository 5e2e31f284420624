"""The effect along age, on people whose effect is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from papers.cate import shapes
from papers.cate.designs import VOTING_FILE, designs
from papers.cate.shapes import FORMS, Shapes, write_figure

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("interpret.privacy", reason="needs the extra 'ebm'")


@pytest.fixture
def people(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    n = 26_000
    pd.DataFrame(
        {
            "messages": "Control", "sex": np.where(rng.random(n) < 0.5, "female", "male"),
            "yearofbirth": rng.integers(1910, 1987, n), "primary2004": rng.integers(0, 2, n),
            "hhsize": rng.integers(1, 5, n), "primary2006": rng.integers(0, 2, n),
        }
    ).to_csv(tmp_path / VOTING_FILE, index=False)  # fmt: skip
    return tmp_path


def test_the_curves_are_near_the_truth_with_much_budget_and_drawn(
    people: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shapes, "EPSILONS", (16.0, 128.0))
    found = Shapes("voting", 5000, 1, "").compute(designs(people)["voting"])
    true = found[found["form"].eq("true")]["effect"].to_numpy()
    assert set(found["form"]) == {*FORMS, "true"}
    strict = found[found["form"].eq("one-step")]
    assert strict["epsilon"].unique().tolist() == [16.0]
    curve = strict["effect"].to_numpy()
    # older people vote less often by more: a curve that is flat, or rises, is no estimate of it
    assert np.corrcoef(curve, true)[0, 1] > 0.5
    assert found.groupby(["form", "epsilon"])["effect"].mean().abs().max() < 1e-9
    pytest.importorskip("matplotlib.pyplot").switch_backend("Agg")
    assert write_figure(people, found).stat().st_size > 5000
