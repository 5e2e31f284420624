from __future__ import annotations

from collections import Counter
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import dprct
from dprct.errors import SchemaError
from dprct.missing import tagged
from dprct.release.columns import (
    LIMIT,
    assembled,
    check_fates,
    check_keys,
    fresh_keys,
    relabelled,
    released_schema,
    repeats,
    unit_rows,
)
from dprct.schema import Column, FileFacts, Schema, Unit
from dprct.schema.tables import eager

ALPHA = 1e-9
STORAGE = ["byte", "int", "long", "float", "double", "str1", "str2", "str5", "str40", "strL"]


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def panel(waves: dict[float, int], sorted_by: tuple[str, ...] = (), storage: str = "long") -> Any:
    """Return a panel with as many public waves of each unit as said, and its schema."""
    ids = [unit for unit, many in waves.items() for _ in range(many)]
    data = pd.DataFrame(
        {
            "id": [f"p{int(i)}" for i in ids] if storage.startswith("str") else ids,
            "wave": [float(w) for many in waves.values() for w in range(1, many + 1)],
            "x": 1.0,
        }
    )
    columns = (Column("id", storage), Column("wave", "byte"), Column("x", "byte"))
    schema = Schema(columns, FileFacts(sorted_by=sorted_by)).declare(
        unit=Unit("person", "id", max_rows=max(waves.values())),
        id={"fate": "key"},
        wave={"fate": "public"},
        x={"levels": [1, 2], "missing": "never", "fate": "modelled"},
    )
    return data, schema


def released(data: pd.DataFrame, schema: Schema, seed: int) -> pd.DataFrame:
    """Return what a release makes of the rows, without its modelled columns."""
    rows = len(data)
    units = unit_rows(schema, eager(data))
    values = {"x": np.ones(rows)}
    return assembled(
        schema, values, {"wave": data["wave"].to_numpy()}, rows, rng(seed), units
    ).native


@given(st.sampled_from(STORAGE), st.integers(1, 90), st.integers(1, 90))
def test_the_smaller_file_finds_all_its_keys_in_the_larger(
    storage: str, first: int, second: int
) -> None:
    if storage == "str1":
        first, second = min(first, 36), min(second, 36)
    column = Column("k", storage)
    one, two = set(fresh_keys(column, first, rng(1))), set(fresh_keys(column, second, rng(2)))
    assert (len(one), len(two)) == (first, second)
    assert len(one & two) == min(first, second)


@pytest.mark.parametrize("width", [1, 2, 3])
def test_text_keys_are_all_texts_of_a_width_digits_first(width: int) -> None:
    space = 36**width
    keys = fresh_keys(Column("k", f"str{width}"), space, rng())
    assert len(set(keys)) == space
    assert {len(key) for key in keys} == {width}
    digits = fresh_keys(Column("k", f"str{width}"), 10**width - 1, rng())
    assert sorted(int(key) for key in digits) == list(range(1, 10**width))
    one_more = fresh_keys(Column("k", f"str{width}"), 10**width, rng())
    assert len(set(one_more) - set(digits)) == 1


@pytest.mark.parametrize(("storage", "width"), [("str11", 11), ("str80", 12), ("strL", 12)])
def test_wide_keys_are_padded_no_further_than_a_person_reads(storage: str, width: int) -> None:
    keys = fresh_keys(Column("k", storage), 20, rng())
    assert {len(key) for key in keys} == {width}
    assert all(key.isdigit() for key in keys)


@pytest.mark.long
def test_every_order_of_the_keys_is_equally_likely() -> None:
    generator = rng()
    column = Column("k", "int")
    found = Counter(tuple(fresh_keys(column, 4, generator)) for _ in range(24_000))
    assert set(found) == set(permutations((1.0, 2.0, 3.0, 4.0)))
    assert stats.chisquare(list(found.values())).pvalue > ALPHA
    sorted_too_often = [1300] + [1000 - 300 / 23] * 23
    assert stats.chisquare(sorted_too_often).pvalue < ALPHA  # power: one order 30% too frequent


@given(st.lists(st.integers(0, 6), min_size=1, max_size=40), st.sampled_from(["int", "str3"]))
def test_relabelling_is_a_bijection_of_the_units(ids: list[int], storage: str) -> None:
    numbered = {unit: k for k, unit in enumerate(dict.fromkeys(ids))}
    units = np.array([numbered[unit] for unit in ids])
    keys = relabelled(Column("id", storage), units, rng()).tolist()
    pairs = set(zip(units.tolist(), keys, strict=True))
    assert len(pairs) == len(numbered) == len(set(keys))
    assert set(keys) == set(fresh_keys(Column("id", storage), len(numbered), rng(2)))


@pytest.mark.long
def test_every_bijection_of_the_units_is_equally_likely() -> None:
    generator = rng()
    units = np.array([0, 0, 0, 1, 1, 2])
    column = Column("id", "int")
    found = Counter(tuple(relabelled(column, units, generator)[[0, 3, 5]]) for _ in range(12_000))
    assert set(found) == set(permutations((1.0, 2.0, 3.0)))
    assert stats.chisquare(list(found.values())).pvalue > ALPHA


@pytest.mark.parametrize("storage", ["long", "str4"])
def test_a_panel_stays_one(storage: str) -> None:
    data, schema = panel({7: 1, 3: 3, 9: 2, 1: 3}, ("id", "wave"), storage)
    table = released(data, schema, 1)
    assert not table.duplicated(["id", "wave"]).any()
    assert sorted(table.groupby("id").size()) == [1, 2, 3, 3]
    assert table["id"].nunique() == 4
    waves = table.groupby("id")["wave"].apply(list)
    assert sorted(waves) == [[1], [1, 2], [1, 2, 3], [1, 2, 3]]
    assert not set(table["id"]) & set(data["id"]) or storage == "long"
    new = released_schema(schema)
    assert new.unit == schema.unit
    new.validate(table)


@pytest.mark.long
def test_neither_the_key_nor_the_row_tells_a_unit_s_place() -> None:
    """Units with 1, 2 and 3 rows: which stands first, and which gets which key, is chance."""
    data, schema = panel({10: 1, 20: 2, 30: 3})
    first, keys = Counter[int](), Counter[tuple[int, ...]]()
    draws = 2_400
    for seed in range(draws):
        table = released(data, schema, seed)
        drawn = table["id"].tolist()
        first[drawn.count(drawn[0])] += 1
        keys[tuple(drawn.count(key) for key in (1.0, 2.0, 3.0))] += 1
    assert stats.chisquare(
        [first[k] for k in (1, 2, 3)], [draws * k / 6 for k in (1, 2, 3)]
    ).pvalue > ALPHA  # fmt: skip
    assert set(keys) == set(permutations((1, 2, 3)))
    assert stats.chisquare(list(keys.values())).pvalue > ALPHA


def test_ids_have_no_influence_but_which_rows_belong_together() -> None:
    one, schema = panel({1: 2, 2: 1, 3: 3})
    other, _ = panel({900: 2, -5: 1, 41: 3})
    for seed in range(20):
        assert released(one, schema, seed).equals(released(other, schema, seed))


def test_the_order_of_the_confidential_rows_is_gone_where_no_key_repeats() -> None:
    """A file that lies in the order of incomes must not tell them of public waves."""
    data, schema = panel({unit: 1 for unit in range(1, 7)})
    data["wave"] = [5.0, 1.0, 3.0, 6.0, 2.0, 4.0]
    assert not repeats(schema)
    assert unit_rows(schema, eager(data)) is None
    orders = {tuple(released(data, schema, seed)["wave"]) for seed in range(20)}
    assert all(sorted(order) == [1, 2, 3, 4, 5, 6] for order in orders)
    assert len(orders) > 10  # of 720; fewer than 11 in 20 draws has a chance below 1e-14


def test_ties_of_the_sort_order_do_not_keep_the_confidential_order() -> None:
    """The sort flag stays when its column is withheld, and then all rows tie."""
    income = Column("income", "int", fate="withheld")
    schema = Schema((Column("id", "byte", fate="public"), income), FileFacts(sorted_by=("income",)))
    ids = np.arange(60.0)
    table = assembled(schema, {}, {"id": ids}, 60, rng(1)).native
    assert sorted(table["id"]) == ids.tolist()
    assert table["id"].tolist() != ids.tolist()


def test_missing_codes_of_public_columns_move_with_their_rows() -> None:
    data, schema = panel({1: 2, 2: 2})
    data["wave"] = [1.0, *tagged([1]), *tagged([2]), 2.0]
    table = released(data, schema, 3)
    bits = np.sort(data["wave"].to_numpy().view(np.uint64))
    assert (np.sort(table["wave"].to_numpy().view(np.uint64)) == bits).all()


def test_a_type_too_small_for_the_units_is_refused_when_the_data_are_there() -> None:
    data, schema = panel({unit: 2 for unit in range(1, 102)}, storage="byte")
    data["id"] -= 1
    check_fates(schema, len(data) - 2)  # 100 units could be
    with pytest.raises(SchemaError, match="'id': type byte cannot hold 101 distinct keys"):
        unit_rows(schema, eager(data))
    with pytest.raises(SchemaError, match="cannot hold 101 distinct keys"):
        check_keys(schema, 201)


def test_the_guarantee_and_the_limits_say_what_keys_do() -> None:
    data, schema = panel({float(i): 2 for i in range(200)}, ("id", "wave"))
    release = dprct.MVHistogram(data, schema).fit(1)
    assert any("which rows are of the same person" in f for f in release.guarantee.public_facts)
    certificate = release.certificate()
    assert LIMIT in certificate.limits
    reasons = {(d.facet, d.column): d.reason for d in certificate.differences}
    assert reasons["values", "wave"] == "public, with the rows in a random order"
    flat = schema.declare(unit=Unit("row"), id={"fate": "withheld"})
    assert LIMIT not in dprct.MVHistogram(data, flat).fit(1).certificate().limits


def test_a_fitted_panel_is_legal_and_ids_are_gone() -> None:
    data, schema = panel({float(i * 7919): 2 for i in range(1, 200)}, ("id", "wave"))
    release = dprct.MVHistogram(data, schema).fit(1)
    release.schema.validate(release.protected)
    assert release.protected["id"].tolist() == np.repeat(np.arange(1.0, 200), 2).tolist()
    assert release.protected["wave"].tolist() == [1.0, 2.0] * 199
