from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from dprct.errors import FileError, ParameterError, SchemaError
from dprct.io import read, write
from dprct.io.compare import compare
from dprct.io.facets import FACETS
from dprct.schema import Column, FileFacts, Schema

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
