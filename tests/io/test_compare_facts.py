from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dprct.io.compare.facts import fact_differences
from dprct.io.facets import FACETS
from dprct.schema import Column, FileFacts, Schema

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
