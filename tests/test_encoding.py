from __future__ import annotations

import math
from bisect import bisect_left
from fractions import Fraction
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dprct.encoding import MOST_LEVELS, Encoding, encoding, encodings, prepared
from dprct.errors import ColumnError, SchemaError
from dprct.missing import MISSING_CODES, missing_numbers, tagged
from dprct.schema import Column, Schema
from dprct.schema.schema import declared
from dprct.schema.tables import COMPANION, broken_rules, clipped_as_declared, eager

NAN, INF = float("nan"), float("inf")


def made(name: str, storage: str, **facts: Any) -> Column:
    facts.setdefault("missing", "never")
    return declared(Column(name, storage), facts)


def codes(found: Encoding, frame: object) -> list[int]:
    table = prepared(eager(frame), [found.column])
    out = table.select(found.expression())
    assert out.columns == [found.name]
    assert out.schema[found.name] == nw.Int64
    assert len(out) == len(table)
    return out[found.name].to_list()


def coded(column: Column, values: Any, default_bins: int | None = None) -> list[int]:
    return codes(encoding(column, default_bins), pd.DataFrame({column.name: values}))


# what a column may declare


@st.composite
def columns(draw: st.DrawFn) -> Column:
    kind = draw(st.sampled_from(["levels", "grid", "bins", "edges", "text"]))
    missing = draw(st.lists(st.sampled_from([".", ".a", ".z"]), unique=True))
    if kind == "text":
        levels = draw(st.lists(st.text(max_size=4), min_size=1, max_size=6, unique=True))
        return made("x", "str20", levels=levels)
    storage = draw(st.sampled_from(["byte", "long", "float", "double"]))
    whole = storage in ("byte", "long")
    decimals = 0 if whole else draw(st.integers(0, 3))
    if kind == "levels":
        number = st.integers(-100, 100)
        found = draw(st.lists(number, min_size=1, max_size=8, unique=True))
        return made("x", storage, levels=[k / 10**decimals for k in found], missing=missing)
    low = draw(st.integers(-100, 99))
    high = draw(st.integers(low + 1, 100))
    facts: dict[str, Any] = {"bounds": (low / 10**decimals, high / 10**decimals)}
    if whole or draw(st.booleans()):
        facts["decimals"] = decimals
    if kind == "bins" or "decimals" not in facts:
        facts["bins"] = draw(st.integers(1, max(1, high - low)))
    if kind == "edges" and high - low > 2:
        inner = draw(st.sets(st.integers(low + 1, high - 1), min_size=1, max_size=4))
        facts["bins"] = [k / 10**decimals for k in sorted(inner)]
    return made("x", storage, missing=missing, **facts)


def legal(column: Column, values: Any) -> bool:
    data = pd.DataFrame({"x": values}).convert_dtypes() if column.is_text else {"x": values}
    return broken_rules(column, eager(pd.DataFrame(data))) == []


@pytest.mark.long
@settings(max_examples=200, deadline=None)
@given(columns(), st.integers(0, 2**32))
def test_every_code_decodes_to_a_legal_value_of_that_code(column: Column, seed: int) -> None:
    found = encoding(column)
    every = np.repeat(np.arange(found.size), 7)
    values = found.decode(every, np.random.default_rng(seed))
    assert broken_rules(column, eager(pd.DataFrame({"x": values}))) == []
    assert codes(found, pd.DataFrame({"x": values})) == every.tolist()


def legal_grid(column: Column) -> list[float]:
    """Every admissible number of a column with levels or decimals, from the definition."""
    if column.levels is not None:
        found = np.array(column.levels, float)
    else:
        assert column.bounds is not None
        assert column.step is not None
        low, high = (Fraction(repr(b)) / column.step for b in column.bounds)
        found = np.array(
            [float(k * column.step) for k in range(math.ceil(low), math.floor(high) + 1)]
        )
    return (found.astype(np.float32) if column.type == "float" else found).astype(float).tolist()


@pytest.mark.long
@settings(max_examples=200, deadline=None)
@given(columns().filter(lambda c: not c.is_text and not (c.levels is None and c.step is None)))
def test_every_legal_value_has_the_code_of_its_own_cell(column: Column) -> None:
    found = encoding(column)
    values = legal_grid(column)
    got = codes(found, pd.DataFrame({"x": values}))
    single = (lambda x: float(np.float32(x))) if column.type == "float" else float
    for value, code in zip(values, got, strict=True):
        cell = found.cells[code]
        assert single(cell[0]) <= value <= single(cell[-1])
    assert set(got) == set(range(len(found.cells)))
    assert got == sorted(got)


odd = [NAN, INF, -INF, 1e308, -1e308, 0.0, -0.0, 5e-324, 1.5, -7.25, 99.0, *tagged([1, 5, 26])]


@pytest.mark.long
@settings(max_examples=150, deadline=None)
@given(columns())
def test_whatever_a_row_holds_has_a_code_on_every_engine_the_same(column: Column) -> None:
    found = encoding(column)
    if column.is_text:
        texts = ["", "a", None, "other", "\u5e74", *(t for (t,) in found.cells)]
        frames: list[Any] = [
            pd.DataFrame({"x": pd.Series(texts, dtype=object)}),
            pd.DataFrame({"x": pd.Series(texts, dtype="str")}),
            pl.DataFrame({"x": texts}),
            pl.DataFrame({"x": pl.Series(texts, dtype=pl.Categorical)}),
            pl.DataFrame({"x": pl.Series(texts, dtype=pl.Enum(sorted({t or "" for t in texts})))}),
        ]
    else:
        numbers = missing_numbers(odd)
        nulls = [None if np.isnan(x) else x for x in odd]
        side = {"x" + COMPANION: numbers}
        frames = [
            pd.DataFrame({"x": odd}),
            pd.DataFrame({"x": odd, **side}),
            pd.DataFrame({"x": pd.array(nulls, dtype="Float64"), **side}),
            pl.DataFrame({"x": nulls, **side}),
            pl.DataFrame({"x": pl.Series(odd), **side}),
        ]
    got = [codes(found, frame) for frame in frames]
    assert got[1:] == got[:-1]
    assert all(0 <= code < found.size for code in got[0])


def test_nulls_without_a_companion_are_a_dot() -> None:
    column = made("x", "byte", levels=[0, 1], missing=[".a", "."])
    for frame in (
        pd.DataFrame({"x": [1.0, NAN]}),
        pd.DataFrame({"x": pd.array([1, None], dtype="Int64")}),
        pl.DataFrame({"x": [1.0, None]}),
        pl.DataFrame({"x": [1.0, NAN]}),
    ):
        assert codes(encoding(column), frame) == [1, 2]


def test_missing_codes_follow_the_regular_ones_and_decode_to_themselves() -> None:
    column = made("x", "byte", levels=[0, 1], missing=[".", ".c"])
    found = encoding(column)
    assert found.size == 4
    assert coded(column, [0.0, 1.0, *tagged([0, 3])]) == [0, 1, 2, 3]
    back = found.decode(np.array([3, 2, 1]), np.random.default_rng(1))
    assert missing_numbers(back).tolist() == [3, 0, -1]


def test_undeclared_missing_codes_and_values_go_to_the_nearest_level() -> None:
    column = made("x", "byte", levels=[0, 10, 11], missing=["."])
    values = [*tagged([1]), -5.0, 4.0, 5.0, 6.0, 10.4, 10.6, 100.0, INF, -INF]
    assert coded(column, values) == [0, 0, 0, 0, 1, 1, 2, 2, 2, 0]


@pytest.mark.parametrize("levels", [[0, 0.1, 2], [0, 0.5, 2], [-3, -2.9, 0, 0.2, 1]])
def test_uneven_levels_whose_span_is_their_number(levels: list[float]) -> None:
    column = made("x", "double", levels=levels)
    assert coded(column, levels) == list(range(len(levels)))


def test_levels_next_to_each_other() -> None:
    levels = [1.0, np.nextafter(1.0, 2).item(), np.nextafter(np.nextafter(1.0, 2), 2).item()]
    for found in (levels, [*levels, 5.0]):
        assert coded(made("x", "double", levels=found), found) == list(range(len(found)))


def test_levels_of_a_float_column_are_those_the_file_can_hold() -> None:
    column = made("x", "float", levels=[0.1, 0.2, 0.7])
    single = np.array([0.1, 0.2, 0.7], np.float32).astype(float)
    assert coded(column, single) == [0, 1, 2]
    decoded = encoding(column).decode(np.arange(3), np.random.default_rng(1))
    assert decoded.tolist() == single.tolist()


# bins


@pytest.mark.parametrize("storage", ["double", "float"])
def test_bins_are_open_below_and_closed_above_and_the_first_is_closed(storage: str) -> None:
    column = made("x", storage, bounds=(0, 10), bins=4)
    kind = np.float32 if storage == "float" else np.float64
    edges = np.array([0, 2.5, 5, 7.5, 10], kind)
    assert coded(column, edges.astype(float)) == [0, 0, 1, 2, 3]
    above = np.nextafter(edges[:-1], kind(INF)).astype(float)
    below = np.nextafter(edges[1:], kind(-INF)).astype(float)
    assert coded(column, above) == coded(column, below) == [0, 1, 2, 3]


def test_declared_edges_are_open_below_and_closed_above() -> None:
    column = made("x", "double", bounds=(0, 1), bins=[0.25, 0.3])
    eps = np.nextafter([0.25, 0.3], 1).tolist()
    assert coded(column, [0, 0.25, eps[0], 0.3, eps[1], 1]) == [0, 0, 1, 1, 2, 2]


@pytest.mark.long
@pytest.mark.parametrize("bins", [2, 3, 7, 10, 64, 97, 100, 286, 1000])
@pytest.mark.parametrize("bounds", [(0, 1), (0, 100), (-4, 4), (0.1, 0.7), (15, 60)])
def test_equal_bins_count_the_edges_below(bounds: tuple[float, float], bins: int) -> None:
    column = made("x", "double", bounds=bounds, bins=bins)
    low, high = bounds
    edges = np.array([k * (high - low) / bins + low for k in range(1, bins)])
    around = [np.nextafter(edges, -INF), edges, np.nextafter(edges, INF)]
    values = np.concatenate([*around, np.random.default_rng(bins).uniform(low, high, 2_000)])
    got = np.array(coded(column, values))
    expected = (values[:, None] > edges).sum(axis=1)
    np.testing.assert_array_equal(got, expected)


def test_edges_a_person_would_write_belong_to_the_bin_below() -> None:
    column = made("x", "double", bounds=(0, 1), bins=100)
    assert coded(column, [k / 100 for k in range(1, 101)]) == list(range(100))


@pytest.mark.parametrize(("bounds", "decimals", "bins"), [
    ((15, 80), 0, 5), ((0, 100), 2, 97), ((0.1, 0.9), 1, 3), ((-1, 1), 3, 7), ((0, 1), 1, 10),
])  # fmt: skip
def test_equal_bins_of_decimals_are_cut_exactly(
    bounds: tuple[float, float], decimals: int, bins: int
) -> None:
    column = made("x", "double", bounds=bounds, decimals=decimals, bins=bins)
    low, high = (Fraction(repr(float(b))) for b in bounds)
    values = legal_grid(column)
    edges = [low + (high - low) * k / bins for k in range(1, bins)]
    expected = [bisect_left(edges, Fraction(repr(x))) for x in values]
    assert coded(column, values) == expected


def test_thousands_of_codes_are_one_expression() -> None:
    column = made("x", "double", bounds=(0, 100), decimals=2)
    found = encoding(column)
    assert found.size == 10_001
    values = np.arange(10_001) / 100
    for frame in (pd.DataFrame({"x": values}), pl.DataFrame({"x": values})):
        assert codes(found, frame) == list(range(10_001))
    uneven = made("x", "double", levels=[k * k for k in range(300)])
    assert coded(uneven, [k * k for k in range(300)]) == list(range(300))


def test_thousands_of_texts_are_one_expression() -> None:
    texts = [f"village {k}" for k in range(3_000)]
    found = encoding(made("x", "str20", levels=texts))
    for frame in (pd.DataFrame({"x": texts}), pl.DataFrame({"x": texts})):
        assert codes(found, frame) == list(range(3_000))


def test_a_single_cell_still_has_a_code_per_row() -> None:
    for column in (
        made("x", "double", bounds=(0, 1), bins=1),
        made("x", "double", levels=[1]),
        made("x", "str1", levels=["a"]),
    ):
        values = ["a", "b"] if column.is_text else [0.5, 1.0]
        for frame in (pd.DataFrame({"x": values}), pl.DataFrame({"x": values})):
            assert codes(encoding(column), frame) == [0, 0]


@pytest.mark.parametrize("storage", ["double", "float"])
@pytest.mark.parametrize("bins", [3, [0.2, 0.9]])
def test_decoding_is_uniform_within_a_bin(storage: str, bins: object) -> None:
    found = encoding(made("x", storage, bounds=(0, 1), bins=bins))
    rng = np.random.default_rng(20261121)
    for code, (low, high) in enumerate(found.cells):
        x = found.decode(np.full(40_000, code), rng)
        assert stats.kstest((x - low) / (high - low), "uniform").pvalue > 1e-9


def test_decoding_is_uniform_over_the_legal_values_of_a_bin() -> None:
    found = encoding(made("x", "double", bounds=(0, 1), decimals=1, bins=[0.2]))
    rng = np.random.default_rng(20261121)
    for code, values in ((0, [0.0, 0.1, 0.2]), (1, [k / 10 for k in range(3, 11)])):
        x = found.decode(np.full(40_000, code), rng)
        seen, counts = np.unique(x, return_counts=True)
        assert seen.tolist() == values
        assert stats.chisquare(counts).pvalue > 1e-9


def test_the_uniformity_tests_would_see_a_lean() -> None:
    x = np.random.default_rng(20261121).beta(1.1, 1, 40_000)
    assert stats.kstest(x, "uniform").pvalue < 1e-9


# frames


def test_the_index_of_pandas_does_not_matter() -> None:
    column = made("x", "byte", levels=[0, 1], missing=[".", ".a"])
    values = [0.0, *tagged([1, 0]), 1.0]
    for index in ([3, 2, 1, 0], [5, 5, 5, 5], list("abcd")):
        frame = pd.DataFrame({"x": values}, index=index)
        assert codes(encoding(column), frame) == [0, 3, 2, 1]


def test_preparing_leaves_the_data_as_they_were() -> None:
    frame = pd.DataFrame({"x": tagged([2, 0])})
    out = prepared(eager(frame), [made("x", "byte", levels=[0])])
    assert list(frame.columns) == ["x"]
    assert out["x" + COMPANION].to_list() == [2, 0]
    assert missing_numbers(out["x"].to_numpy()).tolist() == [2, 0]


def test_a_missing_text_is_the_empty_level() -> None:
    column = made("x", "str3", levels=["a", ""])
    for frame in (
        pd.DataFrame({"x": pd.Series(["a", None, ""], dtype=object)}),
        pl.DataFrame({"x": ["a", None, ""]}),
    ):
        assert codes(encoding(column), frame) == [0, 1, 1]


# what is refused


@pytest.mark.parametrize(
    ("column", "says"),
    [
        (Column("x"), "has no declared missing policy; declare missing='never', or missing="),
        (Column("x", missing=()), "has neither bounds nor levels; declare bounds=.* or levels="),
        (Column("x", missing=(), bins=(1.0,)), "has neither bounds nor levels"),
        (Column("s", "str3"), "levels from public"),
        (Column("x", missing=(), bounds=(0.0, 1.0)), "is continuous; declare bins"),
        (Column("x", "long", missing=(), bounds=(0.0, 1e9)), "has more than 65536 levels"),
        (Column("x", missing=(), bounds=(0.0, 1.0), bins=70_000), "has more than 65536"),
        (Column("x", "byte", missing=(), bounds=(0.0, 3.0), bins=5), "a bin holds no admissible"),
        (Column("x", "float", missing=(), bounds=(1.0, 1.0000001), bins=9), "holds no admissible"),
        (Column("x", missing=(), bounds=(0.0, 5e-324), bins=1), "holds no admissible value"),
        (Column("x_z", missing=(), levels=(1.0,)), "declare built_from='own' .* or 'cohort'"),
        (Column("x", label="z-score", missing=(), levels=(1.0,)), "declare built_from="),
        (Column("x", missing=(), levels=(1.0,), built_from="cohort"),
         "declare constants_public"),
    ],
)  # fmt: skip
def test_what_is_not_declared_is_refused(column: Column, says: str) -> None:
    with pytest.raises(SchemaError, match=says) as caught:
        encoding(column)
    assert repr(column.name) in str(caught.value)


@pytest.mark.parametrize("facts", [
    {"built_from": "own"}, {"built_from": "cohort", "constants_public": True},
])  # fmt: skip
def test_a_constructed_column_that_is_declared_is_taken(facts: dict[str, Any]) -> None:
    assert encoding(made("x_z", "double", levels=[1], **facts)).size == 1


def test_default_bins_are_for_columns_that_declare_none_and_need_them() -> None:
    schema = Schema(
        (
            made("a", "double", bounds=(0, 1)),
            made("b", "double", bounds=(0, 1), bins=3),
            made("c", "byte", bounds=(0, 9)),
            made("d", "byte", bounds=(0, 99)),
            made("e", "byte", levels=list(range(50))),
        )
    )
    found = encodings(schema, schema.names, default_bins=12)
    assert [e.size for e in found] == [12, 3, 10, 12, 50]
    assert found[0].describe() == "a: 12 bins"
    assert encoding(made("m", "byte", levels=[0, 1], missing=["."])).describe() == (
        "m: 2 levels + 1 missing"
    )


def test_codes_come_from_the_schema_alone() -> None:
    column = made("age", "byte", bounds=(15, 80), bins=5)
    assert encoding(column) == encoding(made("age", "byte", bounds=(15, 80), bins=5))
    assert encoding(column).cells == ((15, 28), (29, 41), (42, 54), (55, 67), (68, 80))
    assert MISSING_CODES[0] == "."
    assert MOST_LEVELS == 65_536


def test_an_unknown_column_is_named() -> None:
    with pytest.raises(ColumnError, match="did you mean 'age'"):
        encodings(Schema((made("age", "byte", levels=[1]),)), ["aeg"])


def test_clipping_keeps_missing_codes() -> None:
    values = np.array([-1.0, 0.5, 9.0, np.nan])
    values[3:] = tagged(np.array([1]))
    schema = Schema((Column("y", bounds=(0, 2), clip=True, missing=(".a",)),))
    found = clipped_as_declared(schema, eager(pd.DataFrame({"y": values})))["y"].to_numpy()
    assert found[:3].tolist() == [0.0, 0.5, 2.0]
    assert found[3:].tobytes() == values[3:].tobytes()
