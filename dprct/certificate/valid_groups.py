"""The levels of a public column within which a calibrated file returns released effects, too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dprct.errors import ParameterError
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable

Level = str | float
"""What a column of groups holds: a text, or a number."""

Keys = set[str]
"""Terms of a regression, each as the grammar of formulas spells it."""


@dataclass(frozen=True, kw_only=True)
class ValidGroups:
    """Groups of rows whose own regressions return the effects that were released of them."""

    column: str  # whose levels are the groups; public, and never missing
    # In order; empty while a file is planned, whose levels are not known yet.
    levels: tuple[Level, ...] = ()
    rows: tuple[tuple[int, ...], ...] = ()  # of every level, the rows with each outcome
    # Of every level, the error of each outcome's mean in the control group.
    control_errors: tuple[tuple[float | None, ...], ...] = ()
    # Whether regressions on all rows return the released effects of everybody, too: arms have the
    # same shares in all levels.
    whole: bool = True

    def __post_init__(self) -> None:
        if not len(self.levels) == len(self.rows) == len(self.control_errors):
            raise ParameterError(
                f"{len(self.levels)} levels of {self.column!r} with {len(self.rows)} numbers of "
                f"rows and {len(self.control_errors)} of errors; give one each"
            )
        # what a file says and what a release says are equal to the last digit
        rounded = (
            tuple(None if e is None else float(f"{e:.10g}") for e in errors)
            for errors in self.control_errors
        )
        object.__setattr__(self, "control_errors", tuple(rounded))

    def named(self, values: Iterable[Any]) -> Level | None:
        """Return the level that all values have, None where they are of several or of none.

        Examples
        --------
        >>> groups = ValidGroups(column="town")
        >>> groups.named([2, 2.0]), groups.named(["a", "b"]), groups.named([float("nan")])
        (2.0, None, None)
        """
        found: set[Level] = {
            value if isinstance(value, str) else float(value) for value in set(values)
        }
        (level,) = found if len(found) == 1 else (None,)
        if level is None or level == "" or level != level:
            return None
        return level

    def place(self, level: Level | None) -> int | None:
        """Return the place of a level; None where it is none of the file's, or none is asked."""
        return self.levels.index(level) if level in self.levels else None

    def rows_of(self, level: Level, outcome: int) -> int | None:
        """How many rows of a level have an outcome, where that is known."""
        place = self.place(level)
        return None if place is None else self.rows[place][outcome]

    def error_of(self, level: Level, outcome: int) -> float | None:
        """Return the error of the control mean of a level, None where it was not released."""
        place = self.place(level)
        return None if place is None else self.control_errors[place][outcome]

    @property
    def own(self) -> Keys:
        """Terms that are the same for all rows of a level."""
        return {self.column, f"C({self.column})"}

    def crossing(self, terms: Keys, arms: Keys) -> Keys:
        """Return the terms that cross every arm with the levels; none if some are missing."""
        for name in sorted(self.factors):
            crossed = {":".join(sorted([*arm.split(":"), name])) for arm in arms}
            if name in terms and crossed <= terms:
                return crossed | {name}
        return set()

    def compared(
        self, terms: Keys, known: list[Keys], arms: Keys, *, within: bool
    ) -> tuple[Keys, list[Keys]]:
        """Return covariates without the terms that groups account for, and the valid sets.

        Within a level, and where arms are crossed with the levels, that is the empty set: how the
        file's arms differ in a covariate fixes by how much adjusted effects of levels differ from
        those of everybody.
        """
        crossing = set() if within else self.crossing(terms, arms)
        if not within and not crossing:
            return terms, known
        return terms - crossing - self.own, [set()]

    def holds(self, declared: Iterable[str]) -> bool:
        """Whether a regression on all rows with declared covariates returns released effects."""
        return self.whole or bool(self.factors & set(declared))

    @property
    def factors(self) -> Keys:
        """Terms that tell all levels apart."""
        return self.own if len(self.levels) == 2 else {f"C({self.column})"}

    def is_part(self, terms: Keys, declared: Keys) -> bool:
        """Whether a part of a declared set has the same effects on all rows.

        What varies within levels has no coefficient there with the set's own terms of the levels.
        """
        free = self.whole and not terms - self.own
        return terms < declared and (free or terms & self.own == declared & self.own)

    def reason(self, terms: Keys, arms: Keys, within: Level | None) -> str | None:
        """Reason why no released effect is that of the rows of a regression."""
        if within is not None:
            known = not self.levels or within in self.levels
            return None if known else f"{self._said(within)} is not a released level"
        if self.holds(terms) or self.crossing(terms, arms):
            return None
        return (
            f"arms have other shares in some levels of {self.column}, so that only regressions "
            f"within a level, and those with C({self.column}), are calibrated"
        )

    def others(self, within: Level | None) -> str:
        """Say which groups of rows were released, to those who take others."""
        if within is None:
            return f"of subgroups only the levels of {self.column} were released"
        return f"those with {self._said(within)} belong together"

    def _said(self, level: Level) -> str:
        return f"{self.column} = {spelled(level)}"

    def adjusted_words(self, terms: list[str]) -> str:
        """Reason why a regression within a level has no covariates."""
        return (
            f"within levels of {self.column}, and where arms are crossed with them, the regression "
            f"on the arms alone was calibrated, and not one with {', '.join(terms)}"
        )

    def coefficient_words(self, terms: Keys, arms: Keys) -> str | None:
        """Meaning of the coefficients where they are not the effects of the estimates."""
        if not self.crossing(terms, arms):
            return None if self.whole else (
                f"They are means of the effects in levels of {self.column}, with the weights of "
                "least squares, and no error of the constant was released"
            )  # fmt: skip
        return (
            f"They are the effects in the first level of {self.column}, those of the products are "
            "differences from it, and no error of the constant was released"
        )

    def words(self, arms: str, errors: str) -> str:
        """Paragraph on what holds within levels."""
        everybody = (
            "The effects of everybody are those of the regressions on all rows."
            if self.whole
            else "Arms have other shares in some levels, so that of declared regressions on all "
            f"rows only those with C({self.column}) are calibrated: they return the mean of the "
            "levels' effects with the weights of least squares."
        )
        return (
            f"Calibrated within each level of {self.column}, too: the regression on {arms} alone "
            f"on its rows returns the effects in that level, and {errors} their errors. Where "
            f"{arms} is crossed with all levels, its coefficients are the effects in the first "
            f"level, and those of the products are differences from it. {everybody}"
        )


def level_of(groups: ValidGroups | None, data: Any, used: Any) -> Level | None:
    """The one level of a file's groups that the used rows have, if they have one."""
    if groups is None or groups.column not in data.columns:
        return None
    return groups.named(data[groups.column][used].unique())


def spelled(level: Level) -> str:
    """Return a level as a condition on rows spells it.

    Examples
    --------
    >>> spelled(2.0), spelled("north")
    ('2', '"north"')
    """
    return f'"{level}"' if isinstance(level, str) else f"{level:.17g}"
