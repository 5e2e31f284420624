"""What a synthetic control was asked for, checked, and what that costs at a budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from dprct.defaults import ridge_pays
from dprct.errors import ParameterError
from dprct.estimate.synthetic.control_options import penalty_of, placebos_of, shares_of
from dprct.estimate.synthetic.draws import Recipe, public_norm
from dprct.estimate.synthetic.path_planning import path_sd, weight_sd
from dprct.estimate.synthetic.pricing import Noise, check_kind, check_noise, priced
from dprct.schema.arguments import check_choice

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from dprct.estimate.synthetic.draws import Rule
    from dprct.estimate.synthetic.panel import Name, Panel
    from dprct.estimate.synthetic.pricing import Priced
    from dprct.privacy.budget import Budget, Real
    from dprct.queries.donors import Scale

Weights = Literal["ridge", "uniform", "auto"]


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """A model's options: public facts only.

    Parameters
    ----------
    recipes : mapping from rule to Recipe
        One, or both where the rule is chosen once the budget is known.
    noise : {"laplace", "gaussian", "concentrated"}
    scale : Scale
    """

    recipes: Mapping[Rule, Recipe]
    noise: Noise
    scale: Scale

    def priced(self, budget: Budget) -> tuple[Recipe, Priced, str]:
        """Return what is released at which price, and why; a function of public facts."""
        check_noise(self.noise, budget)
        found = {k: (r, priced(budget, self.noise, r.parts())) for k, r in self.recipes.items()}
        if len(found) == 1:
            [(recipe, prices)] = found.values()
            return recipe, prices, _words(recipe)
        (ridge, with_ridge), (_, with_uniform) = found["ridge"], found["uniform"]
        bound = self.scale.bound
        pays = ridge_pays(
            ridge.n,
            weight_sd(ridge, with_ridge),
            path_sd(self.scale, with_ridge) / bound,
            path_sd(self.scale, with_uniform) / bound,
        )
        recipe, prices = found["ridge" if pays else "uniform"]
        why = "(chosen from public facts: dprct.defaults.ridge_pays)"
        return recipe, prices, f"{_words(recipe)} {why}"


def requested(
    panel: Panel,
    scale: Scale,
    target: NDArray[np.float64] | None,
    *,
    weights: Weights = "ridge",
    lam: float | None = None,
    mean_effect: bool = False,
    pre_fit: bool = False,
    placebos: str | Iterable[Name] = (),
    shares: Mapping[str, Real] | None = None,
    noise: Noise = "laplace",
) -> Request:
    """Check the options of a model.

    Parameters
    ----------
    panel : Panel
    scale : Scale
    target : (T,) array or None
        The treated unit's series where it is public.
    weights, lam, mean_effect, pre_fit, placebos, shares, noise
        As for :class:`dprct.SyntheticControl`.

    Raises
    ------
    ParameterError
        If an option is not allowed, or the penalty is too small for the panel's size.
    """
    check_choice("weights", weights, get_args(Weights))
    check_kind(noise)
    mean_effect, pre_fit = bool(mean_effect), bool(pre_fit)
    if mean_effect and noise != "laplace":
        raise ParameterError(
            f"mean_effect=True buys nothing with noise={noise!r}, where the mean of the path is as "
            "precise; leave it out, or use noise='laplace'"
        )
    pretended, penalty = placebos_of(placebos, panel), penalty_of(lam, panel.T0)
    y_norm = None if target is None else public_norm(scale, target[: panel.T0])
    rules: tuple[Rule, ...] = ("ridge", "uniform") if weights == "auto" else (weights,)
    recipes = {}
    for rule in rules:
        parts = shares_of(
            shares, rule, pre_fit=pre_fit, placebos=bool(pretended), auto=weights == "auto",
            mean_effect=mean_effect,
        )  # fmt: skip
        recipes[rule] = Recipe(
            len(panel.names), len(panel.times), panel.T0, rule, penalty, y_norm, pre_fit,
            pretended, parts,
        )  # fmt: skip
        recipes[rule].parts()  # refuses a penalty that is too small, from public facts
    return Request(recipes, noise, scale)


def _words(recipe: Recipe) -> str:
    return f"ridge, lambda {recipe.lam:g}" if recipe.rule == "ridge" else "equal, free"
