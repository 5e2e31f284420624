"""The experiments of "Privacy-Preserving Causal Inference via IPW", as printed and mended."""

from papers.ippw.run import Experiments, rerun

__all__ = ["Experiments", "rerun"]
