from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct.errors import FileError
from papers.rct import liberia

if TYPE_CHECKING:
    from pathlib import Path


def partners(values: list[float]) -> pd.DataFrame:
    return pd.DataFrame({"mpartners_b": values})


def test_the_slip_spares_only_the_odd_record() -> None:
    data = partners([0.0, 0.1, 3.0])
    assert liberia.slipped(data)["mpartners_b"].tolist() == [1.0, 0.1, 1.0]
    assert liberia.corrected(data)["mpartners_b"].tolist() == [0.0, 1.0, 3.0]
    assert data["mpartners_b"].tolist() == [0.0, 0.1, 3.0]


def test_the_file_is_found_by_its_name_below_the_folder(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "other.dta").touch()
    assert liberia.find(tmp_path) is None
    wanted = tmp_path / "in" / "LiberiaRound5.dta"
    wanted.touch()
    assert liberia.find(tmp_path) == wanted


def test_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "liberia_round5.dta"
    few = pd.DataFrame({"fam_asb_lt": [0.0, 1.0]})
    dprct.write_dta(few, dprct.Schema.from_frame(few), path)
    with pytest.raises(FileError, match=r"lacks drugssellever_ltav, .*round 5"):
        liberia.read(path)


def test_the_assignment_is_of_the_design(shared: Path, tmp_path: Path) -> None:
    found = liberia.find(shared / "data" / "liberia")
    assert found is not None
    data = liberia.read(found)
    assert liberia.design().check(data, attrition=True).problems == ()
    sets = liberia.models(list(data.columns))
    assert [len(spec.covariates) for spec in sets.values()] == [7, 10, 57]
    drawn = liberia.design().assign(data, np.random.default_rng(1))
    assert list(drawn.columns) == list(liberia.ARMS)
    short = data[1:].reset_index(drop=True)
    dprct.write_dta(short, dprct.Schema.from_frame(short), tmp_path / found.name)
    with pytest.raises(FileError, match="has 946 rows"):
        liberia.read(tmp_path / found.name)
