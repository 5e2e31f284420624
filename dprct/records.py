"""``dataclass``, as of :mod:`dataclasses`, whose methods are written when one of them is needed.

Python writes and compiles half a dozen methods for each dataclass while a module is imported. A
command imports some four hundred of them and needs a sixth; the others took longer than NumPy.

A frozen dataclass is postponed: its attributes that :func:`dataclasses.dataclass` would make are
descriptors until one of them is looked up, by a call of the class, :func:`dataclasses.fields`,
:func:`inspect.signature`, a subclass or whatever else. Then the decorator itself is applied to the
*pattern*, a class with the same annotations and defaults, and what it made replaces the
descriptors, one after the other and under a lock. Slots are there from the beginning. A mistake in
the fields (one without a default after one with one) is therefore found at first use.
"""

from __future__ import annotations

import threading
from dataclasses import Field, fields, is_dataclass
from dataclasses import dataclass as at_once
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from dataclasses import dataclass as dataclass

_LOCK = threading.RLock()
_POSTPONED = {"frozen", "slots", "kw_only", "init", "repr", "eq"}
_NOT_SLOTS = ("ClassVar", "KW_ONLY", "InitVar")


@at_once(frozen=True, slots=True)
class _Example:
    x: int


_STATE = {name: vars(_Example)[name] for name in ("__getstate__", "__setstate__")}
_OF_OPTION = {"init": ("__init__",), "repr": ("__repr__",), "eq": ("__eq__", "__hash__")}
_ALWAYS = (
    "__dataclass_fields__",
    "__dataclass_params__",
    "__setattr__",
    "__delattr__",
    "__match_args__",
    "__doc__",
    *(name for name in ("__replace__",) if hasattr(_Example, name)),  # since Python 3.13
)


class _Postponed:
    """The real decorator with its options, for a class that has descriptors in its place."""

    names: dict[str, _Part]
    pattern: Callable[[], type[Any]]
    cls: type[Any]

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options

    def parts(self, own: dict[str, Any]) -> dict[str, _Part]:
        """Descriptors for what will be made, and for defaults that are not values yet."""
        made = [*_ALWAYS]
        for option, names in _OF_OPTION.items():
            made += names if self.options.get(option, True) else ()
        absent = [name for name in made if own.get(name) is None]
        return {name: _Part(self, name) for name in (*absent, *_factories(own))}

    def begin(self, cls: type) -> type:
        """The class as it is until it is finished; a new one if it gets slots."""
        body = _body(cls)
        if self.options.get("slots"):
            slots, inherited = _slots(cls)
            own = {name: one for name, one in body.items() if name not in {*slots, *inherited}}
            own["__slots__"] = tuple(name for name in slots if name not in inherited)
            self.names, self.pattern = self.parts(own), lambda: cls
            self.cls = _again(cls, {**_STATE, **own, **self.names})
        else:
            self.names, self.pattern, self.cls = self.parts(body), lambda: _again(cls, body), cls
            for name, part in self.names.items():
                setattr(cls, name, part)
        return self.cls

    def finish(self) -> None:
        """Replace every descriptor by what the real decorator makes of the pattern."""
        with _LOCK:
            if not self.names:
                return
            pattern = at_once(**{**self.options, "slots": False})(self.pattern())
            made = vars(pattern)
            if hasattr(made["__dataclass_params__"], "slots"):  # since Python 3.12
                made["__dataclass_params__"].slots = self.options.get("slots", False)
            for name in self.names:
                if name in made:
                    setattr(self.cls, name, _moved(made[name], pattern, self.cls))
                else:  # a default that a function makes
                    delattr(self.cls, name)
            self.names = {}


class _Part:
    """An attribute of a class that is not made yet."""

    __slots__ = ("name", "whole")

    def __init__(self, whole: _Postponed, name: str) -> None:
        self.whole, self.name = whole, name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        self.whole.finish()
        cls = self.whole.cls
        if self.name not in vars(cls):
            return getattr(super(cls, owner if instance is None else instance), self.name)
        found = vars(cls)[self.name]
        return found.__get__(instance, owner) if hasattr(found, "__get__") else found


def _body(cls: type) -> dict[str, Any]:
    return {k: v for k, v in vars(cls).items() if k not in ("__dict__", "__weakref__")}


def _again(cls: type, body: dict[str, Any]) -> type:
    again: type = type(cls)(cls.__name__, cls.__bases__, body | {"__qualname__": cls.__qualname__})
    return again


def _factories(own: dict[str, Any]) -> Iterator[str]:
    return (name for name, value in own.items() if isinstance(value, Field))


def _slots(cls: type) -> tuple[list[str], set[str]]:
    """Names of the fields that need slots, and of the slots of its bases."""
    inherited = {name for base in cls.__mro__[1:] for name in vars(base).get("__slots__", ())}
    loose = (base for base in cls.__mro__[-2:0:-1] if "__slots__" not in vars(base))
    names = [f.name for base in loose if is_dataclass(base) for f in fields(base)]
    stated = vars(cls).get("__annotations__", {})
    names += [name for name, text in stated.items() if not text.startswith(_NOT_SLOTS)]
    return [*dict.fromkeys(names)], inherited


def _moved(made: Any, pattern: type, cls: type) -> Any:
    """A generated method that speaks of the class itself, where it spoke of its pattern."""
    for cell in getattr(made, "__closure__", None) or ():
        if cell.cell_contents is pattern:
            cell.cell_contents = cls
    return made


if not TYPE_CHECKING:

    def dataclass(cls=None, /, **options):
        """The decorator of :mod:`dataclasses`; a frozen class gets its methods at first use."""
        if cls is None:
            return partial(dataclass, **options)
        texts = all(isinstance(one, str) for one in vars(cls).get("__annotations__", {}).values())
        if not (options.get("frozen") and options.keys() <= _POSTPONED and texts):
            return at_once(cls, **options)
        return _Postponed(options).begin(cls)


__all__ = ["dataclass"]
