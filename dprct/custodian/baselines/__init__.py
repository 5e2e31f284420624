"""Ordinary estimators on confidential data, to compare private ones with; nothing is protected."""

from dprct.custodian.baselines.cate import CATE, BaselineCATE
from dprct.custodian.baselines.control_weights import ControlWeights
from dprct.custodian.baselines.ipw import IPW, BaselineIPW
from dprct.custodian.baselines.synthetic_control import BaselineControl, SyntheticControl

__all__ = [
    "CATE",
    "IPW",
    "BaselineCATE",
    "BaselineControl",
    "BaselineIPW",
    "ControlWeights",
    "SyntheticControl",
]
