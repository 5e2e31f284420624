"""Declared regressions of a calibrated file: which it carries, and what was released of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dprct.records import dataclass
from dprct.schema.conditions import in_signs, meets, named

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    Mask = NDArray[np.bool_]

CARRIES = ("nothing", "effects", "all")
"""What a file carries of a declared regression: its errors too, its effects alone, or nothing."""


@dataclass(frozen=True, kw_only=True)
class ValidRegression:
    """One declared regression, and what a file carries of it.

    Examples
    --------
    >>> one = ValidRegression(outcome="y", arms=("treat",), covariates=("age",), cluster="village")
    >>> one.title
    'y ~ treat + age, clusters village'
    """

    outcome: str
    # arms, covariates: terms of its right side, without the intercept; absorbed effects are
    # ``C(name)``.
    arms: tuple[str, ...]
    covariates: tuple[str, ...] = ()
    # Column of the clusters of its errors (CR1); None for robust ones (HC1).
    cluster: str | None = None
    where: str | None = None  # the condition that holds for its rows; None where these are all
    rows: int | None = None  # of the file; None where the file will say
    carries: str = "all"
    # Of every arm its coefficient's name, the released effect and its error, sampling and privacy
    # noise together.
    released: tuple[tuple[str, float, float], ...] = ()
    name: str = ""  # what it was declared as, where it has a name

    def __post_init__(self) -> None:
        if self.carries not in CARRIES or not self.arms:
            raise ValueError(f"carries is {self.carries!r}, of {len(self.arms)} arms")
        # a file and a release say the same to the last digit
        told = tuple((arm, _rounded(a), _rounded(b)) for arm, a, b in self.released)
        object.__setattr__(self, "released", told)

    @property
    def cov_type(self) -> Literal["HC1", "CR1"]:
        """HC1 or CR1."""
        return "HC1" if self.cluster is None else "CR1"

    @property
    def errors(self) -> str:
        """Its errors, as Stata's option."""
        return "vce(robust)" if self.cluster is None else f"vce(cluster {self.cluster})"

    @property
    def title(self) -> str:
        """Its name and formula, its rows and clusters."""
        said = f"{self.name}: " if self.name else ""
        said += f"{self.outcome} ~ {' + '.join((*self.arms, *self.covariates))}"
        said += "" if self.where is None else f" if {in_signs(self.where)}"
        return said + ("" if self.cluster is None else f", clusters {self.cluster}")

    @property
    def told(self) -> str:
        """What was released of its arms, in words."""
        return ", ".join(
            f"{arm} {effect:.6g} ({error:.4g})" for arm, effect, error in self.released
        )

    def words(self) -> str:
        """Return what the file carries of it, in one line."""
        if self.carries == "all":
            return f"{self.title}: effects and errors with {self.errors}"
        told = f"; released: {self.told}" if self.released else ""
        if self.carries == "effects":
            return f"{self.title}: effects; the error is n.r. on the file{told}"
        return f"{self.title}: n.r. on the file{told}"

    def of(self, data: Any) -> Mask:
        """Return which rows of a table (n,) it is about."""
        return np.ones(len(data), bool) if self.where is None else rows_where(self.where, data)


def rows_where(condition: str, data: Any) -> Mask:
    """Return for which rows (n,) of a table or mapping of columns a condition holds."""
    columns = {name: np.asarray(data[name]) for name in named(condition)}
    return meets(condition, columns, len(next(iter(columns.values()))))


def condition_of(declared: Sequence[ValidRegression], outcome: str, data: Any, used: Mask) -> (
    str | None
):  # fmt: skip
    """Return the condition of the declared regressions that the used rows of a table meet.

    Of several the one that has as many rows; None where they are not known to meet any.
    """
    there = {*map(str, data.columns)}
    found: dict[str, bool] = {}
    for one in declared:
        if one.outcome != outcome or one.where is None or not named(one.where) <= there:
            continue
        if bool(one.of(data)[used].all()):
            same = one.rows == int(used.sum())
            found[one.where] = found.get(one.where, False) or same
    return next((where for where, same in found.items() if same), next(iter(found), None))


def on_rows(
    declared: Iterable[ValidRegression], outcome: str, where: str | None
) -> list[ValidRegression]:
    """Return the declared regressions of an outcome on the rows of one condition."""
    return [one for one in declared if one.outcome == outcome and one.where == where]


def _rounded(value: float) -> float:
    return float(f"{value:.10g}")
