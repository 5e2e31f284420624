"""SyntheticControl: a counterfactual path from confidential donors, under differential privacy."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping  # noqa: TC003  # read from annotations
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np

from dprct.arguments import check_choice, checked, given, one_name
from dprct.defaults import (
    CONTROL_SHARES,
    MEAN_SHARE,
    PLACEBO_SHARE,
    PRE_FIT_SHARE,
    ridge_pays,
    ridge_penalty,
)
from dprct.errors import ParameterError, SchemaError
from dprct.estimate.noise_law import PathNoise
from dprct.estimate.synthetic_control.allocation import WEIGHTS, ControlAllocation, Form, Noise
from dprct.estimate.synthetic_control.panel import (
    Bound,
    Name,
    OfArrays,
    PanelFacts,
    check_keys,
    check_named,
    ends_of,
    likely_panels,
    noted_name,
    number,
    scale_of,
)
from dprct.estimate.synthetic_control.plan import (
    consequences_of,
    guarantee_of,
    planned_numbers,
    warnings_of,
)
from dprct.estimate.synthetic_control.predictors import (
    asked_of,
    check_before,
    check_predictor,
    columns_of,
    listed_predictors,
)
from dprct.estimate.synthetic_control.release import Series, UnitRelease, public_norm, released
from dprct.estimate.synthetic_control.results import SyntheticControlResults
from dprct.model import Facts, Model, Spec
from dprct.privacy.budget import exact
from dprct.privacy.mechanisms import split
from dprct.queries.donors import ChangeScale, predictor_steps
from dprct.queries.propensity import LARGEST_PENALTY
from dprct.records import dataclass
from dprct.results.plan import Contents, Plan
from dprct.schema.columns import Unit, check_own
from dprct.schema.schema import check_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dprct.estimate.synthetic_control.allocation import Rule
    from dprct.estimate.synthetic_control.panel import Panel
    from dprct.model import Paid
    from dprct.privacy.budget import Budget, Guarantee, Real
    from dprct.privacy.mechanisms import Allocation
    from dprct.privacy.noise import NoiseSource
    from dprct.queries.donors import Scale
    from dprct.schema import Schema

Weights = Literal["ridge", "uniform", "auto"]
Drawn = tuple[UnitRelease, ...]
"""What a fit drew: of the treated unit first, then of placebos."""


@dataclass(frozen=True, kw_only=True)
class SyntheticControlSpec(Spec[PanelFacts]):
    """What a synthetic control is asked for; the fields are options of :class:`SyntheticControl`.

    ``unit`` and ``time`` are None for a panel that was given as arrays.
    """

    key: ClassVar[str] = "synthetic_control"
    page: ClassVar[str] = "synthetic_control.md"
    wide: ClassVar[bool] = True
    method: ClassVar[str] = "SyntheticControl (noise on ridge weights and on the path)"

    outcome: str
    treated: Name
    treatment_time: float
    unit: str | None = None
    time: str | None = None
    donors: Iterable[Name] | None = None
    donor_weights: Weights = "ridge"
    lam: float | None = None
    bound: Bound | None = None
    changes: Bound | None = None
    protect_treated: bool = False
    mean_effect: bool = False
    pre_fit: bool = False
    placebos: str | tuple[Name, ...] = ()
    predictors: Mapping[str, Real] | tuple[str, ...] | None = None
    budget_shares: Mapping[str, Real] | None = None
    noise: Noise = "laplace"
    neighbors: str = "replace-one"

    def noted(self, schema: Schema) -> SyntheticControlSpec:
        """Return it with the columns of unit and time that ``xtset`` noted, if none are given."""
        unit, time = noted_name(schema, "unit", self.unit), noted_name(schema, "time", self.time)
        return replace(self, unit=unit, time=time)

    def protects(self, schema: Schema) -> Unit:
        """Protected record: one donor's series, by the schema's word for these units."""
        name = record_of(schema, self.unit)
        return schema.unit if name == schema.unit.name else Unit(name)

    @property
    def columns(self) -> tuple[str, ...]:
        """Outcome, unit, time, and predictors."""
        named = (self.outcome, self.unit, self.time, *columns_of(self.predictors))
        return tuple(dict.fromkeys(name for name in named if name is not None))

    def checks(self, facts: Facts) -> Iterator[Callable[[], object]]:
        """Yield what must hold of options and outcome; and of the panel, once it is known."""
        schema = facts.schema
        yield lambda: check_choice("neighbors", self.neighbors, ("replace-one",))
        yield self._check_mean
        yield lambda: check_complete(schema, self.outcome)
        if self.unit is not None and self.time is not None:
            keys = (self.unit, self.time)
            yield lambda: check_keys(schema, self.outcome, keys)
            yield lambda: check_named(schema, keys[0], self.treated, self.donors)
        yield lambda: check_own(schema.column(self.outcome))
        yield lambda: self.scale(facts)
        yield lambda: penalty_of(self.lam, 1)
        yield self._check_predictors_used
        yield lambda: asked_of(self.predictors)
        for name in columns_of(self.predictors):
            yield partial(check_predictor, schema, name, (self.unit, self.time))
        known = isinstance(self.donor_weights, str) and self.donor_weights in get_args(Weights)
        if isinstance(facts, PanelFacts) and known:
            yield lambda: placebos_of(self.placebos, facts.panel)
        if known:
            yield lambda: [self.shares(rule) for rule in self.rules]
        if isinstance(facts, PanelFacts) and known:
            yield lambda: [form.parts() for form in self.forms(facts).values()]

    def _check_mean(self) -> None:
        if self.mean_effect and self.noise != "laplace":
            raise ParameterError(
                f"``mean_effect=True`` gains nothing with ``noise={self.noise!r}``, where the "
                "mean of the path is as precise; leave it out, or use ``noise='laplace'``"
            )

    def _check_predictors_used(self) -> None:
        if self.predictors and self.donor_weights == "uniform":
            raise ParameterError(
                "predictors change only ridge weights, and ``donor_weights='uniform'`` has none; "
                "leave predictors out, or use ``donor_weights='ridge'`` or 'auto'"
            )
        for one in asked_of(self.predictors):
            check_before(one, self.treatment_time)

    def guesses(self, facts: Facts) -> Iterator[PanelFacts]:
        """Yield panels that have as many rows as the file: who the donors are is in the rows."""
        named = 0 if isinstance(self.placebos, str) else len(self.placebos)
        for panel in likely_panels(facts, self.outcome, self.donors):
            donors = panel.names
            if named:
                wanted = tuple(map(str, self.placebos))
                if len(donors) < named or named > len(set(wanted)):
                    continue
                panel = replace(panel, names=(*wanted, *donors[named:]))
            half = float(self.scale(facts).bound) / 2
            target = None if self.protect_treated else np.full(len(panel.times), half)
            if target is not None and self.changes is not None:  # about a mean before treatment
                target = np.where(np.arange(len(target)) % 2 == 0, half, -half)
            # which periods are averaged does not change what a predictor costs
            asked = asked_of(self.predictors)
            read = tuple(one.reader(facts.schema, (0,)) for one in asked)
            extra = np.zeros(len(read), np.int64) if read and target is not None else None
            yield PanelFacts(facts.schema, facts.n, panel, target, read, extra)

    def scale(self, facts: Facts) -> Scale:
        """Return the public bounds of the outcome, or of its changes."""
        levels = scale_of(self.bound, facts.schema.column(self.outcome))
        if self.changes is None:
            return levels
        T0 = facts.panel.T0 if isinstance(facts, PanelFacts) else 1
        return ChangeScale(*ends_of(self.changes, "changes"), levels, T0)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules for weights that a fit may use: both where the budget decides which."""
        return ("ridge", "uniform") if self.donor_weights == "auto" else (self.donor_weights,)

    def shares(self, rule: Rule) -> dict[str, Fraction]:
        """Return the share of the budget that each part has."""
        return shares_of(
            self.budget_shares, rule, pre_fit=self.pre_fit, placebos=bool(self.placebos),
            auto=self.donor_weights == "auto", mean_effect=self.mean_effect,
        )  # fmt: skip

    def forms(self, facts: PanelFacts) -> dict[Rule, Form]:
        """Released forms, by rule."""
        panel = facts.panel
        reaches = tuple(one.reach for one in facts.predictors)
        pretended = placebos_of(self.placebos, panel)
        penalty = penalty_of(self.lam, panel.T0 + sum(one.weight for one in facts.predictors))
        y_norm = None
        if facts.target is not None:
            before = facts.target[: panel.T0]
            y_norm = public_norm(self.scale(facts), before, facts.target_extra)
        return {
            rule: Form(
                len(panel.names), len(panel.times), panel.T0, rule, penalty, y_norm, self.pre_fit,
                pretended, self.shares(rule), reaches,
            )
            for rule in self.rules
        }  # fmt: skip

    def allocation(self, facts: PanelFacts, budget: Budget) -> ControlAllocation:
        """Return the mechanisms that a budget buys; which weights is a function of public facts."""
        scale, forms = self.scale(facts), self.forms(facts)
        if len(forms) == 1:
            [form] = forms.values()
            return form.allocation(budget, self.noise, scale, "")
        why = "(chosen from public facts: ``dprct.defaults.ridge_pays``)"
        ridge = forms["ridge"].allocation(budget, self.noise, scale, why)
        equal = forms["uniform"].allocation(budget, self.noise, scale, why)
        pays = ridge_pays(
            ridge.form.n,
            ridge.weight_sd,
            ridge.path_sd() / scale.bound,
            equal.path_sd() / scale.bound,
        )
        return ridge if pays else equal

    def guarantee(self, facts: PanelFacts, allocation: Allocation) -> Guarantee:
        """Guarantee of a fit."""
        assert isinstance(allocation, ControlAllocation)
        what = (
            self.outcome
            if self.changes is None
            else (f"{self.outcome} less its mean before treatment")
        )
        words = (record_of(facts.schema, self.unit), what, facts.panel.treated)
        return guarantee_of(allocation, words, self.predictor_words(facts))

    @property
    def matched(self) -> tuple[str, ...]:
        """The names of the predictors, as they were given."""
        return tuple(one.name for one in asked_of(self.predictors))

    def predictor_words(self, facts: Facts) -> tuple[str, ...]:
        """Return the predictors with their bounds and weights, in words."""
        return tuple(one.words(facts.schema) for one in asked_of(self.predictors))

    def plan(self, facts: PanelFacts, allocation: Allocation) -> Plan:
        """Return the price and the noise of each part."""
        assert isinstance(allocation, ControlAllocation)
        return Plan(self.method, allocation.budget, partial(self._contents, facts, allocation))

    def _contents(self, facts: PanelFacts, allocation: ControlAllocation) -> Contents:
        what = self.outcome if self.changes is None else f"changes of {self.outcome}"
        estimand = f"path of {what} of {facts.panel.treated} without treatment, clipped to the "
        estimand += "bounds"
        if self.changes is not None:
            estimand += "; a change is from the unit's own mean before treatment"
        return Contents(
            tuple(planned_numbers(allocation, estimand, self.predictor_words(facts))),
            tuple(consequences_of(allocation.form, changes=self.changes is not None)),
            tuple(warnings_of(allocation)),
        )


class SyntheticControl(
    OfArrays, Model[SyntheticControlSpec, PanelFacts, Drawn, SyntheticControlResults]
):
    """Synthetic control with protected donors: the path of a treated unit without treatment.

    One donor's whole series is protected: a donor may be a state, not a person, and the people who
    live in a state are then not the unit of the guarantee.  The treated unit is public by default.

    Parameters
    ----------
    data : data frame
        A pandas or Polars table with one row per unit and period, in any order, balanced and
        complete.
    schema : Schema
        Public facts, with bounds for the outcome unless ``bound`` is given.
    outcome : str
        A numeric column with bounds, without missing values.
    treated : str or number
        The treated unit: its name, its code, or the label of its code.
    treatment_time : number
        The first period with treatment.
    unit, time : str, optional
        The columns of units and periods.  By default, those that ``xtset`` noted in the .dta file.
    donors : iterable of str or number, optional
        Units to use as donors.  By default, all but the treated one.
    donor_weights : {"ridge", "uniform", "auto"}
        ``"ridge"`` fits weights, adds noise, shrinks them towards equal weights and projects them
        on the simplex.  ``"uniform"`` gives all donors the same weight, which costs nothing.
        ``"auto"`` takes the one that :func:`dprct.defaults.ridge_pays` expects to be better, from
        public facts alone.
    lam : number, optional
        Ridge penalty, for data divided by the bound.  By default, ``20 T0``: T0 is the number of
        periods before treatment, to which the weights of predictors are added.
    bound : number or (low, high), optional
        Public bounds of the outcome, instead of those of the schema.
    changes : number or (low, high), optional
        Public bounds of a unit's outcome less its own mean before treatment.  If given, these
        changes are matched and compared, not levels: units may differ in level, as with
        unit effects, and the effect is a difference in differences with the weights.  If units
        change little, bounds of changes are narrower than those of levels, and the noise is
        smaller.
    protect_treated : bool
        Whether the treated unit's series is confidential too.  If so, noise is added to it as well.
    mean_effect : bool
        Whether the mean after treatment is also released by itself, for part of the path's share.
        This makes ``att`` more precise if there are more than three periods after treatment.
    pre_fit : bool
        Whether the synthetic path before treatment is released, which takes a part of the budget.
    placebos : "all", or iterable of str or number
        Donors for which the method is run as if they were treated.  Each run takes a part of the
        budget.
    predictors : mapping from name to number, or iterable of str, optional
        Columns that ridge weights match besides the outcome before treatment, with public weights:
        1, as for a list of names, counts as much as one period of the outcome.  A name takes
        the mean over all periods before treatment, or over some, as Stata's ``synth`` writes them:
        ``"beer(1984(1)1988)"``, ``"sales(1980&1985)"``.  Columns need bounds, from which they are
        scaled, and a missing policy: a mean is over the periods that have a number.
    budget_shares : mapping from part to number, optional
        Shares of the budget, which sum to one, for those of ``donor_weights``, ``prediction``,
        ``mean``, ``pre_fit`` and ``placebos`` that are released.  By default, those of
        :mod:`dprct.defaults`.
    noise : {"laplace", "gaussian", "concentrated"}
        Noise for pure differential privacy, Gaussian differential privacy, or zero-concentrated
        differential privacy.  The last two need a delta above 0.
    neighbors : {"replace-one"}
        Which data sets are neighbours.

    Raises
    ------
    SchemaError, ColumnError, ParameterError
        If the panel is unbalanced, incomplete or too small, or a public fact is missing.  Nothing
        is spent.

    Notes
    -----
    Relation: one donor's series, and its predictors, are replaced by any others within the bounds.
    The names and number n of donors, the periods, bounds, weights of predictors and lam are public;
    so is the treated unit, unless ``protect_treated``. Data are divided by B = max |bound|, and y
    is the treated unit:

    With ``changes``, a unit's numbers are first replaced by those less its own mean before
    treatment, clipped to ``changes``, whose bounds then are ``(low, high)``.

    1. ``f = (X X' + lam/2)^-1 X y`` on the pre-periods, and on predictors: each is scaled from its
       bounds to [-1, 1] and multiplied by the root of its weight.  f is rounded to a grid, with
       noise from :func:`~dprct.privacy.ridge_sensitivity.ridge_l1` (Laplace) or
       :func:`~dprct.privacy.ridge_sensitivity.ridge_l2`, T0 plus the weights in the place of T0;
    2. ``g``: f shrunk towards equal weights and projected on the simplex, by post-processing;
    3. ``X_post' g`` with noise.  One donor moves each of the T - T0 values, and their mean if it is
       released, by at most ``max(g) (high - low)``.

    A treated unit that is protected moves f by ``target_l2`` and its own path by ``high - low``.
    The noise of steps 1 and 3 is drawn exactly, on integers.  Values outside the bounds count as
    the nearest bound.  The scale of the noise in step 3, in units of the outcome, depends on the
    released g, but its cost does not:
    :class:`~dprct.estimate.synthetic_control.allocation.ControlAllocation` proves it.

    References
    ----------
    Rho, Cummings and Misra, "Differentially Private Synthetic Control" (the published forms are in
    ``dprct.published.SyntheticControl``).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.add.outer(np.linspace(-0.5, 0.5, 40), np.linspace(0, 0.2, 12))
    >>> y = X.mean(axis=0) + np.where(np.arange(12) < 8, 0, 0.3)
    >>> model = SyntheticControl.from_arrays(X, y, 8, bound=1, donor_weights="uniform")
    >>> result = model.fit(epsilon=20)
    >>> bool(abs(result.att - 0.3) < 0.2), result.guarantee.unit
    (True, 'donor')

    Predictors are columns of a table, with public bounds and weights:

    >>> import pandas as pd
    >>> from dprct import Schema
    >>> table = pd.DataFrame({"town": np.repeat(np.arange(6.0), 9), "year": list(range(9)) * 6})
    >>> table = table.assign(sales=0.1 * table["town"], age=40 + table["town"])
    >>> schema = Schema.from_frame(table).declare(
    ...     sales=dict(bounds=(0, 1), missing="never"), age=dict(bounds=(20, 60), missing="never")
    ... )
    >>> panel = dict(outcome="sales", unit="town", time="year", treated=5, treatment_time=7)
    >>> model = SyntheticControl(table, schema, predictors={"age(3/6)": 2}, **panel)
    >>> print(model.plan(epsilon=2).facts["predictors"])
    age(3/6) (20 to 60, weight 2)
    """

    saved_types = (UnitRelease, Series, PathNoise)

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
        donor_weights: Weights = "ridge",
        lam: float | None = None,
        bound: Bound | None = None,
        changes: Bound | None = None,
        protect_treated: bool = False,
        mean_effect: bool = False,
        pre_fit: bool = False,
        placebos: str | Iterable[Name] = (),
        predictors: Mapping[str, Real] | Iterable[str] | None = None,
        budget_shares: Mapping[str, Real] | None = None,
        noise: Noise = "laplace",
        neighbors: str = "replace-one",
    ) -> None:
        check_schema(schema)
        self._set_up(
            data, schema, None, outcome=outcome, treated=treated, treatment_time=treatment_time,
            unit=noted_name(schema, "unit", unit), time=noted_name(schema, "time", time),
            donors=donors, donor_weights=donor_weights, lam=lam, bound=bound, changes=changes,
            protect_treated=protect_treated, mean_effect=mean_effect, pre_fit=pre_fit,
            placebos=placebos, predictors=predictors, budget_shares=budget_shares, noise=noise,
            neighbors=neighbors,
        )  # fmt: skip

    def _set_up(
        self,
        data: Any,
        schema: Schema,
        panel: Panel | None,
        *,
        outcome: str,
        protect_treated: bool = False,
        mean_effect: bool = False,
        pre_fit: bool = False,
        placebos: str | Iterable[Name] = (),
        predictors: Mapping[str, Real] | Iterable[str] | None = None,
        **options: Any,
    ) -> None:
        """Bind a table, whose panel is known already where it was given as arrays."""
        spec = SyntheticControlSpec(
            outcome=one_name(outcome, "outcome"), protect_treated=bool(protect_treated),
            mean_effect=bool(mean_effect), pre_fit=bool(pre_fit), placebos=listed(placebos),
            predictors=listed_predictors(predictors), **options,
        )  # fmt: skip
        facts = self._bind(spec, data, schema, in_memory=True)
        rows = self._table.rows()
        panel = self._panel(spec, rows, facts.schema, panel)
        target = None if spec.protect_treated else panel.target(rows)
        asked, extra = asked_of(spec.predictors), None
        read = tuple(one.reader(facts.schema, one.places(panel.times, panel.T0)) for one in asked)
        if read and target is not None:
            [extra] = predictor_steps(rows, read, panel.target_rows[None])
        self.facts = PanelFacts(facts.schema, facts.n, panel, target, read, extra)
        spec.require(self.facts)

    @property
    def n(self) -> int:
        """Number of donors, each of which is one record."""
        return len(self.facts.panel.names)

    def _draw(self, allocation: Allocation, noise: NoiseSource) -> Drawn:
        assert isinstance(allocation, ControlAllocation)
        return released(allocation, self.facts, self._table.rows(), noise)

    def _study(self, allocation: Allocation) -> dict[str, Any]:
        """Return the public facts that a draw rests on: those of the panel as well."""
        panel, target = self.facts.panel, self.facts.target
        public = (panel.names, panel.treated, panel.times.tolist(), panel.T0)
        series = None if target is None else target.tolist()
        said: tuple[Any, ...] = (public, series)
        if self.facts.predictors:
            extra, read = self.facts.target_extra, self.facts.predictors
            own = None if extra is None else extra.tolist()
            said = (*said, own, [(one.column.name, one.periods, one.weight) for one in read])
        digest = hashlib.sha256(repr(said).encode()).hexdigest()
        return {**super()._study(allocation), "panel": digest}

    def _read(self, drawn: Drawn, paid: Paid) -> SyntheticControlResults:
        allocation, target = paid.allocation, self.facts.target
        assert isinstance(allocation, ControlAllocation)
        treated, *pretended = drawn
        form = allocation.form
        return SyntheticControlResults(
            released=treated,
            placebos=tuple(pretended),
            times=self.facts.panel.times,
            T0=form.T0,
            target=None if target is None else allocation.scale.public(target),
            rule=form.rule,
            lam=form.lam,
            guarantee=paid.guarantee,
            outcome=self.spec.outcome + (" (changes)" if self.spec.changes is not None else ""),
            ledger=paid.ledger,
            predictors=self.spec.matched if form.rule == "ridge" else (),
        )

    def __repr__(self) -> str:
        panel = self.facts.panel
        return (
            f"SyntheticControl({self.n} donors, {len(panel.times)} periods, treated: "
            f"{panel.treated}, donor weights: {self.spec.donor_weights})"
        )


def listed(placebos: Any) -> Any:
    """Return a list of donors as a tuple, and anything else as it is, to be refused later."""
    several = not isinstance(placebos, str) and hasattr(placebos, "__iter__")
    return tuple(placebos) if several else placebos


def check_complete(schema: Schema, outcome: object) -> None:
    """Refuse an outcome that may be missing: whether it is would be a private fact."""
    name = one_name(outcome, "outcome")
    if schema.column(name).missing != ():
        raise SchemaError(
            f"outcome {name!r} may be missing, or has no declared missing policy; declare "
            "``missing='never'``, for a synthetic control takes complete panels"
        )


def record_of(schema: Schema, unit: str | None) -> str:
    """Name of one record: the schema's word where it is for these units."""
    declared = schema.unit
    return declared.name if declared.id is not None and declared.id == unit else "donor"


def penalty_of(lam: object, T0: float) -> float:
    """Return the penalty, 20 T0 by default; with predictors, their weights are in T0."""
    if lam is None:
        return ridge_penalty(T0)
    penalty = number(lam)
    if not 0 < penalty <= LARGEST_PENALTY:
        raise ParameterError(
            f"``lam={given(lam)}``; give a number above 0, such as 20 * T0, and at most "
            f"{LARGEST_PENALTY:g}"
        )
    return penalty


def placebos_of(wanted: object, panel: Panel) -> tuple[int, ...]:
    """Donors that are placebos."""
    if isinstance(wanted, str) and wanted == "all":
        wanted = panel.names
    if isinstance(wanted, str) or not hasattr(wanted, "__iter__"):
        raise ParameterError(f"``placebos={given(wanted)}``; give 'all' or a list of donors")
    names = [str(name) for name in wanted]
    unknown = [name for name in names if name not in panel.names]
    if unknown or len(set(names)) < len(names):
        raise ParameterError(
            "``placebos=`` names what is not a donor, or a donor twice; name donors as "
            "the weights do"
        )
    if names and len(panel.names) < 3:
        raise ParameterError(
            "a placebo uses one donor as the treated unit; it needs at least 3 donors"
        )
    return tuple(panel.names.index(name) for name in names)


def shares_of(
    asked: Mapping[str, Real] | None,
    rule: Rule,
    *,
    pre_fit: bool,
    placebos: bool,
    auto: bool,
    mean_effect: bool = False,
) -> dict[str, Fraction]:
    """Share of each part of the budget, adding up to one.

    With ``auto``, equal weights were chosen in place of ridge ones, whose share goes to the path;
    with ``mean_effect``, the mean after treatment is a part of its own.

    Examples
    --------
    >>> shares_of(None, "ridge", pre_fit=False, placebos=False, auto=False)
    {'donor_weights': Fraction(1, 2), 'prediction': Fraction(1, 2)}
    """
    wanted = ["prediction"] if rule == "uniform" else [WEIGHTS, "prediction"]
    wanted += ["mean"] * mean_effect + ["pre_fit"] * pre_fit + ["placebos"] * placebos
    if asked is None:
        return _default_shares(wanted)
    if auto and rule == "uniform" and hasattr(asked, "items") and WEIGHTS in asked:
        moved = exact(asked[WEIGHTS], "share") + exact(asked.get("prediction", 0), "share")
        asked = {**asked, "prediction": moved}
        del asked[WEIGHTS]
    return split(asked, dict.fromkeys(wanted, 1))


def _default_shares(wanted: Sequence[str]) -> dict[str, Fraction]:
    """Return the default shares: fixed ones for extra parts, the rest in proportion."""
    placebo = PLACEBO_SHARE if "placebos" in wanted else Fraction(0)
    fit = (1 - placebo) * PRE_FIT_SHARE if "pre_fit" in wanted else Fraction(0)
    left = {name: CONTROL_SHARES[name] for name in wanted if name in CONTROL_SHARES}
    rest = (1 - placebo - fit) / sum(left.values())
    found = {name: share * rest for name, share in left.items()}
    if "mean" in wanted:
        found["mean"] = found["prediction"] * MEAN_SHARE
        found["prediction"] -= found["mean"]
    return found | {k: v for k, v in (("pre_fit", fit), ("placebos", placebo)) if v}
