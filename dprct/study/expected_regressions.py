"""``expected.csv`` of a package without declared tables: the valid regressions of its do-files.

The numbers are computed from the protected file: whoever has it can compute them again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dprct.study.package_page import cells_of
from dprct.study.verdicts import terms_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import pandas as pd

    from dprct.schema.schema import Schema
    from dprct.study.verdicts import Verdict

_LEVEL = 0.05
"""Of the intervals, which are not among the numbers."""


def entries(
    found: Sequence[Verdict],
    data: pd.DataFrame,
    schema: Schema,
    places: Collection[int] | None = None,
) -> list[dict[str, Any]]:
    """Every number of the valid regressions on a protected file, in the order of their run.

    Parameters
    ----------
    data, schema : DataFrame, Schema
        The protected file.
    places : collection of int, optional
        The places of the regressions that are on it; all by default.
    """
    cells, _ = cells_of(found, data, schema, _LEVEL, places)
    listed: dict[tuple[str, ...], dict[str, Any]] = {}
    for (place, arm), cell in cells.items():
        one = found[place]
        if one.kind != "valid":
            continue
        row = one.regression
        own = {*row.treatments, *row.endogenous}
        others = " ".join(term for term in terms_of(row) if term not in own)
        errors = " ".join(word for word in (row.vce, *row.cluster) if word)
        for statistic, value in (("estimate", cell.estimate), ("std.error", cell.error)):
            entry = {
                "table": f"{row.file}:{row.line} {row.command} {errors}".rstrip(),
                "covariates": others,
                "outcome": str(row.outcome),
                "arm": arm,
                "statistic": statistic,
            }
            listed.setdefault(tuple(entry.values()), {**entry, "value": value})
    return list(listed.values())
