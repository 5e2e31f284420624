"""What every randomisation design does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from dprct.arguments import checked
from dprct.assignment.groups import lacking, rows_of
from dprct.errors import ParameterError
from dprct.privacy.noise import source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from narwhals.typing import IntoFrame

    from dprct.assignment.groups import Codes, Groups, Level
    from dprct.formula.design_matrix import Array


@dataclass(frozen=True, slots=True)
class DesignCheck:
    """The rules of a design that an assignment breaks; false where it breaks none.

    Parameters
    ----------
    design : str
        The design in one sentence.
    problems : tuple of str
        One sentence per broken rule, with names of columns and arms and no value of the data.

    Examples
    --------
    >>> found = DesignCheck("Complete randomisation.", ("the data lack column 'treat'",))
    >>> found.consistent, len(found), list(found)
    (False, 1, ["the data lack column 'treat'"])
    """

    design: str
    problems: tuple[str, ...] = ()

    @property
    def consistent(self) -> bool:
        """Whether the assignment could have come from the design."""
        return not self.problems

    def require(self) -> None:
        """Refuse an assignment that cannot have come from the design.

        Raises
        ------
        ParameterError
            If there is a problem; the message lists them all.
        """
        if self.problems:
            raise ParameterError(
                f"the assignment is not one of the design ({'; '.join(self.problems)}); declare "
                "the design that was used, or say attrition=True if rows were lost after it"
            )

    def __len__(self) -> int:
        return len(self.problems)

    def __iter__(self) -> Iterator[str]:
        return iter(self.problems)

    def __str__(self) -> str:
        if self.consistent:
            return f"{self.design}\nThe assignment is consistent with this design."
        lines = [f"  - {problem}" for problem in self.problems]
        return "\n".join([self.design, "The assignment is not consistent with it:", *lines])


class Design(ABC):
    """A randomisation: the groups, the columns that hold them, and the law of the draw.

    Attributes
    ----------
    groups : Groups
        The groups and their values in the treatment columns.
    """

    groups: Groups

    @property
    def columns(self) -> tuple[str, ...]:
        """The treatment columns, as they stand in the file."""
        return self.groups.columns

    @property
    def uses(self) -> tuple[str, ...]:
        """The columns that the draw depends on: blocks and clusters."""
        return ()

    def assign(self, frame: IntoFrame, rng: object = None) -> pd.DataFrame:
        """Draw an assignment.

        Parameters
        ----------
        frame : data frame of n rows
            Synthetic or public rows, with the columns of :attr:`uses`.
        rng : None, int, SeedSequence, BitGenerator or Generator
            None draws from ChaCha, seeded by the operating system.  A seed makes the draw
            reproducible, for simulation.

        Returns
        -------
        (n, C) DataFrame
            The treatment columns and no others, in the row order of the frame and with its index.

        Raises
        ------
        ColumnError
            If the frame lacks a block or cluster column.
        ParameterError
            If the frame has no rows, or cannot be assigned by this design.
        """
        generator = source(rng).post_processing_rng()
        rows, index = rows_of(frame, self.uses)
        return self.groups.frame(self.draw(rows, generator), index)

    def probabilities(self, frame: IntoFrame) -> pd.DataFrame:
        """Return the exact probability with which each row falls into each group.

        Parameters
        ----------
        frame : data frame of n rows
            With the columns of :attr:`uses`.

        Returns
        -------
        (n, G) DataFrame
            One column per group, named after the arm (``control`` for rows in no arm).
        """
        rows, index = rows_of(frame, self.uses)
        values = self.propensities(rows)
        return pd.DataFrame(values, index=index, columns=pd.Index(self.groups.names, dtype=object))

    @checked
    def check(self, data: IntoFrame, *, attrition: bool = False) -> DesignCheck:
        """Check whether the design can have made a realised assignment.

        Parameters
        ----------
        data : data frame
            Rows with the treatment columns and those of :attr:`uses`.
        attrition : bool
            Whether rows were lost after the assignment.  If so, rules about group sizes are not
            checked, because the remaining rows need not obey them.

        Returns
        -------
        DesignCheck
            The broken rules, as sentences that name columns, arms and rules; false if there are
            none.

        Notes
        -----
        The check reads treatment, blocks and clusters.  These are public under "replace-one with
        the design public" only; under other relations, the result is itself confidential.
        """
        missing = lacking(data, [*self.columns, *self.uses])
        if missing:
            problems = [f"the data lack column {name!r}" for name in missing]
        else:
            rows, _ = rows_of(data, [*self.columns, *self.uses])
            problems = self.broken(rows, attrition=attrition)
        return DesignCheck(self.describe(), tuple(problems))

    def broken(self, rows: pd.DataFrame, *, attrition: bool) -> list[str]:
        """Return the rules that the treatment columns of ``rows`` break."""
        problems = self.groups.problems(rows)
        return problems or self.broken_by(self.groups.codes(rows), rows, attrition=attrition)

    def common(self, n: int) -> Array:
        """Return the declared probability of each group, the same for each of n rows; (G,).

        Raises
        ------
        ParameterError
            If the design declares none.
        """
        raise ParameterError(
            f"a {type(self).__name__} design declares no probabilities that are the same for every "
            "row; use one with shares=, such as dprct.Simple('treat', shares=0.5)"
        )

    def declare(self, frame: IntoFrame) -> str:
        """Describe the design on a frame: units, and the range of each group's propensity.

        Parameters
        ----------
        frame : data frame of n rows
            Synthetic or public rows, with the columns of :attr:`uses`.
        """
        chances = self.probabilities(frame)
        lines = [self.describe(), f"  Rows: {len(chances)}"]
        for name, values in zip(self.groups.names, np.asarray(chances).T, strict=True):
            low, high = float(values.min()), float(values.max())
            range_ = f"{low:.4g}" if np.isclose(low, high) else f"{low:.4g} to {high:.4g}"
            lines.append(f"  Probability of {_shown(name)}: {range_}")
        return "\n".join(lines)

    @abstractmethod
    def draw(self, rows: pd.DataFrame, rng: np.random.Generator) -> Codes:
        """Draw the group of each row; (n,)."""

    @abstractmethod
    def propensities(self, rows: pd.DataFrame) -> Array:
        """Return the probability of each group for each row; (n, G)."""

    @abstractmethod
    def broken_by(self, codes: Codes, rows: pd.DataFrame, *, attrition: bool) -> list[str]:
        """Return the rules that rows in groups ``codes`` break; all rows are in a group."""

    @abstractmethod
    def describe(self) -> str:
        """Say the design in one sentence."""

    def __str__(self) -> str:
        return self.describe()


def _shown(name: Level) -> str:
    return name if isinstance(name, str) else f"{name:g}"
