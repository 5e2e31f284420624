"""Predictors of a synthetic control: what is asked for, in the words of Stata's ``synth``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from dprct.arguments import given, is_data
from dprct.errors import ParameterError, SchemaError
from dprct.estimate.synthetic_control.panel import number
from dprct.queries.donors import Predictor
from dprct.queries.sums import check_extent
from dprct.records import dataclass
from dprct.schema.columns import check_own, extent_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dprct.schema.columns import Column
    from dprct.schema.schema import Schema

    Array = NDArray[np.float64]

WEIGHTS = (1e-6, 1e3)
"""Smallest and largest weight of a predictor: a period of the outcome has 1."""

MOST_PERIODS = 10_000

_NUMBER = r"-?\d+(?:\.\d+)?"
_RANGE = re.compile(rf"({_NUMBER})(?:/|\(({_NUMBER})\))({_NUMBER})")
_PARTED = re.compile(r"(.+?)\(([-\d.()/&\s]+)\)")

_LIKE = '"age", or with periods "beer(1984(1)1988)" or "sales(1980&1985)"'


@dataclass(frozen=True)
class Asked:
    """One predictor as it was asked for: public."""

    name: str  # as it was given, such as ``"beer(1984(1)1988)"``
    column: str
    # Over which it is averaged; all periods before treatment if None.
    times: tuple[float, ...] | None
    weight: float

    def places(self, times: Array, T0: int) -> tuple[int, ...]:
        """Periods of a panel that are averaged."""
        if self.times is None:
            return tuple(range(T0))
        before = times[:T0].tolist()
        for time in self.times:
            if time not in before:
                raise ParameterError(
                    f"predictors: {self.name!r} has period {time:g}, which is not one before "
                    f"treatment; the panel has {T0:,} of these, from {before[0]:g} to "
                    f"{before[-1]:g}"
                )
        return tuple(before.index(time) for time in self.times)

    def reader(self, schema: Schema, places: tuple[int, ...]) -> Predictor:
        """Reader of it from a table."""
        return Predictor(schema.column(self.column), places, self.weight)

    def words(self, schema: Schema) -> str:
        """Return it with its bounds and weight, in words."""
        bounds = extent_of(schema.column(self.column))
        assert bounds is not None
        return f"{self.name} ({bounds[0]:g} to {bounds[1]:g}, weight {self.weight:g})"


def listed_predictors(predictors: Any) -> Any:
    """Return predictors as a tuple or a dictionary of their own; anything else as it is."""
    if is_data(predictors):
        return predictors
    if isinstance(predictors, Mapping):
        return dict(predictors)
    if isinstance(predictors, str):
        return (predictors,)
    return tuple(predictors) if isinstance(predictors, Iterable) else predictors


def columns_of(predictors: Any) -> tuple[str, ...]:
    """Return the columns that predictors name, whatever else is wrong with them."""
    named = predictors if isinstance(predictors, (Mapping, tuple, list)) else ()
    return tuple(_parted(name)[0] for name in named if isinstance(name, str))


def asked_of(predictors: Any) -> tuple[Asked, ...]:
    """Return predictors in their order, checked as far as no panel is needed.

    Examples
    --------
    >>> [one] = asked_of({"beer(1984(2)1988)": 2})
    >>> one.column, one.times, one.weight
    ('beer', (1984.0, 1986.0, 1988.0), 2.0)
    """
    if predictors is None:
        return ()
    if not isinstance(predictors, (Mapping, tuple, list)):
        raise ParameterError(
            f"``predictors={given(predictors)}``; give names such as {_LIKE}, or a ``mapping`` "
            "from these to weights"
        )
    pairs = (
        predictors.items() if isinstance(predictors, Mapping) else ((p, 1.0) for p in predictors)
    )
    found = [_one(name, weight) for name, weight in pairs]
    if len({(one.column, one.times) for one in found}) < len(found):
        raise ParameterError(
            "``predictors=`` names a predictor twice; name each once, with its weight"
        )
    return tuple(found)


def _one(name: Any, weight: Any) -> Asked:
    if not isinstance(name, str) or not name.strip():
        raise ParameterError(f"predictors: {given(name)} is not a name; give names such as {_LIKE}")
    size = number(weight)
    if not WEIGHTS[0] <= size <= WEIGHTS[1]:
        raise ParameterError(
            f"predictors: {name!r} has weight {given(weight)}; give a number from {WEIGHTS[0]:g} "
            f"to {WEIGHTS[1]:g}, where 1 counts as much as one period of the outcome"
        )
    column, periods = _parted(name)
    return Asked(name, column, None if periods is None else _times(name, periods), size)


def _parted(name: str) -> tuple[str, str | None]:
    """Return the column and the periods, as text, of a name."""
    match = _PARTED.fullmatch(name.strip())
    return (match[1].strip(), match[2]) if match else (name.strip(), None)


def _times(name: str, text: str) -> tuple[float, ...]:
    """Return the periods of ``1984(1)1988``, ``1984/1988``, ``1980&1985`` or several of these."""
    found: list[float] = []
    for piece in re.split(r"[&\s]+", text.strip()):
        span = _RANGE.fullmatch(piece)
        if span is None and re.fullmatch(_NUMBER, piece) is None:
            raise _bad_periods(name)
        if span is None:
            found.append(float(piece))
            continue
        first, step, last = float(span[1]), float(span[2] or 1), float(span[3])
        if step <= 0 or not 0 <= last - first <= MOST_PERIODS * step:
            raise _bad_periods(name)
        found += [first + step * k for k in range(int((last - first) / step + 1e-9) + 1)]
    return tuple(dict.fromkeys(found))


def _bad_periods(name: str) -> ParameterError:
    return ParameterError(f"predictors: {name!r} has no periods; write {_LIKE}")


def check_predictor(schema: Schema, name: str, keys: tuple[str | None, str | None]) -> None:
    """Refuse a predictor that has no public bounds, or of which too little is declared."""
    column = schema.column(name)
    _check_numbers(column, keys)
    bounds = extent_of(column)
    if bounds is None:
        raise SchemaError(
            f"predictor {column.name!r} has no bounds; declare ``bounds=(low, high)`` from public "
            "knowledge, never from the data"
        )
    check_extent(column.name, *bounds)
    if column.missing is None:
        raise SchemaError(
            f"predictor {column.name!r} has no declared missing policy; declare "
            "``missing='never'``, or its missing codes: a mean is taken over the periods that "
            "have a number"
        )
    check_own(column)


def _check_numbers(column: Column, keys: tuple[str | None, str | None]) -> None:
    if column.is_text or column.name in keys:
        raise SchemaError(
            f"predictor {column.name!r} is text, the unit or the time; name a column of numbers"
        )


def check_before(asked: Asked, treatment_time: object) -> None:
    """Refuse a period that is not before treatment."""
    start = number(treatment_time)
    late = [time for time in asked.times or () if time >= start]
    if late:
        raise ParameterError(
            f"predictors: {asked.name!r} has period {late[0]:g}, and treatment starts at "
            f"{start:g}; use periods before treatment"
        )
