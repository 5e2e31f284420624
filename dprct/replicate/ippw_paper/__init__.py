"""The experiments of "Privacy-Preserving Causal Inference via IPW", as printed and mended."""

from dprct.replicate.ippw_paper.run import Experiments, rerun

__all__ = ["Experiments", "rerun"]
