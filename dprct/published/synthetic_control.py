"""Differentially private synthetic control as published (DPSC, Algorithms 2 and 3)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dprct.errors import ParameterError
from dprct.estimate.base import EstimateModel
from dprct.estimate.synthetic_control.model import penalty_of
from dprct.estimate.synthetic_control.panel import OfArrays, panel_of, scale_of
from dprct.model import BoundTable
from dprct.privacy.budget import Budget
from dprct.privacy.guarantee import Guarantee
from dprct.published.charging import charged_or_noted
from dprct.published.control_paths import PublishedControlResults
from dprct.published.dpsc_steps import Objective, objective_of, output_scale, published_path
from dprct.results.plan import Plan
from dprct.schema.columns import check_own, given
from dprct.schema.validate import check_choice

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dprct.estimate.synthetic_control.panel import Bound, Name, Panel
    from dprct.privacy.accountant import Accountant
    from dprct.privacy.budget import Real
    from dprct.privacy.noise import NoiseSource
    from dprct.results.charging import Receipt
    from dprct.schema import Schema

Perturb = Literal["output", "objective"]
Drawn = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Noisy weights (n,), and the path after treatment."""

REASON = (
    "the noisy objective is minimised without a bound on the weights, so that one donor can move "
    "its gradient by any amount (Algorithm 3 as published; n = T0 = lam = 10 and eps1 = 10 give "
    "delta(10) of at least 0.6); epsilon is the parameter of its noise and no promise"
)


class SyntheticControl(OfArrays, EstimateModel[Drawn, PublishedControlResults]):
    """Synthetic control as published: noise on the weights or the objective, and on all donors.

    One record is one donor's whole series: a donor may be a state, not a person.

    Parameters
    ----------
    data : data frame
        pandas or Polars, one row per unit and period; balanced and complete.
    schema : Schema
        With bounds for the outcome, unless ``bound`` is given.
    outcome : str
    treated : str or number
    treatment_time : number
        The first period with treatment.
    unit, time : str, optional
        By default what ``xtset`` noted in the .dta file.
    donors : iterable of str or number, optional
        All other units by default.
    perturb : {"output", "objective"}
        Algorithm 2 or Algorithm 3.
    lam : number, optional
        ``T0`` if not given, as in the paper.
    bound : number or (low, high), optional
        Everything is divided by the largest absolute value; the paper assumes data within one.
    split : number
        Share of epsilon for step 1.
    c : number, optional
        Of Algorithm 3; ``(1 + sqrt(16 n - 15)) T0`` if not given.

    Raises
    ------
    SchemaError, ColumnError, ParameterError
        As in :class:`dprct.SyntheticControl`.

    Notes
    -----
    Guarantee of ``perturb="output"``: pure, eps1 + eps2, replace-one on donors, with y, lam and the
    bound public, for the algorithm in real numbers; its draws are floating-point ones, so that the
    bits of the result are not covered.  (The published proof is wrong, and the published noise is
    several times what a right one needs: the claim follows from
    :func:`dprct.privacy.ridge_sensitivity.ridge_l2`, which never exceeds the published
    sensitivity.)
    Guarantee of ``perturb="objective"``: **none**; nothing is charged.

    References
    ----------
    Rho, Cummings and Misra, "Differentially Private Synthetic Control", Algorithms 2 and 3;
    misprints are corrected (see ``docs/synthetic_control.md``).

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.full((5, 6), 0.5), np.full(6, 0.5)
    >>> model = SyntheticControl.from_arrays(X, y, 4, bound=1, perturb="objective")
    >>> model.fit(epsilon=10).guarantee.measure
    'none'
    """

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
        perturb: Perturb = "output",
        lam: float | None = None,
        bound: Bound | None = None,
        split: float = 0.5,
        c: float | None = None,
    ) -> None:
        schema = schema.seal_beside_data()
        table = BoundTable(data, in_memory=True)
        panel = panel_of(
            table.rows(), schema, outcome=outcome, treated=treated, treatment_time=treatment_time,
            unit=unit, time=time, donors=donors,
        )  # fmt: skip
        self._bind(table, schema, panel, bound, perturb=perturb, lam=lam, split=split, c=c)

    def _set_up(
        self, data: Any, schema: Schema, panel: Panel, *, bound: Bound, **options: Any
    ) -> None:
        for name in ("outcome", "treated", "treatment_time"):  # the panel says them
            del options[name]
        self._bind(BoundTable(data, in_memory=True), schema, panel, bound, **options)

    def _bind(
        self,
        table: BoundTable,
        schema: Schema,
        panel: Panel,
        bound: Bound | None,
        *,
        perturb: Perturb = "output",
        lam: float | None = None,
        split: float = 0.5,
        c: float | None = None,
    ) -> None:
        outcome = panel.outcome.name
        self.scale = scale_of(bound, schema.column(outcome))
        check_choice("perturb", perturb, get_args(Perturb))
        if isinstance(split, bool) or not 0 < split < 1:
            raise ParameterError(f"split={given(split)}; give a share between 0 and 1")
        if c is not None and not 0 < c < math.inf:
            raise ParameterError(f"c={given(c)}; give a number above 0")
        if perturb == "output":  # which has a guarantee to keep
            check_own(panel.outcome)
        self._table, self._panel, self.schema, self.outcome = table, panel, schema, outcome
        self.perturb, self.split, self.c, self.n = perturb, split, c, len(panel.names)
        self.lam = float(panel.T0) if lam is None else penalty_of(lam, panel.T0)
        self.method = f"published.SyntheticControl (perturb={perturb!r})"

    def plan(self, epsilon: Real, delta: Real = 0) -> Plan:
        """Return the parameters of the algorithm and what it promises; free.

        Parameters
        ----------
        epsilon : number
            Above 0.
        delta : number, default 0
            Above 0 for the normal noise of Algorithm 3.
        """
        budget = Budget.asked(epsilon, delta)
        self._check(budget)
        eps1, eps2 = self._epsilons(budget)
        K = len(self._panel.times) - self._panel.T0
        facts = {
            "guarantee": self.guarantee(budget).sentence(),
            "one record": "one donor's whole series; a donor may be a state, not a person",
            "budget": f"eps1 = {eps1:g} for the weights, eps2 = {eps2:g} for the donors",
            "penalty": f"{self.lam:g}",
        }
        scale = self._scale(budget)
        if isinstance(scale, Objective):
            facts["noise of the objective"] = (
                f"scale {scale.scale:.4g}, Delta = {scale.extra:.4g}, eps0 = {scale.eps0:.4g}"
            )
        else:
            facts["noise of weights"] = f"L2-Laplace of scale {scale:.4g}, mean length n times it"
        facts["noise of donors"] = (
            f"one L2-Laplace draw in {self.n * K:,} dimensions, scale {2 * math.sqrt(K) / eps2:.4g}"
        )
        return Plan(self.method, budget, facts)

    def guarantee(self, budget: Budget) -> Guarantee:
        """Return what really holds; free."""
        return _guarantee_of(self, budget)

    def _check(self, budget: Budget) -> None:
        if budget.delta and self.perturb == "output":
            raise ParameterError(
                f"delta={float(budget.delta):g} buys nothing with perturb='output'; leave it out"
            )

    def _charge(
        self, guarantee: Guarantee, accountant: Accountant | None, noise: NoiseSource
    ) -> Receipt:
        return charged_or_noted(self.schema, guarantee, self.method, accountant, noise)

    def _draw(self, budget: Budget, noise: NoiseSource) -> Drawn:
        """Return the noisy weights, and the path in the unit of the outcome."""
        T0, bound, rows = self._panel.T0, self.scale.bound, self._table.rows()
        X = self.scale.clipped(self._panel.donors(rows)) / bound
        y = self.scale.clipped(self._panel.target(rows)[:T0]) / bound
        scale, (_, eps2) = self._scale(budget), self._epsilons(budget)
        rng, normal = noise.post_processing_rng(), bool(budget.delta)
        weights, path = published_path(X, y, self.lam, scale, eps2, rng, normal=normal)
        return weights, bound * path

    def _state(self, found: Drawn) -> dict[str, Any]:
        return {"weights": found[0].tolist(), "path": found[1].tolist()}

    def _results(self, found: Drawn, guarantee: Guarantee, ledger: str) -> PublishedControlResults:
        weights, path = found
        return PublishedControlResults(
            noisy_path=path,
            noisy_weights=weights,
            donors=self._panel.names,
            treated=self._panel.treated,
            target=self._panel.target(self._table.rows()),
            times=self._panel.times,
            T0=self._panel.T0,
            guarantee=guarantee,
            method=self.method,
            ledger=ledger,
        )

    def _scale(self, budget: Budget) -> float | Objective:
        """Return the scale of Algorithm 2's noise, or the parameters of Algorithm 3."""
        (eps1, _), T0 = self._epsilons(budget), self._panel.T0
        if self.perturb == "output":
            return output_scale(self.n, T0, self.lam, eps1)
        return objective_of(self.n, T0, self.lam, eps1, float(budget.delta), self.c)

    def _epsilons(self, budget: Budget) -> tuple[float, float]:
        epsilon = float(budget.epsilon)
        return self.split * epsilon, (1 - self.split) * epsilon

    def __repr__(self) -> str:
        return f"published.SyntheticControl({self.n} donors, perturb={self.perturb!r})"


def _guarantee_of(model: SyntheticControl, budget: Budget) -> Guarantee:
    treated = f"the treated unit {model._panel.treated!r}, whose series is public"
    if model.perturb == "objective":
        return Guarantee.none(REASON, not_covered=("any donor", treated))
    return Guarantee.of(
        budget,
        "replace-one",
        unit="donor",
        public_facts=(
            f"who the {model.n} donors are (one record is one donor's whole series; a donor may "
            "be a state, not a person)",
            f"the periods, {model._panel.T0} of them before treatment",
            f"the bounds {model.scale.low:g} to {model.scale.high:g} of {model.outcome}",
            f"the penalty lam = {model.lam:g}",
            f"the series of {model._panel.treated!r}",
        ),
        not_covered=(treated, "what floating-point draws show in the last bits of the result"),
    )
