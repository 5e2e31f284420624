"""Private heterogeneous effects: a random partition, nuisances, and a one-step second stage."""

from dprct.estimate.cate.model import CATE
from dprct.estimate.cate.results import CATEResults

__all__ = ["CATE", "CATEResults"]
