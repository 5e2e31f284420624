"""Are released rows too near to confidential ones?  Copies, and distances to the nearest record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dprct import plots
from dprct.custodian.tables import (
    Points,
    Records,
    Source,
    check_same_kinds,
    columns_in_all,
    confidential_source,
    gower_points,
    nearest,
    released_sources,
    row_ids,
    summarised,
    table_of,
)
from dprct.errors import ColumnError, ParameterError
from dprct.lazy import pandas as pd
from dprct.records import dataclass
from dprct.results.base import WATERMARK, Confidential, caution, marked
from dprct.results.tables import Column, Row, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    from dprct.custodian.tables import Given
    from dprct.schema import Schema

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
    "confidential rows out of the release and give them as the holdout."
)
_LIMITS = (
    "These numbers can show that a release copies; that they are low proves nothing. What protects "
    "is a guarantee."
)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RiskReport(Confidential):
    """How close released rows are to confidential ones; see :func:`risk`.

    Parameters
    ----------
    measures : DataFrame
        One row per method and draw.
    baseline : Series or None
        The same measures for the holdout rows; None without a holdout.
    columns, keys : tuple of str
        The columns in which rows were compared; ``keys`` may be empty.
    distances : mapping of method to tuple of (m,) arrays
        Distance of each released row to the nearest confidential one, per draw.
    holdout_distances : (h,) array or None
        Distance of each holdout row to the nearest confidential one.

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
            ``method``, ``draw``, ``rows``; the shares ``equal``, ``equal.unique``, ``keys.equal``,
            ``keys.equal.unique``; ``distance.median``, ``distance.q05``; ``closer``, which is about
            ``closer.expected`` if no individual was memorised.  NaN if keys or a holdout are
            needed.  The watermark is in ``attrs``.
        """
        return marked(self.measures.copy())

    def summary(self, quantiles: Sequence[float] = (0.05, 0.95)) -> pd.DataFrame:
        """Return the distribution of each measure over the draws of a method.

        Parameters
        ----------
        quantiles : sequence of float
        """
        return marked(summarised(self.measures, ["method"], list(_EXPLAINED), tuple(quantiles)))

    def to_text(self, width: int | None = None) -> str:
        """Return the report as text, under its watermark; ``width`` as in a table's."""
        found = self.summary()
        methods = [str(method) for method in found["method"]]
        columns = [
            Column(method, (method or "released") + (f" ({n})" if n > 1 else ""))
            for method, n in zip(methods, found["draws"], strict=True)
        ]
        none = self.baseline  # where nothing was copied
        rows = [
            Row(key, words, (*found[f"{key}.mean"], None if none is None else float(none[key])))
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
        return table.to_text(width)

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


def risk(
    confidential: Given,
    released: Given,
    keys: Sequence[str] | None = None,
    holdout: Given | None = None,
    *,
    columns: Sequence[str] | None = None,
    schema: Schema | None = None,
    distance_rows: int = 5_000,
) -> RiskReport:
    """Measure how close released rows are to confidential ones.

    Parameters
    ----------
    confidential : data frame or (data frame, Schema)
        The rows from which the releases were made.
    released : Release, data frame, (data frame, Schema), list of them, or mapping of str to these
        A list contains several draws of one method; a mapping names methods.
    keys : sequence of str, optional
        Columns that an intruder may know about a person.
    holdout : data frame or (data frame, Schema), optional
        Rows from the same population that were not used for any release.
    columns : sequence of str, optional
        Columns in which rows are compared.  By default, those in every table, except columns that a
        release filled, withheld or replaced by fresh keys.
    schema : Schema, optional
        Schema of tables that come without one.  Columns with value labels or declared levels are
        compared as levels.
    distance_rows : int
        Maximum number of rows per table, evenly spaced, for which distances are computed.

    Returns
    -------
    RiskReport
        ``to_frame()``, ``summary()``, ``to_text()`` and ``plot()``; confidential.

    Raises
    ------
    ParameterError
        If no column is left, or ``distance_rows`` is not a positive number.
    ColumnError
        If a named column does not exist in every table.
    SchemaError
        If a column holds numbers in one table and text in another.

    Warns
    -----
    DprctWarning
        Always: to publish the result, or to choose the best of several draws by it, is itself a
        disclosure.

    Notes
    -----
    The result is not private in any sense, and it does not prove protection.

    - *Equal*: share of released rows that equal some confidential row in all columns (or in the
      keys), missing codes included; *unique* if only one confidential row has those values.
    - *Distance*: Gower's to the nearest confidential row: the mean over columns of the absolute
      difference over the range in the confidential and holdout rows, or of 0 and 1 for levels;
      a missing code is at distance 1 from everything else (Gower leaves it out).
    - *Closer*: share of released rows whose nearest record is confidential rather than holdout; in
      a tie, the share of confidential ones among the nearest.  If a release learned the population
      but memorised nobody, it is about n / (n + h) for n confidential and h holdout rows.

    References
    ----------
    Gower (1971), Biometrics 27, 857-871 (distance); Platzer and Reutterer (2021), Frontiers in Big
    Data 4, doi:10.3389/fdata.2021.679939 (holdout); Nowok, Raab and Dibben (2016), Journal of
    Statistical Software 74 (replicated uniques); Ganev and De Cristofaro (2023), arXiv:2312.05114
    (why low numbers prove nothing).

    Examples
    --------
    >>> import warnings
    >>> rows = pd.DataFrame({"age": [20.0, 30, 40, 50], "got": [0.0, 1, 1, 0]})
    >>> copy_of_two = pd.DataFrame({"age": [20.0, 30, 45, 25], "got": [0.0, 1, 1, 1]})
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     report = risk(rows, copy_of_two, keys=["got"])
    >>> report.to_frame()[["equal", "keys.equal", "distance.median"]].values.round(3).tolist()
    [[0.5, 1.0, 0.042]]
    """
    if isinstance(distance_rows, bool) or distance_rows < 1:
        raise ParameterError(f"``distance_rows={distance_rows!r}``; give a whole number from 1 up")
    truth = confidential_source(confidential, schema)
    sources = released_sources(released, schema)
    kept = None if holdout is None else confidential_source(holdout, schema, "holdout")
    every = [truth, *([kept] if kept is not None else []), *sources]
    known = _columns("keys", keys or (), every)
    compared = _columns("columns", columns, every) if columns is not None else _default(every)
    if not compared:
        raise ParameterError("the tables share no column that a release informs about; name some")
    found = [table_of(source.data, list(dict.fromkeys([*compared, *known]))) for source in every]
    check_same_kinds(found)
    first = 1 + (kept is not None)
    comparison = _Comparison(
        found[0],
        found[1] if kept is not None else None,
        tuple(compared),
        tuple(known),
        _ranges(
            found[:first], compared, next((x.schema for x in every if x.schema is not None), None)
        ),
        distance_rows,
    )
    records: list[dict[str, Any]] = []
    distances: dict[str, tuple[Array, ...]] = {}
    for source, table in zip(sources, found[first:], strict=True):
        measures, near = comparison.of(table)
        records.append({"method": source.method, "draw": source.draw, **measures})
        distances[source.method] = (*distances.get(source.method, ()), near)
    baseline, near_holdout = comparison.baseline()
    caution()
    return RiskReport(
        measures=pd.DataFrame(records).astype({"rows": int}),
        baseline=baseline,
        columns=tuple(compared),
        keys=tuple(known),
        distances=distances,
        holdout_distances=near_holdout,
    )


@dataclass(frozen=True, eq=False, repr=False)
class _Comparison:
    """The confidential table and the holdout, with which every release is compared."""

    confidential: Records
    holdout: Records | None
    columns: tuple[str, ...]
    keys: tuple[str, ...]
    ranges: dict[str, tuple[float, float] | None]
    distance_rows: int

    def of(self, table: Records) -> tuple[dict[str, float], Array]:
        """Return the measures of a table, and its distances to confidential rows."""
        holdout = [self.holdout] if self.holdout is not None else []
        points = gower_points([self.confidential, table, *holdout], self.ranges)
        rows = _spaced(points[1], self.distance_rows)
        near = nearest(rows, points[0])
        measures = self._equal(table) | _distances(near.distance)
        measures["closer"] = measures["closer.expected"] = np.nan
        if self.holdout is not None:
            n, h = len(points[0].numbers), len(points[2].numbers)
            other = nearest(rows, points[2])
            tied = near.ties / (near.ties + other.ties)
            closer = np.where(near.distance == other.distance, tied, near.distance < other.distance)
            measures["closer"] = float(closer.mean())
            measures["closer.expected"] = n / (n + h)
        return measures, near.distance

    def baseline(self) -> tuple[pd.Series[float] | None, Array | None]:
        """Return the measures of the holdout rows, and their distances to confidential rows."""
        if self.holdout is None:
            return None, None
        points = gower_points([self.confidential, self.holdout], self.ranges)
        near = nearest(_spaced(points[1], self.distance_rows), points[0])
        n, h = len(points[0].numbers), len(points[1].numbers)
        measures = self._equal(self.holdout) | _distances(near.distance) | {"closer": n / (n + h)}
        return pd.Series(measures), near.distance

    def _equal(self, table: Records) -> dict[str, float]:
        out = {"rows": float(len(table[self.columns[0]]))}
        for prefix, columns in (("", self.columns), ("keys.", self.keys)):
            shares = (np.nan, np.nan)
            if columns:
                shares = _shares(*row_ids([self.confidential, table], columns))
            out[f"{prefix}equal"], out[f"{prefix}equal.unique"] = shares
        return out


def _shares(confidential: Any, released: Any) -> tuple[float, float]:
    """Return the shares of rows that occur among confidential ones, and occur once there."""
    times = np.bincount(confidential, minlength=max(confidential.max(), released.max()) + 1)
    return float((times[released] > 0).mean()), float((times[released] == 1).mean())


def _distances(distance: Array) -> dict[str, float]:
    return {
        "distance.median": float(np.median(distance)),
        "distance.q05": float(np.quantile(distance, 0.05)),
    }


def _spaced(points: Points, most: int) -> Points:
    n = len(points.numbers)
    if n <= most:
        return points
    rows = np.arange(most) * n // most
    return Points(points.numbers[rows], points.codes[rows], points.columns)


def _columns(option: str, names: Sequence[str], sources: Sequence[Source]) -> list[str]:
    if isinstance(names, str):
        raise ParameterError(f"``{option}={names!r}``; give a list of columns")
    shared = columns_in_all([source.data for source in sources])
    for name in names:
        if name not in shared:
            raise ColumnError.unknown(name, shared, f"all of the tables ({option})")
    return list(dict.fromkeys(names))


def _default(sources: Sequence[Source]) -> list[str]:
    names = columns_in_all([source.data for source in sources])
    for source in sources:
        names = source.informative(names)
    return names


def _ranges(
    tables: Sequence[Records], columns: Sequence[str], schema: Schema | None
) -> dict[str, tuple[float, float] | None]:
    """Amount by which numbers may differ; None for text and for codes of levels."""
    found: dict[str, tuple[float, float] | None] = {}
    for name in columns:
        cells = [table[name] for table in tables]
        numbers = np.concatenate([one.numbers[one.present] for one in cells])
        coded = cells[0].is_text or _is_coded(name, schema) or not len(numbers)
        found[name] = None if coded else (float(numbers.min()), float(numbers.max()))
    return found


def _is_coded(name: str, schema: Schema | None) -> bool:
    if schema is None or name not in schema.names:
        return False
    column = schema.column(name)
    return bool(column.value_label) or column.levels is not None
