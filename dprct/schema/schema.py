"""The schema: every public fact about a table, declared by its owner, dated and hashed."""

from __future__ import annotations

import datetime as dt
import difflib
import functools
import hashlib
import json
from collections.abc import Mapping
from dataclasses import field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dprct.arguments import checked
from dprct.errors import ColumnError, SchemaError
from dprct.privacy.openings import Openings
from dprct.records import dataclass
from dprct.schema.codebook import facts_in_words, facts_table
from dprct.schema.columns import Code, Column, FileFacts, Unit, ancestors, shown, with_origin
from dprct.schema.facts import DECLARABLE, Fate, read_fact
from dprct.schema.seal import Seal

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd
    from narwhals.typing import IntoFrame


def declared(column: Column, fact: object) -> Column:
    """``column`` with a fact: a tuple is bounds, a list is levels, a mapping names facts.

    Examples
    --------
    >>> declared(Column("age", "byte"), {"bounds": [15, 80], "bins": 5}).bins
    5
    """
    if isinstance(fact, tuple):
        fact = {"bounds": fact}
    elif isinstance(fact, list):
        fact = {"levels": fact}
    if not isinstance(fact, Mapping):
        raise SchemaError(
            f"column {column.name!r}: declared as ``{type(fact).__name__}``; give ``a tuple`` "
            "(bounds), a list (levels) or ``a dict`` of facts"
        )
    changes: dict[str, Any] = {}
    for key, value in fact.items():
        if key not in DECLARABLE:
            raise SchemaError(_unknown(key, column.name))
        changes[key] = read_fact(key, value, column)
    if changes.get("levels") and not column.is_text:
        changes["levels"] = tuple(sorted(changes["levels"]))
    return replace(column, **changes)


def _unknown(key: object, name: str) -> str:
    close = difflib.get_close_matches(str(key), DECLARABLE, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"allowed: {', '.join(DECLARABLE)}"
    return f"column {name!r}: unknown fact {key!r}; {hint}"


@dataclass(frozen=True)
class Schema:
    """The public facts of a table. Private methods take public facts from here and nowhere else.

    Parameters
    ----------
    columns : tuple of Column
        The columns in the order of the file.
    file : FileFacts
        Label sets, data set label, sort order and other facts of the file.
    dataset_id : str or None
        Name under which privacy charges are recorded; the same for every version of the data.
    unit : Unit
        What one record stands for.
    seal_of : Seal or None
        Set by :meth:`seal`.
    opened : bool
        Whether the data section was read before the facts were sealed.
    source : Path or None
        The file that was read, if there is one; never written anywhere.
    sample : str
        Which rows of a larger file the table holds, as a condition on public columns; empty where
        it holds all.  A release refuses a table with other rows.
    openings : Openings
        The record of when the data were opened, shared by all schemas derived from each other.

    Examples
    --------
    >>> schema = Schema((Column("age", "byte"), Column("got", "byte")))
    >>> schema = schema.declare(age=(15, 80), got=[0, 1])
    >>> schema.column("age").bounds
    (15.0, 80.0)
    """

    columns: tuple[Column, ...]
    file: FileFacts = field(default_factory=FileFacts)
    dataset_id: str | None = None
    unit: Unit = field(default_factory=Unit)
    seal_of: Seal | None = None
    opened: bool = False
    source: Path | None = field(default=None, compare=False, repr=False)
    sample: str = ""
    openings: Openings = field(default_factory=Openings, compare=False, repr=False)

    def __post_init__(self) -> None:
        listed = isinstance(self.columns, (tuple, list))
        if not listed or not all(isinstance(column, Column) for column in self.columns):
            raise SchemaError(
                "``columns=`` of a schema is not ``a tuple`` of columns; give one, such "
                "as schema.columns"
            )
        if len(set(self.names)) < len(self.columns):
            twice = sorted({name for name in self.names if self.names.count(name) > 1})
            raise SchemaError(
                f"columns named twice: {', '.join(twice)}; give every column its own name"
            )
        arms = [column.name for column in self.columns if column.role == "treatment"]
        if arms:
            fixed = [column.name for column in self.columns if column.role in FIXED_ROLES]
            check_fixed_before(self, fixed, arms)

    @property
    def names(self) -> list[str]:
        """Names of the columns, in order."""
        return [column.name for column in self.columns]

    @checked
    def column(self, name: str) -> Column:
        """Return the column called ``name``; a derived one inherits how its parents were built.

        Raises
        ------
        ColumnError
            If there is none; the message suggests the closest name.
        FormulaError
            If it is derived, and its definition is not an expression.
        """
        return with_origin(self._as_declared(name), self.columns)

    def _as_declared(self, name: str) -> Column:
        try:
            return self._by_name[name]
        except (KeyError, TypeError):
            raise ColumnError.unknown(name, self.names) from None

    @functools.cached_property
    def _by_name(self) -> dict[str, Column]:
        return {column.name: column for column in self.columns}

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_by_name"}

    @checked
    def labels_of(self, name: str) -> Mapping[Code, str]:
        """Return the value labels attached to a column (empty where there are none)."""
        attached = self.column(name).value_label
        return self.file.value_labels.get(attached, {}) if attached else {}

    def public_labels(self, name: str) -> Mapping[Code, str]:
        """Return the value labels that tell the levels of a column apart, if they are public.

        Empty where nobody confirmed them, where two levels have the same, or where a label is the
        code of another level.
        """
        column = self.column(name)
        labels: dict[Any, str] = {
            code: " ".join(shown(said).split()) for code, said in self.labels_of(name).items()
        }
        codes = {*labels, *(column.levels or ())}
        names = [labels.get(code) or (code if isinstance(code, str) else f"{code:g}")
                 for code in codes]  # fmt: skip
        plain = column.confirmed and not column.is_text and len({*names}) == len(names)
        return {code: said for code, said in labels.items() if said} if plain else {}

    @checked
    def with_columns(self, columns: Iterable[Column]) -> Schema:
        """Return the schema with these columns instead of those of the same name.

        The seal stays valid as long as no public fact changes.
        """
        new = {column.name: column for column in columns}
        unknown = [name for name in new if name not in self._by_name]
        if unknown:
            raise ColumnError.unknown(unknown[0], self.names)
        for column in new.values():
            if column.made_of != self._as_declared(column.name).made_of:
                for parent in column.made_of or ():
                    self._as_declared(parent)
        return self._changed(columns=tuple(new.get(c.name, c) for c in self.columns))

    @checked
    def select(self, names: Iterable[str]) -> Schema:
        """Return the schema of these columns only, in this order."""
        return self._changed(columns=tuple(self.column(n) for n in names))

    @checked
    def declare(
        self,
        *,
        dataset_id: str | None = None,
        unit: Unit | None = None,
        confirm_header: bool = False,
        **facts: object,
    ) -> Schema:
        """Return the schema with public facts added, which must not come from the data.

        Parameters
        ----------
        dataset_id : str, optional
            Name under which privacy charges of this data set are recorded.
        unit : Unit, optional
            Who one record is.
        confirm_header : bool
            Whether to confirm that all facts of the file's header (types, formats, labels) are
            public.
        **facts
            One entry per column: a tuple is bounds, a list is levels, a dict names facts of
            :class:`Column` (``dict(bounds=(15, 80), bins=5, missing=["."])``).

        Raises
        ------
        ColumnError
            For an unknown column.
        SchemaError
            For an unknown or contradictory fact.
        """
        new = [declared(self._as_declared(name), fact) for name, fact in facts.items()]
        schema = self.with_columns(new)
        if confirm_header:
            schema = schema.with_columns([replace(c, confirmed=True) for c in schema.columns])
        return schema._changed(
            dataset_id=self.dataset_id if dataset_id is None else dataset_id,
            unit=self.unit if unit is None else unit,
        )

    @checked
    def declare_rest(self, fate: Fate) -> Schema:
        """Return the schema in which every column without a fate gets this one.

        Examples
        --------
        >>> schema = Schema((Column("got", "byte"), Column("diary", "strL")))
        >>> schema.declare_rest("withheld").column("diary").fate
        'withheld'
        """
        rest = [c for c in self.columns if c.fate is None and c.derived is None]
        return self.with_columns([declared(c, {"fate": fate}) for c in rest])

    def digest(self) -> str:
        """Return the SHA-256 of every public fact."""
        return hashlib.sha256(
            json.dumps(self._facts(), sort_keys=True, ensure_ascii=True).encode("ascii")
        ).hexdigest()

    def seal(self, by: str = "") -> Schema:
        """Return the schema with a date and a hash. Seal it before the data are read.

        A sealed, unchanged schema keeps its date, unless another person declares it.  The seal
        records how often the data contradicted earlier declarations.

        Parameters
        ----------
        by : str
            Who declares the public facts; certificates name them.
        """
        seal, digest = self.seal_of, self.digest()
        if seal is None or seal.sha256 != digest or by not in ("", seal.by):
            now = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
            seal = Seal(now, digest, not self.opened, by)
        refused, passed = self.openings.counted(self.source, self.dataset_id, self._limits_of)
        counted = max(seal.refused, refused), max(seal.passed, passed)
        if seal is self.seal_of and counted == (seal.refused, seal.passed):
            return self
        return replace(self, seal_of=replace(seal, refused=counted[0], passed=counted[1]))

    @property
    def warned(self) -> tuple[str, ...]:
        """What a plan says if the data contradicted, or had passed, other declarations."""
        seal = self.seal().seal_of
        if seal is None or not (seal.refused or seal.passed):
            return ()
        return (
            f"the facts are {seal.when}, and the certificate says so: a bound that was widened "
            "because the data refused it, or narrowed until they did, is read off the data, and "
            "no epsilon covers that",
        )

    def note_opening(self, names: Iterable[str], *, refused: bool) -> None:
        """Record that data were read under these columns' declarations."""
        facts = {name: self._limits_of(name) or "" for name in names}
        self.openings.note(self.source, self.dataset_id, facts, refused=refused)

    def _limits_of(self, name: str) -> str | None:
        """Return a hash of what is declared of a column that data can refuse; None without it."""
        column = self._by_name.get(name)
        if column is None:
            return None
        facts = (column.bounds, column.levels, column.integer, column.decimals, column.missing)
        unit = self.unit.max_rows if name == self.unit.id else None
        clips = [column.clip] if column.clip else []
        said = json.dumps([*map(_plain_or_text, facts), column.exclusive, unit, *clips])
        return hashlib.sha256(said.encode("ascii")).hexdigest()[:16]

    def unsealed(self) -> Schema:
        """Return the schema without its seal."""
        return replace(self, seal_of=None)

    def as_opened(self) -> Schema:
        """Return the schema, marked as one whose data were read; an existing seal stays."""
        return replace(self, opened=True)

    def seal_beside_data(self) -> Schema:
        """Return the schema, sealed now if it was not yet; every model keeps this one.

        An existing seal stays, because only a seal from before the data were read can prove its
        date.
        """
        return self.as_opened().seal()

    def _changed(self, **changes: Any) -> Schema:
        new = replace(self, **changes)
        stands = new.seal_of is None or new.seal_of.sha256 == new.digest()
        return new if stands else new.unsealed()

    def _facts(self) -> dict[str, Any]:
        columns = [
            {
                f.name: _plain(getattr(column, f.name))
                for f in fields(column)
                if f.name not in _SINCE_0_1 or getattr(column, f.name) != f.default
            }
            for column in self.columns
        ]
        file = self.file
        return {
            "columns": columns,
            "release": file.release,
            "label": file.label,
            "sorted_by": file.sorted_by,
            "value_labels": {
                name: {str(code): text for code, text in labels.items()}
                for name, labels in file.value_labels.items()
            },
            "characteristics": file.characteristics,
            "rows": file.rows,
            "dataset_id": self.dataset_id,
            "unit": [self.unit.name, self.unit.id, self.unit.max_rows],
            **({"sample": self.sample} if self.sample else {}),
        }

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        rows = "" if self.file.rows is None else f"{self.file.rows} rows, "
        seal = "not sealed" if self.seal_of is None else str(self.seal_of)
        lines = [f"{rows}{len(self.columns)} columns; one record is one {self.unit.name}; {seal}"]
        width = max((len(name) for name in self.names), default=0)
        fates = max((len(c.fate) + 2 for c in self.columns if c.fate), default=0)
        lines += [
            f"  {c.name:<{width}}  {c.type:<8}{c.fate or '':<{fates}}{_codebook(c)}".rstrip()
            for c in self.columns
        ]
        return "\n".join(lines)

    def to_frame(self) -> pd.DataFrame:
        """Return the declared facts, a row for each column.

        Examples
        --------
        >>> facts = Schema((Column("y", bounds=(0, 10), role="outcome"),)).to_frame()
        >>> facts.loc[0, ["name", "role"]].tolist(), float(facts.loc[0, "high"])
        (['y', 'outcome'], 10.0)
        """
        return facts_table(self.columns)

    @classmethod
    @checked
    def from_dta(cls, path: str | Path) -> Schema:
        """Return the schema of a .dta file's header and labels; the data are not read.

        See :func:`dprct.io.stata.read_header`.
        """
        from dprct.io.stata import read_header

        return read_header(path)

    @classmethod
    def from_frame(cls, frame: IntoFrame) -> Schema:
        """Return a schema with the names and types of a data frame's columns; values are not used.

        If the frame has dates or categoricals, its values must be turned into codes and numbers,
        too: :func:`dprct.schema.frames.table_of_frame` returns both.
        """
        from dprct.schema.frames import schema_of_frame

        return schema_of_frame(frame)

    @classmethod
    @checked
    def load(cls, path: str | Path) -> Schema:
        """Return the schema that a TOML file describes; see :func:`dprct.schema.toml.load`."""
        from dprct.schema.toml import load

        return load(path)

    @checked
    def save(self, path: str | Path) -> None:
        """Write the schema as a TOML file, to be read and edited by people."""
        from dprct.disk import atomic_write
        from dprct.schema.toml import text_for

        text = text_for(self, Path(path))
        with atomic_write(path, mode="wb") as file:
            file.write(text)

    def validate(self, data: IntoFrame) -> None:
        """Raise if data do not fit this schema; no value is shown."""
        from dprct.schema.tables import validate

        validate(self, data)

    @checked
    def decode(self, data: pd.DataFrame) -> pd.DataFrame:
        """Return a view of the data with categories for labelled codes and dates for dates."""
        from dprct.schema.frames import decode

        return decode(self, data)


FIXED_ROLES = ("covariate", "block")


def check_fixed_before(schema: Schema, names: Iterable[str], treatment: Iterable[str]) -> None:
    """Refuse covariates and subgroups that treatment moves, by what is declared of them.

    An arm among the names is no matter of this check.

    Notes
    -----
    A covariate that is made of an arm, or of which an arm is made, or that is one of several
    exclusive columns of which an arm is another, has one value for everybody in some group.
    Regressions with it split the effect between two coefficients, of which a release of the effect
    knows nothing.

    Examples
    --------
    >>> schema = Schema((Column("t"), Column("x"), Column("tx", derived="t * x")))
    >>> check_fixed_before(schema, ["x"], ["t"])
    """
    arms = {name: schema.column(name) for name in treatment}
    sources = set(arms).union(*(ancestors(arm, schema.columns) for arm in arms.values()))
    sets = {column.exclusive for column in arms.values()} - {None}
    for name in names:
        if name in arms:
            continue
        column = schema.column(name)
        moved = sorted({name, *ancestors(column, schema.columns)} & sources)
        if column.exclusive not in sets and not moved:
            continue
        how = f"``exclusive={column.exclusive!r}``, as an arm is"
        if moved:
            how = "what an arm is made of" if moved == [name] else f"made of {moved[0]!r}"
        raise SchemaError(
            f"column {name!r} is {how}, so that it is not fixed before assignment, as covariates "
            "and subgroups are; leave it out, or release regressions with interactions of "
            "treatment by ``PrivateMoments``"
        )


_SINCE_0_1 = ("made_of", "sd", "sd_within", "centre", "clip", "missing_policy")
"""Facts that are hashed where they are declared alone: seals from before there were any stand."""


def _codebook(column: Column) -> str:
    """Return what is declared of a column, and its label."""
    return "; ".join(filter(None, (facts_in_words(column), shown(column.label))))


def _plain(fact: object) -> object:
    """Return a fact such that 15 and 15.0 have one hash, for a bound or a level is a number."""
    if isinstance(fact, tuple):
        return [x if isinstance(x, str) else float(x) for x in fact]
    return fact


def _plain_or_text(fact: object) -> object:
    """Return a fact as JSON has it."""
    found = _plain(fact)
    return found if found is None or isinstance(found, (bool, int, list)) else str(found)


def check_schema(schema: object) -> None:
    """Refuse what is no schema.

    Examples
    --------
    >>> check_schema(Schema(()))
    """
    if not isinstance(schema, Schema):
        raise SchemaError(
            f"schema is ``{type(schema).__name__}``; give a ``dprct.Schema``, such as "
            "``dprct.read`` returns with the data"
        )
