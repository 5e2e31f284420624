"""Ordinary estimators on confidential data, to compare private ones with; nothing is protected."""

from papers.baselines.ipw import IPW, BaselineIPW
from papers.baselines.synthetic_control import (
    BaselineControl,
    ControlWeights,
    SyntheticControl,
)

__all__ = [
    "IPW",
    "BaselineControl",
    "BaselineIPW",
    "ControlWeights",
    "SyntheticControl",
]
