from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from dprct.errors import FileError, ParameterError
from papers.rct import regenerate
from papers.rct.run import Cell
from papers.rct.sources import Source
from papers.runner import Store

if TYPE_CHECKING:
    from pathlib import Path


def test_a_table_is_written_in_four_forms_and_resumed(tmp_path: Path) -> None:
    done: list[tuple[str, int, int]] = []
    first = regenerate(tmp_path, [1], draws=2, progress=lambda *now: done.append(now))
    assert done[0] == ("kept from before", 0, 15)
    assert [now[1] for now in done] == list(range(16))
    for ending in ("txt", "tex", "html", "csv"):
        assert (tmp_path / f"table_01.{ending}").stat().st_size > 500
    numbers = pd.read_csv(tmp_path / "table_01.csv")
    assert len(numbers) == 45
    assert numbers["ours"].notna().all()
    # an interrupted run lacks some; only these are done again
    for path in sorted((tmp_path / "cells").iterdir())[:4]:
        path.unlink()
    done.clear()
    again = regenerate(tmp_path, [1], draws=2, progress=lambda *now: done.append(now))
    assert done[0] == ("kept from before", 11, 15)
    assert len(done) == 5
    pd.testing.assert_frame_equal(again[0].numbers, first[0].numbers)
    done.clear()
    regenerate(tmp_path, [1], draws=2, seed=2, progress=lambda *now: done.append(now))
    assert done[0] == ("kept from before", 0, 15)


def test_the_other_tables_run_on_the_papers_data(shared: Path, tmp_path: Path) -> None:
    data = shared / "data"
    made = regenerate(tmp_path, [11, 12, 13], data=data, draws=1)
    assert [one.number for one in made] == [11, 12, 13]
    sentences = {one.number: one.summary for one in made}
    assert sentences[11] == "80 of 80 printed numbers are ours."
    assert sentences[12].startswith(
        "216 of 216 printed numbers are ours; without the slip 25 of 72"
    )
    assert made[2].numbers["ours"].notna().all()


def test_processes_draw_what_one_process_draws(tmp_path: Path) -> None:
    one = regenerate(tmp_path / "one", [1], draws=1, jobs=1)
    two = regenerate(tmp_path / "two", [1], draws=1, jobs=2)
    pd.testing.assert_frame_equal(one[0].numbers, two[0].numbers)


def test_tables_without_their_data_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"table 13 is about Liberia.*--data"):
        regenerate(tmp_path, [1, 13])
    with pytest.raises(FileError, match="is not a folder"):
        regenerate(tmp_path, [1], data=tmp_path / "none")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("option", [{"draws": 0}, {"jobs": 0}, {"seed": -1}])
def test_bad_options_are_refused(tmp_path: Path, option: dict[str, int]) -> None:
    with pytest.raises(ParameterError, match=next(iter(option))):
        regenerate(tmp_path, [1], **option)  # type: ignore[arg-type]


CELL = Cell("sim1", "Table 1", "MV Histogram", "0.5", 3, 1, "abc")


@pytest.mark.parametrize(
    "change",
    [{"epsilon": "1"}, {"draws": 4}, {"seed": 2}, {"data": "abd"}, {"method": "Hybrid"}],
)
def test_a_changed_setting_is_another_cell(tmp_path: Path, change: dict[str, object]) -> None:
    store = Store(tmp_path)
    store.save(CELL, CELL.compute(Source("sim1", None)))
    other = replace(CELL, **change)  # type: ignore[arg-type]
    assert other.key != CELL.key
    assert store.load(CELL) is not None
    assert store.load(other) is None


def test_the_same_settings_draw_the_same() -> None:
    source = Source("sim1", None)
    first, again = (CELL.compute(source) for _ in range(2))
    pd.testing.assert_frame_equal(first, again)
    other = replace(CELL, seed=2).compute(source)
    assert (first["estimate"] != other["estimate"]).all()
    assert first["estimate"].nunique() == 3
