from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dprct.errors import ParameterError
from dprct.estimate.ate.index import Linear, is_file, pilot_index
from dprct.schema import Column, Schema

SCHEMA = Schema((Column("y"), Column("age"), Column("years of school")))


@pytest.fixture
def pilot(tmp_path: Path) -> Path:
    rng = np.random.default_rng(2)
    age, school = rng.uniform(18, 60, 200), rng.integers(0, 12, 200)
    y = 12 - 0.5 * age + 2 * school
    data = pd.DataFrame({"y": y, "age": age, "years of school": school})
    data.loc[3, "age"] = np.nan
    path = tmp_path / "pilot.csv"
    data.to_csv(path, index=False)
    return path


def test_the_index_is_least_squares_on_complete_rows(pilot: Path) -> None:
    found = pilot_index(pilot, "y", ("age", "years of school"), SCHEMA)
    assert str(found) == "12 - 0.5*age + 2*`years of school`"
    rows = pd.DataFrame({"age": [20.0, np.nan], "years of school": [1.0, 1.0]})
    assert found(rows)[0] == pytest.approx(4.0)
    assert np.isnan(found(rows)[1])


def test_what_is_shown_is_what_is_computed(pilot: Path) -> None:
    found = pilot_index(pilot, "y", ("age",), SCHEMA)
    constant, slope = found.constant, found.slopes[0][1]
    assert str(found) == f"{constant:.10g} - {-slope:.10g}*age" or slope > 0
    assert float(f"{slope:.10g}") == slope
    assert found(pd.DataFrame({"age": [2.0]}))[0] == constant + slope * 2


def test_the_confidential_file_and_small_files_are_no_pilots(pilot: Path) -> None:
    with pytest.raises(ParameterError, match="confidential file itself"):
        pilot_index(pilot, "y", ("age",), replace(SCHEMA, source=pilot))
    pd.DataFrame({"y": [1.0, 2.0], "age": [1.0, 2.0]}).to_csv(pilot, index=False)
    with pytest.raises(ParameterError, match="2 complete rows for 2 coefficients"):
        pilot_index(pilot, "y", ("age",), SCHEMA)


def test_paths_are_told_from_formulas() -> None:
    assert is_file("a folder/pilot.DTA")
    assert is_file(Path("anything"))
    assert not is_file("0.5*age + 2.5")
    assert str(Linear(1.0, (("a", -2.0),))) == "1 - 2*a"
