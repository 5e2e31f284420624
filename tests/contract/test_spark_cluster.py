"""Two executors in processes of their own: equal sums, also where one is killed during a fit."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dprct import Accountant, PrivateATE, PrivateMoments, Simple
from dprct.errors import EngineError
from dprct.schema import Column, Schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [
    pytest.mark.audit,
    pytest.mark.skipif(
        not os.environ.get("DPRCT_SPARK_CLUSTER"),
        reason="executors are started by DPRCT_SPARK_CLUSTER=1, as in make spark-cluster",
    ),
]

SCHEMA = Schema((
    Column("x", bounds=(0.0, 1.0), missing=()),
    Column("t", "byte", levels=(0.0, 1.0), missing=()),
))  # fmt: skip
ROWS, PARTS = 2_000_000, 16
MADE = "(hash(id) & 1048575) / 1048575.0 as x", "cast(id % 2 as tinyint) as t"


def executors(of: int) -> list[int]:
    """Return the processes of Spark's executors among the descendants of a process."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            after_name = (folder / "stat").read_text().rpartition(")")[2].split()
            command = (folder / "cmdline").read_bytes()
        except OSError:  # ended meanwhile
            continue
        parents[int(folder.name)] = int(after_name[1]), command
    family, found = {of}, []
    while grown := {pid for pid, (parent, _) in parents.items() if parent in family} - family:
        family |= grown
    for pid in family & set(parents):
        if b"CoarseGrainedExecutorBackend" in parents[pid][1] and b"java" in parents[pid][1][:99]:
            found.append(pid)
    return sorted(found)


@pytest.fixture
def rows(spark: Any) -> Iterator[Any]:
    """Rows that are made anew in each pass, which takes seconds."""
    yield spark.range(0, ROWS, 1, PARTS).selectExpr(*MADE)
    settled(spark)


def settled(spark: Any) -> list[int]:
    """Wait until there are two executors again, and return them."""
    pid = spark.sparkContext._gateway.proc.pid
    for _ in range(240):
        if len(found := executors(pid)) == 2:
            return found
        time.sleep(0.5)
    raise AssertionError("Spark did not bring its executors back within two minutes")


def killed_while(spark: Any, fit: Callable[[], Any], most: int) -> tuple[Any, int]:
    """Return what a fit returns or raises while executors at work are killed, and how many were."""
    done, killed = threading.Event(), []
    tracker, pid = spark.sparkContext.statusTracker(), spark.sparkContext._gateway.proc.pid

    def working() -> bool:
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        return any(stage is not None and stage.numActiveTasks for stage in stages)

    def kill() -> None:
        while not done.is_set() and len(killed) < most:
            fresh = [pid for pid in executors(pid_of) if pid not in killed]
            if fresh and working():
                os.kill(fresh[0], signal.SIGKILL)
                killed.append(fresh[0])
            time.sleep(0.02)

    pid_of = pid
    thread = threading.Thread(target=kill)
    thread.start()
    try:
        return fit(), len(killed)
    except EngineError as error:
        return error, len(killed)
    finally:
        done.set()
        thread.join()


MODELS: dict[str, Callable[[Any], Any]] = {
    "effects": lambda rows: PrivateATE(rows, SCHEMA, outcome="x", assignment=Simple("t")),
    "moments": lambda rows: PrivateMoments(
        rows, SCHEMA, columns=["x"], assignment=Simple("t"),
        neighbors="replace-one-design-public",
    ),
}  # fmt: skip


def said(found: Any) -> list[Any]:
    if hasattr(found, "drawn"):
        return [found.drawn.sums.tolist()]
    return [*found.params, *found.bse]


def test_there_are_two_executors_in_processes_of_their_own(spark: Any) -> None:
    assert spark.sparkContext.master.startswith("local-cluster[2,")
    assert len(settled(spark)) == 2


@pytest.mark.parametrize("name", MODELS)
def test_an_executor_that_is_killed_during_a_fit_changes_no_number(
    spark: Any, rows: Any, name: str
) -> None:
    settled(spark)
    budget = {"epsilon": 1, "delta": 0 if name == "effects" else 1e-8, "rng": 3}
    expected = said(MODELS[name](rows).fit(**budget))
    model = MODELS[name](rows)
    found, killed = killed_while(spark, lambda: model.fit(**budget), 1)
    assert killed == 1
    assert said(found) == expected


def test_executors_that_are_killed_again_and_again_cost_nothing(spark: Any, rows: Any) -> None:
    """Spark gives a task up that was lost four times; then nothing was charged."""
    settled(spark)
    model = MODELS["effects"](rows)
    accountant = Accountant(1, relation="replace-one-design-public")
    found, killed = killed_while(spark, lambda: model.fit(1, accountant=accountant), 40)
    assert killed
    if isinstance(found, EngineError):
        assert str(found).endswith("; nothing was charged")
        assert accountant.spent.epsilon == 0
    else:
        assert accountant.spent.epsilon == 1
