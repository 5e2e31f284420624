"""What every randomisation design does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from dprct.assignment.units import lacking, rows_of
from dprct.assignment.verdict import DesignCheck
from dprct.errors import ParameterError
from dprct.privacy.noise import source

if TYPE_CHECKING:
    from narwhals.typing import IntoFrame

    from dprct.assignment.allocation import Codes
    from dprct.assignment.groups import Groups, Level
    from dprct.formula.design_matrix import Array


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
            None draws from ChaCha, seeded by the operating system; anything else makes the draw
            reproducible, for simulation.

        Returns
        -------
        (n, C) DataFrame
            Exactly the treatment columns, in the frame's row order and with its index.

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
            One column per group, named as the arm (``control`` for rows that are in no arm).
        """
        rows, index = rows_of(frame, self.uses)
        values = self.propensities(rows)
        return pd.DataFrame(values, index=index, columns=pd.Index(self.groups.names, dtype=object))

    def check(self, data: IntoFrame, *, attrition: bool = False) -> DesignCheck:
        """Say whether a realised assignment is consistent with the design.

        Parameters
        ----------
        data : data frame
            With the treatment columns and those of :attr:`uses`.
        attrition : bool
            Rows were lost after the assignment: rules about how many are in each group are left
            out, since what remains need not obey them.

        Returns
        -------
        DesignCheck
            False where no rule is broken.  The sentences name columns, arms and rules.

        Notes
        -----
        Reads treatment, blocks and clusters, which are public under "replace-one with the design
        public" only.  Elsewhere its outcome is a fact about confidential data.
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
