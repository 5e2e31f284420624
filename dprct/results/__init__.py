"""Numbers that a fit returns: coefficients with inference, and the tables that print them.

The names are loaded when they are first used, because half of the package needs only a plan.
``dprct.ols`` and ``dprct.etable`` are reached from the top: here their modules have those names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dprct.lazy import names_of

_HOME = {
    "ITTTable": "itt",
    "LinearResults": "base",
    "OLSResults": "ols",
    "Plan": "plan",
    "Table": "tables",
    "itt_table": "itt",
}

__all__ = ["ITTTable", "LinearResults", "OLSResults", "Plan", "Table", "itt_table"]

if TYPE_CHECKING:
    from dprct.results.base import LinearResults
    from dprct.results.itt import ITTTable, itt_table
    from dprct.results.ols import OLSResults
    from dprct.results.plan import Plan
    from dprct.results.tables import Table

__getattr__ = names_of(__name__, _HOME)
