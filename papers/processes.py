"""Simulations in several processes, each with one linear-algebra thread."""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Task = TypeVar("Task")
    Found = TypeVar("Found")

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
