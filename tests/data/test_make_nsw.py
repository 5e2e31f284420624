"""The job training: the file is what its script makes, and says what the literature says."""

from __future__ import annotations

import hashlib
import re
import runpy
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from dprct.io.stata import read_dta

if TYPE_CHECKING:
    from pathlib import Path

    from dprct.schema import Schema


@pytest.fixture(scope="module")
def file(checkout: Path) -> Path:
    return checkout / "data" / "nsw_mixtape.dta"


@pytest.fixture(scope="module")
def table(file: Path) -> tuple[pd.DataFrame, Schema]:
    return read_dta(file)


def test_the_script_makes_these_bytes(file: Path, checkout: Path, tmp_path: Path) -> None:
    pytest.importorskip("causaldata", reason="needs the source of the data, pip install causaldata")
    script = runpy.run_path(str(checkout / "data" / "make_nsw.py"))
    assert script["make"](tmp_path / "again.dta").read_bytes() == file.read_bytes()


def test_the_values_are_those_of_the_source(file: Path) -> None:
    causaldata = pytest.importorskip("causaldata", reason="needs the source of the data")
    source = causaldata.nsw_mixtape.load_pandas().data
    ours = pd.read_stata(file, convert_categoricals=False)
    assert ours.columns.to_list() == source.columns.to_list()
    for name in source.columns:
        np.testing.assert_array_equal(ours[name].to_numpy(), source[name].to_numpy(), err_msg=name)


def test_the_stated_hash_is_right(file: Path, checkout: Path) -> None:
    text = (checkout / "data" / "README.md").read_text("utf-8")
    stated = re.search(rf"`{file.name}` \|.*`([0-9a-f]{{64}})`", text)
    assert stated is not None
    assert stated[1] == hashlib.sha256(file.read_bytes()).hexdigest()


def test_the_effect_is_that_of_the_literature(table: tuple[pd.DataFrame, Schema]) -> None:
    data, _ = table
    arms = data.groupby("treat")["re78"].agg(["mean", "count"])
    assert arms["count"].to_list() == [260, 185]
    assert arms["mean"].diff().iloc[-1] == pytest.approx(1794.34, abs=0.01)


def test_the_facts_of_a_labelled_file(table: tuple[pd.DataFrame, Schema]) -> None:
    _, schema = table
    assert schema.file.release == 118
    assert schema.labels_of("treat") == {0: "control", 1: "training"}
    assert schema.column("black").value_label == schema.column("marr").value_label == "yesno"
    assert schema.column("data_id").type == "str20"
    assert schema.column("re78").format == "%9.2f"
    assert all(column.label for column in schema.columns)
