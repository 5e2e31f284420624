"""What all releases share: a table with fates goes in, a protected file comes out."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from dprct.arguments import checked
from dprct.errors import LedgerError, ParameterError, SchemaError
from dprct.formula import names as formula_names
from dprct.io.atomic import path_of
from dprct.missing import tagged
from dprct.model import Drawn, Facts, Model, Spec
from dprct.privacy.budget import Budget
from dprct.privacy.guarantee import Guarantee
from dprct.release.columns import assembled, check_fates, key_limits, repeats, unit_rows
from dprct.release.release import Release, announced_schema, released
from dprct.release.writing import check_name, rehearse
from dprct.schema.arguments import check_schema, listed_names
from dprct.schema.declare import declared
from dprct.schema.tables import numbers_of, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from dprct.encoding import Coded
    from dprct.privacy.allocation import Allocation
    from dprct.privacy.noise import NoiseSource
    from dprct.results.plan import Plan
    from dprct.schema.schema import Schema
    from dprct.schema.tables import Frame


@dataclass(frozen=True, slots=True)
class ReleaseFacts(Facts):
    """What is public of a table that is released.

    Parameters
    ----------
    schema : Schema
        Sealed, with a fate for every column.
    n : int
        Rows.
    encodings : tuple of Coded
        How the modelled columns become codes, where public facts define them.
    """

    encodings: tuple[Coded, ...] = ()

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many codes each modelled column has."""
        return tuple(encoding.size for encoding in self.encodings)

    @property
    def public(self) -> tuple[str, ...]:
        """The columns that the file shows as they are."""
        return tuple(c.name for c in self.schema.columns if c.fate == "public")


AnyFacts = TypeVar("AnyFacts", bound=ReleaseFacts)
AnySpec = TypeVar("AnySpec", bound="ReleaseSpec[Any]")


@dataclass(frozen=True, kw_only=True)
class ReleaseSpec(Spec[AnyFacts]):
    """What every release is asked for.

    Parameters
    ----------
    columns : tuple of str
        Columns to model.
    keep : tuple of str
        Characteristics to keep besides the allow-list.
    """

    columns: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()

    def checks(self, facts: Facts) -> Iterator[Callable[[], object]]:
        """Yield what must hold of fates and characteristics."""
        yield lambda: check_fates(facts.schema, facts.n)
        yield lambda: check_kept(facts.schema, self.keep)

    @abstractmethod
    def limits(self, facts: AnyFacts) -> tuple[str, ...]:
        """Return what the protected file is not good for."""

    def guarantee(self, facts: AnyFacts, allocation: Allocation) -> Guarantee:
        """Return what a release with these mechanisms promises."""
        return self.promise(facts, allocation.budget)

    def promise(self, facts: AnyFacts, budget: Budget) -> Guarantee:
        """Return what a release at a budget promises, whatever it buys."""
        schema = facts.schema
        shown = [
            f"the number of rows, n = {facts.n}",
            "the declared bounds, levels, bins, missing codes and exclusive groups of the columns",
            "names, types, formats, labels and label sets of all columns",
            "the file's own label, sort order and characteristics that are kept",
            schema.unit.said,
        ]
        if repeats(schema):
            shown.append(f"which rows are of the same {schema.unit.name}, not of which one")
        return Guarantee.of(
            budget,
            "replace-one",
            unit=schema.unit.name,
            public_facts=tuple(shown),
            not_covered=tuple(f"column {name} (declared public)" for name in facts.public),
        )


class ReleaseModel(Model[AnySpec, AnyFacts, Drawn, Release]):
    """A release method bound to confidential data; the data leave it through ``fit`` only.

    Notes
    -----
    Rows of an engine stay there, except public columns and repeated ids, which the file has row by
    row: these are read into memory, as are the synthetic rows.
    """

    warns = True
    resumed = "resumed from its saved state, the rows are a fresh draw from the same release"
    needs_rows = False
    """Whether the method reads all rows at once, so that an engine's table is refused."""
    _public: Mapping[str, NDArray[Any]]
    _units: NDArray[np.int64] | None

    @abstractmethod
    def __init__(self, data: Any, schema: Schema, **options: Any) -> None:
        """Bind the method to a table; the options are those of its specification."""

    def _open(
        self, spec: AnySpec, data: Any, schema: Schema, also: Iterable[str] = ()
    ) -> tuple[Facts, Frame]:
        """Bind, and read what the file has row by row; ``also`` are columns to read with it.

        Raises
        ------
        SchemaError, ColumnError, ParameterError, EngineError
            If a public fact is missing or the data break one; no value is shown.
        """
        public = [c.name for c in schema.columns if c.fate == "public"]
        facts = self._bind(spec, data, schema, in_memory=self.needs_rows, also=public)
        ids = [schema.unit.id] if schema.unit.id and repeats(schema) else []
        here = self._table.columns([*public, *ids, *also])
        self._units = unit_rows(schema, here)
        self._public = {name: values_of(schema, here, name) for name in public}
        return facts, here

    @classmethod
    def from_formula(cls, formula: str, data: Any, schema: Schema, **options: Any) -> Self:
        """Return the model of the columns in a formula; other arguments as for the class.

        Raises
        ------
        FormulaError, ColumnError, SchemaError
        """
        outcomes, regressors = formula_names(formula)
        wanted = {schema.column(name).name for name in (*outcomes, *regressors)}
        return cls(data, schema, columns=[n for n in schema.names if n in wanted], **options)

    @checked
    def guarantee(self, budget: Budget) -> Guarantee:
        """Return the guarantee of a release at this budget; free."""
        return self.spec.promise(self.facts, budget)

    def rehearse(self, path: str | Path) -> None:
        """Check that the protected file can be written to a path; free, and leaves nothing behind.

        Raises
        ------
        FileError
            If the file cannot be written there.
        SchemaError
            If a .dta file cannot hold the released schema.
        """
        guarantee = self.guarantee(Budget(1))
        place = path_of(path)
        check_name(place, guarantee)
        rehearse(self._announced(guarantee), place, self.n)

    def _announced(self, guarantee: Guarantee) -> Schema:
        """Return the schema that the protected file will have."""
        return announced_schema(self.schema, guarantee, self.spec.keep)

    @abstractmethod
    def _columns(self, drawn: Drawn, noise: NoiseSource) -> Mapping[str, NDArray[Any]]:
        """Return the synthetic columns, by post-processing."""

    def _state(self, drawn: Drawn) -> Mapping[str, Any]:
        """Return nothing, where the method has no guarantee and so pays for nothing."""
        return {}

    def _revived(self, state: Mapping[str, Any]) -> Drawn:
        raise LedgerError(
            f"{type(self).__name__} saves nothing that it could be resumed from; fit it again"
        )

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
        columns = self._columns(drawn, noise)
        table = assembled(self.schema, columns, self._public, self.n, rng, self._units)
        limits = (*self.spec.limits(self.facts), *key_limits(self.schema))
        return released(table, self.schema, guarantee, plan, ledger, limits, self.spec.keep)

    def __repr__(self) -> str:
        names = ", ".join(modelled(self.schema))
        return f"{type(self).__name__}(n={self.n}, modelled: {names})"


def values_of(schema: Schema, frame: Frame, name: str) -> NDArray[Any]:
    """Return a public column (n,), its missing codes in NaN payloads, whatever held them."""
    if schema.column(name).is_text:
        return text_of(frame, name)
    values, codes = numbers_of(frame, name)
    return np.where(codes >= 0, tagged(np.maximum(codes, 0)), values)


def modelled(schema: Schema) -> list[str]:
    """Return the names of the columns that are modelled, in order."""
    return [c.name for c in schema.columns if c.fate == "modelled" and c.derived is None]


def check_kept(schema: Schema, keep: Iterable[str]) -> None:
    """Refuse to keep a characteristic that is not there, so that no spelling mistake loses one.

    Raises
    ------
    ParameterError
    """
    known = {name for _, name, _ in schema.file.characteristics}
    for name in keep:
        if name not in known:
            raise ParameterError(
                f"keep names {name!r}, which the file does not have; it has "
                f"{', '.join(sorted(known)) or 'no characteristics'}"
            )


def fated(schema: Schema, columns: Iterable[str] | None) -> Schema:
    """Return the schema in which the columns to model have that fate.

    Parameters
    ----------
    schema : Schema
    columns : iterable of str or None
        Columns to model; None: those whose fate is ``"modelled"``.

    Raises
    ------
    SchemaError, ParameterError, ColumnError
        If nothing is to be modelled, or the schema says otherwise.
    """
    check_schema(schema)
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
