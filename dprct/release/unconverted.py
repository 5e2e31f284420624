"""What a calibrated release does before and after its own mechanism."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import narwhals as nw
import pandas as pd

from dprct.errors import (
    DprctWarning,
)
from dprct.io.atomic import path_of
from dprct.privacy.budget import Budget
from dprct.privacy.guarantee import Guarantee
from dprct.privacy.noise import NoiseSource, source
from dprct.release.base import Release, announced_schema, released
from dprct.release.fates import assembled, check_fates
from dprct.release.keys import key_limits, repeats, unit_rows
from dprct.release.model import check_kept, fated, modelled, values_of
from dprct.release.resuming import resumed_state, with_study
from dprct.release.writing import check_name, rehearse
from dprct.results.charging import Receipt, charged, resumable
from dprct.results.confidential import HoldsRows
from dprct.schema.arguments import listed_names
from dprct.schema.legal import validate
from dprct.schema.table import (
    COMPANION,
    Frame,
    check_there,
    collected,
    names_of,
    row_count,
    table,
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


class UnconvertedRelease(HoldsRows, ABC):
    """A release method bound to confidential data; the data leave it through ``fit`` only.

    Parameters
    ----------
    data : data frame
        pandas, Polars (eager or lazy), DuckDB or PySpark, legal in ``schema``.  Rows of an engine
        stay there, except public columns and repeated ids, which the file has row by row: these
        are read into memory, as are the synthetic rows.
    schema : Schema
        With a fate for every column, bounds or levels and a missing policy for the modelled ones.
    keep : iterable of str
        Characteristics to keep besides the allow-list, for example ``"note1"``.

    Raises
    ------
    SchemaError, ColumnError
        If a public fact is missing or the data break one; no value is shown.
    """

    method: str

    def __init__(
        self,
        data: Any,
        schema: Schema,
        *,
        keep: Iterable[str] = (),
    ) -> None:
        frame = table(data)
        schema = fated(schema, None).seal_beside_data()
        self.n = row_count(frame)
        check_fates(schema, self.n)
        self.schema = schema
        self.keep = listed_names(keep, "keep")
        check_kept(schema, self.keep)
        public = [c.name for c in schema.columns if c.fate == "public"]
        validate(schema, frame, [*modelled(schema), *public])
        self._frame = frame
        self._here = here = self._in_memory(public)
        self._units = unit_rows(schema, here)
        self._public: Mapping[str, NDArray[Any]] = {
            name: values_of(schema, here, name) for name in public
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

    def _also_in_memory(self) -> Iterable[str]:
        """Return further columns whose presence in each row is public."""
        return ()

    @abstractmethod
    def plan(self, epsilon: Real, delta: Real = 0) -> Plan:
        """Return what a release would cost and how good it can be; free."""

    @abstractmethod
    def _draw(self, budget: Budget, noise: NoiseSource) -> tuple[dict[str, Any], Any]:
        """Return the released state (to be saved) and what :meth:`_columns` makes rows of."""

    @abstractmethod
    def _columns(self, drawn: Any, noise: NoiseSource) -> Mapping[str, NDArray[Any]]:
        """Return the synthetic columns, by post-processing."""

    @abstractmethod
    def _revived(self, state: Mapping[str, Any]) -> Any:
        """Return from a saved state what :meth:`_draw` returned beside it."""

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
        state, drawn = self._draw(plan.budget, noise)
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

    @property
    def _unit_of_charge(self) -> Unit | None:
        """Who is protected, where that is not the schema's unit."""
        return None

    def _charge(
        self, guarantee: Guarantee, accountant: Accountant | None, noise: NoiseSource
    ) -> Receipt:
        """Charge the release before anything is drawn."""
        return charged(self.schema, guarantee, self.method, accountant, noise, self._unit_of_charge)

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
