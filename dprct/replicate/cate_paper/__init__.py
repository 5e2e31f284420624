"""The experiments of "Differentially Private Estimation of Heterogeneous Causal Effects"."""

from dprct.replicate.cate_paper.run import Experiments, rerun

__all__ = ["Experiments", "rerun"]
