"""What :func:`dprct.custodian.risk` finds, as frames, text and a figure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dprct import plots
from dprct.custodian.overlap import summarised
from dprct.results.cells import Column, Row
from dprct.results.confidential import WATERMARK, Confidential, marked
from dprct.results.tables import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_EXPLAINED = {
    "equal": "rows equal to a confidential row",
    "equal.unique": "  to one that is unique",
    "keys.equal": "equal to one on the keys",
    "keys.equal.unique": "  to one that is unique on them",
    "distance.median": "distance to the nearest: median",
    "distance.q05": "  its 5% quantile",
    "closer": "nearer to confidential than to holdout",
}
_NO_HOLDOUT = (
    "No holdout was given, so there is nothing to compare shares and distances with; keep some "
    "confidential rows out of the release and give them as holdout=."
)
_LIMITS = (
    "These numbers can show that a release copies; that they are low proves nothing. What protects "
    "is a guarantee."
)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RiskReport(Confidential):
    """How near released rows are to confidential ones; see :func:`risk`.

    Parameters
    ----------
    measures : DataFrame
        One row per method and draw.
    baseline : Series or None
        The same measures of the holdout rows; None without a holdout.
    columns, keys : tuple of str
        In which rows were compared; ``keys`` may be empty.
    distances : mapping of method to tuple of (m,) arrays
        Of released rows to their nearest confidential one, per draw.
    holdout_distances : (h,) array or None
        Of holdout rows to theirs.

    Notes
    -----
    The report holds no row, but it is confidential: every text, frame and figure of it says so,
    it refuses to be pickled, and a :class:`~dprct.Release` refuses to hold it.
    """

    measures: pd.DataFrame
    baseline: pd.Series[float] | None
    columns: tuple[str, ...]
    keys: tuple[str, ...]
    distances: dict[str, tuple[Array, ...]]
    holdout_distances: Array | None = None

    def to_frame(self) -> pd.DataFrame:
        """Return one row per method and draw.

        Returns
        -------
        DataFrame
            ``method``, ``draw``, ``rows``; the shares ``equal``, ``equal.unique``,
            ``keys.equal``, ``keys.equal.unique``; ``distance.median``, ``distance.q05``;
            ``closer``, which is ``closer.expected`` where nothing was learned by heart.  NaN where
            keys or a holdout are needed.  The watermark is in ``attrs``.
        """
        return marked(self.measures.copy())

    def summary(self, quantiles: Sequence[float] = (0.05, 0.95)) -> pd.DataFrame:
        """Return the distribution of each measure over the draws of a method.

        Parameters
        ----------
        quantiles : sequence of float
        """
        return marked(summarised(self.measures, ["method"], list(_EXPLAINED), tuple(quantiles)))

    def to_text(self) -> str:
        """Return the report as text, under its watermark."""
        found = self.summary()
        methods = [str(method) for method in found["method"]]
        columns = [
            Column(method, (method or "released") + (f" ({n})" if n > 1 else ""))
            for method, n in zip(methods, found["draws"], strict=True)
        ]
        rows = [
            Row(key, words, (*found[f"{key}.mean"], self._beside(key)))
            for key, words in _EXPLAINED.items()
            if found[f"{key}.mean"].notna().any()
        ]
        table = Table(
            columns=(*columns, Column("baseline", "baseline")),
            rows=tuple(rows),
            parts=(("estimate", ""),),
            title=WATERMARK,
            corner="Share, or mean over draws",
            notes=(*self._notes(), WATERMARK + "."),
        )
        return table.to_text()

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"<RiskReport: {len(self.measures)} releases. {WATERMARK}>"

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the distribution functions of distances to the nearest confidential record."""
        samples: dict[str, Sequence[Array]] = {
            f"released{f' ({method})' if method else ''}": several
            for method, several in self.distances.items()
        }
        if self.holdout_distances is not None:
            samples["holdout"] = [self.holdout_distances]
        return plots.cumulative(
            samples,
            ax=ax,
            title="Distance to the nearest confidential record",
            label="Gower distance",
            watermark=WATERMARK,
        )

    def _beside(self, key: str) -> float | None:
        """Return what the measure is where nothing was copied."""
        if self.baseline is None:
            return None
        return float(self.baseline[key])

    def _notes(self) -> list[str]:
        listed = ", ".join(self.columns[:8])
        more = f" and {len(self.columns) - 8} more" if len(self.columns) > 8 else ""
        return [
            f"Compared in: {listed}{more}.",
            *([f"Keys: {', '.join(self.keys)}."] if self.keys else []),
            "The baseline is the same for holdout rows, which are real and were not used."
            if self.baseline is not None
            else _NO_HOLDOUT,
            _LIMITS,
        ]
