"""The section ``[package]``: what it takes, and which places it may not name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dprct.errors import StudyError
from dprct.study.release_section import package_from


def test_do_files_are_those_of_the_folder_unless_named() -> None:
    whole = package_from({"package": {"folder": "rep"}})
    named = package_from({"package": {"folder": "rep", "do": ["rep/b.do", "rep/a.do"]}})
    assert whole is not None
    assert named is not None
    assert whole.files(Path("/study")) == (Path("/study/rep"),)
    assert named.files(Path("/study")) == (Path("/study/rep/b.do"), Path("/study/rep/a.do"))


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({}, "is empty"),
        ({"folder": "../rep"}, "outside the folder of the study file"),
        ({"folder": "/rep"}, "outside the folder"),
        ({"folder": "C:\\rep"}, "outside the folder"),
        ({"folder": "rep/../../x"}, "outside the folder"),
        ({"folder": "."}, "study file itself"),
        ({"folder": "re\x07p"}, "cannot be seen"),
        ({"do": ["../a.do"]}, "outside the folder"),
        ({"folder": "rep", "public": ["/etc/passwd"]}, "outside the folder"),
        ({"folder": "rep", "output": "rep/out"}, "inside each other"),
        ({"folder": "rep/in", "output": "rep"}, "inside each other"),
        ({"public": ["a.csv"]}, "has public and no folder"),
        ({"unread": ["a.pdf"]}, "has unread and no folder"),
        ({"folder": "rep", "unread": ["../a.pdf"]}, "outside the folder"),
        ({"output": "out"}, "has output and no folder"),
        ({"studies": ["a.toml"]}, "has studies and no folder"),
        ({"merge": ["a.dta", "b.dta"]}, "has merge and no folder"),
        ({"folder": "rep", "studies": ["../a.toml"]}, "outside the folder"),
        ({"folder": "rep", "studies": "a.toml"}, "a list of texts"),
        ({"folder": "rep", "merge": ["a.dta"]}, "names one file"),
        ({"folder": "rep", "merge": ["a.dta", "A.dta"]}, "twice"),
        ({"folder": "rep", "merge": ["a.dta", "x/b.dta"]}, "without its folder"),
        ({"folder": "rep", "merge": ["a.dta", "b.csv"]}, "without its folder"),
        ({"folder": "rep", "disjoint": "two states"}, "studies names none"),
        ({"folder": "rep", "studies": ["a.toml"], "disjoint": " "}, "disjoint is empty"),
        ({"folder": "rep", "files": []}, "unknown key 'files'"),
        ({"folder": 3}, "text in quotes"),
        ("rep", "must be a table"),
    ],
)
def test_what_is_refused(table: Any, said: str) -> None:
    with pytest.raises(StudyError, match=said):
        package_from({"package": table})
