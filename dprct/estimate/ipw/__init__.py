"""Private inverse probability weighting: effects of a treatment that was not randomised."""

from dprct.estimate.ipw.model import IPW
from dprct.estimate.ipw.results import IPWResults

__all__ = ["IPW", "IPWResults"]
