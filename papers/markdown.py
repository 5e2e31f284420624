"""Tables of the reports and of the page, as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def markdown(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    r"""Table as Markdown; a bar within a cell is escaped.

    Examples
    --------
    >>> print(markdown(("a", "b"), [("1", "|x|")]))
    | a | b |
    |---|---|
    | 1 | \|x\| |
    """
    lines = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    return "\n".join([f"| {' | '.join(heads)} |", "|---" * len(heads) + "|", *lines])
