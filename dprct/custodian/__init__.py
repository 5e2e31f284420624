"""Comparisons with the truth, for those who hold it: confidential by nature, and marked so.

The modules of the two functions begin with an underscore, so that ``dprct.custodian.utility`` is
the function whichever was imported first.
"""

from dprct.custodian.disclosure_risk import RiskReport, risk
from dprct.custodian.effects_compared import UtilityReport, utility

__all__ = ["RiskReport", "UtilityReport", "risk", "utility"]
