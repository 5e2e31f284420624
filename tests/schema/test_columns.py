from __future__ import annotations

import copy
import math
import pickle
from dataclasses import replace
from fractions import Fraction
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest

from dprct.arguments import given
from dprct.errors import ParameterError, SchemaError
from dprct.schema.columns import Column, FileFacts, Unit, clipped, divided, shown
from dprct.schema.facts import (
    FLOAT_LIMITS,
    INTEGER_LIMITS,
    check_literal,
    check_missing_codes,
    check_storage_type,
    is_text,
    number_limits,
    resolves,
    text_width,
)
from dprct.schema.schema import Schema
from dprct.schema.tables import collected, table


@pytest.mark.parametrize("storage", ["byte", "int", "long", "float", "double", "str1", "str2045",
                                     "strL"])  # fmt: skip
def test_stata_s_types_are_taken(storage: str) -> None:
    check_storage_type(storage, "x")


@pytest.mark.parametrize("storage", ["", "str", "str0", "str01", "str2046", "strl", "Byte", "int8",
                                     "str9999", "str-1", " int", 8, None])  # fmt: skip
def test_other_types_are_refused(storage: object) -> None:
    with pytest.raises(SchemaError, match=r"column 'x': type=.*; allowed: byte, int, .*strL"):
        check_storage_type(storage, "x")


def test_text_and_its_width() -> None:
    assert [is_text(t) for t in ("str3", "strL", "double")] == [True, True, False]
    assert [text_width(t) for t in ("str3", "str2045", "strL")] == [3, 2045, None]


def test_limits_are_those_below_the_missing_codes() -> None:
    assert INTEGER_LIMITS["byte"] == (-127, 100)
    assert INTEGER_LIMITS["int"] == (-(2**15) + 1, 2**15 - 28)
    assert INTEGER_LIMITS["long"] == (-(2**31) + 1, 2**31 - 28)
    assert np.nextafter(np.float32(FLOAT_LIMITS["float"]), np.float32(np.inf)) == 2.0**127
    assert np.nextafter(FLOAT_LIMITS["double"], np.inf) == 2.0**1023
    low, high = number_limits("float")
    assert low == -high == -FLOAT_LIMITS["float"]


@pytest.mark.parametrize(
    ("storage", "largest", "step", "told_apart"),
    [
        ("float", 2.0**24, Fraction(1), True),
        ("float", 2.0**24 + 2, Fraction(1), False),
        ("float", 40_000.0, Fraction(1, 100), True),
        ("float", 50_000.0, Fraction(1, 100), False),
        ("double", 2.0**50, Fraction(1), True),
        ("double", 2.0**51, Fraction(1), False),
        ("double", 1e3, Fraction(1, 10**15), False),
        ("long", 2.0**31, Fraction(1), True),
    ],
)
def test_what_a_type_tells_apart(
    storage: str, largest: float, step: Fraction, told_apart: bool
) -> None:
    assert resolves(storage, largest, step) is told_apart


def test_what_a_type_tells_apart_it_really_does() -> None:
    for decimals in range(5):
        k = 2**22 - np.arange(3_000)
        kept = (k / 10**decimals).astype(np.float32)
        assert resolves("float", float(k[0]) / 10**decimals, Fraction(1, 10**decimals))
        assert len(set(kept.tolist())) == len(k)


@pytest.mark.parametrize("name", ["z_asset", "income_z", "y_std", "score_normalized", "inc_w99",
                                  "age_imputed", "wage_winsor",
                                  "income_p99", "x_demean"])  # fmt: skip
def test_names_of_constructed_columns(name: str) -> None:
    assert Column(name).looks_constructed


def test_zeros_and_ones_are_not_standardised_whatever_they_are_called() -> None:
    assert not Column("z", "byte", levels=(0.0, 1.0)).looks_constructed
    assert Column("z", "byte", levels=(0.0, 1.0, 2.0)).looks_constructed
    assert Column("imputed", "byte", levels=(0.0, 1.0)).looks_constructed
    assert Column("z", "byte", label="standardised", levels=(0.0, 1.0)).looks_constructed


@pytest.mark.parametrize("label", ["Z-score of assets", "standardised index", "Winsorized at 99",
                                   "village mean of height", "imputed income"])  # fmt: skip
def test_labels_of_constructed_columns(label: str) -> None:
    assert Column("x", label=label).looks_constructed


@pytest.mark.parametrize("name", ["age", "size", "zone", "standing", "got", "quiz", "p995x"])
def test_other_names_do_not_look_constructed(name: str) -> None:
    assert not Column(name, label="Means of transport, standard of living").looks_constructed


@pytest.mark.parametrize("name", ["lat", "LON", "gps_x", "hh_latitude", "longitude_2"])
def test_coordinates_are_known_by_name_unless_declared(name: str) -> None:
    assert Column(name).locates
    assert not Column(name, coordinates=False).locates


def test_coordinates_are_known_by_label_or_declaration() -> None:
    assert Column("c1", label="GPS reading").locates
    assert Column("c1", coordinates=True).locates
    assert not Column("plate", label="flat, long").locates


def test_step_and_whole_numbers() -> None:
    assert Column("x", "byte", decimals=2).step == 1
    assert Column("x", "double", decimals=0).is_integer
    assert Column("x", "double", integer=True).step == 1
    assert Column("x", "float", decimals=2).step == Fraction(1, 100)
    assert Column("x", "double").step is None


def test_given_shows_facts_but_no_container() -> None:
    frame = pd.Series([123456789.5])
    assert given(frame) == "Series"
    assert given([1]) == "list"
    assert given("a") == "'a'"
    assert given(None) == "NoneType"


@pytest.mark.parametrize("rows", [0, -1, True, 1.5, "2", None])
def test_max_rows_is_a_whole_number(rows: object) -> None:
    with pytest.raises(ParameterError, match=r"max_rows=.*; give a whole number of at least 1"):
        Unit(id="id", max_rows=rows)


def test_max_rows_needs_an_id() -> None:
    with pytest.raises(SchemaError, match="column that identifies"):
        Unit(max_rows=3)
    assert Unit("household", "hh", 3).max_rows == 3


@pytest.mark.parametrize("facts", [{"name": 3}, {"id": 3}, {"name": None}])
def test_unit_names_are_text(facts: dict[str, object]) -> None:
    with pytest.raises(SchemaError, match="give text"):
        Unit(**facts)


def test_missing_codes_are_put_in_order_and_once() -> None:
    assert check_missing_codes([".z", ".", ".a", "."], "x") == (".", ".a", ".z")
    assert check_missing_codes(".b", "x") == (".b",)
    assert check_missing_codes("never", "x") == ()
    assert check_missing_codes((), "x") == ()


@pytest.mark.parametrize("codes", ["a", [".A"], [0], None, 3, pd.Series([987654321.0]), [["."]]])
def test_other_missing_codes_are_refused(codes: object) -> None:
    with pytest.raises(SchemaError, match="allowed: 'never', or missing codes") as refusal:
        check_missing_codes(codes, "x")
    assert "987654321" not in str(refusal.value)


def test_a_choice_is_one_of_the_literals() -> None:
    from dprct.schema.facts import Fate

    check_literal("drop", Fate, "fate", "x")
    for value in ("Drop", None, 1, pd.Series(["drop"])):
        with pytest.raises(SchemaError, match=r"column 'x': fate=.*; allowed: modelled, filler"):
            check_literal(value, Fate, "fate", "x")


def test_facts_of_a_file_pickle_and_copy() -> None:
    file = FileFacts(label="d", value_labels={"yn": {0: "no", ".a": "refused"}}, sorted_by=("x",))
    for again in (pickle.loads(pickle.dumps(file)), copy.deepcopy(file)):
        assert again == file
        assert again.value_labels["yn"][".a"] == "refused"
    assert pickle.loads(pickle.dumps(FileFacts())) == FileFacts()


def test_undecodable_bytes_are_shown_as_replacements() -> None:
    assert shown(b"caf\xe9".decode("utf-8", "surrogateescape")) == "caf\ufffd"


def test_missing_codes_are_read_as_declare_reads_them() -> None:
    assert Column("x", missing="never") == Column("x", missing=())  # type: ignore[arg-type]
    assert Column("x", missing=[".a", "."]).missing == (".", ".a")  # type: ignore[arg-type]
    with pytest.raises(SchemaError, match=r"column 'x': missing='none'; allowed: 'never'"):
        Column("x", missing="none")  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["numpy", "nullable", "polars"])
def test_clipping_puts_what_is_missing_at_the_lower_bound(kind: str) -> None:
    values = [float("nan"), -math.inf, math.inf, 0.5, -3.0, 3.0]
    frame: Any = pd.DataFrame({"x": np.array(values)})
    if kind == "nullable":
        frame = pd.DataFrame({"x": pd.array([None, *values[1:]], dtype="Float64")})
    elif kind == "polars":
        frame = pl.DataFrame({"x": [None, *values[1:]]})
    out = nw.from_native(frame).select(clipped("x", -1.0, 1.0))["x"].to_list()
    assert out == [-1.0, -1.0, 1.0, 0.5, -1.0, 1.0]


@pytest.mark.parametrize("n", [1, 3, 1003])
def test_engines_divide_to_the_last_bit(n: int) -> None:
    x = np.random.default_rng(n).uniform(0, 100, n)
    x[0] = 38.5
    frames = [pd.DataFrame({"x": x}), pl.DataFrame({"x": x}), pl.LazyFrame({"x": x})]
    for by in (35.0, 3.5, 0.1234):
        for frame in frames:
            found = collected(table(frame).select(divided(nw.col("x"), by)))["x"].to_numpy()
            assert (found == x / by).all()


def test_polars_alone_divides_by_a_number_otherwise() -> None:
    x = np.random.default_rng(1).uniform(0, 100, 1000)  # why divided() is there
    assert (pl.DataFrame({"x": x}).select(pl.col("x") / 35.0)["x"].to_numpy() != x / 35.0).any()


@pytest.mark.parametrize("codes", [(".",), (".", ".a"), ("",)])
@pytest.mark.parametrize("levels", [("a", "b"), ("a", "b", ""), None])
def test_a_text_column_with_missing_codes_is_refused_wherever_it_is_made(
    codes: tuple[str, ...], levels: tuple[str, ...] | None
) -> None:
    """Methods would charge the budget and then find no code of it."""
    text = Column("g", "str4", levels=levels, missing=())
    for make in (
        lambda: Column("g", "str4", levels=levels, missing=codes),
        lambda: replace(text, missing=codes),
        lambda: Schema((text,)).declare(g={"missing": list(codes)}),
    ):
        with pytest.raises(SchemaError, match=r"column 'g'.*missing"):
            make()
