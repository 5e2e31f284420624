"""Comparisons with the truth, for those who hold it: confidential by nature, and marked so.

The modules of the two functions begin with an underscore, so that ``dprct.custodian.utility`` is
the function whichever was imported first.
"""

from dprct.custodian._risk import risk
from dprct.custodian._utility import utility
from dprct.custodian.risk_report import RiskReport
from dprct.custodian.utility_report import UtilityReport

__all__ = ["RiskReport", "UtilityReport", "risk", "utility"]
