"""Data in, private estimates out: strict methods whose results are numbers, not rows."""

from typing import TYPE_CHECKING

from dprct.lazy import names_of

if TYPE_CHECKING:
    from dprct.estimate.additive import AdditiveResults, PrivateAdditive
    from dprct.estimate.ate import PrivateATE
    from dprct.estimate.ate.results import PrivateATEResults
    from dprct.estimate.cate import CATE, CATEResults
    from dprct.estimate.ipw import IPW, IPWResults
    from dprct.estimate.moments.declared import Regression
    from dprct.estimate.moments.model import PrivateMoments
    from dprct.estimate.moments.results import Moments
    from dprct.estimate.synthetic_control import SyntheticControl, SyntheticControlResults

_HOME = {
    "AdditiveResults": "additive",
    "CATE": "cate",
    "CATEResults": "cate",
    "IPW": "ipw",
    "IPWResults": "ipw",
    "Moments": "moments.results",
    "PrivateATE": "ate",
    "PrivateATEResults": "ate.results",
    "PrivateAdditive": "additive",
    "PrivateMoments": "moments.model",
    "Regression": "moments.declared",
    "SyntheticControl": "synthetic_control",
    "SyntheticControlResults": "synthetic_control",
}

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

__getattr__ = names_of(__name__, _HOME)
