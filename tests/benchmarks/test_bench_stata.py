"""200,000 rows x 40 doubles: each group shows dprct and pandas in one run, as a ratio.

Run with ``python -m pytest tests/benchmarks/test_bench_stata.py --benchmark-only``.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dprct.io.stata import read_dta, write_dta
from dprct.schema import Column, Schema

ROWS, COLUMNS = 200_000, 40


@pytest.fixture(scope="module", params=["complete", "missing"])
def table(request):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(ROWS, COLUMNS))
    if request.param == "missing":
        values[rng.random(values.shape) < 0.05] = np.nan
    data = pd.DataFrame(values, columns=[f"v{i}" for i in range(COLUMNS)])
    return request.param, data, Schema(tuple(Column(name) for name in data.columns))


@pytest.fixture(scope="module")
def file(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("bench") / "doubles.dta"
    write_dta(*table[1:], path)
    return path


@pytest.mark.parametrize("by", ["dprct", "pandas"])
def test_read(benchmark, by, table, file):
    benchmark.group = f"read, {table[0]}"
    data = benchmark((lambda: read_dta(file)[0]) if by == "dprct" else lambda: pd.read_stata(file))
    assert data.shape == (ROWS, COLUMNS)


@pytest.mark.parametrize("by", ["dprct", "pandas"])
def test_write(benchmark, by, table, tmp_path):
    benchmark.group = f"write, {table[0]}"
    _, data, schema = table
    path = tmp_path / "a.dta"
    benchmark(
        (lambda: write_dta(data, schema, path))
        if by == "dprct"
        else lambda: data.to_stata(path, write_index=False, version=118)
    )
    assert path.stat().st_size > 8 * ROWS * COLUMNS
