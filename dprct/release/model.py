"""What every release method does before and after its own mechanism."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

import narwhals as nw
import numpy as np
import pandas as pd

from dprct.encode import Coded, encodings
from dprct.errors import (
    DprctWarning,
    LedgerError,
    ParameterError,
    SchemaError,
)
from dprct.formula import names as formula_names
from dprct.io.atomic import path_of
from dprct.missing import tagged
from dprct.privacy.budget import Budget
from dprct.privacy.composition import per_row
from dprct.privacy.guarantee import Guarantee
from dprct.privacy.noise import NoiseSource, source
from dprct.release.base import Release, announced_schema, released
from dprct.release.fates import assembled, check_fates
from dprct.release.keys import key_limits, repeats, unit_rows
from dprct.release.resuming import resumed_state, with_study
from dprct.release.writing import check_name, rehearse
from dprct.results.charging import Receipt, charged, resumable
from dprct.results.confidential import HoldsRows
from dprct.schema.arguments import check_schema, listed_names
from dprct.schema.declare import declared
from dprct.schema.legal import validate
from dprct.schema.table import (
    COMPANION,
    Frame,
    check_there,
    collected,
    eager,
    names_of,
    numbers_of,
    row_count,
    table,
    text_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from dprct.privacy.accountant import Accountant
    from dprct.privacy.budget import Real
    from dprct.results.plan import Plan
    from dprct.schema.facts import Unit
    from dprct.schema.schema import Schema


class ReleaseModel(HoldsRows, ABC):
    """A release method bound to confidential data; the data leave it through ``fit`` only.

    Parameters
    ----------
    data : data frame
        pandas, Polars (eager or lazy), DuckDB or PySpark, legal in ``schema``.  Rows of an engine
        stay there, except public columns and repeated ids, which the file has row by row: these
        are read into memory, as are the synthetic rows.
    schema : Schema
        With a fate for every column, bounds or levels and a missing policy for the modelled ones.
    columns : iterable of str, optional
        Columns to model; those whose fate is ``"modelled"`` by default.
    keep : iterable of str
        Characteristics to keep besides the allow-list, for example ``"note1"``.

    Raises
    ------
    SchemaError, ColumnError
        If a public fact is missing or the data break one; no value is shown.
    """

    method: str
    needs_rows = False
    """Whether the method reads all rows at once, so that an engine's table is refused."""

    def __init__(
        self,
        data: Any,
        schema: Schema,
        *,
        columns: Iterable[str] | None = None,
        keep: Iterable[str] = (),
        default_bins: int | None = None,
    ) -> None:
        check_schema(schema)
        frame = eager(data) if self.needs_rows else table(data)
        schema = _with_fates(schema, columns).seal_beside_data()
        self.n = row_count(frame)
        check_fates(schema, self.n)
        self.schema = schema
        self.keep = _kept(schema, keep)
        self.encodings = self._encodings(default_bins)
        public = [c.name for c in schema.columns if c.fate == "public"]
        validate(schema, frame, [*modelled(schema), *public])
        self._frame = frame
        self._here = here = self._in_memory(public)
        self._units = unit_rows(schema, here)
        self._public: Mapping[str, NDArray[Any]] = {
            name: text_of(here, name)
            if schema.column(name).is_text
            else _with_payloads(*numbers_of(here, name))
            for name in public
        }

    def _in_memory(self, public: Iterable[str]) -> Frame:
        """Return the columns that are needed row by row, read at once and so in one order."""
        if not isinstance(self._frame, nw.LazyFrame):
            return self._frame
        ids = [self.schema.unit.id] if self.schema.unit.id and repeats(self.schema) else []
        wanted = dict.fromkeys([*public, *ids, *self._also_in_memory()])
        there = set(names_of(self._frame))
        beside = [name + COMPANION for name in wanted if name + COMPANION in there]
        if not wanted:
            return nw.from_native(pd.DataFrame(), eager_only=True)
        return collected(self._frame.select(*wanted, *beside))

    def _all_rows(self) -> Frame:
        """Return the table of a method that needs its rows."""
        assert isinstance(self._frame, nw.DataFrame)
        return self._frame

    def _also_in_memory(self) -> Iterable[str]:
        """Return further columns whose presence in each row is public."""
        return ()

    @classmethod
    def from_formula(cls, formula: str, data: Any, schema: Schema, **options: Any) -> Self:
        """Model the columns that a formula names; other arguments as for the class.

        Raises
        ------
        FormulaError, ColumnError, SchemaError
        """
        outcomes, regressors = formula_names(formula)
        wanted = {schema.column(name).name for name in (*outcomes, *regressors)}
        return cls(data, schema, columns=[n for n in schema.names if n in wanted], **options)

    @abstractmethod
    def plan(self, epsilon: Real, delta: Real = 0) -> Plan:
        """Return what a release would cost and how good it can be; free."""

    @abstractmethod
    def _draw(self, budget: Budget, noise: NoiseSource) -> tuple[dict[str, Any], Any]:
        """Return the released state (to be saved) and what :meth:`_columns` makes rows of."""

    @abstractmethod
    def _columns(self, drawn: Any, noise: NoiseSource) -> Mapping[str, NDArray[Any]]:
        """Return the synthetic columns, by post-processing."""

    def _revived(self, state: Mapping[str, Any]) -> Any:
        """Return from a saved state what :meth:`_draw` returned beside it.

        Raises
        ------
        LedgerError
            Where the method has no guarantee, and so pays for nothing and saves nothing.
        """
        raise LedgerError(
            f"{type(self).__name__} saves nothing that it could be resumed from; fit it again"
        )

    @abstractmethod
    def _limits(self) -> tuple[str, ...]:
        """Return what the protected file is not good for."""

    def fit(
        self,
        epsilon: Real,
        delta: Real = 0,
        *,
        accountant: Accountant | None = None,
        rng: object = None,
        confirm: bool = False,
    ) -> Release:
        """Spend the budget, once, and return the release.

        Parameters
        ----------
        epsilon : number
            Above 0.
        delta : number, default 0
            0 is pure differential privacy.
        accountant : Accountant, optional
            Is charged before anything is drawn; by default the ledger beside the data file, if
            there is one.
        rng : int or numpy.random.Generator, optional
            For simulation only: the guarantee is void and no file is written.
        confirm : bool
            Release although the plan refuses.

        Raises
        ------
        ParameterError
            If epsilon or delta is not allowed.
        ConfirmationError
            If the plan refuses and ``confirm`` is not given.
        BudgetError
            If the budget does not fit; then nothing is drawn.
        """
        plan = self.plan(epsilon, delta)
        plan.check(confirm=confirm)
        for warning in plan.warnings:
            warnings.warn(warning, DprctWarning, stacklevel=2)
        check_there(self._frame, self.n)  # before anything is charged
        noise = source(rng)
        guarantee = self.guarantee(plan.budget)
        receipt = self._charge(guarantee, accountant, noise)
        state, drawn = self._draw(self._per_row(plan.budget), noise)
        receipt.save(with_study(state, self, plan))
        return self._release(plan, guarantee, receipt, drawn, noise)

    def resume(self, entry_id: str, *, accountant: Accountant | None = None) -> Release:
        """Rebuild the release that a ledger entry paid for, from its saved state; free.

        Parameters
        ----------
        entry_id : str
            Of the ledger entry, or its number.
        accountant : Accountant, optional
            That was charged; by default the ledger beside the data file.

        Returns
        -------
        Release
            The rows are drawn anew from the state that was released, so they are not those of a
            file made before: another post-processing of the same private release.

        Raises
        ------
        LedgerError
            If nothing was saved for the entry, or it paid for another method or another study.

        Notes
        -----
        No confidential cell that is modelled is read: what depends on the data is the state that
        the entry paid for, so that post-processing it again costs nothing.
        """
        ledger = resumable(accountant, self.schema)
        entry = ledger.entry(entry_id)
        state, plan = resumed_state(ledger, entry, self)
        words = (
            f"entry {entry.id} of data set {ledger.dataset_id!r}; {entry.budget} was charged then, "
            "nothing now: resumed from its saved state, the rows are a fresh draw from the same "
            f"release; ledger head {ledger.head[:16]}"
        )
        guarantee = self.guarantee(entry.budget)
        return self._release(plan, guarantee, Receipt(words), self._revived(state), source())

    def rehearse(self, path: str | Path) -> None:
        """Refuse what would keep the protected file from being written; free, leaves nothing.

        Raises
        ------
        FileError
            If nothing may be written there.
        SchemaError
            If a .dta file cannot hold the released schema.
        """
        guarantee = self.guarantee(Budget(1))
        place = path_of(path)
        check_name(place, guarantee)
        rehearse(self._announced(guarantee), place)

    def _announced(self, guarantee: Guarantee) -> Schema:
        """Return the schema that the protected file will have."""
        return announced_schema(self.schema, guarantee, self.keep)

    def guarantee(self, budget: Budget) -> Guarantee:
        """Return what a release at this budget promises; free."""
        schema = self.schema
        facts = [
            f"the number of rows, n = {self.n}",
            "the declared bounds, levels, bins, missing codes and exclusive groups of the columns",
            "names, types, formats, labels and label sets of all columns",
            "the file's own label, sort order and characteristics that are kept",
            schema.unit.said,
        ]
        if repeats(schema):
            facts.append(f"which rows are of the same {schema.unit.name}, not of which one")
        return Guarantee.of(
            budget,
            "replace-one",
            unit=schema.unit.name,
            public_facts=tuple(facts),
            not_covered=tuple(f"column {name} (declared public)" for name in self._public),
        )

    def _encodings(self, default_bins: int | None) -> tuple[Coded, ...]:
        """Return the codes of the modelled columns, from the schema alone."""
        return encodings(self.schema, modelled(self.schema), default_bins)

    @property
    def _unit_of_charge(self) -> Unit | None:
        """Who is protected, where that is not the schema's unit."""
        return None

    def _charge(
        self, guarantee: Guarantee, accountant: Accountant | None, noise: NoiseSource
    ) -> Receipt:
        """Charge the release before anything is drawn."""
        return charged(self.schema, guarantee, self.method, accountant, noise, self._unit_of_charge)

    def _per_row(self, budget: Budget) -> Budget:
        """Return the budget of one row such that all rows of one unit together have ``budget``."""
        return per_row(budget, self.schema.unit.max_rows)

    def _release(
        self, plan: Plan, guarantee: Guarantee, receipt: Receipt, drawn: Any, noise: NoiseSource
    ) -> Release:
        rng = noise.post_processing_rng()
        columns = self._columns(drawn, noise)
        table = assembled(self.schema, columns, self._public, self.n, rng, self._units)
        if noise.simulation:
            guarantee = guarantee.as_simulation()
        limits = (*self._limits(), *key_limits(self.schema))
        return released(table, self.schema, guarantee, plan, receipt.words, limits, self.keep)

    def __repr__(self) -> str:
        names = ", ".join(modelled(self.schema))
        return f"{type(self).__name__}(n={self.n}, modelled: {names})"


def _with_payloads(values: NDArray[Any], codes: NDArray[Any]) -> NDArray[Any]:
    """Return numbers (n,) with their missing codes (n,) in NaN payloads, whatever held them."""
    return np.where(codes >= 0, tagged(np.maximum(codes, 0)), values)


def modelled(schema: Schema) -> list[str]:
    """Return the names of the columns that are modelled, in order."""
    return [c.name for c in schema.columns if c.fate == "modelled" and c.derived is None]


def _kept(schema: Schema, keep: Iterable[str]) -> tuple[str, ...]:
    """Refuse to keep a characteristic that is not there, so that no spelling mistake loses one."""
    names = listed_names(keep, "keep")
    known = {name for _, name, _ in schema.file.characteristics}
    for name in names:
        if name not in known:
            raise ParameterError(
                f"keep names {name!r}, which the file does not have; it has "
                f"{', '.join(sorted(known)) or 'no characteristics'}"
            )
    return names


def _with_fates(schema: Schema, columns: Iterable[str] | None) -> Schema:
    if columns is None:
        if not modelled(schema):
            raise SchemaError(
                "no column is modelled; declare fate='modelled' or give columns=[...]"
            )
        return schema
    if isinstance(columns, str):
        raise ParameterError(f"columns={columns!r} is text; give a list, such as [{columns!r}]")
    wanted = listed_names(columns, "columns")
    derived = [name for name in wanted if schema.column(name).derived is not None]
    if derived:
        raise SchemaError(
            f"column {derived[0]!r} is derived, so it is recomputed and not modelled; name its "
            "parents instead"
        )
    decided = [n for n in wanted if schema.column(n).fate not in (None, "modelled")]
    if decided:
        fate = schema.column(decided[0]).fate
        raise SchemaError(
            f"column {decided[0]!r} is to be modelled, but its declared fate is {fate!r}; "
            "declare fate='modelled' or leave it out"
        )
    others = [name for name in modelled(schema) if name not in wanted]
    if others:
        raise SchemaError(
            f"columns with fate 'modelled' that columns= leaves out: {', '.join(others)}; "
            "give them another fate or name them"
        )
    new = [declared(schema.column(name), {"fate": "modelled"}) for name in wanted]
    unchanged = all(schema.column(c.name) == c for c in new)
    return schema if unchanged else schema.with_columns(new)
