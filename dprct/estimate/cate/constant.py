"""The effect of an S-learner in an additive model: the same for everybody."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dprct.errors import ParameterError
from dprct.estimate.additive.fitted import AdditiveFit
from dprct.estimate.additive.smoothing import usable_counts
from dprct.estimate.noise_law import PathNoise
from dprct.queries import Block
from dprct.schema.facts import given

if TYPE_CHECKING:
    from typing import NoReturn

    from numpy.typing import NDArray

    from dprct.estimate.additive.terms import Terms

    Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ConstantEffect(AdditiveFit):
    """The difference of two levels of treatment, one feature of an additive model of the outcome.

    Notes
    -----
    With T a feature beside x, mu(x, 1) - mu(x, 0) is the shape of T at 1 less that at 0, whatever x
    is: without interactions there is nothing else to learn.  The shapes of x are of no use for it,
    so that the budget is spent on the shape of T alone.
    """

    @staticmethod
    def blocks(terms: Terms) -> tuple[Block, ...]:
        """Return what is released: everybody, and the two levels of treatment."""
        return (Block((), (), counts=False), Block((len(terms.encodings),), (2,)))

    @property
    def average(self) -> float:
        """The effect."""
        means, _ = self._levels()
        return float(np.clip(means[1] - means[0], -2 * self.sums.clip, 2 * self.sums.clip))

    @property
    def shapes(self) -> tuple[Array, ...]:
        """Flat shapes (K,) of the terms."""
        sizes = [encoding.size for encoding in self.terms.encodings]
        found = [np.zeros(size) for size in sizes[: self.terms.features]]
        return (*found, *(np.zeros(sizes[j] * sizes[k]) for j, k in self.terms.pairs))

    def average_noise(self, part: str = "all") -> PathNoise:
        """Return the law of the error of the effect: noise, and sampling unless it is left out."""
        means, counts = self._levels()
        law = self.sums.noise([(1 / n, 1) for n in counts])
        law += self.sums.noise([(m / n, 1) for m, n in zip(means, counts, strict=True)],
                               self.sums.sd_count)  # fmt: skip
        sampling = sum(self.sums.largest_variance / n for n in counts) if part == "all" else 0.0
        return law + PathNoise((), sampling)

    def levels(self, name: object, *_: object, **__: object) -> NoReturn:
        """Refuse: there are no shapes."""
        raise ParameterError(
            f"no shape of {given(name)}: an S-learner in an additive model has the same effect for "
            "everybody; use learner='dr' or 'r'"
        )

    def _levels(self) -> tuple[Array, Array]:
        """Return the means of the untreated and the treated, and their numbers; (2,) each."""
        cells = self.sums.cells[1]
        assert cells.counts is not None
        assert cells.sums is not None
        counts = usable_counts(cells.counts, self.sums.mass)
        clip = self.sums.clip
        return np.clip(cells.sums / counts, -clip, clip), counts
