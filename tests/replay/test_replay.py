"""No transcript of any strict method passes its budget, and nothing else tells neighbours apart.

All thresholds are exact: a failure is a defect, never bad luck.  The noise is real, the tables are
the same in every run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import hypothesis
import pytest

from .auditor import Auditor
from .cases import CASES
from .neighbours import pairs

if TYPE_CHECKING:
    from .neighbours import Case, Pair


def audited(case: Case, monkeypatch: pytest.MonkeyPatch, examples: int, *, at_length: bool) -> None:
    """Audit drawn pairs of neighbours of one case; some must come as far as a release."""
    auditor, shares, refusals = Auditor(monkeypatch, at_length=at_length), [], set()

    @hypothesis.settings(
        max_examples=examples,
        database=None,
        derandomize=True,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(pairs(case))
    def audit(pair: Pair) -> None:
        found = auditor.audit(pair.make, pair.one, pair.other, pair.budget, **case.options)
        if found.refused:
            refusals.add(found.refused)
        else:
            shares.append(found.share)
        assert not found.findings, f"{case.name} at {pair.budget}\n" + "\n".join(
            found.findings[:12]
        )

    audit()
    assert shares, f"{case.name}: every pair was refused: {refusals}"


@pytest.mark.parametrize("name", CASES)
def test_neighbours_are_as_alike_as_promised(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    audited(CASES[name], monkeypatch, examples=3, at_length=False)


@pytest.mark.audit
@pytest.mark.parametrize("name", CASES)
def test_neighbours_are_as_alike_at_length(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    audited(CASES[name], monkeypatch, examples=20, at_length=True)
