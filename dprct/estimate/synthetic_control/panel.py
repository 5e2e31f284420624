"""A panel: where the series of donors and of the treated unit are in a table, and its bounds."""

from __future__ import annotations

import inspect
import math
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dprct.arguments import given, is_data, numbers_given, one_name
from dprct.errors import ColumnError, ParameterError, SchemaError
from dprct.lazy import pandas as pd
from dprct.model import Facts
from dprct.queries.donors import Scale
from dprct.records import dataclass
from dprct.schema import Column, Schema
from dprct.schema.columns import shown
from dprct.schema.tables import broken_rules, eager, numbers_of, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from dprct.queries.donors import Predictor, Steps
    from dprct.schema.tables import Frame

    Array = NDArray[np.float64]
    Places = NDArray[np.intp]

XTSET = {"unit": ("iis", "_TSpanel"), "time": ("tis", "_TStvar")}
"""Characteristics in which Stata's ``xtset`` keeps its columns."""

OUTCOME = "outcome"
"""The column of a panel that was given as arrays."""

RECORD = "one donor's whole series; a donor may be a state, not a person"

Name = str | float
Bound = float | tuple[float, float]


@dataclass(frozen=True, eq=False, repr=False)
class Panel:
    """Where the series of the donors and of the treated unit are, in the order of time: public."""

    outcome: Column
    # (n, T): rows of the table with the donors' cells; public, because donors and periods are.
    rows: Places
    target_rows: Places  # (T,): rows with the treated unit's cells
    names: tuple[str, ...]  # of the donors
    treated: str
    times: Array  # (T,)
    T0: int  # pre-periods

    def donors(self, frame: Frame) -> Array:
        """Return the donors' series (n, T) unclipped, for methods without a guarantee."""
        return np.asarray(numbers_of(frame, self.outcome.name)[0][self.rows])

    def target(self, frame: Frame) -> Array:
        """Return the treated unit's series (T,), as it is, where it is public."""
        return np.asarray(numbers_of(frame[self.target_rows], self.outcome.name)[0])


@dataclass(frozen=True, eq=False)
class PanelFacts(Facts):
    """What is public of a panel.

    Parameters
    ----------
    schema, n
        As of :class:`~dprct.model.Facts`.
    """

    panel: Panel  # who the donors are, and the periods
    target: Array | None  # (T,): the treated unit's series where it is public
    # What the weights match besides the outcome before treatment.
    predictors: tuple[Predictor, ...] = ()
    # (P,): the treated unit's coordinates of these, where they are public.
    target_extra: Steps | None = None


def panel_of(
    data: Any,
    schema: Schema,
    *,
    outcome: str,
    treated: Name,
    treatment_time: float,
    unit: str | None = None,
    time: str | None = None,
    donors: Iterable[Name] | None = None,
) -> Panel:
    """Arrange a long table, one row per unit and period in any order, as a panel.

    The treated unit is given by its name, its code, or the label of its code; unit and time are by
    default what ``xtset`` noted in the .dta file; donors are by default all others.
    """
    outcome = one_name(outcome, "outcome")
    frame = eager(data)
    unit, time = noted_name(schema, "unit", unit), noted_name(schema, "time", time)
    check_keys(schema, outcome, (unit, time))
    names, which = _units(frame, schema, unit)
    times, when = _times(frame, time)
    rows = _rows(frame, schema, outcome, (unit, time), (which, when), (len(names), len(times)))
    labels = _labelled(schema, unit, names)
    index, pool = _roles(treated, donors, names, labels, unit)
    start = number(treatment_time)
    if not math.isfinite(start):
        raise ParameterError(
            f"``treatment_time={given(treatment_time)}``; give a number of {time!r}"
        )
    T0 = int(np.searchsorted(times, start))
    panel = Panel(
        schema.column(outcome), rows[pool], rows[index],
        tuple(labels[i] for i in pool), labels[index], times, T0,
    )  # fmt: skip
    check_shape(panel)
    return panel


def check_keys(schema: Schema, outcome: str, keys: tuple[str, str]) -> None:
    """Refuse columns of outcome, unit and time that no rows could make a panel of."""
    if schema.column(outcome).is_text or outcome in keys:
        raise SchemaError(f"outcome {outcome!r} is text, the unit or the time; name another column")
    if schema.column(keys[1]).is_text:
        raise SchemaError(f"time {keys[1]!r} is text; give a column of numbers, such as years")


def check_named(schema: Schema, unit: str, treated: Name, donors: Iterable[Name] | None) -> None:
    """Refuse units that are none of the declared ones, where the units are declared as levels."""
    levels = schema.column(unit).levels
    if levels is not None and isinstance(donors, (tuple, list, type(None))):
        names = list(levels)
        _roles(treated, donors, names, _labelled(schema, unit, names), unit)


def likely_panels(facts: Facts, outcome: str, donors: Iterable[Name] | None) -> Iterator[Panel]:
    """Yield panels of so many rows, fewest donors first; names, periods and cells are made up."""
    pool = len(donors) if isinstance(donors, (tuple, list)) else None
    column = facts.schema.column(outcome)
    for units in range(3, facts.n // 3 + 1):
        T, rest = divmod(facts.n, units)
        n = units - 1 if pool is None else pool
        if rest or not 2 <= n < units:
            continue
        times = np.arange(float(T))
        cells = np.zeros((n, T), np.intp)
        names = tuple(f"donor {i}" for i in range(1, n + 1))
        yield Panel(column, cells, cells[0], names, "the treated unit", times, T - 1)


def panel_of_arrays(
    X: ArrayLike,
    y: ArrayLike,
    T0: int,
    *,
    names: Sequence[str] | None = None,
    treated: str = "treated",
    times: ArrayLike | None = None,
) -> tuple[pd.DataFrame, Panel]:
    """Return arrays as a table and its panel: X (n, T) of donors, y (T,) of the treated unit."""
    donors, target = numbers_given(X, "X"), numbers_given(y, "y")
    if donors.ndim != 2 or target.shape != donors.shape[1:]:
        raise ParameterError(
            f"X has shape {donors.shape} and y {target.shape}; give X (donors, periods) and "
            "y (periods,)"
        )
    if not (np.isfinite(donors).all() and np.isfinite(target).all()):
        raise ParameterError("X or y has a value that is not a number; give complete series")
    labels, when = _named(donors.shape, names, treated, times)
    asked: object = T0
    if isinstance(asked, bool) or not isinstance(asked, Integral):
        raise ParameterError(f"``T0={given(T0)}``; give the number of pre-periods, a whole number")
    table = pd.DataFrame({OUTCOME: np.append(donors.ravel(), target)})
    cells = np.arange(donors.size + len(when)).reshape(-1, len(when))
    column = Column(OUTCOME, missing=())
    panel = Panel(column, cells[:-1], cells[-1], labels, treated, when, int(asked))
    check_shape(panel)
    return table, panel


def number(value: object) -> float:
    """Return a number of any library as a float, and NaN for anything else.

    Examples
    --------
    >>> number(np.int64(1998)), number("1998")
    (1998.0, nan)
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        return math.nan
    return float(value)


def _named(
    shape: tuple[int, ...], names: Sequence[str] | None, treated: str, times: ArrayLike | None
) -> tuple[tuple[str, ...], Array]:
    """Return the donors' names and the times of arrays, checked."""
    n, T = shape
    labels = tuple(f"donor {i}" for i in range(1, n + 1))
    if names is not None:
        labels = tuple(str(name) for name in names)
    when = np.arange(1.0, T + 1) if times is None else numbers_given(times, "times")
    if len(labels) != n or when.shape != (T,) or (np.diff(when) <= 0).any():
        raise ParameterError(
            f"names and times do not fit X of shape {shape}; give one name per donor, and "
            "one time per period in increasing order"
        )
    if len({*labels, treated}) < n + 1:
        raise ParameterError("names has the treated unit, or a name twice; give each unit its own")
    return labels, when


def check_shape(panel: Panel) -> None:
    """Refuse a panel without two donors, two pre-periods and a post-period."""
    n, T = panel.rows.shape
    if n < 2:
        raise ParameterError(f"the number of donors is {n}; a synthetic control needs at least 2")
    if panel.T0 < 2:
        raise ParameterError(f"``T0={panel.T0}`` periods before treatment; give at least 2")
    if panel.T0 >= T:
        raise ParameterError(
            f"there is no period after treatment (``T0={panel.T0}`` of {T}); treatment_time is the "
            "first period with treatment, and at most the last one"
        )


def noted_name(schema: Schema, what: str, name: str | None) -> str:
    """Return the column of units or times: the one given, or the one that ``xtset`` noted."""
    if name is not None:
        return schema.column(one_name(name, what)).name
    noted = {key: text for owner, key, text in schema.file.characteristics if owner == "_dta"}
    for key in XTSET[what]:
        if key in noted:
            if noted[key] in schema.names:
                return noted[key]
            raise ColumnError(
                f"{what} is not given, and the file's xtset names {noted[key]!r}, which is not a "
                f"column; give ``{what}=``, one of {', '.join(schema.names[:8])}"
            )
    raise ParameterError(f"{what} is not given, and the file notes no xtset; give ``{what}=``")


def _units(frame: Frame, schema: Schema, unit: str) -> tuple[list[Any], NDArray[np.intp]]:
    """Return the distinct units in order, and which one each row is of."""
    if schema.column(unit).is_text:
        texts = text_of(frame, unit)
        if any(text in ("", b"") for text in texts):
            raise SchemaError(f"unit {unit!r} is missing in some row; give every row its unit")
        order = {text: i for i, text in enumerate(sorted(set(texts), key=str))}
        return list(order), np.array([order[text] for text in texts], np.intp)
    numbers, codes = numbers_of(frame, unit)
    if (codes >= 0).any():
        raise SchemaError(f"unit {unit!r} is missing in some row; give every row its unit")
    values, which = np.unique(numbers, return_inverse=True)
    return values.tolist(), which.reshape(-1)


def _times(frame: Frame, time: str) -> tuple[Array, NDArray[np.intp]]:
    numbers, codes = numbers_of(frame, time)
    if (codes >= 0).any() or not np.isfinite(numbers).all():
        raise SchemaError(f"time {time!r} is missing in some row; give every row its time")
    values, when = np.unique(numbers, return_inverse=True)
    return values, when.reshape(-1)


def _rows(
    frame: Frame,
    schema: Schema,
    outcome: str,
    keys: tuple[str, str],
    places: tuple[NDArray[np.intp], NDArray[np.intp]],
    shape: tuple[int, int],
) -> Places:
    """Row of the outcome by unit and time, each cell exactly once."""
    column = schema.column(outcome)
    _, codes = numbers_of(frame, outcome)
    unit, time = keys
    counts = np.zeros(shape, np.int64)
    np.add.at(counts, places, 1)
    if (counts > 1).any():
        raise SchemaError(f"a {unit!r} has a {time!r} twice; give one row per unit and period")
    if (counts == 0).any():
        raise SchemaError(
            f"the panel is unbalanced: a {unit!r} lacks a {time!r} that others have; drop the unit "
            "or the period"
        )
    if (codes >= 0).any():
        raise SchemaError(
            f"outcome {outcome!r} is missing for some unit and period; synthetic control takes "
            "complete panels: drop the unit or the period"
        )
    broken = broken_rules(column, frame)
    if broken:
        raise SchemaError(
            f"the data do not fit the schema: {outcome}: {'; '.join(broken)}; correct the data, "
            "or declare all that is possible (never what the data hold)"
        )
    rows = np.empty(shape, np.intp)
    rows[places] = np.arange(len(codes))
    return rows


def _labelled(schema: Schema, unit: str, names: Sequence[Any]) -> list[str]:
    """Return units as words: the label of a code where there is one."""
    labels = {float(k): v for k, v in schema.labels_of(unit).items() if not isinstance(k, str)}
    found = []
    for name in names:
        if isinstance(name, bytes):
            found.append(name.decode("utf-8", "replace"))
        else:
            found.append(shown(name) if isinstance(name, str) else labels.get(name, f"{name:g}"))
    return found if len(set(found)) == len(found) else [str(name) for name in names]


def _roles(
    treated: Name,
    donors: Iterable[Name] | None,
    names: Sequence[Any],
    labels: Sequence[str],
    unit: str,
) -> tuple[int, list[int]]:
    """Return the place of the treated unit, and the places of the donors."""
    index = _find(treated, names, labels, "treated", unit)
    if donors is None:
        return index, [i for i in range(len(names)) if i != index]
    if isinstance(donors, str):
        raise ParameterError(f"``donors={given(donors)}`` is one name; give a list of names")
    if is_data(donors) and not set(np.asarray(donors).tolist()) <= {*names, *labels}:
        raise ParameterError(f"``donors=`` names a {unit!r} that is not in the data; list units")
    pool = [_find(name, names, labels, "donors", unit) for name in donors]
    if index in pool or len(set(pool)) < len(pool):
        raise ParameterError(
            f"``donors=`` names the treated unit, or a unit twice; name every other {unit!r} once"
        )
    return index, pool


def _find(
    wanted: Name, names: Sequence[Any], labels: Sequence[str], argument: str, unit: str
) -> int:
    for known in (names, labels):
        for i, name in enumerate(known):
            if isinstance(wanted, (str, Real)) and name == wanted:
                return i
    raise ParameterError(
        f"``{argument}={given(wanted)}`` is not a {unit!r} of the data; give its name, "
        "code or label"
    )


def scale_of(bound: Bound | None, column: Column | None = None) -> Scale:
    """Return public bounds: those given, or those of the schema."""
    if bound is None:
        declared = None if column is None else column.bounds
        if declared is None:
            name = "the outcome" if column is None else f"outcome {column.name!r}"
            raise SchemaError(
                f"{name} has no bounds; declare ``bounds=(low, high)`` from public knowledge, "
                "never from the data, or give ``bound=``"
            )
        return Scale(float(declared[0]), float(declared[1]))
    return Scale(*ends_of(bound, "bound"))


def ends_of(bound: Bound, name: str) -> tuple[float, float]:
    """Return the ends of bounds that an option gives: of one number B, -B and B."""
    pair = isinstance(bound, (tuple, list))
    ends = tuple(map(number, bound)) if isinstance(bound, (tuple, list)) else (number(bound),)
    if len(ends) != 1 + pair or any(math.isnan(end) for end in ends):
        raise ParameterError(
            f"``{name}={given(bound)}``; give a positive number B, or ``(low, high)``, "
            "from public knowledge"
        )
    return (ends[0], ends[1]) if pair else (-ends[0], ends[0])


_OF_TABLES = {
    "outcome",
    "treated",
    "treatment_time",
    "unit",
    "time",
    "donors",
    "bound",
    "predictors",
}
"""Arguments that say where a panel stands in a table, or that ``from_arrays`` has itself."""


class OfArrays:
    """A model of a panel that may be given as arrays."""

    _set_up: Callable[..., None]

    @staticmethod
    def _panel(spec: Any, rows: Any, schema: Schema, panel: Panel | None) -> Panel:
        """Panel that a specification finds in a table, if it was not given as arrays."""
        if panel is not None:
            return panel
        return panel_of(
            rows, schema, outcome=spec.outcome, treated=spec.treated,
            treatment_time=spec.treatment_time, unit=spec.unit, time=spec.time,
            donors=spec.donors,
        )  # fmt: skip

    @classmethod
    def from_arrays(
        cls,
        X: ArrayLike,
        y: ArrayLike,
        T0: int,
        bound: Bound,
        *,
        names: Sequence[str] | None = None,
        treated: str = "treated",
        times: ArrayLike | None = None,
        **options: Any,
    ) -> Self:
        """Return the model of arrays; other arguments as for the class.

        Parameters
        ----------
        X : (n, T) array
            One row per donor.
        y : (T,) array
            The treated unit.
        T0 : int
            Pre-periods, the first columns.
        bound : number or (low, high)
            Public bounds of the outcome; numbers outside count as the nearest bound.
        names : sequence of str, optional
        treated : str
        times : (T,) array, optional

        Raises
        ------
        ParameterError
            If shapes disagree, a number is missing, or an option is not allowed.
        """
        _check_options(cls, options)
        data, panel = panel_of_arrays(X, y, T0, names=names, treated=treated, times=times)
        model = cls.__new__(cls)
        model._set_up(
            data, Schema((panel.outcome,)), panel, outcome=OUTCOME, treated=treated,
            treatment_time=float(panel.times[panel.T0]), bound=bound, **options,
        )  # fmt: skip
        return model


def _check_options(model: type[OfArrays], options: Iterable[str]) -> None:
    """Refuse what is no argument of the class; Python would name a function within."""
    arguments = inspect.signature(model.__init__).parameters.values()
    known = [a.name for a in arguments if a.kind is a.KEYWORD_ONLY and a.name not in _OF_TABLES]
    for name in options:
        if name not in known:
            raise ParameterError.unknown(name, known, f"{model.__name__}.from_arrays")
