from __future__ import annotations

import datetime as dt
import traceback
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dprct.errors import SchemaError
from dprct.schema.columns import Column
from dprct.schema.facts import DECLARABLE, FLOAT_LIMITS
from dprct.schema.schema import Schema, declared

NAN, INF = float("nan"), float("inf")
SENTINEL = 918273645.5


def refusal(column: Column, fact: object) -> str:
    with pytest.raises(SchemaError) as caught:
        declared(column, fact)
    text = str(caught.value)
    assert repr(column.name) in text
    assert text.count("\n") == 0
    return text


def test_a_tuple_is_bounds_a_list_levels_a_mapping_facts() -> None:
    assert declared(Column("x"), (0, 5)).bounds == (0.0, 5.0)
    assert declared(Column("x"), [2, 1]).levels == (1.0, 2.0)
    assert declared(Column("s", "str3"), ["b", "a"]).levels == ("b", "a")
    column = declared(Column("x", "byte"), {"bounds": [15, 80], "bins": 5, "missing": [".b", "."]})
    assert (column.bins, column.missing) == (5, (".", ".b"))


def test_facts_are_added_to_those_that_stand() -> None:
    column = declared(declared(Column("x", "byte"), (0, 9)), {"missing": "never"})
    assert (column.bounds, column.missing) == ((0.0, 9.0), ())


def test_numbers_of_numpy_and_fractions_become_plain_numbers() -> None:
    column = declared(
        Column("x"), {"bounds": (np.float32(0.5), Fraction(3, 2)), "bins": np.int8(3)}
    )
    assert column.bounds == (0.5, 1.5)
    assert [type(x) for x in (*column.bounds, column.bins)] == [float, float, int]


def test_zero_has_no_sign() -> None:
    assert str(declared(Column("x"), (-0.0, 1)).bounds) == "(0.0, 1.0)"


@pytest.mark.parametrize(
    ("bounds", "says"),
    [
        ((5, 1), "bounds (5, 1) are reversed or empty; give (low, high) with low < high"),
        ((1, 1), "reversed or empty"),
        ((NAN, 1), "bounds must be finite; got nan"),
        ((0, NAN), "bounds must be finite; got nan"),
        ((-INF, 1), "bounds must be finite; got -inf"),
        ((0, 10**400), "bounds must be finite; got inf"),
        (("0", "9"), "bounds must be numbers; got str"),
        ((None, 1), "bounds must be numbers; got NoneType"),
        ((False, True), "bounds must be numbers; got bool"),
        ((1j, 2), "bounds must be numbers; got complex"),
        ((Decimal(1), 2), "bounds must be numbers; got Decimal"),
        ((1,), "bounds are (low, high); got tuple of length 1"),
        ((1, 2, 3), "bounds are (low, high); got tuple of length 3"),
    ],
)
def test_bad_bounds(bounds: tuple[Any, ...], says: str) -> None:
    assert says in refusal(Column("x"), bounds)
    assert says.replace("tuple", "list") in refusal(Column("x"), {"bounds": list(bounds)})


@pytest.mark.parametrize(
    ("levels", "says"),
    [
        ([], "least one value"),
        ([1, 1.0], "level is given"),
        ([0, -0.0], "a level is given twice"),
        ([1, "a"], "levels must be numbers; got str"),
        ([1, NAN], "levels must be finite; got nan"),
        ([True], "levels must be numbers; got bool"),
    ],
)
def test_bad_levels(levels: list[object], says: str) -> None:
    assert says in refusal(Column("x"), levels)


def test_bad_levels_of_text() -> None:
    assert "levels must be text" in refusal(Column("s", "str3"), ["a", 1])
    assert "a level is given twice" in refusal(Column("s", "str3"), ["a", "a"])


def test_levels_and_bounds_must_agree() -> None:
    facts = {"bounds": (0, 5), "levels": [1, 7]}
    assert "level lies outside" in refusal(Column("x"), facts)
    assert "bins and levels" in refusal(Column("x"), {"bounds": (0, 5), "levels": [1], "bins": 2})


@pytest.mark.parametrize(
    ("storage", "fact", "says"),
    [
        ("byte", (0, 101), "type byte holds -127 to 100; give bounds and levels within"),
        ("int", [40_000], "type int holds -32767 to 32740"),
        ("float", (0, 2.0**127), "type float holds"),
        ("double", (0, 1e308), "type double holds"),
        ("byte", (0, 1.5), "whole bounds"),
        ("byte", [0.5], "holds whole numbers"),
    ],
)
def test_facts_must_fit_the_type(storage: str, fact: object, says: str) -> None:
    assert says in refusal(Column("x", storage), fact)


def test_the_largest_numbers_of_a_type_fit() -> None:
    big = FLOAT_LIMITS["double"]
    assert declared(Column("x"), (-big, big)).bounds == (-big, big)
    assert declared(Column("x", "byte"), [-127, 100]).levels == (-127.0, 100.0)


@pytest.mark.parametrize("bins", [0, -1, True, 1.5, "5", None, [], 2**20 + 1])
def test_bad_numbers_of_bins(bins: object) -> None:
    assert "give a number of bins from 1 to 1048576, or a list" in refusal(
        Column("x"), {"bounds": (0, 1), "bins": bins}
    )


@pytest.mark.parametrize("edges", [[0.5, 0.5], [0.6, 0.5], [0, 0.5], [0.5, 1], [-3]])
def test_edges_are_increasing_and_inside(edges: list[float]) -> None:
    assert "within the bounds" in refusal(Column("x"), {"bounds": (0, 1), "bins": edges})


@pytest.mark.parametrize("decimals", [-1, 16, True, 1.0, "2", None])
def test_bad_decimals(decimals: object) -> None:
    assert "give 0 to 15" in refusal(Column("x"), {"decimals": decimals})


def test_a_level_has_no_more_decimals_than_declared() -> None:
    assert declared(Column("x"), {"levels": [0.1, 2.5], "decimals": 1}).decimals == 1
    assert "a level has more than 1 decimals" in refusal(
        Column("x"), {"levels": [0.25], "decimals": 1}
    )


@pytest.mark.parametrize(
    ("storage", "facts", "says"),
    [
        ("float", {"bounds": (0, 1e6), "decimals": 2}, "type float does not tell 2 decimals apart"),
        ("float", {"bounds": (0, 1e8), "integer": True}, "does not tell whole numbers apart"),
        ("double", {"bounds": (0, 1e20), "integer": True}, "does not tell whole numbers apart"),
        ("float", {"levels": [0.1, 0.1000000001]}, "levels apart"),
    ],
)
def test_a_type_must_tell_legal_numbers_apart(
    storage: str, facts: dict[str, object], says: str
) -> None:
    assert says in refusal(Column("x", storage), facts)


@pytest.mark.parametrize("fact", ["integer", "constants_public", "coordinates", "confirmed"])
@pytest.mark.parametrize("value", [1, "true", None])
def test_flags_are_true_or_false(fact: str, value: object) -> None:
    assert f"{fact}={value!r}; give True or False" in refusal(Column("x"), {fact: value}).replace(
        "NoneType", "None"
    )


@pytest.mark.parametrize("fact", ["derived", "label", "format"])
def test_texts_are_text(fact: str) -> None:
    assert f"{fact} must be text; got 3" in refusal(Column("x"), {fact: 3})


@pytest.mark.parametrize("fact", ["fate", "role", "built_from"])
def test_choices_are_listed(fact: str) -> None:
    assert f"{fact}='other'; allowed: " in refusal(Column("x"), {fact: "other"})


def test_missing_policy() -> None:
    assert "allowed: 'never', or missing codes" in refusal(Column("x"), {"missing": ["NA"]})
    text = refusal(Column("s", "str3"), {"missing": ["."], "levels": ["a"]})
    assert "holds text, which has no missing codes" in text
    assert declared(Column("s", "str3"), {"missing": "never"}).missing == ()


@pytest.mark.parametrize(
    ("fact", "hint"),
    [("bound", "did you mean 'bounds'?"), ("lvels", "did you mean 'levels'?"),
     ("colour", "allowed: bounds, levels, bins"), (3, "allowed: bounds"),
     ("type", "unknown fact 'type'"), ("name", "unknown fact 'name'")],
)  # fmt: skip
def test_unknown_facts(fact: object, hint: str) -> None:
    text = refusal(Column("x"), {fact: 1})
    assert f"unknown fact {fact!r}" in text
    assert hint in text


@pytest.mark.parametrize("fact", [5, "bounds", {1, 2}, None, np.array([1.0]), pd.Series([1.0])])
def test_a_fact_is_a_tuple_a_list_or_a_mapping(fact: object) -> None:
    assert "dict of facts" in refusal(Column("x"), fact)


def test_text_has_no_numeric_facts() -> None:
    column = Column("s", "str3")
    assert "holds text and cannot have bounds; give levels" in refusal(column, (0, 1))
    facts = {"bins": 3, "decimals": 1}
    assert "cannot have bins, decimals" in refusal(column, facts)


@pytest.mark.parametrize("fate", ["modelled", "filler"])
@pytest.mark.parametrize("storage", ["str20", "strL"])
def test_free_text_is_withheld_key_or_drop(storage: str, fate: str) -> None:
    text = refusal(Column("s", storage), {"fate": fate})
    assert f"is free text and cannot be {fate!r}; allowed: withheld, key, drop" in text
    assert "or declare its levels" in text
    for free in ("withheld", "key", "drop"):
        assert declared(Column("s", storage), {"fate": free}).fate == free


@pytest.mark.parametrize("storage", ["str1", "strL"])
def test_text_with_levels_may_be_modelled_and_holds_nothing_else(storage: str) -> None:
    column = declared(Column("s", storage), {"levels": ["a", "b"], "fate": "modelled"})
    assert column.fate == "modelled"
    column = declared(column, {"missing": "never"})
    schema = Schema((column,))
    schema.validate(pd.DataFrame({"s": ["a", "b"]}))
    for other in ("c", "", "A", b"a"):
        with pytest.raises(SchemaError) as refused:
            schema.validate(pd.DataFrame({"s": ["a", other]}))
        assert repr(other) not in str(refused.value)


def test_free_text_is_public_with_its_levels_alone() -> None:
    assert "cannot be 'public' without its levels" in refusal(
        Column("s", "strL"), {"fate": "public"}
    )
    assert declared(Column("s", "strL"), {"fate": "public", "levels": ["a"]}).fate == "public"
    villages = declared(Column("s", "strL"), {"fate": "public", "role": "cluster"})
    assert villages.levels is None, "what names clusters is published as it is"


@pytest.mark.parametrize("fate", ["modelled", "filler", "public"])
def test_coordinates_are_withheld_key_or_drop(fate: str) -> None:
    text = refusal(Column("lat"), {"fate": fate})
    assert f"holds coordinates and cannot be {fate!r}; allowed: withheld, key, drop" in text
    assert declared(Column("lat"), {"fate": fate, "coordinates": False}).fate == fate
    assert "holds coordinates" in refusal(Column("x"), {"coordinates": True, "fate": fate})
    assert declared(Column("gps_x"), {"fate": "drop"}).fate == "drop"


def test_a_derived_column_has_no_other_fate() -> None:
    assert declared(Column("x"), {"derived": "a + b"}).derived == "a + b"
    text = refusal(Column("x"), {"derived": "a + b", "fate": "drop"})
    assert "is derived and 'drop'; a derived column is recomputed" in text


@pytest.mark.parametrize("fact", DECLARABLE)
def test_no_refusal_shows_a_column_of_data_that_was_passed_by_mistake(fact: str) -> None:
    for data in (
        pd.Series([SENTINEL, 1.0]),
        np.array([SENTINEL]),
        [str(SENTINEL), SENTINEL],
        pd.DataFrame({"y": [SENTINEL]}),
    ):
        try:
            declared(Column("x"), {fact: data})
        except SchemaError as error:
            told = "".join(traceback.format_exception_only(error)) + repr(error)
            assert "918273645" not in told
        else:
            pytest.fail("took a column of data for a fact")


def test_no_refusal_shows_a_list_of_levels() -> None:
    names = ["secret-name", 3.0]
    assert "secret-name" not in refusal(Column("x"), names)
    assert "secret-name" not in refusal(Column("s", "str20"), names)
    assert "secret-name" not in refusal(Column("s", "str20"), ["secret-name"] * 2)


def test_days_are_declared_as_dates_or_as_numbers() -> None:
    facts = dt.date(1990, 1, 1), "1999-12-31"
    assert Column("born", "int", "%td", bounds=facts).bounds == (10958.0, 14609.0)
    assert Column("born", "int", "%td", levels=["1960-01-02", 5]).levels == (1.0, 5.0)
    assert "bounds must be numbers" in refusal(Column("age", "int"), facts)


def test_a_date_that_is_no_number_says_how_it_is_one() -> None:
    days = refusal(Column("born", "int", format="%td"), ("in May", "1999-12-31"))
    assert (
        "bounds must be numbers; got str; give a date as 2021-03-05, or as its days since" in days
    )
    seen = refusal(Column("seen", "double", format="%tc"), ("2020-01-01", "2020-12-31"))
    assert "as its milliseconds since 1 January 1960" in seen
    assert "1960" not in refusal(Column("age", "byte"), ("a", "b"))


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ({"sd": 0}, "sd=0; a standard deviation is above 0"),
        ({"sd_within": 1e-300}, "a standard deviation is above 0"),
        ({"sd": INF}, "sd must be finite"),
        ({"sd": 1e90}, "sd=1e+90; give a number within 1e+60 of 0"),
        ({"sd": "wide"}, "sd must be a number"),
        ({"centre": [1]}, "centre must be a number"),
        ({"centre": 6, "bounds": (0, 5)}, "lies outside the bounds or levels"),
        ({"centre": 6, "levels": [0, 1]}, "lies outside the bounds or levels"),
        ({"clip": 1}, "clip=1; give True or False"),
        ({"clip": True}, "clips values"),
    ],
)
def test_scales_centres_and_clipping_are_checked(facts: dict[str, Any], says: str) -> None:
    assert says in refusal(Column("x"), facts)


def test_text_has_no_scale() -> None:
    for facts in ({"sd": 1}, {"centre": 0}, {"clip": True}):
        assert "holds text and cannot have" in refusal(Column("s", "str3"), facts)


def test_a_seal_from_before_there_were_such_facts_stands() -> None:
    column = Column("age", "byte", bounds=(15, 80), missing=(".",))
    assert Schema((column,), dataset_id="x").digest().startswith("1f512ad741fd0f3a69c138c7af7f0887")


def test_an_unknown_policy_for_missing_values_is_refused() -> None:
    with pytest.raises(SchemaError, match=r"missing_policy='privat'; allowed: public, private"):
        Column("x", missing=(".",), missing_policy="privat")
