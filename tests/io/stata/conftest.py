"""A data set with everything that a release can hold, and an exact comparison."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from dprct.io.stata.layout import LAYOUTS, Layout
from dprct.missing import tagged
from dprct.schema import Column, FileFacts, Schema
from dprct.schema.facts import FLOAT_LIMITS, INTEGER_LIMITS

if TYPE_CHECKING:
    from collections.abc import Callable

Table = tuple[pd.DataFrame, Schema]


@pytest.fixture(scope="session")
def same() -> Callable[[Table, Table], None]:
    """Assert that two tables are identical: every fact, every value, every payload, every type."""

    def check(a: Table, b: Table) -> None:
        assert a[1] == b[1]
        assert list(a[0].columns) == list(b[0].columns) == a[1].names
        for column in a[1].columns:
            x, y = a[0][column.name].to_numpy(), b[0][column.name].to_numpy()
            assert x.dtype == y.dtype == (object if column.is_text else np.float64), column.name
            if column.is_text:
                assert [(type(t), t) for t in x] == [(type(t), t) for t in y], column.name
            else:
                x, y = (np.ascontiguousarray(v).view(np.uint64) for v in (x, y))
                assert np.array_equal(x, y), column.name

    return check


@pytest.fixture(scope="session")
def everything() -> Callable[..., Table]:
    """Return a function that builds a table with every fact that a release can hold.

    A plain one has no undecodable text, no binary objects, and in 117 only ASCII in strLs (which
    pandas and ReadStat take for UTF-8 there): not every reader can read these.
    """

    def build(release: int, byteorder: str = "<", *, plain: bool = False) -> Table:
        layout = LAYOUTS[release]
        columns, data = _numbers(layout)
        columns += [
            Column("name", "str12", "%-12s", "A name"),
            Column("wide", f"str{layout.widest}", f"%{layout.widest}s"),
        ]
        data |= {
            "name": ["café", "", " two words ", "plain" if plain else b"\x81bad\xff", "x" * 12],
            "wide": ["w" * layout.widest, "", "a", "b", "a"],
        }
        if layout.tagged:
            letter = "e" if plain and release == 117 else "é"
            columns.append(Column("long_text", "strL", "%9s", "Text and binary"))
            data["long_text"] = [
                letter * 3000,
                "",
                "plain" if plain else b"\x00\x01\xfe",
                "short",
                "short",
            ]
        if layout.encoding == "utf-8":
            columns.append(Column("größe_名前", "byte", "%8.0g", "Ünï 名 🙂"))
            data["größe_名前"] = np.arange(5.0)
        return _frame(columns, data), Schema(tuple(columns), _facts(layout, byteorder))

    return build


def _numbers(layout: Layout) -> tuple[list[Column], dict[str, object]]:
    """One column per numeric type with its extremes and the first and last missing codes."""
    columns, data = [], {}
    for storage, fmt in (
        ("byte", "%8.0g"), ("int", "%td"), ("long", "%tc"), ("float", "%tbcal"),
        ("double", "%16.2f"),
    ):  # fmt: skip
        low, high = INTEGER_LIMITS.get(storage) or (-FLOAT_LIMITS[storage], FLOAT_LIMITS[storage])
        values = np.array([low, high, 0.0, 0.0, 0.0])
        values[2:] = tagged([0, 1, 26] if layout.has_codes else [0, 0, 0])
        columns.append(Column(f"a_{storage}", storage, fmt, f"A {storage}", "answers"))
        data[f"a_{storage}"] = values
    return columns, data


def _facts(layout: Layout, byteorder: str) -> FileFacts:
    answers = {-1: "no", 0: "", 1: "yes,café" if layout.short_labels else "yes, café"}
    if not layout.short_labels:
        answers["."] = "?"
    if layout.has_codes:
        answers |= {".a": "refused", ".z": "n/a"}
    return FileFacts(
        release=layout.release,
        byteorder=byteorder,
        label="A tidy data set, café",
        timestamp="21 Nov 2026 07:36" if layout.timestamp else "",
        sorted_by=("a_int", "a_byte"),
        value_labels=MappingProxyType(
            {
                "answers": answers,
                "unused": {7: "seven"},
                "empty": {},
            }
        ),
        characteristics=(
            ("_dta", "note1", "a note TS"),
            ("_dta", "note0", "1"),
            ("a_byte", "tis", "x" * 300),
        )
        if layout.expansion
        else (),
        rows=5,
    )


def _frame(columns: list[Column], data: dict[str, object]) -> pd.DataFrame:
    return pd.DataFrame(
        {c.name: pd.Series(data[c.name], dtype=object if c.is_text else float) for c in columns}
    )
