"""``dataclass``, as of :mod:`dataclasses`, whose methods are written when one of them is needed.

Python writes and compiles half a dozen methods for each dataclass while a module is imported. A
command imports some four hundred of them and needs a sixth; the others took longer than NumPy.

What :func:`dataclasses.dataclass` would make of a frozen class are descriptors at first. When one
of them is looked up, by a call of the class, :func:`dataclasses.fields`, :func:`inspect.signature`,
a subclass or whatever else, the decorator itself is applied to a *pattern*, a class with the same
annotations and defaults, and what it made replaces the descriptors, one after the other and under a
lock. A mistake in the fields (one without a default after one with one) is therefore found at first
use.
"""

from __future__ import annotations

import threading
from dataclasses import MISSING, Field
from dataclasses import dataclass as at_once
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass as dataclass

_LOCK = threading.RLock()
_MAKES = {"init": {"__init__"}, "repr": {"__repr__"}, "eq": {"__eq__", "__hash__"}}


@at_once(frozen=True)
class _Example:
    pass


_MADE = {*vars(_Example)} - {"__module__", "__dict__", "__weakref__", "__annotations__"}


class _Unwritten:
    """An attribute that the decorator has still to make of a class."""

    def __init__(self, cls: type[Any], name: str, write: Callable[[], None]) -> None:
        self.cls, self.name, self.write = cls, name, write

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        with _LOCK:
            if vars(self.cls).get(self.name) is self:
                self.write()
        if self.name not in vars(self.cls):
            return getattr(super(self.cls, owner if instance is None else instance), self.name)
        found = vars(self.cls)[self.name]
        return found.__get__(instance, owner) if hasattr(found, "__get__") else found


def _write(cls: type, stated: dict[str, Any], options: dict[str, Any]) -> None:
    """Replace the descriptors of a class by what the decorator makes of it as it was stated."""
    pattern: type = at_once(**options)(type(cls)(cls.__name__, cls.__bases__, stated))
    for name in [name for name, one in vars(cls).items() if isinstance(one, _Unwritten)]:
        if name in vars(pattern):
            setattr(cls, name, _moved(vars(pattern)[name], pattern, cls))
        else:
            delattr(cls, name)


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
        stated = {k: v for k, v in vars(cls).items() if k not in ("__dict__", "__weakref__")}
        known = options.keys() <= {"frozen", "kw_only", *_MAKES}
        texts = all(isinstance(one, str) for one in stated.get("__annotations__", {}).values())
        if not (options.get("frozen") and known and texts):
            return at_once(cls, **options)
        for name in [name for name, one in stated.items() if isinstance(one, Field)]:
            if stated[name].default is MISSING:
                delattr(cls, name)
            else:
                setattr(cls, name, stated[name].default)
        kept = (_MAKES[option] for option, wanted in options.items() if not wanted)
        write = partial(_write, cls, stated, options)
        for name in _MADE.difference(*kept):
            if stated.get(name) is None:
                setattr(cls, name, _Unwritten(cls, name, write))
        return cls


__all__ = ["dataclass"]
