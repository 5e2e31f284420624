"""What a private IPW releases of each part of the rows: form, mechanisms, and the draw."""

from __future__ import annotations

import math
from dataclasses import field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

import numpy as np

from dprct.defaults import (
    FEWEST_COUNTED,
    FEWEST_WEIGHT_SCALES,
    HAJEK_FLOORS,
    IPW_HAJEK_PARTS,
    IPW_PARTS,
    OVERLAP_BINS,
    PROPENSITY_NOISE_MOST,
)
from dprct.errors import ParameterError
from dprct.privacy.budget import Budget
from dprct.privacy.mechanisms import (
    Allocation,
    AnalyticGaussian,
    DiscreteLaplace,
    analytic_gaussian,
    split,
)
from dprct.privacy.noise import random_part
from dprct.queries.propensity import PropensityGrid, least_penalty, propensity_weights
from dprct.queries.sums import GRID
from dprct.queries.weighting import Centre, Weighted, gradient_moves
from dprct.records import dataclass
from dprct.results.plan import PlannedNumber, notes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from dprct.privacy.aggregates import IntegerVector
    from dprct.privacy.budget import Relation
    from dprct.privacy.noise import NoiseSource
    from dprct.queries.propensity import Coordinates
    from dprct.queries.weighting import CompactTable, Scheme

    Array = NDArray[np.float64]

    Mask = NDArray[np.bool_]


Noise = Literal["laplace", "gaussian"]
Errors = Literal["total", "conditional"]
Mechanism = AnalyticGaussian | DiscreteLaplace

WEIGHTS = "weights"
"""The part of an allocation that reads the first rows; all others read the second."""


@dataclass(frozen=True, kw_only=True)
class IPWAllocation(Allocation):
    """The mechanisms of one fit, and what its budget makes of the penalty."""

    parts: Mapping[str, Mechanism]
    form: Form
    lam: float
    grid: PropensityGrid

    def __getitem__(self, name: str) -> Mechanism:
        return self.parts[name]

    @property
    def weight_sd(self) -> float:
        """s1, the noise of each propensity weight."""
        return self[WEIGHTS].noise_sd * float(self.grid.grid)

    @property
    def weight_spread(self) -> float:
        """Variance of a released weight in any direction: noise and, at most, sampling.

        Notes
        -----
        s1^2 + 1 / (4 lam n1).  The penalised weights have asymptotic variance H^-1 M H^-1 / n1,
        where M = E (t - e)^2 zz' and H = E e(1-e) zz' + lam I.  In a well-specified model M is
        H - lam I, and (h - lam) / h^2 is at most 1 / (4 lam).
        """
        return self.weight_sd**2 + 1 / (4 * self.lam * self.grid.n)

    def shortfall(self, weights: Array) -> float:
        """Distance by which the penalty moved released weights, about.

        Notes
        -----
        ||w||, from ||w~||^2 less what noise adds to it, d s1^2.
        """
        square = float(np.square(weights).sum()) - self.form.d * self.weight_sd**2
        return self.shortfall_of(math.sqrt(square) if square > 0 else 0.0)

    def shortfall_of(self, norm: float) -> float:
        """Return the same for a norm of the weights before noise.

        Notes
        -----
        At the penalised w the gradient of the mean loss is -lam w, so that the weights without a
        penalty are lam / h ||w|| away along a curvature h.  It is :func:`curvature_of`, what plans
        count with: with covariates that spread less within their bounds the distance is larger.
        Where the penalty takes more than half of the slopes, which plans warn of, ||w|| itself is
        taken: the weights that are left then say little about the true ones.
        """
        ratio = self.lam / curvature_of(self.form.d)
        return norm * (ratio if ratio < 1 else 1.0)


@dataclass(frozen=True)
class Form:
    """What a fit releases, whatever its budget."""

    # n1, n2: rows for the weights, and for the effect.
    n1: int
    n2: int
    d: int  # coordinates of the propensity model
    scheme: Scheme
    hajek: bool  # weights of each arm are divided by their released sum
    relation: Relation
    noise: Noise  # of the effect
    # Whether the gradient in the weights is released, from which their part of the error is.
    errors: Errors
    lam: float | None  # the penalty; :func:`propensity_penalty` if None
    balance: tuple[str, ...]
    overlap: bool
    shares: Mapping[str, Fraction]  # of epsilon on the second part of the rows

    def allocation(self, budget: Budget) -> IPWAllocation:
        """Return the mechanisms of a fit at this budget.

        Notes
        -----
        The two parts of the rows are disjoint and chosen whatever the values, so that the whole
        keeps the larger of what each part keeps: weights (epsilon, delta), the rest (epsilon,
        delta) by sequential composition, the epsilons in ``shares``; delta goes to the effect where
        its noise is Gaussian, the only such part.
        """
        require_delta(budget)
        multiplier = analytic_gaussian(Fraction(GRID**2), self.d, budget).sigma / GRID
        lam = self.lam
        if lam is None:
            least = least_penalty(self.n1, self.d)
            lam = propensity_penalty(self.n1, self.d, multiplier)
            lam = lam if lam > least else least
        grid = PropensityGrid(self.n1, self.d, lam)
        weights = AnalyticGaussian(budget, grid.l2**2, self.d)
        parts: dict[str, Mechanism] = self._parts(budget)
        return IPWAllocation(
            budget=budget,
            parts={WEIGHTS: weights, **parts},
            disjoint=((WEIGHTS,), tuple(parts)),
            form=self,
            lam=lam,
            grid=grid,
        )

    def default(self, budget: Budget, treated: float = 0.5) -> Form:
        """The form that is the default at a budget, Hajek or plain; ``treated`` is a public share.

        Notes
        -----
        A ratio of weighted sums does not depend on where the bounds of the outcome are, and most of
        the noise of the weights cancels in it.  It is released where its denominators are far from
        their noise: it is the default where the weight expected of an arm (all rows, or the share
        of them that the effect is about) is ``HAJEK_FLOORS`` times what it must exceed.  A function
        of sizes, trimming, shares and budget alone.
        """
        parts = parts_of(
            hajek=True, count=False, total=self.errors == "total", balance=bool(self.balance),
            overlap=self.overlap,
        )  # fmt: skip
        ratio = replace(self, hajek=True, shares=split(None, parts))
        far = ratio.mass_of(treated) >= HAJEK_FLOORS * ratio.mass_floor(budget)
        return ratio if far else self

    @property
    def one_arm(self) -> bool:
        """Whether the effect is on one arm."""
        return self.scheme.estimand != "ate"

    def mass_of(self, treated: float) -> float:
        """Return the expected sum of the weights of an arm if a share of the rows is treated."""
        share = {"ate": 1.0, "att": treated, "atc": 1 - treated}[self.scheme.estimand]
        return self.n2 * share

    def mass_floor(self, budget: Budget) -> float:
        """Least admissible sums of weights of a Hajek form."""
        scale = self._l1("mass") / GRID / float(budget.epsilon * self.shares["mass"])
        floor = FEWEST_WEIGHT_SCALES * scale * self.scheme.most
        return floor if floor > FEWEST_COUNTED else float(FEWEST_COUNTED)

    @property
    def counts_arm(self) -> bool:
        """Whether the effect is about a number of records that is not public."""
        counted = self.scheme.estimand != "ate" and not self.hajek
        return counted and self.relation == "replace-one"

    def _parts(self, budget: Budget) -> dict[str, Mechanism]:
        gaussian = {"effect"} if self.noise == "gaussian" else set()
        found: dict[str, Mechanism] = {}
        for name, share in self.shares.items():
            epsilon = budget.epsilon * share
            if name in gaussian:
                own = Budget(epsilon, budget.delta)
                found[name] = AnalyticGaussian(own, GRID**2, 2 if self.hajek else 1)
            elif name == "balance":
                for column in self.balance:
                    each = epsilon / len(self.balance)
                    found[f"balance {column}"] = DiscreteLaplace(each * Fraction(7, 10), GRID)
                    found[f"spread {column}"] = DiscreteLaplace(each * Fraction(3, 10), GRID)
            else:
                found[name] = DiscreteLaplace(epsilon, self._l1(name))
        return found

    def _l1(self, name: str) -> int:
        if name == "overlap":
            return 2
        if name == "gradient":
            return gradient_moves(self.d)
        if name == "mass" and self.counts_arm:
            return 1
        return 2 * GRID if name == "mass" and self.relation == "replace-one" else GRID


def propensity_penalty(n1: int, d: int, multiplier: float) -> float:
    """Penalty of private logistic weights, sqrt(m / (32 d n1)) or what noise needs.

    Weights of d coordinates, the intercept included, are fitted to n1 rows; m is the noise per unit
    of sensitivity at the budget asked.

    Notes
    -----
    Noise has sd 2 m / (n1 lam); the bias of shrinking grows as d lam, because rows of norm 1 leave
    each coordinate a curvature of order 1 / d.  This makes both shrink like 1 / sqrt(n1); half of
    what minimises their sum, because errors contain the noise and not the bias.

    Where n1 is small that noise would be larger than any log odds: de-biased odds then lie on the
    trimming floor, nearly all of them, and the effect is of no use.  The penalty is therefore at
    least 2 m / (n1 s) with s = ``PROPENSITY_NOISE_MOST``, at which noise has sd s: propensities
    degrade towards a constant, and the effect towards the unadjusted difference.

    Examples
    --------
    >>> round(propensity_penalty(5000, 6, 3.73), 4), round(propensity_penalty(373, 26, 3.73), 4)
    (0.0021, 0.0286)
    """
    balanced = math.sqrt(multiplier / (32 * d * n1))
    quiet = 2 * multiplier / (n1 * PROPENSITY_NOISE_MOST)
    return balanced if balanced > quiet else quiet


def propensity_trim(n: int) -> float:
    """Limits at which propensities are trimmed: 2 n^(-1/3), within [.01, .1].

    Examples
    --------
    >>> propensity_trim(1000), round(propensity_trim(10**6), 3)
    (0.1, 0.02)
    """
    return float(sorted((0.01, 2 * n ** (-1 / 3), 0.1))[1])


def require_delta(budget: Budget) -> None:
    """Refuse a budget without delta."""
    if not budget.delta:
        raise ParameterError(
            "``dprct.IPW`` needs a delta above 0, because its models carry Gaussian noise; give "
            "one far below 1/n, such as ``delta=1e-6``"
        )


def parts_of(
    *, hajek: bool, count: bool, total: bool, balance: bool, overlap: bool
) -> dict[str, int]:
    """Return the parts of a fit on the second part of the rows, with their default proportions.

    Examples
    --------
    >>> parts_of(hajek=False, count=False, total=True, balance=False, overlap=False)
    {'effect': 12, 'variance': 4, 'gradient': 4}
    """
    wanted = {
        "effect": True, "mass": hajek or count, "variance": True, "gradient": total,
        "balance": balance, "overlap": overlap,
    }  # fmt: skip
    parts = IPW_HAJEK_PARTS if hajek else IPW_PARTS
    found = {name: part for name, part in parts.items() if wanted[name]}
    return found | ({"mass": 1} if count else {})


@dataclass(frozen=True, eq=False, kw_only=True)
class Released:
    """What left the confidential table; effects and means in units of R, about the middle."""

    weights: Array  # (d,): noisy propensity weights
    # weight_sd, weight_spread, shortfall: their noise; the variance of each, sampling included; how
    # far the penalty moved them.
    weight_sd: float
    weight_spread: float = 1.0
    shortfall: float = 0.0
    theta: float  # the effect; NaN where a denominator is not far from its noise
    # Laplace scales (standard deviations, if ``gaussian``) of what is in it, in units of R.
    noises: tuple[float, ...]
    gaussian: int = 0  # how many of ``noises``, the first ones, are standard deviations
    # variance, variance_scale: of its sampling error, and the Laplace scale of that.
    variance: float
    variance_scale: float
    # steepness, steepness_scale: norm of the derivative of theta in the weights, and its Laplace
    # scale; 0 where not released.
    steepness: float = 0.0
    steepness_scale: float = 0.0
    # Released denominators (weights of the treated, of the others; or one number of records).
    masses: tuple[float, ...] = ()
    # (weighted difference, root mean square, noise of the first).
    balance: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)
    overlap: NDArray[np.int64] | None = None  # (2, bins)
    n2: int


@dataclass(frozen=True)
class _Ratio:
    """The effect before its variance: what was drawn, and around what influences are taken."""

    theta: float
    noises: tuple[float, ...]
    masses: tuple[float, ...]
    divisor: float
    centre: Centre


def released(allocation: IPWAllocation, rows: CompactTable, noise: NoiseSource) -> Released:
    """Draw everything; the caller has charged the whole.

    Notes
    -----
    *Positions.*  For every set of places that is the first part, the two parts are released
    separately: a person at a place is in one of them, whatever the values.

    *Order.*  An engine promises no order of rows, and its order may depend on all values.  The set
    of places is therefore drawn uniformly among all of its size, exactly
    (:func:`~dprct.privacy.noise.random_part`), after the rows were read.  Let D and D' be
    neighbours, each in any order.  An order is a bijection of places to people, so that in both the
    set S of people in the first part is uniform among all of that size.  Given S, the release keeps
    the guarantee in whatever order the rows of either table are: its sums are sums of integers,
    which know no order, and its weights are within the solver's tolerance of a minimiser that knows
    none.  The average over S, whose law is the same for D and D', keeps it too.

    With a seed, rows are put in an order of their own first, so that all engines agree.
    """
    form = allocation.form
    first, second = parted(form.n1, form.n1 + form.n2, rows, noise)
    draw = _Drawer(allocation, noise)
    part = rows.part(first)
    sealed = propensity_weights(part.Z, part.t, allocation.grid, form.relation)
    del part  # before the others are gathered
    weights, _ = draw(WEIGHTS, sealed)
    weighted = Weighted(
        rows.part(second), weights, allocation.weight_sd, form.scheme, form.relation
    )
    ratio = _hajek(form, weighted, draw) if form.hajek else _plain(form, weighted, draw)
    variance, variance_scale = draw("variance", weighted.squares(ratio.centre))
    steepness = steepness_scale = 0.0
    if form.errors == "total":
        (norm,), (size,) = draw("gradient", weighted.gradient_norm(ratio.centre))
        steepness, steepness_scale = float(norm) / ratio.divisor, size / ratio.divisor
    numbers = {block.column.name: block for block in rows.design.blocks if not block.levels}
    balance = {
        name: _balance(name, weighted, numbers[name], ratio.divisor, draw) for name in form.balance
    }
    counts = None
    if form.overlap:
        found, _ = draw("overlap", weighted.overlap(OVERLAP_BINS))
        counts = np.rint(found).astype(np.int64).reshape(2, OVERLAP_BINS)
    return Released(
        weights=weights,
        weight_sd=allocation.weight_sd,
        weight_spread=allocation.weight_spread,
        shortfall=allocation.shortfall(weights),
        theta=ratio.theta,
        noises=ratio.noises,
        gaussian=gaussian_draws(form),
        variance=float(variance[0]) / ratio.divisor**2,
        variance_scale=variance_scale[0] / ratio.divisor**2,
        steepness=steepness,
        steepness_scale=steepness_scale,
        masses=ratio.masses,
        balance=balance,
        overlap=counts,
        n2=form.n2,
    )


def parted(
    size: int, n: int, rows: CompactTable, noise: NoiseSource
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places of the rows of each part; the first has ``size`` of n."""
    inside = random_part(n, size, noise)
    first, second = np.flatnonzero(inside), np.flatnonzero(~inside)
    if not noise.simulation:
        return first, second
    order = rows.order()
    return order[first], order[second]


@dataclass(frozen=True)
class _Drawer:
    allocation: IPWAllocation
    noise: NoiseSource

    def __call__(self, name: str, sealed: IntegerVector) -> tuple[Array, list[float]]:
        """Draw one part: noisy numbers, and the scale (or sd) of the noise of each."""
        mechanism = self.allocation[name]
        found = mechanism.release(sealed, self.noise)
        size = found.noise_sd
        if isinstance(mechanism, DiscreteLaplace):
            size = mechanism.scale * float(found.grid)
        return found.values, [size] * len(found.values)


def gaussian_draws(form: Form) -> int:
    """How many draws in the effect are Gaussian; they come first."""
    if form.noise == "laplace":
        return 0
    return 2 if form.hajek else 1


def _plain(form: Form, weighted: Weighted, draw: _Drawer) -> _Ratio:
    """Return the difference of weighted sums, over the number of records the effect is about."""
    estimand = form.scheme.estimand
    (total,), (scale,) = draw("effect", weighted.difference())
    size, spread = float(form.n2), 0.0
    if estimand != "ate":
        if form.counts_arm:
            (size,), (spread,) = draw("mass", weighted.count())
        else:  # who is treated is public
            size = float(public_size(weighted.records.t, form.scheme))
    usable, divisor = _divisor(size, spread)
    theta = float(total) / divisor
    shift = float(np.clip(theta, -2, 2))
    centre = Centre(
        treated_shift=0.0 if estimand == "atc" else shift,
        control_shift=0.0 if estimand == "att" else shift,
    )
    noises = (scale / divisor, abs(shift) * spread / divisor)
    masses = () if estimand == "ate" else (size,)
    return _Ratio(theta if usable else float("nan"), noises, masses, divisor, centre)


def _hajek(form: Form, weighted: Weighted, draw: _Drawer) -> _Ratio:
    """Return the difference of weighted means, each over its own released weights."""
    most = (form.scheme.treated_most, form.scheme.control_most)
    sums, sum_scales = draw("effect", weighted.arm_sums())
    masses, mass_scales = draw("mass", weighted.masses())
    means, divisors, noises, usable = [], [], [], []
    for arm in (0, 1):
        mass, spread = masses[arm] * most[arm], mass_scales[arm] * most[arm]
        fine, divisor = _divisor(float(mass), spread)
        mean = float(np.clip(sums[arm] * most[arm] / divisor, -1, 1))
        noises += [sum_scales[arm] * most[arm] / divisor, abs(mean) * spread / divisor]
        means.append(mean)
        divisors.append(divisor)
        usable.append(fine)
    n2 = float(form.n2)
    centre = Centre(
        treated_mean=means[0],
        control_mean=means[1],
        treated_scale=n2 / divisors[0],
        control_scale=n2 / divisors[1],
    )
    theta = means[0] - means[1] if all(usable) else float("nan")
    # the draws of the sums first: they are Gaussian where that was asked
    ordered = (noises[0], noises[2], noises[1], noises[3])
    return _Ratio(theta, ordered, tuple(divisors), n2, centre)


def divisor_of(allocation: IPWAllocation) -> float:
    """Least admissible denominator: below it the effect is not estimated."""
    form = allocation.form
    if form.hajek:
        return form.mass_floor(allocation.budget)
    spread = allocation["mass"].scale  # type: ignore[union-attr]
    return sorted((FEWEST_WEIGHT_SCALES * spread, float(FEWEST_COUNTED)))[1]


def _divisor(size: float, spread: float) -> tuple[bool, float]:
    """Whether a released denominator is far from its noise, and what to divide by."""
    least = FEWEST_WEIGHT_SCALES * spread
    if least < FEWEST_COUNTED:
        least = float(FEWEST_COUNTED)
    return size >= least, size if size >= least else least


def public_size(t: Mask, scheme: Scheme) -> int:
    """How many records an ATT or ATC is about, where who is treated is public."""
    return int((~t if scheme.estimand == "atc" else t).sum())


def _balance(
    name: str, weighted: Weighted, block: Coordinates, divisor: float, draw: _Drawer
) -> tuple[float, float, float]:
    apart, square = weighted.balance(block)
    (difference,), (scale,) = draw(f"balance {name}", apart)
    (total,), _ = draw(f"spread {name}", square)
    spread = float(np.sqrt(np.clip(total / len(weighted.records), 1e-6, 1)))
    return float(difference) / divisor, spread, float(np.sqrt(2) * scale) / divisor


def planned_numbers(
    allocation: IPWAllocation, radius: float, treated: float
) -> Iterator[PlannedNumber]:
    """Form, penalty, trimming, division of the budget and noise, as a plan has them.

    ``radius`` is R, half the width of the bounds of the outcome.
    """
    form = allocation.form
    scheme, kept = form.scheme, slope_kept(allocation)
    yield from form_of(allocation, treated)
    yield PlannedNumber("rows", form.n1, why="for the propensity weights")
    yield PlannedNumber("rows", form.n2, why="others, for the effect")
    yield PlannedNumber("penalty", allocation.lam, why="lambda")
    why = "of the slopes of log odds that it leaves, about; less, where bounds of covariates are "
    yield PlannedNumber("share kept", kept, why=f"{why}wider than two sd from the middle")
    yield PlannedNumber("propensity weights", form.d)
    why = "noise sd of each: the index of a row moves by at most that, one sd"
    yield PlannedNumber("propensity weights", allocation.weight_sd, why=why)
    yield PlannedNumber("trimming", scheme.trim, why="the smallest propensity")
    yield PlannedNumber("trimming", 1 - scheme.trim, why="the largest")
    yield from notes({"budget": "all of it for the weights; on the other rows the same, in shares"})
    for name, share in form.shares.items():
        yield PlannedNumber("budget", float(share), why=name)
    treating = "" if scheme.estimand == "ate" else f" if {treated:.0%} of the rows are treated"
    noise = effect_sd(allocation, radius, treated)
    yield PlannedNumber("noise of the effect", noise, why=f"sd{treating}, without that of weights")
    most = sampling_most(form, radius)
    yield PlannedNumber("sampling error", most, why="at most: every weight is the largest")


def form_of(allocation: IPWAllocation, treated: float) -> Iterator[PlannedNumber]:
    """Which form is released, and when it is not."""
    if not allocation.form.hajek:
        plain = "weighted sums over a number of rows, of outcomes about the middle of bounds"
        yield from notes({"form": f"plain: {plain}"})
        return
    yield from notes({"form": "Hajek: weighted means"})
    floor, mass = allocation.form.mass_floor(allocation.budget), allocation.form.mass_of(treated)
    why = "which both released sums of weights must exceed, or the effect is not estimated"
    yield PlannedNumber("least sum of weights", floor, why=why)
    yield PlannedNumber("least sum of weights", mass, why="about what is expected")


def curvature_of(d: int) -> float:
    """Return the curvature of the loss in a covariate, from public facts.

    Notes
    -----
    1 / (32 K), for a covariate whose sd is a quarter of the width of its bounds, z_j = x_j /
    sqrt(2 K), where about half are treated: E z_j^2 e(1 - e) is 1/(2K) 1/4 1/4.
    """
    return 1 / (32 * max(d - 1, 1))


def slope_kept(allocation: IPWAllocation) -> float:
    """Share of the slopes of the log odds that the penalty leaves, about.

    Notes
    -----
    h / (h + lam) with the curvature h of :func:`curvature_of`.  Wider bounds leave less.
    """
    curvature = curvature_of(allocation.form.d)
    return curvature / (curvature + allocation.lam)


def effect_sd(allocation: IPWAllocation, radius: float, treated: float = 0.5) -> float:
    """Return the noise of the effect, one sd, without that of denominators."""
    scheme, form = allocation.form.scheme, allocation.form
    steps = allocation["effect"].noise_sd / (1 << 19) * radius / form.mass_of(treated)
    return steps * (
        math.hypot(scheme.treated_most, scheme.control_most) if form.hajek else scheme.most
    )


def sampling_most(form: Form, radius: float) -> float:
    """Return the largest sampling error of the effect that bounds and trimming allow."""
    return radius * form.scheme.most / math.sqrt(form.n2)
