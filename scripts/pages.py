"""Gather the pages of the site: README and docs/, the Python API, and R's help.

Run by ``make docs``: ``pages.py build/pages``, then ``mkdocs build``.
"""

from __future__ import annotations

import importlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import dprct

TOP = Path(__file__).resolve().parents[1]
AWAY = {
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
    "README.md": "index.md",
    "r-wrapper/README.md": "r.md",
    "r-wrapper/vignettes/from_r.Rmd": "from_r.md",
}
_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?://|#)([^)#\s]+)(#[^)\s]*)?\)")


def moved(text: str, folder: Path) -> str:
    """Return a page with its links as the site has them; files without a page are only named."""

    def target(found: re.Match[str]) -> str:
        picture, words, link, section = found[1], found[2], found[3], found[4] or ""
        path = (folder / link).resolve()
        inside = path.relative_to(TOP).as_posix()
        page = AWAY.get(inside) or (path.name if inside.startswith("docs/") else None)
        return f"{picture}[{words}]({page}{section})" if page else words

    return _LINK.sub(target, text)


def api() -> str:
    """Return the page of the Python API: every public name, with its docstring."""
    kinds: dict[str, list[str]] = {"Methods, facts and files": [], "Functions": []}
    for name in sorted(dprct.__all__, key=str.lower):
        if name.startswith("__"):
            continue
        thing = getattr(dprct, name)
        kinds["Methods, facts and files" if isinstance(thing, type) else "Functions"].append(
            f"::: {thing.__module__}.{thing.__qualname__}"
        )
    rooms = []
    for room in ("custodian", "published"):
        module = importlib.import_module(f"dprct.{room}")
        names = [getattr(module, name) for name in module.__all__]
        lines = "\n\n".join(f"::: {thing.__module__}.{thing.__qualname__}" for thing in names)
        rooms.append(f"# dprct.{room}\n\n{(module.__doc__ or '').strip()}\n\n{lines}")
    body = "\n\n".join(f"# {kind}\n\n" + "\n\n".join(lines) for kind, lines in kinds.items())
    return "\n\n".join([body, *rooms]) + "\n"


def r_help(out: Path) -> str:
    """Return the page of R's help, a page per topic, if R is here."""
    topics = sorted((TOP / "r-wrapper" / "man").glob("*.Rd"))
    head = (
        '# The R package\n\nThe same methods from R; `help(package = "dprct")` has these pages.\n'
    )
    if shutil.which("Rscript") is None:
        return head + "\nThis site was made on a machine without R: its help pages are not here.\n"
    (out / "r").mkdir()
    lines = []
    for topic in topics:
        code = f'tools::Rd2HTML("{topic.as_posix()}", stylesheet = "")'
        page = subprocess.run(
            ["Rscript", "-e", code], capture_output=True, text=True, check=True
        ).stdout
        (out / "r" / f"{topic.stem}.html").write_text(page, encoding="utf-8")
        title = re.search(r"\\title\{(.*?)\}", topic.read_text("utf-8"), re.DOTALL)
        said = " ".join(title[1].split()) if title else topic.stem
        lines.append(f'- <a href="r/{topic.stem}.html">{topic.stem}</a>: {said}')
    return head + "\n" + "\n".join(lines) + "\n"


def vignette(text: str) -> str:
    """Return an R Markdown vignette as a page: no header, blocks of plain R."""
    body = text.split("---", 2)[2].lstrip()
    body = re.sub(r"^```\{r[^}]*include *= *FALSE[^}]*\}\n.*?^```\n", "", body, flags=re.S | re.M)
    title = re.search(r'^title: "(.*)"', text, re.MULTILINE)
    return f"# {title[1] if title else 'From R'}\n\n" + re.sub(r"```\{r[^}]*\}", "```r", body)


def main(arguments: list[str]) -> None:
    """Write all pages into a new folder."""
    out = Path(arguments[0])
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    for page in sorted((TOP / "docs").glob("*.md")):
        (out / page.name).write_text(moved(page.read_text("utf-8"), page.parent), encoding="utf-8")
    for picture in sorted([*(TOP / "docs").glob("*.svg"), *(TOP / "docs").glob("*.png")]):
        shutil.copy(picture, out)
    for name, page_name in list(AWAY.items())[:3]:
        text = (TOP / name).read_text("utf-8")
        (out / page_name).write_text(moved(text, TOP), encoding="utf-8")
    from_r = (TOP / "r-wrapper" / "vignettes" / "from_r.Rmd").read_text("utf-8")
    (out / "from_r.md").write_text(vignette(from_r), encoding="utf-8")
    (out / "api.md").write_text(api(), encoding="utf-8")
    (out / "r.md").write_text(r_help(out), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
