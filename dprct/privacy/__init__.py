"""Budgets, guarantees, mechanisms and their noise; nothing here knows a data frame.

Names are loaded when they are first used: OpenDP and SciPy take their time.
"""

from typing import TYPE_CHECKING

from dprct.lazy import names_of

_HOME = {
    "Accountant": "accountant",
    "Allocation": "mechanisms",
    "AnalyticGaussian": "mechanisms",
    "Budget": "budget",
    "CellCounts": "aggregates",
    "Charge": "composition",
    "CubeNoise": "mechanisms",
    "DiscreteGaussian": "mechanisms",
    "DiscreteLaplace": "mechanisms",
    "Entry": "charges",
    "Guarantee": "budget",
    "HistogramRelease": "histograms",
    "IntegerTable": "aggregates",
    "IntegerVector": "aggregates",
    "NoiseSource": "noise",
    "NoisyVector": "mechanisms",
    "OneWayHistograms": "histograms",
    "OneWayRelease": "histograms",
    "Real": "budget",
    "Relation": "budget",
    "SparseHistogram": "histograms",
    "StabilityHistogram": "histograms",
    "analytic_gaussian": "mechanisms",
    "draw_independent_rows": "histograms",
    "draw_rows": "histograms",
    "find_ledger": "accountant",
    "gdp_delta": "composition",
    "gdp_epsilon": "composition",
    "gdp_mu": "composition",
    "ledger_path": "ledger",
    "per_row": "composition",
    "random_part": "noise",
    "ridge_l1": "ridge_sensitivity",
    "ridge_l2": "ridge_sensitivity",
    "source": "noise",
    "split": "mechanisms",
    "target_l2": "ridge_sensitivity",
    "tv_delta": "composition",
    "zcdp_epsilon": "composition",
    "zcdp_rho": "composition",
}

__all__ = sorted(_HOME)

if TYPE_CHECKING:
    from dprct.privacy.accountant import Accountant as Accountant
    from dprct.privacy.accountant import find_ledger as find_ledger
    from dprct.privacy.aggregates import CellCounts as CellCounts
    from dprct.privacy.aggregates import IntegerTable as IntegerTable
    from dprct.privacy.aggregates import IntegerVector as IntegerVector
    from dprct.privacy.budget import Budget as Budget
    from dprct.privacy.budget import Guarantee as Guarantee
    from dprct.privacy.budget import Real as Real
    from dprct.privacy.budget import Relation as Relation
    from dprct.privacy.charges import Entry as Entry
    from dprct.privacy.composition import Charge as Charge
    from dprct.privacy.composition import gdp_delta as gdp_delta
    from dprct.privacy.composition import gdp_epsilon as gdp_epsilon
    from dprct.privacy.composition import gdp_mu as gdp_mu
    from dprct.privacy.composition import per_row as per_row
    from dprct.privacy.composition import tv_delta as tv_delta
    from dprct.privacy.composition import zcdp_epsilon as zcdp_epsilon
    from dprct.privacy.composition import zcdp_rho as zcdp_rho
    from dprct.privacy.histograms import HistogramRelease as HistogramRelease
    from dprct.privacy.histograms import OneWayHistograms as OneWayHistograms
    from dprct.privacy.histograms import OneWayRelease as OneWayRelease
    from dprct.privacy.histograms import SparseHistogram as SparseHistogram
    from dprct.privacy.histograms import StabilityHistogram as StabilityHistogram
    from dprct.privacy.histograms import draw_independent_rows as draw_independent_rows
    from dprct.privacy.histograms import draw_rows as draw_rows
    from dprct.privacy.ledger import ledger_path as ledger_path
    from dprct.privacy.mechanisms import Allocation as Allocation
    from dprct.privacy.mechanisms import AnalyticGaussian as AnalyticGaussian
    from dprct.privacy.mechanisms import CubeNoise as CubeNoise
    from dprct.privacy.mechanisms import DiscreteGaussian as DiscreteGaussian
    from dprct.privacy.mechanisms import DiscreteLaplace as DiscreteLaplace
    from dprct.privacy.mechanisms import NoisyVector as NoisyVector
    from dprct.privacy.mechanisms import analytic_gaussian as analytic_gaussian
    from dprct.privacy.mechanisms import split as split
    from dprct.privacy.noise import NoiseSource as NoiseSource
    from dprct.privacy.noise import random_part as random_part
    from dprct.privacy.noise import source as source
    from dprct.privacy.ridge_sensitivity import ridge_l1 as ridge_l1
    from dprct.privacy.ridge_sensitivity import ridge_l2 as ridge_l2
    from dprct.privacy.ridge_sensitivity import target_l2 as target_l2

__getattr__ = names_of(__name__, _HOME)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
