"""Formulas as public text: parsed without running any of it, turned into a design matrix.

``syntax`` is the grammar, ``expressions`` the arithmetic inside ``I()``, ``mistakes`` what people
bring from Stata and R, ``design`` the way from rows to numbers.
"""

from dprct.formula.design_matrix import Design, complete_cases, design
from dprct.formula.syntax import Factor, Formula, names, parse

__all__ = ["Design", "Factor", "Formula", "complete_cases", "design", "names", "parse"]
