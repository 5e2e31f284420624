"""The data of the experiments: synthetic, IHDP with its simulated outcomes, and LaLonde's."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from dprct.errors import FileError
from dprct.io.stata import read_dta
from dprct.privacy.noise import source as noise_source

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Mask = NDArray[np.bool_]

IHDP_FILE = "ihdp_npci_1-100.npz"
LALONDE_FILE = "nsw.dta"
SIZES = (500, 1000, 1500, 2000, 2500)
"""n1 of the synthetic designs; n2 is ``SYNTHETIC_N2``."""
SYNTHETIC_N2 = 1000
MAIN_SIZE = 1000
DIMENSION = 10
TRUE_EFFECT = 1.0
EFFECTS = (0.25, 0.5, 2.0, 4.0)
"""Further ones, at the main n1: Figures 2(a) and 2(b) vary the effect; the paper's are lost."""
COVARIATES = ["age", "education", "black", "hispanic", "married", "nodegree", "re75"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sample:
    """One data set with the effect that is to be found.

    Parameters
    ----------
    X : (n, p) array
    t : (n,) array of bool
    y : (n,) array
    truth : float
        The mean effect in these rows; LaLonde: the experimental difference in means.
    """

    X: Array
    t: Mask
    y: Array
    truth: float


@dataclass(frozen=True, slots=True)
class Study:
    """Where samples come from, and what about them is taken as public knowledge.

    Parameters
    ----------
    name : {"synthetic", "ihdp", "lalonde"}
    file : Path or None
    n1 : int
        Rows for the propensity model where nobody is sampled twice.
    bounds : (low, high)
        Of the outcome.
    x_bounds : tuple of (low, high), one per covariate
    norm : float
        Public bound of the covariates' norm, for the published method mended.
    effect : float
        Of a synthetic design.
    """

    name: str
    file: Path | None
    n1: int
    bounds: tuple[float, float]
    x_bounds: tuple[tuple[float, float], ...]
    norm: float
    effect: float = TRUE_EFFECT

    @property
    def label(self) -> str:
        """The name, with n1 for a synthetic design, or its effect where that is another."""
        if self.name != "synthetic":
            return self.name
        other = self.effect != TRUE_EFFECT
        return f"synthetic effect={self.effect:g}" if other else f"synthetic n1={self.n1}"

    @property
    def resampled(self) -> bool:
        """Whether section 4 samples people with replacement here."""
        return self.name != "synthetic"

    def sample(self, draw: int, rng: np.random.Generator) -> Sample:
        """Return the data of a draw: fresh, the next realisation, or always the same."""
        if self.file is None:
            return synthetic(self.n1 + SYNTHETIC_N2, rng, self.effect)
        return _ihdp(self.file, draw) if self.name == "ihdp" else _lalonde(self.file)

    def stream(self, seed: int) -> np.random.Generator:
        """Return the generator of the samples: the same for all that is run on them."""
        key = hashlib.sha256(f"{self.label} {seed}".encode()).hexdigest()
        return noise_source(int(key, 16)).post_processing_rng()

    def digest(self) -> str:
        """Return a hash of the file, so that results of other data are never taken for these."""
        return "" if self.file is None else hashlib.sha256(self.file.read_bytes()).hexdigest()


def synthetic(n: int, rng: np.random.Generator, effect: float = TRUE_EFFECT) -> Sample:
    """Return n rows: x normal, treatment logistic in x, the outcome linear in x.

    Notes
    -----
    The numbers of covariates, weights and bias (section 4) are lost in the text at hand; their
    order is kept: coefficients that are positive and negative, an outcome confounded with
    treatment.
    """
    X = rng.normal(size=(n, DIMENSION))
    along = np.where(np.arange(DIMENSION) % 2 == 0, 1.0, -1.0) / np.sqrt(DIMENSION)
    u = X @ along
    t = rng.random(n) < expit(u)
    y = effect * t + u + rng.normal(scale=0.5, size=n)
    return Sample(X, t, y, effect)


def studies(data: Path | None) -> dict[str, Study]:
    """Return the studies whose data are there, by label.

    Parameters
    ----------
    data : Path or None
        Folder with ``ihdp_npci_1-100.npz`` and ``nsw.dta``, or one of them, at any depth.

    Raises
    ------
    FileError
        If it is not a folder.

    Examples
    --------
    >>> list(studies(None))[:2]
    ['synthetic n1=500', 'synthetic n1=1000']
    """
    box = ((-4.0, 4.0),) * DIMENSION
    found = [Study("synthetic", None, n1, (-4.0, 5.0), box, 6.0) for n1 in SIZES]
    found += [Study("synthetic", None, MAIN_SIZE, (-4.0, 5.0), box, 6.0, e) for e in EFFECTS]
    if data is not None:
        found += _filed(data)
    return {study.label: study for study in found}


def _filed(data: Path) -> list[Study]:
    if not data.is_dir():
        raise FileError(f"--data {data} is not a folder; give the one that the data are in")
    found = []
    ihdp = next(iter(sorted(data.rglob(IHDP_FILE))), None)
    if ihdp is not None:
        # six standardised measurements; indicators, and one coded 1 and 2
        box = ((-4.0, 4.0),) * 6 + ((0.0, 1.0),) * 7 + ((1.0, 2.0),) + ((0.0, 1.0),) * 11
        found.append(Study("ihdp", ihdp, 373, (-10.0, 20.0), box, 8.0))
    lalonde = next(iter(sorted(data.rglob(LALONDE_FILE))), None)
    if lalonde is not None:
        ones = ((0.0, 1.0),) * 4
        men = ((16.0, 60.0), (0.0, 18.0), *ones, (0.0, 40_000.0))
        found.append(Study("lalonde", lalonde, 361, (0.0, 60_000.0), men, 40_000.0))
    return found


def _ihdp(file: Path, draw: int) -> Sample:
    X, t, y, truths = _realisations(file)
    k = draw % y.shape[1]
    return Sample(X, t, y[:, k], float(truths[k]))


@lru_cache(maxsize=2)
def _realisations(file: Path) -> tuple[Array, Mask, Array, Array]:
    try:
        with np.load(file) as kept:
            truths = (kept["mu1"] - kept["mu0"]).mean(axis=0)
            return kept["x"].astype(float), kept["t"].astype(bool), kept["yf"], truths
    except (OSError, KeyError, ValueError) as error:
        raise FileError(f"{file} has not x, t, yf, mu0 and mu1; give the IHDP file") from error


@lru_cache(maxsize=2)
def _lalonde(file: Path) -> Sample:
    rows, _ = read_dta(file)
    try:
        X, t = rows[COVARIATES].to_numpy(float), rows["treat"].to_numpy() == 1
        y = rows["re78"].to_numpy(float)
    except KeyError as error:
        raise FileError(f"{file} is not the file of LaLonde's experiment; give nsw.dta") from error
    return Sample(X, t, y, float(y[t].mean() - y[~t].mean()))
