"""Several treated units, which the paper names (related work) and does not define.

Algorithm 2 as it would be for m of them: step 1 once for each, on an m-th of its epsilon, and step
2, which does not ask who was treated, once for all.  By composition the m weights and the noisy
donors keep epsilon together, and every path is made of these.  Beside it, Algorithm 2 run m times
on an m-th of the whole, which draws the donors anew each time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from dprct.privacy.noise import source as noise_source
from dprct.published.synthetic_control import l2_laplace, minimiser, output_scale
from papers.dpsc.forms import AFTER, equation_10, simulated
from papers.markdown import markdown

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from papers.dpsc.forms import Simulated

    Array = NDArray[np.float64]
    Draw = Callable[[int, float, np.random.Generator], Array]

TREATED = (1, 2, 5)
LAWS: dict[str, Draw] = {"density": l2_laplace, "equation (10)": equation_10}


@dataclass(frozen=True, slots=True)
class Several:
    """A setting of the experiment: donors, periods before treatment, epsilon, lambda."""

    n: int = 100
    T0: int = 10
    epsilon: float = 100.0
    lam: float = 200.0

    def compute(self, reps: int, seed: int) -> pd.DataFrame:
        """Return ``treated, noise, once, apart``: errors of a path, by how donors are released."""
        rows = []
        for m in TREATED:
            for law, draw in LAWS.items():
                rng = noise_source([seed, m, len(law)]).post_processing_rng()
                found = np.array([self._once(m, draw, rng) for _ in range(reps)])
                once, apart = found.mean(axis=0)
                rows.append({"treated": m, "noise": law, "once": once, "apart": apart})
        return pd.DataFrame(rows)

    def _once(self, m: int, draw: Draw, rng: np.random.Generator) -> tuple[float, float]:
        panel, half = simulated(self.n + m - 1, self.T0, rng), self.epsilon / 2
        series = np.vstack([panel.target, panel.donors[: m - 1]])
        signals = np.vstack([panel.signal, panel.signals[: m - 1]])[:, self.T0 :]
        donors = panel.donors[m - 1 :]
        weights = [self._weights(donors, one[: self.T0], half / m, draw, rng) for one in series]
        after = self._noisy(donors, half, draw, rng)
        shared = [after.T @ f for f in weights]
        alone = [self._noisy(donors, half / m, draw, rng).T @ f for f in weights]
        return _error(panel, shared, signals), _error(panel, alone, signals)

    def _weights(
        self, donors: Array, y: Array, eps: float, draw: Draw, rng: np.random.Generator
    ) -> Array:
        found = minimiser(donors[:, : self.T0], y, self.lam)
        return found + draw(self.n, output_scale(self.n, self.T0, self.lam, eps), rng)

    def _noisy(self, donors: Array, eps: float, draw: Draw, rng: np.random.Generator) -> Array:
        after = donors[:, self.T0 :]
        return after + draw(after.size, 2 * math.sqrt(AFTER) / eps, rng).reshape(after.shape)


def _error(panel: Simulated, paths: list[Array], signals: Array) -> float:
    """Return the root mean square error of a path, averaged over the treated units."""
    gaps = np.array(paths) - signals
    return panel.bound * float(np.sqrt((gaps**2).mean(axis=1)).mean())


def several_table(found: pd.DataFrame) -> str:
    """Return the errors as Markdown."""
    lines = [
        [f"{row['treated']}", row["noise"], f"{row['once']:,.3g}", f"{row['apart']:,.3g}"]
        for row in found.to_dict("records")
    ]
    heads = ("treated units", "noise", "donors released once", "Algorithm 2 for each")
    return markdown(heads, lines)
