"""The experiments of "Privacy-Preserving Causal Inference via IPW", as printed and corrected."""

from papers.ippw.run import Experiments, rerun

__all__ = ["Experiments", "rerun"]
