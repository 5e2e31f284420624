"""What a transcript tells two neighbours apart by: exact logarithms of ratios of probabilities.

For Laplace noise and histograms there are two numbers.  ``loss`` is the logarithm of the ratio of
the probabilities of this very transcript.  ``reach`` is the largest that it could have been with
the same true numbers: the sum of |v - v'| / scale.  Pure privacy bounds both by epsilon; the reach
does not depend on luck, so that noise that is too small is found by every transcript.

For Gaussian noise the logarithm is normal, N(m/2, m) with m the sum of (shift / sigma)^2, and what
counts is whether delta(epsilon) of that normal is below delta.  Where pure steps are mixed in,
their reach is taken off epsilon first, which gives no less than the exact law of the mixture.

Two more things hold of every release by itself.  Its true numbers move no further than the
aggregate claims (:func:`moved`, :func:`beyond`): a sum over all draws would not tell, where another
has room left.  And what all releases that move together may lose by their claims (:func:`claimed`)
is within the budget: then a fit that draws at more than it charges is found by any two rows that
differ, not by the worst ones alone.

A stability histogram can show a cell that the neighbour does not have.  That has a probability
1 - U on this table and 1 - U' on the neighbour; 1 - U goes to delta, and if no such cell is shown,
log(U / U') to the loss.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import TYPE_CHECKING

from mpmath import mp

from .recording import CELLS, CUBES, GAUSSIAN, LAPLACE, Far, Finding, Step, Transcript

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dprct import Budget

ROUNDING = 1e-9
"""Of the logarithms that are computed in floating point, relative to epsilon."""


@dataclass(frozen=True)
class Loss:
    """Sums along a transcript.

    Parameters
    ----------
    loss, reach : float
        Of the pure steps.
    squares : Fraction
        Of (shift / sigma)^2, of the Gaussian ones.
    hidden, hidden_there : float
        Logarithms of the probability that no cell is shown which the other table does not have:
        on this table, and on the neighbour.
    """

    loss: float = 0.0
    reach: float = 0.0
    squares: Fraction = Fraction(0)
    hidden: float = 0.0
    hidden_there: float = 0.0

    def __add__(self, other: Loss) -> Loss:
        return Loss(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def delta(self, epsilon: float) -> float:
        """Return the delta that holds at epsilon.

        With probability 1 - U a cell shows that the neighbour cannot have.  Else the loss is that
        of the pure steps (at most their reach), log(U / U') and a normal number.
        """
        left = epsilon - self.reach - (self.hidden - self.hidden_there)
        rest = gaussian_delta(left, self.squares) if self.squares else -math.expm1(min(left, 0.0))
        return -math.expm1(self.hidden) + math.exp(self.hidden) * rest

    def share(self, budget: Budget) -> float:
        """Return how much of the budget is used up; above 1 it is passed."""
        epsilon = float(budget.epsilon) * (1 + ROUNDING) + 1e-13
        pure, delta = max(self.loss, self.reach), float(budget.delta)
        if pure > epsilon:
            return pure / epsilon
        if not delta:
            return math.inf if self.delta(epsilon) > 0 else pure / epsilon
        used = self.delta(epsilon) / (delta * (1 + ROUNDING))
        return max(pure / epsilon, used)


def loss_of(transcript: Transcript, neighbour: Transcript) -> Loss:
    """Return what a transcript loses against the neighbour on which it was forced."""
    if len(transcript.steps) != len(neighbour.steps):
        raise Finding(f"{len(transcript.steps)} draws, on the neighbour {len(neighbour.steps)}")
    if transcript.held != neighbour.held:
        raise Finding("the partitions were drawn from different numbers of bytes")
    pairs = zip(transcript.steps, neighbour.steps, strict=True)
    return sum((_of_step(one, other) for one, other in pairs), Loss())


def _of_step(one: Step, other: Step) -> Loss:
    if one.law == CELLS:
        return _of_cells(one, other)
    scale = Fraction(one.scale)
    if scale != Fraction(other.scale):
        raise Finding(f"{one.name} has another scale on the neighbour")
    pairs = list(zip(one.truth, other.truth, strict=True))
    if one.law == GAUSSIAN:
        shift = sum((v - w) ** 2 for v, w in pairs) << (2 * one.refinement)
        return Loss(squares=shift / scale**2)
    ((_, _, noise),) = one.draws
    if one.law == CUBES:
        there = [z + v - w for z, (v, w) in zip(noise, pairs, strict=True)]
        lost = (_columns(there, one.columns) - _columns(noise, one.columns)) / scale
        return Loss(float(lost), float(moved(one, other).columns / scale))
    assert one.law == LAPLACE
    lost = sum(abs(z + v - w) - abs(z) for z, (v, w) in zip(noise, pairs, strict=True)) / scale
    return Loss(float(lost), float(sum(abs(v - w) for v, w in pairs) / scale))


def moved(one: Step, other: Step) -> Far:
    """Return how far the true numbers of a release are from those of the neighbour."""
    if one.law == CELLS:
        cells = one.truth.keys() | other.truth.keys()
        by = [abs(one.truth.get(cell, 0) - other.truth.get(cell, 0)) for cell in cells]
    else:
        by = [abs(v - w) for v, w in zip(one.truth, other.truth, strict=True)]
    columns = _columns(by, one.columns) if one.law == CUBES else 0
    return Far(sum(by), sum(far**2 for far in by), max(by, default=0), columns)


def _columns(numbers: Sequence[int], columns: int) -> int:
    """Return the sum over columns of the largest size in each; rows stand one after the other."""
    return sum(max(abs(x) for x in numbers[a::columns]) for a in range(columns))


def beyond(found: Far, claim: Far) -> str:
    """Return in which norm numbers moved further than their aggregate claims; nothing if none."""
    for norm in ("l1", "l2_squared", "l_inf", "columns"):
        if getattr(found, norm) > getattr(claim, norm):
            return f"moved by {norm} {getattr(found, norm)}, and {getattr(claim, norm)} is claimed"
    return ""


def part_of(found: Far, claim: Far, law: str) -> float:
    """Return which part of its claim a release moved by, in the norm of its noise."""
    if law == GAUSSIAN:
        return math.sqrt(Fraction(found.l2_squared) / Fraction(claim.l2_squared))
    if law == CUBES:
        return found.columns / claim.columns
    return found.l1 / claim.l1


def claimed(step: Step, claim: Far) -> Loss:
    """Return what a release may lose by its own claim, at the scale of its draw."""
    scale = Fraction(step.scale)
    if step.law == GAUSSIAN:
        return Loss(squares=Fraction(claim.l2_squared) * (1 << (2 * step.refinement)) / scale**2)
    return Loss(reach=float((claim.columns if step.law == CUBES else claim.l1) / scale))


def _of_cells(one: Step, other: Step) -> Loss:
    scale, threshold = one.scale, one.released.threshold
    if scale != other.scale:
        raise Finding(f"{one.name} has another scale on the neighbour")
    places = dict(zip(_places(one), map(int, one.released.counts), strict=True))
    dense = one.name == "SparseHistogram"
    found = Loss()
    for cell in one.truth.keys() | other.truth.keys():
        seen, mine, yours = places.get(cell), one.truth.get(cell, 0), other.truth.get(cell, 0)
        if dense or (mine and yours):
            lost = _seen(seen, mine, threshold, scale) - _seen(seen, yours, threshold, scale)
            found += Loss(lost, abs(mine - yours) / scale)
        elif mine:  # the neighbour can never show it
            found += Loss(hidden=_seen(None, mine, threshold, scale))
        else:
            found += Loss(hidden_there=_seen(None, yours, threshold, scale))
    return found


def _places(step: Step) -> list[int]:
    radices, codes = step.released.radices, step.released.codes
    strides = [math.prod(radices[j + 1 :]) for j in range(len(radices))]
    return [sum(int(c) * s for c, s in zip(row, strides, strict=True)) for row in codes]


def _seen(value: int | None, count: int, threshold: int, scale: float) -> float:
    """Return the log of the probability that a cell with ``count`` rows is released as ``value``.

    None is a cell that is not released.
    """
    if value is not None:
        rate = 1 / scale
        return math.log(math.tanh(rate / 2)) - rate * abs(value - count)
    return _above(1 - (threshold - count), scale)  # by symmetry


def _above(k: int, scale: float) -> float:
    """Return log P(Z >= k) of discrete Laplace noise."""
    rate = 1 / scale
    if k >= 1:
        return -rate * k - math.log1p(math.exp(-rate))
    return math.log1p(-math.exp(_above(1 - k, scale)))


def gaussian_delta(epsilon: float, square: Fraction | float) -> float:
    """Return the smallest delta of two normals that are the root of ``square`` sds apart."""
    with mp.workdps(60):
        mu = mp.sqrt(mp.mpf(square.numerator) / square.denominator) if square else mp.mpf(0)
        if not mu:
            return 0.0
        lower, upper = -epsilon / mu - mu / 2, -epsilon / mu + mu / 2
        return float(mp.ncdf(upper) - mp.exp(epsilon) * mp.ncdf(lower))
