from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dprct.errors import FileError, StudyError
from dprct.study.declared_tables import HEADER, Mismatch, belongs_to, mismatches, written

if TYPE_CHECKING:
    from pathlib import Path

NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8)


def entry(value: float = 0.5, **place: str) -> dict[str, Any]:
    base = {"table": "t", "covariates": "", "outcome": "y", "arm": "a", "statistic": "estimate"}
    return {**base, **place, "value": value}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "expected.csv"


def kept(path: Path, *entries: dict[str, Any], study: str = "s") -> Path:
    path.write_text(written(study, entries), encoding="utf-8")
    return path


@given(
    st.lists(
        st.builds(
            lambda value, table, outcome: entry(value, table=table, outcome=outcome),
            st.floats(),
            NAMES,
            NAMES,
        ),
        unique_by=lambda e: (e["table"], e["outcome"]),
    )
)
def test_what_was_written_is_what_is_expected(
    tmp_path_factory: pytest.TempPathFactory, entries: list[dict[str, Any]]
) -> None:
    path = kept(tmp_path_factory.mktemp("e") / "expected.csv", *entries)
    assert mismatches(path, "s", entries) == ()


@pytest.mark.parametrize("found", [0.5 * (1 + 5e-7), 0.5 * (1 - 5e-7)])
def test_rounding_of_another_machine_is_no_mismatch(found: float, path: Path) -> None:
    assert mismatches(kept(path, entry(0.5)), "s", [entry(found)]) == ()
    assert mismatches(kept(path, entry(1e-12)), "s", [entry(-1e-12)]) == ()


@pytest.mark.parametrize(
    ("expected", "found"),
    [(0.5, 0.500001), (0.5, -0.5), (0.5, math.nan), (math.nan, 0.5), (1.0, math.inf), (0, 1e-8)],
)
def test_another_number_is_a_mismatch(expected: float, found: float, path: Path) -> None:
    kept(path, entry(expected), entry(2.0, outcome="z"))
    (different,) = mismatches(path, "s", [entry(found), entry(2.0, outcome="z")])
    assert different.place == "t / y / a / estimate"
    assert str(different).startswith(f"t / y / a / estimate: expected {expected:.9g}, found ")


def test_a_number_on_one_side_only_is_a_mismatch(path: Path) -> None:
    kept(path, entry(1.0), entry(2.0, outcome="z"))
    found = mismatches(path, "s", [entry(1.0), entry(3.0, arm="b", covariates="all")])
    assert found == (
        Mismatch("t / z / a / estimate", 2.0, None),
        Mismatch("t / all / y / b / estimate", None, 3.0),
    )
    assert str(found[0]).endswith("expected 2, found nothing")


def test_a_file_of_another_study_is_refused_by_name(path: Path) -> None:
    with pytest.raises(StudyError, match="is of study 'other', this study is 's'"):
        mismatches(kept(path, entry(), study="other"), "s", [entry()])
    kept(path, entry())
    path.write_text(path.read_text("utf-8") + "other,t,,q,a,estimate,1\n", encoding="utf-8")
    with pytest.raises(StudyError, match="is of study 'other'"):
        mismatches(path, "s", [entry()])


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"a,b\n1,2\n",
        ",".join(HEADER).encode() + b"\ns,t,1\n",
        b'"' + b"x" * 200_000,
        b"study;table;covariates;outcome;arm;statistic;value\n",
    ],
)
def test_what_is_no_expected_csv_is_refused(content: bytes, path: Path) -> None:
    path.write_bytes(content)
    with pytest.raises(StudyError, match=r"is not an expected.csv: its columns must be"):
        mismatches(path, "s", [])
    assert not belongs_to(path, "s")


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", None])
def test_what_cannot_be_read_is_refused(content: bytes | None, path: Path) -> None:
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(FileError, match=r"cannot read 'expected.csv'; give"):
        mismatches(path, "s", [])
    assert not belongs_to(path, "s")


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cannot read"):
        mismatches(tmp_path, "s", [])


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [("0.5", "half", "not a number"), ("\ns,", "\ns,t,,y,a,estimate,1\ns,", "a number twice")],
)
def test_an_edited_file_is_refused(old: str, new: str, words: str, path: Path) -> None:
    text = kept(path, entry()).read_text("utf-8")
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(StudyError, match=f"{words}: it was edited") as caught:
        mismatches(path, "s", [entry()])
    assert "half" not in str(caught.value)
    assert belongs_to(path, "s")


def test_a_spreadsheet_s_mark_and_line_ends_do_no_harm(path: Path) -> None:
    text = kept(path, entry()).read_text("utf-8")
    path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert mismatches(path, "s", [entry()]) == ()


def test_a_study_knows_its_own_file(path: Path) -> None:
    assert belongs_to(kept(path, entry()), "s")
    assert not belongs_to(path, "other")
