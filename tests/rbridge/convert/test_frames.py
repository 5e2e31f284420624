from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from dprct.errors import ColumnError, ConversionError, DprctWarning, SchemaError
from dprct.missing import missing_numbers, tagged
from dprct.rbridge.convert import Table, from_r, schema_record, to_r
from dprct.schema import Column, FileFacts, Schema

COLUMNS = {
    "double": "c(NA, 1.5, -Inf, -0)",
    "whole": "c(NA, 2:4)",
    "logical": "c(TRUE, FALSE, NA, TRUE)",
    "text": "c('a', '\u00e9t\u00e9', '', 'a')",
    "factor": "factor(c('lo', 'hi', NA, 'lo'), levels = c('lo', 'mid', 'hi'))",
    "ordered": "factor(c('p', 'q', 'p', 'q'), ordered = TRUE)",
    "addNA": "addNA(factor(c('b', NA, 'a', NA)))",
    "no levels": "factor(rep(NA, 4))",
    "date": "as.Date('2024-02-28') + 0:3",
    "missing date": "as.Date(c('1950-01-01', NA, '2024-02-29', NA))",
    "whole date": "structure(1:4, class = 'Date')",
    "time": "as.POSIXct('2024-03-30 23:30:00', tz = 'UTC') + c(0, NA, 3600, 0.5)",
    "difftime": "as.difftime(c(NA, 2, 3, 4), units = 'hours')",
    "label": "structure(c(1, 2, 3, 4), label = 'Income', format.stata = '%9.2f')",
    "other attributes": "structure(c(1, 2, 3, 4), unit = 'USD', class = 'money')",
    "latin1": "iconv(c('caf\u00e9', 'a', 'b', 'c'), 'UTF-8', 'latin1')",
}


@pytest.mark.parametrize("kind", list(COLUMNS))
def test_columns_come_back_identical(r, kind):
    assert r.back(f"{{d <- data.frame(id = 1:4); d[['x']] <- {COLUMNS[kind]}; d}}")


@pytest.mark.parametrize(
    "column",
    [
        "haven::labelled(c(1, 2, NA, 1), c(No = 1, Yes = 2), 'Treated?')",
        "haven::labelled(c(1L, 2L, NA, 1L), c(No = 1L))",
        "haven::labelled(c(1, 2, 3, 1.5), c(Half = 1))",
        "haven::tagged_na('a', 'z', 'm', 'b')",
        "haven::labelled(c(1, haven::tagged_na('a', 'z'), NA), c(refused = haven::tagged_na('a')))",
        "haven::labelled_spss(c(1, 2, 99, 98), c(miss = 99), na_values = c(98, 99))",
    ],
)
def test_columns_of_haven_come_back_identical(r, haven, column):
    assert r.back(f"{{d <- data.frame(id = 1:4); d[['x']] <- {column}; d}}")
    tags = "if (is.double(d$x)) haven::na_tag(d$x)"
    before = r(tags)
    r.room["d"] = to_r(from_r(r.room["d"]))
    assert r.identical(before, r(tags))


def test_64_bit_integers_are_exact_or_refused(r):
    if not bool(r('requireNamespace("bit64", quietly = TRUE)')[0]):
        pytest.skip("needs bit64 of R")
    code = "{{d <- data.frame(id = 1:5); d$x <- bit64::as.integer64({}); d}}"
    fits = "c('9007199254740991', NA, '-5', '2147483648', '-4294967296')"
    assert r.back(code.format(fits))
    data = from_r(r(code.format(fits))).data
    np.testing.assert_array_equal(data["x"], [2**53 - 1, np.nan, -5, 2**31, -(2**32)])
    with pytest.raises(ConversionError, match="beyond 2\\^53"):
        from_r(r(code.format("c('9007199254740993', 1, 2, 3, 4)")))
    facts = Schema((Column("id", missing=()), Column("x", fate="withheld", missing=())))
    r.room["facts"] = to_r(schema_record(facts))
    withheld = code.format("c('9007199254740993', 1, 2, 3, 4)").replace(
        "; d}", "; attr(d, 'dprct_schema') <- facts; d}"
    )
    assert from_r(r(withheld)).schema.column("x").fate == "withheld"


@pytest.mark.parametrize(
    ("make", "package"),
    [
        ("data.frame(a = 1:2, b = c('x', 'y'))", "base"),
        ("tibble::tibble(a = 1:2)", "tibble"),
        ("data.table::data.table(a = 1:2)", "data.table"),
        ("structure(data.frame(a = 1:2), label = 'a survey', note = 'n')", "base"),
    ],
)
def test_the_class_of_the_frame_is_kept(r, make, package):
    if not bool(r(f"requireNamespace('{package}', quietly = TRUE)")[0]):
        pytest.skip(f"needs {package} of R")
    r.room["d"] = r(make)
    r.room["back"] = to_r(from_r(r.room["d"]))
    assert bool(r("isTRUE(all.equal(d, back))")[0])
    assert bool(r("identical(class(d), class(back))")[0])


def test_row_names_stay_behind(r):
    assert bool(r("nrow(mtcars)")[0])
    back = to_r(from_r(r("mtcars")))
    assert r.identical(back, r("{d <- mtcars; rownames(d) <- NULL; d}"))


def test_codes_numbers_and_facts(r):
    table = from_r(
        r(
            """structure(data.frame(
            n = c(1L, NA), flag = c(TRUE, NA), arm = factor(c("u", "v"), levels = c("v", "u")),
            day = as.Date(c("1960-01-02", NA)), s = c("a", NA),
            y = structure(c(1, 2), label = "Income", format.stata = "%9.2f")),
            label = "A survey")"""
        )
    )
    assert [(c.name, c.type, c.format, c.label) for c in table.schema.columns] == [
        ("n", "double", "", ""),
        ("flag", "byte", "", ""),
        ("arm", "long", "", ""),
        ("day", "double", "%td", ""),
        ("s", "strL", "", ""),
        ("y", "double", "%9.2f", "Income"),
    ]
    assert table.schema.column("n").integer
    assert dict(table.schema.labels_of("arm")) == {1: "v", 2: "u"}
    assert table.schema.file.label == "A survey"
    assert (table.schema.file.rows, table.schema.opened) == (2, True)
    assert missing_numbers(table.data["n"]).tolist() == [-1, 0]
    np.testing.assert_array_equal(table.data["arm"], [2, 1])
    np.testing.assert_array_equal(table.data["day"], [1, np.nan])
    assert table.data["s"].tolist() == ["a", ""]


def test_labels_of_haven_become_value_labels(r, haven):
    table = from_r(
        r(
            """data.frame(x = haven::labelled(c(1, haven::tagged_na("b")),
            c(yes = 1, refused = haven::tagged_na("b")), "Treated?"))"""
        )
    )
    assert dict(table.schema.labels_of("x")) == {1: "yes", ".b": "refused"}
    assert missing_numbers(table.data["x"]).tolist() == [-1, 2]


def test_user_missing_values_become_missing_codes(r, haven):
    table = from_r(
        r("data.frame(x = haven::labelled_spss(c(1, 99), c(gone = 99), na_values = c(99, 98)))")
    )
    assert missing_numbers(table.data["x"]).tolist() == [-1, 2]
    assert dict(table.schema.labels_of("x")) == {".b": "gone"}


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ("list(1, 2)", "a list"),
        ("I(matrix(1:4, 2))", "a matrix of 2 columns"),
        ("I(data.frame(a = 1:2))", "a data frame"),
        ("complex(2)", "complex"),
        ("as.raw(1:2)", "raw"),
        ("structure(c(1, 2), na_range = c(1, 2), class = 'haven_labelled')", "user-missing"),
    ],
)
def test_columns_without_a_counterpart_are_named(r, column, words):
    with pytest.raises(ConversionError, match=f"column 'bad' is .*{words}") as caught:
        from_r(r(f"{{d <- data.frame(id = 1:2); d[['bad']] <- {column}; d}}"))
    assert caught.value.column == "bad"


def test_invalid_text_is_refused_and_marked_bytes_are_kept(r):
    make = "{{x <- c('caf\\xe9', 'b'); Encoding(x) <- '{}'; data.frame(id = 1:2, x = x)}}"
    with pytest.raises(ConversionError, match="column 'x': text that is not valid UTF-8"):
        from_r(r(make.format("UTF-8")))
    code = make.format("bytes")
    assert from_r(r(code)).data["x"].tolist() == [b"caf\xe9", "b"]
    assert r.back(code)


def test_text_with_every_separator_comes_back(r):
    assert r.back("data.frame(x = c(intToUtf8(c(31, 30, 29, 28, 1, 2, 3, 4)), 'b'))")
    assert r.back("data.frame(x = c('a\\x1fb', 'b', NA))[1:2, , drop = FALSE]")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("data.frame(a = 1)[0, , drop = FALSE]", "no rows"),
        ("data.frame(row.names = 1:2)", "no columns"),
        ("structure(list(1, 2), names = c('a', 'a'), row.names = 1L, class = 'data.frame')", "a"),
    ],
)
def test_frames_that_are_no_tables_are_refused(r, code, words):
    with pytest.raises(SchemaError, match=words):
        from_r(r(code))


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ("as.POSIXct(c(0, 1), tz = 'Europe/Berlin', origin = '1970-01-01')", "time zone"),
        ("structure(c('a', 'b'), labels = c(A = 'a'), class = 'haven_labelled')", "labelled text"),
        ("structure(c(1, 2), labels = c(half = 0.5), class = 'haven_labelled')", "not whole"),
    ],
)
def test_what_stata_has_not_is_said_and_comes_back(r, column, words):
    code = f"{{d <- data.frame(id = 1:2); d[['x']] <- {column}; d}}"
    with pytest.warns(DprctWarning, match=f"column 'x' .*{words}"):
        table = from_r(r(code))
    assert r.identical(to_r(table), r(code))


def labelled_file() -> Table:
    schema = Schema(
        (
            Column("got", "byte", format="%8.0g", label="Got it", value_label="yesno"),
            Column("day", "int", format="%td"),
            Column("at", "double", format="%tc"),
            Column("name", "str8", format="%-8s"),
        ),
        FileFacts(label="A file", value_labels={"yesno": {0: "no", 1: "yes", ".a": "refused"}}),
    )
    data = pd.DataFrame(
        {
            "got": [1.0, tagged(1)[()]],
            "day": [1.0, np.nan],
            "at": [0.0, tagged(2)[()]],
            "name": pd.Series(["a", ""], dtype=object),
        }
    )
    return Table(data, schema)


def test_a_file_looks_as_haven_would_have_read_it(r, haven, tmp_path):
    from dprct.io.stata import write_dta

    table = labelled_file()
    path = tmp_path / "x.dta"
    write_dta(table.data, table.schema, path)
    r.room["ours"] = to_r(table)
    r.room["theirs"] = r(f"as.data.frame(haven::read_dta('{path}'))")
    for name in table.data.columns:
        assert bool(r(f"identical(ours${name}, theirs${name})")[0]), name
    assert bool(r("identical(haven::na_tag(ours$got), c(NA, 'a'))")[0])
    assert str(r("attr(ours, 'label')")[0]) == "A file"


def test_a_frame_with_its_schema_comes_back_with_every_fact(r):
    table = labelled_file()
    schema = table.schema.declare(day=(0, 100)).as_opened()
    r.room["d"] = to_r(Table(table.data, schema, attach=True))
    again = from_r(r.room["d"])
    assert again.schema.columns == schema.columns
    assert again.schema.file.value_labels == schema.file.value_labels
    with pytest.warns(DprctWarning, match="'day' is no longer .* bounds; declare it again"):
        changed = from_r(r("{d$got <- NULL; d$new <- c(1.5, 2); d$day <- as.numeric(d$day); d}"))
    assert [c.name for c in changed.schema.columns] == ["day", "at", "name", "new"]
    assert changed.schema.column("name") == schema.column("name")
    assert changed.schema.column("day") == Column("day")


def test_the_likeness_yields_where_values_changed(r):
    table = from_r(r("data.frame(f = factor(c('a', 'b')), n = 1:2, l = c(TRUE, FALSE))"))
    other = pd.DataFrame({"f": [1.0, 7.0], "n": [0.5, 2.0], "l": [0.0, 3.0]})
    r.room["d"] = to_r(Table(other, table.schema, table.like))
    assert [str(r(f"typeof(d${n})")[0]) for n in "fnl"] == ["double"] * 3
    np.testing.assert_array_equal(np.asarray(r("as.numeric(d$n)")), [0.5, 2])


def test_a_released_frame_of_other_length_keeps_the_likeness(r):
    table = from_r(r("data.frame(f = factor(c('a', 'b')), d = as.Date('2020-01-01') + 0:1)"))
    longer = pd.DataFrame({"d": [0.0, 1, 2], "f": [2.0, np.nan, 1]})
    back = to_r(Table(longer, table.schema, table.like))
    expected = "data.frame(d = as.Date('1960-01-01') + 0:2, f = factor(c('b', NA, 'a')))"
    assert r.identical(back, r(expected))


def test_data_that_the_schema_does_not_describe_are_refused(r):
    with pytest.raises(ColumnError, match="'b'"):
        to_r(Table(pd.DataFrame({"b": [1.0]}), Schema((Column("a"),))))
    with pytest.raises(ConversionError, match="column 'a' holds text") as caught:
        to_r(Table(pd.DataFrame({"a": ["x"]}), Schema((Column("a"),))))
    assert caught.value.__context__ is None  # NumPy's own error shows the text


def test_ordinary_frames_warn_of_nothing(r):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        from_r(r("iris"))
