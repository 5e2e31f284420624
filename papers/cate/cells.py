"""The unit of work: all forms of one kind on one design and n; kept, so that none is redone."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from papers.cate.designs import stream
from papers.cate.fits import Fits
from papers.cate.forms import FORMS, forms_of
from papers.runner import Settings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from papers.cate.designs import Design

    Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Cell(Settings):
    """Everything that the numbers of a cell depend on.

    Parameters
    ----------
    design : str
    kind : {"strict", "published", "none"}
    n : int
    epsilons : str
        Separated by spaces, for settings are kept as JSON.
    draws : int
        Samples, each with one fit of every form at every epsilon; 2 at least.
    seed : int
    data : str
        Hash of the data.
    """

    FORMAT: ClassVar[int] = 1

    design: str
    kind: str
    n: int
    epsilons: str
    draws: int
    seed: int
    data: str

    @property
    def label(self) -> str:
        """What the cell is, for people."""
        return f"{self.design} {self.kind} {self.n}"

    def compute(self, design: Design) -> pd.DataFrame:
        """Return one row per form, epsilon and draw.

        Returns
        -------
        DataFrame
            ``form, epsilon, draw, mse``, and ``mse_mean`` of the mean of all fits.

        Notes
        -----
        Samples depend on design, n, seed and draw alone, and the test set on design and seed: forms
        are compared on the same people.
        """
        test = design.test(self.seed)
        forms = [name for name in forms_of(design) if FORMS[name].kind == self.kind]
        epsilons = [float(word) for word in self.epsilons.split()]
        fits = Fits(design, forms, test.X)
        where = int(hashlib.sha256(self.design.encode()).hexdigest()[:8], 16)
        total: dict[tuple[str, float], Array] = {}
        rows: list[dict[str, Any]] = []
        for draw in range(self.draws):
            rng = stream(self.seed, where, self.n, draw)
            sample = design.train(self.n, rng)
            for form, epsilon, effect in fits.on(sample, epsilons, int(self.key, 16) + draw):
                mse = float(np.mean((effect - test.tau) ** 2))
                rows.append({"form": form, "epsilon": epsilon, "draw": draw, "mse": mse})
                total[form, epsilon] = total.get((form, epsilon), 0) + effect / self.draws
        of_mean = {one: float(np.mean((mean - test.tau) ** 2)) for one, mean in total.items()}
        return pd.DataFrame(
            [row | {"mse_mean": of_mean[row["form"], row["epsilon"]]} for row in rows]
        )
