"""Formulas as public text: parsed without running any of it, turned into a design matrix.

``syntax`` is the grammar, and knows what people bring along from Stata and R; ``expressions`` is
the arithmetic inside ``I()``; ``design_matrix`` is the way from rows to numbers.
"""

from dprct.formula.design_matrix import Design, complete_cases, design
from dprct.formula.syntax import Factor, Formula, names, parse

__all__ = ["Design", "Factor", "Formula", "complete_cases", "design", "names", "parse"]
