"""The NSW experiment as R's functions send it: declared, read, and clipped at 40,000."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from dprct.rbridge.registry import exported

if TYPE_CHECKING:
    from pathlib import Path

    from dprct.rbridge.convert import Table

import dprct.rbridge.api  # noqa: F401  # registers the functions

FACTS = {
    "re78": {
        "bounds": np.array([0.0, 40000.0]),
        "sd": 6500,
        "missing": "never",
        "fate": "modelled",
    },
    "treat": {"levels": np.array([0, 1]), "missing": "never", "fate": "public"},
}


@pytest.fixture(scope="session")
def nsw_path(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A copy, since what is opened is remembered next to the file."""
    folder = tmp_path_factory.mktemp("nsw")
    return str(shutil.copy(checkout / "data" / "nsw_mixtape.dta", folder))


@pytest.fixture
def nsw(nsw_path: str) -> Table:
    header = exported("schema_read")(nsw_path).live
    declared = exported("schema_declare")(header, FACTS, rest="drop", confirm_header=True).live
    table: Table = exported("read_dta")(nsw_path, declared)
    table.data["re78"] = np.minimum(table.data["re78"], 40000)
    return table


@pytest.fixture
def design() -> dict[str, Any]:
    return {"kind": "Complete", "options": {"arms": "treat", "shares": 185 / 445}}


@pytest.fixture
def effect(nsw: Table, design: dict[str, Any]) -> Any:
    """A private effect, bound to its data."""
    options = {"assignment": design}
    return exported("model")("PrivateATE", nsw, options, "re78 ~ treat").live


@pytest.fixture
def release(nsw: Table, design: dict[str, Any]) -> Any:
    """A calibrated release, as R gets it."""
    options = {
        "assignment": design,
        "treatment": "treat",
        "covariate_release": "filler",
    }
    model = exported("model")("Calibrated", nsw, options, "re78 ~ treat").live
    return exported("fit")(model, 1.0)
