from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from papers.cate.cells import Cell
from papers.cate.summary import decomposed, summarised


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
