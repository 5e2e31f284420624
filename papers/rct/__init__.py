"""The tables of "Assessing Utility of Differential Privacy for RCTs", ours beside the printed."""

from papers.rct.run import Replication, draw_figures, regenerate

__all__ = ["Replication", "draw_figures", "regenerate"]
