"""What R can call: thin functions of plain arguments, one file per subject.

Importing this package registers them all; a new file is imported here.
"""

from dprct.rbridge.api import (
    budgets,
    checks,
    models,
    moments,
    parameters,
    regressions,
    schemas,
    session,
    studies,
)

__all__ = [
    "budgets",
    "checks",
    "models",
    "moments",
    "parameters",
    "regressions",
    "schemas",
    "session",
    "studies",
]
