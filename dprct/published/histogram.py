"""The multivariate histogram as published (dp_rct.txt, Algorithm 1), its misprints corrected."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dprct.arguments import listed_names
from dprct.defaults import bins_by_zeta
from dprct.errors import SchemaError
from dprct.lazy import pandas as pd
from dprct.missing import tagged
from dprct.privacy.aggregates import MOVED_ROWS
from dprct.privacy.budget import Guarantee
from dprct.published.charging import PublishedModel, Unpriced
from dprct.records import dataclass
from dprct.release.release import (
    Release,
    ReleaseFacts,
    ReleaseModel,
    ReleaseSpec,
    fated,
    modelled,
)
from dprct.results.plan import Contents, Plan, PlannedNumber, notes
from dprct.schema.columns import stored
from dprct.schema.schema import check_schema
from dprct.schema.tables import numbers_of, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from dprct.model import Facts
    from dprct.privacy.budget import Budget
    from dprct.privacy.mechanisms import Allocation
    from dprct.privacy.noise import NoiseSource
    from dprct.schema.columns import Column
    from dprct.schema.schema import Schema
    from dprct.schema.tables import Frame


@dataclass(frozen=True, eq=False)
class DataCodes:
    """What the codes of one column stand for."""

    column: Column
    # (L,): distinct values, for a column that is taken as it is; empty for a binned one.
    levels: NDArray[Any]
    # (eta + 1,): edges of the bins of a binned column; empty for the others.
    edges: NDArray[np.float64]
    # (m,): numbers of the missing codes that occur; each is a level after the regular ones.
    missing: NDArray[np.int8]

    @property
    def binned(self) -> bool:
        """Whether a code is a bin rather than a value."""
        return len(self.edges) > 0

    def decode(self, codes: NDArray[np.int64], rng: np.random.Generator) -> NDArray[Any]:
        """Return values (n,) for codes (n,): uniform within a bin, as far as the type can hold."""
        regular = len(self.edges) - 1 if self.binned else len(self.levels)
        within = np.minimum(codes, regular - 1)
        if not self.binned:
            values = self.levels[within]
        else:
            low, high = self.edges[within], self.edges[within + 1]
            values = _storable(self.column, low + (high - low) * rng.random(len(codes)))
        beyond = codes >= regular
        if beyond.any():
            values[beyond] = tagged(self.missing[codes[beyond] - regular])
        return np.asarray(values)


def coded(
    frame: Frame, column: Column, eta: int, most_levels: float
) -> tuple[DataCodes, NDArray[np.int64]]:
    """The codes of one column, taken from its data.

    A column with more distinct numbers than ``most_levels`` has ``eta`` bins.  A declared number of
    ``bins`` is used instead of both, declared inner edges instead of equal ones; declared
    ``levels`` and text are never binned.
    """
    if column.is_text:
        texts, kinds_of_text = pd.factorize(text_of(frame, column.name))
        _check_varies(column, len(kinds_of_text), 0)
        found = DataCodes(column, np.asarray(kinds_of_text), _NO_EDGES, _NO_CODES)
        return found, texts.astype(np.int64)
    values, missing = numbers_of(frame, column.name)
    absent = missing >= 0
    levels, codes = np.unique(values[~absent], return_inverse=True)
    kinds, letters = _NO_CODES, np.empty(0, np.int64)
    if absent.any():
        kinds, letters = np.unique(missing[absent], return_inverse=True)
    _check_varies(column, len(levels), len(kinds))
    edges = _edges_of(column, levels, eta, most_levels)
    regular = len(levels)
    if len(edges):
        codes, regular = bins_of(values[~absent], edges), len(edges) - 1
        levels = levels[:0]
    every = np.empty(len(values), np.int64)
    every[~absent], every[absent] = codes, regular + letters
    return DataCodes(column, levels, edges, kinds), every


def equal_edges(low: float, high: float, eta: int) -> NDArray[np.float64]:
    """Return ``a_k = (k max + (eta - k) min) / eta`` for k = 0 to eta (dp_rct.txt, Algorithm 1).

    The printed formula lacks the factor k.

    Examples
    --------
    >>> equal_edges(10.0, 20.0, 4).tolist()
    [10.0, 12.5, 15.0, 17.5, 20.0]
    """
    share = np.arange(eta + 1) / eta
    return share * high + (1 - share) * low


def bins_of(values: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the bin of every value: ``[a_{k-1}, a_k)``, the last one closed.

    Examples
    --------
    >>> bins_of(np.array([10.0, 12.5, 20.0]), equal_edges(10.0, 20.0, 4)).tolist()
    [0, 1, 3]
    """
    return np.searchsorted(edges[1:-1], values, side="right").astype(np.int64)


_NO_EDGES = np.empty(0, np.float64)
_NO_CODES = np.empty(0, np.int8)


def _edges_of(
    column: Column, levels: NDArray[np.float64], eta: int, most_levels: float
) -> NDArray[np.float64]:
    """Return the edges of the column's bins, or none if it is taken as it is."""
    if column.levels is not None or len(levels) < 2:
        return _NO_EDGES
    low, high = float(levels[0]), float(levels[-1])
    if isinstance(column.bins, tuple):
        inner = [edge for edge in column.bins if low < edge < high]
        return np.array([low, *inner, high])
    if column.bins is not None:
        eta = most_levels = int(column.bins)
    return equal_edges(low, high, eta) if len(levels) > most_levels else _NO_EDGES


def _storable(column: Column, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round to whole numbers or decimals where the column has no others, and to its type."""
    if column.is_integer:
        values = np.rint(values)
    elif column.decimals is not None:
        values = np.round(values, column.decimals)
    return stored(column, values)


def _check_varies(column: Column, levels: int, missing: int) -> None:
    if levels + missing < 2 or not levels:
        what = "constant" if levels else "missing in every row"
        raise SchemaError(
            f"column {column.name!r} is {what}, so the published histogram has nothing to draw; "
            "withhold it (fate = 'withheld') or drop it"
        )


Array = NDArray[np.float64]
Neighbors = Literal["replace-one", "add-remove"]

REASON = (
    "bin edges and the set of cells come from the data: a combination of values is in the file "
    "only if somebody has it (Algorithm 1 as published); epsilon is the parameter of its noise "
    "and no promise"
)


@dataclass(frozen=True, eq=False)
class Reweighted:
    """The distinct rows of the binned table, and with which probability each is drawn."""

    codes: NDArray[np.int64]  # (q, p)
    probabilities: Array  # (q,): adding up to 1


@dataclass(frozen=True, kw_only=True)
class HistogramSpec(ReleaseSpec[ReleaseFacts]):
    """What the published histogram is asked for: the options of :class:`MVHistogram`."""

    key: ClassVar[str] = "published_mv_histogram"
    page: ClassVar[str] = "papers.md"
    method: ClassVar[str] = (
        "published.MVHistogram (dp_rct Algorithm 1 as published, misprints corrected)"
    )

    columns: tuple[str, ...] = ()
    zeta: float = 2 / 3
    neighbors: Neighbors = "replace-one"

    def eta(self, n: int) -> int:
        """How many bins a column with many values gets."""
        return bins_by_zeta(n, self.zeta)

    def checks(self, facts: Facts) -> Iterator[Callable[[], object]]:
        """Yield what must hold of options and fates."""
        yield lambda: self.eta(facts.n)
        yield from super().checks(facts)

    def scale(self, n: int, epsilon: float) -> float:
        """Return the scale of the noise on a proportion."""
        return MOVED_ROWS[self.neighbors] / (n * epsilon)

    def allocation(self, facts: ReleaseFacts, budget: Budget) -> Allocation:
        """Return no mechanism: epsilon is the parameter of noise that promises nothing."""
        return Unpriced(budget=budget)

    def promise(self, facts: ReleaseFacts, budget: Budget) -> Guarantee:
        """Return the guarantee: none, with the reason."""
        return Guarantee.none(
            REASON,
            not_covered=("anybody in the data", *(f"column {name}" for name in facts.public)),
        )

    def plan(self, facts: ReleaseFacts, allocation: Allocation) -> Plan:
        """Return the parameters of the algorithm, and what they do not promise."""
        budget = allocation.budget
        epsilon = float(budget.epsilon)
        s = MOVED_ROWS[self.neighbors]
        scale = self.scale(facts.n, epsilon)
        said = "NONE, whatever epsilon is; it is only the parameter of the noise"
        why = f"for columns with more than {facts.n**self.zeta:.1f} values"
        law = f"scale {s}/(n epsilon) of Laplace noise on every proportion"
        numbers = [
            *notes({"guarantee": said}),
            PlannedNumber("n", facts.n, "rows"),
            PlannedNumber("eta", self.eta(facts.n), "bins", why),
            PlannedNumber("noise", scale, why=law),
        ]
        if budget.delta:
            cutoff = _cutoff(epsilon, float(budget.delta), facts.n)
            why = "if delta is above 2/q, q the number of distinct rows; else 0"
            numbers.append(PlannedNumber("threshold", cutoff, why=why))
        consequences = (
            "bin edges and combinations are those of real people: the file has no combination "
            "that nobody has, and with many columns each one is a single person's",
            "nothing is charged, a ledger beside the data gets an entry without price; the "
            "certificate, the notes and the label of the file say that there is no guarantee",
        )
        return Plan(self.method, budget, Contents(tuple(numbers), consequences))

    def limits(self, facts: ReleaseFacts) -> tuple[str, ...]:
        """Limits of the file."""
        return (
            "protecting people: there is no guarantee",
            "smallest and largest values are those of the confidential file",
            "columns that are filler, withheld or keys carry no information",
            "standard errors computed on this file do not contain the noise of its weights",
        )


class MVHistogram(
    PublishedModel[HistogramSpec, ReleaseFacts, Reweighted, Release],
    ReleaseModel[HistogramSpec, ReleaseFacts, Reweighted],
):
    """Release a table through Algorithm 1 as published: **no differential-privacy guarantee**.

    Parameters
    ----------
    data : data frame
        pandas or Polars, n rows.
    schema : Schema
        Bounds, bins and missing policies need not be declared, nor levels but those of text: what
        the algorithm needs it takes from the data.  Every column needs a fate; if none has one,
        all are modelled.
    columns : iterable of str, optional
        Columns to model; those whose fate is ``"modelled"`` by default.
    zeta : float, default 2/3
        In (0, 1).  Numeric columns with more than n^zeta distinct values get
        ``eta = ceil(n^zeta)`` equal bins between their smallest and largest value; the others are
        taken as they are.  Bins that the schema declares go before.
    neighbors : {"replace-one", "add-remove"}
        Scale of the noise, s / (n epsilon): s = 2 for the paper's own relation, s = 1 for the
        other one, as Algorithm 1 prints it.
    keep : iterable of str
        Characteristics to keep in addition to the allow-list.

    Raises
    ------
    SchemaError, ColumnError
        If a declared fact is broken, or a column is constant or missing in every row.
    ParameterError
        If ``zeta`` or ``neighbors`` is not allowed.

    Notes
    -----
    Guarantee: none.  Edges are the smallest and largest value of somebody, and only combinations
    that somebody has can be drawn.  With many columns every combination is one person, so the
    protected file is a re-weighted bootstrap of the real records, blurred within bins.  Nothing
    is charged; a ledger next to the data file gets an entry without price.  Draws are
    floating-point ones, from a system-seeded ChaCha generator.

    Missing codes are levels of their own.  Where Algorithm 1 draws a uniform value within a bin,
    columns of whole numbers or of declared decimals get the nearest such value.  Where no
    re-weighted proportion is positive, which Algorithm 1 leaves open, all distinct rows are equally
    likely.

    References
    ----------
    Algorithm 1 of "Assessing Utility of Differential Privacy for RCTs", with two
    misprints corrected: bin edges lack a factor k in print, midpoints have a minus.

    Examples
    --------
    >>> import pandas as pd
    >>> from dprct.schema import Column, Schema
    >>> schema = Schema((Column("got", "byte"), Column("any", "byte")))
    >>> data = pd.DataFrame({"got": [0.0, 1.0] * 200, "any": [0.0, 0.0, 1.0, 1.0] * 100})
    >>> release = MVHistogram(data, schema).fit(epsilon=1)
    >>> release.protected.shape, release.guarantee.holds
    ((400, 2), False)
    """

    needs_rows = True

    def __init__(
        self,
        data: Any,
        schema: Schema,
        *,
        columns: Iterable[str] | None = None,
        zeta: float = 2 / 3,
        neighbors: Neighbors = "replace-one",
        keep: Iterable[str] = (),
    ) -> None:
        check_schema(schema)
        if columns is None and all(c.fate is None for c in schema.columns):
            columns = [c.name for c in schema.columns if c.derived is None]
        schema = fated(schema, columns)
        spec = HistogramSpec(
            columns=tuple(modelled(schema)),
            zeta=zeta,
            neighbors=neighbors,
            keep=listed_names(keep, "keep"),
        )
        facts = self._open(spec, data, schema)
        self.facts = ReleaseFacts(facts.schema, facts.n)
        codings, codes = zip(*self._coded(), strict=True)
        self._codings = codings
        # the distinct rows and their numbers: confidential, as the table is
        self._cells = np.unique(np.column_stack(codes), axis=0, return_counts=True)

    def _coded(self) -> list[tuple[DataCodes, NDArray[np.int64]]]:
        """Return how each column is coded, and its codes (n,); confidential, both of them."""
        rows, eta, most = self._table.rows(), self.spec.eta(self.n), self.n**self.spec.zeta
        return [coded(rows, self.schema.column(name), eta, most) for name in self.spec.columns]

    def _draw(self, allocation: Allocation, noise: NoiseSource) -> Reweighted:
        rng = noise.post_processing_rng()
        cells, counts = self._cells
        epsilon, delta = float(allocation.budget.epsilon), float(allocation.budget.delta)
        cutoff = threshold(epsilon, delta, self.n, len(cells))
        scale = self.spec.scale(self.n, epsilon)
        return Reweighted(cells, reweighted(counts / self.n, scale, cutoff, rng))

    def _columns(self, drawn: Reweighted, noise: NoiseSource) -> Mapping[str, NDArray[Any]]:
        rng = noise.post_processing_rng()
        rows = drawn.codes[rng.choice(len(drawn.codes), self.n, p=drawn.probabilities)]
        return {c.column.name: c.decode(rows[:, j], rng) for j, c in enumerate(self._codings)}


def threshold(epsilon: float, delta: float, n: int, q: int) -> float:
    """c: ``2 log(2/delta) / (n epsilon) + 1/n`` if ``delta > 2/q`` for q distinct rows, else 0.

    Examples
    --------
    >>> round(threshold(1.0, 0.1, n=1000, q=50), 5), threshold(1.0, 0.1, n=1000, q=20)
    (0.00699, 0.0)
    """
    return _cutoff(epsilon, delta, n) if delta > 2 / q else 0.0


def reweighted(proportions: Array, scale: float, cutoff: float, rng: np.random.Generator) -> Array:
    """Noisy proportions above a threshold c, adding up to 1 (Algorithm 1, lines 11 to 19)."""
    noisy = proportions + rng.laplace(0.0, scale, len(proportions))
    if not (noisy > cutoff).any():
        cutoff = 0.0
    kept = np.where(noisy > cutoff, noisy, 0.0)
    if not kept.any():
        kept = np.ones_like(kept)
    return np.asarray(kept / kept.sum(), np.float64)


def _cutoff(epsilon: float, delta: float, n: int) -> float:
    return 2 * math.log(2 / delta) / (n * epsilon) + 1 / n
