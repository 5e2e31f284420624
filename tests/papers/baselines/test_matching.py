"""Abadie and Gardeazabal's weights of the Basque Country, from their predictors."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from papers.baselines.synthetic_control import matched, published, scaled

SCHOOL = ["school.illit", "school.prim", "school.med", "school.high"]
SECTORS = ["agriculture", "energy", "industry", "construction", "services.venta"]


@pytest.fixture(scope="module")
def basque(shared):
    return pd.read_csv(shared / "data" / "synthetic_control" / "basque.csv")


def predictors(frame: pd.DataFrame) -> pd.DataFrame:
    """Return Abadie and Gardeazabal's predictors, one row per region."""
    table = frame.copy()
    table["school.high"] += table["school.post.high"]
    table[SCHOOL] = 100 * table[SCHOOL].div(table[SCHOOL].sum(axis=1, min_count=4), axis=0)

    def mean(columns: list[str], first: int, last: int) -> pd.DataFrame:
        chosen = table[table["year"].between(first, last)]
        return chosen.groupby("regionname")[columns].mean()

    sectors = [f"sec.{name}" for name in [*SECTORS, "services.nonventa"]]
    return pd.concat(
        [
            mean([*SCHOOL, "invest"], 1964, 1969),
            mean(["gdpcap"], 1960, 1969),
            mean(sectors, 1961, 1969),
            mean(["popdens"], 1969, 1969),
        ],
        axis=1,
    )


def split(table: pd.DataFrame):
    treated = next(name for name in table.index if name.startswith("Basque"))
    donors = [n for n in table.index if n != treated and not n.startswith("Spain")]
    return table.loc[donors].to_numpy(), table.loc[treated].to_numpy(), tuple(donors)


def test_the_published_weights_are_found(basque) -> None:
    P, p, donors = split(predictors(basque))
    wide = basque.pivot(index="regionname", columns="year", values="gdpcap")
    X, y, _ = split(wide.loc[:, 1960:1969])
    found, importance = matched((P, p), (X, y))
    weights = dict(zip(donors, found.weights, strict=True))
    assert weights["Cataluna"] == pytest.approx(0.851, abs=0.002)
    assert weights["Madrid (Comunidad De)"] == pytest.approx(0.149, abs=0.002)
    assert importance.sum() == pytest.approx(1)


def test_the_published_weights_fit_before_terrorism(basque) -> None:
    wide = basque.pivot(index="regionname", columns="year", values="gdpcap")
    X, y, donors = split(wide.loc[:, 1960:1969])
    weights = published({"Cataluna": 0.8508, "Madrid (Comunidad De)": 0.1492}, donors).weights
    assert np.mean((X.T @ weights - y) ** 2) == pytest.approx(0.00886, abs=0.0001)


def test_predictors_have_one_spread() -> None:
    rng = np.random.default_rng(1)
    donors, treated = scaled(rng.normal(0, [1, 100], (8, 2)), np.array([0.0, 50.0]))
    assert np.vstack([donors, treated]).std(axis=0, ddof=1) == pytest.approx([1, 1])
