"""What a signature declares is checked against what is given, and nothing else is."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd
import pytest

from dprct.arguments import checked, number_between, spelled_out
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
        ({"columns": [1]}, "give a list of texts, or None"),
        ({"columns": pd.DataFrame({"a": [1]})}, "columns= is DataFrame"),
        ({"weight": 10**5000}, "weight= is a number of 16610 bits"),
        ({"weight": True}, "give a number"),
        ({"rows": 1.5}, "rows= is 1.5; give a whole number"),
        ({"labels": {1: "b"}}, "give a dict of texts by name, or None"),
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


@dataclass(frozen=True)
class Asked:
    outcome: str
    shares: object = None
    names: list[str] = field(default_factory=list)


def test_options_are_spelled_alike_where_no_method_can_tell_them_apart() -> None:
    alike = [
        (1, 1.0, np.int64(1), np.float32(1), Fraction(1)),
        (0.1, Fraction(1, 10), Decimal("0.1"), np.float64(0.1)),
        ((1, "a"), [1, "a"], np.array([1, "a"], object)),
        ({"a": 1, "b": 2}, {"b": 2.0, "a": 1}),
        ({"x", "y"}, frozenset(["y", "x"])),
        (True, np.True_),
        (Asked("y"), Asked("y", None, []), Asked("y", names=[])),
        (math.nan, float("nan")),
    ]
    spelled = [{spelled_out(one) for one in group} for group in alike]
    assert [len(group) for group in spelled] == [1] * len(alike)
    assert len(set.union(*spelled)) == len(alike)


def test_options_that_differ_are_spelled_apart() -> None:
    apart = [
        None, "None", True, 1, "1", [1], [[1]], [1, 1], "[1]", {"a": 1}, "{'a': 1}", {1: "a"}, [],
        {}, "", Asked("y"), Asked("x"), Asked("y", 0), Asked("y", False), Asked("y", names=["a"]),
        len, "len", math.inf, -math.inf, 1e-300, Fraction(1, 3), b"a", "a",
    ]  # fmt: skip
    assert len({spelled_out(one) for one in apart}) == len(apart)


class Slotted:
    __slots__ = ("a",)


@pytest.mark.parametrize("value", [0, 0.5, -1, "small", True, math.nan, math.inf])
def test_a_number_outside_its_limits_is_refused_in_words_of_these(value: object) -> None:
    with pytest.raises(ParameterError, match=r"trim=.*; give a number between 0 and 0\.5, as 0\.1"):
        number_between("trim", value, 0, 0.5, ", as 0.1")
    if value not in (0.5, True):
        with pytest.raises(ParameterError, match=r"lam=.*; give a number above 0"):
            number_between("lam", value)


def test_a_file_is_spelled_by_what_it_holds_and_nothing_is_beyond_spelling(tmp_path: Path) -> None:
    for name, text in (("a.csv", "1"), ("b.csv", "1"), ("c.csv", "2")):
        (tmp_path / name).write_text(text)
    a, b, c, gone = (spelled_out(tmp_path / f"{name}.csv") for name in ("a", "b", "c", "gone"))
    assert a == b != c
    assert gone == "'gone.csv'"
    assert spelled_out(Slotted()) == "Slotted{}"
    assert "at 0x" not in spelled_out(object())


def test_an_option_is_spelled_the_same_in_another_process() -> None:
    code = (
        "from dprct.arguments import spelled_out; import dprct; "
        "print(spelled_out([{'b', 'a', 'c'}, dprct.Block('t', block='s'), dprct.Column('y')]))"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(said) == 1
    assert " at 0x" not in said.pop()
