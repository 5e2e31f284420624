"""Private synthetic control: a counterfactual path from donors, each of which is one record."""

from dprct.estimate.synthetic.control import SyntheticControl
from dprct.estimate.synthetic.path_results import SyntheticControlResults

__all__ = ["SyntheticControl", "SyntheticControlResults"]
