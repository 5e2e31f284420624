"""Private average treatment effects of an experiment."""

from dprct.estimate.ate.facts import ATEFacts, Bounds, IndexRule
from dprct.estimate.ate.model import ATESpec, PrivateATE, public_facts
from dprct.estimate.ate.plan import check_outcomes, promise_of
from dprct.estimate.ate.release import (
    ATEAllocation,
    CountedOutcome,
    Released,
    released,
)
from dprct.estimate.ate.results import PrivateATEResults, results_of
from dprct.estimate.ate.states import drawn_of, state_of, states_of
from dprct.estimate.experiment import BlockRule, UnitRule, levels_of, with_bounds

__all__ = [
    "ATEAllocation",
    "ATEFacts",
    "ATESpec",
    "BlockRule",
    "Bounds",
    "CountedOutcome",
    "IndexRule",
    "PrivateATE",
    "PrivateATEResults",
    "Released",
    "UnitRule",
    "check_outcomes",
    "drawn_of",
    "levels_of",
    "promise_of",
    "public_facts",
    "released",
    "results_of",
    "state_of",
    "states_of",
    "with_bounds",
]
