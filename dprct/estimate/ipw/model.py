"""IPW: the effect of a treatment that was not randomised, under differential privacy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, get_args

from dprct.defaults import VALID_LEVELS
from dprct.errors import ColumnError, FormulaError, ParameterError
from dprct.estimate.base import EstimateModel
from dprct.estimate.door import any_table_of, levels_of, with_bounds
from dprct.estimate.ipw.draws import Released, released
from dprct.estimate.ipw.inputs import arrays_as_table, balanced_names, terms_of
from dprct.estimate.ipw.options import (
    check_unweighted,
    fills_of,
    penalty_of,
    relation_of,
    scheme_of,
    split_of,
    treated_code,
)
from dprct.estimate.ipw.planning import facts_of, guarantee_of, warnings_of
from dprct.estimate.ipw.recipe import Errors, Noise, Prices, Recipe, parts_of, shares_of
from dprct.estimate.ipw.reporting import results_of
from dprct.estimate.ipw.results import IPWResults
from dprct.formula import parse
from dprct.privacy.budget import Budget
from dprct.queries.logistic import one_thread
from dprct.queries.propensity import Treated, covariates_of
from dprct.queries.records import read_once
from dprct.results.plan import Plan
from dprct.schema.arguments import check_choice, check_schema, one_name
from dprct.schema.legal import validate
from dprct.schema.table import check_there, names_of, row_count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike

    from dprct.formula import Factor
    from dprct.privacy.budget import Real
    from dprct.privacy.guarantee import Guarantee
    from dprct.privacy.noise import NoiseSource
    from dprct.queries.records import CompactTable
    from dprct.queries.weighted import Estimand
    from dprct.schema.schema import Schema


Drawn = tuple[Released, Recipe, Prices]
"""What a fit drew, and the prices by which it is read."""


class IPW(EstimateModel[Drawn, IPWResults]):
    """The effect of a treatment by inverse probability weighting, with covariates protected too.

    Parameters
    ----------
    data : data frame
        pandas, Polars (eager or lazy), DuckDB or PySpark, n rows, one per person, legal in
        ``schema``.  Of an engine's table, ``fit`` reads the columns it uses once, coded.
    schema : Schema
        With bounds (or levels) of the outcome and of covariates, two levels of the treatment, and
        a missing policy for each.
    treatment : str
    covariates : sequence of str, or of terms of a parsed formula
        Of the propensity model; text columns and ``C(x)`` enter by their declared levels.
    outcome : str
    estimand : {"ate", "att", "atc"}
        The effect on everybody, on the treated, or on the others.
    neighbors : {"replace-one", "replace-one-design-public"}
        Which data sets are neighbours; the second, for ATT and ATC, takes treatment as public.
    noise : {"laplace", "gaussian"}
        Of the effect; Laplace noise is less.
    lam : number, optional
        Penalty of the propensity model; :func:`dprct.defaults.propensity_penalty` if not given.
    trim : number, optional
        c in (0, .5): propensities are trimmed to [c, 1 - c];
        :func:`dprct.defaults.propensity_trim` if not given.
    split : number, optional
        Share of the rows for the propensity model; one half if not given.
    shares : mapping from part to number, optional
        Of epsilon on the other rows, of sum one; see :meth:`plan` for the parts.
    hajek : bool, optional
        Divide by the (released) sum of weights of each arm; if not given (nor ``shares``), where
        those are expected to be far from their noise at the budget of the fit: :meth:`plan` says.
    missing : number, or mapping from column to number, optional
        What stands for a missing outcome; in a mapping, also for missing covariates, which have an
        indicator of their own without it.
    treated : number or str, optional
        Code or label of the treated; the larger of the two codes if not given.
    balance : sequence of str
        Numeric covariates whose weighted difference is released; each has its price.
    overlap : bool
        Release noisy counts of each arm by propensity, at a price.
    errors : {"total", "conditional"}
        Whether errors contain what the propensity weights add, for a price; or are conditional on
        them.
    levels : sequence of float
        Sizes of tests at which ``params -+ z bse`` is to be valid.
    weights : None
        Sampling weights are refused.

    Raises
    ------
    SchemaError, ColumnError, ParameterError, FormulaError
        If a public fact is missing, or data and schema contradict each other.

    Notes
    -----
    Relation: one person's row is replaced by any other legal one; n is public.  Rows are put into
    two parts at random, whatever they hold; z = (x / sqrt(K), 1) / sqrt(2) has norm at most 1 by
    declared bounds and levels (:class:`~dprct.queries.propensity.Covariates`).

    1. On n1 rows: ridge-logistic weights w, L2 sensitivity 2 / (n1 lam) and the solver's tolerance
       (:mod:`dprct.queries.logistic`), with Gaussian noise of sd s1 for (epsilon, delta).
    2. On the other n2: odds exp(-+ z'w - s1^2 ||z||^2 / 2), without bias from the noise, trimmed.
       The sum of phi = t y / e - (1 - t) y / (1 - e), y centred at the middle of its bounds and
       within -+R, moves by at most 2R / c: ATE = that / n2, with Laplace noise.  ATT and ATC divide
       by a noisy count (sensitivity 1), or the public one; Hajek means by noisy sums of weights.
    3. For errors: the sum of squared influences, and the gradient in w.

    A row is in one part only, and the parts' sizes and members do not depend on values, nor does
    the law of the parts on the order of the rows (:func:`~dprct.estimate.ipw.draws.released`): the
    whole keeps the larger of both, (epsilon, delta).  Sums are sums of integers, one function of
    one row each, and noise is exact.

    Assumed for the effect, not for privacy: treatment is as if randomised given covariates, and
    the logistic model holds.  The estimand is of the outcome clipped to its bounds.  Penalty and
    trimming bias towards the unadjusted difference.

    A doubly robust form is not offered: for its outcome models no sensitivity is proved here.

    References
    ----------
    Lee, Gresele, Park and Muandet, "Privacy-Preserving Causal Inference via Inverse Probability
    Weighting" (as published: ``dprct.published.IPW``).
    ALGORITHMS.md, section 6.

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

    method = "IPW (Gaussian noise on propensity weights, noise on weighted sums)"

    def __init__(
        self,
        data: Any,
        schema: Schema,
        *,
        treatment: str,
        covariates: Sequence[str | tuple[Factor, ...]],
        outcome: str,
        estimand: Estimand = "ate",
        neighbors: str = "replace-one",
        noise: Noise = "laplace",
        lam: float | None = None,
        trim: float | None = None,
        split: Real | None = None,
        shares: Mapping[str, Real] | None = None,
        hajek: bool | None = None,
        missing: float | Mapping[str, float] | None = None,
        treated: float | str | None = None,
        balance: Sequence[str] = (),
        overlap: bool = False,
        errors: Errors = "total",
        levels: Sequence[float] = VALID_LEVELS,
        weights: None = None,
    ) -> None:
        check_schema(schema)
        outcome, treatment = one_name(outcome, "outcome"), one_name(treatment, "treatment")
        frame, schema = any_table_of(data), schema.seal_beside_data()
        n, present = row_count(frame), names_of(frame)
        check_unweighted(schema, weights)
        check_choice("noise", noise, get_args(Noise))
        check_choice("errors", errors, get_args(Errors))
        scheme = scheme_of(estimand, trim, n)
        relation = relation_of(neighbors, scheme.estimand)
        terms = terms_of(covariates)
        covered = tuple(dict.fromkeys(n for term in terms for f in term for n in f.names))
        used = (outcome, treatment, *covered)
        for name in used:
            if name not in present:
                raise ColumnError.unknown(name, present, "the data")
        if outcome == treatment or {outcome, treatment} & set(covered):
            raise ParameterError(
                f"{outcome!r} and {treatment!r} must differ, and be no covariates; name the "
                "outcome, the treatment and what came before it"
            )
        self._outcome = with_bounds(schema.column(outcome))
        self._fill, fills = fills_of(missing, self._outcome)
        code, self._said = treated_code(schema, schema.column(treatment), treated)
        self._treatment = Treated(
            schema.column(treatment), code, public=relation == "replace-one-design-public"
        )
        columns = {name: schema.column(name) for name in covered}
        self.design = covariates_of(terms, columns, fills)
        balanced = balanced_names(self.design, balance)
        validate(schema, frame, used)
        n1, n2 = split_of(split, n)
        count = scheme.estimand != "ate" and not hajek and relation == "replace-one"
        parts = parts_of(
            hajek=bool(hajek), count=count, total=errors == "total", balance=bool(balance),
            overlap=bool(overlap),
        )  # fmt: skip
        self.recipe = Recipe(
            n1, n2, self.design.size, scheme, bool(hajek), relation, noise, errors,
            penalty_of(lam), balanced, bool(overlap), shares_of(shares, parts),
        )  # fmt: skip
        self.schema, self.n, self.levels = schema, n, levels_of(levels)
        self.formula = f"{treatment} ~ {' + '.join(':'.join(f.label for f in t) for t in terms)}"
        self._frame, self._own_form = frame, hajek is not None or shares is not None

    @classmethod
    def from_formula(
        cls, formula: str, data: Any, schema: Schema, *, outcome: str, **options: Any
    ) -> Self:
        """Estimate with the propensity model ``treatment ~ covariates``; others as for the class.

        Raises
        ------
        FormulaError
            If its left side is not one column, or it has no intercept.
        """
        parsed = parse(formula)
        if len(parsed.outcomes) != 1 or parsed.outcomes[0].kind != "name":
            raise FormulaError(
                f"{formula!r} has not one column on its left; name the treatment there, and the "
                "outcome as outcome="
            )
        if not parsed.intercept:
            raise FormulaError(f"{formula!r} has no intercept; leave out '- 1' or '+ 0'")
        treatment = parsed.outcomes[0].names[0]
        return cls(
            data, schema, treatment=treatment, covariates=parsed.terms, outcome=outcome, **options
        )

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
        """Estimate from arrays in memory; other arguments as for the class.

        Parameters
        ----------
        X : (n, p) array
        t : (n,) array of 0 and 1
        y : (n,) array
        bounds : (low, high)
            Of ``y``, from public knowledge; what is outside counts as the nearest bound.
        x_bounds : (low, high), or p of them
            Of the columns of ``X``, likewise.
        names : sequence of str, length p, optional
            One like that of a z-score is refused, as in a table; only a schema says what it is.
        """
        data, schema, names = arrays_as_table(X, t, y, bounds, x_bounds, names)
        return cls(data, schema, treatment="t", covariates=names, outcome="y", **options)

    def recipe_at(self, budget: Budget) -> Recipe:
        """Return what a fit at this budget releases; a function of public facts."""
        if self._own_form or not budget.delta:
            return self.recipe
        return self.recipe.default_form(budget)

    def plan(self, epsilon: Real, delta: Real = 0) -> Plan:
        """Return penalty, trimming, prices and noise; free, a function of public facts.

        Parameters
        ----------
        epsilon : number
            Above 0.
        delta : number
            Above 0, far below 1/n.
        """
        budget = Budget.asked(epsilon, delta)
        recipe = self.recipe_at(budget)
        prices = recipe.priced(budget)
        radius = float(self._radius)
        words = {"outcome": self._outcome.name, "treated": self._said}
        consequences = [
            "the estimand is of the outcome clipped to its bounds; penalty and trimming bias it "
            "towards the unadjusted difference",
            "treatment is taken to be as if randomised given the covariates",
        ]
        if self.recipe.errors == "conditional":
            consequences.append("errors will be conditional on the propensity model")
        return Plan(
            self.method,
            budget,
            facts_of(recipe, prices, radius, words),
            tuple(consequences),
            tuple(warnings_of(recipe, prices, radius)),
        )

    def guarantee(self, budget: Budget) -> Guarantee:
        """Return what a fit at this budget promises; free."""
        lam = self.recipe.priced(budget).lam if budget.delta else (self.recipe.lam or 0.0)
        words = {
            "columns": ", ".join((self._outcome.name, *self.design.columns)),
            "treatment": self._treatment.column.name,
            "treated": self._said,
        }
        return guarantee_of(budget, self.recipe, lam, words, self.schema.unit)

    def _check(self, budget: Budget) -> None:
        self.recipe_at(budget).priced(budget)
        check_there(self._frame, self.n)  # before anything is charged

    def _draw(self, budget: Budget, noise: NoiseSource) -> Drawn:
        recipe = self.recipe_at(budget)
        prices = recipe.priced(budget)
        with one_thread(self.n):
            return released(recipe, self._rows(), prices, noise), recipe, prices

    def _state(self, found: Drawn) -> dict[str, Any]:
        return found[0].state()

    def _results(self, found: Drawn, guarantee: Guarantee, ledger: str) -> IPWResults:
        words = {
            "outcome": self._outcome.name,
            "formula": self.formula,
            "estimand": self._estimand(),
            "ledger": ledger,
        }
        radius = float(self._radius)
        return results_of(*found, radius, self.design, guarantee, words, self.levels)

    def _rows(self) -> CompactTable:
        """Return all rows as compact columns; confidential, for the duration of a fit."""
        return read_once(
            self._frame, self._outcome, self._fill, self._treatment, self.design, self.n
        )

    @property
    def _radius(self) -> float:
        assert self._outcome.bounds is not None
        low, high = self._outcome.bounds
        return float(high) / 2 - float(low) / 2

    def _estimand(self) -> str:
        assert self._outcome.bounds is not None
        low, high = self._outcome.bounds
        who = {"ate": "everybody", "att": "the treated", "atc": "those not treated"}
        return (
            f"Estimand: mean effect on {who[self.recipe.scheme.estimand]} of {self._outcome.name} "
            f"clipped to [{low:g}, {high:g}]; {self._said}."
        )

    def __repr__(self) -> str:
        return f"IPW({self.formula}, outcome: {self._outcome.name}, n={self.n})"
