"""What the repository says about itself agrees, and holds nothing of the machine it was made on."""

from __future__ import annotations

import inspect
import re
import subprocess
import tomllib
from functools import cache
from pathlib import Path

import pytest

import dprct

TOP = Path(__file__).resolve().parents[1]

# joined here, so that this file does not break the rules that it states
UNFINISHED = re.compile("|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X")))
MACHINE = re.compile(
    r"(?<![\w.])/(?:" + "|".join(("work", "root", "home", "Users", "opt")) + r")/\w"
)
REGISTRIES = re.compile(
    "|".join(
        re.escape(name)
        for name in (
            "pypi" + ".org",
            "python" + "hosted.org",
            "npm" + "js.org",
            "deb." + "debian.org",
            "cran.r-" + "project.org",
            "conda." + "anaconda.org",
            "crates" + ".io",
        )
    )
)


@cache
def tracked() -> tuple[Path, ...]:
    if not (TOP / ".git").exists():
        pytest.skip("needs a clone: the list of files is git's")
    run = subprocess.run(["git", "ls-files", "-z"], capture_output=True, check=True, cwd=TOP)
    files = [TOP / name for name in run.stdout.decode("utf-8").split("\0") if name]
    return tuple(file for file in files if file.is_file())


@cache
def texts() -> dict[str, str]:
    """Every tracked file that is text, by its name."""
    found = {}
    for file in tracked():
        raw = file.read_bytes()
        if b"\0" not in raw:
            found[file.relative_to(TOP).as_posix()] = raw.decode("utf-8", "replace")
    return found


def lines_with(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{name}:{number}: {line.strip()}"
        for name, text in texts().items()
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]


def test_one_version() -> None:
    citation = (TOP / "CITATION.cff").read_text("utf-8")
    changelog = (TOP / "CHANGELOG.md").read_text("utf-8")
    project = tomllib.loads((TOP / "pyproject.toml").read_text("utf-8"))
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["hatch"]["version"]["path"] == "dprct/__init__.py"
    cited = re.search(r"^version: (\S+)$", citation, re.MULTILINE)
    newest = re.search(r"^## \[(\d\S*)\] - \d{4}-\d\d-\d\d$", changelog, re.MULTILINE)
    assert cited is not None
    assert newest is not None
    assert cited[1] == newest[1] == dprct.__version__


def test_a_source_distribution_has_what_its_makefile_calls() -> None:
    makefile = (TOP / "Makefile").read_text("utf-8")
    build = tomllib.loads((TOP / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]
    folders = set(re.findall(r"(?<![\w./-])(\w+)/[\w-]+", makefile))
    modules = set(re.findall(r"-m (?!pytest)(\w+)", makefile))
    made = {"build", "dist"}  # by make wheel and make release; "-m build" is another's module
    named = {name for name in (folders | modules) - made if (TOP / name).is_dir()}
    assert {"scripts", "papers", "tests"} <= named
    assert named <= {name.strip("/") for name in build["targets"]["sdist"]["include"]}
    assert build["targets"]["wheel"]["packages"] == ["dprct"]


def test_license_is_bsd_3() -> None:
    text = " ".join((TOP / "LICENSE").read_text("utf-8").split())
    assert text.startswith("BSD 3-Clause License Copyright (c) 2026, dprct developers")
    assert "Neither the name of the copyright holder nor the names of its contributors" in text
    assert 'PROVIDED BY THE COPYRIGHT HOLDERS AND CONTRIBUTORS "AS IS"' in text


def test_nothing_is_left_unfinished() -> None:
    assert lines_with(UNFINISHED) == []


def test_no_path_of_a_machine() -> None:
    assert lines_with(MACHINE) == []
    assert MACHINE.search("see /" + "home/me/data.dta")


def test_no_name_of_a_registry_host() -> None:
    assert lines_with(REGISTRIES) == []


@pytest.mark.parametrize(
    "target", ["demo", "test", "check", "check-all", "release", "test-versions", "bench", "audit"]
)
def test_promised_targets_exist(target: str) -> None:
    makefile = (TOP / "Makefile").read_text("utf-8")
    assert re.search(rf"^{target}:", makefile, re.MULTILINE)


def test_ci_runs_what_the_readme_says() -> None:
    assert "make test" in (TOP / "README.md").read_text("utf-8")
    assert "\nmake test" in (TOP / ".ci" / "run").read_text("utf-8")


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "SECURITY.md", "data/README.md"])
def test_links_between_documents_lead_somewhere(name: str) -> None:
    page = TOP / name
    links = re.findall(r"\]\((?!https?://|#)([^)#\s]+)", page.read_text("utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("name", sorted(dprct.__all__))
def test_public_names_explain_themselves(name: str) -> None:
    public = getattr(dprct, name)
    if name == "__version__":
        assert re.fullmatch(r"\d+\.\d+\.\d+", public)
        return
    text = inspect.getdoc(public) or ""
    assert text.strip().splitlines()[0].endswith(".")
    if callable(public) and not (inspect.isclass(public) and issubclass(public, BaseException)):
        assert "\nExamples\n--------\n" in text
        if inspect.signature(public).parameters:
            assert "\nParameters\n----------\n" in text
