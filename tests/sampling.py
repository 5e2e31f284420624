"""Which of many cases ``make test`` gives; ``make test-full`` gives all."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def sampled(
    cases: Iterable[Any], kind: Callable[[Any], str], name: Callable[[Any], str], *, each: int
) -> list[Any]:
    """Parameters of a test: of the cases of a kind one in ``each`` is short, the others long."""
    seen: Counter[str] = Counter()
    found = []
    for case in cases:
        marks = [pytest.mark.long] if seen[kind(case)] % each else []
        seen[kind(case)] += 1
        found.append(pytest.param(case, id=name(case), marks=marks))
    return found
