"""Where within their bins the values of a binned column lie: one sum for each bin and group."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.encoding import prepared_for
from dprct.lazy import narwhals as nw
from dprct.privacy.aggregates import IntegerVector
from dprct.queries.sums import GRID
from dprct.schema.tables import collected

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dprct.encoding import Coded, Encoding
    from dprct.privacy.budget import Relation
    from dprct.schema.tables import Table

HALF = GRID // 2
"""Steps from the middle of a bin to its end."""

_GROUP, _CODE, _TERM = "__group", "__code", "__term"


def bin_offsets(
    frame: Table,
    outcomes: Sequence[Encoding],
    groups: Sequence[Coded] = (),
    relation: Relation = "replace-one",
) -> IntegerVector:
    """Sum (y - middle of its bin) / (width of its bin) in every bin of every group.

    Outcome j of p has B_j bins.  Rows are told apart by the codes of groups too, A combinations in
    all; without, A = 1.

    Notes
    -----
    Of one outcome, a record adds a term within [-1/2, 1/2] to one sum, or to none if its outcome is
    missing.  Replaced, it takes the one away and adds another: in the same bin and group the sum
    moves by at most 1, else two sums move by at most 1/2 each.  L1 1 either way, reached by y from
    one end of a bin to the other (or to the end of another bin), and p for p outcomes: whatever
    the groups and however wide the bins.  Terms are rounded to 2^20ths and clipped to their range,
    which is a multiple of these: they stay within it.
    """
    sums = [part for outcome in outcomes for part in _sums(frame, outcome, groups)]
    return IntegerVector(
        sums,
        l1=GRID * len(outcomes),
        l2_squared=GRID**2 * len(outcomes),
        l_inf=GRID,
        relation=relation,
        grid=Fraction(1, GRID),
    )


def group_count(groups: Sequence[Coded]) -> int:
    """Return A, how many groups there are."""
    return math.prod(group.size for group in groups)


def _sums(frame: Table, outcome: Encoding, groups: Sequence[Coded]) -> list[int]:
    bins, radices = len(outcome.cells), [group.size for group in groups]
    codes = [f"{_GROUP}{j}" for j in range(len(groups))]
    coded = prepared_for(frame, [outcome, *groups]).select(
        outcome.known().alias(_TERM),
        outcome.expression().alias(_CODE),
        *(group.expression().alias(name) for name, group in zip(codes, groups, strict=True)),
    )
    added = (
        coded.select(_CODE, *codes, _terms(outcome).alias(_TERM))
        .group_by(_CODE, *codes)
        .agg(nw.col(_TERM).sum())
    )
    rows = collected(added)
    found = [0] * (math.prod(radices) * bins)
    where: Any = np.zeros(len(rows), np.int64)
    for name, radix in zip(codes, radices, strict=True):
        where = where * radix + rows[name].to_numpy()
    for group, code, term in zip(where, rows[_CODE].to_list(), rows[_TERM].to_list(), strict=True):
        if code < bins:  # beyond them are missing values
            found[int(group) * bins + int(code)] += int(term)
    return found


def _terms(outcome: Encoding) -> nw.Expr:
    """Return the term of a row (int64): total; products round in one way on every engine."""
    middles = {k: (low + high) / 2 for k, (low, high) in enumerate(outcome.cells)}
    widths = {k: high - low for k, (low, high) in enumerate(outcome.cells)}
    steps = {k: GRID / width if width else 0.0 for k, width in widths.items()}
    away = (nw.col(_TERM) - _looked_up(middles)) * _looked_up(steps)
    return (away + 0.5).floor().clip(-HALF, HALF).cast(nw.Int64)


def _looked_up(numbers: dict[int, float]) -> nw.Expr:
    return nw.col(_CODE).replace_strict(
        list(numbers), [float(x) for x in numbers.values()], default=0.0, return_dtype=nw.Float64
    )
