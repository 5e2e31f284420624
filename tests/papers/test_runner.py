"""Cells of a replication: what is kept of them, and when it is used again."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import pandas as pd
import pytest

from dprct.errors import ParameterError
from papers.runner import THREADS, Settings, Store, check_counts, drawn, finished, one_thread_each

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Cell(Settings):
    """Draws from one seed."""

    FORMAT: ClassVar[int] = 1

    design: str
    seed: int

    @property
    def label(self) -> str:
        return f"{self.design} {self.seed}"

    def compute(self) -> pd.DataFrame:
        return pd.DataFrame({"draw": [0, 1], "value": [self.seed / 3, 0.1]})


class Next(Cell):
    """The same settings under a law that was changed."""

    FORMAT: ClassVar[int] = 2


CELL = Cell("one/two", 7)


def test_what_is_kept_comes_back_exactly(tmp_path: Path) -> None:
    store = Store(tmp_path / "cells")
    store.save(CELL, CELL.compute())
    assert store.path(CELL).name == f"one-two-7-{CELL.key[:12]}.json"
    pd.testing.assert_frame_equal(store.load(CELL), CELL.compute(), check_exact=True)


@pytest.mark.parametrize("other", [Cell("one/two", 8), Cell("one", 7), Next("one/two", 7)])
def test_other_settings_and_another_law_are_another_cell(tmp_path: Path, other: Cell) -> None:
    store = Store(tmp_path)
    store.save(CELL, CELL.compute())
    assert other.key != CELL.key
    assert store.load(other) is None


def test_a_file_of_other_settings_or_cut_short_is_not_used(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.save(CELL, CELL.compute())
    path = store.path(CELL)
    text = path.read_text()
    for changed in (text.replace('"seed": 7', '"seed": 9', 1), text[:20], text[:-3]):
        path.write_text(changed)
        assert store.load(CELL) is None


def test_only_what_is_not_kept_is_drawn_and_all_comes_in_order(tmp_path: Path) -> None:
    cells = {seed: Cell("one", seed) for seed in range(4)}
    store, begun, said = Store(tmp_path), [], []
    store.save(cells[2], cells[2].compute())

    def compute(seed: int) -> pd.DataFrame:
        begun.append(seed)
        return cells[seed].compute()

    calls = {seed: partial(compute, seed) for seed in reversed(cells)}
    found = drawn(cells, calls, store, 1, lambda *words: said.append(words))
    assert begun == [3, 1, 0]
    assert list(found) == [0, 1, 2, 3]
    assert [frame["value"][0] for frame in found.values()] == [seed / 3 for seed in range(4)]
    assert said == [("kept from before", 1, 4), ("one 3", 2, 4), ("one 1", 3, 4), ("one 0", 4, 4)]
    assert drawn(cells, calls, store, 1).keys() == cells.keys()
    assert begun == [3, 1, 0]  # everything was kept


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ((0, 1, 0), "draws=0; give a whole number of 1 or more"),
        ((None, 0, 0), "jobs=0; give a whole number of 1 or more"),
        ((9, 1, -1), "seed=-1; give a whole number of 0 or more"),
    ],
)
def test_counts_that_are_too_small_are_refused(counts: tuple[int, int, int], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        check_counts(*counts)
    with pytest.raises(ParameterError, match="draws=1; give a whole number of 2 or more"):
        check_counts(1, 1, 0, fewest=2)
    check_counts(None, 1, 0, fewest=2)


def test_processes_return_what_one_process_returns() -> None:
    todo = {name: partial(int, name) for name in "123"}
    assert dict(finished(todo, 1)) == {"1": 1, "2": 2, "3": 3}
    assert dict(finished(todo, 2)) == {"1": 1, "2": 2, "3": 3}


def test_an_error_in_a_process_is_raised_here() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        list(finished({1: partial(int, "one"), 2: partial(int, "2")}, 2))


def test_threads_are_as_before_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(THREADS[0], "7")
    monkeypatch.delenv(THREADS[1], raising=False)
    with one_thread_each():
        assert {os.environ[name] for name in THREADS} == {"1"}
    assert os.environ[THREADS[0]] == "7"
    assert THREADS[1] not in os.environ
