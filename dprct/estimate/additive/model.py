"""PrivateAdditive: a regression on shapes of features from one private release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import narwhals as nw

from dprct.defaults import ADDITIVE_BINS
from dprct.estimate.additive.door import bound_table, clip_of, features_of_formula, fill_of
from dprct.estimate.additive.fitted import AdditiveFit
from dprct.estimate.additive.planning import noise_facts, noise_warnings
from dprct.estimate.additive.promises import check_neighbors, promise_of
from dprct.estimate.additive.release import layout_of, mechanism_of, released_sums
from dprct.estimate.additive.results import AdditiveResults
from dprct.estimate.additive.terms import terms_of
from dprct.estimate.base import EstimateModel
from dprct.privacy.budget import Budget
from dprct.queries import CodedRows, EngineRows
from dprct.results.plan import Plan
from dprct.schema.arguments import check_schema
from dprct.schema.table import check_there, row_count

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dprct.privacy.budget import Real
    from dprct.privacy.guarantee import Guarantee
    from dprct.privacy.noise import NoiseSource
    from dprct.queries import AdditiveLayout
    from dprct.schema import Schema


class PrivateAdditive(EstimateModel[AdditiveFit, AdditiveResults]):
    """The mean of an outcome as a sum of shapes of features, under differential privacy.

    Parameters
    ----------
    data : data frame
        pandas, Polars (eager or lazy), DuckDB or PySpark, one row per person.  Rows of an engine
        stay there: sums in the cells of features are all that it is asked for.
    schema : Schema
        With bounds or levels for every feature, and bounds for the outcome.
    outcome : str
    features : sequence of str
    clip : number, optional
        R: outcomes are clipped to the middle of their bounds plus or minus R; half their width if
        not given.  Noise is proportional to it; public knowledge, never a fact of the data.
    bins : int
        Equal bins of a feature that declares none and has more legal values.
    categorical : iterable of str
        Features of numbers whose levels have no order.
    pairs : iterable of two names
        Interactions; each costs what a feature costs.
    groups : iterable of str
        Columns whose levels are groups with a mean of their own.
    projection : sequence of str
        Features of numbers whose joint counts are released, for a linear projection on them.
    missing : number, optional
        Stands for a missing outcome.
    neighbors : {"replace-one"}

    Raises
    ------
    SchemaError, ColumnError, ParameterError
        If a public fact is missing or the data are not legal.

    Notes
    -----
    Relation: one person's row is replaced by any other legal one; n is public.  Released jointly,
    with one draw of noise: the number of people and the sum of the clipped outcome at every level
    of every feature, group and pair, the joint counts of a projection, the sum over everybody, and
    that of squares.  With d features the L2 sensitivity is
    2R sqrt(d + groups + pairs + joint/2 + 1 + 1/4), where joint is the number of pairs of projected
    columns that are not in ``pairs`` (counts beside sums are free); pure privacy pays the L1 one.
    Both are proved in :class:`dprct.queries.additive.AdditiveLayout`.  ``delta=0`` draws Laplace
    noise, ``delta > 0`` Gaussian noise (Gaussian differential privacy), both exactly, on integers.
    Shapes are cubic polynomials in the number of the bin, shrunk towards the average:
    post-processing.

    A level that nobody has, or a feature that is the same for everybody, is an ordinary case.

    References
    ----------
    ALGORITHMS.md, section 7, base learner (b).

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from dprct.schema import Column, Schema
    >>> schema = Schema((Column("y", bounds=(0, 1), missing=()),
    ...                  Column("age", "byte", bounds=(20, 59), missing=())))
    >>> age = np.tile(np.arange(20.0, 60.0), 100)
    >>> data = pd.DataFrame({"y": (age - 20) / 40, "age": age})
    >>> result = PrivateAdditive(data, schema, outcome="y", features=["age"]).fit(epsilon=20)
    >>> old, young = result.predict(pd.DataFrame({"age": [55.0, 25.0]}))
    >>> bool(old - young > 0.5), result.guarantee.relation
    (True, 'replace-one')
    """

    method = "PrivateAdditive (one release of counts and clipped sums, smoothed)"

    def __init__(
        self,
        data: Any,
        schema: Schema,
        *,
        outcome: str,
        features: Sequence[str],
        clip: float | None = None,
        bins: int = ADDITIVE_BINS,
        categorical: Iterable[str] = (),
        pairs: Iterable[Sequence[str]] = (),
        groups: Iterable[str] = (),
        projection: Sequence[str] = (),
        missing: float | None = None,
        neighbors: str = "replace-one",
    ) -> None:
        check_neighbors(neighbors)
        check_schema(schema)
        schema = schema.seal_beside_data()
        self.terms = terms_of(
            schema, features, bins=bins, categorical=categorical, pairs=pairs, groups=groups,
            projection=projection,
        )  # fmt: skip
        self._frame, self.column = bound_table(data, schema, outcome, self.terms)
        assert self.column.bounds is not None
        low, high = map(float, self.column.bounds)
        self.schema, self.outcome, self.n = schema, outcome, row_count(self._frame)
        self.middle, self.clip = low / 2 + high / 2, clip_of(clip, high / 2 - low / 2)
        self.fill = fill_of(self.column, missing)

    @classmethod
    def from_formula(cls, formula: str, data: Any, schema: Schema, **options: Any) -> Self:
        """Return the model of ``"y ~ x1 + C(x2) + x1:C(x2)"``; other arguments as for the class.

        Raises
        ------
        FormulaError
            If the formula has anything but columns, ``C()`` and pairs.
        """
        outcome, features, categorical, pairs = features_of_formula(formula)
        options = {"categorical": categorical, "pairs": pairs, **options}
        return cls(data, schema, outcome=outcome, features=features, **options)

    def layout(self, budget: Budget) -> AdditiveLayout:
        """Return what is released at a budget, with its sensitivity."""
        return layout_of(self.terms.blocks(), self.clip, budget)

    def plan(self, epsilon: Real, delta: Real = 0) -> Plan:
        """Return prices and noise; free, a function of public facts.

        Parameters
        ----------
        epsilon : number
            Above 0.
        delta : number, default 0
            Above 0 for Gaussian noise.
        """
        budget = Budget.asked(epsilon, delta)
        layout = self.layout(budget)
        facts = {"n": f"{self.n:,} rows", **noise_facts(self.terms, layout, budget, self.n)}
        consequences = (
            "the shape of a feature is the mean at its levels, not adjusted for other features",
            "what is estimated is the mean of the outcome clipped to the middle of its bounds "
            "plus or minus R",
        )
        warned = noise_warnings(self.terms, layout, budget, self.n)
        return Plan(self.method, budget, facts, consequences, warned)

    def guarantee(self, budget: Budget) -> Guarantee:
        """Return what a fit at this budget promises; free."""
        return promise_of(
            budget, self.schema.unit, self.n, self.terms, self.outcome, [self.layout(budget)]
        )

    def _check(self, budget: Budget) -> None:
        mechanism_of(self.layout(budget), budget)
        check_there(self._frame, self.n)  # before anything is charged

    def _draw(self, budget: Budget, noise: NoiseSource) -> AdditiveFit:
        read, layout = (self.terms.encodings, self.column, self.fill), self.layout(budget)
        if isinstance(self._frame, nw.LazyFrame):
            there = EngineRows.of(self._frame, self.n, *read)
            sums = released_sums(there.codes, there.outcome - self.middle, layout, budget, noise)
        else:
            rows = CodedRows.of(self._frame, *read)
            sums = released_sums(rows.codes, rows.outcome - self.middle, layout, budget, noise)
        return AdditiveFit(self.terms, sums, self.middle)

    def _state(self, found: AdditiveFit) -> dict[str, Any]:
        return found.state()

    def _results(self, found: AdditiveFit, guarantee: Guarantee, ledger: str) -> AdditiveResults:
        return AdditiveResults(
            fit=found,
            guarantee=guarantee,
            outcome=self.outcome,
            what=f"mean of {self.outcome}",
            ledger=ledger,
        )

    def __repr__(self) -> str:
        names = ", ".join(self.terms.names[: self.terms.features])
        return f"PrivateAdditive(n={self.n}, outcome: {self.outcome}, features: {names})"
