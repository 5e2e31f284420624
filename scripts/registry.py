"""Write what lists the methods and their options where it cannot be asked for: in types, and in R.

The classes say what there is (:mod:`dprct.study.methods`); a test compares the files.

Usage: python scripts/registry.py
"""

from __future__ import annotations

import inspect
import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from dprct.study.methods import BY_NAME, STRICT, makes_file, r_name, spec_class

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

TOP = Path(__file__).resolve().parents[1]
_BLOCK = r"(# methods, written by scripts/registry\.py\n).*?( *# end of methods)"


def names() -> str:
    """Text of ``dprct/__init__.py``: where each class is, for Python and for types."""
    rooms = {model.__name__: model.__module__.partition(".")[2] for model in STRICT.values()}
    ordered = sorted(rooms)
    homes = "".join(f'    "{name}": "{rooms[name]}",\n' for name in ordered)
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


OF_MOMENTS = "PrivateMoments"
FIRST = {
    "PrivateATE": ("treatment", "assignment"),
    "SyntheticControl": ("outcome", "treated", "treatment_time", "unit", "time", "donors"),
    "IPW": ("outcome",),
    "CATE": ("treatment", "assignment"),
    "PrivateAdditive": (),
}
"""Arguments of R's functions that may be given by their places, after data and schema."""

RELEASES = {
    "MVHistogram": ("columns",),
    "Marginals": ("columns",),
    "Calibrated": ("treatment", "assignment"),
}
"""The same of files."""

PUBLISHED = {
    "published.MVHistogram": ("columns",),
    "published.Hybrid": ("treatment", "assignment"),
    "published.GenModel": ("treatment", "assignment"),
    "published.SyntheticControl": FIRST["SyntheticControl"],
    "published.IPW": ("outcome",),
    "published.CATE": ("treatment", "assignment"),
}
"""The same of the papers' algorithms."""

ONLY_PYTHON = {"allocation", "base"}
"""Options that are Python objects, which R has no form of."""


def models() -> str:
    """Text of ``r-wrapper/R/models.R``: a function of each method, with all of its options."""
    made = [
        "\n".join(_r_function(name, first, page) for name, first in methods.items())
        for page, methods in (
            ("releases", RELEASES),
            ("estimates", FIRST),
            ("published", PUBLISHED),
        )
    ]
    return written(TOP / "r-wrapper" / "R" / "models.R", made)


def moments() -> str:
    """Text of ``r-wrapper/R/moments.R``: the function of released moments, with all options."""
    return written(TOP / "r-wrapper" / "R" / "moments.R", [_r_function(OF_MOMENTS, (), "moments")])


def _r_function(name: str, first: tuple[str, ...], page: str) -> str:
    method = BY_NAME[name]
    options = {
        key: one
        for key, one in inspect.signature(method).parameters.items()
        if key not in {"data", "schema", "formula", *ONLY_PYTHON}
        and one.annotation not in (None, "None")
    }
    rest = [key for key in options if key not in first]
    needed = {key for key in first if options[key].default is inspect.Parameter.empty}
    formula = page == "published" or hasattr(method, "from_formula")
    formula &= not name.endswith("SyntheticControl")
    opening = f"{r_name(method)} <- function("
    formals = [
        *(["formula = NULL"] if formula else []),
        "data", "schema = NULL",
        *(key if key in needed else f"{key} = NULL" for key in first),
        "...", *(f"{key} = NULL" for key in rest),
    ]  # fmt: skip
    texts = {"formulas": "formula_texts(formulas, data, schema)"}
    if name == OF_MOMENTS:
        texts["columns"] = "column_texts(columns, data)"
    passed = [*(f"{key} = {texts.get(key, key)}" for key in (*first, *rest)), "..."]
    call = f'  model("{name}", {"formula" if formula else "NULL"}, data, schema,'
    return "\n".join([
        f"#' @rdname {page}", "#' @export", _wrapped(opening, formals) + ") {", call,
        _wrapped("    ", passed), "  )", "}", "",
    ])  # fmt: skip


def _wrapped(opening: str, parts: list[str]) -> str:
    """Parts with commas, in lines of R that begin below each other."""
    kept = [part.replace(" ", "\0") for part in parts]
    text = textwrap.fill(
        ", ".join(kept), 98, initial_indent=opening, subsequent_indent=" " * len(opening),
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    return text.replace("\0", " ")


def files() -> Mapping[Path, str]:
    """All files that list methods, with their text."""
    return {
        TOP / "dprct" / "__init__.py": names(),
        TOP / "r-wrapper" / "R" / "by_name.R": by_name(),
        TOP / "r-wrapper" / "R" / "models.R": models(),
        TOP / "r-wrapper" / "R" / "moments.R": moments(),
    }


if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")
