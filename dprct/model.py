"""The one way from confidential rows to a private result: a specification, a bound table, a fit.

A :class:`Spec` says what is asked for, in public facts and options alone: what is wrong with it,
how it divides a budget, what it promises and what it will cost.  A :class:`BoundTable` holds the
rows, and nothing else in the package does.  A :class:`Model` brings the two together, and its
:meth:`Model.fit` is the only place where privacy is spent.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import fields, is_dataclass, replace
from itertools import chain
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Generic,
    Protocol,
    Self,
    TypeVar,
    get_args,
    get_origin,
)

import numpy as np

from dprct.annotations import kinds_of_fields
from dprct.arguments import checked, require_kind, spelled_out
from dprct.errors import (
    ColumnError,
    DprctError,
    DprctWarning,
    EngineError,
    FormulaError,
    LedgerError,
    ParameterError,
    SchemaError,
    kind_of,
    marked,
    reword,
)
from dprct.lazy import narwhals as nw
from dprct.lazy import pandas as pd
from dprct.privacy.budget import Budget, cautious, check_delta
from dprct.privacy.noise import source
from dprct.progress import saying
from dprct.records import dataclass
from dprct.results.base import HoldsRows
from dprct.results.plan import completed, planned_draws
from dprct.results.receipt import Receipt, charged, resumable
from dprct.schema.facts import DECLARABLE
from dprct.schema.schema import check_schema
from dprct.schema.tables import (
    COMPANION,
    Counted,
    Counting,
    NumPyTable,
    asking,
    check_legal,
    check_rows,
    clipped_as_declared,
    collected,
    counted_once,
    eager,
    in_engine,
    names_of,
    opened,
    row_count,
    validate,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from dprct.privacy.accountant import Accountant
    from dprct.privacy.budget import Guarantee, Real
    from dprct.privacy.charges import Entry
    from dprct.privacy.mechanisms import Allocation
    from dprct.privacy.noise import NoiseSource
    from dprct.results.plan import Plan
    from dprct.schema.columns import Unit
    from dprct.schema.schema import Schema
    from dprct.schema.tables import Frame, Table

_STUDY = "study"  # under which a saved state says which public facts it rests on


class BoundTable(HoldsRows):
    """The confidential table of a model; the only object of the package that keeps its rows.

    Parameters
    ----------
    data : data frame
        pandas, Polars (eager or lazy), DuckDB or PySpark.  An engine keeps its rows.
    in_memory : bool, default False
        Refuse an engine's table, for a method that reads all rows at once.

    Raises
    ------
    SchemaError, EngineError, MissingDependencyError
        As of :func:`dprct.schema.tables.table`.

    Notes
    -----
    It shows nothing of the rows, and is neither pickled nor copied.  Only ``queries/`` turns
    :attr:`frame` into numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> BoundTable(pd.DataFrame({"y": [1.0, 2.0]}))
    BoundTable(2 rows)
    """

    held: Table | NumPyTable
    counted: Counted | None = None
    """What the one pass at the door of an engine found; None in memory."""
    _n: int | None = None

    def __init__(self, data: Any, *, in_memory: bool = False) -> None:
        if isinstance(data, (list, tuple, Mapping)):
            raise SchemaError(
                f"data is ``{type(data).__name__}``; one fit reads one table: merge the files and "
                "protect once, or release them separately with the same key map and ledger"
            )
        self.held = eager(data) if in_memory and not isinstance(data, NumPyTable) else opened(data)

    @property
    def frame(self) -> Table:
        """The rows behind narwhals' interface."""
        return self.held.frame if isinstance(self.held, NumPyTable) else self.held

    @property
    def n(self) -> int:
        """Number of rows, counted once."""
        if self._n is None:
            self._n = row_count(self.held)
        if self._n == 0:
            raise SchemaError("data has no rows; give a table with at least one row")
        return self._n

    def count(self, schema: Schema, columns: Sequence[str], spec: Spec[Any]) -> None:
        """Ask an engine for all counts that a method needs, in one pass; free in memory."""
        if not in_engine(self.held):
            return
        try:
            self.counted = counted_once(schema, self.held, columns, spec.counting(schema))
        except EngineError:
            raise
        except DprctError:
            return  # what is wrong with schema or options is said in their own order
        self._n = self.counted.rows

    @property
    def names(self) -> list[str]:
        """Names of the columns, which are public."""
        return names_of(self.held)

    def clipped(self, schema: Schema) -> BoundTable:
        """Return the table with values at the nearest bound where a column declares ``clip``."""
        made = BoundTable.__new__(BoundTable)
        made.held, made._n = clipped_as_declared(schema, self.held), self._n
        made.counted = self.counted
        return made

    def with_frame(self, frame: Table) -> BoundTable:
        """Return the same rows with columns that were made of each of them alone."""
        made = BoundTable.__new__(BoundTable)
        made.held, made._n, made.counted = frame, self.n, self.counted
        return made

    def check_there(self) -> None:
        """Refuse a table that is gone or has another number of rows now; one pass in an engine.

        Raises
        ------
        EngineError
        """
        check_rows(row_count(self.held), self.n)

    def asking(self, wanted: str) -> AbstractContextManager[None]:
        """Withhold what an engine says when it fails; some fail when a query is made, not run."""
        return asking(self.frame, wanted) if self.in_engine else nullcontext()

    @property
    def in_engine(self) -> bool:
        """Whether the rows stay in an engine, which may fail or hold others in the next pass."""
        return in_engine(self.held)

    def rows(self) -> Frame:
        """Return the table of a method that reads all rows at once."""
        return eager(self.frame)

    def columns(self, names: Iterable[str]) -> Frame | NumPyTable:
        """Return columns that are needed row by row: read at once, and so in one order."""
        held = self.held
        if isinstance(held, NumPyTable) or not isinstance(held, nw.LazyFrame):
            return held
        wanted, there = list(dict.fromkeys(names)), set(self.names)
        if not wanted:
            return nw.from_native(pd.DataFrame(), eager_only=True)
        companions = [name + COMPANION for name in wanted if name + COMPANION in there]
        return collected(held.select(*wanted, *companions))

    def __repr__(self) -> str:
        return f"BoundTable({self.n:,} rows)"


@dataclass(frozen=True)
class Facts:
    """What is public of a table: the facts that the guarantee of every method lists.

    Parameters
    ----------
    schema : Schema
        Sealed.
    n : int
        Rows.
    """

    schema: Schema
    n: int


def bound(spec: Spec[Any], table: BoundTable, schema: Schema) -> Facts:
    """Return the facts of a table if it, its schema and a specification fit each other."""
    check_schema(schema)
    _check_there(spec.columns, table)
    sealed, columns = schema.seal_beside_data(), tuple(dict.fromkeys(spec.columns))
    table.count(sealed, columns, spec)
    facts = Facts(sealed, table.n)
    spec.require(facts)
    shown = tuple(name for name in spec.shown(sealed) if name not in columns)
    _check_there(shown, table)
    check_legal(sealed, table.held, columns, table.counted)
    if shown:
        validate(sealed, table.held, shown)
    return facts


def _check_there(names: Iterable[str], table: BoundTable) -> None:
    there = table.names
    for name in names:
        if name not in there:
            where = "the data (from another file? merge first, protect once)"
            raise ColumnError.unknown(name, there, where)


AnyFacts = TypeVar("AnyFacts", bound=Facts)
AnySpec = TypeVar("AnySpec", bound="Spec[Any]")
Drawn = TypeVar("Drawn")


class Result(Protocol):
    """What a fit returns: a guarantee, what paid for it, a text and a table."""

    @property
    def guarantee(self) -> Guarantee:
        """What is promised to the people in the data."""

    @property
    def ledger(self) -> str:
        """What was charged, and where."""

    def summary(self) -> object:
        """Everything that was released, as text."""

    def tidy(self) -> pd.DataFrame:
        """One row per released estimate, with the column names of R's broom."""


AnyResult = TypeVar("AnyResult", bound=Result)


OF_CLUSTERS = ("largest", "icc", "cluster_mean_bounds")
"""Facts that are declared with a design of clusters."""

_FORMERLY = {"largest": "largest_cluster", "missing_policy": "missing"}

ELSEWHERE: Mapping[str, str] = {
    **{
        _FORMERLY.get(fact, fact): f"{fact} is a fact of a column: declare it with the column, "
        "beside its bounds"
        for fact in DECLARABLE
        if fact != "missing"
    },
    **{
        _FORMERLY.get(fact, fact): f"{fact} is a fact of the design: declare it with ``Cluster`` "
        "or ``BlockCluster``"
        for fact in OF_CLUSTERS
    },
}
"""Where a fact is declared that somebody gives to a method."""


class Spec(ABC, Generic[AnyFacts]):
    """What is asked of a method: public facts and options, never a row.

    A subclass is a frozen dataclass whose fields are the options of the method, under the names of
    its constructor, its section of a study file and its R function.  It computes nothing when it
    is made: :meth:`problems` says what is wrong with it.
    """

    key: ClassVar[str]
    """Name of the method in study files, and of its section there."""
    r_name: ClassVar[str] = ""
    """Name of its R function, where that is not the key."""
    page: ClassVar[str] = ""
    """Page of ``docs/`` that explains the method."""
    wide: ClassVar[bool] = False
    """Whether the method may read columns that no option names, as of a panel of donors."""
    method: ClassVar[str]
    """What ledgers and certificates call the method."""
    formula_gives: ClassVar[tuple[str, ...]] = ()
    """The fields that a formula spells; none where the method takes no formula."""
    formula_like: ClassVar[str] = ""
    """A formula as an example, where the method takes one."""
    fixed: ClassVar[Mapping[str, str]] = {}
    """Options that other methods have and this one has not, each with the reason."""

    @classmethod
    def of_formula(cls, formula: str) -> dict[str, Any]:
        """Meaning of a formula for :attr:`formula_gives`."""
        raise FormulaError(f"{formula!r} was given to a method that takes no formula; remove it")

    def options(self) -> dict[str, Any]:
        """Return the fields by name, as the constructor of the method takes them."""
        spec: Any = self
        return {f.name: getattr(self, f.name) for f in fields(spec)}

    def noted(self, schema: Schema) -> Self:
        """Specification, with options that were left out as the file itself states them."""
        return self

    def protects(self, schema: Schema) -> Unit:
        """Protected unit: the unit of the schema, or another one that was asked for."""
        return schema.unit

    def charged_as(self, budget: Budget) -> str:
        """Name under which a ledger keeps a charge of this budget."""
        return self.method

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The columns that the method reads, each once."""

    def shown(self, schema: Schema) -> tuple[str, ...]:
        """Return columns that must be legal besides those of the method: a file shows them."""
        return ()

    def counting(self, schema: Schema) -> Counting:
        """Public counts that are made of the rows while they are validated."""
        return Counting()

    @abstractmethod
    def checks(self, facts: AnyFacts) -> Iterator[Callable[[], object]]:
        """Yield what must hold; each raises the refusal that a user gets if it does not.

        A check may look at the specification and at public facts alone.
        """

    @abstractmethod
    def allocation(self, facts: AnyFacts, budget: Budget) -> Allocation:
        """Return the mechanisms that a budget buys."""

    @abstractmethod
    def guarantee(self, facts: AnyFacts, allocation: Allocation) -> Guarantee:
        """Guarantee of a fit with these mechanisms."""

    @abstractmethod
    def plan(self, facts: AnyFacts, allocation: Allocation) -> Plan:
        """Plan of a fit with these mechanisms: its cost and how good it can be."""

    def guesses(self, facts: Facts) -> Iterator[AnyFacts]:
        """Yield public facts that a table of this header may turn out to have.

        They are for trying a budget before any row is read: one that can be drawn for none of them
        can be drawn for no table.  A method whose public facts are those of the header yields
        these; one that cannot tell yields nothing.
        """
        if type_argument(type(self), Facts) is Facts:
            yield facts  # type: ignore[misc]

    def unaffordable(self, facts: Facts, budget: Budget, *, confirm: bool) -> DprctError | None:
        """Reason why a budget cannot pay for any table with this header; None if it can.

        Facts are those of the header of a file; ``confirm`` says whether a plan that refuses is
        confirmed.
        """
        refused: DprctError | None = None
        try:
            for guess in self.guesses(facts):
                refused = self._refused(guess, budget, confirm=confirm)
                if refused is None:
                    break
        except DprctError as error:  # no table of this header could be bound
            return error
        return refused

    def _refused(self, facts: AnyFacts, budget: Budget, *, confirm: bool) -> DprctError | None:
        """Reason why these facts do not allow a fit at a budget."""
        try:
            self.plan(facts, self.allocation(facts, budget)).check(confirm=confirm)
        except DprctError as error:
            return error
        return None

    def require_words(self) -> None:
        """Refuse a word that is none of those which the annotation of its option lists."""
        for name, kinds in kinds_of_fields(type(self)).items():
            if kinds[0].choices and all(kind.choices or kind.name == "None" for kind in kinds):
                require_kind(name, getattr(self, name), kinds)

    def problems(self, facts: AnyFacts) -> list[DprctError]:
        """Return everything that keeps the method from being bound to a table of these facts."""
        found: dict[str, DprctError] = {}
        for check in chain([self.require_words], self.checks(facts)):
            try:
                check()
            except DprctError as problem:
                found.setdefault(str(problem), problem)
        return list(found.values())

    def require(self, facts: AnyFacts) -> None:
        """Raise the first problem, if there is one."""
        self.require_words()
        for check in self.checks(facts):
            check()


@dataclass(frozen=True)
class Paid:
    """A fit that was planned and charged: what its result says besides what was drawn."""

    plan: Plan
    allocation: Allocation
    guarantee: Guarantee
    ledger: str  # which entry was charged, in words
    noise: NoiseSource


class Model(HoldsRows, ABC, Generic[AnySpec, AnyFacts, Drawn, AnyResult]):
    """A specification bound to a confidential table, which is read in ``fit`` and nowhere else.

    Notes
    -----
    A subclass draws (:meth:`_draw`) and reads what was drawn (:meth:`_read`).  In which order
    things are checked, charged, drawn, saved and read is the same for all, and stands here.
    """

    spec: AnySpec
    facts: AnyFacts
    _table: BoundTable
    _bought: tuple[Budget, Allocation] | None = None
    _plan: tuple[Allocation, Plan] | None = None

    warns: ClassVar[bool] = False
    """Whether ``fit`` repeats the warnings of the plan."""
    resumed: ClassVar[str] = "resumed from its saved state"
    """What a resumed fit says of itself in the words of its ledger."""
    saved_types: ClassVar[tuple[type, ...]] = ()
    """The frozen dataclasses that a draw consists of, so that it can be saved and read again."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" in cls.__dict__:
            type.__setattr__(cls, "__init__", _naming_options(cls.__dict__["__init__"]))

    @classmethod
    def results(cls) -> tuple[type[Any], ...]:
        """Return the classes of what a fit returns."""
        for base in cls.__mro__:
            for parent in base.__dict__.get("__orig_bases__", ()):
                returned = get_args(parent)[-1] if get_origin(parent) is Model else None
                if returned is not None and not isinstance(returned, TypeVar):
                    return get_args(returned) or (returned,)
        raise TypeError(f"{cls.__name__} does not say what its fit returns")

    @classmethod
    def specification(cls) -> type[Spec[Any]]:
        """Return the class of the specification, whose fields are the options."""
        found: type[Spec[Any]] = type_argument(cls, Spec)
        return found

    def _bind(
        self,
        spec: AnySpec,
        data: Any,
        schema: Schema,
        *,
        in_memory: bool = False,
    ) -> Facts:
        """Keep specification and table if they fit each other; what else is public is not known."""
        given = data if isinstance(data, BoundTable) else BoundTable(data, in_memory=in_memory)
        check_schema(schema)
        self.spec, self._table = spec, given.clipped(schema)
        return bound(spec, self._table, schema)

    @property
    def method(self) -> str:
        """What ledgers and certificates call the method."""
        return self.spec.method

    @property
    def schema(self) -> Schema:
        """The sealed schema of the table."""
        return self.facts.schema

    @property
    def n(self) -> int:
        """Rows of the table."""
        return self.facts.n

    def plan(self, epsilon: Real, delta: Real = 0, *, accept_large_delta: bool = False) -> Plan:
        """Plan of a fit: its cost and how precise it can be; free, from public facts alone.

        Parameters
        ----------
        epsilon : number
            Above 0.
        delta : number, default 0
            0 is pure differential privacy.  Some methods need a delta above 0.
        accept_large_delta : bool
            Whether a delta above ``1/n`` is meant; plan and certificate then begin with it.

        Raises
        ------
        ParameterError
            If the budget is not allowed.
        ConfirmationError
            If delta is above ``1/n`` and that is not accepted.
        """
        allocation = self._affordable(Budget.asked(epsilon, delta), accept_large_delta)
        claimed = self._claimed(allocation)
        with saying("planning"):
            planned = self._planned(allocation)
        return completed(planned, allocation, claimed, self.n, self.schema)

    @checked
    def guarantee(self, budget: Budget) -> Guarantee:
        """Guarantee of a fit at this budget; free."""
        return self._promise(self._allocated(budget))

    def _promise(self, allocation: Allocation) -> Guarantee:
        """Guarantee of a fit with these mechanisms, led by how little that is."""
        return cautious(self.spec.guarantee(self.facts, allocation), self.n)

    def _claimed(self, allocation: Allocation) -> Budget | None:
        """Claimed guarantee; None where epsilon and delta are parameters and no more."""
        return self.spec.guarantee(self.facts, allocation).budget

    def _affordable(self, budget: Budget, accept_large_delta: object) -> Allocation:
        """Mechanisms that a budget buys; a delta above ``1/n`` is refused unless accepted."""
        accepted = accept_large_delta
        if not isinstance(accepted, bool):
            raise ParameterError(
                f"accept_large_delta is ``{type(accepted).__name__}``; give ``True`` or ``False``"
            )
        try:
            allocation = self._allocated(budget)
        except ParameterError:
            check_delta(budget, self.n, accepted=accepted)  # the reason that comes first
            raise
        if (claimed := self._claimed(allocation)) is not None:
            check_delta(claimed, self.n, accepted=accepted)
        return allocation

    def _allocated(self, budget: Budget) -> Allocation:
        """Return the mechanisms that a budget buys, computed once."""
        if self._bought is None or self._bought[0] != budget:
            self._bought = budget, self.spec.allocation(self.facts, budget)
        return self._bought[1]

    def _planned(self, allocation: Allocation) -> Plan:
        """Return the plan of what a budget buys, made once."""
        if self._plan is None or self._plan[0] is not allocation:
            promised = self._claimed(allocation) is not None
            plan = replace(self.spec.plan(self.facts, allocation), priced=promised)
            self._plan = allocation, plan
        return self._plan[1]

    def fit(
        self,
        epsilon: Real,
        delta: Real = 0,
        *,
        accountant: Accountant | None = None,
        rng: object = None,
        confirm: bool = False,
        accept_large_delta: bool = False,
    ) -> AnyResult:
        """Spend the budget, once, and return the result.

        Parameters
        ----------
        epsilon : number
            Above 0.
        delta : number, default 0
            0 is pure differential privacy.  Some methods need a delta above 0.
        accountant : Accountant, optional
            Charged before anything is drawn.  By default, the ledger next to the data file, if
            there is one.
        rng : int or numpy.random.Generator, optional
            A seed, for simulation only: the guarantee is then void, and no file is written.
        confirm : bool
            Whether to go on although the plan refuses.
        accept_large_delta : bool
            Whether a delta above ``1/n`` is meant; plan and certificate then begin with it.

        Raises
        ------
        ParameterError
            If the method cannot run with this epsilon or delta.
        ConfirmationError
            If the plan refuses and ``confirm`` is not given, or delta is above ``1/n`` and
            ``accept_large_delta`` is not given.
        BudgetError
            If the accountant has less left than this; nothing is drawn then.
        """
        budget = Budget.asked(epsilon, delta)
        allocation = self._affordable(budget, accept_large_delta)
        plan = self._planned(allocation)
        plan.check(confirm=confirm)
        for warning in plan.warnings if self.warns else ():
            warnings.warn(warning, DprctWarning, stacklevel=2)
        with saying("fitting"):
            return self._spent(allocation, plan, accountant, rng)

    def _spent(
        self, allocation: Allocation, plan: Plan, accountant: Accountant | None, rng: object
    ) -> AnyResult:
        """Result of what a budget buys; the rows are asked, then the charge is made."""
        with _charged("nothing was charged"), self._table.asking("the sums of a fit"):
            draw = self._asked(allocation)
        noise, study = source(rng), self._study(allocation)
        guarantee = self._promise(allocation)
        receipt = self._charge(guarantee, allocation, accountant, noise)
        spent = f"it came after the charge, which stays spent ({receipt.words})"
        with _charged(spent), self._table.asking("the sums of a fit"):
            drawn = draw(noise)
        receipt.save({**self._state(drawn), _STUDY: study})
        return self._result(drawn, plan, allocation, receipt, noise)

    def resume(self, entry_id: str, *, accountant: Accountant | None = None) -> AnyResult:
        """Return the result that a ledger entry paid for, from its saved state; this costs nothing.

        Parameters
        ----------
        entry_id : str
            Id or number of the ledger entry.
        accountant : Accountant, optional
            The accountant that was charged.  By default, the ledger next to the data file.

        Raises
        ------
        LedgerError
            If nothing was saved for the entry, or the entry paid for another method or study.

        Notes
        -----
        No confidential value is read.  Everything that depends on the data is in the saved state,
        which the entry paid for, so that reading it again is post-processing.  A file that is made
        from it has freshly drawn rows from the same private release.
        """
        ledger = resumable(accountant, self.schema)
        entry = ledger.entry(entry_id)
        state = self._saved_for(ledger, entry)
        allocation = self._allocated(entry.budget)
        plan = self._planned(allocation)
        if state.get(_STUDY) != self._study(allocation):
            raise LedgerError(
                f"the data file or what the study declares is not what it was when entry "
                f"{entry.id} was released; restore both to resume it"
            )
        words = (
            f"entry {entry.id} of data set {ledger.dataset_id!r}; {entry.budget} was charged then, "
            f"nothing now: {self.resumed}; ledger head {ledger.head[:16]}"
        )
        return self._result(self._revived(state), plan, allocation, Receipt(words), source())

    def _charge(
        self,
        guarantee: Guarantee,
        allocation: Allocation,
        accountant: Accountant | None,
        noise: NoiseSource,
    ) -> Receipt:
        """Charge what the mechanisms cost, before anything is drawn."""
        return charged(
            self.schema,
            guarantee,
            self.spec.charged_as(allocation.budget),
            accountant,
            noise,
            cost=allocation.cost(),
            unit=self._unit(),
        )

    def _unit(self) -> Unit | None:
        """Protected unit, where it is another unit than the schema's."""
        unit = self.spec.protects(self.schema)
        return None if unit == self.schema.unit else unit

    def _asked(self, allocation: Allocation) -> Callable[[NoiseSource], Drawn]:
        """Return the draw, after all that can be asked of the rows before the charge.

        A method that knows beforehand all sums it needs asks for them here, so that an engine which
        fails, or holds other rows than at the door, costs nothing.  What it was told is sealed.
        """
        self._table.check_there()
        return lambda noise: self._draw(allocation, noise)

    @abstractmethod
    def _draw(self, allocation: Allocation, noise: NoiseSource) -> Drawn:
        """Draw what is released; the caller has charged the allocation."""

    @abstractmethod
    def _read(self, drawn: Drawn, paid: Paid) -> AnyResult:
        """Return the result of what was drawn: post-processing."""

    def _state(self, drawn: Drawn) -> Mapping[str, Any]:
        """Draws as JSON-ready values, for the ledger."""
        return {"drawn": saved(drawn)}

    def _revived(self, state: Mapping[str, Any]) -> Drawn:
        """Draws from what :meth:`_state` made of them."""
        found: Drawn = revived(state.get("drawn", {}), self.saved_types)
        return found

    def _result(
        self,
        drawn: Drawn,
        plan: Plan,
        allocation: Allocation,
        receipt: Receipt,
        noise: NoiseSource,
    ) -> AnyResult:
        guarantee = self._promise(allocation)
        if noise.simulation:
            guarantee = guarantee.as_simulation()
        return self._read(drawn, Paid(plan, allocation, guarantee, receipt.words, noise))

    def _study(self, allocation: Allocation) -> dict[str, Any]:
        """Return the public facts that a draw rests on, hashed; no words of ours are among them."""
        text = spelled_out((self.spec, planned_draws(allocation)))
        asked = hashlib.sha256(text.encode()).hexdigest()
        return {"n": self.n, "facts": self.schema.digest(), "asked": asked}

    def _saved_for(self, accountant: Accountant, entry: Entry) -> dict[str, Any]:
        """State saved for an entry, if it paid for this method."""
        if not entry.priced:
            raise LedgerError(
                f"entry {entry.id} notes a release without a guarantee, of which nothing is saved: "
                f"``{type(self).__name__}`` cannot be resumed from it; fit it again"
            )
        if not accountant.is_saved(entry.id):
            raise LedgerError(
                f"entry {entry.id} was charged, and its process ended before anything was saved; "
                "its budget is spent and it cannot be resumed; a new release is paid for by what "
                "is left"
            )
        state = accountant.recover(entry.id)
        method = self.spec.charged_as(entry.budget)
        if entry.method != method or not isinstance(state, dict):
            raise LedgerError(
                f"entry {entry.id} paid for {entry.method!r}, not for {method!r}; resume it "
                "with that method"
            )
        if "asked" not in state.get(_STUDY, {}):
            raise LedgerError(
                f"entry {entry.id} was saved before dprct 0.2.0, which this version does not read; "
                "resume it with the one that saved it"
            )
        return state


@contextmanager
def _charged(words: str) -> Iterator[None]:
    """Add to what an engine fails with what has been charged."""
    try:
        yield
    except EngineError as error:
        reword(error, f"{marked(error)}; {words}")
        raise


def type_argument(kind: type[Any], wanted: type[Any]) -> Any:
    """Return the first kind of ``wanted`` that a class gives a generic base, its own base first."""
    for base in kind.__mro__:
        for parent in base.__dict__.get("__orig_bases__", ()):
            for argument in get_args(parent):
                if isinstance(argument, type) and issubclass(argument, wanted):
                    return argument
    raise TypeError(f"{kind.__name__} does not say with which {wanted.__name__} it works")


def _naming_options(constructor: Callable[..., None]) -> Callable[..., None]:
    """Return a constructor that says of an option which does not exist what may have been meant.

    Python itself would say that the argument is unexpected, or missing, and nothing else.
    """
    parameters = inspect.signature(constructor).parameters.values()
    named = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    needed = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    known = {p.name for p in parameters}
    open_ended = any(p.kind is p.VAR_KEYWORD for p in parameters)

    @functools.wraps(constructor)
    def checked(self: Model[Any, Any, Any, Any], *args: Any, **options: Any) -> None:
        for name in options:
            if name in known:
                continue
            kind = type(self).specification()
            if name in kind.fixed:
                raise ParameterError(f"{kind_of(self)} has no ``{name}=``: {kind.fixed[name]}")
            if name in ELSEWHERE:
                said = ELSEWHERE[name]
                raise ParameterError(f"{kind_of(self)} has no option ``{name}=``: {said}")
            if not open_ended:
                raise ParameterError.unknown(name, named, kind_of(self))
        for name in needed:
            if name not in options:
                raise ParameterError(f"{kind_of(self)} needs ``{name}=``; give it")
        with saying("reading and checking the data"):
            constructor(self, *args, **options)

    return checked


def saved(value: Any) -> Any:
    """Return a released value as JSON-ready values: numbers, text, arrays, mappings, dataclasses.

    Examples
    --------
    >>> saved((1.5, np.array([1, 2])))
    {'tuple': [1.5, {'array': 'int64', 'shape': [2], 'values': [1, 2]}]}
    """
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (float, np.floating)):
        number = float(value)
        return number if np.isfinite(number) else {"float": str(number)}
    if isinstance(value, (np.integer, np.bool_)):
        return value.item()
    if isinstance(value, np.ndarray):
        cells, kind = value.ravel().tolist(), value.dtype.kind
        plain = kind in "biu" or (kind == "f" and bool(np.isfinite(value).all()))
        return {
            "array": value.dtype.name,
            "shape": list(value.shape),
            "values": cells if plain else [saved(cell) for cell in cells],
        }
    if isinstance(value, (tuple, list)):
        return {"tuple": [saved(one) for one in value]}
    if isinstance(value, dict):
        return {"mapping": [[saved(key), saved(one)] for key, one in value.items()]}
    if is_dataclass(value) and not isinstance(value, type):
        held = {f.name: saved(getattr(value, f.name)) for f in fields(value) if f.init}
        return {"is": type(value).__name__, **{"fields": held}}
    raise ParameterError(f"a ``{type(value).__name__}`` is not saved with a ledger")


def revived(state: Any, types: tuple[type, ...] = ()) -> Any:
    """The value that :func:`saved` was given, of these dataclasses; lists come back as tuples.

    Examples
    --------
    >>> revived(saved((1.5, float("inf"))))
    (1.5, inf)
    """
    if state is None or isinstance(state, (bool, int, float, str)):
        return state
    known = {kind.__name__: kind for kind in types}
    match state:
        case {"float": str(text)}:
            return float(text)
        case {"array": str(dtype), "shape": list(shape), "values": list(cells)}:
            made = np.empty(len(cells), np.dtype(dtype))
            made[:] = [revived(cell) for cell in cells]
            return made.reshape(shape)
        case {"tuple": list(parts)}:
            return tuple(revived(one, types) for one in parts)
        case {"mapping": list(pairs)}:
            return {revived(key, types): revived(one, types) for key, one in pairs}
        case {"is": str(name), "fields": dict(held)} if name in known:
            return known[name](**{key: revived(one, types) for key, one in held.items()})
    raise LedgerError("a saved state is not in the form that this version writes; fit again")
