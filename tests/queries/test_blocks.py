from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import duckdb
import narwhals as nw
import numpy as np
import polars as pl
import pytest

from dprct.errors import EngineError
from dprct.queries import additive as module
from dprct.queries.additive import Block, EngineCodes, engine_sums, shared
from dprct.queries.counts import ROWS, Digit, grouped
from dprct.schema.tables import table

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = (3, 4, 2, 5)
N = 400
_RNG = np.random.default_rng(5)
CODES = [_RNG.integers(0, size, N) for size in SIZES]
K = _RNG.integers(-(2**19), 2**19 + 1, N)
BLOCKS = (
    Block((), (), counts=False),
    *(Block((j,), (size,)) for j, size in enumerate(SIZES)),
    Block((3, 0), (5, 3)),  # in an order of its own
    Block((1, 2, 3), (4, 2, 5)),
)
ENGINES: dict[str, Callable[[pl.DataFrame], Any]] = {
    "Polars": lambda frame: frame.lazy(),
    "DuckDB": lambda frame: duckdb.from_arrow(frame.to_arrow()),
}


def digits(*sizes: int) -> tuple[Digit, ...]:
    return tuple(Digit(f"c{j}", np.arange(size)) for j, size in enumerate(sizes))


def codes_in(engine: str) -> EngineCodes:
    frame = pl.DataFrame({**{f"c{j}": c for j, c in enumerate(CODES)}, "k": K})
    lazy: Any = table(ENGINES[engine](frame.sample(fraction=1, shuffle=True, seed=2)))
    return EngineCodes(lazy, digits(*SIZES), N)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("most", [1, 15, 1 << 14])  # one block a pass, some together, all
def test_sums_are_those_of_numpy_however_blocks_share_passes(
    engine: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_GROUPS", most)
    k = {"k": nw.col("k")}
    found, totals = engine_sums(codes_in(engine), BLOCKS, k, {"kk": nw.col("k") * nw.col("k")})
    assert totals == {"kk": int((K.astype(object) ** 2).sum())}
    for block, sums in zip(BLOCKS, found, strict=True):
        cell = block.cell([c.astype(np.int32) for c in CODES], N)
        expected = np.bincount(cell, weights=K, minlength=block.size)
        assert sums["k"].tolist() == expected.tolist()
        assert sums[ROWS].tolist() == np.bincount(cell, minlength=block.size).tolist()


def test_passes_are_as_few_as_the_sizes_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_GROUPS", 24)
    assert [(sorted(s), p) for s, p in shared(BLOCKS)] == [
        ([0, 1, 2], [0, 1, 2, 3]), ([0, 3], [4, 5]), ([1, 2, 3], [6]),
    ]  # fmt: skip


def test_a_block_larger_than_the_limit_has_a_pass_of_its_own() -> None:
    large = Block((0, 1), (1000, 1000))
    assert [p for _, p in shared((Block((0,), (1000,)), large, Block((2,), (4,))))] == [[0, 2], [1]]


def test_cells_without_rows_are_zero() -> None:
    codes = EngineCodes(
        nw.from_native(pl.DataFrame({"c0": [2, 2], "k": [5, 6]}).lazy()), digits(4), 2
    )
    found, totals = engine_sums(codes, [Block((0,), (4,))], {"k": nw.col("k")}, {})
    assert (found[0]["k"].tolist(), totals) == ([0, 0, 11, 0], {})


def test_columns_beside_the_codes_are_named() -> None:
    codes = codes_in("Polars").beside(double=nw.col("k") * 2)
    found, _ = engine_sums(codes, BLOCKS[:1], {"s": nw.col("double")}, {})
    assert found[0]["s"].tolist() == [2 * int(K.sum())]


@pytest.mark.parametrize("engine", ENGINES)
def test_more_digits_than_a_double_holds_are_several_numbers(engine: str) -> None:
    rng = np.random.default_rng(6)
    columns = rng.integers(0, 1000, (N, 7))  # 10^21 cells
    frame = pl.DataFrame({f"c{j}": column for j, column in enumerate(columns.T)})
    twice: Any = table(ENGINES[engine](pl.concat([frame, frame])))
    codes, found = grouped(twice, digits(*[1000] * 7))
    assert sorted(codes.tolist()) == sorted(columns.tolist())
    assert set(found[ROWS].tolist()) == {2}


def test_sums_that_doubles_may_not_hold_are_added_as_integers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kinds: list[Any] = []

    def noted(rows: Any, keys: Any, sums: Any) -> Any:
        kinds.append(rows.select(**sums).collect_schema()["k"])
        return grouped(rows, keys, sums)

    monkeypatch.setattr(module, "grouped", noted)
    for most in (N << 20, (N << 20) - 1):
        monkeypatch.setattr(module, "EXACT", most)
        found, _ = engine_sums(codes_in("DuckDB"), BLOCKS[:1], {"k": nw.col("k")}, {})
        assert found[0]["k"].tolist() == [K.sum()]
    assert kinds == [nw.Float64, nw.Int64]


def test_another_number_of_rows_than_at_the_door_is_refused() -> None:
    codes = replace(codes_in("DuckDB"), n=N + 1)
    with pytest.raises(EngineError, match="had 401 rows when the model was made"):
        engine_sums(codes, BLOCKS[:1], {"k": nw.col("k")}, {})
