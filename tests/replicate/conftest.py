"""A confidential file in a folder, and a complete study file beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from dprct.io.stata import write_dta
from dprct.missing import tagged
from dprct.schema import Column, FileFacts, Schema

if TYPE_CHECKING:
    from pathlib import Path

STUDY = """\
version = 1
data = "survey.dta"
dataset_id = "survey-1"

[unit]
name = "person"
id = "unit"

[release]
method = "mv_histogram"
epsilon = 1.0
keep = ["note1"]

[budget]
epsilon = 1.5

[header]
confirm = true

[columns.unit]
fate = "key"

[columns.got]
levels = [0, 1]
missing = [".", ".a"]
fate = "modelled"

[columns.age]
bounds = [15, 80]
bins = [30, 50]
missing = "never"
fate = "modelled"

[columns.name]
fate = "drop"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder whose name has spaces and letters beyond ASCII, with data and study file."""
    place = tmp_path / "étude une"
    place.mkdir()
    rng = np.random.default_rng(1)
    n = 500
    data = pd.DataFrame(
        {
            "unit": rng.permutation(n) + 1000.0,
            "got": np.where(rng.random(n) < 0.1, tagged(1), rng.integers(0, 2, n)),
            "age": rng.integers(15, 80, n).astype(float),
            "name": np.array(["Aurelia-Quint"] * n, dtype=object),
        }
    )
    columns = (
        Column("unit", "long", "%12.0g", "person"),
        Column("got", "byte", "%8.0g", "got the résultat", "yesno"),
        Column("age", "int", "%8.0g", "age"),
        Column("name", "str20", "%20s", "name"),
    )
    file = FileFacts(
        label="a survey",
        sorted_by=("unit",),
        value_labels={"yesno": {0: "no", 1: "yes", ".a": "refused"}, "free": {1: "one"}},
        characteristics=(("_dta", "note0", "1"), ("_dta", "note1", "by hand")),
    )
    ordered = data.sort_values("unit", ignore_index=True)
    write_dta(ordered, Schema(columns, file), place / "survey.dta")
    (place / "study.toml").write_text(STUDY, encoding="utf-8")
    return place
