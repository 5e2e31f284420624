"""Which code a number has, as expressions that every data frame engine computes alike.

Each rule is a function of public facts, takes a handful of passes over a column however many codes
there are, and uses nothing but operations that IEEE 754 rounds in one way, so that all engines
agree to the bit (of division, see :func:`divided`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import narwhals as nw


@dataclass(frozen=True, slots=True)
class Points:
    """The nearest of evenly spaced points: ceil((x - low) per_unit - 1/2), then clipped.

    Halfway between two points is nearer to the lower one.
    """

    low: float
    per_unit: float
    size: int

    def code(self, x: nw.Expr) -> nw.Expr:
        """Return the code (float, whole) of a number within the bounds."""
        return ((x - self.low) * self.per_unit - 0.5).ceil().clip(0, self.size - 1)


@dataclass(frozen=True, slots=True)
class EqualBins:
    """Equal bins (a_{k-1}, a_k] of a continuous column, a_k = low + k (high - low) / bins.

    A guess from one division, put right by comparing with the two edges around it: the code is
    exactly that of comparing with every edge, at the cost of two.
    """

    low: float
    high: float
    bins: int

    def edge(self, k: Any) -> Any:
        """Return a_k, in the same operations for a number as for an expression."""
        scaled = k * (self.high - self.low)
        if isinstance(scaled, nw.Expr):
            return divided(scaled, float(self.bins)) + self.low
        return scaled / self.bins + self.low

    def code(self, x: nw.Expr) -> nw.Expr:
        """Return the code (float, whole) of a number within the bounds."""
        per_width = self.bins / (self.high - self.low)
        guess = (((x - self.low) * per_width).ceil() - 1).clip(0, self.bins - 1)
        above = (x > self.edge(guess + 1)).cast(nw.Float64)
        below = (x <= self.edge(guess)).cast(nw.Float64)
        code: nw.Expr = (guess + above - below).clip(0, self.bins - 1)
        return code


@dataclass(frozen=True, slots=True)
class EqualBinsOfPoints:
    """Equal bins of evenly spaced points: of point i, (slope i + start - 1) // width, in integers.

    The integers are those of the exact (point - low) bins / (high - low) over one denominator.
    """

    points: Points
    slope: int
    start: int
    width: int
    bins: int

    def code(self, x: nw.Expr) -> nw.Expr:
        """Return the code (int64) of a number within the bounds."""
        point = self.points.code(x).cast(nw.Int64)
        return ((point * self.slope + (self.start - 1)) // self.width).clip(0, self.bins - 1)


@dataclass(frozen=True, slots=True)
class Edges:
    """The number of edges below x: bins by their edges, or levels by the middles between them."""

    edges: tuple[float, ...]

    def code(self, x: nw.Expr) -> nw.Expr:
        """Return the code (int64) of a number within the bounds."""
        # the infinite edge makes a column of zeros of a single bin, not a lone literal
        above = [(x > edge).cast(nw.Int64) for edge in (*self.edges, math.inf)]
        code: nw.Expr = nw.sum_horizontal(*above)
        return code


Rule = Points | EqualBins | EqualBinsOfPoints | Edges


def divided(x: nw.Expr, by: float) -> nw.Expr:
    """Return x / by, rounded once, of finite x.

    Polars multiplies by the reciprocal of a divisor that is one number, which rounds twice, and not
    in tables of one row; so the divisor is handed to it as a column.
    """
    return x / (x * 0.0 + by)


def clipped(name: str, low: float, high: float) -> nw.Expr:
    """Return a numeric column within [low, high], missing at ``low``; the same on every engine.

    Engines differ in how a NaN compares, so that it is named.
    """
    x = nw.col(name).cast(nw.Float64)
    known = nw.when((x >= low) & ~x.is_nan()).then(x).otherwise(nw.lit(low))
    return known.clip(low, high)
