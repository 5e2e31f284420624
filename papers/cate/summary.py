"""Error by design, form, n and epsilon, split into squared bias and variance."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pandas as pd

from papers.cate.forms import FORMS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from papers.cate.cells import Cell


def decomposed(draws: pd.DataFrame) -> dict[str, float]:
    """Return ``mse, se, median, bias2, variance`` of the draws of one cell.

    Notes
    -----
    With k fits the error of their mean is bias^2 + variance / k, and the mean error is
    bias^2 + variance; both are solved for.  For k = 2 bias^2 is the paper's; its variance
    (2 MSE - bias, section 5.1.3) should read MSE - bias.  ``bias2`` is unbiased and may be below
    zero by chance.

    Examples
    --------
    >>> rows = pd.DataFrame({"mse": [4.0, 4.0], "mse_mean": 3.0})
    >>> found = decomposed(rows)
    >>> found["bias2"], found["variance"]
    (2.0, 2.0)
    """
    k, mse = len(draws), float(draws["mse"].mean())
    variance = k / (k - 1) * (mse - float(draws["mse_mean"].iloc[0]))
    return {
        "mse": mse,
        "se": float(draws["mse"].std(ddof=1)) / math.sqrt(k),
        "median": float(draws["mse"].median()),
        "bias2": mse - variance,
        "variance": variance,
    }


def summarised(found: Mapping[Cell, pd.DataFrame]) -> pd.DataFrame:
    """Return one row per design, form, n and epsilon, with its errors."""
    rows = [
        {
            "design": cell.design, "form": form, "title": FORMS[str(form)].title, "n": cell.n,
            "epsilon": epsilon, "draws": len(part), **decomposed(part),
        }
        for cell, draws in found.items()
        for (form, epsilon), part in draws.groupby(["form", "epsilon"], sort=False)
    ]  # fmt: skip
    return pd.DataFrame(rows)
