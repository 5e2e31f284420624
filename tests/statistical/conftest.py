"""How a statistical test decides, and how rarely it is wrong.

Each test compares draws with a law that is computed, not estimated, and fails at a p-value below
ALPHA = 1e-9.  With a few hundred of them the suite raises a false alarm once in a few million
runs (family-wise 1e-6).  A test that could not fail proves nothing: each kind is also run on
noise that is 10 % too small and must reject it.
"""

from __future__ import annotations

import hashlib
import importlib
import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import stats

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from tests.statistical.auditing import AuditResult

ALPHA = 1e-9
_LEAST_EXPECTED = 25.0


def goodness_of_fit(draws: Iterable[Any], law: Mapping[Any, float]) -> float:
    """Return the p-value of Pearson's test; rare outcomes, and those not listed, are pooled."""
    tally = Counter(draws)
    size = sum(tally.values())
    common = [outcome for outcome, p in law.items() if p * size >= _LEAST_EXPECTED]
    observed = [tally[outcome] for outcome in common]
    expected = [law[outcome] * size for outcome in common]
    observed.append(size - sum(observed))
    expected.append(max(size - sum(expected), 0.0))
    if expected[-1] < _LEAST_EXPECTED:  # too rare for a cell of its own, not too rare to be caught
        if stats.poisson.sf(observed[-1] - 1, expected[-1] + 1e-9) < ALPHA / 10:
            return 0.0
        observed[-2:] = [sum(observed[-2:])]
        expected[-2:] = [sum(expected[-2:])]
    return float(stats.chisquare(observed, np.array(expected) * size / sum(expected)).pvalue)


@pytest.fixture(scope="session")
def fits() -> Callable[[Iterable[Any], Mapping[Any, float]], bool]:
    """Return whether draws are compatible with a law; wrongly False once in 1e9."""
    return lambda draws, law: goodness_of_fit(draws, law) >= ALPHA


@pytest.fixture(scope="session")
def discrete_laplace_law() -> Callable[[float], dict[int, float]]:
    """Return the probabilities of discrete Laplace noise of a scale, to 1e-16."""

    def law(scale: float) -> dict[int, float]:
        reach = int(40 * scale) + 2
        alpha = np.exp(-1 / scale)
        return {k: (1 - alpha) / (1 + alpha) * alpha ** abs(k) for k in range(-reach, reach + 1)}

    return law


@pytest.fixture
def computed_once(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return a function that lets a query, named by its module, read each frame once.

    An audit draws the noise of two frames many times; what is noised is the same each time.
    """

    def once(query: str) -> None:
        module, name = query.rsplit(".", 1)
        original = getattr(importlib.import_module(module), name)
        kept: dict[int, Any] = {}

        def remembered(frame: Any, *rest: Any) -> Any:
            if id(frame) not in kept:
                kept[id(frame)] = (frame, original(frame, *rest))
            return kept[id(frame)][1]

        monkeypatch.setattr(query, remembered)

    return once


@pytest.fixture
def certified(checkout: Path) -> Callable[..., None]:
    """Judge an end-to-end audit, and leave its row for scripts/audit_table.py.

    ``certified(result, claim, method=..., neighbours=..., event=..., tight=True)``: the bound must
    stay below the claim, and reach four fifths of it where the mechanism is tight.
    """
    rows = checkout / "build" / "audit"

    def judge(
        result: AuditResult,
        claim: float,
        *,
        method: str,
        neighbours: str,
        event: str,
        tight: bool = True,
    ) -> None:
        name = hashlib.sha256(f"{method}, {neighbours}".encode()).hexdigest()
        row = {
            "method": method, "neighbours": neighbours, "event": event, "draws": result.draws,
            "claimed": claim, "delta": result.delta, "certified": round(result.epsilon, 4),
            "alpha": result.alpha, "tight": tight, "measure": result.measure,
        }  # fmt: skip
        rows.mkdir(parents=True, exist_ok=True)
        (rows / f"{name[:16]}.json").write_text(json.dumps(row), encoding="utf-8")
        assert not result.refutes(claim), result
        assert not tight or result.epsilon >= 0.8 * claim, result

    return judge
