"""People of the social pressure experiment who got no letter: covariates, and whether they voted.

The paper spikes another experiment (Arceneaux, Gerber and Green 2006), which is not at hand.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from dprct.errors import FileError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

VOTING_FILE = "social.csv.gz"
YEAR = 2006
"""Of the election."""


@lru_cache(maxsize=2)
def voting_people(file: Path) -> tuple[Array, Array]:
    """Return sex (1 is female), age, vote of 2004 and household size (n, 4), and the vote (n,).

    Raises
    ------
    FileError
        If it is not the file of Gerber, Green and Larimer (2008).
    """
    try:
        rows = pd.read_csv(file)
        rows = rows[rows["messages"] == "Control"]
        columns = [
            rows["sex"] == "female", YEAR - rows["yearofbirth"], rows["primary2004"],
            rows["hhsize"],
        ]  # fmt: skip
        voted = rows["primary2006"].to_numpy(float)
    except (OSError, KeyError, ValueError, UnicodeDecodeError) as error:
        raise FileError(f"{file} is not the social pressure file; give {VOTING_FILE}") from error
    return np.column_stack([column.to_numpy(float) for column in columns]), voted
