"""Every refusal of the package: one root, and leaves that also are the builtin a caller expects.

A message says what was given, what is allowed and what to do.  It names columns, parameters and
rules; it never shows a value of the data.

What a reader is to write (``confirm=True``, ``bounds=(low, high)``) stands between marks where the
message is made.  Python prints a message without its marks; R and the shell write what is marked in
their own words (:mod:`dprct.study.wording`).
"""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import TracebackType


MARK = "``"
"""What stands before and after a fragment of code in a message."""


def defect(error: BaseException) -> str:
    """Sentence on a defect of ours: where it showed, and nothing of what was being handled.

    What was being handled could be a value of the data.
    """
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    where = "an unknown place"
    if place is not None:
        frame = place.tb_frame
        module = frame.f_globals.get("__name__", "")
        where = f"{module}.{frame.f_code.co_name}, line {place.tb_lineno}"
    return (
        f"a defect of dprct: {type(error).__name__} in {where}; please report this line. What was "
        "being handled is not shown, because it could be a value of the data."
    )


_LONG = re.compile(r"\S{300,}")
_KEPT = 80


def shortened(value: object) -> str:
    """Text or number that was given as a message quotes it, cut where it is long.

    Examples
    --------
    >>> shortened("HC9"), shortened(10**5000)
    ("'HC9'", 'a number of 16610 bits')
    """
    if isinstance(value, int) and value.bit_length() > _KEPT * 4:  # Python writes none of 4,301
        return f"a number of {value.bit_length()} bits"
    return _LONG.sub(_cut, repr(value))


def shown(message: str) -> str:
    """Return a message with its long values cut."""
    return _LONG.sub(_cut, message)


def _cut(found: re.Match[str]) -> str:
    return f"{found[0][:_KEPT]}... ({len(found[0])} characters)"


class Words(str):
    """A message as Python prints it, which knows where its fragments of code are.

    Attributes
    ----------
    marked : str
        The message with its marks.

    Examples
    --------
    >>> Words("give ``hajek=True``, or leave ``errors=`` out")
    'give hajek=True, or leave errors= out'
    """

    __slots__ = ("marked",)
    marked: str

    def __new__(cls, text: str) -> Words:
        """Take a message with its marks."""
        words = super().__new__(cls, text.replace(MARK, ""))
        words.marked = text
        return words

    def __reduce__(self) -> tuple[object, ...]:
        return (Words, (self.marked,))


def unmarked(message: str) -> str:
    """Return a message as Python prints it; one without marks as it is."""
    return Words(message) if type(message) is str and MARK in message else message


def marked(message: object) -> str:
    """Return an error, a warning or a message with its marks, to be said within another message.

    Examples
    --------
    >>> error = ParameterError("give ``hajek=True``")
    >>> f"{error}; {marked(error)}"
    'give hajek=True; give ``hajek=True``'
    """
    if isinstance(message, (DprctError, DprctWarning)):
        message = message.args[0] if message.args else ""
    return message.marked if isinstance(message, Words) else str(message)


def reword(error: DprctError, message: str) -> None:
    """Give an error that was raised another message, whose fragments are marked."""
    error.args = (unmarked(message), *error.args[1:])


def kind_of(value: object) -> str:
    """Return the type of what was given, as a fragment: in R a list is a vector."""
    return f"{MARK}{type(value).__name__}{MARK}"


class DprctError(Exception):
    """Root of every refusal of this package; a long value that it quotes is cut."""

    def __init__(self, *args: object) -> None:
        super().__init__(*(unmarked(one) if isinstance(one, str) else one for one in args))

    def __str__(self) -> str:
        return shown(str(self.args[0])) if self.args else ""


class DprctWarning(UserWarning):
    """Something was done as asked, with a loss that its owner should know of."""

    def __init__(self, *args: object) -> None:
        super().__init__(*(unmarked(one) if isinstance(one, str) else one for one in args))


class ParameterError(DprctError, ValueError):
    """An argument such as ``epsilon`` is outside what is allowed."""

    @classmethod
    def unknown(cls, name: str, known: Iterable[str], where: str) -> ParameterError:
        """Say which argument does not exist, and what may have been meant."""
        hint = instead_of(name, known, "``{}=``")
        return cls(f"{where} has no option ``{name}=``; {hint}")


class SchemaError(DprctError, ValueError):
    """A public fact is missing, contradictory, or broken by the data."""


class ColumnError(DprctError, KeyError):
    """A column that does not exist was named."""

    @classmethod
    def unknown(cls, name: str, known: Iterable[str], where: str = "the schema") -> ColumnError:
        """Say which column is unknown and which known one is closest to it."""
        known = [str(column) for column in known]
        close = difflib.get_close_matches(str(name), known, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"it has {_listed(known)}"
        said = (
            shortened(name)
            if isinstance(name, (str, int))
            else f"of a name that is {kind_of(name)}"
        )
        return cls(f"no column {said} in {where}; {hint}")


class FormulaError(DprctError, ValueError):
    """A formula uses something other than names, ``C()``, ``I()`` and arithmetic."""


class BudgetError(DprctError, ValueError):
    """A charge does not fit into the rest of a budget."""


class LedgerError(DprctError, RuntimeError):
    """A ledger is damaged, locked, or belongs to another data set."""


class ConfirmationError(DprctError, RuntimeError):
    """Something that is likely a mistake was asked for without confirming it."""


class SimulationError(DprctError, RuntimeError):
    """A seeded result was about to be used as if it carried a guarantee."""


class ModelPicklingError(DprctError, TypeError):
    """A model holds confidential rows and does not leave its process."""


class DisclosureError(DprctError, TypeError):
    """Something confidential was about to leave by a way that is for released things."""


class StudyError(DprctError, ValueError):
    """A study file has an unknown key, a missing section, or the wrong type somewhere."""


class FileError(DprctError, OSError):
    """A file cannot be read or written."""


class StataFormatError(DprctError, ValueError):
    """Bytes that are not a .dta file as its release defines it.

    Attributes
    ----------
    offset : int or None
        Byte at which the reader stopped believing the file.
    field : str
        The part of the format that was being read there.
    """

    def __init__(self, message: str, *, offset: int | None = None, field: str = "") -> None:
        place = f" (in {field}, at byte {offset})" if offset is not None else ""
        super().__init__(message + place)
        self.offset = offset
        self.field = field

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild_format_error, (self.args[0], self.offset, self.field))


class ConversionError(DprctError, TypeError):
    """A value has no counterpart in the other language.

    Attributes
    ----------
    column : str
        The column that holds it; empty where it is not a column.
    """

    def __init__(self, message: str, *, column: str = "") -> None:
        super().__init__(message)
        self.column = column


class SessionError(DprctError, RuntimeError):
    """An object of another session, or one that was dropped, was used."""


class BridgeError(DprctError, RuntimeError):
    """R and Python cannot be joined in this process."""


class EngineError(DprctError, RuntimeError):
    """The engine that holds a table failed, or cannot do what was asked."""


class MissingDependencyError(DprctError, ImportError):
    """An optional package is needed for this request."""

    @classmethod
    def extra(cls, package: str, extra: str, purpose: str) -> MissingDependencyError:
        """Name the extra to install."""
        return cls(f"{purpose} needs {package}; install it with: ``pip install 'dprct[{extra}]'``")


class withheld:
    """Put a refusal in the place of a foreign error, whose message and frames may show data.

    ``raise ... from None`` hides an error from print only: it stays in ``__context__``, where
    debuggers, log handlers and reporting services find it with its message and the local variables
    of its frames.  Here nothing of it stays but the name of its type.

    With ``own``, refusals of this package pass, because the code within is its own; what a
    function of the user's raises is foreign, whatever it is.

    Examples
    --------
    >>> try:
    ...     with withheld(lambda kind: SchemaError(f"a rule ended with {kind.__name__}")):
    ...         int("secret")
    ... except SchemaError as error:
    ...     print(error, error.__context__, error.__cause__)
    a rule ended with ValueError None None
    """

    def __init__(
        self, refusal: Callable[[type[BaseException]], DprctError], *, own: bool = True
    ) -> None:
        passing: tuple[type[BaseException], ...] = (KeyboardInterrupt, SystemExit, GeneratorExit)
        self.refusal, self.passing = refusal, (*passing, DprctError) if own else passing

    def __enter__(self) -> None:
        """Begin; nothing is to be prepared."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Raise the refusal if a foreign error ended the block."""
        del error, traceback  # this frame is part of the new traceback
        if kind is None or issubclass(kind, self.passing):
            return
        refusal = self.refusal(kind)
        try:
            raise refusal
        finally:
            refusal.__context__ = None  # which Python set to the foreign error


def instead_of(name: object, known: Iterable[str], form: str = "{!r}") -> str:
    """Advice for an option that does not exist, for every kind of caller.

    ``form`` is how the caller's language writes the name of an option.

    Examples
    --------
    >>> instead_of("trimm", ["trim", "lam"])
    "did you mean 'trim'?"
    """
    known = list(known)
    close = difflib.get_close_matches(str(name), known, n=1)
    return f"did you mean {form.format(close[0])}?" if close else f"allowed: {', '.join(known)}"


def _rebuild_format_error(message: str, offset: int | None, field: str) -> StataFormatError:
    error = StataFormatError.__new__(StataFormatError)
    error.args = (message,)
    error.offset, error.field = offset, field
    return error


def _listed(names: list[str], most: int = 8) -> str:
    shown = ", ".join(names[:most])
    return f"{shown}, ... ({len(names)} columns)" if len(names) > most else shown or "no columns"
