"""Thornton's experiment: the file is what its script makes, and says what the paper says."""

from __future__ import annotations

import hashlib
import re
import runpy
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from dprct.io.stata import read_dta
from dprct.missing import code_number, missing_numbers

if TYPE_CHECKING:
    from pathlib import Path

    from dprct.schema import Schema


@pytest.fixture(scope="module")
def file(checkout: Path) -> Path:
    return checkout / "data" / "thornton_hiv.dta"


@pytest.fixture(scope="module")
def table(file: Path) -> tuple[pd.DataFrame, Schema]:
    return read_dta(file)


def test_the_script_makes_these_bytes(file: Path, checkout: Path, tmp_path: Path) -> None:
    pytest.importorskip("causaldata", reason="needs the source of the data, pip install causaldata")
    script = runpy.run_path(str(checkout / "data" / "make_thornton.py"))
    assert script["make"](tmp_path / "again.dta").read_bytes() == file.read_bytes()


def test_the_values_are_those_of_the_source(file: Path) -> None:
    causaldata = pytest.importorskip("causaldata", reason="needs the source of the data")
    source = causaldata.thornton_hiv.load_pandas().data
    ours = pd.read_stata(file, convert_categoricals=False, preserve_dtypes=False)
    assert sorted(ours.columns) == sorted(source.columns)
    for name in source.columns:
        np.testing.assert_array_equal(
            ours[name].to_numpy(float), source[name].to_numpy(float), err_msg=name
        )


def test_the_stated_hash_is_right(file: Path, checkout: Path) -> None:
    text = (checkout / "data" / "README.md").read_text("utf-8")
    stated = re.search(rf"`{file.name}` \|.*`([0-9a-f]{{64}})`", text)
    assert stated is not None
    assert stated[1] == hashlib.sha256(file.read_bytes()).hexdigest()


def test_the_effect_is_that_of_the_paper(table: tuple[pd.DataFrame, Schema]) -> None:
    data, _ = table
    assert len(data) == 4820
    arms = data.groupby("any")["got"].agg(["mean", "count"])
    assert arms["count"].to_list() == [623, 2211]
    assert arms["mean"].diff().iloc[-1] == pytest.approx(0.451, abs=0.0005)


def test_missing_codes_are_labelled(table: tuple[pd.DataFrame, Schema]) -> None:
    data, schema = table
    for name, count in {"got": 1926, "tinc": 1919, "any": 1919, "hiv2004": 1926}.items():
        codes = missing_numbers(data[name].to_numpy())
        assert (codes == code_number(".a")).sum() == count
        assert (codes == code_number(".")).sum() == 0
        assert schema.labels_of(name)[".a"] == "not recorded"
    assert (missing_numbers(data["age"].to_numpy()) == code_number(".")).sum() == 441


def test_the_facts_of_a_labelled_file(table: tuple[pd.DataFrame, Schema]) -> None:
    data, schema = table
    assert schema.file.release == 118
    assert schema.file.sorted_by == ("villnum",)
    assert data["villnum"].fillna(np.inf).is_monotonic_increasing
    assert schema.labels_of("got") == {0: "no", 1: "yes", ".a": "not recorded"}
    assert schema.column("got").value_label == schema.column("any").value_label
    assert [column.type for column in schema.columns] == [
        "int", "byte", "float", "float", "byte", "byte", "byte"
    ]  # fmt: skip
    assert all(column.label for column in schema.columns)
    notes = {name: text for owner, name, text in schema.file.characteristics if owner == "_dta"}
    assert notes["note0"] == "2"
    assert "98(5)" in notes["note1"]
