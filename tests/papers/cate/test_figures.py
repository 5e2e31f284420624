from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pandas as pd

from papers.cate.figures import write_figures

if TYPE_CHECKING:
    from pathlib import Path


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
