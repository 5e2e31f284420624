from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import pytest

from dprct.cli import main
from dprct.io.stata import read_dta, write_dta
from dprct.schema import Column, Schema

if TYPE_CHECKING:
    from pathlib import Path


def test_a_file_is_converted_there_and_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dta, parquet = tmp_path / "a.dta", tmp_path / "a.parquet"
    write_dta(pd.DataFrame({"x": [1.0, 2.0]}), Schema((Column("x", "byte"),)), dta)
    for source, target in ((dta, parquet), (parquet, tmp_path / "b.dta")):
        with pytest.raises(SystemExit) as ended:
            main(["convert", str(source), str(target)])
        assert ended.value.code == 0
        assert "a.schema.toml" in capsys.readouterr().out.replace("\n", "")
    assert read_dta(tmp_path / "b.dta")[0]["x"].tolist() == [1.0, 2.0]


def test_other_files_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["convert", str(tmp_path / "a.csv"), str(tmp_path / "a.dta")])
    assert ended.value.code == 2
    assert "one is a .dta" in capsys.readouterr().err.replace("\n", " ")
