"""Annotations of values, read once for every door: signatures, study files, R, documents.

:func:`kinds_of` reads an annotation, as text or as a type.  :data:`PLAIN` says of each name that an
annotation may use which values it takes and how these are called.  A :class:`Door` is where values
come from: it says what a list is there, and in which words a refusal asks for a value.
"""

from __future__ import annotations

import ast
import math
import operator
import os
import re
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import is_dataclass, replace
from decimal import Decimal
from numbers import Real
from typing import Annotated, Any, ForwardRef, Union, get_args, get_origin, is_typeddict

from dprct.records import dataclass

ANYTHING = frozenset({"Any", "Array", "NDArray", "object", "IntoFrame", "Frame"})
LISTS = frozenset({"Sequence", "Iterable", "Collection", "tuple", "list"})
_LONGEST_NAME = 255  # bytes of one folder's or file's name, on every system in use
_LARGEST = 2**100  # of a whole number in a document
_COUNTS = {2: "two", 3: "three"}


@dataclass(frozen=True)
class Kind:
    """One alternative of an annotation.

    Examples
    --------
    >>> [kind.name for kind in kinds_of("'Sequence[int | float] | np.ndarray | None'")]
    ['Sequence', 'ndarray', 'None']
    """

    name: str  # its class, without module and elements
    # The alternatives of each element: of a list one, of a mapping those of keys and of values.
    items: tuple[tuple[Kind, ...], ...] = ()
    is_fixed: bool = False  # whether a list has exactly as many elements as ``items``
    choices: tuple[Any, ...] = ()  # the words of a ``Literal``
    # The class, where it says which parts a document has: a dataclass or a ``TypedDict``.
    made: type[Any] | None = None
    rules: tuple[tuple[str, Any], ...] = ()  # what ``Annotated`` adds, in the words of JSON Schema

    def names(self) -> frozenset[str]:
        """Names of this kind and of all within it."""
        return frozenset({self.name}).union(*(kind.names() for item in self.items for kind in item))


Kinds = tuple[Kind, ...]
ANY: Kinds = (Kind("Any"),)


def kinds_of(annotation: Any, names: Mapping[str, Any] | None = None) -> Kinds:
    """Return the alternatives of an annotation, each once.

    ``names`` is the module's, in which text finds its aliases; a name that is not there stays a
    name.

    Examples
    --------
    >>> from typing import Literal
    >>> kinds_of("Rule | None", {"Rule": Literal["a", "b"]})[0].choices
    ('a', 'b')
    """
    return tuple(dict.fromkeys(_read(annotation, names or {})))


def kinds_of_fields(made: type[Any]) -> Mapping[str, Kinds]:
    """Alternatives of each field of a class, as the modules of the class and its bases read them.

    Examples
    --------
    >>> list(kinds_of_fields(Kind))
    ['name', 'items', 'is_fixed', 'choices', 'made', 'rules']
    """
    if made not in _FIELDS:
        _FIELDS[made] = {
            name: kinds_of(annotation, vars(sys.modules[base.__module__]))
            for base in reversed(made.__mro__)
            for name, annotation in vars(base).get("__annotations__", {}).items()
        }
    return _FIELDS[made]


_FIELDS: dict[type[Any], Mapping[str, Kinds]] = {}


def _read(annotation: Any, names: Mapping[str, Any]) -> Iterable[Kind]:
    """Alternatives of an annotation that may be text, a part of parsed text, or a type."""
    if isinstance(annotation, ForwardRef):
        annotation = annotation.__forward_arg__
    if isinstance(annotation, str):
        return _read(ast.parse(annotation.strip(), mode="eval").body, names)
    if isinstance(annotation, ast.expr):
        return _of_text(annotation, names)
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        return [kind for part in get_args(annotation) for kind in _read(part, names)]
    if annotation is None or annotation is types.NoneType:
        return [Kind("None")]
    name = getattr(origin or annotation, "__name__", None) or str(annotation)
    made = annotation if is_dataclass(annotation) or is_typeddict(annotation) else None
    return [Kind(name, made=made)] if made else _kinds(name, get_args(annotation), names)


def _of_text(node: ast.expr, names: Mapping[str, Any]) -> Iterable[Kind]:
    match node:
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return [*_of_text(left, names), *_of_text(right, names)]
        case ast.Constant(value=None | str() as value):
            return _read(value, names)
        case ast.Subscript(value=base, slice=ast.Tuple(elts=inside)):
            return _kinds(_last(base), inside, names)
        case ast.Subscript(value=base, slice=inside):
            return _kinds(_last(base), [inside], names)
        case ast.Name(id=name) if name not in {*PLAIN, *ANYTHING} and _is_alias(name, names):
            return _read(names[name], names)
    return [Kind(_last(node))]


def _is_alias(name: str, names: Mapping[str, Any]) -> bool:
    meant = names.get(name)
    is_made = is_dataclass(meant) or is_typeddict(meant)
    return is_made or get_origin(meant) is not None or getattr(meant, "__name__", name) != name


def _last(node: ast.expr) -> str:
    return ast.unparse(node).rpartition(".")[2]


def _kinds(name: str, inside: Iterable[Any], names: Mapping[str, Any]) -> list[Kind]:
    """Alternatives that a name means with what stands in its brackets."""
    elements: list[Any]
    elements = [one.value if isinstance(one, ast.Constant) else one for one in inside]
    if name in ("Annotated", "NotRequired"):
        rules = tuple(pair for one in elements[1:] for pair in _rules(one).items())
        return [replace(kind, rules=kind.rules + rules) for kind in _read(elements[0], names)]
    if name == "Literal":
        return [Kind(name, choices=tuple(elements))]
    if name not in LISTS and name != "Mapping":
        return [Kind(name)]
    items = tuple(kinds_of(one, names) for one in elements if one is not Ellipsis)
    is_fixed = name == "tuple" and Ellipsis not in elements and bool(items)
    return [Kind(name, items, is_fixed)]


def _rules(said: Any) -> Mapping[str, Any]:
    """Rules that ``Annotated`` adds; text alone describes."""
    if isinstance(said, str):
        return {"description": said}
    rules: Mapping[str, Any] = ast.literal_eval(said) if isinstance(said, ast.Dict) else said
    return rules


def parts_of(made: type[Any]) -> Iterator[tuple[str, Kinds, bool]]:
    """Parts of a document: name, alternatives, and whether it is always there.

    A field of a dataclass that is None by default is left out where it is None.
    """
    stated, fields = (
        vars(made).get("__annotations__", {}),
        vars(made).get("__dataclass_fields__", {}),
    )
    for name, kinds in kinds_of_fields(made).items():
        text = getattr(stated.get(name), "__forward_arg__", "")
        later = name in fields and LATER in fields[name].metadata
        if name in fields and fields[name].default is None:
            kinds, later = tuple(kind for kind in kinds if kind.name != "None"), True
        yield name, kinds, not (later or text.startswith("NotRequired["))


LATER = "since a later version"
"""Metadata of a field that older documents do not have."""


# What each name takes.


def is_no_table(value: object) -> bool:
    """Whether a value is anything but a table of data."""
    shape = getattr(value, "shape", ())
    of_rows = hasattr(type(value), "columns")  # asking a lazy frame itself would plan its query
    return not (of_rows or (isinstance(shape, tuple) and len(shape) > 1))


def _is_path(value: object) -> bool:
    if not isinstance(value, (str, os.PathLike)):
        return False
    name = os.fspath(value)
    if not isinstance(name, str) or not name or "\0" in name:
        return False
    try:
        parts = os.fsencode(name).replace(b"\\", b"/").split(b"/")
    except UnicodeEncodeError:
        return False
    return max(map(len, parts)) <= _LONGEST_NAME


def _is_source(value: object) -> bool:
    return not isinstance(value, (str, os.PathLike)) or _is_path(value)


def _is_bool(value: object) -> bool:
    return isinstance(value, bool) or type(value).__name__ in ("bool_", "bool")


def _is_int(value: object) -> bool:
    shape: object = getattr(value, "shape", None)
    if isinstance(value, bool) or shape:
        return False
    try:
        operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return False
    return True


def _is_float(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    try:
        float(value)
    except OverflowError:
        return False
    return True


def _is_real(value: object) -> bool:
    return isinstance(value, (Real, Decimal)) and not isinstance(value, bool)


def _is_exact(value: object) -> bool:
    return isinstance(value, (Real, Decimal, str))


def _is_text(value: object) -> bool:
    """Whether this is text that can be written: a lone surrogate cannot."""
    if not isinstance(value, str):
        return False
    try:
        value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


@dataclass(frozen=True)
class Plain:
    """What a name takes, and how one and several of it are called."""

    fits: Callable[[Any], bool]
    one: str
    several: str = ""
    toml: str = ""  # what a study file is asked for; empty where it cannot spell such a value


_OBJECTS = {
    "Accountant": "an accountant, such as ``dprct.Accountant(epsilon)``",
    "Axes": "axes of matplotlib",
    "Budget": "a budget, such as ``dprct.Budget(1)``",
    "Charge": "a ``Charge``",
    "Column": "a column, such as ``dprct.Column('age', bounds=(15, 80))``",
    "DataFrame": "``a DataFrame``",
    "Design": "a design, such as ``dprct.Simple('treated')``",
    "Generator": "a random generator of NumPy",
    "Guarantee": "a guarantee, such as the one of a release",
    "LinearResults": "results of a fit, such as ``dprct.ols`` returns,",
    "Regression": "a regression, such as ``dprct.Regression('y ~ t')``",
    "Row": "a ``Row``",
    "Schema": "a ``dprct.Schema``",
    "Style": "a ``Style``",
    "Unit": "a unit, such as ``dprct.Unit('person')``",
}
"""Classes that are told by their name, so that no signature has to import them."""


def _named(name: str) -> Callable[[Any], bool]:
    return lambda value: any(base.__name__ == name for base in type(value).__mro__)


PLAIN: Mapping[str, Plain] = {
    "None": Plain(lambda value: value is None, "``None``"),
    "str": Plain(_is_text, "text", "texts", "text in quotes"),
    "bool": Plain(_is_bool, "``True`` or ``False``", "truth values", "true or false"),
    "int": Plain(_is_int, "a whole number", "whole numbers", "a whole number"),
    "float": Plain(_is_float, "a number", "numbers", "a number"),
    "Real": Plain(_is_real, "a number", "numbers", "a number"),
    "Fraction": Plain(_is_exact, "a number", "numbers"),
    "Decimal": Plain(_is_exact, "a number", "numbers"),
    "Path": Plain(_is_path, "a file name", "file names"),
    "PathLike": Plain(_is_path, "a file name", "file names"),
    "Source": Plain(_is_source, "a file name, or a pair of data and schema"),
    "WeightsType": Plain(_is_text, "the name of a type of weights"),  # iweight has its own words
    **{name: Plain(_named(name), words) for name, words in _OBJECTS.items()},
}
"""What each name in an annotation takes, and its words; any other name takes what is no table."""

_OTHER = Plain(is_no_table, "what its documentation names", "what its documentation names")


# Parts of documents.

Sha256 = Annotated[str, {"pattern": "^[0-9a-f]{64}$"}]
Count = Annotated[int, {"minimum": 0}]


# Values against annotations.

WRONG = object()
"""What :meth:`Door.read` returns of a value that no alternative takes."""


def _marked(what: str, of: str, more: str = "") -> str:
    """Words that other doors have otherwise, marked; what is marked inside stays marked alone."""
    return f"``{what}``{of}{more}" if "``" in of else f"``{what}{of}{more}``"


@dataclass(frozen=True)
class Door:
    """Where values come from."""

    # From a value to its elements, None if it is no list there.
    elements: Callable[[Any], Iterable[Any] | None]
    in_toml: bool = False  # whether refusals ask in the words of a study file

    def read(self, value: object, kinds: Kinds) -> Any:
        """Value as the first alternative keeps it that takes it, lists as tuples; else ``WRONG``.

        Examples
        --------
        >>> STUDY_FILE.read(["a"], kinds_of("tuple[str, ...]"))
        ('a',)
        """
        for kind in kinds:
            found = self._taken(value, kind)
            if found is not WRONG:
                return found
        return WRONG

    def _taken(self, value: object, kind: Kind) -> Any:
        if kind.name in ANYTHING:
            return value
        if kind.choices:
            return value if _is_one_of(value, kind.choices) else WRONG
        if kind.name == "Mapping":
            return self._mapping(value, kind)
        if kind.name in LISTS:
            return self._list(value, kind)
        return value if PLAIN.get(kind.name, _OTHER).fits(value) else WRONG

    def _mapping(self, value: object, kind: Kind) -> Any:
        if not isinstance(value, Mapping):
            return WRONG
        if not kind.items:
            return value
        keys, values = kind.items
        found = {self.read(key, keys): self.read(of, values) for key, of in value.items()}
        return WRONG if WRONG in found or any(of is WRONG for of in found.values()) else found

    def _list(self, value: object, kind: Kind) -> Any:
        elements = self.elements(value)
        if elements is None:
            return WRONG
        if not kind.items:
            return value
        listed = tuple(elements)
        if kind.is_fixed and len(listed) != len(kind.items):
            return WRONG
        each = kind.items if kind.is_fixed else kind.items * len(listed)
        found = tuple(self.read(one, of) for one, of in zip(listed, each, strict=True))
        return WRONG if any(one is WRONG for one in found) else found

    def asks(self, kinds: Kinds) -> str:
        """Admissible values, as a refusal ends.

        Examples
        --------
        >>> STUDY_FILE.asks(kinds_of("float | tuple[str, ...]"))
        'give a number, or a list of texts'
        """
        choices = [choice for kind in kinds for choice in kind.choices]
        if choices and all(kind.choices or kind.name == "None" for kind in kinds):
            none = ", or ``None``" if len(kinds) > 1 else ""
            return f"allowed: {', '.join(map(str, choices))}{none}"
        return f"give {self.words(kinds)}"

    def words(self, kinds: Kinds) -> str:
        """Admissible values in words."""
        if any(kind.name in ("float", "Real") for kind in kinds):
            kinds = tuple(kind for kind in kinds if kind.name != "int")
        *others, last = dict.fromkeys(map(self._one, kinds))
        return f"{', '.join(others)}, or {last}" if others else last

    def _one(self, kind: Kind) -> str:
        if kind.choices:
            return ", ".join(map(repr, kind.choices))
        if kind.name == "Mapping":
            of = f" of {self._several(kind.items[1])}" if kind.items else ""
            is_named = bool(kind.items) and [one.name for one in kind.items[0]] == ["str"]
            return f"a table{of}" if self.in_toml else _marked("a dict", of, " by name" * is_named)
        if kind.name in LISTS and kind.is_fixed:
            several = f"{_COUNTS[len(kind.items)]} {self._several(kind.items[0])}"
            return f"{several} in brackets" if self.in_toml else several
        if kind.name in LISTS:
            of = f" of {self._several(kind.items[0])}" if kind.items else ""
            return f"a list{of}" if self.in_toml else _marked("a list", of)
        plain = PLAIN.get(kind.name, _OTHER)
        return plain.toml if self.in_toml else plain.one

    def _several(self, kinds: Kinds) -> str:
        """Several of these, in words."""
        named = []
        for kind in spelled_in_toml(kinds) if self.in_toml else kinds:
            if kind.name in ANYTHING:
                named.append("values")
            elif kind.name == "Mapping":
                named.append("tables" if self.in_toml else "dicts")
            elif kind.name in LISTS:
                named.append("lists")
            elif kind.choices:
                named.append(self._one(kind))
            else:
                plain = PLAIN.get(kind.name, _OTHER)
                named.append(plain.several or plain.one)
        return " or ".join(dict.fromkeys(named))


def _is_one_of(value: object, choices: tuple[Any, ...]) -> bool:
    return any(type(value) is type(one) and value == one for one in choices)


class DocumentPartError(TypeError):
    """A part of a document that is not as its class says; the message names its place."""


class DocumentDoor(Door):
    """Documents of ours: what has parts becomes its class, and nothing is more than it says.

    Text can be written in UTF-8, numbers are finite, and what ``Annotated`` adds is kept.
    """

    __slots__ = ()

    def content(self, value: object, made: type[Any]) -> Any:
        """Parts of a document, as its class has them."""
        found = self._made(value, made)
        if found is WRONG:
            raise DocumentPartError(self._wrong(value, made))
        return found

    def _wrong(self, value: object, made: type[Any], above: str = "") -> str:
        """First part that is missing or wrong, by its place."""
        if not isinstance(value, Mapping):
            return f"{above or 'it'} is no table"
        for name, kinds, needed in parts_of(made):
            if self.read(value.get(name, WRONG), kinds) is WRONG and (needed or name in value):
                inner = [kind.made for kind in kinds if kind.made and value.get(name)]
                place = f"{above}.{name}" if above else name
                if inner:
                    return self._wrong(value[name], inner[0], place)
                return f"{place} is missing or wrong"
        return f"{above or 'it'} has a part too many"

    def _taken(self, value: object, kind: Kind) -> Any:
        found = self._made(value, kind.made) if kind.made else super()._taken(value, kind)
        if kind.name == "float" and found is not WRONG:
            found = float(found)
        return found if found is not WRONG and _is_kept(found, dict(kind.rules)) else WRONG

    def _made(self, value: object, made: type[Any]) -> Any:
        if not isinstance(value, Mapping):
            return WRONG
        kinds = {name: of for name, of, _ in parts_of(made)}
        lacking = any(needed and name not in value for name, _, needed in parts_of(made))
        if lacking or not value.keys() <= kinds.keys():
            return WRONG
        found = {name: self.read(of, kinds[name]) for name, of in value.items()}
        return WRONG if any(of is WRONG for of in found.values()) else made(**found)


def _is_kept(value: Any, rules: Mapping[str, Any]) -> bool:
    """Whether a value of a document can be computed with and keeps the rules of JSON Schema."""
    if isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            return False
        return re.search(rules.get("pattern", ""), value) is not None
    if isinstance(value, (int, float)):
        return (
            (abs(value) < _LARGEST if isinstance(value, int) else math.isfinite(value))
            and value >= rules.get("minimum", value)
            and value <= rules.get("maximum", value)
            and ("exclusiveMinimum" not in rules or value > rules["exclusiveMinimum"])
        )
    return not isinstance(value, tuple) or len(value) >= rules.get("minItems", 0)


def _of_python(value: Any) -> Iterable[Any] | None:
    """Elements of a series of things, or of one text, which is a list of itself; of no table.

    What can be looked at only once has none.
    """
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, Iterable) or isinstance(value, (bytes, Mapping)):
        return None
    if not is_no_table(value) or getattr(value, "shape", None) == ():
        return None
    return value if hasattr(value, "__len__") else ()


SIGNATURE = Door(_of_python)
STUDY_FILE = Door(lambda value: value if isinstance(value, list) else None, in_toml=True)
DOCUMENT = DocumentDoor(STUDY_FILE.elements)


def spelled_in_toml(kinds: Kinds) -> Kinds:
    """Alternatives that a study file can spell.

    Examples
    --------
    >>> [kind.name for kind in spelled_in_toml(kinds_of("float | Schema | None"))]
    ['float']
    """
    return tuple(kind for kind in kinds if _is_spelled(kind))


def _is_spelled(kind: Kind) -> bool:
    if kind.name == "Mapping" and [one.name for one in kind.items[0]] not in (["str"], ["Any"]):
        return False
    if kind.items:
        return all(map(spelled_in_toml, kind.items))
    return bool(kind.choices or kind.name == "Any" or PLAIN.get(kind.name, _OTHER).toml)
