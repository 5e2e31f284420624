"""List what only the owner of the project can fill in; exit 1 while anything is left.

``make release`` refuses then. ``python scripts/placeholders.py``
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
PLACES = (
    "README.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "CITATION.cff", "pyproject.toml",
    ".github/ISSUE_TEMPLATE/*.yml", "packaging/*", "r-wrapper/DESCRIPTION",
)  # fmt: skip
_BLANK = re.compile(r"example\.org|\bOWNER\b")


def left(top: Path = TOP) -> list[str]:
    """Lines that still hold a placeholder, as ``file:line: text``."""
    return [
        f"{path.relative_to(top).as_posix()}:{number}: {line.strip()}"
        for place in PLACES
        for path in sorted(top.glob(place))
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if _BLANK.search(line)
    ]


if __name__ == "__main__":
    found = left()
    print("\n".join(found) or "nothing is left to fill in")
    sys.exit(bool(found))
