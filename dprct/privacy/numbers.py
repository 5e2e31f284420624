"""Numbers of a file that somebody else may have written: bounded before they are parsed."""

from __future__ import annotations

import re
from fractions import Fraction

from dprct.errors import ParameterError

_LONGEST = 4000
_FORM = re.compile(r"-?[0-9]+(?:/[0-9]+|(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?)")


def fraction(text: object) -> Fraction:
    """Return the exact number that a text of a ledger spells.

    ``Fraction("1e999999999")`` would fill the memory, so that form and length are checked first.

    Raises
    ------
    ParameterError
        If it is not text of a number, or longer than any that a ledger needs.

    Examples
    --------
    >>> fraction("1/3") + fraction("2.5e-1")
    Fraction(7, 12)
    >>> fraction("1e999999999")
    Traceback (most recent call last):
    dprct.errors.ParameterError: a number of a ledger is not one that this package writes
    """
    if not isinstance(text, str) or len(text) > _LONGEST or not _FORM.fullmatch(text):
        raise ParameterError("a number of a ledger is not one that this package writes")
    return Fraction(text)
