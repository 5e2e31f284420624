"""One estimation, as far as its do-file tells."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dprct.dofile.made import Made

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


@dataclass(frozen=True, slots=True)
class Regression:
    """One estimation that a do-file runs, with the line that asks for it.

    Attributes
    ----------
    file, line : str, int
        Where the estimation stands, the file relative to its folder.
    command : str
        The full name of the command: "regress" for ``reg``.
    outcome : str or list of str
        The left-hand variable; a list for commands that have several.
    regressors : tuple of str
        All right-hand variables, treatments included.  Ranges and wildcards are kept where no
        header is given.
    treatments : tuple of str
        Those regressors that are a treatment variable or are made of one.
    endogenous, instruments, absorb, cluster : tuple of str
        Instrumented variables, their excluded instruments, absorbed effects and the variables of
        clustered errors.
    sample : str
        The condition on rows: what ``keep`` and ``drop`` left, and the command's own ``if``.
    weights, vce, dataset : str
        Such as "pweight=w", "cluster" (also "classical", "robust"), and "survey.dta".
    status : str
        "read", "partly" where something is not known from the do-files, "unread" where only the
        command's name is.
    note : str
        The table that a comment or ``using`` names, and why a reading is not sure.
    table : str
        The table alone.
    derived : dict of str to str
        What variables of this estimation that the do-files make are made of.
    sources : tuple of str
        The files that the data in memory come from.
    steps : tuple of str
        What was done to the rows: "merge", "append", "collapse", "reshape", "expand".
    merges : tuple of str
        The columns by which each merge matches rows; "" where the other file has not all of its
        rows, or where it is not by columns.
    intercept : bool
        False for ``noconstant``.
    unknown : tuple of str
        Commands that came before on the same data and may have changed them in any way.
    groups : str
        The variables of ``by``, for each of whose values the estimation is repeated.
    remade : tuple of str
        Variables of ``sample`` and ``groups`` that the do-files make or change, but ``_merge``.
    level : str
        The confidence level in percent that the command or ``set level`` asks for; "" is Stata's.
    made : dict of str to Made
        Those of its variables that do-files make, as expressions of the columns of the file, or
        with the reason why they are none.
    categories : dict of str to int
        Columns that stand for indicators of ``tabulate, generate()``, with their number.
    numbered : tuple of str
        Columns that had a value in the rows whose values are numbered so.
    """

    file: str
    line: int
    command: str
    outcome: str | list[str] = ""
    regressors: tuple[str, ...] = ()
    treatments: tuple[str, ...] = ()
    endogenous: tuple[str, ...] = ()
    instruments: tuple[str, ...] = ()
    absorb: tuple[str, ...] = ()
    sample: str = ""
    weights: str = ""
    vce: str = ""
    cluster: tuple[str, ...] = ()
    dataset: str = ""
    status: str = "read"
    note: str = ""
    table: str = ""
    derived: dict[str, str] = field(default_factory=dict)
    sources: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    intercept: bool = True
    unknown: tuple[str, ...] = ()
    groups: str = ""
    merges: tuple[str, ...] = ()
    remade: tuple[str, ...] = ()
    level: str = ""
    made: dict[str, Made] = field(default_factory=dict)
    categories: dict[str, int] = field(default_factory=dict)
    numbered: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the keys that JSON has."""
        values = {key: getattr(self, key) for key in KEYS}
        return {key: [*v] if isinstance(v, tuple) else v for key, v in values.items()}
