"""What a signature declares is held against what is given, and nothing else is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd
import pytest

from dprct.arguments import checked
from dprct.errors import ParameterError, SchemaError, shortened
from dprct.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@checked
def taken(
    name: str = "",
    path: str | Path = "a",
    columns: Sequence[str] | None = None,
    weight: float = 1.0,
    rows: int = 1,
    labels: Mapping[str, str] | None = None,
    rule: Literal["one", "two"] = "one",
    schema: Schema | None = None,
    flag: bool = False,
) -> bool:
    return True


@pytest.mark.parametrize(
    "given",
    [
        {"name": "é"}, {"name": "caf\udce9"}, {"path": Path("a")}, {"columns": ("a", "b")},
        {"columns": "a"}, {"columns": pd.Index(["a"])}, {"columns": iter(["a"])},
        {"weight": np.float32(2)}, {"weight": 3}, {"rows": np.int64(3)}, {"labels": {"a": "b"}},
        {"rule": "two"}, {"schema": Schema(())}, {"flag": np.True_}, {"columns": None},
    ],
)  # fmt: skip
def test_what_a_signature_declares_is_taken(given) -> None:
    assert taken(**given)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"name": b"a"}, "name= is bytes; give text"),
        ({"name": "\ud800"}, "give text"),
        ({"path": ""}, "path= is ''; give a file name"),
        ({"path": "a\0"}, "give a file name"),
        ({"path": "x" * 5000}, r"characters\); give a file name"),
        ({"columns": [1]}, "give a list of text or None"),
        ({"columns": pd.DataFrame({"a": [1]})}, "columns= is DataFrame"),
        ({"weight": 10**5000}, "weight= is a number of 16610 bits"),
        ({"weight": True}, "give a number"),
        ({"rows": 1.5}, "rows= is 1.5; give a whole number"),
        ({"labels": {1: "b"}}, "a dict whose keys are text"),
        ({"rule": "three"}, "rule='three'; allowed: one, two"),
        ({"flag": 1}, "True or False"),
    ],
)
def test_anything_else_is_refused_in_a_sentence(given, words) -> None:
    with pytest.raises(ParameterError, match=words):
        taken(**given)


def test_a_schema_is_refused_as_such() -> None:
    with pytest.raises(SchemaError, match=r"schema is dict; give a dprct\.Schema"):
        taken(schema={})


def test_by_place_and_by_name_are_checked_alike() -> None:
    with pytest.raises(ParameterError, match="name= is bytes"):
        taken(b"a")


def test_a_default_is_taken_whatever_is_declared() -> None:
    @checked
    def odd(x: str = 1) -> object:  # type: ignore[assignment]
        return x

    assert odd() == odd(1) == 1


def test_methods_of_a_class_are_checked_and_stay_what_they_are() -> None:
    @checked
    class Box:
        """A box."""

        def __init__(self, size: int) -> None:
            self.size = size

        @classmethod
        def of(cls, size: int) -> Box:
            return cls(size)

        @staticmethod
        def word(text: str) -> str:
            return text

        @property
        def half(self) -> float:
            return self.size / 2

    assert (Box.of(3).size, Box.word("a"), Box(4).half) == (3, "a", 2)
    for call in (Box, Box.of, Box.word, Box(1).of):
        with pytest.raises(ParameterError):
            call({})


def test_long_values_are_cut_in_messages() -> None:
    error = ParameterError(f"got {'x' * 9_000} for a name")
    assert str(error) == f"got {'x' * 80}... (9000 characters) for a name"
    assert shortened(2.5) == "2.5"
