"""The meta-algorithm: nuisances on their own parts, pseudo-outcomes, and a second stage."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from dprct.estimate.additive.fitted import AdditiveFit
from dprct.estimate.additive.release import layout_of, released_sums
from dprct.estimate.cate.constant import ConstantEffect
from dprct.estimate.cate.partition import partition
from dprct.queries import CodedRows, CompactRows, EngineRows, doubly_robust, residual_ratio
from dprct.queries.arithmetic import over, within

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from numpy.typing import NDArray

    from dprct.estimate.additive.terms import Terms
    from dprct.privacy.budget import Budget
    from dprct.privacy.noise import NoiseSource
    from dprct.queries import AdditiveLayout

    Array = NDArray[np.float64]

Learner = Literal["dr", "r", "s"]
Part = TypeVar("Part", CodedRows, EngineRows)


@dataclass(frozen=True, slots=True, eq=False)
class Recipe:
    """What a fit releases, in which parts: public facts only.

    Parameters
    ----------
    learner : {"dr", "r", "s"}
    terms : Terms
    sizes : mapping of part to number of rows
    bounds : (float, float)
        Of the outcome.
    clip : float
        R, of pseudo-outcomes.
    e : Fraction or None
        Known propensity.
    trim : float
        Estimated propensities are within [trim, 1 - trim].
    """

    learner: Learner
    terms: Terms
    sizes: Mapping[str, int]
    bounds: tuple[float, float]
    clip: float
    e: Fraction | None
    trim: float

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
    def nuisance_terms(self) -> Terms:
        """Terms without groups and joint counts, which nuisances do not need."""
        terms = self.terms
        few = slice(0, terms.features)
        return replace(terms, encodings=terms.encodings[few], smooth=terms.smooth[few], crossed=())

    @property
    def largest_weight(self) -> float:
        """The largest (T - e)^2."""
        most = 1 - self.trim if self.e is None else float(max(self.e, 1 - self.e))
        return most**2

    def layouts(self, budget: Budget) -> dict[str, AdditiveLayout]:
        """Return what is released in every part; one record is in one part."""
        own, arm = self.nuisance_terms, len(self.terms.encodings)
        blocks = {
            "propensity": own.blocks(),
            "outcome": own.blocks(arm if self.learner == "dr" else None),
            "effect": self.terms.blocks(),
        }
        clips = {"propensity": 0.5, "outcome": self.half, "effect": self.clip}
        weighted = {"effect": self.learner == "r"}
        if self.learner == "s":
            blocks["effect"] = ConstantEffect.blocks(self.terms)
            clips["effect"] = min(self.half, self.clip)
        return {
            name: layout_of(blocks[name], clips[name], budget, weighted=weighted.get(name, False))
            for name in self.sizes
        }


def learned(
    recipe: Recipe,
    rows: CodedRows | CompactRows | EngineRows,
    budget: Budget,
    noise: NoiseSource,
) -> dict[str, AdditiveFit]:
    """Draw every release and return the fitted functions by name, ``"effect"`` the last.

    Parameters
    ----------
    recipe : Recipe
    rows : CodedRows, CompactRows, or EngineRows of a recipe of one part
        Confidential.
    budget : Budget
        Of every part; charged by the caller.
    noise : NoiseSource
    """
    layouts, found = recipe.layouts(budget), dict[str, AdditiveFit]()
    if isinstance(rows, EngineRows):
        assert recipe.one_step
        return {"effect": _effect(recipe, rows.with_arm(), {}, layouts["effect"], budget, noise)}
    for name, places in partition(recipe.sizes, noise).items():
        part, layout = rows.rows(places).with_arm(), layouts[name]
        if name == "propensity":
            found[name] = _fit(recipe, part, part.treated - 0.5, layout, budget, noise, 0.5)
        elif name == "outcome":
            found |= _outcomes(recipe, part, layout, budget, noise)
        else:
            at = {nuisance: fit.at(part.codes) for nuisance, fit in found.items()}
            found[name] = _effect(recipe, part, at, layout, budget, noise)
    return found


def _fit(
    recipe: Recipe,
    part: CodedRows,
    target: Array,
    layout: AdditiveLayout,
    budget: Budget,
    noise: NoiseSource,
    centre: float,
) -> AdditiveFit:
    sums = released_sums(part.codes, target, layout, budget, noise)
    return AdditiveFit(recipe.nuisance_terms, sums, centre)


def _outcomes(
    recipe: Recipe,
    part: CodedRows,
    layout: AdditiveLayout,
    budget: Budget,
    noise: NoiseSource,
) -> dict[str, AdditiveFit]:
    """Return the outcome given x: of each arm for the DR-learner, else of everybody."""
    fit = _fit(recipe, part, part.outcome - recipe.middle, layout, budget, noise, recipe.middle)
    if recipe.learner != "dr":
        return {"outcome": fit}
    names = ("outcome of the untreated", "outcome of the treated")
    return {name: replace(fit, sums=fit.sums.of_arm(arm)) for arm, name in enumerate(names)}


def _effect(
    recipe: Recipe,
    part: Part,
    nuisances: Mapping[str, Array],
    layout: AdditiveLayout,
    budget: Budget,
    noise: NoiseSource,
) -> AdditiveFit:
    """Return the last stage; ``nuisances`` are those at the rows of the part."""
    if recipe.learner == "s":
        sums = released_sums(part.codes, part.outcome - recipe.middle, layout, budget, noise)
        return ConstantEffect(recipe.terms, sums)

    def at(name: str, low: float, high: float, default: float) -> Any:
        """Return a nuisance at the rows, within public bounds; else a public constant."""
        if name not in nuisances:
            return default
        return np.clip(nuisances[name], low, high, out=nuisances[name])  # made for this alone

    known = 0.5 if recipe.e is None else float(recipe.e)
    e = at("propensity", recipe.trim, 1 - recipe.trim, known)
    if recipe.learner == "dr":
        control = at("outcome of the untreated", *recipe.bounds, recipe.middle)
        treated = at("outcome of the treated", *recipe.bounds, recipe.middle)
        target = doubly_robust(part, control, treated, e)
        return AdditiveFit(recipe.terms, released_sums(part.codes, target, layout, budget, noise))
    ratio, squares = residual_ratio(part, at("outcome", *recipe.bounds, recipe.middle), e)
    weights = over(squares, recipe.largest_weight)
    target = within(ratio, -recipe.clip, recipe.clip) * weights
    sums = released_sums(part.codes, target, layout, budget, noise, weights)
    return AdditiveFit(recipe.terms, sums)
