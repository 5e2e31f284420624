"""How a message is taken apart: what is marked is read as Python, and nothing else is looked at."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import TYPE_CHECKING

import pytest

from dprct.errors import DprctWarning, ParameterError, Words, marked
from dprct.results.plan import Contents, Plan
from dprct.study.wording import Dialect

if TYPE_CHECKING:
    from collections.abc import Mapping


class Loud(Dialect):
    """A language that writes everything in capital letters."""

    between = " := "
    phrases: Mapping[str, str] = {"a list": "SOME"}

    def text(self, text: str) -> str:
        return text.upper()

    def name(self, name: str) -> str:
        return name.upper()


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("give ``x='a'``, not x='a'", "give x := A, not x='a'"),
        ("``f(a, b='c')``", "F(A, b := C)"),
        ("``[a, ('b', -c)]``, ``{'d': -1.5}``", "[A, (B, -C)], {D: -1.5}"),
        ("``romano-wolf``, ``n^2``, ``x == 'a'``", "romano-wolf, n^2, x == 'a'"),
        ("``x=`` and ``None``, ``a list of b``", "x :=  and None, SOME"),
        ("``x='cut... (900 characters)``", "x := 'cut... (900 characters)"),
        ("``a), f(b``, ``for``, ``x y``, a lone `` mark", "a), f(b, for, x y, a lone  mark"),
    ],
)
def test_each_fragment_is_written_by_its_syntax(message: str, said: str) -> None:
    assert Loud().words(message) == said
    assert Loud().words(ParameterError(message)) == Loud().words(DprctWarning(message)) == said


@pytest.mark.parametrize(
    "message", ["give ``f(x=[1, None])`` or ``(a, b)``", "``{'y': 1}``, ``z=``"]
)
def test_python_is_written_as_python_prints_it(message: str) -> None:
    assert Dialect().words(message) == str(ParameterError(message)) == message.replace("``", "")


def test_an_error_keeps_its_marks_where_it_is_copied_pickled_or_said_in_another() -> None:
    error = ParameterError("give ``x=1``")
    for same in (error, copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert (str(same), same.args, marked(same)) == ("give x=1", ("give x=1",), "give ``x=1``")
    around = ParameterError(f"in a: {marked(error)}")
    assert (str(around), marked(around)) == ("in a: give x=1", "in a: give ``x=1``")
    assert (marked(ParameterError()), marked("plain"), marked(Words("``x``"))) == (
        "",
        "plain",
        "``x``",
    )


def test_filters_of_warnings_see_no_mark() -> None:
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", message="say x=1")
        said = Contents(warnings=("say ``x=1``", "say ``y=1``"))
        for text in Plan("m", None, said).warnings:  # type: ignore[arg-type]
            warnings.warn(text, DprctWarning, stacklevel=1)
    assert [str(one.message) for one in heard] == ["say y=1"]
