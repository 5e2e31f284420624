"""Peak memory of a calibrated file, from .dta to .dta, in units of the frame of its columns.

It is counted beyond that of a run of 2,000 rows in the same process, which has loaded all modules.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from dprct.io.stata import write_dta
from dprct.schema import Column, Schema

if TYPE_CHECKING:
    from pathlib import Path

ROWS = 1_000_000
PROGRAM = """
import sys, warnings
warnings.simplefilter("ignore")
import dprct

def peak():
    with open("/proc/self/status") as status:
        (line,) = [line for line in status if line.startswith("VmHWM")]
    return int(line.split()[1]) << 10

def release(n):
    data, schema = dprct.read_dta(f"{n}.dta")
    more = [name for name in schema.names if name.startswith("x")]
    schema = schema.declare(
        y={"bounds": (-4, 4), "sd": 1, "centre": 0, "missing": "never", "fate": "modelled"},
        treat={"levels": (0, 1), "missing": "never", "fate": "public"},
        block={"fate": "public"},
        **{name: {"bounds": (-4, 4), "missing": "never", "fate": "modelled"} for name in more},
    )
    lot = {"treatment": "treat"}
    if sys.argv[2] == "block":
        lot = {"assignment": dprct.Block("treat", block="block")}
    formula = " + ".join(["y ~ treat", *more])
    model = dprct.Calibrated.from_formula(
        formula, data, schema, covariate_release="filler" if more else "auto", **lot
    )
    del data
    model.fit(epsilon=2).write_dta(f"{n}_protected.dta")

release(2_000)
before = peak()
release(int(sys.argv[1]))
print(peak() - before)
"""


def _written(folder: Path, rows: int, covariates: int) -> None:
    """Write a trial of so many rows."""
    rng = np.random.default_rng(1)
    data = pd.DataFrame(
        {
            "y": rng.normal(size=rows).clip(-4, 4),
            "treat": np.arange(rows) % 2.0,
            "block": np.arange(rows) // (rows // 10) + 1.0,
            **{f"x{k}": rng.normal(size=rows).clip(-4, 4) for k in range(covariates)},
        }
    )
    kinds = {"treat": "byte", "block": "byte"}
    columns = tuple(Column(name, kinds.get(name, "double")) for name in data)
    write_dta(data, Schema(columns), folder / f"{rows}.dta")


@pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")
@pytest.mark.parametrize(("design", "covariates"), [("simple", 0), ("block", 0), ("block", 4)])
def test_peak_memory_of_a_calibrated_file(design, covariates, tmp_path, benchmark):
    benchmark.group = "memory: a calibrated file, in frames of its columns"
    most = ROWS if benchmark.enabled else 20_000
    for rows in (2_000, most):
        _written(tmp_path, rows, covariates)
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", PROGRAM, str(most), design]

    def run():
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr[-2000:]
        return int(done.stdout)

    frames = benchmark.pedantic(run, rounds=1) / (8 * most * (3 + covariates))
    assert frames > 0
    if not benchmark.enabled:  # of so few rows most is what does not depend on them
        return
    benchmark.stats.name = f"{design}, {covariates} covariates: {frames:.2f} frames"
    assert frames < 4
