"""The experiment of Blattman, Jamison and Sheridan (2017), as the paper's Section 5 uses it."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from dprct.assignment import Block, Factorial
from dprct.errors import FileError
from dprct.io.stata import read_dta
from papers.rct.specification import Specification

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pandas as pd

OUTCOMES = (
    "fam_asb_lt",
    "drugssellever_ltav",
    "stealnb_ltav",
    "disputes_all_z_ltav",
    "carryweapon_ltav",
    "arrested_ltav",
    "asbhostilstd_ltav",
    "domabuse_z_ltav",
)
ARMS: Mapping[str, str] = MappingProxyType(
    {"tpassonly": "Therapy Only", "cashassonly": "Cash Only", "tpcashass": "Both"}
)
BLOCKS = ("tp_strata_alt", "cg_strata")
REDUCED = (
    "age_b",
    "asbhostil_b",
    "drugssellever_b",
    "drinkboozeself_b",
    "druggrassself_b",
    "harddrugsever_b",
    "steals_b",
)
SUBSET = (*REDUCED, "school_b", "wealth_indexstd_b", "cognitive_score_b")
ROWS = 947
PARTNERS = "mpartners_b"


def find(folder: Path) -> Path | None:
    """Return the first file in a folder, or below it, whose name tells Liberia and round 5."""
    found = sorted(folder.rglob("*.dta"))
    return next((f for f in found if {"liberia", "round5"} <= _words(f.stem)), None)


def read(path: Path) -> pd.DataFrame:
    """Read the experiment.

    Parameters
    ----------
    path : Path
        A .dta file of the 947 rows of round 5.

    Returns
    -------
    (947, 71) DataFrame

    Raises
    ------
    FileError
        If columns or rows are not those of the experiment.
    """
    data, _ = read_dta(path)
    wanted = [*OUTCOMES, *ARMS, *BLOCKS, *SUBSET, PARTNERS]
    missing = [name for name in wanted if name not in data.columns]
    if missing:
        raise FileError(
            f"{path.name} lacks {', '.join(missing)}; give the file of round 5 with the names of "
            "the replication package of Blattman, Jamison and Sheridan (2017)"
        )
    if len(data) != ROWS:
        raise FileError(f"{path.name} has {len(data)} rows; keep the {ROWS} found in round 5")
    return data


def baseline(columns: Sequence[str]) -> tuple[str, ...]:
    """Return the full covariate set: every column measured at baseline.

    Examples
    --------
    >>> baseline(["age_b", "fam_asb_lt", "muslim_b"])
    ('age_b', 'muslim_b')
    """
    return tuple(name for name in columns if name.endswith("_b"))


def covariate_sets(columns: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the covariate sets of Table 12 by their names in it."""
    return {"Reduced Subset": REDUCED, "Subset": SUBSET, "Full Baseline": baseline(columns)}


def slipped(data: pd.DataFrame) -> pd.DataFrame:
    """Return the data as the authors' code had them after a slip.

    Notes
    -----
    One person has a count of partners that is no whole number.  The correction to 1 was applied
    to everybody else instead, which leaves a column that is 1 but for that person.
    """
    odd = ~np.isin(data[PARTNERS], range(6))
    return data.assign(**{PARTNERS: data[PARTNERS].where(odd, 1.0)})


def corrected(data: pd.DataFrame) -> pd.DataFrame:
    """Return the data with that one count of partners set to 1, as the code may have meant."""
    odd = ~np.isin(data[PARTNERS], range(6))
    return data.assign(**{PARTNERS: data[PARTNERS].mask(odd, 1.0)})


def design() -> Factorial:
    """Return how the experiment was assigned: cash within one stratification, therapy in another.

    Examples
    --------
    >>> design().columns
    ('tpassonly', 'cashassonly', 'tpcashass')
    """
    return Factorial(
        [Block("cash", block="cg_strata"), Block("therapy", block="tp_strata_alt")],
        arms={"tpassonly": ["therapy"], "cashassonly": ["cash"], "tpcashass": ["cash", "therapy"]},
    )


def models(columns: Sequence[str]) -> dict[str, Specification]:
    """Return the regressions of all outcomes by covariate set."""
    return {
        name: Specification(OUTCOMES, tuple(ARMS), covariates, BLOCKS, design())
        for name, covariates in covariate_sets(columns).items()
    }


def _words(stem: str) -> set[str]:
    return {word for word in ("liberia", "round5") if word in stem.lower()}
