"""Data in, protected data out: strict releases."""

from dprct.release.calibrated.model import Calibrated
from dprct.release.histogram import Marginals, MVHistogram
from dprct.release.release import Release
from dprct.results.plan import Plan

__all__ = ["Calibrated", "MVHistogram", "Marginals", "Plan", "Release"]
