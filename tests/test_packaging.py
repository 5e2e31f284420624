"""The conda recipe, the container file, workflows and forms say what the project says."""

from __future__ import annotations

import importlib
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import dprct

TOP = Path(__file__).resolve().parents[1]
yaml = pytest.importorskip("yaml")


def loaded(path: str) -> Any:
    return yaml.safe_load((TOP / path).read_text("utf-8"))


def script(name: str) -> Any:
    return importlib.import_module(f"scripts.{name}")


def test_the_recipe_needs_what_the_project_needs() -> None:
    project = tomllib.loads((TOP / "pyproject.toml").read_text("utf-8"))["project"]
    recipe = loaded("packaging/recipe.yaml")
    asked = {line.split()[0]: line.partition(" ")[2] for line in recipe["requirements"]["run"]}
    assert asked.pop("python") == project["requires-python"]
    listed = [re.fullmatch(r"([\w-]+)(.*)", line) for line in project["dependencies"]]
    # the index writes upper bounds in any order
    parts = {found[1]: set(found[2].split(",")) for found in listed if found}
    assert {name: set(bounds.split(",")) for name, bounds in asked.items()} == parts
    assert recipe["context"]["version"] == dprct.__version__
    # rattler-build reads no recipe with another placeholder
    assert re.fullmatch(r"[0-9a-f]{64}", recipe["source"]["sha256"])
    name, _, target = recipe["build"]["python"]["entry_points"][0].partition(" = ")
    assert project["scripts"] == {name: target}


def test_the_container_file_is_of_known_instructions_and_marked_as_not_built() -> None:
    text = (TOP / "packaging" / "Containerfile").read_text("utf-8")
    known = {"FROM", "RUN", "COPY", "USER", "WORKDIR", "ENTRYPOINT", "CMD"}
    joined = re.sub(r"\\\n", "", text)
    lines = [line for line in joined.splitlines() if line and not line.startswith("#")]
    assert {line.split()[0] for line in lines} == known
    assert "NOT BUILT" in text
    assert "NOT BUILT" in (TOP / "packaging" / "recipe.yaml").read_text("utf-8")


@pytest.mark.parametrize("path", sorted((TOP / ".github").rglob("*.yml")), ids=lambda p: p.name)
def test_workflows_and_forms_are_yaml_and_workflows_say_that_they_have_not_run(path: Path) -> None:
    found = yaml.safe_load(path.read_text("utf-8"))
    if path.parent.name == "workflows":
        first = path.read_text("utf-8").splitlines()[0]
        assert "has not run yet" in first
        targets = re.findall(r"\bmake ([a-z-]+)", path.read_text("utf-8").partition("\njobs:")[2])
        makefile = (TOP / "Makefile").read_text("utf-8")
        assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)
    elif path.name != "config.yml":
        assert {"name", "description", "body"} <= set(found)


def test_placeholders_are_found(tmp_path: Path) -> None:
    left = script("placeholders").left
    (tmp_path / "README.md").write_text("one\nhttps://example.org/OWNER/x\n", "utf-8")
    assert left(tmp_path) == ["README.md:2: https://example.org/OWNER/x"]
    (tmp_path / "README.md").write_text("one\n", "utf-8")
    assert left(tmp_path) == []


def test_the_bill_of_materials_names_every_dependency() -> None:
    bill = script("sbom").bill()
    assert bill["metadata"]["component"]["name"] == "dprct"
    names = {part["name"] for part in bill["components"]}
    assert {"numpy", "opendp", "pandas", "pyreadstat", "typer"} <= names
    assert all(part["purl"].startswith("pkg:pypi/") for part in bill["components"])
