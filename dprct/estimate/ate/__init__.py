"""Private average treatment effects of an experiment."""

from dprct.estimate.ate.model import ATEFacts, ATESpec, PrivateATE, experimented, specified
from dprct.estimate.ate.plan import promise_of
from dprct.estimate.ate.release import (
    ATEAllocation,
    CountedOutcome,
    Released,
    drawn_of,
    released,
    state_of,
    states_of,
)
from dprct.estimate.ate.results import PrivateATEResults, results_of

__all__ = [
    "ATEAllocation",
    "ATEFacts",
    "ATESpec",
    "CountedOutcome",
    "PrivateATE",
    "PrivateATEResults",
    "Released",
    "drawn_of",
    "experimented",
    "promise_of",
    "released",
    "results_of",
    "specified",
    "state_of",
    "states_of",
]
