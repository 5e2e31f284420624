"""IPW: the effect of a treatment that was not randomised, under differential privacy."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003  # read from annotations
from dataclasses import fields
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from dprct.arguments import (
    check_choice,
    check_not_named,
    checked,
    given,
    is_data,
    listed_names,
    number_between,
    numbers_given,
    one_name,
)
from dprct.defaults import IPW_SPLIT, VALID_LEVELS
from dprct.errors import FormulaError, ParameterError, SchemaError
from dprct.estimate.effects import levels_of, with_bounds
from dprct.estimate.experiment import fill_of
from dprct.estimate.ipw.doubly_robust import (
    FITS,
    AIPWAllocation,
    AIPWForm,
    expected_aipw,
    planned_aipw,
    released_aipw,
)
from dprct.estimate.ipw.release import (
    Errors,
    Form,
    IPWAllocation,
    Noise,
    Released,
    parts_of,
    planned_numbers,
    propensity_trim,
    released,
    require_delta,
    slope_kept,
)
from dprct.estimate.ipw.results import (
    Declared,
    IPWResults,
    check_estimable,
    effect_of,
    expected_effect,
    planned_errors,
    results_of,
    warnings_of,
)
from dprct.formula import Factor, parse
from dprct.lazy import pandas as pd
from dprct.model import Facts, Model, Spec
from dprct.privacy.budget import Guarantee, exact
from dprct.privacy.mechanisms import split
from dprct.queries.propensity import Treated, covariates_of, one_thread
from dprct.queries.weighting import Estimand, Scheme, read_once
from dprct.records import dataclass
from dprct.results.plan import ESTIMAND, Contents, Plan, notes
from dprct.schema import Column, Schema
from dprct.schema.schema import check_fixed_before

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import ArrayLike

    from dprct.model import Paid
    from dprct.privacy.budget import Budget, Real
    from dprct.privacy.mechanisms import Allocation
    from dprct.privacy.noise import NoiseSource
    from dprct.queries.propensity import Covariates
    from dprct.queries.weighting import CompactTable

FEWEST_ROWS = 10
"""Of each part."""

Term = tuple[Factor, ...]

Estimator = Literal["ipw", "aipw"]


@dataclass(frozen=True, kw_only=True)
class IPWSpec(Spec[Facts]):
    """What a private IPW is asked for; the fields are the options of :class:`IPW`."""

    key: ClassVar[str] = "ipw"
    page: ClassVar[str] = "ipw.md"
    method: ClassVar[str] = "IPW (Gaussian noise on propensity weights, noise on weighted sums)"
    formula_gives: ClassVar[tuple[str, ...]] = ("treatment", "covariates")
    formula_like: ClassVar[str] = "treat ~ age + female"

    treatment: str
    covariates: tuple[Term, ...]
    outcome: str
    estimator: Estimator | None = None
    estimand: Estimand = "ate"
    neighbors: str = "replace-one"
    noise: Noise = "laplace"
    lam: float | None = None
    trim: float | None = None
    split: Real | None = None
    budget_shares: Mapping[str, Real] | None = None
    hajek: bool | None = None
    treated: float | str | None = None
    balance: tuple[str, ...] = ()
    overlap: bool = False
    errors: Errors = "total"
    treated_share: float | None = None
    alphas: tuple[float, ...] = VALID_LEVELS
    weights: None = None

    @classmethod
    def of_formula(cls, formula: str) -> dict[str, Any]:
        """Return treatment and covariates of the propensity model ``treatment ~ covariates``."""
        parsed = parse(formula)
        if len(parsed.outcomes) != 1 or parsed.outcomes[0].kind != "name":
            raise FormulaError(
                f"{formula!r} has not one column on its left; name the treatment there, and the "
                "outcome as ``outcome=``"
            )
        if not parsed.intercept:
            raise FormulaError(f"{formula!r} has no intercept; leave out '- 1' or '+ 0'")
        return {"treatment": parsed.outcomes[0].names[0], "covariates": parsed.terms}

    @property
    def covered(self) -> tuple[str, ...]:
        """The columns of the covariates, each once."""
        return tuple(dict.fromkeys(n for term in self.covariates for f in term for n in f.names))

    @property
    def columns(self) -> tuple[str, ...]:
        """Outcome, treatment and covariates."""
        return tuple(dict.fromkeys((self.outcome, self.treatment, *self.covered)))

    @property
    def formula(self) -> str:
        """The propensity model."""
        terms = " + ".join(":".join(f.label for f in term) for term in self.covariates)
        return f"{self.treatment} ~ {terms}"

    def checks(self, facts: Facts) -> Iterator[Callable[[], object]]:
        """Yield what must hold of options, columns and number of rows."""
        schema = facts.schema
        yield lambda: check_unweighted(schema, self.weights)
        yield lambda: relation_of(self.neighbors, scheme_of(self.estimand, self.trim, facts.n))
        yield self._check_roles
        yield lambda: self.roles(facts)
        yield lambda: penalty_of(self.lam)
        yield lambda: levels_of(self.alphas)
        yield lambda: share_of(self.treated_share)
        yield lambda: split_of(self.split, facts.n)
        yield self._check_estimator
        yield lambda: self._doubly_robust(facts) if self.augmented else self.weighting(facts)

    @property
    def of_weighting(self) -> str | None:
        """An option that only weighting has, where one was given."""
        usual = {one.name: one.default for one in fields(self)}
        names = ("estimand", "neighbors", "noise", "lam", "split", "hajek", "balance", "overlap",
                 "errors")  # fmt: skip
        return next((name for name in names if getattr(self, name) != usual[name]), None)

    @property
    def augmented(self) -> bool:
        """Whether the doubly robust effect is asked for, by name or by asking for nothing else."""
        if self.estimator is not None:
            return self.estimator == "aipw"
        own = self.budget_shares is None or FITS in self.budget_shares
        return self.of_weighting is None and own

    def _check_estimator(self) -> None:
        if self.estimator == "aipw" and (name := self.of_weighting) is not None:
            raise ParameterError(
                f"``{name}={given(getattr(self, name))}`` is for ``estimator='ipw'``; a doubly "
                "robust effect is that on everybody, from two folds of half of the rows: "
                f"leave ``{name}=`` out"
            )

    def _check_roles(self) -> None:
        if self.outcome == self.treatment or {self.outcome, self.treatment} & set(self.covered):
            raise ParameterError(
                f"{self.outcome!r} and {self.treatment!r} must differ, and be no covariates; name "
                "the outcome, the treatment and what came before it"
            )

    def roles(self, facts: Facts) -> Roles:
        """Return the columns in their roles, by the schema."""
        schema = facts.schema
        check_fixed_before(schema, self.covered, [self.treatment])
        outcome = with_bounds(schema.column(self.outcome))
        fill = fill_of(outcome)
        column = schema.column(self.treatment)
        code, said = treated_code(schema, column, self.treated)
        public = self.neighbors == "replace-one-design-public"
        columns = {name: schema.column(name) for name in self.covered}
        fills = {
            name: one.missing_policy
            for name, one in columns.items()
            if isinstance(one.missing_policy, float)
        }
        design = covariates_of(self.covariates, columns, fills)
        return Roles(outcome, fill, Treated(column, code, public=public), said, design)

    def _doubly_robust(self, facts: Facts) -> AIPWForm:
        scheme = scheme_of(self.estimand, self.trim, facts.n)
        sizes, size = split_of(self.split, facts.n), self.roles(facts).design.size
        return AIPWForm.asked(sizes, size, scheme, self.budget_shares)

    def weighting(self, facts: Facts) -> Form:
        """Form of a weighted effect, as it was asked for."""
        n1, n2 = split_of(self.split, facts.n)
        scheme = scheme_of(self.estimand, self.trim, facts.n)
        relation = relation_of(self.neighbors, scheme)
        design = self.roles(facts).design
        count = scheme.estimand != "ate" and not self.hajek and relation == "replace-one"
        parts = parts_of(
            hajek=bool(self.hajek), count=count, total=self.errors == "total",
            balance=bool(self.balance), overlap=bool(self.overlap),
        )  # fmt: skip
        return Form(
            n1, n2, design.size, scheme, bool(self.hajek), relation, self.noise, self.errors,
            penalty_of(self.lam), balanced_names(design, self.balance), bool(self.overlap),
            split(self.budget_shares, parts),
        )  # fmt: skip

    def allocation(self, facts: Facts, budget: Budget) -> IPWAllocation | AIPWAllocation:
        """Return the mechanisms that a budget buys, in the form that is best at it.

        Weighting stands in for a doubly robust effect, which was not asked for by name, where the
        noise of its models would be too large: a function of public facts.
        """
        require_delta(budget)
        if self.augmented:
            try:
                return self._doubly_robust(facts).allocation(budget)
            except ParameterError:
                if self.estimator is not None or self.budget_shares is not None:
                    raise
        form, declared = self.weighting(facts), self.declared(facts)
        if self.hajek is None and self.budget_shares is None:
            form = form.default(budget, declared.treated)
            if form.errors == "conditional" and not form.hajek:
                raise ParameterError(
                    "``errors='conditional'`` is for the Hajek form, and at this budget its "
                    "denominators are expected to be too near their noise; spend more, use more "
                    "rows, or leave ``errors=`` out (``hajek=False`` asks for the plain form, in "
                    "which conditional 95% intervals covered 62 to 75% of the time)"
                )
        allocation = form.allocation(budget)
        check_estimable(allocation, declared)
        return allocation

    def declared(self, facts: Facts) -> Declared:
        """Facts declared elsewhere of outcome and treatment."""
        return Declared(
            self.roles(facts).radius,
            facts.schema.column(self.outcome).sd,
            share_of(self.treated_share),
        )

    def guarantee(self, facts: Facts, allocation: Allocation) -> Guarantee:
        """Guarantee of a fit."""
        assert isinstance(allocation, (IPWAllocation, AIPWAllocation))
        form, roles = allocation.form, self.roles(facts)
        shown = [
            f"the number of rows, n = {facts.n}",
            facts.schema.unit.said,
            f"the declared bounds and levels of {roles.words}",
            *(
                [f"the penalty {allocation.lam:.6g}"]
                if isinstance(allocation, IPWAllocation)
                else []
            ),
            f"trimming at {form.scheme.trim:g}, and how many rows each part has ({form.n1} and "
            f"{form.n2})",
            roles.treated,
        ]
        hidden = "participation of anybody"
        if form.relation == "replace-one-design-public":
            shown.append(f"column {self.treatment}: who is treated, and how many")
            hidden = "participation and treatment of anybody"
        return Guarantee.of(
            allocation.budget,
            form.relation,
            unit=facts.schema.unit.name,
            public_facts=tuple(shown),
            not_covered=(hidden,),
        )

    def plan(self, facts: Facts, allocation: Allocation) -> Plan:
        """Return penalty, trimming, prices and noise."""
        assert isinstance(allocation, (IPWAllocation, AIPWAllocation))
        return Plan(self.method, allocation.budget, partial(self._contents, facts, allocation))

    def _contents(self, facts: Facts, allocation: IPWAllocation | AIPWAllocation) -> Contents:
        roles, declared = self.roles(facts), self.declared(facts)
        estimand = roles.estimand(allocation.form.scheme).removeprefix("Estimand: ")
        of = {"outcome": self.outcome, "term": self.treatment}
        randomised = "treatment is taken to be as if randomised given the covariates"
        if isinstance(allocation, AIPWAllocation):
            spread = declared.spread / declared.radius
            effect = effect_of(expected_aipw(allocation, spread, declared.treated), declared.radius)
            either = "the effect is right if the model of treatment or that of the outcome is"
            numbers = (
                *notes({ESTIMAND: estimand}),
                *planned_errors(effect, declared, facts.n, self.alphas, of),
                *planned_aipw(allocation, declared.radius, spread),
            )
            return Contents(numbers, (either, randomised), ())
        effect = expected_effect(allocation, declared)
        biased = "penalty and trimming bias the estimate towards the unadjusted difference"
        consequences = [biased, randomised]
        if self.errors == "conditional":
            consequences.append("errors will be conditional on the propensity model")
        if self.augmented:
            consequences.append(
                "the models of a doubly robust effect would be noise, and weights are used instead"
            )
        else:
            consequences += self._instead(facts, allocation.budget)
        numbers = (
            *notes({ESTIMAND: estimand}),
            *planned_errors(effect, declared, facts.n, self.alphas, of),
            *planned_numbers(allocation, roles.radius, declared.treated),
        )
        half = effect.half_width(0.05)
        warned = warnings_of(allocation, declared, slope_kept(allocation), half)
        return Contents(numbers, tuple(consequences), tuple(warned))

    def _instead(self, facts: Facts, budget: Budget) -> Iterator[str]:
        """Say what the doubly robust effect would cost in error, where it can be had."""
        if self.estimand != "ate" or self.budget_shares is not None:
            return
        try:
            other = self._doubly_robust(facts).allocation(budget)
        except ParameterError:
            return
        declared = self.declared(facts)
        expected = expected_aipw(other, declared.spread / declared.radius, declared.treated)
        error = effect_of(expected, declared.radius).standard_error(self.alphas)
        yield f"``estimator='aipw'`` would have a standard error of about {error:.3g}"


@dataclass(frozen=True)
class Roles:
    """The columns of an IPW in their roles, by the schema alone."""

    outcome: Column  # with bounds
    fill: float | None  # what stands for a missing outcome
    treatment: Treated
    treated: str  # who is treated, in words
    design: Covariates  # how rows become z

    @property
    def bounds(self) -> tuple[float, float]:
        """Of the outcome."""
        assert self.outcome.bounds is not None
        low, high = self.outcome.bounds
        return float(low), float(high)

    @property
    def radius(self) -> float:
        """Half the width of the bounds of the outcome."""
        low, high = self.bounds
        return high / 2 - low / 2

    @property
    def words(self) -> str:
        """Outcome and covariates, in words."""
        return ", ".join((self.outcome.name, *self.design.columns))

    def estimand(self, scheme: Scheme) -> str:
        """Estimand, in words."""
        low, high = self.bounds
        who = {"ate": "everybody", "att": "the treated", "atc": "those not treated"}
        return (
            f"Estimand: mean effect on {who[scheme.estimand]} of {self.outcome.name} clipped to "
            f"[{low:g}, {high:g}]; {self.treated}."
        )


class IPW(Model[IPWSpec, Facts, Released, IPWResults]):
    """The effect of a treatment that was not randomised, by inverse probability weighting.

    Parameters
    ----------
    data : data frame
        A table of n rows, one per person, in pandas, Polars (eager or lazy), DuckDB or PySpark,
        that fits ``schema``. If it lives in an engine, ``fit`` reads the columns it uses once,
        coded.
    schema : Schema
        Public facts: bounds or levels of the outcome and of every covariate, two levels of the
        treatment, and which missing codes each may have.  A number as ``missing_policy``
        replaces missing values, which an outcome that may be missing needs; a covariate without
        one gets an indicator of its missing values instead.  The outcome's ``sd`` is that within an
        arm, a quarter of the width of its bounds where none is declared; only :meth:`plan` uses it,
        to say how wide intervals will be.
    treatment : str
    covariates : sequence of str, or of terms of a parsed formula
        Covariates of the propensity model.  Text columns and ``C(x)`` enter by their declared
        levels.
    outcome : str
        The outcome column.
    estimator : {"ipw", "aipw"}, optional
        Weighting, or augmented weighting (doubly robust): models of treatment and of the outcome
        are made from released moments of each half of the rows and used on the other half.  For
        the effect on everybody its error is a small fraction of that of weighting.  By
        default it is doubly robust, unless an option of weighting is given, or the models would be
        noise; :meth:`plan` says which.
    estimand : {"ate", "att", "atc"}
        The average effect on everybody, on the treated, or on the untreated.
    neighbors : {"replace-one", "replace-one-design-public"}
        Which data sets are neighbours.  With the second, for ATT and ATC only, treatment is public.
    noise : {"laplace", "gaussian"}
        Noise of the effect; Laplace noise is the smaller of the two.
    lam : number, optional
        Ridge penalty of the propensity model.  By default, chosen from public facts
        (:func:`dprct.estimate.ipw.release.propensity_penalty`).
    trim : number, optional
        c in (0, .5): propensities below c or above 1 - c are set to these.  By default, chosen from
        public facts (:func:`dprct.estimate.ipw.release.propensity_trim`).
    split : number, optional
        Share of the rows on which the propensity model is fitted.  By default, one half.
    budget_shares : mapping from part to number, optional
        Shares of epsilon on the other rows, which sum to one; :meth:`plan` names the parts.
    hajek : bool, optional
        Whether to divide by the sum of weights of each arm, which is then released too.  If neither
        this nor ``budget_shares`` is given, the method does so where these sums are expected to be
        large compared with their noise; :meth:`plan` says which.
    treated : number or str, optional
        Code or label of the treated.  By default, the larger of the two codes.
    balance : sequence of str
        Numeric covariates whose weighted difference between the arms is released.  Each one takes a
        part of the budget.
    overlap : bool
        Whether to release noisy counts of each arm by propensity, which takes a part of the budget.
    errors : {"total", "conditional"}
        Whether standard errors contain the error of the propensity model, which takes a part of the
        budget, or are conditional on that model: for the Hajek form, which is then the default or
        refused.
    treated_share : number, optional
        Share of the rows that are treated, known from elsewhere.  It decides the form of an ATT or
        ATC, and a fit that would estimate nothing is refused before it is charged.  By default,
        half of the rows are taken to be treated, and a fit may be charged and estimate nothing.
    alphas : sequence of float
        Test sizes at which ``params -+ z bse`` is a valid interval.
    weights : None
        Sampling weights are refused.

    Raises
    ------
    SchemaError, ColumnError, ParameterError, FormulaError
        If a public fact is missing, or data and schema contradict each other.  Nothing is spent.

    Notes
    -----
    Relation: one person's row is replaced by any admissible one; n is public.  Rows are divided
    into two parts at random, independently of their values.  With K terms, z = (x / sqrt(K), 1) /
    sqrt(2) has norm at most 1 because of the declared bounds and levels
    (:class:`~dprct.queries.propensity.Covariates`).

    1. On n1 rows, ridge-logistic coefficients w are fitted.  Their L2 sensitivity is 2 / (n1 lam)
       plus the solver's tolerance (:mod:`dprct.queries.propensity`); they get Gaussian noise of
       standard deviation s1 for (epsilon, delta).
    2. On the other n2 rows, odds are exp(-+ z'w - s1^2 ||z||^2 / 2), from which the noise-induced
       bias is removed, and then trimmed.  With y centred at the middle of its bounds and within
       -+R, the sum of phi = t y / e - (1 - t) y / (1 - e) moves by at most 2R / c.  The ATE is this
       sum, with Laplace noise, over n2. ATT and ATC divide by a noisy count (sensitivity 1) or by
       the public one; Hajek means divide by noisy sums of weights.
    3. Standard errors use the noisy sum of squared influences and, for total errors, the noisy
       gradient in w.

    Each row is in one part only.  The sizes and members of the parts do not depend on values, and
    the law of the parts does not depend on the order of rows
    (:func:`~dprct.estimate.ipw.release.released`). The whole therefore costs the larger of the two
    prices, (epsilon, delta). All sums are sums of integers, each term is a function of one row, and
    noise is drawn exactly.

    The effect, but not the privacy guarantee, rests on two assumptions: given the covariates,
    treatment is as good as random, and the logistic model holds.  The estimand is the effect on the
    outcome clipped to its bounds.  Penalty and trimming bias the estimate towards the unadjusted
    difference.

    *Doubly robust.*  One Gaussian release of the moments of both folds (sensitivity 81/32 in its
    square: :class:`~dprct.queries.doubly_robust.FoldMoments`) gives both models of each fold
    (:func:`~dprct.estimate.ipw.doubly_robust.modelled`).  Scores, with the models of the other
    fold, are clipped to [-C, C] and added (sensitivity 2C), and so are their squares (C^2).  The
    three claims add up to (epsilon, delta).  C is 8 sd of the released residuals or more, growing
    with the root of n: the bias of this clip goes to 0 over the sampling error.

    References
    ----------
    Robins, Rotnitzky and Zhao (1994), "Estimation of Regression Coefficients When Some Regressors
    Are Not Always Observed"; Chernozhukov et al. (2018), "Double/Debiased Machine Learning", for
    scores and folds.
    Lee, Gresele, Park and Muandet, "Privacy-Preserving Causal Inference via Inverse Probability
    Weighting" (as published: ``dprct.published.IPW``).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> X = rng.uniform(-1, 1, (20_000, 2))
    >>> t = rng.random(20_000) < 1 / (1 + np.exp(-X[:, 0]))
    >>> y = (0.2 * t + 0.3 * X[:, 0] + rng.uniform(-0.2, 0.2, 20_000)).clip(-1, 1)
    >>> model = IPW.from_arrays(X, t, y, bounds=(-1, 1), x_bounds=(-1, 1))
    >>> result = model.fit(epsilon=4, delta=1e-6)
    >>> bool(0 < result.params["ATE"] < 0.4), result.guarantee.measure
    (True, 'approximate')
    """

    saved_types = (Released,)

    @checked
    def __init__(
        self,
        data: Any,
        schema: Schema,
        *,
        treatment: str,
        covariates: Sequence[str | Term],
        outcome: str,
        estimator: Estimator | None = None,
        estimand: Estimand = "ate",
        neighbors: str = "replace-one",
        noise: Noise = "laplace",
        lam: float | None = None,
        trim: float | None = None,
        split: Real | None = None,
        budget_shares: Mapping[str, Real] | None = None,
        hajek: bool | None = None,
        treated: float | str | None = None,
        balance: Sequence[str] = (),
        overlap: bool = False,
        errors: Errors = "total",
        treated_share: float | None = None,
        alphas: Sequence[float] = VALID_LEVELS,
        weights: None = None,
    ) -> None:
        spec = IPWSpec(
            treatment=one_name(treatment, "treatment"), covariates=terms_of(covariates),
            outcome=one_name(outcome, "outcome"), estimator=estimator, estimand=estimand,
            neighbors=neighbors, noise=noise, lam=lam, trim=trim, split=split,
            budget_shares=budget_shares, hajek=hajek, treated=treated,
            balance=tuple(listed_names(balance, "balance")), overlap=overlap, errors=errors,
            treated_share=treated_share, alphas=levels_of(alphas), weights=weights,
        )  # fmt: skip
        self.facts = self._bind(spec, data, schema)

    @classmethod
    def from_formula(
        cls, formula: str, data: Any, schema: Schema, *, outcome: str, **options: Any
    ) -> Self:
        """Return the model of ``"treatment ~ covariates"``; other arguments as for the class.

        Raises
        ------
        FormulaError
            If the left side is not one column, or the formula has no intercept.
        """
        check_not_named(options, IPWSpec.formula_gives)
        return cls(data, schema, outcome=outcome, **IPWSpec.of_formula(formula), **options)

    @classmethod
    def from_arrays(
        cls,
        X: ArrayLike,
        t: ArrayLike,
        y: ArrayLike,
        *,
        bounds: tuple[float, float],
        x_bounds: Any,
        names: Sequence[str] | None = None,
        **options: Any,
    ) -> Self:
        """Return the model of arrays in memory; other arguments are those of the class.

        Parameters
        ----------
        X : (n, p) array
        t : (n,) array of 0 and 1
        y : (n,) array
        bounds : (low, high)
            Bounds of ``y``, from public knowledge; values outside count as the nearest bound.
        x_bounds : (low, high), or p of them
            Bounds of the columns of ``X``, likewise.
        names : sequence of str, length p, optional
            Names of the columns of ``X``. As in a table, a name that looks like a z-score is
            refused, because only a schema can declare how such a column was built.
        """
        data, schema, names = arrays_as_table(X, t, y, bounds, x_bounds, names)
        return cls(data, schema, treatment="t", covariates=names, outcome="y", **options)

    def _draw(self, allocation: Allocation, noise: NoiseSource) -> Released:
        with one_thread(self.n):
            if isinstance(allocation, AIPWAllocation):
                return released_aipw(allocation, self._rows(), noise)
            assert isinstance(allocation, IPWAllocation)
            return released(allocation, self._rows(), noise)

    def _rows(self) -> CompactTable:
        """Return all rows as compact columns; confidential, for the duration of a fit."""
        roles = self.spec.roles(self.facts)
        return read_once(
            self._table.frame, roles.outcome, roles.fill, roles.treatment, roles.design, self.n
        )

    def _read(self, drawn: Released, paid: Paid) -> IPWResults:
        allocation = paid.allocation
        assert isinstance(allocation, (IPWAllocation, AIPWAllocation))
        roles = self.spec.roles(self.facts)
        words = {
            "outcome": self.spec.outcome,
            "formula": self.spec.formula,
            "estimand": roles.estimand(allocation.form.scheme),
            "ledger": paid.ledger,
        }
        return results_of(
            drawn, allocation, roles.radius, roles.design, paid.guarantee, words, self.spec.alphas
        )

    def __repr__(self) -> str:
        return f"IPW({self.spec.formula}, outcome: {self.spec.outcome}, n={self.n})"


def check_unweighted(schema: Schema, weights: object) -> None:
    """Refuse sampling weights and surveys, several rows a person, and undeclared panels."""
    kept = {name for _, name, _ in schema.file.characteristics}
    declared = any(column.role == "weight" for column in schema.columns)
    if weights is not None or declared or any(name.startswith("_svy") for name in kept):
        raise SchemaError(
            "sampling weights were given or are declared; a private IPW refuses them until the "
            "sensitivity of its weighted sums is proved: drop them if everybody is to count the "
            "same"
        )
    if schema.unit.max_rows > 1 or (schema.unit.id is None and kept & {"iis", "_TSpanel"}):
        raise SchemaError(
            f"one {schema.unit.name} may have several rows; give one row per {schema.unit.name}, "
            "because IPW protects one row"
        )


def relation_of(neighbors: object, scheme: Scheme) -> Any:
    """Return the relation, refusing one that is not offered for the estimand."""
    check_choice("neighbors", neighbors, ("replace-one", "replace-one-design-public"))
    if neighbors != "replace-one" and scheme.estimand == "ate":
        raise ParameterError(
            "``neighbors='replace-one-design-public'`` is for the ATT and the ATC, which divide "
            "by a number of people; the ATE has ``neighbors='replace-one'``"
        )
    return neighbors


def scheme_of(estimand: object, trim: object, n: int) -> Scheme:
    """Return estimand and trimming."""
    asked = propensity_trim(n) if trim is None else trim
    eta = number_between("trim", asked, 0, 0.5, ", such as 0.1")
    return Scheme(estimand, eta)  # type: ignore[arg-type]


def penalty_of(lam: object) -> float | None:
    """Return the penalty; None for the default, which depends on the budget."""
    return None if lam is None else number_between("lam", lam, more=", such as 0.01")


def share_of(share: object) -> float | None:
    """Return the declared share of treated rows."""
    return None if share is None else number_between("treated_share", share, 0, 1)


def split_of(split: Real | None, n: int) -> tuple[int, int]:
    """How many rows each part has."""
    share = IPW_SPLIT if split is None else exact(split, "split")
    if not 0 < share < 1:
        raise ParameterError(f"``split={float(share):g}``; give a share between 0 and 1")
    n1 = int(share * n + Fraction(1, 2))
    if n1 < FEWEST_ROWS or n - n1 < FEWEST_ROWS:
        raise ParameterError(
            f"{n} rows with ``split={float(share):g}`` leave a part with fewer than {FEWEST_ROWS}; "
            "use more rows or another split"
        )
    return n1, n - n1


def treated_code(schema: Schema, column: Column, asked: object) -> tuple[float | str, str]:
    """Return the code of the treated, and how to say it; the larger of two codes by default."""
    name, levels = column.name, column.levels or ()
    if len(levels) != 2:
        raise SchemaError(
            f"treatment {name!r} needs two levels; declare ``levels=[0, 1]``, or its two "
            "codes or texts"
        )
    if column.missing != ():
        raise SchemaError(
            f"treatment {name!r} may be missing, or has no declared missing policy; declare "
            "``missing='never'``, for an IPW needs to know who was treated"
        )
    ordered = sorted(levels, key=lambda level: (isinstance(level, str), level))
    labels: Mapping[Any, str] = {} if column.is_text else schema.labels_of(name)
    words = [_label(labels, level) for level in ordered]
    code, word = ordered[1], words[1]
    if asked is not None:
        if asked not in (*ordered, *words) or isinstance(asked, bool):
            raise ParameterError(
                f"``treated={given(asked)}`` is not a level of {name!r}; allowed: "
                f"{', '.join(words)}"
            )
        place = ordered.index(asked) if asked in ordered else words.index(str(asked))
        code, word = ordered[place], words[place]
    return code, f"treated are those with {name} = {word}"


def _label(labels: Mapping[Any, str], level: float | str) -> str:
    if isinstance(level, str):
        return level
    return labels.get(int(level), f"{float(level):g}") if labels else f"{float(level):g}"


def arrays_as_table(
    X: ArrayLike,
    t: ArrayLike,
    y: ArrayLike,
    bounds: tuple[float, float],
    x_bounds: Any,
    names: Sequence[str] | None,
) -> tuple[pd.DataFrame, Schema, tuple[str, ...]]:
    """Return arrays as a table with its schema, and the names of the covariates."""
    x, given, outcome = (numbers_given(v, k) for v, k in ((X, "X"), (t, "t"), (y, "y")))
    limits = numbers_given(x_bounds, "``x_bounds=``")
    if x.ndim != 2 or given.shape != (len(x),) or outcome.shape != (len(x),):
        raise ParameterError("X, t and y must have the shapes (n, p), (n,) and (n,)")
    if limits.shape not in ((2,), (x.shape[1], 2)) or np.shape(bounds) != (2,):
        raise ParameterError(
            "``bounds=`` is ``(low, high)``, and ``x_bounds=`` is ``(low, high)`` or one "
            "such pair per column of X"
        )
    if not (np.isfinite(x).all() and np.isfinite(outcome).all()):
        raise ParameterError(
            "X or y holds a value that is not a finite number; give a data frame and schema"
        )
    pairs = np.broadcast_to(limits, (x.shape[1], 2)).tolist()
    named = tuple(names) if names is not None else tuple(f"x{j}" for j in range(x.shape[1]))
    columns = [
        Column("y", bounds=(float(bounds[0]), float(bounds[1])), missing=()),
        Column("t", levels=(0.0, 1.0), missing=()),
        *(Column(name, bounds=tuple(p), missing=()) for name, p in zip(named, pairs, strict=True)),
    ]
    table = {"y": outcome.clip(*bounds), "t": given}
    for j, (name, (low, high)) in enumerate(zip(named, pairs, strict=True)):
        table[name] = x[:, j].clip(low, high)
    return pd.DataFrame(table), Schema(tuple(columns)), named


def terms_of(covariates: Sequence[str | Term]) -> tuple[Term, ...]:
    """Return covariates as terms of a formula."""
    if isinstance(covariates, str):
        covariates = [covariates]
    if is_data(covariates):
        listed_names(covariates, "covariates")
    return tuple(
        term if isinstance(term, tuple) else _main(one_name(term, "covariates"))
        for term in covariates
    )


def _main(name: str) -> Term:
    return (Factor("name", name, (name,)),)


def balanced_names(design: Covariates, names: Sequence[str]) -> tuple[str, ...]:
    """Return the numeric covariates whose balance is asked for, each once."""
    numeric = [block.column.name for block in design.blocks if not block.levels]
    wanted = tuple(dict.fromkeys(names))
    for name in wanted:
        if name not in numeric:
            raise ParameterError(
                f"``balance=`` names {name!r}, which is not a numeric covariate; allowed: "
                f"{', '.join(numeric) or 'none'}"
            )
    return wanted
