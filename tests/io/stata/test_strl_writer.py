from __future__ import annotations

import io
import itertools

import numpy as np
import pytest

from dprct.io.stata.layout import LAYOUTS
from dprct.io.stata.strl import RawText
from dprct.io.stata.strl_writer import StrlWriter
from dprct.schema import Column

LAYOUT = LAYOUTS[118]
COLUMNS = (Column("x", "strL"), Column("y", "strL"))


def written(values, step, spool):
    writer = StrlWriter(LAYOUT, "<", spool)
    cells = [[], []]
    for start in range(0, len(values[0]), step):
        for k, column in enumerate(COLUMNS):
            part = values[k][start : start + step]
            cells[k].extend(writer.cells(part, k + 1, column).tolist())
        writer.end_piece(len(part))
    out = io.BytesIO()
    writer.copy_to(out)
    assert writer.size == len(out.getvalue())
    return cells, out.getvalue()


@pytest.mark.parametrize("step", [1, 7, 64, 999])
def test_pieces_give_what_one_piece_gives(step):
    rng = np.random.default_rng(1)
    pool = [*(f"text {i}" for i in range(300)), "", b"", b"text 1", RawText(b"\xff"), b"\xff"]
    values = [[pool[i] for i in rng.integers(0, len(pool), 1_000)] for _ in COLUMNS]
    assert written(values, step, io.BytesIO()) == written(values, 1_000, None)


def test_what_is_kept_of_a_text_does_not_grow_with_it():
    spool = io.BytesIO()
    writer = StrlWriter(LAYOUT, "<", spool)
    for i in range(100):
        writer.cells([str(i) * 10_000], 1, COLUMNS[0])
        writer.end_piece(1)
    runs = writer._earlier[1]._runs
    assert sum(a.nbytes for run in runs for a in run) == 24 * 100
    lengths = [len(run[0]) for run in runs]
    assert all(a >= 2 * b for a, b in itertools.pairwise(lengths))
