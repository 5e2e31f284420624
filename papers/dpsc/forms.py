"""The paper's design, every form of synthetic control on one panel of it, and bounds on its error.

The design (Section 8.1) is lines with random slopes.  The steps are those of the package
(``dprct.published.synthetic_control``, ``dprct.privacy.ridge_sensitivity`` and
``dprct.estimate.synthetic_control``), without the objects around them and with continuous noise in
place of its grid of 2^-20.  Bounds are the paper's, as printed and corrected, and one for the
strict form: all for data divided by the public bound, and for one simulated panel; their mean over
panels bounds the mean error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr, ndtri

from dprct.estimate.synthetic_control.release import uniform, usable
from dprct.privacy.noise import source as noise_source
from dprct.privacy.ridge_sensitivity import ridge_l1
from dprct.published import ControlError
from dprct.published.synthetic_control import l2_laplace, minimiser, objective_of, output_scale

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Drawn = dict[str, tuple[Array, Array]]


AFTER = 3
"""Periods after treatment."""

NOISE_VARIANCE = 0.1
"""Of the outcomes before they are cut off, which makes it smaller."""


@dataclass(frozen=True, slots=True)
class Simulated:
    """One simulated panel, divided by the public bound B = 5 T + 1.

    Parameters
    ----------
    donors : (n, T) array
    target : (T,) array
    signals : (n, T) array
        The donors' lines.
    signal : (T,) array
        The treated unit's line, which is to be predicted.
    slopes : (n,) array
    slope : float
        Of the treated unit.
    bound : float
        B, for the paper's formulas hold for numbers between -1 and 1 only.
    """

    donors: Array
    target: Array
    signals: Array
    signal: Array
    slopes: Array
    slope: float
    bound: float

    @property
    def true_weights(self) -> Array:
        """The shortest f with ``M_post' f = m_post``, (n,)."""
        return np.asarray(self.slope * self.slopes / (self.slopes @ self.slopes))


def simulated(n: int, T0: int, rng: np.random.Generator) -> Simulated:
    """Draw a panel of n donors with T0 periods before treatment.

    Examples
    --------
    >>> panel = simulated(10, 20, np.random.default_rng(1))
    >>> panel.donors.shape, bool(abs(panel.donors).max() <= 1)
    ((10, 23), True)
    """
    T = T0 + AFTER
    slopes = _cut_normal(4.0, 1.0, 1.0, (n + 1,), rng)
    lines = np.outer(slopes, np.arange(1.0, T + 1))
    data = lines + _cut_normal(0.0, NOISE_VARIANCE**0.5, 1.0, lines.shape, rng)
    bound = 5.0 * T + 1
    lines, data = lines / bound, data / bound
    return Simulated(data[1:], data[0], lines[1:], lines[0], slopes[1:], float(slopes[0]), bound)


def _cut_normal(
    mean: float, sd: float, reach: float, shape: tuple[int, ...], rng: np.random.Generator
) -> Array:
    """Draw normal numbers that are within ``reach`` of their mean."""
    low = float(ndtr(-reach / sd))
    return np.asarray(mean + sd * ndtri(low + (1 - 2 * low) * rng.random(shape)))


def proved(
    panel: Simulated, weights: Array, T0: int, lam: float, epsilon: float, *, printed: bool
) -> dict[str, float]:
    """Return the bounds of Theorems 3.2 and 3.5 (Laplace and Gaussian noise), by form.

    Parameters
    ----------
    panel : Simulated
    weights : (n,) array
        Of the ridge.
    T0 : int
    lam, epsilon : float
        Half of epsilon for each step.
    printed : bool
        As printed, or with the lengths of the noise mended.
    """
    half = epsilon / 2
    signal = float(np.linalg.norm(panel.signals[:, -AFTER:], 2)) / math.sqrt(AFTER)
    distance = float(np.linalg.norm(weights - panel.true_weights))
    found = {}
    for form, perturb, delta in (
        ("output", "output", 0.0), ("objective", "objective", 0.0),
        ("objective, normal", "objective", DELTA),
    ):  # fmt: skip
        error = ControlError(
            n=len(weights), T0=T0, K=AFTER, lam=lam, eps1=half, eps2=half,
            sigma=math.sqrt(NOISE_VARIANCE) / panel.bound, perturb=perturb, delta=delta,
            psi=float(np.abs(weights).max()), printed=printed,
        )  # fmt: skip
        found[form] = error.theorem(signal, distance)
    return found


def strict_bound(panel: Simulated, epsilon: float, share: float) -> float:
    """Return a bound on the strict form's mean error, whatever its weights are.

    Parameters
    ----------
    panel : Simulated
    epsilon : float
    share : float
        Of epsilon, for the path.

    Notes
    -----
    Weights g on the simplex make ``M'g - m`` a mean of the donors' distances from m, at most the
    largest one.  They do not depend on the outcomes after treatment, whose part ``Z'g`` has a root
    mean square of at most sigma ||g|| <= sigma.  The noise has a standard deviation of
    sqrt(2) 2 (T - T0) ||g||_inf / epsilon_2 a period, and ||g||_inf <= 1.
    """
    apart = (panel.signals - panel.signal)[:, -AFTER:]
    farthest = math.sqrt(float((apart**2).mean(axis=1).max()))
    chance = math.sqrt(NOISE_VARIANCE) / panel.bound
    return farthest + chance + math.sqrt(2) * 2 * AFTER / (epsilon * share)


DELTA = 1e-6
"""Of the published objective perturbation with normal noise (the paper's Figure 6)."""

FORMS = {
    "ridge": "ridge, not private",
    "output": "published, output perturbation",
    "output, equation (10)": "output perturbation, radius of equation (10) (not private)",
    "objective": "published, objective perturbation (no guarantee)",
    "objective, equation (10)": "objective perturbation, radius of equation (10) (not private)",
    "objective, normal": "objective perturbation, normal noise, delta 1e-6 (no guarantee)",
    "strict": "strict, ridge weights",
    "uniform": "strict, equal weights",
}
"""Labels, each of one form alone: a report names its rows by them."""

BOUNDS = {
    "output": ("output, printed", "output, corrected"),
    "output, equation (10)": ("output, printed", "output, corrected"),
    "objective": ("objective, printed", "objective, corrected"),
    "objective, equation (10)": ("objective, printed", "objective, corrected"),
    "objective, normal": ("objective, normal, printed", "objective, normal, corrected"),
    "strict": ("strict, ours",),
    "uniform": ("uniform, ours",),
}


def equation_10(size: int, scale: float, rng: np.random.Generator) -> Array:
    """Draw noise (size,) whose mean length is ``scale``, as equation (10) of the paper has it.

    Notes
    -----
    The density that Algorithms 2 and 3 print, proportional to ``exp(-||v|| / scale)``, has a mean
    length of ``size * scale``.  An exponential length of mean ``scale`` gives the paper's figures.
    It is not private: its density is proportional to ``||v||^(1 - size) exp(-||v|| / scale)``,
    which has no bound near 0, so that draws near the unperturbed weights give them away.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> lengths = [np.linalg.norm(equation_10(10, 2.0, rng)) for _ in range(20_000)]
    >>> round(float(np.mean(lengths)), 1)
    2.0
    """
    direction = rng.standard_normal(size)
    return np.asarray(direction / np.linalg.norm(direction) * rng.exponential(scale))


def _rms(gap: Array) -> float:
    return math.sqrt(float(np.mean(gap**2)))


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
        # a stream of its own: the draws of the other forms do not depend on these
        other = noise_source([*words, 10]).post_processing_rng()
        rows = [self.once(rng, other) for _ in range(reps)]
        return {name: np.array([row[name] for row in rows]) for name in rows[0]}

    def once(self, rng: np.random.Generator, other: np.random.Generator) -> dict[str, float]:
        """Return errors and bounds on one new panel, in the unit of the outcome."""
        panel = simulated(self.n, self.T0, rng)
        ridge = minimiser(panel.donors[:, : self.T0], panel.target[: self.T0], self.lam)
        drawn = {"ridge": (ridge, panel.donors[:, self.T0 :].T @ ridge)}
        drawn |= self._published(panel, ridge, rng)
        drawn |= self._strict(panel, ridge, rng) | self._equation_10(panel, ridge, other)
        before, after = panel.donors[:, : self.T0], panel.signal[self.T0 :]
        found = {form: _rms(path - after) for form, (_, path) in drawn.items()}
        # the fit before treatment (section 8.2) reads the donors once more: no release
        found |= {
            f"{form}, before": _rms(before.T @ weights - panel.target[: self.T0])
            for form, (weights, _) in drawn.items()
        }
        return {k: panel.bound * v for k, v in (found | self._bounds(panel, ridge)).items()}

    def _published(self, panel: Simulated, ridge: Array, rng: np.random.Generator) -> Drawn:
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
        return {name: (f, noisy.T @ f) for name, f in weights.items()}

    def _equation_10(self, panel: Simulated, ridge: Array, rng: np.random.Generator) -> Drawn:
        """Return the published paths with noise as short as in the paper's equation (10)."""
        half, after = self.epsilon / 2, panel.donors[:, self.T0 :]
        X, y = panel.donors[:, : self.T0], panel.target[: self.T0]
        scale = 2 * math.sqrt(AFTER) / half
        noisy = after + equation_10(after.size, scale, rng).reshape(after.shape)
        found = objective_of(self.n, self.T0, self.lam, half)
        own = output_scale(self.n, self.T0, self.lam, half)
        weights = {
            "output": ridge + equation_10(self.n, own, rng),
            "objective": minimiser(
                X, y, self.lam + found.extra, equation_10(self.n, found.scale, rng)
            ),
        }
        return {f"{name}, equation (10)": (f, noisy.T @ f) for name, f in weights.items()}

    def _strict(self, panel: Simulated, ridge: Array, rng: np.random.Generator) -> Drawn:
        y_norm = float(np.linalg.norm(panel.target[: self.T0]))
        scale = ridge_l1(y_norm, self.n, self.T0, self.lam) / (self.epsilon / 2)
        weights = usable(ridge + rng.laplace(0, scale, self.n), math.sqrt(2) * scale)
        after = panel.donors[:, self.T0 :]
        found: Drawn = {}
        for name, g, epsilon in (
            ("strict", weights, self.epsilon / 2),
            ("uniform", uniform(self.n), self.epsilon),
        ):
            path = after.T @ g + rng.laplace(0, 2 * AFTER * g.max() / epsilon, AFTER)
            found[name] = (g, path)
        return found

    def _bounds(self, panel: Simulated, ridge: Array) -> dict[str, float]:
        found = {
            f"{form}, {kind}": bound
            for kind in ("printed", "corrected")
            for form, bound in proved(
                panel, ridge, self.T0, self.lam, self.epsilon, printed=kind == "printed"
            ).items()
        }
        return found | {
            "strict, ours": strict_bound(panel, self.epsilon, 0.5),
            "uniform, ours": strict_bound(panel, self.epsilon * self.n, 1.0),
        }
