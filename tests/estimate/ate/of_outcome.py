"""One outcome of an experiment, drawn as a fit draws it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dprct.estimate.ate.release import Released, drawn_alone, mechanisms_of

if TYPE_CHECKING:
    from fractions import Fraction


def drawn(outcome: Any, frame: Any, epsilon: Fraction, noise: Any) -> Released:
    """Draw one outcome with the mechanisms that a fit at this epsilon charges."""
    parts = tuple(mechanisms_of(outcome, epsilon).values())
    found: Released = drawn_alone(outcome, frame, epsilon, parts, noise)
    return found
