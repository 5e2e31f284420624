from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from dprct.cli import main
from dprct.io.convert import convert
from dprct.io.stata import read_dta, write_dta
from dprct.schema import Column, Schema

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def dta(tmp_path: Path) -> Path:
    path = tmp_path / "a.dta"
    write_dta(pd.DataFrame({"x": [1.0, 2.0]}), Schema((Column("x", "byte"),)), path)
    return path


def run(*arguments: str | Path) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["convert", *map(str, arguments)])
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_a_file_is_converted_there_and_back(dta: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parquet, back = dta.with_suffix(".parquet"), dta.with_name("b.dta")
    for source, target in ((dta, parquet), (parquet, back)):
        assert run(source, target) == 0
        said = capsys.readouterr()
        assert said.out == f"wrote {target}; its schema is {parquet.with_suffix('.schema.toml')}\n"
        assert not said.err
    assert read_dta(back)[0]["x"].tolist() == [1.0, 2.0]


def test_other_files_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path / "a.csv", tmp_path / "a.dta") == 2
    assert "one is a .dta" in capsys.readouterr().err.replace("\n", " ")


def test_a_file_that_exists_is_replaced_only_by_force(
    dta: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parquet = dta.with_suffix(".parquet")
    parquet.write_text("precious")
    assert run(dta, parquet) == 2
    assert "exists; choose another name" in capsys.readouterr().err
    assert parquet.read_text() == "precious"
    assert run(dta, parquet, "--force") == 0
    assert parquet.read_bytes()[:4] == b"PAR1"


def test_a_scheduler_that_ends_it_finds_nothing_half_written(
    dta: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def ended(source: Path, target: Path, progress: object, *, overwrite: bool) -> None:
        assert callable(progress)
        convert(
            source, target, lambda *_: os.kill(os.getpid(), signal.SIGTERM), overwrite=overwrite
        )

    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr("dprct.io.convert.convert", ended)
    assert run(dta, dta.with_suffix(".parquet")) == 130
    assert "nothing half written is left" in capsys.readouterr().err
    assert [f.name for f in dta.parent.iterdir()] == ["a.dta"]
    assert signal.getsignal(signal.SIGTERM) is before
