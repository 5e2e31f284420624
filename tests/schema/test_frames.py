from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dprct.errors import DprctError, DprctWarning, ParameterError, SchemaError
from dprct.missing import missing_numbers, tagged
from dprct.schema import Schema
from dprct.schema.facts import FLOAT_LIMITS, INTEGER_LIMITS
from dprct.schema.frames import STORAGE, schema_of_frame, table_of_frame


def types(frame: object) -> dict[str, str]:
    return {c.name: c.type for c in schema_of_frame(frame).columns}


def test_types_come_from_dtypes_in_pandas() -> None:
    frame = pd.DataFrame(
        {
            "b": [True, False],
            "nb": pd.Series([True, None], dtype="boolean"),
            "i8": pd.Series([1, 2], dtype="int8"),
            "i16": pd.Series([1, None], dtype="Int16"),
            "i32": pd.Series([1, 2], dtype="int32"),
            "i64": [1, 2],
            "f32": pd.Series([1, 2], dtype="float32"),
            "f64": [1.0, 2.0],
            "s": ["a", "b"],
            "o": pd.Series(["a", b"b"], dtype=object),
        }
    )
    assert types(frame) == {
        "b": "byte",
        "nb": "byte",
        "i8": "int",
        "i16": "long",
        "i32": "double",
        "i64": "double",
        "f32": "float",
        "f64": "double",
        "s": "strL",
        "o": "strL",
    }


def test_every_integer_dtype_fits_its_storage_type() -> None:
    for name in ("Int8", "UInt8", "Int16", "UInt16", "Int32", "UInt32"):
        limits = np.iinfo(name.lower())
        storage = STORAGE[name]
        big = FLOAT_LIMITS["double"]
        low, high = INTEGER_LIMITS.get(storage, (-big, big))
        assert low <= limits.min
        assert limits.max <= high
        smaller = {"int": "byte", "long": "int", "double": "long"}[storage]
        low, high = INTEGER_LIMITS[smaller]
        assert limits.min < low or high < limits.max


@pytest.mark.parametrize("lazy", [False, True])
def test_types_of_polars(lazy: bool) -> None:
    frame = pl.DataFrame(
        {
            "e": pl.Series(["a", None], dtype=pl.Enum(["b", "a"])),
            "c": pl.Series(["a", None], dtype=pl.Categorical),
            "d": [dt.date(1960, 1, 2), None],
            "t": [dt.datetime(1960, 1, 1, 0, 0, 1), None],
        }
    )
    schema = schema_of_frame(frame.lazy() if lazy else frame)
    assert [c.type for c in schema.columns] == ["long", "strL", "double", "double"]
    assert [c.format for c in schema.columns] == ["", "", "%td", "%tc"]
    assert dict(schema.labels_of("e")) == {1: "b", 2: "a"}
    assert schema.file.rows == (None if lazy else 2)
    assert schema.opened


def test_the_values_are_never_looked_at() -> None:
    small = pd.DataFrame({"x": [0, 1], "s": ["a", "b"]})
    large = pd.DataFrame({"x": [0, 2**60], "s": ["a" * 500, "b"]})
    assert schema_of_frame(small) == schema_of_frame(large)


def test_categories_of_the_dtype_become_labels_even_where_unused() -> None:
    kind = pd.CategoricalDtype(["v", "u", "w"])
    data, schema = table_of_frame(pd.DataFrame({"arm": pd.Series(["u", None], dtype=kind)}))
    assert dict(schema.labels_of("arm")) == {1: "v", 2: "u", 3: "w"}
    assert schema.column("arm").type == "long"
    assert data["arm"].iloc[0] == 2.0
    assert missing_numbers(data["arm"]).tolist() == [-1, 0]


def test_numeric_categories_are_labelled_by_their_text() -> None:
    data, schema = table_of_frame(pd.DataFrame({"k": pd.Categorical([30, 10])}))
    assert dict(schema.labels_of("k")) == {1: "10", 2: "30"}
    assert data["k"].tolist() == [2.0, 1.0]


def test_values_become_codes_numbers_and_stata_dates() -> None:
    frame = pl.DataFrame(
        {
            "e": pl.Series(["a", None, "b"], dtype=pl.Enum(["b", "a"])),
            "d": [dt.date(1960, 1, 2), None, dt.date(1959, 12, 31)],
            "t": [dt.datetime(1960, 1, 1, 0, 0, 1, 500), None, dt.datetime(2020, 1, 1)],
            "b": [True, None, False],
            "i": pl.Series([1, None, -3], dtype=pl.Int16),
            "s": ["a", None, "c"],
        }
    )
    data, _ = table_of_frame(frame)
    nan = np.nan
    np.testing.assert_array_equal(data["e"], [2, nan, 1])
    np.testing.assert_array_equal(data["d"], [1, nan, -1])
    np.testing.assert_array_equal(data["t"], [1000.5, nan, 21_915 * 86_400_000])
    np.testing.assert_array_equal(data["b"], [1, nan, 0])
    np.testing.assert_array_equal(data["i"], [1, nan, -3])
    assert data["s"].tolist() == ["a", "", "c"]
    assert data["s"].dtype == object


def test_pandas_and_arrow_give_the_same_as_polars() -> None:
    frame = pl.DataFrame(
        {"i": [1, None], "x": [0.1, None], "s": ["a", "b"], "t": [dt.datetime(2001, 2, 3), None]}
    )
    expected, _ = table_of_frame(frame)
    for other in (frame.to_arrow(), frame.to_pandas()):
        pd.testing.assert_frame_equal(table_of_frame(other)[0], expected)


def test_missing_codes_survive_in_pandas() -> None:
    data, _ = table_of_frame(pd.DataFrame({"x": tagged([0, 1, 26])}))
    assert missing_numbers(data["x"]).tolist() == [0, 1, 26]


def test_the_copy_does_not_share_memory_with_the_frame() -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0]})
    data, _ = table_of_frame(frame)
    assert not np.shares_memory(data["x"].to_numpy(), frame["x"].to_numpy())


def test_from_frame_is_the_same_door() -> None:
    frame = pd.DataFrame({"x": [1.0]})
    assert Schema.from_frame(frame) == schema_of_frame(frame)


@pytest.mark.parametrize(
    ("frame", "says"),
    [
        (pd.DataFrame(), "no columns"),
        (pd.DataFrame({"x": []}), "no rows"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "twice"),
        (pd.DataFrame({1: [1]}), "not text"),
        (pd.DataFrame({"gap": pd.to_timedelta([1])}), "'gap'"),
        (pa.table({"gone": pa.nulls(2)}), "'gone'"),
    ],
)
def test_refusals_are_one_sentence(frame: object, says: str) -> None:
    with pytest.raises(SchemaError, match=says) as caught:
        schema_of_frame(frame)
    assert isinstance(caught.value, DprctError)
    assert "\n" not in str(caught.value)


def test_what_is_no_frame_is_refused() -> None:
    with pytest.raises(ParameterError, match="got list"):
        schema_of_frame([1, 2])


def test_values_that_no_double_keeps_are_refused_without_showing_them() -> None:
    with pytest.raises(SchemaError, match="'x'") as caught:
        table_of_frame(pd.DataFrame({"x": [2**53 + 1]}))
    assert str(2**53 + 1) not in str(caught.value)
    table_of_frame(pd.DataFrame({"x": [2**53, -(2**53)]}))


def test_unsigned_numbers_have_no_lower_limit() -> None:
    small = pl.DataFrame({"x": pl.Series([1, 2**53], dtype=pl.UInt64)})
    assert table_of_frame(small)[0]["x"].tolist() == [1.0, 2.0**53]
    with pytest.raises(SchemaError, match="'x'"):
        table_of_frame(pl.DataFrame({"x": pl.Series([2**53 + 1], dtype=pl.UInt64)}))


def test_the_last_day_of_all_is_a_date_in_every_library() -> None:
    days = [dt.date(9999, 12, 31), None, dt.date(1960, 1, 2)]
    times = [dt.datetime(9999, 12, 31, 23, 59, 59), None, dt.datetime(1960, 1, 1, 0, 0, 0, 1500)]
    for one in (pl.DataFrame, pa.table):
        data, _ = table_of_frame(one({"day": days, "time": times}))
        np.testing.assert_array_equal(data["day"], [2_936_549.0, np.nan, 1.0])
        np.testing.assert_array_equal(data["time"], [253_717_919_999_000.0, np.nan, 1.5])


def test_an_unsigned_number_of_arrow_is_refused_as_any_other() -> None:
    with pytest.raises(SchemaError, match="beyond 2"):
        table_of_frame(pa.table({"x": pa.array([2**63 + 5, 1], pa.uint64())}))


def test_a_dtype_is_named_without_what_is_in_it() -> None:
    nested = pl.Series([["Kwame"]], dtype=pl.List(pl.Enum(["Kwame"])))
    with pytest.raises(SchemaError, match="of dtype List;"):
        schema_of_frame(pl.DataFrame({"x": nested}))


def test_a_time_zone_is_said_to_be_lost() -> None:
    frame = pd.DataFrame({"t": pd.DatetimeIndex(["1960-01-01 01:00"], tz="Europe/Berlin")})
    with pytest.warns(DprctWarning, match="'t' has a time zone"):
        data, _ = table_of_frame(frame)
    assert data["t"].tolist() == [0.0]


def test_objects_that_are_no_text_are_refused() -> None:
    with pytest.raises(SchemaError, match="'day'"):
        table_of_frame(pd.DataFrame({"day": [dt.date(2020, 1, 1)]}))


def test_a_lazy_frame_has_no_values() -> None:
    with pytest.raises(ParameterError, match="collect"):
        table_of_frame(pl.LazyFrame({"x": [1]}))
