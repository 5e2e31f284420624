"""What Hybrid and GenModel share: covariates drawn, treatments assigned, outcomes from a model."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dprct.errors import DprctWarning, SchemaError
from dprct.formula import complete_cases, design
from dprct.missing import MISSING_CODES
from dprct.privacy.guarantee import Guarantee
from dprct.published.charging import Unpriced
from dprct.published.covariates import Columns, Covariates, XMethod, covariates
from dprct.published.missingness import arms_of, made_missing, missingness
from dprct.published.outcomes import families_of, fits
from dprct.published.roles import Roles, fixed_levels, roles
from dprct.release.model import ReleaseFacts, ReleaseModel, ReleaseSpec, fated, modelled
from dprct.results.certificate import PermittedDifference
from dprct.results.charging import noted
from dprct.results.options import check_finite
from dprct.results.plan import Plan
from dprct.schema.columns import INTEGER_LIMITS, Column
from dprct.schema.tables import Frame, numbers_of, text_of
from dprct.schema.validate import check_choice, check_schema, listed_names, stored

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dprct.assignment import Design
    from dprct.model import Facts
    from dprct.privacy.accountant import Accountant
    from dprct.privacy.allocation import Allocation
    from dprct.privacy.budget import Budget
    from dprct.privacy.noise import NoiseSource
    from dprct.published.outcomes import Family, OutcomeFit
    from dprct.release.base import Release
    from dprct.results.charging import Receipt
    from dprct.schema.schema import Schema

Array = NDArray[np.float64]
MissingOutcomes = Literal["reproduce", "drop"]


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Released rows before they have outcomes.

    Parameters
    ----------
    columns : mapping of str to (n,) array
        X~ and T~.
    design : (m, k) array
        W~ of the rows without a missing covariate.
    used : (n,) array of bool
        Which rows these are.
    """

    columns: Columns
    design: Array
    used: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Imputed:
    """Outcomes drawn for released rows, and what is to be said of them.

    Parameters
    ----------
    outcomes : mapping of str to (m,) array
    notes : tuple of str
        For the certificate.
    estimates : mapping of str to results, or None
        Where coefficients are released.
    """

    outcomes: Mapping[str, Array]
    notes: tuple[str, ...] = ()
    estimates: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """Covariates that were drawn, or finished columns; and the state that a ledger saves.

    Parameters
    ----------
    state : mapping
    columns : mapping of str to (n,) array
    """

    state: Mapping[str, Any]
    columns: Columns


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class InformedFacts(ReleaseFacts):
    """What the plan of a published method rests on; the fits are confidential.

    Parameters
    ----------
    covariates : Covariates
        Where X~ comes from.
    fits : tuple of OutcomeFit
    regressors, terms : tuple of str
        Columns of the design, and the term of each.
    """

    covariates: Covariates
    fits: tuple[OutcomeFit, ...]
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

    roles: Roles
    assignment: Design | None = None
    missing_outcomes: MissingOutcomes = "reproduce"

    @abstractmethod
    def x_budget(self, facts: InformedFacts, budget: Budget) -> Budget:
        """Return what of a budget is for the covariates."""

    @abstractmethod
    def reason(self, facts: InformedFacts, budget: Budget) -> str:
        """Return why nothing is promised."""

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
        numbers: Mapping[str, str],
        consequences: tuple[str, ...],
        refusal: str = "",
    ) -> Plan:
        """Return the plan: that of the covariates, and what the method adds."""
        x = facts.covariates.plan(self.x_budget(facts, budget))
        every = {"guarantee": "NONE, whatever epsilon is", "n": f"{facts.n:,} rows"}
        every |= {"outcomes": "; ".join(f"{f.outcome} ({f.family})" for f in facts.fits)}
        every |= {"T~": self._assigned_by(), **numbers}
        aliased = dict.fromkeys(name for names in facts.omitted.values() for name in names)
        if aliased:
            every["omitted"] = f"{', '.join(aliased)}: combinations of earlier regressors"
        if x is None:
            every["X~"] = facts.covariates.words(budget)
            return Plan(self.method, budget, every, consequences, (), refusal)
        every["X~"] = f"{x.method}, {x.budget}"
        every |= {f"X~: {k}": v for k, v in x.facts.items() if k not in ("n", "guarantee")}
        said = x.consequences if facts.covariates.strict else x.consequences[:1]
        refusals = "; ".join(text for text in (x.refusal, refusal) if text)
        return Plan(self.method, budget, every, (*said, *consequences), x.warnings, refusals)

    def _assigned_by(self) -> str:
        if self.roles.interacts:
            return "drawn with the covariates, because they interact in the model"
        return str(self.assignment)

    def limits(self, facts: InformedFacts) -> tuple[str, ...]:
        """Return what the file is not good for."""
        return (
            "protecting people: there is no guarantee",
            "outcomes have the relations of the model and no others: subgroups, nonlinearities, "
            "heteroskedasticity, tails and ties of the confidential outcomes are gone",
            f"drawn from a model, these need not obey their bounds or decimals: "
            f"{', '.join(self.roles.outcomes)}",
            "columns that are filler, withheld or keys carry no information",
        )


AnyInformed = TypeVar("AnyInformed", bound=InformedSpec)


class ModelInformed(ReleaseModel[AnyInformed, InformedFacts, Drawn]):
    """A release whose outcomes are drawn from a model of the confidential ones.

    See :class:`dprct.published.Hybrid` for the parameters.
    """

    needs_rows = True

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
        public, _ = self._open(spec, data, schema)
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
        arms = arms_of(_columns_of(rows, schema, chosen.treatment))
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
        """Return what a ledger is charged: for strict covariates, else nothing (None)."""
        strict = self.facts.covariates.strict
        return self.spec.x_budget(self.facts, budget) if strict else None

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

    def _read(
        self,
        drawn: Drawn,
        plan: Plan,
        allocation: Allocation,
        guarantee: Guarantee,
        ledger: str,
        noise: NoiseSource,
    ) -> Release:
        rng = noise.post_processing_rng()
        rows = self._rows(drawn.columns, rng)
        imputed = self._impute(rows, plan.budget, rng)
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
        release = super()._read(finished, plan, allocation, guarantee, ledger, noise)
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
        """Return the release with what its outcomes have become."""
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


def _columns_of(frame: Frame, schema: Schema, names: Iterable[str]) -> Columns:
    return {
        name: text_of(frame, name) if schema.column(name).is_text else numbers_of(frame, name)[0]
        for name in names
    }


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
            column = replace(column, bounds=None, bins=None)
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
