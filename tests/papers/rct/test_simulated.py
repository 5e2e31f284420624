from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from papers.rct.printed import as_printed, printed
from papers.rct.simulated import FILES, SIZES, generate, models, read_authors

if TYPE_CHECKING:
    from pathlib import Path

FALSE_ALARM = 6.2  # standard errors, about 1e-9


@pytest.mark.parametrize("size", [4, 10])
def test_columns_have_the_laws_of_the_paper(size: int) -> None:
    frame = generate(size, np.random.default_rng(size))
    assert frame.shape == (1000, 2 * size + 2)
    assert frame["t1"].value_counts().to_dict() == {0.0: 500, 1.0: 500}
    for k in range(1, size + 1, 2):
        x = frame[f"x{k}"]
        assert abs(x.mean()) < FALSE_ALARM * 2 / np.sqrt(1000)
        assert abs(x.std() - 2) < FALSE_ALARM * 2 / np.sqrt(2000)
    hundredths = np.round(np.arange(21) / 100, 2)
    for k in range(2, size + 1, 2):
        assert set(frame[f"x{k}"]) <= set(hundredths)
    for k in range(size + 1, 2 * size + 1):
        assert set(frame[f"x{k}"]) == {0.0, 1.0}


def test_the_outcome_has_the_coefficients_of_the_paper() -> None:
    rng = np.random.default_rng(7)
    frames = [generate(4, rng) for _ in range(60)]
    X = np.concatenate([f.drop(columns="y").to_numpy() for f in frames])
    y = np.concatenate([f["y"].to_numpy() for f in frames])
    W = np.column_stack([np.ones(len(X)), X])
    beta, rss, *_ = np.linalg.lstsq(W, y, rcond=None)
    truth = [1, 5, *(0.99 * (2 / 3) ** k for k in range(4)), *(3 * (7 / 11) ** k for k in range(4))]
    error = np.sqrt(rss[0] / (len(y) - 10) * np.diag(np.linalg.inv(W.T @ W)))
    assert (np.abs(beta - truth) < FALSE_ALARM * error).all()
    assert error[1] < 0.02  # power: a wrong coefficient of 0.1 would be seen
    assert abs(np.sqrt(rss[0] / len(y)) - 2) < FALSE_ALARM * 2 / np.sqrt(2 * len(y))


def test_models_are_those_of_tables_3_and_4() -> None:
    found = models("sim2")
    assert len(found) == 11
    assert found["Model 2"].covariates == ("x1", "x2", "x3", "x4", "x5", "x11", "x12")
    assert found["Finite Set"].covariates == ("x2", "x4", "x6", "x8", "x10", "x11", "x12")
    assert models("sim1")["Table 1"].covariates == tuple(f"x{k}" for k in range(1, 9))


def test_the_authors_estimates_are_reproduced(shared: Path) -> None:
    folder = shared / "data" / "simulated"
    frame = read_authors(folder / FILES["sim1"])
    [effect] = models("sim1")["Table 1"].effects(frame).to_dict("records")
    assert effect["estimate"] == pytest.approx(5.198862, abs=5e-7)
    assert effect["se"] == pytest.approx(0.1240195, abs=5e-8)
    frame = read_authors(folder / FILES["sim2"])
    assert frame.shape == (1000, 2 * SIZES["sim2"] + 2)
    for table in (3, 4):
        page = printed(table)
        own = page[(page["method"] == "Confidential") & (page["measure"] == "tau")]
        for number in own.to_dict("records"):
            [effect] = models("sim2")[number["row"]].effects(frame).to_dict("records")
            # 5.0936 is printed as 5.09 and 5.1029 as 5.10
            assert as_printed(effect["estimate"], 2) == number["printed"]
