"""What a release must hold is demanded of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import check_release as check

TOP = Path(__file__).parents[1]

FILES = {
    str(path.relative_to(TOP).as_posix()): path.read_text("utf-8")
    for path in [TOP / "Makefile", TOP / ".ci" / "run", *(TOP / "scripts").iterdir()]
    if path.is_file()
} | dict.fromkeys(("README.md", "CHANGELOG.md", "LICENSE", "pyproject.toml"), "")
WHEEL = [*check.IN_WHEEL, "dprct-1.dist-info/METADATA", "dprct-1.dist-info/licenses/LICENSE"]
METADATA = "License-Expression: BSD-3-Clause\nRequires-Python: >=3.11\n"


def test_this_checkout_has_every_script_that_its_makefile_calls() -> None:
    assert check.faults_of_sdist(FILES) == []


@pytest.mark.parametrize("name", ["scripts/venv", "scripts/r-for-tests", ".ci/run", "LICENSE"])
def test_an_sdist_without_one_of_them_is_refused(name: str) -> None:
    left = {path: text for path, text in FILES.items() if path != name}
    assert check.faults_of_sdist(left) == [f"the sdist lacks {name}"]


def test_a_script_that_a_script_calls_counts() -> None:
    left = {path: text for path, text in FILES.items() if path != "scripts/clean-venv"}
    assert check.faults_of_sdist(left) == ["the sdist lacks scripts/clean-venv"]


def test_nothing_made_on_the_way_is_in_an_sdist() -> None:
    found = check.faults_of_sdist(FILES | {"dprct/__pycache__/a.pyc": ""})
    assert found == ["the sdist holds dprct/__pycache__/a.pyc"]


@pytest.mark.parametrize("lost", check.IN_WHEEL)
def test_a_wheel_without_its_types_or_demo_is_refused(lost: str) -> None:
    assert check.faults_of_wheel(WHEEL, METADATA) == []
    assert check.faults_of_wheel([n for n in WHEEL if n != lost], METADATA)


def test_a_wheel_with_tests_or_without_its_licence_is_refused() -> None:
    assert check.faults_of_wheel([*WHEEL, "tests/test_a.py"], METADATA)
    assert check.faults_of_wheel(WHEEL[:-1], METADATA)
    assert check.faults_of_wheel(WHEEL, "Requires-Python: >=3.11\n")
