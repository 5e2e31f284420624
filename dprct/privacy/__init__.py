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

__all__ = [
    "Accountant",
    "Allocation",
    "AnalyticGaussian",
    "Budget",
    "CellCounts",
    "Charge",
    "CubeNoise",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Entry",
    "Guarantee",
    "HistogramRelease",
    "IntegerTable",
    "IntegerVector",
    "NoiseSource",
    "NoisyVector",
    "OneWayHistograms",
    "OneWayRelease",
    "Real",
    "Relation",
    "SparseHistogram",
    "StabilityHistogram",
    "analytic_gaussian",
    "draw_independent_rows",
    "draw_rows",
    "find_ledger",
    "gdp_delta",
    "gdp_epsilon",
    "gdp_mu",
    "ledger_path",
    "per_row",
    "random_part",
    "ridge_l1",
    "ridge_l2",
    "source",
    "split",
    "target_l2",
    "tv_delta",
    "zcdp_epsilon",
    "zcdp_rho",
]

if TYPE_CHECKING:
    from dprct.privacy.accountant import Accountant, find_ledger
    from dprct.privacy.aggregates import CellCounts, IntegerTable, IntegerVector
    from dprct.privacy.budget import Budget, Guarantee, Real, Relation
    from dprct.privacy.charges import Entry
    from dprct.privacy.composition import (
        Charge,
        gdp_delta,
        gdp_epsilon,
        gdp_mu,
        per_row,
        tv_delta,
        zcdp_epsilon,
        zcdp_rho,
    )
    from dprct.privacy.histograms import (
        HistogramRelease,
        OneWayHistograms,
        OneWayRelease,
        SparseHistogram,
        StabilityHistogram,
        draw_independent_rows,
        draw_rows,
    )
    from dprct.privacy.ledger import ledger_path
    from dprct.privacy.mechanisms import (
        Allocation,
        AnalyticGaussian,
        CubeNoise,
        DiscreteGaussian,
        DiscreteLaplace,
        NoisyVector,
        analytic_gaussian,
        split,
    )
    from dprct.privacy.noise import NoiseSource, random_part, source
    from dprct.privacy.ridge_sensitivity import ridge_l1, ridge_l2, target_l2

__getattr__ = names_of(__name__, _HOME)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
