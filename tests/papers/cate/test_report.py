from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from papers.cate.designs import designs
from papers.cate.report import against_constant, decomposed, report_of, summarised, write_figures
from papers.cate.run import Cell

if TYPE_CHECKING:
    from pathlib import Path


def table(errors: dict[str, float], se: float = 0.01) -> pd.DataFrame:
    rows = [
        {"design": "B", "form": form, "title": form, "n": n, "epsilon": epsilon, "draws": 4,
         "mse": mse, "se": se, "median": mse, "bias2": mse / 2, "variance": mse / 2}
        for form, mse in errors.items()
        for n, epsilon in ((500, 1.0), (1000, 1.0), (1000, 2.0))
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_losses_and_wins_are_told_from_chance() -> None:
    there = {"B": designs(None)["B"]}
    errors = {"one-step": 0.1, "one-step r": 1.3, "one-step, split": 1.05, "constant": 1.0}
    found = against_constant(table(errors), there).groupby("title")[["lost", "won"]].all()
    assert found.loc["one-step"].tolist() == [False, True]
    assert found.loc["one-step r"].tolist() == [True, False]
    assert found.loc["one-step, split"].tolist() == [False, False]
    noisy = against_constant(table(errors, se=5.0), there)
    assert not noisy["lost"].any()
    assert not noisy["won"].any()


def test_what_is_left_out_is_said() -> None:
    there = {"B": designs(None)["B"]}
    text = report_of(table({"one-step": 0.1, "constant": 1.0}), there, 4000, ebm=False)
    assert "interpret-core is not installed" in text
    assert "voting design is left out" in text
    assert "| one-step | 0.1 | 0.1 |" in text
    assert "Nowhere." in text


def test_bias_and_variance_are_told_apart() -> None:
    rng = np.random.default_rng(1)
    truth, draws = np.zeros(2000), 40
    fits = 0.5 + rng.normal(scale=2.0, size=(draws, 2000))
    rows = pd.DataFrame(
        {
            "mse": ((fits - truth) ** 2).mean(axis=1),
            "mse_mean": float(((fits.mean(axis=0) - truth) ** 2).mean()),
        }
    )
    found = decomposed(rows)
    assert found["bias2"] == pytest.approx(0.25, abs=0.05)
    assert found["variance"] == pytest.approx(4.0, abs=0.2)
    assert found["mse"] == pytest.approx(found["bias2"] + found["variance"])


def test_two_fits_give_the_bias_of_the_paper() -> None:
    found = decomposed(pd.DataFrame({"mse": [3.0, 5.0], "mse_mean": 3.5}))
    assert found["bias2"] == 2 * 3.5 - 4


def test_there_is_a_row_per_form_and_epsilon() -> None:
    cell = Cell("B", "strict", 500, "1 2", 2, 1, "")
    rows = pd.DataFrame(
        {"form": "constant", "epsilon": [1.0, 1.0, 2.0, 2.0], "draw": [0, 1] * 2, "mse": 1.0}
    )
    table = summarised({cell: rows.assign(mse_mean=1.0)})
    assert table["epsilon"].tolist() == [1.0, 2.0]
    assert table["variance"].tolist() == [0.0, 0.0]


def test_every_figure_is_a_png(tmp_path: Path) -> None:
    rows = [
        {"design": "A", "form": form, "n": n, "epsilon": epsilon, "mse": 0.1, "bias2": -0.01,
         "variance": 0.11}
        for form, n, epsilon in (
            ("one-step, split", 500, 1.0), ("one-step, split", 1000, 1.0),
            ("one-step, split", 1000, 2.0), ("dr, not private", 500, math.inf),
            ("dr, not private", 1000, math.inf),
        )
    ]  # fmt: skip
    written = write_figures(tmp_path, pd.DataFrame(rows))
    assert len(written) == 3
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in written)
