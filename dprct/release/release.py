"""Data in, protected data out: the release, its certificate and its files."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import field, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np

from dprct.arguments import checked, listed_names
from dprct.certificate.certificate import (
    NO_GUARANTEE_LABEL,
    Certificate,
    PermittedDifference,
    header_words,
    sealed_words,
)
from dprct.disk import path_of
from dprct.errors import DisclosureError, ParameterError, SchemaError, SimulationError
from dprct.formula import names as formula_names
from dprct.io.stata.files import check_header
from dprct.io.stata.names import FORMER, former_names
from dprct.lazy import pandas as pd
from dprct.missing import tagged
from dprct.model import Drawn, Facts, Model, Spec
from dprct.privacy.budget import Budget, Guarantee, cautious
from dprct.records import dataclass
from dprct.release.columns import (
    Packed,
    assembled,
    check_fates,
    key_limits,
    released_schema,
    repeats,
    unit_rows,
)
from dprct.release.writing import check_name, rehearse, write_protected
from dprct.results.base import is_confidential
from dprct.results.plan import Plan
from dprct.results.typeset import Summary
from dprct.schema.columns import DATASET
from dprct.schema.conditions import meets
from dprct.schema.expressions import parents
from dprct.schema.schema import check_schema, declared
from dprct.schema.tables import numbers_of, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from dprct.encoding import Coded
    from dprct.model import Paid
    from dprct.privacy.mechanisms import Allocation
    from dprct.privacy.noise import NoiseSource
    from dprct.schema.columns import FileFacts
    from dprct.schema.schema import Schema
    from dprct.schema.tables import Frame, NumPyTable


KEPT_CHARACTERISTICS: tuple[tuple[str, ...], ...] = (
    ("iis", "tis", "_TStvar", "_TSpanel", "_TSdelta", "_TSitrvl", "_TSfmt"),
    ("_svy_*",),
    ("_lang_*",),
    (FORMER,),
)
"""Characteristics that survive a release: of xtset and tsset, of svyset, of languages, of names."""

_REASONS = {
    "modelled": "synthetic, drawn from the private release",
    "derived": "recomputed from released columns",
    "filler": "filled uniformly over its public domain; carries no information",
    "withheld": "withheld; every value is missing",
    "key": "replaced by fresh keys",
}
_UNPROMISED = "synthetic, drawn from the confidential data without a privacy guarantee"

_LABEL_LENGTH = 80


@dataclass(frozen=True, eq=False)
class Release:
    """A protected table with its guarantee and its certificate; it holds no confidential row.

    Parameters
    ----------
    protected : pandas.DataFrame
        The protected table, as codes and numbers, like a table from ``read_dta``.
    schema : Schema
        Schema of the protected file.
    guarantee : Guarantee
    plan : Plan
        The plan that was carried out.
    ledger : str
        Where the budget was charged.
    issued : Certificate or None
        None if a seed was given.
    estimates : object or None
        The released estimates, if the method has some.

    Raises
    ------
    DisclosureError
        If it is made from a report on the confidential data, or from a table of such a report.

    Examples
    --------
    >>> import pandas as pd
    >>> from dprct import Column, MVHistogram, Schema
    >>> schema = Schema((Column("got", "byte"),)).declare(got=dict(levels=[0, 1], missing="never"))
    >>> model = MVHistogram(pd.DataFrame({"got": [0.0, 1.0] * 200}), schema, columns=["got"])
    >>> release = model.fit(epsilon=1)
    >>> release.guarantee.measure, len(release.protected)
    ('pure', 400)
    """

    protected: pd.DataFrame
    schema: Schema
    guarantee: Guarantee
    plan: Plan
    ledger: str
    issued: Certificate | None = field(repr=False, default=None)
    estimates: Any = None

    holds_protected: ClassVar[bool] = True
    """What :func:`dprct.ols` knows a release by."""

    def __post_init__(self) -> None:
        if not isinstance(self.plan, Plan):
            raise ParameterError(f"plan is ``{type(self.plan).__name__}``; give the plan of a fit")
        _ = self.plan.contents  # what makes them knows the design, and is no part of a release
        for name in ("protected", "estimates"):
            if is_confidential(getattr(self, name)):
                raise DisclosureError(
                    f"{name} is a report on the confidential data, which no release holds; keep it "
                    "with the confidential data"
                )

    def certificate(self) -> Certificate:
        """Return the certificate, which may be published with the file.

        Raises
        ------
        SimulationError
            If a seed was given.
        """
        if self.issued is None:
            raise SimulationError(
                "a seed was given (rng), so this is a simulation: no certificate is issued and no "
                "file is written; fit without rng to release"
            )
        return self.issued

    def summary(self) -> str:
        """Return the release in words: estimates, guarantee, public numbers, fates of columns."""
        # the same promise is not said twice
        promised = any(one.guarantee == self.guarantee for one in self._estimated())
        lines = [
            *map(str, self._estimated()),
            f"{_kind(self.guarantee)} table: {len(self.protected)} rows, "
            f"{self.protected.shape[1]} columns",
            *(() if promised else (str(self.guarantee),)),
            *([self.plan.file_note] if self.plan.file_note else []),
            f"Method: {self.plan.method}",
            *(f"  {key}: {value}" for key, value in self.plan.facts.items()),
            *self._fates().split("; "),
            f"Ledger: {self.ledger}",
        ]
        return "\n".join(lines)

    def brief(self) -> str:
        """Return the release on one screen: estimates, guarantee, fates of columns, ledger.

        The rest is in :meth:`summary` and the certificate.
        """
        tables = [one.summary() for one in self._estimated()]
        promised = {one.guarantee.sentence() for one in self._estimated()}
        lines = [
            *(one.as_brief_text() if isinstance(one, Summary) else str(one) for one in tables),
            f"{_kind(self.guarantee)} table: {len(self.protected)} rows, "
            f"{self.protected.shape[1]} columns; {self._fates()}",
            *(() if promised == {self.guarantee.sentence()} else (self.guarantee.sentence(),)),
            *([self.plan.file_note] if self.plan.file_note else []),
            f"Ledger: {self.ledger}",
        ]
        return "\n".join(lines)

    def _estimated(self) -> list[Any]:
        """Released estimates, those of each outcome."""
        if isinstance(self.estimates, Mapping):
            return [*self.estimates.values()]
        return [] if self.estimates is None else [self.estimates]

    def _fates(self) -> str:
        fates: dict[str, list[str]] = {}
        for name, fate in fates_of(self.schema).items():
            fates.setdefault(fate, []).append(name)
        return "; ".join(f"{fate}: {', '.join(names)}" for fate, names in fates.items())

    def tidy(self, alpha: float = 0.05) -> pd.DataFrame:
        """Return one row per released estimate, for a release that has some.

        Raises
        ------
        ParameterError
            If nothing but the table was released.
        """
        if self.estimates is None:
            raise ParameterError(
                "this release has no estimates; fit its table, such as with ``dprct.ols(formula, "
                "release)``"
            )
        if not isinstance(self.estimates, Mapping):
            table: pd.DataFrame = self.estimates.tidy(alpha)
            return table
        named: list[pd.DataFrame] = [
            one.tidy(alpha).assign(outcome=name) for name, one in self.estimates.items()
        ]
        return pd.concat(named, ignore_index=True)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return self.summary()

    def write_dta(self, path: str | Path) -> Certificate:
        """Write the protected file and, next to it, its certificate as text, JSON and HTML.

        Parameters
        ----------
        path : str or Path
            Ends in ``.dta``. An existing file is replaced only if it is the protected file that the
            certificate next to it describes.

        Returns
        -------
        Certificate
            With the name and hash of the file.

        Raises
        ------
        SimulationError
            If a seed was given.
        FileError
            If the file cannot be written; if another file, which is not a protected one, has this
            name; or if the release has no guarantee and the name does not contain
            ``no_dp_guarantee``. Existing files are then left as they are.
        """
        return write_protected(self.protected, self.schema, self.certificate(), path_of(path))


def released(
    table: pd.DataFrame,
    schema: Schema,
    paid: Paid,
    limits: tuple[str, ...],
    keep: tuple[str, ...],
    declared: Schema | None = None,
) -> Release:
    """The release of a protected table, with its certificate.

    ``keep`` are characteristics in addition to the allow-list.  The certificate names the seal of
    the ``declared`` schema, where the method filled in fates.
    """
    sealed, digest = sealed_words(declared or schema)
    guarantee, plan = paid.guarantee, paid.plan
    new = announced_schema(schema, guarantee, keep, plan.file_note)
    new = replace(new, file=replace(new.file, rows=len(table)), opened=True)
    issued = None
    if not guarantee.simulation:
        issued = Certificate(
            guarantee=guarantee,
            method=plan.method,
            facts=dict(plan.facts),
            dataset_id=schema.dataset_id,
            seal=sealed,
            seal_sha256=digest,
            header=header_words(schema),
            ledger=paid.ledger,
            fates=fates_of(schema),
            differences=tuple(_differences(schema, new.file, guarantee)),
            limits=(plan.file_note, *limits) if plan.file_note else limits,
        )
    return Release(table, new, guarantee, plan, paid.ledger, issued)


def announced_schema(
    schema: Schema, guarantee: Guarantee, keep: tuple[str, ...], note: str = ""
) -> Schema:
    """Return the schema of the protected file, whose label and notes state the guarantee."""
    new = released_schema(schema)
    file = replace(
        new.file,
        label=_released_label(new.file.label, guarantee),
        timestamp="",
        characteristics=released_characteristics(schema, guarantee, keep, note),
    )
    return replace(new, file=file)


def _released_label(label: str, guarantee: Guarantee) -> str:
    """Return the label of the data set; where nothing is promised it begins with that."""
    if guarantee.measure != "none" or label.startswith(NO_GUARANTEE_LABEL):
        return label
    return f"{NO_GUARANTEE_LABEL} {label or 'see the notes'}"[:_LABEL_LENGTH]


def fates_of(schema: Schema) -> dict[str, str]:
    """Fate of every column; a derived column says so."""
    return {c.name: "derived" if c.derived is not None else str(c.fate) for c in schema.columns}


def released_characteristics(
    schema: Schema, guarantee: Guarantee, keep: tuple[str, ...], note: str = ""
) -> tuple[tuple[str, str, str], ...]:
    """Return the allow-list, what ``keep`` names, and notes that state guarantee and plan."""
    kept = kept_characteristics(schema, keep)
    other = [entry for entry in kept if not _is_note(entry[1])]
    notes: dict[str, list[str]] = {}
    for owner, name, text in kept:
        if _is_note(name):
            notes.setdefault(owner, []).append(text)
    made = f"{_kind(guarantee)} file made by dprct. {guarantee.sentence()}"
    notes.setdefault("_dta", []).extend([made, note] if note else [made])
    for owner, texts in notes.items():
        other.append((owner, "note0", str(len(texts))))
        other += [(owner, f"note{k}", text) for k, text in enumerate(texts, 1)]
    return tuple(other)


def kept_characteristics(schema: Schema, keep: tuple[str, ...]) -> list[tuple[str, str, str]]:
    """Return the characteristics of the confidential file that a release publishes."""
    dropped = {column.name for column in schema.columns if column.fate == "drop"}
    allowed = _allowed_patterns(schema, dropped)
    return [
        entry
        for entry in schema.file.characteristics
        if entry[0] not in dropped
        and not _is_note_count(entry[1])
        and (entry[1] in keep or any(fnmatchcase(entry[1], pattern) for pattern in allowed))
    ]


def _allowed_patterns(schema: Schema, dropped: set[str]) -> list[str]:
    """Return the allow-list without the settings that name a dropped column."""
    broken = {
        name
        for owner, name, text in schema.file.characteristics
        if owner == DATASET and dropped.intersection(text.split())
    }
    return [
        pattern
        for setting in KEPT_CHARACTERISTICS
        if not any(fnmatchcase(name, pattern) for name in broken for pattern in setting)
        for pattern in setting
    ]


def _kind(guarantee: Guarantee) -> str:
    """Name of a kind of file: one without a guarantee is not protected."""
    return "Synthetic, not protected," if guarantee.measure == "none" else "Protected"


def _is_note(name: str) -> bool:
    return name.startswith("note") and name[4:].isdecimal()


def _is_note_count(name: str) -> bool:
    return name == "note0"


def _differences(
    schema: Schema, new: FileFacts, guarantee: Guarantee
) -> Iterator[PermittedDifference]:
    old = schema.file
    if schema.sample:
        yield PermittedDifference("rows", None, f"those of the sample alone ({schema.sample})")
    promised = guarantee.measure != "none"
    reasons = _REASONS if promised else {**_REASONS, "modelled": _UNPROMISED}
    if old.label != new.label:
        yield PermittedDifference("dataset-label", None, "says that there is no guarantee")
    for name, owner in former_names(schema).items():
        if schema.column(owner).fate != "drop":
            yield PermittedDifference("name", owner, f"{name!r} in the data, which Stata lacks")
    for name, fate in fates_of(schema).items():
        if fate == "drop":
            yield PermittedDifference("variables", name, "dropped")
        elif fate != "public":
            yield PermittedDifference("values", name, reasons[fate])
        else:
            yield PermittedDifference("values", name, "public, with the rows in a random order")
    for column in schema.columns:
        if not column.format and column.fate != "drop":
            yield PermittedDifference("format", column.name, "the default; the original has none")
    for name in old.value_labels:
        if name not in new.value_labels:
            yield PermittedDifference("label-set", name, "attached to dropped columns only")
    yield PermittedDifference("notes", None, "dropped unless listed; one states the guarantee")
    before = {entry for entry in old.characteristics if not _is_note(entry[1])}
    for owner in sorted({entry[0] for entry in before - set(new.characteristics)}):
        yield PermittedDifference("characteristics", owner, "only those on the allow-list are kept")
    if old.timestamp:
        yield PermittedDifference("timestamp", None, "removed")
    if old.sorted_by != new.sorted_by:
        yield PermittedDifference("sort", None, "a column of the sort order was dropped")


@dataclass(frozen=True)
class ReleaseFacts(Facts):
    """What is public of a table that is released.

    Parameters
    ----------
    schema : Schema
        Sealed, with a fate for every column.
    n : int
        Rows.
    """

    # How the modelled columns become codes, where public facts define them.
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
    """What every release is asked for."""

    keep: tuple[str, ...] = ()  # characteristics to keep in addition to the allow-list

    later_note: ClassVar[str] = ""
    """Note that the released table may add to the file, after approval; empty if there is none."""

    def shown(self, schema: Schema) -> tuple[str, ...]:
        """Return the columns that the file has: what is modelled, and what is public."""
        public = [c.name for c in schema.columns if c.fate == "public"]
        return (*modelled(schema), *public)

    def checks(self, facts: Facts) -> Iterator[Callable[[], object]]:
        """Yield what must hold of fates and characteristics."""
        yield lambda: check_fates(facts.schema, facts.n)
        yield lambda: check_kept(facts.schema, self.keep)
        yield lambda: check_header(released_schema(facts.schema), facts.n)

    @abstractmethod
    def limits(self, facts: AnyFacts) -> tuple[str, ...]:
        """Limits of the protected file."""

    def guarantee(self, facts: AnyFacts, allocation: Allocation) -> Guarantee:
        """Guarantee of a release with these mechanisms."""
        return self.promise(facts, allocation.budget)

    def promise(self, facts: AnyFacts, budget: Budget) -> Guarantee:
        """Guarantee of a release at a budget, whatever it buys."""
        schema = facts.schema
        shown = [
            f"the number of rows, n = {facts.n}",
            "the declared bounds, levels, bins, missing codes and exclusive groups of the columns",
            "names, types, formats, labels and label sets of all columns",
            "the file's own label, sort order and characteristics that are kept",
            schema.unit.said,
        ]
        if schema.sample:
            shown.append(
                f"which rows are in the sample ({schema.sample}): only these are read, and n "
                "counts them"
            )
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

    def _open(self, spec: AnySpec, data: Any, schema: Schema) -> Facts:
        """Bind, and read what the file has row by row."""
        facts = self._bind(spec, data, schema, in_memory=self.needs_rows)
        self._read_public(schema)
        return facts

    def _read_public(self, schema: Schema, also: Iterable[str] = ()) -> Frame | NumPyTable:
        """Read what the file has row by row; ``also`` are columns to read with it."""
        public = [c.name for c in schema.columns if c.fate == "public"]
        ids = [schema.unit.id] if schema.unit.id and repeats(schema) else []
        here = self._table.columns([*public, *ids, *also])
        self._units = unit_rows(schema, here)
        self._public = Packed({name: values_of(schema, here, name) for name in public})
        check_sample(schema, self._public)
        return here

    @checked
    def is_coded(self, name: str) -> bool:
        """Whether a public column holds other numbers than 0 and 1."""
        values = self._public.get(name)
        if values is None or values.dtype.kind != "f":
            return False
        return not np.isin(values[~np.isnan(values)], (0.0, 1.0)).all()

    @classmethod
    @checked
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
        return cautious(self.spec.promise(self.facts, budget), self.n)

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

    def _file_note(self, drawn: Drawn, plan: Plan, allocation: Allocation) -> str:
        """Note of the file on numbers computed on it, by plan and release alone."""
        return plan.file_note

    def _read(self, drawn: Drawn, paid: Paid) -> Release:
        rng = paid.noise.post_processing_rng()
        columns = self._columns(drawn, paid.noise)
        table = assembled(self.schema, columns, self._public, self.n, rng, self._units)
        limits = (*self.spec.limits(self.facts), *key_limits(self.schema))
        note = self._file_note(drawn, paid.plan, paid.allocation)
        noted = replace(paid, plan=replace(paid.plan, file_note=note))
        return released(table.native, self.schema, noted, limits, self.spec.keep)

    def __repr__(self) -> str:
        names = ", ".join(modelled(self.schema))
        return f"{type(self).__name__}(n={self.n}, modelled: {names})"


def values_of(schema: Schema, frame: Frame | NumPyTable, name: str) -> NDArray[Any]:
    """Return a public column (n,), its missing codes in NaN payloads, whatever held them.

    A copy, so that nobody who keeps it keeps the frame with all of its columns.
    """
    if schema.column(name).is_text:
        texts = text_of(frame, name)
        try:
            "".join(texts).encode()
        except (TypeError, UnicodeEncodeError):
            raise SchemaError(
                f"column {name!r} is public and holds text in no known encoding, which only .dta "
                "files can keep; correct it in Stata (unicode translate), or withhold or drop it"
            ) from None
        return texts
    values, codes = numbers_of(frame, name)
    gone, found = codes >= 0, values.copy()
    found[gone] = tagged(codes[gone])
    return found


def check_sample(schema: Schema, public: Mapping[str, NDArray[Any]]) -> None:
    """Refuse a table that holds other rows than its schema says, as public columns (n,) show.

    Notes
    -----
    Neighbours agree in their public columns, and so in the rows for which a condition on these
    holds.  Whoever takes these rows alone turns neighbours into neighbours of the same number of
    rows, and a replaced record outside the sample into no change at all: what is promised for the
    sample is promised for the whole file.
    """
    if not schema.sample:
        return
    hidden = sorted(parents(schema.sample) - set(public))
    if hidden:
        raise SchemaError(
            f"``sample={schema.sample!r}`` uses {', '.join(hidden)}, whose fate is not 'public'; "
            "declare ``fate='public'``, or give a table of these rows"
        )
    columns = {name: public[name] for name in parents(schema.sample)}
    rows = len(next(iter(public.values()), [0]))  # a condition may name no column
    if not meets(schema.sample, columns, rows).all():
        raise SchemaError(
            f"the table has rows that are not in the sample ({schema.sample}); give those in it "
            "alone"
        )


def modelled(schema: Schema) -> list[str]:
    """Return the names of the columns that are modelled, in order."""
    return [c.name for c in schema.columns if c.fate == "modelled" and c.derived is None]


def check_kept(schema: Schema, keep: Iterable[str]) -> None:
    """Refuse to keep a characteristic that is not there, so that no spelling mistake loses one."""
    known = {name for _, name, _ in schema.file.characteristics}
    for name in keep:
        if name not in known:
            raise ParameterError(
                f"keep names {name!r}, which the file does not have; it has "
                f"{', '.join(sorted(known)) or 'no characteristics'}"
            )


def fated(schema: Schema, columns: Iterable[str] | None) -> Schema:
    """The schema in which the columns to model have that fate; None leaves those that have it."""
    check_schema(schema)
    if columns is None:
        if not modelled(schema):
            raise SchemaError(
                "no column is modelled; declare ``fate='modelled'`` or give ``columns=[...]``"
            )
        return schema
    if isinstance(columns, str):
        raise ParameterError(
            f"``columns={columns!r}`` is text; give a list, such as ``[{columns!r}]``"
        )
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
            "declare ``fate='modelled'`` or leave it out"
        )
    others = [name for name in modelled(schema) if name not in wanted]
    if others:
        raise SchemaError(
            f"columns with fate 'modelled' that ``columns=`` leaves out: {', '.join(others)}; "
            "give them another fate or name them"
        )
    new = [declared(schema.column(name), {"fate": "modelled"}) for name in wanted]
    unchanged = all(schema.column(c.name) == c for c in new)
    return schema if unchanged else schema.with_columns(new)
