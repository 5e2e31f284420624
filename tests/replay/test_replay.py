"""No transcript of any strict method passes its budget, and nothing else tells neighbours apart.

All thresholds are exact: a failure is a defect, never bad luck.  The noise is real, the tables are
the same in every run.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from tests.sampling import sampled

from .auditor import Auditor
from .cases import CASES
from .neighbours import searched, turns

if TYPE_CHECKING:
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


@pytest.mark.audit
@pytest.mark.parametrize("name", CASES)
def test_neighbours_are_as_alike_at_length(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    audited(CASES[name], monkeypatch, 2 * len(turns(CASES[name])), at_length=True)
