"""The unit of work: all draws of one set-up on one study; kept, so that none is redone."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import pandas as pd

from dprct.privacy.noise import source as noise_source
from papers.ippw.setups import SETUPS, estimated
from papers.ippw.strict import STRICT, strict
from papers.runner import Settings

if TYPE_CHECKING:
    from papers.ippw.samples import Study

EPSILONS = tuple(map(Fraction, ("1/5", "1/2", "1", "2", "5")))
"""As many as the paper has; its own are lost in the text at hand."""


@dataclass(frozen=True, slots=True)
class Cell(Settings):
    """Everything that the numbers of a cell depend on.

    Parameters
    ----------
    study : str
        Label of the study.
    setup : str
        Of :data:`SETUPS` or :data:`STRICT`.
    draws : int
    seed : int
    data : str
        Hash of the data.
    """

    FORMAT: ClassVar[int] = 2

    study: str
    setup: str
    draws: int
    seed: int
    data: str

    @property
    def label(self) -> str:
        """What the cell is, for people."""
        return f"{self.study} {self.setup}"

    def compute(self, study: Study) -> pd.DataFrame:
        """Return one row per draw and epsilon.

        Returns
        -------
        DataFrame
            draw, epsilon, estimate, partial (noise on the propensity weights only), own (without
            noise), truth, copies.
        """
        # the data of a draw are the same in all set-ups; what is drawn on them is not
        samples = study.stream(self.seed)
        rng = noise_source(int(self.key, 16)).post_processing_rng()
        rows = []
        for draw in range(self.draws):
            sample = study.sample(draw, samples)
            if self.setup in STRICT:
                found = strict(study, sample, EPSILONS, rng, **STRICT[self.setup].options)
            else:
                found = estimated(study, sample, SETUPS[self.setup], EPSILONS, rng)
            rows += [
                {
                    "draw": draw,
                    "epsilon": float(epsilon),
                    "estimate": full,
                    "partial": partial,
                    "own": found.own,
                    "truth": sample.truth,
                    "copies": found.copies,
                }
                for epsilon, partial, full in zip(EPSILONS, found.partial, found.full, strict=True)
            ]
        return pd.DataFrame(rows)


def setups_of(study: Study) -> tuple[str, ...]:
    """Return the set-ups of a study: those that sample twice only where the paper does.

    Examples
    --------
    >>> from papers.ippw.samples import studies
    >>> setups_of(studies(None)["synthetic n1=500"])
    ('once', 'mended', 'strict', 'hajek')
    """
    published = tuple(SETUPS) if study.resampled else ("once", "mended")
    return (*published, *STRICT)


def title_of(setup: str) -> str:
    """Return a set-up as reports name it."""
    return (STRICT if setup in STRICT else SETUPS)[setup].title
