"""Data in, protected data out: strict releases."""

from dprct.release.base import Release
from dprct.release.histogram import MVHistogram
from dprct.release.marginals import Marginals
from dprct.results.plan import Plan

__all__ = ["MVHistogram", "Marginals", "Plan", "Release"]
