from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from dprct.errors import StudyError
from dprct.schema.keys import check_keys
from dprct.study.declared_tables import Covariates, Families, Sizes  # noqa: TC001  # read at run
from dprct.study.sections import section


@dataclass(frozen=True, slots=True)
class Part:
    name: str
    digits: int | None = None
    flag: bool = False
    share: float = 0.5
    columns: tuple[str, ...] = ()
    covariates: Covariates = ()
    families: Families = "all"
    sizes: Sizes = field(default_factory=dict)


def test_a_table_becomes_a_value() -> None:
    part = section(
        Part,
        {
            "name": "a",
            "digits": 2,
            "flag": True,
            "share": 1,
            "columns": ["x", "y"],
            "covariates": {"short": ["x"], "none": []},
            "families": {"one": ["x", "y"]},
            "sizes": {"one": 3},
        },
        "[part]",
    )
    assert part == Part("a", 2, True, 1, ("x", "y"), {"short": ("x",), "none": ()},
                        {"one": ("x", "y")}, {"one": 3})  # fmt: skip
    assert section(Part, {"name": "a"}, "[part]") == Part("a")


def test_a_list_of_terms_stays_in_order() -> None:
    part = section(Part, {"name": "a", "covariates": ["z", "a"]}, "[part]")
    assert part.covariates == ("z", "a")


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("name", 3, "text in quotes"),
        ("name", ["a"], "text in quotes"),
        ("digits", "2", "a whole number"),
        ("digits", 2.5, "a whole number"),
        ("digits", True, "a whole number"),
        ("flag", 1, "true or false"),
        ("flag", "yes", "true or false"),
        ("share", "1", "a number"),
        ("share", False, "a number"),
        ("columns", "x", "a list of texts"),
        ("columns", [1], "a list of texts"),
        ("columns", ["x", True], "a list of texts"),
        ("columns", {"x": 1}, "a list of texts"),
        ("covariates", "x", "a list of texts, or a table of lists"),
        ("covariates", [["x"]], "a list of texts, or a table"),
        ("covariates", {"a": "x"}, "a list of texts, or a table"),
        ("covariates", {"a": [1]}, "a list of texts, or a table"),
        ("families", 3, "text in quotes, or a table of lists"),
        ("families", ["x"], "text in quotes, or a table of lists"),
        ("families", {"a": "x"}, "text in quotes, or a table of lists"),
        ("sizes", [1], "a table of whole numbers"),
    ],
)
def test_a_wrong_type_is_named_with_what_is_allowed(key: str, value: Any, words: str) -> None:
    with pytest.raises(StudyError) as caught:
        section(Part, {"name": "a", key: value}, "[part]")
    assert f"[part] {key} = " in str(caught.value)
    assert words in str(caught.value)


@pytest.mark.parametrize("value", [2.5, True])
def test_a_wrong_value_in_a_table_is_named_by_its_key(value: Any) -> None:
    with pytest.raises(StudyError) as caught:
        section(Part, {"name": "a", "sizes": {"b": value}}, "[part]")
    assert str(caught.value) == f"[part] sizes b = {value}; give a whole number"


def test_what_is_missing_is_named() -> None:
    with pytest.raises(StudyError, match=r"\[part\] lacks name; write name = "):
        section(Part, {}, "[part]")


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(StudyError, match=r"\[part\] must be a table"):
        section(Part, "text", "[part]")


@pytest.mark.parametrize(
    ("key", "hint"), [("colums", "did you mean 'columns'?"), ("zzz", "allowed: name, digits")]
)
def test_an_unknown_key_has_a_hint(key: str, hint: str) -> None:
    with pytest.raises(StudyError) as caught:
        check_keys({key: 1}, ("name", "digits", "columns"), "[part]", StudyError)
    assert f"unknown key {key!r} in [part]" in str(caught.value)
    assert hint in str(caught.value)
