"""The unit of work: many releases of one data set by one method; kept, so that none is redone."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import pandas as pd

from dprct.io.atomic import atomic_write
from dprct.privacy.noise import source as noise_source
from dprct.replicate.rct_paper.methods import allocation_of, bound, drawn

if TYPE_CHECKING:
    from pathlib import Path

    from dprct.replicate.rct_paper.sources import Source

FORMAT = 1
"""Raised when the law of what a cell computes changes; older results are then done anew."""


@dataclass(frozen=True, slots=True)
class Cell:
    """Everything that the numbers of a cell depend on.

    Parameters
    ----------
    study, model, method : str
        Data, regression and method.
    epsilon : str
        As in the paper.
    draws : int
    seed : int
    data : str
        Hash of the data.
    """

    study: str
    model: str
    method: str
    epsilon: str
    draws: int
    seed: int
    data: str

    @property
    def key(self) -> str:
        """Hash of all settings."""
        settings = json.dumps(asdict(self) | {"format": FORMAT}, sort_keys=True)
        return hashlib.sha256(settings.encode()).hexdigest()

    @property
    def name(self) -> str:
        """What the cell is, for people, with the start of its key."""
        words = f"{self.study} {self.model} {self.method} {self.epsilon}"
        return re.sub(r"[^\w.]+", "-", words.lower()) + f"-{self.key[:12]}"

    def compute(self, source: Source) -> pd.DataFrame:
        """Draw the releases, and return the effects in each; see ``methods.drawn``."""
        spec = source.models()[self.model]
        rng = noise_source(int(self.key, 16)).post_processing_rng()
        allocation = allocation_of(self.study, self.method, Fraction(self.epsilon))
        model = bound(self.method, source.frame(), spec, allocation)
        return drawn(model, spec, Fraction(self.epsilon), self.draws, rng)


class Settings(Protocol):
    """A data class of everything that numbers depend on."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def key(self) -> str:
        """Hash of all settings."""
        ...

    @property
    def name(self) -> str:
        """What it is, for people, with the start of its key."""
        ...


@dataclass(frozen=True, slots=True)
class Store:
    """Finished cells in a folder, one file each.

    Parameters
    ----------
    folder : Path
    """

    folder: Path

    def path(self, cell: Settings) -> Path:
        """Return where a cell is kept."""
        return self.folder / f"{cell.name}.json"

    def load(self, cell: Settings) -> pd.DataFrame | None:
        """Return what is kept of exactly these settings, None where there is nothing."""
        try:
            kept = json.loads(self.path(cell).read_text("utf-8"))
        except (OSError, ValueError):
            return None
        if kept.get("settings") != asdict(cell) or kept.get("key") != cell.key:
            return None
        return pd.DataFrame(kept["effects"])

    def save(self, cell: Settings, effects: pd.DataFrame) -> None:
        """Keep a cell; the file appears when it is complete.

        Raises
        ------
        FileError
            If it cannot be written.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        kept = {"settings": asdict(cell), "key": cell.key, "effects": effects.to_dict("list")}
        with atomic_write(self.path(cell), "w") as file:
            json.dump(kept, file)
