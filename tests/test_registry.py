"""One registry: the classes say key, R name and page, and what lists methods is made from that."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from pathlib import Path

import pytest

import dprct
from dprct import published
from dprct.model import Model, Spec
from dprct.study.asked import parts_of
from dprct.study.methods import (
    BY_NAME,
    ESTIMATES,
    EVERY,
    METHODS,
    STRICT,
    makes_file,
    python_name,
    r_name,
    spec_class,
)
from dprct.study.study import OWN_SECTIONS
from scripts import registry
from tests.contract.registry import SUBJECTS
from tests.replay.cases import GIVEN

ROOMS = (dprct, published)
DOCS = Path(__file__).parents[1] / "docs"
PARAM = re.compile(r"^#' @param (\S+)", re.M)


@pytest.mark.parametrize("path", registry.files(), ids=lambda path: path.name)
def test_files_that_list_methods_are_as_the_registry_writes_them(path: Path) -> None:
    assert path.read_text("utf-8") == registry.files()[path], "run python scripts/registry.py"


@pytest.mark.parametrize("name", BY_NAME)
def test_a_method_says_its_key_and_a_page_that_names_it(name: str) -> None:
    spec = spec_class(BY_NAME[name])
    own = [base for base in spec.__mro__ if "key" in vars(base)]
    assert own[0] is spec, "the key of another method is inherited"
    text = (DOCS / spec.page).read_text("utf-8")
    assert name in text or name.startswith("published.")


def test_the_table_of_methods_has_every_strict_one() -> None:
    rows = [x for x in (DOCS / "which_method.md").read_text("utf-8").splitlines() if x[:1] == "|"]
    lacking = {m.__name__ for m in STRICT.values() if not any(f"`{m.__name__}`" in x for x in rows)}
    assert lacking == set()


@pytest.mark.parametrize("key", STRICT)
def test_the_page_of_a_method_is_on_the_site(key: str) -> None:
    assert f"]({spec_class(STRICT[key]).page})\n" in (DOCS / "contents.md").read_text("utf-8")


@pytest.mark.parametrize("key", STRICT)
def test_a_method_has_subjects_in_the_contract_and_cases_in_the_replay(key: str) -> None:
    model = STRICT[key]
    assert any(name.split(",")[0] == model.__name__ for name in SUBJECTS)
    assert model in GIVEN


@pytest.mark.parametrize(
    "name", [*registry.RELEASES, *registry.FIRST, *registry.PUBLISHED, registry.OF_MOMENTS]
)
def test_every_option_of_a_method_is_explained_in_r(name: str) -> None:
    """By the page of the function, or of those that it inherits from."""
    text = (DOCS.parent / "r-wrapper" / "R" / "models.R").read_text("utf-8")
    pages = [text[: text.index("#' @name published")]]
    if name == registry.OF_MOMENTS:
        text = (DOCS.parent / "r-wrapper" / "R" / "moments.R").read_text("utf-8")
        pages.append(text[: text.index("#' @name moments")])
    explained = {one for page in pages for line in PARAM.findall(page) for one in line.split(",")}
    function = re.search(rf"^{r_name(BY_NAME[name])} <- function\((.*?)\) {{", text, re.M | re.S)
    assert function is not None
    formals = {one.split("=")[0].strip() for one in function[1].split(",")}
    assert formals <= explained


def test_every_method_has_its_function_in_r_written() -> None:
    listed = {*registry.RELEASES, *registry.FIRST, *registry.PUBLISHED, registry.OF_MOMENTS}
    assert listed == set(BY_NAME)


def test_the_registry_has_every_method_under_its_own_key() -> None:
    public = {getattr(room, name) for room in ROOMS for name in room.__all__}
    methods = {one for one in public if isinstance(one, type) and issubclass(one, Model)}
    assert set(EVERY.values()) == methods
    assert [spec_class(model).key for model in EVERY.values()] == [*EVERY]
    assert {key for key in EVERY if makes_file(EVERY[key])} == METHODS.keys() - ESTIMATES.keys()
    assert [python_name(model) for model in BY_NAME.values()] == [*BY_NAME]


def test_parts_of_a_study_file_are_those_that_some_method_reads() -> None:
    read = {part for method in METHODS for part in parts_of(method)} - {"formula"}
    assert set(OWN_SECTIONS) == read


def test_keys_and_names_in_r_are_those_of_one_method() -> None:
    assert len(EVERY) == len(BY_NAME) == len({r_name(model) for model in EVERY.values()})
    assert METHODS.keys() <= EVERY.keys()


@pytest.mark.parametrize("key", STRICT)
def test_a_strict_method_is_offered_by_the_package(key: str) -> None:
    model = STRICT[key]
    assert getattr(dprct, model.__name__) is model
    assert issubclass(spec_class(model), Spec)
    named = inspect.signature(model).parameters.values()
    options = {one.name for one in named if one.kind is one.KEYWORD_ONLY}
    assert {f.metadata.get("key", f.name) for f in fields(spec_class(model))} == options
