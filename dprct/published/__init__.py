"""The papers' algorithms as published, each with the guarantee that really holds; often none.

Nothing here is needed to protect anybody: it is here so that results can be compared with the
literature.  The strict forms are at the top level of the package.
"""

from typing import TYPE_CHECKING

from dprct.lazy import names_of

if TYPE_CHECKING:
    from dprct.published.allocation import Allocation
    from dprct.published.base_learners import parallel_delta, parallel_tradeoff
    from dprct.published.cate import CATE
    from dprct.published.control_error import ControlError
    from dprct.published.genmodel import GenModel
    from dprct.published.histogram import MVHistogram
    from dprct.published.informed import Hybrid
    from dprct.published.ipw import IPW
    from dprct.published.karwa_vadhan import DPRange, DPVariance
    from dprct.published.sign_risk import SignRisk
    from dprct.published.synthetic_control import SyntheticControl
    from dprct.published.textbook import Gaussian, Laplace, RandomizedResponse

_HOME = {
    "Allocation": "allocation",
    "CATE": "cate",
    "ControlError": "control_error",
    "DPRange": "karwa_vadhan",
    "DPVariance": "karwa_vadhan",
    "Gaussian": "textbook",
    "GenModel": "genmodel",
    "Hybrid": "informed",
    "IPW": "ipw",
    "Laplace": "textbook",
    "MVHistogram": "histogram",
    "RandomizedResponse": "textbook",
    "SignRisk": "sign_risk",
    "SyntheticControl": "synthetic_control",
    "parallel_delta": "base_learners",
    "parallel_tradeoff": "base_learners",
}

__all__ = [
    "CATE",
    "IPW",
    "Allocation",
    "ControlError",
    "DPRange",
    "DPVariance",
    "Gaussian",
    "GenModel",
    "Hybrid",
    "Laplace",
    "MVHistogram",
    "RandomizedResponse",
    "SignRisk",
    "SyntheticControl",
    "parallel_delta",
    "parallel_tradeoff",
]

__getattr__ = names_of(__name__, _HOME)
