"""Private synthetic control: a counterfactual path from donors, each of which is one record."""

from dprct.estimate.synthetic_control.model import SyntheticControl
from dprct.estimate.synthetic_control.results import SyntheticControlResults

__all__ = ["SyntheticControl", "SyntheticControlResults"]
