"""What a fit of moments costs: processor time over that of X'X by NumPy, in one run."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct.schema import Column, Schema

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS, COLUMNS = 1_000_000, 20
NAMES = [f"x{j}" for j in range(COLUMNS)]
HALF = " + ".join(NAMES[10:])
DECLARED = [f"x{j} ~ t + {HALF}" for j in range(10)] + [
    f"x{j} ~ t + {' + '.join(NAMES[10:15])}" for j in range(10)
]


def processor(deed: Callable[[], object], rounds: int) -> float:
    """Smallest processor time of some rounds."""
    found = []
    for _ in range(rounds):
        start = time.process_time()
        deed()
        found.append(time.process_time() - start)
    return min(found)


def ratio(kind: str, rows: int) -> float:
    """Processor time of a fit over that of X'X."""
    rng = np.random.default_rng(0)
    x = np.clip(rng.normal(size=(rows, COLUMNS)), -3, 3)
    known = [Column(name, bounds=(-3.0, 3.0), missing=(), sd=1.0) for name in NAMES]
    data = pd.DataFrame(x, columns=NAMES).assign(t=rng.permutation(rows) % 2.0)
    arms = Column("t", "byte", levels=(0.0, 1.0), missing=())
    if kind == "declared":
        model = dprct.PrivateMoments(
            data, Schema((*known, arms)), formulas=DECLARED,
            assignment=dprct.Complete("t", counts=rows // 2),
            neighbors="replace-one-design-public",
        )  # fmt: skip
    elif kind == "columns":
        model = dprct.PrivateMoments(data[NAMES], Schema(tuple(known)), columns=NAMES)
    else:
        formulas = [f"x0 ~ {' + '.join(NAMES[1:])}"]
        model = dprct.PrivateMoments(
            data[NAMES], Schema(tuple(known)), formulas=formulas, cov_type="nonrobust"
        )
    return processor(lambda: model.fit(1, 1e-6), 3) / processor(lambda: x.T @ x, 9)


@pytest.mark.parametrize(("kind", "aim"), [("columns", 12), ("ball", 12), ("declared", 15)])
def test_processor_time_over_that_of_the_products(kind: str, aim: float, benchmark: Any) -> None:
    """All on one thread: ``OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1``."""
    benchmark.group = "moments: processor time over that of X'X by NumPy"
    rows = ROWS if benchmark.enabled else 20_000
    found = benchmark.pedantic(ratio, (kind, rows), rounds=1)
    assert found > 0
    if benchmark.enabled:
        benchmark.stats.name = f"{kind}: {found:.1f} times X'X, aim {aim}"
