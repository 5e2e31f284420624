"""Shipped data: each file is what its script makes, and says what the literature says."""

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

    Table = tuple[pd.DataFrame, Schema]

SCRIPTS = {"nsw_mixtape": "make_nsw.py", "thornton_hiv": "make_thornton.py"}
WITHOUT = "needs the source of the data, pip install causaldata"


@pytest.fixture
def data(checkout: Path) -> Path:
    return checkout / "data"


@pytest.fixture(scope="module")
def job_training(checkout: Path) -> Table:
    return read_dta(checkout / "data" / "nsw_mixtape.dta")


@pytest.fixture(scope="module")
def hiv(checkout: Path) -> Table:
    """Thornton's experiment."""
    return read_dta(checkout / "data" / "thornton_hiv.dta")


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_script_makes_these_bytes(name: str, data: Path, tmp_path: Path) -> None:
    pytest.importorskip("causaldata", reason=WITHOUT)
    script = runpy.run_path(str(data / SCRIPTS[name]))
    assert (
        script["make"](tmp_path / "again.dta").read_bytes() == (data / f"{name}.dta").read_bytes()
    )


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_values_are_those_of_the_source(name: str, data: Path) -> None:
    causaldata = pytest.importorskip("causaldata", reason=WITHOUT)
    source = getattr(causaldata, name).load_pandas().data
    ours = pd.read_stata(data / f"{name}.dta", convert_categoricals=False, preserve_dtypes=False)
    assert sorted(ours.columns) == sorted(source.columns)
    for column in source.columns:
        values, expected = ours[column].to_numpy(), source[column].to_numpy()
        kind = object if expected.dtype.kind not in "fiub" else float
        np.testing.assert_array_equal(values.astype(kind), expected.astype(kind), err_msg=column)


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_stated_hash_is_right(name: str, data: Path) -> None:
    text = (data / "README.md").read_text("utf-8")
    stated = re.search(rf"`{name}.dta` \|.*`([0-9a-f]{{64}})`", text)
    assert stated is not None
    assert stated[1] == hashlib.sha256((data / f"{name}.dta").read_bytes()).hexdigest()


def test_the_effect_is_that_of_the_literature(job_training: Table) -> None:
    data, _ = job_training
    arms = data.groupby("treat")["re78"].agg(["mean", "count"])
    assert arms["count"].to_list() == [260, 185]
    assert arms["mean"].diff().iloc[-1] == pytest.approx(1794.34, abs=0.01)


def test_the_facts_of_the_job_training(job_training: Table) -> None:
    _, schema = job_training
    assert schema.file.release == 118
    assert schema.labels_of("treat") == {0: "control", 1: "training"}
    assert schema.column("black").value_label == schema.column("marr").value_label == "yesno"
    assert schema.column("data_id").type == "str20"
    assert schema.column("re78").format == "%9.2f"
    assert all(column.label for column in schema.columns)


def test_the_effect_is_that_of_the_paper_on_results_of_tests(hiv: Table) -> None:
    data, _ = hiv
    assert len(data) == 4820
    arms = data.groupby("any")["got"].agg(["mean", "count"])
    assert arms["count"].to_list() == [623, 2211]
    assert arms["mean"].diff().iloc[-1] == pytest.approx(0.451, abs=0.0005)


def test_missing_codes_are_labelled(hiv: Table) -> None:
    data, schema = hiv
    for name, count in {"got": 1926, "tinc": 1919, "any": 1919, "hiv2004": 1926}.items():
        codes = missing_numbers(data[name].to_numpy())
        assert (codes == code_number(".a")).sum() == count
        assert (codes == code_number(".")).sum() == 0
        assert schema.labels_of(name)[".a"] == "not recorded"
    assert (missing_numbers(data["age"].to_numpy()) == code_number(".")).sum() == 441


def test_the_facts_of_the_file_on_results_of_tests(hiv: Table) -> None:
    data, schema = hiv
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
