"""SyntheticControl: a counterfactual path from confidential donors, under differential privacy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dprct.errors import ParameterError
from dprct.estimate.base import EstimateModel
from dprct.estimate.synthetic.control_options import Bound, check_complete, record_of, scale_of
from dprct.estimate.synthetic.draws import Recipe, UnitRelease, release_all
from dprct.estimate.synthetic.panel import Panel, panel_of
from dprct.estimate.synthetic.panel_model import PanelModel
from dprct.estimate.synthetic.path_planning import (
    consequences_of,
    facts_of,
    guarantee_of,
    warnings_of,
)
from dprct.estimate.synthetic.path_results import SyntheticControlResults
from dprct.estimate.synthetic.request import Weights, requested
from dprct.privacy.budget import Budget
from dprct.results.plan import Plan
from dprct.schema.arguments import check_schema
from dprct.schema.facts import given
from dprct.schema.own import check_own

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dprct.estimate.synthetic.panel import Name
    from dprct.estimate.synthetic.pricing import Noise
    from dprct.privacy.budget import Real
    from dprct.privacy.guarantee import Guarantee
    from dprct.privacy.noise import NoiseSource
    from dprct.queries.donors import Scale
    from dprct.schema import Schema


Drawn = tuple[Recipe, list[UnitRelease]]
"""What a fit drew: the treated unit's path first, then placebos; and by which recipe."""


class SyntheticControl(PanelModel, EstimateModel[Drawn, SyntheticControlResults]):
    """The path of a treated unit without treatment, from donors that are protected.

    One record is one donor's whole series: a donor may be a state, not a person.  The people in a
    state are not the unit of this guarantee, and the treated unit is public by default.

    Parameters
    ----------
    data : data frame
        pandas or Polars, one row per unit and period, in any order; balanced and complete.
    schema : Schema
        With bounds for the outcome, unless ``bound`` is given.
    outcome : str
    treated : str or number
        The treated unit: its name, its code, or the label of its code.
    treatment_time : number
        The first period with treatment.
    unit, time : str, optional
        Columns; by default what ``xtset`` noted in the .dta file.
    donors : iterable of str or number, optional
        Units to use; all others by default.
    weights : {"ridge", "uniform", "auto"}
        Ridge weights (noisy, then shrunk to equal ones and put on the simplex); equal weights,
        which cost nothing; or whichever :func:`dprct.defaults.ridge_pays` expects to be better,
        from public facts.
    lam : number, optional
        Penalty, for data divided by the bound; ``20 T0`` if not given.
    bound : number or (low, high), optional
        Public bounds of the outcome, instead of those of the schema.
    protect_treated : bool
        Whether the treated unit's series is confidential too; the effect then has its noise.
    mean_effect : bool
        Whether the mean after treatment is released by itself too, for part of the path's share;
        it makes ``att`` more precise where there are more than three periods after treatment.
    pre_fit : bool
        Whether the synthetic path before treatment is released; it has its price.
    placebos : "all", or iterable of str or number
        Donors to be treated in pretence; each run has its price.
    shares : mapping from {"weights", "prediction", "mean", "pre_fit", "placebos"} to number
        Of the budget, of sum one; :mod:`dprct.defaults` if not given.
    noise : {"laplace", "gaussian", "concentrated"}
        Pure privacy; Gaussian differential privacy; zero-concentrated privacy.  The last two need
        ``delta``.
    neighbors : {"replace-one"}
        Which data sets are neighbours.

    Raises
    ------
    SchemaError, ColumnError, ParameterError
        If the panel is unbalanced, incomplete or too small, or a public fact is missing.

    Notes
    -----
    Relation: one donor's series is replaced by any other within the bounds; who the donors are, n,
    periods, bounds and lam are public, and so is the treated unit unless ``protect_treated``.
    With data divided by B = max |bound| and y the treated unit:

    1. ``f = (X X' + lam/2)^-1 X y`` on the pre-periods, rounded to a grid, with noise from
       :func:`dprct.privacy.ridge.ridge_l1` (Laplace) or :func:`~dprct.privacy.ridge.ridge_l2`;
    2. ``g``: f shrunk towards equal weights and projected on the simplex, by post-processing;
    3. ``X_post' g`` with noise: one donor moves each of the T - T0 values by at most
       ``max(g) (high - low)``, and their mean, if it is asked for, by as much.

    What is protected beside donors moves f by ``target_l2`` and its own path by ``high - low``.
    The noise of steps 1 and 3 is exact, on integers.  Series outside the bounds count as the
    nearest bound.

    References
    ----------
    ALGORITHMS.md, section 5.
    Rho, Cummings and Misra, "Differentially Private Synthetic Control" (the published forms are in
    ``dprct.published.SyntheticControl``).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.add.outer(np.linspace(-0.5, 0.5, 40), np.linspace(0, 0.2, 12))
    >>> y = X.mean(axis=0) + np.where(np.arange(12) < 8, 0, 0.3)
    >>> model = SyntheticControl.from_arrays(X, y, 8, bound=1, weights="uniform")
    >>> result = model.fit(epsilon=20)
    >>> bool(abs(result.att - 0.3) < 0.2), result.guarantee.unit
    (True, 'donor')
    """

    method = "SyntheticControl (noise on ridge weights and on the path)"

    def __init__(
        self,
        data: Any,
        schema: Schema,
        *,
        outcome: str,
        treated: Name,
        treatment_time: float,
        unit: str | None = None,
        time: str | None = None,
        donors: Iterable[Name] | None = None,
        weights: Weights = "ridge",
        lam: float | None = None,
        bound: Bound | None = None,
        protect_treated: bool = False,
        mean_effect: bool = False,
        pre_fit: bool = False,
        placebos: str | Iterable[Name] = (),
        shares: Mapping[str, Real] | None = None,
        noise: Noise = "laplace",
        neighbors: str = "replace-one",
    ) -> None:
        check_schema(schema)
        schema = schema.seal_beside_data()
        check_complete(schema, outcome)
        panel = panel_of(
            data, schema, outcome=outcome, treated=treated, treatment_time=treatment_time,
            unit=unit, time=time, donors=donors,
        )  # fmt: skip
        scale = scale_of(bound, schema.column(outcome))
        self._set_up(
            panel, schema, outcome, scale, weights=weights, lam=lam,
            protect_treated=protect_treated, mean_effect=mean_effect, pre_fit=pre_fit,
            placebos=placebos, shares=shares, noise=noise, neighbors=neighbors,
            record=record_of(schema, unit),
        )  # fmt: skip

    def _set_up(
        self,
        panel: Panel,
        schema: Schema,
        outcome: str,
        scale: Scale,
        *,
        weights: Weights = "ridge",
        protect_treated: bool = False,
        neighbors: str = "replace-one",
        record: str = "donor",
        **options: Any,
    ) -> None:
        if neighbors != "replace-one":
            raise ParameterError(f"neighbors={given(neighbors)}; allowed: 'replace-one'")
        check_own(panel.outcome)
        self._panel, self._target = panel, None if protect_treated else panel.target
        self._request = requested(panel, scale, self._target, weights=weights, **options)
        self.schema, self.outcome, self.scale, self._unit = schema, outcome, scale, record
        self.n, self.weights, self.noise = len(panel.names), weights, self._request.noise
        recipe = next(iter(self._request.recipes.values()))
        self.lam, self.pre_fit, self.placebos = recipe.lam, recipe.pre_fit, recipe.placebos
        self.protect_treated = bool(protect_treated)

    def plan(self, epsilon: Real, delta: Real = 0) -> Plan:
        """Return prices and noise; free, a function of public facts.

        Parameters
        ----------
        epsilon : number
            Above 0.
        delta : number, default 0
            For Gaussian noise, above 0.
        """
        budget = Budget.asked(epsilon, delta)
        recipe, prices, chosen = self._request.priced(budget)
        return Plan(
            self.method,
            budget,
            facts_of(recipe, self.scale, prices, chosen),
            tuple(consequences_of(recipe)),
            tuple(warnings_of(recipe, self.scale, prices)),
        )

    def guarantee(self, budget: Budget) -> Guarantee:
        """Return what a fit at this budget promises; free."""
        recipe, prices, _ = self._request.priced(budget)
        words = (self._unit, self.outcome, self._panel.treated)
        return guarantee_of(budget, recipe, prices, self.scale, words)

    def _check(self, budget: Budget) -> None:
        self._request.priced(budget)

    def _draw(self, budget: Budget, noise: NoiseSource) -> Drawn:
        recipe, prices, _ = self._request.priced(budget)
        found = release_all(recipe, self._panel, self.scale, self._target, prices, noise)
        return recipe, found

    def _state(self, found: Drawn) -> dict[str, Any]:
        return {one.unit: one.state() for one in found[1]}

    def _results(self, found: Drawn, guarantee: Guarantee, ledger: str) -> SyntheticControlResults:
        recipe, (released, *pretended) = found
        return SyntheticControlResults(
            released=released,
            placebos=tuple(pretended),
            times=self._panel.times,
            T0=recipe.T0,
            target=self._target,
            rule=recipe.rule,
            lam=self.lam,
            guarantee=guarantee,
            outcome=self.outcome,
            ledger=ledger,
        )

    def __repr__(self) -> str:
        return (
            f"SyntheticControl({self.n} donors, {len(self._panel.times)} periods, treated: "
            f"{self._panel.treated}, weights: {self.weights})"
        )
