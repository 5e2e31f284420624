"""What a mechanism returns for a vector: the noisy integers, and the public facts about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from dprct.privacy.guarantee import Relation
    from dprct.privacy.noise import Integers


@dataclass(frozen=True, slots=True, eq=False)
class NoisyVector:
    """A released vector.

    Parameters
    ----------
    units : array of int, shape (d,)
        The noisy integers.
    grid : Fraction
        What one unit is worth in the unit of the data.
    noise_sd : float
        Standard deviation of the noise of a coordinate, in the unit of the data; public.
    relation : {"replace-one", "add-remove", "replace-one-design-public"}
        The relation under which the mechanism's claim holds.
    simulation : bool
        A seed was given: no guarantee.

    Examples
    --------
    >>> from fractions import Fraction
    >>> NoisyVector(np.array([3, -1]), Fraction(1, 4), 0.5, "replace-one", False).values.tolist()
    [0.75, -0.25]
    """

    units: Integers
    grid: Fraction
    noise_sd: float
    relation: Relation
    simulation: bool

    @property
    def values(self) -> NDArray[np.float64]:
        """The noisy numbers in the unit of the data, shape (d,)."""
        return np.array([float(int(unit) * self.grid) for unit in self.units])
