"""Data in, private estimates out: strict methods whose results are numbers, not rows."""

from dprct.estimate.ate import PrivateATE
from dprct.estimate.ipw import IPW, IPWResults
from dprct.estimate.results import PrivateATEResults
from dprct.estimate.synthetic import SyntheticControl, SyntheticControlResults

__all__ = [
    "IPW",
    "IPWResults",
    "PrivateATE",
    "PrivateATEResults",
    "SyntheticControl",
    "SyntheticControlResults",
]
