"""Outcomes drawn within their bins so that each bin has its released mean: post-processing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.encoding import Encoding
from dprct.schema.columns import stored

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from dprct.encoding import Coded

    Array = NDArray[np.float64]
    Codes = NDArray[np.int64]

_FEWEST_BINS = 1
_MOST_POINTS = 1 << 10
"""Legal values of a bin up to which they are told apart; more are drawn as if continuous."""

_STEEPEST, _HALVINGS = 600.0, 80


@dataclass(frozen=True, slots=True)
class Binned:
    """The binned outcomes of a release, and the groups in which their bins have means; public.

    Parameters
    ----------
    places : tuple of int
        Where the outcomes are among the encodings.
    groups : tuple of int
        Where the groups are: the treatment, if it is modelled.
    """

    places: tuple[int, ...]
    groups: tuple[int, ...]

    @classmethod
    def of(cls, encodings: Sequence[Coded], *, grouped: bool) -> Binned:
        """Return the outcomes with bins among encodings, and the treatments if ``grouped``."""
        outcomes = [j for j, code in enumerate(encodings) if is_binned_outcome(code)]
        arms = [j for j, code in enumerate(encodings) if _is_arm(code)] if grouped else []
        return cls(tuple(outcomes), tuple(arms) if outcomes else ())

    def outcomes(self, encodings: Sequence[Coded]) -> list[Encoding]:
        """Return the encodings of the outcomes."""
        return [code for j in self.places if isinstance(code := encodings[j], Encoding)]

    def arms(self, encodings: Sequence[Coded]) -> list[Coded]:
        """Return the encodings of the groups."""
        return [encodings[j] for j in self.groups]

    def split(self, sums: Array, encodings: Sequence[Coded]) -> list[Array]:
        """Return released sums as one array (A, B) for each outcome."""
        arms = math.prod(encodings[j].size for j in self.groups)
        found, start = [], 0
        for outcome in self.outcomes(encodings):
            bins = len(outcome.cells)
            found.append(np.asarray(sums[start : start + arms * bins]).reshape(arms, bins))
            start += arms * bins
        return found

    def group_of(self, rows: Codes, encodings: Sequence[Coded]) -> Codes:
        """Return the group (m,) of rows of codes (m, p)."""
        group = np.zeros(len(rows), np.int64)
        for j in self.groups:
            group = group * encodings[j].size + rows[:, j]
        return group


def is_binned_outcome(code: Coded) -> bool:
    """Whether a code stands for a bin of a column whose role is outcome."""
    if not isinstance(code, Encoding) or code.column.role != "outcome":
        return False
    return len(code.cells[0]) == 2 and len(code.cells) >= _FEWEST_BINS


def _is_arm(code: Coded) -> bool:
    return all(column.role == "treatment" for column in code.columns)


def redrawn(
    values: Mapping[str, NDArray[Any]],
    rows: Codes,
    encodings: Sequence[Coded],
    binned: Binned,
    offsets: Sequence[Array],
    rng: np.random.Generator,
) -> dict[str, NDArray[Any]]:
    """Return columns of which the binned outcomes are drawn with the mean of their bin.

    Parameters
    ----------
    values : mapping from column to array (n,)
        As decoded, uniform within bins.
    rows : (n, p) array of int64
        Their codes.
    encodings : sequence, length p
    binned : Binned
    offsets : sequence of (A, B_j) arrays
        Mean of each bin in each group, from its middle, in its widths; beyond the ends counts as
        at the end.
    rng : numpy.random.Generator
    """
    found = dict(values)
    group = binned.group_of(rows, encodings)
    for place, outcome, means in zip(
        binned.places, binned.outcomes(encodings), offsets, strict=True
    ):
        codes, column = rows[:, place], np.array(found[outcome.name])
        for a, k in np.ndindex(*means.shape):
            inside = np.flatnonzero((codes == k) & (group == a))
            if len(inside):
                column[inside] = _drawn(outcome, k, float(means[a, k]), len(inside), rng)
        found[outcome.name] = column
    return found


def means_of(sums: Array, counts: NDArray[Any]) -> Array:
    """Return mean offsets within [-1/2, 1/2] from noisy sums and noisy counts of equal shape."""
    return np.asarray(np.clip(sums / np.maximum(counts, 1.0), -0.5, 0.5))


def _drawn(outcome: Encoding, k: int, offset: float, size: int, rng: np.random.Generator) -> Array:
    """Draw legal values of a bin whose mean is ``offset`` widths from its middle.

    Notes
    -----
    Of all laws on the legal values of the bin with that mean, the one of largest entropy: density
    proportional to exp(tilt x), which is uniform where the offset is 0.
    """
    low, high = (float(x) for x in outcome.cells[k])
    if not high > low:
        return np.full(size, low)
    points = 0 if outcome.step is None else round((high - low) / float(outcome.step)) + 1
    if 0 < points <= _MOST_POINTS:
        at = np.linspace(0.0, 1.0, points)
        weights = np.exp(_logs(at, _tilt(offset, at)))
        place = at[rng.choice(points, size, p=weights / weights.sum())]
    else:
        place = _quantile(rng.random(size), _tilt(offset, None))
    drawn = low + place * (high - low)
    if outcome.step is not None:
        drawn = np.rint(drawn / float(outcome.step)) * float(outcome.step)
    return np.asarray(np.clip(stored(outcome.column, drawn), low, high), np.float64)


def _tilt(offset: float, at: Array | None) -> float:
    """Return the tilt whose mean is 1/2 + offset, by halving: the mean rises with it."""
    low, high = -_STEEPEST, _STEEPEST
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _mean(middle, at) < 0.5 + offset else (low, middle)
    return (low + high) / 2


def _mean(tilt: float, at: Array | None) -> float:
    if at is not None:
        weights = np.exp(_logs(at, tilt))
        return float(weights @ at / weights.sum())
    if abs(tilt) < 1e-4:
        return 0.5 + tilt / 12
    return 1 / -math.expm1(-tilt) - 1 / tilt


def _logs(at: Array, tilt: float) -> Array:
    logs = tilt * at
    return np.asarray(logs - (tilt if tilt > 0 else 0.0))


def _quantile(u: Array, tilt: float) -> Array:
    """Return quantiles of the density proportional to exp(tilt x) on [0, 1]."""
    if abs(tilt) < 1e-4:
        return u
    if tilt > 0:  # the same law seen from the other end, so that nothing overflows
        return np.asarray(1 - _quantile(1 - u, -tilt))
    return np.asarray(np.log1p(u * math.expm1(tilt)) / tilt)
