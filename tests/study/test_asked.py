"""Methods whose results are numbers: their specification is their section of a study file."""

from __future__ import annotations

import inspect
from collections.abc import Mapping  # noqa: TC003  # read from annotations
from dataclasses import dataclass, fields
from typing import Any, Literal

import pytest

from dprct.errors import ParameterError, StudyError
from dprct.model import Model, Spec
from dprct.privacy.budget import Real  # noqa: TC001  # read from annotations
from dprct.schema.keys import keys_of
from dprct.study.asked import (
    DESIGN,
    asked_of,
    needs_formula,
    spec_of,
)
from dprct.study.methods import ESTIMATES
from dprct.study.sections import ReleaseSection, section


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
def test_the_fields_of_a_specification_are_the_options_of_its_class(method: str) -> None:
    spec, model = spec_of(method), ESTIMATES[method]
    assert issubclass(spec, Spec)
    assert issubclass(model, Model)
    options = {f.metadata.get("key", f.name) for f in fields(spec)}
    named = inspect.signature(model).parameters.values()
    assert options == {one.name for one in named if one.kind is one.KEYWORD_ONLY}
    assert {*spec.formula_gives} <= options
    assert bool(spec.formula_gives) == bool(spec.formula_like)
    if spec.formula_like:
        assert set(spec.of_formula(spec.formula_like)) == set(spec.formula_gives)
    assert set(keys_of(spec)) | {*spec.formula_gives, DESIGN, "weights"} >= options


@pytest.mark.parametrize("model", ESTIMATES.values())
def test_an_unknown_option_is_refused_in_a_sentence(model: Any) -> None:
    with pytest.raises(
        ParameterError, match=rf"^{model.__name__} has no option neighbours=; did y"
    ):
        model(None, None, neighbours="replace-one")


def test_a_formula_is_asked_for_only_where_no_key_can_stand_for_it() -> None:
    assert [method for method in ESTIMATES if needs_formula(method)] == ["ipw"]
    release = ReleaseSection(1.0, "cate")
    table = {"outcome": "y", "features": ["x"], "treatment": "t"}
    assert asked_of({"cate": table}, release).spec.columns == ("y", "x", "t")
    with pytest.raises(StudyError, match=r"formula = \"y ~ age .*\", or outcome = \.\.\. below"):
        asked_of({"cate": {"treatment": "t"}}, release)


def test_a_study_file_opens_no_other_file() -> None:
    release = ReleaseSection(1.0, "private_ate", formula="y ~ t")
    for index in ("pilot.csv", {"y": "/etc/pilot.dta"}):
        with pytest.raises(StudyError, match=r"\[private_ate\] index names a file"):
            asked_of({"private_ate": {"index": index}}, release)
