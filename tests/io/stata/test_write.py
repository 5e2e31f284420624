from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from dprct.errors import ParameterError, SchemaError
from dprct.io.stata import read_dta, read_header, write_dta
from dprct.io.stata.files import check_fits
from dprct.io.stata.layout import LAYOUTS, RELEASES
from dprct.schema import Column, FileFacts, Schema

CASES = [(release, order) for release in RELEASES for order in "<>"]


def table(column, values, **facts):
    dtype = object if column.is_text else float
    return pd.DataFrame({column.name: pd.Series(values, dtype=dtype)}), Schema(
        (column,), FileFacts(**facts)
    )


@pytest.mark.parametrize(("release", "order"), CASES)
def test_the_same_table_gives_the_same_bytes(release, order, everything, tmp_path):
    write_dta(*everything(release, order), tmp_path / "a.dta")
    write_dta(*read_dta(tmp_path / "a.dta"), tmp_path / "b.dta")
    assert (tmp_path / "a.dta").read_bytes() == (tmp_path / "b.dta").read_bytes()


def test_the_default_is_the_release_that_was_read_else_118(everything, tmp_path):
    for release in RELEASES:
        write_dta(*everything(release), tmp_path / "a.dta")
        assert read_header(tmp_path / "a.dta").file.release == release
    write_dta(*table(Column("x"), [1.0]), tmp_path / "a.dta")
    assert read_header(tmp_path / "a.dta").file.release == 118


@pytest.mark.long
def test_more_than_32767_variables_are_release_119(tmp_path):
    names = [f"v{i}" for i in range(32_768)]
    data = pd.DataFrame(np.arange(2.0 * len(names)).reshape(2, -1), columns=names)
    schema = Schema(tuple(Column(name) for name in names))
    write_dta(data, schema, tmp_path / "wide.dta")
    again, read = read_dta(tmp_path / "wide.dta")
    assert read.file.release == 119
    assert np.array_equal(again.to_numpy(), data.to_numpy())
    with pytest.raises(SchemaError, match="write version=119"):
        write_dta(data, schema, tmp_path / "wide.dta", version=118)


def test_empty_facts_get_the_defaults(tmp_path):
    write_dta(*table(Column("x", "int"), [1.0]), tmp_path / "a.dta")
    assert read_dta(tmp_path / "a.dta")[1].column("x").format == "%8.0g"


def test_no_clock_is_read(tmp_path):
    write_dta(*table(Column("x"), [1.0]), tmp_path / "a.dta")
    assert read_header(tmp_path / "a.dta").file.timestamp == ""


@pytest.mark.parametrize("release", RELEASES)
def test_a_table_without_rows_or_columns(release, tmp_path, same):
    for data, schema in (
        table(Column("x", "byte", "%8.0g"), [], release=release, rows=0),
        (pd.DataFrame(), Schema((), FileFacts(release=release, rows=0))),
    ):
        write_dta(data, schema, tmp_path / "a.dta")
        same((data, schema.as_opened()), read_dta(tmp_path / "a.dta"))


@pytest.mark.parametrize(
    ("column", "facts", "version", "why"),
    [
        (Column("s", "strL"), {}, 115, "'s' is strL.*write version=117"),
        (Column("s", "str300"), {}, 114, "'s' is str300.*write version=117"),
        (
            Column("名", "byte"),
            {},
            117,
            "the name of column '名' .* cannot hold; write version=118",
        ),
        (Column("é" * 32, "byte"), {}, 118, None),
        (Column("x", label="l" * 81), {}, 117, "the label of column 'x' has 81 bytes.*allows 80"),
        (Column("x", label="l" * 81), {}, 118, None),
        (Column("x", format="%12.0fc" + " " * 6), {}, 113, "the format of column 'x'"),
        (Column("x", value_label="l" * 33), {}, 115, "the value label of column 'x'"),
        (Column("x"), {"label": "é" * 80}, 118, None),
        (Column("x"), {"label": "l" * 81}, 117, "the dataset label has 81 bytes"),
        (Column("x"), {"timestamp": "t" * 18}, 118, "the timestamp has 18 bytes"),
        (Column("x"), {"characteristics": (("x", "c", "名"),)}, 115, r"characteristic x\[c\]"),
        (Column("x"), {"characteristics": (("x", "c" * 200, ""),)}, 118, "the name of the charac"),
        (Column("x"), {"characteristics": (("x", "c", "a" * 67_785),)}, 118, "allows 67,784"),
        (Column("x"), {"value_labels": {"s": {1: "名"}}}, 117, "a label of label set 's'"),
        (Column("x"), {}, 116, "version=116; allowed: 102, .*, 119"),
    ],
)
def test_an_older_release_is_refused_with_its_reason(tmp_path, column, facts, version, why):
    values = [""] if column.is_text else [1.0]
    if why is None:
        write_dta(*table(column, values, **facts), tmp_path / "a.dta", version=version)
        assert read_header(tmp_path / "a.dta").file.release == version
        return
    with pytest.raises(SchemaError, match=why):
        write_dta(*table(column, values, **facts), tmp_path / "a.dta", version=version)
    assert list(tmp_path.iterdir()) == []


def test_a_value_that_does_not_fit_leaves_the_older_file(tmp_path):
    write_dta(*table(Column("x", "byte"), [1.0]), tmp_path / "a.dta")
    before = (tmp_path / "a.dta").read_bytes()
    with pytest.raises(SchemaError, match=r"column 'x' \(byte\) holds a number that is not among"):
        write_dta(*table(Column("x", "byte"), [12_345.0]), tmp_path / "a.dta")
    assert (tmp_path / "a.dta").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["a.dta"]


@pytest.mark.parametrize(
    ("names", "why"),
    [
        (["x"], "missing in the data: y"),
        (["x", "y", "z"], "not in the schema: z"),
        (["y", "x"], "order or number"),
        (["x", "x", "y"], "order or number"),
    ],
)
def test_columns_must_be_those_of_the_schema(names, why, tmp_path):
    data = pd.DataFrame(np.zeros((1, len(names))), columns=names)
    with pytest.raises(SchemaError, match=why):
        write_dta(data, Schema((Column("x"), Column("y"))), tmp_path / "a.dta")
    with pytest.raises(ParameterError, match="dict; give a DataFrame"):
        write_dta({"x": [1]}, Schema((Column("x"),)), tmp_path / "a.dta")


def test_files_move_between_releases(everything, tmp_path, same):
    """What an old release holds, a new one does; and back."""
    data, schema = everything(115)
    data = data.drop(columns="name")  # its bytes are no text in UTF-8
    schema = replace(schema, columns=tuple(c for c in schema.columns if c.name != "name"))
    write_dta(data, schema, tmp_path / "new.dta", version=119)
    newer, read = read_dta(tmp_path / "new.dta")
    assert read.file.release == 119
    write_dta(newer, read, tmp_path / "old.dta", version=115)
    older, back = read_dta(tmp_path / "old.dta")
    same((data, schema.as_opened()), (older, back))


def test_arguments_in_another_order_are_refused(tmp_path):
    with pytest.raises(ParameterError, match=r"data= is 'a\.dta'; give a DataFrame"):
        write_dta("a.dta", pd.DataFrame({"a": [1.0]}), tmp_path / "a.dta")


def fits(*columns, release=118, rows=1, **facts):
    check_fits(Schema(tuple(columns), FileFacts(**facts)), LAYOUTS[release], rows)


@pytest.mark.parametrize("release", RELEASES)
def test_what_every_release_holds(release):
    types = ["byte", "int", "long", "float", "double", "str1", f"str{LAYOUTS[release].widest}"]
    fits(*(Column(f"v{i}", t) for i, t in enumerate(types)), release=release, sorted_by=("v0",))


@pytest.mark.parametrize("name", ["y", "_private", "Grösse", "名前", "x" * 32, "caf\udce9"])
def test_names_that_stata_knows(name):
    fits(Column(name))


@pytest.mark.parametrize("name", ["", "2nd", "my col", "a.b", "x" * 33, "x\n"])
def test_names_that_stata_does_not_know(name):
    with pytest.raises(SchemaError, match="not a Stata name"):
        fits(Column(name))


@pytest.mark.parametrize("name", ["if", "_n", "strL", "str12", "double"])
def test_reserved_words(name):
    with pytest.raises(SchemaError, match="reserves"):
        fits(Column(name))


@pytest.mark.parametrize("storage", ["str0", "str2046", "text", "float64", "str", "str1x", "Byte"])
def test_types_that_do_not_exist(storage):
    with pytest.raises(SchemaError, match="column 'x': type="):
        fits(Column("x", storage))


@pytest.mark.parametrize("storage", ["strL", "str245"])
def test_types_that_older_releases_do_not_have(storage):
    fits(Column("x", storage), release=117)
    with pytest.raises(SchemaError, match="write version=117"):
        fits(Column("x", storage), release=115)


def test_limits_on_columns_and_rows():
    many = SimpleNamespace(columns=range(32_768))
    with pytest.raises(SchemaError, match=r"32,768 columns; release 118 .* version=119"):
        check_fits(many, LAYOUTS[118], 1)
    with pytest.raises(SchemaError, match="drop some"):
        check_fits(SimpleNamespace(columns=range(120_001)), LAYOUTS[119], 1)
    with pytest.raises(SchemaError, match="2,147,483,648 rows"):
        fits(Column("x"), release=115, rows=2**31)
    with pytest.raises(SchemaError, match="no columns"):
        fits(rows=1)


@pytest.mark.parametrize(
    ("by", "why"), [(("z",), "'z', which is not a column"), (("x", "x"), "twice")]
)
def test_the_sort_order_names_columns_once(by, why):
    with pytest.raises(SchemaError, match=why):
        fits(Column("x"), sorted_by=by)
