"""The site that ``make docs`` builds: every page has its place, and every link leads on."""

from __future__ import annotations

import importlib.util
import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

MADE = {"index.md", "security.md", "changelog.md", "api.md", "r.md", "from_r.md"}


@pytest.fixture(scope="module")
def script(checkout: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("pages", checkout / "scripts" / "pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_page_is_in_the_navigation(checkout: Path) -> None:
    nav = (checkout / "mkdocs.yml").read_text("utf-8").partition("\nnav:")[2]
    named = set(re.findall(r": (\w+\.md)$", nav, re.MULTILINE))
    assert named == {page.name for page in (checkout / "docs").glob("*.md")} | MADE


def test_links_lead_to_pages_of_the_site_or_are_only_names(
    script: ModuleType, checkout: Path
) -> None:
    pages = {page.name for page in (checkout / "docs").glob("*.*")} | MADE
    for page in [
        *(checkout / "docs").glob("*.md"),
        *(checkout / name for name in list(script.AWAY)[:3]),
    ]:
        text = script.moved(page.read_text("utf-8"), page.parent)
        links = set(re.findall(r"[^!]\]\((?!https?:|#)([^)#\s]+)", text))
        assert links <= pages, (page.name, links - pages)


def test_what_is_not_on_the_site_is_named(script: ModuleType, checkout: Path) -> None:
    text = "[a](../vignettes/ipw.py), [b](ipw.md#defaults), [c](../SECURITY.md), [d](#here)"
    moved = script.moved(text, checkout / "docs")
    assert moved == "a, [b](ipw.md#defaults), [c](security.md), [d](#here)"


def test_the_api_has_every_public_name(script: ModuleType) -> None:
    import dprct

    page = script.api()
    assert [n for n in dprct.__all__ if n[0] != "_" and f".{n}\n" not in page] == []


def test_a_vignette_of_r_is_a_page(script: ModuleType) -> None:
    text = '---\ntitle: "From R"\n---\n\n```{r, include = FALSE}\nx\n```\n\n```{r}\nols()\n```\n'
    assert script.vignette(text) == "# From R\n\n\n```r\nols()\n```\n"
