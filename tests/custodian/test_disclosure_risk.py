from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dprct
from dprct.custodian import risk
from dprct.errors import ColumnError, DprctWarning, ParameterError, SchemaError
from dprct.missing import tagged
from dprct.schema import Column, FileFacts, Schema

if TYPE_CHECKING:
    from collections.abc import Callable

Compare = Any


def engines(frame: pd.DataFrame) -> list[Any]:
    """The same table in pandas and Polars, with missing codes beside the numbers in the latter."""
    columns: dict[str, Any] = {}
    for name in frame.columns:
        if frame[name].dtype == object:
            columns[name] = frame[name].tolist()
            continue
        values = frame[name].to_numpy(np.float64)
        missing = dprct.missing.missing_numbers(values)
        columns[name] = [None if m >= 0 else v for v, m in zip(values, missing, strict=True)]
        columns[f"{name}__missing"] = pl.Series([max(m, 0) for m in missing], dtype=pl.Int8)
    return [frame, pl.DataFrame(columns)]


ROWS = pd.DataFrame(
    {
        "age": [20.0, 20.0, 30.0, *tagged([1])],
        "sex": [0.0, 0.0, 1.0, 1.0],
        "town": pd.Series(["a", "a", "b", "b"], dtype=object),
    }
)


@pytest.mark.parametrize("engine", [0, 1])
def test_known_answers(engine: int, compare: Compare) -> None:
    new = pd.DataFrame(
        {
            "age": [20.0, 30.0, 30.0, *tagged([1, 2])],
            "sex": [0.0, 1.0, 0.0, 1.0, 1.0],
            "town": pd.Series(["a", "b", "b", "b", "b"], dtype=object),
        }
    )
    report = compare(risk, engines(ROWS)[engine], engines(new)[engine], keys=["sex", "town"])
    found = report.to_frame().iloc[0]
    assert found["rows"] == 5
    assert found["equal"] == 3 / 5  # the first, the second, and .a; .b is another code
    assert found["equal.unique"] == 2 / 5
    assert found["keys.equal"] == 4 / 5
    assert found["keys.equal.unique"] == 0
    # the others are nearest at one column of three
    assert report.distances[""][0] == pytest.approx([0, 0, 1 / 3, 0, 1 / 3])
    assert report.columns == ("age", "sex", "town")


def test_exact_copies_are_all_equal(
    confidential: pd.DataFrame, make: Callable[[int, int], pd.DataFrame], compare: Compare
) -> None:
    holdout = make(300, 8)
    found = compare(risk, confidential, confidential[::-1], keys=["age"], holdout=holdout)
    row = found.to_frame().iloc[0]
    assert row[["equal", "equal.unique", "keys.equal", "closer"]].tolist() == [1, 1, 1, 1]
    assert row["closer.expected"] == 0.5
    assert row["distance.median"] == 0
    assert found.baseline["equal"] == 0
    assert found.baseline["distance.median"] > 0


def test_fresh_rows_look_like_the_holdout(
    make: Callable[[int, int], pd.DataFrame], compare: Compare
) -> None:
    tables = [make(600, seed) for seed in range(20, 26)]
    report = compare(risk, tables[0], tables[2:], holdout=tables[1][:300])
    closer = report.to_frame()["closer"].mean()
    # four draws of 600, the same confidential and holdout rows: a standard error below 0.02
    assert abs(closer - 2 / 3) < 0.12
    near = np.quantile(report.distances[""][0], [0.25, 0.5, 0.75])
    assert near == pytest.approx(np.quantile(report.holdout_distances, [0.25, 0.5, 0.75]), rel=0.25)
    copied = pd.concat([tables[0][:300], tables[2][:300]])
    one = compare(risk, tables[0], copied, holdout=tables[1][:300]).to_frame()
    assert one["equal"].tolist() == [0.5]
    assert one["closer"].iloc[0] > 0.79


def test_ties_with_the_holdout_count_for_the_share_of_rows(compare: Compare) -> None:
    bits = pd.DataFrame({"x": [0.0, 1.0, 1.0, 1.0]})
    holdout = pd.DataFrame({"x": [0.0, 1.0]})
    report = compare(risk, bits, pd.DataFrame({"x": [0.0, 1.0]}), holdout=holdout)
    assert report.to_frame()["closer"].tolist() == pytest.approx([(1 / 2 + 3 / 4) / 2])
    assert report.to_frame()["closer.expected"].tolist() == pytest.approx([4 / 6])


def test_without_keys_and_holdout_their_measures_are_unknown(compare: Compare) -> None:
    found = compare(risk, ROWS, ROWS).to_frame()
    unknown = ["keys.equal", "keys.equal.unique", "closer", "closer.expected"]
    assert found[unknown].isna().all(axis=None)
    assert found.drop(columns=unknown).notna().all(axis=None)


def test_several_methods_and_draws(released: list[pd.DataFrame], compare: Compare) -> None:
    report = compare(risk, released[0], {"copy": released[0], "new": released[1:]})
    found = report.to_frame()
    assert found[["method", "draw"]].to_numpy().tolist() == [["copy", 1], ["new", 1], ["new", 2]]
    assert found["equal"].tolist() == [1, 0, 0]
    assert {name: len(draws) for name, draws in report.distances.items()} == {"copy": 1, "new": 2}


def test_of_a_release_only_what_it_informs_about(release: dprct.Release, compare: Compare) -> None:
    rows = pd.DataFrame({"got": [0.0, 1.0], "arm": [0.0, 1.0], "diary": ["x", "y"]})
    report = compare(risk, rows, release)
    assert report.columns == ("got", "arm")
    named = compare(risk, rows, release, columns=["got", "diary"])
    assert named.columns == ("got", "diary")
    assert named.to_frame()["equal"].tolist() == [0.0]


def test_codes_with_labels_are_levels_and_numbers_are_not(compare: Compare) -> None:
    schema = Schema(
        (Column("job", "byte", value_label="jobs"), Column("age", "byte")),
        FileFacts(value_labels={"jobs": {1: "farmer", 2: "smith", 9: "none"}}),
    )
    rows = pd.DataFrame({"job": [1.0, 9.0], "age": [20.0, 40.0]})
    new = pd.DataFrame({"job": [2.0], "age": [20.0]})
    report = compare(risk, (rows, schema), new)
    assert report.distances[""][0].tolist() == [0.5]
    as_numbers = compare(risk, rows, new)
    assert as_numbers.distances[""][0].tolist() == pytest.approx([1 / 16])


def test_a_value_far_out_does_not_bring_the_others_together(compare: Compare) -> None:
    rows = pd.DataFrame({"x": [0.0, 10.0]})
    report = compare(risk, rows, pd.DataFrame({"x": [5.0, 1e6]}))
    assert report.distances[""][0].tolist() == pytest.approx([0.5, 99_999.0])


def test_distances_of_many_rows_are_those_of_some(compare: Compare) -> None:
    rows = pd.DataFrame({"x": np.arange(10.0)})
    report = compare(risk, rows, rows + 0.25, distance_rows=4)
    assert len(report.distances[""][0]) == 4
    assert report.to_frame()["rows"].tolist() == [10]


def test_it_warns_that_its_numbers_disclose() -> None:
    with pytest.warns(DprctWarning, match="is itself a disclosure") as seen:
        risk(ROWS, ROWS)
    assert [warning.filename for warning in seen] == [__file__]


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"keys": ["agee"]}, ColumnError, "did you mean 'age'"),
        ({"keys": "age"}, ParameterError, "give a list"),
        ({"columns": []}, ParameterError, "no column"),
        ({"distance_rows": 0}, ParameterError, "distance_rows=0"),
        ({"distance_rows": True}, ParameterError, "distance_rows=True"),
        ({"holdout": ROWS.assign(age="old")}, SchemaError, "'age' holds numbers in one table"),
        ({"holdout": ROWS[:0]}, SchemaError, "no rows"),
    ],
)
def test_what_cannot_be_compared(options: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        risk(ROWS, ROWS, **options)


def test_tables_without_a_column_in_common() -> None:
    with pytest.raises(ParameterError, match="share no column"):
        risk(ROWS, pd.DataFrame({"other": [1.0]}))
