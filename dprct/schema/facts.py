"""What may be declared of a column: types of storage, how a fact is read, and which contradict."""

from __future__ import annotations

import datetime as dt
import itertools
import math
import numbers
import re
import struct
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, get_args

from dprct.arguments import given
from dprct.errors import SchemaError
from dprct.missing import MISSING_CODES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


Column = Any
"""A :class:`dprct.schema.columns.Column`, which asks what is here when it is made."""

Fate = Literal["modelled", "filler", "withheld", "key", "public", "drop"]
Role = Literal["outcome", "treatment", "covariate", "block", "cluster", "id", "weight"]
BuiltFrom = Literal["own", "cohort"]
MissingWord = Literal["public", "private", "level"]
MissingPolicy = float | str
"""One of the words, or the number that stands for a missing value."""

INTEGER_LIMITS: dict[str, tuple[int, int]] = {
    "byte": (-127, 100),
    "int": (-32_767, 32_740),
    "long": (-2_147_483_647, 2_147_483_620),
}
"""The smallest and largest number of each of Stata's integer types; above are the missing codes."""

FLOAT_LIMITS: dict[str, float] = {
    "float": float.fromhex("0x1.fffffep+126"),
    "double": float.fromhex("0x1.fffffffffffffp+1022"),
}
"""The largest magnitude of Stata's real types."""

_RESOLUTION = {"float": 1 << 22, "double": 1 << 48}

STRING_WIDTH = 2045
"""The widest ``str#``; longer text is ``strL``."""

FREE_FATES = ("withheld", "key", "drop")
"""What a release may do with free text and with coordinates."""

MOST_BINS = 1 << 20

EXTREMES = (1e-60, 1e60)
"""How close bounds may be to each other, and how far from 0.

Within these the squares and ratios of squares of sums, with the noise of any scale that a sampler
reaches, are doubles: what is checked here cannot overflow after a charge.
"""


def number_limits(storage: str) -> tuple[float, float]:
    """Return the smallest and largest number of a storage type.

    Examples
    --------
    >>> number_limits("byte")
    (-127, 100)
    """
    if storage in INTEGER_LIMITS:
        return INTEGER_LIMITS[storage]
    return -FLOAT_LIMITS[storage], FLOAT_LIMITS[storage]


def is_text(storage: str) -> bool:
    """Whether a Stata storage type holds text (``str#`` or ``strL``)."""
    return storage.startswith("str")


def text_width(storage: str) -> int | None:
    """Return the width of a ``str#`` in bytes, or None for ``strL``."""
    return None if storage == "strL" else int(storage[3:])


def resolves(storage: str, largest: float, step: Fraction) -> bool:
    """Whether a type tells numbers a ``step`` apart from each other, up to ``largest``.

    Examples
    --------
    >>> resolves("float", 100.0, Fraction(1, 100)), resolves("float", 1e6, Fraction(1, 100))
    (True, False)
    """
    steps = _RESOLUTION.get(storage, _RESOLUTION["double"])
    # whole numbers need no room for the rounding of a decimal
    return largest / step <= (4 * steps if step.denominator == 1 else steps)


def check_storage_type(storage: object, name: str) -> None:
    """Refuse a type that is not one of Stata's storage types."""
    fixed = isinstance(storage, str) and (
        storage in INTEGER_LIMITS or storage in FLOAT_LIMITS or storage == "strL"
    )
    width = re.fullmatch(r"str([1-9]\d{0,3})", storage) if isinstance(storage, str) else None
    if not fixed and not (width and int(width[1]) <= STRING_WIDTH):
        raise SchemaError(
            f"column {name!r}: ``type={given(storage)}``; allowed: byte, int, long, float, double, "
            f"str1 to str{STRING_WIDTH}, strL"
        )


def check_missing_codes(codes: object, name: str) -> tuple[str, ...]:
    """Return ``codes`` as a tuple of missing codes in Stata's order, or refuse.

    ``"never"`` is read as no code at all.
    """
    listed: object = codes
    if isinstance(codes, str):
        listed = () if codes == "never" else (codes,)
    if not isinstance(listed, (list, tuple)) or not all(
        isinstance(code, str) and code in MISSING_CODES for code in listed
    ):
        raise SchemaError(
            f"column {name!r}: ``missing={given(codes)}``; allowed: 'never', or missing codes "
            "such as ``['.', '.a']`` that each become a level"
        )
    return tuple(code for code in MISSING_CODES if code in listed)


def check_literal(value: object, kind: object, fact: str, name: str) -> None:
    """Refuse a ``value`` that is none of the literals of ``kind``."""
    allowed = get_args(kind)
    if not isinstance(value, str) or value not in allowed:
        raise SchemaError(
            f"column {name!r}: ``{fact}={given(value)}``; allowed: {', '.join(allowed)}"
        )


def check_column(column: Column) -> None:
    """Refuse a column whose facts contradict each other."""
    if column.is_text:
        _check_text(column)
    else:
        _check_numbers(column)
    if column.clip and column.bounds is None:
        raise SchemaError(
            f"column {column.name!r}: ``clip={given(True)}`` clips values to the bounds, and none "
            "are declared; give bounds"
        )
    if column.fate not in (None, *FREE_FATES) and column.locates:
        raise SchemaError(
            f"column {column.name!r} holds coordinates and cannot be {column.fate!r}; "
            f"allowed: {', '.join(FREE_FATES)}, or declare ``coordinates=false``"
        )
    if column.derived is not None and column.fate not in (None, "modelled"):
        raise SchemaError(
            f"column {column.name!r} is derived and {column.fate!r}; a derived column is "
            "recomputed from its parents, so leave its fate out"
        )


_OF_NUMBERS = ("bounds", "bins", "decimals", "sd", "sd_within", "centre")


def _check_text(column: Column) -> None:
    unfit = [name for name in _OF_NUMBERS if getattr(column, name) is not None]
    unfit += ["clip"] if column.clip else []
    unfit += ["a number for missing values"] if isinstance(column.missing_policy, float) else []
    if unfit:
        raise SchemaError(
            f"column {column.name!r} holds text and cannot have {', '.join(unfit)}; give levels"
        )
    if column.missing:
        raise SchemaError(
            f"column {column.name!r} holds text, which has no missing codes; declare "
            "``missing='never'`` and, if it may be empty, the level ''"
        )
    if column.levels is None and column.fate not in (None, "public", *FREE_FATES):
        raise SchemaError(
            f"column {column.name!r} is free text and cannot be {column.fate!r}; "
            f"allowed: {', '.join(FREE_FATES)}, or declare its levels"
        )
    if column.is_free_text and column.fate == "public":
        raise SchemaError(
            f"column {column.name!r} is free text and cannot be 'public' without its levels; "
            f"declare them, or give one of: {', '.join(FREE_FATES)}"
        )


def _check_numbers(column: Column) -> None:
    low, high = column.bounds if column.bounds is not None else (-math.inf, math.inf)
    levels = [float(level) for level in column.levels or ()]
    _check_storage(column, [*levels, *(column.bounds or ())])
    if any(not low <= level <= high for level in levels):
        raise SchemaError(f"column {column.name!r}: a level lies outside the bounds; correct one")
    ends = column.bounds or (min(levels, default=-math.inf), max(levels, default=math.inf))
    for fact in ("centre", "missing_policy"):
        number = getattr(column, fact)
        if isinstance(number, float) and not ends[0] <= number <= ends[1]:
            raise SchemaError(
                f"column {column.name!r}: ``{fact}={given(number)}`` lies outside the bounds or "
                "levels; correct one"
            )
    if isinstance(column.bins, tuple):
        edges = (low, *column.bins, high)
        if any(a >= b for a, b in itertools.pairwise(edges)):
            raise SchemaError(
                f"column {column.name!r}: bins must be increasing and strictly within the bounds"
            )
    if column.type == "float" and len(set(map(_single, levels))) < len(levels):
        raise SchemaError(
            f"column {column.name!r}: type float does not tell two of the levels apart; correct one"
        )
    _check_step(column)
    if column.bins is not None and column.levels is not None:
        raise SchemaError(f"column {column.name!r} has bins and levels; give one of them")


def _check_step(column: Column) -> None:
    step, storage = column.step, column.type
    if step is None:
        return
    if column.bounds is not None and not resolves(storage, max(map(abs, column.bounds)), step):
        what = "whole numbers" if column.is_integer else f"{column.decimals} decimals"
        raise SchemaError(
            f"column {column.name!r}: type {storage} does not tell {what} apart up to these "
            "bounds; narrow the bounds, or leave integer and decimals out"
        )
    levels = [x for x in column.levels or () if isinstance(x, float)]
    if any((Fraction(repr(level)) / step).denominator > 1 for level in levels):
        raise SchemaError(
            f"column {column.name!r}: a level has more than {column.decimals} decimals; correct one"
        )


def _check_storage(column: Column, facts: Sequence[float]) -> None:
    if column.is_integer and any(x != math.floor(x) for x in facts):
        raise SchemaError(
            f"column {column.name!r} holds whole numbers; give whole bounds and levels"
        )
    low, high = number_limits(column.type)
    if any(not low <= x <= high for x in facts):
        raise SchemaError(
            f"column {column.name!r}: type {column.type} holds {low:g} to {high:g}; "
            "give bounds and levels within"
        )


def _single(number: float) -> bytes:
    """Return the four bytes that a float column keeps of a number."""
    return struct.pack("<f", number)


_NUMBERS = dict.fromkeys(("sd", "sd_within", "centre"), "a number")


def _number(value: object, column: Column, fact: str) -> float:
    days = _days(value) if column.format.startswith(_DAYS) else None
    if days is not None:
        return days
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise SchemaError(
            f"column {column.name!r}: {fact} must be {_NUMBERS.get(fact, 'numbers')}; got "
            f"``{type(value).__name__}``{_as_number(column.format)}"
        )
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise SchemaError(f"column {column.name!r}: {fact} must be finite; got ``{number}``")
    return number + 0.0  # no negative zero: it would be another fact than zero


_DAYS = ("%td", "%d", "%-td")


def _days(value: object) -> float | None:
    """Days since 1 January 1960 of a date, which may be text such as 2021-03-05; None of others."""
    if isinstance(value, str):
        try:
            value = dt.date.fromisoformat(value)
        except ValueError:
            return None
    if not isinstance(value, dt.date) or isinstance(value, dt.datetime):
        return None
    return float((value - dt.date(1960, 1, 1)).days)


CellKind = Literal["text", "date", "number"]


def cell_kind(declared: Mapping[str, Any]) -> CellKind | None:
    """What the cells of a column are by its declared levels or bounds; None without any.

    Examples
    --------
    >>> cell_kind({"levels": ["1", "2a"]}), cell_kind({"bounds": ["2021-03-05", "2021-04-05"]})
    ('text', 'date')
    """
    given = (declared.get(fact) for fact in ("levels", "bounds"))
    listed = [x for some in given if isinstance(some, (list, tuple)) for x in some]
    if listed and all(_days(one) is not None for one in listed):
        return "date"
    if any(isinstance(one, str) for one in listed):
        return "text"
    return "number" if listed else None


def _as_number(display: str) -> str:
    """How a date is given, for a column that is displayed as one."""
    if display.startswith(_DAYS):
        return "; give a date as 2021-03-05, or as its days since 1 January 1960"
    if display.startswith(("%tc", "%-tc")):
        return "; give a time as its milliseconds since 1 January 1960"
    return ""


def _bounds(value: object, column: Column, _fact: str) -> tuple[float, float]:
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise SchemaError(
            f"column {column.name!r}: bounds are ``(low, high)``; got {_length(value)}"
        )
    low, high = (_number(x, column, "bounds") for x in value)
    if low >= high:
        raise SchemaError(
            f"column {column.name!r}: bounds ({low:g}, {high:g}) are reversed or empty; "
            "give ``(low, high)`` with low < high"
        )
    return low, high


def _levels(value: object, column: Column, _fact: str) -> tuple[float | str, ...]:
    if not isinstance(value, (tuple, list)) or not value:
        raise SchemaError(f"column {column.name!r}: levels are a list of at least one value")
    if column.is_text:
        if not all(isinstance(level, str) for level in value):
            raise SchemaError(f"column {column.name!r} holds text; its levels must be text")
        found: list[float | str] = [str(level) for level in value]
    else:
        found = [_number(level, column, "levels") for level in value]
    if len(set(found)) < len(found):
        raise SchemaError(f"column {column.name!r}: a level is given twice; give each once")
    return tuple(found)


def _bins(value: object, column: Column, _fact: str) -> int | tuple[float, ...]:
    if isinstance(value, (tuple, list)) and value:
        return tuple(_number(edge, column, "bins") for edge in value)
    number = _whole(value)
    if number is None or not 1 <= number <= MOST_BINS:
        raise SchemaError(
            f"column {column.name!r}: ``bins={given(value)}``; give a number of bins from 1 to "
            f"{MOST_BINS}, or a list of the inner edges"
        )
    return number


def _decimals(value: object, column: Column, _fact: str) -> int:
    number = _whole(value)
    if number is None or not 0 <= number <= 15:
        raise SchemaError(f"column {column.name!r}: ``decimals={given(value)}``; give 0 to 15")
    return number


def _scale(value: object, column: Column, fact: str) -> float:
    number = _finite(value, column, fact)
    if number < EXTREMES[0]:
        raise SchemaError(
            f"column {column.name!r}: ``{fact}={given(value)}``; a standard deviation is above "
            "0: leave it out where nothing is known"
        )
    return number


def _missing_policy(value: object, column: Column, fact: str) -> MissingPolicy:
    if isinstance(value, str):
        check_literal(value, MissingWord, fact, column.name)
        return value
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise SchemaError(
            f"column {column.name!r}: ``missing_policy={given(value)}``; allowed: "
            f"{', '.join(get_args(MissingWord))}, or the number that stands for a missing value"
        )
    return _finite(value, column, fact)


def _finite(value: object, column: Column, fact: str) -> float:
    """Return a number of which doubles hold the square."""
    number = _number(value, column, fact)
    if abs(number) > EXTREMES[1]:
        raise SchemaError(
            f"column {column.name!r}: ``{fact}={given(value)}``; give a number within "
            f"{EXTREMES[1]:g} of 0"
        )
    return number


def _whole(value: object) -> int | None:
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    return int(value) if whole else None  # type: ignore[call-overload]


def _length(value: object) -> str:
    kind = f"``{type(value).__name__}``"
    return f"{kind} of length {len(value)}" if isinstance(value, (tuple, list)) else kind


def _flag(value: object, column: Column, fact: str) -> bool:
    if not isinstance(value, bool):
        raise SchemaError(
            f"column {column.name!r}: ``{fact}={given(value)}``; give ``True`` or ``False``"
        )
    return value


def _text(value: object, column: Column, fact: str) -> str:
    if not isinstance(value, str):
        raise SchemaError(f"column {column.name!r}: {fact} must be text; got ``{given(value)}``")
    return value


def _names(value: object, column: Column, fact: str) -> tuple[str, ...]:
    listed: object = (value,) if isinstance(value, str) else value
    if (
        not isinstance(listed, (tuple, list))
        or not listed
        or not all(isinstance(name, str) and name for name in listed)
    ):
        raise SchemaError(
            f"column {column.name!r}: {fact} names other columns; got {_length(value)}"
        )
    if column.name in listed:
        raise SchemaError(f"column {column.name!r}: {fact} names the column itself; leave it out")
    return tuple(dict.fromkeys(listed))


_CHOICES = {"fate": Fate, "role": Role, "built_from": BuiltFrom}


def _choice(value: object, column: Column, fact: str) -> object:
    check_literal(value, _CHOICES[fact], fact, column.name)
    return value


_READERS: dict[str, Callable[[Any, Column, str], Any]] = {
    "bounds": _bounds,
    "levels": _levels,
    "bins": _bins,
    "sd": _scale,
    "sd_within": _scale,
    "centre": _finite,
    "missing_policy": _missing_policy,
    "clip": _flag,
    "decimals": _decimals,
    "integer": _flag,
    "missing": lambda value, column, _: check_missing_codes(value, column.name),
    "fate": _choice,
    "role": _choice,
    "exclusive": _text,
    "built_from": _choice,
    "constants_public": _flag,
    "coordinates": _flag,
    "confirmed": _flag,
    "derived": _text,
    "made_of": _names,
    "label": _text,
    "format": _text,
}

DECLARABLE = tuple(_READERS)
"""Names of the facts that may be declared."""


def read_fact(fact: str, value: object, column: Column) -> Any:
    """Return a declared fact as a column keeps it, or refuse it."""
    return _READERS[fact](value, column, fact)
