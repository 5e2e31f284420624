"""Write what lists the methods in files that cannot ask for them: ``dprct/__init__.py``, and R.

The classes say what there is (:mod:`dprct.study.methods`); a test compares the files.

Usage: python scripts/registry.py
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from dprct.study.methods import BY_NAME, STRICT, makes_file, spec_class

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

TOP = Path(__file__).resolve().parents[1]
_BLOCK = r"(# methods, written by scripts/registry\.py\n).*?( *# end of methods)"


def names() -> str:
    """Text of ``dprct/__init__.py``: where each class is, for Python and for types."""
    rooms = {model.__name__: model.__module__.split(".")[1] for model in STRICT.values()}
    ordered = sorted(rooms)
    homes = "".join(f'    "{name}": "dprct.{rooms[name]}",\n' for name in ordered)
    imports = "".join(f"    from dprct.{rooms[name]} import {name}\n" for name in ordered)
    return written(TOP / "dprct" / "__init__.py", ["_HOME |= {\n" + homes + "}\n", imports])


def written(path: Path, blocks: Iterable[str]) -> str:
    """Text of a file with other blocks between its marks, in order."""
    each = iter(blocks)
    return re.sub(
        _BLOCK, lambda found: found[1] + next(each) + found[2], path.read_text("utf-8"), flags=re.S
    )


def by_name() -> str:
    """Text of ``r-wrapper/R/by_name.R``: the methods that read only the columns named in a call."""
    found = sorted(
        name
        for name, model in BY_NAME.items()
        if not makes_file(model) and not spec_class(model).wide
    )
    listed = ",\n".join(f'  "{name}"' for name in found)
    return f"# Written by scripts/registry.py.\nby_name <- c(\n{listed}\n)\n"


def files() -> Mapping[Path, str]:
    """All files that list methods, with their text."""
    return {
        TOP / "dprct" / "__init__.py": names(),
        TOP / "r-wrapper" / "R" / "by_name.R": by_name(),
    }


if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")
