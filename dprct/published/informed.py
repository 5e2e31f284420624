"""What Hybrid and GenModel share: covariates drawn, treatments assigned, outcomes from a model."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dprct.errors import DprctWarning, SchemaError
from dprct.formula import complete_cases, design
from dprct.missing import MISSING_CODES
from dprct.privacy.guarantee import Guarantee
from dprct.privacy.noise import source
from dprct.published.covariates import Columns, XMethod, covariates
from dprct.published.missingness import arms_of, made_missing, missingness
from dprct.published.outcomes import families_of, fits
from dprct.published.roles import Roles, fixed_levels, roles
from dprct.release.model import ReleaseModel
from dprct.results.certificate import PermittedDifference
from dprct.results.charging import noted
from dprct.results.options import check_finite
from dprct.results.plan import Plan
from dprct.schema.arguments import check_choice
from dprct.schema.facts import INTEGER_LIMITS, Column
from dprct.schema.legal import stored
from dprct.schema.table import Frame, numbers_of, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dprct.assignment import Design
    from dprct.encode import Coded
    from dprct.privacy.accountant import Accountant
    from dprct.privacy.budget import Budget, Real
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


class ModelInformed(ReleaseModel):
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
        check_choice("missing_outcomes", missing_outcomes, get_args(MissingOutcomes))
        self.roles = roles(formula, schema, treatment, assignment)
        if all(c.fate is None for c in schema.columns):
            named = [schema.column(name) for name in self.roles.columns]
            schema = schema.with_columns([replace(c, fate="modelled") for c in named])
            schema = schema.declare_rest("withheld")
        super().__init__(data, schema, columns=_in_file_order(schema, self.roles), keep=keep)
        self.assignment, self.missing_outcomes = assignment, missing_outcomes
        if assignment is not None and not self.roles.interacts:
            assignment.check(data, attrition=attrition).require()
        self._covariates = covariates(data, self.schema, self.roles.covariates, x_method, zeta)
        self._fit_outcomes(data, families_of(self.roles.outcomes, families))

    @classmethod
    def from_formula(cls, formula: str, data: Any, schema: Schema, **options: Any) -> Self:
        """Bind the method to the columns that a formula names; other arguments as for the class.

        Raises
        ------
        FormulaError, ColumnError, SchemaError, ParameterError
        """
        return cls(data, schema, formula=formula, **options)

    def _fit_outcomes(self, data: Any, families: Mapping[str, Family]) -> None:
        right = self.roles.right
        complete = complete_cases(right, data)
        if not complete.any():
            raise SchemaError(
                f"no row has all regressors of {self.roles.formula.text!r}; use fewer of them"
            )
        self._levels = fixed_levels(right, data, self.schema, complete)
        found = design(right, data, self._levels, levels="schema")
        check_finite(found)
        arms = arms_of(_columns_of(self._all_rows(), self.schema, self.roles.treatment))
        self._absent = {}
        outcomes = {}
        for name in self.roles.outcomes:
            values, codes = numbers_of(self._all_rows(), name)
            outcomes[name] = values[found.used]
            self._absent[name] = missingness(arms, codes)
        self.regressors = found.columns
        self._terms = found.terms
        self._fits: tuple[OutcomeFit, ...] = fits(found.X, outcomes, families)

    @property
    def omitted(self) -> Mapping[str, tuple[str, ...]]:
        """Regressors that are linear combinations of earlier ones, by outcome, as R omits them."""
        return {
            fit.outcome: tuple(
                name for name, kept in zip(self.regressors, fit.kept, strict=True) if not kept
            )
            for fit in self._fits
        }

    @abstractmethod
    def _x_budget(self, budget: Budget) -> Budget:
        """Return what of a budget is for the covariates."""

    @abstractmethod
    def _reason(self, budget: Budget) -> str:
        """Return why nothing is promised."""

    @abstractmethod
    def _impute(self, rows: Rows, budget: Budget, rng: np.random.Generator) -> Imputed:
        """Draw the outcomes of released rows."""

    def guarantee(self, budget: Budget) -> Guarantee:
        """Return the guarantee: none, with the reason, and what the covariates alone have."""
        return Guarantee.none(
            self._reason(budget),
            not_covered=("anybody in the data", *(f"column {name}" for name in self._public)),
        )

    def price(self, budget: Budget) -> Budget | None:
        """Return what a ledger is charged: for strict covariates, else nothing (None)."""
        return self._x_budget(budget) if self._covariates.strict else None

    def fit(
        self,
        epsilon: Real,
        delta: Real = 0,
        *,
        accountant: Accountant | None = None,
        rng: object = None,
        confirm: bool = False,
    ) -> Release:
        """Draw covariates, treatments and outcomes, and return the release.

        Parameters
        ----------
        epsilon : number
            Above 0; a parameter of the noise, and a promise for strict covariates alone.
        delta : number, default 0
        accountant : Accountant, optional
            Is charged for strict covariates; refused where nothing is promised.
        rng : int or numpy.random.Generator, optional
            For simulation only: no file is written.
        confirm : bool
            Release although the plan refuses.

        Raises
        ------
        ParameterError
            If epsilon or delta is not allowed, or an accountant has nothing to charge.
        ConfirmationError
            If the plan refuses and ``confirm`` is not given.
        BudgetError
            If the covariates' budget does not fit; then nothing is drawn.
        """
        plan = self.plan(epsilon, delta)
        plan.check(confirm=confirm)
        for warning in plan.warnings:
            warnings.warn(warning, DprctWarning, stacklevel=2)
        noise = source(rng)
        guarantee = self.guarantee(plan.budget)
        receipt = self._covariates.charged(self._x_budget(plan.budget), accountant, noise)
        said = receipt.words + noted(self.schema, guarantee, self.method, noise)
        receipt = replace(receipt, words=said)
        state, drawn = self._draw(plan.budget, noise)
        receipt.save(state)
        return self._release(plan, guarantee, receipt, drawn, noise)

    def _draw(self, budget: Budget, noise: NoiseSource) -> tuple[dict[str, Any], Columns]:
        return self._covariates.draw(self._x_budget(budget), noise)

    def _columns(self, drawn: Columns, noise: NoiseSource) -> Columns:
        """Return finished columns as they are."""
        return drawn

    def _encodings(self, default_bins: int | None) -> tuple[Coded, ...]:
        """No codes of the whole table: the covariates have their own."""
        return ()

    def _release(
        self, plan: Plan, guarantee: Guarantee, receipt: Receipt, drawn: Columns, noise: NoiseSource
    ) -> Release:
        rng = noise.post_processing_rng()
        rows = self._rows(drawn, rng)
        imputed = self._impute(rows, plan.budget, rng)
        for note in imputed.notes:
            warnings.warn(note, DprctWarning, stacklevel=3)
        arms = arms_of({name: rows.columns[name] for name in self.roles.treatment})
        outcomes, changed = {}, []
        for name, drawn_values in imputed.outcomes.items():
            values, column = _storable(self.schema.column(name), drawn_values)
            codes = np.zeros(self.n, np.int8)
            codes[rows.used] = -1
            if self.missing_outcomes == "reproduce":
                codes = np.maximum(codes, self._absent[name].codes(arms, rng))
            every = np.zeros(self.n)
            every[rows.used] = values
            outcomes[name] = made_missing(every, codes)
            changed.append(_with_missing(column, codes))
        release = super()._release(plan, guarantee, receipt, {**rows.columns, **outcomes}, noise)
        return self._described(release, changed, imputed)

    def _rows(self, drawn: Columns, rng: np.random.Generator) -> Rows:
        """Assign treatments to the drawn covariates and code the regressors."""
        columns = dict(drawn)
        if not self.roles.interacts:
            assert self.assignment is not None
            assigned = self.assignment.assign(_frame(columns, self.n), rng)
            for name in self.roles.treatment:
                is_text = self.schema.column(name).is_text
                columns[name] = assigned[name].to_numpy(object if is_text else np.float64)
        found = design(self.roles.right, _frame(columns, self.n), self._levels, levels="schema")
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

    def _planned(
        self,
        budget: Budget,
        facts: Mapping[str, str],
        consequences: tuple[str, ...],
        refusal: str = "",
    ) -> Plan:
        """Return the plan: that of the covariates, and what the method adds."""
        x = self._covariates.plan(self._x_budget(budget))
        every = {"guarantee": "NONE, whatever epsilon is", "n": f"{self.n:,} rows"}
        every |= {"outcomes": "; ".join(f"{f.outcome} ({f.family})" for f in self._fits)}
        every |= {"T~": self._assigned_by(), **facts}
        aliased = dict.fromkeys(name for names in self.omitted.values() for name in names)
        if aliased:
            every["omitted"] = f"{', '.join(aliased)}: combinations of earlier regressors"
        if x is None:
            every["X~"] = self._covariates.words(budget)
            return Plan(self.method, budget, every, consequences, (), refusal)
        every["X~"] = f"{x.method}, {x.budget}"
        every |= {f"X~: {k}": v for k, v in x.facts.items() if k not in ("n", "guarantee")}
        said = x.consequences if self._covariates.strict else x.consequences[:1]
        refusals = "; ".join(text for text in (x.refusal, refusal) if text)
        return Plan(self.method, budget, every, (*said, *consequences), x.warnings, refusals)

    def _assigned_by(self) -> str:
        if self.roles.interacts:
            return "drawn with the covariates, because they interact in the model"
        return str(self.assignment)

    def _limits(self) -> tuple[str, ...]:
        limits = [
            "protecting people: there is no guarantee",
            "outcomes have the relations of the model and no others: subgroups, nonlinearities, "
            "heteroskedasticity, tails and ties of the confidential outcomes are gone",
            f"drawn from a model, these need not obey their bounds or decimals: "
            f"{', '.join(self.roles.outcomes)}",
            "columns that are filler, withheld or keys carry no information",
        ]
        return tuple(limits)


def _in_file_order(schema: Schema, found: Roles) -> list[str]:
    return [name for name in schema.names if name in found.columns]


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
