"""Sums of inverse-probability-weighted terms: functions of one record each, on a public grid.

Every record's term is computed in floating point from its own row and released weights, divided by
its public range, clipped to it and rounded to an integer; the integers are added exactly.  What the
floating point does to a term is therefore never part of a sensitivity.

Outcomes are y = (outcome - mid) / R in [-1, 1], R half the width of the bounds; ``HALF`` is also
how many steps a term has from 0 to the end of its range.
"""

from __future__ import annotations

import math
from dataclasses import field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dprct.lazy import narwhals as nw
from dprct.privacy.aggregates import IntegerVector
from dprct.queries.propensity import PIECE, Held
from dprct.queries.sums import GRID, compact, steps_of
from dprct.records import dataclass
from dprct.schema.tables import check_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from dprct.privacy.budget import Relation
    from dprct.queries.propensity import Coordinates, Covariates, Rows, Treated
    from dprct.schema.columns import Column
    from dprct.schema.tables import Table

    Array = NDArray[np.float64]

    Mask = NDArray[np.bool_]


# Rows of a weighted estimate: read once as compact columns, and rebuilt piece by piece.

HELD_MOST = 1 << 25
"""Doubles up to which the rows of a part are kept in memory (256 MB); above, they are rebuilt."""

_BESIDE = 5
"""Doubles that weighting keeps with each row: an outcome, weights and slopes."""

HALF = GRID // 2
"""Steps of an outcome from the middle of its bounds to their end."""

_STEPS, _TREATED, _BLOCK = "steps", "treated", "block"


@dataclass(frozen=True, eq=False, repr=False)
class Records:
    """Some rows of a fit; confidential, and nowhere but inside ``fit``."""

    steps: NDArray[np.int32]  # (n,): outcomes on their public grid, 0 to 2^20
    t: Mask  # (n,): who is treated
    Z: Rows  # covariates of norm at most 1, in memory or rebuilt
    columns: Mapping[Coordinates, NDArray[Any]]  # (n,): what the covariates are made of

    def __len__(self) -> int:
        """Number of them."""
        return len(self.t)


@dataclass(frozen=True, eq=False, repr=False)
class CompactTable:
    """All rows of a fit, a few bytes each; confidential, and nowhere but inside ``fit``."""

    steps: NDArray[np.int32]  # (n,)
    treated: NDArray[np.int8]  # (n,)
    design: Covariates
    # (n,): as :meth:`~dprct.queries.propensity.Coordinates.coded` says.
    columns: Mapping[Coordinates, NDArray[Any]]

    def __len__(self) -> int:
        """Number of them."""
        return len(self.treated)

    def part(self, places: NDArray[np.int64]) -> Records:
        """Return the rows at some places, in that order."""
        columns = {b: b.settled(raw, places) for b, raw in self.columns.items()}
        return Records(
            self.steps[places],
            self.treated[places] != 0,
            _rows(self.design, columns),
            columns,
        )

    def order(self) -> NDArray[np.int64]:
        """Return an order of the rows that does not depend on where they were; for simulation."""
        return canonical_order([self.steps, self.treated, *self.columns.values()])


def read_once(
    frame: Table,
    outcome: Column,
    fill: float | None,
    treatment: Treated,
    design: Covariates,
    n: int,
) -> CompactTable:
    """Read what a fit needs of every row, in one pass; confidential.

    A missing outcome counts as ``fill``; as the lower bound if None.  ``n`` are the rows that the
    table had in the constructor.

    Notes
    -----
    Rows are put into parts, and the parts are gone through many times: whatever an engine would
    bring in another order, or another pass, is therefore read once and kept.  That takes 8 bytes of
    a row for each number, 1 for each column of at most 126 levels, and 5 for outcome and treatment.
    """
    blocks = {f"{_BLOCK}{j}": block for j, block in enumerate(design.blocks)}
    found = compact(
        frame,
        {
            _STEPS: steps_of(outcome, fill),
            _TREATED: treatment.coded(frame),
            **{name: block.coded(frame) for name, block in blocks.items()},
        },
        {_STEPS: nw.Int32, _TREATED: nw.Int8, **{k: block.dtype for k, block in blocks.items()}},
    )
    check_rows(len(found[_STEPS]), n)
    columns = {block: found[name] for name, block in blocks.items()}
    return CompactTable(found[_STEPS], found[_TREATED], design, columns)


@dataclass(frozen=True, eq=False, repr=False)
class _MadeAnew:
    """Rows of covariates that are made of their columns whenever they are asked for."""

    design: Covariates
    columns: Mapping[Coordinates, NDArray[Any]]

    def __len__(self) -> int:
        return len(self.columns[self.design.blocks[0]])

    def chunk(self, start: int, stop: int) -> Array:
        return self.design.rows({b: x[start:stop] for b, x in self.columns.items()})


def _rows(design: Covariates, columns: Mapping[Coordinates, NDArray[Any]]) -> Rows:
    """Return rows in memory if they are few; a function of their number alone."""
    made = _MadeAnew(design, columns)
    if len(made) * (design.size + _BESIDE) > HELD_MOST:
        return made
    return Held(made.chunk(0, len(made)))


Estimand = Literal["ate", "att", "atc"]

_SPARE = 1 + 1e-9


@dataclass(frozen=True)
class Scheme:
    """How records are weighted: the estimand and the trimming; public.

    Notes
    -----
    Weights of the treated are 1/e (ATE), 1 (ATT) or (1-e)/e (ATC), of the others 1/(1-e), e/(1-e)
    or 1: positive and at most :attr:`treated_most` and :attr:`control_most`.
    """

    estimand: Estimand
    trim: float  # c in (0, .5): propensities are clipped to [c, 1 - c]

    @property
    def odds_most(self) -> float:
        """(1 - c) / c, the largest odds after trimming."""
        return (1 - self.trim) / self.trim

    @property
    def treated_most(self) -> float:
        """The largest weight of a treated record."""
        return {"ate": 1 / self.trim, "att": 1.0, "atc": self.odds_most}[self.estimand]

    @property
    def control_most(self) -> float:
        """The largest weight of another record."""
        return {"ate": 1 / self.trim, "att": self.odds_most, "atc": 1.0}[self.estimand]

    @property
    def most(self) -> float:
        """The largest weight of any record."""
        return max(self.treated_most, self.control_most)


@dataclass(frozen=True)
class Centre:
    """Released or public numbers around which influence terms are taken."""

    # treated_mean, control_mean: subtracted from y before weighting, in [-1, 1]; 0 where weights
    # are not normalised.
    treated_mean: float = 0.0
    control_mean: float = 0.0
    # treated_shift, control_shift: subtracted from the term ``w1 y`` of a treated record and ``-w0
    # y`` of another.
    treated_shift: float = 0.0
    control_shift: float = 0.0
    # treated_scale, control_scale: each arm's factor, above 0.
    treated_scale: float = 1.0
    control_scale: float = 1.0

    def reach(self, scheme: Scheme) -> float:
        """Return the largest absolute influence of a record."""
        treated = self.treated_scale * (
            scheme.treated_most * (1 + abs(self.treated_mean)) + abs(self.treated_shift)
        )
        control = self.control_scale * (
            scheme.control_most * (1 + abs(self.control_mean)) + abs(self.control_shift)
        )
        return max(treated, control) * _SPARE

    def slope(self, scheme: Scheme) -> float:
        """Return the largest norm of the derivative of a record's influence in the weights."""
        treated = self.treated_scale * (1 + abs(self.treated_mean)) * scheme.odds_most
        control = self.control_scale * (1 + abs(self.control_mean)) * scheme.odds_most
        moving = {"ate": (treated, control), "att": (control,), "atc": (treated,)}
        return max(moving[scheme.estimand]) * _SPARE


@dataclass(frozen=True, eq=False, repr=False)
class Piece:
    """Some records with their weights; confidential."""

    y: Array  # (m,): in [-1, 1]
    t: Mask  # (m,)
    Z: Array  # (m, d)
    rows: slice  # where they are among all records
    # treated, control: (m,), the weight a record has if it is treated, and if it is not.
    treated: Array
    control: Array
    # treated_slope, control_slope: (m,), their derivatives in z'w; 0 where trimmed.
    treated_slope: Array
    control_slope: Array


@dataclass(frozen=True, eq=False, repr=False)
class Weighted:
    """Records with their weights: confidential, except for the scheme and n.

    Notes
    -----
    A record replaced by any other has another term in the range of its arm; under replace-one it
    may change arm, too.  Each method says by how much that moves what it returns.

    Records are gone through in pieces; what is added are integers, so that neither the pieces nor
    the order matter.  Pieces of rows that are in memory are kept, others are rebuilt each time.

    E exp(-z'w~) = exp(-z'w + s1^2 ||z||^2 / 2), so that ``exp(-u - s1^2 ||z||^2 / 2)``, and
    likewise with +u, are without bias on average over the noise.  Both are then trimmed, which
    brings some bias back.
    """

    records: Records  # n of them
    weights: Array  # (d,): released, w + N(0, noise_sd^2 I)
    noise_sd: float  # their noise, s1; 0 to leave the odds as they are
    scheme: Scheme
    relation: Relation = "replace-one"
    _kept: list[Piece] = field(default_factory=list)

    def pieces(self) -> Iterator[Piece]:
        """Yield the records with their weights, some at a time."""
        if not isinstance(self.records.Z, Held):
            yield from self._made()
            return
        if not self._kept:
            self._kept.extend(self._made())
        yield from self._kept

    def _made(self) -> Iterator[Piece]:
        for start in range(0, len(self.records), PIECE):
            yield self._piece(slice(start, min(start + PIECE, len(self.records))))

    def _piece(self, rows: slice) -> Piece:
        Z = self.records.Z.chunk(rows.start, rows.stop)
        u = along(Z, self.weights)
        less = np.square(Z).sum(axis=1) * self.noise_sd**2 / 2
        least, most = 1 / self.scheme.odds_most, self.scheme.odds_most
        against, favour = (np.exp((v - less).clip(-700, 700)) for v in (-u, u))
        inside = [(odds > least) & (odds < most) for odds in (against, favour)]
        against, favour = (odds.clip(least, most) for odds in (against, favour))
        slopes = [-against * inside[0], favour * inside[1]]
        one = np.ones(len(u))
        if self.scheme.estimand == "ate":
            found = (1 + against, 1 + favour)
        elif self.scheme.estimand == "att":
            found, slopes[0] = (one, favour), 0 * one
        else:
            found, slopes[1] = (against, one), 0 * one
        y = self.records.steps[rows] / HALF - 1
        return Piece(y, self.records.t[rows], Z, rows, *found, *slopes)

    def difference(self) -> IntegerVector:
        """Return the sum of t w1 y - (1 - t) w0 y.

        Notes
        -----
        Each term is within ``most`` of zero, whatever the arm: one record moves the sum by at most
        2 ``most`` (ATE: 2 / c), which is 2^20 steps.  Reached by y from -1 to 1 at that weight.
        """

        def terms(p: Piece) -> list[int]:
            return [signed(np.where(p.t, p.treated, -p.control) * p.y / self.scheme.most)]

        return self._vector(terms, GRID, self.scheme.most)

    def arm_sums(self) -> IntegerVector:
        """Return the sums of w y of the treated and of the others, each in its own unit.

        Notes
        -----
        In units of 2 ``treated_most`` and 2 ``control_most`` a record that stays in its arm moves
        one sum by at most 1; one that changes arm moves both, by 1/2 each: L1 2^20 steps.
        """

        def terms(p: Piece) -> list[int]:
            treated = np.where(p.t, p.treated * p.y / self.scheme.treated_most, 0.0)
            control = np.where(p.t, 0.0, p.control * p.y / self.scheme.control_most)
            return [signed(treated), signed(control)]

        return self._vector(terms, GRID, 1)

    def masses(self) -> IntegerVector:
        """Return the sums of weights of the treated and of the others, each over its largest.

        Notes
        -----
        Terms are within [0, 1].  A record that changes arm moves both by at most 1, another moves
        one of them by less than 1: L1 2^21 steps, 2^20 where treatment is public.
        """

        def terms(p: Piece) -> list[int]:
            treated = np.where(p.t, p.treated / self.scheme.treated_most, 0.0)
            control = np.where(p.t, 0.0, p.control / self.scheme.control_most)
            return [positive(treated), positive(control)]

        moved = 2 * GRID if self.relation == "replace-one" else GRID
        return self._vector(terms, moved, 1, unit=GRID)

    def count(self) -> IntegerVector:
        """How many records the effect is about: the treated, or for the ATC the others.

        Notes
        -----
        One record changes arm: sensitivity 1.
        """
        t = self.records.t
        who = ~t if self.scheme.estimand == "atc" else t
        return IntegerVector([int(who.sum())], l1=1, relation=self.relation)

    def squares(self, centre: Centre) -> IntegerVector:
        """Return the sum of squared influences; one record moves it by ``reach^2``, 2^20 steps.

        Notes
        -----
        Squares over reach^2 are within [0, 1].
        """
        reach = centre.reach(self.scheme)

        def terms(p: Piece) -> list[int]:
            return [positive(np.square(influences(p, centre) / reach))]

        return self._vector(terms, GRID, reach**2, unit=GRID)

    def gradient_norm(self, centre: Centre) -> IntegerVector:
        """Return the norm of the derivative of the sum of influences in the propensity weights.

        Notes
        -----
        Each record's vector (d,) has norm at most ``slope``: two differ by 2^20 steps, and rounding
        d coordinates of both adds sqrt(d).  So the sums of neighbours differ by a vector of at most
        that norm, and by the triangle inequality their norms by no more.  The whole part of a root
        is monotone and commutes with adding integers: it moves by no more than the next integer.

        A person adds to the error of the weights through this norm only, because their noise has
        one variance in every direction.  One number costs noise of the order of one coordinate; all
        d of them, released to be squared and added, would cost d times its square.
        """
        steps = self._gradient(centre)
        norm = math.isqrt(sum(int(step) ** 2 for step in steps))
        slope = Fraction(centre.slope(self.scheme)) / HALF
        l1 = gradient_moves(len(self.weights))
        return IntegerVector([norm], l1=l1, relation=self.relation, grid=slope)

    def _gradient(self, centre: Centre) -> NDArray[Any]:
        """Return the derivative (d,) in steps of ``slope / HALF``; confidential."""
        slope = centre.slope(self.scheme)

        def terms(p: Piece) -> NDArray[np.int64]:
            treated = centre.treated_scale * (p.y - centre.treated_mean) * p.treated_slope
            control = -centre.control_scale * (p.y - centre.control_mean) * p.control_slope
            along = np.where(p.t, treated, control) / slope
            return _added((along[:, None] * p.Z).clip(-1, 1), HALF)

        return self._added(terms)

    def balance(self, block: Coordinates) -> tuple[IntegerVector, IntegerVector]:
        """Return the weighted difference of a number in [-1, 1], and its sum of squares.

        Notes
        -----
        The first as :meth:`difference`; squares are within [0, 1]: 2^20 steps each.
        """

        def x(p: Piece) -> Array:
            return block.values(self.records.columns[block][p.rows])[:, 0]

        def terms(p: Piece) -> list[int]:
            return [signed(np.where(p.t, p.treated, -p.control) * x(p) / self.scheme.most)]

        return (
            self._vector(terms, GRID, self.scheme.most),
            self._vector(lambda p: [positive(np.square(x(p)))], GRID, 1, unit=GRID),
        )

    def overlap(self, bins: int) -> IntegerVector:
        """How many of each arm have a propensity in each of ``bins`` equal bins of [0, 1]."""

        def counts(p: Piece) -> NDArray[np.int64]:
            u = along(p.Z, self.weights).clip(-700, 700)
            place = np.floor(bins / (1 + np.exp(-u))).clip(0, bins - 1).astype(np.int64)
            return np.bincount(place + bins * ~p.t, minlength=2 * bins)

        return IntegerVector(
            self._added(counts), l1=2, l2_squared=2, l_inf=1, relation=self.relation
        )

    def _added(self, terms: Callable[[Piece], Any]) -> NDArray[Any]:
        """Add the integers of all pieces: exact in int64 for any n below 2^43."""
        total: Any = 0
        for piece in self.pieces():
            total = total + np.asarray(terms(piece), dtype=np.int64)
        return np.array(total.tolist(), dtype=object)

    def _vector(
        self, terms: Callable[[Piece], list[int]], l1: int, value: float, unit: int = HALF
    ) -> IntegerVector:
        """Seal sums of terms that were divided by ``value``, in steps of a ``unit``-th."""
        return IntegerVector(
            self._added(terms),
            l1=l1,
            relation=self.relation,
            grid=Fraction(value) / unit,
        )


def gradient_moves(d: int) -> int:
    """Amount by how many steps one record moves the norm of the rounded gradient."""
    root = math.isqrt(d)
    return GRID + root + (root * root < d)


def influences(piece: Piece, centre: Centre) -> Array:
    """Amount by which each record (m,) moves the effect, about a centre; confidential."""
    treated = piece.treated * (piece.y - centre.treated_mean) - centre.treated_shift
    control = -piece.control * (piece.y - centre.control_mean) - centre.control_shift
    return np.where(piece.t, centre.treated_scale * treated, centre.control_scale * control)


def signed(terms: Array) -> int:
    """Add terms within [-1, 1] in steps of 1 / 2^19."""
    return int(_added(terms.clip(-1, 1), HALF))


def positive(terms: Array) -> int:
    """Add terms within [0, 1] in steps of 1 / 2^20."""
    return int(_added(terms.clip(0, 1), GRID))


def _added(terms: Array, unit: int) -> NDArray[np.int64]:
    steps = np.floor(np.nan_to_num(terms) * unit + 0.5).astype(np.int64)
    return np.asarray(steps.sum(axis=0))


def along(Z: Array, weights: Array) -> Array:
    """Return z'w of every row, the same wherever the row stands.

    A product of matrices may add the coordinates of its first and last rows in another order, and
    where a row stands may depend on other people: engines return rows in an order of their own.
    """
    return np.asarray((Z * weights).sum(axis=1), np.float64)


# An order of rows that depends on what they hold, not on where they were.

_FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)


def canonical_order(columns: Iterable[NDArray[Any]]) -> NDArray[np.int64]:
    """Places (n,) of the rows in an order that is the same however they came; confidential.

    It is the order of a 64-bit mix of everything that is used of a row.  Rows that hold the same
    are exchangeable; that two different ones get one number has probability n^2 / 2^65.

    Notes
    -----
    For simulation only: with a seed, engines that return rows in other orders then put the same
    people into the same part.  A guarantee does not rest on an order: a part that is drawn
    uniformly from all of its size has the same law in every order of the rows.

    References
    ----------
    Steele, Lea and Flood (2014), "Fast splittable pseudorandom number generators", for the mix.

    Examples
    --------
    >>> x = np.array([3.0, 1.0, 2.0])
    >>> there, back = canonical_order([x]), canonical_order([x[::-1]])
    >>> bool((x[there] == x[::-1][back]).all())
    True
    """
    mixed: NDArray[np.uint64] | None = None
    for column in columns:
        words = (np.asarray(column, np.float64) + 0.0).view(np.uint64)  # one zero
        words = np.where(np.isnan(column), np.uint64(1), words)  # one NaN
        mixed = _mix(words if mixed is None else mixed ^ words)
    if mixed is None:
        raise ValueError("no columns to order by")
    return np.argsort(mixed, kind="stable")


def _mix(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a bijection of 64-bit numbers that leaves no pattern (SplitMix64's finaliser)."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> _SHIFTS[0])) * _FACTORS[0]
    words = (words ^ (words >> _SHIFTS[1])) * _FACTORS[1]
    return np.asarray(words ^ (words >> _SHIFTS[2]))
