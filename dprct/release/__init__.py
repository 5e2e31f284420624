"""Data in, protected data out: strict releases."""

from dprct.release.base import Release
from dprct.release.calibrated import Calibrated
from dprct.release.histogram import Marginals, MVHistogram
from dprct.results.plan import Plan

__all__ = ["Calibrated", "MVHistogram", "Marginals", "Plan", "Release"]
