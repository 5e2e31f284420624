"""Private synthetic control: a counterfactual path from donors, each of which is one record."""

from typing import TYPE_CHECKING

from dprct.lazy import names_of

if TYPE_CHECKING:
    from dprct.estimate.synthetic_control.model import SyntheticControl
    from dprct.estimate.synthetic_control.results import SyntheticControlResults

_HOME = {
    "SyntheticControl": "model",
    "SyntheticControlResults": "results",
}

__all__ = ["SyntheticControl", "SyntheticControlResults"]

__getattr__ = names_of(__name__, _HOME)
