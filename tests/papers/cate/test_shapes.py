"""The effect along age, on people whose effect is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from papers.cate import shapes
from papers.cate.designs import VOTING_FILE, designs
from papers.cate.shapes import FORMS, PRIVATE, Shapes, additive_part, write_figure

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
    for form in PRIVATE:
        assert found[found["form"].eq(form)]["epsilon"].unique().tolist() == [16.0]
    strict = found[found["form"].eq("one-step")]
    curve = strict["effect"].to_numpy()
    # older people vote less often by more: a curve that is flat, or rises, is no estimate of it
    assert np.corrcoef(curve, true)[0, 1] > 0.5
    assert found.groupby(["form", "epsilon"])["effect"].mean().abs().max() < 1e-9
    pytest.importorskip("matplotlib.pyplot").switch_backend("Agg")
    assert write_figure(people, found).stat().st_size > 5000


def test_the_true_curve_is_the_nearest_sum_of_functions_and_not_the_effect_of_some() -> None:
    rng = np.random.default_rng(2)
    n = 60_000
    age = rng.integers(20, 90, n).astype(float)
    # those who are older voted before more often
    voted = (rng.random(n) < age / 120).astype(float)
    effect = -voted / (2 + 100 / age)
    ages = np.array([30.0, 80.0])
    found = additive_part(np.column_stack([voted, age]), effect, 1, ages)
    # the same by backfitting, which knows no dummies
    f, g = np.zeros(120), np.zeros(2)
    v, a = voted.astype(int), age.astype(int)
    for _ in range(200):
        f = np.bincount(a, effect - g[v], 120) / np.maximum(np.bincount(a, minlength=120), 1)
        g = np.bincount(v, effect - f[a]) / np.bincount(v)
    assert found[0] - found[1] == pytest.approx(f[30] - f[80], abs=1e-9)
    of_voters = 1 / (2 + 100 / 80) - 1 / (2 + 100 / 30)
    assert 0.3 * of_voters < found[0] - found[1] < 0.7 * of_voters
