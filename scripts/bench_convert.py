"""What ``dprct convert`` costs: peak memory and time, each in a process of its own.

``bench_scale.py --convert 1e7`` runs it for 1e5, 1e6 and 1e7 rows.
"""

from __future__ import annotations

import filecmp
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Callable

    from dprct.schema import Schema

_PIECE = 1 << 16
_STEPS = ("nothing", "to_parquet", "to_dta", "pyarrow", "pandas")


def report(most: int, *, long: bool = False) -> None:
    """Print memory and time of both directions for 1e5 rows up to ``most``."""
    for n in [10**k for k in range(5, 10) if 10**k <= most]:
        with tempfile.TemporaryDirectory() as folder:
            made = _alone("make", folder, n, long)
            found = {step: _alone(step, folder, n, long) for step in _STEPS}
            same = filecmp.cmp(f"{folder}/big.dta", f"{folder}/back.dta", shallow=False)
        for step, against in (("to_parquet", "pandas"), ("to_dta", "pyarrow")):
            one = found[step]
            print(
                f"convert, {step}, n = {n:>11,}, {made['size'] / 1e9:.2f} GB: "
                f"{one['gigabytes']:.3f} GB at most ({found['nothing']['gigabytes']:.3f} of Python "
                f"and its packages), {one['seconds']:.1f} s of processor, "
                f"{one['seconds'] / found[against]['seconds']:.2f} times {against} reading it "
                f"({found[against]['gigabytes']:.2f} GB), same bytes: {same}",
                flush=True,
            )


def measure(step: str, folder: str, n: int, long: bool) -> dict[str, float]:
    """Do one step in this process."""
    big, parquet, back = (Path(folder) / f for f in ("big.dta", "big.parquet", "back.dta"))
    steps = _steps(big, parquet, back)
    started = time.process_time()
    if step == "make":
        make(big, n, long=long)
    else:
        steps[step]()
    seconds = time.process_time() - started
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    return {"seconds": seconds, "gigabytes": used, "size": big.stat().st_size}


def _steps(big: Path, parquet: Path, back: Path) -> dict[str, Callable[[], Any]]:
    import pyarrow.parquet

    from dprct.io.convert import convert

    return {
        "nothing": lambda: None,
        "to_parquet": lambda: convert(big, parquet),
        "to_dta": lambda: convert(parquet, back),
        "pyarrow": lambda: pyarrow.parquet.read_table(parquet),
        "pandas": lambda: pd.read_stata(big, convert_categoricals=False),
    }


def make(path: Path, n: int, *, long: bool = False) -> None:
    """Write a .dta file piece by piece, as no frame of its size may be in memory here.

    4 doubles with missing codes, 3 bytes with labels, one str10; strLs of about 300 bytes, half
    of them distinct, where ``long``.
    """
    from dprct.io.stata.files import framing, layout_of, pack_columns, write_rows
    from dprct.io.stata.strls import StrlWriter

    schema = _schema(n, long=long)
    layout, types = layout_of(schema), [column.type for column in schema.columns]
    with path.open("w+b") as file, tempfile.TemporaryFile(dir=path.parent) as spool:
        strls = StrlWriter(layout, "<", spool)
        around = framing(schema, layout, n, 0)
        file.write(around.before)
        for start in range(0, n, _PIECE):
            piece = _piece(start, min(n, start + _PIECE), long=long)
            write_rows(file, pack_columns(piece, schema.columns, layout, strls), types, "<")
        file.write(around.between)
        strls.copy_to(file)
        file.write(around.after)
        file.seek(0)
        file.write(framing(schema, layout, n, strls.size).before)


def _schema(n: int, *, long: bool) -> Schema:
    from dprct.schema import Column, Schema
    from dprct.schema.columns import FileFacts

    columns = [Column(f"y{k}", "double") for k in range(4)]
    columns += [Column(f"b{k}", "byte", value_label="answers") for k in range(3)]
    columns += [Column("g", "str10"), *([Column("said", "strL")] if long else [])]
    labels = {"answers": {0: "no", 1: "yes", ".a": "refused"}}
    return Schema(tuple(columns), FileFacts(value_labels=labels, rows=n))  # type: ignore[arg-type]


def _piece(start: int, stop: int, *, long: bool) -> pd.DataFrame:
    from dprct.missing import tagged

    rng, n = np.random.default_rng(start), stop - start
    cells: dict[str, Any] = {}
    for k in range(4):
        cells[f"y{k}"] = rng.normal(size=n)
        gone = rng.integers(0, 10, n) == 0
        cells[f"y{k}"][gone] = tagged(rng.integers(0, 27, gone.sum()))
    for k in range(3):
        cells[f"b{k}"] = rng.integers(0, 5, n).astype(float)
        cells[f"b{k}"][rng.integers(0, 20, n) == 0] = tagged(1)
    places = np.array([f"village{i}" for i in range(1_000)], object)
    cells["g"] = places[rng.integers(0, 1_000, n)]
    if long:
        numbers = np.where(rng.integers(0, 2, n), np.arange(start, stop), rng.integers(0, stop, n))
        cells["said"] = np.array([f"answer {i} ".ljust(300, "x") for i in numbers], object)
    return pd.DataFrame({name: pd.Series(x, dtype=x.dtype) for name, x in cells.items()})


def _alone(step: str, folder: str, n: int, long: bool) -> dict[str, float]:
    command = [sys.executable, __file__, step, folder, str(n), str(int(long))]
    found = subprocess.run(command, check=True, capture_output=True, text=True)
    answer: dict[str, float] = json.loads(found.stdout)
    return answer


if __name__ == "__main__":
    print(json.dumps(measure(*sys.argv[1:3], int(sys.argv[3]), bool(int(sys.argv[4])))))
