"""Randomisation designs: who was assigned to what, by which rule.

A design is a value: it names the treatment columns as they stand in the file, the groups that
these columns tell apart, and the law by which rows (or clusters) fall into them.  It draws new
assignments for synthetic rows, states the exact propensity of each row, and says whether a
realised assignment could have come from it.
"""

from dprct.assignment.custom import Custom
from dprct.assignment.designs import Block, BlockCluster, Cluster, Complete, Simple
from dprct.assignment.factorial import Factorial
from dprct.assignment.groups import Design, DesignCheck

__all__ = [
    "Block",
    "BlockCluster",
    "Cluster",
    "Complete",
    "Custom",
    "Design",
    "DesignCheck",
    "Factorial",
    "Simple",
]
