"""Every form of synthetic control on one simulated panel: errors, from simulation noise.

The steps are those of the package (``dprct.published.dpsc_steps``, ``dprct.privacy.ridge``,
``dprct.estimate.synthetic.donor_weights``), without the objects around them and with continuous
noise in place of its grid of 2^-20.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dprct.estimate.synthetic.donor_weights import uniform, usable
from dprct.privacy.noise import source as noise_source
from dprct.privacy.ridge import ridge_l1
from dprct.published.dpsc_steps import l2_laplace, minimiser, objective_of, output_scale
from papers.dpsc.bounds import objective_bound, output_bound, strict_bound, terms
from papers.dpsc.design import AFTER, simulated

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from papers.dpsc.design import Simulated

    Array = NDArray[np.float64]

DELTA = 1e-6
"""Of the published objective perturbation with normal noise (the paper's Figure 6)."""

FORMS = {
    "ridge": "ridge, not private",
    "output": "published, output perturbation",
    "objective": "published, objective perturbation (no guarantee)",
    "objective, normal": "the same, normal noise, delta 1e-6 (no guarantee)",
    "strict": "strict, ridge weights",
    "uniform": "strict, equal weights",
}

BOUNDS = {
    "output": ("output, printed", "output, corrected"),
    "objective": ("objective, printed", "objective, corrected"),
    "strict": ("strict, ours",),
    "uniform": ("uniform, ours",),
}


@dataclass(frozen=True, slots=True)
class Setting:
    """One cell of the experiments.

    Parameters
    ----------
    n, T0 : int
        Donors and periods before treatment.
    epsilon : float
        Of the whole; half of it for the weights.
    lam : float
    """

    n: int
    T0: int
    epsilon: float
    lam: float

    def compute(self, reps: int, seed: int) -> dict[str, Array]:
        """Return the error of every form, and every bound, by repetition, (reps,) each.

        A setting's draws depend on it and the seed alone, whatever is computed beside.
        """
        words = [seed, self.n, self.T0, round(self.epsilon * 1000), round(self.lam * 1000)]
        rng = noise_source(words).post_processing_rng()
        rows = [self.once(rng) for _ in range(reps)]
        return {name: np.array([row[name] for row in rows]) for name in rows[0]}

    def once(self, rng: np.random.Generator) -> dict[str, float]:
        """Return errors and bounds on one new panel, in the unit of the outcome."""
        panel = simulated(self.n, self.T0, rng)
        ridge = minimiser(panel.donors[:, : self.T0], panel.target[: self.T0], self.lam)
        after = panel.donors[:, self.T0 :]
        paths = {"ridge": after.T @ ridge} | self._published(panel, ridge, rng)
        paths |= self._strict(panel, ridge, rng)
        wanted = panel.signal[self.T0 :]
        found = {k: math.sqrt(float(np.mean((path - wanted) ** 2))) for k, path in paths.items()}
        return {k: panel.bound * v for k, v in (found | self._bounds(panel, ridge)).items()}

    def _published(
        self, panel: Simulated, ridge: Array, rng: np.random.Generator
    ) -> dict[str, Array]:
        half, after = self.epsilon / 2, panel.donors[:, self.T0 :]
        X, y = panel.donors[:, : self.T0], panel.target[: self.T0]
        scale = 2 * math.sqrt(AFTER) / half
        noisy = after + l2_laplace(after.size, scale, rng).reshape(after.shape)
        weights = {
            "output": ridge + l2_laplace(self.n, output_scale(self.n, self.T0, self.lam, half), rng)
        }
        for name, delta in (("objective", 0.0), ("objective, normal", DELTA)):
            found = objective_of(self.n, self.T0, self.lam, half, delta)
            b = (
                rng.normal(0, found.scale, self.n)
                if delta
                else l2_laplace(self.n, found.scale, rng)
            )
            weights[name] = minimiser(X, y, self.lam + found.extra, b)
        return {name: noisy.T @ f for name, f in weights.items()}

    def _strict(self, panel: Simulated, ridge: Array, rng: np.random.Generator) -> dict[str, Array]:
        y_norm = float(np.linalg.norm(panel.target[: self.T0]))
        scale = ridge_l1(y_norm, self.n, self.T0, self.lam) / (self.epsilon / 2)
        weights = usable(ridge + rng.laplace(0, scale, self.n), math.sqrt(2) * scale)
        after = panel.donors[:, self.T0 :]
        found = {}
        for name, g, epsilon in (
            ("strict", weights, self.epsilon / 2),
            ("uniform", uniform(self.n), self.epsilon),
        ):
            found[name] = after.T @ g + rng.laplace(0, 2 * AFTER * g.max() / epsilon, AFTER)
        return found

    def _bounds(self, panel: Simulated, ridge: Array) -> dict[str, float]:
        found, args = terms(panel, ridge), (panel.bound, self.T0, self.lam, self.epsilon)
        return {
            "output, printed": output_bound(found, *args, printed=True),
            "output, corrected": output_bound(found, *args, printed=False),
            "objective, printed": objective_bound(found, *args, printed=True),
            "objective, corrected": objective_bound(found, *args, printed=False),
            "strict, ours": strict_bound(panel, self.epsilon, 0.5),
            "uniform, ours": strict_bound(panel, self.epsilon * self.n, 1.0),
        }
