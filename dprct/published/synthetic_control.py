"""Differentially private synthetic control as published (DPSC, Algorithms 2 and 3)."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dprct.arguments import Checked, checked, number_between
from dprct.errors import ParameterError
from dprct.estimate.synthetic_control.model import penalty_of
from dprct.estimate.synthetic_control.panel import (
    RECORD,
    Bound,
    Name,
    OfArrays,
    PanelFacts,
    scale_of,
)
from dprct.lazy import linalg
from dprct.lazy import pandas as pd
from dprct.model import Spec, revived, saved
from dprct.privacy.budget import Guarantee
from dprct.published.charging import PublishedModel, Unpriced
from dprct.records import dataclass
from dprct.results.plan import Contents, Plan, PlannedNumber, notes
from dprct.schema.columns import check_own

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from dprct.estimate.synthetic_control.panel import Panel
    from dprct.model import Facts, Paid
    from dprct.privacy.budget import Budget
    from dprct.privacy.mechanisms import Allocation
    from dprct.privacy.noise import NoiseSource
    from dprct.schema import Schema

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class Objective:
    """The parameters of Algorithm 3 before it draws."""

    eps0: float  # what is left for the noise
    extra: float  # Delta, added to the penalty
    scale: float  # of the noise b: the L2-Laplace's a, or the normal's standard deviation


def output_scale(n: int, T0: int, lam: float, eps1: float) -> float:
    """Return the scale of Algorithm 2's L2-Laplace noise, ``4 T0 sqrt(8 + n) / (lam eps1)``.

    Examples
    --------
    >>> output_scale(8, 10, 10.0, 1.0)
    16.0
    """
    return 4 * T0 * math.sqrt(8 + n) / (lam * eps1)


def objective_of(
    n: int, T0: int, lam: float, eps1: float, delta: float = 0.0, c: float | None = None
) -> Objective:
    """eps0, Delta and noise scale of Algorithm 3; c is ``(1 + sqrt(16 n - 15)) T0`` if not given.

    Examples
    --------
    >>> objective_of(10, 10, 10.0, 25.0).extra
    0.0
    """
    c = (1 + math.sqrt(16 * n - 15)) * T0 if c is None else c
    spent = math.log1p(2 * c / lam + (c / lam) ** 2)
    if eps1 > spent:
        eps0, extra = eps1 - spent, 0.0
    else:
        eps0, extra = eps1 / 2, c / math.expm1(eps1 / 4) - lam
    reach = 4 * T0 * math.sqrt(8 + n)
    if delta:
        return Objective(eps0, extra, reach * math.sqrt(2 * math.log(2 / delta) + eps0) / eps0)
    return Objective(eps0, extra, min(reach, c * math.sqrt(n) + 4 * T0) / eps0)


def l2_laplace(size: int, scale: float, rng: np.random.Generator) -> Array:
    """Draw v (size,) with density proportional to ``exp(-||v|| / scale)``, in floating point.

    Notes
    -----
    A uniform direction times a Gamma(size, scale) radius.  (A radius with another law, as in public
    implementations, is another mechanism and loses the guarantee.)

    Examples
    --------
    >>> l2_laplace(3, 1.0, np.random.default_rng(1)).shape
    (3,)
    """
    direction = rng.standard_normal(size)
    return np.asarray(direction / np.linalg.norm(direction) * rng.gamma(size, scale))


def minimiser(X: Array, y: Array, penalty: float, b: Array | None = None) -> Array:
    """``(2 X X' + penalty)^-1 (2 X y - b)``, the minimiser of the (noisy) ridge objective.

    Examples
    --------
    >>> minimiser(np.ones((1, 2)), np.ones(2), 4.0).round(6).tolist()
    [0.5]
    """
    right = 2 * X @ y - (0.0 if b is None else b)
    return np.asarray(
        linalg.cho_solve(linalg.cho_factor(2 * X @ X.T + penalty * np.eye(len(X))), right)
    )


def published_path(
    X: Array,
    y: Array,
    lam: float,
    scale: float | Objective,
    eps2: float,
    rng: np.random.Generator,
    *,
    normal: bool = False,
) -> tuple[Array, Array]:
    """Draw noisy weights (n,) and the path (K,) that noisy donors have with them.

    Donors X are (n, T0 + K), of absolute value at most one.  ``scale`` is of Algorithm 2's noise on
    the weights, or the parameters of Algorithm 3, which draws normal noise if its delta is
    positive; ``eps2`` is for step 2.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> f, path = published_path(np.ones((2, 5)), np.ones(3), 3.0, 1e-12, 1e12, rng)
    >>> f.round(6).tolist(), path.round(6).tolist()
    ([0.4, 0.4], [0.8, 0.8])
    """
    n, T0 = len(X), len(y)
    if isinstance(scale, Objective):
        b = rng.normal(0.0, scale.scale, n) if normal else l2_laplace(n, scale.scale, rng)
        weights = minimiser(X[:, :T0], y, lam + scale.extra, b)
    else:
        weights = minimiser(X[:, :T0], y, lam) + l2_laplace(n, scale, rng)
    after = X[:, T0:]
    width = 2 * math.sqrt(after.shape[1]) / eps2
    noisy = after + l2_laplace(after.size, width, rng).reshape(after.shape)
    return weights, np.asarray(noisy.T @ weights)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PublishedControlResults(Checked):
    """The path of DPSC, the effect, and what is guaranteed.

    Parameters
    ----------
    noisy_path : (K,) array
        After treatment.
    noisy_weights : (n,) array
    donors : tuple of str
    treated : str
    target : (T,) array
        The treated unit, public.
    times : (T,) array
    T0 : int
    guarantee : Guarantee
    method, ledger : str

    Notes
    -----
    There is no band: the published noise multiplies noisy donors by noisy weights, and its law
    depends on the confidential series.
    """

    noisy_path: Array
    noisy_weights: Array
    donors: tuple[str, ...]
    treated: str
    target: Array
    times: Array
    T0: int
    guarantee: Guarantee
    method: str
    ledger: str = ""

    @property
    def counterfactual(self) -> pd.Series[float]:
        """The path without treatment, by time."""
        return pd.Series(self.noisy_path, index=self._after())

    @property
    def observed(self) -> pd.Series[float]:
        """The treated unit's series, by time."""
        return pd.Series(self.target, index=pd.Index(self.times, name="time"))

    @property
    def effect(self) -> pd.Series[float]:
        """Observed less counterfactual after treatment, by time."""
        return pd.Series(self.target[self.T0 :] - self.noisy_path, index=self._after())

    @property
    def att(self) -> float:
        """Mean of the effect."""
        return float(np.mean(self.effect.to_numpy()))

    @property
    def donor_weights(self) -> pd.Series[float]:
        """Noisy weights, by donor."""
        return pd.Series(self.noisy_weights, index=pd.Index(self.donors, dtype=object))

    def tidy(self) -> pd.DataFrame:
        """Return one row per period after treatment."""
        return pd.DataFrame(
            {
                "time": self.times[self.T0 :],
                "observed": self.target[self.T0 :],
                "counterfactual": self.noisy_path,
                "estimate": self.effect.to_numpy(),
            }
        )

    def summary(self) -> str:
        """Return path and guarantee as text."""
        lines = [self.method, f"One record: {RECORD}", ""]
        lines += self.tidy().to_string(index=False).splitlines()
        lines += ["", *textwrap.wrap(str(self.guarantee), 78)]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return f"<PublishedControlResults: {self.treated}, {len(self.donors)} donors>"

    def _after(self) -> pd.Index[float]:
        return pd.Index(self.times[self.T0 :], name="time")


Perturb = Literal["output", "objective"]
Drawn = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Noisy weights (n,), and the path after treatment."""

REASON = (
    "the noisy objective is minimised without a bound on the weights, so that one donor can move "
    "its gradient by any amount (Algorithm 3 as published; n = T0 = lam = 10 and eps1 = 10 give "
    "delta(10) of at least 0.6); epsilon is the parameter of its noise and no promise"
)


@dataclass(frozen=True, kw_only=True)
class PublishedControlSpec(Spec[PanelFacts]):
    """What DPSC is asked for; the fields are options of :class:`SyntheticControl`."""

    key: ClassVar[str] = "published_synthetic_control"
    page: ClassVar[str] = "papers.md"
    wide: ClassVar[bool] = True

    outcome: str
    treated: Name
    treatment_time: float
    unit: str | None = None
    time: str | None = None
    donors: Iterable[Name] | None = None
    perturb: Perturb = "output"
    lam: float | None = None
    bound: Bound | None = None
    split: float = 0.5
    c: float | None = None

    @property
    def method(self) -> str:  # type: ignore[override]
        """What ledgers call the method: its two algorithms promise different things."""
        return f"published.SyntheticControl (perturb={self.perturb!r})"

    @property
    def columns(self) -> tuple[str, ...]:
        """Outcome, unit and time."""
        named = (self.outcome, self.unit, self.time)
        return tuple(dict.fromkeys(name for name in named if name is not None))

    def checks(self, facts: Facts) -> Iterator[Callable[[], object]]:
        """Yield what must hold of the options."""
        yield lambda: scale_of(self.bound, facts.schema.column(self.outcome))
        yield self._check_numbers
        if self.perturb == "output":  # which has a guarantee to keep
            yield lambda: check_own(facts.schema.column(self.outcome))
        if isinstance(facts, PanelFacts):
            yield lambda: self.penalty(facts)

    def _check_numbers(self) -> None:
        number_between("split", self.split, 0, 1)
        if self.c is not None:
            number_between("c", self.c)

    def penalty(self, facts: PanelFacts) -> float:
        """Return lam, which is ``T0`` in section 8."""
        T0 = facts.panel.T0
        return float(T0) if self.lam is None else penalty_of(self.lam, T0)

    def allocation(self, facts: PanelFacts, budget: Budget) -> Unpriced:
        """Return the budget as the parameter of the algorithm."""
        if budget.delta and self.perturb == "output":
            raise ParameterError(
                f"``delta={float(budget.delta):g}`` gains nothing with "
                "``perturb='output'``; leave it out"
            )
        return Unpriced(budget=budget)

    def epsilons(self, budget: Budget) -> tuple[float, float]:
        """Budgets of the two steps."""
        epsilon = float(budget.epsilon)
        return self.split * epsilon, (1 - self.split) * epsilon

    def noise(self, facts: PanelFacts, budget: Budget) -> float | Objective:
        """Return the scale of Algorithm 2's noise, or the parameters of Algorithm 3."""
        (eps1, _), T0 = self.epsilons(budget), facts.panel.T0
        donors, lam = len(facts.panel.names), self.penalty(facts)
        if self.perturb == "output":
            return output_scale(donors, T0, lam, eps1)
        return objective_of(donors, T0, lam, eps1, float(budget.delta), self.c)

    def guarantee(self, facts: PanelFacts, allocation: Allocation) -> Guarantee:
        """Guarantee that really holds."""
        panel = facts.panel
        treated = f"the treated unit {panel.treated!r}, whose series is public"
        if self.perturb == "objective":
            return Guarantee.none(REASON, not_covered=("any donor", treated))
        scale = scale_of(self.bound, facts.schema.column(self.outcome))
        return Guarantee.of(
            allocation.budget,
            "replace-one",
            unit="donor",
            public_facts=(
                f"who the {len(panel.names)} donors are (one record is one donor's whole series; a "
                "donor may be a state, not a person)",
                f"the periods, {panel.T0} of them before treatment",
                f"the bounds {scale.low:g} to {scale.high:g} of {self.outcome}",
                f"the penalty lam = {self.penalty(facts):g}",
                f"the series of {panel.treated!r}",
            ),
            not_covered=(treated, "what floating-point draws show in the last bits of the result"),
        )

    def plan(self, facts: PanelFacts, allocation: Allocation) -> Plan:
        """Return the parameters of the algorithm, and what it promises."""
        budget, panel = allocation.budget, facts.panel
        eps1, eps2 = self.epsilons(budget)
        K = len(panel.times) - panel.T0
        numbers = [
            *notes({
                "guarantee": self.guarantee(facts, allocation).sentence(),
                "one record": "one donor's whole series; a donor may be a state, not a person",
            }),
            PlannedNumber("budget", eps1, why="eps1, for the weights"),
            PlannedNumber("budget", eps2, why="eps2, for the donors"),
            PlannedNumber("penalty", self.penalty(facts)),
        ]  # fmt: skip
        scale = self.noise(facts, budget)
        if isinstance(scale, Objective):
            parts = {"scale": scale.scale, "Delta": scale.extra, "eps0": scale.eps0}
            numbers += [
                PlannedNumber("noise of the objective", value, why=name)
                for name, value in parts.items()
            ]
        else:
            why = "scale of L2-Laplace noise, whose mean length is n times that"
            numbers.append(PlannedNumber("noise of weights", scale, why=why))
        why = f"scale of one L2-Laplace draw in {len(panel.names) * K:,} dimensions"
        numbers.append(PlannedNumber("noise of donors", 2 * math.sqrt(K) / eps2, why=why))
        return Plan(self.method, budget, Contents(tuple(numbers)))


class SyntheticControl(
    OfArrays, PublishedModel[PublishedControlSpec, PanelFacts, Drawn, PublishedControlResults]
):
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

    @checked
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
        self._set_up(
            data, schema, None, outcome=outcome, treated=treated, treatment_time=treatment_time,
            unit=unit, time=time, donors=donors, perturb=perturb, lam=lam, bound=bound,
            split=split, c=c,
        )  # fmt: skip

    def _set_up(self, data: Any, schema: Schema, panel: Panel | None, **options: Any) -> None:
        """Bind a table, whose panel is known already where it was given as arrays."""
        spec = PublishedControlSpec(**options)
        known = self._bind(spec, data, schema, in_memory=True)
        rows = self._table.rows()
        panel = self._panel(spec, rows, known.schema, panel)
        self.facts = PanelFacts(known.schema, known.n, panel, panel.target(rows))
        spec.require(self.facts)

    def _draw(self, allocation: Allocation, noise: NoiseSource) -> Drawn:
        """Draw the noisy weights, and the path in the unit of the outcome."""
        spec, panel, budget = self.spec, self.facts.panel, allocation.budget
        clip = scale_of(spec.bound, self.schema.column(spec.outcome))
        T0, rows = panel.T0, self._table.rows()
        X = clip.clipped(panel.donors(rows)) / clip.bound
        y = clip.clipped(panel.target(rows)[:T0]) / clip.bound
        scale, (_, eps2) = spec.noise(self.facts, budget), spec.epsilons(budget)
        rng, normal, lam = noise.post_processing_rng(), bool(budget.delta), spec.penalty(self.facts)
        weights, path = published_path(X, y, lam, scale, eps2, rng, normal=normal)
        return weights, clip.bound * path

    def _state(self, drawn: Drawn) -> Mapping[str, Any]:
        return {"drawn": saved(drawn)}

    def _revived(self, state: Mapping[str, Any]) -> Drawn:
        weights, path = revived(state["drawn"])
        return weights, path

    def _read(self, drawn: Drawn, paid: Paid) -> PublishedControlResults:
        weights, path = drawn
        panel = self.facts.panel
        assert self.facts.target is not None
        return PublishedControlResults(
            noisy_path=path,
            noisy_weights=weights,
            donors=panel.names,
            treated=panel.treated,
            target=self.facts.target,
            times=panel.times,
            T0=panel.T0,
            guarantee=paid.guarantee,
            method=self.method,
            ledger=paid.ledger,
        )

    def __repr__(self) -> str:
        donors, perturb = len(self.facts.panel.names), self.spec.perturb
        return f"published.SyntheticControl({donors} donors, perturb={perturb!r})"
