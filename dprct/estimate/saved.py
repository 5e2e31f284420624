"""Released effects as JSON-ready values and back, so that a crashed release can be resumed."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dprct.estimate.effects import NoisyEffect, NoisyMean, NoisyVariance
from dprct.estimate.mechanism import Released

if TYPE_CHECKING:
    from collections.abc import Mapping


def saved(released: Released) -> dict[str, Any]:
    """Return what was released of one outcome: noisy numbers and public scales.

    Parameters
    ----------
    released : Released

    Examples
    --------
    >>> variance = NoisyVariance(0.01, 1e-4, 0.11)
    >>> one = Released((NoisyEffect(0.5, (0.03,), (variance,)),), 1.0, 0.2)
    >>> restored(saved(one)) == one
    True
    """
    return asdict(released)


def restored(state: Mapping[str, Any]) -> Released:
    """Return the value that :func:`saved` was given.

    Parameters
    ----------
    state : mapping
        As JSON gave it back.
    """
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
