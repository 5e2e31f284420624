"""Private additive regression: counts and clipped sums at levels of features, released once."""

from dprct.estimate.additive.model import PrivateAdditive
from dprct.estimate.additive.results import AdditiveResults

__all__ = ["AdditiveResults", "PrivateAdditive"]
