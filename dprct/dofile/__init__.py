"""A reader of Stata's language: what the estimations of do-files are, without running anything.

Stages point one way: ``lines`` turns text into commands, ``macros`` and ``expressions`` write them
out, ``syntax`` takes one apart, ``varlists`` and ``memory`` say which columns it means,
``estimators`` make a row of it, and ``reader`` walks through loops, programs and other files.
"""

from dprct.dofile.reader import Reading, read_files
from dprct.dofile.regression import KEYS, Regression

__all__ = ["KEYS", "Reading", "Regression", "read_files"]
