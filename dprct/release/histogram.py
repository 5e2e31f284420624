"""The strict histograms: of all combinations of columns, and of every column by itself."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dprct.arguments import checked
from dprct.defaults import FEWEST_SURVIVORS, bins_by_zeta
from dprct.encoding import decoded, encodings
from dprct.privacy.aggregates import cell_count
from dprct.privacy.composition import per_row
from dprct.privacy.histograms import (
    HistogramRelease,
    OneWayHistograms,
    OneWayRelease,
    SparseHistogram,
    StabilityHistogram,
    draw_independent_rows,
    draw_rows,
)
from dprct.privacy.mechanisms import Allocation
from dprct.queries.counts import cell_counts, one_way_counts
from dprct.release.release import ReleaseFacts, ReleaseModel, ReleaseSpec, fated, modelled
from dprct.results.plan import Plan
from dprct.schema.arguments import listed_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from dprct.encoding import Coded
    from dprct.model import Facts
    from dprct.privacy.aggregates import CellCounts, IntegerVector
    from dprct.privacy.budget import Budget
    from dprct.privacy.noise import NoiseSource
    from dprct.schema.schema import Schema

Cells = SparseHistogram | StabilityHistogram

COUNTS = "counts"
"""Name of the one mechanism of a histogram in its allocation."""


@dataclass(frozen=True, kw_only=True)
class CountsSpec(ReleaseSpec[ReleaseFacts]):
    """What both histograms are asked for."""

    def bins(self, n: int) -> int | None:
        """Return how many bins a column gets that declares none; None refuses such a column."""
        return None

    def encodings(self, facts: Facts) -> tuple[Coded, ...]:
        """Return how the modelled columns become codes: a function of public facts."""
        return encodings(facts.schema, self.columns, self.bins(facts.n))

    def checks(self, facts: Facts) -> Iterator[Callable[[], object]]:
        """Yield what must hold of fates, characteristics and the columns' public facts."""
        yield from super().checks(facts)
        yield lambda: self.encodings(facts)

    @abstractmethod
    def mechanism(self, facts: ReleaseFacts, budget: Budget) -> Cells | OneWayHistograms:
        """Return the mechanism that one row's ``budget`` buys."""

    def allocation(self, facts: ReleaseFacts, budget: Budget) -> Allocation:
        """Return the mechanism of the counts, of which all rows of a unit share the budget."""
        rows = facts.schema.unit.max_rows
        counts = self.mechanism(facts, per_row(budget, rows))
        return Allocation(budget=budget, parts={COUNTS: counts}, rows=rows)


@dataclass(frozen=True, kw_only=True)
class HistogramSpec(CountsSpec):
    """What a multivariate histogram is asked for: the options of :class:`MVHistogram`."""

    method: ClassVar[str] = (
        "MVHistogram (strict multivariate histogram; dp_rct Algorithm 1, corrected)"
    )

    zeta: float | None = None

    def bins(self, n: int) -> int | None:
        """Return how many bins a column gets that declares none, by ``zeta``."""
        return None if self.zeta is None else bins_by_zeta(n, self.zeta)

    def mechanism(self, facts: ReleaseFacts, budget: Budget) -> Cells:
        """Return the mechanism that one row's ``budget`` buys."""
        cells = cell_count(facts.sizes)
        if budget.delta:
            return StabilityHistogram(budget.epsilon, budget.delta, cells)
        return SparseHistogram(budget.epsilon, cells, facts.n)

    def plan(self, facts: ReleaseFacts, allocation: Allocation) -> Plan:
        """Return K, t, n / K and what follows from them."""
        mechanism = allocation[COUNTS]
        assert isinstance(mechanism, (SparseHistogram, StabilityHistogram))
        t, n, cells = mechanism.threshold, facts.n, mechanism.cells
        numbers = {
            "n": f"{n:,} rows",
            "K": f"{_big(cells)} cells ({'; '.join(e.describe() for e in facts.encodings)})",
            "t": f"{t} (a cell is released if its noisy count is at least t)",
            "n / K": f"{n / cells:.3g} rows per cell on average",
            "noise": mechanism.describe(),
        }
        if facts.schema.unit.max_rows > 1:
            k = facts.schema.unit.max_rows
            numbers["price of max_rows"] = (
                f"up to {k} rows per {facts.schema.unit.name}: each row gets epsilon/{k}, "
                f"noise is {k} times as large as with one row each"
            )
        consequences = [
            f"a combination shared by fewer than about {t} rows disappears",
            _survivors(n, cells, t),
        ]
        if isinstance(mechanism, SparseHistogram):
            consequences.append(
                f"about {mechanism.expected_spurious_rows:.0f} rows or fewer fall into "
                "combinations that nobody has"
            )
        return Plan(
            self.method,
            allocation.budget,
            numbers,
            tuple(consequences),
            _warnings(n, cells, t),
            _refusal(n, t),
        )

    def limits(self, facts: ReleaseFacts) -> tuple[str, ...]:
        """Return what the protected file is not good for."""
        return (
            "combinations shared by few rows are gone; subgroups, tails and rare codes with them",
            "values within a bin are uniform: finer detail than the declared bins is not there",
            "columns that are filler, withheld or keys carry no information",
            "standard errors computed on this file do not contain the privacy noise",
        )


@dataclass(frozen=True, kw_only=True)
class MarginalsSpec(CountsSpec):
    """What one-way marginals are asked for: the options of :class:`Marginals`."""

    method: ClassVar[str] = "Marginals (independent one-way histograms)"

    default_bins: int | None = None

    def bins(self, n: int) -> int | None:
        """Return how many bins a column gets that declares none, as it was asked for."""
        return self.default_bins

    def mechanism(self, facts: ReleaseFacts, budget: Budget) -> OneWayHistograms:
        """Return the mechanism that one row's ``budget`` buys."""
        return OneWayHistograms(budget.epsilon, facts.sizes, budget.delta)

    def plan(self, facts: ReleaseFacts, allocation: Allocation) -> Plan:
        """Return the noise of every count."""
        mechanism = allocation[COUNTS]
        assert isinstance(mechanism, OneWayHistograms)
        sd = mechanism.mechanism.noise_sd
        numbers = {
            "n": f"{facts.n:,} rows",
            "columns": "; ".join(e.describe() for e in facts.encodings),
            "noise": mechanism.describe(),
            "noise of a count": f"sd {sd:.3g} rows, {sd / facts.n:.2%} of n",
        }
        noisy = [e.name for e in facts.encodings if facts.n / e.size < 2 * sd]
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
        return Plan(self.method, allocation.budget, numbers, consequences, warnings)

    def limits(self, facts: ReleaseFacts) -> tuple[str, ...]:
        """Return what the protected file is not good for."""
        return (
            "columns are independent of each other: no effect, correlation or subgroup survives",
            "values within a bin are uniform: finer detail than the declared bins is not there",
            "columns that are filler, withheld or keys carry no information",
        )


class MVHistogram(ReleaseModel[HistogramSpec, ReleaseFacts, HistogramRelease]):
    """A synthetic file drawn from the noisy joint histogram of its modelled columns.

    Parameters
    ----------
    data : data frame
        A table of n rows in pandas, Polars (eager or lazy), DuckDB or PySpark, legal in ``schema``.
        If it lives in an engine, one row per occupied cell and the public columns are read into
        memory.
    schema : Schema
        Public facts: a fate for every column, and for modelled columns bounds or levels, bins if
        they are continuous, and a policy for missing values.
    columns : iterable of str, optional
        Columns to model.  By default, those whose fate is ``"modelled"``.
    zeta : float, optional
        In (0, 1). Columns that declare no bins get ``ceil(n^zeta)`` equal ones.
    keep : iterable of str
        Characteristics of the .dta file to keep in addition to those on the allow-list.

    Raises
    ------
    SchemaError, ColumnError, ParameterError
        If a public fact is missing, or the data contradict one.  The message shows no value, and
        nothing is spent.

    Notes
    -----
    Relation: replace-one, with n public.  The counts of all K cells of the public domain have L1
    sensitivity 2. Each gets discrete Laplace noise of scale 2 / epsilon, and cells whose noisy
    count reaches the public threshold t are released; they are sampled, exactly in law, without
    visiting all K cells.  With ``delta > 0``, only occupied cells get noise (the stability-based
    form). The n synthetic rows are drawn from the released counts, which is post-processing.

    The published algorithm takes bin edges and cells from the data, and therefore has no guarantee.
    This one takes them from the schema.

    References
    ----------
    Algorithm 1 of "Assessing Utility of Differential Privacy for RCTs", corrected in
    docs/methods.md, section 1.

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

    @checked
    def __init__(
        self,
        data: Any,
        schema: Schema,
        *,
        columns: Iterable[str] | None = None,
        zeta: float | None = None,
        keep: Iterable[str] = (),
    ) -> None:
        schema = fated(schema, columns)
        spec = HistogramSpec(
            columns=tuple(modelled(schema)), zeta=zeta, keep=listed_names(keep, "keep")
        )
        facts, _ = self._open(spec, data, schema)
        self.facts = ReleaseFacts(facts.schema, facts.n, spec.encodings(facts))

    def _asked(self, allocation: Allocation) -> Callable[[NoiseSource], HistogramRelease]:
        if not self._table.in_engine:
            return super()._asked(allocation)
        counts = cell_counts(self._table.frame, self.facts.encodings, n=self.n)
        return lambda noise: self._draw(allocation, noise, counts)

    def _draw(
        self, allocation: Allocation, noise: NoiseSource, counts: CellCounts | None = None
    ) -> HistogramRelease:
        mechanism = allocation[COUNTS]
        assert isinstance(mechanism, (SparseHistogram, StabilityHistogram))
        if counts is None:
            counts = cell_counts(self._table.frame, self.facts.encodings)
        return mechanism.release(counts, noise)

    def _state(self, drawn: HistogramRelease) -> Mapping[str, Any]:
        return {
            "columns": [encoding.name for encoding in self.facts.encodings],
            "radices": list(drawn.radices),
            "threshold": drawn.threshold,
            "codes": drawn.codes.tolist(),
            "counts": drawn.counts.tolist(),
        }

    def _revived(self, state: Mapping[str, Any]) -> HistogramRelease:
        return HistogramRelease(
            np.array(state["codes"], np.int64).reshape(-1, len(self.facts.sizes)),
            np.array(state["counts"], np.int64),
            tuple(state["radices"]),
            state["threshold"],
            simulation=False,
        )

    def _columns(self, drawn: HistogramRelease, noise: NoiseSource) -> Mapping[str, NDArray[Any]]:
        rng = noise.post_processing_rng()
        rows = draw_rows(drawn, self.n, rng)
        return decoded(self.facts.encodings, rows, rng)


class Marginals(ReleaseModel[MarginalsSpec, ReleaseFacts, OneWayRelease]):
    """A synthetic file drawn from a noisy histogram of each modelled column.

    Parameters
    ----------
    data : data frame
        A table of n rows in pandas, Polars (eager or lazy), DuckDB or PySpark, legal in ``schema``.
        If it lives in an engine, one row per occupied level and the public columns are read into
        memory.
    schema : Schema
        As for :class:`dprct.MVHistogram`.
    columns : iterable of str, optional
        Columns to model.  By default, those whose fate is ``"modelled"``.
    default_bins : int, optional
        Number of equal bins for columns that declare none.
    keep : iterable of str
        Characteristics of the .dta file to keep in addition to those on the allow-list.

    Raises
    ------
    SchemaError, ColumnError
        If a public fact is missing, or the data contradict one.  The message shows no value, and
        nothing is spent.

    Notes
    -----
    Relation: replace-one, with n public.  The p histograms together have L1 sensitivity 2p, so each
    count gets discrete Laplace noise of scale 2p / epsilon; with ``delta > 0`` discrete Gaussian
    noise for the L2 sensitivity sqrt(2p). Columns are then drawn independently of each other: the
    protected file has the right distribution of each column and **no relation between columns**, so
    no treatment effect.

    References
    ----------
    docs/methods.md, section 2.

    Examples
    --------
    >>> import pandas as pd
    >>> from dprct.schema import Column, Schema
    >>> schema = Schema((Column("got", "byte"),)).declare(got=dict(levels=[0, 1], missing="never"))
    >>> model = Marginals(pd.DataFrame({"got": [0.0, 1.0] * 200}), schema, columns=["got"])
    >>> model.fit(epsilon=1).protected.shape
    (400, 1)
    """

    @checked
    def __init__(
        self,
        data: Any,
        schema: Schema,
        *,
        columns: Iterable[str] | None = None,
        default_bins: int | None = None,
        keep: Iterable[str] = (),
    ) -> None:
        schema = fated(schema, columns)
        spec = MarginalsSpec(
            columns=tuple(modelled(schema)),
            default_bins=default_bins,
            keep=listed_names(keep, "keep"),
        )
        facts, _ = self._open(spec, data, schema)
        self.facts = ReleaseFacts(facts.schema, facts.n, spec.encodings(facts))

    def _asked(self, allocation: Allocation) -> Callable[[NoiseSource], OneWayRelease]:
        if not self._table.in_engine:
            return super()._asked(allocation)
        counts = one_way_counts(self._table.frame, self.facts.encodings, n=self.n)
        return lambda noise: self._draw(allocation, noise, counts)

    def _draw(
        self, allocation: Allocation, noise: NoiseSource, counts: IntegerVector | None = None
    ) -> OneWayRelease:
        mechanism = allocation[COUNTS]
        assert isinstance(mechanism, OneWayHistograms)
        if counts is None:
            counts = one_way_counts(self._table.frame, self.facts.encodings)
        return mechanism.release(counts, noise)

    def _state(self, drawn: OneWayRelease) -> Mapping[str, Any]:
        return {
            "columns": [encoding.name for encoding in self.facts.encodings],
            "counts": [column.tolist() for column in drawn.counts],
            "noise_sd": drawn.noise_sd,
        }

    def _revived(self, state: Mapping[str, Any]) -> OneWayRelease:
        counts = tuple(np.array(column, np.int64) for column in state["counts"])
        return OneWayRelease(counts, state["noise_sd"], simulation=False)

    def _columns(self, drawn: OneWayRelease, noise: NoiseSource) -> Mapping[str, NDArray[Any]]:
        rng = noise.post_processing_rng()
        rows = draw_independent_rows(drawn, self.n, rng)
        return decoded(self.facts.encodings, rows, rng)


_ADVICE = "use fewer bins, fewer columns, a larger epsilon, or one-way marginals (Marginals)"


def _survivors(n: int, cells: int, t: int) -> str:
    """Say how many combinations to expect; noise may lift any cell, so that K alone is sure."""
    if cells <= n // t:
        return f"all {cells:,} combinations can survive"
    return (
        f"with {n:,} rows, few more than {n // t:,} combinations can be expected to "
        "survive (noise can lift a smaller count)"
    )


def _warnings(n: int, cells: int, t: int) -> tuple[str, ...]:
    if n / cells >= t:
        return ()
    return (
        f"n / K is below t = {t}: unless rows concentrate in few combinations, most of them "
        f"disappear; {_ADVICE}",
    )


def _refusal(n: int, t: int) -> str:
    if n / t >= FEWEST_SURVIVORS:
        return ""
    return (
        f"n / t = {n / t:.2g}, so fewer than {FEWEST_SURVIVORS} combinations can be "
        f"expected to survive; {_ADVICE}, or give confirm=True (in a study file: confirm = "
        "true)"
    )


def _big(cells: int) -> str:
    return f"{cells:,}" if cells < 10**9 else f"about 10^{math.log10(cells):.1f}"
