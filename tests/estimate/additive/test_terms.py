from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dprct.errors import ColumnError, ParameterError, SchemaError
from dprct.estimate.additive.terms import terms_of
from dprct.queries.additive import Block
from dprct.schema import Column, FileFacts, Schema

FEATURES = ["x", "age", "year", "town"]


def test_blocks_are_everybody_features_subgroups_and_pairs(schema):
    terms = terms_of(
        schema,
        ["x", "age"],
        bins=4,
        subgroups=["town", "x"],
        pairs=[("age", "x")],
        projection=["x", "age"],
    )
    assert terms.names == ("x", "age", "town")
    assert terms.terms == ((0,), (1,), (0, 1))
    assert terms.blocks() == (
        Block((), (), counts=False), Block((0,), (4,)), Block((1,), (5,)), Block((2,), (3,)),
        Block((0, 1), (4, 5)),
    )  # fmt: skip
    assert terms.blocks(arm=3)[1] == Block((3, 0), (2, 4))
    assert len(terms.blocks(arm=3)) == 4  # no subgroup


def test_joint_counts_alone_for_a_projection(schema):
    terms = terms_of(schema, ["x", "age", "year"], bins=4, projection=["year", "x"])
    assert terms.blocks()[-1] == Block((0, 2), (4, 4), sums=False)


@pytest.mark.parametrize(
    ("confirmed", "words", "named"),
    [
        (True, {1: "north", 2: "south", ".a": "moved"}, ["north", "south", "3"]),
        (True, {1: "north", 2: "north"}, ["1", "2", "3"]),
        (False, {1: "north", 2: "south"}, ["1", "2", "3"]),
    ],
)
def test_levels_have_value_labels_where_these_are_public_and_differ(confirmed, words, named):
    area = Column("area", levels=(1, 2, 3), missing=(), value_label="a", confirmed=confirmed)
    schema = Schema((area,), FileFacts(value_labels={"a": words}))
    assert terms_of(schema, ["area"], bins=4).labels(0) == named


def test_levels_have_names_middles_and_an_order(schema):
    terms = terms_of(schema, FEATURES, bins=4, categorical=["year"])
    assert terms.labels(0) == ["-1 to -0.5", "-0.5 to 0", "0 to 0.5", "0.5 to 1"]
    assert terms.labels(1)[-1] == "."
    assert terms.labels(2) == ["2001", "2002", "2003", "2004"]
    assert terms.labels(3) == ["Łódź", "Praha", "Wien"]
    assert terms.smooth == (True, True, False, False)
    assert [terms.ordered(j) for j in range(4)] == [4, 4, 0, 0]
    assert terms.points(0) == pytest.approx([-0.75, -0.25, 0.25, 0.75])
    assert terms.points(1)[-1] == 0
    assert terms.reach(1) == 5
    assert np.isnan(terms.middles(1)[-1])
    assert terms.middles(2).tolist() == [2001, 2002, 2003, 2004]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"features": []}, "no column"),
        ({"features": ["x", "x"]}, "each once"),
        ({"bins": 1}, "from 2 to 200"),
        ({"bins": 8.0}, "from 2 to 200"),
        ({"pairs": [("x", "x")]}, "two different"),
        ({"pairs": ["xz"]}, "two different"),
        ({"projection": ["town"]}, "not a number"),
    ],
)
def test_what_is_refused(schema, options, words):
    asked = {"features": FEATURES, "bins": 8, **options}
    with pytest.raises(ParameterError, match=words):
        terms_of(schema, asked.pop("features"), **asked)


def test_a_feature_without_bounds_is_refused_by_name(schema):
    with pytest.raises(SchemaError, match="'free'"):
        terms_of(schema, ["free"], bins=8)


def test_names_that_do_not_exist_are_refused(schema):
    with pytest.raises(ColumnError, match="'town'"):
        terms_of(schema, FEATURES, bins=8, categorical=["towm"])
    with pytest.raises(ColumnError, match="'year'"):
        terms_of(schema, FEATURES, bins=8, pairs=[("x", "yaer")])


def new(**columns):
    rows = {"x": [0.1], "age": [1.0], "year": [2002.0], "town": ["Wien"], **columns}
    return pd.DataFrame(rows)


def test_new_data_are_coded_and_numbers_outside_count_as_the_nearest(schema):
    terms = terms_of(schema, FEATURES, bins=4)
    found = [c.tolist() for c in terms.codes(new(x=[7.0], age=[np.nan]))]
    assert found == [[3], [4], [1], [2]]


def test_unseen_levels_and_missing_values_of_new_data_are_refused(schema):
    terms = terms_of(schema, FEATURES, bins=4)
    with pytest.raises(SchemaError, match="'town' of the new data has levels") as refused:
        terms.codes(new(town=["Roma"]))
    assert "Roma" not in str(refused.value)
    with pytest.raises(SchemaError, match="'x' of the new data has missing"):
        terms.codes(new(x=[np.nan]))
    with pytest.raises(ColumnError, match="the new data"):
        terms.codes(pd.DataFrame({"x": [1.0]}))
