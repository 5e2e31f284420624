r"""Rows of confidential data in texts that are to be published, whoever typed them in and however.

A text is read as numbers and words in their order.  Three searches look for cells of the data:

* *in order*: neighbouring numbers of the text that are neighbouring cells of the data, along a row
  (and on into the next one) or down a column;
* *in a line*: numbers and words of one line that are cells of one row, in any order and with
  others among them; in one line enough of them, or in many lines some;
* *by themselves*: cells that say much, such as an amount with its cents, a date or the name that
  one row alone has, anywhere in a text, in any order; several of them.

What is found must be there by chance less than once in a million.  A cell that is matched by a
number counts as one of the values that its column may have (its levels, or the numbers within its
bounds), and as no more than the digits that were written: zeros and ones say one bit each, a
round number or a year says little, and what repeats or counts up says next to nothing.  So the
chance follows from public facts and from the text, and never from the data.
"""

from __future__ import annotations

import math
import re
from dataclasses import field, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.lazy import pandas as pd
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from dprct.schema.columns import Column
    from dprct.schema.schema import Schema

    Array = NDArray[np.float64]
    Codes = NDArray[np.int64]

RARE = 6.0
"""Digits of the chance below which a find is none: one in a million."""

_TOKENS_AT_ONCE = 400_000
_CELLS_AT_ONCE = 2_000_000
_LONGEST_RUN = 512
_WINDOW, _STEP = 64, 32
_MOST_DIGITS, _DIGITS_OF_DECIMALS = 12, 7
_FEWEST_CELLS, _FEWEST_LINES = 3, 4
_LEVELS = (1.0, 2.0, 3.0, 4.0)
_MOST_WORDS = 6
_YEARS = range(1900, 2100)
_DAYS, _FIRST_DAY, _MOST_DAYS, _DIGITS_OF_DATES = ("%td", "%d"), date(1960, 1, 1), 100_000, 4.5

_NUMBER = r"[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]{1,3})?|\.[0-9]+(?:[eE][-+]?[0-9]{1,3})?"
_STRICT = re.compile(rf"(?<![\w.])(?:{_NUMBER})(?=L?(?!\w))")
_LAX = re.compile(r"[0-9]*\.?[0-9]+")
_COMMA = re.compile(r"(?<![\w,.])[0-9]+(?:,[0-9]+)?(?![\w,])")
_GROUPED = re.compile(
    rf"(?<![\w,.])[0-9]{{1,3}}(?:,[0-9]{{3}})+(?:\.[0-9]+)?(?![\w,])|(?:{_NUMBER})"
)
_HAS_COMMA = re.compile(r"[0-9],[0-9]")
_WORD = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")


@dataclass(frozen=True)
class Text:
    """A text, or a part of one, that is to be published."""

    name: str  # of its file
    text: str
    line: int = 1  # number of its first line in the file
    # Columns whose values may be in it, since a release publishes them as they are.
    public: frozenset[str] = frozenset()
    # Whether single cells in many lines are a find: they are in a table, and a program may ask for
    # a number or two.
    single: bool = False
    # Whether it is a program, which may name whole numbers, as ids and codes are, by themselves.
    program: bool = False


@dataclass(frozen=True)
class Table:
    """A confidential table, with what is declared of its columns."""

    data: pd.DataFrame  # as :func:`dprct.io.read` returns it
    columns: Mapping[str, Column]
    # Labels of values, by the column.
    labels: Mapping[str, Mapping[float, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, data: pd.DataFrame, schema: Schema) -> Table:
        """Return a table with the facts of a schema, as far as it has the columns."""
        columns = {c.name: c for c in schema.columns if c.name in data.columns}
        sets = schema.file.value_labels
        labels = {
            name: {float(k): v for k, v in sets[c.value_label].items() if not isinstance(k, str)}
            for name, c in columns.items()
            if c.value_label in sets
        }
        return cls(data, columns, labels)


def places_of_rows(texts: Iterable[Text], tables: Sequence[Table]) -> list[tuple[str, int]]:
    """Return the files in which rows of confidential tables are, each with the first line of them.

    Texts are taken one after another, and none is kept.
    """
    found: dict[str, int] = {}
    for number, batch in enumerate(_batches(texts), 1):
        for public in {one.public for one in batch}:
            same = [one for one in batch if one.public == public]
            for table in tables:
                # the chances of all parts of a long text, and of all tables, stay below one
                rare = RARE + 2 * np.log10(number) + np.log10(len(tables))
                for name, line in _found_in(same, table, public, rare):
                    found[name] = min(line, found.get(name, line))
    return list(found.items())


def _batches(texts: Iterable[Text]) -> Iterator[list[Text]]:
    batch: list[Text] = []
    size = 0
    for one in texts:
        batch.append(one)
        size += len(one.text)
        if size > 4 * _TOKENS_AT_ONCE:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


# what a text says ------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Stream:
    """Numbers of texts in order, (m,) each: absolute value, decimals, text, line, and column."""

    value: Array
    decimals: Codes
    text: Codes
    line: Codes
    column: Codes | None = None

    @property
    def whole(self) -> Codes:
        """What no run goes beyond: texts, or columns of them."""
        if self.column is None:
            return self.text
        return self.text * (int(self.column.max()) + 1) + self.column


_READINGS: tuple[tuple[re.Pattern[str], Callable[[str], str], bool], ...] = (
    (_STRICT, str, False),
    (_LAX, str, False),
    (_COMMA, lambda word: word.replace(",", "."), True),
    (_GROUPED, lambda word: word.replace(",", ""), True),
)
"""How numbers may be written, how one becomes Python's, and whether that needs commas in digits."""


def _streams(texts: Sequence[Text]) -> Iterator[_Stream]:
    """Yield the numbers of texts, in each reading that differs from those before."""
    seen: list[Array] = []
    for pattern, plain, needs in _READINGS:
        if needs and not any(_HAS_COMMA.search(one.text) for one in texts):
            continue
        parts = [_numbers(one, at, pattern, plain) for at, one in enumerate(texts)]
        value, decimals, text, line = ([v for part in parts for v in part[k]] for k in range(4))
        whole = (np.array(of, dtype=np.int64) for of in (decimals, text, line))
        stream = _Stream(np.array(value, dtype=np.float64), *whole)
        if len(stream.value) and not any(np.array_equal(stream.value, old) for old in seen):
            seen.append(stream.value)
            yield stream


def _by_column(stream: _Stream) -> _Stream:
    """Return the numbers of lines one below the other: all that are first in a line, and so on."""
    line = stream.text * (int(stream.line.max()) + 2) + stream.line
    begins = np.flatnonzero(np.diff(line, prepend=-1))
    place = np.arange(len(line)) - np.repeat(begins, np.diff(np.append(begins, len(line))))
    order = np.lexsort((line, place, stream.text))
    codes = stream.decimals, stream.text, stream.line, place
    return _Stream(stream.value[order], *(part[order] for part in codes))


def _numbers(
    one: Text, at: int, pattern: re.Pattern[str], plain: Callable[[str], str]
) -> tuple[list[float], list[int], list[int], list[int]]:
    values: list[float] = []
    decimals: list[int] = []
    lines: list[int] = []
    for number, line in enumerate(one.text.split("\n"), one.line):
        for match in pattern.findall(line):
            word = plain(match)
            try:
                value = float(word)
            except ValueError:
                continue
            if math.isinf(value):
                continue
            mantissa = word.lower().partition("e")
            values.append(value)
            decimals.append(len(mantissa[0].partition(".")[2]) if not mantissa[2] else 99)
            lines.append(number)
    return values, decimals, [at] * len(values), lines


def _canonical(values: Array) -> Array:
    """Return absolute values that are equal where as much is equal as a float shows."""
    with np.errstate(over="ignore", invalid="ignore"):
        whole = values == np.round(values)
        return np.abs(np.where(whole, values, values.astype(np.float32).astype(np.float64)))


def _digits(value: float) -> float:
    """How many digits a number says, at most."""
    if value in (0, 1):
        return float(np.log10(2))
    if value in _YEARS and value == int(value):
        return 1.0
    if value == int(value):
        return min(_MOST_DIGITS, max(0.7, len(f"{value:.0f}".rstrip("0"))))
    written = f"{value:.{_DIGITS_OF_DECIMALS}g}".partition("e")[0]
    return max(0.7, len(written.replace(".", "").strip("0")))


# what the data say -----------------------------------------------------------------------------


def _public_digits(column: Column | None, decimals: int | None) -> float:
    """Return the digits that one value of a column says under what is declared of it."""
    if column is None:
        return np.inf
    if column.levels is not None:
        return float(np.log10(max(2, len(column.levels) + len(column.missing or ()))))
    step = column.step if decimals is None or column.is_integer else 10.0**-decimals
    if column.bounds is not None and step:
        low, high = column.bounds
        return float(np.log10(max(2.0, (high - low) / float(step) + 1)))
    return np.inf


def _admits(column: Column | None, values: Array) -> NDArray[np.bool_]:
    """Whether a column may have each value, or its negative."""
    if column is None or (column.bounds is None and column.levels is None):
        return np.ones(len(values), dtype=bool)
    if column.levels is not None:
        levels = [abs(v) for v in column.levels if not isinstance(v, str)]
        return np.isin(values, _canonical(np.array(levels, dtype=np.float64)))
    assert column.bounds is not None
    low, high = column.bounds
    return ((values >= low) & (values <= high)) | ((-values >= low) & (-values <= high))


def _found_in(
    texts: Sequence[Text], table: Table, public: frozenset[str], rare: float
) -> Iterator[tuple[str, int]]:
    frame = table.data
    numbers = [name for name in frame.columns if frame[name].dtype.kind in "fiub"]
    numeric = [name for name in numbers if name not in public]
    words = [name for name in frame.columns if name not in {*numbers, *public}]
    if not len(frame) or not (numeric or words):
        return
    streams = [*_streams(texts)]
    ways = [(one, d) for one in streams for d in _roundings(one, table, numeric)]
    rare += float(np.log10(max(1, 3 * len(ways))))
    for stream, decimals in ways if numeric else ():
        for one in (stream, _by_column(stream)):
            yield from _along_rows(texts, one, table, numbers, public, decimals, rare)
    said = _words_of(texts, table, words, numeric)
    for stream, decimals in ways:
        yield from _in_lines(texts, stream, table, numeric, decimals, said, rare)
    if not ways and said.lines:
        yield from _in_windows(texts, dict(said.lines), said.rows, said.weights, len(frame), rare)
    yield from _names_by_themselves(texts, said, len(frame), rare)


def _along_rows(
    texts: Sequence[Text],
    stream: _Stream,
    table: Table,
    numeric: list[str],
    public: frozenset[str],
    decimals: int | None,
    rare: float,
) -> Iterator[tuple[str, int]]:
    """Yield where neighbouring numbers are neighbouring cells of a row or of a column."""
    n, p = len(table.data), len(numeric)
    vocabulary, token = np.unique(_canonical(stream.value), return_inverse=True)
    said = np.array([_digits(v) for v in vocabulary])
    rare += float(np.log10(n * p * len(token)))
    width = np.array(
        [0.0 if c in public else _public_digits(table.columns.get(c), decimals) for c in numeric]
    )
    rows = max(1, _CELLS_AT_ONCE // p)
    across = [([*range(p)], slice(begin, begin + rows)) for begin in range(0, n, rows)]
    for columns, part in across if stream.column is None else ():
        cells, _, which = _cells(table, numeric, decimals, vocabulary, part)
        most = width[columns][which]
        found = _runs(cells, most, token, stream.whole, vocabulary, said, rare)
        yield from _places(texts, stream, found)
    many = max(1, _CELLS_AT_ONCE // (n + 1))
    private = [at for at in range(p) if width[at]]
    for begin in range(0, len(private), many):
        mine: list[Codes] = []
        widths: list[Array] = []
        for at in private[begin : begin + many]:
            cells, *_ = _cells(table, [numeric[at]], decimals, vocabulary, slice(None))
            mine += [cells, np.array([-1])]  # no run goes on into the next column
            widths.append(np.full(len(cells) + 1, width[at]))
        whole, most = np.concatenate(mine), np.concatenate(widths)
        found = _runs(whole, most, token, stream.whole, vocabulary, said, rare)
        yield from _places(texts, stream, found)


def _roundings(stream: _Stream, table: Table, numeric: list[str]) -> list[int | None]:
    """Return to how many decimals the data may be rounded in a text; None as they are."""
    fine = any(
        (c := table.columns.get(name)) is None or not (c.is_integer or c.levels is not None)
        for name in numeric
    )
    return [None, *(d for d in range(5) if fine and (stream.decimals == d).any())]


def _cells(
    table: Table, names: list[str], decimals: int | None, vocabulary: Array, rows: slice
) -> tuple[Codes, Codes, Codes]:
    """Return the cells that are not missing, row by row, as places in a vocabulary; -1 if none.

    With each comes the number of its row, from the first of these, and of its column.
    """
    block = table.data[names].iloc[rows].to_numpy(dtype=np.float64, na_value=np.nan)
    row, column = np.nonzero(~np.isnan(block))
    values = block[row, column]
    values = _canonical(values if decimals is None else np.round(values, decimals))
    at = np.minimum(np.searchsorted(vocabulary, values), len(vocabulary) - 1)
    return np.where(vocabulary[at] == values, at, -1).astype(np.int64), row, column


def _runs(
    cells: Codes,
    width: Array,
    token: Codes,
    text: Codes,
    vocabulary: Array,
    said: Array,
    rare: float,
) -> Codes:
    """Return the places in a text where runs begin that are in the cells, and too long for chance.

    Runs of growing length are kept as numbers of the different ones in the text.
    """
    size = len(vocabulary)
    place = np.arange(len(token))
    gram = token.astype(np.int64)
    cell = np.flatnonzero(cells >= 0)
    cell_gram = cells[cell]
    last, before, again = np.arange(size), np.full(size, -1), np.zeros(size, dtype=np.int64)
    weight = np.minimum(said[cell_gram], width[cell])
    hits: list[Codes] = []
    for length in range(1, _LONGEST_RUN):
        hit = weight >= rare
        if hit.any():
            hits.append(place[np.isin(gram, np.unique(cell_gram[hit]))])
            cell, cell_gram, weight = cell[~hit], cell_gram[~hit], weight[~hit]
        # one further number in the text, of the same text
        near = place + length
        goes = near < len(token)
        goes[goes] = text[near[goes]] == text[place[goes]]
        goes &= np.isin(gram, cell_gram)
        place, gram = place[goes], gram[goes]
        on = cell + length < len(cells)
        on[on] = cells[cell[on] + length] >= 0
        cell, cell_gram, weight = cell[on], cell_gram[on], weight[on]
        if not len(place) or not len(cell):
            break
        keys, where, fresh = np.unique(
            gram * size + token[place + length], return_index=True, return_inverse=True
        )
        mine = cell_gram * size + cells[cell + length]
        at = np.minimum(np.searchsorted(keys, mine), len(keys) - 1)
        same = keys[at] == mine
        cell, cell_gram, weight = cell[same], at[same], weight[same]
        parent, newest = gram[where], token[place[where] + length]
        again = _predicted(vocabulary, before[parent], last[parent], newest, again[parent])
        before, last = last[parent], newest
        gram = fresh.astype(np.int64)
        news = _news(said[last], again)
        weight = weight + np.minimum(news[cell_gram], width[cell + length])
    return np.unique(np.concatenate(hits)) if hits else np.zeros(0, dtype=np.int64)


def _predicted(vocabulary: Array, before: Codes, last: Codes, newest: Codes, again: Codes) -> Codes:
    """How many numbers at the end of each run follow from those before them."""
    repeated = last == newest
    step = vocabulary[newest] - vocabulary[last]
    counted = (before >= 0) & (step == vocabulary[last] - vocabulary[before])
    return np.where(repeated | counted, again + 1, 0)


def _news(said: Array, again: Codes) -> Array:
    """News of a number after others: of what goes on, only how long it goes on."""
    k = np.maximum(again, 1)
    return np.where(again > 0, np.minimum(said, 2 * np.log10((k + 1) / k)), said)


def _places(texts: Sequence[Text], stream: _Stream, at: Codes) -> Iterator[tuple[str, int]]:
    for number in np.unique(stream.text[at]):
        lines = stream.line[at[stream.text[at] == number]]
        yield texts[int(number)].name, int(np.sort(lines)[0])


# cells of a row in a line, in any order ---------------------------------------------------------


def _in_lines(
    texts: Sequence[Text],
    stream: _Stream,
    table: Table,
    numeric: list[str],
    decimals: int | None,
    said: _Said,
    rare: float,
) -> Iterator[tuple[str, int]]:
    """Yield where numbers and words of a line are cells of one row."""
    vocabulary, token = np.unique(_canonical(stream.value), return_inverse=True)
    weights = _weights(vocabulary, table, numeric, decimals)
    lines = _by_line(stream, token, weights)
    for line, phrases in said.lines.items():
        lines.setdefault(line, []).extend(phrases)
    rows_of = _rows_by_number(table, numeric, decimals, vocabulary, weights)
    weight_of: dict[Any, float] = {code: float(weights[code]) for code in rows_of}
    whole = vocabulary == np.round(vocabulary)
    for at, one in enumerate(texts):
        mine = stream.text == at
        codes, first = np.unique(token[mine], return_index=True)
        counted = codes[~whole[codes]] if one.program else codes
        cells = {
            (int(code), float(weights[code])): int(stream.line[mine][where])
            for code, where in zip(codes, first, strict=True)
            if int(code) in rows_of and not (one.program and whole[code])
        }
        if begins := _too_many_cells(cells, len(counted), len(table.data), rare):
            yield one.name, begins
    yield from _in_windows(
        texts, lines, rows_of | said.rows, weight_of | said.weights, len(table.data), rare
    )


def _weights(vocabulary: Array, table: Table, numeric: list[str], decimals: int | None) -> Array:
    """Return the digits that each number says if it may be any cell of a row."""
    chance = np.zeros(len(vocabulary))
    own = 10.0 ** -np.array([_digits(v) for v in vocabulary])
    for name in numeric:
        column = table.columns.get(name)
        public = 10.0 ** -_public_digits(column, decimals)
        chance += np.where(_admits(column, vocabulary), np.maximum(own, public), 0)
    return np.where(chance > 0, -np.log10(np.minimum(1, np.maximum(chance, own))), 0.0)


Line = tuple[int, int]  # text, line


def _names_by_themselves(
    texts: Sequence[Text], said: _Said, n: int, rare: float
) -> Iterator[tuple[str, int]]:
    """Yield where words that one row alone has stand anywhere in a text."""
    spoken: dict[int, dict[tuple[Any, float], int]] = {}
    for (text, line), phrases in said.lines.items():
        for phrase in phrases:
            if len(said.rows[phrase]) == 1:
                mine = spoken.setdefault(text, {})
                key = (phrase, said.weights[phrase])
                mine[key] = min(line, mine.get(key, line))
    for text, cells in spoken.items():
        many = len({*_WORD.findall(texts[text].text.casefold())})
        if line := _too_many_cells(cells, many, n, rare):
            yield texts[text].name, line


def _too_many_cells(cells: Mapping[tuple[Any, float], int], many: int, n: int, rare: float) -> int:
    """Return the first line of more cells by themselves than chance; 0 if it may be chance.

    ``cells`` has the line of each, by the digits it says; ``many`` different numbers or words are
    in the text.
    """
    for level in _LEVELS:
        lines = [line for (_, digits), line in cells.items() if digits >= level + np.log10(n)]
        if _is_no_chance(len(lines), many * 10.0**-level, rare):
            return min(lines)
    return 0


def _is_no_chance(k: int, mean: float, rare: float) -> bool:
    """Whether k of many, of which chance has a mean number, are too many: (e mean / k)^k bounds."""
    return k >= _FEWEST_LINES and k > mean and k * math.log10(k / (math.e * mean)) >= rare


def _by_line(stream: _Stream, token: Codes, weights: Array) -> dict[Line, list[Any]]:
    """Content of each line, by its text and number: places in the vocabulary."""
    found: dict[Line, list[Any]] = {}
    telling = weights[token] > 0
    for text, line, code in zip(
        stream.text[telling].tolist(),
        stream.line[telling].tolist(),
        token[telling].tolist(),
        strict=True,
    ):
        found.setdefault((text, line), []).append(code)
    return found


def _in_windows(
    texts: Sequence[Text],
    lines: Mapping[Line, list[Any]],
    rows_of: Mapping[Any, Codes],
    weight_of: Mapping[Any, float],
    n: int,
    rare: float,
) -> Iterator[tuple[str, int]]:
    several: dict[int, list[_Find]] = {}
    count = np.bincount([text for text, _ in lines], minlength=len(texts))
    done: set[int] = set()
    for (text, number), codes in sorted(lines.items()):
        fewest = 1 if texts[text].single else 2
        for begin in range(0, max(1, len(codes) - _STEP), _STEP):
            window = codes[begin : begin + _WINDOW]
            find = _best_row(window, rows_of, weight_of, float(np.log10(n)), fewest)
            if find is not None and text not in done:
                several.setdefault(text, []).append(replace(find, line=number))
                if find.alone >= rare + np.log10(len(lines)):
                    done.add(text)
                    yield texts[text].name, number
    for text, finds in several.items():
        if text not in done and (first := _too_many(finds, int(count[text]), rare)):
            yield texts[text].name, first


def _rows_by_number(
    table: Table, numeric: list[str], decimals: int | None, vocabulary: Array, weights: Array
) -> dict[Any, Codes]:
    """Return the rows in which each number of a text is that says something."""
    n, p = len(table.data), max(1, len(numeric))
    tokens: list[Codes] = []
    rows: list[Codes] = []
    step = max(1, _CELLS_AT_ONCE // p)
    for begin in range(0, n, step) if numeric and len(vocabulary) else ():
        part = slice(begin, begin + step)
        cells, row, _ = _cells(table, numeric, decimals, vocabulary, part)
        good = (cells >= 0) & (weights[cells] > 0)
        tokens.append(cells[good])
        rows.append(row[good] + begin)
    if not tokens:
        return {}
    pairs = np.unique(np.concatenate(tokens) * n + np.concatenate(rows))
    if not len(pairs):
        return {}
    codes, starts = np.unique(pairs // n, return_index=True)
    return dict(zip(codes.tolist(), np.split(pairs % n, starts[1:]), strict=True))


@dataclass(frozen=True)
class _Said:
    """Words of texts that are cells: by line, the rows of each, and how many digits it says."""

    lines: dict[Line, list[Any]]
    rows: dict[Any, Codes]
    weights: dict[Any, float]


def _phrase(cell: str) -> str:
    return " ".join(_WORD.findall(cell.casefold())[:_MOST_WORDS])


def _phrase_digits(phrase: str) -> float:
    """Return the digits that words say: three for one of the language, one for each digit."""
    return sum(
        len(re.sub(r"\D", "", word)) + (3 if len(re.sub(r"\d", "", word)) > 2 else 0)
        for word in phrase.split()
    )


def _dates(day: int) -> set[str]:
    """Return how a day after 1 January 1960 may be written, as phrases."""
    when = _FIRST_DAY + timedelta(days=day)
    d, m, y = f"{when.day}", f"{when.month}", f"{when.year}"
    orders = [(d, m, y), (m, d, y), (d.zfill(2), m.zfill(2), y), (m.zfill(2), d.zfill(2), y),
              (y, m, d), (y, m.zfill(2), d.zfill(2))]  # fmt: skip
    for month in (f"{when:%b}".casefold(), f"{when:%B}".casefold()):
        orders += [(d, month, y), (d.zfill(2), month, y), (month, d, y), (month, d.zfill(2), y)]
    return {mark.join(order) for order in orders for mark in (" ", "-", "")}


def _words_of(
    texts: Sequence[Text], table: Table, words: list[str], dated: Collection[str]
) -> _Said:
    """Return the cells and labels that stand in lines as words."""
    rows_of: dict[Any, Codes] = {}
    weights: dict[Any, float] = {}
    phrases: dict[str, list[tuple[Codes, float]]] = {}
    many = float(np.log10(max(1, len(words) + len(table.labels))))
    for name in words:
        most = _public_digits(table.columns.get(name), None)
        cells = pd.Series([_phrase(str(value)) for value in table.data[name]])
        for phrase, rows in cells.groupby(cells).indices.items():
            first, _, last = str(phrase).rpartition(" ")
            for way in {str(phrase), f"{last} {first}".strip()}:  # a surname may come first
                phrases.setdefault(way, []).append((np.asarray(rows, dtype=np.int64), most))
    for name, column in table.columns.items():
        if name in dated and column.format.startswith(_DAYS):
            days = table.data[name].to_numpy(np.float64, na_value=np.nan)
            for day in np.unique(days[np.abs(days) < _MOST_DAYS]):
                rows = np.flatnonzero(days == day)
                for way in _dates(int(day)):
                    phrases.setdefault(way, []).append((rows, _DIGITS_OF_DATES))
    for name, labels in table.labels.items():
        if name in table.data and table.data[name].dtype.kind in "fiub":
            values = table.data[name].to_numpy(np.float64, na_value=np.nan)
            for value, label in labels.items():
                rows = np.flatnonzero(values == value)
                phrases.setdefault(_phrase(label), []).append((rows, np.log10(len(labels) + 1)))
    spoken = _spoken(texts, phrases) if phrases else {}
    lines: dict[Line, list[Any]] = {}
    for phrase, places in spoken.items():
        found = phrases[phrase]
        weight = min(_phrase_digits(phrase), *(most for _, most in found), np.inf) - many
        if weight > 0:
            rows_of[phrase] = np.unique(np.concatenate([rows for rows, _ in found]))
            weights[phrase] = weight
            for line in places:
                lines.setdefault(line, []).append(phrase)
    return _Said(lines, rows_of, weights)


def _spoken(texts: Sequence[Text], phrases: Mapping[str, object]) -> dict[str, list[Line]]:
    first = {phrase.partition(" ")[0] for phrase in phrases}
    found: dict[str, list[Line]] = {}
    for at, one in enumerate(texts):
        for number, line in enumerate(one.text.split("\n"), one.line):
            words = _WORD.findall(line.casefold())
            for begin, word in enumerate(words):
                for end in range(begin + 1, begin + 1 + _MOST_WORDS) if word in first else ():
                    phrase = " ".join(words[begin:end])
                    if end <= len(words) and phrase in phrases:
                        found.setdefault(phrase, []).append((at, number))
    return found


@dataclass(frozen=True)
class _Find:
    """The row that a line has most of: in digits beyond those that chance finds in one line."""

    # some, alone: with as few cells as count in many lines, and with as many as count in one.
    some: float
    alone: float
    codes: frozenset[Any]  # what of the line are cells of the row
    line: int = 0


def _best_row(
    window: Sequence[Any],
    rows_of: Mapping[Any, Codes],
    weight_of: Mapping[Any, float],
    log_rows: float,
    fewest: int,
) -> _Find | None:
    """Return the row of which a line has most, if that is more than chance gives one in ten.

    A row that has enough must have one of the rarest cells, without which the others are not
    enough; so that the rows of these alone are looked at.
    """
    codes = sorted({c for c in window if c in rows_of}, key=lambda c: len(rows_of[c]))
    left = sum(weight_of[c] for c in codes)
    if left < log_rows + _LEVELS[0] or len(codes) < fewest:
        return None
    first: list[Codes] = []
    for code in codes:
        if left < log_rows + _LEVELS[0]:
            break
        first.append(rows_of[code])
        left -= weight_of[code]
    rows = np.unique(np.concatenate(first))
    has = np.zeros((len(codes), len(rows)), dtype=bool)
    for number, code in enumerate(codes):
        mine = rows_of[code]
        at = np.minimum(np.searchsorted(mine, rows), len(mine) - 1)
        has[number] = mine[at] == rows
    many, count = len({*window}), has.sum(axis=0)
    choices = np.array([math.log10(math.comb(many, k)) for k in range(many + 1)])
    weight = np.array([weight_of[code] for code in codes]) @ has - choices[count] - log_rows
    some = np.where(count >= fewest, weight, -np.inf)
    alone = np.where(count >= _FEWEST_CELLS, weight, -np.inf)
    best = int(np.argmax(some))
    if some[best] < _LEVELS[0]:
        return None
    matched = frozenset(code for code, there in zip(codes, has[:, best], strict=True) if there)
    return _Find(float(some[best]), float(alone.max()), matched)


def _too_many(finds: Sequence[_Find], lines: int, rare: float) -> int:
    """Return the first line of those that have more of rows than chance; 0 if it may be chance.

    What a line has by chance in one of 10^level is there in k of m lines with a chance of at most
    (e m / (k 10^level))^k.  What one line has, another has not again.
    """
    for level in _LEVELS:
        seen: set[Any] = set()
        k = first = 0
        for find in finds:
            if find.some >= level and not find.codes & seen:
                seen |= find.codes
                k, first = k + 1, first or find.line
        if _is_no_chance(k, lines * 10.0**-level, rare):
            return first
    return 0
