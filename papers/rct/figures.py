"""The figures of the paper, from the same draws as its tables."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from dprct import plots
from dprct.errors import DprctWarning
from dprct.privacy.noise import source as noise_source
from dprct.results.base import WATERMARK
from papers.rct import liberia
from papers.rct.comparison import measures
from papers.rct.methods import allocation_of, bound
from papers.rct.simulated import TRUE_EFFECT
from papers.runner import save_figure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from papers.rct.printed import Asked
    from papers.rct.sources import Source

    Array = NDArray[np.float64]

NEEDS: Mapping[int, tuple[int, ...]] = {
    3: (1,),
    4: (3, 4),
    5: (3, 4),
    6: (3, 4),
    7: (17,),
    8: (17,),
    9: (6,),
    10: (12,),
    11: (12,),
    12: (12,),
    13: (6,),
    14: (6,),
    15: (6,),
    18: (1,),
    19: (3, 4),
}
"""The tables whose draws a figure shows; it is drawn with them.

Figures 1 and 2 are diagrams; 16 and 17 are parts of 7 and 8.
"""

_REDUCED = "Reduced Subset"
_SETS = {10: "Full Baseline", 11: _REDUCED, 12: "Subset"}
_RELEASED = {13: ("MV Histogram", "1"), 14: ("Hybrid", "1"), 15: ("GenModel", "9")}
_CARRY = "carryweapon_ltav"


@dataclass(frozen=True, slots=True)
class Drawings:
    """What figures are drawn from.

    Parameters
    ----------
    sources : mapping of str to Source
    effects : mapping of Asked to DataFrame
        Those of the releases.
    seed : int
        Of the releases whose residuals are shown.
    """

    sources: Mapping[str, Source]
    effects: Mapping[Asked, pd.DataFrame]
    seed: int = 1

    def draw(self, number: int) -> list[Axes]:
        """Draw a figure, and return its axes.

        Raises
        ------
        MissingDependencyError
            Without matplotlib.
        """
        if number in (3, 18):
            return self._by_epsilon(outliers=number == 18)
        if number in (4, 5, 6):
            return self._by_model(number)
        if number in (7, 8):
            return [self._heat(number)]
        if number == 9:
            return self._carrying()
        if number == 19:
            return self._diagnosed_models()
        return self._diagnosed_outcomes(number)

    def _found(self, one: Asked) -> pd.DataFrame:
        """Return what is measured of every release of a method."""
        source = self.sources[one.study]
        own = source.models()[one.model].effects(source.frame())
        truth = None if one.study == "liberia" else TRUE_EFFECT
        return measures(self.effects[one], own, truth)

    def _own(self, study: str, model: str) -> float:
        source = self.sources[study]
        return float(source.models()[model].effects(source.frame())["estimate"].iloc[0])

    def _by_epsilon(self, *, outliers: bool) -> list[Axes]:
        """Draw the effects of Table 1, a panel per epsilon."""
        by: dict[str, dict[str, Sequence[float]]] = {}
        for one in self.effects:
            if one.study == "sim1":
                by.setdefault(one.epsilon, {})[one.method] = list(self._found(one)["itt"])
        own = self._own("sim1", "Table 1")
        axes = plots.panels(len(by), columns=3)
        for (epsilon, samples), ax in zip(by.items(), axes, strict=True):
            plots.boxes(
                samples,
                [own] * len(samples),
                ax=ax,
                title=f"epsilon = {epsilon}",
                label="Estimated effect",
                outliers=outliers,
            )
        return axes

    def _by_model(self, number: int) -> list[Axes]:
        """Draw overlaps or effects of Tables 3 and 4, a panel per method."""
        by: dict[str, dict[str, Sequence[float]]] = {}
        measure = "overlap" if number == 4 else "itt"
        for one in self.effects:
            name = _name(one)
            if one.study == "sim2" and (number == 4 or (name == "GenM-1") == (number == 6)):
                by.setdefault(name, {})[one.model] = list(self._found(one)[measure])
        axes = plots.panels(len(by))
        for (method, samples), ax in zip(by.items(), axes, strict=True):
            own = None if number == 4 else [self._own("sim2", model) for model in samples]
            label = "CI overlap" if number == 4 else "Estimated effect"
            plots.boxes(samples, own, ax=ax, title=method, label=label)
        return axes

    def _heat(self, number: int) -> Axes:
        """Draw overlaps or differences of all effects in Liberia by method."""
        columns, measure = {}, "overlap" if number == 7 else "difference"
        for one in self.effects:
            if one.study != "liberia":
                continue
            by = self._found(one).groupby(["outcome", "arm"], sort=False)[measure]
            found = by.mean() if number == 7 else by.median()
            for outcome, arm, value in found.reset_index().itertuples(index=False, name=None):
                place = (f"{one.model}, {outcome}", (_name(one), liberia.ARMS[str(arm)]))
                columns[place] = value
        rows = list(dict.fromkeys(row for row, _ in columns))
        across = list(dict.fromkeys(column for _, column in columns))
        cells = [[columns.get((row, column), np.nan) for column in across] for row in rows]
        values = pd.DataFrame(cells, rows, pd.MultiIndex.from_tuples(across))
        if number == 7:
            return plots.heat_map(
                values,
                title="Overlap of confidence intervals",
                label="mean over draws",
                limits=(0.0, 1.0),
                watermark=WATERMARK,
            )
        title, label = "|released - confidential estimate|", "median over draws"
        return plots.heat_map(values, title=title, label=label, log=True, watermark=WATERMARK)

    def _carrying(self) -> list[Axes]:
        """Draw the residuals of one outcome in the original and in a release of each method."""
        tables = {"original": self.sources["liberia"].frame()}
        for method in ("MV Histogram", "Hybrid", "GenModel"):
            name = "GenM-1" if method == "GenModel" else method
            tables[name] = self._released(method, "1")
        spec = self.sources["liberia"].models()[_REDUCED]
        fits = {name: spec.residuals(frame, _CARRY) for name, frame in tables.items()}
        return _diagnosed(fits, watermark=WATERMARK)

    def _diagnosed_outcomes(self, number: int) -> list[Axes]:
        """Draw the residuals of all outcomes, of the original or of a release."""
        source = self.sources["liberia"]
        released = _RELEASED.get(number)
        frame = source.frame() if released is None else self._released(*released)
        spec = source.models()[_SETS.get(number, _REDUCED)]
        fits = {name: spec.residuals(frame, name) for name in spec.outcomes}
        return _diagnosed(fits, watermark=WATERMARK)

    def _diagnosed_models(self) -> list[Axes]:
        source = self.sources["sim2"]
        frame = source.frame()
        fits = {n: s.residuals(frame, s.outcomes[0]) for n, s in source.models().items()}
        return _diagnosed(fits)

    def _released(self, method: str, epsilon: str) -> pd.DataFrame:
        """Return one release with the reduced covariates."""
        source = self.sources["liberia"]
        spec, size = source.models()[_REDUCED], Fraction(epsilon)
        model = bound(method, source.frame(), spec, allocation_of("liberia", method, size))
        rng = noise_source(self.seed).post_processing_rng()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DprctWarning)
            protected: pd.DataFrame = model.fit(epsilon=size, rng=rng, confirm=True).protected
        return protected


def drawn_with(tables: Iterable[int]) -> list[int]:
    """Return the figures that show the draws of some tables.

    Examples
    --------
    >>> drawn_with([1, 3]), drawn_with([3, 4])
    ([3, 18], [4, 5, 6, 19])
    """
    there = set(tables)
    return [number for number, needed in NEEDS.items() if there.issuperset(needed)]


def write_figures(
    folder: Path,
    numbers: Iterable[int],
    drawings: Drawings,
    progress: Callable[[str, int, int], None],
) -> list[Path]:
    """Draw figures into a folder as PNG, and return their files.

    Raises
    ------
    MissingDependencyError
        Without matplotlib.
    FileError
        If one cannot be written.
    """
    wanted, written = list(numbers), []
    for done, number in enumerate(wanted):
        progress(f"figure {number}", done, len(wanted))
        path = folder / f"figure_{number:02d}.png"
        written.append(save_figure(path, drawings.draw(number)))
    return written


def _name(one: Asked) -> str:
    """Return a method as the paper abbreviates it."""
    return f"GenM-{one.epsilon}" if one.method == "GenModel" else one.method


def _diagnosed(fits: Mapping[str, tuple[Array, Array]], watermark: str = "") -> list[Axes]:
    """Draw, for every fit, residuals over fitted values and their normal quantiles."""
    axes = plots.panels(2 * len(fits), columns=4, size=(3.6, 2.8))
    for k, (name, (fitted, resid)) in enumerate(fits.items()):
        plots.residuals_fitted(fitted, resid, ax=axes[2 * k], title=name, watermark=watermark)
        plots.normal_quantiles(resid, ax=axes[2 * k + 1], title=name, watermark=watermark)
    return axes
