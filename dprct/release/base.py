"""Data in, protected data out: the release, its file and its certificate."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dprct.errors import FileError, SimulationError
from dprct.io.atomic import atomic_write
from dprct.io.stata import write_dta
from dprct.privacy.guarantee import Guarantee
from dprct.release.fates import released_schema
from dprct.release.plan import Plan
from dprct.results.certificate import (
    Certificate,
    PermittedDifference,
    header_words,
    sealed_words,
)
from dprct.schema.facts import FileFacts
from dprct.schema.schema import Schema

if TYPE_CHECKING:
    import pandas as pd

KEPT_CHARACTERISTICS = (
    "iis", "tis", "_TStvar", "_TSpanel", "_TSdelta", "_TSitrvl", "_TSfmt",  # xtset, tsset
    "_svy_", "_lang_",
)  # fmt: skip
"""Characteristics that survive a release, by prefix: panel and survey settings, languages."""

_REASONS = {
    "modelled": "synthetic, drawn from the private release",
    "derived": "recomputed from released columns",
    "filler": "filled uniformly over its public domain; carries no information",
    "withheld": "withheld; every value is missing",
    "key": "replaced by fresh keys",
}


@dataclass(frozen=True)
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
    """

    protected: pd.DataFrame
    schema: Schema
    guarantee: Guarantee
    plan: Plan
    ledger: str
    issued: Certificate | None = field(repr=False, default=None)
    estimates: Any = None

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
        """Return the release in words: guarantee, budget, public numbers, fates of the columns."""
        fates: dict[str, list[str]] = {}
        for name, fate in fates_of(self.schema).items():
            fates.setdefault(fate, []).append(name)
        lines = [
            f"Protected table: {len(self.protected)} rows, {self.protected.shape[1]} columns",
            str(self.guarantee),
            f"Method: {self.plan.method}",
            *(f"  {key}: {value}" for key, value in self.plan.facts.items()),
            *(f"{fate}: {', '.join(names)}" for fate, names in fates.items()),
            f"Ledger: {self.ledger}",
        ]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()

    def write_dta(self, path: str | Path) -> Certificate:
        """Write the protected file, and its certificate (text and JSON) beside it.

        Parameters
        ----------
        path : str or Path
            An existing file is replaced only if it is itself a protected file with a certificate.

        Returns
        -------
        Certificate
            With the name and hash of the file.

        Raises
        ------
        SimulationError
            If a seed was given.
        FileError
            If the file cannot be written, or is something other than a protected file.
        """
        path = Path(path)
        certificate = self.certificate()
        text_path, json_path = certificate_paths(path)
        if path.exists() and not json_path.exists():
            raise FileError(
                f"{path.name!r} exists and has no certificate beside it, so it may be a "
                "confidential file; give another name"
            )
        unfinished = path.with_name(f".{path.stem}.unfinished.dta")
        try:
            write_dta(self.protected, self.schema, unfinished)
            digest = hashlib.sha256(unfinished.read_bytes()).hexdigest()
            certificate = replace(certificate, file={"name": path.name, "sha256": digest})
            _write_text(json_path, json.dumps(certificate.to_dict(), indent=2, ensure_ascii=False))
            _write_text(text_path, certificate.to_text())
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)
        return certificate


def released(
    table: pd.DataFrame,
    schema: Schema,
    guarantee: Guarantee,
    plan: Plan,
    ledger: str,
    limits: tuple[str, ...],
    keep: tuple[str, ...],
) -> Release:
    """Return the release of a protected table, with its certificate.

    Parameters
    ----------
    table : pandas.DataFrame
        From :func:`dprct.release.fates.assembled`.
    schema : Schema
        Of the confidential file, with fates.
    guarantee : Guarantee
    plan : Plan
    ledger : str
    limits : tuple of str
        What the protected file is not good for.
    keep : tuple of str
        Characteristics to keep besides the allow-list.
    """
    sealed, digest = sealed_words(schema)
    new = released_schema(schema)
    file = replace(
        new.file,
        timestamp="",
        characteristics=released_characteristics(schema, guarantee, keep),
        rows=len(table),
    )
    new = replace(new, file=file, opened=True)
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
            differences=tuple(_differences(schema, new.file)),
            limits=limits,
        )
    return Release(table, new, guarantee, plan, ledger, issued)


def fates_of(schema: Schema) -> dict[str, str]:
    """Return what becomes of every column; a derived column says so."""
    return {
        c.name: "derived" if c.derived is not None else str(c.fate) for c in schema.columns
    }


def released_characteristics(
    schema: Schema, guarantee: Guarantee, keep: tuple[str, ...]
) -> tuple[tuple[str, str, str], ...]:
    """Return the allow-list, what ``keep`` names, and one note that states the guarantee."""
    dropped = {column.name for column in schema.columns if column.fate == "drop"}
    kept = [
        entry
        for entry in schema.file.characteristics
        if entry[0] not in dropped
        and not _is_note_count(entry[1])
        and (entry[1].startswith(KEPT_CHARACTERISTICS) or entry[1] in keep)
    ]
    other = [entry for entry in kept if not _is_note(entry[1])]
    notes: dict[str, list[str]] = {}
    for owner, name, text in kept:
        if _is_note(name):
            notes.setdefault(owner, []).append(text)
    notes.setdefault("_dta", []).append(f"Protected file made by dprct. {guarantee.sentence()}")
    for owner, texts in notes.items():
        other.append((owner, "note0", str(len(texts))))
        other += [(owner, f"note{k}", text) for k, text in enumerate(texts, 1)]
    return tuple(other)


def _is_note(name: str) -> bool:
    return name.startswith("note") and name[4:].isdecimal()


def _is_note_count(name: str) -> bool:
    return name == "note0"


def _differences(schema: Schema, new: FileFacts) -> Iterator[PermittedDifference]:
    old = schema.file
    for name, fate in fates_of(schema).items():
        if fate == "drop":
            yield PermittedDifference("variables", name, "dropped")
        elif fate != "public":
            yield PermittedDifference("values", name, _REASONS[fate])
        elif old.sorted_by:
            yield PermittedDifference("values", name, "public, in the order of the sorted rows")
    yield PermittedDifference("notes", None, "dropped unless listed; one states the guarantee")
    before = {entry for entry in old.characteristics if not _is_note(entry[1])}
    if before - set(new.characteristics):
        yield PermittedDifference("characteristics", None, "only those on the allow-list are kept")
    if old.timestamp:
        yield PermittedDifference("timestamp", None, "removed")
    if old.sorted_by != new.sorted_by:
        yield PermittedDifference("sort", None, "a column of the sort order was dropped")


def certificate_paths(path: Path) -> tuple[Path, Path]:
    """Return where the certificate of a protected file lies: text and JSON."""
    return path.with_suffix(".certificate.txt"), path.with_suffix(".certificate.json")


def _write_text(path: Path, text: str) -> None:
    with atomic_write(path, mode="wb") as file:
        file.write((text.rstrip("\n") + "\n").encode("utf-8"))
