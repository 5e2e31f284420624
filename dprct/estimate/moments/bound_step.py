"""A declared regression with the public weights of the design as it was realised."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.queries.members import TAU, TAU_WITHIN, Members, OfPersons
from dprct.queries.one_step import (
    FINEST,
    Score,
)
from dprct.queries.slopes import Slopes
from dprct.queries.sums import GRID
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dprct.estimate.moments.declared import Step
    from dprct.queries.one_step import Feature

    Array = NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class Chosen:
    """Whom private columns choose, with which arm and weight, and what cells need; public."""

    holds: NDArray[np.bool_] | None  # (J,): kinds of people that count; None where all do
    twice: bool  # whether other regressions have other conditions
    share: float  # of people that a plan takes to count
    # (e, C): functions of cells that products of weights need beside 1 and the weights; within 1.
    more: Array
    # (1 + q + e, 1 + q, 1 + q): the sum over members of v z z' is these times N, A and E.
    parts: Array
    everybody: bool = False  # whether who counts is public after all
    arms: int = 1  # arms of every public place where treatment is private, else 1
    # Mean of private weights, and of their squares, that a plan takes for granted; of the largest.
    loads: tuple[float, float] = (1.0, 1.0)
    # ((q, D) array, (D,) array of int): weights of a row of a load of 1, and the block, of each arm
    # of each block, where means of blocks are taken out: ``more`` are then the loads of these.
    within: tuple[Array, NDArray[np.int64]] | None = None

    @property
    def whole(self) -> NDArray[Any]:
        """The functions of cells as whole numbers."""
        return np.rint(self.more * FINEST).astype(np.int64)


@dataclass(frozen=True, eq=False)
class BoundStep:
    """A declared regression with the public weights of the design as it was realised."""

    step: Step
    # (q, C): n M_W T (T' M_W T)^-1 of each coefficient and public cell: a sum of a y over all rows,
    # over n, is the coefficient of y on T and W.  0 in cells whose rows do not count.
    weights: Array
    treated: Array  # (q, C): T in every cell
    # (C,): rows of every cell that count; where treatment is private those that the shares lead to
    # expect.
    sizes: NDArray[np.int64]
    blocks: NDArray[np.int64]  # (C,): number of the block, -1 where rows do not count
    coefficients: int  # k of the do-file
    clusters: int  # G, 0 where errors are those of rows
    joint: bool  # whether the covariances of the coefficients are released
    spread: Array  # (q, 2): sums over rows of a^2, and over clusters of (sum a)^2
    rest: Array  # (q, C): T less its projection on public columns, 0 where rows do not count
    # (C,): the weight of a row of every cell, the largest of which is 2^20; None where all are
    # alike.
    loads: NDArray[np.int64] | None = None
    # Whom private columns choose among the rows that count; None where all count.
    chosen: Chosen | None = None
    uneven: bool = False  # whether declared shares of the arms differ between blocks
    # (2, C): pattern of the persons of each cell, and their rows in it, where they may have
    # several.
    members: NDArray[np.int64] | None = None
    # Which clusters of the release its errors have; of two ways those of each and of both.
    by: tuple[int, ...] = ()
    # Of the same, how many clusters, and (q,) sums over them of (sum a)^2; empty for one way.
    ways: tuple[tuple[int, Array], ...] = ()
    # (K, C): public functions of cells beside treatment, less means of persons where these have
    # effects, orthogonal and within 1; of persons whom private columns choose alone.
    controls: Array | None = None

    @property
    def average(self) -> bool:
        """Whether coefficients are average effects of 0/1 columns over all rows that count."""
        plain = np.isin(self.treated[:, self.sizes > 0], (0, 1)).all()
        several = self.members is not None  # whose effects are those of periods and persons
        alone = all(len(one.atoms) == 1 for one in self.step.treatment)
        return bool(plain) and alone and not (self.uneven or self.step.products or several)

    @property
    def amounts(self) -> tuple[str, ...]:
        """Names of treatments, and of products, that are more than 0/1 columns."""
        counted, of = self.treated[:, self.sizes > 0], self.step
        two = [bool(np.isin(row, (0, 1)).all()) for row in counted]
        of_two = [one.flat and one.bounds == (0, 1) for one in of.features]
        each = zip(of.names, of.terms, strict=True)
        return tuple(name for name, (k, j) in each if not (two[k] and (j < 0 or of_two[j])))

    @property
    def n(self) -> int:
        """Rows that count; public."""
        return round(float(self.sizes.sum()))

    @property
    def longest(self) -> float:
        """The length of the weights of the cell that has the longest."""
        weights = self.scored if self.step.products else self.weights
        return float(np.sqrt((weights**2).sum(axis=0)).max())

    @property
    def farthest(self) -> float:
        """What one person moves the coefficients by at most, over 2 b."""
        return math.sqrt(float(self.moved.max()))

    @property
    def moved(self) -> Array:
        """Squared length of what one person of a cell, or pattern, moves, over 2 b."""
        if self.members is not None:
            found_of: Array = (self.of_persons(self.weights) ** 2).sum(axis=0)
            return found_of * (1 if self.chosen is None else 1 + 1 / TAU)
        if not self.step.products:
            found: Array = (self.weights**2).sum(axis=0)
            if self.chosen is None:
                return found
            of_places: Array = np.maximum.reduce(found.reshape(-1, self.chosen.arms), axis=1)
            return of_places * (1 + 1 / (TAU_WITHIN if self.chosen.within else TAU))
        several = np.bincount([k for k, _ in self.step.terms], minlength=len(self.rest))
        of_rest: Array = (self.scored**2 * several[:, None]).sum(axis=0)
        return of_rest

    @property
    def persons(self) -> Array:
        """Persons of each pattern who have a row that counts; (P,)."""
        assert self.members is not None
        pattern, rows = self.members
        found = np.zeros(int(pattern[-1]) + 1)
        np.maximum.at(found, pattern, self.sizes / rows)
        return found

    def of_persons(self, weights: Array) -> Array:
        """Return the sums of sizes of weights over all rows of a person of each pattern; (q, P)."""
        assert self.members is not None
        pattern, rows = self.members
        return np.array([np.bincount(pattern, np.abs(a) * rows) for a in weights])

    @property
    def own(self) -> Array:
        """Weight of a row of every cell, the largest of which is 1."""
        return np.ones(len(self.sizes)) if self.loads is None else self.loads / GRID

    @property
    def scored(self) -> Array:
        """T less its projection on public columns times the weight of a row; (q, C)."""
        return self.rest * self.own

    @property
    def mass(self) -> float:
        """The sum of weights of the rows that count."""
        return float(self.sizes @ self.own)

    @property
    def classical(self) -> bool:
        """Whether its errors are classical."""
        return self.step.cov_type == "nonrobust"

    @property
    def gram(self) -> Array:
        """The covariance of the coefficients where residuals have the variance 1; (q, q)."""
        found: Array = (self.weights * self.sizes) @ self.weights.T / self.n**2
        return found

    @property
    def informative(self) -> int:
        """Rows of cells that have weights: a block of one arm has none."""
        whole = np.rint(self.weights * (FINEST / self.longest))
        return round(float(self.sizes[np.any(whole != 0, axis=0)].sum()))

    @property
    def most_rows(self) -> int:
        """The most rows that count of one person."""
        if self.members is None:
            return 1
        pattern, rows = self.members
        return int(np.bincount(pattern, rows * (self.sizes > 0)).max())

    @property
    def inflation(self) -> float:
        """The factor of small samples, as Stata has it."""
        return self.inflated(self.n)

    def inflated(self, n: float) -> float:
        """The same of some number of rows, and of as many persons in proportion."""
        k, g = self.coefficients, self.clusters
        if self.members is not None and self.step.unit in self.step.absorbed and self.step.counted:
            k -= round(self.persons.sum() * (1 - min(n / self.n, 1.0)))
        n = max(n, k + 1)
        return g / (g - 1) * (n - 1) / (n - k) if g else n / (n - k)

    def score(self, reach: int, features: Sequence[Feature] = ()) -> Score:
        """Return its whole weights, of residuals within b."""
        by, weight = self.by[0] if self.by else 0, self.step.weighing
        if self.step.products:
            whole = np.rint(self.scored * (FINEST / self.longest)).astype(np.int64).astype(object)
            return Slopes(
                reach, whole, self.blocks, bool(self.clusters), self.loads, terms=self.step.terms,
                features=tuple(features.index(one) for one in self.step.features), by=by,
                holds=None if self.chosen is None else self.chosen.holds,
                weighing=None if weight is None else features.index(weight),
            )  # fmt: skip
        whole = np.rint(self.weights * (FINEST / self.longest)).astype(np.int64).astype(object)
        if self.chosen is not None:
            counts = np.any(whole != 0, axis=0)
            if self.members is not None and self.controls is not None:
                return OfPersons(
                    reach, whole, self.blocks, bool(self.clusters), self.loads, self.members,
                    holds=self.chosen.holds, twice=self.chosen.twice, more=self.chosen.whole,
                    counts=self.sizes > 0, by=by,
                    controls=np.rint(self.controls * FINEST).astype(np.int64).astype(object),
                )  # fmt: skip
            return Members(
                reach, whole, self.blocks, bool(self.clusters), self.loads,
                holds=self.chosen.holds, twice=self.chosen.twice, more=self.chosen.whole,
                counts=counts, by=by, arms=self.chosen.arms,
                counted=counts if self.classical else None,
                weighing=None if weight is None else features.index(weight),
                within=self.chosen.within is not None,
            )  # fmt: skip
        return Score(
            reach, whole, self.blocks, bool(self.clusters), self.loads, self.members,
            counted=self.sizes > 0 if self.classical else None, by=by,
            ways=self.by if self.ways else (),
        )  # fmt: skip

    @property
    def loaded(self) -> Array:
        """The sum of loads of the rows of every cell that count."""
        found: Array = self.sizes * (1.0 if self.loads is None else self.loads.astype(float))
        return found
