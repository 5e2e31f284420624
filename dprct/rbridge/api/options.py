"""Options that R sends by name, in the types that the Python function declares."""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.annotations import LISTS, kinds_of
from dprct.errors import ParameterError, instead_of
from dprct.model import ELSEWHERE, Model

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dprct.annotations import Kinds

_MANY = LISTS | {"Mapping"}
_FRACTIONS = frozenset({"float", "Real", "Fraction", "Any"})


def options_for(function: Callable[..., Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as ``function`` takes them: R knows no scalars and seldom whole numbers.

    Examples
    --------
    >>> def fit(columns: "Sequence[str] | None" = None, draws: "int" = 9): ...
    >>> options_for(fit, {"columns": "age", "draws": 5.0})
    {'columns': ['age'], 'draws': 5}
    """
    names = vars(sys.modules[function.__module__])
    known = {
        name: parameter
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD
    }
    for name in options:
        if name not in known:
            of_model = isinstance(function, type) and issubclass(function, Model)
            hint = (ELSEWHERE if of_model else {}).get(name) or instead_of(name, known, "{}")
            raise ParameterError(f"there is no option {name!r}; {hint}")
    return {
        name: as_declared(value, kinds_of(known[name].annotation, names))
        for name, value in options.items()
        if value is not None
    }


def as_declared(value: Any, kinds: Kinds) -> Any:
    """Return a value from R as one of the declared kinds.

    Examples
    --------
    >>> [as_declared(3.0, kinds_of(text)) for text in ("int | None", "float | None")]
    [3, 3.0]
    """
    value = listed(value)
    within = frozenset().union(*(kind.names() for kind in kinds))
    if "int" in within and not within & _FRACTIONS:
        value = whole_numbers(value)
    names = {kind.name for kind in kinds} - {"None"}
    if names and names <= _MANY and not isinstance(value, (list, dict, tuple)):
        return [value]
    return value


def listed(value: Any) -> Any:
    """Return vectors of R as lists, those within lists too.

    Examples
    --------
    >>> listed({"pairs": [np.array(["a", "b"])], "bins": 5.0})
    {'pairs': [['a', 'b']], 'bins': 5.0}
    """
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, list):
        return [listed(item) for item in value]
    return {k: listed(v) for k, v in value.items()} if isinstance(value, dict) else value


def whole_numbers(value: Any) -> Any:
    """Return whole doubles as ints, in lists too; anything else as it is."""
    if isinstance(value, list):
        return [whole_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
