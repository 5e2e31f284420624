"""A postponed dataclass is what :func:`dataclasses.dataclass` makes, wherever it is looked at."""

from __future__ import annotations

import copy
import dataclasses
import importlib
import inspect
import pickle
import pkgutil
import pydoc
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import KW_ONLY, field, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Generic, TypeVar

import pytest

import dprct
from dprct import records

T = TypeVar("T")
OPTIONS = [
    {"frozen": True},
    {"frozen": True, "eq": False},
    {"frozen": True, "eq": False, "repr": False},
    {"frozen": True, "slots": True},
    {"slots": True},
]


class Area(ABC, Generic[T]):
    __slots__ = ()

    @property
    @abstractmethod
    def area(self) -> T:
        """Of the shape."""


def classes(decorator: Any, options: dict[str, Any]) -> tuple[type[Any], type[Any]]:
    """A class with every kind of field, and a subclass of it."""

    def at_the_top(cls: type[Any]) -> Any:
        cls.__qualname__ = cls.__name__
        return decorator(**options)(cls)

    @at_the_top
    class Shape(Area[float]):
        name: str
        unit: ClassVar[str] = "m"
        sides: tuple[float, ...] = ()
        tags: list[str] = field(default_factory=list, compare=False)
        note: str = field(default="none", repr=False)
        _: KW_ONLY
        weight: float = 1.0

        @property
        def area(self) -> float:
            return float(len(self.sides))

        def __post_init__(self) -> None:
            if not self.name:
                raise ValueError("a shape has a name")

    @at_the_top
    class Square(Shape):
        """Four sides."""

        side: float = 2.0

        @property
        def area(self) -> float:
            return self.side**2

    return Shape, Square


def outcome(ask: Any, *given: Any) -> Any:
    try:
        return ask(*given)
    except Exception as error:
        return type(error), str(error)


def matched(thing: Any) -> Any:
    match thing:
        case type(name="b"):
            return "by keyword"
    match_args = type(thing).__match_args__
    return [getattr(thing, name) for name in match_args]


def heir(thing: Any) -> Any:
    """An instance of a subclass that is no dataclass itself."""
    return type("Own", (type(thing),), {})("e")


def pickled(thing: Any) -> Any:
    """A copy through pickle, to a class whose parts nobody has asked for."""
    module, cls = sys.modules[__name__], type(thing)
    setattr(module, cls.__name__, cls)
    try:
        return pickle.loads(pickle.dumps(thing))
    finally:
        delattr(module, cls.__name__)


ASKED_OF_A_CLASS = {
    "signature": lambda cls: str(inspect.signature(cls)),
    "signature of its initializer": lambda cls: str(inspect.signature(cls.__init__)),
    "fields": lambda cls: [repr(f) for f in fields(cls)],
    "parameters": lambda cls: repr(cls.__dataclass_params__),
    "is a dataclass": is_dataclass,
    "doc": lambda cls: cls.__doc__,
    "help": lambda cls: pydoc.render_doc(cls).replace(" | ", ""),
    "match_args": lambda cls: cls.__match_args__,
    "slots": lambda cls: vars(cls).get("__slots__"),
    "default": lambda cls: type(outcome(getattr, cls, "note")).__name__,
    "default of a factory": lambda cls: type(outcome(getattr, cls, "tags")).__name__,
    "hashable": lambda cls: issubclass(cls, Hashable),
    "names": lambda cls: outcome(cls, "a") and sorted(vars(cls)),
    "no name": lambda cls: outcome(cls),
    "empty name": lambda cls: outcome(cls, ""),
    "without init": lambda cls: outcome(repr, object.__new__(cls)),
    "frozen without init": lambda cls: outcome(setattr, object.__new__(cls), "name", "b"),
    "not deleted": lambda cls: outcome(delattr, object.__new__(cls), "name"),
    "equal without init": lambda cls: outcome(lambda: cls.__new__(cls) == cls.__new__(cls)),
    "state": lambda cls: outcome(lambda: object.__new__(cls).__reduce_ex__(2)[2]),
    "inherits": lambda cls: type("Own", (cls,), {})("c", weight=2).weight,
    "qualified names": lambda cls: (cls.__init__.__qualname__, cls.__qualname__, cls.__module__),
    "make": lambda cls: dataclasses.make_dataclass("More", ["x"], bases=(cls,), **frozen(cls)),
}


def frozen(cls: type) -> dict[str, Any]:
    return {"frozen": cls.__dataclass_params__.frozen, "kw_only": True}


ASKED_OF_AN_INSTANCE = {
    "repr": lambda one: repr(one).split(" at 0x")[0],
    "equal": lambda one: (one == replace(one), one == copy.copy(one), one != 3),
    "hash": lambda one: outcome(hash, replace(one, tags=())) == outcome(hash, one),
    "replace": lambda one: replace(one, name="c").name,
    "dict": dataclasses.asdict,
    "tuple": dataclasses.astuple,
    "field set": lambda one: outcome(setattr, one, "name", "d"),
    "field deleted": lambda one: outcome(delattr, one, "name"),
    "field set in a subclass": lambda one: outcome(setattr, heir(one), "name", "d"),
    "deep copy": lambda one: dataclasses.astuple(copy.deepcopy(one)),
    "pickle": lambda one: dataclasses.astuple(pickled(one)),
    "match": matched,
    "area": lambda one: one.area,
}


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("asked", ASKED_OF_A_CLASS)
def test_a_class_answers_as_a_real_one(asked, which, options):
    postponed = classes(records.dataclass, options)[which]
    real = classes(dataclasses.dataclass, options)[which]
    answers = [outcome(ASKED_OF_A_CLASS[asked], cls) for cls in (postponed, real)]
    if asked == "make":
        answers = [str(inspect.signature(made)) for made in answers]
    assert answers[0] == answers[1]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("asked", ASKED_OF_AN_INSTANCE)
def test_an_instance_answers_as_a_real_one(asked, which, options):
    postponed, real = (
        classes(decorator, options)[which]("a", (1.0, 2.0), ["x"], weight=3.0)
        for decorator in (records.dataclass, dataclasses.dataclass)
    )
    ask = ASKED_OF_AN_INSTANCE[asked]
    assert ask(postponed) == ask(real)


@pytest.mark.parametrize("options", OPTIONS[:3], ids=str)
def test_other_attributes_are_set_in_subclasses_only(options):
    square = classes(records.dataclass, options)[1]("a")
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'x'"):
        square.x = 1
    heir(square).x = 1


def test_methods_of_its_own_are_kept():
    @records.dataclass(frozen=True)
    class Own:
        x: int

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own)

        def __repr__(self) -> str:
            return "mine"

    assert (Own(1), repr(Own(2)), hash(Own(3))) == (Own(4), "mine", hash((3,)))


def test_a_class_may_cache_and_use_super():
    @records.dataclass(frozen=True)
    class Base:
        x: int

        @cached_property
        def twice(self) -> int:
            return 2 * self.x

        def named(self) -> str:
            return "base"

    @records.dataclass(frozen=True)
    class Child(Base):
        y: int = 1

        def named(self) -> str:
            return f"child of {super().named()}"

    assert (Child(2).twice, Child(2).named()) == (4, "child of base")
    assert (Child(2) == Child(2), Child(2) == Base(2)) == (True, False)


@pytest.mark.parametrize("options", [{"frozen": True}, {"frozen": True, "slots": True}], ids=str)
def test_threads_that_come_first_together(options):
    """Sixteen threads make the first instance at once, each with the shortest turns there are."""
    before, wrong = sys.getswitchinterval(), []
    sys.setswitchinterval(1e-6)

    def make(cls, gate):
        gate.wait()
        try:
            assert repr(cls("a")).count("name='a'") == 1
        except Exception as error:
            wrong.append(error)

    try:
        for _ in range(20):
            square, gate = classes(records.dataclass, options)[1], threading.Barrier(16)
            threads = [threading.Thread(target=make, args=(square, gate)) for _ in range(16)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    finally:
        sys.setswitchinterval(before)
    assert not wrong


def test_a_mistake_in_the_fields_is_found_at_first_use():
    @records.dataclass(frozen=True)
    class Wrong:
        x: int = 1
        y: str  # type: ignore[misc]

    for _ in range(2):
        with pytest.raises(TypeError, match="non-default argument 'y' follows default argument"):
            Wrong(1, "a")


def test_no_dataclass_of_the_house_has_a_mistake():
    found = 0
    for module in pkgutil.walk_packages(dprct.__path__, "dprct."):
        if module.name.endswith("__main__"):
            continue
        for cls in vars(importlib.import_module(module.name)).values():
            if isinstance(cls, type) and cls.__module__ == module.name and is_dataclass(cls):
                found += 1
                assert fields(cls) is not None
                left = [one for one in vars(cls).values() if type(one) is records._Unwritten]
                assert not left, cls
    assert found > 500
