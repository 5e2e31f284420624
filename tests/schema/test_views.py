from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dprct.errors import ColumnError
from dprct.missing import tagged
from dprct.schema import Column, FileFacts, Schema
from dprct.schema.columns import date_kind
from dprct.schema.frames import decode

NAN = float("nan")


def labelled(labels: dict[int | str, str], values: object, storage: str = "byte") -> pd.Series:
    file = FileFacts(value_labels={"set": labels})
    schema = Schema((Column("x", storage, value_label="set"),), file)
    return decode(schema, pd.DataFrame({"x": values}))["x"]


def test_codes_become_ordered_categories_in_the_order_of_the_codes() -> None:
    out = labelled({2: "high", 0: "low", 1: "mid"}, [1.0, 0.0, 2.0, 1.0])
    assert out.tolist() == ["mid", "low", "high", "mid"]
    assert out.cat.categories.tolist() == ["low", "mid", "high"]
    assert out.cat.ordered
    assert (out > "low").tolist() == [True, False, True, True]


def test_a_category_that_is_not_used_is_still_there() -> None:
    assert labelled({0: "no", 1: "yes"}, [0.0]).cat.categories.tolist() == ["no", "yes"]


def test_missing_codes_are_missing_whatever_their_labels() -> None:
    out = labelled({0: "no", ".a": "refused"}, [0.0, *tagged([0, 1, 26])])
    assert out.isna().tolist() == [False, True, True, True]
    assert out.cat.categories.tolist() == ["no"]


def test_a_code_without_a_label_is_shown_as_the_number() -> None:
    out = labelled({0: "no"}, [0.0, 7.0, -1.0, 2.5, 1234567.0, np.inf], "double")
    assert out.tolist() == ["no", "7", "-1", "2.5", "1234567", "inf"]
    assert out.cat.categories.tolist() == ["-1", "no", "2.5", "7", "1234567", "inf"]


@pytest.mark.parametrize(
    ("labels", "values", "expected"),
    [
        ({0: "other", 1: "a", 2: "other"}, [0, 1, 2], ["other (0)", "a (1)", "other (2)"]),
        ({1: "3"}, [1, 3], ["3 (1)", "3 (3)"]),
        ({1: "a", 2: "a", 3: "a (1)"}, [1, 2, 3], ["a (1)", "a (2)", "a (1) (3)"]),
        ({1234567: "x", 1234568: "x"}, [1234567, 1234568], ["x (1234567)", "x (1234568)"]),
    ],
)
def test_texts_that_are_given_twice_are_told_apart(
    labels: dict[int | str, str], values: list[float], expected: list[str]
) -> None:
    assert labelled(labels, np.array(values, float), "double").tolist() == expected


def test_undecodable_labels_can_be_printed() -> None:
    out = labelled({0: b"caf\xe9".decode("utf-8", "surrogateescape")}, [0.0])
    assert out.tolist() == ["caf\ufffd"]


@pytest.mark.parametrize(
    ("display", "kind"),
    [
        ("%td", "d"), ("%d", "d"), ("%-td", "d"), ("%tdD_m_Y", "d"), ("%-dM_d_CY", "d"),
        ("%tc", "c"), ("%tcHH:MM", "c"), ("%tw", "w"), ("%tm", "m"), ("%tq", "q"), ("%th", "h"),
        ("%ty", "y"), ("%tC", None), ("%tbmycal", None), ("%9.0g", None), ("%10s", None),
        ("", None), ("%tg", None), ("td", None), ("%8.0fd", None),
    ],
)  # fmt: skip
def test_kinds_of_dates(display: str, kind: str | None) -> None:
    assert date_kind(display) == kind


@pytest.mark.parametrize(
    ("display", "number", "instant"),
    [
        ("%td", 0, "1960-01-01"),
        ("%td", 21_915, "2020-01-01"),
        ("%td", -1, "1959-12-31"),
        ("%td", -25_566, "1890-01-01"),
        ("%td", 59, "1960-02-29"),
        ("%td", 0.75, "1960-01-01"),
        ("%td", -0.25, "1959-12-31"),
        ("%tc", 0, "1960-01-01"),
        ("%tc", 1_893_456_000_000, "2020-01-01"),
        ("%tc", 1_893_502_923_456, "2020-01-01T13:02:03.456"),
        ("%tc", -1, "1959-12-31T23:59:59.999"),
        ("%tw", 0, "1960-01-01"),
        ("%tw", 1, "1960-01-08"),
        ("%tw", 51, "1960-12-23"),
        ("%tw", 52, "1961-01-01"),
        ("%tw", -1, "1959-12-24"),
        ("%tw", 3_120, "2020-01-01"),
        ("%tm", 0, "1960-01-01"),
        ("%tm", 721, "2020-02-01"),
        ("%tm", -1, "1959-12-01"),
        ("%tq", 241, "2020-04-01"),
        ("%tq", -1, "1959-10-01"),
        ("%th", 121, "2020-07-01"),
        ("%th", -1, "1959-07-01"),
        ("%ty", 2020, "2020-01-01"),
        ("%ty", 1890, "1890-01-01"),
    ],
)
def test_dates_are_those_of_the_calendar(display: str, number: float, instant: str) -> None:
    schema = Schema((Column("x", "double", display),))
    out = decode(schema, pd.DataFrame({"x": [number, NAN, tagged([3])[0]]}))["x"]
    assert out[0] == pd.Timestamp(instant)
    assert out.isna().tolist() == [False, True, True]


@pytest.mark.parametrize("display", ["%td", "%tc", "%tw", "%tm", "%tq", "%th", "%ty"])
def test_what_no_calendar_reaches_is_missing(display: str) -> None:
    schema = Schema((Column("x", "double", display),))
    data = pd.DataFrame({"x": [8e307, -8e307, np.inf, -np.inf, 1.0]})
    assert decode(schema, data)["x"].isna().tolist() == [True] * 4 + [False]


def test_everything_else_is_as_it_was() -> None:
    schema = Schema(
        (Column("s", "str3"), Column("x", "double"), Column("c", "double", "%tC"),
         Column("b", "int", "%tbcal"))
    )  # fmt: skip
    data = pd.DataFrame(
        {"x": [1.5, NAN], "s": ["a", ""], "b": [1.0, 2.0], "c": [3.0, 4.0], "other": [1, 2]},
        index=[7, 3],
    )
    out = decode(schema, data)
    assert list(out.columns) == ["s", "x", "c", "b"]
    pd.testing.assert_frame_equal(out, data[["s", "x", "c", "b"]])


def test_the_index_stays_and_the_data_are_left_alone() -> None:
    file = FileFacts(value_labels={"yn": {0: "no", 1: "yes"}})
    schema = Schema((Column("got", "byte", value_label="yn"), Column("d", "int", "%td")), file)
    data = pd.DataFrame({"got": [1.0, 0.0], "d": [0.0, 1.0]}, index=[5, 5])
    before = data.copy()
    out = schema.decode(data)
    assert out.index.tolist() == [5, 5]
    assert out["got"].tolist() == ["yes", "no"]
    pd.testing.assert_frame_equal(data, before)


def test_a_column_that_is_not_there_is_named() -> None:
    with pytest.raises(ColumnError, match="no column 'age' in the data; did you mean 'aged'"):
        decode(Schema((Column("age"),)), pd.DataFrame({"aged": [1.0]}))
