"""One estimation, as far as its do-file tells."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from dprct.records import dataclass

if TYPE_CHECKING:
    from dprct.dofile.made import Made
    from dprct.dofile.memory import Restacked

KEYS = (
    "file",
    "line",
    "command",
    "outcome",
    "regressors",
    "treatments",
    "endogenous",
    "instruments",
    "absorb",
    "sample",
    "weights",
    "vce",
    "cluster",
    "dataset",
    "status",
    "note",
)
"""The keys of a regression as JSON, in this order."""


SMALL = "small-sample errors"
"""The note of instrumental variables whose errors count degrees of freedom."""


@dataclass(frozen=True)
class Regression:
    """One estimation that a do-file runs, with the line that asks for it."""

    # file, line: where the estimation stands, the file relative to its folder.
    file: str
    line: int
    command: str  # the full name of the command: "regress" for ``reg``
    outcome: str | list[str] = ""  # the left-hand variable; a list for commands that have several
    # All right-hand variables, treatments included.  Ranges and wildcards are kept where no header
    # is given.
    regressors: tuple[str, ...] = ()
    # Those regressors that are a treatment variable or are made of one.
    treatments: tuple[str, ...] = ()
    # endogenous, instruments, absorb, cluster: instrumented variables, their excluded instruments,
    # absorbed effects and the variables of clustered errors.
    endogenous: tuple[str, ...] = ()
    instruments: tuple[str, ...] = ()
    absorb: tuple[str, ...] = ()
    # The condition on rows: what ``keep`` and ``drop`` left, and the command's own ``if``.
    sample: str = ""
    # weights, vce, dataset: such as "pweight=w", "cluster" (also "classical", "robust"), and
    # "survey.dta".
    weights: str = ""
    vce: str = ""
    cluster: tuple[str, ...] = ()
    dataset: str = ""
    # "read", "partly" where something is not known from the do-files, "unread" where only the
    # command's name is.
    status: str = "read"
    note: str = ""  # the table that a comment or ``using`` names, and why a reading is not sure
    table: str = ""  # the table alone
    # What variables of this estimation that the do-files make are made of.
    derived: dict[str, str] = field(default_factory=dict)
    sources: tuple[str, ...] = ()  # the files that the data in memory come from
    # What was done to the rows: "merge", "append", "collapse", "reshape", "expand".
    steps: tuple[str, ...] = ()
    intercept: bool = True  # False for ``noconstant``
    # Commands that came before on the same data and may have changed them in any way.
    unknown: tuple[str, ...] = ()
    groups: str = ""  # the variables of ``by``, for each of whose values the estimation is repeated
    # The columns by which each merge matches rows; "" where the other file has not all of its rows,
    # or where it is not by columns.
    merges: tuple[str, ...] = ()
    changes: tuple[Restacked, ...] = ()  # these steps as a study could make them
    # Variables of ``sample`` and ``groups`` that the do-files make or change, but ``_merge``.
    remade: tuple[str, ...] = ()
    # The confidence level in percent that the command or ``set level`` asks for; "" is Stata's.
    level: str = ""
    # Those of its variables that do-files make, as expressions of the columns of the file, or with
    # the reason why they are none.
    made: dict[str, Made] = field(default_factory=dict)
    # Columns that stand for indicators of ``tabulate, generate()``, with their number.
    categories: dict[str, int] = field(default_factory=dict)
    # Columns that had a value in the rows whose values are numbered so.
    numbered: tuple[str, ...] = ()

    @property
    def outcomes(self) -> list[str]:
        """The left-hand variables."""
        return [self.outcome] if isinstance(self.outcome, str) else self.outcome

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.command} {' '.join(self.outcomes)}".rstrip()

    def to_dict(self) -> dict[str, Any]:
        """Return the keys that JSON has."""
        values = {key: getattr(self, key) for key in KEYS}
        return {key: [*v] if isinstance(v, tuple) else v for key, v in values.items()}
