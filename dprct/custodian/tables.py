"""How much of a conclusion survives: overlap of intervals and differences of estimates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dprct.errors import ParameterError, SchemaError
from dprct.lazy import narwhals as nw
from dprct.lazy import pandas as pd
from dprct.missing import MISSING_CODES
from dprct.records import dataclass
from dprct.release.release import Release
from dprct.results.base import is_confidential
from dprct.schema import Schema
from dprct.schema.tables import COMPANION, eager, numbers_of, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from narwhals.typing import IntoFrame
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Codes = NDArray[np.int64]
    from numpy.typing import ArrayLike, NDArray

Given = Any
"""A data frame, a pair of a data frame and its schema, or a :class:`~dprct.Release`."""

_UNINFORMATIVE = frozenset({"filler", "withheld", "key", "drop"})


@dataclass(frozen=True, eq=False, repr=False)
class Source:
    """One table that is compared."""

    data: IntoFrame  # as it was given, not copied
    schema: Schema | None
    method: str = ""  # what released it; empty where it has no name
    draw: int = 0  # counts the releases of a method, from 1; 0 for the confidential table
    # Whether it came as a :class:`~dprct.Release`, whose schema says the fate of each column.
    is_release: bool = False

    def __str__(self) -> str:
        if self.draw == 0:
            return "the confidential data"
        return f"release {self.draw}" + (f" of {self.method}" if self.method else "")

    def informative(self, names: Iterable[str]) -> list[str]:
        """Return the columns whose released values depend on the confidential ones."""
        if not self.is_release or self.schema is None:
            return list(names)
        fates = {column.name: column.fate for column in self.schema.columns}
        return [name for name in names if fates.get(name) not in _UNINFORMATIVE]


def confidential_source(
    given: Given, schema: Schema | None = None, option: str = "confidential"
) -> Source:
    """Return a confidential table, with its schema if it came with one or one was given."""
    if isinstance(given, Release):
        raise ParameterError(
            f"{option} is a Release; give confidential data there, and the release as ``released=``"
        )
    data, own = _parts(option, given)
    return Source(data, own or schema)


def released_sources(given: Given, schema: Schema | None = None) -> list[Source]:
    """Every release with its method and the number of its draw.

    A list is several draws of one method, a mapping names the methods.

    Examples
    --------
    >>> import pandas as pd
    >>> draws = [pd.DataFrame({"y": [1.0]}), pd.DataFrame({"y": [2.0]})]
    >>> [str(source) for source in released_sources({"Hybrid": draws, "GenModel": draws[0]})]
    ['release 1 of Hybrid', 'release 2 of Hybrid', 'release 1 of GenModel']
    """
    methods: Mapping[str, Given] = given if isinstance(given, Mapping) else {"": given}
    found = []
    for method, several in methods.items():
        is_list = isinstance(several, (list, tuple)) and not _is_pair(several)
        for draw, one in enumerate(several if is_list else [several], start=1):
            is_release = isinstance(one, Release)
            data, own = (one.protected, one.schema) if is_release else _parts("released", one)
            found.append(Source(data, own or schema, str(method), draw, is_release))
    if not found:
        raise ParameterError("released is empty; give at least one release or data frame")
    return found


def _is_pair(given: Given) -> bool:
    return isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], Schema)


def _is_table(data: object) -> bool:
    try:
        return nw.from_native(data, pass_through=True) is not data
    except nw.exceptions.DuplicateError:  # said later, with the names
        return True


def _parts(option: str, given: Given) -> tuple[Any, Schema | None]:
    data, schema = given if _is_pair(given) else (given, None)
    if is_confidential(data):
        raise ParameterError(f"{option} is a custodian report; give the data that it compared")
    if not _is_table(data):
        raise ParameterError(
            f"{option} holds ``{type(data).__name__}``; give a data frame, or a pair of a data "
            "frame and its schema" + (", or a Release" if option == "released" else "")
        )
    return data, schema


_PAIRS_AT_ONCE = 200_000  # few enough to stay in a processor's cache


@dataclass(frozen=True, eq=False, repr=False)
class Cells:
    """One column of one table."""

    numbers: Array  # (n,): NaN where missing; empty for text
    missing: NDArray[np.int8]  # (n,): the number of the missing code, -1 for none; empty for text
    # (n,) array of str or bytes: text, of which the empty one is missing; None for numbers.
    words: NDArray[np.object_] | None = None

    @property
    def is_text(self) -> bool:
        """Whether the column holds text."""
        return self.words is not None

    @property
    def present(self) -> NDArray[np.bool_]:
        """Which numbers are not missing."""
        return self.missing < 0

    def __len__(self) -> int:
        return len(self.numbers if self.words is None else self.words)


Records = dict[str, Cells]


def cells_of(data: Any, name: str) -> Cells:
    """Return a column of a data frame: as numbers where it holds numbers, else as text.

    Examples
    --------
    >>> cells_of(pd.DataFrame({"x": [1.0, float("nan")]}), "x").missing.tolist()
    [-1, 0]
    """
    frame = eager(data)
    try:
        numbers, missing = numbers_of(frame, name)
    except SchemaError:
        nothing = np.empty(0)
        series = frame[name]
        if not series.dtype.is_temporal():
            return Cells(nothing, nothing.astype(np.int8), text_of(frame, name))
        words = ["" if value is None or value is pd.NaT else str(value) for value in series]
        return Cells(nothing, nothing.astype(np.int8), np.array(words, object))
    return Cells(numbers, missing)


def table_of(data: Any, columns: Sequence[str]) -> Records:
    """Return some columns of a data frame."""
    return {name: cells_of(data, name) for name in columns}


def columns_in_all(tables: Sequence[Any]) -> list[str]:
    """Return the columns that every data frame has, in the order of the first one.

    Examples
    --------
    >>> columns_in_all([pd.DataFrame({"a": [1], "b": [1]}), pd.DataFrame({"b": [1], "c": [1]})])
    ['b']
    """
    names = [eager(data).columns for data in tables]
    shared = set(names[0]).intersection(*names[1:])
    return [name for name in names[0] if name in shared and not name.endswith(COMPANION)]


def check_same_kinds(tables: Sequence[Records]) -> None:
    """Refuse a column that holds numbers in one table and text in another."""
    for name in tables[0]:
        if len({table[name].is_text for table in tables}) > 1:
            raise SchemaError(
                f"column {name!r} holds numbers in one table and text in another; give all as "
                "``dprct.read_dta`` gives them, or leave it out of ``columns=``"
            )


def level_words(cells: Cells) -> NDArray[np.object_]:
    """Every value as a word: ``"2"`` for 2.0, ``".a"`` for that missing code.

    Examples
    --------
    >>> level_words(Cells(np.array([2.0, np.nan]), np.array([-1, 1], np.int8))).tolist()
    ['2', '.a']
    """
    if cells.words is not None:
        return np.array([str(word) or "." for word in cells.words], object)
    pairs = zip(cells.numbers.tolist(), cells.missing.tolist(), strict=True)
    return np.array([f"{x:.10g}" if code < 0 else MISSING_CODES[code] for x, code in pairs], object)


def level_codes(cells: Sequence[Cells]) -> Codes:
    """Return the values of one column of all tables, stacked, as numbers from 0.

    Two values have one number exactly if they are the same number, text or missing code.
    """
    if cells[0].words is not None:
        words = np.concatenate([one.words for one in cells if one.words is not None])
        return pd.factorize(words)[0].astype(np.int64)
    missing = np.concatenate([one.missing for one in cells])
    # adding zero makes one of the two zeros
    numbers = np.where(missing < 0, np.concatenate([one.numbers for one in cells]), 0.0) + 0.0
    codes = pd.factorize(numbers)[0].astype(np.int64) + len(MISSING_CODES)
    return np.where(missing < 0, codes, missing)


def row_ids(tables: Sequence[Records], columns: Sequence[str]) -> list[Codes]:
    """A number for each row of each table, the same exactly for rows equal in ``columns``.

    Examples
    --------
    >>> a, b = (table_of(pd.DataFrame({"x": x}), ["x"]) for x in ([1.0, 2.0], [2.0]))
    >>> [ids.tolist() for ids in row_ids([a, b], ["x"])]
    [[0, 1], [1]]
    """
    sizes = [len(table[columns[0]]) for table in tables]
    ids = np.zeros(sum(sizes), np.int64)
    for name in columns:
        codes = level_codes([table[name] for table in tables])
        ids = pd.factorize(ids * (codes.max() + 1) + codes)[0].astype(np.int64)
    return np.split(ids, np.cumsum(sizes)[:-1])


class Points(NamedTuple):
    """Rows in a space in which Gower's distance is a sum of absolute and of 0-1 differences.

    ``numbers`` is an (n, d) array, ``codes`` an (n, c) array of levels; ``columns`` counts the
    columns of the table.
    """

    numbers: Array
    codes: Array
    columns: int


def gower_points(
    tables: Sequence[Records], ranges: Mapping[str, tuple[float, float] | None]
) -> list[Points]:
    """The rows of all tables as points.

    Numbers differ by their distance over the range; without one, or with an empty or infinite one,
    a column has levels, which differ by 0 or 1.

    Notes
    -----
    Missing codes are levels of their own, at distance 1 from each other and from every number in
    the range: a number x becomes the pair (x/2, (1 - x)/2), a missing code a coordinate of its
    own of 1/2.  Gower leaves comparisons with missing values out instead, which would make a row
    that says nothing near to every row.
    """
    sizes = [len(next(iter(table.values()))) for table in tables]
    numbers, codes = [], []
    for name, span in ranges.items():
        cells = [table[name] for table in tables]
        if span is None or not 0 < span[1] - span[0] < np.inf:
            codes.append(level_codes(cells).astype(np.float64))
        else:
            numbers += _coordinates(cells, span)
    cuts = np.cumsum(sizes)[:-1]
    total = sum(sizes)
    parts = [
        np.split(np.stack(x, 1) if x else np.empty((total, 0)), cuts) for x in (numbers, codes)
    ]
    return [Points(x, c, len(ranges)) for x, c in zip(*parts, strict=True)]


def _coordinates(cells: Sequence[Cells], span: tuple[float, float]) -> list[Array]:
    missing = np.concatenate([one.missing for one in cells])
    x = (np.concatenate([one.numbers for one in cells]) - span[0]) / (span[1] - span[0])
    found = np.unique(missing[missing >= 0])
    if not len(found):
        return [x]
    there = missing < 0
    halves = [np.where(there, x / 2, 0.0), np.where(there, (1 - x) / 2, 0.0)]
    return halves + [np.where(missing == code, 0.5, 0.0) for code in found]


class Nearest(NamedTuple):
    """Distance of each row to its nearest one, and to how many that is the distance; (n,) each."""

    distance: Array
    ties: NDArray[np.int64]


def nearest(rows: Points, among: Points) -> Nearest:
    """Distance of each row to the nearest of others.

    Notes
    -----
    All pairs are compared, in blocks: n m (d + c) operations and a few megabytes.

    References
    ----------
    Gower (1971), "A general coefficient of similarity and some of its properties", Biometrics 27.

    Examples
    --------
    >>> tables = [table_of(pd.DataFrame({"x": x}), ["x"]) for x in ([0.0, 3.0], [1.0, 1.0, 4.0])]
    >>> found = nearest(*gower_points(tables, {"x": (0.0, 4.0)}))
    >>> found.distance.tolist(), found.ties.tolist()
    ([0.25, 0.25], [2, 1])
    """
    n, step = len(rows.numbers), max(1, _PAIRS_AT_ONCE // max(1, len(among.numbers)))
    distance, ties = np.empty(n), np.empty(n, np.int64)
    for start in range(0, n, step):
        block = slice(start, start + step)
        pairs = _distances(rows, among, block)
        least = pairs.min(axis=1)
        distance[block] = least / rows.columns
        ties[block] = np.count_nonzero(pairs == least[:, None], axis=1)
    return Nearest(distance, ties)


def _distances(rows: Points, among: Points, block: slice) -> Array:
    """Return the sums of differences of some rows and all others."""
    from scipy.spatial.distance import cdist

    parts = []
    if rows.numbers.shape[1]:
        parts.append(cdist(rows.numbers[block], among.numbers, "cityblock"))
    if rows.codes.shape[1]:
        parts.append(cdist(rows.codes[block], among.codes, "hamming") * rows.codes.shape[1])
    return sum(parts[1:], start=parts[0])


KEYS = ["covariates", "outcome", "arm"]
NUMBERS = ["estimate", "std.error", "conf.low", "conf.high"]
_TYPES = dict.fromkeys(KEYS, object) | dict.fromkeys(NUMBERS, np.float64)


def ci_overlap(
    low: ArrayLike, high: ArrayLike, low_released: ArrayLike, high_released: ArrayLike
) -> NDArray[np.float64]:
    """Overlap of confidence intervals: the mean of the shares of each that lies in the other.

    It is 1 where they are the same, 0 where they are disjoint or touch, NaN where an end is NaN.

    Notes
    -----
    An interval inside another that is k times as wide scores (1 + 1/k) / 2, at least one half:
    the measure punishes a released interval for being too wide far less than for being elsewhere.

    References
    ----------
    Karr et al. (2006), The American Statistician 60, doi:10.1198/000313006X124640; "Assessing
    Utility of Differential Privacy for RCTs", equation (5).

    Examples
    --------
    >>> ci_overlap([0.0, 0.0, 0.0], [2.0, 2.0, 2.0], [1.0, 0.0, 3.0], [5.0, 2.0, 4.0]).tolist()
    [0.375, 1.0, 0.0]
    """
    a, b = np.asarray(low, np.float64), np.asarray(high, np.float64)
    c, d = np.asarray(low_released, np.float64), np.asarray(high_released, np.float64)
    shared = np.minimum(b, d) - np.maximum(a, c)
    meets = shared > 0
    width, width_released = (np.where(meets, w, 1.0) for w in (b - a, d - c))
    overlap = np.where(meets, (shared / width + shared / width_released) / 2, 0.0)
    return np.where(np.isnan(a + b + c + d), np.nan, np.clip(overlap, 0.0, 1.0))


def compared(
    confidential: pd.DataFrame, released: Mapping[tuple[str, int], pd.DataFrame]
) -> pd.DataFrame:
    """Both sides of each effect in one row, with overlap and differences, by method and draw."""
    named = {name: f"released.{name}" for name in NUMBERS}
    draw = ["method", "draw"]
    right = pd.concat(
        {key: frame[[*KEYS, *NUMBERS]].astype(_TYPES) for key, frame in released.items()},
        names=draw,
    )
    every = pd.DataFrame(list(released), columns=draw)
    left = every.merge(confidential[[*KEYS, *NUMBERS]], how="cross")
    right = right.rename(columns=named).reset_index(level=draw)
    both = left.merge(right, on=[*draw, *KEYS], how="left", validate="1:1")
    both["overlap"] = ci_overlap(
        both["conf.low"], both["conf.high"], both["released.conf.low"], both["released.conf.high"]
    )
    both["difference"] = both["released.estimate"] - both["estimate"]
    both["abs.difference"] = both["difference"].abs()
    return both


def summarised(
    effects: pd.DataFrame, by: list[str], measures: list[str], quantiles: tuple[float, ...]
) -> pd.DataFrame:
    """Distribution of each measure over the draws, by columns whose order of appearance is kept.

    Examples
    --------
    >>> import pandas as pd
    >>> draws = pd.DataFrame({"arm": ["a", "a", "a"], "overlap": [0.2, 0.4, 0.9]})
    >>> summarised(draws, ["arm"], ["overlap"], (0.5,)).round(3).values.tolist()
    [['a', 3, 0.5, 0.4, 0.4]]
    """
    if not all(0 <= q <= 1 for q in quantiles):
        raise ParameterError(f"``quantiles={quantiles!r}``; give numbers from 0 to 1")
    groups = effects.groupby(by, sort=False, dropna=False)
    out = groups.size().rename("draws").to_frame()
    for name in measures:
        out[f"{name}.mean"] = groups[name].mean()
        out[f"{name}.median"] = groups[name].median()
        for q in quantiles:
            out[f"{name}.q{_percent(q)}"] = groups[name].quantile(q)
    return out.reset_index()


def _percent(q: float) -> str:
    whole, _, rest = f"{100 * q:.4f}".rstrip("0").rstrip(".").partition(".")
    return whole.zfill(2) + (f".{rest}" if rest else "")
