"""No transcript of any strict method passes its budget, and nothing else tells neighbours apart.

All thresholds are exact: a failure is a defect, never bad luck.  The noise is real, the tables are
the same in every run.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest

from dprct.schema.tables import NumPyTable
from tests.sampling import sampled

from .auditor import Auditor
from .cases import CASES
from .neighbours import searched, turns

if TYPE_CHECKING:
    import pandas as pd

    from .neighbours import Case


MOST = 200
"""Pairs of a case that are drawn until each of its releases has moved in one of them.

Of two people whom a random partition sets apart, or whose scores are zero in most draws, one pair
in six moves the last release: all of these fail to with a probability of 1e-15.
"""


def audited(case: Case, monkeypatch: pytest.MonkeyPatch, examples: int, *, at_length: bool) -> None:
    """Audit drawn pairs of neighbours of one case.

    Some must come as far as a release, and each release of a fit must move in some pair by more
    than ``case.least`` of its claim: of what never moves, nothing is known.
    """
    auditor = Auditor(monkeypatch, at_length=at_length)
    refusals: set[str] = set()
    moved: dict[tuple[int, int], float] = {}
    for tried, pair in enumerate(itertools.islice(searched(case, examples), MOST)):
        if tried >= examples and moved and min(moved.values()) > case.least:
            break
        found = auditor.audit(pair.make, pair.one, pair.other, pair.budget, **case.options)
        words = [f"{case.name} at {pair.budget}", *found.findings[:12]]
        assert not found.findings, "\n".join(words)
        if found.refused:
            refusals.add(found.refused)
        for place, part in enumerate(found.moved, 1):
            key = len(found.moved), place  # a method may draw more often with a delta
            moved[key] = max(moved.get(key, 0.0), part)
    assert moved, f"{case.name}: every pair was refused: {refusals}"
    still = [f"{place} of {all_}" for (all_, place), most in moved.items() if most <= case.least]
    assert not still, f"{case.name}: in no pair moved enough: release {', '.join(still)}"


@pytest.mark.parametrize(
    "name", sampled(CASES, lambda name: name.split(":")[0], lambda name: name, each=6)
)
def test_neighbours_are_as_alike_as_promised(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = CASES[name]
    audited(case, monkeypatch, len(turns(case)), at_length=False)


def in_arrays(table: pd.DataFrame) -> NumPyTable:
    """The rows of a frame as those of a study's file are when they were read."""
    return NumPyTable({str(name): table[name].to_numpy() for name in table.columns}, len(table))


def moved_in_arrays(name: str, monkeypatch: pytest.MonkeyPatch, *, other: bool) -> list[float]:
    """How far releases of one table move, of its claim, where it, or its neighbour, is arrays."""
    case, auditor = CASES[name], Auditor(monkeypatch, at_length=False)
    moved = []
    for pair in itertools.islice(searched(case, len(turns(case))), 2 * len(turns(case))):

        def make(given: tuple[Any, Any], pair: Any = pair) -> Any:
            return case.make(given[0], pair.schema, given[1])

        second = pair.other if other else pair.one
        given = (pair.one, None), (second, in_arrays)
        found = auditor.audit(make, *given, pair.budget, **case.options)
        assert not found.findings, f"{name} at {pair.budget}: {found.findings[:12]}"
        moved += found.moved
    return moved


IN_MEMORY = [name for name in CASES if "in Polars" not in name]


@pytest.mark.parametrize(
    "name", sampled(IN_MEMORY, lambda name: name.split(":")[0], lambda name: name, each=6)
)
def test_rows_of_a_file_are_released_as_those_of_a_frame(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not any(moved_in_arrays(name, monkeypatch, other=False))


def test_rows_of_a_file_that_are_others_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    name = next(name for name in CASES if name.startswith("estimate.PrivateATE"))
    assert any(moved_in_arrays(name, monkeypatch, other=True))


@pytest.mark.audit
@pytest.mark.parametrize("name", CASES)
def test_neighbours_are_as_alike_at_length(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    audited(CASES[name], monkeypatch, 2 * len(turns(CASES[name])), at_length=True)
