"""The strict multivariate histogram (ALGORITHMS.md, section 1; after dp_rct.txt, Algorithm 1)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.defaults import FEWEST_SURVIVORS, bins_by_zeta
from dprct.encode import decoded
from dprct.privacy.budget import Budget, Real
from dprct.privacy.cells import cell_count
from dprct.privacy.histogram import (
    HistogramRelease,
    SparseHistogram,
    StabilityHistogram,
    draw_rows,
)
from dprct.queries import cell_counts
from dprct.release.model import ReleaseModel
from dprct.results.plan import Plan
from dprct.schema.table import row_count, table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from dprct.privacy.noise import NoiseSource
    from dprct.schema.schema import Schema


class MVHistogram(ReleaseModel):
    """Release a table through the noisy counts of all combinations of its modelled columns.

    Parameters
    ----------
    data : data frame
        pandas, Polars (eager or lazy), DuckDB or PySpark, n rows, legal in ``schema``.  Of an
        engine, one row per occupied cell and public columns are read into memory.
    schema : Schema
        With a fate for every column; bounds or levels, bins where continuous, and a missing
        policy for the modelled ones.
    columns : iterable of str, optional
        Columns to model; those whose fate is ``"modelled"`` by default.
    zeta : float, optional
        In (0, 1): give ``ceil(n^zeta)`` equal bins to columns that declare none.
    keep : iterable of str
        Characteristics to keep besides the allow-list.

    Raises
    ------
    SchemaError, ColumnError, ParameterError
        If a public fact is missing or the data break one; no value is shown.

    Notes
    -----
    Relation: replace-one, n public.  The counts of all K cells of the public domain have L1
    sensitivity 2; each gets discrete Laplace noise of scale 2 / epsilon, and the cells whose noisy
    count reaches the public threshold t are released, sampled without visiting the K cells (exact
    in law).  With ``delta > 0`` only occupied cells get noise (stability form).  The n synthetic
    rows are drawn from the released counts: post-processing.

    The published algorithm takes bin edges and cells from the data and has no guarantee; this one
    takes them from the schema.

    References
    ----------
    Algorithm 1 of "Assessing Utility of Differential Privacy for RCTs", corrected in
    ALGORITHMS.md, section 1.

    Examples
    --------
    >>> import pandas as pd
    >>> from dprct.schema import Column, Schema
    >>> schema = Schema((Column("got", "byte"), Column("any", "byte"))).declare(
    ...     got=dict(levels=[0, 1], missing="never"), any=dict(levels=[0, 1], missing="never")
    ... )
    >>> data = pd.DataFrame({"got": [0.0, 1.0] * 200, "any": [0.0, 0.0, 1.0, 1.0] * 100})
    >>> model = MVHistogram(data, schema, columns=["got", "any"])
    >>> release = model.fit(epsilon=1)
    >>> release.protected.shape
    (400, 2)
    """

    method = "MVHistogram (strict multivariate histogram; dp_rct Algorithm 1, corrected)"

    def __init__(
        self,
        data: Any,
        schema: Schema,
        *,
        columns: Iterable[str] | None = None,
        zeta: float | None = None,
        keep: Iterable[str] = (),
    ) -> None:
        bins = None if zeta is None else bins_by_zeta(row_count(table(data)), zeta)
        super().__init__(data, schema, columns=columns, keep=keep, default_bins=bins)
        self.sizes = tuple(encoding.size for encoding in self.encodings)
        self.cells = cell_count(self.sizes)

    def mechanism(self, budget: Budget) -> SparseHistogram | StabilityHistogram:
        """Return the mechanism that one row's ``budget`` buys."""
        if budget.delta:
            return StabilityHistogram(budget.epsilon, budget.delta, self.cells)
        return SparseHistogram(budget.epsilon, self.cells, self.n)

    def plan(self, epsilon: Real, delta: Real = 0) -> Plan:
        """Return K, t, n / K and what follows from them, before anything is spent.

        Parameters
        ----------
        epsilon : number
            Above 0.
        delta : number, default 0
            In [0, 1).

        Returns
        -------
        Plan
            A function of public facts: free.
        """
        budget = Budget.asked(epsilon, delta)
        mechanism = self.mechanism(self._per_row(budget))
        t, n, cells = mechanism.threshold, self.n, self.cells
        facts = {
            "n": f"{n:,} rows",
            "K": f"{_big(cells)} cells ({'; '.join(e.describe() for e in self.encodings)})",
            "t": f"{t} (a cell is released if its noisy count is at least t)",
            "n / K": f"{n / cells:.3g} rows per cell on average",
            "noise": mechanism.describe(),
        }
        if self.schema.unit.max_rows > 1:
            k = self.schema.unit.max_rows
            facts["price of max_rows"] = (
                f"up to {k} rows per {self.schema.unit.name}: each row gets epsilon/{k}, "
                f"noise is {k} times as large as with one row each"
            )
        consequences = [
            f"a combination shared by fewer than about {t} rows disappears",
            self._survivors(t),
        ]
        if isinstance(mechanism, SparseHistogram):
            consequences.append(
                f"about {mechanism.expected_spurious_rows:.0f} rows or fewer fall into "
                "combinations that nobody has"
            )
        return Plan(
            self.method, budget, facts, tuple(consequences), self._warnings(t), self._refusal(t)
        )

    def _survivors(self, t: int) -> str:
        """Say how many combinations to expect; noise may lift any cell, so that K alone is sure."""
        if self.cells <= self.n // t:
            return f"all {self.cells:,} combinations can survive"
        return (
            f"with {self.n:,} rows, few more than {self.n // t:,} combinations can be expected to "
            "survive (noise can lift a smaller count)"
        )

    def _warnings(self, t: int) -> tuple[str, ...]:
        if self.n / self.cells >= t:
            return ()
        return (
            f"n / K is below t = {t}: unless rows concentrate in few combinations, most of them "
            f"disappear; {_ADVICE}",
        )

    def _refusal(self, t: int) -> str:
        if self.n / t >= FEWEST_SURVIVORS:
            return ""
        return (
            f"n / t = {self.n / t:.2g}, so fewer than {FEWEST_SURVIVORS} combinations can be "
            f"expected to survive; {_ADVICE}, or give confirm=True (in a study file: confirm = "
            "true)"
        )

    def _draw(self, budget: Budget, noise: NoiseSource) -> tuple[dict[str, Any], HistogramRelease]:
        counts = cell_counts(self._frame, self.encodings)
        drawn = self.mechanism(budget).release(counts, noise)
        state = {
            "columns": [encoding.name for encoding in self.encodings],
            "radices": list(drawn.radices),
            "threshold": drawn.threshold,
            "codes": drawn.codes.tolist(),
            "counts": drawn.counts.tolist(),
        }
        return state, drawn

    def _revived(self, state: Mapping[str, Any]) -> HistogramRelease:
        return HistogramRelease(
            np.array(state["codes"], np.int64).reshape(-1, len(self.sizes)),
            np.array(state["counts"], np.int64),
            tuple(state["radices"]),
            state["threshold"],
            simulation=False,
        )

    def _columns(self, drawn: HistogramRelease, noise: NoiseSource) -> Mapping[str, NDArray[Any]]:
        rng = noise.post_processing_rng()
        rows = draw_rows(drawn, self.n, rng)
        return decoded(self.encodings, rows, rng)

    def _limits(self) -> tuple[str, ...]:
        return (
            "combinations shared by few rows are gone; subgroups, tails and rare codes with them",
            "values within a bin are uniform: finer detail than the declared bins is not there",
            "columns that are filler, withheld or keys carry no information",
            "standard errors computed on this file do not contain the privacy noise",
        )


_ADVICE = "use fewer bins, fewer columns, a larger epsilon, or one-way marginals (Marginals)"


def _big(cells: int) -> str:
    return f"{cells:,}" if cells < 10**9 else f"about 10^{math.log10(cells):.1f}"
