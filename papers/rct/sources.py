"""Where the confidential data of a study come from: a file, or our own generator."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from dprct.errors import FileError
from dprct.privacy.noise import source as noise_source
from papers.rct import liberia, simulated

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from papers.rct.specification import Specification


@dataclass(frozen=True, slots=True)
class Source:
    """The data of one study.

    Parameters
    ----------
    study : {"sim1", "sim2", "liberia"}
    file : Path or None
        None generates a simulated experiment.
    seed : int
        Of the generator.
    """

    study: str
    file: Path | None
    seed: int = 1

    @property
    def generated(self) -> bool:
        """Whether the data are of our own generator, so that they cannot be the paper's."""
        return self.file is None

    def frame(self) -> pd.DataFrame:
        """Return the data as the paper's methods were given them."""
        return _loaded(self)

    def digest(self) -> str:
        """Return a hash of the values, so that results of other data are never taken for these."""
        frame = self.frame()
        values = np.ascontiguousarray(frame.to_numpy(np.float64))
        return hashlib.sha256(",".join(map(str, frame)).encode() + values.tobytes()).hexdigest()

    def models(self) -> dict[str, Specification]:
        """Return the study's regressions by name."""
        if self.study == "liberia":
            return liberia.models([str(name) for name in self.frame().columns])
        return simulated.models(self.study)


def find_sources(data: Path | None, seed: int) -> dict[str, Source]:
    """Return what there is: files below a folder, and a generator for the simulations.

    Parameters
    ----------
    data : Path or None
        A folder with the authors' two data sets, or the Liberian file, or both.
    seed : int
        Of the generator.

    Raises
    ------
    FileError
        If the folder does not exist, or holds none of them.

    Examples
    --------
    >>> sorted(find_sources(None, seed=1))
    ['sim1', 'sim2']
    """
    found = {study: Source(study, None, seed) for study in simulated.FILES}
    if data is None:
        return found
    if not data.is_dir():
        raise FileError(f"--data {data} is not a folder; give the one that the data are in")
    files = {study: next(iter(sorted(data.rglob(n))), None) for study, n in simulated.FILES.items()}
    files["liberia"] = liberia.find(data)
    there = {study: Source(study, file) for study, file in files.items() if file is not None}
    if not there:
        raise FileError(
            f"--data {data} holds none of {', '.join(simulated.FILES.values())} and "
            "liberia_round5.dta; give the folder that they are in, or leave --data out to generate "
            "the simulated experiments"
        )
    return found | there


@lru_cache(maxsize=8)
def _loaded(source: Source) -> pd.DataFrame:
    if source.file is None:
        size = simulated.SIZES[source.study]
        rng = noise_source(100 * source.seed + size).post_processing_rng()
        return simulated.generate(size, rng)
    if source.study == "liberia":
        return liberia.slipped(liberia.read(source.file))
    return simulated.read_authors(source.file)
