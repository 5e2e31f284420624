"""Write what lists the methods in files that cannot ask for them: the names of ``dprct``.

The classes say what there is (:mod:`dprct.study.methods`); a test compares the files.

Usage: python scripts/registry.py
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from dprct.study.methods import STRICT

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


def files() -> Mapping[Path, str]:
    """All files that list methods, with their text."""
    return {TOP / "dprct" / "__init__.py": names()}


if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")
