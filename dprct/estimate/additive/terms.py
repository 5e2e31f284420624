"""Which features an additive model has, what their levels are, and what is released of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.arguments import distinct_names, given, is_data, listed_names
from dprct.encoding import encodings
from dprct.errors import ColumnError, ParameterError, SchemaError
from dprct.lazy import narwhals as nw
from dprct.queries.additive import Block, feature_codes
from dprct.records import dataclass
from dprct.schema.tables import eager

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from dprct.encoding import Coded
    from dprct.schema.schema import Schema

    Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Terms:
    """The features of an additive model, from the schema alone."""

    encodings: tuple[Coded, ...]  # of the features, then of columns that only name subgroups
    # Whether the levels of each are in an order that a polynomial may follow.
    smooth: tuple[bool, ...]
    features: int  # how many of the encodings are features
    pairs: tuple[tuple[int, int], ...] = ()  # features whose interaction is in the model
    # Features whose joint counts alone are released, for the projection.
    crossed: tuple[tuple[int, int], ...] = ()
    # Of every encoding, public value labels by code.
    value_labels: tuple[Mapping[Any, str], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the encodings."""
        return tuple(encoding.name for encoding in self.encodings)

    @property
    def terms(self) -> tuple[tuple[int, ...], ...]:
        """The terms of the effect function: features, then pairs."""
        return (*((j,) for j in range(self.features)), *self.pairs)

    def named(self, term: tuple[int, ...]) -> str:
        """Name of a term."""
        return ":".join(self.names[j] for j in term)

    def blocks(self, arm: int | None = None) -> tuple[Block, ...]:
        """Released blocks: everybody, every feature and subgroup, pairs, joint counts.

        ``arm`` is the place of a further feature of two levels with which all of it is crossed.
        """
        head = () if arm is None else (arm,)
        two = () if arm is None else (2,)
        sizes = [encoding.size for encoding in self.encodings]
        found = [Block(head, two, counts=arm is not None)]
        single = self.encodings if arm is None else self.encodings[: self.features]
        found += [Block((*head, j), (*two, sizes[j])) for j in range(len(single))]
        found += [Block((*head, j, k), (*two, sizes[j], sizes[k])) for j, k in self.pairs]
        if arm is None:
            found += [
                Block((j, k), (sizes[j], sizes[k]), sums=False)
                for j, k in self.crossed
                if (j, k) not in self.pairs
            ]
        return tuple(found)

    def place(self, name: object, *, feature: bool = True) -> int:
        """Return the place of a feature, or of a column that names subgroups."""
        if not isinstance(name, str):
            raise ParameterError(
                f"a ``{type(name).__name__}`` names no feature; give its name as text"
            )
        known = self.names[: self.features] if feature else self.names
        if name not in known:
            raise ColumnError.unknown(name, known, "the released features and subgroups")
        return known.index(name)

    def points(self, j: int) -> Array:
        """Return the middle (K,) of every level, from -1 to 1 over the levels of feature j.

        Numbers are within the bounds; levels of text, and missing values, are at 0.
        """
        encoding = self.encodings[j]
        found = np.zeros(encoding.size)
        if self.smooth[j]:
            middles = np.array([(cell[0] + cell[-1]) / 2 for cell in _cells(encoding)])
            low, high = _cells(encoding)[0][0], _cells(encoding)[-1][-1]
            found[: len(middles)] = (2 * middles - low - high) / (high - low or 1.0)
        return found

    def middles(self, j: int) -> Array:
        """Return the middle (K,) of every level in the feature's own units; NaN for none."""
        encoding = self.encodings[j]
        found = np.full(encoding.size, np.nan)
        if _is_number(encoding):
            cells = _cells(encoding)
            found[: len(cells)] = [(cell[0] + cell[-1]) / 2 for cell in cells]
        return found

    def reach(self, j: int) -> float:
        """Return half the width of a feature of numbers, in its own units."""
        cells = _cells(self.encodings[j])
        return float(cells[-1][-1] - cells[0][0]) / 2 or 1.0

    def labels(self, j: int) -> list[str]:
        """Names of the levels of an encoding: value labels, where these are public."""
        encoding = self.encodings[j]
        cells = _labels(_cells(encoding), self.value_labels[j] if self.value_labels else {})
        missing = [str(code) for code in getattr(encoding, "missing", ())]
        rest = [f"level {k}" for k in range(len(cells) + len(missing), encoding.size)]
        return [*cells, *missing, *rest]

    def ordered(self, j: int) -> int:
        """How many of the first levels of feature j are in an order."""
        return len(_cells(self.encodings[j])) if self.smooth[j] else 0

    def codes(self, new_data: Any) -> list[NDArray[np.int32]]:
        """Return the codes (m,) of public rows for every feature."""
        frame = eager(new_data)
        used = self.encodings[: self.features]
        for column in (column for encoding in used for column in encoding.columns):
            if column.name not in frame.columns:
                raise ColumnError.unknown(column.name, frame.columns, "the new data")
            _check_declared(frame, column)
        return feature_codes(frame, used)


def terms_of(
    schema: Schema,
    features: Sequence[str],
    *,
    bins: int,
    categorical: Iterable[str] = (),
    pairs: Iterable[Sequence[str]] = (),
    subgroups: Iterable[str] = (),
    projection: Sequence[str] = (),
) -> Terms:
    """The terms of a model.

    A feature that declares no bins and has more admissible values gets equal ones; levels of a
    ``categorical`` number have no order.  ``subgroups`` are further columns, ``projection``
    features whose joint counts are released.
    """
    listed, grouped = distinct_names(features, "features"), distinct_names(subgroups, "subgroups")
    if not listed:
        raise ParameterError("``features=`` names no column; name at least one")
    if isinstance(bins, bool) or not isinstance(bins, int) or not 2 <= bins <= 200:
        raise ParameterError(f"``bins={given(bins)}``; give a whole number from 2 to 200")
    own = encodings(schema, listed, bins)
    others = encodings(schema, [name for name in grouped if name not in listed], bins)
    unordered = set(distinct_names(categorical, "categorical"))
    for name in unordered:
        if name not in listed:
            raise ColumnError.unknown(name, listed, "the features")
    smooth = tuple(_is_number(encoding) and encoding.name not in unordered for encoding in own)
    found = Terms((*own, *others), (*smooth, *(False for _ in others)), len(own))
    projected = distinct_names(projection, "projection")
    crossed = tuple(itertools.combinations(sorted(found.place(name) for name in projected), 2))
    for name in projected:
        _check_number(found, name)
    labels = tuple(_public_labels(schema, encoding) for encoding in found.encodings)
    return Terms(
        found.encodings, found.smooth, found.features, _pairs(found, pairs), crossed, labels
    )


def distinct_pairs(pairs: object) -> tuple[tuple[str, str], ...]:
    """Return pairs of names.

    Examples
    --------
    >>> distinct_pairs([["age", "village"]])
    (('age', 'village'),)
    """
    if isinstance(pairs, str) or is_data(pairs) or not isinstance(pairs, Iterable):
        raise ParameterError(
            f"``pairs=`` is ``{type(pairs).__name__}``; give pairs of features, such as "
            "``[('x1', 'x2')]``"
        )
    found = []
    for pair in pairs:
        names = listed_names(pair, "pairs")
        if len(set(names)) != 2 or len(names) != 2:
            raise ParameterError(
                f"``pairs=`` has a ``{type(pair).__name__}`` that is not a pair; give two "
                "different features each, such as ``[('x1', 'x2')]``"
            )
        found.append((names[0], names[1]))
    return tuple(found)


def _pairs(found: Terms, pairs: Iterable[Sequence[str]]) -> tuple[tuple[int, int], ...]:
    places = []
    for one, other in distinct_pairs(pairs):
        first, second = sorted((found.place(one), found.place(other)))
        places.append((first, second))
    return tuple(dict.fromkeys(places))


def _check_number(found: Terms, name: str) -> None:
    if not found.smooth[found.place(name)]:
        raise ParameterError(f"``projection=`` names {name!r}, which is not a number in this model")


def _cells(encoding: Any) -> tuple[tuple[Any, ...], ...]:
    cells: tuple[tuple[Any, ...], ...] = getattr(encoding, "cells", ())
    return cells


def _is_number(encoding: Coded) -> bool:
    return bool(_cells(encoding)) and not encoding.columns[0].is_text


def _public_labels(schema: Schema, encoding: Coded) -> dict[Any, str]:
    """Return the public labels of a column; none of several columns."""
    return dict(schema.public_labels(encoding.name)) if len(encoding.columns) == 1 else {}


def _labels(cells: Sequence[tuple[Any, ...]], known: Mapping[Any, str]) -> list[str]:
    """Return names of levels, or of bins by their edges."""
    if not cells or len(cells[0]) == 1:
        return [
            code if isinstance(code, str) else known.get(code, f"{code:g}") for (code,) in cells
        ]
    edges = [cells[0][0], *(cell[1] for cell in cells)]
    return [f"{low:.4g} to {high:.4g}" for low, high in itertools.pairwise(edges)]


def _check_declared(frame: Any, column: Any) -> None:
    """Refuse levels and missing values of new data that the schema does not allow."""
    values = frame[column.name]
    absent = values.is_null()
    if not column.is_text:
        absent = absent | values.cast(nw.Float64).is_nan().fill_null(value=False)
    if column.missing == () and bool(absent.any()):
        raise SchemaError(
            f"column {column.name!r} of the new data has missing values, which the schema declares "
            "never to be; fill them, or declare missing codes before the fit"
        )
    if column.is_text and not bool((values.is_in(list(column.levels)) | absent).all()):
        raise SchemaError(
            f"column {column.name!r} of the new data has levels that the schema does not declare; "
            "no effect was estimated for them: leave these rows out, or map them to a declared one"
        )
