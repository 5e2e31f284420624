"""Data in, protected data out: the release, its certificate and its files."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, ClassVar

from dprct.certificate.certificate import (
    NO_GUARANTEE_LABEL,
    Certificate,
    PermittedDifference,
    header_words,
    sealed_words,
)
from dprct.errors import DisclosureError, SimulationError
from dprct.io.atomic import path_of
from dprct.io.compare import DATASET
from dprct.release.columns import released_schema
from dprct.release.writing import write_protected
from dprct.results.confidential import is_confidential

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pandas as pd

    from dprct.privacy.guarantee import Guarantee
    from dprct.results.plan import Plan
    from dprct.schema.columns import FileFacts
    from dprct.schema.schema import Schema


KEPT_CHARACTERISTICS: tuple[tuple[str, ...], ...] = (
    ("iis", "tis", "_TStvar", "_TSpanel", "_TSdelta", "_TSitrvl", "_TSfmt"),
    ("_svy_*",),
    ("_lang_*",),
)
"""Characteristics that survive a release: those of xtset and tsset, of svyset, of languages."""

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
    """A protected table, its guarantee and its certificate; it holds no confidential row.

    Parameters
    ----------
    protected : pandas.DataFrame
        The protected table: codes and numbers as ``read_dta`` gives them.
    schema : Schema
        Of the protected file.
    guarantee : Guarantee
    plan : Plan
        What was planned and then spent.
    ledger : str
        Where the budget was charged.
    issued : Certificate or None
        None where a seed was given.
    estimates : object or None
        A results object, where the method released a model.

    Raises
    ------
    DisclosureError
        If it is given a report on the confidential data, or a frame of one.

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
        for name in ("protected", "estimates"):
            if is_confidential(getattr(self, name)):
                raise DisclosureError(
                    f"{name} is a report on the confidential data, which no release holds; keep it "
                    "with the confidential data"
                )

    def certificate(self) -> Certificate:
        """Return the certificate.

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
        fates: dict[str, list[str]] = {}
        for name, fate in fates_of(self.schema).items():
            fates.setdefault(fate, []).append(name)
        lines = [
            *(() if self.estimates is None else (str(self.estimates),)),
            f"{_kind(self.guarantee)} table: {len(self.protected)} rows, "
            f"{self.protected.shape[1]} columns",
            str(self.guarantee),
            f"Method: {self.plan.method}",
            *(f"  {key}: {value}" for key, value in self.plan.facts.items()),
            *(f"{fate}: {', '.join(names)}" for fate, names in fates.items()),
            f"Ledger: {self.ledger}",
        ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return self.summary()

    def write_dta(self, path: str | Path) -> Certificate:
        """Write the protected file, and beside it its certificate: text, JSON and a page (HTML).

        Parameters
        ----------
        path : str or Path
            Ends in ``.dta``.  An existing file is replaced only if it is the protected file that
            the certificate beside it describes.

        Returns
        -------
        Certificate
            With the name and hash of the file.

        Raises
        ------
        SimulationError
            If a seed was given.
        FileError
            If the file cannot be written, or is something other than a protected file; then
            what was there before is there still; or if nothing is promised and the name does not
            say ``no_dp_guarantee``.
        """
        return write_protected(self.protected, self.schema, self.certificate(), path_of(path))


def released(
    table: pd.DataFrame,
    schema: Schema,
    guarantee: Guarantee,
    plan: Plan,
    ledger: str,
    limits: tuple[str, ...],
    keep: tuple[str, ...],
    declared: Schema | None = None,
) -> Release:
    """Return the release of a protected table, with its certificate.

    Parameters
    ----------
    table : pandas.DataFrame
        From :func:`dprct.release.columns.assembled`.
    schema : Schema
        Of the confidential file, with fates.
    guarantee : Guarantee
    plan : Plan
    ledger : str
    limits : tuple of str
        What the protected file is not good for.
    keep : tuple of str
        Characteristics to keep besides the allow-list.
    declared : Schema, optional
        As its owner declared it, whose seal the certificate names, where the method filled in
        fates.
    """
    sealed, digest = sealed_words(declared or schema)
    new = announced_schema(schema, guarantee, keep)
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
            ledger=ledger,
            fates=fates_of(schema),
            differences=tuple(_differences(schema, new.file, guarantee)),
            limits=limits,
        )
    return Release(table, new, guarantee, plan, ledger, issued)


def announced_schema(schema: Schema, guarantee: Guarantee, keep: tuple[str, ...]) -> Schema:
    """Return the schema of the protected file, whose label and notes state the guarantee."""
    new = released_schema(schema)
    file = replace(
        new.file,
        label=_released_label(new.file.label, guarantee),
        timestamp="",
        characteristics=released_characteristics(schema, guarantee, keep),
    )
    return replace(new, file=file)


def _released_label(label: str, guarantee: Guarantee) -> str:
    """Return the label of the data set; where nothing is promised it begins with that."""
    if guarantee.measure != "none" or label.startswith(NO_GUARANTEE_LABEL):
        return label
    return f"{NO_GUARANTEE_LABEL} {label or 'see the notes'}"[:_LABEL_LENGTH]


def fates_of(schema: Schema) -> dict[str, str]:
    """Return what becomes of every column; a derived column says so."""
    return {c.name: "derived" if c.derived is not None else str(c.fate) for c in schema.columns}


def released_characteristics(
    schema: Schema, guarantee: Guarantee, keep: tuple[str, ...]
) -> tuple[tuple[str, str, str], ...]:
    """Return the allow-list, what ``keep`` names, and one note that states the guarantee."""
    kept = kept_characteristics(schema, keep)
    other = [entry for entry in kept if not _is_note(entry[1])]
    notes: dict[str, list[str]] = {}
    for owner, name, text in kept:
        if _is_note(name):
            notes.setdefault(owner, []).append(text)
    made = f"{_kind(guarantee)} file made by dprct. {guarantee.sentence()}"
    notes.setdefault("_dta", []).append(made)
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
    """Return what a file may be called: one without a guarantee is not protected."""
    return "Synthetic, not protected," if guarantee.measure == "none" else "Protected"


def _is_note(name: str) -> bool:
    return name.startswith("note") and name[4:].isdecimal()


def _is_note_count(name: str) -> bool:
    return name == "note0"


def _differences(
    schema: Schema, new: FileFacts, guarantee: Guarantee
) -> Iterator[PermittedDifference]:
    old = schema.file
    promised = guarantee.measure != "none"
    reasons = _REASONS if promised else {**_REASONS, "modelled": _UNPROMISED}
    if old.label != new.label:
        yield PermittedDifference("dataset-label", None, "says that there is no guarantee")
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
