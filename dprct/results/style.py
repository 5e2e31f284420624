"""How a table prints its numbers: digits, brackets and stars, with a few layouts by name."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TypedDict, get_args

from dprct.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Brackets = Literal["()", "[]", "{}", ""]
StarPlace = Literal["estimate", "se"]
StarsFrom = Literal["p", "adjusted"]
Errors = Literal["beside", "below"]

MOST_DIGITS = 15
_BRACKETS = {"()": "parentheses", "[]": "brackets", "{}": "braces"}


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimate with what is printed around it, unrounded; NaN where there is nothing.

    Parameters
    ----------
    value, se : float
    p, adjusted : float
        p-value, and p-value adjusted for the other hypotheses of its family.

    Examples
    --------
    >>> Estimate(0.431, 0.023).p
    nan
    """

    value: float
    se: float = math.nan
    p: float = math.nan
    adjusted: float = math.nan


class StyleOptions(TypedDict, total=False):
    """The options of :class:`Style`, and ``style``, the name of the one to start from."""

    style: str
    digits: int
    p_digits: int
    brackets: Brackets
    stars: StarPlace | None
    stars_from: StarsFrom
    thresholds: tuple[float, ...]
    errors: Errors
    thousands: bool
    notes: bool


@dataclass(frozen=True, slots=True)
class Style:
    """How numbers are printed.

    Parameters
    ----------
    digits, p_digits : int
        Decimals of estimates and their errors, and of p-values.
    brackets : {"()", "[]", "{}", ""}
        Around standard errors.
    stars : {"estimate", "se"} or None
        What stars stand beside; None prints none.
    stars_from : {"p", "adjusted"}
        Which p-value they speak of.
    thresholds : tuple of float
        A p-value below one of them earns a star.
    errors : {"beside", "below"}
        Standard errors in a column beside the estimate, or in a row below it.
    thousands : bool
        Whether estimates have commas, as counts always do.
    notes : bool
        Whether notes are printed.

    Examples
    --------
    >>> style = STYLES["paper"]
    >>> style.standard_error(Estimate(0.132, 0.0971, p=0.087))
    Printed(text='[0.097]', stars=1)
    """

    digits: int = 3
    p_digits: int = 3
    brackets: Brackets = "()"
    stars: StarPlace | None = "estimate"
    stars_from: StarsFrom = "p"
    thresholds: tuple[float, ...] = (0.1, 0.05, 0.01)
    errors: Errors = "below"
    thousands: bool = False
    notes: bool = True

    def __post_init__(self) -> None:
        for name in ("digits", "p_digits"):
            value = getattr(self, name)
            if (
                isinstance(value, bool)
                or not isinstance(value, int)
                or not 0 <= value <= MOST_DIGITS
            ):
                raise ParameterError(
                    f"{name}={value!r}; give a whole number from 0 to {MOST_DIGITS}"
                )
        for name, kind in (
            ("brackets", Brackets),
            ("stars", StarPlace),
            ("stars_from", StarsFrom),
            ("errors", Errors),
        ):
            value = getattr(self, name)
            if value not in get_args(kind) and not (name == "stars" and value is None):
                allowed = ", ".join(map(repr, get_args(kind)))
                none = " or None" if name == "stars" else ""
                raise ParameterError(f"{name}={value!r}; allowed: {allowed}{none}")
        given = tuple(self.thresholds)
        if any(not 0 < one < 1 for one in given) or len(set(given)) < len(given):
            raise ParameterError(
                f"thresholds={self.thresholds!r}; give distinct levels between 0 and 1 such as "
                "(0.1, 0.05, 0.01)"
            )
        object.__setattr__(self, "thresholds", tuple(sorted(given, reverse=True)))

    def changed(self, options: Mapping[str, object]) -> Style:
        """Return the style with some options changed; ``style`` names another one to start from."""
        known = ["style", *(field.name for field in fields(self))]
        unknown = [name for name in options if name not in known]
        if unknown:
            raise ParameterError(
                f"no option {unknown[0]!r} of a table; allowed: {', '.join(known)}"
            )
        rest = {name: value for name, value in options.items() if name != "style"}
        start = style_named(options["style"]) if "style" in options else self
        return replace(start, **rest)  # type: ignore[arg-type]  # checked above and on creation

    def number(self, value: float, digits: int | None = None) -> Printed:
        """Print a number, with a count's commas if it is whole by type."""
        if isinstance(value, int):
            return Printed(f"{value:,d}")
        return Printed(self._fixed(value, self.digits if digits is None else digits))

    def estimate(self, cell: Estimate) -> Printed:
        """Print an estimate."""
        text = self._fixed(cell.value, self.digits)
        return Printed(text, self._count(cell) if self.stars == "estimate" and text else 0)

    def standard_error(self, cell: Estimate) -> Printed:
        """Print a standard error in its brackets."""
        text = self._enclosed(self._fixed(cell.se, self.digits), self.brackets)
        return Printed(text, self._count(cell) if self.stars == "se" and text else 0)

    def p_value(self, p: float) -> Printed:
        """Print a p-value; below an estimate, in the brackets that standard errors do not use."""
        text = self._fixed(p, self.p_digits)
        if self.errors == "beside":
            return Printed(text)
        return Printed(self._enclosed(text, self._other_brackets))

    def legend(self) -> str:
        """Return what the stars mean, or nothing where there are none."""
        if self.stars is None or not self.thresholds:
            return ""
        levels = ", ".join(
            f"{'*' * k} p < {level:g}" for k, level in enumerate(self.thresholds, start=1)
        )
        return f"{levels} (adjusted)." if self.stars_from == "adjusted" else f"{levels}."

    def key_to_brackets(self, parts: Sequence[str]) -> str:
        """Return what stands in which brackets below an estimate; nothing where beside it."""
        named = {"p.value": "p-values", "p.adjusted": "adjusted p-values"}
        ps = [words for part, words in named.items() if part in parts]
        if self.errors == "beside" or "std.error" not in parts or not self.brackets:
            return ""
        said = [f"Standard errors in {_BRACKETS[self.brackets]}"]
        said += [f"{words} in {_BRACKETS[self._other_brackets]}" for words in ps]
        return ", ".join(said) + "."

    @property
    def _other_brackets(self) -> str:
        return "()" if self.brackets == "[]" else "[]"

    def _count(self, cell: Estimate) -> int:
        p = cell.adjusted if self.stars_from == "adjusted" else cell.p
        return sum(p < level for level in self.thresholds)

    def _fixed(self, value: float, digits: int) -> str:
        if math.isnan(value):
            return ""
        text = f"{value:,.{digits}f}" if self.thousands else f"{value:.{digits}f}"
        return text.removeprefix("-") if text.strip("-0.,") == "" else text

    @staticmethod
    def _enclosed(text: str, brackets: str) -> str:
        return f"{brackets[:1]}{text}{brackets[1:]}" if text else ""


@dataclass(frozen=True, slots=True)
class Printed:
    """A cell as it is printed: its text, and how many stars follow.

    Examples
    --------
    >>> str(Printed("-0.247", 3))
    '-0.247***'
    """

    text: str
    stars: int = 0

    def __str__(self) -> str:
        return self.text + "*" * self.stars


STYLES: Mapping[str, Style] = MappingProxyType(
    {
        "paper": Style(brackets="[]", stars="se", errors="beside"),
        "econ": Style(),
        "aer": Style(stars=None),
        "esttab": Style(thresholds=(0.05, 0.01, 0.001)),
    }
)
"""By name: standard errors in brackets beside the estimate with stars after them (``paper``);
below it in parentheses with stars at the estimate (``econ``), without stars (``aer``), or with
the levels of Stata's ``esttab``."""


def style_named(name: object) -> Style:
    """Return a style by its name.

    Raises
    ------
    ParameterError
        If there is none.

    Examples
    --------
    >>> style_named("aer").stars is None
    True
    """
    if not isinstance(name, str) or name not in STYLES:
        raise ParameterError(f"style={name!r}; allowed: {', '.join(STYLES)}")
    return STYLES[name]
