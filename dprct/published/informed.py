"""Hybrid, and what it shares with GenModel: covariates are drawn, outcomes follow a model."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from dprct.arguments import check_choice, checked, listed_names
from dprct.certificate.certificate import PermittedDifference
from dprct.errors import DprctWarning, FormulaError, ParameterError, SchemaError
from dprct.formula import complete_cases, design, parse
from dprct.formula.design_matrix import categories_of, columns_of, is_factor, is_missing
from dprct.lazy import pandas as pd
from dprct.missing import MISSING_CODES
from dprct.privacy.budget import Guarantee
from dprct.published.charging import PublishedModel, Unpriced
from dprct.published.covariates import Columns, Covariates, XMethod, arrays_of, covariates
from dprct.published.outcomes import arms_of, families_of, fits, made_missing, missingness
from dprct.records import dataclass
from dprct.release.release import (
    Release,
    ReleaseFacts,
    ReleaseModel,
    ReleaseSpec,
    fated,
    modelled,
)
from dprct.results.ols import check_finite
from dprct.results.plan import Contents, Plan, PlannedNumber, notes
from dprct.results.receipt import noted
from dprct.schema.columns import Column, rebounded, stored
from dprct.schema.facts import INTEGER_LIMITS
from dprct.schema.schema import check_fixed_before, check_schema
from dprct.schema.tables import numbers_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dprct.assignment import Design
    from dprct.formula import Formula
    from dprct.model import Facts, Paid
    from dprct.privacy.accountant import Accountant
    from dprct.privacy.budget import Budget
    from dprct.privacy.mechanisms import Allocation
    from dprct.privacy.noise import NoiseSource
    from dprct.published.outcomes import Family, OutcomeFit
    from dprct.results.receipt import Receipt
    from dprct.schema.schema import Schema


@dataclass(frozen=True)
class Roles:
    """The parts that the columns of an experiment's formula play."""

    formula: Formula  # as given
    right: Formula  # without outcomes
    outcomes: tuple[str, ...]
    treatment: tuple[str, ...]
    # What is drawn through the histogram: covariates, strata, and the treatment too where it
    # interacts with any of them.
    covariates: tuple[str, ...]
    interacts: bool  # whether the treatment interacts with covariates

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns, each once."""
        return tuple(dict.fromkeys((*self.outcomes, *self.treatment, *self.covariates)))


def roles(
    formula: str, schema: Schema, treatment: str | Sequence[str], assignment: Design | None
) -> Roles:
    """Read an experiment's formula, such as ``"y1 + y2 ~ treat + x + C(strata)"``.

    The columns of the design are the treatment columns; those that it uses count as covariates.

    Examples
    --------
    >>> from dprct.assignment import Block
    >>> from dprct.schema import Column, Schema
    >>> schema = Schema(tuple(Column(name) for name in ("y", "t", "x", "site")))
    >>> roles("y ~ t + x", schema, "t", Block("t", block="site")).covariates
    ('x', 'site')
    """
    given = (treatment,) if isinstance(treatment, str) else tuple(dict.fromkeys(treatment))
    parsed = parse(formula)
    if not parsed.outcomes:
        raise FormulaError(f"{parsed.text!r} has no outcome; write y ~ {' + '.join(given)} + x")
    regressors = parsed.regressor_names
    uses = () if assignment is None else assignment.uses
    for name in (*parsed.outcome_names, *regressors, *given, *uses):
        schema.column(name)
    if not given:
        raise ParameterError("treatment names no column; give the columns of the arms")
    for name in given:
        if name not in regressors:
            raise FormulaError(
                f"treatment {name!r} is not in the formula {parsed.text!r}; add it to the right of "
                "~, or leave it out of treatment"
            )
    both = [name for name in parsed.outcome_names if name in (*regressors, *given, *uses)]
    if both:
        raise FormulaError(f"{both[0]!r} is an outcome and a regressor; keep it on one side of ~")
    interacts = _interacts(parsed, given)
    covariates = [name for name in (*regressors, *uses) if interacts or name not in given]
    check_fixed_before(schema, covariates, given)
    if not interacts:
        _check_assignment(assignment, given)
    return Roles(
        parsed,
        replace(parsed, outcomes=()),
        parsed.outcome_names,
        given,
        tuple(dict.fromkeys(covariates)),
        interacts,
    )


def fixed_levels(right: Formula, data: Any, schema: Schema, complete: NDArray[np.bool_]) -> Schema:
    """The schema in which every factor has its levels, those of complete rows first.

    Notes
    -----
    The base of a factor is that of an ordinary fit of the complete rows.  Levels that occur in no
    complete row, and declared ones that nobody has, follow: their columns are zero in the fit and
    so are their coefficients, but released rows may have them.
    """
    frame = columns_of(data, right.names)
    columns = []
    for name, column in frame.items():
        if not (is_factor(column) or _as_factor(right, str(name))):
            continue
        present = ~is_missing(column)
        levels = [
            *_levels(str(name), column[present & complete], schema),
            *_levels(str(name), column[present], schema),
            *(schema.column(str(name)).levels or ()),
        ]
        columns.append(replace(schema.column(str(name)), levels=tuple(dict.fromkeys(levels))))
    return schema.with_columns(columns)


def _levels(name: str, column: pd.Series[Any], schema: Schema) -> list[Any]:
    return list(categories_of(name, column, schema, "data").categories)


def _as_factor(right: Formula, name: str) -> bool:
    return any(f.kind == "C" and name in f.names for term in right.terms for f in term)


def _interacts(parsed: Formula, treatment: tuple[str, ...]) -> bool:
    for term in parsed.terms:
        names = {name for factor in term for name in factor.names}
        if names & set(treatment) and names - set(treatment):
            return True
    return False


def _check_assignment(assignment: Design | None, treatment: tuple[str, ...]) -> None:
    if assignment is None:
        raise ParameterError(
            "assignment is not given, so treatments cannot be drawn anew; give the design, such "
            f"as ``assignment=dprct.Complete({treatment[0]!r})``"
        )
    if set(assignment.columns) != set(treatment):
        raise ParameterError(
            f"assignment draws the columns {', '.join(assignment.columns)}, treatment names "
            f"{', '.join(treatment)}; let them be the same"
        )


Array = NDArray[np.float64]
MissingOutcomes = Literal["reproduce", "drop"]


@dataclass(frozen=True, eq=False)
class Rows:
    """Released rows before they have outcomes."""

    columns: Columns  # (n,): X~ and T~
    design: Array  # (m, k): W~ of the rows without a missing covariate
    used: NDArray[np.bool_]  # (n,): which rows these are


@dataclass(frozen=True, eq=False)
class Imputed:
    """Outcomes drawn for released rows, and what is to be said of them."""

    outcomes: Mapping[str, Array]  # (m,)
    notes: tuple[str, ...] = ()  # for the certificate
    estimates: Mapping[str, Any] | None = None  # where coefficients are released


@dataclass(frozen=True, eq=False)
class Drawn:
    """Covariates that were drawn, or finished columns; and the state that a ledger saves."""

    state: Mapping[str, Any]
    columns: Columns  # (n,)


@dataclass(frozen=True, kw_only=True, eq=False)
class InformedFacts(ReleaseFacts):
    """What the plan of a published method rests on; the fits are confidential."""

    covariates: Covariates  # where X~ comes from
    fits: tuple[OutcomeFit, ...]
    # regressors, terms: columns of the design, and the term of each.
    regressors: tuple[str, ...]
    terms: tuple[str, ...]

    @property
    def omitted(self) -> Mapping[str, tuple[str, ...]]:
        """Regressors that are linear combinations of earlier ones, by outcome, as R omits them."""
        return {
            fit.outcome: tuple(
                name for name, kept in zip(self.regressors, fit.kept, strict=True) if not kept
            )
            for fit in self.fits
        }


@dataclass(frozen=True, kw_only=True)
class InformedSpec(ReleaseSpec[InformedFacts]):
    """What Hybrid and GenModel are asked for."""

    columns: tuple[str, ...] = ()
    roles: Roles
    assignment: Design | None = None
    missing_outcomes: MissingOutcomes = "reproduce"

    @abstractmethod
    def x_budget(self, facts: InformedFacts, budget: Budget) -> Budget:
        """Part of a budget that is for the covariates."""

    @abstractmethod
    def reason(self, facts: InformedFacts, budget: Budget) -> str:
        """Reason why nothing is promised."""

    def allocation(self, facts: InformedFacts, budget: Budget) -> Allocation:
        """Return no mechanism: the covariates have a price of their own, the rest has none."""
        return Unpriced(budget=budget)

    def promise(self, facts: InformedFacts, budget: Budget) -> Guarantee:
        """Return the guarantee: none, with the reason, and what the covariates alone have."""
        return Guarantee.none(
            self.reason(facts, budget),
            not_covered=("anybody in the data", *(f"column {name}" for name in facts.public)),
        )

    def planned(
        self,
        facts: InformedFacts,
        budget: Budget,
        numbers: Iterable[PlannedNumber],
        consequences: tuple[str, ...],
        refusal: str = "",
    ) -> Plan:
        """Return the plan: that of the covariates, and what the method adds."""
        x = facts.covariates.plan(self.x_budget(facts, budget))
        outcomes = "; ".join(f"{f.outcome} ({f.family})" for f in facts.fits)
        every = [
            *notes({"guarantee": "NONE, whatever epsilon is"}),
            PlannedNumber("n", facts.n, "rows"),
            *notes({"outcomes": outcomes, "T~": self._assigned_by()}),
            *numbers,
        ]
        aliased = dict.fromkeys(name for names in facts.omitted.values() for name in names)
        if aliased:
            names = ", ".join(aliased)
            every += notes({"omitted": f"{names}: combinations of earlier regressors"})
        if x is None:
            every += notes({"X~": facts.covariates.words(budget)})
            return Plan(self.method, budget, Contents(tuple(every), consequences), refusal)
        every += notes({"X~": f"{x.method}, {x.budget}"})
        every += [
            replace(one, quantity=f"X~: {one.quantity}")
            for one in x.numbers
            if not one.of_draw and one.quantity not in {"n", "guarantee"}
        ]
        said = x.consequences if facts.covariates.strict else x.consequences[:1]
        refusals = "; ".join(text for text in (x.refusal, refusal) if text)
        contents = Contents(tuple(every), (*said, *consequences), x.warnings)
        return Plan(self.method, budget, contents, refusals)

    def _assigned_by(self) -> str:
        if self.roles.interacts:
            return "drawn with the covariates, because they interact in the model"
        return str(self.assignment)

    def limits(self, facts: InformedFacts) -> tuple[str, ...]:
        """Limits of the file."""
        return (
            "protecting people: there is no guarantee",
            "outcomes have the relations of the model and no others: subgroups, nonlinearities, "
            "heteroskedasticity, tails and ties of the confidential outcomes are gone",
            f"drawn from a model, these need not obey their bounds or decimals: "
            f"{', '.join(self.roles.outcomes)}",
            "columns that are filler, withheld or keys carry no information",
        )


AnyInformed = TypeVar("AnyInformed", bound=InformedSpec)


class ModelInformed(
    PublishedModel[AnyInformed, InformedFacts, Drawn, Release],
    ReleaseModel[AnyInformed, InformedFacts, Drawn],
):
    """A release whose outcomes are drawn from a model of the confidential ones.

    See :class:`dprct.published.Hybrid` for the parameters.
    """

    needs_rows = True

    @checked
    def __init__(
        self,
        data: Any,
        schema: Schema,
        *,
        formula: str,
        treatment: str | Sequence[str],
        assignment: Design | None = None,
        families: Mapping[str, str] | None = None,
        x_method: XMethod | Any = "published",
        zeta: float | None = None,
        missing_outcomes: MissingOutcomes = "reproduce",
        attrition: bool = False,
        keep: Iterable[str] = (),
    ) -> None:
        check_schema(schema)
        check_choice("missing_outcomes", missing_outcomes, get_args(MissingOutcomes))
        found = roles(formula, schema, treatment, assignment)
        if all(c.fate is None for c in schema.columns):
            named = [schema.column(name) for name in found.columns]
            schema = schema.with_columns([replace(c, fate="modelled") for c in named])
            schema = schema.declare_rest("withheld")
        schema = fated(schema, [name for name in schema.names if name in found.columns])
        spec = self._specified(
            columns=tuple(modelled(schema)),
            keep=listed_names(keep, "keep"),
            roles=found,
            assignment=assignment,
            missing_outcomes=missing_outcomes,
        )
        public = self._open(spec, data, schema)
        if assignment is not None and not found.interacts:
            assignment.check(data, attrition=attrition).require()
        x = covariates(data, public.schema, found.covariates, x_method, zeta)
        self.facts = self._fitted(data, public, x, families_of(found.outcomes, families))

    @abstractmethod
    def _specified(self, **common: Any) -> AnyInformed:
        """Return the specification of the method."""

    @classmethod
    def from_formula(cls, formula: str, data: Any, schema: Schema, **options: Any) -> Self:
        """Bind the method to the columns that a formula names; other arguments as for the class.

        Raises
        ------
        FormulaError, ColumnError, SchemaError, ParameterError
        """
        return cls(data, schema, formula=formula, **options)

    def _fitted(
        self, data: Any, public: Facts, x: Covariates, families: Mapping[str, Family]
    ) -> InformedFacts:
        """Fit the outcomes, confidentially, and return what plans rest on."""
        schema, chosen = public.schema, self.spec.roles
        right, rows = chosen.right, self._table.rows()
        complete = complete_cases(right, data)
        if not complete.any():
            raise SchemaError(
                f"no row has all regressors of {chosen.formula.text!r}; use fewer of them"
            )
        self._levels = fixed_levels(right, data, schema, complete)
        found = design(right, data, self._levels, levels="schema")
        check_finite(found)
        arms = arms_of(arrays_of(rows, schema, chosen.treatment))
        self._absent = {}
        outcomes = {}
        for name in chosen.outcomes:
            values, codes = numbers_of(rows, name)
            outcomes[name] = values[found.used]
            self._absent[name] = missingness(arms, codes)
        return InformedFacts(
            schema=schema,
            n=public.n,
            covariates=x,
            fits=fits(found.X, outcomes, families),
            regressors=tuple(found.columns),
            terms=tuple(found.terms),
        )

    @abstractmethod
    def _impute(self, rows: Rows, budget: Budget, rng: np.random.Generator) -> Imputed:
        """Draw the outcomes of released rows."""

    def price(self, budget: Budget) -> Budget | None:
        """Charge to a ledger: for strict covariates, else nothing (None)."""
        strict = self.facts.covariates.strict
        return self.spec.x_budget(self.facts, budget) if strict else None

    def _claimed(self, allocation: Allocation) -> Budget | None:
        return self.price(allocation.budget)

    def _charge(
        self,
        guarantee: Guarantee,
        allocation: Allocation,
        accountant: Accountant | None,
        noise: NoiseSource,
    ) -> Receipt:
        own = self.spec.x_budget(self.facts, allocation.budget)
        receipt = self.facts.covariates.charged(own, accountant, noise)
        said = receipt.words + noted(self.schema, guarantee, self.method, noise)
        return replace(receipt, words=said)

    def _draw(self, allocation: Allocation, noise: NoiseSource) -> Drawn:
        own = self.spec.x_budget(self.facts, allocation.budget)
        return Drawn(*self.facts.covariates.draw(own, noise))

    def _state(self, drawn: Drawn) -> Mapping[str, Any]:
        return drawn.state

    def _columns(self, drawn: Drawn, noise: NoiseSource) -> Columns:
        """Return finished columns as they are."""
        return drawn.columns

    def _read(self, drawn: Drawn, paid: Paid) -> Release:
        rng = paid.noise.post_processing_rng()
        rows = self._rows(drawn.columns, rng)
        imputed = self._impute(rows, paid.plan.budget, rng)
        for note in imputed.notes:
            warnings.warn(note, DprctWarning, stacklevel=4)
        arms = arms_of({name: rows.columns[name] for name in self.spec.roles.treatment})
        outcomes, changed = {}, []
        for name, drawn_values in imputed.outcomes.items():
            values, column = _storable(self.schema.column(name), drawn_values)
            codes = np.zeros(self.n, np.int8)
            codes[rows.used] = -1
            if self.spec.missing_outcomes == "reproduce":
                codes = np.maximum(codes, self._absent[name].codes(arms, rng))
            every = np.zeros(self.n)
            every[rows.used] = values
            outcomes[name] = made_missing(every, codes)
            changed.append(_with_missing(column, codes))
        finished = replace(drawn, columns={**rows.columns, **outcomes})
        release = super()._read(finished, paid)
        return self._described(release, changed, imputed)

    def _rows(self, drawn: Columns, rng: np.random.Generator) -> Rows:
        """Assign treatments to the drawn covariates and code the regressors."""
        columns = dict(drawn)
        if not self.spec.roles.interacts:
            assert self.spec.assignment is not None
            assigned = self.spec.assignment.assign(_frame(columns, self.n), rng)
            for name in self.spec.roles.treatment:
                is_text = self.schema.column(name).is_text
                columns[name] = assigned[name].to_numpy(object if is_text else np.float64)
        found = design(
            self.spec.roles.right, _frame(columns, self.n), self._levels, levels="schema"
        )
        return Rows(columns, found.X, found.used)

    def _described(self, release: Release, changed: list[Column], imputed: Imputed) -> Release:
        """Return the release with the schema, limits and estimates of its imputed outcomes."""
        differences = tuple(
            PermittedDifference("type", c.name, "its model draws numbers that are not whole")
            for c in changed
            if c.type != self.schema.column(c.name).type
        )
        issued = release.issued
        if issued is not None:
            issued = replace(
                issued,
                differences=(*issued.differences, *differences),
                limits=(*issued.limits, *imputed.notes),
            )
        schema = release.schema.with_columns(changed)
        return replace(release, schema=schema, issued=issued, estimates=imputed.estimates)


def _frame(columns: Columns, rows: int) -> pd.DataFrame:
    """Return columns as a frame, text as objects, whatever pandas prefers."""
    return pd.DataFrame(
        {name: pd.Series(values, dtype=values.dtype) for name, values in columns.items()},
        index=pd.RangeIndex(rows),
    )


def _storable(column: Column, values: Array) -> tuple[Array, Column]:
    """Return values as a column can hold them, and the column, widened where they need it."""
    if column.is_integer:
        low, high = INTEGER_LIMITS.get(column.type, (-np.inf, np.inf))
        if (values != np.rint(values)).any() or ((values < low) | (values > high)).any():
            column = replace(column, type="double", integer=False, decimals=None)
    elif column.decimals is not None:
        values = np.round(values, column.decimals)
    values = stored(column, values)
    if column.bounds is not None and len(values):
        low, high = stored(column, np.array(column.bounds))
        if ((values < low) | (values > high)).any():
            column = rebounded(column, None, bins=None)
    if column.levels is not None and not np.isin(values, column.levels).all():
        column = replace(column, levels=None)
    return values, column


def _with_missing(column: Column, codes: NDArray[np.int8]) -> Column:
    """Return the column with every missing code that it has among the legal ones."""
    if column.missing is None:
        return column
    there = {MISSING_CODES[code] for code in np.unique(codes[codes >= 0])}
    legal = tuple(code for code in MISSING_CODES if code in {*column.missing, *there})
    return replace(column, missing=legal)


REASON = (
    "the outcome model is confidential: outcomes are drawn from the coefficients and the residual "
    "variance of the confidential fit as they are (Algorithm 2), whatever the covariates have"
)


@dataclass(frozen=True, kw_only=True)
class HybridSpec(InformedSpec):
    """What the Hybrid method is asked for: the options of :class:`Hybrid`."""

    key: ClassVar[str] = "published_hybrid"
    page: ClassVar[str] = "papers.md"
    method: ClassVar[str] = "published.Hybrid (dp_rct Algorithm 2)"

    def plan(self, facts: InformedFacts, allocation: Allocation) -> Plan:
        """Return the plan: how X~ and T~ are drawn, and the limits of the promise."""
        return self.planned(
            facts,
            allocation.budget,
            notes({"model": self.roles.formula.text}),
            (
                "outcomes are drawn from the confidential fit: coefficients can be estimated from "
                "the file as well as n rows allow, with no noise against that",
            ),
        )

    def x_budget(self, facts: InformedFacts, budget: Budget) -> Budget:
        """Return all of it: outcomes are drawn without noise."""
        return budget

    def reason(self, facts: InformedFacts, budget: Budget) -> str:
        """Reason why nothing is promised."""
        return f"{REASON}; {facts.covariates.words(budget)}"


class Hybrid(ModelInformed[HybridSpec]):
    """Release an experiment through Algorithm 2: **no differential-privacy guarantee**.

    Parameters
    ----------
    data : data frame
        pandas or Polars, n rows.
    schema : Schema
        If no column has a fate, those of the formula are modelled and the others withheld.  With
        ``x_method="strict"`` or ``"marginals"`` covariates need bounds or levels, and a missing
        policy.
    formula : str
        ``"y1 + y2 ~ tp + cash + x + C(strata)"``: several outcomes share X~ and T~, and each has
        its own model.
    treatment : str or sequence of str
        The treatment columns.
    assignment : Design
        Draws T~, such as ``dprct.Block("tp", block="strata")``; not needed where a treatment
        interacts with covariates: it then goes through the histogram with them.
    families : mapping of str to {"gaussian", "binomial", "poisson"}, optional
        By outcome; gaussian otherwise.  Binomial draws 0 or 1, poisson draws counts.
    x_method : {"published", "strict", "marginals"} or data frame
        Where X~ comes from: Algorithm 1 as published, the strict histogram or marginals of this
        package, or released rows of your own.
    zeta : float, optional
        As in :class:`dprct.published.MVHistogram`; 2/3 for the published histogram.
    missing_outcomes : {"reproduce", "drop"}
        Give every arm of the released file its share of missing outcomes, per missing code, or
        let all outcomes be observed.  Rows with a missing one are left out of the fit anyway.
    attrition : bool
        Rows were lost after the assignment, so that arm sizes need not be those of the design.
    keep : iterable of str
        Characteristics to keep in addition to the allow-list.

    Raises
    ------
    FormulaError, ColumnError, SchemaError
        If the formula, a column or a declared fact is wrong.
    ParameterError
        If the treatment columns are not those of the design, arms overlap or break it, an outcome
        is missing in every row, has too many regressors, or is separated by them.

    Notes
    -----
    Guarantee: none.  With strict X~ these columns, alone, are (epsilon, delta)-private and are
    charged to the ledger; the outcomes are not private at all.

    Residual variance is ``RSS / (n - rank)`` (the authors' code divides by n - 1).  A regressor
    that is a linear combination of earlier ones is omitted, as in R, and listed in the plan.  A
    released row with a missing covariate has missing outcomes, as the model says nothing of it.
    No ``estimates`` are released: fit the file.

    References
    ----------
    Algorithm 2 of "Assessing Utility of Differential Privacy for RCTs".

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from dprct import Complete
    >>> from dprct.schema import Column, Schema
    >>> rng = np.random.default_rng(1)
    >>> data = pd.DataFrame({"t": np.tile([0.0, 1.0], 200), "x": rng.integers(0, 9, 400) * 1.0})
    >>> data["y"] = 5 * data["t"] + data["x"] + rng.normal(size=400)
    >>> schema = Schema((Column("t", "byte"), Column("x", "byte"), Column("y")))
    >>> model = Hybrid.from_formula(
    ...     "y ~ t + x", data, schema, treatment="t", assignment=Complete("t")
    ... )
    >>> release = model.fit(epsilon=1)
    >>> release.protected.shape, release.guarantee.holds
    ((400, 3), False)
    """

    def _specified(self, **common: Any) -> HybridSpec:
        return HybridSpec(**common)

    def _impute(self, rows: Rows, budget: Budget, rng: np.random.Generator) -> Imputed:
        return Imputed({fit.outcome: fit.draw(rows.design, rng) for fit in self.facts.fits})
