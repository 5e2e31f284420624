"""The numbers that a paper printed, beside those of its release.

They were computed on the confidential data, are public because the paper is, and are no part of
what is released: nothing of a release depends on them.
"""

from __future__ import annotations

import csv
import io
import math
from typing import TYPE_CHECKING

from dprct import disk
from dprct.errors import FileError
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from dprct.study.package_page import Cell
    from dprct.study.verdicts import Verdict

HEADER = ("file", "line", "outcome", "term", "estimate", "error")
_MOST = 10_000


@dataclass(frozen=True)
class Published:
    """A coefficient of a paper."""

    # file, line, outcome, term: which regression of the do-files, and which of its coefficients.
    file: str
    line: str
    outcome: str
    term: str
    # estimate, error: NaN where the paper prints none.
    estimate: float
    error: float


def published_numbers(path: Path) -> tuple[Published, ...]:
    """Return the numbers of a file that the author typed off the paper."""
    wrong = f"{path.name!r} is not a list of published numbers: its columns are {', '.join(HEADER)}"
    try:
        text = disk.content(path, disk.MOST_JSON).decode("utf-8-sig")
        rows = list(csv.reader(io.StringIO(text)))
    except (OSError, UnicodeDecodeError, csv.Error):
        raise FileError(f"cannot read {path.name!r}; give a .csv of {', '.join(HEADER)}") from None
    if not rows or tuple(rows[0]) != HEADER or len(rows) > _MOST:
        raise FileError(wrong)
    try:
        return tuple(
            Published(file, line, outcome, term, _number(estimate), _number(error))
            for file, line, outcome, term, estimate, error in rows[1:]
        )
    except ValueError:
        raise FileError(
            f"{path.name!r} has a row of more or fewer cells, or an estimate or error that is "
            "not a number"
        ) from None


def _number(cell: str) -> float:
    return float(cell) if cell.strip() else math.nan


def beside_released(
    numbers: Sequence[Published], found: Sequence[Verdict], cells: Mapping[tuple[int, str], Cell]
) -> tuple[tuple[str, str, str, str, str], ...]:
    """Return rows: place, coefficient, what was printed, what was released, and the gap.

    The gap is in released errors: most are within 2, because these contain sampling and noise.
    """
    rows = []
    for one in numbers:
        at = [k for k, x in enumerate(found) if _is_of(one, x)]
        cell = next((cells[k, one.term] for k in at if (k, one.term) in cells), None)
        printed = _shown(one.estimate, one.error)
        place, term = f"{one.file}:{one.line}", f"{one.term} on {one.outcome}"
        if cell is None:
            why = found[at[0]].kind if at else "no such regression"
            rows.append((place, term, printed, f"not released ({why})", ""))
            continue
        gap = (cell.estimate - one.estimate) / cell.error if cell.error > 0 else math.nan
        said = f"{gap:+.1f}" if math.isfinite(gap) else ""
        rows.append((place, term, printed, _shown(cell.estimate, cell.error), said))
    return tuple(rows)


def _is_of(one: Published, verdict: Verdict) -> bool:
    row = verdict.regression
    return (row.file, str(row.line), row.outcome) == (one.file, one.line.strip(), one.outcome)


def _shown(estimate: float, error: float) -> str:
    return f"{estimate:.4g}" + (f" ({error:.4g})" if math.isfinite(error) else "")
