"""Data in, private estimates out: strict methods whose results are numbers, not rows."""

from dprct.estimate.additive import AdditiveResults, PrivateAdditive
from dprct.estimate.ate import PrivateATE
from dprct.estimate.ate.results import PrivateATEResults
from dprct.estimate.cate import CATE, CATEResults
from dprct.estimate.ipw import IPW, IPWResults
from dprct.estimate.moments.declared import Regression
from dprct.estimate.moments.model import PrivateMoments
from dprct.estimate.moments.results import Moments
from dprct.estimate.synthetic_control import SyntheticControl, SyntheticControlResults

__all__ = [
    "CATE",
    "IPW",
    "AdditiveResults",
    "CATEResults",
    "IPWResults",
    "Moments",
    "PrivateATE",
    "PrivateATEResults",
    "PrivateAdditive",
    "PrivateMoments",
    "Regression",
    "SyntheticControl",
    "SyntheticControlResults",
]
