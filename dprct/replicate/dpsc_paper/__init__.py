"""The experiments of "Differentially Private Synthetic Control", with the strict form beside."""

from dprct.replicate.dpsc_paper.run import Experiments, rerun

__all__ = ["Experiments", "rerun"]
