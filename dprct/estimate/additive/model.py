"""PrivateAdditive: a regression on shapes of features from one private release."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

from dprct.arguments import check_not_named, checked, distinct_names, given, one_name
from dprct.defaults import ADDITIVE_BINS
from dprct.errors import FormulaError, ParameterError, SchemaError
from dprct.estimate.additive.fitted import AdditiveFit
from dprct.estimate.additive.release import (
    AdditiveAllocation,
    AdditiveSums,
    Cells,
    allocation_of,
    asked_sums,
    average_noise,
    check_neighbors,
    guarantee_of,
    layout_of,
    noise_warnings,
    planned_noise,
)
from dprct.estimate.additive.results import AdditiveResults
from dprct.estimate.additive.terms import distinct_pairs, terms_of
from dprct.estimate.effects import with_bounds
from dprct.estimate.experiment import check_sample, fill_of
from dprct.formula.syntax import parse
from dprct.lazy import narwhals as nw
from dprct.model import Facts, Model, Spec
from dprct.queries.additive import Block, CodedRows, EngineRows
from dprct.records import dataclass
from dprct.results.plan import ESTIMAND, Contents, Plan, PlannedNumber, errors_of_estimate, notes
from dprct.schema.facts import EXTREMES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dprct.estimate.additive.terms import Terms
    from dprct.model import Paid
    from dprct.privacy.budget import Budget, Guarantee
    from dprct.privacy.mechanisms import Allocation
    from dprct.privacy.noise import NoiseSource
    from dprct.schema import Column, Schema

SUMS = "sums"
"""The one part of an allocation of :class:`PrivateAdditive`."""


@dataclass(frozen=True)
class Target:
    """The outcome of an additive model, by the schema alone."""

    column: Column  # with bounds
    fill: float | None  # what stands for a missing outcome

    @property
    def bounds(self) -> tuple[float, float]:
        """The bounds of the outcome."""
        assert self.column.bounds is not None
        low, high = self.column.bounds
        return float(low), float(high)

    @property
    def middle(self) -> float:
        """The middle of the bounds."""
        low, high = self.bounds
        return low / 2 + high / 2

    @property
    def half(self) -> float:
        """Half the width of the bounds."""
        low, high = self.bounds
        return high / 2 - low / 2

    @property
    def sd(self) -> float:
        """Standard deviation of the outcome: declared, or the most that the bounds allow."""
        return self.half if self.column.sd is None else self.column.sd

    @property
    def sd_from(self) -> str:
        """Where :attr:`sd` is from, in words."""
        declared = self.column.sd is not None
        return f"sd {self.sd:.4g}, {'declared' if declared else 'the most that the bounds allow'}"

    @property
    def said(self) -> str:
        """The outcome in words."""
        low, high = self.bounds
        filled = "" if self.fill is None else f"; a missing value counts as {self.fill:g}"
        return f"{self.column.name}, from {low:g} to {high:g}{filled}"


@dataclass(frozen=True, kw_only=True)
class ShapesSpec(Spec[Facts]):
    """What every additive model is asked for: an outcome, features, and what to release of them."""

    formula_gives: ClassVar[tuple[str, ...]] = ("outcome", "features", "categorical", "pairs")
    formula_like: ClassVar[str] = "y ~ age + C(village)"

    outcome: str
    features: tuple[str, ...]
    clip: float | None = None
    bins: int = ADDITIVE_BINS
    categorical: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()
    subgroups: tuple[str, ...] = ()
    projection: tuple[str, ...] = ()
    neighbors: str = "replace-one"

    @classmethod
    def of_formula(cls, formula: str) -> dict[str, Any]:
        """Return outcome, features, those in ``C()``, and pairs of ``"y ~ x1 + C(g) + x1:x2"``."""
        return dict(zip(cls.formula_gives, features_of_formula(formula), strict=True))

    @property
    def columns(self) -> tuple[str, ...]:
        """Outcome, features and subgroups."""
        return tuple(dict.fromkeys((self.outcome, *self.features, *self.subgroups)))

    def checks(self, facts: Facts) -> Iterator[Callable[[], object]]:
        """Yield what must hold of options and columns."""
        yield lambda: check_neighbors(self.neighbors)
        yield lambda: self.terms(facts)
        yield lambda: check_rows_of_units(facts.schema)
        yield lambda: check_sample(facts.schema)
        yield self._check_roles
        yield lambda: self.target(facts)

    def _check_roles(self) -> None:
        if self.outcome in (*self.features, *self.subgroups):
            raise ParameterError(
                f"{self.outcome!r} is the outcome and a feature, too; name it once"
            )

    def terms(self, facts: Facts) -> Terms:
        """Return features, subgroups and pairs with their levels, by the schema."""
        return terms_of(
            facts.schema, self.features, bins=self.bins, categorical=self.categorical,
            pairs=self.pairs, subgroups=self.subgroups, projection=self.projection,
        )  # fmt: skip

    def target(self, facts: Facts) -> Target:
        """Return the outcome with its bounds, and what stands for a missing one."""
        column = with_bounds(facts.schema.column(self.outcome))
        return Target(column, fill_of(column))


@dataclass(frozen=True, kw_only=True)
class AdditiveSpec(ShapesSpec):
    """What a private additive regression is asked for: the options of :class:`PrivateAdditive`."""

    key: ClassVar[str] = "private_additive"
    page: ClassVar[str] = "heterogeneous_effects.md"
    method: ClassVar[str] = "PrivateAdditive (one release of counts and clipped sums, smoothed)"

    def checks(self, facts: Facts) -> Iterator[Callable[[], object]]:
        """Yield what must hold of options and columns."""
        yield from super().checks(facts)
        yield lambda: clip_of(self.clip, 1.0)

    def allocation(self, facts: Facts, budget: Budget) -> AdditiveAllocation:
        """Return the one joint mechanism that a budget buys."""
        clip = clip_of(self.clip, self.target(facts).half)
        layout = layout_of(self.terms(facts).blocks(), clip, budget)
        return allocation_of({SUMS: layout}, budget)

    def guarantee(self, facts: Facts, allocation: Allocation) -> Guarantee:
        """Guarantee of a fit."""
        return guarantee_of(as_additive(allocation), facts, self.terms(facts), self.outcome)

    def plan(self, facts: Facts, allocation: Allocation) -> Plan:
        """Return prices and noise."""
        return Plan(
            self.method, allocation.budget, partial(self._contents, facts, as_additive(allocation))
        )

    def _contents(self, facts: Facts, bought: AdditiveAllocation) -> Contents:
        terms, target = self.terms(facts), self.target(facts)
        noise, sampling = average_noise(bought, facts.n), target.sd / math.sqrt(facts.n)
        numbers = (
            PlannedNumber(
                ESTIMAND, why=f"mean of {self.outcome} clipped to the middle of its bounds +- R, "
                "at the levels of each feature, not adjusted for other features",
            ),
            *notes({"outcome": target.said}),
            PlannedNumber("n", facts.n, "rows"),
            *errors_of_estimate(
                math.hypot(noise, sampling), sampling, noise, why=target.sd_from,
                outcome=self.outcome, term="average",
            ),
            *planned_noise(terms, bought, facts.n),
        )  # fmt: skip
        return Contents(numbers, warnings=noise_warnings(terms, bought, facts.n))


class PrivateAdditive(Model[AdditiveSpec, Facts, AdditiveSums, AdditiveResults]):
    """How the mean of an outcome varies with features, under differential privacy.

    Parameters
    ----------
    data : data frame
        A table with one row per person in pandas, Polars (eager or lazy), DuckDB or PySpark.  If it
        lives in an engine, its rows stay there; only sums within the levels of features are asked
        for.
    schema : Schema
        Public facts: bounds or levels for every feature, and bounds for the outcome, with
        the number that stands for a missing one as its ``missing_policy``.
    outcome : str
        A numeric column with bounds.
    features : sequence of str
        Columns that the mean of the outcome may vary with.
    clip : number, optional
        R: outcomes are clipped to the middle of their bounds plus or minus R, and noise is
        proportional to R. It must come from public knowledge, never from the data.  By default,
        half the width of the bounds.
    bins : int
        Equal bins for a feature that declares none and has more admissible values than this.
    categorical : iterable of str
        Numeric features whose levels have no order.
    pairs : iterable of two names
        Interactions; each costs as much as a feature.
    subgroups : iterable of str
        Columns whose levels are subgroups; the mean of each is released.
    projection : sequence of str
        Numeric features whose joint counts are released, for a linear projection on them.
    neighbors : {"replace-one"}
        Which data sets are neighbours.

    Raises
    ------
    SchemaError, ColumnError, ParameterError
        If a public fact is missing, or the data do not fit the schema.  Nothing is spent.

    Notes
    -----
    Relation: one person's row is replaced by any admissible one; n is public.  Released jointly,
    with one draw of noise: the number of people and the sum of the clipped outcome at every level
    of every feature, subgroup and pair, the joint counts of a projection, the sum over everybody,
    and that of squares.  With d features the L2 sensitivity is
    2R sqrt(d + subgroups + pairs + joint/2 + 1 + 1/4), where joint is the number of pairs of
    projected columns that are not in ``pairs`` (no count adds to the price of its sum); pure
    privacy pays the L1 one.  Both are proved in
    :class:`dprct.queries.additive.AdditiveLayout`.  ``delta=0`` draws Laplace
    noise, ``delta > 0`` Gaussian noise (Gaussian differential privacy), both exactly, on integers.
    Shapes are cubic polynomials in the number of the bin, shrunk towards the average:
    post-processing.

    Levels that nobody has, and features that are the same for everybody, need no special treatment.

    References
    ----------
    Dong, Roth and Su (2022), "Gaussian Differential Privacy".

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

    saved_types = (AdditiveSums, Cells, Block)

    @checked
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
        subgroups: Iterable[str] = (),
        projection: Sequence[str] = (),
        neighbors: str = "replace-one",
    ) -> None:
        spec = AdditiveSpec(
            outcome=one_name(outcome, "outcome"), features=distinct_names(features, "features"),
            clip=clip, bins=bins, categorical=distinct_names(categorical, "categorical"),
            pairs=distinct_pairs(pairs), subgroups=distinct_names(subgroups, "subgroups"),
            projection=distinct_names(projection, "projection"),
            neighbors=neighbors,
        )  # fmt: skip
        self.facts = self._bind(spec, data, schema)

    @classmethod
    def from_formula(cls, formula: str, data: Any, schema: Schema, **options: Any) -> Self:
        """Return the model of ``"y ~ x1 + C(x2) + x1:C(x2)"``; other arguments as for the class.

        Raises
        ------
        FormulaError
            If the formula has anything but columns, ``C()`` and pairs.
        """
        named = AdditiveSpec.of_formula(formula)
        check_not_named(options, ("outcome", "features"))
        return cls(data, schema, **{**named, **options})

    def _asked(self, allocation: Allocation) -> Callable[[NoiseSource], AdditiveSums]:
        bought, frame = as_additive(allocation), self._table.frame
        target, encoded = self.spec.target(self.facts), self.spec.terms(self.facts).encodings
        read = (encoded, target.column, target.fill)
        rows: EngineRows | CodedRows
        if isinstance(frame, nw.LazyFrame):
            rows = EngineRows.of(frame, self.n, *read)
        else:
            rows = CodedRows.of(frame, *read)
        values: Any = rows.outcome - target.middle
        return asked_sums(rows.codes, values, *bought.last)

    def _draw(self, allocation: Allocation, noise: NoiseSource) -> AdditiveSums:
        return self._asked(allocation)(noise)

    def _read(self, drawn: AdditiveSums, paid: Paid) -> AdditiveResults:
        terms, target = self.spec.terms(self.facts), self.spec.target(self.facts)
        return AdditiveResults(
            fit=AdditiveFit(terms, drawn, target.middle),
            guarantee=paid.guarantee,
            outcome=self.spec.outcome,
            what=f"mean of {self.spec.outcome}",
            ledger=paid.ledger,
        )

    def __repr__(self) -> str:
        names = ", ".join(self.spec.features)
        return f"PrivateAdditive(n={self.n}, outcome: {self.spec.outcome}, features: {names})"


def as_additive(allocation: Allocation) -> AdditiveAllocation:
    """Return the allocation as the kind that additive models have."""
    assert isinstance(allocation, AdditiveAllocation)
    return allocation


def check_rows_of_units(schema: Schema) -> None:
    """Refuse units of several rows: one row is what an additive model protects."""
    if schema.unit.max_rows > 1:
        raise SchemaError(
            f"one {schema.unit.name} has several rows; give one row per {schema.unit.name}"
        )


def clip_of(clip: object, default: float) -> float:
    """Return R, the declared clip."""
    if clip is None:
        return default
    if isinstance(clip, bool) or not isinstance(clip, (int, float)):
        raise ParameterError(f"``clip={given(clip)}``; give a number above 0 from public knowledge")
    if not EXTREMES[0] <= clip <= EXTREMES[1]:
        raise ParameterError(
            f"``clip={clip!r}``; give a number above 0, from {EXTREMES[0]:g} to {EXTREMES[1]:g}, "
            "from public knowledge"
        )
    return float(clip)


def features_of_formula(
    formula: str,
) -> tuple[str, tuple[str, ...], tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Return outcome, features, those in ``C()``, and pairs of ``"y ~ x1 + C(g) + x1:x2"``.

    Examples
    --------
    >>> features_of_formula("y ~ age + C(village) + age:C(village)")
    ('y', ('age', 'village'), ('village',), (('age', 'village'),))
    """
    parsed = parse(formula)
    factors = [factor for term in parsed.terms for factor in term]
    plain = len(parsed.outcomes) == 1 and parsed.outcomes[0].kind == "name" and parsed.intercept
    if not plain or any(f.kind == "expression" for f in factors) or not parsed.terms:
        raise FormulaError(
            f"{formula!r} is not of the form 'y ~ x1 + C(x2) + x1:C(x2)': one outcome, columns, "
            "C() for levels without order, and pairs; declare anything else as a derived column"
        )
    names = [[factor.names[0] for factor in term] for term in parsed.terms]
    features = tuple(dict.fromkeys(term[0] for term in names if len(term) == 1))
    pairs = tuple((term[0], term[1]) for term in names if len(term) == 2)
    if any(len(term) > 2 for term in names) or any(
        name not in features for pair in pairs for name in pair
    ):
        raise FormulaError(
            f"{formula!r} has an interaction of more than two features, or of one that does not "
            "stand alone; write x1 + x2 + x1:x2, or x1*x2"
        )
    levels = tuple(dict.fromkeys(f.names[0] for f in factors if f.kind == "C"))
    return parsed.outcome_names[0], features, levels, pairs
