"""Data in, protected data out: what every release method shares."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dprct.errors import FileError, SimulationError
from dprct.io.atomic import atomic_write
from dprct.io.stata import write_dta
from dprct.privacy.guarantee import Guarantee
from dprct.release.plan import Plan
from dprct.results.certificate import Certificate
from dprct.schema.schema import Schema

if TYPE_CHECKING:
    import pandas as pd

KEPT_CHARACTERISTICS = (
    "iis", "tis", "_TStvar", "_TSpanel", "_TSdelta", "_TSitrvl", "_TSfmt",  # xtset, tsset
    "_svy_", "_lang_",
)  # fmt: skip
"""Characteristics that survive a release, by prefix: panel and survey settings, languages."""


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
        for column in self.schema.columns:
            fate = "derived" if column.derived is not None else str(column.fate)
            fates.setdefault(fate, []).append(column.name)
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
        write_dta(self.protected, self.schema, path)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        certificate = replace(certificate, file={"name": path.name, "sha256": digest})
        _write_text(json_path, json.dumps(certificate.to_dict(), indent=2, ensure_ascii=False))
        _write_text(text_path, certificate.to_text())
        return certificate


def certificate_paths(path: Path) -> tuple[Path, Path]:
    """Return where the certificate of a protected file lies: text and JSON."""
    return path.with_suffix(".certificate.txt"), path.with_suffix(".certificate.json")


def _write_text(path: Path, text: str) -> None:
    with atomic_write(path, mode="wb") as file:
        file.write((text.rstrip("\n") + "\n").encode("utf-8"))


def kept_characteristics(
    characteristics: tuple[tuple[str, str, str], ...], kept: Mapping[str, object]
) -> tuple[tuple[str, str, str], ...]:
    """Return the characteristics of a release: the allow-list, and what ``kept`` names."""
    return tuple(
        (owner, name, text)
        for owner, name, text in characteristics
        if name.startswith(KEPT_CHARACTERISTICS) or name in kept
    )
