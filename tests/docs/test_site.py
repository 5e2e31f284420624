"""The site that ``make docs`` builds: every page has its place, and every link leads on."""

from __future__ import annotations

import importlib
import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

MADE = {"api.md", "r_help.md", "contents.md"}


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return importlib.import_module("scripts.pages")


def test_every_page_and_vignette_is_in_the_contents(script: ModuleType, checkout: Path) -> None:
    named = {f"{page}.md" for pages in script.contents().values() for _, page in pages}
    docs = {page.name for page in (checkout / "docs").glob("*.md")}
    vignettes = {f"vignette_{path.stem}.md" for path in (checkout / "vignettes").glob("*.py")}
    moved = set(script.AWAY.values()) - {"index.md"}
    assert named == docs | vignettes | moved | MADE


def test_each_page_ends_with_what_to_read_next(checkout: Path) -> None:
    pages = {*(checkout / "docs").glob("*.md")} - {checkout / "docs" / "contents.md"}
    pages |= {*(checkout / "vignettes").glob("*.py")}
    pages |= {*(checkout / "r-wrapper" / "vignettes").glob("*.Rmd*")}
    pages |= {checkout / "SECURITY.md", checkout / "r-wrapper" / "README.md"}
    ends = {page: page.read_text("utf-8").rstrip().splitlines()[-2:] for page in pages}
    lost = [page.name for page, end in ends.items() if "**Read next:** " not in " ".join(end)]
    assert lost == []


def test_links_lead_to_pages_of_the_site_or_are_only_names(
    script: ModuleType, checkout: Path
) -> None:
    pages = {page.name for page in (checkout / "docs").glob("*.*")} | MADE
    pages |= set(script.AWAY.values())
    pages |= {f"vignette_{path.stem}.md" for path in (checkout / "vignettes").glob("*.py")}
    read = [*(checkout / "docs").glob("*.md"), *(checkout / name for name in script.COPIED)]
    for page in read:
        text = script.moved(page.read_text("utf-8"), page.parent)
        links = set(re.findall(r"[^!]\]\((?!https?:|#)([^)#\s]+)", text))
        assert links <= pages, (page.name, links - pages)


def test_what_is_not_on_the_site_is_named(script: ModuleType, checkout: Path) -> None:
    text = "[a](../scripts/pages.py), [b](ipw.md#defaults), [c](../SECURITY.md), [d](#here)"
    moved = script.moved(text, checkout / "docs")
    assert moved == "a, [b](ipw.md#defaults), [c](security.md), [d](#here)"


def test_the_api_has_every_public_name_in_a_room(script: ModuleType) -> None:
    import dprct

    names = {name for room in script.rooms().values() for name in room}
    public = {f"dprct.{name}" for name in dprct.__all__ if name[0] != "_"}
    assert public <= names
    assert all(script.rooms().values())


def test_a_vignette_of_r_is_a_page(script: ModuleType) -> None:
    text = '---\ntitle: "From R"\n---\n\n```{r, include = FALSE}\nx\n```\n\n```{r}\nols()\n```\n'
    assert script.r_vignette(text) == "# From R\n\n\n```r\nols()\n```\n"


def test_a_vignette_of_python_is_a_page(script: ModuleType) -> None:
    text = "# ---\n# head\n# ---\n\n# %% [markdown]\n# # One\n#\n# two\n\n# %%\nx = 1\n"
    assert script.vignette(text, "a").startswith("# One\n\ntwo\n\n```python\nx = 1\n```\n")


@pytest.mark.parametrize(
    ("word", "page"),
    [
        ("csv", "faq.md"), ("GDPR", "faq.md"), ("HIPAA", "faq.md"), ("FAQ", "faq.md"),
        ("glossary", "glossary.md"), ("synthpop", "comparison.md"),
        ("referee", "validation_server.md"),
    ],
)  # fmt: skip
def test_words_that_readers_search_are_on_a_page(checkout: Path, word: str, page: str) -> None:
    assert re.search(rf"\b{word}\b", (checkout / "docs" / page).read_text("utf-8"), re.IGNORECASE)
