"""The experiments of "Differentially Private Synthetic Control", with the strict form beside."""

from papers.dpsc.run import Experiments, rerun

__all__ = ["Experiments", "rerun"]
