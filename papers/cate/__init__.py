"""The experiments of "Differentially Private Estimation of Heterogeneous Causal Effects"."""

from papers.cate.run import Experiments, rerun

__all__ = ["Experiments", "rerun"]
