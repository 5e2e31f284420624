"""The data of the experiments: setups A to E of the paper, and a voting experiment."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.linalg import toeplitz
from scipy.special import expit

from dprct.errors import FileError
from dprct.privacy.noise import source as noise_source

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Array = NDArray[np.float64]


VOTING_FILE = "social.csv.gz"
YEAR = 2006
"""Of the election."""


@lru_cache(maxsize=2)
def voting_people(file: Path) -> tuple[Array, Array]:
    """Return sex (1 is female), age, vote of 2004 and household size (n, 4), and the vote (n,).

    They are those of the social pressure experiment who got no letter.  Section 5.1.2 spikes
    another experiment (Arceneaux, Gerber and Green 2006), which is not at hand.

    Raises
    ------
    FileError
        If it is not the file of Gerber, Green and Larimer (2008).
    """
    try:
        rows = pd.read_csv(file)
        rows = rows[rows["messages"] == "Control"]
        columns = [
            rows["sex"] == "female", YEAR - rows["yearofbirth"], rows["primary2004"],
            rows["hhsize"],
        ]  # fmt: skip
        voted = rows["primary2006"].to_numpy(float)
    except (OSError, KeyError, ValueError, UnicodeDecodeError) as error:
        raise FileError(f"{file} is not the social pressure file; give {VOTING_FILE}") from error
    return np.column_stack([column.to_numpy(float) for column in columns]), voted


DIMENSION = 6
CORRELATION = 0.5
"""Of neighbouring features in setup E; the paper's own matrix is random and not printed."""

VOTING_SHARE = 0.4
"""Share of the treated, as in section 5.1.2 (59,264 of 148,160)."""

TEST_ROWS = 4000

MOST_TEST_ROWS = 20_000
"""People of the voting design who are in no sample, however many of them a test set has."""

CONSTANT = "B, constant effect"
"""Setup B with an effect of 1 for everybody, which is not in Table 1."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sample:
    """People with their true effects.

    Parameters
    ----------
    X : (n, p) array
        Within the declared bounds.
    t : (n,) array of 0 and 1
    y : (n,) array
        Within the declared bounds.
    tau : (n,) array
        The effect at the features before they were cut off at their bounds.
    """

    X: Array
    t: Array
    y: Array
    tau: Array


@dataclass(frozen=True, slots=True)
class Design:
    """Where samples come from, and what about them is public knowledge.

    Parameters
    ----------
    name : str
    features : tuple of (name, low, high)
    bounds : (low, high)
        Of the outcome.
    clip : float
        R, declared for pseudo-outcomes.
    propensity : float or None
        Where treatment was randomised.
    file : Path or None
        Of the voting data.
    binary : tuple of str
        Features with the levels 0 and 1 alone.
    """

    name: str
    features: tuple[tuple[str, float, float], ...]
    bounds: tuple[float, float]
    clip: float
    propensity: float | None = None
    file: Path | None = None
    binary: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(name for name, _, _ in self.features)

    def digest(self) -> str:
        """Return a hash of the file, so that results of other data are never taken for these."""
        return "" if self.file is None else hashlib.sha256(self.file.read_bytes()).hexdigest()

    def train(self, n: int, rng: np.random.Generator) -> Sample:
        """Draw n people to learn from."""
        return self._voting(n, rng, test=False) if self.file else self._simulated(n, rng)

    def test(self, seed: int, rows: int = TEST_ROWS) -> Sample:
        """Return the people on whom errors are measured, none of whom is learnt from."""
        rng = stream(seed, 0, 1)
        if self.file:
            return self._voting(rows, rng, test=True)
        return self._simulated(rows, rng)

    def everybody(self) -> Sample:
        """Return all people of the voting design, to learn from or not."""
        assert self.file is not None
        people, voted = voting_people(self.file)
        return self._within(people, np.zeros(len(people)), voted, voting_effect(people))

    def _simulated(self, n: int, rng: np.random.Generator) -> Sample:
        X = features_of(self.name, n, rng)
        b, e, tau = laws(self.name, X)
        t = (rng.random(n) < e).astype(float)
        return self._within(X, t, b + t * tau + rng.normal(size=n), tau)

    def _voting(self, n: int, rng: np.random.Generator, *, test: bool) -> Sample:
        """Spike the outcomes of people who got no letter with a known effect."""
        assert self.file is not None
        people, voted = voting_people(self.file)
        # whoever is in the test set is in no other set
        order = stream(0).permutation(len(people))
        pool = order[:MOST_TEST_ROWS] if test else order[MOST_TEST_ROWS:]
        if n > len(pool):
            raise FileError(f"{self.file} has too few people without a letter for n={n}")
        rows = rng.permutation(pool)[:n]
        X, y = people[rows], voted[rows]
        tau = voting_effect(X)
        t = np.zeros(n)
        t[rng.permutation(n)[: round(VOTING_SHARE * n)]] = 1.0
        moved = rng.random(n) < -tau
        return self._within(X, t, np.where(moved, 1 - t, y), tau)

    def _within(self, X: Array, t: Array, y: Array, tau: Array) -> Sample:
        low, high = np.array([f[1:] for f in self.features]).T
        return Sample(np.clip(X, low, high), t, np.clip(y, *self.bounds), tau)


def voting_effect(people: Array) -> Array:
    """Return the effect (n,) that outcomes of the voting design are spiked with.

    Examples
    --------
    >>> voting_effect(np.array([[1.0, 50.0, 1.0, 2.0], [1.0, 50.0, 0.0, 2.0]])).tolist()
    [-0.25, -0.0]
    """
    return np.asarray(-people[:, 2] / (2 + 100 / people[:, 1]))


def stream(*words: int) -> np.random.Generator:
    """Return a generator for simulation that depends on numbers below 2^32, in their order."""
    seed = sum(word << 32 * k for k, word in enumerate(words))
    return noise_source(seed).post_processing_rng()


def features_of(name: str, n: int, rng: np.random.Generator) -> Array:
    """Draw the features (n, 6) of setup A, B, C, D or E."""
    if name == "A":
        return rng.random((n, DIMENSION))
    normal = rng.normal(size=(n, DIMENSION))
    if name != "E":
        return normal
    covariance = toeplitz(CORRELATION ** np.arange(DIMENSION))
    return np.asarray(normal @ np.linalg.cholesky(covariance).T)


def laws(name: str, X: Array) -> tuple[Array, Array, Array]:
    """Return the mean without treatment, the propensity and the effect at features (n, 6).

    References
    ----------
    "Differentially Private Estimation of Heterogeneous Causal Effects", Table 1; A to D are those
    of Nie and Wager (2021), section 6.

    Examples
    --------
    >>> b, e, tau = laws("B", np.zeros((1, 6)))
    >>> float(b[0]), float(e[0]), round(float(tau[0]), 3)
    (0.0, 0.5, 0.693)
    """
    x1, x2, x3, x4, x5, x6 = X.T
    zero = np.zeros(len(X))
    first, second = np.maximum(x1 + x2 + x3, 0), np.maximum(x4 + x5, 0)
    if name == "A":
        bent = np.sin(np.pi * x1 * x2)
        return bent + 2 * (x3 - 0.5) ** 2 + x4 + x5 / 2, np.clip(bent, 0.1, 0.9), (x1 + x2) / 2
    if name == "B":
        b = np.maximum(np.maximum(x1 + x2, x3), 0) + second
        return b, zero + 0.5, x1 + np.logaddexp(0, x2)
    if name == CONSTANT:
        return np.maximum(np.maximum(x1 + x2, x3), 0) + second, zero + 0.5, zero + 1
    if name == "C":
        return 2 * np.logaddexp(0, x1 + x2 + x3), expit(-x2 - x3), zero + 1
    if name == "D":
        return first + second, 1 / (1 + np.exp(-x1) + np.exp(-x2)), first - second
    b = X @ np.arange(1.0, 7.0) + x1 * x6 + (np.abs(x3) < 0.5)
    return b, expit(-x1 - x6), expit(-x1) - x2 + x3 + x4 + x5 + x6


def designs(data: Path | None) -> dict[str, Design]:
    """Return the designs whose data are there, by name.

    Parameters
    ----------
    data : Path or None
        Folder with ``social.csv.gz`` at any depth, for the voting design.

    Raises
    ------
    FileError
        If it is not a folder.

    Examples
    --------
    >>> list(designs(None))
    ['A', 'B', 'B, constant effect', 'C', 'D', 'E']
    """
    names = [f"x{j}" for j in range(1, DIMENSION + 1)]
    unit, box = (tuple((name, *at) for name in names) for at in ((0.0, 1.0), (-3.0, 3.0)))
    found = [
        Design("A", unit, (-2.0, 6.0), 6.0),
        Design("B", box, (-5.0, 10.0), 8.0, 0.5),
        Design(CONSTANT, box, (-5.0, 10.0), 8.0, 0.5),
        Design("C", box, (-3.0, 13.0), 10.0),
        Design("D", box, (-5.0, 12.0), 10.0),
        Design("E", box, (-40.0, 40.0), 40.0),
    ]
    if data is not None:
        if not data.is_dir():
            raise FileError(f"--data {data} is not a folder; give the one that the data are in")
        file = next(iter(sorted(data.rglob(VOTING_FILE))), None)
        if file is not None:
            found.append(_voting(file))
    return {one.name: one for one in found}


def _voting(file: Path) -> Design:
    """Return the voting design; a pseudo-outcome is at most .5 / .4 from zero."""
    features = (("female", 0.0, 1.0), ("age", 18.0, 100.0), ("voted before", 0.0, 1.0),
                ("household", 1.0, 8.0))  # fmt: skip
    binary = ("female", "voted before")
    return Design("voting", features, (0.0, 1.0), 1.25, VOTING_SHARE, file, binary)
