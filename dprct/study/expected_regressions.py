"""``expected.csv`` of a package: the numbers of the valid regressions of its do-files.

They are computed from the protected file, or read off the released moments: whoever has it can
compute them again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dprct.study.obstacles import VALID
from dprct.study.package_page import cells_of
from dprct.study.verdicts import terms_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from dprct.study.package_page import OnFile, OnMoments
    from dprct.study.verdicts import Verdict

_LEVEL = 0.05
"""Of the intervals, which are not among the numbers."""


def entries(
    found: Sequence[Verdict],
    on: OnFile | OnMoments,
    places: Collection[int] | None = None,
) -> list[dict[str, Any]]:
    """Every number of the valid regressions on a release, in the order of their run."""
    cells, _ = cells_of(found, on, _LEVEL, places)
    listed: dict[tuple[str, ...], dict[str, Any]] = {}
    for (place, arm), cell in cells.items():
        one = found[place]
        if one.kind not in VALID:
            continue
        row = one.regression
        own = {*row.treatments, *row.endogenous}
        others = " ".join(term for term in terms_of(row) if term not in own)
        errors = [word for word in (row.vce, *row.cluster) if word]
        rows = ["if", row.sample] if row.sample else []
        rows += [f"[{row.weights}]"] if row.weights else []
        numbers = {"estimate": cell.estimate, "std.error": cell.error}
        if one.reading is not None:  # of a file a reader's program computes them
            numbers |= {"conf.low": cell.low, "conf.high": cell.high}
        for statistic, value in numbers.items():
            entry = {
                "table": " ".join([f"{row.file}:{row.line}", row.command, *rows, *errors]),
                "covariates": others,
                "outcome": str(row.outcome),
                "arm": arm,
                "statistic": statistic,
            }
            listed.setdefault(tuple(entry.values()), {**entry, "value": value})
    return list(listed.values())
