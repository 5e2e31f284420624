"""Reading and comparing files of many columns: the time is linear in their number."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dprct.io.compare import compare
from dprct.io.stata import read_dta, write_dta
from dprct.schema import Column, Schema


@pytest.fixture(scope="module", params=[1_000, 4_000, 32_767])
def wide(request, tmp_path_factory):
    names = [f"v{i}" for i in range(request.param)]
    path = tmp_path_factory.mktemp("wide") / "wide.dta"
    data = pd.DataFrame(np.zeros((5, len(names))), columns=names)
    write_dta(data, Schema(tuple(Column(n, "byte", value_label="yn") for n in names)), path)
    return path


@pytest.mark.parametrize("deed", ["read", "compare"])
def test_time_by_columns(deed, wide, benchmark):
    benchmark.group = f"{deed} 1,000 : 4,000 : 32,767 columns"
    if deed == "read":
        benchmark.pedantic(read_dta, (wide,), rounds=3)
    else:
        benchmark.pedantic(compare, (wide, wide), rounds=1)
