from __future__ import annotations

import json
import pickle
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dprct.errors import FileError, ParameterError, SchemaError
from dprct.io import read, write
from dprct.io.compare import (
    FACETS,
    Comparison,
    Difference,
    Differing,
    certificate_beside,
    compare,
    differing_numbers,
    fact_differences,
    in_order,
    permits_of,
    permitted,
    rows_are_sorted,
    value_differences,
)
from dprct.missing import tagged
from dprct.schema import Column, FileFacts, Schema
from dprct.schema.columns import DATASET

if TYPE_CHECKING:
    from pathlib import Path


Pair = tuple[pd.DataFrame, Schema]
SECRET = 987_654.0


@pytest.fixture
def pair() -> Pair:
    data = pd.DataFrame(
        {
            "got": [0.0, 1.0, SECRET],
            "village": pd.Series(["a", "b", "secret place"], dtype=object),
        }
    )
    columns = (Column("got", "long", label="Got it"), Column("village", "str12"))
    return data, Schema(columns, file=FileFacts(label="Trial", rows=3))


def changed(pair: Pair, name: str, values: list[object]) -> Pair:
    data = pair[0].copy()
    data[name] = pd.Series(values, dtype=data[name].dtype)
    return data, pair[1]


def test_a_pair_is_identical_to_itself(pair: Pair) -> None:
    found = compare(pair, (pair[0].copy(), pair[1]))
    assert not found
    assert found.differences == ()
    assert str(found) == "the first and the second are identical"
    assert found.to_dict()["identical"] is True


def test_anything_that_differs_makes_it_true_even_if_permitted(pair: Pair) -> None:
    other = changed(pair, "got", [0.0, 0.0, SECRET])
    allowed = {"differences": [{"facet": "values", "column": "got", "reason": "synthesised"}]}
    found = compare(pair, other, allowed)
    assert found
    assert found.unexpected == ()
    assert [d.reason for d in found.permitted] == ["synthesised"]
    assert compare(pair, other).unexpected != ()


def test_no_value_is_shown(pair: Pair) -> None:
    data = pd.DataFrame({"got": [5.0, 6.0, 7.0], "village": ["other", "places", "here"]})
    found = compare(pair, (data, pair[1]))
    assert len(found.differences) == 2
    text = str(found) + json.dumps(found.to_dict()) + repr(found)
    for value in ("987654", "secret", "other", "places", "6.0", "7.0"):
        assert value not in text


def test_declared_facts_are_no_difference(pair: Pair) -> None:
    data, schema = pair
    declared = schema.declare(got=(0, 10), confirm_header=True, dataset_id="trial")
    assert not compare(pair, (data, declared))


def test_differences_come_in_the_order_of_the_facets(pair: Pair) -> None:
    data, schema = changed(pair, "got", [1.0, 1.0, 1.0])
    column = replace(schema.column("got"), type="double", format="%9.0g", label="")
    other = replace(schema.with_columns([column]), file=FileFacts(release=117))
    facets = [d.facet for d in compare(pair, (data, other)).differences]
    assert facets == ["type", "format", "label", "dataset-label", "release", "values"]
    assert facets == sorted(facets, key=list(FACETS).index)


def test_every_difference_is_json_ready(pair: Pair) -> None:
    other = changed(pair, "village", ["a", "b", "c"])
    told = json.loads(json.dumps(compare(pair, other).to_dict()))
    assert told == {
        "files": ["the first", "the second"],
        "identical": False,
        "unexpected": [
            {
                "facet": "values",
                "column": "village",
                "detail": "1 of 3 rows differ",
                "permitted": False,
                "reason": "",
            }
        ],
        "permitted": [],
    }


def test_files_are_read_by_extension_and_the_certificate_beside_the_second(
    tmp_path: Path,
) -> None:
    schema = Schema((Column("x"),))
    one, two = tmp_path / "a.csv", tmp_path / "b.csv"
    write(pd.DataFrame({"x": [1.0, 2.0]}), schema, one)
    write(pd.DataFrame({"x": [1.0, 3.0]}), schema, two)
    assert [d.facet for d in compare(one, two).unexpected] == ["values"]
    permits = {"differences": [{"facet": "values", "column": "x", "reason": "private"}]}
    (tmp_path / "b.certificate.json").write_text(json.dumps(permits))
    found = compare(str(one), two)
    assert found.unexpected == ()
    assert found.names == ("a.csv", "b.csv")
    # a certificate beside the first says nothing of the second, and none can be asked for
    assert compare(two, one).unexpected != ()
    assert compare(one, two, {"differences": []}).unexpected != ()
    assert compare(one, read(two)).unexpected != ()


@pytest.mark.parametrize("bad", [3, None, ("x", "y"), (pd.DataFrame(), None, 1)])
def test_what_is_neither_path_nor_pair_is_refused(pair: Pair, bad: object) -> None:
    with pytest.raises(ParameterError, match="give a path, or a pair"):
        compare(pair, bad)  # type: ignore[arg-type]


def test_a_pair_must_agree_with_itself(pair: Pair) -> None:
    data, schema = pair
    with pytest.raises(SchemaError, match="not those of the schema"):
        compare((data[["village", "got"]], schema), pair)


def test_a_missing_file_is_refused(pair: Pair, tmp_path: Path) -> None:
    with pytest.raises(FileError, match="nothing"):
        compare(pair, tmp_path / "nothing.csv")


def test_large_tables_are_compared_exactly() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(size=(5_000, 12))
    other = values.copy()
    flips = rng.choice(5_000, 40, replace=False)
    other.view(np.uint64)[flips, 3] ^= np.uint64(1)  # the last bit
    names = [f"x{k}" for k in range(12)]
    schema = Schema(tuple(Column(n) for n in names))
    one, two = (pd.DataFrame(x, columns=names) for x in (values, other))
    found = compare((one, schema), (two, schema))
    assert [str(d) for d in found.differences] == ["values of x3: 40 of 5000 rows differ"]


def test_the_text_separates_permitted_from_unexpected() -> None:
    found = Comparison(
        (
            Difference("rows", None, "1 in the first, 2 in the second"),
            Difference("notes", "_dta", "note1 only in the first", True, "dropped"),
        ),
        ("a.dta", "b.dta"),
    )
    assert str(found).splitlines() == [
        "a.dta and b.dta differ in 1 way that no certificate permits",
        "  rows: 1 in the first, 2 in the second",
        "a.dta and b.dta differ in 1 way that the certificate permits",
        "  notes of _dta: note1 only in the first [permitted: dropped]",
    ]


def test_nothing_found_is_false_and_anything_found_is_true() -> None:
    assert not Comparison(())
    assert Comparison((Difference("rows", None, "differs", True, "agreed"),))


def test_permitted_and_unexpected_are_all_there_is() -> None:
    found = tuple(Difference("values", f"x{k}", "differs", k % 2 == 0) for k in range(5))
    comparison = Comparison(found)
    assert [d.column for d in comparison.permitted] == ["x0", "x2", "x4"]
    assert [d.column for d in comparison.unexpected] == ["x1", "x3"]
    told = comparison.to_dict()
    assert len(told["permitted"]) + len(told["unexpected"]) == len(found)


def test_differences_are_put_in_the_order_of_the_facets_and_kept_within_one() -> None:
    found = [Difference(facet, name, "") for facet in reversed(FACETS) for name in ("b", "a")]
    ordered = in_order(found)
    assert [d.facet for d in ordered[::2]] == list(FACETS)
    assert [d.column for d in ordered[:2]] == ["b", "a"]


def test_a_comparison_can_be_sent_to_another_process() -> None:
    comparison = Comparison((Difference("rows", None, "differs"),), ("a", "b"))
    assert pickle.loads(pickle.dumps(comparison)) == comparison


FACTS = FileFacts(
    release=118,
    byteorder="<",
    label="Trial",
    timestamp="21 Nov 2026 07:36",
    sorted_by=("a",),
    value_labels={"yesno": {0: "no", 1: "yes", ".a": "refused"}, "spare": {1: "one"}},
    characteristics=(("_dta", "note0", "1"), ("_dta", "note1", "x"), ("a", "iis", "b")),
)
COLUMNS = (
    Column("a", "byte", "%8.0g", "A", "yesno"),
    Column("b", "byte", "%8.0g", "B", "yesno"),
    Column("c", "str10", "%10s", "C"),
)
SCHEMA = Schema(COLUMNS, file=FACTS)


def with_file(**facts: Any) -> Schema:
    return replace(SCHEMA, file=replace(FACTS, **facts))


def with_column(name: str, **facts: Any) -> Schema:
    return SCHEMA.with_columns([replace(SCHEMA.column(name), **facts)])


def found(other: Schema) -> list[tuple[str, str | None]]:
    return [(d.facet, d.column) for d in fact_differences(SCHEMA, other)]


def test_equal_schemas_have_no_differences() -> None:
    assert found(Schema(COLUMNS, file=FACTS)) == []


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (with_column("a", type="int"), [("type", "a")]),
        (with_column("c", type="strL"), [("type", "c")]),
        (with_column("c", type="double"), [("type", "c")]),
        (with_column("c", type="str11"), [("width", "c")]),
        (with_column("a", format="%td"), [("format", "a")]),
        (with_column("a", label=""), [("label", "a")]),
        (with_file(label="Other"), [("dataset-label", None)]),
        (with_file(sorted_by=("a", "b")), [("sort", None)]),
        (with_file(sorted_by=()), [("sort", None)]),
        (with_file(release=117), [("release", None)]),
        (with_file(byteorder=">"), [("byteorder", None)]),
        (with_file(timestamp=""), [("timestamp", None)]),
        (Schema((COLUMNS[1], COLUMNS[0], COLUMNS[2]), file=FACTS), [("order", None)]),
        (SCHEMA.select(["a", "b"]), [("variables", "c")]),
        (Schema((*COLUMNS[:1], Column("d"), *COLUMNS[1:]), file=FACTS), [("variables", "d")]),
    ],
)
def test_each_fact_has_its_facet(other: Schema, expected: list[tuple[str, str | None]]) -> None:
    assert found(other) == expected
    mirrored = [(d.facet, d.column) for d in fact_differences(other, SCHEMA)]
    assert mirrored == expected
    assert {facet for facet, _ in expected} <= set(FACETS)


def labels(**sets: dict[int | str, str]) -> Schema:
    kept = {**FACTS.value_labels, **sets}
    return with_file(value_labels={name: codes for name, codes in kept.items() if codes})


@pytest.mark.parametrize(
    ("other", "name", "detail"),
    [
        (
            labels(yesno={0: "no", 1: "YES", ".b": "refused"}),
            "yesno",
            ".a labelled in the first only; .b labelled in the second only; 1 labelled otherwise",
        ),
        (labels(spare={}), "spare", "only in the first, attached to no variable"),
        (labels(yesno={}), "yesno", "only in the first"),
        (labels(new={3: "x"}), "new", "only in the second, attached to no variable"),
        (
            with_file(value_labels=dict(reversed(list(FACTS.value_labels.items())))),
            None,
            "the label sets come in another order",
        ),
    ],
)
def test_label_sets_are_compared_by_name_and_code(
    other: Schema, name: str | None, detail: str
) -> None:
    (difference,) = fact_differences(SCHEMA, other)
    assert (difference.facet, difference.column) == ("label-set", name)
    assert difference.detail == detail


def test_the_order_of_codes_within_a_set_says_nothing() -> None:
    assert found(labels(yesno={".a": "refused", 1: "yes", 0: "no"})) == []


def test_the_number_one_is_not_the_text_one() -> None:
    assert found(labels(spare={"1": "one"})) == [("label-set", "spare")]


def test_sharing_is_seen_apart_from_the_attached_name() -> None:
    renamed = Schema(
        (replace(COLUMNS[0], value_label="spare"), *COLUMNS[1:]),
        file=FACTS,
    )
    assert found(renamed) == [("value-label", "a"), ("sharing", "a"), ("sharing", "b")]
    both = Schema(
        (
            replace(COLUMNS[0], value_label="spare"),
            replace(COLUMNS[1], value_label="spare"),
            COLUMNS[2],
        ),
        file=FACTS,
    )
    assert found(both) == [("value-label", "a"), ("value-label", "b")]


def test_columns_without_labels_share_nothing() -> None:
    assert found(with_column("b", value_label="")) == [
        ("value-label", "b"),
        ("sharing", "a"),
        ("sharing", "b"),
    ]


def characteristics(*entries: tuple[str, str, str]) -> Schema:
    return with_file(characteristics=entries)


def test_notes_are_told_from_other_characteristics_and_not_quoted() -> None:
    other = characteristics(("_dta", "note0", "1"), ("_dta", "note1", "hidden words"))
    differences = fact_differences(SCHEMA, other)
    assert [str(d) for d in differences] == [
        "notes of _dta: note1 differ",
        "characteristics of a: iis only in the first",
    ]
    assert "hidden" not in " ".join(map(str, differences))


def test_the_order_of_characteristics_is_a_fact() -> None:
    assert found(characteristics(*reversed(FACTS.characteristics))) == [("characteristics", "_dta")]


def test_undecodable_text_can_be_printed() -> None:
    odd = b"caf\xe9".decode("utf-8", "surrogateescape")
    (difference,) = fact_differences(SCHEMA, with_column("a", label=odd))
    str(difference).encode("utf-8")


def test_long_text_is_cut() -> None:
    (difference,) = fact_differences(SCHEMA, with_column("a", label="x" * 500))
    assert len(difference.detail) < 120


LISTED = {
    "differences": [
        {"facet": "values", "column": "age", "reason": "synthesised"},
        {"facet": "notes", "column": None, "reason": "dropped"},
        {"facet": "timestamp"},
    ]
}


@pytest.mark.parametrize(
    ("facet", "column", "reason"),
    [
        ("values", "age", "synthesised"),
        ("notes", "_dta", "dropped"),
        ("notes", "age", "dropped"),
        ("timestamp", None, ""),
    ],
)
def test_what_is_listed_is_permitted(facet: str, column: str | None, reason: str) -> None:
    found = permitted(Difference(facet, column, "differs"), permits_of(LISTED))
    detail = "differ" if facet == "values" else "differs"
    assert (found.permitted, found.reason, found.detail) == (True, reason, detail)


def test_permitted_values_are_not_counted() -> None:
    counted = "12 of 40 rows differ, 3 of them in missing codes"
    one, other = (
        permitted(Difference("values", column, counted), permits_of(LISTED))
        for column in ("age", "sex")
    )
    assert (one.detail, other.detail) == ("differ", counted)


@pytest.mark.parametrize(
    ("facet", "column"), [("values", "sex"), ("values", None), ("type", "age"), ("rows", None)]
)
def test_what_is_not_listed_is_not(facet: str, column: str | None) -> None:
    found = permitted(Difference(facet, column, "differs"), permits_of(LISTED))
    assert not found.permitted


def test_a_file_says_the_same_as_its_content(tmp_path: Path) -> None:
    path = tmp_path / "b.certificate.json"
    path.write_text(json.dumps(LISTED))
    assert permits_of(path) == permits_of(str(path)) == permits_of(LISTED)
    assert certificate_beside(tmp_path / "b.dta") == path
    assert certificate_beside(tmp_path / "c.dta") is None


@pytest.mark.parametrize(
    "content",
    [
        {},
        [],
        {"differences": "all"},
        {"differences": ["values"]},
        {"differences": [{"facet": "everything"}]},
        {"differences": [{"column": "x"}]},
        {"differences": [{"facet": ["values"]}]},
        {"differences": [{"facet": "values", "column": 3}]},
    ],
)
def test_a_certificate_that_says_something_else_is_refused(content: object, tmp_path: Path) -> None:
    path = tmp_path / "b.certificate.json"
    path.write_text(json.dumps(content))
    with pytest.raises(ParameterError, match="certificate"):
        permits_of(path)


def test_a_certificate_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="check the path"):
        permits_of(tmp_path / "none.json")
    for content in (b"{", b"\xff\xfe"):
        (tmp_path / "bad.json").write_bytes(content)
        with pytest.raises(FileError, match="not JSON"):
            permits_of(tmp_path / "bad.json")


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


def pair_of_values(values: object, storage: str = "double") -> tuple[pd.DataFrame, Schema]:
    return pd.DataFrame({"x": values}), Schema((Column("x", storage),))


def details(a: tuple[pd.DataFrame, Schema], b: tuple[pd.DataFrame, Schema]) -> list[str]:
    return [str(difference) for difference in value_differences(a, b)]


def test_missing_codes_are_counted_apart() -> None:
    a = pair_of_values(np.concatenate([tagged([0, 1, 2]), [5.0, 6.0]]))
    b = pair_of_values(np.concatenate([tagged([0, 1, 3]), [5.5, np.nan]]))
    assert details(a, b) == ["values of x: 3 of 5 rows differ, 2 of them in missing codes"]


def test_whole_number_dtypes_equal_floats() -> None:
    assert (
        details(pair_of_values(pd.Series([1, None], dtype="Int8")), pair_of_values([1.0, np.nan]))
        == []
    )


def test_text_is_compared_exactly() -> None:
    a = pair_of_values(pd.Series(["a", b"b", "", "d"], dtype=object), "str5")
    b = pair_of_values(pd.Series(["a", "b", None, "d "], dtype=object), "str5")
    assert details(a, b) == ["values of x: 2 of 4 rows differ"]
    assert details(pair_of_values(["a", None], "str5"), pair_of_values(["a", ""], "str5")) == []


def test_rows_that_cannot_be_matched_are_said_not_to_be_compared() -> None:
    assert details(pair_of_values([1.0]), pair_of_values([1.0, 2.0])) == [
        "rows: 1 in the first, 2 in the second",
        "values of x: not compared, as the numbers of rows differ",
    ]


def test_text_and_numbers_are_not_compared() -> None:
    assert details(pair_of_values([1.0]), pair_of_values(["1"], "str1")) == [
        "values of x: not compared, as one is text and the other a number"
    ]


def test_only_common_columns_are_compared() -> None:
    other = (pd.DataFrame({"y": [1.0]}), Schema((Column("y"),)))
    assert details(pair_of_values([2.0]), other) == []


def test_numbers_that_are_none_are_refused_without_showing_them() -> None:
    with pytest.raises(SchemaError, match="'x'") as caught:
        details(pair_of_values(["hush"]), pair_of_values([1.0]))
    assert "hush" not in str(caught.value)


def says_in_order(data: pd.DataFrame, *by: str) -> bool:
    kinds = {name: "strL" if data[name].dtype == object else "double" for name in data}
    schema = Schema(
        tuple(Column(name, kind) for name, kind in kinds.items()), FileFacts(sorted_by=by)
    )
    return rows_are_sorted(data, schema)


def test_missing_codes_sort_after_every_number_in_their_order() -> None:
    high = np.concatenate([[-1.0, 0.0, 1e300], tagged([0, 1, 26])])
    assert says_in_order(pd.DataFrame({"x": high}), "x")
    for row in range(5):
        swapped = high.copy()
        swapped[[row, row + 1]] = swapped[[row + 1, row]]
        assert not says_in_order(pd.DataFrame({"x": swapped}), "x")


def test_later_keys_count_only_within_ties() -> None:
    data = pd.DataFrame({"x": [1.0, 1.0, 2.0], "y": [1.0, 2.0, 0.0]})
    assert says_in_order(data, "x", "y")
    assert not says_in_order(data, "y", "x")
    data.loc[1, "y"] = 0.5
    assert not says_in_order(data, "x", "y")
    assert says_in_order(data, "x")


def test_text_sorts_by_its_bytes() -> None:
    text = pd.Series(["", "A", "Z", "a", b"b", "é"], dtype=object)
    assert says_in_order(pd.DataFrame({"s": text}), "s")
    assert not says_in_order(pd.DataFrame({"s": text.iloc[::-1].reset_index(drop=True)}), "s")


def test_no_rows_and_no_keys_are_sorted() -> None:
    assert says_in_order(pd.DataFrame({"x": [2.0, 1.0]}))
    assert says_in_order(pd.DataFrame({"x": np.array([], np.float64)}), "x")


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


def test_every_facet_says_what_it_is_in_one_line() -> None:
    assert all(text and "\n" not in text for text in FACETS.values())
    assert all(name == name.lower() and " " not in name for name in FACETS)
    assert DATASET == "_dta"


def test_the_names_are_fixed() -> None:
    with pytest.raises(TypeError):
        FACETS["new"] = "x"  # type: ignore[index]


class Counted(str):
    """A name that counts how often it is compared or hashed."""

    __slots__ = ()
    looks = 0

    def __eq__(self, other: object) -> bool:
        Counted.looks += 1
        return str.__eq__(self, other)

    def __hash__(self) -> int:
        Counted.looks += 1
        return str.__hash__(self)


@pytest.mark.parametrize("sets", [("yn", "yn"), ("yn", ""), ("yn", None), (None, "yn")])
def test_the_cost_of_a_comparison_is_linear_in_the_columns(sets: tuple[str | None, ...]) -> None:
    """Counted in looks at a name: four times the columns are four times the looks."""
    looks = []
    for k in (100, 400):
        names = [Counted(f"v{i}") for i in range(k)]
        one, two = (
            Schema(tuple(Column(n, value_label=n if s is None else s) for n in names)) for s in sets
        )
        Counted.looks = 0
        fact_differences(one, two)
        two.with_columns(one.columns)
        looks.append(Counted.looks)
    assert 0 < looks[1] <= 5 * looks[0]
