"""Write the table of docs/time_and_memory.md: seconds of processor and memory of a fit.

Usage: python scripts/time_and_memory.py [--print]
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
PAGE = TOP / "docs" / "time_and_memory.md"
BEFORE = """
import time
start = time.process_time()
import pandas as pd
unit = time.process_time() - start
import numpy as np, dprct


def most():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))


n = {n}
rng = np.random.default_rng(1)
data = pd.DataFrame({{"y%d" % k: rng.normal(size=n).clip(-4, 4) for k in range(4)}})
data = data.assign(treat=(np.arange(n) % 2) * 1.0, age=rng.uniform(20, 60, n).round(),
                   female=rng.integers(0, 2, n) * 1.0)
columns = [dprct.Column("y%d" % k, bounds=(-4, 4), sd=1, centre=0, missing=(), fate="modelled")
           for k in range(4)]
columns += [dprct.Column("treat", "byte", levels=(0, 1), missing=(), fate="public"),
            dprct.Column("age", bounds=(20, 60), bins=(30, 40, 50), sd=12, centre=40, missing=(),
                         fate="modelled"),
            dprct.Column("female", "byte", levels=(0, 1), missing=(), fate="modelled")]
schema = dprct.Schema(tuple(columns))
lot = dprct.Simple("treat", shares=0.5)
public = "replace-one-design-public"
with open("/proc/self/clear_refs", "w") as peak:
    peak.write("5")  # the peak is that of now
held, begun = most(), time.process_time()
"""
AFTER = """
taken = time.process_time() - begun
print(taken, (most() - held) / 1024, unit)
"""
FITS = {
    "`PrivateATE`, one effect": (
        'dprct.PrivateATE(data, schema, outcome="y0", treatment="treat").fit(epsilon=1)'
    ),
    "`PrivateMoments`, four declared regressions with two covariates": (
        'dprct.PrivateMoments(data, schema, assignment=lot, neighbors=public, formulas=["y%d ~ '
        'treat + age + female" % k for k in range(4)]).fit(epsilon=4, delta=1e-9)'
    ),
    "`Calibrated`, one regression, and its file in memory": (
        'dprct.Calibrated.from_formula("y0 ~ treat", data, schema, treatment="treat").fit('
        "epsilon=1).protected"
    ),
    "`MVHistogram` of age, sex and treatment, and its file in memory": (
        'few = ["age", "female", "treat"]\n'
        "dprct.MVHistogram(data[few], schema.select(few)).fit(epsilon=1).protected"
    ),
}
SIZES = (5_000, 100_000, 1_000_000)


def measure(n: int, code: str) -> tuple[float, float, float]:
    """Seconds and MB of one fit, import and data left out, and seconds of ``import pandas``."""
    program = BEFORE.format(n=n) + code + AFTER
    one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        capture_output=True, text=True, check=False, env=os.environ | one,
    )  # fmt: skip
    if run.returncode:
        raise SystemExit(run.stderr[-2000:])
    seconds, memory, unit = map(float, run.stdout.split()[-3:])
    return seconds, memory, unit


def table() -> str:
    """Rows of the page."""
    rows = ["| fit | " + " | ".join(f"{n:,} people" for n in SIZES) + " |"]
    rows.append("|---" * (len(SIZES) + 1) + "|")
    units = []
    for name, code in FITS.items():
        cells = []
        for n in SIZES:
            seconds, memory, unit = min(measure(n, code) for _ in range(2))
            units.append(unit)
            cells.append(f"{seconds:.2g} s, {max(memory, 1):.0f} MB")
            print(name, n, cells[-1], file=sys.stderr)
        rows.append(f"| {name} | " + " | ".join(cells) + " |")
    machine = f"Python {platform.python_version()}, one thread, the quicker of two runs"
    unit = f"`import pandas` took {min(units):.2g} s on the same machine"
    return "\n".join([*rows, "", f"{machine}; {unit}.", ""])


if __name__ == "__main__":
    made = table()
    print(made)
    if "--print" not in sys.argv:
        text = PAGE.read_text("utf-8")
        marks = r"(<!-- measured -->\n).*?(<!-- end -->)"
        PAGE.write_text(re.sub(marks, lambda at: at[1] + made + at[2], text, flags=re.S), "utf-8")
