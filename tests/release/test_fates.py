from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import stats

from dprct.encoding import encodings
from dprct.errors import ColumnError, DprctError, SchemaError
from dprct.io.compare import rows_are_sorted
from dprct.missing import MISSING_CODES, missing_numbers, tagged
from dprct.release.columns import assembled, check_fates, released_schema, sorted_rows
from dprct.release.release import modelled
from dprct.schema import Column, FileFacts, Schema, Unit

ALPHA = 1e-9


def filled(schema: Schema, rows: int = 300, seed: int = 1) -> pd.DataFrame:
    """Return the assembled table for uniform codes: what a release does after its draw."""
    rng = np.random.default_rng(seed)
    check_fates(schema, rows)
    values = {
        e.name: e.decode(rng.integers(0, e.size, rows), rng)
        for e in encodings(schema, modelled(schema))
    }
    return assembled(schema, values, {}, rows, rng).native


def one(column: Column, fact: dict[str, Any]) -> Schema:
    return Schema((column,)).declare(**{column.name: fact})


@st.composite
def declared_columns(draw: st.DrawFn, name: str) -> tuple[Column, dict[str, Any]]:
    storage = draw(st.sampled_from(["byte", "int", "long", "float", "double", "str4", "strL"]))
    fates = ["withheld", "key", "drop"]
    if storage == "strL":
        return Column(name, storage), {"fate": draw(st.sampled_from(fates))}
    fact: dict[str, Any] = {"fate": draw(st.sampled_from([*fates, "modelled", "filler"]))}
    if storage == "str4":
        fact["levels"] = draw(st.lists(st.text("abc", max_size=4), min_size=1, unique=True))
        return Column(name, storage), fact
    codes = draw(st.lists(st.sampled_from(MISSING_CODES), max_size=3, unique=True))
    fact["missing"] = codes or "never"
    whole = storage in ("byte", "int", "long")
    if draw(st.booleans()):
        low = draw(st.integers(-100, 50))
        fact["bounds"] = (low, low + draw(st.integers(1, 50)))
        if not whole:
            fact["decimals"] = draw(st.one_of(st.just(0), st.integers(1, 3)))
        fact["bins"] = 1
    else:
        number = st.integers(-100, 100) if whole else st.integers(-400, 400).map(lambda k: k / 4)
        fact["levels"] = draw(st.lists(number, min_size=1, max_size=6, unique=True))
    return Column(name, storage), fact


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    names = [f"v{k}" for k in range(draw(st.integers(1, 6)))]
    found = [draw(declared_columns(name)) for name in names]
    order = draw(st.lists(st.sampled_from(names), unique=True))
    file = FileFacts(sorted_by=tuple(order))
    return Schema(tuple(column for column, _ in found), file).declare(
        **{column.name: fact for column, fact in found}
    )


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(schemas(), st.integers(1, 90))
def test_every_released_value_is_legal_and_in_its_place(schema: Schema, rows: int) -> None:
    table = filled(schema, rows)
    released = released_schema(schema)
    kept = [c.name for c in schema.columns if c.fate != "drop"]
    assert list(table.columns) == released.names == kept
    assert len(table) == (rows if kept else 0)
    if kept:
        released.validate(table)
    assert rows_are_sorted(table, released)
    for column in released.columns:
        if column.fate == "key":
            assert table[column.name].nunique() == rows
        if column.fate == "withheld":
            values = table[column.name]
            assert (
                (values == "").all()
                if column.is_text
                else ((missing_numbers(values.to_numpy()) == 0).all())
            )
        assert replace(schema.column(column.name), **_promised(column)) == column


def _promised(column: Column) -> dict[str, Any]:
    """Facts of the released column that may differ from the declared ones."""
    return {f: getattr(column, f) for f in ("bounds", "levels", "bins", "decimals", "missing")}


def test_filler_is_uniform_over_the_public_domain() -> None:
    schema = one(Column("v", "int"), {"bounds": (1, 19), "missing": ["."], "fate": "filler"})
    values = filled(schema, 40_000)["v"].to_numpy()
    counts = np.bincount(np.where(np.isnan(values), 0, values).astype(int), minlength=20)
    assert stats.chisquare(counts).pvalue > ALPHA
    half_missing = np.concatenate([[20_000], np.full(19, 20_000 / 19)])
    assert stats.chisquare(half_missing).pvalue < ALPHA


def test_filler_ignores_bins_and_constructedness() -> None:
    fact = {"bounds": (0, 8), "bins": [7], "missing": ["."], "fate": "filler"}
    values = filled(one(Column("z_score", "double"), fact), 20_000)["z_score"].to_numpy()
    assert not np.isnan(values).any()
    assert stats.kstest(values, stats.uniform(0, 8).cdf).pvalue > ALPHA


def test_filler_of_levels_is_uniform_with_missing_codes_as_levels() -> None:
    fact = {"levels": [0, 5], "missing": [".", ".c"], "fate": "filler"}
    values = filled(one(Column("v", "byte"), fact), 20_000)["v"].to_numpy()
    codes = missing_numbers(values)
    counts = [int((codes == k).sum()) for k in (0, 3)] + [int((values == x).sum()) for x in (0, 5)]
    assert sum(counts) == 20_000
    assert stats.chisquare(counts).pvalue > ALPHA


@pytest.mark.parametrize(
    ("storage", "rows"),
    [("byte", 100), ("str1", 36), ("str2", 200), ("strL", 50), ("float", 500), ("str9", 3)],
)
def test_keys_are_distinct_and_fit(storage: str, rows: int) -> None:
    schema = one(Column("k", storage), {"fate": "key"})
    keys = filled(schema, rows)["k"]
    assert keys.nunique() == rows
    released_schema(schema).validate(keys.to_frame())
    if storage.startswith("str") and storage != "strL":
        assert {len(key) for key in keys} == {int(storage[3:])}


@pytest.mark.parametrize(("storage", "rows"), [("byte", 101), ("str1", 37), ("int", 32_741)])
def test_a_key_that_cannot_hold_the_rows_is_refused(storage: str, rows: int) -> None:
    with pytest.raises(SchemaError, match="distinct keys; withhold or drop"):
        check_fates(one(Column("k", storage), {"fate": "key"}), rows)


def test_keys_come_in_a_random_order() -> None:
    schema = one(Column("k", "long"), {"fate": "key"})
    first, second = (filled(schema, 500, seed)["k"].tolist() for seed in (1, 2))
    assert sorted(first) == sorted(second) == [float(k) for k in range(1, 501)]
    assert first != second
    assert first != sorted(first)


def test_open_fates_are_listed() -> None:
    schema = Schema((Column("a"), Column("b"), Column("c"))).declare(b={"fate": "withheld"})
    with pytest.raises(SchemaError, match="no fate declared for: a, c"):
        check_fates(schema, 5)
    check_fates(schema.declare_rest("drop"), 5)


def test_rows_are_sorted_with_missing_codes_last_in_their_order() -> None:
    x = np.concatenate([tagged([26, 0, 1]), [2.0, -1.0]])
    schema = Schema((Column("x"), Column("t", "str2")), FileFacts(sorted_by=("x",)))
    frame = pd.DataFrame({"x": x, "t": np.array(list("zabcd"), dtype=object)})
    columns = {name: frame[name].to_numpy() for name in frame}
    done = pd.DataFrame(sorted_rows(columns, schema))
    assert missing_numbers(done["x"].to_numpy()).tolist() == [-1, -1, 0, 1, 26]
    assert done["t"].tolist() == ["d", "c", "a", "b", "z"]
    assert rows_are_sorted(done, schema)
    assert not rows_are_sorted(frame, schema)
    by_text = replace(schema, file=FileFacts(sorted_by=("t",)))
    assert rows_are_sorted(pd.DataFrame(sorted_rows(columns, by_text)), by_text)


def test_the_sort_order_ends_at_the_first_dropped_column(schema: Schema) -> None:
    assert released_schema(schema).file.sorted_by == ("village", "age")


def test_label_sets_of_dropped_columns_go_and_all_others_stay(schema: Schema) -> None:
    assert list(released_schema(schema).file.value_labels) == ["yesno", "result", "unused"]


@pytest.mark.parametrize(
    ("fate", "max_rows", "unit"),
    [
        ("key", 1, Unit("hh", "id")),
        ("key", 3, Unit("hh", "id", 3)),
        ("drop", 3, Unit("hh")),
        ("withheld", 1, Unit("hh")),
        ("public", 3, Unit("hh", "id", 3)),
    ],
)
def test_the_unit_of_a_release_keeps_only_an_id_that_identifies(
    fate: str, max_rows: int, unit: Unit
) -> None:
    schema = Schema((Column("id", "long"), Column("x", "byte"))).declare(
        unit=Unit("hh", "id", max_rows), id={"fate": fate}, x={"fate": "withheld"}
    )
    assert released_schema(schema).unit == unit


def derived_values(expression: str, column: Column, **facts: Any) -> Any:
    parent = Column("x", "int")
    schema = Schema((column, parent)).declare(
        x={"levels": [0, 1, 2, 9], "missing": ["."], "fate": "modelled"},
        **{column.name: {"derived": expression, **facts}},
    )
    values = {"x": np.concatenate([[0.0, 1.0, 2.0, 9.0], tagged([0])])}
    table = assembled(schema, values, {}, 5, np.random.default_rng(1)).native
    released_schema(schema).validate(table)
    return [None if np.isnan(v) else float(v) for v in table[column.name]]


@pytest.mark.parametrize(
    ("expression", "storage", "facts", "expected"),
    [
        ("x * 2", "byte", {}, [0, 2, 4, 18, None]),
        ("x * 60", "byte", {}, [0, 60, None, None, None]),
        ("1 / x", "double", {}, [None, 1, 0.5, 1 / 9, None]),
        ("1 / x", "double", {"decimals": 2}, [None, 1, 0.5, 0.11, None]),
        ("x / 2", "byte", {}, [0, 0, 1, 4, None]),
        ("x", "byte", {"bounds": (1, 2)}, [None, 1, 2, None, None]),
        ("x + 0.1", "float", {"levels": [0.1, 1.1]},
         [float(np.float32(0.1)), float(np.float32(1.1)), None, None, None]),
        ("x", "byte", {"missing": "never"}, [0, 1, 2, 9, None]),
    ],
)  # fmt: skip
def test_derived_values_are_legal_or_missing(
    expression: str, storage: str, facts: dict[str, Any], expected: list[float | None]
) -> None:
    assert derived_values(expression, Column("d", storage), **facts) == expected


def test_derived_columns_follow_their_parents_in_any_order() -> None:
    columns = (Column("c"), Column("b"), Column("a", "byte"))
    schema = Schema(columns).declare(
        a={"levels": [1, 2], "missing": "never", "fate": "modelled"},
        b={"derived": "a + 1"},
        c={"derived": "a * b"},
    )
    table = filled(schema)
    assert (table["c"] == table["a"] * (table["a"] + 1)).all()


@pytest.mark.parametrize(
    ("facts", "error", "match"),
    [
        ({"d": {"derived": "y + 1"}}, SchemaError, "modelled or public number"),
        ({"d": {"derived": "zz + 1"}}, ColumnError, "no column 'zz'"),
        ({"d": {"derived": "1 + 1"}}, SchemaError, "names no column"),
        ({"d": {"derived": "e"}, "e": {"derived": "d"}}, SchemaError, "circle: d, e"),
        ({"d": {"derived": "t"}}, SchemaError, "modelled or public number"),
        ({"t": {"derived": "x"}}, DprctError, "text"),
        ({"y": {"fate": "filler"}}, SchemaError, "missing policy"),
        ({"y": {"fate": "filler", "missing": "never"}}, SchemaError, "bounds nor levels"),
    ],
)
def test_what_cannot_be_carried_out_is_refused_before_it_costs(
    facts: dict[str, Any], error: type[DprctError], match: str
) -> None:
    columns = (Column("x", "byte"), Column("y", "byte"), Column("t", "str3"), Column("d"),
               Column("e"))  # fmt: skip

    def checked() -> None:
        schema = Schema(columns).declare(
            x={"levels": [0, 1], "missing": "never", "fate": "modelled"}, **facts
        )
        rest = {c.name: {"fate": "withheld"} for c in schema.columns if not (c.fate or c.derived)}
        check_fates(schema.declare(**rest), 10)

    with pytest.raises(error, match=match):
        checked()
