from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dprct.errors import SchemaError
from dprct.io.stata import files, read_dta, write_dta
from dprct.schema import Column, Schema


def test_more_rows_than_a_piece_keep_their_order(tmp_path, monkeypatch, same):
    monkeypatch.setattr(files, "_CHUNK_BYTES", 1)
    monkeypatch.setattr(files, "_CHUNK_ROWS", 7)
    columns = (Column("x", "int", "%8.0g"), Column("s", "str4", "%9s"), Column("t", "strL", "%9s"))
    data = pd.DataFrame(
        {
            "x": np.arange(100.0),
            "s": pd.Series([str(i) for i in range(100)], dtype=object),
            "t": pd.Series(["t" * i for i in range(100)], dtype=object),
        }
    )
    write_dta(data, Schema(columns), tmp_path / "a.dta")
    again, schema = read_dta(tmp_path / "a.dta")
    same((data, schema), (again, schema))


def test_the_frame_has_few_blocks_and_is_writable(everything, tmp_path):
    write_dta(*everything(118), tmp_path / "a.dta")
    data, _ = read_dta(tmp_path / "a.dta")
    assert len(data._mgr.blocks) <= 2
    data["a_byte"] = data["a_byte"] + 1
    data.loc[0, "a_double"] = 2.5
    assert data["a_double"].iloc[0] == 2.5


def test_undecodable_names_are_columns(tmp_path, same):
    schema = Schema((Column("caf\udce9", "byte", "%8.0g", "l\udcff"), Column("s", "str1", "%9s")))
    data = pd.DataFrame({0: [1.0], 1: pd.Series(["a"], dtype=object)})
    data.columns = pd.Index(schema.names, dtype=object)
    write_dta(data, schema, tmp_path / "a.dta")
    again, read = read_dta(tmp_path / "a.dta")
    assert read.columns == schema.columns
    same((data, read), (again, read))


@pytest.mark.parametrize(
    "values",
    [
        pd.Series([1, 2, 3], dtype="int64"),
        pd.Series([1, 2, 3], dtype="Int8"),
        pd.Series([1, 2, 3], dtype="uint16"),
        pd.Series([1, 2, 3], dtype="float32"),
        pd.Series([1, 2, None], dtype="Int64"),
        pd.Series([1, 0, None], dtype="boolean"),
        pd.Series([1.0, 0, None], dtype="Float64"),
        pd.Series([True, False, True]),
    ],
)
def test_every_kind_of_number_is_written_as_it_is(values, tmp_path):
    write_dta(pd.DataFrame({"x": values}), Schema((Column("x", "byte"),)), tmp_path / "a.dta")
    back = read_dta(tmp_path / "a.dta")[0]["x"]
    assert back.isna().tolist() == values.isna().tolist()
    assert back.dropna().tolist() == values.dropna().astype(float).tolist()


@pytest.mark.parametrize(
    ("values", "storage"),
    [
        (pd.Series(["a", "b"]).astype("category"), "byte"),
        (pd.Series(["a", "b"]).astype("category"), "str1"),
        (pd.to_datetime(pd.Series(["2026-11-21", "2026-11-22"])), "double"),
        (pd.Series(["1", "2"], dtype=object), "double"),
        (pd.Series([1 + 2j, 0]), "double"),
    ],
)
def test_views_are_refused_not_converted(values, storage, tmp_path):
    with pytest.raises(SchemaError, match=r"'x'.* must be .*; write the codes"):
        write_dta(pd.DataFrame({"x": values}), Schema((Column("x", storage),)), tmp_path / "a.dta")
    assert not (tmp_path / "a.dta").exists()


def test_pandas_own_text_type_is_text(tmp_path):
    data = pd.DataFrame({"s": pd.Series(["a", "bc"], dtype="string")})
    write_dta(data, Schema((Column("s", "str2"),)), tmp_path / "a.dta")
    assert read_dta(tmp_path / "a.dta")[0]["s"].tolist() == ["a", "bc"]
