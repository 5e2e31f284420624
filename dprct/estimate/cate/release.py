"""What a private CATE releases of each part of the rows: the parts, their sums, and the draw.

Nuisances are fitted on parts of their own; from them come pseudo-outcomes on the last part, of
which the effect is the mean.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from dprct.arguments import given
from dprct.defaults import AIPW_ETA_MOST, KNOWN_PARTS, NUISANCE_PARTS
from dprct.errors import ParameterError
from dprct.estimate.additive.fitted import AdditiveFit
from dprct.estimate.additive.release import (
    allocation_of,
    asked_sums,
    average_noise,
    layout_of,
    noise_of,
    released_sums,
)
from dprct.estimate.cate.logit import (
    LogOdds,
    TreatmentSums,
    noise_of_logit,
    released_treatment,
    treatment_layout,
)
from dprct.estimate.cate.plug_in import PlugIn
from dprct.privacy.budget import exact
from dprct.privacy.noise import random_part
from dprct.queries.additive import (
    Block,
    CodedRows,
    CompactRows,
    EngineRows,
    doubly_robust,
    residual_ratio,
)
from dprct.queries.sums import over, within
from dprct.queries.treatment_moments import TreatmentMoments
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction
    from typing import NoReturn

    from numpy.typing import NDArray

    from dprct.estimate.additive.release import AdditiveAllocation, AdditiveSums
    from dprct.estimate.additive.terms import Terms
    from dprct.estimate.noise_law import PathNoise
    from dprct.privacy.budget import Budget, Real
    from dprct.privacy.noise import NoiseSource
    from dprct.queries.additive import AdditiveLayout

    Array = NDArray[np.float64]
    Drawn = Mapping[str, AdditiveSums | TreatmentSums]

Learner = Literal["dr", "r", "s", "t"]
ONE_RELEASE: tuple[Learner, ...] = ("s", "t")
"""Learners of which all is one release of the outcome by arm, without a nuisance."""

PropensityModel = Literal["additive", "logit"]
Part = TypeVar("Part", CodedRows, EngineRows)

PROPENSITY, OUTCOME, EFFECT = PARTS = ("propensity", "outcome", "effect")
UNTREATED, TREATED = "outcome of the untreated", "outcome of the treated"
FEWEST_ROWS = 2


def shares_of(
    asked: Mapping[str, Real] | None, *, known: bool, constant: bool = False
) -> dict[str, Fraction]:
    """Share of every part of the rows, of sum one.

    No part estimates a ``known`` propensity, and with ``constant`` (S-learner, plug-in) no nuisance
    is estimated at all.

    Examples
    --------
    >>> shares_of(None, known=True)
    {'effect': Fraction(1, 1)}
    """
    if asked is None:
        return dict(KNOWN_PARTS if known or constant else NUISANCE_PARTS)
    if not isinstance(asked, Mapping):
        raise ParameterError(
            f"``parts=`` is ``{type(asked).__name__}``; give the share of each part, such as "
            "``{'outcome': 0.3, 'effect': 0.7}``"
        )
    found = {str(name): exact(share, "share") for name, share in asked.items()}
    allowed = ["effect"] if constant else ["propensity"] * (not known) + ["outcome", "effect"]
    needed = {"effect"} if known or constant else {"propensity", "effect"}
    if not needed <= set(found) <= set(allowed) or any(share <= 0 for share in found.values()):
        raise ParameterError(
            f"``parts=`` names {', '.join(found) or 'nothing'}; allowed here: "
            f"{', '.join(allowed)}, of which needed: {', '.join(sorted(needed))}, each with a "
            "share above 0"
        )
    if sum(found.values()) != 1:
        raise ParameterError("``parts=`` does not sum to one exactly; give fractions that do")
    return {name: found[name] for name in PARTS if name in found}


def sizes_of(shares: Mapping[str, Fraction], n: int) -> dict[str, int]:
    """Return the rows of every part; what rounding leaves goes to the effect.

    Examples
    --------
    >>> from fractions import Fraction
    >>> sizes_of({"outcome": Fraction(1, 3), "effect": Fraction(2, 3)}, 100)
    {'outcome': 33, 'effect': 67}
    """
    sizes = {name: int(share * n) for name, share in shares.items()}
    sizes["effect"] += n - sum(sizes.values())
    small = [name for name, size in sizes.items() if size < FEWEST_ROWS]
    if small:
        raise ParameterError(
            f"``parts=`` leaves {small[0]!r} with fewer than {FEWEST_ROWS} of {n:,} rows; give "
            "it a larger share"
        )
    return sizes


def partition(sizes: Mapping[str, int], noise: NoiseSource) -> dict[str, NDArray[np.int64] | None]:
    """Return the places of the rows of every part, uniformly; None where one part has all rows.

    Notes
    -----
    **Rows at fixed places** (a table in memory): the guarantee needs that the partition does not
    depend on any value, and not that it is uniform: neighbours differ at one place, and it holds
    for every single partition.

    **Rows in any order**: an engine promises none, and where it puts rows may depend on what they
    hold, so that one changed value moves many.  Let s(i) be the place of person i, and P the
    partition of places, drawn without regard to s, uniformly from all of its sizes.  Whatever s is,
    relabelling by s is a bijection of the partitions of places to those of persons, so that the
    partition Q of persons is uniform, too, for either of two neighbours.  What is released is the
    mixture, with the same weights for both, of M_Q(D), which adds whole numbers within the parts
    of Q and so has no order of rows in it.  Each M_Q has the guarantee, because one person is in
    one part; so has the pair of Q and its release, and so has the release alone.

    One part after the other is uniform among the rows that are left, exactly
    (:func:`~dprct.privacy.noise.random_part`), so that the partition is uniform.
    """
    if len(sizes) == 1:
        return dict.fromkeys(sizes)
    left = np.arange(sum(sizes.values()))
    found: dict[str, NDArray[np.int64] | None] = {}
    for name, size in sizes.items():
        inside = random_part(len(left), size, noise)
        found[name], left = left[inside], left[~inside]
    return found


@dataclass(frozen=True, eq=False)
class LearnerForm:
    """What a fit releases, in which parts: public facts only."""

    learner: Learner
    terms: Terms
    sizes: Mapping[str, int]
    bounds: tuple[float, float]  # of the outcome
    clip: float  # R, of pseudo-outcomes
    e: Fraction | None  # known propensity
    trim: float  # estimated propensities are within [trim, 1 - trim]
    model: PropensityModel = "additive"  # of estimated propensities

    @property
    def middle(self) -> float:
        """The middle of the bounds."""
        return self.bounds[0] / 2 + self.bounds[1] / 2

    @property
    def half(self) -> float:
        """Half the width of the bounds."""
        return self.bounds[1] / 2 - self.bounds[0] / 2

    @property
    def one_step(self) -> bool:
        """Whether all rows are in one part: then sums in cells are all that is asked of them."""
        return len(self.sizes) == 1

    @property
    def propensity(self) -> str:
        """Which propensity is used, in words."""
        if self.learner == "t":
            return "not needed"
        if self.e is not None:
            return f"known, {self.e}"
        by = " by a logit" if self.model == "logit" else ""
        return f"estimated{by}, kept within [{self.trim:g}, {1 - self.trim:g}]"

    @property
    def no_sampling(self) -> str:
        """Why no interval that contains sampling is proved; empty where one is."""
        if self.learner == "t":
            return "the functions of both arms are smoothed, and nothing corrects their error"
        if self.e is None:
            return "the propensity is estimated, and its error is in no interval"
        if self.learner == "r":
            return "the R-learner divides by noisy sums of weights that depend on the data"
        return ""

    @property
    def nuisance_terms(self) -> Terms:
        """Terms without subgroups and joint counts, which nuisances do not need."""
        terms = self.terms
        few = slice(0, terms.features)
        return replace(terms, encodings=terms.encodings[few], smooth=terms.smooth[few], crossed=())

    @property
    def largest_weight(self) -> float:
        """The largest (T - e)^2."""
        most = 1 - self.trim if self.e is None else float(max(self.e, 1 - self.e))
        return most**2

    def planned_noise(self, bought: AdditiveAllocation, e: float) -> float:
        """Noise, one sd, to expect in the average effect where a share e of the rows is treated."""
        n = self.sizes[EFFECT]
        if self.learner in ONE_RELEASE:
            sd_sum, _ = noise_of(*bought.last)
            return sd_sum * math.hypot(1 / (n * e), 1 / (n * (1 - e)))
        lost = e * (1 - e) / self.largest_weight if self.learner == "r" else 1.0
        return average_noise(bought, n) / lost

    def allocation(self, budget: Budget) -> AdditiveAllocation:
        """Return one mechanism for each part, at the whole budget: one record is in one part."""
        own, arm = self.nuisance_terms, len(self.terms.encodings)
        blocks = {
            PROPENSITY: own.blocks(),
            OUTCOME: own.blocks(arm if self.learner == "dr" else None),
            EFFECT: self.terms.blocks(),
        }
        clips = {PROPENSITY: 0.5, OUTCOME: self.half, EFFECT: self.clip}
        if self.learner in ONE_RELEASE:
            kind = ConstantEffect if self.learner == "s" else PlugIn
            blocks[EFFECT] = kind.blocks(self.terms)
            clips[EFFECT] = min(self.half, self.clip)
        layouts: dict[str, AdditiveLayout | TreatmentMoments] = {}
        for name in self.sizes:
            weighted = name == EFFECT and self.learner == "r"
            layouts[name] = layout_of(blocks[name], clips[name], budget, weighted=weighted)
        if PROPENSITY in layouts and self.model == "logit":
            layouts[PROPENSITY] = treatment_layout(own)
        return allocation_of(layouts, budget)

    def warnings(self, bought: AdditiveAllocation) -> tuple[str, ...]:
        """Warnings of a logit whose moments are mostly noise."""
        if PROPENSITY not in self.sizes or self.model != "logit":
            return ()
        layout, sd = treatment_layout(self.nuisance_terms), bought[PROPENSITY].noise_sd
        noise = noise_of_logit(self.terms, layout, sd, self.sizes[PROPENSITY])
        if noise <= AIPW_ETA_MOST:
            return ()
        return (
            f"the noise of the moments of treatment is expected to be {noise:.2g} times what "
            "features add to them: propensities will be near the share of the treated; use fewer "
            "features, a delta above 0, a larger epsilon, or ``propensity_model='additive'``",
        )

    def fits(self, sums: Drawn) -> dict[str, Any]:
        """Return the fitted functions of released sums, by name: post-processing."""
        return {name: self._fit(name, one) for name, one in sums.items()}

    def _fit(self, name: str, sums: AdditiveSums | TreatmentSums) -> AdditiveFit | LogOdds:
        if isinstance(sums, TreatmentSums):
            return LogOdds(self.nuisance_terms, sums, self.trim)
        if name == EFFECT:
            if self.learner == "t":
                return PlugIn(self.terms, sums, self.middle)
            kind = ConstantEffect if self.learner == "s" else AdditiveFit
            return kind(self.terms, sums)
        return AdditiveFit(self.nuisance_terms, sums, 0.5 if name == PROPENSITY else self.middle)


def released(
    form: LearnerForm,
    allocation: AdditiveAllocation,
    rows: CodedRows | CompactRows,
    noise: NoiseSource,
) -> dict[str, AdditiveSums | TreatmentSums]:
    """Draw everything, the effect last; the caller has charged the whole."""
    found: dict[str, AdditiveSums | TreatmentSums] = {}
    for name, places in partition(form.sizes, noise).items():
        part = rows.rows(places).with_arm()
        layout, mechanism = allocation.layouts[name], allocation[name]
        if isinstance(layout, TreatmentMoments):
            found[name] = released_treatment(part, layout, mechanism, noise)
            continue
        release = layout, mechanism
        if name == PROPENSITY:
            found[name] = released_sums(part.codes, part.treated - 0.5, *release, noise)
        elif name == OUTCOME:
            both = released_sums(part.codes, part.outcome - form.middle, *release, noise)
            # for the DR-learner treatment is a further feature, and each arm has its own function
            arms = {UNTREATED: 0, TREATED: 1} if form.learner == "dr" else {}
            found |= {arm: both.of_arm(k) for arm, k in arms.items()} or {OUTCOME: both}
        else:
            at = {nuisance: fit.at(part.codes) for nuisance, fit in form.fits(found).items()}
            found[name] = asked_effect(form, allocation, part, at)(noise)
    return found


def asked_effect(
    form: LearnerForm,
    allocation: AdditiveAllocation,
    part: Part,
    nuisances: Mapping[str, Array],
) -> Callable[[NoiseSource], AdditiveSums]:
    """Ask for the sums of the last stage, and return their draw.

    The part has its arm as the last feature; ``nuisances`` are those at its rows.
    """
    release = allocation.last
    if form.learner in ONE_RELEASE:
        return asked_sums(part.codes, part.outcome - form.middle, *release)

    def at(name: str, low: float, high: float, default: float) -> Any:
        """Return a nuisance at the rows, within public bounds; else a public constant."""
        if name not in nuisances:
            return default
        return np.clip(nuisances[name], low, high, out=nuisances[name])  # made for this alone

    known = 0.5 if form.e is None else float(form.e)
    e = at(PROPENSITY, form.trim, 1 - form.trim, known)
    if form.learner == "dr":
        control = at(UNTREATED, *form.bounds, form.middle)
        treated = at(TREATED, *form.bounds, form.middle)
        target = doubly_robust(part, control, treated, e)
        return asked_sums(part.codes, target, *release)
    ratio, squares = residual_ratio(part, at(OUTCOME, *form.bounds, form.middle), e)
    weights = over(squares, form.largest_weight)
    target = within(ratio, -form.clip, form.clip) * weights
    return asked_sums(part.codes, target, *release, weights)


@dataclass(frozen=True, eq=False)
class ConstantEffect(AdditiveFit):
    """The difference of two levels of treatment, one feature of an additive model of the outcome.

    Notes
    -----
    With T a feature besides x, mu(x, 1) - mu(x, 0) is its shape at 1 minus that at 0, for any x
    is: without interactions there is nothing else to learn.  The shapes of x are of no use for it,
    so that the budget is spent on the shape of T alone.
    """

    @staticmethod
    def blocks(terms: Terms) -> tuple[Block, ...]:
        """Released blocks: everybody, and the two levels of treatment."""
        return (Block((), (), counts=False), Block((len(terms.encodings),), (2,)))

    @property
    def average(self) -> float:
        """The effect."""
        means, _ = self._raw(self.sums.cells[1])
        return float(np.clip(means[1] - means[0], -2 * self.sums.clip, 2 * self.sums.clip))

    @property
    def shapes(self) -> tuple[Array, ...]:
        """Flat shapes (K,) of the terms."""
        sizes = [encoding.size for encoding in self.terms.encodings]
        found = [np.zeros(size) for size in sizes[: self.terms.features]]
        return (*found, *(np.zeros(sizes[j] * sizes[k]) for j, k in self.terms.pairs))

    def average_noise(self, part: str = "all") -> PathNoise:
        """Return the law of the error of the effect: noise, and sampling unless it is left out."""
        means, counts = self._raw(self.sums.cells[1])
        untreated, treated = (
            self._cell_law(n, mean, part) for n, mean in zip(counts, means, strict=True)
        )
        return untreated + treated

    def levels(self, name: object, *_: object, **__: object) -> NoReturn:
        """Refuse: there are no shapes."""
        raise ParameterError(
            f"there is no shape of ``{given(name)}``: an S-learner in an additive model has the "
            "same effect for everybody; use ``learner='dr'`` or 'r'"
        )
