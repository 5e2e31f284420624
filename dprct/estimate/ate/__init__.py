"""Private average treatment effects of an experiment."""

from dprct.estimate.ate.facts import ATEFacts, Bounds, IndexRule
from dprct.estimate.ate.joint import (
    blocks_of_levels,
    drawn_jointly,
    known_levels,
    smallest_arm,
    with_pairs,
)
from dprct.estimate.ate.joint import results as results_jointly
from dprct.estimate.ate.model import ATESpec, PrivateATE, check_relation, public_facts
from dprct.estimate.ate.plan import promise_of
from dprct.estimate.ate.release import (
    AnyOutcome,
    ATEAllocation,
    CountedOutcome,
    HiddenOutcome,
    Outcome,
    Released,
    released,
)
from dprct.estimate.ate.results import PrivateATEResults, results_of
from dprct.estimate.effects import levels_of, with_bounds
from dprct.estimate.experiment import BlockRule, UnitRule, blocks_of
from dprct.estimate.moments.effects import EffectResults
from dprct.estimate.moments.release import DrawnMoments

__all__ = [
    "ATEAllocation",
    "ATEFacts",
    "ATESpec",
    "AnyOutcome",
    "BlockRule",
    "Bounds",
    "CountedOutcome",
    "DrawnMoments",
    "EffectResults",
    "HiddenOutcome",
    "IndexRule",
    "Outcome",
    "PrivateATE",
    "PrivateATEResults",
    "Released",
    "UnitRule",
    "blocks_of",
    "blocks_of_levels",
    "check_relation",
    "drawn_jointly",
    "known_levels",
    "levels_of",
    "promise_of",
    "public_facts",
    "released",
    "results_jointly",
    "results_of",
    "smallest_arm",
    "with_bounds",
    "with_pairs",
]
