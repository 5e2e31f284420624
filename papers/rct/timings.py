"""Table 7: how long each method takes, as ratios within one machine."""

from __future__ import annotations

import time
import warnings
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dprct.errors import DprctWarning
from dprct.privacy.noise import source as noise_source
from papers.rct.contents import BASE, asked
from papers.rct.methods import allocation_of, bound
from papers.rct.printed import printed

if TYPE_CHECKING:
    import pandas as pd

    from papers.rct.contents import Asked
    from papers.rct.sources import Source

REPEATS = 3


def compared_timings(source: Source, repeats: int = REPEATS) -> pd.DataFrame:
    """Return Table 7 number by number, each time over that of the MV Histogram beside it.

    Parameters
    ----------
    source : Source
        Liberia.
    repeats : int
        Releases of each; the fastest counts.

    Returns
    -------
    DataFrame
        Those of ``printed`` with ``seconds`` (ours, from a frame in memory to a protected one),
        ``printed_ratio`` and ``ours``, our ratio.

    Notes
    -----
    The data are public or simulated: on confidential ones a time is itself a disclosure.
    """
    page = printed(7)
    found: dict[tuple[str, str], float] = {}
    for panel, method in zip(page["row"], page["method"], strict=True):
        wanted = asked(7, panel, "", method)
        assert wanted is not None
        found[panel, method] = fastest(wanted, source, repeats)
    keys = list(zip(page["row"], page["method"], strict=True))
    theirs = dict(zip(keys, page["value"], strict=True))
    page["seconds"] = [found[key] for key in keys]
    page["printed_ratio"] = [theirs[key] / theirs[key[0], BASE] for key in keys]
    page["ours"] = [found[key] / found[key[0], BASE] for key in keys]
    return page.assign(low=np.nan, high=np.nan, share=np.nan)


def fastest(wanted: Asked, source: Source, repeats: int = REPEATS) -> float:
    """Return the seconds of the fastest of several releases."""
    return min(_seconds(wanted, source, k) for k in range(repeats))


def _seconds(wanted: Asked, source: Source, repeat: int) -> float:
    frame, spec = source.frame(), source.models()[wanted.model]
    rng = noise_source(repeat).post_processing_rng()
    allocation = allocation_of(wanted.study, wanted.method, Fraction(wanted.epsilon))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DprctWarning)
        start = time.perf_counter()
        model = bound(wanted.method, frame, spec, allocation)
        _ = model.fit(epsilon=Fraction(wanted.epsilon), rng=rng, confirm=True).protected
        return time.perf_counter() - start
