"""Make nsw_mixtape.dta from the copy in the package causaldata: python data/make_nsw.py.

The values are those of the source.  What is added are the facts that a labelled Stata file has;
`data/README.md` lists what was changed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import causaldata
import numpy as np
import pandas as pd

from dprct.io.stata import write_dta
from dprct.schema import Column, FileFacts, Schema

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dprct.schema.columns import Code

TARGET = Path(__file__).with_name("nsw_mixtape.dta")

NOTES = (
    "LaLonde, R. J. (1986). Evaluating the Econometric Evaluations of Training Programs with "
    "Experimental Data. American Economic Review 76(4), 604-620.",
    "Dehejia, R. H. and Wahba, S. (1999). Causal Effects in Nonexperimental Studies. "
    "Journal of the American Statistical Association 94(448), 1053-1062.",
    "Values from nsw_mixtape in the Python package causaldata (MIT licence, N. Huntington-Klein); "
    "labels of values were added by data/make_nsw.py of dprct.",
)

COLUMNS = (
    Column("data_id", "str20", "%20s", "Individual ID"),
    Column("treat", "byte", "%9.0g", "In the NSW job-training program", value_label="arm"),
    Column("age", "byte", "%9.0g", "Age in years"),
    Column("educ", "byte", "%9.0g", "Years of education"),
    Column("black", "byte", "%9.0g", "Race: Black", value_label="yesno"),
    Column("hisp", "byte", "%9.0g", "Ethnicity: Hispanic", value_label="yesno"),
    Column("marr", "byte", "%9.0g", "Married", value_label="yesno"),
    Column("nodegree", "byte", "%9.0g", "Has no degree", value_label="yesno"),
    Column("re74", "float", "%9.2f", "Real earnings 1974"),
    Column("re75", "float", "%9.2f", "Real earnings 1975"),
    Column("re78", "float", "%9.2f", "Real earnings 1978"),
)

LABELS: Mapping[str, Mapping[Code, str]] = {
    "arm": {0: "control", 1: "training"},
    "yesno": {0: "no", 1: "yes"},
}


def schema(rows: int) -> Schema:
    """Everything that the file says besides its values."""
    notes = [("_dta", f"note{number}", text) for number, text in enumerate(NOTES, 1)]
    return Schema(
        COLUMNS,
        FileFacts(
            release=118,
            label="National Supported Work, Dehejia-Wahba sample",
            value_labels=LABELS,
            characteristics=(("_dta", "note0", str(len(NOTES))), *notes),
            rows=rows,
        ),
    )


def values() -> pd.DataFrame:
    """Return the values of the source, in its order."""
    source = causaldata.nsw_mixtape.load_pandas().data
    return pd.DataFrame(
        {
            column.name: source[column.name].to_numpy(object if column.is_text else np.float64)
            for column in COLUMNS
        }
    ).astype({"data_id": object})


def make(target: Path = TARGET) -> Path:
    """Write the file; the same bytes every time."""
    data = values()
    write_dta(data, schema(len(data)), target)
    return target


if __name__ == "__main__":
    make()
