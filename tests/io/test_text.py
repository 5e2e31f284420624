from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dprct.errors import (
    ColumnError,
    DprctError,
    DprctWarning,
    FileError,
    MissingDependencyError,
    SchemaError,
)
from dprct.io import text as tabular
from dprct.io.compare import differing_numbers
from dprct.io.text import (
    facts_of_csv,
    read_csv,
    read_parquet,
    readings,
    write_csv,
    write_parquet,
)
from dprct.missing import missing_numbers, tagged
from dprct.schema import Column, FileFacts, Schema
from dprct.schema.facts import FLOAT_LIMITS

if TYPE_CHECKING:
    from pathlib import Path


BIG = FLOAT_LIMITS["double"]
ROUTES = {"csv": (write_csv, read_csv), "parquet": (write_parquet, read_parquet)}


def table(values: object, storage: str = "double") -> tuple[pd.DataFrame, Schema]:
    series = pd.Series(values, dtype=object if storage.startswith("str") else np.float64)
    return pd.DataFrame({"x": series}), Schema((Column("x", storage),))


def csv_of(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(params=sorted(ROUTES))
def route(request: pytest.FixtureRequest) -> str:
    return str(request.param)


NUMBERS = st.one_of(
    st.floats(-BIG, BIG, allow_nan=False),
    st.integers(-(2**53), 2**53).map(float),
    st.integers(0, 26).map(lambda k: tagged([k])[0]),
)


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(ROUTES))
@given(values=st.lists(NUMBERS, min_size=1, max_size=30))
def test_numbers_and_missing_codes_come_back_bit_by_bit(
    name: str, values: list[float], tmp_path_factory: pytest.TempPathFactory
) -> None:
    write_it, read_it = ROUTES[name]
    path = tmp_path_factory.mktemp("io") / f"x.{name}"
    data, schema = table(np.array(values))
    write_it(data, schema, path)
    back, found = read_it(path)
    assert list(back) == ["x"]
    expected = data["x"].to_numpy()
    assert differing_numbers(back["x"].to_numpy(), expected).rows == 0
    assert found.columns == schema.columns
    assert found.file.rows == len(values)
    assert found.opened
    assert found.source == path


def test_text_comes_back(route: str, tmp_path: Path) -> None:
    write_it, read_it = ROUTES[route]
    texts = ["a", "", 'say "so"', "two\nlines", "a,b", "é 🎲", " spaced ", "007"]
    data, schema = table(texts, "strL")
    write_it(data, schema, tmp_path / "x")
    back, found = read_it(tmp_path / "x")
    assert back["x"].tolist() == texts
    assert back["x"].dtype == object
    assert found.column("x").type == "strL"


def test_facts_that_are_lost_are_said(route: str, tmp_path: Path) -> None:
    data, schema = table([1.0])
    column = replace(schema.column("x"), label="X", format="%8.2f", value_label="yes")
    facts = FileFacts(
        label="T",
        sorted_by=("x",),
        value_labels={"yes": {1: "yes"}},
        characteristics=(("_dta", "note1", "n"),),
    )
    with pytest.warns(DprctWarning, match="cannot keep") as caught:
        ROUTES[route][0](data, Schema((column,), file=facts), tmp_path / "x")
    said = str(caught[0].message)
    for fact in ("formats", "variable labels", "value labels", "dataset label", "notes", "sort"):
        assert fact in said


def test_types_are_said_to_be_lost_in_csv_only(tmp_path: Path) -> None:
    data, schema = table([1.0], "byte")
    with pytest.warns(DprctWarning, match="keep storage types;"):
        write_csv(data, schema, tmp_path / "x.csv")
    write_parquet(data, schema, tmp_path / "x.parquet")


@pytest.mark.parametrize(
    ("values", "storage"),
    [
        ([101.0], "byte"),
        ([1.5], "int"),
        ([2.0**31], "long"),
        ([0.1], "float"),
        ([np.inf], "double"),
        (["a"], "double"),
        ([b"\xff"], "str4"),
        (["\udce9"], "str4"),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_is_written(
    route: str, values: list[object], storage: str, tmp_path: Path
) -> None:
    text = storage.startswith("str") or isinstance(values[0], str)
    data = pd.DataFrame({"x": pd.Series(values, dtype=object if text else np.float64)})
    with pytest.raises(SchemaError, match="'x'") as caught:
        ROUTES[route][0](data, Schema((Column("x", storage),)), tmp_path / "x")
    for value in values:
        assert f"{value!r} " not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_columns_must_be_those_of_the_schema(route: str, tmp_path: Path) -> None:
    data, schema = table([1.0])
    for wrong in (data.rename(columns={"x": "y"}), data.assign(z=1.0)):
        with pytest.raises(ColumnError):
            ROUTES[route][0](wrong, schema, tmp_path / "x")


def test_other_engines_write_with_their_companions(route: str, tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {"x": [1.0, None, None], "x__missing": pl.Series([-1, 0, 3], dtype=pl.Int8)}
    )
    ROUTES[route][0](frame, Schema((Column("x"),)), tmp_path / "x")
    back, _ = ROUTES[route][1](tmp_path / "x")
    assert missing_numbers(back["x"]).tolist() == [-1, 0, 3]


def test_a_folder_that_is_missing_is_refused(route: str, tmp_path: Path) -> None:
    data, schema = table([1.0])
    with pytest.raises(FileError):
        ROUTES[route][0](data, schema, tmp_path / "none" / "x")


def test_parquet_uses_the_narrowest_types_and_nulls(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    columns = (Column("b", "byte"), Column("i", "int"), Column("l", "long"), Column("f", "float"))
    values = np.concatenate([[1.0, -3.0], tagged([0])])
    write_parquet(pd.DataFrame({c.name: values for c in columns}), Schema(columns), path)
    raw = parquet.read_table(path)
    assert raw.schema.types == [pa.int8(), pa.int16(), pa.int32(), pa.float32()]
    assert raw["b"].to_pylist() == [1, -3, None]
    # Arrow's own limits are wider than Stata's, so a type read back is the next wider one
    _, schema = read_parquet(path)
    assert [c.type for c in schema.columns] == ["int", "long", "double", "float"]


def test_parquet_has_a_companion_only_where_a_letter_is(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    data = pd.DataFrame({"x": tagged([0, 2]), "y": tagged([0, 0])})
    write_parquet(data, Schema((Column("x"), Column("y"))), path)
    raw = parquet.read_table(path)
    assert raw.column_names == ["x", "x__missing", "y"]
    assert raw["x__missing"].to_pylist() == [0, 2]
    back, _ = read_parquet(path)
    assert list(back) == ["x", "y"]
    assert missing_numbers(back["x"]).tolist() == [0, 2]


def test_a_taken_companion_name_is_refused(tmp_path: Path) -> None:
    data = pd.DataFrame({"x": tagged([1]), "x__missing": [1.0]})
    with pytest.raises(SchemaError, match="'x__missing'"):
        write_parquet(
            data, Schema((Column("x"), Column("x__missing", "byte"))), tmp_path / "x.parquet"
        )


@pytest.mark.parametrize(
    ("codes", "kind"), [([0, 3], pa.int8()), ([-1, 99], pa.int8()), ([-1, 3], pa.int64())]
)
def test_a_column_that_only_looks_like_a_companion_stays(
    codes: list[int], kind: pa.DataType, tmp_path: Path
) -> None:
    path = tmp_path / "x.parquet"
    columns = {"x": pa.array([1.0, None]), "x__missing": pa.array(codes, kind)}
    parquet.write_table(pa.table(columns), path)
    back, schema = read_parquet(path)
    assert schema.names == ["x", "x__missing"]
    assert missing_numbers(back["x"]).tolist() == [-1, 0]


def test_a_file_that_is_no_parquet_is_refused(tmp_path: Path) -> None:
    path = csv_of(tmp_path / "x.parquet", "x\n1\n")
    with pytest.raises(FileError, match="not a parquet file"):
        read_parquet(path)


def test_parquet_without_pyarrow_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    data, schema = table([1.0])
    with pytest.raises(MissingDependencyError, match=r"dprct\[engines\]"):
        write_parquet(data, schema, tmp_path / "x.parquet")


def test_csv_columns_are_numbers_only_if_every_cell_is(tmp_path: Path) -> None:
    cells = {
        "plain": ["1", "-2.5", ".5e3"],
        "codes": ["1", ".", ".z"],
        "absent": ["", "NA", "nan"],
        "zip": ["00123", "1", "2"],
        "wide": ["9007199254740993", "1", "2"],
        "huge": ["1e999", "1", "2"],
        "longest": ["1" * 5000, "1", "2"],
        "words": ["NA", "1", "north"],
        "inf": ["inf", "1", "2"],
        "spaced": [" 1", "2", "3"],
        "lines": ['"1\n2"', "1", "2"],
        "arabic": ["\u0661", "1", "2"],
    }
    rows = [",".join(cells), *(",".join(row) for row in zip(*cells.values(), strict=True))]
    data, schema = read_csv(csv_of(tmp_path / "x.csv", "\n".join(rows) + "\n"))
    kinds = {c.name: c.type for c in schema.columns}
    text = {"zip", "wide", "huge", "longest", "words", "inf", "arabic", "spaced", "lines"}
    assert {name for name, kind in kinds.items() if kind == "strL"} == text
    assert data["plain"].tolist() == [1.0, -2.5, 500.0]
    assert missing_numbers(data["codes"]).tolist() == [-1, 0, 26]
    assert missing_numbers(data["absent"]).tolist() == [0, 0, 0]
    for name in text:
        assert data[name].tolist() == [cell.strip('"') for cell in cells[name]]


def test_a_long_number_makes_no_text_of_a_column_with_bounds(tmp_path: Path) -> None:
    path = csv_of(tmp_path / "x.csv", "y,id\n1.5,9007199254740993\n-12345678901234567890,2\n")
    data, schema = read_csv(path)
    assert [column.type for column in schema.columns] == ["strL", "strL"]
    data, schema = read_csv(path, {"y": "number"})
    assert [column.type for column in schema.columns] == ["double", "strL"]
    assert data["y"].tolist() == [1.5, -12345678901234567890.0]
    assert data["id"].tolist() == ["9007199254740993", "2"]
    assert facts_of_csv(path).whole == set()


def test_days_of_a_csv_are_dates_and_are_written_as_such(tmp_path: Path) -> None:
    cells = {
        "day": ["2021-03-05", "", "0001-01-01", "9999-12-31"],
        "code": [".a", "1960-01-02", "NA", "1959-12-31"],
        "none": ["2021-02-30", "2021-03-05", "", "2021-03-05"],
        "mixed": ["2021-03-05", "5", "", "6"],
        "time": ["2021-03-05 10:00", "2021-03-05 11:00", "", ""],
        "other": ["5/3/2021", "6/3/2021", "", ""],
    }
    rows = [",".join(cells), *(",".join(row) for row in zip(*cells.values(), strict=True))]
    data, schema = read_csv(csv_of(tmp_path / "x.csv", "\n".join(rows) + "\n"))
    assert [c.name for c in schema.columns if not c.is_text] == ["day", "code"]
    assert data["code"].tolist()[1::2] == [1.0, -1.0]
    assert str(schema.decode(data)["day"][0])[:10] == "2021-03-05"
    with pytest.warns(DprctWarning, match="display formats"):
        write_csv(data, schema, tmp_path / "y.csv")
    again, _ = read_csv(tmp_path / "y.csv")
    pd.testing.assert_frame_equal(again, data)
    assert "2021-03-05,.a," in (tmp_path / "y.csv").read_text("utf-8")
    # what is no whole day is written as a number
    half = pd.DataFrame({"day": [0.5, 1.0]})
    with pytest.warns(DprctWarning, match="display formats"):
        write_csv(half, schema.select(["day"]), tmp_path / "z.csv")
    assert (tmp_path / "z.csv").read_text("utf-8") == "day\n0.5\n1\n"


def test_a_csv_is_looked_at_a_part_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Types, rows and candidates for whole numbers are those of the whole file."""
    monkeypatch.setattr(tabular, "_CHUNK", 2)
    text = "n,half,late,day,gap\n1,1,1,2021-03-05,\n2,.5,2,2021-03-06,\n3,1,north,2021-03-07,\n"
    path = csv_of(tmp_path / "x.csv", text)
    facts = facts_of_csv(path)
    data, schema = read_csv(path)
    assert facts.schema == schema
    assert (facts.rows, facts.whole) == (3, {"n", "day"})
    assert data["n"].tolist() == [1.0, 2.0, 3.0]
    assert data["late"].tolist() == ["1", "2", "north"]
    assert data["gap"].isna().all()


def test_csv_may_start_with_a_byte_order_mark_and_hold_empty_lines(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(b"\xef\xbb\xbfx,y\r\n1,2\r\n\r\n3,4\r\n")
    data, schema = read_csv(path)
    assert schema.names == ["x", "y"]
    assert data["y"].tolist() == [2.0, 4.0]


def test_an_empty_line_of_a_single_column_is_a_missing_cell(tmp_path: Path) -> None:
    data, _ = read_csv(csv_of(tmp_path / "x.csv", "x\n1\n\n3\n"))
    np.testing.assert_array_equal(data["x"], [1.0, np.nan, 3.0])


def test_csv_numbers_are_written_for_people(tmp_path: Path) -> None:
    data, schema = table(np.concatenate([[1.0, 0.1, 1e20, -0.0], tagged([0, 1])]))
    write_csv(data, schema, tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text().split("\n") == [
        *("x", "1", "0.1", "1e+20", "-0", '""', ".a", "")
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty"),
        ("x,y\n", "no rows"),
        ("x,x\n1,2\n", "named twice: x"),
        ("x,\n1,2\n", "column 2 .* no name"),
        ("x,y\n1,2\n3\n", "line 3 .* 1 cells .* has 2"),
        ("x;y\n1;2\n", "separate them by commas"),
        ('x\n"open\n', "not a comma-separated file"),
    ],
)
def test_csv_refusals_are_one_sentence(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(DprctError, match=says) as caught:
        read_csv(csv_of(tmp_path / "x.csv", text))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "row", ["40.92,1,Kwame-7,53", "1,1,Kwame-7,x", "Kwame-7,53", "Kwame-7,1e3"]
)
def test_a_csv_without_names_is_refused_without_its_first_person(row: str, tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="begin with a row of data") as caught:
        read_csv(csv_of(tmp_path / "x.csv", f"{row}\n{row.replace('7', '8')}\n"))
    for cell in ("Kwame", "40.92", "53", "1e3"):
        assert cell not in str(caught.value)


@pytest.mark.parametrize("names", ["0,1,2", "id,2001,2002", "id,1990,2000,2010"])
def test_names_of_a_csv_may_count_up(names: str, tmp_path: Path) -> None:
    row = ",".join("1" for _ in names.split(","))
    data, _ = read_csv(csv_of(tmp_path / "x.csv", f"{names}\n{row}\n"))
    assert list(data) == names.split(",")


def test_csv_that_is_not_utf8_is_refused_without_quoting_it(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes("x\ncafé\n".encode("latin-1"))
    with pytest.raises(FileError, match="first at byte 5") as caught:
        read_csv(path)
    assert "caf" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_nothing_half_written_is_left(
    route: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, schema = table([1.0])

    def fail(*args: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(tabular.csv, "writer", fail)
    monkeypatch.setattr(parquet, "write_table", fail)
    with pytest.raises(KeyboardInterrupt):
        ROUTES[route][0](data, schema, tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def test_a_csv_is_read_as_it_stands(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", '\ufeffa,b\r\n007,"x, ""y"""\r\n,"two\nlines"\r\n')
    (cells,) = readings(path)
    assert cells.names == ("a", "b")
    assert cells.columns == (("007", ""), ('x, "y"', "two\nlines"))


def test_row_numbers_without_a_name_are_left_out(tmp_path: Path) -> None:
    (cells,) = readings(written(tmp_path, "a.csv", '"","got"\n"1",0\n"2",1\n'))
    assert (cells.names, cells.columns) == (("got",), (("0", "1"),))


def test_a_tab_file_is_read_in_both_ways(tmp_path: Path) -> None:
    path = written(tmp_path, "a.tab", 'a\tb\n1\t"say \\"yes\\"\\tor\\nno \\\\"\n')
    assert readings(path)[-1].columns == (("1",), ('say "yes"\tor\nno \\',))
    path = written(tmp_path, "b.tab", 'a\tb\r\n1\t"say ""yes"""\r\n')
    assert readings(path)[0].columns == (("1",), ('say "yes"',))


@pytest.mark.parametrize("end", ["", "\n"])
def test_the_last_row_needs_no_line_end(tmp_path: Path, end: str) -> None:
    for cells in readings(written(tmp_path, "a.tab", "a\tb\n1\tx\n2\ty" + end)):
        assert cells.columns == (("1", "2"), ("x", "y"))


def test_only_line_feeds_and_returns_end_a_row(tmp_path: Path) -> None:
    for cells in readings(written(tmp_path, "a.tab", "a\tb\n1\tx\u2028y\x85\x0c\n")):
        assert cells.columns == (("1",), ("x\u2028y\x85\x0c",))


def test_one_column_may_have_empty_cells(tmp_path: Path) -> None:
    (cells,) = readings(written(tmp_path, "a.csv", "got\n1\n\n2\n"))
    assert cells.columns == (("1", "", "2"),)


def test_names_alone_are_a_table_without_rows(tmp_path: Path) -> None:
    (cells,) = readings(written(tmp_path, "a.csv", "a,b\n"))
    assert (cells.names, cells.columns) == (("a", "b"), ((), ()))


@pytest.mark.parametrize("text", ["", "a,b\n1\n", 'a,b\n1,"open\n'])
def test_what_is_no_table_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(FileError, match="is not a table"):
        readings(written(tmp_path, "a.csv", text))
    with pytest.raises(FileError, match="is not a table"):
        readings(written(tmp_path, "a.tab", text.replace(",", "\t").replace("open", "\t\t")))


def test_a_cell_that_is_too_long_is_named_among_the_reasons(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "a,b\n1," + "x" * 131_073 + "\n")
    with pytest.raises(FileError, match="no cell above 131,072 characters"):
        readings(path)


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"a\n\xff\n")
    with pytest.raises(FileError, match="not UTF-8"):
        readings(path)
    with pytest.raises(FileError):
        readings(tmp_path / "none.csv")
