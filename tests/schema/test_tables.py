from __future__ import annotations

import datetime as dt
import traceback
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dprct.errors import ColumnError, EngineError, SchemaError
from dprct.missing import tagged
from dprct.schema.tables import (
    COMPANION,
    asking,
    check_there,
    eager,
    has_payloads,
    numbers_of,
    owners,
    table,
    text_of,
    whole_beyond,
)

if TYPE_CHECKING:
    import narwhals as nw

SENTINEL = "secret-918273645"


def test_frames_of_both_engines_are_taken_and_taken_twice() -> None:
    for data in (pd.DataFrame({"x": [1.0]}), pl.DataFrame({"x": [1.0]})):
        frame = eager(data)
        assert eager(frame).columns == ["x"]
        assert has_payloads(frame) is isinstance(data, pd.DataFrame)


@pytest.mark.parametrize("data", [[1, 2], {"x": [1]}, None, np.ones((2, 2)), SENTINEL,
                                  pl.LazyFrame({"x": [1]}), pd.Series([1.0])])  # fmt: skip
def test_what_is_no_eager_frame_is_refused(data: object) -> None:
    with pytest.raises(SchemaError, match="Polars data frame") as caught:
        eager(data)
    assert SENTINEL not in str(caught.value)


@pytest.mark.parametrize("data", [pd.DataFrame({"x": []}), pl.DataFrame({"x": []}), pd.DataFrame()])
def test_an_empty_frame_is_refused(data: object) -> None:
    with pytest.raises(SchemaError, match="table with at least"):
        eager(data)


def test_a_name_twice_is_refused() -> None:
    data = pd.DataFrame([[1, 2, 3]], columns=["x", "y", "x"])
    with pytest.raises(SchemaError, match="columns named twice: x; give every column its name"):
        eager(data)


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1, 2, np.nan]),
        pd.Series([1, 2, None], dtype="Int64"),
        pd.Series([1, 2, None], dtype="Float64"),
        pd.Series([1, 2, None], dtype="int64[pyarrow]"),
        pd.Series([1, 2, None], dtype=object),
        pl.Series("x", [1, 2, None]),
        pl.Series("x", [1.0, 2.0, float("nan")]),
        pl.Series("x", [1.0, 2.0, None], dtype=pl.Float32),
    ],
)
def test_numbers_of_every_dtype(column: pd.Series | pl.Series) -> None:
    frame = eager(column.to_frame("x"))
    values, codes = numbers_of(frame, "x")
    np.testing.assert_array_equal(values, [1, 2, np.nan])
    assert values.dtype == np.float64
    assert codes.tolist() == [-1, -1, 0]


def test_booleans_are_numbers() -> None:
    for data in (pd.DataFrame({"x": [True, False]}), pl.DataFrame({"x": [True, False]})):
        assert numbers_of(eager(data), "x")[0].tolist() == [1.0, 0.0]


def test_payloads_are_read_in_pandas_and_companions_everywhere() -> None:
    values = tagged([0, 1, 26])
    assert numbers_of(eager(pd.DataFrame({"x": values})), "x")[1].tolist() == [0, 1, 26]
    facts = {"x": [None, None, None, 5.0], "x" + COMPANION: [3, -1, None, 7]}
    frames = pd.DataFrame(facts, dtype="Float64"), pd.DataFrame(facts), pl.DataFrame(facts)
    for data in frames:
        # a companion is believed where the number is missing, and only there
        assert numbers_of(eager(data), "x")[1].tolist() == [3, 0, 0, -1]


@pytest.mark.parametrize(
    "values",
    [
        ["12", "13"],
        [SENTINEL, "a"],
        [dt.datetime(2020, 1, 1), dt.datetime(2021, 1, 1)],
        [dt.timedelta(1), dt.timedelta(2)],
        [1 + 2j, 2j],
    ],
)
def test_text_dates_and_other_things_are_no_numbers(values: list[object]) -> None:
    for engine in (pd, pl):
        if engine is pl and isinstance(values[0], complex):
            continue
        with pytest.raises(
            SchemaError, match=r"column 'x' holds .*, the schema says num"
        ) as caught:
            numbers_of(eager(engine.DataFrame({"x": values})), "x")
        assert SENTINEL not in str(caught.value)
        assert caught.value.__context__ is None


def test_mixed_objects_are_no_numbers() -> None:
    data = pd.DataFrame({"x": pd.Series([1.0, SENTINEL], dtype=object)})
    with pytest.raises(SchemaError, match=r"the schema says numbers; .*table_of_frame"):
        numbers_of(eager(data), "x")


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(["a", None, ""], dtype=object),
        pd.Series(["a", np.nan, ""], dtype=object),
        pd.Series(["a", pd.NA, ""], dtype=object),
        pd.Series(["a", None, ""], dtype="string"),
        pd.Series(["a", None, ""], dtype="str"),
        pd.Series(["a", None, ""], dtype="category"),
        pl.Series("x", ["a", None, ""]),
        pl.Series("x", ["a", None, ""], dtype=pl.Categorical),
        pl.Series("x", ["a", None, ""], dtype=pl.Enum(["", "a"])),
    ],
)
def test_a_missing_text_is_the_empty_text(column: pd.Series | pl.Series) -> None:
    text = text_of(eager(column.to_frame("x")), "x")
    assert text.tolist() == ["a", "", ""]
    assert text.dtype == object


def test_bytes_are_text() -> None:
    data = pd.DataFrame({"x": pd.Series([b"\xff", "a"], dtype=object)})
    assert text_of(eager(data), "x").tolist() == [b"\xff", "a"]


@pytest.mark.parametrize("values", [[918273645.5, 1.0], [918273645, "a"]])
def test_numbers_are_no_text(values: list[object]) -> None:
    data = pd.DataFrame({"x": pd.Series(values, dtype=object)})
    with pytest.raises(SchemaError, match=r"column 'x' holds .*, the schema says text") as caught:
        text_of(eager(data), "x")
    assert "918273645" not in str(caught.value)


def test_a_column_that_is_not_there_is_named_with_the_closest() -> None:
    frame: nw.DataFrame[object] = eager(pd.DataFrame({"age": [1.0]}))
    for read in (numbers_of, text_of):
        with pytest.raises(ColumnError, match="no column 'aeg' in the data; did you mean 'age'"):
            read(frame, "aeg")


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize(
    "codes", [["Aurelia", "Quint"], [417, 1], [-2, 0], [1.5, 0.0], [2**40, 0], [float("inf"), 0.0]]
)
def test_a_companion_that_holds_no_missing_codes_is_refused_unseen(
    codes: list[object], kind: type
) -> None:
    frame = eager(kind({"x": [1.0, None], "x__missing": codes}))
    with pytest.raises(SchemaError, match="column 'x__missing' must hold missing codes") as caught:
        numbers_of(frame, "x")
    assert not any(str(code) in str(caught.value) for code in codes if code not in (0, 1))


@pytest.mark.parametrize(
    ("held", "beyond"),
    [
        (pd.Series([2**53 - 1, 1]), False),
        (pd.Series([2**53, 1]), True),
        (pd.Series([-(2**53) - 1, None], dtype="Int64"), True),
        (pd.Series([2**63], dtype="uint64"), True),
        (pd.Series([2**53, None], dtype=object), True),
        (pd.Series([np.int64(-(2**63)), None], dtype=object), True),
        (pd.Series([2**53 - 1, None, "a"], dtype=object), False),
        (pd.Series([2.0**60]), False),
        (pl.Series("x", [None, 2**62]), True),
        (pl.Series("x", [2**31 - 1], dtype=pl.Int32), False),
    ],
)
def test_whole_numbers_that_a_double_rounds_are_told(
    held: pd.Series | pl.Series, beyond: bool
) -> None:
    assert whole_beyond(eager(held.to_frame("x"))["x"]) is beyond


def test_what_an_engine_says_is_withheld_and_what_we_say_is_not() -> None:
    frame = table(pl.LazyFrame({"x": [1.0]}))
    words = "polars ended with ValueError while it was asked for a sum"
    with pytest.raises(EngineError, match=words) as refusal, asking(frame, "a sum"):
        raise ValueError(SENTINEL)
    assert SENTINEL not in str(refusal.value)
    assert refusal.value.__context__ is refusal.value.__cause__ is None
    with pytest.raises(ColumnError), asking(frame, "a sum"):
        raise ColumnError.unknown("x", ["y"], "the data")


def test_a_panic_of_an_engine_is_withheld_too_and_an_interruption_is_not() -> None:
    """Polars raises what is no Exception when it finds another file than it had scanned."""
    frame = table(pl.LazyFrame({"x": [1.0]}))
    words = "ended with PanicException"
    with pytest.raises(EngineError, match=words) as refusal, asking(frame, "a sum"):
        raise pl.exceptions.PanicException(SENTINEL)
    assert SENTINEL not in "".join(traceback.format_exception(refusal.value))
    for kind in (KeyboardInterrupt, SystemExit, GeneratorExit):
        with pytest.raises(kind), asking(frame, "a sum"):
            raise kind


def test_another_number_of_rows_than_at_the_door_is_refused() -> None:
    for data in (pl.LazyFrame({"x": [1.0, 2.0]}), pl.DataFrame({"x": [1.0, 2.0]})):
        check_there(table(data), 2)
        for n in (1, 3):
            with pytest.raises(EngineError, match=f"had {n} rows .* store it first"):
                check_there(table(data), n)


@pytest.mark.parametrize("engine", [pd.DataFrame, pl.DataFrame])
def test_ids_that_differ_in_a_nul_at_their_end_are_two_persons(engine: type) -> None:
    frame = eager(engine({"id": ["a", "a\0", "a", "b", "a\0\0"]}))
    assert owners(frame, "id").tolist() == [0, 1, 0, 2, 3]
