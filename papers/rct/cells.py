"""The unit of work: many releases of one data set by one method; kept, so that none is redone."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from dprct.privacy.noise import source as noise_source
from papers.rct.methods import allocation_of, bound, drawn
from papers.runner import Settings

if TYPE_CHECKING:
    import pandas as pd

    from papers.rct.sources import Source


@dataclass(frozen=True, slots=True)
class Cell(Settings):
    """Everything that the numbers of a cell depend on.

    Parameters
    ----------
    study, model, method : str
        Data, regression and method.
    epsilon : str
        As in the paper.
    draws : int
    seed : int
    data : str
        Hash of the data.
    """

    FORMAT: ClassVar[int] = 1

    study: str
    model: str
    method: str
    epsilon: str
    draws: int
    seed: int
    data: str

    @property
    def label(self) -> str:
        """What the cell is, for people."""
        return f"{self.study} {self.model} {self.method} {self.epsilon}".lower()

    def compute(self, source: Source) -> pd.DataFrame:
        """Draw the releases, and return the effects in each; see ``methods.drawn``."""
        spec = source.models()[self.model]
        rng = noise_source(int(self.key, 16)).post_processing_rng()
        allocation = allocation_of(self.study, self.method, Fraction(self.epsilon))
        model = bound(self.method, source.frame(), spec, allocation)
        return drawn(model, spec, Fraction(self.epsilon), self.draws, rng)
