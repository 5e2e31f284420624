"""Gather the pages of the site: README, docs/, vignettes, the Python API by room, and R's help.

Run by ``make docs``: ``pages.py build/pages``, then Sphinx. docs/contents.md says what is where.
"""

from __future__ import annotations

import importlib
import inspect
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
    "CONTRIBUTING.md": "contributing.md",
    "CODE_OF_CONDUCT.md": "conduct.md",
    "README.md": "index.md",
    "r-wrapper/README.md": "r.md",
    "r-wrapper/vignettes/dprct.Rmd": "from_r_first.md",
    "r-wrapper/vignettes/from_r.Rmd": "from_r.md",
    "r-wrapper/vignettes/coming_from_DPrct.Rmd": "coming_from_DPrct.md",
}
COPIED = tuple(AWAY)[:6]
_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?://|#)([^)#\s]+)(#[^)\s]*)?\)")
ROOMS = {
    "methods": ("Methods", "What is fitted: ``plan`` is free, ``fit`` is the only private step."),
    "facts": ("Facts and files", "What is public, and how data go in and out."),
    "designs": ("Designs", "How treatment was assigned."),
    "budgets": ("Budgets", "What was spent, and what is promised."),
    "regressions": ("Regressions and tables", "With Stata's errors, and with the noise in them."),
    "results": ("Results", "What ``fit`` and the regressions return."),
    "plots": ("Plots", "They need matplotlib, and draw what was released."),
    "privacy": ("Noise and composition", "What mechanisms are made of: ``dprct.privacy``."),
    "custodian": ("For the custodian alone", "Confidential comparisons: ``dprct.custodian``."),
    "published": ("Published algorithms", "As papers print them: ``dprct.published``."),
}  # fmt: skip
_ROOM_OF = {
    "estimate": "methods", "release": "methods", "schema": "facts", "io": "facts",
    "assignment": "designs", "privacy": "budgets", "results": "regressions",
}  # fmt: skip


def moved(text: str, folder: Path) -> str:
    """Page with its links as the site has them; files without a page are only named."""

    def target(found: re.Match[str]) -> str:
        picture, words, link, section = found[1], found[2], found[3], found[4] or ""
        path = (folder / link).resolve()
        inside = path.relative_to(TOP).as_posix()
        page = AWAY.get(inside) or (path.name if inside.startswith("docs/") else None)
        if inside.startswith("vignettes/"):
            page = f"vignette_{path.stem}.md"
        return f"{picture}[{words}]({page}{section})" if page else words

    return _LINK.sub(target, text)


def rooms() -> dict[str, dict[str, object]]:
    """What each page of the API holds, by the name under which it is imported."""
    found: dict[str, dict[str, object]] = {room: {} for room in ROOMS}
    for name in sorted(set(dprct.__all__), key=str.lower):
        if not name.startswith("__"):
            thing = getattr(dprct, name)
            found[_ROOM_OF[thing.__module__.split(".")[1]]][f"dprct.{name}"] = thing
    known = [thing for room in found.values() for thing in room.values()]
    for room in ("results", "privacy", "custodian", "published", "plots"):
        module = importlib.import_module(f"dprct.{room}")
        for name in getattr(module, "__all__", None) or sorted(vars(module)):
            thing = getattr(module, name)
            home = getattr(thing, "__module__", "")
            listed = hasattr(module, "__all__") or (home == module.__name__ and name[0] != "_")
            documented = isinstance(thing, type) or inspect.isfunction(thing)
            if listed and documented and thing not in known:
                found[room][f"dprct.{room}.{name}"] = thing
                known.append(thing)
    return found


def first_line(thing: object) -> str:
    """First sentence of a docstring."""
    return (inspect.getdoc(thing) or "").strip().split("\n\n")[0].replace("\n", " ")


def api(out: Path) -> None:
    """Write a page of each room, and one of each class in it."""
    (out / "api").mkdir()
    lists = []
    for room, things in rooms().items():
        title, words = ROOMS[room]
        classes, functions = [], []
        for path, thing in things.items():
            name = path.rpartition(".")[2]
            if isinstance(thing, type):
                page = f"{room}_{name}"
                head = f"{name}\n{'=' * len(name)}\n\n"
                body = f".. autoclass:: {path}\n"
                (out / "api" / f"{page}.rst").write_text(head + body, encoding="utf-8")
                classes.append((name, page, first_line(thing)))
            else:
                functions.append(path)
        page = [title, "=" * len(title), "", words, ""]
        if classes:
            page += [".. toctree::", "   :hidden:", "", *(f"   {one[1]}" for one in classes), ""]
            page += [f":doc:`{name} <{at}>`\n   {line}\n" for name, at, line in classes]
        page += [f".. autofunction:: {path}\n" for path in functions]
        (out / "api" / f"{room}.rst").write_text("\n".join(page), encoding="utf-8")
        lists.append(f"api/{room}")
    head = "# Python, by room\n\n"
    lines = [f"- [{ROOMS[Path(at).name][0]}]({at}.rst)" for at in lists]
    tree = ["", "```{toctree}", ":hidden:", "", *lists, "```", ""]
    (out / "api.md").write_text(head + "\n".join(lines + tree), encoding="utf-8")


def r_help(out: Path) -> str:
    """Page of R's help, with a page per topic beside it, if R is here."""
    topics = sorted((TOP / "r-wrapper" / "man").glob("*.Rd"))
    head = '# R, by function\n\nThe same in R: `help(package = "dprct")`.\n'
    if shutil.which("Rscript") is None:
        return head + "\nThis site was made on a machine without R: its help pages are not here.\n"
    folder = out / "extra" / "r"
    code = (
        'for (at in commandArgs(TRUE)[-1]) tools::Rd2HTML(at, stylesheet = "", '
        'out = file.path(commandArgs(TRUE)[1], sub("Rd$", "html", basename(at))))'
    )
    folder.mkdir(parents=True)
    given = [folder.as_posix(), *(topic.as_posix() for topic in topics)]
    subprocess.run(["Rscript", "-e", code, *given], capture_output=True, check=True)
    lines = []
    for topic in topics:
        title = re.search(r"\\title\{(.*?)\}", topic.read_text("utf-8"), re.DOTALL)
        said = " ".join(title[1].split()) if title else topic.stem
        lines.append(f'- <a href="r/{topic.stem}.html">{topic.stem}</a>: {said}')
    return head + "\n" + "\n".join(lines) + "\n"


def r_vignette(text: str) -> str:
    """Vignette of R Markdown as a page: no header, plain R, tables in grids as text."""
    body = text.split("---", 2)[2].lstrip()
    body = re.sub(r"^```\{r[^}]*include *= *FALSE[^}]*\}\n.*?^```\n", "", body, flags=re.S | re.M)
    body = re.sub(r"^(\+[-=+]+\+\n(?:[|+].*\n)+)", r"```text\n\1```\n", body, flags=re.MULTILINE)
    title = re.search(r'^title: "(.*)"', text, re.MULTILINE)
    return f"# {title[1] if title else 'From R'}\n\n" + re.sub(r"```\{r[^}]*\}", "```r", body)


def vignette(text: str, name: str) -> str:
    """Vignette of Python, in cells, as a page."""
    parts = re.split(r"^# %%(.*)\n", text, flags=re.MULTILINE)[1:]
    found = []
    for kind, cell in zip(parts[::2], parts[1::2], strict=True):
        if "markdown" in kind:
            found.append(re.sub(r"^# ?", "", cell.strip(), flags=re.MULTILINE))
        else:
            found.append(f"```python\n{cell.strip()}\n```")
    found.append(f"It is `vignettes/{name}.py`: run it, or open it as a notebook with jupytext.")
    return "\n\n".join(found) + "\n"


def contents() -> dict[str, list[tuple[str, str]]]:
    """Pages of the site by section, with their titles: docs/contents.md as the site has it."""
    text = moved((TOP / "docs" / "contents.md").read_text("utf-8"), TOP / "docs")
    found = {}
    for part in text.split("\n## ")[1:]:
        found[part.partition("\n")[0]] = re.findall(r"^- \[(.*?)\]\((\w+)\.md\)", part, re.M)
    made = [("All pages", "contents"), ("Python, by room", "api"), ("R, by function", "r_help")]
    found["Reference"] = [*made, *found["Reference"]]
    return found


def trees() -> str:
    """Tables of contents of the first page: what stands in the margin."""
    blocks = []
    for section, pages in contents().items():
        lines = [f"{title} <{page}>" for title, page in pages]
        blocks.append(
            "\n".join(["```{toctree}", ":hidden:", f":caption: {section}", "", *lines, "```"])
        )
    return "\n" + "\n\n".join(blocks) + "\n"


def main(arguments: list[str]) -> None:
    """Write all pages into a new folder."""
    out = Path(arguments[0])
    shutil.rmtree(out, ignore_errors=True)
    (out / "extra").mkdir(parents=True)
    for page in sorted((TOP / "docs").glob("*.md")):
        (out / page.name).write_text(moved(page.read_text("utf-8"), page.parent), encoding="utf-8")
    for picture in [*(TOP / "docs").glob("*.svg"), *(TOP / "docs").glob("*.png")]:
        shutil.copy(picture, out)
    for name in COPIED:
        path = TOP / name
        text = moved(path.read_text("utf-8"), path.parent)
        (out / AWAY[name]).write_text(text + trees() * (name == "README.md"), encoding="utf-8")
    for source, page in AWAY.items():
        if source.endswith(".Rmd"):
            text = r_vignette((TOP / source).read_text("utf-8"))
            (out / page).write_text(text, encoding="utf-8")
    for path in sorted((TOP / "vignettes").glob("*.py")):
        page = moved(vignette(path.read_text("utf-8"), path.stem), path.parent)
        (out / f"vignette_{path.stem}.md").write_text(page, encoding="utf-8")
    api(out)
    (out / "r_help.md").write_text(r_help(out), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
