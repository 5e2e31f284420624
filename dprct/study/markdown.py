"""Words of other people inside Markdown: they are read as words, whatever is in them."""

from __future__ import annotations

import re

_SPECIAL = re.compile(r"([\\`*\[\]<>|~&]|(?<!\w)_|_(?!\w))")
_BLOCK = re.compile(r"^(#|[-+=]|\d+[.)])")
_PARAGRAPH = re.compile(r"\n\s*\n")
_TICKS = re.compile(r"`+")


def plain(text: str) -> str:
    r"""Return text as one line that Markdown shows as it is.

    Examples
    --------
    >>> plain("Cash | *and*\n<b>therapy</b>")
    'Cash \\| \\*and\\* \\<b\\>therapy\\</b\\>'
    """
    line = _SPECIAL.sub(r"\\\1", " ".join(text.split()))
    return _BLOCK.sub(lambda found: f"{found[1][:-1]}\\{found[1][-1]}", line)


def prose(text: str) -> str:
    r"""Return text of several paragraphs, each shown as it is.

    Examples
    --------
    >>> prose("Apply to the bureau.\n\n# It takes a year.")
    'Apply to the bureau.\n\n\\# It takes a year.'
    """
    return "\n\n".join(plain(part) for part in _PARAGRAPH.split(text.strip()))


def code(text: str, *, cell: bool = False) -> str:
    r"""Return a name in the type of code, inside the cell of a table if so said.

    Examples
    --------
    >>> print(code("a`b"), code("a|b", cell=True))
    ``a`b`` `a\|b`
    """
    line = " ".join(text.split())
    longest = max((len(run) for run in _TICKS.findall(line)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    inside = line.replace("|", "\\|") if cell else line
    return f"{fence}{pad}{inside}{pad}{fence}"
