"""Units of work of a replication: drawn in several processes, kept, and used again."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import re
from abc import ABC, abstractmethod
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import pandas as pd

from dprct.disk import atomic_write
from dprct.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

    Task = TypeVar("Task")
    Progress = Callable[[str, int, int], None]
    Found = TypeVar("Found")


def save_figure(path: Path, axes: Sequence[Axes]) -> Path:
    """Write the figure of some axes as PNG and close it; return the file."""
    figure: Any = axes[0].figure
    try:
        with atomic_write(path, "wb") as file:
            figure.savefig(file, format="png", dpi=100)
    finally:
        import_module("matplotlib.pyplot").close(figure)
    return path


THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def finished(todo: Mapping[Task, Callable[[], Found]], jobs: int) -> Iterator[tuple[Task, Found]]:
    """Call every function, and yield what each returns as soon as it is there.

    Parameters
    ----------
    todo : mapping from task to function
        The functions are pickled where ``jobs`` is above 1.
    jobs : int
        Processes.

    Examples
    --------
    >>> dict(finished({"a": int, "b": str}, jobs=1))
    {'a': 0, 'b': ''}
    """
    if min(jobs, len(todo)) <= 1:
        for task, call in todo.items():
            yield task, call()
        return
    context = multiprocessing.get_context("spawn")
    with one_thread_each(), ProcessPoolExecutor(min(jobs, len(todo)), context) as pool:
        running = {pool.submit(call): task for task, call in todo.items()}
        try:
            for future in as_completed(running):
                yield running[future], future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Let processes that are started within use one linear-algebra thread each."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


class Settings(ABC):
    """Everything that the numbers of a cell depend on; a subclass is a frozen data class.

    Attributes
    ----------
    FORMAT : int
        Raised when the law of what a cell computes changes; older results are then done anew.
    label : str
        What the cell is, for people.
    """

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Any]]
    FORMAT: ClassVar[int]

    @property
    @abstractmethod
    def label(self) -> str:
        """What the cell is, for people."""

    @property
    def key(self) -> str:
        """Hash of all settings."""
        settings = json.dumps(asdict(self) | {"format": self.FORMAT}, sort_keys=True)
        return hashlib.sha256(settings.encode()).hexdigest()

    @property
    def name(self) -> str:
        """Where the cell is kept: its label, with the start of its key."""
        return re.sub(r"[^\w.]+", "-", self.label) + f"-{self.key[:12]}"


@dataclass(frozen=True, slots=True)
class Store:
    """Finished cells in a folder, one file each.

    Parameters
    ----------
    folder : Path
    """

    folder: Path

    def path(self, cell: Settings) -> Path:
        """Return where a cell is kept."""
        return self.folder / f"{cell.name}.json"

    def load(self, cell: Settings) -> pd.DataFrame | None:
        """Return what is kept of exactly these settings, None where there is nothing."""
        try:
            kept = json.loads(self.path(cell).read_text("utf-8"))
        except (OSError, ValueError):
            return None
        if kept.get("settings") != asdict(cell) or kept.get("key") != cell.key:
            return None
        return pd.DataFrame(kept["effects"])

    def save(self, cell: Settings, effects: pd.DataFrame) -> None:
        """Keep a cell; the file appears when it is complete.

        Raises
        ------
        FileError
            If it cannot be written.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        kept = {"settings": asdict(cell), "key": cell.key, "effects": effects.to_dict("list")}
        with atomic_write(self.path(cell), "w") as file:
            json.dump(kept, file)


def drawn(
    cells: Mapping[Task, Settings],
    calls: Mapping[Task, Callable[[], pd.DataFrame]],
    store: Store,
    jobs: int,
    progress: Progress | None = None,
) -> dict[Task, pd.DataFrame]:
    """Return what every cell draws, from the store or anew; keep each as it is finished.

    Parameters
    ----------
    cells : mapping from task to Settings
        The results are in their order.
    calls : mapping from task to function
        What draws each cell, in the order in which they are begun.
    store : Store
    jobs : int
        Processes.
    progress : callable, optional
        Called with what was done, how much is done, and how much there is.

    Raises
    ------
    FileError
        If a cell cannot be kept.
    """
    say = progress or silent
    found = {one: kept for one, cell in cells.items() if (kept := store.load(cell)) is not None}
    say("kept from before", len(found), len(cells))
    todo = {one: call for one, call in calls.items() if one not in found}
    for one, draws in finished(todo, jobs):
        store.save(cells[one], draws)
        found[one] = draws
        say(cells[one].label, len(found), len(cells))
    return {one: found[one] for one in cells}


def check_counts(draws: int | None, jobs: int, seed: int, *, fewest: int = 1) -> None:
    """Refuse numbers of draws, processes or a seed that are too small.

    Raises
    ------
    ParameterError
    """
    for name, value, least in (("draws", draws, fewest), ("jobs", jobs, 1), ("seed", seed, 0)):
        if value is not None and value < least:
            raise ParameterError(f"{name}={value}; give a whole number of {least} or more")


def silent(what: str, done: int, of: int) -> None:
    """Say nothing."""
