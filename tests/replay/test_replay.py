"""No transcript of any strict method passes its budget, and nothing else tells neighbours apart.

All thresholds are exact: a failure is a defect, never bad luck.  The noise is real, the tables are
the same in every run.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import hypothesis
import hypothesis.strategies as st
import pytest

from .auditor import Auditor
from .cases import CASES
from .neighbours import pairs, turns

if TYPE_CHECKING:
    from .neighbours import Case, Pair


MOST = 40
"""Pairs of a case that are drawn until each of its releases has moved in one of them."""


def audited(case: Case, monkeypatch: pytest.MonkeyPatch, examples: int, *, at_length: bool) -> None:
    """Audit drawn pairs of neighbours of one case.

    Some must come as far as a release, and each release of a fit must move in some pair by more
    than ``case.least`` of its claim: of what never moves, nothing is known.
    """
    auditor = Auditor(monkeypatch, at_length=at_length)
    turn, tried, released, refusals = itertools.cycle(turns(case)), 0, 0, set()
    moved: dict[tuple[int, int], float] = {}
    findings: list[str] = []

    @hypothesis.settings(
        max_examples=MOST,
        database=None,
        derandomize=True,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(pairs(case, st.builds(lambda: next(turn))))
    def audit(pair: Pair) -> None:
        nonlocal tried, released
        enough = released > 0 and all(most > case.least for most in moved.values())
        if findings or (tried >= examples and enough):
            return
        tried += 1
        found = auditor.audit(pair.make, pair.one, pair.other, pair.budget, **case.options)
        if found.findings:
            findings.extend([f"{case.name} at {pair.budget}", *found.findings[:12]])
        elif found.refused:
            refusals.add(found.refused)
        else:
            released += 1
            for place, part in enumerate(found.moved, 1):
                key = len(found.moved), place  # a method may draw more often with a delta
                moved[key] = max(moved.get(key, 0.0), part)

    audit()
    assert not findings, "\n".join(findings)
    assert released, f"{case.name}: every pair was refused: {refusals}"
    still = [f"{place} of {all_}" for (all_, place), most in moved.items() if most <= case.least]
    assert not still, f"{case.name}: in no pair moved enough: release {', '.join(still)}"


@pytest.mark.parametrize("name", CASES)
def test_neighbours_are_as_alike_as_promised(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = CASES[name]
    audited(case, monkeypatch, len(turns(case)), at_length=False)


@pytest.mark.audit
@pytest.mark.parametrize("name", CASES)
def test_neighbours_are_as_alike_at_length(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    audited(CASES[name], monkeypatch, 20, at_length=True)
