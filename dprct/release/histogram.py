"""The strict histograms: of all combinations of columns, and of every column by itself."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, cast

import numpy as np

from dprct.arguments import checked, listed_names
from dprct.certificate.certificate import VOID_ERRORS
from dprct.defaults import (
    FEWEST_SURVIVORS,
    MOST_SPURIOUS,
    OUTCOME_SHARE,
    POINT_BINS,
    bins_by_zeta,
)
from dprct.encoding import Encoding, decoded, encodings
from dprct.errors import ParameterError
from dprct.privacy.aggregates import CellCounts, IntegerVector, cell_count
from dprct.privacy.budget import Budget, exact
from dprct.privacy.composition import per_row
from dprct.privacy.histograms import (
    CellHistogram,
    HistogramRelease,
    OneWayHistograms,
    OneWayRelease,
    SparseHistogram,
    StabilityHistogram,
    draw_independent_rows,
    draw_rows,
)
from dprct.privacy.mechanisms import Allocation, DiscreteLaplace
from dprct.queries.counts import cell_counts, one_way_counts
from dprct.queries.offsets import bin_offsets, group_count
from dprct.queries.sums import GRID
from dprct.records import dataclass
from dprct.release.columns import Binned, is_binned_outcome, means_of, redrawn
from dprct.release.release import ReleaseFacts, ReleaseModel, ReleaseSpec, fated, modelled
from dprct.release.spurious import error_ratio, released_share, spurious_share
from dprct.results.plan import (
    ESTIMAND,
    RATIO,
    Contents,
    Plan,
    PlannedNumber,
    errors_of_estimate,
    notes,
    units_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from dprct.encoding import Coded
    from dprct.model import BoundTable, Facts
    from dprct.privacy.aggregates import IntArray
    from dprct.privacy.budget import Real
    from dprct.privacy.mechanisms import Mechanism
    from dprct.privacy.noise import NoiseSource
    from dprct.schema.schema import Schema

Counts = HistogramRelease | OneWayRelease

COUNTS = "counts"
"""Name of the mechanism of the counts in the allocation of a histogram."""

Drawn = TypeVar("Drawn", bound=Counts)

OFFSETS = "offsets"
"""Name of the mechanism of where outcomes lie within their bins, where there is one."""


@dataclass(frozen=True, eq=False)
class WithOffsets:
    """Noisy counts, and noisy sums of where binned outcomes lie within their bins."""

    counts: Any
    # As :func:`dprct.queries.offsets.bin_offsets` orders them, in widths of a bin.
    sums: NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class CountsSpec(ReleaseSpec[ReleaseFacts]):
    """What both histograms are asked for."""

    columns: tuple[str, ...] = ()  # columns to model

    grouped: ClassVar[bool] = False
    point_bins: ClassVar[int | None] = None
    """Bins of a column of whole numbers that declares none; None gives each number a level."""

    outcome_share: Real | None = None

    def binned(self, encodings: Sequence[Coded]) -> Binned:
        """Return the outcomes whose bins get a mean, by the schema alone."""
        share = self.share()
        return Binned.of(encodings if share else (), grouped=self.grouped)

    def share(self) -> Fraction:
        """Return the share of epsilon for the means of bins, where there are binned outcomes."""
        if self.outcome_share is None:
            return OUTCOME_SHARE
        share = exact(self.outcome_share, "outcome_share")
        if not 0 <= share < 1:
            raise ParameterError(
                f"``outcome_share={float(share):g}``; give a number from 0 (values uniform within "
                "bins) to below 1"
            )
        return share

    def bins(self, n: int) -> int | None:
        """How many bins a column gets that declares none; None refuses such a column."""
        return None

    def noted(self, schema: Schema) -> Self:
        """Specification of the columns whose fate is to be modelled, where none were named."""
        return replace(self, columns=self.columns or tuple(modelled(schema)))

    def encodings(self, facts: Facts) -> tuple[Coded, ...]:
        """Codes of the modelled columns: a function of public facts."""
        return encodings(facts.schema, self.columns, self.bins(facts.n), self.point_bins)

    def guesses(self, facts: Facts) -> Iterator[ReleaseFacts]:
        """Yield what the header says, which is all that is public of the rows."""
        yield ReleaseFacts(facts.schema, facts.n, self.encodings(facts))

    def checks(self, facts: Facts) -> Iterator[Callable[[], object]]:
        """Yield what must hold of fates, characteristics and the columns' public facts."""
        yield from super().checks(facts)
        yield self.share
        yield lambda: self.encodings(facts)

    def within_limit(self, facts: ReleaseFacts) -> str:
        """Detail within bins that the release does not have, in words."""
        names = [code.name for code in self.binned(facts.encodings).outcomes(facts.encodings)]
        if not names:
            return (
                "values within a bin are uniform: finer detail than the declared bins is not there"
            )
        return (
            f"values within a bin are uniform, but for {', '.join(names)}, whose bins have their "
            "noisy mean: finer detail than that is not there"
        )

    @abstractmethod
    def mechanism(self, facts: ReleaseFacts, budget: Budget) -> Mechanism:
        """Return the mechanism that one row's ``budget`` buys."""

    def allocation(self, facts: ReleaseFacts, budget: Budget) -> Allocation:
        """Return the mechanism of the counts, of which all rows of a unit share the budget."""
        rows = facts.schema.unit.max_rows
        each, share = per_row(budget, rows), self.share()
        outcomes = self.binned(facts.encodings).places
        if not outcomes:
            return Allocation(budget=budget, parts={COUNTS: self.mechanism(facts, each)}, rows=rows)
        parts = {
            COUNTS: self.mechanism(facts, Budget(each.epsilon * (1 - share), each.delta)),
            OFFSETS: DiscreteLaplace(each.epsilon * share, GRID * len(outcomes)),
        }
        return Allocation(budget=budget, parts=parts, rows=rows)

    def planned_means(self, facts: ReleaseFacts, allocation: Allocation) -> Iterator[PlannedNumber]:
        """Noise of the mean of each outcome with bins, or its bound."""
        widths = {
            code.name: [high - low for low, high in code.cells]
            for code in facts.encodings
            if is_binned_outcome(code) and isinstance(code, Encoding)
        }
        binned = self.binned(facts.encodings)
        if not widths:
            return
        if not binned.places:
            for name, found in widths.items():
                mean, unit = f"mean of {name}", units_of(name)
                off = "uniform within bins: a mean may be off by so much, whatever n"
                yield PlannedNumber(mean, max(found) / 2, unit, off)
                yield PlannedNumber(mean, max(found), unit, "an effect")
            return
        mechanism = allocation.part(OFFSETS, DiscreteLaplace)
        arms = group_count(binned.arms(facts.encodings))
        sd = mechanism.noise_sd / GRID / (facts.n / arms)
        why = "share of epsilon, for each bin" + " of each arm" * (arms > 1)
        yield PlannedNumber("means within bins", float(self.share()), why=why)
        for name, found in widths.items():
            mean, unit = f"mean of {name}", units_of(name)
            why = f"noise sd, about, in a mean of {'an arm' if arms > 1 else 'all rows'}"
            yield PlannedNumber(mean, sd * math.hypot(*found), unit, why)
            off = "off by at most, if values were uniform within bins"
            yield PlannedNumber(mean, max(found) / 2, unit, off)


@dataclass(frozen=True, kw_only=True)
class HistogramSpec(CountsSpec):
    """What a multivariate histogram is asked for: the options of :class:`MVHistogram`."""

    key: ClassVar[str] = "mv_histogram"
    page: ClassVar[str] = "first_file.md"
    method: ClassVar[str] = (
        "MVHistogram (strict multivariate histogram; dp_rct Algorithm 1, corrected)"
    )

    grouped: ClassVar[bool] = True
    point_bins: ClassVar[int | None] = POINT_BINS
    later_note: ClassVar[str] = (
        f"{VOID_ERRORS}, where tables of unrelated columns that are as frequent as the released "
        f"ones have more than {MOST_SPURIOUS:.0%} of their effects significant at 5%; the released "
        "table alone decides"
    )

    zeta: float | None = None

    def bins(self, n: int) -> int | None:
        """How many bins a column gets that declares none, by ``zeta``."""
        return None if self.zeta is None else bins_by_zeta(n, self.zeta)

    def mechanism(
        self, facts: ReleaseFacts, budget: Budget
    ) -> SparseHistogram | StabilityHistogram:
        """Return the mechanism that one row's ``budget`` buys."""
        cells = cell_count(facts.sizes)
        if budget.delta:
            return StabilityHistogram(budget.epsilon, budget.delta, cells)
        return SparseHistogram(budget.epsilon, cells, facts.n)

    def plan(self, facts: ReleaseFacts, allocation: Allocation) -> Plan:
        """Return K, t, n / K and what follows from them."""
        mechanism = allocation.part(COUNTS, CellHistogram)
        t, n, cells = mechanism.threshold, facts.n, mechanism.cells
        share = spurious_share(n, mechanism, self._offset_spread(facts, allocation))
        void = n / cells < t or share > MOST_SPURIOUS
        return Plan(
            self.method,
            allocation.budget,
            partial(self._contents, facts, allocation, mechanism, share),
            refusal=_refusal(n, cells, t, share),
            file_note=f"{VOID_ERRORS}: {_void(n, cells, t, share)}." if void else "",
        )

    def _contents(
        self, facts: ReleaseFacts, allocation: Allocation, mechanism: CellHistogram, share: float
    ) -> Contents:
        t, n, cells = mechanism.threshold, facts.n, mechanism.cells
        ratio = error_ratio(n, mechanism, self._offset_spread(facts, allocation))
        equal = "if all combinations are equally frequent"
        spurious = "of the regressions of one column on an unrelated one have |t| > 1.96; 0.05 on "
        levels = "; ".join(code.describe() for code in facts.encodings)
        numbers = [
            PlannedNumber(RATIO, ratio, why=equal, term="effect of one column on another"),
            *notes({ESTIMAND: "joint distribution of the columns in their bins or levels"}),
            PlannedNumber("n", n, "rows"),
            PlannedNumber("K", as_float(cells), "cells", levels),
            PlannedNumber("t", t, "rows", "a cell is released if its noisy count is at least t"),
            PlannedNumber("n / K", n / cells, "rows per cell on average"),
            *notes({"noise": mechanism.describe()}),
            *self.planned_means(facts, allocation),
            PlannedNumber("unrelated", share, why=f"{spurious}data without noise; {equal}"),
        ]
        if facts.schema.unit.max_rows > 1:
            k = facts.schema.unit.max_rows
            price = f"rows per {facts.schema.unit.name} at most: each row gets epsilon/{k}, and "
            price += f"noise is {k} times as large as with one row each"
            numbers.append(PlannedNumber("price of max_rows", k, why=price))
        consequences = [
            f"a combination shared by fewer than about {t} rows disappears"
            if t > 1
            else "a combination of a few rows may disappear",
            _survivors(n, cells, t),
        ]
        if isinstance(mechanism, SparseHistogram):
            consequences.append(
                f"about {mechanism.expected_spurious_rows:.0f} rows or fewer fall into "
                "combinations that nobody has"
            )
        consequences += self._binned_by_default(facts)
        consequences.append(
            "rare values make unrelated columns look related far more often than the share above "
            f"says; where the released table shows more than {MOST_SPURIOUS:.0%}, the file says "
            "that its errors mean nothing"
        )
        return Contents(tuple(numbers), tuple(consequences), _warnings(n, cells, t))

    def _binned_by_default(self, facts: ReleaseFacts) -> list[str]:
        """Say which columns of whole numbers got bins that nobody declared."""
        columns = [c.column for c in facts.encodings if isinstance(c, Encoding) and c.step]
        names = [column.name for column in columns if column.bins is None]
        if not names:
            return []
        return [
            f"{', '.join(names)}: equal bins by default, within which values are uniform; declare "
            "``bins=`` or ``levels=`` for others"
        ]

    def _offset_spread(self, facts: ReleaseFacts, allocation: Allocation) -> float:
        """Return the variance that means within bins add to an effect, over that of sampling."""
        if OFFSETS not in allocation.parts:
            return 0.0
        mechanism = allocation.part(OFFSETS, DiscreteLaplace)
        binned, found = self.binned(facts.encodings), [0.0]
        rows = facts.n / group_count(binned.arms(facts.encodings))
        for code in binned.outcomes(facts.encodings):
            widths = [high - low for low, high in code.cells]
            ends = [end for cell in code.cells for end in cell]
            # a mean of a bin stays in the bin, so that its error is half a width at most
            off = min(mechanism.noise_sd / GRID / (rows / len(widths)), 0.5)
            sampling = (max(ends) - min(ends)) ** 2 / 12 / rows
            found.append((off * math.hypot(*widths) / len(widths)) ** 2 / sampling)
        return max(found)

    def limits(self, facts: ReleaseFacts) -> tuple[str, ...]:
        """Limits of the protected file."""
        return (
            "combinations shared by few rows are gone; subgroups, tails and rare codes with them",
            self.within_limit(facts),
            "columns that are filler, withheld or keys carry no information",
            "standard errors computed on this file do not contain the privacy noise, and columns "
            "with rare values look related where they are not",
        )


@dataclass(frozen=True, kw_only=True)
class MarginalsSpec(CountsSpec):
    """What one-way marginals are asked for: the options of :class:`Marginals`."""

    key: ClassVar[str] = "marginals"
    page: ClassVar[str] = "methods.md"
    method: ClassVar[str] = "Marginals (independent one-way histograms)"

    default_bins: int | None = None

    def bins(self, n: int) -> int | None:
        """How many bins a column gets that declares none, as it was asked for."""
        return self.default_bins

    def mechanism(self, facts: ReleaseFacts, budget: Budget) -> OneWayHistograms:
        """Return the mechanism that one row's ``budget`` buys."""
        return OneWayHistograms(budget.epsilon, facts.sizes, budget.delta)

    def plan(self, facts: ReleaseFacts, allocation: Allocation) -> Plan:
        """Return the noise of every count."""
        return Plan(self.method, allocation.budget, partial(self._contents, facts, allocation))

    def _contents(self, facts: ReleaseFacts, allocation: Allocation) -> Contents:
        mechanism = allocation.part(COUNTS, OneWayHistograms)
        sd, n = mechanism.mechanism.noise_sd, facts.n
        numbers = [*notes({ESTIMAND: "distribution of each column in its bins or levels"})]
        for code in facts.encodings:
            # of a level that every row has with the same probability
            p, noise = 1 / code.size, sd / n
            sampling, why = math.sqrt(p * (1 - p) / n), f"of the share of a level that {p:.3g} have"
            both = math.hypot(sampling, noise)
            numbers += errors_of_estimate(both, sampling, noise, why=why, term=code.name)
        numbers += [
            PlannedNumber("n", n, "rows"),
            *notes({"columns": "; ".join(e.describe() for e in facts.encodings)}),
            *notes({"noise": mechanism.describe()}),
            PlannedNumber("noise of a count", sd, "rows", "sd"),
            PlannedNumber("noise of a count", sd / n, "of n"),
            *self.planned_means(facts, allocation),
        ]
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
        return Contents(tuple(numbers), consequences, warnings)

    def limits(self, facts: ReleaseFacts) -> tuple[str, ...]:
        """Limits of the protected file."""
        return (
            "columns are independent of each other: no effect, correlation or subgroup survives",
            self.within_limit(facts),
            "columns that are filler, withheld or keys carry no information",
        )


def drawn_counts(
    table: BoundTable,
    facts: ReleaseFacts,
    allocation: Allocation,
    noise: NoiseSource,
    counts: CellCounts | IntegerVector | None = None,
) -> Counts:
    """Draw noisy counts of the modelled columns, which are counted here if they are not given.

    The caller has charged the allocation.
    """
    mechanism: Any = allocation[COUNTS]
    if counts is None:
        one_way = isinstance(mechanism, OneWayHistograms)
        counts = (one_way_counts if one_way else cell_counts)(table.frame, facts.encodings)
    found: Counts = mechanism.release(counts, noise)
    return found


AnyCounts = TypeVar("AnyCounts", bound=CountsSpec)


class _Counted(
    ReleaseModel[AnyCounts, ReleaseFacts, Drawn | WithOffsets], Generic[AnyCounts, Drawn]
):
    """What both histograms draw and keep: counts, then the sums of offsets within bins."""

    saved_types = (HistogramRelease, OneWayRelease, WithOffsets)

    def _asked(self, allocation: Allocation) -> Callable[[NoiseSource], Drawn | WithOffsets]:
        if not self._table.in_engine:
            return super()._asked(allocation)
        one_way = isinstance(allocation[COUNTS], OneWayHistograms)
        count = one_way_counts if one_way else cell_counts
        told: Any = count(self._table.frame, self.facts.encodings, n=self.n)
        return lambda noise: self._draw(allocation, noise, told)

    def _draw(
        self,
        allocation: Allocation,
        noise: NoiseSource,
        told: CellCounts | IntegerVector | None = None,
    ) -> Drawn | WithOffsets:
        counts: Any = drawn_counts(self._table, self.facts, allocation, noise, told)
        if OFFSETS not in allocation.parts:
            return cast("Drawn", counts)
        codes, mechanism = self.facts.encodings, allocation.part(OFFSETS, DiscreteLaplace)
        binned = self.spec.binned(codes)
        sealed = bin_offsets(self._table.frame, binned.outcomes(codes), binned.arms(codes))
        return WithOffsets(counts, np.asarray(mechanism.release(sealed, noise).values, np.float64))

    def _columns(
        self, drawn: Drawn | WithOffsets, noise: NoiseSource
    ) -> Mapping[str, NDArray[Any]]:
        rng, codes = noise.post_processing_rng(), self.facts.encodings
        counts: Any = drawn.counts if isinstance(drawn, WithOffsets) else drawn
        rows = self._rows(counts, rng)
        found = decoded(codes, rows, rng)
        if not isinstance(drawn, WithOffsets):
            return found
        binned = self.spec.binned(codes)
        sums = binned.split(drawn.sums, codes)
        known = (self._known(counts, binned, place) for place in binned.places)
        means = [means_of(s, k[:, : s.shape[1]]) for s, k in zip(sums, known, strict=True)]
        return redrawn(found, rows, codes, binned, means, rng)

    @abstractmethod
    def _rows(self, counts: Drawn, rng: np.random.Generator) -> IntArray:
        """Draw rows of codes (n, p) from the noisy counts."""

    @abstractmethod
    def _known(self, counts: Drawn, binned: Binned, place: int) -> NDArray[Any]:
        """Return the noisy counts (A, K) of a column's levels in each group."""


class MVHistogram(_Counted[HistogramSpec, HistogramRelease]):
    """A synthetic file drawn from the noisy joint histogram of its modelled columns.

    Parameters
    ----------
    data : data frame
        Table of n rows in pandas, Polars (eager or lazy), DuckDB or PySpark, that fits ``schema``.
        If it lives in an engine, one row per occupied cell and the public columns are read into
        memory.
    schema : Schema
        Public facts: a fate for every column, and for modelled columns bounds or levels, bins if
        they are continuous, and a policy for missing values.
    columns : iterable of str, optional
        Columns to model.  By default, those whose fate is ``"modelled"``.
    zeta : float, optional
        In (0, 1). Columns that declare no bins get ``ceil(n^zeta)`` equal ones.
    outcome_share : number, optional
        Share of epsilon, from 0 to below 1, for where outcomes lie within their bins.  With it,
        values of a binned column whose role is outcome are drawn with the noisy mean of their
        bin in each arm; with 0 they are uniform, and a mean may be off by half a bin.  By default,
        a quarter if there is such a column.
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

    Binned outcomes (``role="outcome"``) are not uniform within their bins: for each bin in each
    arm, the sum of the distance from its middle, in its widths, is released with noise.  One person
    moves all of these sums of one outcome by at most 1 together (docs/methods.md, section 1).

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
        outcome_share: Real | None = None,
        keep: Iterable[str] = (),
    ) -> None:
        schema = fated(schema, columns)
        spec = HistogramSpec(
            columns=tuple(modelled(schema)),
            zeta=zeta,
            outcome_share=outcome_share,
            keep=listed_names(keep, "keep"),
        )
        facts = self._open(spec, data, schema)
        self.facts = ReleaseFacts(facts.schema, facts.n, spec.encodings(facts))

    def _file_note(
        self, drawn: HistogramRelease | WithOffsets, plan: Plan, allocation: Allocation
    ) -> str:
        """Return the note of the plan, or the one that the released table asks for."""
        if plan.file_note:
            return plan.file_note
        counts = drawn.counts if isinstance(drawn, WithOffsets) else drawn
        mechanism = allocation.part(COUNTS, CellHistogram)
        share = released_share(counts, self.facts.encodings, self.n, mechanism)
        return f"{VOID_ERRORS}: {_found(share)}." if share > MOST_SPURIOUS else ""

    def _rows(self, counts: HistogramRelease, rng: np.random.Generator) -> IntArray:
        return draw_rows(counts, self.n, rng)

    def _known(self, counts: HistogramRelease, binned: Binned, place: int) -> NDArray[Any]:
        codes = self.facts.encodings
        known = np.zeros((group_count(binned.arms(codes)), codes[place].size))
        cells = binned.group_of(counts.codes, codes), counts.codes[:, place]
        np.add.at(known, cells, counts.counts)
        return known


class Marginals(_Counted[MarginalsSpec, OneWayRelease]):
    """A synthetic file drawn from a noisy histogram of each modelled column.

    Parameters
    ----------
    data : data frame
        Table of n rows in pandas, Polars (eager or lazy), DuckDB or PySpark, that fits ``schema``.
        If it lives in an engine, one row per occupied level and the public columns are read into
        memory.
    schema : Schema
        As for :class:`dprct.MVHistogram`.
    columns : iterable of str, optional
        Columns to model.  By default, those whose fate is ``"modelled"``.
    default_bins : int, optional
        Number of equal bins for columns that declare none.
    outcome_share : number, optional
        Share of epsilon, from 0 to below 1, for where outcomes lie within their bins.  With it,
        values of a binned column whose role is outcome are drawn with the noisy mean of their
        bin; with 0 they are uniform, and a mean may be off by half a bin.  By default, a
        quarter if there is such a column.
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
        outcome_share: Real | None = None,
        keep: Iterable[str] = (),
    ) -> None:
        schema = fated(schema, columns)
        spec = MarginalsSpec(
            columns=tuple(modelled(schema)),
            default_bins=default_bins,
            outcome_share=outcome_share,
            keep=listed_names(keep, "keep"),
        )
        facts = self._open(spec, data, schema)
        self.facts = ReleaseFacts(facts.schema, facts.n, spec.encodings(facts))

    def _rows(self, counts: OneWayRelease, rng: np.random.Generator) -> IntArray:
        return draw_independent_rows(counts, self.n, rng)

    def _known(self, counts: OneWayRelease, binned: Binned, place: int) -> NDArray[Any]:
        return counts.counts[place][None]


_ADVICE = "use fewer bins, fewer columns, a larger epsilon, or one-way marginals (``Marginals``)"


def most_survivors(n: int, cells: int, t: int) -> int:
    """How many combinations of ``n`` rows can have ``t`` rows each."""
    return min(cells, n // t)


def _survivors(n: int, cells: int, t: int) -> str:
    """Say how many combinations to expect; noise may lift any cell, so that K alone is sure."""
    most = most_survivors(n, cells, t)
    if most == cells:
        return f"all {cells:,} combinations can survive"
    return (
        f"with {n:,} rows, few more than {most:,} combinations can be expected to "
        "survive (noise can lift a smaller count)"
    )


def _warnings(n: int, cells: int, t: int) -> tuple[str, ...]:
    if n / cells >= t:
        return ()
    return (
        f"n / K is below t = {t}: unless rows concentrate in few combinations, most of them "
        f"disappear; {_ADVICE}",
    )


def _found(share: float) -> str:
    return f"{share:.0%} of the effects of unrelated columns are significant at 5% on such files"


def _void(n: int, cells: int, t: int, share: float) -> str:
    """Say why errors that are computed on the file mean nothing."""
    rare = (
        f"n / K = {n / cells:.2g} rows per combination are below t = {t}, so that the combinations "
        "that survive make unrelated columns look related"
    )
    said = [rare] * (n / cells < t) + [_found(share)] * (share > MOST_SPURIOUS)
    return "; ".join(said)


def _refusal(n: int, cells: int, t: int, share: float) -> str:
    why = _void(n, cells, t, share)
    if why:
        return (
            f"{why}; for effects release ``PrivateMoments`` or ``Calibrated``; else {_ADVICE}, or "
            "give ``confirm=True``, which says that nobody will read effects, errors or p-values "
            "off this file"
        )
    return few_survivors(n, t)


def few_survivors(n: int, t: int) -> str:
    """Refusal of a histogram of which fewer than five combinations survive; empty otherwise."""
    if n / t >= FEWEST_SURVIVORS:
        return ""
    return (
        f"n / t = {n / t:.2g}, so fewer than {FEWEST_SURVIVORS} combinations can be "
        f"expected to survive; {_ADVICE}, or give ``confirm=True``"
    )


def as_float(cells: int) -> float:
    """Number of cells as a float, infinite where it is beyond all of these."""
    return float(cells) if cells.bit_length() < 1024 else math.inf
