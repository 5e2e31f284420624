"""Public facts as values: what a column is, what its file says of it, and who one record is.

The rules of a column stand here once, for arrays in memory and for expressions of an engine, and so
do the operations that engines do otherwise.
"""

from __future__ import annotations

import math
import re
from dataclasses import field, fields, replace
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dprct.arguments import given
from dprct.errors import ParameterError, SchemaError
from dprct.lazy import narwhals as nw
from dprct.missing import MISSING_CODES
from dprct.records import dataclass
from dprct.schema.expressions import parents
from dprct.schema.facts import (
    DECLARABLE,
    INTEGER_LIMITS,
    BuiltFrom,
    Fate,
    MissingPolicy,
    Role,
    check_column,
    check_storage_type,
    is_text,
    number_limits,
    read_fact,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray


Code = int | str  # a labelled number, or a missing code such as ".a"

_COORDINATE = re.compile(r"^(lat|lon|lng|gps\w*|\w*latitude\w*|\w*longitude\w*)$", re.IGNORECASE)
_COORDINATE_LABEL = re.compile(r"\b(latitude|longitude|gps)\b", re.IGNORECASE)

_STANDARDISED = re.compile(r"(^|_)(z|zscore|std|norm(ali[sz]ed)?)(_|$)", re.IGNORECASE)
_CONSTRUCTED = re.compile(
    r"(^|_)(winsor\w*|w9[059]|imput\w*|demean\w*|pctile)(_|$)|p9[059](?!\d)", re.IGNORECASE
)
_CONSTRUCTED_LABEL = re.compile(
    r"\b(z-?score|standardi[sz]ed|winsori[sz]ed|imputed|normali[sz]ed|percentile"
    r"|(village|group|cluster|school|control|sample) (mean|average))\b",
    re.IGNORECASE,
)

DATASET = "_dta"
"""Owner of the characteristics and notes of the data set as a whole."""


def date_kind(display_format: str) -> str | None:
    """Return d, c, w, m, q, h or y for a Stata date format that has a calendar meaning, or None.

    Examples
    --------
    >>> date_kind("%tdD_m_Y"), date_kind("%d"), date_kind("%9.0g")
    ('d', 'd', None)
    """
    match = re.match(r"%-?(?:t([dcwmqhy])|(d))", display_format)
    return None if match is None else match[1] or match[2]


def shown(text: str) -> str:
    """Text as it can be printed: undecodable bytes become replacement characters."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


@dataclass(frozen=True)
class Column:
    """The public facts of one column.

    The first five come from the header of a .dta file.  The others are declared by the data owner
    and never read from the data.

    Parameters
    ----------
    name : str
    type : str
        Stata storage type: byte, int, long, float, double, ``str1`` to ``str2045``, strL.
    format : str
        Stata display format, for example ``"%9.0g"`` or ``"%td"``; empty for the default.
    label : str
        Variable label.
    value_label : str
        Name of the attached value-label set (see :class:`FileFacts`), or empty.
    bounds : (low, high) or None
        Smallest and largest admissible number.
    levels : tuple or None
        The admissible values, if they are few.
    integer : bool
        Whether admissible numbers are whole; implied by byte, int and long.
    decimals : int or None
        Number of decimals of an admissible number.
    bins : int or tuple of float or None
        Number of equal bins within ``bounds``, or the inner edges of the bins.
    sd : float or None
        Its approximate standard deviation, from public knowledge: it scales noise and plans errors.
    sd_within : float or None
        The same, of deviations from the mean of a unit of several rows.
    centre : float or None
        Its approximate mean, from public knowledge; within ``bounds``.
    clip : bool
        Whether values beyond ``bounds`` count as the nearest bound.  They are refused otherwise.
    role : str or None
        outcome, treatment, covariate, block, cluster, id or weight.
    fate : str or None
        What a release does with the column: modelled, filler, withheld, key, public or drop.
    derived : str or None
        Expression of other columns, from which a release computes this one.
    made_of : tuple of str or None
        Other columns that it is computed from, if ``derived`` does not say how: an interaction with
        treatment, for example, is not a covariate.
    missing : tuple of str or None
        The admissible missing codes, each of which is a level of its own.  ``()``, which may be
        written ``"never"``, means that no value may be missing, None that nothing was declared.
    missing_policy : {"public", "private", "level"}, number or None
        What an estimate does with missing values.  ``"public"``: it is public who has a value, and
        the others are left out.  ``"private"``: they are left out, and who they are is protected.
        A number within ``bounds`` stands for what is missing, which changes the estimand.
        ``"level"``: missing is a level of its own, as it always is in histograms and for features.
        A method that does not offer a policy says which it offers.
    exclusive : str or None
        Name of a group of 0/1 columns of which at most one is 1 in each row, such as dummies of
        arms.  They are modelled as one column.
    built_from : {"own", "cohort"} or None
        Whether each value is computed from the record of one person (``"own"``) or from several
        (``"cohort"``, such as a z-score).
    constants_public : bool
        Whether the constants of a cohort column (mean, standard deviation, cut-off) are public.
    coordinates : bool or None
        Whether the column locates a person.  None decides by its name and label.
    confirmed : bool
        Whether facts from the header of a confidential file are confirmed as public.

    Raises
    ------
    SchemaError
        If a fact is malformed, or contradicts another.

    Examples
    --------
    >>> Column("age", "byte", bounds=(15, 80), bins=5).is_integer
    True
    """

    name: str
    type: str = "double"
    format: str = ""
    label: str = ""
    value_label: str = ""
    bounds: tuple[float, float] | None = None
    levels: tuple[float | str, ...] | None = None
    integer: bool = False
    decimals: int | None = None
    bins: int | tuple[float, ...] | None = None
    sd: float | None = None
    sd_within: float | None = None
    centre: float | None = None
    clip: bool = False
    role: Role | None = None
    fate: Fate | None = None
    derived: str | None = None
    made_of: tuple[str, ...] | None = None
    missing: tuple[str, ...] | None = None
    missing_policy: MissingPolicy | None = None
    exclusive: str | None = None
    built_from: BuiltFrom | None = None
    constants_public: bool = False
    coordinates: bool | None = None
    confirmed: bool = False

    def __post_init__(self) -> None:
        """Read and check what is declared, however the column is made: as a study file's is."""
        check_storage_type(self.type, self.name)
        for name in ("format", *DECLARABLE):  # by which dates are read
            value = getattr(self, name)
            if value is not _DEFAULTS[name]:
                object.__setattr__(self, name, read_fact(name, value, self))
        check_column(self)

    @property
    def is_text(self) -> bool:
        """Whether the column holds text."""
        return is_text(self.type)

    @property
    def is_free_text(self) -> bool:
        """Whether its texts may be of any length, and are neither declared nor names of groups."""
        return self.type == "strL" and self.levels is None and self.role not in ("block", "cluster")

    @property
    def is_integer(self) -> bool:
        """Whether every admissible number is whole."""
        return self.integer or self.type in INTEGER_LIMITS or self.decimals == 0

    @property
    def step(self) -> Fraction | None:
        """Exact distance between admissible numbers; None for a continuous column."""
        if self.is_integer:
            return Fraction(1)
        return None if self.decimals is None else Fraction(1, 10**self.decimals)

    @property
    def looks_constructed(self) -> bool:
        """Whether its name or label suggests that values use several people's records.

        A column of zeros and ones is not standardised, whatever it is called: an instrument ``z``.
        """
        standardised = self.levels != (0, 1) and _STANDARDISED.search(self.name)
        named = standardised or _CONSTRUCTED.search(self.name)
        return bool(named or _CONSTRUCTED_LABEL.search(self.label))

    @property
    def locates(self) -> bool:
        """Whether the column holds coordinates, by declaration or by its name."""
        if self.coordinates is not None:
            return self.coordinates
        return bool(_COORDINATE.search(self.name) or _COORDINATE_LABEL.search(self.label))


def extent_of(column: Column) -> tuple[float, float] | None:
    """Bounds of a column of numbers, else its smallest and largest level; None if it has neither.

    Examples
    --------
    >>> extent_of(Column("urban", levels=(0.0, 1.0)))
    (0.0, 1.0)
    """
    if column.bounds is not None:
        return float(column.bounds[0]), float(column.bounds[1])
    levels = [] if column.is_text else sorted(map(float, column.levels or ()))
    return (levels[0], levels[-1]) if levels else None


def rebounded(column: Column, bounds: tuple[float, float] | None, **changes: Any) -> Column:
    """Column with other bounds or none, without what is declared within its own.

    Examples
    --------
    >>> rebounded(Column("x", bounds=(0, 5), centre=4, clip=True), None).clip
    False
    """
    free = {"centre": None, "clip": False, "missing_policy": None}
    return replace(column, bounds=bounds, **free, **changes)  # type: ignore[arg-type]


_DEFAULTS = {fact.name: fact.default for fact in fields(Column)}


@dataclass(frozen=True)
class FileFacts:
    """What a .dta file says of itself, besides its columns and its data.

    Notes
    -----
    Text that is not valid in the file's encoding keeps its bytes as surrogate escapes.
    """

    release: int = 118  # file format: 102 to 105, 108, 110, 111, 113 to 115 or 117 to 119
    byteorder: Literal["<", ">"] = "<"
    label: str = ""  # dataset label
    timestamp: str = ""  # as written by Stata, for example ``"21 Nov 2026 07:36"``, or empty
    sorted_by: tuple[str, ...] = ()  # columns by which the rows are sorted, in order
    # (int or missing code): every label set by name, attached or not, in the order of the file.
    value_labels: Mapping[str, Mapping[Code, str]] = field(
        default_factory=lambda: MappingProxyType({})
    )
    # (owner, name, text): owner is a column or ``_dta``; notes are the characteristics ``note0``,
    # ``note1``, ...
    characteristics: tuple[tuple[str, str, str], ...] = ()
    rows: int | None = None  # number of rows, public

    def __reduce__(self) -> tuple[object, ...]:
        # a read-only mapping does not pickle, and Python 3.11.2 ignores __getstate__ with slots
        values = [getattr(self, part.name) for part in fields(self)]
        plain = {name: dict(labels) for name, labels in self.value_labels.items()}
        return FileFacts, tuple(plain if value is self.value_labels else value for value in values)


@dataclass(frozen=True)
class Unit:
    """Who one record is.

    Parameters
    ----------
    name : str
        What the unit is called, for example ``"person"`` or ``"household"``.
    id : str or None
        Column that identifies the unit.  Repeated ids are refused unless ``max_rows`` allows them.
    max_rows : int
        Largest number of rows of one unit.  The guarantee is for whole units, and its price grows
        with this number.

    Examples
    --------
    >>> Unit("household", id="hhid", max_rows=3).max_rows
    3
    """

    name: str = "person"
    id: str | None = None
    max_rows: int = 1

    def __post_init__(self) -> None:
        for fact in ("name", "id"):
            value = getattr(self, fact)
            if not isinstance(value, str) and not (fact == "id" and value is None):
                raise SchemaError(f"unit: ``{fact}={given(value)}``; give text")
        rows = self.max_rows
        if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
            raise ParameterError(f"``max_rows={given(rows)}``; give a whole number of at least 1")
        if rows > 1 and self.id is None:
            raise SchemaError(
                f"``max_rows={given(rows)}`` needs the column that identifies a unit; give ``id=``"
            )

    @property
    def repeated_id(self) -> str | None:
        """The column that identifies a unit, where one may have several rows; else None."""
        return self.id if self.max_rows > 1 else None

    @property
    def said(self) -> str:
        """The public fact about rows per unit, in words.

        Examples
        --------
        >>> Unit("household", id="hhid", max_rows=3).said
        'how many rows each household has (at most 3)'
        """
        if self.id is not None:
            return f"how many rows each {self.name} has (at most {self.max_rows})"
        return f"that no {self.name} has two rows (declared: without an id it cannot be checked)"


def stored(column: Column, values: NDArray[Any]) -> NDArray[np.float64]:
    """Return numbers as the column's storage type holds them (float rounds to 24 bits).

    Examples
    --------
    >>> from dprct.schema import Column
    >>> stored(Column("x", "float"), np.array([0.1])).tolist()
    [0.10000000149011612]
    """
    x = values.astype(np.float64)
    if column.type == "float":
        return np.asarray(x.astype(np.float32), dtype=np.float64)
    return x


# Whose values a column holds: the rule that every query asks of every column that it reads.


def with_origin(column: Column, columns: Iterable[Column]) -> Column:
    """A column with the origin that its parents give it: what is made of a cohort's is one.

    Notes
    -----
    A function of a column in which one person moves the rows of others is such a column, whatever
    is declared of it; so is, unless it is declared ``"own"``, one of a column that looks
    constructed and of which nothing is declared.  Constants that are public make the parent a
    column of its own record, and must be declared there.

    Examples
    --------
    >>> from dprct.schema import Column
    >>> ill = Column("ill", built_from="cohort")
    >>> with_origin(Column("twice", derived="2 * ill"), [ill]).built_from
    'cohort'
    """
    if column.derived is None and column.made_of is None:
        return column
    found = ancestors(column, columns)
    moved = any(one.built_from == "cohort" and not one.constants_public for one in found.values())
    open_ones = any(one.built_from is None and one.looks_constructed for one in found.values())
    if not moved and not (open_ones and column.built_from is None):
        return column
    return replace(column, built_from="cohort", constants_public=False)


def ancestors(column: Column, columns: Iterable[Column]) -> dict[str, Column]:
    """Columns of which one is made: by its expression, by declaration, or through such columns.

    Examples
    --------
    >>> from dprct.schema import Column
    >>> a, b = Column("a"), Column("b", derived="2 * a")
    >>> sorted(ancestors(Column("c", made_of=("b",)), [a, b]))
    ['a', 'b']
    """
    known = {one.name: one for one in columns}
    found: dict[str, Column] = {}
    waiting = parents_of(column)
    while waiting:
        parent = known.get(waiting.pop())
        if parent is None or parent.name in found or parent.name == column.name:
            continue
        found[parent.name] = parent
        waiting += parents_of(parent)
    return found


def parents_of(column: Column) -> list[str]:
    """Columns of which one is made at once, by its expression or by declaration."""
    derived = () if column.derived is None else parents(column.derived)
    return sorted({*derived, *(column.made_of or ())})


def check_own(column: Column) -> None:
    """Refuse a column in which one person can move the rows of others; from the schema alone.

    It is asked of columns whose values a guarantee protects.  What a guarantee lists as public,
    such as arms and blocks where the design is public, is the same in all neighbours, whatever it
    is built from.

    Notes
    -----
    A sensitivity bounds what the rows of *one* person can add.  Of a column that is standardised
    over the sample, or counts the ill of a village, one person moves all rows, and no sensitivity
    of this package covers that.  The values through which a query reads (:class:`~dprct.encoding`'s
    encodings, ``Clipped``, ``Feature``, ``Block``, ``Treated``, ``Donors`` and the covariates of an
    index) therefore ask this when they are made, so that no method can forget it.

    Examples
    --------
    >>> from dprct.schema import Column
    >>> check_own(Column("age_z", built_from="own"))
    """
    if column.built_from == "cohort" and not column.constants_public:
        if column.derived is not None:
            raise SchemaError(
                f"column {column.name!r} is derived, and is built from other people's values "
                "(cohort), or from a column that is or looks so, so that one person can change "
                "every row; rebuild that column from public constants, or declare "
                "constants_public of it"
            )
        raise SchemaError(
            f"column {column.name!r} is built from other people's values (cohort), so one person "
            "can change every row; rebuild it from public constants, or declare constants_public"
        )
    if column.built_from is None and column.looks_constructed:
        raise SchemaError(
            f"column {column.name!r} is named or labelled like a standardised, winsorised or "
            "imputed one; declare ``built_from='own'`` (its own record and public constants only) "
            "or 'cohort'"
        )


_FEW_LEVELS = 16
"""Up to so many levels are compared one by one, which is cheaper than looking them up in a list."""

Rule = tuple[str, Any]
"""What is wrong, in words, and where."""

WHOLE = 2.0**53
"""From here on a double does not tell a whole number from the next."""

BEYOND = (
    "a whole number of 2^53 or more, which a double does not tell from the next (give doubles, or "
    "an id as text)"
)
"""Of a column of exact numbers: those are read as doubles."""


class Arrays:
    """What rules are made of, in NumPy."""

    @staticmethod
    def known(x: NDArray[Any]) -> NDArray[np.bool_]:
        """Whether there is a value."""
        return _one_if_all(~np.isnan(x))

    @staticmethod
    def finite(x: NDArray[Any]) -> NDArray[np.bool_]:
        """Whether a value is finite."""
        return _one_if_all(np.isfinite(x))

    @staticmethod
    def small(x: NDArray[Any]) -> NDArray[np.bool_]:
        """Whether a value may have a fraction: beyond, every double is whole."""
        return np.asarray(np.abs(x) < WHOLE)

    @staticmethod
    def floor(x: NDArray[Any]) -> NDArray[Any]:
        """Round down to a whole number."""
        return np.asarray(np.floor(x))

    @staticmethod
    def single(x: NDArray[Any]) -> NDArray[Any]:
        """Round to 24 bits, as storage type float does."""
        return x.astype(np.float32).astype(np.float64)

    @staticmethod
    def either(where: NDArray[np.bool_], x: NDArray[Any], other: Any) -> NDArray[Any]:
        """Return ``x`` where it holds, else the other."""
        return x if where.all() else np.where(where, x, other)

    @staticmethod
    def among(x: NDArray[Any], values: Sequence[Any]) -> NDArray[np.bool_]:
        """Whether a value is one of these; objects are compared as they are."""
        if x.dtype != np.object_:
            return np.isin(x, values)
        known = set(values)
        return np.array([value in known for value in x], np.bool_)

    @staticmethod
    def several(masks: Sequence[NDArray[np.bool_]]) -> NDArray[np.bool_]:
        """Whether more than one of the masks holds."""
        return np.asarray(np.sum(masks, axis=0) > 1)


def _one_if_all(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return one True in the place of a mask that holds everywhere, which saves passes over it."""
    return np.asarray(True) if mask.all() else mask


class Expressions:
    """What rules are made of, in an engine."""

    @staticmethod
    def known(x: nw.Expr) -> nw.Expr:
        """Whether there is a value."""
        return ~(x.is_null() | x.is_nan())

    @staticmethod
    def finite(x: nw.Expr) -> nw.Expr:
        """Whether a value is finite."""
        return Expressions.known(x) & x.is_finite()

    @staticmethod
    def small(x: nw.Expr) -> nw.Expr:
        """Whether a value may have a fraction: beyond, every double is whole."""
        return x.abs() < WHOLE

    @staticmethod
    def floor(x: nw.Expr) -> nw.Expr:
        """Round down to a whole number."""
        return x.floor().cast(nw.Float64)

    @staticmethod
    def single(x: nw.Expr) -> nw.Expr:
        """Round to 24 bits, as storage type float does."""
        return x.cast(nw.Float32).cast(nw.Float64)

    @staticmethod
    def either(where: nw.Expr, x: nw.Expr, other: Any) -> nw.Expr:
        """Return ``x`` where it holds, else the other."""
        return (
            nw.when(where).then(x).otherwise(other if isinstance(other, nw.Expr) else nw.lit(other))
        )

    @staticmethod
    def among(x: nw.Expr, values: Sequence[Any]) -> nw.Expr:
        """Whether a value is one of these."""
        return x.is_in(list(values))

    @staticmethod
    def several(masks: Sequence[nw.Expr]) -> nw.Expr:
        """Whether more than one of the masks holds."""
        ones = [nw.when(mask).then(nw.lit(1)).otherwise(nw.lit(0)) for mask in masks]
        return nw.sum_horizontal(*ones) > 1


Spelling = type[Any]
"""Arrays or Expressions."""


# What engines compute otherwise, each in its way, unless it is written so.


def divided(x: nw.Expr, by: float) -> nw.Expr:
    """Return x / by, rounded once, of finite x.

    Polars multiplies by the reciprocal of a divisor that is one number, which rounds twice, and not
    in tables of one row; so the divisor is handed to it as a column.  The reciprocal of a power of
    two is exact, and multiplying by it rounds as dividing does.
    """
    if by and abs(math.frexp(by)[0]) == 0.5 and math.isfinite(1.0 / by):
        return x * (1.0 / by)
    return x / (x * 0.0 + by)


def clipped(name: str, low: float, high: float) -> nw.Expr:
    """Return a numeric column within [low, high], missing at ``low``; the same on every engine.

    Engines differ in how a NaN compares, so that it is named.
    """
    x = nw.col(name).cast(nw.Float64)
    known = nw.when((x >= low) & ~x.is_nan()).then(x).otherwise(nw.lit(low))
    return known.clip(low, high)


def clipped_if_beyond(name: str, low: float, high: float) -> nw.Expr:
    """Return the same number; engines are spared most of it within the bounds, pandas is not."""
    x = nw.col(name).cast(nw.Float64)
    above = nw.when((x > high) & ~x.is_nan()).then(nw.lit(high)).otherwise(nw.lit(low))
    return as_is_within(x, low, high, above)


def as_is_within(x: nw.Expr, low: float, high: float, otherwise: nw.Expr) -> nw.Expr:
    """Return x where it is within [low, high], else an expression that engines are spared of there.

    No engine takes a NaN for a number of at most ``high``, and null is within nothing.
    """
    return nw.when((x >= low) & (x <= high)).then(x).otherwise(otherwise)


def missing_rules(column: Column, codes: Any, on: Spelling) -> Iterator[Rule]:
    """Yield what the missing codes of a column may not be, and where they are; -1 is not a code."""
    if column.missing is not None:
        legal = [-1, *(MISSING_CODES.index(code) for code in column.missing)]
        allowed = ", ".join(column.missing) or "none"
        words = f"a missing code that is not declared (declared: {allowed})"
        yield words, ~on.among(codes, legal)


def number_rules(column: Column, x: Any, on: Spelling) -> Iterator[Rule]:
    """Yield what the numbers of a column may not be, and where they are."""
    finite = on.finite(x)
    yield "an infinite value", on.known(x) & ~finite
    low, high = number_limits(column.type)
    beyond = (x < low) | (x > high)
    yield f"a value that type {column.type} cannot hold", finite & beyond
    held = finite & ~beyond
    # what no rounding is to see, because an engine might refuse to round it, is 0 here
    safe = on.either(held, x, 0.0)
    if column.type == "float":
        yield "a value that type float cannot hold exactly", held & (on.single(safe) != safe)
    if column.is_integer:
        yield "a value that is not whole", held & on.small(x) & (on.floor(safe) != safe)
    if column.decimals:
        words = f"a value with more than {column.decimals} decimals"
        yield words, finite & ~(held & _has_decimals(column, safe, on))
    if column.bounds is not None:
        least, most = stored(column, np.array(column.bounds)).tolist()
        yield "a value outside the bounds", finite & ((x < least) | (x > most))
    if column.levels is not None:
        levels = stored(column, np.array(column.levels)).tolist()
        yield "a value outside the declared levels", finite & ~on.among(x, levels)


def legal_number(column: Column, x: nw.Expr, codes: nw.Expr | None, *, exact: bool) -> nw.Expr:
    """Whether a number breaks no rule of a column that stays in an engine; else null or not.

    ``codes`` has the number of each row's missing code, where the table has such; else null and NaN
    are ".".  ``exact`` numbers were of a type of which doubles do not hold all.

    Notes
    -----
    The same as that no rule of :func:`number_rules`, of :func:`missing_rules` and, of ``exact``
    numbers, :data:`BEYOND` is broken, which ``tests/contract`` holds against each other.  It costs
    an engine a fraction of these: the narrowest limits stand for all, and a level is looked at
    here, once.
    """
    absent = ~Expressions.known(x)
    held = _legal_value(column, x, exact=exact)
    if codes is not None:
        wrong = [broken for _, broken in missing_rules(column, codes, Expressions)]
        return held | (absent & ~wrong[0] if wrong else absent)
    may_lack = column.missing is None or MISSING_CODES[0] in column.missing
    return held | absent if may_lack else held


def _legal_value(column: Column, x: nw.Expr, *, exact: bool) -> nw.Expr:
    """Whether there is an admissible number."""
    if column.levels is not None:
        return _one_of(_legal_levels(column, exact=exact), x)
    low, high = number_limits(column.type)
    if column.bounds is not None:
        least, most = stored(column, np.array(column.bounds)).tolist()
        low, high = max(low, least), min(high, most)
    within = _within(x, low, high)
    safe = Expressions.either(within, x, 0.0)
    if column.type == "float":
        within = within & (Expressions.single(safe) == safe)
    if column.is_integer:
        # Spark's floor ends in int64; beyond 2^53 every double is whole
        few = safe if max(-low, high) < WHOLE else Expressions.either(x.abs() < WHOLE, safe, 0.0)
        within = within & (Expressions.floor(few) == few)
    if column.decimals:
        within = within & _has_decimals(column, safe, Expressions)
    if exact and max(-low, high) >= WHOLE:
        within = within & (x.abs() < WHOLE)
    return within


def _legal_levels(column: Column, *, exact: bool) -> list[float]:
    """Return the levels that break no other rule, in order."""
    values = stored(column, np.array(column.levels, np.float64))
    wrong = exact & (np.abs(values) >= WHOLE)
    with np.errstate(all="ignore"):
        for _, breaks in number_rules(column, values, Arrays):
            wrong = wrong | breaks
    return sorted(set(values[~wrong].tolist()))


def _one_of(levels: list[float], x: nw.Expr) -> nw.Expr:
    """Whether a number is one of these, as engines find out at the least cost."""
    first = levels[0] if levels else 0.5
    if first % 1 == 0 and abs(first) < WHOLE and levels == [first + k for k in range(len(levels))]:
        within = _within(x, first, levels[-1])
        safe = Expressions.either(within, x, 0.0)
        return within & (Expressions.floor(safe) == safe)
    if len(levels) > _FEW_LEVELS:
        return x.is_in(levels)
    found = nw.lit(False)
    for level in levels:
        found = nw.when(x == level).then(nw.lit(True)).otherwise(found)
    return found


def _within(x: nw.Expr, low: float, high: float) -> nw.Expr:
    """Whether a number is between two; no engine takes a NaN for at most a number."""
    return (x >= low) & (x <= high)


def _has_decimals(column: Column, x: Any, on: Spelling) -> Any:
    power = 10.0 ** (column.decimals or 0)
    scaled = x * power
    whole = on.either(on.small(scaled), on.floor(scaled + 0.5), scaled)
    back = whole / (whole * 0.0 + power)  # by a column: Polars rounds twice by a number
    return (on.single(back) if column.type == "float" else back) == x


def text_rules(column: Column, text: Any, on: Spelling) -> Iterator[Rule]:
    """Yield what the texts of a column may not be, and where they are."""
    if column.levels is not None:
        yield "a text outside the declared levels", ~on.among(text, column.levels)


def exclusive_groups(columns: Iterable[Column]) -> list[list[str]]:
    """Return the names of the columns of each exclusive group."""
    groups: dict[str, list[str]] = {}
    for column in columns:
        if column.exclusive is not None and not column.is_text:
            groups.setdefault(column.exclusive, []).append(column.name)
    return list(groups.values())


def exclusive_rules(
    groups: Iterable[Sequence[str]], ones: Mapping[str, Any], on: Spelling
) -> Iterator[Rule]:
    """Yield the exclusive groups, and where a row has several; ``ones``: where a column is 1."""
    for members in groups:
        words = f"{', '.join(members)}: a row with several of what is declared exclusive"
        yield words, on.several([ones[name] for name in members])


def unit_rules(unit: Unit, *, missing: bool, crowded: bool) -> Iterator[str]:
    """Yield what is wrong with the ids: one is missing, or has more rows than were declared."""
    if missing:
        yield "an id that is missing"
    if crowded and unit.max_rows == 1:
        yield f"a {unit.name} with several rows; declare max_rows to protect all of them"
    elif crowded:
        yield f"a {unit.name} with more rows than ``max_rows={unit.max_rows}``"


def is_short(column: Column) -> bool:
    """Whether the type of a column holds no whole number that a double would round."""
    return number_limits(column.type)[1] < WHOLE
