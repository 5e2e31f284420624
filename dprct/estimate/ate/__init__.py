"""Private average treatment effects of an experiment."""

from dprct.estimate.ate.facts import ATEFacts
from dprct.estimate.ate.model import ATESpec, PrivateATE, public_facts
from dprct.estimate.ate.plan import promise_of
from dprct.estimate.ate.release import (
    ATEAllocation,
    CountedOutcome,
    Released,
    released,
)
from dprct.estimate.ate.results import PrivateATEResults, results_of
from dprct.estimate.ate.states import drawn_of, state_of, states_of

__all__ = [
    "ATEAllocation",
    "ATEFacts",
    "ATESpec",
    "CountedOutcome",
    "PrivateATE",
    "PrivateATEResults",
    "Released",
    "drawn_of",
    "promise_of",
    "public_facts",
    "released",
    "results_of",
    "state_of",
    "states_of",
]
