"""The experiments of "Differentially Private Synthetic Control", and the strict form."""

from papers.dpsc.run import Experiments, rerun

__all__ = ["Experiments", "rerun"]
