"""Everything that a reader of a result can see, found by looking, not from a list.

``seen(thing)`` maps paths to comparable values: every public attribute, every method that needs no
argument, and the same again of whatever of the package these give.  What is compared is exact:
bytes of arrays (payloads of missing values included), types, order, names, warnings.
"""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dprct.errors import DprctError

if TYPE_CHECKING:
    from collections.abc import Iterator

NOT_CALLED = "plot"
"""How the names of plots begin: they draw what ``tidy`` and the attributes say, and stay open."""

ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}")
"""Where an object is in memory: of two fits of one table too, it is another place."""

FACTS_ONLY = ("dprct.schema", "dprct.privacy", "dprct.formula", "dprct.encoding", "dprct.queries")
"""Values of these rooms are compared by their fields; their methods only convert them."""


def seen(thing: Any, name: str = "") -> dict[str, Any]:
    """Return everything visible of ``thing`` by its path."""
    found: dict[str, Any] = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for path, value in _walk(thing, name, ()):
            found[path] = value
    found[f"{name} warnings"] = [str(warning.message) for warning in caught]
    return found


def _walk(thing: Any, path: str, above: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
    if isinstance(thing, np.ndarray):
        yield path, _array(thing)
    elif isinstance(thing, (pd.Series, pd.Index)):
        yield path, (type(thing).__name__, thing.name, _array(thing.to_numpy()), str(thing.dtype))
        if isinstance(thing, pd.Series):
            yield from _walk(thing.index, f"{path}.index", above)
    elif isinstance(thing, pd.DataFrame):
        yield f"{path}.columns", [*map(repr, thing.columns)]
        yield f"{path}.attrs", repr(thing.attrs)
        yield from _walk(thing.index, f"{path}.index", above)
        for place, column in enumerate(thing.columns):
            yield from _walk(thing.iloc[:, place], f"{path}[{column!r}]", above)
    elif isinstance(thing, Mapping):
        yield f"{path}.keys", [*map(repr, thing)]
        for key, value in thing.items():
            yield from _walk(value, f"{path}[{key!r}]", above)
    elif isinstance(thing, (list, tuple)):
        yield f"{path}.length", (type(thing).__name__, len(thing))
        for place, value in enumerate(thing):
            yield from _walk(value, f"{path}[{place}]", above)
    elif isinstance(thing, (set, frozenset)):
        yield path, sorted(map(repr, thing))
    elif type(thing).__module__.startswith("dprct.") and not any(one is thing for one in above):
        words = [ADDRESS.sub("0x", text) for text in (str(thing), repr(thing))]
        yield f"{path} is", (type(thing).__qualname__, *words)
        yield from _attributes(thing, path, (*above, thing))
    elif isinstance(thing, float):
        yield path, np.float64(thing).tobytes()
    elif not callable(thing) and not isinstance(thing, ModuleType):
        yield path, ADDRESS.sub("0x", repr(thing))


def _attributes(thing: Any, path: str, above: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
    # what gives one more of its own kind (two samples pooled) would give one more without end
    again = sum(type(one) is type(thing) for one in above) > 1
    if type(thing).__module__.startswith(FACTS_ONLY):
        names = [part.name for part in fields(thing)] if is_dataclass(thing) else []
    else:
        names = [name for name in dir(thing) if not name.startswith("_")]
    for name in names:
        where = f"{path}.{name}"
        try:
            value = getattr(thing, name)
            if callable(value):
                if again or name.startswith(NOT_CALLED) or not _needs_nothing(value):
                    continue
                value, where = value(), f"{where}()"
        except (DprctError, AttributeError) as error:
            yield where, (type(error).__name__, str(error))
        else:
            yield from _walk(value, where, above)


def _needs_nothing(method: Any) -> bool:
    if isinstance(method, type):
        return False
    try:
        parameters = inspect.signature(method).parameters.values()
    except (TypeError, ValueError):
        return False
    return all(p.default is not p.empty or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
               for p in parameters)  # fmt: skip


def _array(values: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    content = repr(values.tolist()) if values.dtype == object else values.tobytes()
    return str(values.dtype), values.shape, content


def different(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Return the paths that only one has, or at which they differ."""
    paths = [path for path in one if path not in other or one[path] != other[path]]
    return paths + [path for path in other if path not in one]
