"""Checks of arguments: by the annotations of a signature, and of names and choices.

``@checked`` reads the annotations of a function, or of the public methods of a class, as they
stand in the source, and refuses a value whose kind they exclude before the function sees it.  What
an annotation does not decide by the kind of a value (a range, a choice among the schema's columns,
a frame of any library) stays with the function, which asks the functions at the end of this file.

A column of the data in the place of its name is the commonest slip (``outcome=data.y`` for
``outcome="y"``); no message prints what is in it.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import math
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Rational, Real
from typing import Any, TypeVar

from dprct.annotations import ANY, PLAIN, SIGNATURE, WRONG, Kind, Kinds, kinds_of
from dprct.errors import (
    DprctError,
    ParameterError,
    SchemaError,
    kind_of,
    shortened,
    withheld,
)

_MOST_BITS = 1_024
T = TypeVar("T", bound=Callable[..., Any])


def checked(target: T) -> T:
    """Return a function, or a class with public methods, that refuses arguments of a wrong kind.

    Examples
    --------
    >>> @checked
    ... def greeting(name: str, times: int = 1) -> str:
    ...     return " ".join([f"hello {name}"] * times)
    >>> greeting("Ada")
    'hello Ada'
    >>> greeting(b"Ada")
    Traceback (most recent call last):
    ...
    dprct.errors.ParameterError: name= is bytes; give text
    """
    if inspect.isclass(target):
        _check_methods(target)
        return target
    guarded: T = _checked(target)
    return guarded


class Checked:
    """A class whose public methods, and those of its subclasses, are :func:`checked`."""

    __slots__ = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        _check_methods(cls, constructor=False)


def _check_methods(one: type, *, constructor: bool = True) -> None:
    if constructor:
        inspect.getattr_static(one, "__init__").__get__(None, one)  # writes a postponed one
    for name, member in list(vars(one).items()):
        if name.startswith("_") and not (constructor and name == "__init__"):
            continue
        if isinstance(member, (classmethod, staticmethod)):
            setattr(one, name, type(member)(_checked(member.__func__)))
        elif inspect.isfunction(member):
            setattr(one, name, _checked(member))


def _checked(function: Any) -> Any:
    if hasattr(function, "is_checked"):  # a dataclass shares its methods with its pattern
        return function

    @functools.cache
    def declared() -> dict[str, inspect.Parameter]:
        known = inspect.signature(function).parameters.items()
        return {k: p for k, p in known if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}

    @functools.cache
    def positions() -> list[str]:
        return [name for name, p in declared().items() if p.kind is p.POSITIONAL_OR_KEYWORD]

    @functools.cache
    def kinds(name: str) -> Kinds:
        return _kinds(declared()[name].annotation, function.__globals__)

    def check(name: str, value: object) -> None:
        if isinstance(value, int) and value.bit_length() > _MOST_BITS:
            raise _refusal(name, value, "give a number that a float can hold")
        if name in declared() and value is not declared()[name].default:
            require_kind(name, value, kinds(name))

    @functools.wraps(function)
    def run(*args: Any, **options: Any) -> Any:
        for name, value in zip(positions(), args, strict=False):
            check(name, value)
        for name, value in options.items():
            check(name, value)
        return function(*args, **options)

    run.is_checked = True  # type: ignore[attr-defined]
    return run


def _kinds(annotation: object, names: Mapping[str, Any]) -> Kinds:
    """Alternatives of a parameter; any text is not a file name, and a budget has its own words."""
    if not isinstance(annotation, str):
        return ANY
    kinds = kinds_of(annotation, names)
    kinds = tuple(Kind("budget") if kind.name == "Real" else kind for kind in kinds)
    is_file = any(kind.name in ("Path", "PathLike") for kind in kinds)
    return tuple(kind for kind in kinds if not (is_file and kind.name == "str"))


def require_kind(name: str, value: object, kinds: Kinds) -> None:
    """Refuse a value of an argument that none of its kinds takes."""
    if SIGNATURE.read(value, kinds) is not WRONG:
        return
    named = [kind.items[1] for kind in kinds if kind.name == "Mapping" and kind.items]
    for key, one in value.items() if named and isinstance(value, Mapping) else ():
        if isinstance(key, str) and SIGNATURE.read(one, named[0]) is WRONG:
            raise _refusal(name, one, SIGNATURE.asks(named[0]), f" of {key!r}")
    raise _refusal(name, value, SIGNATURE.asks(kinds))


def _refusal(name: str, value: object, asked: str, entry: str = "") -> DprctError:
    if "Schema" in asked:
        return SchemaError(
            f"{name} is ``{type(value).__name__}``; give a ``dprct.Schema``, such as "
            "``dprct.read`` returns together with the data"
        )
    if asked == f"give {PLAIN['Path'].one}" and not isinstance(value, str):
        return ParameterError(f"got {kind_of(value)} for a path; give a file name")
    of = ""
    if isinstance(value, (list, tuple)) and value:
        of = f", holding {' and '.join(list(dict.fromkeys(map(kind_of, value)))[:3])}"
    if asked.startswith("allowed: "):
        return ParameterError(f"``{name}={given(value)}``{entry}{of}; {asked}")
    return ParameterError(f"``{name}=``{entry} is ``{given(value)}``{of}; {asked}")


def given(value: object) -> str:
    """Words for what was given: a fact as it is, else only its type.

    What a caller passes by mistake may be a column of the data, and is not to be printed.

    Examples
    --------
    >>> given(-1), given([15, 80]), given(range(3))
    ('-1', 'list', 'range')
    """
    said = isinstance(value, (str, bool, int, float))
    return shortened(value) if said else type(value).__name__


def listed_names(names: object, parameter: str) -> tuple[str, ...]:
    """Return one name, of a column or another thing of the schema, or several as a tuple.

    Examples
    --------
    >>> listed_names("earn", "outcome"), listed_names(["earn", "works"], "outcome")
    (('earn',), ('earn', 'works'))
    """
    if isinstance(names, str):
        return (names,)
    if isinstance(names, Iterable) and not (isinstance(names, Mapping) or is_data(names)):
        found = tuple(names)
        if all(isinstance(name, str) for name in found):
            return found
    raise ParameterError(
        f"``{parameter}=`` is ``{type(names).__name__}``; give names, as text or a list of texts"
    )


def distinct_names(names: object, parameter: str) -> tuple[str, ...]:
    """Return names of columns, each once.

    Examples
    --------
    >>> distinct_names(["age", "site"], "features")
    ('age', 'site')
    """
    listed = listed_names(names, parameter)
    if len(set(listed)) < len(listed):
        raise ParameterError(f"``{parameter}=`` must name columns, each once")
    return listed


def one_name(name: object, parameter: str) -> str:
    """Return the name of one column.

    Examples
    --------
    >>> one_name("earn", "outcome")
    'earn'
    """
    if isinstance(name, str):
        return name
    raise ParameterError(f"``{parameter}={given(name)}``; give the name of one column")


def check_choice(parameter: str, value: object, allowed: Collection[str]) -> None:
    """Refuse what is none of the allowed words.

    Examples
    --------
    >>> check_choice("legal", "strict", ("calibrated", "strict"))
    """
    if not isinstance(value, str) or value not in allowed:
        raise ParameterError(f"``{parameter}={given(value)}``; allowed: {', '.join(allowed)}")


def number_between(
    parameter: str, value: object, low: float = 0.0, high: float = math.inf, more: str = ""
) -> float:
    """Return a number between two others; ``more`` ends the refusal of any other value.

    Examples
    --------
    >>> number_between("trim", 0.1, 0, 0.5)
    0.1
    """
    found = math.nan if isinstance(value, bool) or not isinstance(value, Real) else float(value)
    if low < found < high:
        return found
    allowed = f"above {low:g}" if high == math.inf else f"between {low:g} and {high:g}"
    raise ParameterError(f"``{parameter}={given(value)}``; give a number {allowed}{more}")


def check_not_named(options: Mapping[str, object], names: Collection[str]) -> None:
    """Refuse options that a formula gives already.

    Examples
    --------
    >>> check_not_named({"trim": 0.1}, ("treatment", "covariates"))
    """
    for name in options:
        if name in names:
            raise ParameterError(f"``{name}=`` follows from the formula; leave it out")


def spelled_out(value: object) -> str:
    """Return an option as text that is the same in every process, and in later versions.

    Options that a method cannot tell apart are spelled alike: 1 and 1.0, a tenth and 0.1, a tuple
    and a list, a mapping in another order.  What an object has by default is left out, so that an
    option which a later version adds changes nothing where nobody gives it; a default that is to
    change needs an option of another name.

    Examples
    --------
    >>> spelled_out({"b": (1, 0.5), "a": None})
    "{'a': None, 'b': [1, 1/2]}"
    """
    import numpy as np

    if value is None or isinstance(value, (str, bytes)):
        return repr(value)
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, (Real, Decimal)):
        number = value if isinstance(value, (Rational, Decimal)) else float(value)
        if isinstance(number, float) and not math.isfinite(number):
            return repr(number)
        return str(Fraction(repr(number) if isinstance(number, float) else number))
    if isinstance(value, Mapping):
        pairs = sorted((spelled_out(key), spelled_out(of)) for key, of in value.items())
        return "{" + ", ".join(f"{key}: {of}" for key, of in pairs) + "}"
    if isinstance(value, (set, frozenset)):
        return "{" + ", ".join(sorted(map(spelled_out, value))) + "}"
    if isinstance(value, Iterable):
        return "[" + ", ".join(map(spelled_out, value)) + "]"
    if isinstance(value, type) or inspect.isroutine(value):
        return value.__qualname__
    if isinstance(value, os.PathLike):
        return _content(value)
    if is_dataclass(value):
        inside = {one.name: getattr(value, one.name) for one in fields(value)}
        usual = {one.name: _default(one) for one in fields(value)}
    else:
        inside, usual = dict(getattr(value, "__dict__", {})), {}
    said = ((name, spelled_out(of)) for name, of in inside.items())  # once, whatever it holds
    pairs = sorted(
        (repr(name), of) for name, of in said if name not in usual or of != spelled_out(usual[name])
    )
    return f"{type(value).__name__}{{{', '.join(f'{name}: {of}' for name, of in pairs)}}}"


def _content(path: os.PathLike[Any]) -> str:
    """Return a hash of what a file holds, which may lie elsewhere later; its name if it is gone."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return repr(os.path.basename(os.fspath(path)))


def _default(one: Field[Any]) -> object:
    """Default of a field; this function itself, which equals nothing else, if it has none."""
    if one.default is not MISSING:
        return one.default
    return one.default_factory() if one.default_factory is not MISSING else _default


def is_data(value: object) -> bool:
    """Whether this is a column or a table of some library; a pandas Index holds names.

    Examples
    --------
    >>> import numpy as np
    >>> is_data(np.array([1.5])), is_data(["earn", "works"])
    (True, False)
    """
    if type(value) in (str, list, tuple, dict):  # as most are, and then Narwhals is not imported
        return False
    import narwhals as nw
    import numpy as np

    return (
        isinstance(value, np.ndarray)
        or nw.dependencies.is_into_series(value)
        or nw.dependencies.is_into_dataframe(value)
    )


def numbers_given(values: object, name: str) -> Any:
    """Return arrays that were given as a copy in doubles; NumPy's own refusal would show a value.

    Examples
    --------
    >>> numbers_given([[1, 2]], "X").tolist()
    [[1.0, 2.0]]
    """
    import numpy as np

    words = f"{name} is not an array of numbers; give rows of equal length"
    with withheld(lambda _: ParameterError(words)):
        return np.array(values, np.float64)
