from __future__ import annotations

from types import SimpleNamespace

import pytest

from dprct.errors import SchemaError
from dprct.io.stata.fits import check_fits
from dprct.io.stata.layout import LAYOUTS, RELEASES
from dprct.schema import Column, FileFacts, Schema


def fits(*columns, release=118, rows=1, **facts):
    check_fits(Schema(tuple(columns), FileFacts(**facts)), LAYOUTS[release], rows)


@pytest.mark.parametrize("release", RELEASES)
def test_what_every_release_holds(release):
    types = ["byte", "int", "long", "float", "double", "str1", "str244"]
    fits(*(Column(f"v{i}", t) for i, t in enumerate(types)), release=release, sorted_by=("v0",))


@pytest.mark.parametrize("name", ["y", "_private", "Grösse", "名前", "x" * 32, "caf\udce9"])
def test_names_that_stata_knows(name):
    fits(Column(name))


@pytest.mark.parametrize("name", ["", "2nd", "my col", "a.b", "x" * 33, "x\n"])
def test_names_that_stata_does_not_know(name):
    with pytest.raises(SchemaError, match="no Stata name"):
        fits(Column(name))


@pytest.mark.parametrize("name", ["if", "_n", "strL", "str12", "double"])
def test_reserved_words(name):
    with pytest.raises(SchemaError, match="reserves"):
        fits(Column(name))


@pytest.mark.parametrize("storage", ["str0", "str2046", "text", "float64", "str", "str1x", "Byte"])
def test_types_that_do_not_exist(storage):
    with pytest.raises(SchemaError, match="'x' has type"):
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
    ("by", "why"), [(("z",), "'z', which is no column"), (("x", "x"), "twice")]
)
def test_the_sort_order_names_columns_once(by, why):
    with pytest.raises(SchemaError, match=why):
        fits(Column("x"), sorted_by=by)
