"""Loads the registry by its path, because tests are no package, and looks for leaks."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import pandas as pd
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dprct.schema.table import Frame

NAME = "dprct_contract_registry"


def registry() -> ModuleType:
    """Return the registry, loaded once."""
    if NAME not in sys.modules:
        place = Path(__file__).with_name("registry.py")
        spec = importlib.util.spec_from_file_location(NAME, place)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[NAME] = module
        spec.loader.exec_module(module)
    return sys.modules[NAME]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a check that asks for ``strict`` or ``subject`` on every class of the registry."""
    every = registry().SUBJECTS.values()
    for name in ("strict", "subject"):
        if name in metafunc.fixturenames:
            chosen = [s for s in every if name == "subject" or not s.published]
            metafunc.parametrize(name, chosen, ids=[s.name for s in chosen])


@pytest.fixture
def markers() -> tuple[Any, ...]:
    """The planted number and text."""
    return registry().NUMBER, registry().TEXT


@pytest.fixture
def patterns() -> tuple[bytes, ...]:
    """The planted values, as bytes of every kind in which they could leave."""
    number, text = registry().NUMBER, registry().TEXT
    return (
        text.encode(),
        text.encode("utf-16-le"),
        repr(number).encode(),
        f"{number:,}".encode(),
        np.array(number, "<f8").tobytes(),
        np.array(number, ">f8").tobytes(),
        float.hex(number).encode(),
    )


@pytest.fixture
def leaks(patterns: tuple[bytes, ...]) -> Callable[[object], list[str]]:
    """Return where in a text, in bytes, or in anything reachable from an object a marker is."""

    def found(root: object) -> list[str]:
        return [
            f"{path}: {pattern!r}"
            for path, content in contents(root)
            for pattern in patterns
            if pattern in content
        ]

    return found


@pytest.fixture
def reachable() -> Callable[[object], Iterator[tuple[str, object]]]:
    """Return everything that can be reached from an object."""
    return walk


@pytest.fixture
def planted() -> Callable[[Any, dict[str, Any]], int]:
    """Replace columns in every frame that a model holds, behind its door; return how many."""

    def plant(model: Any, columns: dict[str, Any]) -> int:
        replaced = 0
        for _, owner in list(walk(model)):
            for name, frame in list(getattr(owner, "__dict__", {}).items()):
                if isinstance(frame, nw.DataFrame):
                    object.__setattr__(owner, name, _with_columns(frame, columns))
                    replaced += 1
        return replaced

    return plant


def _with_columns(frame: Frame, columns: dict[str, Any]) -> Frame:
    native = frame.to_pandas()
    known = {name: values for name, values in columns.items() if name in native}
    return nw.from_native(native.assign(**known), eager_only=True)


def walk(root: object) -> Iterator[tuple[str, object]]:
    """Yield everything reachable from an object, with a path to it; modules and types are not."""
    seen: dict[int, object] = {}
    waiting: list[tuple[str, object]] = [("", root)]
    while waiting:
        path, item = waiting.pop()
        if id(item) in seen or isinstance(item, (ModuleType, type, BuiltinFunctionType)):
            continue
        seen[id(item)] = item  # kept, so that no id is used twice
        yield path, item
        waiting += [(f"{path}{step}", inner) for step, inner in parts(item)]


def parts(item: object) -> Iterator[tuple[str, object]]:
    """Yield what an object holds."""
    if isinstance(item, dict):
        yield from ((f"[key {i}]", key) for i, key in enumerate(item))
        yield from ((f"[{key!s:.30}]", value) for key, value in item.items())
    elif isinstance(item, (list, tuple, set, frozenset)):
        yield from ((f"[{i}]", value) for i, value in enumerate(item))
    elif isinstance(item, pd.DataFrame):
        yield from ((f"[{name}]", item[name].array) for name in item.columns)
        yield from ((".index", np.asarray(item.index)), (".columns", np.asarray(item.columns)))
        yield ".attrs", item.attrs
    elif isinstance(item, (pd.Series, pd.Index, pd.api.extensions.ExtensionArray)):
        yield ".values", np.asarray(item)
    elif isinstance(item, nw.DataFrame):
        yield ".native", item.to_native()
    elif isinstance(item, np.ndarray):
        yield ".base", item.base
        if item.dtype == object:
            yield ".items", item.tolist()
    elif isinstance(item, FunctionType):
        cells = item.__closure__ or ()
        yield from ((f".closure[{i}]", cell.cell_contents) for i, cell in enumerate(cells))
        yield ".defaults", (item.__defaults__, item.__kwdefaults__)
    else:
        yield from attributes(item)


def attributes(item: object) -> Iterator[tuple[str, object]]:
    """Yield attributes, in dictionaries and in slots, and what a bound method is bound to."""
    yield from ((f".{name}", value) for name, value in getattr(item, "__dict__", {}).items())
    for kind in type(item).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(item, name):
                yield f".{name}", getattr(item, name)
    for name in ("__self__", "__func__", "func", "args", "keywords"):
        if hasattr(item, name):
            yield f".{name}", getattr(item, name)


def contents(root: object) -> Iterable[tuple[str, bytes]]:
    """Yield the bytes of every text, number and array reachable from an object."""
    for path, item in walk(root):
        if isinstance(item, str):
            yield path, item.encode("utf-8", "surrogatepass")
        elif isinstance(item, (bytes, bytearray)):
            yield path, bytes(item)
        elif isinstance(item, (float, np.floating)):
            yield path, np.array(float(item), "<f8").tobytes()
        elif isinstance(item, np.ndarray) and item.dtype != object:
            yield path, np.ascontiguousarray(item).tobytes()
