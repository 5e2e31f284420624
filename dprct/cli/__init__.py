"""The command line: ``dprct describe, check, plan, protect, compare, demo``.

Exit codes: 0 done; 1 ``compare`` found unexpected differences, ``check`` found open points,
``verify`` values that do not match;
2 wrong usage or input; 3 refused (budget, confirmation, prompt answered no); 70 a defect of dprct;
130 interrupted; 143 ended by SIGTERM.
"""

from dprct.cli.main import main

__all__ = ["main"]
