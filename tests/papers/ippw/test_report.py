"""The words of the report, from tables whose numbers are known."""

from __future__ import annotations

import pandas as pd

from papers.ippw.report import report
from papers.ippw.summary import summarised


def test_printed_tables_stand_below_ours_with_the_epsilon_of_as_many_wrong_signs() -> None:
    shares = {0.5: 0.6, 2.0: 0.2}
    draws = pd.concat(
        pd.DataFrame(
            {
                "epsilon": epsilon,
                "estimate": 1.0,
                "truth": 1.0,
                "own": 1.0,
                "partial": [-1.0] * int(10 * share) + [1.0] * (10 - int(10 * share)),
                "copies": 2,
            }
        )
        for epsilon, share in shares.items()
    )
    empty = draws.assign(estimate=float("nan"), own=float("nan"), partial=float("nan"))
    baselines = pd.DataFrame(
        {"study": ["ihdp"], "estimator": ["ipw"], "mean": [4.0], "rmse": [0.25]}
    )
    text = report(summarised({("ihdp", "printed"): draws, ("ihdp", "hajek"): empty}), baselines)
    assert "Without privacy, on all rows: ipw 4 (rmse 0.25)." in text
    assert "| mean | -237477 |" in text
    assert "0.600, 0.200, at epsilon 0.5, 2" in text
    assert "our epsilon with as many | 0.67 |" in text
    assert "nan" not in text
