from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dprct.errors import SchemaError
from dprct.io.compare.values import (
    Differing,
    differing_numbers,
    rows_are_sorted,
    value_differences,
)
from dprct.missing import tagged
from dprct.schema import Column, FileFacts, Schema

NUMBERS = st.one_of(
    st.floats(allow_nan=False, width=64),
    st.integers(0, 26).map(lambda k: tagged([k])[0]),
)


def key(x: float) -> tuple[bool, object]:
    code = np.array([x]).view(np.uint64)[0] >> np.uint64(32) & np.uint64(0xFF)
    return (True, code) if np.isnan(x) else (False, np.float64(x).tobytes())


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=20))
def test_numbers_are_compared_bit_by_bit_and_code_by_code(rows: list[tuple[float, float]]) -> None:
    # from bytes, as NumPy keeps payloads and Python floats in a list do, too
    a = np.array([one for one, _ in rows])
    b = np.array([two for _, two in rows])
    keys = [(key(one), key(two)) for one, two in zip(a, b, strict=True)]
    rows_that_differ = sum(one != two for one, two in keys)
    codes = sum(one != two and (one[0] or two[0]) for one, two in keys)
    assert differing_numbers(a, b) == Differing(rows_that_differ, codes)


def test_nans_of_the_same_code_are_equal_whatever_their_other_bits() -> None:
    odd = np.array([0xFFF8_0000_0000_0000, 0x7FF8_0000_0000_0001], np.uint64).view(np.float64)
    assert differing_numbers(odd, tagged([0, 0])) == Differing(0, 0)


def pair(values: object, storage: str = "double") -> tuple[pd.DataFrame, Schema]:
    return pd.DataFrame({"x": values}), Schema((Column("x", storage),))


def details(a: tuple[pd.DataFrame, Schema], b: tuple[pd.DataFrame, Schema]) -> list[str]:
    return [str(difference) for difference in value_differences(a, b)]


def test_missing_codes_are_counted_apart() -> None:
    a = pair(np.concatenate([tagged([0, 1, 2]), [5.0, 6.0]]))
    b = pair(np.concatenate([tagged([0, 1, 3]), [5.5, np.nan]]))
    assert details(a, b) == ["values of x: 3 of 5 rows differ, 2 of them in missing codes"]


def test_whole_number_dtypes_equal_floats() -> None:
    assert details(pair(pd.Series([1, None], dtype="Int8")), pair([1.0, np.nan])) == []


def test_text_is_compared_exactly() -> None:
    a = pair(pd.Series(["a", b"b", "", "d"], dtype=object), "str5")
    b = pair(pd.Series(["a", "b", None, "d "], dtype=object), "str5")
    assert details(a, b) == ["values of x: 2 of 4 rows differ"]
    assert details(pair(["a", None], "str5"), pair(["a", ""], "str5")) == []


def test_rows_that_cannot_be_matched_are_said_not_to_be_compared() -> None:
    assert details(pair([1.0]), pair([1.0, 2.0])) == [
        "rows: 1 in the first, 2 in the second",
        "values of x: not compared, as the numbers of rows differ",
    ]


def test_text_and_numbers_are_not_compared() -> None:
    assert details(pair([1.0]), pair(["1"], "str1")) == [
        "values of x: not compared, as one is text and the other a number"
    ]


def test_only_common_columns_are_compared() -> None:
    other = (pd.DataFrame({"y": [1.0]}), Schema((Column("y"),)))
    assert details(pair([2.0]), other) == []


def test_numbers_that_are_none_are_refused_without_showing_them() -> None:
    with pytest.raises(SchemaError, match="'x'") as caught:
        details(pair(["hush"]), pair([1.0]))
    assert "hush" not in str(caught.value)


def in_order(data: pd.DataFrame, *by: str) -> bool:
    kinds = {name: "strL" if data[name].dtype == object else "double" for name in data}
    schema = Schema(
        tuple(Column(name, kind) for name, kind in kinds.items()), FileFacts(sorted_by=by)
    )
    return rows_are_sorted(data, schema)


def test_missing_codes_sort_after_every_number_in_their_order() -> None:
    high = np.concatenate([[-1.0, 0.0, 1e300], tagged([0, 1, 26])])
    assert in_order(pd.DataFrame({"x": high}), "x")
    for row in range(5):
        swapped = high.copy()
        swapped[[row, row + 1]] = swapped[[row + 1, row]]
        assert not in_order(pd.DataFrame({"x": swapped}), "x")


def test_later_keys_count_only_within_ties() -> None:
    data = pd.DataFrame({"x": [1.0, 1.0, 2.0], "y": [1.0, 2.0, 0.0]})
    assert in_order(data, "x", "y")
    assert not in_order(data, "y", "x")
    data.loc[1, "y"] = 0.5
    assert not in_order(data, "x", "y")
    assert in_order(data, "x")


def test_text_sorts_by_its_bytes() -> None:
    text = pd.Series(["", "A", "Z", "a", b"b", "é"], dtype=object)
    assert in_order(pd.DataFrame({"s": text}), "s")
    assert not in_order(pd.DataFrame({"s": text.iloc[::-1].reset_index(drop=True)}), "s")


def test_no_rows_and_no_keys_are_sorted() -> None:
    assert in_order(pd.DataFrame({"x": [2.0, 1.0]}))
    assert in_order(pd.DataFrame({"x": np.array([], np.float64)}), "x")


def test_a_sort_flag_that_is_false_in_one_file_only_is_a_difference() -> None:
    schema = Schema((Column("x"),), FileFacts(sorted_by=("x",)))
    good = (pd.DataFrame({"x": [1.0, 2.0]}), schema)
    bad = (pd.DataFrame({"x": [2.0, 1.0]}), schema)
    assert "sort: the rows of the second are not sorted by the variables it names" in details(
        good, bad
    )
    assert "sort: the rows of the first are not sorted by the variables it names" in details(
        bad, good
    )
    assert details(bad, bad) == []
