"""The demo's design, 120 times: does the experiment survive its protection?

The raw effect of `any` on `got` is .4506.  Over 2,000 runs of this design the released effect has
mean .442 and standard deviation .019: cells of few people lose against the threshold and their
rows go where nobody is, which pulls the effect towards zero by about .008.

Decision, for 120 runs: both arms are present in every run, the median share of synthetic rows in
cells that somebody is in is at least .8, the mean effect is within .02 of the raw one, and the
standard deviation over runs is below .03.

False alarms: the mean of 120 runs has standard error .0017, so .02 - .008 = .012 is 6.9 of them; a
standard deviation of .03 instead of .019 has chi-squared 119 x 2.5 on 119 degrees of freedom; the
share, which the first 10 runs show, is .978 with standard deviation .004.  Each is below 1e-9.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import stats

from dprct.encoding import prepared
from dprct.io.stata import read_dta
from dprct.release.histogram import MVHistogram
from dprct.schema.tables import eager
from dprct.study.headers import read_header
from dprct.study.study import load_study

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from dprct.schema import Schema

RUNS, SHARES = 120, 10
RAW = 0.45055
TOLERANCE, LARGEST_SD, LEAST_SHARE = 0.02, 0.03, 0.8


@dataclass(frozen=True)
class Runs:
    """Effect (NaN where an arm is absent) and share of rows in true cells, of the first runs."""

    effects: np.ndarray
    shares: np.ndarray

    @property
    def recovered(self) -> bool:
        return bool(
            np.isfinite(self.effects).all()
            and np.median(self.shares) >= LEAST_SHARE
            and abs(self.effects.mean() - RAW) <= TOLERANCE
            and self.effects.std(ddof=1) <= LARGEST_SD
        )


def effect(table: pd.DataFrame) -> float:
    got, arm = table["got"].to_numpy(), table["any"].to_numpy()
    arms = [got[~np.isnan(got) & (arm == a)] for a in (0, 1)]
    return float(arms[1].mean() - arms[0].mean()) if all(map(len, arms)) else float("nan")


def cells(model: MVHistogram, table: pd.DataFrame) -> np.ndarray:
    """Return the cell of every row, as one number."""
    frame = prepared(eager(table), [e.column for e in model.facts.encodings])
    codes = frame.select(*[e.expression() for e in model.facts.encodings])
    columns = [codes[e.name].to_numpy() for e in model.facts.encodings]
    return np.ravel_multi_index(columns, model.facts.sizes)


@pytest.fixture(scope="module")
def demo(checkout: Path) -> tuple[pd.DataFrame, Schema]:
    study = load_study(checkout / "data" / "thornton.toml")
    schema = study.declared(read_header(study))
    return read_dta(study.data)[0], schema


def runs(data: pd.DataFrame, schema: Schema, epsilon: float, count: int) -> Runs:
    model = MVHistogram(data, schema)
    true = np.unique(cells(model, data))
    tables = [model.fit(epsilon, confirm=True).protected for _ in range(count)]
    shares = [np.isin(cells(model, table), true).mean() for table in tables[:SHARES]]
    return Runs(np.array([effect(table) for table in tables]), np.array(shares))


@pytest.fixture(scope="module")
def many(demo: tuple[pd.DataFrame, Schema]) -> Runs:
    return runs(*demo, 1, RUNS)


def test_the_effect_is_recovered(demo: tuple[pd.DataFrame, Schema], many: Runs) -> None:
    assert effect(demo[0]) == pytest.approx(RAW, abs=1e-5)
    assert many.recovered, f"{many.effects.mean()}, {many.effects.std(ddof=1)}"


def test_the_noise_is_not_less_than_was_paid_for(many: Runs) -> None:
    """A standard deviation of .011 instead of .0186 has probability below 1e-9."""
    assert many.effects.std(ddof=1) > 0.011
    assert stats.chi2.cdf((RUNS - 1) * (0.011 / 0.0186) ** 2, RUNS - 1) < 1e-9


@pytest.mark.filterwarnings("ignore:n / K is below t")
def test_ten_times_the_noise_would_be_noticed(demo: tuple[pd.DataFrame, Schema]) -> None:
    assert not runs(*demo, 0.1, 20).recovered


def test_a_shuffled_outcome_would_be_noticed(demo: tuple[pd.DataFrame, Schema]) -> None:
    data, schema = demo
    rng = np.random.default_rng(1)
    shuffled = data.assign(got=rng.permutation(data["got"].to_numpy()))
    assert not runs(shuffled, schema, 1, 20).recovered


def test_rows_in_false_cells_would_be_noticed(many: Runs) -> None:
    assert not Runs(many.effects, np.full(RUNS, 0.79)).recovered
    assert Runs(many.effects, np.full(RUNS, 0.81)).recovered
