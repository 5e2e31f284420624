"""Ordinary estimators on confidential data, to compare private ones with; nothing is protected."""

from papers.baselines.ipw import IPW, BaselineIPW
from papers.baselines.synthetic_control import (
    BaselineControl,
    ControlWeights,
    SyntheticControl,
)
from papers.baselines.trees import TREES, tree_effect, tree_propensities

__all__ = [
    "IPW",
    "TREES",
    "BaselineControl",
    "BaselineIPW",
    "ControlWeights",
    "SyntheticControl",
    "tree_effect",
    "tree_propensities",
]
