from __future__ import annotations

import warnings
from dataclasses import replace

import pytest

from dprct.errors import DprctWarning
from dprct.missing import Recoding
from dprct.rbridge.convert import from_r
from dprct.rbridge.convert.facts import Header, schema_of
from dprct.schema import Column, FileFacts, Schema


def header(column: Column, labels=None) -> Header:
    return Header(column, labels or {}, Recoding())


KNOWN = Schema(
    (Column("a", "byte", label="A", value_label="yn", levels=(0, 1)), Column("d", format="%tdD_m")),
    FileFacts(value_labels={"yn": {0: "no", 1: "yes"}, "a": {1: "other"}}, rows=2, label="Known"),
    dataset_id="known",
)
LABELLED = header(Column("a", label="A", value_label="a"), {0: "no", 1: "yes"})
DAY = header(Column("d", format="%td"))


def test_a_schema_stands_whole_with_its_seal():
    sealed = KNOWN.seal()
    assert schema_of([LABELLED, DAY], sealed, 2, "") == sealed.as_opened()


def test_another_number_of_rows_is_another_fact():
    schema = schema_of([LABELLED, DAY], KNOWN.seal(), 3, "")
    assert schema.file.rows == 3
    assert schema.columns == KNOWN.columns


@pytest.mark.parametrize(
    "other",
    [
        header(Column("a", "strL", label="A")),
        header(Column("a", label="B", value_label="a"), {0: "no", 1: "yes"}),
        header(Column("a", label="A", value_label="a"), {0: "never", 1: "yes"}),
        header(Column("a", format="%td", label="A")),
        header(Column("b", label="A")),
    ],
)
def test_a_column_that_changed_in_r_has_r_facts(other):
    assert not other.stands_in(KNOWN)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        schema = schema_of([other, DAY], KNOWN.seal(), 2, "")
    # a column that is gone is no surprise; one that changed has lost what was declared of it
    about = [] if other.column.name == "b" else ["column 'a' is no longer"]
    assert [str(one.message)[:23] for one in said] == about
    assert schema.seal_of is None
    assert schema.column(other.column.name).levels is None
    assert schema.column("d") == KNOWN.column("d")
    assert schema.dataset_id == "known"


def test_new_labels_take_a_free_name():
    with pytest.warns(DprctWarning, match="levels; declare it again"):
        schema = schema_of([replace(LABELLED, labels={0: "never"}), DAY], KNOWN, 2, "")
    assert schema.column("a").value_label == "a_1"
    assert dict(schema.labels_of("a")) == {0: "never"}
    assert dict(schema.file.value_labels["a"]) == {1: "other"}


def test_without_a_schema_the_frame_speaks_for_itself():
    schema = schema_of([LABELLED], None, 2, "Trial")
    assert (schema.file.label, schema.file.rows, schema.opened) == ("Trial", 2, True)
    assert dict(schema.labels_of("a")) == {0: "no", 1: "yes"}


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("structure(1, format.stata = '%9.2f')", "%9.2f"),
        ("structure(1, format.stata = '%td')", ""),
        ("structure(1, format.stata = 'odd')", ""),
        ("structure(1, class = 'Date', format.stata = '%tdD_m_Y')", "%tdD_m_Y"),
        ("structure(1, class = 'Date', format.stata = '%9.0g')", "%td"),
        ("structure(1, class = c('POSIXct', 'POSIXt'), tzone = 'UTC')", "%tc"),
    ],
)
def test_formats_mean_what_the_values_mean(r, code, expected):
    frame = r(f"{{d <- data.frame(i = 1); d$x <- {code}; d}}")
    assert from_r(frame).schema.column("x").format == expected
