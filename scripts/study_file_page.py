"""Write docs/study_file.md: every key of a study file, from the specifications that read it.

Usage: python scripts/study_file_page.py
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dprct.schema.columns import Unit
from dprct.study.calibrated_section import CalibratedSpec
from dprct.study.declared_tables import TableSpec
from dprct.study.design_section import DesignSpec
from dprct.study.estimates import DESIGN, ESTIMATES, spec_of
from dprct.study.informed_section import InformedSpec
from dprct.study.readme import Availability
from dprct.study.release_section import METHODS, ReleaseSpec, TotalBudget
from dprct.study.sections import is_required, keys_of, words
from dprct.study.study import Declaration, Header, parts_read

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).resolve().parents[1] / "docs" / "study_file.md"
HEAD = """\
# The keys of a study file

A study file says, in TOML, what is done with a confidential file and what is public of it. This
page lists its keys; `scripts/study_file_page.py` writes it from the specifications that read them.
`dprct describe FILE --draft study.toml` makes a file with blanks, and `dprct check` says what is
open.

At the top stand `version = 1`, `data` (the confidential file) and `dataset_id` (the name under
which its ledger is kept). For every column that is used there is a table `[columns.NAME]` with its
public facts ([choosing bounds](choosing_bounds.md)). An unknown key is refused.

## Methods

`[release] method` is one of these. A release makes a protected file; an estimate makes a document
of numbers, `<data>_<method>.json`, with a text to read, `<data>_<method>.txt`. An estimate reads
the columns that it names and no other: those need no fate, and `dprct table` prints its results.

| method | makes | reads besides `[release]` and the columns |
|---|---|---|
"""
SECTIONS: tuple[tuple[str, Any, str], ...] = (
    ("[release]", ReleaseSpec, ""),
    ("[budget]", TotalBudget, ""),
    ("[unit]", Unit, ""),
    ("[header]", Header, ""),
    ("[declared]", Declaration, ""),
    ("[design]", DesignSpec, ""),
    ("[calibrated]", CalibratedSpec, 'For `method = "calibrated"`.'),
    ("[informed]", InformedSpec, "For `published_hybrid` and `published_gen_model`."),
    ("[[table]]", TableSpec, "One for each table that is made of a protected file."),
    ("[availability]", Availability, ""),
)


def meanings(kind: Any) -> dict[str, str]:
    """Return what the numpydoc section ``Parameters`` says of each name, in one line."""
    text = inspect.getdoc(kind) or ""
    _, _, part = text.partition("Parameters\n----------\n")
    part = re.split(r"\n\n[A-Z]\w+\n-+\n", part)[0]
    found: dict[str, str] = {}
    names: list[str] = []
    for line in part.splitlines():
        if line.startswith("    "):
            for name in names:
                found[name] = f"{found.get(name, '')} {line.strip()}".strip()
        elif line.strip():
            listed, _, kinds = line.partition(" : ")
            names = [name.strip() for name in listed.split(",")]
            if kinds.startswith("{"):
                found |= dict.fromkeys(names, f"{kinds.strip('{}').replace('}', '')}:")
    return {name: in_markdown(said) for name, said in found.items()}


def in_markdown(text: str) -> str:
    """Return a sentence of a docstring for a cell of a table."""
    text = re.sub(r":\w+:`~?(?:[\w]+\.)*([\w]+)`", r"`\1`", text)
    return text.replace("``", "`").replace("|", r"\|")


def rows(kind: Any, said: dict[str, str], given: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the rows of the table of a section."""
    yield "| key | takes | default | meaning |"
    yield "|---|---|---|---|"
    for name, (field, hints) in keys_of(kind).items():
        if name in given:
            continue
        plain = field.default if not is_required(field) else "required"
        default = "" if plain is None or callable(field.default_factory) else spelled(plain)
        takes = words(hints).replace("|", r"\|")
        yield f"| `{name}` | {takes} | {default} | {said.get(name, '')} |"


def spelled(value: Any) -> str:
    """Return a default as TOML has it."""
    if value == "required" or value in ("", ()):
        return "required" if value == "required" else ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, tuple):
        return f"`[{', '.join(map(str, value))}]`"
    return f'`"{value}"`' if isinstance(value, str) else f"`{value}`"


def page() -> str:
    """Return the whole page."""
    lines = [HEAD.rstrip("\n")]
    for method in METHODS:
        makes = "a document of numbers" if method in ESTIMATES else "a protected file"
        parts = ["`formula`" if part == "formula" else f"`[{part}]`" for part in parts_read(method)]
        lines.append(f"| `{method}` | {makes} | {', '.join(parts) or 'nothing'} |")
    for title, kind, about in SECTIONS:
        lines += ["", f"## `{title}`", "", *([about, ""] if about else [])]
        lines += rows(kind, meanings(kind))
    for method, model in ESTIMATES.items():
        spec = spec_of(method)
        about = f'For `method = "{method}"`: the options of `dprct.{model.__name__}`.'
        if spec.formula_gives:
            given = " and ".join(f"`{name}`" for name in spec.formula_gives)
            about += f' `[release] formula = "{spec.formula_like}"` gives {given}.'
        lines += ["", f"## `[{method}]`", "", about, ""]
        lines += rows(spec, meanings(model), (*spec.formula_gives, DESIGN))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
