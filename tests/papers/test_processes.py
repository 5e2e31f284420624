from __future__ import annotations

import os
from functools import partial

import pytest

from papers.processes import THREADS, finished, one_thread_each


def test_processes_return_what_one_process_returns() -> None:
    todo = {name: partial(int, name) for name in "123"}
    assert dict(finished(todo, 1)) == {"1": 1, "2": 2, "3": 3}
    assert dict(finished(todo, 2)) == {"1": 1, "2": 2, "3": 3}


def test_an_error_in_a_process_is_raised_here() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        list(finished({1: partial(int, "one"), 2: partial(int, "2")}, 2))


def test_threads_are_as_before_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(THREADS[0], "7")
    monkeypatch.delenv(THREADS[1], raising=False)
    with one_thread_each():
        assert {os.environ[name] for name in THREADS} == {"1"}
    assert os.environ[THREADS[0]] == "7"
    assert THREADS[1] not in os.environ
