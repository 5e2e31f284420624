from __future__ import annotations

import datetime as dt
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyreadr
import pytest

from dprct.errors import DprctWarning, FileError, MissingDependencyError
from dprct.io import read
from dprct.missing import missing_numbers

if TYPE_CHECKING:
    from pathlib import Path

    from dprct.schema import Schema


FRAME = pd.DataFrame(
    {
        "x": [1.5, np.nan, 2.0],
        "n": pd.Series([1, 2, 3], dtype="int32"),
        "arm": pd.Categorical(["u", "v", None], categories=["v", "u", "w"]),
        "b": [True, False, True],
        "s": ["a", "", "c"],
    }
)


@pytest.fixture(autouse=True)
def _without_r(monkeypatch: pytest.MonkeyPatch) -> None:
    """What R reads itself is tested with the bridge."""
    monkeypatch.setattr("dprct.rbridge.files.r_is_here", lambda: False)


def loudly(path: Path) -> tuple[pd.DataFrame, Schema]:
    with pytest.warns(DprctWarning, match="without variable") as caught:
        out = read(path)
    assert [w.filename for w in caught if w.category is DprctWarning] == [__file__]
    return out


@pytest.mark.parametrize("name", ["x.rds", "x.rda", "x.RData"])
def test_values_types_and_factors_are_kept(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if name.endswith("rds"):
        pyreadr.write_rds(str(path), FRAME)
    else:
        pyreadr.write_rdata(str(path), FRAME, df_name="trial")
    data, schema = loudly(path)
    assert {c.name: c.type for c in schema.columns} == {
        "x": "double",
        "n": "double",
        "arm": "long",
        "b": "byte",
        "s": "strL",
    }
    assert dict(schema.labels_of("arm")) == {1: "v", 2: "u", 3: "w"}
    np.testing.assert_array_equal(data["x"], [1.5, np.nan, 2.0])
    np.testing.assert_array_equal(data["arm"], [2, 1, np.nan])
    assert data["b"].tolist() == [1.0, 0.0, 1.0]
    assert data["s"].tolist() == ["a", "", "c"]
    assert data.index.tolist() == [0, 1, 2]
    assert schema.source == path
    assert schema.opened


def test_objects_of_pyreadr_get_the_types_they_have_in_r(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = pd.DataFrame(
        {
            "day": pd.Series([dt.date(1960, 1, 2), None], dtype=object),
            "flag": pd.Series([True, None], dtype=object),
            "gone": pd.Series([None, None], dtype=object),
            "text": pd.Series(["a", None], dtype=object),
            "time": pd.Series(pd.to_datetime(["1960-01-01 00:00:01", None])),
        }
    )
    monkeypatch.setattr(pyreadr, "read_r", lambda path: {None: frame})
    path = tmp_path / "x.rds"
    path.write_bytes(b"")
    data, schema = loudly(path)
    assert [c.type for c in schema.columns] == ["double", "byte", "double", "strL", "double"]
    assert [c.format for c in schema.columns] == ["%td", "", "", "", "%tc"]
    np.testing.assert_array_equal(data["day"], [1, np.nan])
    np.testing.assert_array_equal(data["flag"], [1, np.nan])
    np.testing.assert_array_equal(data["time"], [1000, np.nan])
    assert data["text"].tolist() == ["a", ""]


def test_several_objects_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.rda"
    path.write_bytes(b"")
    monkeypatch.setattr(pyreadr, "read_r", lambda path: {"a": FRAME, "b": FRAME})
    with pytest.raises(FileError, match=r"2 objects \(a, b\)"):
        read(path)
    monkeypatch.setattr(pyreadr, "read_r", lambda path: {})
    with pytest.raises(FileError, match="no data frame"):
        read(path)
    monkeypatch.setattr(pyreadr, "read_r", lambda path: {None: FRAME[:0]})
    with pytest.raises(FileError, match="without rows"):
        read(path)


def test_without_r_and_pyreadr_a_sentence_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyreadr", None)
    (tmp_path / "x.rds").write_bytes(b"")
    with pytest.raises(MissingDependencyError, match=r"'x.rds' .*dprct\[r\].*dprct\[rds\]"):
        read(tmp_path / "x.rds")


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="needs R")
def test_files_of_r_itself(tmp_path: Path) -> None:
    # a tagged missing value as haven writes it: its letter in the payload of NA
    script = """
    tagged <- readBin(as.raw(c(0xa2, 7, 0, 0, 0x61, 0, 0xf8, 0x7f)), "double", endian = "little")
    frame <- data.frame(
      x = c(1, tagged, NA), day = as.Date(c("1960-01-02", NA, "1959-12-31")),
      time = as.POSIXct(c(1, NA, 2) - 315619200, origin = "1970-01-01", tz = "UTC"),
      flag = c(TRUE, NA, FALSE), n = c(1L, NA, 3L), s = c("a", NA, "b"))
    saveRDS(frame, "x.rds")
    saveRDS(list(1, "a"), "list.rds")
    """
    subprocess.run(["Rscript", "-e", script], cwd=tmp_path, capture_output=True, check=True)
    data, schema = loudly(tmp_path / "x.rds")
    assert missing_numbers(data["x"]).tolist() == [-1, 1, 0]
    np.testing.assert_array_equal(data["day"], [1, np.nan, -1])
    np.testing.assert_array_equal(data["time"], [1000, np.nan, 2000])
    np.testing.assert_array_equal(data["flag"], [1, np.nan, 0])
    np.testing.assert_array_equal(data["n"], [1, np.nan, 3])
    assert data["s"].tolist() == ["a", "", "b"]
    assert [c.format for c in schema.columns] == ["", "%td", "%tc", "", "", ""]
    with pytest.raises(FileError):
        read(tmp_path / "list.rds")
