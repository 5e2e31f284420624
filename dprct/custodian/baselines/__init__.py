"""Ordinary estimators on confidential data, to compare private ones with; nothing is protected."""

from dprct.custodian.baselines.ipw import IPW, BaselineIPW
from dprct.custodian.baselines.synthetic_control import (
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
