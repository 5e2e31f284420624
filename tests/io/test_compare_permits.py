from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from dprct.errors import FileError, ParameterError
from dprct.io.compare.comparison import Difference
from dprct.io.compare.permits import certificate_beside, permits_of, permitted

if TYPE_CHECKING:
    from pathlib import Path

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
