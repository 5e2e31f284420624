"""Make thornton_hiv.dta from the copy in the package causaldata: python data/make_thornton.py.

The values are those of the source.  What is added are the facts that a labelled Stata file has,
so that the example shows what happens to them; `data/README.md` lists what was changed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import causaldata
import numpy as np
import pandas as pd

from dprct.io.stata import write_dta
from dprct.missing import tagged
from dprct.schema import Column, FileFacts, Schema

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from dprct.schema.columns import Code

TARGET = Path(__file__).with_name("thornton_hiv.dta")

NOTES = (
    "Thornton, R. L. (2008). The Demand for, and Impact of, Learning HIV Status. "
    "American Economic Review 98(5), 1829-1863.",
    "Values from thornton_hiv in the Python package causaldata (MIT licence, N. Huntington-Klein); "
    "labels of values and the code .a were added by data/make_thornton.py of dprct.",
)

NOT_RECORDED = frozenset({"got", "tinc", "any", "hiv2004"})
"""Columns whose missing values become .a: not recorded in 2004."""

COLUMNS = (
    Column("villnum", "int", "%9.0g", "Village ID"),
    Column("got", "byte", "%8.0g", "Got HIV results", value_label="yesno"),
    Column("distvct", "float", "%6.3f", "Distance in km"),
    Column("tinc", "float", "%9.0g", "Total value of the incentive (kwacha)", value_label="amount"),
    Column("any", "byte", "%8.0g", "Received any incentive", value_label="yesno"),
    Column("age", "byte", "%10.0g", "Age"),
    Column("hiv2004", "byte", "%9.0g", "HIV results", value_label="result"),
)

LABELS: Mapping[str, Mapping[Code, str]] = {
    "yesno": {0: "no", 1: "yes", ".a": "not recorded"},
    "amount": {".a": "not recorded"},
    "result": {-1: "other (undocumented)", 0: "negative", 1: "positive", ".a": "not recorded"},
}


def schema(rows: int) -> Schema:
    """Everything that the file says besides its values."""
    notes = [("_dta", f"note{number}", text) for number, text in enumerate(NOTES, 1)]
    return Schema(
        COLUMNS,
        FileFacts(
            release=118,
            label="Thornton (2008): learning HIV results, Malawi",
            sorted_by=("villnum",),
            value_labels=LABELS,
            characteristics=(("_dta", "note0", str(len(NOTES))), *notes),
            rows=rows,
        ),
    )


def values() -> pd.DataFrame:
    """Return the values of the source, sorted as it is, with the code .a where it applies."""
    source = causaldata.thornton_hiv.load_pandas().data[[column.name for column in COLUMNS]]
    source = source.sort_values("villnum", kind="stable", na_position="last", ignore_index=True)
    return pd.DataFrame(
        {
            name: _with_codes(source[name].to_numpy(np.float64), int(name in NOT_RECORDED))
            for name in source.columns
        }
    )


def make(target: Path = TARGET) -> Path:
    """Write the file; the same bytes every time."""
    data = values()
    write_dta(data, schema(len(data)), target)
    return target


def _with_codes(numbers: NDArray[np.float64], code: int) -> NDArray[np.float64]:
    return np.where(np.isnan(numbers), tagged(code), numbers)


if __name__ == "__main__":
    make()
