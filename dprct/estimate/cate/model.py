"""CATE: how an effect varies with features, under differential privacy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, get_args

import narwhals as nw

from dprct.defaults import ADDITIVE_BINS, TRIM, effect_clip
from dprct.errors import ParameterError
from dprct.estimate.additive.door import (
    bound_table,
    clip_of,
    features_of_formula,
    fill_of,
    treatment_code,
)
from dprct.estimate.additive.fitted import AdditiveFit
from dprct.estimate.additive.planning import noise_facts, noise_warnings
from dprct.estimate.additive.promises import check_neighbors, promise_of
from dprct.estimate.additive.release import mechanism_of
from dprct.estimate.additive.terms import terms_of
from dprct.estimate.base import EstimateModel
from dprct.estimate.cate.learners import Learner, Recipe, learned
from dprct.estimate.cate.partition import shares_of, sizes_of
from dprct.estimate.cate.propensity import known_propensity, trim_of
from dprct.estimate.cate.results import CATEResults
from dprct.privacy.budget import Budget
from dprct.queries import CompactRows, EngineRows
from dprct.results.plan import Plan
from dprct.schema.arguments import check_choice, check_schema
from dprct.schema.table import check_rows, check_there, row_count

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dprct.assignment.base import Design
    from dprct.privacy.budget import Real
    from dprct.privacy.guarantee import Guarantee
    from dprct.privacy.noise import NoiseSource
    from dprct.schema import Schema


class CATE(EstimateModel[dict[str, AdditiveFit], CATEResults]):
    """The effect of a treatment as a sum of shapes of features, under differential privacy.

    Parameters
    ----------
    data : data frame
        pandas, Polars (eager or lazy), DuckDB or PySpark, one row per person.  With one part, rows
        of an engine stay there, and sums in the cells of features are all that it is asked for;
        with several, codes of all rows are read once (a byte per feature and row, and five).
    schema : Schema
        With bounds for the outcome, bounds or levels for the features, levels 0 and 1 for the
        treatment.
    outcome : str
    features : sequence of str
    treatment : str
        A column of 0 and 1; it is confidential.
    assignment : Design, optional
        Of a randomised experiment, with the same probability for everybody: the propensity is
        known then.
    propensity : number, optional
        The known probability of treatment, instead of a design.
    learner : {"dr", "r", "s"}
        Doubly robust pseudo-outcomes; residuals on residuals; treatment as a feature of an additive
        model of the outcome, which gives the same effect to everybody.
    clip : number, optional
        R: pseudo-outcomes are clipped to [-R, R], and noise is proportional to R.  The width of the
        outcome's bounds if not given (:func:`dprct.defaults.effect_clip`); public knowledge, never
        a fact of the data.
    parts : mapping from {"propensity", "outcome", "effect"} to number, optional
        Shares of the rows, of sum one.  With known propensity all rows are for the effect unless an
        ``"outcome"`` part is asked for; otherwise a quarter, a quarter and a half.
    trim : number
        Estimated propensities are kept within [trim, 1 - trim].
    bins, categorical, pairs, groups, projection, missing
        As for :class:`dprct.PrivateAdditive`; groups have average effects of their own.
    neighbors : {"replace-one"}

    Raises
    ------
    SchemaError, ColumnError, ParameterError
        If a public fact is missing or the data are not legal.

    Notes
    -----
    Relation: one person's whole row (treatment too) is replaced by any other legal one; n is
    public.  Rows are put into parts of fixed sizes at random, whatever they hold; each part pays
    the whole budget, once, for one joint release (:class:`dprct.PrivateAdditive`), and as one
    person is in one part, all of it together costs that budget (parallel composition).

    - *DR*: psi = mu1 - mu0 + T (y - mu1) / e - (1 - T)(y - mu0) / (1 - e); without an outcome part
      mu0 = mu1 is the middle of the bounds.  With known e its mean given x is the effect.
    - *R*: (y - m) / (T - e) with weights (T - e)^2.  They depend on the data, so that their sums
      are released in place of counts (free in L2: see
      :class:`~dprct.queries.additive.AdditiveLayout`).
    - *S*: the difference of the means of treated and untreated.

    Intervals contain sampling where the propensity is known and the learner is not ``"r"``; else
    they are refused, because none is proved.

    References
    ----------
    ALGORITHMS.md, section 7.  The published form is ``dprct.published.CATE``.
    Kennedy (2023), "Towards optimal doubly robust estimation of heterogeneous causal effects".

    Examples
    --------
    >>> import numpy as np, pandas as pd, dprct
    >>> schema = dprct.Schema((dprct.Column("y", bounds=(0, 2), missing=()),
    ...     dprct.Column("t", "byte", levels=(0.0, 1.0), missing=()),
    ...     dprct.Column("x", bounds=(0, 1), missing=())))
    >>> x, t = np.tile(np.linspace(0, 1, 100), 200), np.repeat([0.0, 1.0], 10_000)
    >>> data = pd.DataFrame({"y": t * x + 0.5, "t": t, "x": x})
    >>> model = CATE.from_formula("y ~ x", data, schema, treatment="t", propensity=0.5)
    >>> result = model.fit(epsilon=8)
    >>> old, young = result.effect(pd.DataFrame({"x": [0.9, 0.1]}))
    >>> bool(old - young > 0.4), result.guarantee.relation
    (True, 'replace-one')
    """

    method = "CATE (one-step additive learner)"

    def __init__(
        self,
        data: Any,
        schema: Schema,
        *,
        outcome: str,
        features: Sequence[str],
        treatment: str,
        assignment: Design | None = None,
        propensity: float | None = None,
        learner: Learner = "dr",
        clip: float | None = None,
        parts: Mapping[str, Real] | None = None,
        trim: float = TRIM,
        bins: int = ADDITIVE_BINS,
        categorical: Iterable[str] = (),
        pairs: Iterable[Sequence[str]] = (),
        groups: Iterable[str] = (),
        projection: Sequence[str] = (),
        missing: float | None = None,
        neighbors: str = "replace-one",
    ) -> None:
        check_neighbors(neighbors)
        check_choice("learner", learner, get_args(Learner))
        check_schema(schema)
        schema = schema.seal_beside_data()
        terms = terms_of(
            schema, features, bins=bins, categorical=categorical, pairs=pairs, groups=groups,
            projection=projection,
        )  # fmt: skip
        self._treatment = treatment_code(schema, treatment)
        if treatment in terms.names:
            raise ParameterError(f"{treatment!r} is the treatment and a feature; name it once")
        self._frame, self.column = bound_table(data, schema, outcome, terms, [treatment])
        self.n = row_count(self._frame)
        e = known_propensity(schema, self.n, treatment, assignment, propensity)
        if learner == "s" and e is None:
            raise ParameterError(
                "learner='s' compares the means of treated and untreated, which is an effect where "
                "treatment was randomised; give assignment= or propensity=, or use learner='dr'"
            )
        self.schema, self.outcome = schema, outcome
        self.treatment, self.learner = treatment, learner
        self.fill = fill_of(self.column, missing)
        assert self.column.bounds is not None
        low, high = map(float, self.column.bounds)
        shares = shares_of(parts, known=e is not None, constant=learner == "s")
        self.recipe = Recipe(
            learner, terms, sizes_of(shares, self.n), (low, high),
            clip_of(clip, effect_clip(low, high)), e, trim_of(trim),
        )  # fmt: skip

    @classmethod
    def from_formula(cls, formula: str, data: Any, schema: Schema, **options: Any) -> Self:
        """Return the model of ``"y ~ x1 + C(x2) + x1:C(x2)"``; other arguments as for the class.

        Raises
        ------
        FormulaError
            If the formula has anything but columns, ``C()`` and pairs.  The treatment is given
            beside it: features are what the effect may vary with.
        """
        outcome, features, categorical, pairs = features_of_formula(formula)
        options = {"categorical": categorical, "pairs": pairs, **options}
        return cls(data, schema, outcome=outcome, features=features, **options)

    def plan(self, epsilon: Real, delta: Real = 0) -> Plan:
        """Return prices and noise of the effect; free, a function of public facts.

        Parameters
        ----------
        epsilon : number
            Above 0.
        delta : number, default 0
            Above 0 for Gaussian noise.
        """
        budget, recipe = Budget.asked(epsilon, delta), self.recipe
        layout, rows = recipe.layouts(budget)["effect"], recipe.sizes["effect"]
        parts = ", ".join(f"{name} {size:,}" for name, size in recipe.sizes.items())
        facts = {
            "n": f"{self.n:,} rows, by part: {parts}",
            "propensity": self._propensity(),
            **noise_facts(recipe.terms, layout, budget, rows),
        }
        consequences = ["what is estimated is the mean of clipped pseudo-outcomes"]
        if self.learner == "s":
            consequences = ["the effect is the same for everybody: no interaction is in the model"]
        refused = self._no_sampling()
        if refused:
            consequences.append(f"no interval contains sampling: {refused}")
        warned = noise_warnings(recipe.terms, layout, budget, rows)
        return Plan(self.method, budget, facts, tuple(consequences), warned)

    def guarantee(self, budget: Budget) -> Guarantee:
        """Return what a fit at this budget promises; free."""
        layouts = self.recipe.layouts(budget)
        more = [f"the sizes of the parts: {', '.join(map(str, self.recipe.sizes.values()))}"]
        if self.recipe.e is not None:
            more.append(f"the probability of treatment, {self.recipe.e}")
        return promise_of(
            budget, self.schema.unit, self.n, self.recipe.terms, self.outcome,
            [*layouts.values()], more,
        )  # fmt: skip

    def _check(self, budget: Budget) -> None:
        for layout in self.recipe.layouts(budget).values():
            mechanism_of(layout, budget)
        check_there(self._frame, self.n)  # before anything is charged

    def _draw(self, budget: Budget, noise: NoiseSource) -> dict[str, AdditiveFit]:
        read = (self.recipe.terms.encodings, self.column, self.fill, self._treatment)
        if self.recipe.one_step and isinstance(self._frame, nw.LazyFrame):
            return learned(self.recipe, EngineRows.of(self._frame, self.n, *read), budget, noise)
        rows = CompactRows.of(self._frame, *read)
        check_rows(len(rows), self.n)
        if noise.simulation and not self.recipe.one_step:
            rows = rows.in_canonical_order()  # with a seed, the same people in every part
        return learned(self.recipe, rows, budget, noise)

    def _state(self, found: dict[str, AdditiveFit]) -> dict[str, Any]:
        return {name: fit.state() for name, fit in found.items()}

    def _results(
        self, found: dict[str, AdditiveFit], guarantee: Guarantee, ledger: str
    ) -> CATEResults:
        return CATEResults(
            fit=found["effect"],
            nuisances={name: fit for name, fit in found.items() if name != "effect"},
            guarantee=guarantee,
            outcome=self.outcome,
            what=f"effect of {self.treatment} on {self.outcome}",
            ledger=ledger,
            no_sampling=self._no_sampling(),
            learner=self.learner,
            sizes=dict(self.recipe.sizes),
            propensity=self._propensity(),
        )

    def _propensity(self) -> str:
        if self.recipe.e is None:
            return f"estimated, kept within [{self.recipe.trim:g}, {1 - self.recipe.trim:g}]"
        return f"known, {self.recipe.e}"

    def _no_sampling(self) -> str:
        """Return why no interval that contains sampling is proved; a function of public facts."""
        if self.recipe.e is None:
            return "the propensity is estimated, and its error is in no interval"
        if self.learner == "r":
            return "the R-learner divides by noisy sums of weights that depend on the data"
        return ""

    def __repr__(self) -> str:
        names = ", ".join(self.recipe.terms.names[: self.recipe.terms.features])
        return (
            f"CATE(n={self.n}, outcome: {self.outcome}, treatment: {self.treatment}, features: "
            f"{names}, learner: {self.learner})"
        )
