"""Methods whose results are numbers: their specification is their section of a study file."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003  # read from annotations
from dataclasses import dataclass
from typing import Any, Literal, get_type_hints

import pytest

from dprct.errors import StudyError
from dprct.model import Model, Spec
from dprct.privacy.budget import Real  # read from annotations
from dprct.study.estimates import DESIGN, ESTIMATES, in_toml, spec_of
from dprct.study.sections import keys_of, section


@dataclass(frozen=True, kw_only=True)
class Options:
    outcome: str
    rule: Literal["one", "two"] | Mapping[str, float] = "one"
    pair: tuple[float, float] | None = None
    share: Real | None = None
    pairs: tuple[tuple[str, str], ...] = ()
    weights: None = None
    formula: bytes = b""


def test_keys_are_the_fields_that_toml_can_spell() -> None:
    assert list(keys_of(Options)) == ["outcome", "rule", "pair", "share", "pairs"]


def test_values_become_what_fields_keep() -> None:
    table = {"rule": {"y": 1}, "pair": [0, 2.5], "share": 0.5, "pairs": [["a", "b"]]}
    assert section(Options, table, "[x]", given={"outcome": "y"}) == Options(
        outcome="y", rule={"y": 1}, pair=(0, 2.5), share=0.5, pairs=(("a", "b"),)
    )


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("rule", "three", "give 'one', 'two', or a table of numbers"),
        ("rule", {"y": "one"}, "give 'one', 'two', or a table of numbers"),
        ("pair", [1], "give two numbers in brackets"),
        ("pair", [1, 2, 3], "give two numbers in brackets"),
        ("pair", [1, True], "give two numbers in brackets"),
        ("share", "1/3", "give a number"),
        ("pairs", [["a"]], "give a list of lists"),
        ("outcome", "y", "unknown key 'outcome' in [x]"),
        ("weights", 1, "unknown key 'weights' in [x]"),
    ],
)
def test_other_values_are_refused(key: str, value: object, words: str) -> None:
    with pytest.raises(StudyError) as caught:
        section(Options, {key: value}, "[x]", given={"outcome": "y"})
    assert words in str(caught.value)


@pytest.mark.parametrize("method", ESTIMATES)
def test_every_field_of_a_specification_is_an_option_of_its_class(method: str) -> None:
    spec, model = spec_of(method), ESTIMATES[method]
    assert issubclass(spec, Spec)
    assert issubclass(model, Model)
    options = set(get_type_hints(spec, localns={"Real": Real})) - {
        "method", "formula_gives", "formula_like",
    }  # fmt: skip
    constructor: Any = model.__init__
    named = {*constructor.__kwdefaults__, *constructor.__annotations__} - {"return"}
    assert options <= named
    assert {*spec.formula_gives} <= options
    assert bool(spec.formula_gives) == bool(spec.formula_like)
    if spec.formula_like:
        assert set(spec.of_formula(spec.formula_like)) == set(spec.formula_gives)
    assert set(keys_of(spec)) | {*spec.formula_gives, DESIGN, "weights"} >= options


@pytest.mark.parametrize(
    ("python", "toml"),
    [
        ("trim=0.7; give", "trim = 0.7; give"),
        ("noise='laplace'", 'noise = "laplace"'),
        ("hajek=True, overlap=False", "hajek = true, overlap = false"),
        ("declare bounds=(low, high)", "declare bounds = [low, high]"),
        ("missing={'y': ...}", "missing = {y = ...}"),
        ("budget_shares= names x", "budget_shares names x"),
        ("the outcome as outcome=", "the outcome as outcome"),
        ("lam=-1", "lam = -1"),
        ("a == b and c >= d", "a == b and c >= d"),
    ],
)
def test_messages_speak_toml(python: str, toml: str) -> None:
    assert in_toml(python) == toml
