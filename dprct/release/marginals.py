"""Independent one-way marginals: many columns, no relation between them (ALGORITHMS.md, 1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.encode import decoded
from dprct.privacy.budget import Budget, Real
from dprct.privacy.marginals import OneWayHistograms, OneWayRelease, draw_independent_rows
from dprct.queries import one_way_counts
from dprct.release.model import ReleaseModel
from dprct.results.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from dprct.privacy.noise import NoiseSource


class Marginals(ReleaseModel):
    """Release a table through the noisy one-way histograms of its modelled columns.

    Parameters
    ----------
    data : data frame
        pandas, Polars (eager or lazy), DuckDB or PySpark, n rows, legal in ``schema``.  Of an
        engine, one row per occupied level and public columns are read into memory.
    schema : Schema
        As for :class:`dprct.MVHistogram`.
    columns : iterable of str, optional
        Columns to model; those whose fate is ``"modelled"`` by default.
    keep : iterable of str
        Characteristics to keep besides the allow-list.

    Raises
    ------
    SchemaError, ColumnError
        If a public fact is missing or the data break one; no value is shown.

    Notes
    -----
    Relation: replace-one, n public.  The p histograms together have L1 sensitivity 2p, so each
    count gets discrete Laplace noise of scale 2p / epsilon; with ``delta > 0`` discrete Gaussian
    noise for the L2 sensitivity sqrt(2p).  Columns are then drawn independently of each other:
    the protected file has the right distribution of each column and **no relation between
    columns**, so no treatment effect.

    References
    ----------
    ALGORITHMS.md, section 1.

    Examples
    --------
    >>> import pandas as pd
    >>> from dprct.schema import Column, Schema
    >>> schema = Schema((Column("got", "byte"),)).declare(got=dict(levels=[0, 1], missing="never"))
    >>> model = Marginals(pd.DataFrame({"got": [0.0, 1.0] * 200}), schema, columns=["got"])
    >>> model.fit(epsilon=1).protected.shape
    (400, 1)
    """

    method = "Marginals (independent one-way histograms)"

    def mechanism(self, budget: Budget) -> OneWayHistograms:
        """Return the mechanism that one row's ``budget`` buys."""
        return OneWayHistograms(budget.epsilon, [e.size for e in self.encodings], budget.delta)

    def plan(self, epsilon: Real, delta: Real = 0) -> Plan:
        """Return the noise of every count, before anything is spent; a function of public facts.

        Parameters
        ----------
        epsilon : number
            Above 0.
        delta : number, default 0
            In [0, 1).
        """
        budget = Budget.asked(epsilon, delta)
        mechanism = self.mechanism(self._per_row(budget))
        sd = mechanism.mechanism.noise_sd
        facts = {
            "n": f"{self.n:,} rows",
            "columns": "; ".join(e.describe() for e in self.encodings),
            "noise": mechanism.describe(),
            "noise of a count": f"sd {sd:.3g} rows, {sd / self.n:.2%} of n",
        }
        noisy = [e.name for e in self.encodings if self.n / e.size < 2 * sd]
        warnings: tuple[str, ...] = ()
        if noisy:
            warnings = (
                f"noise is large against n / levels for: {', '.join(noisy)}; "
                "declare fewer bins, model fewer columns, or spend more",
            )
        consequences = (
            "every column keeps its distribution, up to the noise",
            "columns are independent of each other: no effect or correlation survives",
        )
        return Plan(self.method, budget, facts, consequences, warnings)

    def _draw(self, budget: Budget, noise: NoiseSource) -> tuple[dict[str, Any], OneWayRelease]:
        counts = one_way_counts(self._frame, self.encodings)
        drawn = self.mechanism(budget).release(counts, noise)
        state = {
            "columns": [encoding.name for encoding in self.encodings],
            "counts": [column.tolist() for column in drawn.counts],
            "noise_sd": drawn.noise_sd,
        }
        return state, drawn

    def _revived(self, state: Mapping[str, Any]) -> OneWayRelease:
        counts = tuple(np.array(column, np.int64) for column in state["counts"])
        return OneWayRelease(counts, state["noise_sd"], simulation=False)

    def _columns(self, drawn: OneWayRelease, noise: NoiseSource) -> Mapping[str, NDArray[Any]]:
        rng = noise.post_processing_rng()
        rows = draw_independent_rows(drawn, self.n, rng)
        return decoded(self.encodings, rows, rng)

    def _limits(self) -> tuple[str, ...]:
        return (
            "columns are independent of each other: no effect, correlation or subgroup survives",
            "values within a bin are uniform: finer detail than the declared bins is not there",
            "columns that are filler, withheld or keys carry no information",
        )
