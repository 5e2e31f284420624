"""The papers' algorithms as published, each with the guarantee that really holds; often none.

Nothing here is needed to protect anybody: it is here so that results can be compared with the
literature.  The strict forms are at the top level of the package.
"""

from typing import TYPE_CHECKING

from dprct.lazy import names_of

if TYPE_CHECKING:
    from dprct.published.allocation import Allocation as Allocation
    from dprct.published.base_learners import parallel_delta as parallel_delta
    from dprct.published.base_learners import parallel_tradeoff as parallel_tradeoff
    from dprct.published.cate import CATE as CATE
    from dprct.published.control_error import ControlError as ControlError
    from dprct.published.genmodel import GenModel as GenModel
    from dprct.published.histogram import MVHistogram as MVHistogram
    from dprct.published.informed import Hybrid as Hybrid
    from dprct.published.ipw import IPW as IPW
    from dprct.published.karwa_vadhan import DPRange as DPRange
    from dprct.published.karwa_vadhan import DPVariance as DPVariance
    from dprct.published.sign_risk import SignRisk as SignRisk
    from dprct.published.synthetic_control import SyntheticControl as SyntheticControl
    from dprct.published.textbook import Gaussian as Gaussian
    from dprct.published.textbook import Laplace as Laplace
    from dprct.published.textbook import RandomizedResponse as RandomizedResponse

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

__all__ = sorted(_HOME)

__getattr__ = names_of(__name__, _HOME)
