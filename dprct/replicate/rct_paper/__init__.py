"""The tables of "Assessing Utility of Differential Privacy for RCTs", ours beside the printed."""

from dprct.replicate.rct_paper.run import Replication, draw_figures, regenerate

__all__ = ["Replication", "draw_figures", "regenerate"]
