from __future__ import annotations

import pandas as pd

from papers.cate.designs import designs
from papers.cate.report import against_constant, report_of


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
    text = report_of(table({"one-step": 0.1, "constant": 1.0}), there, 4, ebm=False)
    assert "interpret-core is not installed" in text
    assert "voting design is left out" in text
    assert "| one-step | 0.1 | 0.1 |" in text
    assert "Nowhere." in text
