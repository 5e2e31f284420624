from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dprct.custodian.tables import (
    Cells,
    cells_of,
    check_same_kinds,
    columns_in_all,
    gower_points,
    level_codes,
    level_words,
    nearest,
    row_ids,
    table_of,
)
from dprct.errors import ColumnError, SchemaError
from dprct.missing import tagged

DAY = datetime.date(2026, 11, 21)
VALUES = st.one_of(st.floats(0, 10).map(lambda x: round(x, 1)), st.sampled_from([None, ".a", ".b"]))


def column(values: list[Any]) -> Cells:
    """Numbers, None for the missing code ``.`` and letters for the others."""
    codes = np.array([{None: 0, ".a": 1, ".b": 2}.get(v, -1) for v in values], np.int8)
    numbers = [np.nan if c >= 0 else v for v, c in zip(values, codes, strict=True)]
    return Cells(np.array(numbers, np.float64), codes)


def test_columns_of_any_frame_are_numbers_or_text() -> None:
    pandas = pd.DataFrame({"x": [1, 2], "t": ["a", None], "c": pd.Categorical(["u", "v"])})
    polars = pl.DataFrame({"x": [1, 2], "t": ["a", None], "c": ["u", "v"]}).with_columns(
        pl.col("c").cast(pl.Categorical)
    )
    for frame in (pandas, polars):
        assert cells_of(frame, "x").numbers.tolist() == [1.0, 2.0]
        assert [level_words(cells_of(frame, n)).tolist() for n in "tc"] == [["a", "."], ["u", "v"]]
    days = pl.DataFrame({"d": [DAY, None]})
    assert level_words(cells_of(days, "d")).tolist() == ["2026-11-21", "."]
    with pytest.raises(ColumnError):
        cells_of(pandas, "z")


def test_missing_codes_are_seen_in_payloads_and_in_companions() -> None:
    pandas = pd.DataFrame({"x": np.array([1.5, *tagged([0, 1, 26])])})
    polars = pl.DataFrame({"x": [1.5, None, None, None], "x__missing": [None, 0, 1, 26]})
    for frame in (pandas, polars):
        cells = cells_of(frame, "x")
        assert cells.missing.tolist() == [-1, 0, 1, 26]
        assert cells.present.tolist() == [True, False, False, False]
        assert level_words(cells).tolist() == ["1.5", ".", ".a", ".z"]
    assert columns_in_all([polars, pandas]) == ["x"]


def test_codes_tell_numbers_texts_and_missing_codes_apart() -> None:
    found = level_codes([column([0.0, None, -0.0]), column([".a", None, 0.1])])
    assert len(found) == 6
    assert found[0] == found[2]
    assert found[1] == found[4]
    assert len({found[0], found[1], found[3], found[5]}) == 4


def test_rows_are_equal_in_all_columns_or_not_at_all() -> None:
    a = table_of(pd.DataFrame({"x": [1.0, 1.0, 2.0], "t": ["u", "v", "u"]}), ["x", "t"])
    b = table_of(pd.DataFrame({"x": [2.0, 1.0], "t": ["v", "v"]}), ["x", "t"])
    first, second = row_ids([a, b], ["x", "t"])
    assert len(set(first)) == 3
    assert second[0] not in first
    assert second[1] == first[1]
    assert [ids.tolist() for ids in row_ids([a, b], ["x"])] == [[0, 0, 1], [1, 0]]


def test_ids_stay_small_however_many_columns_there_are() -> None:
    rows = np.arange(200.0)
    table = table_of(
        pd.DataFrame({f"x{k}": rows[::-1] for k in range(80)}), [f"x{k}" for k in range(80)]
    )
    (ids,) = row_ids([table], list(table))
    assert sorted(ids) == list(range(200))


def gower(a: dict[str, list[Any]], b: dict[str, list[Any]], spans: dict[str, Any]) -> np.ndarray:
    """Gower's distance of all pairs, written out."""
    pairs = np.zeros((len(next(iter(a.values()))), len(next(iter(b.values())))))
    for name, span in spans.items():
        for i, x in enumerate(a[name]):
            for j, y in enumerate(b[name]):
                levels = span is None or not isinstance(x, float) or not isinstance(y, float)
                pairs[i, j] += float(x != y) if levels else abs(x - y) / (span[1] - span[0])
    return pairs / len(spans)


@given(
    st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=8),
    st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=8),
)
def test_the_nearest_is_that_of_all_pairs(a: list[Any], b: list[Any]) -> None:
    spans = {"number": (0.0, 10.0), "level": None}
    tables = [dict(zip(spans, map(list, zip(*rows, strict=True)), strict=True)) for rows in (a, b)]
    points = gower_points([{n: column(v) for n, v in t.items()} for t in tables], spans)
    expected = gower(tables[0], tables[1], spans)
    found = nearest(*points)
    assert found.distance == pytest.approx(expected.min(axis=1), abs=1e-12)
    nearly = np.isclose(expected, expected.min(axis=1, keepdims=True), atol=1e-9).sum(axis=1)
    assert ((found.ties >= 1) & (found.ties <= nearly)).all()


def test_ties_are_counted() -> None:
    tables = [{"x": column(v)} for v in ([5.0, 0.0, None], [4.0, 6.0, 0.0, None, None, 6.0])]
    found = nearest(*gower_points(tables, {"x": (0.0, 8.0)}))
    assert found.distance.tolist() == [1 / 8, 0.0, 0.0]
    assert found.ties.tolist() == [3, 1, 2]


def test_blocks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    names = ["x", "y"]
    tables = [
        table_of(pd.DataFrame(rng.normal(size=(n, 2)), columns=names), names) for n in (50, 30)
    ]
    spans = {name: (-3.0, 3.0) for name in names}
    whole = nearest(*gower_points(tables, spans))
    monkeypatch.setattr("dprct.custodian.tables._PAIRS_AT_ONCE", 100)
    assert nearest(*gower_points(tables, spans)).distance.tolist() == whole.distance.tolist()


@pytest.mark.parametrize("span", [None, (5.0, 5.0), (0.0, np.inf)])
def test_a_column_without_a_range_is_one_of_levels(span: Any) -> None:
    tables = [{"x": column(v)} for v in ([5.0, 6.0], [5.0])]
    assert nearest(*gower_points(tables, {"x": span})).distance.tolist() == [0.0, 1.0]


def test_numbers_are_not_compared_with_text() -> None:
    tables = [table_of(pd.DataFrame({"x": x}), ["x"]) for x in ([1.0], ["1"])]
    with pytest.raises(SchemaError, match="'x' holds numbers in one table and text in another"):
        check_same_kinds(tables)
