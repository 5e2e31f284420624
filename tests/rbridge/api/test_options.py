from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pytest

from dprct.annotations import kinds_of
from dprct.errors import ParameterError
from dprct.rbridge.api.options import as_declared, options_for, whole_numbers

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


def fit(
    columns: Sequence[str] | Mapping[str, str] = (),
    name: str | Iterable[str] = "",
    draws: int | None = None,
    counts: Sequence[int] | int | None = None,
    sd: float = 1.0,
    rule: Literal["a", "b"] = "a",
    **options: Any,
) -> None:
    """Take one option of each kind."""


def test_one_text_becomes_a_list_only_where_a_list_is_wanted() -> None:
    given = {"columns": "age", "name": "age", "rule": "b"}
    assert options_for(fit, given) == {"columns": ["age"], "name": "age", "rule": "b"}
    assert options_for(fit, {"columns": {"age": "Age"}}) == {"columns": {"age": "Age"}}


def test_whole_doubles_become_ints_only_where_an_int_is_wanted() -> None:
    found = options_for(fit, {"draws": 5.0, "sd": 5.0, "counts": np.array([10.0, 20.0])})
    assert found == {"draws": 5, "sd": 5.0, "counts": [10, 20]}
    assert [type(found[k]) for k in ("draws", "sd")] == [int, float]
    assert type(found["counts"][0]) is int


def test_what_is_null_in_r_is_left_to_the_default() -> None:
    assert options_for(fit, {"columns": None, "draws": None}) == {}


def test_unknown_options_are_refused_with_a_hint() -> None:
    with pytest.raises(ParameterError, match="'drwas'; did you mean draws"):
        options_for(fit, {"drwas": 5})
    with pytest.raises(ParameterError, match="allowed: "):
        options_for(fit, {"zzzz": 5})


def test_fractions_stay() -> None:
    assert as_declared(0.5, kinds_of("int")) == 0.5
    assert whole_numbers([1.0, [2.0, 2.5]]) == [1, [2, 2.5]]
    assert as_declared(2.0, kinds_of("Real | None")) == 2.0
