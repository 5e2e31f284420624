#!/usr/bin/env python3
"""Write docs/audit.md, and its figures into docs/why_believe_it.md, from what an audit left.

``make audit`` leaves one row per audit in build/audit.

    python scripts/audit_table.py [ROWS [PAGE]]

Rows of audits that did not run this time stay as they were in the page.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- rows of make audit -->", "<!-- end of rows -->"
THEOREMS, END_OF_THEOREMS = "<!-- theorems", "<!-- end of theorems -->"
HEAD = ("method", "neighbours", "event", "draws", "claimed", "certified", "ratio", "tight")


def line(row: dict[str, Any]) -> str:
    """Return one row of the table."""
    claimed = "mu " if row.get("measure") == "mu" else ""
    claimed += f"{row['claimed']:.4g}" + (f", delta {row['delta']:g}" if row["delta"] else "")
    cells = (
        row["method"], row["neighbours"], row["event"], f"2 x {2 * row['draws']:,}", claimed,
        f"{row['certified']:.2f}", f"{row['certified'] / row['claimed']:.0%}",
        "yes" if row["tight"] else "no",
    )  # fmt: skip
    return "| " + " | ".join(cells) + " |"


def kept(page: str) -> dict[tuple[str, str], str]:
    """Return the lines that a page has already, by method and neighbours."""
    found = {}
    for text in page.partition(BEGIN)[2].partition(END)[0].strip().splitlines()[2:]:
        cells = [cell.strip() for cell in text.strip("| ").split(" | ")]
        found[cells[0], cells[1]] = text
    return found


def written(page: str, rows: list[dict[str, Any]]) -> str:
    """Return the page with its table brought up to date.

    Raises
    ------
    ValueError
        If the page has no place for the table.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no {BEGIN} ... {END}")
    lines = kept(page) | {(row["method"], row["neighbours"]): line(row) for row in rows}
    head = ["| " + " | ".join(HEAD) + " |", "|---" * len(HEAD) + "|"]
    body = [lines[name] for name in sorted(lines)]
    return before + "\n".join([begin, *head, *body, end]) + after


def figures(page: str) -> dict[str, str]:
    """Return "certified of claimed" by method: the best among neighbours where it is tight."""
    best: dict[str, tuple[float, str]] = {}
    for (method, _), text in kept(page).items():
        cells = text.strip("| ").split(" | ")
        claimed, certified = cells[4].split(",")[0], cells[5]
        share = float(certified) / float(claimed.removeprefix("mu "))
        if cells[7] == "yes" and share > best.get(method, (0.0, ""))[0]:
            best[method] = share, f"{certified} of {claimed}"
    return {method: words for method, (_, words) in best.items()}


def figured(theorems: str, page: str) -> str:
    """Return the page of theorems with the figures of the audit in its last column."""
    before, begin, rest = theorems.partition(THEOREMS)
    table, end, after = rest.partition(END_OF_THEOREMS)
    found = figures(page)
    lines = []
    for text in table.split("\n"):
        cells = text.split(" | ")
        method = cells[0].removeprefix("| ").strip("`")
        lines.append(" | ".join([*cells[:-1], f"{found[method]} |"]) if method in found else text)
    return before + begin + "\n".join(lines) + end + after


def dated(page: str, rows: int) -> str:
    """Return the page with the commit at which rows were renewed last."""
    words = ["git", "rev-parse", "--short", "HEAD"]
    told = subprocess.run(words, cwd=TOP, capture_output=True, text=True, check=False)
    line = f"Renewed last at commit {told.stdout.strip() or 'unknown'}: {rows} rows."
    return re.sub(r"^Renewed last at commit .*$", line, page, flags=re.MULTILINE)


def main(arguments: list[str]) -> None:
    """Rewrite the page."""
    folder = Path(arguments[0]) if arguments else TOP / "build" / "audit"
    page = Path(arguments[1]) if len(arguments) > 1 else TOP / "docs" / "audit.md"
    rows = [json.loads(file.read_text("utf-8")) for file in sorted(folder.glob("*.json"))]
    if not rows:
        raise SystemExit(f"there are no rows in {folder}; run make audit first")
    text = dated(written(page.read_text("utf-8"), rows), len(rows))
    page.write_text(text, encoding="utf-8")
    if len(arguments) <= 1:
        why = TOP / "docs" / "why_believe_it.md"
        why.write_text(figured(why.read_text("utf-8"), text), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
