"""What the pages point at exists: files, sections, commands with their options, targets, names."""

from __future__ import annotations

import importlib
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import typer

from dprct.cli.main import COMMANDS, app, loaded

if TYPE_CHECKING:
    from collections.abc import Callable

TOP = Path(__file__).resolve().parents[2]
PAGES = sorted(
    page for folder in ("", "docs", "data", "r-wrapper") for page in (TOP / folder).glob("*.md")
)
FILE = re.compile(r"(?<![\w/.])((?:tests|docs|scripts|dprct|data|vignettes|r-wrapper)/[\w./-]*\w)")
COMMAND = re.compile(r"(?:^ {4}|^\$ |^|`)dprct ((?:--)?[a-z][^`#\n]*)", re.MULTILINE)
TARGET = re.compile(r"(?:^ {4}|`)make ([a-z][\w-]*)", re.MULTILINE)
PAGE = re.compile(r"(?<![\w/.-])([\w-]+\.md)\b")
IN_THE_WHEEL_ONLY = {"dprct/demo_data"}
WRITTEN_BY_COMMANDS = {"README-data.md", "report.md"}


def links(text: str, folder: Path) -> list[str]:
    """Links within the repository that lead nowhere, or to a section that is not there."""
    lost = []
    for link in re.findall(r"\]\((?!https?://)([^)\s]+)\)", text):
        name, _, section = link.partition("#")
        page = folder / name
        if not page.exists():
            lost.append(link)
        elif section:
            target = page.read_text("utf-8") if name else text
            if section not in map(anchor, re.findall(r"^#+ (.*)$", target, re.MULTILINE)):
                lost.append(link)
    return lost


def anchor(heading: str) -> str:
    """The name that a heading gets where Markdown is shown as a page."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def files(text: str, folder: Path) -> list[str]:
    found = {*FILE.findall(text), *PAGE.findall(text)} - IN_THE_WHEEL_ONLY - WRITTEN_BY_COMMANDS
    return [name for name in found if not any((at / name).exists() for at in (TOP, folder))]


def targets(text: str, _: Path) -> list[str]:
    rules = re.findall(r"^([\w-]+):", (TOP / "Makefile").read_text("utf-8"), re.MULTILINE)
    return [name for name in TARGET.findall(text) if name not in rules]


def commands(text: str, _: Path) -> list[str]:
    """Lines of a shell with a command, or an option of it, that `dprct` does not have."""
    whole = typer.main.get_command(app)
    known = {name: loaded(name) for name in COMMANDS}
    lost = []
    for line in COMMAND.findall(text):
        words = shlex.split(line.replace("'", " "))
        command = whole if words[0].startswith("-") else known.get(words[0])
        options = {word.partition("=")[0] for word in words if word.startswith("--")}
        if command is None or options - {"--help", *(o for p in command.params for o in p.opts)}:
            lost.append(line.strip())
    return lost


def names(text: str, _: Path) -> list[str]:
    """Dotted names of Python; ``dprct_error`` and the like are R's and have no dot."""
    return [
        name for name in set(re.findall(r"\bdprct(?!\.Rmd\b)(?:\.\w+)+", text)) if not is_name(name)
    ]


def is_name(dotted: str) -> bool:
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            found = getattr(found, part, None)
        return found is not None
    return False


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(TOP).as_posix())
@pytest.mark.parametrize("lost", [links, files, targets, commands, names])
def test_what_a_page_points_at_exists(lost: Callable[[str, Path], list[str]], page: Path) -> None:
    assert lost(page.read_text("utf-8"), page.parent) == []


@pytest.mark.parametrize(
    ("lost", "wrong", "right"),
    [
        (links, "[a](docs/nothing.md)", "[a](docs/ipw.md)"),
        (links, "[a](docs/ipw.md#nothing)", "[a](docs/ipw.md#defaults-of-weighting)"),
        (files, "see `scripts/nothing.py`", "see `scripts/ipw_table.py`"),
        (files, "NOTHING.md says more", "SECURITY.md says more"),
        (targets, "`make nothing`", "`make demo`"),
        (commands, "    dprct release study.toml", "    dprct plan study.toml --html plan.html"),
        (commands, "$ dprct plan study.toml --draw", "$ dprct --version"),
        (names, "`dprct.Histogram`", "`dprct.MVHistogram.fit`"),
    ],
)
def test_a_broken_reference_is_found(
    lost: Callable[[str, Path], list[str]], wrong: str, right: str
) -> None:
    assert len(lost(wrong, TOP)) == 1
    assert lost(right, TOP) == []
