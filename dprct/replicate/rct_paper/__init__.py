"""The tables of "Assessing Utility of Differential Privacy for RCTs", ours beside the printed."""

from dprct.replicate.rct_paper.run import Replication, regenerate

__all__ = ["Replication", "regenerate"]
