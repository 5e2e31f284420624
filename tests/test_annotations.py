"""Annotations are read once: as text and as types alike, and every word of an option is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, Literal

import pytest

import dprct
from dprct.annotations import (
    ANYTHING,
    LISTS,
    PLAIN,
    SIGNATURE,
    STUDY_FILE,
    WRONG,
    kinds_of,
    kinds_of_fields,
    spelled_in_toml,
)
from dprct.errors import ParameterError
from dprct.study.methods import EVERY, spec_class

Rule = Literal["one", "two"]
Names = str | Sequence[str]

UNREAD = {"Callable", "Factor", "Roles", "Allocation", "Settings"}
"""Names in options of methods that the table does not know: their methods check them."""


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("str | None", str | None),
        ("Sequence[float | str]", Sequence[float | str]),
        ("Mapping[str, tuple[str, ...]]", Mapping[str, tuple[str, ...]]),
        ("tuple[float, float] | int", tuple[float, float] | int),
        ("Literal['one', 'two'] | None", Rule | None),
        ("'Names'", Names),
        ("Any", Any),
    ],
)
def test_text_and_type_are_read_alike(text: str, kind: object) -> None:
    assert kinds_of(text, globals()) == kinds_of(kind)


def test_an_alias_that_is_not_there_stays_a_name() -> None:
    assert [kind.name for kind in kinds_of("Rule | None")] == ["Rule", "None"]
    assert kinds_of("Rule", globals())[0].choices == ("one", "two")


@pytest.mark.parametrize(
    ("annotation", "value", "kept"),
    [
        ("tuple[str, ...]", ["a", "b"], ("a", "b")),
        ("tuple[float, float]", [0, 1.5], (0, 1.5)),
        ("tuple[float, float]", [0], WRONG),
        ("Mapping[str, tuple[int, ...]]", {"a": [1]}, {"a": (1,)}),
        ("Mapping[str, int]", {"a": True}, WRONG),
        ("Mapping[str, Any]", {"a": [1]}, {"a": [1]}),
        ("float | tuple[float, ...]", [True], WRONG),
        ("Rule", "three", WRONG),
        ("Rule", ["one"], WRONG),
        ("float", 10**400, WRONG),
    ],
)
def test_a_study_file_keeps_lists_as_tuples(annotation: str, value: Any, kept: Any) -> None:
    assert STUDY_FILE.read(value, kinds_of(annotation, globals())) == kept


def test_a_signature_takes_any_series_and_one_text_and_a_study_file_a_list() -> None:
    kinds = kinds_of("Sequence[str]")
    assert [SIGNATURE.read(one, kinds) for one in ("ab", ("a",), {"a": 1}.keys())] == [
        ("ab",), ("a",), ("a",),
    ]  # fmt: skip
    assert {STUDY_FILE.read(one, kinds) for one in ("ab", ("a",))} == {WRONG}


def test_each_door_asks_in_its_words() -> None:
    kinds = kinds_of("bool | tuple[float, float] | Mapping[str, str] | Schema | None")
    assert SIGNATURE.words(kinds) == (
        "``True`` or ``False``, two numbers, ``a dict of texts by name``, a ``dprct.Schema``, "
        "or ``None``"
    )
    assert STUDY_FILE.words(spelled_in_toml(kinds)) == (
        "true or false, two numbers in brackets, or a table of texts"
    )


@pytest.mark.parametrize("key", EVERY)
def test_every_option_of_a_method_is_read(key: str) -> None:
    """An alias that is imported for type checkers alone would be a word without a check."""
    known = {*PLAIN, *LISTS, *ANYTHING, "Mapping", "Literal"} | UNREAD
    spec: Any = spec_class(EVERY[key])
    kinds = kinds_of_fields(spec)
    names = {name for f in fields(spec) for kind in kinds[f.name] for name in kind.names()}
    assert names <= known


def test_a_word_that_an_option_does_not_list_is_refused_by_its_annotation() -> None:
    spec = dprct.SyntheticControl.specification()(outcome="y", treated="a", treatment_time=3,
                                                  noise="loud")  # fmt: skip
    with pytest.raises(ParameterError, match="noise='loud'; allowed: laplace, gaussian"):
        spec.require_words()
