"""What a fit costs over one engine pass of the same sums: docs/large_data.md has the numbers.

Usage: python scripts/bench_passes.py [--rows 1e7] [--engines duckdb polars spark] [--turns 5]

Prints the table "Fits over one pass".  Rows are 20 columns of doubles and a treatment in a Parquet
file that is made first.  Each measurement is a process of its own: the processor time of all its
threads and children, and the most memory that Python's process held.  A fit of a few rows goes
before it: imports and the start of an engine are part of neither.  ``--turns`` instead
takes plain pass and fit in turn in one process, and prints the median of the ratios but the first:
Java compiles while it runs, so that what comes first pays for what comes after.  With ``--warm`` so
many rows go through all turns before, and no turn over all rows is left out.  ``--cluster`` gives
Spark two executors in processes of their own.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dprct.schema import Schema

COLUMNS = [f"x{j}" for j in range(20)]
OUTCOMES = COLUMNS[:5]


def main() -> None:
    """Print the table, or measure one thing in this process."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=float, default=1e7)
    arguments.add_argument("--engines", nargs="+", default=["duckdb", "polars", "spark"])
    arguments.add_argument("--what", nargs="+", default=[*SAID])
    arguments.add_argument("--cluster", action="store_true")
    arguments.add_argument("--turns", type=int, default=0)
    arguments.add_argument("--warm", type=float, default=0)
    arguments.add_argument("--one", nargs=3, help="engine, what, file")
    given = arguments.parse_args()
    if given.one:
        engine, what, file = given.one
        found = (
            in_turn(engine, what, file, given.turns, int(given.warm), cluster=given.cluster)
            if given.turns
            else measured(engine, what, file, cluster=given.cluster)
        )
        print(json.dumps(found))
        return
    rows = int(given.rows)
    print(f"| {rows:,} rows x {len(COLUMNS)} columns | {' | '.join(given.engines)} |")
    print(f"|---|{'---|' * len(given.engines)}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "rows.parquet")
        subprocess.run([sys.executable, "-c", MAKE, str(rows), file], check=True)
        for what in given.what:
            cells = []
            for engine in given.engines:
                if given.turns:
                    more = ["--turns", str(given.turns), "--warm", str(given.warm)]
                    found = _apart(engine, what, file, given.cluster, more)
                    cells.append(f"{found['ratio']:.2f}")
                    continue
                ours, plain = (
                    _apart(engine, which, file, given.cluster) for which in (what, f"{what} plain")
                )
                ratio = ours["seconds"] / plain["seconds"]
                beyond = ours["gigabytes"] - plain["gigabytes"]
                cells.append(f"{ratio:.2f}; {beyond:+.2f} GB")
            print(f"| {SAID[what]} | {' | '.join(cells)} |", flush=True)


SAID = {
    "moments": "`PrivateMoments` of 20 columns",
    "effects": "`PrivateATE`, five outcomes",
    "clipped": "the same, over sums of clipped values",
    "cells": "`MVHistogram`, five columns of five bins",
    "margins": "`Marginals` of the same, over one pass of all their cells",
    "shapes": "`PrivateAdditive`, four features of five bins",
    "shapes of effects": "`CATE` with known propensity, the same features",
}
_EACH = ", ".join(f"hash(range * 32 + {j}) / 2**64 as x{j}" for j in range(len(COLUMNS)))
MAKE = f"""
import sys, duckdb
duckdb.sql("set enable_progress_bar = false")
duckdb.sql("set memory_limit = '3GB'")
made = "select {_EACH}, (hash(range * 32 + 31) % 2)::tinyint as t from range(" + sys.argv[1] + ")"
duckdb.sql(made).write_parquet(sys.argv[2])
"""


def _apart(
    engine: str, what: str, file: str, cluster: bool, more: Sequence[str] = ()
) -> dict[str, float]:
    """Measure in a process of its own."""
    command = [sys.executable, __file__, *more, "--one", engine, what, file]
    found = subprocess.run(
        [*command, *(["--cluster"] if cluster else [])], check=True, stdout=subprocess.PIPE
    )
    answer: dict[str, float] = json.loads(found.stdout.splitlines()[-1])
    return answer


def measured(engine: str, what: str, file: str, *, cluster: bool) -> dict[str, float]:
    """Return processor time and memory of one fit, or of the engine's own pass of its sums."""
    data, plain, children = ENGINES[engine](file, cluster)
    few = data.filter(_few()) if engine == "polars" else data.filter("x0 < 0.001")
    _fit(what.split()[0], few)
    started = _processor(children)
    if what.endswith("plain"):
        plain(what.split()[0])
    else:
        _fit(what, data)
    seconds = _processor(children) - started
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    return {"seconds": seconds, "gigabytes": used}


def in_turn(
    engine: str, what: str, file: str, turns: int, warm: int = 0, *, cluster: bool
) -> dict[str, float]:
    """Return the median of processor times of a fit over those of the plain pass before it."""
    if warm:
        few = str(Path(file).parent / "few.parquet")
        subprocess.run([sys.executable, "-c", MAKE, str(warm), few], check=True)
    data, plain, children = ENGINES[engine](file, cluster)
    if warm:
        rows, of_few, _ = ENGINES[engine](few, cluster)
        for _ in range(turns + 1):
            of_few(what)
            _fit(what, rows)
        data, plain, children = ENGINES[engine](file, cluster)
    ratios = []
    for _ in range(turns + (not warm)):
        started = _processor(children)
        plain(what)
        between = _processor(children)
        _fit(what, data)
        ratios.append((_processor(children) - between) / (between - started))
        print(f"{what}: {between - started:.1f} s, {ratios[-1]:.2f}", file=sys.stderr, flush=True)
    return {"ratio": statistics.median(ratios if warm else ratios[1:])}


def _few() -> Any:
    import polars as pl

    return pl.col("x0") < 0.001


def _fit(what: str, data: Any) -> None:
    import dprct

    schema = _schema()
    if what == "moments":
        dprct.PrivateMoments(data, schema, columns=COLUMNS).fit(1, 1e-9)
    elif what in ("effects", "clipped"):
        dprct.PrivateATE(data, schema, outcome=OUTCOMES, assignment=dprct.Simple("t")).fit(1)
    elif what == "shapes":
        dprct.PrivateAdditive(data, schema, outcome="x0", features=OUTCOMES[1:], bins=5).fit(1)
    elif what == "shapes of effects":
        dprct.CATE(
            data, schema, outcome="x0", features=OUTCOMES[1:], bins=5, treatment="t", propensity=0.5
        ).fit(1)
    else:
        from dprct.encoding import encodings
        from dprct.model import BoundTable, bound
        from dprct.queries.counts import cell_counts, one_way_counts
        from dprct.release.histogram import HistogramSpec, MarginalsSpec

        # the two passes of a histogram, without the ten million rows that it then draws
        table = BoundTable(data)
        spec = HistogramSpec if what == "cells" else MarginalsSpec
        facts = bound(spec(columns=tuple(OUTCOMES)), table, schema)
        counts: Any = cell_counts if what == "cells" else one_way_counts
        counts(table.frame, encodings(schema, OUTCOMES), n=facts.n)


def _schema() -> Schema:
    from dprct.schema import Column, Schema

    bounded = [
        Column(name, bounds=(0.0, 1.0), missing=(), bins=5, fate="modelled") for name in OUTCOMES
    ]
    bounded += [
        Column(name, bounds=(0.0, 1.0), missing=(), fate="drop")
        for name in COLUMNS[len(OUTCOMES) :]
    ]
    treatment = Column("t", "byte", levels=(0.0, 1.0), missing=(), fate="drop")
    return Schema((*bounded, treatment))


def _sql(what: str, table: str) -> str:
    """Return one pass of the same sums."""
    if what == "moments":
        pairs = [f"sum({a} * {b})" for i, a in enumerate(COLUMNS) for b in COLUMNS[i:]]
        return f"select {', '.join(f'sum({x})' for x in COLUMNS)}, {', '.join(pairs)} from {table}"
    if what in ("effects", "clipped"):
        held = "least(greatest({0}, 0.0), 1.0)" if what == "clipped" else "{0}"
        values = [held.format(x) for x in OUTCOMES]
        sums = ", ".join(f"sum({x}), sum({x} * {x})" for x in values)
        return f"select t, {sums}, count(*) from {table} group by t"
    shapes = what.startswith("shapes")
    codes = [f"floor({x} * 5) as c{j}" for j, x in enumerate(OUTCOMES[1:] if shapes else OUTCOMES)]
    by = ", ".join(f"c{j}" for j in range(len(codes)))
    also, value = "", "x0" if what == "shapes" else "2 * (x0 - 0.5) * (2 * t - 1)"
    if shapes:
        codes, also = [*codes, f"{value} as y"], ", sum(y), sum(y * y)"
    rows = f"(select {', '.join(codes)} from {table}) as coded"
    return f"select {by}, count(*){also} from {rows} group by {by}"


def _duckdb(file: str, cluster: bool) -> tuple[Any, Callable[[str], Any], list[int]]:
    del cluster
    import duckdb

    duckdb.sql("set enable_progress_bar = false")
    plain = lambda what: duckdb.sql(_sql(what, f"'{file}'")).fetchall()  # noqa: E731
    return duckdb.read_parquet(file), plain, []


def _polars(file: str, cluster: bool) -> tuple[Any, Callable[[str], Any], list[int]]:
    del cluster
    import polars as pl

    rows = pl.scan_parquet(file)

    def plain(what: str) -> Any:
        if what == "moments":
            pairs = [
                (pl.col(a) * pl.col(b)).sum().alias(f"{a}{b}")
                for i, a in enumerate(COLUMNS)
                for b in COLUMNS[i:]
            ]
            asked = rows.select(*[pl.col(x).sum() for x in COLUMNS], *pairs)
        elif what in ("effects", "clipped"):
            values = {x: pl.col(x).clip(0, 1) if what == "clipped" else pl.col(x) for x in OUTCOMES}
            sums = [v.sum() for v in values.values()]
            sums += [(v * v).sum().alias(f"{x}2") for x, v in values.items()]
            asked = rows.group_by("t").agg(*sums, pl.len())
        else:
            shapes = what.startswith("shapes")
            by = [(pl.col(x) * 5).floor() for x in (OUTCOMES[1:] if shapes else OUTCOMES)]
            y = (
                pl.col("x0")
                if what == "shapes"
                else 2 * (pl.col("x0") - 0.5) * (2 * pl.col("t") - 1)
            )
            sums = [y.sum().alias("s"), (y * y).sum().alias("q")] if shapes else []
            asked = rows.group_by(by).agg(pl.len(), *sums)
        return asked.collect(engine="streaming")

    return rows, plain, []


def _spark(file: str, cluster: bool) -> tuple[Any, Callable[[str], Any], list[int]]:
    import warnings

    warnings.simplefilter("ignore")  # of what Spark imports
    import pyspark
    from pyspark.sql import SparkSession

    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)
    os.environ["SPARK_WORKER_DIR"] = str(Path(file).parent / "work")
    session = (
        SparkSession.builder.master("local-cluster[2,1,2048]" if cluster else "local[2]")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.local.dir", str(Path(file).parent))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    rows = session.read.parquet(file)
    rows.createOrReplaceTempView("people")
    rows.limit(1).collect()  # what starts with the first query is no part of either
    plain = lambda what: session.sql(_sql(what, "people")).collect()  # noqa: E731
    return rows, plain, [session.sparkContext._gateway.proc.pid]


def _processor(others: list[int]) -> float:
    """Return the processor time of this process and of the families of others, in seconds."""
    family, times = set(others), 0.0
    if others:
        known = {}
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            known[int(folder.name)] = int(fields[1]), int(fields[11]) + int(fields[12])
        while grown := {pid for pid, (parent, _) in known.items() if parent in family} - family:
            family |= grown
        times = sum(known[pid][1] for pid in family if pid in known) / os.sysconf("SC_CLK_TCK")
    own = resource.getrusage(resource.RUSAGE_SELF)
    return times + own.ru_utime + own.ru_stime


ENGINES = {"duckdb": _duckdb, "polars": _polars, "spark": _spark}

if __name__ == "__main__":
    main()
