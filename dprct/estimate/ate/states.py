"""What was drawn of each outcome as JSON-ready values, for people to read and to be resumed."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dprct.errors import LedgerError
from dprct.estimate.ate.release import CountedOutcome, Released
from dprct.estimate.effects import NoisyEffect, NoisyMean, NoisyVariance

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dprct.estimate.ate.release import AnyOutcome


def state_of(outcomes: Sequence[AnyOutcome], found: Sequence[Released]) -> dict[str, Any]:
    """Return the released numbers of each outcome as JSON-ready values, for people to read."""
    return {
        outcome.column.name: {
            "control": one.control,
            "effects": [
                {"value": e.value, "variances": [v.value for v in e.variances]} for e in one.effects
            ],
            "means": [m.value for m in one.means],
        }
        for outcome, one in zip(outcomes, found, strict=True)
    }


def states_of(found: Sequence[Released]) -> list[dict[str, Any]]:
    """Return what was drawn as JSON-ready values: noisy numbers and public scales.

    Examples
    --------
    >>> variance = NoisyVariance(0.01, 1e-4, 0.11)
    >>> one = Released((NoisyEffect(0.5, (0.03,), (variance,)),), 1.0, 0.2)
    >>> restored(states_of([one])[0]) == one
    True
    """
    return [asdict(one) for one in found]


def drawn_of(
    outcomes: Sequence[AnyOutcome], states: Sequence[Mapping[str, Any]]
) -> tuple[Released, ...]:
    """Return what was drawn from what :func:`states_of` made of it.

    Raises
    ------
    LedgerError
        If numbers of values are lacking, as in states of releases before they were saved.
    """
    found = tuple(restored(one) for one in states)
    for outcome, one in zip(outcomes, found, strict=True):
        if isinstance(outcome, CountedOutcome) and not one.counts:
            raise LedgerError(
                "this release was saved before numbers of values were saved with it, and who "
                f"has a value of {outcome.column.name!r} is private, so that no file can be "
                "made of it; it is spent, and what is left pays for a new release"
            )
    return found


def restored(state: Mapping[str, Any]) -> Released:
    """Return one of the values that :func:`states_of` was given, as JSON gave it back."""
    effects = [
        NoisyEffect(
            one["value"], tuple(one["scales"]), tuple(NoisyVariance(**v) for v in one["variances"])
        )
        for one in state["effects"]
    ]
    means = [
        NoisyMean(
            one["value"], one["scale"], NoisyVariance(**one["variance"]), tuple(one["others"])
        )
        for one in state["means"]
    ]
    # what was saved before releases held counts has none
    counts = tuple(state.get("counts", ()))
    return Released(tuple(effects), state["control"], state["control_scale"], tuple(means), counts)
